"""Models of a table with every kind of variable, for the proofs that need the training table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from file_fuzz import Path, fields, others
from model_files import Stored, sealed, stored_document, trees
from rpte import InputError, ModelFileError, RPTEWarning
from rpte.model.file import from_dict

# What verify does not derive again (docs/model_file.md): how the search went, and what it allowed.
RECORD = re.compile(
    r"hash|library_version|components\.\d+\.name|training\.(rounds|vocabulary_size|validation)\b.*"
    r"|training\.selection\.(price|many|compared|null_deviance|(frontier|interactions|promises|reference).*)"
    r"|training\.selection\.chosen\.(shape_family|n_trees|n_pairs)"
    r"|training\.objective\.(terms_offered|kkt_residual|converged)"
    r"|settings\.(audit_price|leaf_ridge|learning_rate|lookahead|min_gain|criterion)"
    r"|settings\.(max_trees|max_component_sources|min_samples_leaf|pattern_order)"
    r"|settings\.limits\.exclude.*|.*\.leaves\.\d+\.penalty"
)


def full_table(seed: int = 3, n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numbers with and without gaps, few and many values, special codes and categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "dense": rng.normal(size=n).round(6),
            "gaps": rng.normal(size=n).round(1),
            "skewed": rng.lognormal(size=n).round(2),
            "codes": np.where(rng.random(n) < 0.15, -9, rng.integers(0, 30, n)).astype(float),
            "few": rng.choice([0.0, 1.0, 2.0, 5.0], n),
            "city": rng.choice(
                list("abcdefgh"), n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.092, 0.004, 0.004]
            ),
            "plan": rng.choice(["basic", "extra", "gold", "silver"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "gaps"] = np.nan
    X.loc[rng.random(n) < 0.05, "plan"] = None
    score = X["dense"] * (X["plan"] == "gold") + 0.8 * np.log(X["skewed"])
    score += X["gaps"].fillna(1) + (X["codes"] > 12) * (X["few"] > 1) + 1.5 * (X["codes"] == -9)
    score += (X["city"] == "a") * np.where(X["dense"] > 0.3, 1.0, -1.0)
    return X, np.where(score + 0.6 * rng.normal(size=n) > 0.8, "yes", "no")


def split_table(n: int = 500) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table whose label changes at thresholds, so that trees are kept."""
    X, _ = full_table(n=n)
    levels = np.where(X["plan"].isin(["gold", "basic"]), 1.5, -1.5)
    score = 2 * np.sign(X["dense"] - 0.2) * np.sign(X["gaps"].fillna(1.0) - 0.35)
    score += levels * np.sign(X["skewed"] - 1.1) + (X["codes"] == -9)
    return X, np.where(score + 0.7 * np.random.default_rng(3).normal(size=n) > 0.3, "yes", "no")


PROOFS = ("proof_default", "proof_limited", "proof_paper", "proof_boosted")
SMOOTH = ("sampled_classes", "sampled_patterns")
SPLIT = ("sampled_trees", "sampled_components", "sampled_lookahead", "sampled_paper")
SAMPLED = SMOOTH + SPLIT  # their terms were found on a sample of so many rows:
SAMPLE_ROWS = 250


def _table(name: str) -> dict[str, Any]:
    X, y = split_table() if name in SPLIT else full_table()
    given = {"X": X, "y": y}
    if name in ("sampled_classes", "sampled_components"):
        given["weight"] = np.random.default_rng(0).integers(0, 4, len(y))
    return given


TABLES = {name: partial(_table, name) for name in PROOFS + SAMPLED}


@cache
def proof_model(name: str) -> Stored:
    """Return one of the models with its training table; do not change it, `copy` it."""
    return Stored(stored_document(name), **TABLES[name]())


def passes(document: dict[str, Any], name: str) -> bool:
    """Tell whether a forged document is loaded and verified with the training table."""
    return passes_on(document, proof_model(name).given)


def passes_on(document: dict[str, Any], given: tuple[Any, Any, Any]) -> bool:
    """Tell whether a forged document is loaded and verified with a table, labels and weights."""
    try:
        model = from_dict(sealed(document))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)  # of levels that a forged schema lacks
            return model.verify().holds and model.verify(*given).holds
    except (ModelFileError, InputError):
        return False


def claims(document: dict[str, Any]) -> list[tuple[Path, Any]]:
    """Return the fields that score a possible case or promise something, with their values."""
    return [
        (path, value)
        for path, value in fields(document)
        if others(value) and not RECORD.fullmatch(".".join(map(str, path)))
    ]


def number_places(document: dict[str, Any]) -> list[tuple[Path, Any]]:
    """Return the numbers that tests and columns compare with or count from."""
    names = ("at_most", "threshold", "knot", "low", "high", "centre")
    found = [(path, value) for path, value in claims(document) if path[-1] in names]
    return [(path, value) for path, value in found if isinstance(value, float) and value]


def level_nodes(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the nodes that test a set of levels."""
    stack = [tree["root"] for tree in trees(document)]
    while stack:
        node = stack.pop()
        if "if" in node:
            stack += [node["yes"], node["no"]]
            if node["if"]["column"]["kind"] == "level":
                yield node


def renumbered(document: dict[str, Any]) -> dict[str, Any]:
    """Number the leaves of each tree again, and put their values in that order."""
    for tree in trees(document):
        old = list(tree["leaves"])
        stack, tree["leaves"] = [tree["root"]], []
        while stack:
            node = stack.pop()
            if "leaf" in node:
                tree["leaves"].append(old[node["leaf"]])
                node["leaf"] = len(tree["leaves"]) - 1
            else:
                stack += [node["no"], node["yes"]]
    return document


def with_other_levels(stored: Stored) -> Iterator[dict[str, Any]]:
    """Name in each test of levels the other ones, and exchange its sides."""
    known = {v["name"]: v["levels"] for v in stored.document["schema"]["variables"]}
    for number in range(sum(1 for _ in level_nodes(stored.document))):
        document = stored.copy()
        node = list(level_nodes(document))[number]
        column = node["if"]["column"]
        column["levels"] = [v for v in known[column["source"]] if v not in column["levels"]]
        node["yes"], node["no"] = node["no"], node["yes"]
        yield renumbered(document)

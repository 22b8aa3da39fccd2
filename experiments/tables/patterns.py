"""Table 12: signatures that recur over the folds, concept families, stability of trees and scores.

Formulas. A signature is the exact set of variables of one active rule: of two or more in a leaf of
the published configuration, of one or more in any term of our default, which has few trees.
Active-tree stability of two splits: each active tree is a set of variables; every tree is matched
with the tree of the other model that shares most with it (Jaccard index), and the mean over the
trees of both models is taken; the figure is the mean over all pairs of splits. Spearman: the mean
over all pairs of splits of the rank correlation of the scores of all rows of the set.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from experiments import published
from experiments.data import NAMES
from experiments.markdown import number, table
from experiments.models import MODELS
from experiments.results import COVERED, Results
from experiments.tables.section import Section

FAMILIES = {
    "heart_c": {
        "exercise and ischaemia": {"oldpeak", "thal", "exang", "slope", "thalach"},
        "symptoms and anatomy": {"cp", "ca", "thal"},
        "baseline risk": {"age", "trestbps", "chol", "fbs"},
    },
    "wdbc": {
        "nuclear size": ("radius", "perimeter", "area"),
        "boundary": ("concavity", "concave", "compactness"),
    },
    "saheart": {
        "lipids and tobacco": {"Ldl", "Tobacco", "Adiposity", "Obesity"},
        "age and family": {"Age", "Famhist"},
    },
}
SHOWN = ("rpte_paper", "rpte")


def patterns(results: Results) -> Section:
    """Recurring signatures and stability."""
    parts = [__doc__.split("\n\n", 1)[1].replace("\n", " ").strip()]
    for model in SHOWN:
        parts += [f"{MODELS[model].title}:", _signatures(results, model)]
    parts += ["Stability over the splits, and concept families found:", _stability(results)]
    parts += ["![Stability of trees and scores](paper/stability.svg)"]
    return Section("Patterns and domain alignment (table 12)", tuple(parts))


def signatures(results: Results, name: str, model: str, least: int = 2) -> Counter[tuple[str, ...]]:
    """Count the splits in which each set of at least so many variables is an active rule."""
    rules = results.rules_of(name, model)
    if model == "rpte_paper":
        rules = rules[rules["kind"] == "leaf"]
    found = rules[["split", "sources"]].drop_duplicates()
    sets = [tuple(sorted(text.split("|"))) for text in found["sources"]]
    return Counter(s for s in sets if len(s) >= least)


def _signatures(results: Results, model: str) -> str:
    rows = []
    for name in COVERED:
        splits = len(results.folds(name, model, "auc"))
        found = signatures(results, name, model, least=2 if model == "rpte_paper" else 1)
        top = sorted(found.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
        theirs = [f"{{{', '.join(s)}}} {n}/15" for s, n in published.PATTERNS[name]]
        for place, (names, count) in enumerate(top):
            rows.append(
                [
                    NAMES[name],
                    f"{{{', '.join(names)}}}",
                    f"{count}/{splits}",
                    theirs[place] if model == "rpte_paper" else "",
                ]
            )
    return table(["set", "most frequent signatures", "splits", "published"], rows)


def tree_stability(results: Results, name: str, model: str) -> float | None:
    """Return the mean best-match Jaccard index of active trees over pairs of splits."""
    trees = results.folds(name, model, "trees")
    sets = [[frozenset(tree) for tree in json.loads(text or "[]")] for text in trees]
    values = [_match(a, b) for a, b in combinations(sets, 2)]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _match(first: list[frozenset[str]], second: list[frozenset[str]]) -> float | None:
    if not first or not second:
        return None if not first and not second else 0.0
    overlaps = [[len(a & b) / len(a | b) for b in second] for a in first]
    best = [max(row) for row in overlaps] + [max(column) for column in zip(*overlaps, strict=True)]
    return float(np.mean(best))


def score_agreement(results: Results, name: str, model: str) -> float | None:
    """Return the mean rank correlation of the scores of all rows over pairs of splits."""
    rows = results.scores_of(name, model)
    if rows.empty:
        return None
    scores = rows.pivot(index="row", columns="split", values="score").dropna().to_numpy()
    moving = scores[:, np.ptp(scores, axis=0) > 0] if scores.size else scores
    if moving.shape[0] < 3 or moving.shape[1] < 3:
        return None
    matrix = spearmanr(moving).statistic
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())


def _covered(results: Results, name: str, model: str) -> str:
    """Say in how many splits each concept family has an active rule."""
    rules = results.rules_of(name, model)
    used = rules.groupby("split")["sources"].agg(lambda s: {x for t in s for x in t.split("|")})
    told = []
    for family, members in FAMILIES[name].items():
        hits = sum(any(_member(source, members) for source in sources) for sources in used)
        told.append(f"{family} {hits}/{len(used)}")
    return ", ".join(told)


def _member(source: str, members: set[str] | tuple[str, ...]) -> bool:
    if isinstance(members, set):
        return source.lower() in {name.lower() for name in members}
    return any(part in source.lower().replace(" ", "_") for part in members)


def _stability(results: Results) -> str:
    rows = []
    for name in COVERED:
        for model in SHOWN:
            known = published.STABILITY.get(name) if model == "rpte_paper" else None
            trees, agreement = (
                tree_stability(results, name, model),
                score_agreement(results, name, model),
            )
            rows.append(
                [
                    NAMES[name],
                    MODELS[model].title,
                    number(trees, ".2f") if trees is not None else "no trees",
                    number(agreement, ".2f"),
                    "" if known is None else f"{known[0]} and {known[1]}",
                    _covered(results, name, model),
                ]
            )
    return table(["set", "model", "trees", "Spearman", "published", "splits with the family"], rows)

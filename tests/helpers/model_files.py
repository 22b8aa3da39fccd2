"""Model files of every kind, with their training tables: what the tests of files mutate."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from fit_tables import Case, mixed_case
from rpte import Labelled, Limits, RPTEClassifier, edit
from rpte.columns.kinds import Hinge, Level, Pair, Pattern, Scale, Step, Value
from rpte.model.file import content_hash, from_dict, to_dict

PATTERNS = {"vocabulary": "hug", "budget": 100}


@dataclass(frozen=True)
class Stored:
    """A model document and the table that it was fitted on."""

    document: dict[str, Any]
    X: Any
    y: Any
    weight: Any = None

    @property
    def given(self):
        return self.X, self.y, self.weight

    def copy(self) -> dict[str, Any]:
        return copy.deepcopy(self.document)


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with a hash that fits it, as a tamperer would."""
    return {**document, "hash": content_hash(document)}


def write(document: Any, folder) -> Any:
    """Write a document, hash as it is, and return its path."""
    path = folder / "model.json"
    path.write_text(json.dumps(document))
    return path


def _stored(estimator, X, y, weight=None) -> Stored:
    estimator.fit(X, y, sample_weight=weight)
    return Stored(json.loads(json.dumps(to_dict(estimator.model_))), X, y, weight)


def special_case() -> Case:
    """Return the mixed table with a number that has special codes."""
    case = mixed_case()
    points = (case.X["age"] / 3).round()
    points[::7] = -9
    points[3::11] = -8
    return replace(case, X=case.X.assign(points=points))


def ordered_case(seed=7, n=300):
    """Return a table on which monotone limits bite: leaves have to be tied."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n).round(1),
            "b": rng.normal(size=n).round(1),
            "c": rng.choice(list("uvw"), n),
        }
    )
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    score = np.sin(3 * X["a"]) + X["b"].fillna(1) * (X["c"] == "u") * np.sign(X["a"])
    return X, (score + 0.4 * rng.normal(size=n) > 0).to_numpy()


def _mixed():
    case = mixed_case()
    return _stored(RPTEClassifier(l1="4/n", **PATTERNS), case.X, case.y, case.weight)


def _published():
    case = mixed_case()
    return _stored(RPTEClassifier.paper(positive="healthy"), case.X, case.y, case.weight)


def _special():
    case = special_case()
    codes = {"points": [-9, -8]}
    made = RPTEClassifier(l1=0.01, special_values=codes, ownership="separate", **PATTERNS)
    return _stored(made, case.X, case.y)


def _monotone():
    limits = Limits(monotone={"a": "increasing", "b": "increasing"}, penalty={"c": 1.5})
    made = RPTEClassifier(l1=0.004, vocabulary="original", limits=limits)
    return _stored(made, *ordered_case())


def _limited():
    case = mixed_case()
    limits = Limits(
        monotone={"age": "increasing"},
        exclude=["noise"],
        interactions=[{"age", "region"}, {"income", "smoker"}],
    )
    made = RPTEClassifier(l1=0.005, limits=limits, profile="full", **PATTERNS)
    return _stored(made, case.X, case.y, case.weight)


def _chosen():
    case = mixed_case()
    made = RPTEClassifier(max_component_sources=2, cv=3, profile="none")
    return _stored(made, case.X, case.y, case.weight)


def _products():
    """Fit the default with a penalty low enough for shapes, a tree and products."""
    case = mixed_case()
    return _stored(RPTEClassifier(l1=0.004, max_trees=1, max_leaves=4), case.X, case.y, case.weight)


def _array():
    case = mixed_case()
    X = case.X[["age", "income", "noise"]].to_numpy()
    y = np.where(case.y == "sick", 2, 1)
    made = RPTEClassifier(l1=0.004, l1_ratio=0.7, class_weight="balanced", max_leaves=4, **PATTERNS)
    return _stored(made, X, y)


def _boosted():
    case = mixed_case()
    made = RPTEClassifier(reassign=False, ownership="paper", max_trees=2, **PATTERNS)
    return _stored(made, case.X, case.y == "sick")


SHAPES = (
    Hinge("age", 55.0, "above"),
    Scale("income", "clip", (5.0, 30.0)),
    Step("income", 20.0),
    Pair("product", Hinge("age", 48.0, "below"), Value("income")),
    Scale("noise", "distance", (0.2,)),
    Scale("noise", "log", (0.1,)),
    Pair("difference", Scale("noise", "sqrt", (0.0,)), Hinge("age", 60.0, "above")),
    Pair("product", Hinge("age", 50.0, "above"), Level("region", ("east", "north"))),
    Pair("product", Step("income", 12.0), Value("noise")),
    Pattern(Step("age", 45.0), Level("smoker", ("True",))),
)


def _shaped():
    """Fit with columns of the kinds that no miner makes, in the place of pairs.

    `verify` says of them that they do not follow from the table.
    """
    case = mixed_case()
    made = RPTEClassifier(l1=0.002, max_trees=1, max_leaves=4, min_gain=100.0, **PATTERNS)
    with mock.patch("rpte.published.vocabulary.mine_pairs", return_value=SHAPES):
        return _stored(made, case.X, case.y, case.weight)


def _edited():
    """Edit a model twice: the first edit is estimated again, the second is not."""
    made = stored("mixed")
    who = {"by": "A. Smith", "reason": "a test", "when": "2026-01-31T12:00:00Z"}
    table = Labelled(*made.given)
    model = edit(from_dict(made.copy()), drop_sources=["smoker"], table=table, refit=True, **who)
    model = edit(model, drop_terms=["D1"], **who)
    return Stored(json.loads(json.dumps(to_dict(model))), *made.given)


def _estimated():
    """Fit, and keep the figures of a cross-validation with the model."""
    case = mixed_case()
    made = RPTEClassifier(l1=0.02, max_trees=0).fit(case.X, case.y, sample_weight=case.weight)
    made.cross_validate(case.X, case.y, case.weight, folds=3)
    return Stored(json.loads(json.dumps(to_dict(made.model_))), case.X, case.y, case.weight)


MAKERS = {
    "mixed": _mixed,
    "published": _published,
    "special": _special,
    "monotone": _monotone,
    "limited": _limited,
    "chosen": _chosen,
    "products": _products,
    "array": _array,
    "boosted": _boosted,
    "shaped": _shaped,
    "edited": _edited,
    "estimated": _estimated,
}
NAMES = tuple(MAKERS)


@cache
def stored(name: str) -> Stored:
    """Return one of the models; do not change it, `copy` it."""
    return MAKERS[name]()


def trees(document):
    return [tree for component in document["components"] for tree in component["trees"]]


def direct(document):
    return [term for component in document["components"] for term in component["direct"]]


def splits(document):
    """Return every test of every tree."""
    found = []
    stack = [tree["root"] for tree in trees(document)]
    while stack:
        node = stack.pop()
        if "if" in node:
            found.append(node["if"])
            stack += [node["no"], node["yes"]]
    return found


def columns(document):
    return [split["column"] for split in splits(document)] + [t["column"] for t in direct(document)]

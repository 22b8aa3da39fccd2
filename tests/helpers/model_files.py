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
from rpte import Labelled, Limits, RPTEClassifier, RPTERegressor, RPTESurvival, edit
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
    exposure: Any = None
    offset: Any = None
    entry: Any = None
    strata: Any = None

    @property
    def given(self):
        return self.X, self.y, self.weight

    @property
    def beside(self):
        """What `verify` needs beside X, y and the weights."""
        roles = ("exposure", "offset", "entry", "strata")
        given = {role: getattr(self, role) for role in roles}
        return {role: values for role, values in given.items() if values is not None}

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


def number_case(seed=11, n=260):
    """Return columns, and the mean of a target that depends on them through its logarithm."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "power": rng.normal(60, 20, n).round(1),
            "region": rng.choice(["east", "north", "south"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "power"] = np.nan
    score = 0.03 * (X["age"] - 40) + 0.7 * (X["region"] == "east") * (X["age"] < 40)
    return X, np.exp(score + 0.01 * (X["power"].fillna(40) - 60)).to_numpy(), rng


def _number(loss, y, X, weight=None, exposure=None, offset=None, **parameters):
    made = RPTERegressor(**{"loss": loss, "l1": 0.03, "max_trees": 2, "max_leaves": 4} | parameters)
    made.fit(X, y, sample_weight=weight, exposure=exposure, offset=offset)
    document = json.loads(json.dumps(to_dict(made.model_)))
    return Stored(document, X, y, weight, exposure, offset)


def _squared():
    """Fit large numbers of either sign, less an offset, whole weights."""
    X, mean, rng = number_case()
    y = (5000 * np.log(mean) + 2000 * rng.normal(size=len(X)) - 1000).round(1)
    weight, offset = rng.integers(1, 4, len(X)).astype(float), rng.integers(-9, 9, len(X)) * 100.0
    return _number("squared_error", y, X, weight, None, offset)


def _counts():
    """Fit counts with an exposure and directions."""
    X, mean, rng = number_case()
    exposure = rng.uniform(0.1, 3.0, len(X)).round(2)
    y = pd.Series(rng.poisson(mean * exposure).astype(float), name="claims")
    limits = Limits(monotone={"age": "increasing"}, penalty={"power": 1.5})
    return _number("poisson", y, X, exposure=exposure, limits=limits, l1=0.01)


def _amounts():
    """Fit positive amounts, columns by position."""
    X, mean, rng = number_case()
    y = (mean * rng.gamma(3.0, 100.0, len(X))).round(2)
    return _number("gamma", y, X[["age", "power"]].to_numpy(), l1_ratio=0.5)


def _claims():
    """Fit amounts of which many are 0, with an exposure, an offset and weights."""
    X, mean, rng = number_case()
    exposure, offset = rng.uniform(0.5, 2.0, len(X)).round(1), rng.integers(-3, 3, len(X)) / 10
    weight = rng.uniform(0.5, 2.0, len(X)).round(2)
    y = np.where(rng.random(len(X)) < 0.4, 0.0, mean * exposure * rng.gamma(2.0, 50.0, len(X)))
    return _number("tweedie", y.round(2), X, weight, exposure, offset, power=1.6)


def _boosted_counts():
    """Fit counts without Stage 3."""
    X, mean, rng = number_case()
    y = rng.poisson(mean).astype(float)
    return _number("poisson", y, X, reassign=False, ownership="paper", profile="none")


def class_case(seed=5, n=240, classes=("calm", "rain", "storm")):
    """Return columns, and labels of several classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "wind": rng.gamma(2.0, 10.0, n).round(1),
            "pressure": rng.normal(1010, 9, n).round(1),
            "region": rng.choice(["east", "north", "south"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "pressure"] = np.nan
    wet = 0.1 * (1010 - X["pressure"].fillna(1005)) + (X["region"] == "north")
    scores = [np.zeros(n), wet, 0.12 * (X["wind"] - 30) + 0.5 * wet]
    scores += [rng.normal(size=n) - 1.0 for _ in classes[3:]]
    noise = rng.gumbel(size=(len(classes), n))
    return X, np.array(classes)[(np.array(scores) + noise).argmax(axis=0)], rng


def _classes():
    """Fit several classes, texts, with whole weights."""
    X, y, rng = class_case()
    return _stored(RPTEClassifier(l1=0.01), X, y, rng.integers(1, 4, len(X)).astype(float))


def _class_numbers():
    """Fit several classes, numbers, weighted alike, with a ridge; columns by position."""
    X, y, _ = class_case(classes=(1, 2, 4, 8))
    made = RPTEClassifier(l1=0.02, l1_ratio=0.6, class_weight="balanced", profile="none")
    return _stored(made, X[["wind", "pressure"]].to_numpy(), y)


def time_case(seed=3, n=300):
    """Return columns, and when an event came (a table of event and time)."""
    X, mean, rng = number_case(seed, n)
    latent, seen = rng.exponential(20.0 / mean), rng.uniform(5.0, 40.0, n)
    y = pd.DataFrame({"died": latent <= seen, "months": np.ceil(np.minimum(latent, seen))})
    return X, y, rng


def _times(estimator, X, y, weight=None, **beside):
    estimator.fit(X, y, sample_weight=weight, **beside)
    return Stored(json.loads(json.dumps(to_dict(estimator.model_))), X, y, weight, **beside)


def _trial():
    """Fit hazards with strata, directions, whole weights and a tree; keep figures."""
    X, y, rng = time_case()
    strata = np.array(["north", "south"])[rng.integers(0, 2, len(X))]
    limits = Limits(monotone={"age": "increasing"}, penalty={"power": 1.5})
    made = RPTESurvival(l1=0.02, max_trees=1, max_leaves=4, limits=limits)
    weight = rng.integers(1, 4, len(X)).astype(float)
    made.fit(X, y, sample_weight=weight, strata=strata)
    made.cross_validate(X, y, weight, folds=3, strata=strata)
    document = json.loads(json.dumps(to_dict(made.model_)))
    return Stored(document, X, y, weight, strata=strata)


def _visits():
    """Fit hazards of intervals, of rows that came late; columns by position."""
    X, y, rng = time_case()
    entry = rng.uniform(0.0, 1.0, len(X)).round(2)
    made = RPTESurvival(loss="discrete", intervals=6, l1=0.03, max_trees=0, profile="none")
    return _times(made, X[["age", "power"]].to_numpy(), y, entry=entry)


def _edited_times():
    """Edit a model of hazards twice: the first edit is estimated again, the second is not."""
    X, y, _ = time_case()
    made = RPTESurvival(l1=0.03, ties="breslow", max_trees=0).fit(X, y)
    who = {"by": "A. Smith", "reason": "a test", "when": "2026-01-31T12:00:00Z"}
    table = Labelled(X, y)
    model = edit(made.model_, drop_sources=["power"], table=table, refit=True, **who)
    model = edit(model, drop_terms=["D1"], table=table, **who)
    return Stored(json.loads(json.dumps(to_dict(model))), X, y)


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
NAMES = tuple(MAKERS)  # of two classes
NUMBER_MAKERS = {
    "squared": _squared,
    "counts": _counts,
    "amounts": _amounts,
    "claims": _claims,
    "boosted_counts": _boosted_counts,
}
NUMBER_NAMES = tuple(NUMBER_MAKERS)
CLASS_MAKERS = {"classes": _classes, "class_numbers": _class_numbers}
CLASS_NAMES = tuple(CLASS_MAKERS)  # of several classes
TIME_MAKERS = {"trial": _trial, "visits": _visits, "edited_times": _edited_times}
TIME_NAMES = tuple(TIME_MAKERS)  # of times until an event


@cache
def stored(name: str) -> Stored:
    """Return one of the models; do not change it, `copy` it."""
    return (MAKERS | NUMBER_MAKERS | CLASS_MAKERS | TIME_MAKERS)[name]()


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

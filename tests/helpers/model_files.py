"""Stored models of every kind with their training tables: no test has to fit them.

The documents are in ``tests/stored``; ``make_stored.py`` in that folder fits them again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fit_tables import Case, mixed_case
from rpte.columns.kinds import Hinge, Level, Pair, Pattern, Scale, Step, Value
from rpte.model.file import content_hash

FOLDER = Path(__file__).parents[1] / "stored"


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
    """Return a document with a hash that fits it, as a tamperer would; inner files too."""
    if isinstance(models := document.get("models"), list):
        inner = [sealed(each) if isinstance(each, dict) else each for each in models]
        document = {**document, "models": inner}
    return {**document, "hash": content_hash(document)}


def write(document: Any, folder) -> Any:
    """Write a document, hash as it is, and return its path."""
    path = folder / "model.json"
    path.write_text(json.dumps(document))
    return path


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


SHAPES = (  # kinds of columns that no miner makes
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


def _mixed():
    case = mixed_case()
    return {"X": case.X, "y": case.y, "weight": case.weight}


def _special():
    case = special_case()
    return {"X": case.X, "y": case.y}


def _ordered():
    return dict(zip("Xy", ordered_case(), strict=True))


def _array():
    case = mixed_case()
    return {
        "X": case.X[["age", "income", "noise"]].to_numpy(),
        "y": np.where(case.y == "sick", 2, 1),
    }


def _boosted():
    case = mixed_case()
    return {"X": case.X, "y": case.y == "sick"}


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


def _squared():
    """Return large numbers of either sign, less an offset, with whole weights."""
    X, mean, rng = number_case()
    y = (5000 * np.log(mean) + 2000 * rng.normal(size=len(X)) - 1000).round(1)
    weight, offset = rng.integers(1, 4, len(X)).astype(float), rng.integers(-9, 9, len(X)) * 100.0
    return {"X": X, "y": y, "weight": weight, "offset": offset}


def _counts():
    """Return counts with an exposure."""
    X, mean, rng = number_case()
    exposure = rng.uniform(0.1, 3.0, len(X)).round(2)
    y = pd.Series(rng.poisson(mean * exposure).astype(float), name="claims")
    return {"X": X, "y": y, "exposure": exposure}


def _amounts():
    """Return positive amounts, columns by position."""
    X, mean, rng = number_case()
    y = (mean * rng.gamma(3.0, 100.0, len(X))).round(2)
    return {"X": X[["age", "power"]].to_numpy(), "y": y}


def _claims():
    """Return amounts of which many are 0, with an exposure, an offset and weights."""
    X, mean, rng = number_case()
    exposure, offset = rng.uniform(0.5, 2.0, len(X)).round(1), rng.integers(-3, 3, len(X)) / 10
    weight = rng.uniform(0.5, 2.0, len(X)).round(2)
    y = np.where(rng.random(len(X)) < 0.4, 0.0, mean * exposure * rng.gamma(2.0, 50.0, len(X)))
    return {"X": X, "y": y.round(2), "weight": weight, "exposure": exposure, "offset": offset}


def _boosted_counts():
    X, mean, rng = number_case()
    return {"X": X, "y": rng.poisson(mean).astype(float)}


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
    """Return several classes, texts, of a target with a name, and whole weights."""
    X, y, rng = class_case()
    weight = rng.integers(1, 4, len(X)).astype(float)
    return {"X": X, "y": pd.Series(y, name="sky"), "weight": weight}


def _class_numbers():
    X, y, _ = class_case(classes=(1, 2, 4, 8))
    return {"X": X[["wind", "pressure"]].to_numpy(), "y": y}


def time_case(seed=3, n=300):
    """Return columns, and when an event came (a table of event and time)."""
    X, mean, rng = number_case(seed, n)
    latent, seen = rng.exponential(20.0 / mean), rng.uniform(5.0, 40.0, n)
    y = pd.DataFrame({"died": latent <= seen, "months": np.ceil(np.minimum(latent, seen))})
    return X, y, rng


def _trial():
    X, y, rng = time_case()
    strata = np.array(["north", "south"])[rng.integers(0, 2, len(X))]
    return {"X": X, "y": y, "strata": strata, "weight": rng.integers(1, 4, len(X)).astype(float)}


def _visits():
    """Return times of rows that came late; columns by position."""
    X, y, rng = time_case()
    entry = rng.uniform(0.0, 1.0, len(X)).round(2)
    return {"X": X[["age", "power"]].to_numpy(), "y": y, "entry": entry}


def _edited_times():
    X, y, _ = time_case()
    return {"X": X, "y": y}


def _causes():
    """Return competing risks."""
    X, y, rng = time_case()
    cause = np.where(rng.random(len(X)) < 0.5, "fever", "fall")
    return {"X": X, "y": y.assign(died=np.where(y["died"], cause, "alive"))}


TABLES = {
    **dict.fromkeys(("mixed", "published"), _mixed),
    "special": _special,
    "monotone": _ordered,
    **dict.fromkeys(("limited", "chosen", "products"), _mixed),
    "array": _array,
    "boosted": _boosted,
    **dict.fromkeys(("shaped", "edited", "estimated"), _mixed),
}
NAMES = tuple(TABLES)  # of two classes
NUMBER_TABLES = {
    "squared": _squared,
    "counts": _counts,
    "amounts": _amounts,
    "claims": _claims,
    "boosted_counts": _boosted_counts,
}
NUMBER_NAMES = tuple(NUMBER_TABLES)
CLASS_TABLES = {"classes": _classes, "class_numbers": _class_numbers}
CLASS_NAMES = tuple(CLASS_TABLES)  # of several classes
TIME_TABLES = {"trial": _trial, "visits": _visits, "edited_times": _edited_times}
TIME_NAMES = tuple(TIME_TABLES)  # of times until an event
CAUSE_TABLES = dict.fromkeys(("causes", "cause"), _causes)
CAUSE_NAMES = tuple(CAUSE_TABLES)  # of competing risks, and of one cause of several
EVERY_NAME = NAMES + NUMBER_NAMES + CLASS_NAMES + TIME_NAMES + CAUSE_NAMES
TABLES |= NUMBER_TABLES | CLASS_TABLES | TIME_TABLES | CAUSE_TABLES


def stored_document(name: str) -> dict[str, Any]:
    """Return the document of a stored model."""
    if name == "cause":
        return stored_document("causes")["models"][0]
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@cache
def stored(name: str) -> Stored:
    """Return one of the models with its table; do not change it, `copy` it."""
    return Stored(stored_document(name), **TABLES[name]())


def at(document: Any, path: str) -> Any:
    """Return what is at a path such as ``components.0.direct``."""
    for step in path.split(".") if path else ():
        document = document[int(step) if step.isdigit() else step]
    return document


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of a document: another value at a path, or what a function makes of it."""

    def change(document):
        holder, _, last = path.rpartition(".")
        holder, key = at(document, holder), int(last) if last.isdigit() else last
        holder[key] = value(holder[key]) if callable(value) else value

    return change


def golden_files(version: str = "*") -> list[Path]:
    """Return the golden model files of a version, or of all."""
    found = FOLDER.with_name("golden").glob(f"{version}/*.json")
    return sorted(path for path in found if not path.name.endswith(".rows.json"))


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

"""Parameters of the estimator, checked before any work: value, rule and remedy in one message."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from rpte.columns.limits import Permissions, permissions
from rpte.errors import InputError
from rpte.estimators.labels import plain
from rpte.fit.settings import Settings
from rpte.model.class_target import ClassesTarget
from rpte.model.target import AnyTarget
from rpte.table.schema import Schema

CHOICES = {
    "ownership": ("component", "strict", "separate", "paper"),
    "vocabulary": ("shapes", "hug", "frequent", "original"),
    "criterion": ("newton", "label"),
    "conventions": ("ours", "paper"),
    "pattern_order": (1, 2),
    "profile": ("safe", "full", "none"),
    "form": ("any", "rules"),
    "shapes": ("one", "free"),
}
WHOLE_RANGES = {
    "max_component_sources": (1, 10**6),
    "budget": (0, 10**6),
    "max_trees": (0, 10**6),
    "max_leaves": (2, 10**6),
    "max_depth": (1, 100),
    "max_inspection_units": (0, 10**9),
}
REAL_RANGES = {
    "min_gain": (0.0, math.inf),
    "min_samples_leaf": (1.0, math.inf),
    "leaf_ridge": (0.0, math.inf),
    "learning_rate": (1e-6, 1.0),
    "l1_ratio": (1e-3, 1.0),
    "audit_price": (0.0, 1.0),
    "max_fit_seconds": (0.0, math.inf),
}
OPTIONAL = ("max_inspection_units", "l1_ratio", "max_fit_seconds")
FLAGS = ("lookahead", "reassign")
NAMES = [name for name in Settings.__dataclass_fields__ if name != "limits"]


# The published configuration, but for what the paper tunes.
PUBLISHED = {
    "vocabulary": "hug",
    "max_leaves": 12,
    "max_depth": 8,
    "l1": "4/n",
    "l1_ratio": 1.0,
    "conventions": "paper",
}
# What an estimator for numbers does not ask: these grow trees by the labels of two classes.
OF_CLASSES = {"criterion": "newton", "lookahead": False}


def checked_parameters(estimator: Any) -> dict[str, Any]:
    """Return an estimator's parameters, or raise `InputError` naming the first bad one."""
    asked: dict[str, Any] = {n: getattr(estimator, n, OF_CLASSES.get(n)) for n in NAMES}
    for name, allowed in CHOICES.items():
        value = asked[name]
        if isinstance(value, bool) or value not in allowed:
            raise InputError(f"{name}={value!r}; it must be one of {list(allowed)}")
    for name, (low, high) in {**WHOLE_RANGES, **REAL_RANGES}.items():
        value = asked[name] if name in asked else getattr(estimator, name)
        if value is None and name in OPTIONAL:
            continue
        whole = name in WHOLE_RANGES
        inside = _is_a(Integral if whole else Real, value) and low <= value <= high
        if not inside or not math.isfinite(value):
            rule = (
                f"whole number from {low} to {high}" if whole else f"number in [{low:g}, {high:g}]"
            )
            raise InputError(f"{name}={value!r}; it must be a {rule}")
    for name in FLAGS:
        if not isinstance(asked[name], bool):
            raise InputError(f"{name}={asked[name]!r}; it must be True or False")
    l1, n_jobs = estimator.l1, estimator.n_jobs
    named = isinstance(l1, str) and l1 in ("cv", "4/n")
    if not named and not (_is_a(Real, l1) and math.isfinite(l1) and l1 > 0):
        raise InputError(f"l1={l1!r}; it must be 'cv', '4/n' or a positive number (lambda)")
    if n_jobs is not None and not (_is_a(Integral, n_jobs) and (n_jobs == -1 or n_jobs >= 1)):
        raise InputError(f"n_jobs={n_jobs!r}; it must be None, -1 or a whole number from 1")
    return {name: plain(value) for name, value in asked.items()}


def for_two_alone(estimator: Any) -> dict[str, str]:
    """Return what to do about the parameters, by name, that speak of two classes alone."""
    published = "vocabulary", "criterion", "lookahead", "conventions"
    plain_ones = ("shapes", "newton", False, "ours")
    given = [(n, v, getattr(estimator, n)) for n, v in zip(published, plain_ones, strict=True)]
    asked = {
        "positive": (estimator.positive is not None, "every class has a score: leave it out"),
        "reassign": (not estimator.reassign, "give reassign=True"),
        "ownership": (estimator.ownership == "strict", "give ownership='component'"),
        **{name: (found != only, f"give {name}={only!r}") for name, only, found in given},
    }
    return {name: remedy for name, (wrong, remedy) in asked.items() if wrong}


def refuse_of_two_classes(estimator: Any, predicts: AnyTarget | ClassesTarget) -> None:
    """Refuse parameters that speak of two classes alone, for several."""
    if isinstance(predicts, ClassesTarget) and (wrong := for_two_alone(estimator)):
        name, remedy = next(iter(wrong.items()))
        raise InputError(
            f"Only binary classification is supported. {name} as given is for two classes alone, "
            f"and y holds {len(predicts.classes)}: {remedy}"
        )


def _is_a(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def settings_for(
    parameters: dict[str, Any], limits: Any, schema: Schema, classes: Sequence[Any] = ()
) -> Settings:
    """Return the settings of a fit: checked parameters and limits that fit table and classes."""
    found = permissions(limits, schema, classes)
    if found.together is not None and parameters["ownership"] not in ("component", "strict"):
        raise InputError(
            f"limits.interactions with ownership={parameters['ownership']!r}: direct terms could "
            "join any variables there; use ownership='component' or 'strict'"
        )
    if found.directions and not parameters["reassign"]:
        raise InputError("limits.monotone with reassign=False: only Stage 3 can keep the order")
    if parameters["form"] == "rules":
        _check_rules(parameters, found)
    units, l1 = parameters["max_inspection_units"], parameters["l1"]
    if units is not None and not parameters["reassign"]:
        raise InputError(
            f"max_inspection_units={units} with reassign=False: only Stage 3 can keep a budget; "
            "use reassign=True"
        )
    if units is not None and l1 != "cv":
        raise InputError(
            f"max_inspection_units={units} with l1={l1!r}: a budget is kept by choosing among "
            "penalties; use l1='cv'"
        )
    one = parameters["shapes"] == "one" and _searches(parameters)
    given = {**parameters, "shapes": "one" if one else "free"}
    return Settings(**given, limits=found)


def _searches(parameters: dict[str, Any]) -> bool:
    """Tell whether validation searches for readable shapes, as it does by default."""
    only = {
        "l1": "cv",
        "vocabulary": "shapes",
        "ownership": "component",
        "form": "any",
        "conventions": "ours",
        "criterion": "newton",
        "lookahead": False,
        "reassign": True,
    }
    plain = all(parameters[name] == value for name, value in only.items())
    return plain and parameters["budget"] > 0  # shapes are derived columns


def _check_rules(parameters: dict[str, Any], limits: Permissions) -> None:
    """Refuse what a model of yes/no statements cannot have."""
    for name, only in (("vocabulary", "shapes"), ("conventions", "ours"), ("criterion", "newton")):
        if parameters[name] != only:
            raise InputError(
                f"form='rules' with {name}={parameters[name]!r}: yes/no statements are made with "
                f"{name}={only!r} alone"
            )
    if parameters["lookahead"]:
        raise InputError("form='rules' with lookahead=True: lookahead splits on pairs of numbers")
    if limits.linear_only:
        raise InputError(
            f"form='rules' with limits.linear_only={sorted(limits.linear_only)}: a slope is no "
            "yes/no statement; use limits.monotone, or form='any'"
        )

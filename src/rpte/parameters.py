"""Parameters of the estimator, checked before any work: value, rule and remedy in one message."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from rpte.errors import InputError
from rpte.settings import Settings

CHOICES = {
    "ownership": ("component", "strict", "separate", "paper"),
    "vocabulary": ("hug", "frequent", "original"),
    "criterion": ("newton", "label"),
    "conventions": ("ours", "paper"),
    "pattern_order": (1, 2),
}
WHOLE_FROM = {
    "max_component_sources": 1,
    "budget": 0,
    "max_trees": 0,
    "max_leaves": 2,
    "max_depth": 1,
}
REAL_RANGES = {
    "min_gain": (0.0, math.inf),
    "min_samples_leaf": (1.0, math.inf),
    "leaf_ridge": (0.0, math.inf),
    "learning_rate": (1e-6, 1.0),
    "l1_ratio": (1e-3, 1.0),
}
FLAGS = ("lookahead", "reassign")


def checked_settings(estimator: Any) -> Settings:
    """Return the settings of an estimator, or raise `InputError` naming the first bad parameter."""
    for name, allowed in CHOICES.items():
        value = getattr(estimator, name)
        if isinstance(value, bool) or value not in allowed:
            raise InputError(f"{name}={value!r}; it must be one of {list(allowed)}")
    for name, least in WHOLE_FROM.items():
        value = getattr(estimator, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise InputError(f"{name}={value!r}; it must be a whole number from {least}")
    for name, (low, high) in REAL_RANGES.items():
        value = getattr(estimator, name)
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not low <= float(value) <= high:
            raise InputError(f"{name}={value!r}; it must be a number in [{low:g}, {high:g}]")
    for name in FLAGS:
        if not isinstance(getattr(estimator, name), bool):
            raise InputError(f"{name}={getattr(estimator, name)!r}; it must be True or False")
    _check_l1(estimator.l1)
    _check_jobs(estimator.n_jobs)
    names = Settings.__dataclass_fields__
    return Settings(**{name: _plain(getattr(estimator, name)) for name in names})


def _check_l1(l1: Any) -> None:
    if isinstance(l1, str) and l1 in ("cv", "4/n"):
        return
    number = isinstance(l1, Real) and not isinstance(l1, bool)
    if not number or not (math.isfinite(l1) and l1 > 0):
        raise InputError(f"l1={l1!r}; it must be 'cv', '4/n' or a positive number (lambda)")


def _check_jobs(n_jobs: Any) -> None:
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and (n_jobs == -1 or n_jobs >= 1)):
        raise InputError(f"n_jobs={n_jobs!r}; it must be None, -1 or a whole number from 1")


def _plain(value: Any) -> Any:
    """Return a numpy scalar as the Python number that JSON can hold."""
    return value.item() if hasattr(value, "item") else value

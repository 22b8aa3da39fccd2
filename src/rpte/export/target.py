"""What a target is, and which ones there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError, did_you_mean
from rpte.export.cells import Cells
from rpte.export.form import Arithmetic, Constant, Form, Function, NumberInput, nodes

Floats = NDArray[np.float64]
Options = Mapping[str, Any]
Content = str | bytes | Mapping[str, bytes]  # a text, a file, or a folder of files by name

# Where each target lives; the module has a `TARGET`. A new target is one file and one line here.
HOMES = {
    "python": "rpte.export.python",
}
ROUNDING = 1e-12
# What some target may lack, in words for its users.
FEATURES = {
    "log": "a logarithm",
    "sqrt": "a square root",
    "product": "a product of two variables",
    "text code": "a special code that is text in a column of numbers",
}


class CannotRunError(Exception):
    """An export cannot be run here: what it needs is not installed."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What an export computed: lines by name, each of shape (n_rows,), and what ran it."""

    lines: Mapping[str, Floats]
    engine: str


def _no_check(form: Form, options: Options) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """One form that a model can be exported to.

    Parameters
    ----------
    name : str
    suffix : str
        Of the file's name, such as ``.sql``; empty for a folder.
    summary : str
        One line for people who choose.
    write : function of form and options
        Returns the whole export.
    run : function of path, form, options and cells
        Returns what the export at `path` computes for some rows, at least the score.
        Raises `CannotRunError` where it cannot.
    options : mapping from name to default
    check : function of form and options
        Raises `InputError` for a model that the target cannot hold, such as for a name.
    lacks : set of keys of `FEATURES`
    tolerance : float
        Largest difference from the model that is rounding, relative to the size of the numbers
        that were added.
    """

    name: str
    suffix: str
    summary: str
    write: Callable[[Form, Options], Content]
    run: Callable[[Path, Form, Options, Cells], Answers]
    options: Options = field(default_factory=lambda: MappingProxyType({}))
    check: Callable[[Form, Options], None] = _no_check
    lacks: frozenset[str] = frozenset()
    tolerance: float = ROUNDING


def find_target(name: str) -> Target:
    """Return a target by name."""
    if name not in HOMES:
        known = ", ".join(HOMES)
        raise InputError(f"no export target {name!r}{did_you_mean(name, HOMES)}; choose of {known}")
    target: Target = import_module(HOMES[name]).TARGET
    return target


def settle_options(target: Target, given: Options) -> dict[str, Any]:
    """Return all options of a target, refusing those that it does not have."""
    unknown = [name for name in given if name not in target.options]
    if unknown:
        hint = did_you_mean(unknown[0], target.options)
        known = ", ".join(target.options) or "none"
        raise InputError(f"{target.name} has no option {unknown[0]!r}{hint}; its options: {known}")
    return {**target.options, **given}


def check_expressible(target: Target, form: Form) -> None:
    """Refuse a model with something that the target lacks."""
    for feature, place in features(form).items():
        if feature in target.lacks:
            raise InputError(
                f"{target.name} cannot express {FEATURES[feature]}, which {place} has; choose "
                "another target, or fit without it"
            )


def features(form: Form) -> dict[str, str]:
    """Return which of `FEATURES` a form has, each with the first place that has it."""
    found: dict[str, str] = {}
    for given in form.inputs:
        if isinstance(given, NumberInput) and any(isinstance(c, str) for c in given.codes):
            found.setdefault("text code", f"'{given.name}'")
    for line in form.role("term"):
        for node in nodes(line.value):
            if isinstance(node, Function):
                found.setdefault(node.name, f"{line.name} ({line.text})")
            elif _is_product(node):
                found.setdefault("product", f"{line.name} ({line.text})")
    return found


def _is_product(node: Any) -> bool:
    """Tell whether two numbers that vary are multiplied."""
    if not isinstance(node, Arithmetic) or node.sign != "*":
        return False
    return not any(isinstance(side, Constant) for side in (node.left, node.right))

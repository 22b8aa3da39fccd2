"""The reference evaluator: what the nodes of a form mean, on numpy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.columns.logarithm import logarithm
from rpte.export.cells import Cells, to_the_letter
from rpte.export.form import (
    All,
    Arithmetic,
    Choice,
    Compare,
    Condition,
    Constant,
    Finite,
    Form,
    Function,
    Line,
    Missing,
    Number,
    NumberInput,
    OneOf,
    Present,
    Total,
    Value,
)

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

SIGNS: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LARGEST = float(np.finfo(np.float64).max)
FUNCTIONS: dict[str, Any] = {"log": logarithm, "sqrt": np.sqrt, "exp": np.exp}


def evaluate(form: Form, cells: Cells) -> dict[str, Floats]:
    """Return the value of every line for some rows, each of shape (n_rows,)."""
    rows = _Rows(form, cells)
    with np.errstate(all="ignore"):
        for line in form.lines:
            rows.lines[line.name] = np.broadcast_to(rows.number(line.value), rows.n_rows)
    return rows.lines


def magnitudes(form: Form, cells: Cells) -> dict[str, Floats]:
    """Return the size of the numbers that each line adds and subtracts, each of shape (n_rows,)."""
    sizes = _Sizes(form, cells)
    with np.errstate(all="ignore"):
        for line in form.lines:
            sizes.exact.lines[line.name] = sizes.exact.number(line.value)
            sizes.lines[line.name] = np.minimum(np.abs(sizes.number(line.value)), LARGEST)
    return sizes.lines


class _Rows:
    """Typed columns, and the lines computed so far."""

    def __init__(self, form: Form, cells: Cells) -> None:
        self.cells = to_the_letter(form, cells).columns
        self.n_rows = cells.n_rows
        self.lines: dict[str, Floats] = {}
        self.numbers = {
            given.name: np.array(
                [
                    np.nan if cell is None or cell in given.codes else float(cell)
                    for cell in cells.columns[given.name]
                ]
            )
            for given in form.inputs
            if isinstance(given, NumberInput)
        }

    def number(self, node: Number) -> Floats:
        """Return the value of a number node."""
        match node:
            case Constant(value):
                return np.full(self.n_rows, value)
            case Value(name):
                return self.numbers[name]
            case Line(name):
                return self.lines[name]
            case Arithmetic(sign, left, right):
                return np.asarray(SIGNS[sign](self.number(left), self.number(right)))
            case Function(name, of):
                return np.asarray(FUNCTIONS[name](self.number(of)))
            case Choice(condition, yes, no):
                return np.where(self.condition(condition), self.number(yes), self.number(no))
            case Total(parts):
                total = self.number(parts[0])
                for part in parts[1:]:
                    total = total + self.number(part)
                return total

    def condition(self, node: Condition) -> Truths:
        """Return where a condition holds."""
        match node:
            case Present(name):
                return np.asarray(~np.isnan(self.numbers[name]))
            case Missing(name):
                return np.array([cell is None for cell in self.cells[name]], bool)
            case OneOf(name, levels, inside):
                known = set(levels)
                return np.array(
                    [cell is not None and (cell in known) == inside for cell in self.cells[name]],
                    bool,
                )
            case Compare(sign, left, right):
                return np.asarray(SIGNS[sign](self.number(left), self.number(right)))
            case Finite(product):
                return np.isfinite(self.number(product))
            case All(conditions):
                return np.asarray(np.all([self.condition(part) for part in conditions], axis=0))


class _Sizes(_Rows):
    """The same with the size of every sum and difference in place of its value."""

    def __init__(self, form: Form, cells: Cells) -> None:
        super().__init__(form, cells)
        self.exact = _Rows(form, cells)

    def number(self, node: Number) -> Floats:
        """Return the size of a number node."""
        match node:
            case Arithmetic("+" | "-", left, right):
                return np.abs(self.number(left)) + np.abs(self.number(right))
            case Total(parts):
                return np.asarray(np.sum([np.abs(self.number(part)) for part in parts], axis=0))
            case Function():
                return self.exact.number(node)
        return super().number(node)

    def condition(self, node: Condition) -> Truths:
        """Return where a condition holds."""
        return self.exact.condition(node)

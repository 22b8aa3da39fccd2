"""The reference evaluator: what the nodes of a form mean, on numpy arrays."""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from rpte.columns.logarithm import logarithm
from rpte.export.cells import Cells, to_the_letter
from rpte.export.form import MAX_FLOAT, Form, Line, Node, OneOf, Operation, Translation
from rpte.export.inputs import NumberInput
from rpte.utils.arrays import Array, Floats

# What every operation is, on arrays of numbers or truths.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "log": logarithm, "sqrt": np.sqrt, "exp": np.exp, "if": np.where, "finite": np.isfinite,
    "sum": lambda *parts: reduce(operator.add, parts),
    "max": lambda *parts: reduce(np.maximum, parts),
    "and": lambda *parts: reduce(np.logical_and, parts),
}  # fmt: skip


def evaluate(form: Form, cells: Cells) -> dict[str, Floats]:
    """Return the value of every line for some rows, each of shape (n_rows,)."""
    rows = _Rows(form, cells)
    with np.errstate(all="ignore"):
        for line in form.lines:
            rows.lines[line.name] = np.broadcast_to(rows.node(line.value), cells.n_rows)
    return rows.lines


def magnitudes(form: Form, cells: Cells) -> dict[str, Floats]:
    """Return the size of the numbers that each line adds and subtracts, each of shape (n_rows,)."""
    sizes = _Sizes(form, cells)
    with np.errstate(all="ignore"):
        for line in form.lines:
            sizes.exact.lines[line.name] = sizes.exact.node(line.value)
            sizes.lines[line.name] = np.minimum(np.abs(sizes.node(line.value)), MAX_FLOAT)
    return sizes.lines


class _Rows(Translation[Array]):
    """Typed columns, and the lines computed so far."""

    def __init__(self, form: Form, cells: Cells) -> None:
        self.cells, self.n_rows = to_the_letter(form, cells).columns, cells.n_rows
        self.lines: dict[str, Floats] = {}
        codes = {given.name: given.codes for given in form.inputs if isinstance(given, NumberInput)}
        self.numbers: dict[str, Floats] = {}
        for name, own in codes.items():
            found = (np.nan if c is None or c in own else float(c) for c in cells.columns[name])
            self.numbers[name] = np.array(list(found))

    def _operation(self, name: str, *parts: Array) -> Array:
        return np.asarray(OPERATIONS[name](*parts))

    def _constant(self, value: float) -> Floats:
        return np.full(self.n_rows, value)

    def _value(self, name: str) -> Floats:
        return self.numbers[name]

    def _line(self, name: str) -> Floats:
        return self.lines[name]

    def _present(self, name: str) -> Array:
        return np.asarray(~np.isnan(self.numbers[name]))

    def _missing(self, name: str) -> Array:
        return np.array([cell is None for cell in self.cells[name]], bool)

    def _one_of(self, node: OneOf) -> Array:
        known, cells = set(node.levels), self.cells[node.input]
        found = [cell is not None and (cell in known) == node.inside for cell in cells]
        return np.array(found, bool)


class _Sizes(_Rows):
    """The same with the size of every sum and difference in place of its value."""

    def __init__(self, form: Form, cells: Cells) -> None:
        super().__init__(form, cells)
        self.exact = _Rows(form, cells)

    def node(self, node: Node) -> Array:
        match node:
            case Operation("+" | "-" | "sum", parts):
                return np.asarray(sum(np.abs(self.node(part)) for part in parts))
            case Operation("*" | "/" | "if") | Line():
                return super().node(node)
        return self.exact.node(node)

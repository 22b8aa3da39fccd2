"""A form with one input fixed: what remains of an expression when a variable has a known value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from rpte.export.evaluate import FUNCTIONS, SIGNS
from rpte.export.form import (
    All,
    Arithmetic,
    Choice,
    Code,
    Compare,
    Condition,
    Constant,
    Finite,
    Function,
    Line,
    Missing,
    Number,
    OneOf,
    Present,
    Total,
    Value,
)
from rpte.table.column import LARGEST

# A factor is at most a number plus a knot, each at most LARGEST.
MOST_FACTOR = 2.0 * LARGEST


@dataclass(frozen=True, slots=True)
class Fixed:
    """One input with a known value.

    Parameters
    ----------
    input : str
    cell : float or str
        A number that is no special code, or a level; the pooled level stands for itself.
    """

    input: str
    cell: Code

    def number(self, node: Number) -> Number:
        """Return what is left of a number, to the last bit."""
        match node:
            case Value(name):
                return Constant(float(self.cell)) if name == self.input else node
            case Arithmetic():
                return self._arithmetic(node)
            case Function(name, of):
                inner = self.number(of)
                if isinstance(inner, Constant):
                    return Constant(float(FUNCTIONS[name](np.array([inner.value]))[0]))
                return Function(name, inner)
            case Choice(condition, yes, no):
                holds = self.condition(condition)
                if isinstance(holds, bool):
                    return self.number(yes if holds else no)
                return Choice(holds, self.number(yes), self.number(no))
            case Total(parts):
                return _total([self.number(part) for part in parts])
            case Constant() | Line():
                return node

    def _arithmetic(self, node: Arithmetic) -> Number:
        left, right = self.number(node.left), self.number(node.right)
        if isinstance(left, Constant) and isinstance(right, Constant):
            return Constant(float(SIGNS[node.sign](left.value, right.value)))
        if node.sign == "*" and isinstance(right, Constant):
            left, right = right, left  # a coefficient stands first
        return Arithmetic(node.sign, left, right)

    def condition(self, node: Condition) -> Condition | bool:
        """Return what is left of a condition: a truth where nothing else decides it."""
        match node:
            case Present(name):
                return True if name == self.input else node
            case Missing(name):
                return False if name == self.input else node
            case OneOf(name, levels, inside):
                if name != self.input:
                    return node
                return isinstance(self.cell, str) and (self.cell in levels) == inside
            case Compare(sign, left, right):
                a, b = self.number(left), self.number(right)
                if isinstance(a, Constant) and isinstance(b, Constant):
                    return bool(SIGNS[sign](a.value, b.value))
                return Compare(sign, a, b)
            case Finite(product):
                return self._finite(product)
            case All(conditions):
                return _all([self.condition(part) for part in conditions])

    def _finite(self, product: Arithmetic) -> Condition | bool:
        found = self.number(product)
        if isinstance(found, Constant):
            return math.isfinite(found.value)
        assert isinstance(found, Arithmetic)
        if isinstance(found.left, Constant) and math.isfinite(found.left.value * MOST_FACTOR):
            return True  # that the other factor is there is asked beside it
        return Finite(found)


def _total(parts: list[Number]) -> Number:
    """Return a sum without zeros, which change nothing."""
    left = tuple(part for part in parts if part != Constant(0.0))
    values = [part.value for part in left if isinstance(part, Constant)]
    if len(values) == len(left):
        return Constant(reduce(add, values, 0.0))
    return left[0] if len(left) == 1 else Total(left)


def _all(conditions: list[Condition | bool]) -> Condition | bool:
    if any(part is False for part in conditions):
        return False
    left = tuple(part for part in conditions if not isinstance(part, bool))
    if not left:
        return True
    return left[0] if len(left) == 1 else All(left)

"""A form with one input fixed: what remains of an expression when a variable has a known value."""

import math
from dataclasses import dataclass

import numpy as np

from rpte.export.evaluate import OPERATIONS
from rpte.export.form import Constant, Missing, Node, OneOf, Operation, Present, Value, apply
from rpte.export.inputs import Code
from rpte.table.column import LARGEST

# A factor is at most a number plus a knot, each at most LARGEST.
MOST_FACTOR = 2.0 * LARGEST


@dataclass(frozen=True, slots=True)
class Fixed:
    """One input with a known value."""

    input: str
    cell: Code  # a number that is no special code, or a level; the pooled one stands for itself

    def number(self, node: Node) -> Node:
        """Return what is left of a number, to the last bit."""
        found = self.node(node)
        assert not isinstance(found, bool)
        return found

    def node(self, node: Node) -> Node | bool:
        """Return what is left of a node; of a condition a truth where nothing else decides it."""
        match node:
            case Value(self.input):
                return Constant(float(self.cell))
            case Present(self.input):
                return True
            case Missing(self.input):
                return False
            case OneOf(self.input, levels, inside):
                return isinstance(self.cell, str) and (self.cell in levels) == inside
            case Operation("if", (condition, yes, no)):
                holds = self.node(condition)
                if isinstance(holds, bool):
                    return self.node(yes if holds else no)
                return apply("if", holds, self.number(yes), self.number(no))
            case Operation("and", conditions):
                return _all([self.node(part) for part in conditions])
            case Operation(name, parts):
                return _computed(name, *map(self.number, parts))
        return node


def _all(conditions: list[Node | bool]) -> Node | bool:
    if any(part is False for part in conditions):
        return False
    left = [part for part in conditions if not isinstance(part, bool)]
    if not left:
        return True
    return left[0] if len(left) == 1 else apply("and", *left)


def _computed(name: str, *parts: Node) -> Node | bool:
    """Return an operation on numbers, or its value where they are known."""
    if name == "sum":  # zeros change nothing
        parts = tuple(part for part in parts if part != Constant(0.0)) or (Constant(0.0),)
    values = [np.array([part.value]) for part in parts if isinstance(part, Constant)]
    if len(values) == len(parts):
        with np.errstate(all="ignore"):
            found = OPERATIONS[name](*values)[0]
        return bool(found) if found.dtype == bool else Constant(float(found))
    if name == "sum" and len(parts) == 1:
        return parts[0]
    if name == "*" and isinstance(parts[1], Constant):
        parts = parts[::-1]  # a coefficient stands first
    if name == "finite" and isinstance(parts[0], Operation):
        factor = parts[0].parts[0]
        if isinstance(factor, Constant) and math.isfinite(factor.value * MOST_FACTOR):
            return True  # that the other factor is there is asked beside it
    return apply(name, *parts)

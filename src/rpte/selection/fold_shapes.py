"""What a base fit asks of the variables of a fold, and the shapes that answer it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rpte.estimation.one_shape import Kind, Moments, Shape
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index


@dataclass(frozen=True, slots=True)
class ShapeChoice:
    """The shape of a variable: its kind, and of how many terms."""

    kind: Kind
    size: int


@dataclass(slots=True, eq=False)
class Asked:
    """What a base fit asks of some rows: its score, and the Newton step that it leaves undone."""

    score: Floats  # (n,)
    gradient: Floats  # minus the first derivative of half the deviance
    curvature: Floats
    own: dict[str, Floats]  # what each variable adds to the score

    @classmethod
    def of(cls, table: Table, score: Floats) -> Asked:
        """Return what a score asks of the rows of a table."""
        at = table.loss.residuals(score, table.y, table.weight)
        return cls(score, at.gradient, at.hessian, {})


@dataclass(slots=True, eq=False)
class FoldShapes:
    """What the base fit asks of the variables of a fold, and shapes that answer it."""

    asked: Asked  # of training rows
    held: Asked | None  # of held-out rows
    columns: dict[str, Index] = field(default_factory=dict)  # places in the vocabulary
    held_out: dict[str, Moments] = field(default_factory=dict)
    shapes: dict[tuple[str, Kind], list[Shape]] = field(default_factory=dict)
    trees: dict[tuple[int, str], int] = field(default_factory=dict)  # numbers of whole trees
    choices: dict[str, ShapeChoice] = field(default_factory=dict)

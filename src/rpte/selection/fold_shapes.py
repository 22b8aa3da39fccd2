"""What a base fit asks of the variables of a fold, and the shapes that answer it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

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
    """What a base fit asks of some rows: its score, and the Newton step that it leaves undone.

    Derivatives are in units of how far targets spread beside the fit, so that gains are in nats.
    """

    score: Floats  # (n,) of one score, else (K, n)
    gradient: Floats  # minus the first derivative of half the deviance, (K, n)
    curvature: Floats  # (K, n)
    dispersion: float  # how far targets spread beside the fit: 1 for classes
    own: dict[str, Floats] = field(default_factory=dict)  # of each variable, in the scores, (K, n)

    @classmethod
    def of(cls, table: Table, score: Floats, dispersion: float) -> Asked:
        """Return what a score asks of the rows of a table."""
        at = table.loss.residuals(score, table.y, table.weight)
        gradient, curvature = np.atleast_2d(at.gradient), np.atleast_2d(at.hessian)
        return cls(score, gradient / dispersion, curvature / dispersion, dispersion)

    def moments(self, z: Floats, asked: Floats, means: Floats) -> Moments:
        """Return the moments of columns (q, n), less their `means` (K, q), with what is asked.

        That is the `asked` effect (K, n) and the Newton step beside it.
        """
        gram = np.empty((len(asked), len(z), len(z)))
        slope = np.empty((len(asked), len(z)))
        for k, mean in enumerate(means):
            centred, root = z - mean[:, None], np.sqrt(self.curvature[k])
            slope[k] = centred @ (self.curvature[k] * asked[k] + self.gradient[k])
            centred *= root
            np.matmul(centred, centred.T, out=gram[k])
        return Moments(gram, slope)


@dataclass(slots=True, eq=False)
class FoldShapes:
    """What the base fit asks of the variables of a fold, and shapes that answer it."""

    asked: Asked  # of training rows
    held: Asked | None  # of held-out rows
    columns: dict[str, Index] = field(default_factory=dict)  # places in the vocabulary
    held_out: dict[str, Moments] = field(default_factory=dict)
    shapes: dict[tuple[str, Kind], list[Shape]] = field(default_factory=dict)
    trees: dict[tuple[int, str], int] = field(default_factory=dict)  # numbers of whole trees
    rounds: list[int] = field(default_factory=list)  # of products: columns after each
    choices: dict[str, ShapeChoice] = field(default_factory=dict)

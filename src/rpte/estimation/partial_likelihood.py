"""Stage 3 of hazards: the partial likelihood itself as the loss of equation (5).

A row has no loss of its own, because every event is compared with all rows under observation at its
time. But the gradient by the scores is that of a Poisson loss beside the baseline at these scores,
and the second derivatives are those of that loss less what the baseline follows: with the curvature
m_ig of row i at time g,

    H = sum_ig m_ig z_i z_i' - sum_g c_g c_g' / b_g,    c_g = sum_i m_ig z_i,    b_g = sum_i m_ig.

Neighbouring times, and tied events, are taken together where they are many. That makes H larger
(Cauchy-Schwarz), so that steps are rather too short; the line search sees the true objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rpte.estimation.block_design import BlockDesign
from rpte.estimation.design import Design
from rpte.estimation.problem import ExactProblem, Gram, NullModel, Point, Selection, Slopes
from rpte.losses import Loss
from rpte.losses.risk_sets import LARGEST_RANGE, RiskSets
from rpte.utils.arrays import Floats, Index, Int8s

MOST_TIMES = 2_048  # that second derivatives tell apart
LEAST = 1e-12  # fraction of the curvature beside a known baseline: less is rounding error
SHARED = ("leaf_counts", "penalty", "sign", "loss", "starts", "owner")


@dataclass(frozen=True, slots=True, eq=False)
class HazardPoint(Point):
    """A point with its scores, and the derivatives of the Poisson loss there, (n,) each."""

    score: Floats
    residual: Floats
    curvature: Floats


@dataclass(frozen=True, slots=True, eq=False)
class PartialLikelihood(ExactProblem[HazardPoint]):
    """The terms of a design, with the times that its rows were under observation.

    Targets and weights of the design count only in `data_gram`. The intercept changes nothing.
    """

    design: Design | BlockDesign
    risk: RiskSets
    leaf_counts: tuple[int, ...] = field(init=False, repr=False)
    penalty: Floats = field(init=False, repr=False)
    sign: Int8s = field(init=False, repr=False)
    loss: Loss = field(init=False, repr=False)
    starts: Index = field(init=False, repr=False)
    owner: Index = field(init=False, repr=False)
    known: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    by_blocks = False

    def __post_init__(self) -> None:
        """Have the terms of the design."""
        for name in SHARED:
            object.__setattr__(self, name, getattr(self.design, name))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.design.n_rows

    @property
    def null_score(self) -> float:
        """The score without terms."""
        return 0.0

    def part(self) -> None:
        """Return nothing: some of the rows have other risk sets."""

    def tied(
        self, groups: Sequence[Index], counts: tuple[int, ...], penalty: Floats, sign: Int8s
    ) -> PartialLikelihood:
        """Return the problem in which each leaf of a tree is a group of leaves, by number."""
        return replace(self, design=self.design.tied(groups, counts, penalty, sign))

    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some direct columns sum to one on every row."""
        return self.design.sum_to_one(columns)

    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """F = intercept + Z coefficients, shape (n,)."""
        return self.design.score(intercept, coefficients)

    def _null_model(self) -> NullModel:
        null = self.at(0.0, np.zeros(self.n_terms))
        return NullModel(null.loss, self.slopes(null)[1], self.design.null_model().peaks)

    def at(self, intercept: float, theta: Floats) -> HazardPoint:
        """Return the point of some coefficients (q,)."""
        return self._point(intercept, theta, self.score(intercept, theta))

    def _point(self, intercept: float, theta: Floats, score: Floats) -> HazardPoint:
        if np.ptp(score) > LARGEST_RANGE:  # no step may end here
            return HazardPoint(intercept, theta, np.inf, None, score, *np.zeros((2, len(score))))
        factor = 2.0 / float(self.risk.weight.sum())
        hazard, events = self.risk.hazards(score)
        row_weight, loss = factor * self.risk.weight, -factor * self.risk.log_likelihood(score)
        derivatives = row_weight * (hazard - events), row_weight * hazard
        return HazardPoint(intercept, theta, loss, None, score, *derivatives)

    def line(
        self, point: HazardPoint, shift: float, change: Floats
    ) -> Callable[[float], HazardPoint]:
        """Return the points that a multiple of a change of intercept and coefficients leads to."""
        along = self.score(shift, change)

        def to(size: float) -> HazardPoint:
            there = point.intercept + size * shift, point.theta + size * change
            return self._point(*there, point.score + size * along)

        return to

    def slopes(self, point: HazardPoint, selection: Selection | None = None) -> Slopes:
        """Return the gradient at a point; with `selection`, the others are not all computed."""
        return 0.0, self.design.transposed(point.residual, selection)

    def gram(
        self, selection: Selection, point: HazardPoint, fraction: float, floor: float, exact: bool
    ) -> tuple[Gram, bool]:
        """Second derivatives by some coefficients; those of the intercept are none."""
        row_weight = 2.0 * self.risk.weight / float(self.risk.weight.sum())
        h = np.maximum(point.curvature, 0.5 * floor * row_weight)
        whole = self.design.weighted_gram(selection, h)
        centred = whole.centred - self._followed(selection, point)
        own = np.diag(whole.centred)
        np.fill_diagonal(centred, np.maximum(np.diag(centred), 0.0) + LEAST * own)
        centred[own == 0.0], centred[:, own == 0.0] = 0.0, 0.0
        return Gram(selection, centred, np.zeros(len(own)), 1.0), True

    def _followed(self, selection: Selection, point: HazardPoint) -> Floats:
        """Return what the baseline of each time follows, (k, k): the variance between times."""
        spans, factor = self.risk.spans(point.score, MOST_TIMES), 2.0 / self.risk.weight.sum()
        size = len(spans.whole)
        mass, first = np.zeros(size), np.zeros((size, selection.terms.size))
        for group, risk, own in spans.parts:
            sums = (np.bincount(group, each, size).astype(np.float64) for each in (risk, own))
            mass += spans.total(*sums)
            first += spans.total(
                *self.design.group_sums(selection, group, np.array([risk, own]), size)
            )
        seen = mass > 0.0
        mass, mean = mass[seen], first[seen] / mass[seen, None]
        apart = (mean - mass @ mean / mass.sum()) * np.sqrt(factor * mass)[:, None]
        return np.asarray(apart.T @ apart)

    def data_gram(self, selection: Selection, part: bool = False) -> Gram:
        """Gram matrix under the weights of the design, or of some of its rows if `part`."""
        return self.design.data_gram(selection, part)

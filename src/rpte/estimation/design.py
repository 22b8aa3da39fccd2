"""The Stage 3 design of rows in memory: leaf codes and direct columns side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rpte.estimation.gram import Places, Tiles, centred_gram, grouped, weighted_tile
from rpte.estimation.problem import (
    ExactProblem,
    Gram,
    NullModel,
    Point,
    Selection,
    Slopes,
    check_shape,
)
from rpte.kernels.design_products import (
    TILE_ROWS,
    add_direct_scores,
    add_direct_sums,
    add_leaf_scores,
    add_leaf_sums,
)
from rpte.kernels.losses import loss_statistics
from rpte.losses import BINOMIAL, Loss
from rpte.rows import scale
from rpte.rows.passes import RowBlocks, add, each_block
from rpte.utils.arrays import Floats, Index, Int8s, Int32s


@dataclass(frozen=True, slots=True, eq=False)
class HeldPoint(Point):
    """A point with its scores, and the derivatives of the loss by row, each (n,)."""

    score: Floats
    residual: Floats
    curvature: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Design(ExactProblem[HeldPoint]):
    """What Stage 3 fits: M trees as leaf codes, d direct columns, targets and weights.

    Coefficients are ordered: leaves of tree 0, leaves of tree 1, ..., direct columns; q together.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1]], np.int32)
    >>> design = Design(codes, (2,), np.zeros((4, 0), order="F"), np.array([0., 1., 1., 1.]),
    ...                 np.ones(4), np.ones(2))
    >>> design.n_terms
    2
    """

    leaf_codes: Int32s  # leaf reached by each row, per tree, (M, n)
    leaf_counts: tuple[int, ...]  # leaves per tree
    # As the penalty sees them (centred and scaled by the caller), no NaN: (n, d), Fortran order.
    direct: Floats
    y: Floats  # targets that the loss has a meaning for, (n,)
    weight: Floats  # positive, (n,); their sum W takes the place of n in equation (5)
    penalty: Floats
    sign: Int8s = field(default_factory=lambda: np.zeros(0, np.int8))
    loss: Loss = BINOMIAL
    starts: Index = field(init=False, repr=False)
    owner: Index = field(init=False, repr=False)
    row_weight: Floats = field(init=False, repr=False)  # as the mean deviance has them, 2 w / W
    everything: Selection = field(init=False, repr=False)
    known: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    by_blocks = False

    def __post_init__(self) -> None:
        """Check shapes and values once, and keep what every product needs."""
        n, trees = self.y.shape[0], len(self.leaf_counts)
        check_shape("leaf_codes", self.leaf_codes, (trees, n), np.int32)
        check_shape("direct", self.direct, (n, self.direct.shape[-1]), np.float64)
        for name in ("y", "weight"):
            check_shape(name, getattr(self, name), (n,), np.float64)
        self._count_terms(self.direct.shape[1])
        _check_values(self)
        object.__setattr__(self, "row_weight", self.weight * (2.0 / self.weight.sum()))
        object.__setattr__(self, "everything", self.select(np.ones(self.n_terms, np.bool_)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def part(self) -> Design | None:
        """Return the problem of the first rows, whose solution is close; None if there are few."""
        rows = max(scale.FIRST_ROWS, scale.ROWS_PER_TERM * self.n_terms, self.n_rows // 8)
        few = 2 * rows > self.n_rows or not self.loss.varies(self.y[:rows])
        return None if few else self.first_rows(rows)

    def first_rows(self, rows: int) -> Design:
        """Return the problem of the first rows."""
        codes = np.ascontiguousarray(self.leaf_codes[:, :rows])
        direct, y, weight = np.asfortranarray(self.direct[:rows]), self.y[:rows], self.weight[:rows]
        return replace(self, leaf_codes=codes, direct=direct, y=y, weight=weight)

    def tied(
        self, groups: Sequence[Index], counts: tuple[int, ...], penalty: Floats, sign: Int8s
    ) -> Design:
        """Return the problem in which each leaf of a tree is a group of leaves, by number."""
        codes = [group[codes] for group, codes in zip(groups, self.leaf_codes, strict=True)]
        leaf_codes = np.array(codes, np.int32).reshape(self.leaf_codes.shape)
        return replace(self, leaf_codes=leaf_codes, leaf_counts=counts, penalty=penalty, sign=sign)

    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some direct columns sum to one on every row."""
        return bool((self.direct[:, columns].sum(axis=1) == 1.0).all())

    def _null_model(self) -> NullModel:
        score, direct = self.score(self.null_score, np.zeros(self.n_terms)), self.direct
        loss, residual, _ = self.statistics(score)
        tops = np.maximum(direct.max(axis=0), -direct.min(axis=0))
        peaks = np.concatenate((np.ones(self.n_leaves), tops))
        return NullModel(loss, self.transposed(residual), peaks)

    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """F = intercept + Z coefficients, shape (n,)."""
        out, leaves, direct = np.full(self.n_rows, float(intercept)), self.n_leaves, self.direct.T
        some = bool(coefficients[leaves:].any())

        def fill(rows: slice) -> None:
            add_leaf_scores(self.leaf_codes, self.starts, coefficients, rows.start, out[rows])
            if some:
                add_direct_scores(direct, coefficients[leaves:], rows.start, out[rows])

        list(each_block(fill, RowBlocks(len(out))))
        return out

    def transposed(self, values: Floats, selection: Selection | None = None) -> Floats:
        """``Z.T @ values``, shape (q,); with `selection`, the others are not all computed.

        Where there are fewer values than rows they are those of the first rows.
        """
        chosen, leaves, direct = selection or self.everything, self.n_leaves, self.direct.T

        def sums(rows: slice) -> Floats:
            out, some, low = np.zeros(self.n_terms), values[rows], rows.start
            add_leaf_sums(self.leaf_codes, self.starts, chosen.trees, some, low, out)
            if chosen.columns.size:
                add_direct_sums(direct, chosen.columns, some, low, out[leaves:])
            return out

        return add(sums, RowBlocks(len(values)))

    def at(self, intercept: float, theta: Floats) -> HeldPoint:
        """Return the point of some coefficients (q,)."""
        return self._point(intercept, theta, self.score(intercept, theta))

    def _point(self, intercept: float, theta: Floats, score: Floats) -> HeldPoint:
        loss, residual, curvature = self.statistics(score)
        return HeldPoint(intercept, theta, loss, None, score, residual, curvature)

    def line(self, point: HeldPoint, shift: float, change: Floats) -> Callable[[float], HeldPoint]:
        """Return the points that a multiple of a change of intercept and coefficients leads to."""
        along = self.score(shift, change)

        def to(size: float) -> HeldPoint:
            there = point.intercept + size * shift, point.theta + size * change
            return self._point(*there, point.score + size * along)

        return to

    def slopes(self, point: HeldPoint, selection: Selection | None = None) -> Slopes:
        """Return the gradient at a point; with `selection`, the others are not all computed."""
        return float(point.residual.sum()), self.transposed(point.residual, selection)

    def gram(
        self, selection: Selection, point: HeldPoint, fraction: float, floor: float, exact: bool
    ) -> tuple[Gram, bool]:
        """Gram matrix of some terms under the curvature of the first rows, or of all."""
        n, least = self.n_rows, max(scale.GRAM_ROWS, scale.ROWS_PER_TERM * selection.terms.size)
        rows = max(least, int(fraction * n))
        rows = rows if 2 * rows <= n else n
        weight = self.row_weight[:rows]
        h = np.maximum(point.curvature[:rows], 0.5 * floor * weight)
        if rows < n:
            h *= 2.0 / float(weight.sum())
        return self.weighted_gram(selection, h), rows == n

    def data_gram(self, selection: Selection, part: bool = False) -> Gram:
        """Gram matrix under the weights of the data, or of the first rows if `part`."""
        rows = scale.LONG_ABOVE if part else self.n_rows
        return self.weighted_gram(selection, 0.5 * self.row_weight[:rows])

    def weighted_gram(self, selection: Selection, h: Floats) -> Gram:
        """Gram matrix of the columns `selection` of Z under the row weights `h` (n,).

        Where `h` is shorter it is that of the first rows. Call it inside `one_blas_thread`.
        """
        places, codes, direct = Places.of(self, selection), self.leaf_codes, self.direct.T
        columns = selection.columns

        def tiles(rows: slice) -> Tiles:
            root = np.sqrt(h[rows])
            buffer = np.empty((columns.size + 1, min(TILE_ROWS, len(root))))
            for low in range(0, len(root), TILE_ROWS):
                part, start = root[low : low + TILE_ROWS], rows.start + low
                z = direct[:, start : start + len(part)]
                yield start, part, weighted_tile(z, columns, part, buffer)

        def moments(rows: slice) -> tuple[float, Floats]:
            return places.moments(codes, rows.start, h[rows], tiles(rows))

        return centred_gram(self, selection, add(moments, RowBlocks(len(h))))

    def group_sums(self, selection: Selection, group: Index, values: Floats, size: int) -> Floats:
        """Return sums of some terms by `size` groups of rows, (v, size, k), times values (v, n)."""
        return grouped(self, selection, (self.leaf_codes, self.direct.T), group, values, size)

    def statistics(self, score: Floats) -> tuple[float, Floats, Floats]:
        """Mean deviance at `score` with its first and second derivatives by row, each (n,)."""
        residual, curvature = np.empty_like(score), np.empty_like(score)

        def loss(rows: slice) -> float:
            given = score[rows], self.y[rows], self.row_weight[rows]
            return loss_statistics(self.loss.code, *given, residual[rows], curvature[rows])

        return add(loss, RowBlocks(len(score))), residual, curvature


def _check_values(design: Design) -> None:
    """Raise on values for which equation (5) has no finite minimum or the kernels no meaning."""
    counts = np.asarray(design.leaf_counts, dtype=np.int64)[:, None]
    if np.any(design.leaf_codes < 0) or np.any(design.leaf_codes >= counts):
        raise ValueError("leaf_codes must lie in [0, leaf_counts) for every tree")
    design.loss.check(design.y)
    if not (np.isfinite(design.weight).all() and (design.weight > 0.0).all()):
        raise ValueError("weight must be positive and finite")
    if not (design.direct.flags.f_contiguous and design.leaf_codes.flags.c_contiguous):
        raise ValueError("direct must be in Fortran order and leaf_codes in C order")
    if not np.isfinite(design.direct).all():
        raise ValueError("direct holds NaN or infinite values; fill them before the fit")

"""The Stage 3 design: leaf codes and direct columns side by side, and the loss of equation (5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.column_cache import EvaluatedTerms
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import (
    add_direct_scores,
    add_direct_sums,
    add_leaf_scores,
    add_leaf_sums,
    add_sums_and_peaks,
    step_rows,
)
from rpte.kernels.losses import loss_statistics
from rpte.losses import BINOMIAL, Loss
from rpte.rows import scale
from rpte.rows.passes import RowBlocks, add, each_block
from rpte.utils.arrays import Floats, Index, Int8s, Int32s, Mask

Tile = tuple[int, int, Floats, int]
Tiles = Callable[[slice, int], Iterator[Tile]]


class Selection(NamedTuple):
    """Some terms of a design: a mask (q,), their positions, the trees and columns among them."""

    mask: Mask
    terms: Index
    trees: Index
    columns: Index


class Step(NamedTuple):
    """What a change of the coefficients leads to."""

    along: Floats  # change of the score, (n,)
    score: Floats
    loss: float  # mean deviance, and its derivatives by row, (n,)
    residual: Floats
    curvature: Floats
    # The gradient of the intercept and of all terms, where it costs no further pass.
    slopes: tuple[float, Floats] | None = None


class Problem:
    """What exact and approximate designs share: targets, weights, permitted signs and a loss."""

    __slots__ = ()
    y: Floats
    weight: Floats
    sign: Int8s
    loss: Loss

    @property
    def null_score(self) -> float:
        """The score without terms."""
        return self.loss.null_score(self.y, self.weight)

    def pull(self, gradient: Floats) -> Floats:
        """Force of `gradient` (q,) on a zero coefficient towards a value it may have, (q,).

        Negative where only a forbidden value would lower the deviance.
        """
        return np.where(self.sign == 0, np.abs(gradient), -self.sign * gradient)


@dataclass(frozen=True, slots=True, eq=False)
class Design(Problem):
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
    direct: Floats | EvaluatedTerms
    y: Floats  # targets that the loss has a meaning for, (n,)
    weight: Floats  # positive, (n,); their sum W takes the place of n in equation (5)
    penalty: Floats  # positive relative penalty weights, (q,)
    # The sign that a coefficient may have: +1 not negative, -1 not positive, 0 either, (q,).
    sign: Int8s = field(default_factory=lambda: np.zeros(0, np.int8))
    loss: Loss = BINOMIAL
    starts: Index = field(init=False, repr=False)  # first leaf of each tree, first direct term
    owner: Index = field(init=False, repr=False)  # tree of each leaf
    row_weight: Floats = field(init=False, repr=False)  # as the mean deviance has them, 2 w / W
    everything: Selection = field(init=False, repr=False)
    known: dict[str, Floats] = field(init=False, repr=False, default_factory=dict)  # once for all

    def __post_init__(self) -> None:
        """Check shapes and values once, and keep what every product needs."""
        n, trees = self.y.shape[0], len(self.leaf_counts)
        starts = np.concatenate(([0], np.cumsum(self.leaf_counts))).astype(np.intp)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "owner", np.repeat(np.arange(trees), np.diff(starts)))
        if not self.sign.size:
            object.__setattr__(self, "sign", np.zeros(self.n_terms, np.int8))
        _check_shape("leaf_codes", self.leaf_codes, (trees, n), np.int32)
        if isinstance(self.direct, np.ndarray):
            _check_shape("direct", self.direct, (n, self.direct.shape[-1]), np.float64)
        for name, size in (("y", n), ("weight", n), ("penalty", self.n_terms)):
            _check_shape(name, getattr(self, name), (size,), np.float64)
        _check_shape("sign", self.sign, (self.n_terms,), np.int8)
        _check_values(self)
        object.__setattr__(self, "row_weight", self.weight * (2.0 / self.weight.sum()))
        object.__setattr__(self, "everything", self.select(np.ones(self.n_terms, np.bool_)))

    @property
    def _leaves(self) -> tuple[Int32s, Index, Index]:
        return self.leaf_codes, self.starts, self.everything.trees

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together: the position of the first direct term."""
        return int(self.starts[-1])

    @property
    def n_terms(self) -> int:
        """Number of coefficients q, the intercept not counted."""
        return self.n_leaves + int(self.direct.shape[1])

    def tiles(self) -> Tiles:
        """Return what yields the direct terms of a block of rows tile by tile.

        From rows and the longest tile to the ends of each, direct terms as (d, *), and the column
        of these that the tile begins at. What is evaluated comes in tiles of its own length.
        """
        direct = self.direct
        if isinstance(direct, EvaluatedTerms):
            evaluated = direct.open().tiles
            return lambda rows, most: ((*tile, 0) for tile in evaluated(rows))
        held = direct.T

        def cut(rows: slice, most: int) -> Iterator[Tile]:
            for low in range(rows.start, rows.stop, most):
                yield low, min(low + most, rows.stop), held, low

        return cut

    def first_rows(self, rows: int) -> Design:
        """Return the problem of the first rows."""
        codes, direct = np.ascontiguousarray(self.leaf_codes[:, :rows]), self.direct
        if isinstance(direct, EvaluatedTerms):
            direct = direct.first_rows(rows)
        else:
            direct = np.asfortranarray(direct[:rows])
        y, weight = self.y[:rows], self.weight[:rows]
        return replace(self, leaf_codes=codes, direct=direct, y=y, weight=weight)

    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some direct columns sum to one on every row."""
        if isinstance(self.direct, EvaluatedTerms):
            return self.direct.sum_to_one(columns)
        return bool((self.direct[:, columns].sum(axis=1) == 1.0).all())

    def sums_and_peaks(self, values: Floats) -> tuple[Floats, Floats]:
        """``Z.T @ values`` and the largest absolute value of each term, both (q,), in one pass."""
        leaves, direct = self.n_leaves, self.direct
        if not isinstance(direct, EvaluatedTerms):
            tops = np.maximum(direct.max(axis=0), -direct.min(axis=0))
            return self.transposed(values), np.concatenate((np.ones(leaves), tops))
        read = direct.open().cells

        def found(rows: slice) -> tuple[Floats, Floats]:
            sums, peaks = np.zeros(self.n_terms), np.zeros(direct.shape[1])
            add_leaf_sums(*self._leaves, values[rows], rows.start, sums)
            add_sums_and_peaks(*read(rows), values[rows], sums[leaves:], peaks)
            return sums, peaks

        with one_blas_thread():
            sums, peaks = zip(*each_block(found, RowBlocks(len(values))), strict=True)
        return sum(sums), np.concatenate((np.ones(leaves), np.max(peaks, axis=0)))

    def select(self, mask: Mask) -> Selection:
        """Find the terms of `mask` (q,)."""
        terms, leaves = np.flatnonzero(mask), self.n_leaves
        first = int(np.count_nonzero(mask[:leaves]))
        reached = np.zeros(len(self.leaf_counts), np.bool_)
        reached[self.owner[terms[:first]]] = True
        return Selection(mask, terms, np.flatnonzero(reached), terms[first:] - leaves)

    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """F = intercept + Z coefficients, shape (n,)."""
        out, leaves = np.full(len(self.y), float(intercept)), self.n_leaves
        tiles = self.tiles() if coefficients[leaves:].any() else None

        def fill(rows: slice) -> None:
            add_leaf_scores(self.leaf_codes, self.starts, coefficients, rows.start, out[rows])
            if tiles is not None:
                for low, high, direct, at in tiles(rows, scale.BLOCK_ROWS):
                    add_direct_scores(direct, coefficients[leaves:], at, out[low:high])

        list(each_block(fill, RowBlocks(len(out))))
        return out

    def transposed(self, values: Floats, selection: Selection | None = None) -> Floats:
        """``Z.T @ values``, shape (q,); with `selection`, the others are not all computed.

        Where there are fewer values than rows they are those of the first rows.
        """
        chosen, leaves = selection or self.everything, self.n_leaves
        tiles = self.tiles() if chosen.columns.size else None

        def sums(rows: slice) -> Floats:
            out = np.zeros(self.n_terms)
            codes, starts = self.leaf_codes, self.starts
            add_leaf_sums(codes, starts, chosen.trees, values[rows], rows.start, out)
            if tiles is not None:
                for low, high, direct, at in tiles(rows, scale.BLOCK_ROWS):
                    add_direct_sums(direct, chosen.columns, values[low:high], at, out[leaves:])
            return out

        return add(sums, RowBlocks(len(values)))

    def step(self, score: Floats, shift: float, change: Floats) -> Step:
        """Change the intercept by `shift` and the coefficients by `change` (q,), from `score`.

        Where terms are evaluated, one pass gives the gradient too.
        """
        direct = self.direct
        if not isinstance(direct, EvaluatedTerms) or not direct.shape[1]:
            along = self.score(shift, change)
            there = score + along
            return Step(along, there, *self.statistics(there))
        read, leaves, code = direct.open().cells, self.n_leaves, self.loss.code
        along, there = np.full(len(score), float(shift)), score.copy()
        residual, curvature = np.empty_like(along), np.empty_like(along)

        def block(rows: slice) -> tuple[float, float, Floats]:
            add_leaf_scores(self.leaf_codes, self.starts, change, rows.start, along[rows])
            slopes, given = np.zeros(self.n_terms), (self.y[rows], self.row_weight[rows])
            made = along[rows], there[rows], residual[rows], curvature[rows]
            loss = step_rows(read(rows), code, change[leaves:], *given, made, slopes[leaves:])
            add_leaf_sums(*self._leaves, residual[rows], rows.start, slopes)
            return loss, float(residual[rows].sum()), slopes

        with one_blas_thread():
            loss, at_intercept, slopes = add(block, RowBlocks(len(score)))
        return Step(along, there, loss, residual, curvature, (at_intercept, slopes))

    def permitted(self, coefficients: Floats) -> Floats:
        """`coefficients` (q,) with exact zeros in place of forbidden signs."""
        return np.where(self.sign * coefficients < 0.0, 0.0, coefficients)

    def statistics(self, score: Floats) -> tuple[float, Floats, Floats]:
        """Mean deviance at `score` with its first and second derivatives by row, each (n,)."""
        residual, curvature = np.empty_like(score), np.empty_like(score)

        def loss(rows: slice) -> float:
            given = score[rows], self.y[rows], self.row_weight[rows]
            return loss_statistics(self.loss.code, *given, residual[rows], curvature[rows])

        return add(loss, RowBlocks(len(score))), residual, curvature

    def gradient(self, intercept: float, coefficients: Floats) -> tuple[float, Floats]:
        """Gradient of the mean deviance: the intercept's entry, and the terms' (q,)."""
        _, residual, _ = self.statistics(self.score(intercept, coefficients))
        return float(residual.sum()), self.transposed(residual)

    def deviance(self, intercept: float, coefficients: Floats) -> float:
        """Mean deviance of equation (5)."""
        return self.statistics(self.score(intercept, coefficients))[0]


def _check_shape(name: str, array: NDArray[np.generic], shape: tuple[int, ...], kind: type) -> None:
    """Raise unless `array` has exactly this shape and type."""
    if array.shape != shape or array.dtype != kind:
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}; "
            f"it must have shape {shape} and type {np.dtype(kind)}"
        )


def _check_values(design: Design) -> None:
    """Raise on values for which equation (5) has no finite minimum or the kernels no meaning."""
    counts = np.asarray(design.leaf_counts, dtype=np.int64)[:, None]
    if np.any(design.leaf_codes < 0) or np.any(design.leaf_codes >= counts):
        raise ValueError("leaf_codes must lie in [0, leaf_counts) for every tree")
    design.loss.check(design.y)
    for name, array in (("weight", design.weight), ("penalty", design.penalty)):
        if not (np.isfinite(array).all() and (array > 0.0).all()):
            raise ValueError(f"{name} must be positive and finite")
    if np.any(np.abs(design.sign) > 1):
        raise ValueError("sign must hold -1, 0 or 1")
    direct = design.direct
    if isinstance(direct, EvaluatedTerms):
        return
    if not (direct.flags.f_contiguous and design.leaf_codes.flags.c_contiguous):
        raise ValueError("direct must be in Fortran order and leaf_codes in C order")
    if not np.isfinite(direct).all():
        raise ValueError("direct holds NaN or infinite values; fill them before the fit")

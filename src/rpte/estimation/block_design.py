"""The Stage 3 design of rows that are not held: every evaluation is a pass over blocks.

A pass makes the terms of a block anew and the score from the coefficients, so nothing is kept by
row between passes and rows may be anywhere. Where Stage 3 needs a rough answer only (a start, a
first Gram matrix) it comes from a sample of the rows in memory. What is sent to a block holds terms
and coefficients, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rpte.estimation.block_terms import BlockTerms
from rpte.estimation.gram import Moments, Places, Tiles, centred_gram, grouped, weighted_tile
from rpte.estimation.problem import ExactProblem, Gram, NullModel, Point, Selection, Slopes
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import (
    TILE_ROWS,
    add_leaf_scores,
    add_leaf_sums,
    add_sums_and_peaks,
    loss_of_rows,
)
from rpte.kernels.losses import loss_statistics
from rpte.losses import BINOMIAL, Loss
from rpte.rows import scale
from rpte.rows.passes import add
from rpte.rows.training_rows import Beside, MemoryRows, TrainingRows
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Int8s, Int32s

STEP = 8  # rows, of which one stands for all in a Gram matrix of some
SOME = 1 / STEP  # a smaller fraction of the rows is the sample


@dataclass(frozen=True, slots=True, eq=False)
class BlockDesign(ExactProblem[Point]):
    """What Stage 3 fits, over rows that come in blocks."""

    rows: TrainingRows
    terms: BlockTerms
    leaf_counts: tuple[int, ...]
    penalty: Floats
    sign: Int8s = field(default_factory=lambda: np.zeros(0, np.int8))
    sample: TrainingRows | None = None  # some of the rows, drawn at random, in memory
    loss: Loss = BINOMIAL
    starts: Index = field(init=False, repr=False)
    owner: Index = field(init=False, repr=False)
    known: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    by_blocks = True

    def __post_init__(self) -> None:
        """Check shapes and values once."""
        self._count_terms(self.terms.n_direct)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def null_score(self) -> float:
        """The score without terms."""
        return self.loss.score_of(self.rows.target_total / self.rows.total_weight)

    def part(self) -> BlockDesign | None:
        """Return the problem of the sample; None if there is none, or it is nearly the whole."""
        sample = self.sample
        if sample is None or 2 * sample.n_rows > self.n_rows:
            return None
        return replace(self, rows=sample, sample=None)

    def tied(
        self, groups: Sequence[Index], counts: tuple[int, ...], penalty: Floats, sign: Int8s
    ) -> BlockDesign:
        """Return the problem in which each leaf of a tree is a group of leaves, by number."""
        terms = self.terms.tied(groups)
        return replace(self, terms=terms, leaf_counts=counts, penalty=penalty, sign=sign)

    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some direct columns sum to one on every row; only 0/1 columns can."""
        if not self.terms.are_flags(columns):
            return False
        return all(self.rows.map(_SumToOne(self.terms, columns)))

    def _over(self, intercept: float, theta: Floats) -> _Scores:
        weight = 2.0 / self.rows.total_weight
        return _Scores(self.terms, self.starts, self.loss.code, weight, float(intercept), theta)

    def _null_model(self) -> NullModel:
        null = _Null(self._over(self.null_score, np.zeros(self.n_terms)))
        with one_blas_thread():
            losses, sums, peaks = zip(*self.rows.map(null), strict=True)
        whole = np.concatenate((np.ones(self.n_leaves), np.max(peaks, axis=0)))
        return NullModel(sum(losses), sum(sums), whole)

    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """F = intercept + Z coefficients, of all rows, shape (n,)."""
        with one_blas_thread():
            found = list(self.rows.map(_RowScores(self._over(intercept, coefficients))))
        return np.concatenate(found)

    def at(self, intercept: float, theta: Floats) -> Point:
        """Return the point of some coefficients (q,), its gradient with it."""
        with one_blas_thread():
            found = add(_Evaluation(self._over(intercept, theta)), self.rows)
        loss, at_intercept, slopes = found
        return Point(float(intercept), theta, loss, (at_intercept, slopes))

    def line(self, point: Point, shift: float, change: Floats) -> Callable[[float], Point]:
        """Return the points that a multiple of a change of intercept and coefficients leads to."""
        return lambda size: self.at(point.intercept + size * shift, point.theta + size * change)

    def slopes(self, point: Point, selection: Selection | None = None) -> Slopes:
        """Return the gradient at a point."""
        assert point.slopes is not None
        return point.slopes

    def gram(
        self, selection: Selection, point: Point, fraction: float, floor: float, exact: bool
    ) -> tuple[Gram, bool]:
        """Gram matrix of some terms under the curvature of the sample, of some rows, or of all."""
        over, size = self._over(point.intercept, point.theta), selection.terms.size
        few = self.part() if fraction < SOME else None
        if few is not None and few.n_rows >= scale.SAMPLED_ROWS_PER_TERM * size:
            return few.gram(selection, point, 1.0, floor, exact)[0], False
        enough = self.n_rows // STEP >= max(scale.GRAM_ROWS, scale.ROWS_PER_TERM * size)
        step = STEP if fraction < 1.0 and enough else 1
        moments = add(_Moments(over, Places.of(self, selection), floor, exact, step), self.rows)
        return centred_gram(self, selection, moments), step == 1

    def data_gram(self, selection: Selection, part: bool = False) -> Gram:
        """Gram matrix under the weights of the data, or of the sample if `part`."""
        few = self.part() if part else None
        if few is not None:
            return few.data_gram(selection)
        given, half = Places.of(self, selection), 1.0 / self.rows.total_weight
        moments = add(_DataMoments(_MomentsUnder(self.terms, given), half), self.rows)
        return centred_gram(self, selection, moments)

    def _beside(self, *values: Array) -> Beside:
        """Return the rows with some values of each, (..., n); these rows are in memory."""
        assert isinstance(self.rows, MemoryRows)
        return self.rows.beside(*values)

    def transposed(self, values: Floats, selection: Selection | None = None) -> Floats:
        """``Z.T @ values`` of values (n,), shape (q,)."""

        def sums(part: tuple[Table, Floats]) -> Floats:
            block, some = part
            codes, out = self.terms.codes(block), np.zeros(self.n_terms)
            add_leaf_sums(codes, self.starts, np.arange(len(codes)), some, 0, out)
            for low, high, z in self.terms.tiles(block):
                out[self.n_leaves :] += z @ some[low:high]
            return out

        with one_blas_thread():
            return add(sums, self._beside(values))

    def weighted_gram(self, selection: Selection, h: Floats) -> Gram:
        """Gram matrix of some terms under the row weights `h` (n,)."""
        under = _MomentsUnder(self.terms, Places.of(self, selection))
        return centred_gram(self, selection, add(lambda part: under(*part), self._beside(h)))

    def group_sums(self, selection: Selection, group: Index, values: Floats, size: int) -> Floats:
        """Return sums of some terms by `size` groups of rows, (v, size, k), times values (v, n)."""

        def sums(part: tuple[Table, Index, Floats]) -> Floats:
            block, at, some = part
            codes, found = (
                self.terms.codes(block),
                np.zeros((len(some), size, len(selection.terms))),
            )
            for low, high, z in self.terms.tiles(block):
                rows = slice(low, high)
                given = (codes[:, rows], z), at[rows], some[:, rows], size
                found += grouped(self, selection, *given)
            return found

        return add(sums, self._beside(group, values))


@dataclass(frozen=True, slots=True, eq=False)
class _SumToOne:
    """Whether some 0/1 columns sum to one on all rows of a block."""

    terms: BlockTerms
    columns: Index

    def __call__(self, block: Table) -> bool:
        total = np.zeros(block.n_rows, np.int32)
        for flags in self.terms.flags(block, self.columns):
            total += flags
        return bool((total == 1).all())


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Terms with coefficients, and the loss of the scores that they give."""

    terms: BlockTerms
    starts: Index
    code: int  # of the loss
    weight: float  # factor of row weights in the mean deviance
    intercept: float
    theta: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Null:
    """Loss, gradient and peaks of direct terms without any terms."""

    over: _Scores

    def __call__(self, block: Table) -> tuple[float, Floats, Floats]:
        over, leaves = self.over, int(self.over.starts[-1])
        score, residual, curvature = np.full((3, block.n_rows), over.intercept)
        given = over.code, score, block.y, over.weight * block.weight
        loss = loss_statistics(*given, residual, curvature)
        sums, peaks = np.zeros(len(over.theta)), np.zeros(over.terms.n_direct)
        trees = np.arange(len(over.terms.trees))
        add_leaf_sums(over.terms.codes(block), over.starts, trees, residual, 0, sums)
        add_sums_and_peaks(*over.terms.cells(block), residual, sums[leaves:], peaks)
        return loss, sums, peaks


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """Loss and gradient at some coefficients."""

    over: _Scores

    def __call__(self, block: Table) -> tuple[float, float, Floats]:
        over, leaves = self.over, int(self.over.starts[-1])
        codes, theta = over.terms.codes(block), over.theta
        score, residual = np.full((2, block.n_rows), over.intercept)
        add_leaf_scores(codes, over.starts, theta, 0, score)
        slopes, given = np.zeros(len(theta)), (block.y, over.weight * block.weight)
        moved = score, residual
        cells = over.terms.cells(block)
        loss = loss_of_rows(cells, over.code, theta[leaves:], *given, moved, slopes[leaves:])
        add_leaf_sums(codes, over.starts, np.arange(len(codes)), residual, 0, slopes)
        return loss, float(residual.sum()), slopes


@dataclass(frozen=True, slots=True, eq=False)
class _RowScores:
    """The scores of the rows of a block."""

    over: _Scores

    def __call__(self, block: Table) -> Floats:
        over, leaves = self.over, int(self.over.starts[-1])
        score = np.full(block.n_rows, over.intercept)
        add_leaf_scores(over.terms.codes(block), over.starts, over.theta, 0, score)
        for low, high, z in over.terms.tiles(block):
            score[low:high] += over.theta[leaves:] @ z
        return score


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Second moments of some terms, under the curvature at some coefficients."""

    over: _Scores
    places: Places
    floor: float
    exact: bool
    step: int  # of rows, of which the first stands for all

    def __call__(self, block: Table) -> Moments:
        codes = self.over.terms.codes(block, self.step)
        h = np.empty(len(range(0, block.n_rows, self.step)))
        return self.places.moments(codes, 0, h, self._tiles(block, codes, h))

    def _tiles(self, block: Table, codes: Int32s, h: Floats) -> Tiles:
        """Yield the tiles of a block, and fill in the curvature `h` of its rows."""
        over, columns = self.over, self.places.columns
        y = np.ascontiguousarray(block.y[:: self.step])
        weight = over.weight * block.weight[:: self.step]
        if len(weight):
            weight *= block.weight.sum() / block.weight[:: self.step].sum()
        leaves, (score, residual) = int(over.starts[-1]), np.full((2, len(h)), over.intercept)
        add_leaf_scores(codes, over.starts, over.theta, 0, score)
        kind = np.float64 if self.exact else np.float32
        buffer = np.empty((len(columns) + 1, min(TILE_ROWS, len(h))), kind)
        for low, high, z in over.terms.tiles(block, self.step):
            some = slice(low, high)
            score[some] += over.theta[leaves:] @ z
            given = over.code, score[some], y[some], weight[some]
            loss_statistics(*given, residual[some], h[some])
            np.maximum(h[some], 0.5 * self.floor * weight[some], out=h[some])
            root = np.sqrt(h[some])
            yield low, root, weighted_tile(z, columns, root, buffer)


@dataclass(frozen=True, slots=True, eq=False)
class _MomentsUnder:
    """Second moments of some terms under given weights of the rows of a block."""

    terms: BlockTerms
    places: Places

    def __call__(self, block: Table, h: Floats) -> Moments:
        return self.places.moments(self.terms.codes(block), 0, h, self._tiles(block, np.sqrt(h)))

    def _tiles(self, block: Table, root: Floats) -> Tiles:
        columns = self.places.columns
        buffer = np.empty((len(columns) + 1, min(TILE_ROWS, block.n_rows)))
        for low, high, z in self.terms.tiles(block):
            part = root[low:high]
            yield low, part, weighted_tile(z, columns, part, buffer)


@dataclass(frozen=True, slots=True, eq=False)
class _DataMoments:
    """Second moments of some terms under the weights of the data."""

    under: _MomentsUnder
    factor: float  # of row weights

    def __call__(self, block: Table) -> Moments:
        return self.under(block, self.factor * block.weight)

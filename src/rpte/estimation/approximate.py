"""Approximate fits: good enough to compare penalties on held-out rows, and no better."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rpte.columns.limits import ZERO
from rpte.estimation.problem import Problem
from rpte.estimation.solver import MIN_L1_RATIO
from rpte.kernels.approximate_path import (
    LOSS,
    Fit,
    Point,
    Rule,
    WorkingSet,
    approximate_path,
    follow,
    log_sum_of_others,
    try_blocks,
    turn_of_class,
)
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.term_products import (
    Data,
    Terms,
    add_rows,
    exact_gradients,
    gradients_of_blocks,
    moments_of_rows,
)
from rpte.losses import BINOMIAL, Loss
from rpte.rows.passes import add, search_blocks
from rpte.rows.threads import even_chunks, has_threads, thread_map
from rpte.utils.arrays import Array, Floats, Index, Int8s, Ints, Singles

ROUNDING = 1e-6  # a smaller gradient of values in single precision may be none
UNBOUNDED = 1e6  # curvature, where the loss has no bound
ABOVE = 1.0 + 1e-6  # times the largest lambda with a term: where a grid begins
FORBIDDEN = 1e9  # factor on the penalty of a coefficient that must be zero
IN_BLOCKS = 100_000  # cells of a problem of more than one block, from which it is in blocks
PathProblem = tuple[Terms, Data, Rule, Floats, Point, WorkingSet, Index]


class Blocks:
    """What a path does over rows, in blocks whose results are added in order.

    The blocks come from the number of rows alone, and a task takes some of them, so the sums are
    the same for any threads.
    """

    def __init__(self, n_rows: int) -> None:
        self._rows = search_blocks(n_rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def starts(self) -> Index:
        """Where blocks begin, and where the last one ends, (b + 1,)."""
        return self._rows.starts

    def _sum(self, fill: Callable[[Index, Floats], None], size: int) -> Floats:
        """Return the sum over blocks of what `fill` writes: a line (k,) for each of some blocks."""
        found, starts = np.empty((len(self), size)), self._rows.starts

        def part(at: slice) -> None:
            fill(starts[at.start : at.stop + 1], found[at])

        list(thread_map(part, even_chunks(len(self))))
        return np.asarray(found.cumsum(axis=0)[-1])  # in order, whatever the shape

    def gradients(self, terms: Terms, values: Floats, out: Floats) -> None:
        """Fill `out` (k,) with the products of terms and values (n,)."""
        singles = values.astype(np.float32)
        out[:] = self._sum(lambda at, to: gradients_of_blocks(terms, singles, at, to), len(out))

    def exact_gradients(self, terms: Terms, values: Floats) -> Floats:
        """Return the products of terms and values (n,) in double precision, (k,)."""

        def part(at: slice) -> Floats:
            found = np.empty(len(terms[3]))
            exact_gradients(terms, values, at.start, at.stop, found)
            return found

        return add(part, self._rows)

    def moments(self, terms: Terms, known: int, h: Floats) -> Floats:
        """Return moments as `tile_moments` has them."""

        def part(at: slice) -> Floats:
            found = np.zeros((len(terms[3]) - known, len(terms[3]) + 1))
            moments_of_rows(terms, known, h, at.start, at.stop, found)
            return found

        return add(part, self._rows)

    def along(self, terms: Terms, move: Floats, shift: float, out: Floats) -> None:
        """Fill `out` (n,) with a number and the terms times some coefficients."""

        def part(at: slice) -> None:
            low, high = self._rows.starts[at.start], self._rows.starts[at.stop]
            out[low:high] = shift
            add_rows(terms, move, low, high, out)

        list(thread_map(part, even_chunks(len(self))))

    def trial(self, data: Data, fit: Fit, along: Floats, size: float, trial: Fit) -> float:
        """Fill a trial with the fit after a step; return its loss."""

        def fill(starts: Index, to: Floats) -> None:
            try_blocks(data, fit, along, size, starts, trial, to)

        return float(self._sum(fill, 1)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Terms that exclude each other, as codes of the rows: what `term_products` reads."""

    codes: Array  # (groups, n), 0 where none of a group's terms is 1
    widths: Ints  # numbers of codes, (groups,)
    group: Index  # of each term, -1 for none, (q,)
    level: Index  # the code of each term in its group, (q,)


@dataclass(frozen=True, slots=True, eq=False)
class ApproximateDesign(Problem):
    """A `Design` whose terms are some `rows` (q,) of a larger matrix `z` (m, n or more)."""

    z: Singles
    rows: Index
    y: Floats
    weight: Floats
    penalty: Floats
    sign: Int8s  # (q,), or (K, q) where limits are by class
    loss: Loss = BINOMIAL
    coded: Codes | None = None
    terms: Terms = field(init=False)
    blocks: Blocks = field(init=False)

    def __post_init__(self) -> None:
        """Put together what kernels read."""
        coded, q = self.coded, len(self.rows)
        if coded is None:
            nothing = np.zeros((0, len(self.y)), np.uint16), np.zeros(0, np.int64)
            coded = Codes(*nothing, np.full(q, -1, np.intp), np.zeros(q, np.intp))
        groups = coded.codes, coded.widths, self.rows, coded.group, coded.level
        object.__setattr__(self, "terms", (self.z, *groups))
        object.__setattr__(self, "blocks", Blocks(len(self.y)))

    @property
    def row_weight(self) -> Floats:
        """Row weights as the mean deviance has them, 2 w / W."""
        return np.asarray(self.weight * (2.0 / self.weight.sum()))

    def first_rows(self, rows: int) -> "ApproximateDesign":
        """Return the design of the first rows: the matrix may have more columns than are read."""
        return replace(self, y=self.y[:rows], weight=self.weight[:rows])

    def of_terms(self, places: Index) -> "ApproximateDesign":
        """Return the design of some terms."""
        coded = self.coded
        if coded is not None:
            coded = replace(coded, group=coded.group[places], level=coded.level[places])
        penalty, sign = self.penalty[places], np.ascontiguousarray(self.sign[..., places])
        return replace(self, rows=self.rows[places], penalty=penalty, sign=sign, coded=coded)

    def of_class(self, k: int, y: Floats) -> "ApproximateDesign":
        """Return the design of the score of one of several classes; y is 1.0 in its rows."""
        if self.sign.ndim == 1:
            return replace(self, y=y, loss=BINOMIAL)
        zero = self.sign[k] == ZERO
        penalty, sign = np.where(zero, FORBIDDEN, self.penalty), np.where(zero, 0, self.sign[k])
        return replace(self, y=y, loss=BINOMIAL, penalty=penalty, sign=sign.astype(np.int8))

    def score(self, intercept: float, coefficients: Floats) -> Floats:
        """Return the score of every row, (n,)."""
        out = np.empty(len(self.y))
        self.blocks.along(self.terms, coefficients, float(intercept), out)
        return out

    def scores(self, fit: Floats) -> Floats:
        """Return the scores of a fit: (n,) of one (q + 1,), (K, n) of one (K, q + 1)."""
        if fit.ndim > 1:
            return np.array([self.scores(np.ascontiguousarray(each)) for each in fit])
        return self.score(float(fit[0]), fit[1:])

    def grid(self, l1_ratio: float, length: int, ratio: float) -> Floats:
        """Return descending lambdas, the first just above the largest with a term.

        Where no term has a gradient the grid starts at 1.
        """
        score = self.loss.null_rows(self.y, self.weight)
        pulls = -self.loss.residuals(score, self.y, self.row_weight).gradient
        of = self.blocks.exact_gradients
        slopes = np.array([of(self.terms, each) for each in np.atleast_2d(pulls)])
        pull = self.pull(slopes)
        size = np.where(pull > ROUNDING, pull, 0.0) / self.penalty
        top = size.max(initial=0.0) * ABOVE / max(l1_ratio, MIN_L1_RATIO) or 1.0
        return np.asarray(top * np.geomspace(1.0, ratio, length))


class ApproximatePath:
    """The penalty path of one design, each fit started from the one before.

    `start` (q + 1,) are intercept and coefficients at the lambda before the first; None: no terms.
    On one thread a path is one compiled call, as that of few rows is; the sums are the same. Those
    without `threads` are of one block.
    """

    def __init__(
        self,
        design: ApproximateDesign,
        l1_ratio: float = 1.0,
        start: Floats | None = None,
        threads: bool = True,
    ) -> None:
        size = len(design.rows) * len(design.y)
        few = not threads or len(design.blocks) == 1 or size < IN_BLOCKS
        self._starts = np.array([0, len(design.y)], np.intp) if few else design.blocks.starts
        self._in_threads = not few and has_threads()
        self.design, n, weight = design, len(design.y), design.row_weight
        if start is None:
            start = np.array([design.null_score, *np.zeros(len(design.rows))])
        theta, residual, curvature = np.array(start[1:]), np.empty(n), np.empty(n)
        score, gradient = design.score(float(start[0]), theta), np.empty(len(design.rows))
        bound = design.loss.curvature_bound or UNBOUNDED
        self._data = design.loss.code, bound, design.y, weight
        self._rule = design.penalty, design.sign, float(l1_ratio)
        state = np.array([start[0], 0.0, 0.0])
        self._point = state, theta, (score, residual, curvature), gradient
        self._work = np.zeros(0, np.intp), np.zeros((0, 0)), np.zeros(0), np.zeros(n)
        self._evaluate()

    @property
    def score(self) -> Floats:
        """The score of every row beside those of other classes, (n,)."""
        return self._point[2][0]

    def _evaluate(self) -> None:
        """Compute the loss and the gradient at the point."""
        (state, _, fit, gradient), blocks, n = self._point, self.design.blocks, len(self.score)
        state[LOSS] = blocks.trial(self._data, fit, np.zeros(n), 0.0, fit)
        blocks.gradients(self.design.terms, fit[1], gradient)

    def _problem(self, l1s: Floats) -> PathProblem:
        given = self.design.terms, self._data, self._rule, np.ascontiguousarray(l1s)
        return *given, self._point, self._work, self._starts

    def to(self, l1s: Floats) -> Floats:
        """Go on to some lambdas, descending; return intercepts and coefficients, (f, q + 1)."""
        with one_blas_thread():
            if self._in_threads:
                fits, self._work = follow(*self._problem(l1s), self.design.blocks)
            else:
                fits, self._work = approximate_path(*self._problem(l1s))
        return fits

    def turn(self, l1s: Floats, scores: Floats, k: int) -> Floats:
        """Do as `to` for class k, beside the `scores` (K, n) of the others; its own follow."""
        if not self._in_threads:
            with one_blas_thread():
                fits, self._work = turn_of_class(*self._problem(l1s), scores, k)
            return fits
        offset = np.empty(len(self.score))
        log_sum_of_others(scores, k, offset)
        np.subtract(scores[k], offset, out=self.score)
        self._evaluate()
        fits = self.to(l1s)
        np.add(self.score, offset, out=scores[k])
        return fits

"""The Stage 3 design: leaf codes and direct columns side by side, and the loss of equation (5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rpte.estimation.column_cache import Evaluated
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import add_scores, add_sums_and_peaks, column_sums, step_rows
from rpte.kernels.losses import loss_statistics
from rpte.losses import BINOMIAL, Loss

__all__ = ["Design", "Selection", "Step"]

Vector = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
NO_TREES = np.zeros(0, np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Some terms of a design, and where they lie in it.

    Parameters
    ----------
    mask : (q,) bool
        Which terms are meant.
    terms : (k,)
        Their positions, ascending.
    trees, columns : index arrays
        Trees with a leaf among them, and the direct columns among them.
    """

    mask: Mask
    terms: Index
    trees: Index
    columns: Index


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What a change of the coefficients leads to.

    Parameters
    ----------
    along : (n,)
        Change of the score.
    score : (n,)
    loss : float
        Mean deviance.
    residual, curvature : (n,)
        Its first and second derivatives by row.
    slopes : gradient of the intercept and of all terms, where it costs no further pass
    """

    along: Vector
    score: Vector
    loss: float
    residual: Vector
    curvature: Vector
    slopes: tuple[float, Vector] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What Stage 3 fits: M trees as leaf codes, d direct columns, labels and weights.

    Coefficients are ordered: leaves of tree 0, leaves of tree 1, ..., direct columns.

    Parameters
    ----------
    leaf_codes : (M, n) int32
        Leaf reached by each row, per tree.
    leaf_counts : tuple of M int
        Leaves per tree.
    direct : (n, d) float64, Fortran order; or Evaluated
        Direct columns as the penalty sees them (centred and scaled by the caller), no NaN.
    y : (n,) float64
        Targets that the loss has a meaning for.
    weight : (n,) float64
        Positive row weights; their sum W takes the place of n in equation (5).
    penalty : (q,) float64
        Positive relative penalty weights, q = sum(leaf_counts) + d.
    sign : (q,) int8, optional
        Sign a coefficient may have: +1 not negative, -1 not positive, 0 (the default) either.
    loss : Loss

    Attributes
    ----------
    starts : (M + 1,)
        Position of the first leaf of each tree, and of the first direct term.
    owner : (leaves,)
        Tree of each leaf.
    row_weight : (n,)
        Row weights as the mean deviance has them, 2 w / W.
    everything : Selection
        All terms.
    known : dict
        What was computed once for all who ask.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1]], np.int32)
    >>> design = Design(codes, (2,), np.zeros((4, 0), order="F"), np.array([0., 1., 1., 1.]),
    ...                 np.ones(4), np.ones(2))
    >>> design.n_terms
    2
    """

    leaf_codes: NDArray[np.int32]
    leaf_counts: tuple[int, ...]
    direct: Vector | Evaluated
    y: Vector
    weight: Vector
    penalty: Vector
    sign: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    loss: Loss = BINOMIAL
    starts: Index = field(init=False, repr=False)
    owner: Index = field(init=False, repr=False)
    row_weight: Vector = field(init=False, repr=False)
    everything: Selection = field(init=False, repr=False)
    known: dict[str, Vector] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Check shapes and values once, and keep what every product needs."""
        n, trees = self.y.shape[0], len(self.leaf_counts)
        _check_shape("leaf_codes", self.leaf_codes, (trees, n), np.int32)
        if isinstance(self.direct, np.ndarray):
            _check_shape("direct", self.direct, (n, self.direct.shape[-1]), np.float64)
        _check_shape("y", self.y, (n,), np.float64)
        _check_shape("weight", self.weight, (n,), np.float64)
        starts = np.concatenate(([0], np.cumsum(self.leaf_counts))).astype(np.intp)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "owner", np.repeat(np.arange(trees), np.diff(starts)))
        if not self.sign.size:
            object.__setattr__(self, "sign", np.zeros(self.n_terms, np.int8))
        _check_shape("penalty", self.penalty, (self.n_terms,), np.float64)
        _check_shape("sign", self.sign, (self.n_terms,), np.int8)
        _check_values(self)
        object.__setattr__(self, "row_weight", self.weight * (2.0 / self.weight.sum()))
        object.__setattr__(self, "everything", self.select(np.ones(self.n_terms, np.bool_)))

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together: the position of the first direct term."""
        return int(self.starts[-1])

    @property
    def n_terms(self) -> int:
        """Number of coefficients q, the intercept not counted."""
        return self.n_leaves + int(self.direct.shape[1])

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, int, Vector]]:
        """Yield the direct terms of the first rows (all if None) in blocks, (d, high - low)."""
        rows = len(self.y) if rows is None else rows
        if not self.direct.shape[1]:
            return
        if isinstance(self.direct, Evaluated):
            yield from self.direct.blocks(rows)
        else:
            yield 0, len(self.y), self.direct.T

    def first_rows(self, rows: int) -> Design:
        """Return the problem of the first rows."""
        direct = self.direct
        return replace(
            self,
            leaf_codes=np.ascontiguousarray(self.leaf_codes[:, :rows]),
            direct=direct.first_rows(rows)
            if isinstance(direct, Evaluated)
            else np.asfortranarray(direct[:rows]),
            y=self.y[:rows],
            weight=self.weight[:rows],
        )

    def sum_to_one(self, columns: Index) -> bool:
        """Tell whether some direct columns sum to one on every row."""
        if isinstance(self.direct, Evaluated):
            return self.direct.sum_to_one(columns)
        return bool((self.direct[:, columns].sum(axis=1) == 1.0).all())

    def sums_and_peaks(self, values: Vector) -> tuple[Vector, Vector]:
        """``Z.T @ values`` and the largest absolute value of each term, both (q,), in one pass."""
        if not isinstance(self.direct, Evaluated):
            tops = np.maximum(self.direct.max(axis=0), -self.direct.min(axis=0))
            return self.transposed(values), np.concatenate((np.ones(self.n_leaves), tops))
        sums, peaks = np.zeros(self.n_terms), np.ones(self.n_terms)
        self._add_leaf_sums(values, self.everything.trees, sums)
        peaks[self.n_leaves :] = 0.0
        out = sums[self.n_leaves :], peaks[self.n_leaves :]
        program = self.direct.program()
        with one_blas_thread():
            for low, high, numbers, bits in self.direct.chunks(len(values)):
                add_sums_and_peaks(numbers, bits, program, values[low:high], *out)
        return sums, peaks

    def select(self, mask: Mask) -> Selection:
        """Find the terms of `mask` (q,)."""
        terms, leaves = np.flatnonzero(mask), self.n_leaves
        first = int(np.count_nonzero(mask[:leaves]))
        reached = np.zeros(len(self.leaf_counts), np.bool_)
        reached[self.owner[terms[:first]]] = True
        return Selection(mask, terms, np.flatnonzero(reached), terms[first:] - leaves)

    def score(self, intercept: float, coefficients: Vector) -> Vector:
        """F = intercept + Z coefficients, shape (n,)."""
        out = self._leaf_score(intercept, coefficients)
        if coefficients[self.n_leaves :].any():
            for low, high, block in self.blocks():
                self._add_direct(block, coefficients, out[low:high])
        return out

    def _leaf_score(self, intercept: float, coefficients: Vector) -> Vector:
        """Intercept plus the leaves' part of the score, shape (n,)."""
        out = np.full(self.y.shape[0], float(intercept))
        add_scores(self.leaf_codes, self.starts, np.zeros((0, len(out))), coefficients, out)
        return out

    def _add_direct(self, block: Vector, coefficients: Vector, out: Vector) -> None:
        """Add the direct terms of a block of rows to their score."""
        add_scores(np.zeros((0, len(out)), np.int32), self.starts[-1:], block, coefficients, out)

    def transposed(self, values: Vector, selection: Selection | None = None) -> Vector:
        """``Z.T @ values``, shape (q,); with `selection`, the others are not all computed.

        Where there are fewer values than rows they are those of the first rows.
        """
        out, chosen = np.zeros(self.n_terms), selection or self.everything
        self._add_leaf_sums(values, chosen.trees, out)
        if chosen.columns.size:
            for low, high, block in self.blocks(len(values)):
                self._add_direct_sums(block, values[low:high], chosen.columns, out)
        return out

    def _add_leaf_sums(self, values: Vector, trees: Index, out: Vector) -> None:
        """Add the values of the rows of each leaf."""
        none = np.zeros((0, len(values)))
        column_sums(self.leaf_codes, self.starts, trees, none, NO_TREES, values, out)

    def _add_direct_sums(self, block: Vector, values: Vector, columns: Index, out: Vector) -> None:
        """Add the products of a block of rows with their values."""
        codes = np.zeros((0, len(values)), np.int32)
        column_sums(codes, self.starts[-1:], NO_TREES, block, columns, values, out)

    def step(self, score: Vector, shift: float, change: Vector) -> Step:
        """Change the intercept by `shift` and the coefficients by `change` (q,), from `score`."""
        if not isinstance(self.direct, Evaluated) or not self.direct.shape[1]:
            along = self.score(shift, change)
            there = score + along
            return Step(along, there, *self.statistics(there))
        along, slopes, loss = self._leaf_score(shift, change), np.zeros(self.n_terms), 0.0
        there, residual, curvature = score.copy(), np.empty_like(along), np.empty_like(along)
        program, direct = self.direct.program(), slice(self.n_leaves, None)
        with one_blas_thread():
            for low, high, numbers, bits in self.direct.chunks(len(score)):
                rows = slice(low, high)
                given = self.loss.code, change[direct], self.y[rows], self.row_weight[rows]
                made = along[rows], there[rows], residual[rows], curvature[rows]
                loss += step_rows(numbers, bits, program, *given, *made, slopes[direct])
        self._add_leaf_sums(residual, self.everything.trees, slopes)
        return Step(along, there, loss, residual, curvature, (float(residual.sum()), slopes))

    def pull(self, gradient: Vector) -> Vector:
        """Force of `gradient` (q,) on a zero coefficient towards a value it may have, (q,).

        Negative where only a forbidden value would lower the deviance.
        """
        return np.where(self.sign == 0, np.abs(gradient), -self.sign * gradient)

    def permitted(self, coefficients: Vector) -> Vector:
        """`coefficients` (q,) with exact zeros in place of forbidden signs."""
        return np.where(self.sign * coefficients < 0.0, 0.0, coefficients)

    def statistics(self, score: Vector) -> tuple[float, Vector, Vector]:
        """Mean deviance at `score` with its first and second derivatives by row, each (n,)."""
        residual, curvature = np.empty_like(score), np.empty_like(score)
        code, y = self.loss.code, self.y
        loss = loss_statistics(code, score, y, self.row_weight, residual, curvature)
        return float(loss), residual, curvature

    def gradient(self, intercept: float, coefficients: Vector) -> tuple[float, Vector]:
        """Gradient of the mean deviance: the intercept's entry, and the terms' (q,)."""
        _, residual, _ = self.statistics(self.score(intercept, coefficients))
        return float(residual.sum()), self.transposed(residual)

    def deviance(self, intercept: float, coefficients: Vector) -> float:
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
    if isinstance(direct, Evaluated):
        return
    if not (direct.flags.f_contiguous and design.leaf_codes.flags.c_contiguous):
        raise ValueError("direct must be in Fortran order and leaf_codes in C order")
    if not np.isfinite(direct).all():
        raise ValueError("direct holds NaN or infinite values; fill them before the fit")

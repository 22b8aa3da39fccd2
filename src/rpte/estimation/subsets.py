"""Models of given lengths: forward selection of terms for the conditions that they cost.

A path of L1 penalties shrinks what it lets in, so that it needs many terms that each say a little.
Where rows are many, terms are taken one by one instead, each for what it says beside those before
it. This goes by the quadratic model of the deviance around a good fit, so that a step costs no look
at the rows. The subsets are fitted anew by whoever asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.ownership import Joining
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import TILE_ROWS
from rpte.rows.passes import add, search_blocks
from rpte.rows.threads import chunks, thread_map
from rpte.utils.arrays import Floats, Index, Int8s, Ints, Mask

LEFT = 1e-2  # fraction of its curvature that a term must have beside those taken
SHRINK = 1e-3  # ridge on each term, of its own curvature
LEAST_TEST = 1.0  # squared score test for each condition, below which no term is taken
EFFECTIVE_ROWS = 30  # that must make up a term's curvature: its fit shall not hang on a few rows
CONSTANT = 1e-9  # fraction of all curvature below which a term does not vary
DIGITS = 9
COLUMNS = 16  # of a task


def best_subsets(
    design: ApproximateDesign,
    fit: Floats,
    conditions: Ints,
    joinings: Sequence[Joining],
    sizes: Sequence[int],
) -> list[Index]:
    """Return for each size the places of terms that have no more conditions together.

    `fit` (q + 1,) is a good one of the same terms, `conditions` (q,) are theirs. Terms are taken
    once under each of the `joinings`, which tell what may still be taken; those that gain most in a
    size are returned. Signs that are not allowed are not taken.
    """
    with one_blas_thread():
        model = _QuadraticModel.around(design, fit)
        taken = [model.take(conditions, joining, max(sizes)) for joining in joinings]
    return [_best_within(size, conditions, taken) for size in sizes]


def _best_within(size: int, conditions: Ints, taken: Sequence[tuple[Index, Floats]]) -> Index:
    """Return the first terms, of at most so many conditions, of the order that gains most."""
    found = []
    for order, gains in taken:
        end = int(np.searchsorted(np.cumsum(conditions[order]), size, side="right"))
        found.append((float(f"{gains[:end].sum():.9g}"), np.sort(order[:end])))
    return max(found, key=lambda each: each[0])[1]


@dataclass(frozen=True, slots=True)
class _QuadraticModel:
    """The deviance of some terms to second order around a fit, the intercept eliminated."""

    gram: Floats  # with the ridge, (q, q)
    slope: Floats  # where no term has a coefficient, (q,)
    usable: Mask  # (q,)
    sign: Int8s  # that a coefficient may have, 0 for any, (q,)
    dispersion: float  # squared score tests are in units of it

    @classmethod
    def around(cls, design: ApproximateDesign, fit: Floats) -> _QuadraticModel:
        """Return the model of a design around a fit (q + 1,)."""
        score = design.score(float(fit[0]), fit[1:])
        at = design.loss.residuals(score, design.y, design.weight)
        gram, slope, fourth = _moments(design, at.gradient, at.hessian)
        own = np.diag(gram).copy()
        usable = own > CONSTANT * at.hessian.sum()
        usable &= own * own > EFFECTIVE_ROWS * fourth
        slope += gram @ fit[1:]
        gram.flat[:: len(gram) + 1] += SHRINK * own
        dispersion = design.loss.dispersion(score, design.y, design.weight)
        return cls(gram, slope, usable, design.sign, dispersion)

    def take(self, conditions: Ints, joining: Joining, most: int) -> tuple[Index, Floats]:
        """Take the term that gains most for each of its conditions, again and again.

        Return the places of terms of at most `most` conditions together, in the order taken, and
        what each gains beside those before it.
        """
        slope, left = self.slope, np.diag(self.gram).copy()
        least = LEFT * left
        factors = np.zeros((min(len(left), most), len(left)))
        chosen: list[int] = []
        gains: list[float] = []
        spent = 0
        while len(chosen) < len(factors):
            free = self.usable & joining.allowed & (left > least) & (conditions <= most - spent)
            free &= self.sign * slope >= 0.0
            tests = np.where(free, slope * slope / np.where(free, left, 1.0), 0.0) / conditions
            j = int(np.round(tests, DIGITS).argmax())
            if tests[j] < LEAST_TEST * self.dispersion:
                break
            known = factors[: len(chosen)]
            factor = (self.gram[j] - known[:, j] @ known) / np.sqrt(left[j])
            slope = slope - factor * (slope[j] / np.sqrt(left[j]))
            left = left - factor * factor
            factors[len(chosen)] = factor
            chosen.append(j)
            gains.append(float(tests[j] * conditions[j]))
            spent += int(conditions[j])
            joining.take(j)
        return np.array(chosen, np.intp), np.array(gains, np.float64)


def _moments(
    design: ApproximateDesign, gradient: Floats, hessian: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return second moments (q, q), slopes and fourth moments (q,) of the terms, centred."""
    size, share = len(design.rows), (hessian / hessian.sum()).astype(np.float32)
    means = thread_map(lambda some: design.z[design.rows[some]] @ share, chunks(size, COLUMNS))
    mean = np.concatenate([np.zeros(0, np.float32), *means])[:, None]
    root, residual = np.sqrt(hessian).astype(np.float32), gradient.astype(np.float32)

    def moments(rows: slice) -> tuple[Floats, Floats, Floats]:
        second, slope, fourth = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        for low in range(rows.start, rows.stop, TILE_ROWS):
            tile = slice(low, min(low + TILE_ROWS, rows.stop))
            z = design.z[design.rows, tile]
            z -= mean
            slope += z @ residual[tile]
            z *= root[tile]
            second += z @ z.T
            z *= z
            fourth += np.einsum("ij,ij->i", z, z)
        return second, slope, fourth

    second, slope, fourth = add(moments, search_blocks(len(gradient)))
    return second, slope, fourth

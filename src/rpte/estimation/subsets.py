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

from rpte.columns.limits import ZERO
from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.classes import ClassesPath
from rpte.estimation.ownership import Joining
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import TILE_ROWS
from rpte.rows.passes import add, search_blocks
from rpte.rows.threads import chunks, thread_map
from rpte.utils.arrays import Floats, Index, Int8s, Ints, Mask

LEFT = 1e-2  # fraction of its curvature that a term must have beside those taken
SHRINK = 1e-3  # ridge on each term, of its own curvature
MORE = 1.5  # times the largest size is taken before terms are dropped again
LEAST_TEST = 1.0  # squared score test for each condition, below which no term is taken
EFFECTIVE_ROWS = 30  # that must make up a term's curvature: its fit shall not hang on a few rows
CONSTANT = 1e-9  # fraction of all curvature below which a term does not vary
DIGITS = 9
REFITTED_AT = 2e-2  # of lambda_max: where subsets that grow are fitted
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
        most = max(sizes)
        if not design.loss.leaves_little:
            taken = [model.take(conditions, joining, most) for joining in joinings]
        else:
            longer = int(MORE * most)
            taken = [model.take(conditions, joining, longer) for joining in joinings]
            taken += [model.drop(conditions, order) for order, _ in taken]
    return [_best_within(size, conditions, taken) for size in sizes]


def grown_subsets(
    design: ApproximateDesign, conditions: Ints, joining: Joining, sizes: Sequence[int]
) -> list[Index]:
    """Return for each size the places of terms that have no more conditions together, nested.

    Terms of a size are taken around the fit of those of the size before. Several classes may be
    told apart all but exactly, and around such a fit most rows say nothing of any term.
    """
    fit = np.zeros((design.loss.n_scores, 1 + len(design.rows)))
    fit[:, 0] = design.loss.null_scores(design.y, design.weight)
    least = float(design.grid(1.0, 1, 1.0)[0]) * REFITTED_AT
    taken: list[int] = []
    found: list[Index] = []
    with one_blas_thread():
        for size in sizes:
            model = _QuadraticModel.around(design, fit)
            more = model.take(conditions, joining, size, taken)[0].tolist()
            if len(more) > len(taken):
                taken, places = more, np.sort(more)
                some = design.of_terms(places)
                start = fit[:, np.concatenate([[0], 1 + places])]
                fit = np.zeros_like(fit)
                fit[:, np.concatenate([[0], 1 + places])] = ClassesPath(some, 1.0, start).to(
                    np.array([least])
                )[0]
            found.append(np.sort(np.array(taken, np.intp)))
    return found


def _best_within(size: int, conditions: Ints, taken: Sequence[tuple[Index, Floats]]) -> Index:
    """Return the first terms, of at most so many conditions, of the order that gains most."""
    found = []
    for order, gains in taken:
        end = int(np.searchsorted(np.cumsum(conditions[order]), size, side="right"))
        found.append((float(f"{gains[:end].sum():.9g}"), np.sort(order[:end])))
    return max(found, key=lambda each: each[0])[1]


@dataclass(frozen=True, slots=True)
class _QuadraticModel:
    """The deviance of some terms to second order around a fit, the intercept eliminated.

    Of K scores it has one Gram matrix, under the mean curvature of the scores, and the slopes of
    each are in units in which that is its own: what a term gains is the sum over scores.
    """

    gram: Floats  # with the ridge, (q, q)
    slope: Floats  # where no term has a coefficient, (K, q)
    usable: Mask  # (q,)
    sign: Int8s  # that a coefficient may have, 0 for any, (q,); by class (K, q)
    dispersion: float  # squared score tests are in units of it

    @classmethod
    def around(cls, design: ApproximateDesign, fit: Floats) -> _QuadraticModel:
        """Return the model of a design around a fit, (q + 1,) or (K, q + 1)."""
        score = design.scores(fit)
        at = design.loss.residuals(score, design.y, design.weight)
        gradient, hessian, units = np.atleast_2d(at.gradient), at.hessian, np.ones(1)
        if fit.ndim > 1:
            hessian = at.hessian.mean(axis=0)
            units = np.sqrt(at.hessian.sum(axis=1) / hessian.sum())
        gram, slope, fourth = _moments(design, gradient / units[:, None], hessian)
        own = np.diag(gram).copy()
        usable = own > CONSTANT * hessian.sum()
        usable &= own * own > EFFECTIVE_ROWS * fourth
        for line, unit, each in zip(slope, units, np.atleast_2d(fit), strict=True):
            line += gram @ (unit * each[1:])
        gram.flat[:: len(gram) + 1] += SHRINK * own
        dispersion = design.loss.dispersion(score, design.y, design.weight)
        return cls(gram, slope, usable, design.sign, dispersion)

    def _permitted(self, slope: Floats) -> Floats:
        """Return slopes (K, q) with 0 where limits by class forbid a class to follow."""
        if self.sign.ndim == 1:
            return slope
        follows = (self.sign == 0) | ((self.sign != ZERO) & (self.sign * slope > 0.0))
        return np.where(follows, slope, 0.0)

    def take(
        self, conditions: Ints, joining: Joining, most: int, taken: Sequence[int] = ()
    ) -> tuple[Index, Floats]:
        """Take the term that gains most for each of its conditions, again and again.

        Return the places of terms of at most `most` conditions together, in the order taken, and
        what each gains beside those before it. Those `taken` already come first.
        """
        slope, left = self.slope, np.diag(self.gram).copy()
        least, chance = LEFT * left, max(1, len(slope) - 1) * self.dispersion
        factors = np.zeros((min(len(left), most), len(left)))
        chosen: list[int] = []
        gains: list[float] = []
        spent = 0
        while len(chosen) < len(factors):
            again, pulls = len(chosen) < len(taken), self._permitted(slope)
            if again:
                j = taken[len(chosen)]
                gain = (pulls[:, j] * pulls[:, j]).sum() / max(left[j], least[j])
            else:
                free = self.usable & joining.allowed & (left > least) & (conditions <= most - spent)
                free &= (self.sign * pulls >= 0.0).any(axis=0)
                squares = (pulls * pulls).sum(axis=0)
                tests = np.where(free, squares / np.where(free, left, 1.0), 0.0) / conditions
                j = int(np.round(tests, DIGITS).argmax())
                if tests[j] < LEAST_TEST * chance:
                    break
                gain = tests[j] * conditions[j]
                joining.take(j)
            known, root = factors[: len(chosen)], np.sqrt(max(left[j], least[j]))
            factor = (self.gram[j] - known[:, j] @ known) / root
            slope = slope - factor * (pulls[:, [j]] / root)
            left = left - factor * factor
            factors[len(chosen)] = factor
            chosen.append(j)
            gains.append(float(gain))
            spent += int(conditions[j])
        return np.array(chosen, np.intp), np.array(gains, np.float64)

    def drop(self, conditions: Ints, taken: Index) -> tuple[Index, Floats]:
        """Drop of the terms taken the one that loses least for each condition, again and again.

        Return the same terms, the last that was dropped first, and what each loses beside those
        that stay.
        """
        left, order, losses = taken.copy(), [], []
        inverse = np.linalg.inv(self.gram[np.ix_(taken, taken)])
        fit = inverse @ self.slope[0, taken]  # of one score
        while len(left):
            own = np.diag(inverse)
            loss = fit * fit / own
            at = int(np.round(loss / conditions[left], DIGITS).argmin())
            order.append(int(left[at]))
            losses.append(float(loss[at]))
            pivot = inverse[at] / own[at]
            fit = np.delete(fit - fit[at] * pivot, at)
            inverse = inverse - np.outer(inverse[:, at], pivot)
            inverse = np.delete(np.delete(inverse, at, 0), at, 1)
            left = np.delete(left, at)
        return np.array(order[::-1], np.intp), np.array(losses[::-1], np.float64)


def _moments(
    design: ApproximateDesign, gradient: Floats, hessian: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return second moments (q, q), slopes (K, q) and fourth moments (q,) of the terms, centred.

    Gradients are (K, n).
    """
    size, share = len(design.rows), (hessian / hessian.sum()).astype(np.float32)
    held = design.z[:, : len(share)]
    means = thread_map(lambda some: held[design.rows[some]] @ share, chunks(size, COLUMNS))
    mean = np.concatenate([np.zeros(0, np.float32), *means])[:, None]
    root, residual = np.sqrt(hessian).astype(np.float32), gradient.astype(np.float32)

    def moments(rows: slice) -> tuple[Floats, Floats, Floats]:
        second, fourth = np.zeros((size, size)), np.zeros(size)
        slope = np.zeros((len(residual), size))
        for low in range(rows.start, rows.stop, TILE_ROWS):
            tile = slice(low, min(low + TILE_ROWS, rows.stop))
            z = design.z[design.rows, tile]
            z -= mean
            for line, each in zip(slope, residual, strict=True):
                line += z @ each[tile]
            z *= root[tile]
            second += z @ z.T
            z *= z
            fourth += np.einsum("ij,ij->i", z, z)
        return second, slope, fourth

    second, slope, fourth = add(moments, search_blocks(len(hessian)))
    return second, slope, fourth

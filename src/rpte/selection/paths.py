"""Penalty paths: the fits of a candidate from a large to a small lambda, fold by fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.terms import TermSet
from rpte.kernels.blas import one_blas_thread
from rpte.rows.threads import thread_map
from rpte.selection.fold_state import FoldState
from rpte.utils.arrays import Floats


@dataclass(slots=True, eq=False)
class FoldPath:
    """The penalty path of one candidate on one fold, as far as it is known.

    Parameters
    ----------
    fold : FoldState
    terms : TermSet
    design : ApproximateDesign
    solve : callable
        From lambdas (f,) below those so far to fits (f, q + 1).
    fits : list of (q + 1,)
    """

    fold: FoldState
    terms: TermSet
    design: ApproximateDesign
    solve: Callable[[Floats], Floats]
    fits: list[Floats] = field(default_factory=list)

    def extend(self, l1s: Floats) -> Floats | None:
        """Go on to some lambdas; return the losses on held-out rows (b, f), if there are any."""
        fits = self.solve(l1s)
        self.fits.extend(fits)
        return None if self.fold.valid is None else self.fold.losses(self.design.rows, fits)


@dataclass(frozen=True, slots=True)
class CandidatePath:
    """The penalty path of one candidate on all folds.

    Parameters
    ----------
    grid : (f,)
        Lambdas, descending; the path may end before the last.
    terms : list of TermSet
        By fold.
    fits : list of lists of (q + 1,)
        By fold, then by lambda.
    warm_start : int
        Index of the lambda at which a larger candidate starts its path.
    """

    grid: Floats
    terms: list[TermSet]
    fits: list[list[Floats]]
    warm_start: int = 0

    def start_for(self, fold: int, larger: TermSet) -> Floats:
        """Return the fit from which the path of more terms starts on a fold, (q + 1,)."""
        return larger.carry(self.fits[fold][self.warm_start], self.terms[fold])


def extend_all(paths: list[FoldPath], l1s: Floats) -> list[Floats]:
    """Go on to some lambdas on all folds, in threads if there are any; return the losses."""
    with one_blas_thread():
        losses = list(thread_map(lambda path: path.extend(l1s), paths))
    return [found for found in losses if found is not None]

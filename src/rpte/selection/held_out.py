"""Targets and their predicted means on the rows that inner validation held out.

Each was predicted by a fit that had not seen it; prediction intervals rest on these rows until
somebody calibrates them on other rows. The penalty and the lengths were chosen on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rpte.estimation.candidate import CandidatePenalty
from rpte.fit.calibration import HeldOut, shared_weights
from rpte.selection.comparison import Evaluation
from rpte.selection.fold_state import FoldState
from rpte.selection.search import Search
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Ints


def held_out_rows(
    search: Search, evaluations: Iterable[Evaluation], grouped: bool
) -> dict[CandidatePenalty, HeldOut]:
    """Return the held-out rows of some penalties, of those whose fits of all folds were kept.

    Where rows are `grouped`, the cases of each group add up to one.
    """
    penalties = {e.penalty for e in evaluations}
    known = [p for p in penalties if (p.candidate, p.l1_ratio) in search.paths]
    folds = search.folds[: search.independent]  # the others hold the same rows out again
    return {penalty: _held_out(search, penalty, folds, grouped) for penalty in known}


def held_out_scores(search: Search, penalty: CandidatePenalty) -> tuple[Table, Floats, Ints] | None:
    """Return the held-out rows, the scores of fits without them, (n,) or (K, n), and their folds.

    None where the fits of the penalty were not kept.
    """
    rows, numbers, scores, fold = [], [], [], []
    for number, state in enumerate(search.folds):
        assert state.test is not None
        if penalty == search.evaluations[0].penalty:  # the base rate, which has no path
            null = state.train.loss.null_rows(state.train.y, state.train.weight)
            scores.append(np.repeat(null[..., :1], len(state.test.rows), axis=-1))
        elif (penalty.candidate, penalty.l1_ratio) in search.paths:
            terms, fit = search.fit_at(penalty, state)
            scores.append(state.held_out_score(search.design(state, terms).rows, fit))
        else:
            return None
        rows.append(state.test.rows)
        numbers.append(state.test.number)
        fold.append(np.full(len(state.test.rows), number))
    held = search.learner.table.take(np.concatenate(rows), np.concatenate(numbers))
    return held, np.concatenate(scores, axis=-1), np.concatenate(fold)


def _held_out(
    search: Search, penalty: CandidatePenalty, folds: list[FoldState], grouped: bool
) -> HeldOut:
    found = []
    for count, fold in enumerate(folds):
        valid, (terms, fit) = fold.valid, search.fit_at(penalty, fold)
        assert valid is not None
        z = fold.valid_terms.memory[search.design(fold, terms).rows, : valid.n_rows]
        mean = valid.loss.response(fit[1:] @ z + fit[0])
        own = valid.cases_of()
        part = np.arange(valid.n_rows) if valid.part is None else valid.part
        number = np.full(valid.n_rows, count)
        found.append(np.stack([mean, valid.y - mean, valid.weight / own, own, number, part]))
    mean, residual, weight, cases, number, part = np.hstack(found)
    counted = shared_weights(cases, part) if grouped else cases
    return HeldOut(mean, residual, weight, counted, number)

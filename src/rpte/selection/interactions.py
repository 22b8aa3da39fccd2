"""Which variables interact, by held-out rows and the scores of fits that have not seen them."""

from __future__ import annotations

import numpy as np

from rpte.estimation.candidate import CandidatePenalty
from rpte.rows import scale
from rpte.selection.search import Search
from rpte.structure.groups import Interactions, find_groups
from rpte.utils.arrays import Floats

LEAST_FOLDS = 3  # of fewer, held-out rows are dealt out anew for the gains of pairs


def find_interactions(search: Search, base: CandidatePenalty) -> Interactions:
    """Find the groups of variables that interact beyond the additive fits at a penalty."""
    settings = search.settings
    largest = settings.max_component_sources if settings.ownership == "component" else 2
    if not settings.max_trees or largest < 2:
        return Interactions()
    table, folds = search.learner.table, search.folds
    rows, numbers, scores, fold = [], [], [], []
    for number, state in enumerate(folds):
        assert state.test is not None
        terms, fit = search.fit_at(base, state)
        scores.append(state.held_out_score(search.design(state, terms).rows, fit))
        rows.append(state.test.rows)
        numbers.append(state.test.number)
        fold.append(np.full(len(state.test.rows), number))
    held = table.take(np.concatenate(rows), np.concatenate(numbers))
    which = np.concatenate(fold)
    if len(folds) < LEAST_FOLDS:
        which = np.arange(len(which)) % scale.FOLDS
    use = _use(search, base)
    return find_groups(held, np.concatenate(scores, axis=-1), which, settings.limits, largest, use)


def _use(search: Search, base: CandidatePenalty) -> Floats:
    """Return how much each variable moves the score of the reference fold, (p,)."""
    state, schema = search.reference_fold, search.learner.table.schema
    terms, fit = search.fit_at(base, state)
    coefficients = np.abs(np.atleast_2d(fit)[:, 1 + len(terms.leaf_terms) :]).sum(axis=0)
    found = np.zeros(len(schema))
    for j, size in zip(terms.direct, coefficients, strict=True):
        column = terms.vocabulary.columns[j]
        found[schema.position(column.sources[0])] += size * float(np.std(terms.vocabulary.z[j]))
    return found

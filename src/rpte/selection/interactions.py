"""Which variables interact, by held-out rows and the scores of fits that have not seen them."""

from __future__ import annotations

import numpy as np

from rpte.estimation.candidate import CandidatePenalty
from rpte.rows import scale
from rpte.selection.held_out import held_out_scores
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
    held = held_out_scores(search, base)
    assert held is not None
    rows, scores, fold = held
    if len(search.folds) < LEAST_FOLDS:
        fold = np.arange(len(fold)) % scale.FOLDS
    use = _use(search, base)
    return find_groups(rows, scores, fold, settings.limits, largest, use)


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

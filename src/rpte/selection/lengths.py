"""Models of given lengths: on every fold the terms that say most in so many conditions."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from rpte.columns.units import active_terms
from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.ownership import Joining
from rpte.estimation.subsets import best_subsets, grown_subsets
from rpte.estimation.terms import TermSet
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.selection.fold_state import FoldState
from rpte.selection.search import Search
from rpte.utils.arrays import Index


def compare_lengths(search: Search, start: CandidatePenalty) -> None:
    """Evaluate models of more and more conditions, each of the terms that say most in so many.

    They are chosen from all terms, around the fits at a penalty that was compared. It ends when two
    lengths one after the other cost more than the best one before.
    """
    search.bring_repeats_to(0)
    search.starts.append(start)
    search.rounds.append(search.n_pairs)
    least: list[float] = []
    before, l1_ratio = None, search.settings.fixed_l1_ratio
    for candidate in choose_lengths(search, start, search.n_pairs):
        known = len(search.evaluations)
        search.compare(candidate, l1_ratio, before)
        before = candidate if (candidate, l1_ratio) in search.paths else before
        least.append(search.least_cost(search.evaluations[known:]))
        if search.watch.is_over() or min(least) < min(least[-2:]):
            break


def choose_lengths(search: Search, start: CandidatePenalty, n_pairs: int) -> list[Candidate]:
    """Choose on every fold the terms of all lengths; return the candidates."""
    everything = Candidate("all", 0, n_pairs)
    lengths = [replace(everything, max_conditions=m) for m in scale.LENGTHS]
    found = thread_map(lambda f: _subsets(search, f, everything, start), search.all_folds)
    for fold, subsets in zip(search.all_folds, found, strict=True):
        fold.subsets |= zip(lengths, subsets, strict=True)
    if search.learner.table.loss.n_scores == 1:
        return lengths
    # Of several classes subsets are nested, and end where no term says more.
    pairs = pairwise(lengths)
    return lengths[:1] + [b for a, b in pairs if any(_longer(f, a, b) for f in search.all_folds)]


def _longer(fold: FoldState, one: Candidate, other: Candidate) -> bool:
    """Tell whether a length has more terms than another on a fold."""
    return len(fold.subsets[other]) > len(fold.subsets[one])


def _subsets(
    search: Search, fold: FoldState, everything: Candidate, start: CandidatePenalty
) -> list[Index]:
    """Return the direct terms of a fold for each length."""
    vocabulary, settings = fold.structure.vocabulary, search.settings
    terms = TermSet(vocabulary, (), np.flatnonzero(everything.holds(vocabulary)))
    known, fit = search.fit_at(start, fold)
    fit = np.delete(fit, np.s_[1 : 1 + sum(known.leaf_counts)], axis=-1)
    sources = [vocabulary.columns[j].sources for j in terms.direct]
    used = [vocabulary.columns[j].sources for j in known.direct[active_terms(fit)]]
    rule = settings.admission().rule
    joinings = [Joining(sources, settings.ownership, rule)]
    if start.candidate.max_conditions is not None:
        # Products that were found for what a model leaves add to it where its components stay.
        joinings.append(Joining(sources, settings.ownership, rule, used))
    fit = terms.carry(fit, replace(known, trees=()))
    read, design = terms.conditions(fold.train.schema), search.path_design(fold, terms)
    if design.loss.n_scores > 1:
        found = grown_subsets(design, read, joinings[-1], scale.LENGTHS)
    else:
        found = best_subsets(design, fit, read, joinings, scale.LENGTHS)
    return [terms.direct[places] for places in found]

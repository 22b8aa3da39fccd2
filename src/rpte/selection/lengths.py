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

    They are chosen from all terms, around the fits at a penalty that was compared.
    """
    search.starts.append(start)
    search.rounds.append(search.n_pairs)
    _compare_in_turn(search, choose_lengths(search, start, search.n_pairs))


def compare_trees(search: Search, most: int) -> None:
    """Evaluate models of several classes whose terms may also be leaves of up to `most` trees.

    Leaves compete with all other terms, each for the conditions on the way to it. The lengths are
    about that of the best model so far, and shorter.
    """
    n_trees = search.grow(most)
    longest = scale.LONGER_WITH_TREES * search.best(search.complete).miu
    lengths = [m for m in scale.LENGTHS if m <= longest] or scale.LENGTHS[:1]
    search.tree_lengths = tuple(lengths[-scale.TREE_LENGTHS :])
    if n_trees:
        _compare_in_turn(search, offer_leaves(search, search.n_pairs, n_trees))


def offer_leaves(search: Search, n_pairs: int, n_trees: int) -> list[Candidate]:
    """Return the candidates with leaves; their terms are chosen on a fold when it needs them."""
    everything = Candidate("all", n_trees, n_pairs)
    lengths = [replace(everything, max_conditions=m) for m in search.tree_lengths]

    def choose(fold: FoldState) -> None:
        for length, chosen in zip(lengths, _with_leaves(search, fold, everything), strict=True):
            fold.leaf_subsets[length], fold.subsets[length] = chosen

    search.choosers |= dict.fromkeys(lengths, choose)
    return lengths


def _compare_in_turn(search: Search, candidates: list[Candidate]) -> None:
    """Evaluate candidates of more and more conditions.

    It ends when two lengths one after the other cost more than the best one before.
    """
    least: list[float] = []
    before, l1_ratio = None, search.settings.fixed_l1_ratio
    for candidate in candidates:
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


def _with_leaves(
    search: Search, fold: FoldState, everything: Candidate
) -> list[tuple[Index, Index]]:
    """Return the leaves and direct terms of a fold for each length."""
    vocabulary, settings, trees = fold.structure.vocabulary, search.settings, fold.structure.trees
    trees = trees[: everything.n_trees]
    terms = TermSet(vocabulary, trees, np.flatnonzero(everything.holds(vocabulary)))
    numbers = np.repeat(np.arange(len(trees)), terms.leaf_counts)
    sources = [trees[t].sources for t in numbers]
    sources += [vocabulary.columns[j].sources for j in terms.direct]
    owners = np.concatenate([numbers, np.full(len(terms.direct), -1)])
    joining = Joining(sources, settings.ownership, settings.admission().rule, (), owners.tolist())
    read, design = terms.conditions(fold.train.schema), search.path_design(fold, terms)
    found, first = grown_subsets(design, read, joining, search.tree_lengths), len(numbers)
    return [(at[at < first], terms.direct[at[at >= first] - first]) for at in found]

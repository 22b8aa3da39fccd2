"""Inner validation: which terms a model may use and the penalty, chosen together.

Everything learned from y (shapes, patterns, products, trees) is learned again in each fold. First
the direct terms of single variables are compared; Stage 2 starts from the best of them, and what it
adds is compared with them. When the time is up, what was compared until then is the result.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rpte.errors import InputError, warn
from rpte.estimation.candidate import RULE_FAMILIES, SHAPE_FAMILIES, Candidate, ShapeFamily
from rpte.estimation.terms import choose_terms
from rpte.fit.settings import Settings
from rpte.fit.structure_learner import Discovery, StructureLearner
from rpte.losses import BINOMIAL
from rpte.rows import scale
from rpte.rows.folds import Fold, Validation, copies_of
from rpte.rows.training_rows import TrainingRows
from rpte.selection.comparison import Comparison, Evaluation, Price
from rpte.selection.finalists import validate_finalists, validate_outside
from rpte.selection.fold_state import mine_all_rows, mine_folds
from rpte.selection.held_out import held_out_rows
from rpte.selection.ladder import compare_ladders, makes_ladders
from rpte.selection.lengths import compare_lengths, compare_trees
from rpte.selection.reference import find_reference
from rpte.selection.search import Search
from rpte.table.table import Table
from rpte.utils.progress import GROWING, MINING, Watch


@dataclass(frozen=True, slots=True)
class Addition:
    """What is added to a candidate step by step: numbers of trees and of pairs."""

    stage: str
    until: float  # fraction of the fit that is then done, for progress reports
    wanted: Sequence[tuple[int, int]]


TREES = Addition("comparing trees", 0.7, ((1, 0), (3, 0), (8, 0)))
PRODUCTS = Addition("comparing products", 0.8, ((0, 20), (0, 60)))
BOTH = Addition("comparing trees with products", 0.85, ((1, 20), (3, 60)))


def select(
    rows: TrainingRows, settings: Settings, validation: Validation, watch: Watch | None = None
) -> tuple[Discovery, Comparison]:
    """Compare candidates and penalties by cross-validated deviance.

    Return the results of Stages 1 and 2 on all rows or a sample of them, and the comparison.
    """
    watch = watch or Watch()
    searched = rows.searched(validation)
    if searched.n_rows < rows.n_rows:
        _check_contents(searched)
    folds, others = validation.split(searched)
    price = Price.at(settings.audit_price, rows.n_cases, rows.loss.price_of_rest)
    if settings.rules:
        price = replace(price, log_from=price.log_from * scale.LOG_PRICE_OF_RULES)
    if not folds:
        return _base_rate(searched, settings, price)
    learner = StructureLearner.of(searched, settings)
    search = _search(rows, learner, validation, folds, price, watch)
    _compare_all(search)
    _warn_of_unlike_folds(search)
    if not watch.is_over():
        if searched.n_rows == rows.n_rows:
            validate_finalists(search, others)
        elif validation.by == "content":
            validate_outside(search, rows)
    found, compared = search.result()
    if not watch.is_over():
        reference = find_reference(search, compared.ranked(None)[0].penalty)
        compared = replace(compared, reference=reference)
    if rows.loss.leaves_little:
        best = compared.ranked(settings.most_conditions)[:1]
        wanted = (*best, *compared.frontier(scale.FRONTIER, best[0]))
        grouped = validation.by == "groups"
        compared = replace(compared, held_out=held_out_rows(search, wanted, grouped))
    return found, compared


def _compare_all(search: Search) -> None:
    """Compare the base rate, single variables, and what Stage 2 adds, while there is time."""
    settings, watch = search.settings, search.watch
    search.compare_base_rate()
    if not settings.starts_from_terms:
        _compare_few(search, "all", None, 0.2)
        watch.begin(GROWING, 0.4)
        search.start_stage2(None)
        counts = tree_counts(search.grow(settings.max_trees))
        watch.begin("comparing numbers of trees", 0.9, len(counts))
        for m in counts:
            search.compare(Candidate("all", m, None), settings.fixed_l1_ratio)
        return
    l1_ratios = search.l1_ratios
    _compare_first(search, l1_ratios)
    if watch.is_over():
        return
    # Conditions that are added later shall not make those of the base cheaper.
    linear = replace(search.price, log_from=np.inf)
    base = Comparison(tuple(search.complete), linear).ranked(None)[0].penalty
    if makes_ladders(search):
        compare_ladders(search, base)
        return
    watch.begin("finding products and splits", 0.6, len(search.all_folds))
    search.start_stage2(base)
    if watch.is_over():
        return
    table = search.learner.table
    if not _many_cases(table):
        return
    cases = table.loss.effective_cases(table.y, table.cases_of())
    if not search.lengths_alone:
        _compare_further(search, base.candidate, l1_ratios)
    if cases >= scale.LENGTHS_FROM_CASES or table.loss.n_scores > 1:
        _compare_lengths(search)


def _search(
    rows: TrainingRows,
    learner: StructureLearner,
    validation: Validation,
    folds: list[Fold],
    price: Price,
    watch: Watch,
) -> Search:
    """Run Stage 1 on every fold, and on all rows unless one fold gives the structure."""
    alone = validation.is_long(learner.table)
    watch.begin(MINING, 0.15, len(folds) + 1)
    # All rows come first: their shapes are those of the folds.
    everything = None if alone else mine_all_rows(learner, watch)
    states = mine_folds(learner, folds, watch, alone)
    blocks = len(states[0].blocks) - 1 if len(states) == 1 else min(len(states), validation.count)
    shrink = math.sqrt(states[0].train.n_cases / rows.n_cases) if alone else 1.0
    return Search(learner, states, everything or states[0], shrink, blocks, price, watch)


def _base_rate(table: Table, settings: Settings, price: Price) -> tuple[Discovery, Comparison]:
    """Return the base rate alone, with a warning, because there is nothing to validate on."""
    smaller = table.loss.effective_cases(table.y, table.cases_of())
    why = f"both classes ({smaller:.0f} row(s) in the smaller class)"
    if table.loss is not BINOMIAL:
        why = "targets that differ" if table.loss.varies(table.y) else "targets: all the same"
    warn(
        f"l1='cv' finds no splits that train and test on {why}: the model is the base rate alone; "
        "give more cases or groups, or set l1='4/n' or a number"
    )
    learner, watch = StructureLearner.of(table, settings), Watch()
    state = mine_all_rows(learner, watch)
    search = Search(learner, [], state, 1.0, 0, price, watch)
    evaluation = Evaluation(search.without_terms(), 0, 0.0, 0.0)
    found = learner.grow(table, state.mined, None).with_trees(settings.max_trees, settings)
    return found, Comparison((evaluation,), price, terms=search.terms)


def _compare_first(search: Search, l1_ratios: Sequence[float]) -> None:
    """Compare the direct terms of single variables by shape family, equal sets of terms once.

    A family that cannot win with one L1 ratio is not tried with the next. Where the model will be
    one of given length, which starts from the best family, the first of many rows choose that.
    """
    settings, reference = search.settings, search.reference_fold
    families = RULE_FAMILIES if settings.rules else SHAPE_FAMILIES
    families = families if _many_cases(search.learner.table) else families[:2]
    shaped = settings.vocabulary == "shapes"
    known: set[tuple[int, ...]] = set()
    candidates = [Candidate(f) for f in families] if shaped else [Candidate("all", 0, None)]
    search.watch.begin("comparing single variables", 0.5, len(candidates) * len(l1_ratios))
    many = min(fold.train.n_rows for fold in search.all_folds) > 2 * scale.FAMILY_ROWS
    if many and shaped and search.lengths_alone:
        fair = reference.train.fair_rows(scale.FAMILY_ROWS)
        search.first_rows = fair if fair == scale.FAMILY_ROWS else None
    for candidate in candidates:
        terms = choose_terms(reference.train, reference.structure, candidate, settings.admission())
        if tuple(terms.direct) not in known:
            known.add(tuple(terms.direct))
            for l1_ratio in l1_ratios:
                if not search.compare(candidate, l1_ratio):
                    break
    if search.first_rows is not None:
        search.compare_again()
    if makes_ladders(search):
        return
    few = shaped and families == SHAPE_FAMILIES[:2]
    family: ShapeFamily = "levels" if few else "all"
    _compare_few(search, family, 0 if shaped else None, 0.52)


def _compare_few(search: Search, family: ShapeFamily, n_pairs: int | None, until: float) -> None:
    """Compare the very short models of forward selection, which goes by one score."""
    if search.learner.table.loss.n_scores > 1:
        return
    search.watch.begin("comparing single conditions", until, len(scale.FEW_CONDITIONS))
    for conditions in scale.FEW_CONDITIONS:
        search.compare_forward(Candidate(family, 0, n_pairs, conditions))


def _compare_further(search: Search, base: Candidate, l1_ratios: Sequence[float]) -> None:
    """Compare candidates with trees, with products and with both."""
    if not search.settings.makes_products:
        search.watch.begin(TREES.stage, 0.9, len(scale.TREE_COUNTS) * len(l1_ratios))
        counts = tree_counts(search.grow(search.settings.max_trees))[1:]
        for apart in (False, True) if search.settings.rules else (False,):
            for m, l1_ratio in product(counts, l1_ratios):
                search.compare(replace(base, n_trees=m, apart=apart), l1_ratio, base)
        return
    singles = list(search.evaluations)
    trees = _compare_in_turn(search, base, l1_ratios, TREES, singles)
    if search.settings.rules:  # a tree may also replace the direct terms of its variables
        instead = replace(base, apart=True)
        trees |= _compare_in_turn(search, instead, l1_ratios, TREES, singles, base)
    products = _compare_in_turn(search, base, l1_ratios, PRODUCTS, singles)
    if trees and products:
        _compare_in_turn(search, base, l1_ratios, BOTH, search.evaluations)


def _compare_lengths(search: Search) -> None:
    """Compare models by their lengths; look for more products from the best of them, and again.

    The first round that is no better than the one before, or finds no products, is the last.
    """
    start, least = search.best(search.complete), np.inf
    more = search.learner.table.loss.leaves_little and len(search.folds) > 1
    for rounds in range(scale.MORE_PRODUCT_ROUNDS if more else scale.PRODUCT_ROUNDS):
        search.watch.begin("comparing lengths", 0.85 + 0.01 * rounds, len(scale.LENGTHS))
        if rounds and not search.look_for_products(start.penalty):
            break
        known = len(search.evaluations)
        compare_lengths(search, start.penalty)
        new = search.evaluations[known:]
        if search.watch.is_over() or search.least_cost(new) >= least:
            break
        start, least = search.best(new), search.least_cost(new)
    most = min(search.settings.max_trees, scale.TREES_OF_LENGTHS)
    if search.learner.table.loss.n_scores > 1 and most and not search.watch.is_over():
        search.watch.begin(TREES.stage, 0.9, scale.TREE_LENGTHS)
        compare_trees(search, most)


def _compare_in_turn(
    search: Search,
    base: Candidate,
    l1_ratios: Sequence[float],
    more: Addition,
    rivals: Sequence[Evaluation],
    smaller: Candidate | None = None,
) -> bool:
    """Compare candidates that add more and more to a base; tell whether any beats the rivals.

    The first one that costs more than the rivals and those before it is the last.
    """
    search.watch.begin(more.stage, more.until, len(more.wanted) * len(l1_ratios))
    beaten, tried = list(rivals), {(base.n_trees, base.n_pairs)}
    for m, k in more.wanted:
        offered = min(m, search.grow(m)), min(k, search.n_pairs)
        if offered in tried:
            break
        tried.add(offered)
        known = len(search.evaluations)
        for l1_ratio in l1_ratios:
            candidate = replace(base, n_trees=offered[0], n_pairs=offered[1])
            search.compare(candidate, l1_ratio, smaller or base)
        new = search.evaluations[known:]
        if search.least_cost(new) > search.least_cost(beaten):
            break
        beaten += new
    return len(beaten) > len(rivals)


def _check_contents(sample: Table) -> None:
    """Warn if a sample is of few contents; refuse it if it has none.

    Rows are drawn by content: those of one content are all in the sample, or none of them is.
    """
    if sample.contents(sample.n_rows) >= scale.FEW_CONTENTS:
        return
    text = (
        "the columns have few different rows, with many targets each, and so large a table is "
        "searched on a sample that has none of some: give every different row once, with the mean "
        "of its targets and, as sample_weight, their number"
    )
    if not sample.n_rows:
        raise InputError(text)
    warn(text)


def _warn_of_unlike_folds(search: Search) -> None:
    """Warn if held-out rows are so unlike the training rows that candidates cannot be judged.

    Along a penalty path the standard error of the validated deviance then grows far beyond what the
    number of held-out cases explains, although the terms are few for the training cases. Copies of
    one case, which are in one fold, count once.
    """
    null, table = search.evaluations[0].deviance, search.learner.table
    copies, held = copies_of(table), [fold.test for fold in search.folds if fold.test is not None]
    cases = sum(int(np.where(copies[t.rows], 1, t.number).sum()) for t in held)
    expected = max(null, table.loss.null_spread(table.y, table.weight)) / math.sqrt(cases)
    paths: dict[Candidate, list[float]] = {}
    smaller = table.loss.effective_cases(table.y, np.where(copies, 1, table.cases_of()))
    for evaluation in (*search.screened, *search.evaluations, *search.short):
        candidate = evaluation.penalty.candidate
        # Models of given lengths have hardly a penalty, and separate the classes of few rows.
        of_length = candidate.max_conditions is not None or candidate.form is not None
        if 0 < evaluation.miu <= smaller / scale.CASES_PER_CONDITION and not of_length:
            paths.setdefault(candidate, []).append(evaluation.error)
    for candidate, errors in paths.items():
        worst = max(errors)
        if worst > scale.UNLIKE_FOLDS * errors[0] and worst > scale.UNLIKE_FOLDS * expected:
            warn(
                "some held-out rows are unlike all rows that train: along the penalties of "
                f"{candidate.shape_family!r} terms the standard error of the validated deviance "
                f"grows from {errors[0]:.3g} to {worst:.3g}, so larger models cannot be judged and "
                "the model may be too small; look for a group unlike the others, or for rows that "
                "a code fills (special_values=...), or give splits that mix them (cv=...)"
            )
            return


def _many_cases(table: Table) -> bool:
    """Tell whether there are enough cases for more than slopes, logs and levels."""
    return table.loss.effective_cases(table.y, table.weight) >= scale.CASES_FOR_SHAPES


def tree_counts(accepted: int) -> list[int]:
    """Return the numbers of trees that are compared."""
    return sorted({min(m, accepted) for m in (*scale.TREE_COUNTS, accepted)})

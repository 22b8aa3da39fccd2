"""Models that people can read: one shape per variable, one tree per group, shorter and shorter.

A good additive fit (the base) says what each variable asks for. From there, on the training rows of
every fold,

1. each variable gets one shape of at most three terms; which kind, how many terms, and whether it
   may turn is decided once, by what shapes of the training rows gain on held-out rows;
2. each group of variables that interact gets a tree, which replaces the shapes of its variables or
   stands beside them;
3. from all of these the term or split that loses least for each of its conditions is dropped, again
   and again, which gives a ladder of models by length.

All lengths are fitted anew and compared on held-out rows, as any other candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rpte.columns.kinds import Step
from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.drop import Ladder, TreeSplits, drop_in_turn
from rpte.estimation.forward import forward_order
from rpte.estimation.one_shape import direction_of, families_of
from rpte.estimation.ownership import Components
from rpte.estimation.terms import TermSet
from rpte.kernels.blas import one_blas_thread
from rpte.model.verify_structure import is_flag
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.selection.comparison import Comparison, Evaluation
from rpte.selection.fold_state import FoldState, keep_columns
from rpte.selection.interactions import find_interactions
from rpte.selection.search import Search
from rpte.selection.shapes import (
    choose_margin,
    choose_shapes,
    effect_limits,
    find_promises,
    find_shapes,
    prepare,
)
from rpte.structure.coding import TreeColumns, code_columns
from rpte.structure.group_trees import grow_group, least_information
from rpte.structure.groups import Interactions
from rpte.structure.grower import GrowthLimits
from rpte.structure.tree import MOST_BINS, Tree
from rpte.utils.arrays import Index, Int8s, Int32s
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR, Vocabulary

LEAVES, DEPTH = 8, 4  # of the tree of a group, at most
REPLACES, BESIDE, PRODUCT = "replaces", "beside", "product"  # a tree, or a product of a pair
FORWARD = -1  # in place of the number of a form: very short models of forward selection
# By how much a model with products must be better: standard errors, and a fraction of what prices
# are fractions of. Products are hard to read, and many of them nobody would sign.
PRODUCT_ERRORS, PRODUCT_WORTH = 2.0, 0.03
FIRST_ERRORS = (1.0, 0.0)  # of the first round, for others to follow: of classes, of numbers
NEAR = 0.4  # times the length of the best so far: shorter models with trees are not compared
PRODUCT_ROUNDS = 6  # of many products
PATIENCE = 4  # lengths that cost more than the best before, after which no longer one is tried


@dataclass(frozen=True, slots=True)
class Form:
    """What a ladder is made of: groups with a tree and how it stands to shapes, and products."""

    trees: tuple[tuple[int, str], ...] = ()
    rounds: int = 0  # of many products, each looked for from the best model of the one before


@dataclass(slots=True, eq=False)
class LadderPlan:
    """What is the same on all folds: the base, the kinds of shapes, the groups."""

    base: CandidatePenalty
    interactions: Interactions
    margin: float  # of the rows that lie beyond the limits of effects, at either end
    sizes: tuple[int | None, ...]  # conditions at most; None: as many as there are
    promises: Mapping[str, str]  # directions that numbers may be promised to have
    forms: list[Form] = field(default_factory=list)
    starts: list[CandidatePenalty] = field(default_factory=list)  # of each round of products

    def candidates(self, form: Form) -> list[Candidate]:
        """Return the candidates of a form, one for each length."""
        if form not in self.forms:
            self.forms.append(form)
        number, count = self.forms.index(form), sum(mode != PRODUCT for _, mode in form.trees)
        apart = any(mode == REPLACES for _, mode in form.trees)
        pairs = len(form.trees) - count + scale.MOST_PRODUCTS * form.rounds
        return [Candidate("all", count, pairs, m, apart, number) for m in self.sizes]


def makes_ladders(search: Search) -> bool:
    """Tell whether the models of a search are ladders."""
    return search.settings.shapes == "one"


def compare_ladders(search: Search, base: CandidatePenalty) -> None:
    """Compare ladders: of shapes alone, with a tree for each group, with products.

    Groups come in turn, the strongest first: the tree of each replaces shapes, stands beside them,
    or is left out, whichever makes the best whole model.
    """
    watch = search.watch
    watch.begin("finding interactions", 0.6, 1)
    interactions = find_interactions(search, base)
    for fold in search.all_folds:
        prepare(search, fold, base)
    margin = choose_margin(search)
    with one_blas_thread():
        for fold in search.all_folds:
            find_shapes(search, fold, margin)
    keep_columns(search.learner, search.all_folds)
    choose_shapes(search, base.candidate.shape_family)
    promises = find_promises(search)
    lengths = scale.LADDER if search.learner.table.loss.n_scores == 1 else scale.LADDER[1::2]
    plan = LadderPlan(base, interactions, margin, (None, *lengths), promises, starts=[base])
    search.plan, search.screened = plan, [*search.screened, *search.evaluations[1:]]
    search.evaluations = search.evaluations[:1]
    best, alone = Form(), _compare_form(search, plan, Form())
    least = search.least_cost(alone)
    _compare_few(search)
    for group in range(len(interactions.groups)):
        modes = [REPLACES, BESIDE]
        if len(interactions.groups[group]) == 2 and search.settings.makes_products:
            modes.append(PRODUCT)
        rivals = [Form((*best.trees, (group, mode))) for mode in modes]
        found = [search.least_cost(_compare_form(search, plan, form)) for form in rivals]
        at = int(np.argmin(found))
        if found[at] < least:
            best, least = rivals[at], found[at]
    if search.settings.makes_products and interactions.may_matter:
        _compare_products(search, plan, [search.evaluations[0], *alone])


def _compare_products(search: Search, plan: LadderPlan, alone: Sequence[Evaluation]) -> None:
    """Compare forms with many products, round by round while the models become better.

    The first round has to be better than shapes `alone`: a tree may say more than the products of
    one round and less than those of several. Of few cases, of which more rounds would make more
    chances, and of many rows, of which each product takes memory, it has to be better than all.
    Products are kept if the best of their models is better than all before beyond chance.
    """
    known, table = list(search.evaluations), search.learner.table
    few = table.loss.effective_cases(table.y, table.cases_of()) < scale.LENGTHS_FROM_CASES
    rivals = known if few or table.n_rows > scale.LONG_ABOVE else alone
    errors = PRODUCT_ERRORS if few else FIRST_ERRORS[table.loss.leaves_little]
    found = list[Evaluation]()
    for rounds in range(1, 1 + PRODUCT_ROUNDS):
        before, new = search.least_cost(found), _compare_form(search, plan, Form((), rounds))
        first = rounds == 1 and not _is_clearly_better(search, rivals, new, errors)
        if first or search.least_cost(new) >= before:
            break
        found += new
        plan.starts.append(search.best(new).penalty)
    kept = _is_clearly_better(search, known, found, PRODUCT_ERRORS)
    search.evaluations = [*known, *(found if kept else ())]


def _compare_few(search: Search) -> None:
    """Evaluate the very short models of forward selection, which serve small budgets.

    Their terms are of any kind that a shape may have, at most one for each variable.
    """
    if search.learner.table.loss.n_scores > 1:  # forward selection goes by one score
        return
    search.watch.begin("comparing single conditions", 0.78, len(scale.FEW_CONDITIONS))
    candidates = [Candidate("all", 0, 0, few, form=FORWARD) for few in scale.FEW_CONDITIONS]
    for _ in thread_map(lambda fold: _choose_few(search, fold, candidates), search.all_folds):
        pass
    for candidate in candidates:
        search.compare_forward(candidate)


def _choose_few(search: Search, fold: FoldState, candidates: Sequence[Candidate]) -> None:
    """Choose the terms of the very short models of a fold, by forward selection."""
    vocabulary, shapes = fold.structure.vocabulary, fold.shapes
    places: list[int] = []
    for own in shapes.columns.values():
        families = families_of([vocabulary.columns[j] for j in own])
        places += [
            j for j, family in zip(own.tolist(), families, strict=True) if family is not None
        ]
    direct = np.array(sorted(places), np.intp)
    terms = TermSet(vocabulary, (), direct)
    design = search.design(fold, terms)
    design = design.first_rows(fold.train.fair_rows(scale.FIRST_ROWS))
    names = [vocabulary.columns[j].name for j in direct]
    read = terms.conditions(fold.train.schema)
    order = forward_order(design, read, names, max(scale.FEW_CONDITIONS))
    taken: set[str] = set()
    chosen: list[int] = []
    for at in order:
        source = vocabulary.columns[direct[at]].sources[0]
        if source not in taken:
            taken.add(source)
            chosen.append(at)
    for candidate in candidates:
        most = candidate.max_conditions or 0
        within = np.sort(direct[np.array(chosen, np.intp)[np.cumsum(read[chosen]) <= most]])
        free = np.zeros(len(within), np.int8)
        fold.ladder_terms[candidate] = TermSet(vocabulary, (), within, None, (), free)


def _is_clearly_better(
    search: Search, before: Sequence[Evaluation], after: Sequence[Evaluation], errors: float
) -> bool:
    """Tell whether products are better than the best evaluation without, by some errors."""
    after = [e for e in after if e.penalty in search.losses]
    if not after:
        return False
    rival, best = search.best([e for e in before if e.penalty in search.losses]), search.best(after)
    error = search.mean(search.losses[best.penalty] - search.losses[rival.penalty])[1]
    costs = search.costs([best, rival])
    least = PRODUCT_WORTH * Comparison(tuple(search.evaluations), search.price).material()
    return bool(costs[0] < costs[1] - max(errors * error, least))


def _compare_form(search: Search, plan: LadderPlan, form: Form) -> list[Evaluation]:
    """Compare the models of a form by length while that helps; return their evaluations."""
    candidates = plan.candidates(form)
    choose = _chooser(search, plan, form)
    search.choosers |= dict.fromkeys(candidates, choose)
    for _ in thread_map(choose, search.all_folds):
        pass
    search.watch.begin("comparing lengths", 0.9 - 0.25 * 0.5 ** len(plan.forms), len(candidates))
    table = search.learner.table
    cases = table.loss.effective_cases(table.y, table.cases_of())
    few, known, least = cases < scale.LENGTHS_FROM_CASES, len(search.evaluations), [np.inf]
    # Beside trees and products only lengths near that of the best so far are worth their time.
    short = search.best(search.complete).miu * NEAR if form != Form() and not few else 0
    ratios, of_lengths = _l1_ratios(search, cases)
    for at, candidate in enumerate(candidates):
        if (candidate.max_conditions or short) < short:
            continue
        if at > 1 and _same_terms(search, candidates[at - 1], candidate):
            continue
        before = len(search.evaluations)
        for l1_ratio in of_lengths if at else ratios:
            search.compare(candidate, l1_ratio)
        if at:
            least.append(search.least_cost(search.evaluations[before:]))
        if at and few:
            search.short += [] if form.rounds else search.evaluations[before:]
            del search.evaluations[before:]
        if search.watch.is_over() or (not few and min(least) < min(least[-PATIENCE:])):
            break
    return search.evaluations[known:]


def _l1_ratios(search: Search, cases: float) -> tuple[Sequence[float], Sequence[float]]:
    """Return the L1 ratios that are compared for all terms of a form, and for its lengths."""
    ratios, loss = search.l1_ratios, search.learner.table.loss
    if loss.leaves_little and cases < scale.LENGTHS_ALONE_FROM_CASES:
        ratios = scale.L1_RATIOS if search.settings.l1_ratio is None else ratios
        return ratios, ratios
    return ratios, ratios[:1] if search.lengths_alone else ratios[-1:]


def _chooser(search: Search, plan: LadderPlan, form: Form) -> Callable[[FoldState], None]:
    """Return what chooses the terms of a form on a fold."""
    return lambda fold: choose_terms_of(search, fold, plan, form)


def follow_plan(search: Search, again: Search, plan: LadderPlan) -> None:
    """Prepare another search for the candidates of a plan, whose shapes are those of a search."""
    again.plan = plan
    for fold in again.all_folds:
        prepare(again, fold, plan.base)
        find_shapes(again, fold, plan.margin)
        fold.shapes.choices = search.reference_fold.shapes.choices
    for form in list(plan.forms):
        again.choosers |= dict.fromkeys(plan.candidates(form), _chooser(again, plan, form))


def _same_terms(search: Search, one: Candidate, other: Candidate) -> bool:
    """Tell whether two candidates have the same terms on every fold."""
    return all(
        fold.ladder_terms[one].numbers == fold.ladder_terms[other].numbers
        and np.array_equal(fold.ladder_terms[one].direct, fold.ladder_terms[other].direct)
        for fold in search.all_folds
    )


def offered(fold: FoldState, without: frozenset[str], budget: int) -> Index:
    """Return the columns of the chosen shapes, and flags, of variables that are not left out.

    Of more derived columns than the budget allows, those of the shapes that gain most.
    """
    shapes, vocabulary, schema = fold.shapes, fold.structure.vocabulary, fold.train.schema
    found: list[tuple[float, str, Index]] = []
    for name, choice in shapes.choices.items():
        some = shapes.shapes.get((name, choice.kind), [])[: choice.size]
        if some and name not in without:
            found.append((-round(some[-1].gain, 9), name, shapes.columns[name][some[-1].places]))
    chosen: list[int] = []
    left = budget
    for _, _, places in sorted(found, key=lambda each: each[:2]):
        derived = int((vocabulary.block[places] != ORIGINAL).sum())
        if derived <= left:
            left -= derived
            chosen += places.tolist()
    for j, column in enumerate(vocabulary.columns):
        if is_flag(column, schema) and column.sources[0] not in without:
            chosen.append(j)
    return np.array(sorted(chosen), np.intp)


def choose_terms_of(search: Search, fold: FoldState, plan: LadderPlan, form: Form) -> None:
    """Choose on a fold the terms of all lengths of a form."""
    groups = plan.interactions.groups
    replaced = frozenset(n for g, mode in form.trees if mode == REPLACES for n in groups[g])
    numbers = [
        number
        for g, mode in form.trees
        if mode != PRODUCT and (number := _tree(search, fold, plan, g, mode)) is not None
    ]
    direct = offered(fold, replaced, search.settings.budget)
    for g, mode in form.trees:
        if mode == PRODUCT:
            direct = np.union1d(direct, _product_of(search, fold, plan, frozenset(groups[g])))
    if form.rounds:
        direct = np.union1d(direct, _products(search, fold, plan, form.rounds))
    grown = tuple(fold.structure.trees[number] for number in numbers)
    terms = TermSet(fold.structure.vocabulary, grown, direct, None, tuple(numbers))
    with one_blas_thread():
        ladder = _ladder(search, fold, plan, terms)
    signs = _signs(fold, plan, direct)
    for candidate, length in zip(plan.candidates(form), plan.sizes, strict=True):
        kept, cut = ladder.within(length)
        trees = tuple(tree for tree in cut if tree is not None)
        which = tuple(_number(fold, tree) for tree in trees)
        vocabulary = fold.structure.vocabulary
        fold.ladder_terms[candidate] = TermSet(
            vocabulary, trees, direct[kept], None, which, signs[kept]
        )


def _signs(fold: FoldState, plan: LadderPlan, direct: Index) -> Int8s:
    """Return the sign that each direct term must have, 0 for any."""
    found, schema = np.zeros(len(direct), np.int8), fold.train.schema
    for at, j in enumerate(direct.tolist()):
        column = fold.structure.vocabulary.columns[j]
        choice = fold.shapes.choices.get(column.sources[0])
        shape = len(set(column.sources)) == 1 and not is_flag(column, schema)
        if choice is not None and shape:
            found[at] = choice.kind.direction * direction_of(column)
    return found


def _ladder(search: Search, fold: FoldState, plan: LadderPlan, terms: TermSet) -> Ladder:
    design = search.design(fold, terms)
    shapes, train = fold.shapes, fold.train
    at = shapes.asked
    share = at.curvature / at.curvature.sum(axis=1, keepdims=True)
    z = design.z[design.rows][:, : train.n_rows].astype(np.float64)
    asked = np.atleast_2d(at.score)
    moments = at.moments(z, asked - (share * asked).sum(axis=1, keepdims=True), share @ z.T)
    splits = [TreeSplits.of(tree, train.schema) for tree in terms.trees]
    read = terms.conditions(train.schema)[sum(terms.leaf_counts) :]
    base, half = plan.base, 0.5 * train.total_weight / at.dispersion
    ridge = max(
        half * base.l1 * (1.0 - base.l1_ratio), least_information(float(at.curvature.sum()))
    )
    return drop_in_turn(moments, splits, read, ridge)


def _tree(search: Search, fold: FoldState, plan: LadderPlan, group: int, mode: str) -> int | None:
    """Return the number of the tree of a group; None if none can be grown."""
    shapes = fold.shapes
    if (group, mode) not in shapes.trees:
        tree = _grown(search, fold, plan.interactions.groups[group], mode == REPLACES)
        if tree is None:
            return None
        shapes.trees[group, mode] = _number(fold, tree)
    return shapes.trees[group, mode]


def _grown(search: Search, fold: FoldState, group: tuple[str, ...], alone: bool) -> Tree | None:
    """Grow the tree of a group at the base score, less its variables' own effects if `alone`."""
    train, shapes, settings = fold.train, fold.shapes, search.settings
    score = shapes.asked.score
    if alone:
        own = sum(shapes.asked.own.get(name, 0.0) for name in group)
        score = score - np.reshape(own, score.shape) if np.ndim(own) else score
    at = train.loss.residuals(score, train.y, train.weight)
    columns = _coded(search, fold, group)
    least = least_information(float(at.hessian.sum()))
    limits = GrowthLimits(
        min(LEAVES, settings.max_leaves),
        min(DEPTH, settings.max_depth),
        settings.min_samples_leaf,
        least,
    )
    tree = grow_group(columns.coded, np.arange(columns.coded.n_columns), at, train.weight, limits)
    return None if tree is None else columns.read(tree)[0]


def _coded(search: Search, fold: FoldState, group: tuple[str, ...]) -> TreeColumns:
    vocabulary = fold.structure.vocabulary
    own = [
        j
        for j, column in enumerate(vocabulary.columns)
        if vocabulary.block[j] == ORIGINAL or isinstance(column, Step)  # of two values
        if set(column.sources) <= set(group)
    ]
    some = vocabulary.keep(np.array(own, np.intp))
    limits, ranks = search.settings.limits, search.learner.ranks
    return code_columns(fold.train, some, False, (), limits, ranks, MOST_BINS)


def _number(fold: FoldState, tree: Tree) -> int:
    """Return the number of a tree of a fold, which is added if it is new."""
    trees = fold.structure.trees
    if tree in trees:
        return trees.index(tree)
    assert fold.found is not None
    leaf: Int32s = tree.apply(fold.train.inputs)
    structure = replace(
        fold.structure,
        trees=(*trees, tree),
        leaf_codes=np.vstack([fold.structure.leaf_codes, leaf[None]]).astype(np.int32),
        used=(*fold.structure.used, frozenset()),
        steps=(*fold.structure.steps, np.zeros(tree.n_leaves)),
    )
    fold.learn(replace(fold.found, structure=structure))
    return len(trees)


def _product_of(search: Search, fold: FoldState, plan: LadderPlan, pair: frozenset[str]) -> Index:
    """Return the product of a pair of variables that says most, if there is any."""
    columns = _with_products(search, fold, plan, 1).columns
    own = [j for j in _pairs(fold, 1) if frozenset(columns[j].sources) == pair]
    return np.array(own[:1], np.intp)


def _with_products(search: Search, fold: FoldState, plan: LadderPlan, rounds: int) -> Vocabulary:
    """Return the vocabulary of a fold with products for what each of some rounds leaves."""
    ends = fold.shapes.rounds
    while len(ends) < rounds:
        assert fold.found is not None
        start = search.warm_start(plan.starts[len(ends)], fold)
        limits = effect_limits(search, plan.margin)
        fold.learn(fold.found.with_products(start, search.settings, limits))
        ends.append(len(fold.structure.vocabulary))
    return fold.structure.vocabulary


def _pairs(fold: FoldState, rounds: int) -> list[int]:
    """Return the products of some rounds on a fold, by their places."""
    found = fold.structure.vocabulary.block[: fold.shapes.rounds[rounds - 1]] == PAIR
    return np.flatnonzero(found).tolist()


def _products(search: Search, fold: FoldState, plan: LadderPlan, rounds: int) -> Index:
    """Return products that components may hold together, the strongest first."""
    columns = _with_products(search, fold, plan, rounds).columns
    joined, rule = Components(), search.settings.admission().rule
    chosen: list[int] = []
    for j in _pairs(fold, rounds):
        sources = frozenset(columns[j].sources)
        if joined.allows(sources, rule):
            joined.join(sorted(sources))
            chosen.append(j)
    return np.array(chosen, np.intp)

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rpte.columns.kinds import Column, Level, Missing
from rpte.estimation.candidate import Candidate, CandidatePenalty, ShapeFamily
from rpte.estimation.drop import Ladder, TreeSplits, drop_in_turn
from rpte.estimation.one_shape import (
    KINDS,
    LINE,
    LOG,
    MOST_TERMS,
    PIECES,
    SETS,
    STEPS,
    VALUES,
    Kind,
    Moments,
    Shape,
    direction_of,
    family_of,
    merged_levels,
    shapes_by_size,
)
from rpte.estimation.ownership import Components
from rpte.estimation.terms import TermSet
from rpte.fit.structure_learner import WarmStart
from rpte.kernels.blas import one_blas_thread
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.selection.fold_state import FoldState
from rpte.selection.interactions import find_interactions
from rpte.selection.search import Search
from rpte.structure.coding import TreeColumns, code_columns
from rpte.structure.group_trees import MOST_BINS, grow_group, least_information
from rpte.structure.groups import Interactions
from rpte.structure.grower import GrowthLimits
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index, Int8s, Int32s
from rpte.vocabulary.products import find_products
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR

LEAVES, DEPTH = 8, 4  # of the tree of a group, at most
REPLACES, BESIDE = "replaces", "beside"
NO_PRODUCTS, OF_PAIRS, MANY = "", "of pairs", "many"  # no variable in two products, or in some
# By how much a shape must be better than a simpler one: standard errors over folds, and nats.
MARGIN_ERRORS, MARGIN_NATS = 1.0, 2.0
TERM_NATS = 0.5  # that each term must gain beside its price
MOST_PRODUCTS = 12
PRODUCT_ERRORS = 1.0  # standard errors by which a model with products must be better
PATIENCE = 4  # lengths that cost more than the best before, after which no longer one is tried


@dataclass(frozen=True, slots=True)
class Form:
    """What a ladder is made of: groups with a tree and how it stands to shapes, and products."""

    trees: tuple[tuple[int, str], ...] = ()
    products: str = NO_PRODUCTS


@dataclass(frozen=True, slots=True)
class ShapeChoice:
    """The shape of a variable: its kind, and of how many terms."""

    kind: Kind
    size: int


@dataclass(slots=True, eq=False)
class FoldShapes:
    """What the base fit asks of the variables of a fold, and shapes that answer it."""

    score: Floats  # of the base fit on training rows, (n,)
    own: dict[str, Floats]  # what each variable adds to it, (n,)
    columns: dict[str, Index]  # places in the vocabulary of the columns of each variable
    moments: dict[str, Moments]  # of training rows
    held_out: dict[str, Moments]
    shapes: dict[tuple[str, Kind], list[Shape]] = field(default_factory=dict)
    trees: dict[tuple[int, str], int] = field(default_factory=dict)  # numbers of whole trees
    choices: dict[str, ShapeChoice] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class LadderPlan:
    """What is the same on all folds: the base, the kinds of shapes, the groups."""

    base: CandidatePenalty
    interactions: Interactions
    sizes: tuple[int | None, ...]  # conditions at most; None: as many as there are
    forms: list[Form] = field(default_factory=list)

    def candidates(self, form: Form) -> list[Candidate]:
        """Return the candidates of a form, one for each length."""
        if form not in self.forms:
            self.forms.append(form)
        number, count = self.forms.index(form), len(form.trees)
        apart = any(mode == REPLACES for _, mode in form.trees)
        pairs = {NO_PRODUCTS: 0, OF_PAIRS: MOST_PRODUCTS}.get(form.products, scale.MOST_PRODUCTS)
        return [Candidate("all", count, pairs, m, apart, number) for m in self.sizes]


def makes_ladders(search: Search) -> bool:
    """Tell whether the models of a search are ladders."""
    settings, loss = search.settings, search.learner.table.loss
    shaped = settings.vocabulary == "shapes" and settings.ownership == "component"
    return shaped and not settings.rules and loss.n_scores == 1


def compare_ladders(search: Search, base: CandidatePenalty) -> None:
    """Compare ladders: of shapes alone, with a tree for each group, with products.

    Groups come in turn, the strongest first: the tree of each replaces shapes, stands beside them,
    or is left out, whichever makes the best whole model.
    """
    watch = search.watch
    watch.begin("finding interactions", 0.6, 1)
    search.bring_repeats_to(0)
    interactions = find_interactions(search, base)
    for _ in thread_map(lambda fold: prepare(search, fold, base), search.all_folds):
        pass
    choose_shapes(search, base.candidate.shape_family)
    plan = LadderPlan(base, interactions, (None, *scale.LADDER))
    search.plan, search.evaluations = plan, search.evaluations[:1]
    best, least = Form(), _compare_form(search, plan, Form())
    for group in range(len(interactions.groups)):
        rivals = [Form((*best.trees, (group, mode))) for mode in (REPLACES, BESIDE)]
        costs = [_compare_form(search, plan, form) for form in rivals]
        at = int(np.argmin(costs))
        if costs[at] < least:
            best, least = rivals[at], costs[at]
    if search.settings.makes_products and interactions.may_matter:
        for form in (replace(best, products=OF_PAIRS), Form((), MANY)):
            known = len(search.evaluations)
            _compare_form(search, plan, form)
            if not _is_clearly_better(search, known):
                del search.evaluations[known:]


def _is_clearly_better(search: Search, known: int) -> bool:
    """Tell whether the best of the newer evaluations is better than the others beyond chance."""
    before, after = search.evaluations[:known], search.evaluations[known:]
    after = [e for e in after if e.penalty in search.losses]
    if not after:
        return False
    rival, best = search.best([e for e in before if e.penalty in search.losses]), search.best(after)
    error = search.mean(search.losses[best.penalty] - search.losses[rival.penalty])[1]
    costs = search.costs([best, rival])
    return bool(costs[0] < costs[1] - PRODUCT_ERRORS * error)


def _compare_form(search: Search, plan: LadderPlan, form: Form) -> float:
    """Compare the models of a form by length, until longer ones are worse; return the least cost."""
    candidates = plan.candidates(form)
    choose = _chooser(search, plan, form)
    search.choosers |= dict.fromkeys(candidates, choose)
    for _ in thread_map(choose, search.all_folds):
        pass
    search.watch.begin("comparing lengths", 0.8, len(candidates))
    table = search.learner.table
    few = table.loss.effective_cases(table.y, table.cases_of()) < scale.LENGTHS_FROM_CASES
    known, least = len(search.evaluations), [np.inf]
    ratios = scale.L1_RATIOS[:1] if search.is_coarse else scale.L1_RATIOS
    of_lengths = scale.L1_RATIOS[:1] if search.lengths_alone else scale.L1_RATIOS[1:]
    for at, candidate in enumerate(candidates):
        if at > 1 and _same_terms(search, candidates[at - 1], candidate):
            continue
        before = len(search.evaluations)
        for l1_ratio in of_lengths if at else ratios:
            search.compare(candidate, l1_ratio)
        if at:
            least.append(search.least_cost(search.evaluations[before:]))
        if at and few:
            search.short += search.evaluations[before:]
            del search.evaluations[before:]
        if search.watch.is_over() or (not few and min(least) < min(least[-PATIENCE:])):
            break
    return search.least_cost(search.evaluations[known:])


def _chooser(search: Search, plan: LadderPlan, form: Form) -> Callable[[FoldState], None]:
    """Return what chooses the terms of a form on a fold."""
    return lambda fold: choose_terms_of(search, fold, plan, form)


def follow_plan(search: Search, again: Search, plan: LadderPlan) -> None:
    """Prepare another search for the candidates of a plan, whose shapes are those of a search."""
    again.plan = plan
    for fold in again.all_folds:
        prepare(again, fold, plan.base)
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


def prepare(search: Search, fold: FoldState, base: CandidatePenalty) -> None:
    """Compute what the base asks of every variable of a fold, and the shapes that answer it."""
    if fold.found is None:
        fold.learn(search.learner.without_trees(fold.train, fold.mined))
    terms, fit = search.fit_at(base, fold)
    with one_blas_thread():
        _add_level_sets(search, fold, terms, fit)
        fold.shapes = _fold_shapes(search, fold, terms, fit)


def _fold_shapes(search: Search, fold: FoldState, terms: TermSet, fit: Floats) -> FoldShapes:
    train, vocabulary = fold.train, fold.structure.vocabulary
    score = search.design(fold, terms).scores(fit)
    at = train.loss.residuals(score, train.y, train.weight)
    columns = _columns_by_source(fold)
    effects = _effects(terms, fit)
    own = {name: _effect(fold.train_terms.memory, fold, effects.get(name, {}), train.n_rows) for name in columns}
    names = list(columns)

    def of_train(name: str) -> Moments:
        return _moments(fold, columns[name], own[name], at.gradient, at.hessian, None)

    moments = dict(zip(names, thread_map(of_train, names), strict=True))
    held_out: dict[str, Moments] = {}
    valid = fold.valid
    if valid is not None:
        held_score = fold.held_out_score(search.design(fold, terms).rows, fit)
        held_at = valid.loss.residuals(held_score, valid.y, valid.weight)

        def of_valid(name: str) -> Moments:
            effect = _effect(fold.valid_terms.memory, fold, effects.get(name, {}), valid.n_rows)
            means = (at.hessian, own[name])
            return _moments(fold, columns[name], effect, held_at.gradient, held_at.hessian, means)

        held_out = dict(zip(names, thread_map(of_valid, names), strict=True))
    found = FoldShapes(score, own, columns, moments, held_out)
    for name in names:
        some = [vocabulary.columns[j] for j in columns[name]]
        for kind in KINDS:
            found.shapes[name, kind] = shapes_by_size(some, moments[name], kind)
    return found


def _columns_by_source(fold: FoldState) -> dict[str, Index]:
    """Return the columns that shapes of each variable are made of, without flags."""
    found: dict[str, list[int]] = {}
    schema = fold.train.schema
    for j, column in enumerate(fold.structure.vocabulary.columns):
        if len(set(column.sources)) > 1 or fold.structure.vocabulary.block[j] == PAIR:
            continue
        name = column.sources[0]
        if not _is_flag(column, schema[name].kind) and family_of(column) is not None:
            found.setdefault(name, []).append(j)
    return {name: np.array(places, np.intp) for name, places in found.items()}


def _is_flag(column: Column, kind: str) -> bool:
    """Tell whether any shape of its variable may have a column beside it."""
    return isinstance(column, Missing) or (isinstance(column, Level) and kind == "number")


def _effects(terms: TermSet, fit: Floats) -> dict[str, dict[int, float]]:
    """Return the coefficients of the columns of each variable."""
    found: dict[str, dict[int, float]] = {}
    first = 1 + len(terms.leaf_terms)
    for j, coefficient in zip(terms.direct.tolist(), fit[first:].tolist(), strict=True):
        sources = terms.vocabulary.columns[j].sources
        if coefficient and len(set(sources)) == 1:
            found.setdefault(sources[0], {})[j] = coefficient
    return found


def _effect(memory: Floats, fold: FoldState, effects: dict[int, float], n: int) -> Floats:
    out = np.zeros(n)
    for j, coefficient in effects.items():
        out += coefficient * memory[fold.columns[j]][:n]
    return out


def _moments(
    fold: FoldState,
    places: Index,
    own: Floats,
    gradient: Floats,
    hessian: Floats,
    train: tuple[Floats, Floats] | None,
) -> Moments:
    """Return the moments of columns with what their variable asks for, centred in training.

    `train` holds curvatures and effects of the training rows where the rows are held-out ones.
    """
    rows = np.array(fold.columns, np.intp)[places]
    memory = fold.train_terms.memory if train is None else fold.valid_terms.memory
    z = memory[rows][:, : len(own)].astype(np.float64)
    if train is None:
        share, mean_of = hessian / hessian.sum(), z
        asked = own - share @ own
    else:
        share = train[0] / train[0].sum()
        mean_of = fold.train_terms.memory[rows][:, : len(share)]
        asked = own - share @ train[1]
    z -= (mean_of @ share)[:, None]
    weighted = z * hessian
    slope = weighted @ asked + z @ gradient
    return Moments(weighted @ z.T, slope)


def _add_level_sets(search: Search, fold: FoldState, terms: TermSet, fit: Floats) -> None:
    """Add to the vocabulary of a fold sets of levels whose effects are alike."""
    train, vocabulary = fold.train, fold.structure.vocabulary
    singles: dict[str, list[int]] = {}
    for j, column in enumerate(vocabulary.columns):
        known = isinstance(column, Level) and vocabulary.block[j] == ORIGINAL
        if known and train.schema[column.sources[0]].kind == "category":
            singles.setdefault(column.sources[0], []).append(j)
    effects = _effects(terms, fit)
    score = search.design(fold, terms).scores(fit)
    at = train.loss.residuals(score, train.y, train.weight)
    more: dict[Column, None] = {}
    for name, places in singles.items():
        if len(places) < 3 or not search.settings.limits.derivable(name):
            continue
        own = _effect(fold.train_terms.memory, fold, effects.get(name, {}), train.n_rows)
        which = np.array(places, np.intp)
        moments = _moments(fold, which, own, at.gradient, at.hessian, None)
        levels = [vocabulary.columns[j].levels[0] for j in places]  # type: ignore[attr-defined]
        mass = np.array([at.hessian[train.inputs.codes(name) == train.schema[name].levels.index(level)].sum() for level in levels])
        for chosen in merged_levels(levels, moments, np.arange(len(which)), mass):
            if len(chosen) > 1:
                more[Level(name, _in_schema_order(train, name, chosen))] = None
    known = set(vocabulary.columns)
    new = tuple(c for c in more if c not in known and search.settings.limits.admits(c))
    if new:
        assert fold.found is not None
        structure = replace(fold.structure, vocabulary=vocabulary.with_columns(train, new))
        fold.learn(replace(fold.found, structure=structure))


def _in_schema_order(table: Table, name: str, levels: Sequence[str]) -> tuple[str, ...]:
    return tuple(level for level in table.schema[name].levels if level in levels)


def choose_shapes(search: Search, family: ShapeFamily) -> None:
    """Choose the kind and the number of terms of every variable's shape by held-out gains.

    A fold goes by what the other folds hold out: its own held-out rows judge the whole model.
    """
    held = [fold for fold in search.folds if fold.valid is not None]
    nats = _nats_per_condition(search)
    for fold in search.all_folds:
        others = [other for other in held if other is not fold] or held
        names = list(fold.shapes.columns)
        chosen = ((name, _choose(name, others, family, nats)) for name in names)
        fold.shapes.choices = {name: found for name, found in chosen if found is not None}


def _nats_per_condition(search: Search) -> float:
    explained = max(search.evaluations[0].deviance - min(e.deviance for e in search.evaluations), 0)
    total = sum(float(f.valid.weight.sum()) for f in search.folds if f.valid is not None)
    return 0.5 * explained * search.price.per_condition * total


def _choose(
    name: str, folds: Sequence[FoldState], family: ShapeFamily, nats: float
) -> ShapeChoice | None:
    """Return the shape of a variable: the best of the base's family, or one better beyond chance.

    What is held out chooses among many shapes of every variable, and the largest of many gains by
    chance is large. The family of the base was chosen by whole models, which one variable cannot
    overrule but by the standard error of its gain over the folds, and by some nats.
    """
    gains = _held_out_gains(name, folds, nats)
    total = {choice: round(float(values.sum()), 9) for choice, values in gains.items()}
    home = [choice for choice in gains if _is_home(choice.kind, family)]
    best = max(home, key=lambda choice: total[choice], default=None)
    for choice in sorted(gains, key=lambda c: -total[c]):
        if best is None:
            return choice
        apart = gains[choice] - gains[best]
        error = float(apart.std(ddof=1) * np.sqrt(len(apart))) if len(apart) > 1 else 0.0
        if apart.sum() > max(MARGIN_ERRORS * error, MARGIN_NATS):
            return choice
    return best


def _is_home(kind: Kind, family: ShapeFamily) -> bool:
    """Tell whether a kind is of the base's family, and does not turn."""
    own = {"curves": PIECES, "steps": STEPS, "levels": VALUES}.get(family)
    if kind.family == VALUES:
        return own == VALUES
    return not kind.turns and kind.family in (LINE, LOG, SETS, own)


def _held_out_gains(
    name: str, folds: Sequence[FoldState], nats: float
) -> dict[ShapeChoice, Floats]:
    """Return what shapes of a variable gain on the held-out rows of each fold, less their price."""
    gains: dict[ShapeChoice, Floats] = {}
    for kind in KINDS:
        for size in range(1, MOST_TERMS + 1):
            by_fold = np.full(len(folds), -(nats + TERM_NATS) * size / len(folds))
            longest = 0
            for at, fold in enumerate(folds):
                shapes: FoldShapes = fold.shapes
                found = shapes.shapes.get((name, kind), [])[:size]
                longest = max(longest, len(found))
                if found and name in shapes.held_out:
                    by_fold[at] += shapes.held_out[name].gain(found[-1].places, found[-1].fit)
            if longest == size:
                gains[ShapeChoice(kind, size)] = by_fold
    return gains


def offered(fold: FoldState, plan: LadderPlan, without: frozenset[str]) -> Index:
    """Return the columns of the chosen shapes, and flags, of variables that are not left out."""
    shapes, vocabulary, schema = fold.shapes, fold.structure.vocabulary, fold.train.schema
    assert shapes is not None
    chosen: list[int] = []
    for name, choice in shapes.choices.items():
        found = shapes.shapes.get((name, choice.kind), [])[: choice.size]
        if found and name not in without:
            chosen += shapes.columns[name][found[-1].places].tolist()
    for j, column in enumerate(vocabulary.columns):
        name = column.sources[0]
        alone = len(set(column.sources)) == 1 and vocabulary.block[j] != PAIR
        if alone and name not in without and _is_flag(column, schema[name].kind):
            chosen.append(j)
    return np.array(sorted(chosen), np.intp)


def choose_terms_of(search: Search, fold: FoldState, plan: LadderPlan, form: Form) -> None:
    """Choose on a fold the terms of all lengths of a form."""
    if fold.shapes is None:
        prepare(search, fold, plan.base)
    groups = plan.interactions.groups
    replaced = frozenset(n for g, mode in form.trees if mode == REPLACES for n in groups[g])
    numbers = [number for g, mode in form.trees if (number := _tree(search, fold, plan, g, mode)) is not None]
    direct = offered(fold, plan, replaced)
    if form.products:
        direct = np.union1d(direct, _products(search, fold, plan, form.products))
    trees = [fold.structure.trees[number] for number in numbers]
    terms = TermSet(fold.structure.vocabulary, tuple(trees), direct, None, tuple(numbers))
    with one_blas_thread():
        ladder = _ladder(search, fold, plan, terms)
    signs = _signs(fold, plan, direct)
    for candidate, length in zip(plan.candidates(form), plan.sizes, strict=True):
        kept, cut = ladder.within(length)
        trees = tuple(tree for tree in cut if tree is not None)
        which = tuple(_number(fold, tree) for tree in trees)
        vocabulary = fold.structure.vocabulary
        fold.ladder_terms[candidate] = TermSet(vocabulary, trees, direct[kept], None, which, signs[kept])


def _signs(fold: FoldState, plan: LadderPlan, direct: Index) -> Int8s:
    """Return the sign that each direct term must have, 0 for any."""
    found = np.zeros(len(direct), np.int8)
    for at, j in enumerate(direct.tolist()):
        column = fold.structure.vocabulary.columns[j]
        choice = fold.shapes.choices.get(column.sources[0])
        alone = len(set(column.sources)) == 1
        if choice is not None and alone and family_of(column) == choice.kind.family:
            found[at] = choice.kind.direction * direction_of(column)
    return found


def _n_pairs(fold: FoldState) -> int:
    return int((fold.structure.vocabulary.block == PAIR).sum())


def _ladder(search: Search, fold: FoldState, plan: LadderPlan, terms: TermSet) -> Ladder:
    design = search.design(fold, terms)
    shapes, train = fold.shapes, fold.train
    assert shapes is not None
    at = train.loss.residuals(shapes.score, train.y, train.weight)
    share = at.hessian / at.hessian.sum()
    z = design.z[design.rows][:, : train.n_rows].astype(np.float64)
    z -= (z @ share)[:, None]
    asked = shapes.score - share @ shapes.score
    weighted = z * at.hessian
    gram, slope = weighted @ z.T, weighted @ asked + z @ at.gradient
    splits = [TreeSplits.of(tree, train.schema) for tree in terms.trees]
    read = terms.conditions(train.schema)[sum(terms.leaf_counts) :]
    base, half = plan.base, 0.5 * train.total_weight
    ridge = max(half * base.l1 * (1.0 - base.l1_ratio), least_information(float(at.hessian.sum())))
    return drop_in_turn(gram, slope, splits, read, ridge)


def _tree(search: Search, fold: FoldState, plan: LadderPlan, group: int, mode: str) -> int | None:
    """Return the number of the tree of a group; None if none can be grown."""
    shapes = fold.shapes
    assert shapes is not None
    if (group, mode) not in shapes.trees:
        tree = _grown(search, fold, plan.interactions.groups[group], mode == REPLACES)
        if tree is None:
            return None
        shapes.trees[group, mode] = _number(fold, tree)
    return shapes.trees[group, mode]


def _grown(search: Search, fold: FoldState, group: tuple[str, ...], alone: bool) -> Tree | None:
    """Grow the tree of a group at the base score, less its variables' own effects if `alone`."""
    train, shapes, settings = fold.train, fold.shapes, search.settings
    assert shapes is not None
    score = shapes.score
    if alone:
        for name in group:
            if name in shapes.own:
                score = score - shapes.own[name]
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
        if vocabulary.block[j] == ORIGINAL and set(column.sources) <= set(group)
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


def _products(search: Search, fold: FoldState, plan: LadderPlan, which: str) -> Index:
    """Return products of variables of no group: of disjoint pairs, or what components may hold."""
    vocabulary, settings = fold.structure.vocabulary, search.settings
    if not (vocabulary.block == PAIR).any():
        terms, fit = search.fit_at(plan.base, fold)
        start = WarmStart.of(fold.shapes.score, vocabulary, terms.direct, fit[1:])
        use, score, most = start.use, start.score, scale.MOST_PRODUCTS
        found = find_products(fold.train, vocabulary, use, score, most, settings.limits)
        assert fold.found is not None
        vocabulary = vocabulary.with_pairs(fold.train, found)
        fold.learn(replace(fold.found, structure=replace(fold.structure, vocabulary=vocabulary)))
    joined = Components()
    grouped = plan.interactions.sources if which == OF_PAIRS else frozenset[str]()
    rule = settings.admission().rule
    if which == OF_PAIRS:
        rule = replace(rule, largest=2)
    chosen: list[int] = []
    seen: set[frozenset[str]] = set()
    for j in np.flatnonzero(vocabulary.block == PAIR).tolist():
        sources = frozenset(vocabulary.columns[j].sources)
        again = which == OF_PAIRS and sources in seen
        if again or sources & grouped or not joined.allows(sources, rule):
            continue
        joined.join(sorted(sources))
        seen.add(sources)
        chosen.append(j)
    return np.array(chosen[: MOST_PRODUCTS if which == OF_PAIRS else None], np.intp)

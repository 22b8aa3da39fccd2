"""One shape for every variable: which kinds there are on a fold, and which is chosen.

Shapes are fitted to what a good additive fit (the base) asks of the training rows of a fold, and
judged by what it asks of the held-out rows. Which kind a variable has, of how many terms, and how
far inside the data its effect ends follow from all folds; for the model of a fold, from others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rpte.columns.kinds import Column, Hinge, Level, Scale, goes_on
from rpte.columns.limits import WORDS
from rpte.estimation.candidate import CandidatePenalty, ShapeFamily
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
    merged_levels,
    shapes_of_kinds,
)
from rpte.estimation.terms import TermSet
from rpte.model.verify_structure import is_flag
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.selection.fold_shapes import Asked, FoldShapes, ShapeChoice
from rpte.selection.fold_state import FoldState
from rpte.selection.search import Search
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index, Mask
from rpte.vocabulary.ramps import MARGINS, Limits, ramp, ramps, within
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR

# By how much a shape must be better than a simpler one: standard errors over folds, and nats.
MARGIN_ERRORS, MARGIN_NATS = 1.0, 2.0
# By kind and number of terms: what a shape gains on each fold, and which folds have it, (f,) each.
HeldOutGains = dict[ShapeChoice, tuple[Floats, Mask]]
NEGLIGIBLE = 0.01  # of what a monotone shape gains: what turning adds at most where it is free
FEWEST_MERGED = 3  # levels of a category, of which some may be merged


def prepare(search: Search, fold: FoldState, base: CandidatePenalty) -> None:
    """Compute what the base asks of every variable of a fold."""
    if fold.found is None:
        fold.learn(search.learner.without_trees(fold.train, fold.mined))
    terms, fit = search.fit_at(base, fold)
    design = search.design(fold, terms)
    train, score = fold.train, design.scores(fit)
    dispersion = train.loss.dispersion(score, train.y, train.weight)
    asked = Asked.of(train, score, dispersion)
    held = None
    if fold.valid is not None:
        held = Asked.of(fold.valid, fold.held_out_score(design.rows, fit), dispersion)
    effects = _effects(terms, fit)
    for name, coefficients in effects.items():
        asked.own[name] = _effect(fold.train_terms.memory, fold, coefficients, fold.train.n_rows)
        if held is not None:
            held.own[name] = _effect(fold.valid_terms.memory, fold, coefficients, fold.test_rows)
    fold.shapes_found = FoldShapes(asked, held)


def choose_margin(search: Search) -> float:
    """Choose how far inside the data effects end, by what lines explain of held-out rows."""
    cache, gains = search.learner.cache, np.zeros(len(MARGINS))
    lines = {n: [cache.inner_limits(n, m) for m in MARGINS] for n in _numbers(search)}
    for fold in search.all_folds:
        own = [ramp(n, limits) for n, some in lines.items() for limits in some if limits]
        _add_columns(search, fold, own)
        if fold.valid is None:
            continue
        places = {column: j for j, column in enumerate(fold.structure.vocabulary.columns)}
        for name, some in lines.items():
            which = [places.get(ramp(name, limits), -1) if limits else -1 for limits in some]
            if min(which) >= 0:
                moments, held = _both_moments(fold, name, np.array(which, np.intp))
                gains += [_gain_of_one(moments, held, at) for at in range(len(which))]
    return MARGINS[int(np.argmax(np.round(gains, 6)))]


def _numbers(search: Search) -> list[str]:
    """Return the numbers that derived columns may read, in canonical order."""
    schema, limits = search.learner.table.schema, search.settings.limits
    variables = [schema.variables[position] for position in schema.canonical()]
    return [v.name for v in variables if v.kind == "number" and limits.derivable(v.name)]


def _gain_of_one(moments: Moments, held: Moments | None, place: int) -> float:
    """Return what a column of the training rows gains on held-out rows."""
    one = np.array([place])
    if held is None or moments.gram[:, place, place].min() <= 0.0:
        return 0.0
    return held.gain(one, moments.of(one).fit())


def find_shapes(search: Search, fold: FoldState, margin: float) -> None:
    """Find the shapes of every variable of a fold, of every kind.

    A logarithm grows slowly: it ends where the data end.
    """
    knots: dict[str, list[float]] = {}
    for column in fold.structure.vocabulary.columns:
        if isinstance(column, Hinge):
            knots.setdefault(column.source, []).append(column.knot)
    wanted: list[Column] = []
    table, limits = search.learner.table, effect_limits(search, margin)
    outer = effect_limits(search, MARGINS[0])
    many = table.n_rows > scale.LONG_ABOVE  # each column takes memory for every row
    most = max(2, search.settings.budget // max(1, 4 * len(_numbers(search)))) if many else None
    for name, ends in limits.items():
        wanted += [ramp(name, ends), *ramps(name, ends, knots.get(name, ()), most)]
    for column in fold.structure.vocabulary.columns:
        if isinstance(column, Scale) and column.source in limits and goes_on(column):
            ends = (outer if column.formula == "log" else limits)[column.source]
            wanted += filter(None, [within(column, ends)])
    _add_columns(search, fold, [*wanted, *_level_sets(search, fold)])
    _fill_shapes(fold, set(wanted))


def effect_limits(search: Search, margin: float) -> dict[str, Limits]:
    """Return between which numbers the effect of each variable may change."""
    cache = search.learner.cache
    found = {name: cache.inner_limits(name, margin) for name in _numbers(search)}
    return {name: limits for name, limits in found.items() if limits is not None}


def _fill_shapes(fold: FoldState, wanted: set[Column]) -> None:
    """Compute moments and shapes of all variables; with limits, of columns that are `wanted`."""
    shapes, vocabulary = fold.shapes, fold.structure.vocabulary
    shapes.columns = _columns_by_source(fold, wanted)
    names = list(shapes.columns)
    both = thread_map(lambda name: _both_moments(fold, name, shapes.columns[name]), names)
    for name, (moments, held) in zip(names, both, strict=True):
        some = [vocabulary.columns[j] for j in shapes.columns[name]]
        if held is not None:
            shapes.held_out[name] = held
        for kind, found in zip(KINDS, shapes_of_kinds(some, moments, KINDS), strict=True):
            shapes.shapes[name, kind] = found


def _both_moments(fold: FoldState, name: str, places: Index) -> tuple[Moments, Moments | None]:
    """Return the moments of training rows and of held-out rows, centred in training."""
    rows = np.array(fold.columns, np.intp)[places]
    asked, held = fold.shapes.asked, fold.shapes.held
    z = fold.train_terms.memory[rows][:, : fold.train.n_rows].astype(np.float64)
    share = asked.curvature / asked.curvature.sum(axis=1, keepdims=True)
    own = asked.own.get(name, np.zeros(share.shape))
    means, mean = share @ z.T, (share * own).sum(axis=1, keepdims=True)
    train = asked.moments(z, own - mean, means)
    if held is None:
        return train, None
    z = fold.valid_terms.memory[rows][:, : fold.test_rows].astype(np.float64)
    own = held.own.get(name, np.zeros((len(share), fold.test_rows)))
    return train, held.moments(z, own - mean, means)


def _add_columns(search: Search, fold: FoldState, columns: Sequence[Column]) -> None:
    """Add columns of one variable to the vocabulary of a fold, those that are new and allowed."""
    vocabulary, limits, cache = (
        fold.structure.vocabulary,
        search.settings.limits,
        search.learner.cache,
    )
    known = set(vocabulary.columns)
    new = [c for c in dict.fromkeys(columns) if c not in known and limits.admits(c)]
    entries = [cache.entry(column) for column in new]
    varies = [at for at, entry in enumerate(entries) if entry.number >= 0]
    if varies:
        assert fold.found is not None
        some = tuple(new[at] for at in varies)
        more = vocabulary.with_shared(some, [entries[at] for at in varies])
        fold.learn(replace(fold.found, structure=replace(fold.structure, vocabulary=more)))


def _columns_by_source(fold: FoldState, wanted: set[Column]) -> dict[str, Index]:
    """Return the columns that shapes of each variable are made of, without flags."""
    found: dict[str, list[int]] = {}
    schema, vocabulary = fold.train.schema, fold.structure.vocabulary
    for j, column in enumerate(vocabulary.columns):
        if len(set(column.sources)) > 1 or vocabulary.block[j] == PAIR:
            continue
        name = column.sources[0]
        limited = isinstance(column, Scale) and column.limited
        if not is_flag(column, schema) and (column in wanted or not limited):
            found.setdefault(name, []).append(j)
    return {name: np.array(places, np.intp) for name, places in found.items()}


def _effects(terms: TermSet, fit: Floats) -> dict[str, dict[int, Floats]]:
    """Return the coefficients of the columns of each variable, (K,) each."""
    found: dict[str, dict[int, Floats]] = {}
    first = 1 + len(terms.leaf_terms)
    for j, own in zip(terms.direct.tolist(), np.atleast_2d(fit)[:, first:].T, strict=True):
        sources = terms.vocabulary.columns[j].sources
        if own.any() and len(set(sources)) == 1:
            found.setdefault(sources[0], {})[j] = own
    return found


def _effect(memory: Array, fold: FoldState, effects: dict[int, Floats], n: int) -> Floats:
    """Return what some columns add to the scores of the first n rows, (K, n)."""
    return np.asarray(
        sum(own[:, None] * memory[fold.columns[j]][:n] for j, own in effects.items()), np.float64
    )


def _level_sets(search: Search, fold: FoldState) -> list[Column]:
    """Return sets of levels whose effects on a fold are alike."""
    train, vocabulary, curvature = (
        fold.train,
        fold.structure.vocabulary,
        fold.shapes.asked.curvature,
    )
    singles: dict[str, list[int]] = {}
    for j, column in enumerate(vocabulary.columns):
        known = isinstance(column, Level) and vocabulary.block[j] == ORIGINAL
        if known and train.schema[column.sources[0]].kind == "category":
            singles.setdefault(column.sources[0], []).append(j)
    found: list[Column] = []
    for name, places in singles.items():
        if len(places) < FEWEST_MERGED or not search.settings.limits.derivable(name):
            continue
        moments, _ = _both_moments(fold, name, np.array(places, np.intp))
        known_levels = train.schema[name].levels
        own = [column for j in places if isinstance(column := vocabulary.columns[j], Level)]
        levels = [level for column in own for level in column.levels]
        codes = train.inputs.codes(name)
        sums = np.bincount(np.maximum(codes, -1) + 1, curvature.sum(axis=0), len(known_levels) + 1)
        mass = sums[1:].astype(np.float64)
        own_mass = mass[[known_levels.index(level) for level in levels]]
        merged = merged_levels(levels, moments, np.arange(len(places)), own_mass)
        found += [Level(name, _in_schema_order(train, name, chosen)) for chosen in merged]
    return found


def _in_schema_order(table: Table, name: str, levels: Sequence[str]) -> tuple[str, ...]:
    return tuple(level for level in table.schema[name].levels if level in levels)


def choose_shapes(search: Search, family: ShapeFamily) -> None:
    """Choose the kind and the number of terms of every variable's shape by held-out gains.

    A fold goes by what the other folds hold out: its own held-out rows judge the whole model.
    """
    held = [fold for fold in search.folds if fold.valid is not None]
    for fold in search.all_folds:
        fold.shapes.choices = {}
    for name in search.reference_fold.shapes.columns:
        gains = _held_out_gains(name, held)
        for fold in search.all_folds:
            others = [at for at, other in enumerate(held) if other is not fold]
            found = _choose(gains, others or [*range(len(held))], family, fold.train.loss.n_scores)
            if found is not None:
                fold.shapes.choices[name] = found


def _choose(
    gains: HeldOutGains, folds: Sequence[int], family: ShapeFamily, n_scores: int
) -> ShapeChoice | None:
    """Return the shape of a variable: the best of the base's family, or one better beyond chance.

    What is held out chooses among many shapes of every variable, and the largest of many gains by
    chance is large. The family of the base was chosen by whole models, which one variable cannot
    overrule but by the standard error of its gain over the folds, and by some nats.
    """
    own = {choice: g[folds] for choice, (g, there) in gains.items() if there[folds].any()}
    total = {choice: round(float(values.sum()), 9) for choice, values in own.items()}
    home = [choice for choice in own if _is_home(choice.kind, family, n_scores)]
    best = max(home, key=lambda choice: total[choice], default=None)
    for choice in sorted(own, key=lambda c: -total[c]):
        if best is None or _beyond_chance(own[choice] - own[best]):
            return choice
    return best


def _beyond_chance(gains: Floats, least: float = MARGIN_NATS) -> bool:
    """Tell whether gains on the folds add up to more than their standard error, and some nats."""
    error = float(gains.std(ddof=1) * np.sqrt(len(gains))) if len(gains) > 1 else 0.0
    return bool(gains.sum() > max(MARGIN_ERRORS * error, least))


def find_promises(search: Search) -> dict[str, str]:
    """Return in which direction numbers move the score where a promise of it costs nothing.

    The best shape that only rises, or only falls, gains on held-out rows beyond chance, goes the
    same way on all of them, and no shape that may turn is better beyond chance and `NEGLIGIBLE`.
    """
    held = [fold for fold in search.folds if fold.valid is not None]
    known, found = search.settings.limits.named()["monotone"], dict[str, str]()
    one_score = search.learner.table.loss.n_scores == 1
    columns = search.reference_fold.shapes.columns
    for name in columns if one_score and held else ():
        every = _held_out_gains(name, held)
        gains = {choice: own for choice, (own, there) in every.items() if there.any()}
        ways = {choice: _direction(name, choice, held) for choice in gains}
        best = max(filter(ways.get, gains), key=lambda c: gains[c].sum(), default=None)
        few = len(columns[name]) < 2  # one step cannot turn
        if best is None or few or name in known or not _beyond_chance(gains[best]):
            continue
        least = max(MARGIN_NATS, NEGLIGIBLE * float(gains[best].sum()))
        rivals = [choice for choice in gains if ways[choice] != ways[best]]
        if not any(_beyond_chance(gains[choice] - gains[best], least) for choice in rivals):
            found[name] = WORDS[ways[best]]
    return found


def _direction(name: str, choice: ShapeChoice, folds: Sequence[FoldState]) -> int:
    """Return which way a shape of a number moves on all folds; 0 if it may turn, or if they differ.

    Lines and logarithms have the sign of their coefficient.
    """
    if choice.kind.family not in (LINE, LOG):
        return choice.kind.direction
    shapes = [fold.shapes.shapes.get((name, choice.kind), ()) for fold in folds]
    signs = {float(np.sign(each[0].fit[0, 0])) for each in shapes if each}
    return int(signs.pop()) if len(signs) == 1 else 0


def _is_home(kind: Kind, family: ShapeFamily, scores: int) -> bool:
    """Tell whether a kind is of the base's family, and does not turn, where one score asks."""
    own = {"curves": PIECES, "steps": STEPS, "levels": VALUES}.get(family)
    if kind.family == VALUES:
        return own == VALUES
    turns = kind.turns and scores == 1
    return not turns and kind.family in (LINE, LOG, SETS, own)


def _held_out_gains(name: str, folds: Sequence[FoldState]) -> HeldOutGains:
    """Return what shapes of a variable gain on the held-out rows of each fold, in nats.

    With the folds that have a shape of so many terms; one of fewer terms gains what it does.
    """
    gains: HeldOutGains = {}
    for kind in KINDS:
        by_size = np.zeros((MOST_TERMS, len(folds)))
        there = np.zeros((MOST_TERMS, len(folds)), np.bool_)
        for at, fold in enumerate(folds):
            own = fold.shapes.shapes.get((name, kind), [])
            held = fold.shapes.held_out.get(name)
            for size, shape in enumerate(own):
                by_size[size:, at] = 0.0 if held is None else held.gain(shape.places, shape.fit)
                there[size, at] = True
        for size in range(MOST_TERMS):
            gains[ShapeChoice(kind, size + 1)] = by_size[size], there[size]
    return gains

"""One shape for every variable: which kinds there are on a fold, and which is chosen.

Shapes are fitted to what a good additive fit (the base) asks of the training rows of a fold, and
judged by what it asks of the held-out rows. Which kind a variable has, of how many terms, and how
far inside the data its effect ends follow from all folds; for the model of a fold, from others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rpte.columns.kinds import Column, Hinge, Level, Missing, Scale
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
    shapes_by_size,
)
from rpte.estimation.terms import TermSet
from rpte.rows import scale
from rpte.rows.threads import thread_map
from rpte.selection.fold_shapes import Asked, FoldShapes, ShapeChoice
from rpte.selection.fold_state import FoldState
from rpte.selection.search import Search
from rpte.table.table import Table
from rpte.utils.arrays import Array, Floats, Index
from rpte.vocabulary.ramps import MARGINS, inner_limits, ramp, ramps
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR

# By how much a shape must be better than a simpler one: standard errors over folds, and nats.
MARGIN_ERRORS, MARGIN_NATS = 1.0, 2.0
FEWEST_MERGED = 3  # levels of a category, of which some may be merged


def prepare(search: Search, fold: FoldState, base: CandidatePenalty) -> None:
    """Compute what the base asks of every variable of a fold."""
    if fold.found is None:
        fold.learn(search.learner.without_trees(fold.train, fold.mined))
    terms, fit = search.fit_at(base, fold)
    design = search.design(fold, terms)
    asked = Asked.of(fold.train, design.scores(fit))
    held = None
    if fold.valid is not None:
        held = Asked.of(fold.valid, fold.held_out_score(design.rows, fit))
    effects = _effects(terms, fit)
    for name, coefficients in effects.items():
        asked.own[name] = _effect(fold.train_terms.memory, fold, coefficients, fold.train.n_rows)
        if held is not None:
            held.own[name] = _effect(fold.valid_terms.memory, fold, coefficients, fold.test_rows)
    fold.shapes_found = FoldShapes(asked, held)


def choose_margin(search: Search) -> float:
    """Choose how far inside the data effects end, by what lines explain of held-out rows."""
    table, gains = search.learner.table, np.zeros(len(MARGINS))
    names = _numbers(search)
    lines = {n: [inner_limits(table, n, margin) for margin in MARGINS] for n in names}
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
    own = moments.gram[place, place]
    if held is None or own <= 0.0:
        return 0.0
    fit = np.array([moments.slope[place] / own])
    return held.gain(np.array([place]), fit)


def find_shapes(search: Search, fold: FoldState, margin: float) -> None:
    """Find the shapes of every variable of a fold, of every kind."""
    knots: dict[str, list[float]] = {}
    for column in fold.structure.vocabulary.columns:
        if isinstance(column, Hinge):
            knots.setdefault(column.source, []).append(column.knot)
    wanted: list[Column] = []
    table, names = search.learner.table, _numbers(search)
    many = table.n_rows > scale.LONG_ABOVE  # each column takes memory for every row
    most = max(2, search.settings.budget // max(1, 4 * len(names))) if many else None
    for name in names:
        limits = inner_limits(table, name, margin)
        if limits is not None:
            wanted += [ramp(name, limits), *ramps(name, limits, knots.get(name, ()), most)]
    _add_columns(search, fold, [*wanted, *_level_sets(search, fold)])
    _fill_shapes(fold, set(wanted))


def _fill_shapes(fold: FoldState, wanted: set[Column]) -> None:
    """Compute moments and shapes of all variables; of ramps, those that are `wanted`."""
    shapes, vocabulary = fold.shapes, fold.structure.vocabulary
    shapes.columns = _columns_by_source(fold, wanted)
    names = list(shapes.columns)
    both = thread_map(lambda name: _both_moments(fold, name, shapes.columns[name]), names)
    for name, (moments, held) in zip(names, both, strict=True):
        some = [vocabulary.columns[j] for j in shapes.columns[name]]
        if held is not None:
            shapes.held_out[name] = held
        for kind in KINDS:
            shapes.shapes[name, kind] = shapes_by_size(some, moments, kind)


def _both_moments(fold: FoldState, name: str, places: Index) -> tuple[Moments, Moments | None]:
    """Return the moments of training rows and of held-out rows, centred in training."""
    rows = np.array(fold.columns, np.intp)[places]
    asked, held = fold.shapes.asked, fold.shapes.held
    z = fold.train_terms.memory[rows][:, : fold.train.n_rows].astype(np.float64)
    share = asked.curvature / asked.curvature.sum()
    own = asked.own.get(name, np.zeros(fold.train.n_rows))
    means, mean = z @ share, share @ own
    train = _moments(z - means[:, None], own - mean, asked)
    if held is None:
        return train, None
    z = fold.valid_terms.memory[rows][:, : fold.test_rows].astype(np.float64)
    own = held.own.get(name, np.zeros(fold.test_rows))
    return train, _moments(z - means[:, None], own - mean, held)


def _moments(z: Floats, own: Floats, asked: Asked) -> Moments:
    weighted = z * asked.curvature
    return Moments(weighted @ z.T, weighted @ own + z @ asked.gradient)


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
        is_ramp = isinstance(column, Scale) and column.formula == "clip"
        if not is_flag(column, schema[name].kind) and (column in wanted or not is_ramp):
            found.setdefault(name, []).append(j)
    return {name: np.array(places, np.intp) for name, places in found.items()}


def is_flag(column: Column, kind: str) -> bool:
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


def _effect(memory: Array, fold: FoldState, effects: dict[int, float], n: int) -> Floats:
    out = np.zeros(n)
    for j, coefficient in effects.items():
        out += coefficient * memory[fold.columns[j]][:n]
    return out


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
        sums = np.bincount(np.maximum(codes, -1) + 1, curvature, len(known_levels) + 1)
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
        others = [other for other in held if other is not fold] or held
        names = list(fold.shapes.columns)
        chosen = ((name, _choose(name, others, family)) for name in names)
        fold.shapes.choices = {name: found for name, found in chosen if found is not None}


def _choose(name: str, folds: Sequence[FoldState], family: ShapeFamily) -> ShapeChoice | None:
    """Return the shape of a variable: the best of the base's family, or one better beyond chance.

    What is held out chooses among many shapes of every variable, and the largest of many gains by
    chance is large. The family of the base was chosen by whole models, which one variable cannot
    overrule but by the standard error of its gain over the folds, and by some nats.
    """
    gains = _held_out_gains(name, folds)
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


def _held_out_gains(name: str, folds: Sequence[FoldState]) -> dict[ShapeChoice, Floats]:
    """Return what shapes of a variable gain on the held-out rows of each fold, in nats."""
    gains: dict[ShapeChoice, Floats] = {}
    for kind in KINDS:
        for size in range(1, MOST_TERMS + 1):
            by_fold, longest = np.zeros(len(folds)), 0
            for at, fold in enumerate(folds):
                found = fold.shapes.shapes.get((name, kind), [])[:size]
                longest = max(longest, len(found))
                if found and name in fold.shapes.held_out:
                    by_fold[at] += fold.shapes.held_out[name].gain(found[-1].places, found[-1].fit)
            if longest == size:
                gains[ShapeChoice(kind, size)] = by_fold
    return gains

"""Cuts and sets of levels that labels ask for, against every cut tried by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import Raw
from rpte.columns.kinds import Hinge, Step
from rpte.columns.limits import FREE, Limits, permissions
from rpte.losses import Multinomial
from rpte.vocabulary.cuts import LEAST_TEST, MOST_CUTS, best_cuts, level_sets
from rpte.vocabulary.screening import NullModel
from rpte.vocabulary.shape_cache import ShapeCache
from rpte.vocabulary.shapes import FOR_FINE_KNOTS, shapes_of

RISKS = {"a": 0.1, "b": 0.8, "c": 0.12, "d": 0.5, "e": 0.82, "f": 0.48}


def gain(curvature, gradient, parts):
    """Return the gain of a partition of bins over none."""
    sums = [gradient[p].sum() ** 2 / curvature[p].sum() for p in parts]
    return sum(sums) - gradient.sum() ** 2 / curvature.sum()


@examples(60)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_the_first_cut_is_the_best_of_all(bins, seed):
    rng = np.random.default_rng(seed)
    curvature, gradient = rng.uniform(1, 5, bins), rng.normal(scale=6, size=bins)
    every = [
        gain(curvature, gradient, [np.arange(at + 1), np.arange(at + 1, bins)])
        for at in range(bins - 1)
    ]
    cuts = best_cuts(curvature[None], gradient[None])
    assert len(cuts) == len(set(cuts)) <= min(MOST_CUTS, bins - 1)
    if max(every) < LEAST_TEST - 1e-6:
        assert cuts == []
    elif max(every) > LEAST_TEST + 1e-6:
        assert every[cuts[0]] == pytest.approx(max(every))


@examples(40)
@given(st.integers(2, 12), st.integers(2, 5), st.integers(0, 10**6))
def test_the_gains_of_several_scores_are_added(bins, scores, seed):
    rng = np.random.default_rng(seed)
    curvature = rng.uniform(1, 5, (scores, bins))
    gradient = rng.normal(scale=6, size=(scores, bins))
    every = [
        sum(
            gain(*one, [np.arange(at + 1), np.arange(at + 1, bins)])
            for one in zip(curvature, gradient, strict=True)
        )
        for at in range(bins - 1)
    ]
    cuts = best_cuts(curvature, gradient)
    least = LEAST_TEST * (scores - 1)
    assert len(cuts) == len(set(cuts)) <= min(MOST_CUTS, bins - 1)
    if max(every) < least - 1e-6:
        assert cuts == []
    elif max(every) > least + 1e-6:
        assert every[cuts[0]] == pytest.approx(max(every))
    order = rng.permutation(scores)
    assert best_cuts(curvature[order], gradient[order]) == cuts


def test_every_class_has_level_sets_of_its_own():
    rng = np.random.default_rng(0)
    level = rng.choice(list("abcdef"), 3_000)
    alike = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 0, "f": 0}
    known = np.array([alike[v] for v in level])
    y = np.where(rng.random(3_000) < 0.8, known, rng.integers(0, 3, 3_000)).astype(float)
    raw = Raw({"k": level.astype(object)}, (y > 0).astype(float), np.ones(3_000))
    two = raw.table()
    at = np.argsort(two.inputs["k"], kind="stable")
    found = level_sets(two, NullModel.of(two), FREE)
    loss = Multinomial(3)
    codes = two.inputs["k"]
    names = two.schema.variables[0].levels
    share = np.array([alike[names[c]] for c in codes[at]], float)
    several = replace(two.take(at), y=share, loss=loss)
    nulls = NullModel.of(several)
    assert len(nulls) == 3
    of_all = [set(c.levels) for c in level_sets(several, nulls, FREE)]
    for pair in ({"a", "b"}, {"c", "d"}, {"e", "f"}):
        assert pair in of_all
    assert len(found) < len(of_all)


def categories(n=2_000, names=RISKS, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.choice(list(names), n)
    y = (rng.random(n) < np.array([names[v] for v in level])).astype(float)
    return Raw({"k": level.astype(object), "x": rng.normal(size=n)}, y, np.ones(n)).table()


def sets_of(table, limits=FREE):
    return [set(c.levels) for c in level_sets(table, NullModel.of(table), limits)]


def test_levels_with_alike_labels_go_together():
    found = sets_of(categories())
    assert {"a", "c"} in found
    assert {"b", "e"} in found
    assert all(1 < len(levels) <= 3 for levels in found)


def test_few_and_many_levels_have_no_sets():
    few = {name: RISKS[name] for name in "abc"}
    many = {f"l{i:02}": 0.9 if i % 2 else 0.1 for i in range(17)}
    assert sets_of(categories(names=few)) == []
    assert sets_of(categories(names=many)) == []
    assert sets_of(categories(names=dict(list(many.items())[:16]))) != []


def test_levels_without_a_difference_and_limits_have_no_sets():
    assert sets_of(categories(names=dict.fromkeys("abcdef", 0.5), seed=3)) == []
    table = categories()
    assert sets_of(table, permissions(Limits(exclude=["k"]), table.schema)) == []


def spike(n=8_000, seed=1):
    """Return a number that is 0 in nine rows of ten, whose risk jumps far up among the others."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(n) < 0.9, 0.0, rng.uniform(1, 100, n))
    y = (rng.random(n) < np.where(x > 73, 0.9, 0.2)).astype(float)
    return Raw({"x": x}, y, np.ones(n)).table()


def test_labels_choose_among_fine_knots_where_values_recur():
    table = spike()
    every = shapes_of(table, "x", 5.0)
    shapes = ShapeCache(table, 5.0, FREE).strongest(table, np.arange(table.n_rows), 10**6)
    knots = {c.threshold if isinstance(c, Step) else c.knot for c in shapes if _has_knot(c)}
    assert min(abs(knot - 73) for knot in knots) < 3
    assert len(knots & every.fine_knots) <= MOST_CUTS < len(every.fine_knots)
    assert set(shapes) <= set(every.columns)


def _has_knot(column):
    return isinstance(column, (Step, Hinge))


def test_there_are_no_fine_knots_on_short_tables():
    assert shapes_of(spike(int(FOR_FINE_KNOTS) + 1), "x", 5.0).fine_knots
    assert not shapes_of(spike(int(FOR_FINE_KNOTS) - 1), "x", 5.0).fine_knots


@examples(60)
@given(st.integers(0, 10**6), st.integers(4, 9))
def test_sets_do_not_depend_on_which_class_is_positive(seed, levels):
    rng = np.random.default_rng(seed)
    level = rng.choice([f"l{i}" for i in range(levels)], 80).astype(object)
    y = (rng.random(80) < 0.5).astype(float)
    tables = [Raw({"k": level}, labels, np.ones(80)).table() for labels in (y, 1.0 - y)]
    assert sets_of(tables[0]) == sets_of(tables[1])

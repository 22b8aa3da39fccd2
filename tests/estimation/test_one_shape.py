"""One shape per variable: the columns that are chosen, their signs, and sets of levels."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.columns.kinds import Hinge, Interval, Level, Scale, Step, Value
from rpte.estimation.one_shape import (
    DISTANCE,
    FALLING,
    KINDS,
    LINE,
    LOG,
    MOST_TERMS,
    PIECES,
    RIDGE,
    RISING,
    SETS,
    STEPS,
    Kind,
    Moments,
    direction_of,
    families_of,
    merged_levels,
    shapes_of_kinds,
)

LEVELS = ("p", "q", "r", "s", "t")


def moments(z, *both):
    """Return the moments of columns with a target and its weight, for each of some scores."""
    gram, slope = [], []
    for target, weight in zip(both[::2], both[1::2], strict=True):
        centred = z - (z @ weight / weight.sum())[:, None]
        gram.append((centred * weight) @ centred.T)
        slope.append((centred * weight) @ target)
    return Moments(np.array(gram), np.array(slope))


def numbers(seed, n=200):
    """Return columns of a number and their moments with a target that it explains in part."""
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=n), rng.uniform(0.1, 1.0, n)
    cuts = np.quantile(x, [0.2, 0.4, 0.6, 0.8])
    columns = [Value("x"), Scale("x", "log", (0.1,)), Scale("x", "distance", (0.0,))]
    z = [x, np.log(np.maximum(x, 0.1)), np.abs(x)]
    for cut in cuts.tolist():
        columns += [Step("x", cut), Hinge("x", cut, "above"), Hinge("x", cut, "below")]
        z += [x > cut, np.maximum(x - cut, 0.0), np.maximum(cut - x, 0.0)]
    columns += [Interval("x", -9.0, cuts[0]), Interval("x", cuts[3], 9.0)]
    z += [x <= cuts[0], x > cuts[3]]
    target = rng.normal(size=len(z)) @ np.array(z) + rng.normal(size=n)
    return columns, moments(np.array(z, float), target, weight)


def scores(seed):
    """Return columns of a number and their moments with what two scores ask for."""
    columns, one = numbers(seed)
    two = numbers(seed + 1)[1]  # other rows
    return columns, Moments(
        np.concatenate([one.gram, two.gram]), np.concatenate([one.slope, two.slope])
    )


def levels(seed):
    """Return sets of levels, some of which overlap, and their moments."""
    rng = np.random.default_rng(seed)
    codes, weight = rng.integers(0, 6, 300), rng.uniform(0.1, 1.0, 300)
    sets = [(k,) for k in range(5)] + [(0, 1), (1, 2), (2, 3, 4)]
    columns = [Level("c", tuple(LEVELS[k] for k in some)) for some in sets]
    z = np.array([np.isin(codes, some) for some in sets], float)
    target = rng.normal(size=6)[codes] + rng.normal(size=300)
    return columns, moments(z, target, weight)


def shapes_by_size(columns, given, kind):
    return next(shapes_of_kinds(columns, given, (kind,)))


def fit(given, places):
    found, gain = [], 0.0
    for gram, slope in zip(given.gram, given.slope[:, list(places)], strict=True):
        own = gram[np.ix_(places, places)]
        found.append(np.linalg.solve(own + RIDGE * np.diag(np.diag(own)), slope))
        gain += 0.5 * found[-1] @ slope
    return np.array(found), gain


def admitted(columns, places, theta, kind):
    """Tell whether a shape may be: its signs, and no level in two of its sets."""
    held = [level for j in places for level in getattr(columns[j], "levels", ())]
    signs = [kind.direction * direction_of(columns[j]) for j in places]
    return len(held) == len(set(held)) and (np.array(signs) * theta >= 0).all()


def best_of_all(columns, given, kind, size):
    """Return the largest gain among all shapes of a kind of so many columns."""
    own = [j for j, family in enumerate(families_of(columns)) if family == kind.family]
    found = [(fit(given, places), places) for places in combinations(own, size)]
    return max((g for (t, g), p in found if admitted(columns, p, t, kind)), default=0.0)


MADE = {"number": numbers, "levels": levels, "scores": scores}


@examples(60)
@given(st.sampled_from(sorted(MADE)), st.integers(0, 999), st.sampled_from(KINDS))
def test_a_shape_is_a_fit_that_is_admitted_and_no_better_than_the_best_of_all(name, seed, kind):
    columns, given = MADE[name](seed)
    families = families_of(columns)
    shapes = shapes_by_size(columns, given, kind)
    assert not (shapes and kind.direction and len(given.slope) > 1)
    gains = [shape.gain for shape in shapes]
    assert gains == sorted(gains)
    assert len(shapes) <= MOST_TERMS
    for size, shape in enumerate(shapes, 1):
        assert len(set(shape.places.tolist())) == len(shape.places) == size
        assert {families[j] for j in shape.places} == {kind.family}
        theta, gain = fit(given, shape.places.tolist())
        np.testing.assert_allclose(shape.fit, theta, rtol=1e-9, atol=1e-12)
        assert shape.gain == pytest.approx(gain, rel=1e-9)
        assert admitted(columns, shape.places, shape.fit, kind)
        best = best_of_all(columns, given, kind, size)
        assert shape.gain <= best * (1 + 1e-9)
        if size == 1:
            assert shape.gain == pytest.approx(best, rel=1e-9)


def test_most_shapes_are_the_best_of_all():
    """Adding and replacing columns one by one is short of the best of all subsets by little."""
    ratios = [
        shape.gain / best_of_all(*data, kind, size)
        for seed, kind in product(range(12), [k for k in KINDS if k.family in (STEPS, PIECES)])
        for data in [numbers(seed)]
        for size, shape in enumerate(shapes_by_size(*data, kind), 1)
    ]
    assert len(ratios) > 100
    assert np.mean(np.array(ratios) > 1 - 1e-9) > 0.85
    assert min(ratios) > 0.8


@examples(30)
@given(st.integers(0, 999), st.integers(1, 8))
def test_of_columns_at_right_angles_the_best_of_all_is_found(seed, count):
    rng = np.random.default_rng(seed)
    columns = [Step("x", float(k)) for k in range(count)]
    given = Moments(np.diag(rng.uniform(0.5, 2.0, count))[None], rng.normal(size=(1, count)))
    for kind in (Kind(STEPS), Kind(STEPS, RISING), Kind(STEPS, FALLING)):
        for size, shape in enumerate(shapes_by_size(columns, given, kind), 1):
            best = best_of_all(columns, given, kind, size)
            assert shape.gain == pytest.approx(best, rel=1e-9)


def test_what_goes_on_for_ever_is_in_no_shape_beside_ramps():
    ramps = [Scale("x", "clip", limits) for limits in ((0.0, 5.0), (0.0, 9.0), (5.0, 9.0))]
    columns = [Value("x"), Hinge("x", 5.0, "above"), *ramps, Step("x", 5.0)]
    assert families_of(columns) == [None, None, PIECES, LINE, PIECES, STEPS]
    scales = [Scale("x", "log", (1.0,)), Scale("x", "distance", (5.0,))]
    limited = [Scale("x", "log", (1.0, 9.0)), Scale("x", "distance", (5.0, 1.0, 9.0))]
    assert families_of([*ramps, *scales, *limited])[3:] == [None, None, LOG, DISTANCE]
    assert families_of(columns[:2]) == [LINE, PIECES]


def partitions(yielded):
    """Return the sets of each partition: one into two parts, two into three, three into four."""
    sets = list(yielded)
    assert len(sets) in (0, 1, 3, 6)
    return [sets[a:b] for a, b in ((0, 1), (1, 3), (3, 6)) if sets[a:b]]


@examples(60)
@given(st.integers(0, 999), st.integers(2, 20))
def test_merged_levels_are_disjoint_and_leave_the_heaviest_part(seed, count):
    rng = np.random.default_rng(seed)
    names = [f"l{k:02}" for k in range(count)]
    codes, weight = rng.integers(0, count + 1, 40 * count), rng.uniform(0.2, 1.0, 40 * count)
    effect = np.append(rng.choice([-1.0, 0.0, 1.0], count), 0.0)
    z = np.arange(count)[:, None] == codes
    target = effect[codes] + 0.1 * rng.normal(size=len(codes))
    given, mass = moments(z.astype(float), target, weight), z @ weight
    found = partitions(merged_levels(names, given, np.arange(count), mass))
    assert len(found) == min(count, MOST_TERMS + 1) - 1
    for sets in found:
        merged = [name for some in sets for name in some]
        assert len(merged) == len(set(merged))
        assert set(merged) < set(names)
        assert all(some == tuple(sorted(some)) and some for some in sets)
        left = mass[[name not in merged for name in names]].sum()
        assert left >= max(mass[[name in some for name in names]].sum() for some in sets) - 1e-9


def test_levels_of_one_effect_are_merged():
    columns, given = [Level("c", (name,)) for name in LEVELS[:4]], None
    codes = np.repeat(np.arange(5), 100)
    z = (np.arange(4)[:, None] == codes).astype(float)
    given = moments(z, np.array([2.0, -1.0, 2.0, 0.0, 0.0])[codes], np.ones(500))
    mass = z.sum(1)
    (first,), second, _ = partitions(merged_levels(LEVELS[:4], given, np.arange(4), mass))
    assert first in (("p", "r"), ("q", "s"))
    assert {("p", "r")} < {*second, ("q",), ("s",)} or ("p", "r") not in second
    merged = [*columns, Level("c", ("p", "r"))]
    z = np.vstack([z, z[0] + z[2]])
    given = moments(z, np.array([2.0, -1.0, 2.0, 0.0, 0.0])[codes], np.ones(500))
    shapes = shapes_by_size(merged, given, Kind(SETS))
    assert shapes[0].places.tolist() == [4]
    assert shapes[1].places.tolist() == [1, 4]


@examples(40)
@given(st.integers(0, 10**6))
def test_pieces_share_no_part_of_the_range(seed):
    rng = np.random.default_rng(seed)
    x, weight = np.sort(rng.normal(size=200)), rng.uniform(0.1, 1.0, 200)
    ends = np.quantile(x, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]).round(3).tolist()
    columns = [Scale("x", "clip", pair) for pair in combinations(ends, 2)]
    z = np.array([np.clip(x, *column.numbers) for column in columns])
    target = rng.normal(size=len(z)) @ z + rng.normal(size=200)
    kinds = [Kind(PIECES, direction) for direction in (0, RISING, FALLING)]
    found = list(shapes_of_kinds(columns, moments(z, target, weight), kinds))
    assert found[0]
    for shape in (shape for shapes in found for shape in shapes):
        pieces = sorted(columns[j].numbers for j in shape.places)
        assert all(one[1] <= other[0] for one, other in pairwise(pieces))

"""Steps, hinges and scales of single numbers: where knots lie, and which numbers get a log."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from effort import examples
from raw_tables import Raw, random_raw, raws
from rpte.columns.kinds import Hinge, Interval, Scale, Step
from rpte.columns.limits import FREE, Limits, permissions
from rpte.vocabulary.shape_cache import ShapeCache
from rpte.vocabulary.shapes import KNOTS, MORE_KNOTS, MUCH
from vocabularies import shapes_vocabulary

LEAST = 5.0
NUMBERS = ("number", "few", "skewed", "01", "huge", "constant", "empty", "two")


def shapes(table, least=LEAST, limits=FREE, most=10**6):
    """Return the shapes of all numbers, or the strongest of them."""
    return ShapeCache(table, least, limits).strongest(table, np.arange(table.n_rows), most)


def one_number(x, weight=None):
    """Return a table of one number; the labels alternate."""
    x = np.asarray(x, float)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, float)
    return Raw({"x": x}, np.arange(len(x)) % 2.0, weight).table()


def knot_of(column):
    return column.threshold if isinstance(column, Step) else column.knot


def logs(columns):
    return [c.source for c in columns if isinstance(c, Scale) and c.formula == "log"]


@examples(60)
@given(raws(kinds=NUMBERS, rows=(12, 80)), st.sampled_from([1.0, 5.0, 11.5]))
def test_knots_part_neighbouring_values_with_the_least_weight_on_both_sides(raw, least):
    table = raw.table()
    seen = {}
    for column in shapes(table, least):
        if isinstance(column, (Step, Hinge)):
            x, knot = table.inputs[column.source], knot_of(column)
            low, high = x[x <= knot].max(), x[x > knot].min()
            assert low < knot < high
            # Of two values the step takes the place of the value, however rare it is.
            enough = least if len(np.unique(x[~np.isnan(x)])) > 2 else 0.0
            assert min(table.weight[x <= knot].sum(), table.weight[x > knot].sum()) >= enough
            seen.setdefault((type(column), getattr(column, "side", "")), set()).add(
                (column.source, knot)
            )
    kinds = [seen.get(key, set()) for key in ((Hinge, "above"), (Hinge, "below"))]
    assert kinds[0] == kinds[1] <= seen.get((Step, ""), set())


@examples(60)
@given(raws(kinds=NUMBERS, rows=(12, 120)))
@example(random_raw(0, ["number", "skewed"], 1500))
def test_knots_are_the_gaps_at_the_inner_quantiles(raw):
    """The oracle repeats rows as often as their weight says, and counts them off."""
    found = {}
    for column in shapes(raw.table()):
        if isinstance(column, Step):
            found.setdefault(column.source, []).append(column.threshold)
    repeated = raw.repeated()
    for name, column in repeated.columns.items():
        if column.dtype.kind != "f":
            continue
        x = np.sort(column[~np.isnan(column)])
        values = np.unique(x)
        if len(values) < 2:
            assert name not in found
            continue
        knots = KNOTS if len(x) < MUCH else MORE_KNOTS
        if len(values) > knots + 2:  # -(-a // b) rounds up
            places = [-(-k * len(x) // (knots + 1)) for k in range(1, knots + 1)]
            lows = {x[place - 1] for place in places}
        else:
            lows = set(values[:-1])
        least = LEAST if len(values) > 2 else 0  # of two values the step takes the value's place
        lows = sorted(low for low in lows if (x <= low).sum() >= least and (x > low).sum() >= least)
        told = found.get(name, [])
        assert len(told) == len(lows)
        for low, knot in zip(lows, told, strict=True):
            assert low < knot < values[values > low][0]


def test_a_knot_with_too_little_weight_is_left_out():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [4, 20, 20, 6])
    assert {knot_of(c) for c in shapes(one_number(x)) if isinstance(c, Step)} == {1.5, 2.5}
    assert {knot_of(c) for c in shapes(one_number(x), 4) if isinstance(c, Step)} == {0.5, 1.5, 2.5}
    assert {knot_of(c) for c in shapes(one_number(x), 7) if isinstance(c, Step)} == {1.5}


@pytest.mark.parametrize(("distinct", "kinds"), [(1, set()), (2, {Step}), (3, {Step, Interval})])
def test_few_values_need_no_curves(distinct, kinds):
    assert {type(c) for c in shapes(one_number(np.arange(60) % distinct))} == kinds
    assert {type(c) for c in shapes(one_number(np.arange(60) % 4))} == {
        Step,
        Interval,
        Hinge,
        Scale,
    }


def test_single_values_of_few_whole_numbers():
    x = np.repeat([1.0, 2.0, 5.0], [20, 4, 20])
    found = [c for c in shapes(one_number(x)) if isinstance(c, Interval)]
    assert [(c.low, c.high) for c in found] == [(1.0, 2.0), (5.0, 6.0)]
    halves = shapes(one_number(x + 0.5))
    assert not any(isinstance(c, Interval) for c in halves)
    assert not any(isinstance(c, Interval) for c in shapes(one_number(np.arange(70.0) % 7)))


@examples(60)
@given(
    st.sampled_from(["lognormal", "exponential", "normal", "uniform", "left", "signed"]),
    st.integers(0, 9_999),
    st.integers(20, 200),
)
@example("lognormal", 0, 100)
@example("left", 0, 100)
@example("signed", 0, 100)
def test_the_log_is_for_skewed_numbers_that_are_never_negative(kind, seed, n):
    rng = np.random.default_rng(seed)
    x = {
        "lognormal": lambda: rng.lognormal(1, 1, n),
        "exponential": lambda: rng.exponential(size=n),
        "normal": lambda: rng.normal(10, 1, n),
        "uniform": lambda: rng.random(n),
        "left": lambda: 100 - rng.lognormal(1, 0.5, n),
        "signed": lambda: rng.lognormal(1, 1, n) - 0.5,
    }[kind]().round(2)
    table = one_number(x, rng.integers(1, 4, n))
    y, w = table.inputs["x"], table.weight

    def skew(v):
        d = v - np.average(v, weights=w)
        return np.average(d**3, weights=w) / np.average(d**2, weights=w) ** 1.5

    low = y[y > 0].min() if (y > 0).any() else 1.0
    (has_log,) = [bool(logs(shapes(table)))]
    if y.min() < 0 or skew(y) < 1 - 1e-9:
        assert not has_log
    elif y.min() > 0:
        assert has_log == (abs(skew(np.log(np.maximum(y, low)))) < skew(y))


def test_the_log_of_zero_is_that_of_a_number_below_the_smallest_positive_one():
    rng = np.random.default_rng(0)
    x = np.append(rng.lognormal(0, 1, 90).round(2) + 0.01, np.zeros(3))
    (scale,) = [c for c in shapes(one_number(x)) if isinstance(c, Scale) and c.formula == "log"]
    smallest = x[x > 0].min()
    assert smallest / 2 <= scale.numbers[0] < smallest
    assert not logs(shapes(one_number(np.append(x, -0.01))))


@examples(40)
@given(raws(kinds=NUMBERS, rows=(12, 80)))
def test_the_distance_is_from_the_middle(raw):
    table = raw.table()
    for column in shapes(table):
        if isinstance(column, Scale) and column.formula == "distance":
            x = table.inputs[column.source]
            there = ~np.isnan(x)
            x, w = x[there], table.weight[there]
            biggest = np.abs(x).max()
            spread = biggest * np.sqrt(np.cov(x / biggest, aweights=w, ddof=0))
            middle = np.sort(np.repeat(x, w.astype(int)))[int(np.ceil(w.sum() / 2)) - 1]
            assert abs(column.numbers[0] - middle) <= spread / 100


@examples(40)
@given(raws(rows=(12, 60)), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(raw, random):
    found = shapes(raw.table())
    rows = list(range(len(raw.y)))
    random.shuffle(rows)
    assert shapes(raw.take(np.array(rows)).table()) == found
    assert shapes(raw.repeated().table()) == found
    names = list(raw.columns)
    random.shuffle(names)
    assert shapes(raw.reordered(names).table()) == found


@examples(30)
@given(raws(rows=(12, 60)))
def test_the_label_does_not_make_shapes(raw):
    turned = Raw(raw.columns, 1.0 - raw.y, raw.weight)
    assert shapes(turned.table()) == shapes(raw.table())


def test_shapes_are_of_the_numbers_asked_for():
    table = random_raw(3, ["number", "category", "number", "two"], 80).table()
    numbers = {v.name for v in table.schema.variables if v.kind == "number"}
    assert {c.source for c in shapes(table)} == numbers
    cache = ShapeCache(table, LEAST, FREE)
    assert {c.source for c in cache.shapes("z0")} == {"z0"}
    assert cache.shapes("z0") == tuple(c for c in shapes(table) if c.source == "z0")


def test_limits_are_kept():
    rng = np.random.default_rng(1)
    columns = {name: rng.lognormal(0, 1, 200).round(2) for name in "abcd"}
    table = Raw(columns, (columns["a"] > 1) + 0.0, np.ones(200)).table()
    wish = Limits(monotone={"a": "increasing"}, exclude=["b"], linear_only=["c"])
    found = shapes(table, limits=permissions(wish, table.schema))
    assert {c.source for c in found} == {"a", "d"}
    assert logs(found) == ["a", "d"]
    formulas = {(c.source, c.formula) for c in found if isinstance(c, Scale)}
    assert formulas == {("a", "log"), ("d", "log"), ("d", "distance")}
    assert {type(c) for c in found if c.source == "a"} == {Scale, Hinge, Step}


@pytest.mark.slow(reason="draws wide tables")
@pytest.mark.parametrize("budget", [0, 1, 4, 7, 30, 400])
def test_the_budget_is_shared_out_by_variable(budget):
    rng = np.random.default_rng(2)
    columns = {name: rng.normal(size=200).round(2) for name in "abcd"}
    table = Raw(columns, (columns["c"] > 0.3) + 0.0, np.ones(200)).table()
    every = shapes(table)
    kept = shapes(table, most=budget)
    assert len(kept) == min(budget, len(every))
    counts = [sum(c.source == name for c in kept) for name in "abcd"]
    assert max(counts) - min(counts) <= 1
    assert [c for c in every if c in kept] == list(kept)
    vocabulary = shapes_vocabulary(table, budget)
    assert set(vocabulary.columns[4:]) <= set(kept)
    if budget == 1:
        assert kept[0].source == "c"
        assert isinstance(kept[0], Step)


@pytest.mark.slow(reason="draws many tables")
@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e250])
def test_the_unit_does_not_matter(factor):
    x = np.random.default_rng(4).lognormal(0, 1, 150).round(3) + 0.001
    found = [(type(c), getattr(c, "formula", "")) for c in shapes(one_number(x * factor))]
    assert found == [(type(c), getattr(c, "formula", "")) for c in shapes(one_number(x))]
    assert found[0] == (Scale, "log")

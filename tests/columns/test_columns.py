import json
import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import raws, same_bits
from rpte.columns.kinds import (
    FORMULAS,
    LIMITED,
    Flag,
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
    column_from_dict,
    combine,
    goes_on,
    is_true,
    one_source,
)
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.read import read_training
from rpte.table.schema import Schema, Variable

SCHEMA = Schema(
    (
        Variable("age", "number", (), True),
        Variable("dose", "number", (), True),
        Variable("region", "category", ("north", "south", "west"), True),
    ),
    named=True,
)
YOUNG, NORTH = Interval("age", -math.inf, 20.0), Level("region", ("north",))
NAN, LOG_20 = math.nan, 2.995732273553991
ROWS = {
    "age": [10.0, 20.0, 35.5, None, 10.0],
    "dose": [1.0, 2.0, None, 4.0, 5.0],
    "region": ["north", "west", "east", None, "south"],
}
CASES = [  # column, its name, its values on the rows
    (Value("age"), "age", [10, 20, 35.5, NAN, 10]),
    (Missing("region"), "region is missing", [0, 0, 0, 1, 0]),
    (NORTH, "region is north", [1, 0, 0, 0, 0]),
    (Level("region", ("north", "west")), "region in {north, west}", [1, 1, 0, 0, 0]),
    (YOUNG, "age < 20", [1, 0, 0, 0, 1]),
    (Interval("age", 20.0, 35.5), "20 <= age < 35.5", [0, 1, 0, 0, 0]),
    (Interval("age", 35.5, math.inf), "age >= 35.5", [0, 0, 1, 0, 0]),
    (Interval("age", -math.inf, math.inf), "age is present", [1, 1, 1, 0, 1]),
    (Pattern(YOUNG, NORTH), "age < 20 and region is north", [1, 0, 0, 0, 0]),
    (Pair("product", Value("age"), Value("dose")), "age * dose", [10, 40, NAN, NAN, 50]),
    (Pair("sum", Value("age"), Value("dose")), "age + dose", [11, 22, NAN, NAN, 15]),
    (Pair("difference", Value("dose"), Value("age")), "dose - age", [-9, -18, NAN, NAN, -5]),
    (Pair("absolute difference", Value("age"), Value("dose")), "|age - dose|",
     [9, 18, NAN, NAN, 5]),
    (Step("age", 20.0), "age > 20", [0, 0, 1, 0, 0]),
    (Hinge("age", 15.0, "above"), "age above 15", [0, 5, 20.5, NAN, 0]),
    (Hinge("age", 15.0, "below"), "age below 15", [5, 0, 0, NAN, 5]),
    (Scale("age", "log", (20.0,)), "log of max(age, 20)",
     [LOG_20, LOG_20, 3.5695326964813701, NAN, LOG_20]),
    (Scale("age", "sqrt", (0.0,)), "square root of max(age, 0)",
     [10**0.5, 20**0.5, 35.5**0.5, NAN, 10**0.5]),
    (Scale("age", "clip", (12.5, 30.0)), "age clipped to 12.5..30", [12.5, 20, 30, NAN, 12.5]),
    (Scale("age", "distance", (12.0,)), "distance of age from 12", [2, 8, 23.5, NAN, 2]),
    (Pair("product", Hinge("age", 15.0, "above"), Value("dose")), "(age above 15) * dose",
     [0, 10, NAN, NAN, 0]),
    (Pair("absolute difference", Value("dose"), Scale("age", "distance", (12.0,))),
     "|dose - (distance of age from 12)|", [1, 6, NAN, NAN, 3]),
    (Pattern(Step("age", 15.0), NORTH), "age > 15 and region is north", [0, 0, 0, 0, 0]),
    (Pair("product", Hinge("age", 15.0, "below"), NORTH), "(age below 15) where region is north",
     [5, 0, 0, NAN, 0]),
    (Pair("product", Step("age", 15.0), Value("dose")), "dose where age > 15", [0, 2, NAN, 0, 0]),
    (Pair("product", Value("dose"), YOUNG), "dose where age < 20", [1, 0, NAN, 0, 5]),
    (Hinge("age", 15.0, "above", 30.0), "age above 15 up to 30", [0, 5, 15, NAN, 0]),
    (Hinge("age", 30.0, "below", 15.0), "age below 30 down to 15", [15, 10, 0, NAN, 15]),
    (Scale("age", "log", (12.5, 20.0)), "log of age clipped to 12.5..20",
     [2.5257286443082556, LOG_20, LOG_20, NAN, 2.5257286443082556]),
    (Scale("age", "sqrt", (16.0, 25.0)), "square root of age clipped to 16..25",
     [4, 20**0.5, 5, NAN, 4]),
    (Scale("age", "distance", (18.0, 12.5, 30.0)), "distance of age clipped to 12.5..30 from 18",
     [5.5, 2, 12, NAN, 5.5]),
    (Pair("product", Hinge("age", 15.0, "above", 30.0), Hinge("dose", 2.5, "below", 1.0)),
     "(age above 15 up to 30) * (dose below 2.5 down to 1)", [0, 2.5, NAN, NAN, 0]),
]  # fmt: skip
NAMES = [name for _, name, _ in CASES]
# What people read, where it is not the name.
TEXTS = {
    "region is north": "region is 'north'",
    "region in {north, west}": "region in {'north', 'west'}",
    "age < 20 and region is north": "age < 20 and region is 'north'",
    "log of max(age, 20)": "log of age (at least 20)",
    "square root of max(age, 0)": "square root of age (at least 0)",
    "age clipped to 12.5..30": "age kept between 12.5 and 30",
    "age above 15 up to 30": "age above 15, up to 30",
    "age below 30 down to 15": "age below 30, down to 15",
    "log of age clipped to 12.5..20": "log of age, kept between 12.5 and 20",
    "square root of age clipped to 16..25": "square root of age, kept between 16 and 25",
    "distance of age clipped to 12.5..30 from 18": (
        "distance of age (kept between 12.5 and 30) from 18"
    ),
    "(age above 15 up to 30) * (dose below 2.5 down to 1)": (
        "(age above 15, up to 30) * (dose below 2.5, down to 1)"
    ),
    "age > 15 and region is north": "age > 15 and region is 'north'",
    "(age below 15) where region is north": "(age below 15) where region is 'north'",
}


@pytest.mark.parametrize(("column", "name", "expected"), CASES, ids=NAMES)
def test_values_names_texts_sources_and_round_trip(column, name, expected):
    inputs = read_inputs({k: np.array(v, object) for k, v in ROWS.items()}, SCHEMA)
    assert same_bits(column.evaluate(inputs), np.array(expected, float))
    assert is_true(column, inputs).tolist() == (np.array(expected, float) > 0).tolist()
    assert isinstance(column, Flag) == column.binary
    assert column.name == name  # ties are broken by it: another name is another model
    assert column.text == TEXTS.get(name, name)
    assert all(source in column.text for source in column.sources)
    assert column_from_dict(json.loads(json.dumps(column.to_dict()))) == column
    assert column.conditions(SCHEMA) == len(set(column.sources))


@pytest.mark.parametrize(
    ("level", "text"),
    [
        ("<0", "c is '<0'"),
        ("17", "c = 17"),
        ("", "c is ''"),
        ("missing", "c is 'missing'"),
        ("a' or 'b", "c is \"a' or 'b\""),
        ('it\'s "x"', "c is 'it\\'s \"x\"'"),
        ("two\nlines\t", "c is 'two\\nlines\\t'"),
        ("\u202eevil", "c is '\\u202eevil'"),
        ("Zürich", "c is 'Zürich'"),
        ("\x1b[31m", "c is '\\x1b[31m'"),
    ],
)
def test_levels_are_quoted(level, text):
    assert Level("c", (level,)).text == text
    both = Level("c", ("a", level)).text
    said = text.removeprefix("c is ").removeprefix("c = ")  # a number needs no quotes
    assert both == f"c in {{'a', {said}}}"
    assert Level("c", (level,)).name == f"c is {level}"


def test_a_set_of_levels_counts_one_condition_per_eight():
    levels = tuple(f"v{i:02}" for i in range(40))
    schema = Schema((Variable("c", "category", levels),), named=True)
    counts = [Level("c", levels[:k]).conditions(schema) for k in (1, 8, 9, 17, 31, 32, 39)]
    assert counts == [1, 1, 2, 3, 2, 1, 1]
    pattern = Pattern(Level("c", levels[:9]), Interval("x", 0.0, 1.0))
    assert pattern.conditions(schema) == 3
    assert Pair("product", Hinge("x", 0.0, "above"), pattern.left).conditions(schema) == 3


def test_overflow_is_missing_and_zero_has_no_sign():
    a, b = np.array([1e200, -1e308, 0.0, 1.0]), np.array([1e200, 1e308, -1.0, 1.0])
    assert np.isnan(combine("product", a, b)[0])
    assert np.isnan(combine("difference", a, b)[1])
    assert np.isnan(combine("absolute difference", a, b)[1])
    assert not np.signbit(combine("product", a, b)[2])
    assert combine("difference", a, b)[3] == 0.0


def test_far_numbers_have_no_infinite_gap_and_are_not_missing():
    rows = {"age": [1e300, -1e300], "dose": [0.0, 0.0], "region": ["north", "west"]}
    inputs = read_inputs(rows, SCHEMA)
    largest = np.finfo(float).max
    assert Hinge("age", -largest, "above").evaluate(inputs)[0] == largest
    assert Hinge("age", largest, "below").evaluate(inputs)[1] == largest
    assert Scale("age", "distance", (-largest,)).evaluate(inputs)[0] == largest


def test_only_slopes_have_a_centre():
    hinge, scale = Hinge("age", 15.0, "above"), Scale("dose", "sqrt", (0.0,))
    assert all(c.centred for c in (Value("age"), scale, Pair("sum", hinge, scale)))
    assert not any(c.centred for c in (hinge, Step("age", 2.0), NORTH, Pattern(YOUNG, NORTH)))
    assert Pair("product", Value("age"), scale).centred
    assert not Pair("product", hinge, scale).centred
    assert not Pair("product", scale, hinge).centred
    assert not Pair("product", scale, NORTH).centred
    assert not Pair("product", NORTH, Value("age")).centred


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def numbers(draw, source):
    """Draw a numeric column of one variable."""
    kind = draw(st.sampled_from(["value", "hinge", *FORMULAS]))
    if kind == "value":
        return Value(source)
    if kind == "hinge":
        side = draw(st.sampled_from(["above", "below"]))
        return Hinge(source, draw(FINITE), side, draw(st.none() | FINITE))
    names = draw(st.sampled_from([FORMULAS, LIMITED]))[kind]
    return Scale(source, kind, tuple(draw(FINITE) for _ in names))


OPERATIONS = ("product", "absolute difference", "sum", "difference")
NORTH_OR_DOSE = st.one_of(st.just(NORTH), st.builds(Step, st.just("dose"), FINITE))


@given(
    st.one_of(
        numbers("age"),
        st.builds(Step, st.just("age"), FINITE),
        st.builds(Pair, st.sampled_from(OPERATIONS), numbers("age"), numbers("dose")),
        st.builds(Pair, st.just("product"), numbers("age"), NORTH_OR_DOSE),
        st.builds(Pair, st.just("product"), NORTH_OR_DOSE, numbers("age")),
        st.builds(Pattern, st.builds(Step, st.just("age"), FINITE), NORTH_OR_DOSE),
    )
)
def test_numbers_survive_the_file(column):
    again = column_from_dict(json.loads(json.dumps(column.to_dict())))
    assert again == column
    assert again.text == column.text
    assert again.centred == column.centred


ENDS = st.tuples(st.floats(0.01, 50), st.floats(50.5, 99)).flatmap(
    lambda ends: st.tuples(st.floats(*ends), st.just(ends[0]), st.just(ends[1]))
)


@st.composite
def limited(draw, source):
    """Draw a column of one variable that is flat beyond limits, or unlimited ones."""
    centre, low, high = draw(ENDS)
    hinges = Hinge(source, low, "above", high), Hinge(source, high, "below", low)
    scales = [Scale(source, formula, (low, high)) for formula in ("log", "sqrt", "clip")]
    return draw(st.sampled_from([*hinges, *scales, Scale(source, "distance", (centre, low, high))]))


def inputs_of(age, dose):
    columns = {"age": np.atleast_1d(age).astype(object), "dose": np.atleast_1d(dose).astype(object)}
    rows = len(columns["age"])
    return read_inputs({**columns, "region": np.array(["north"] * rows, object)}, SCHEMA)


@given(
    st.one_of(
        limited("age"),
        st.builds(Pair, st.sampled_from(OPERATIONS), limited("age"), limited("dose")),
    ),
    st.floats(-1e300, 1e300),
    st.floats(-1e300, 1e300),
)
def test_beyond_its_limits_a_column_says_what_it_says_at_them(column, age, dose):
    assert not goes_on(column)
    given = {"age": age, "dose": dose}
    at = {p.source: min(max(given[p.source], p.limits[0]), p.limits[1]) for p in one_source(column)}
    kept = inputs_of(**{**given, **at})
    assert same_bits(column.evaluate(inputs_of(**given)), column.evaluate(kept))


@given(st.one_of(numbers("age"), st.builds(Pair, st.just("sum"), limited("dose"), numbers("age"))))
def test_a_column_that_lacks_a_limit_goes_on(column):
    own = next(part for part in one_source(column) if part.source == "age")
    unlimited = isinstance(own, Value) or not own.limited
    assert goes_on(column) == unlimited
    assert own.limits.count(math.inf) + own.limits.count(-math.inf) == (
        0 if not unlimited else 2 if isinstance(own, Value) or (own.kind == "scale"
        and own.formula == "distance") else 1
    )  # fmt: skip


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="'rank'"):
        column_from_dict({"kind": "rank"})


@examples(30)
@given(raws(kinds=("number", "few", "category", "two"), least=3, most=4), st.integers(0, 999))
def test_columns_read_their_sources_only_and_binary_ones_are_false_on_missing(raw, seed):
    rng = np.random.default_rng(seed)
    inputs = read_training(raw.columns)
    for column in every_column(inputs.schema, rng):
        values = column.evaluate(inputs)
        others = [
            c if v.name in column.sources else rng.permutation(c)
            for v, c in zip(inputs.schema.variables, inputs.columns, strict=True)
        ]
        assert same_bits(column.evaluate(Inputs(inputs.schema, tuple(others))), values)
        assert set(column.sources) <= set(inputs.schema.names)
        for source in column.sources:
            gone = np.full(inputs.n_rows, np.nan if inputs[source].dtype.kind == "f" else -1)
            hidden = list(inputs.columns)
            hidden[inputs.schema.position(source)] = gone.astype(inputs[source].dtype)
            blank = column.evaluate(Inputs(inputs.schema, tuple(hidden)))
            if column.binary:
                assert (blank == (1.0 if column.kind == "missing" else 0.0)).all()
            else:
                assert same_bits(blank, without(column, source, inputs))
        if column.binary:
            assert set(np.unique(values)) <= {0.0, 1.0}


def without(column, source, inputs):
    """Return the values of a numeric column where one of its variables is missing."""
    if isinstance(column, Pair):
        left, right = column.left, column.right
        part, other = (left, right) if left.source == source else (right, left)
        if part.binary:
            return np.where(np.isnan(other.evaluate(inputs)), np.nan, 0.0)
    return np.full(inputs.n_rows, np.nan)


def every_column(schema, rng):
    """Make one column of each kind that a schema allows, at random."""
    items, numbers = [], []
    for variable in schema.variables:
        yield Missing(variable.name)
        if variable.kind == "number":
            knot = float(rng.normal())
            numbers += [Value(variable.name), Hinge(variable.name, knot, "below")]
            numbers += [Hinge(variable.name, knot, "above"), Scale(variable.name, "log", (0.5,))]
            numbers += [Scale(variable.name, "clip", (knot, knot + 1.0))]
            numbers += [Hinge(variable.name, knot, "above", knot + 1.0)]
            numbers += [Scale(variable.name, "log", (0.5, 1.5))]
            numbers += [Scale(variable.name, "distance", (knot, knot - 1.0, knot + 1.0))]
            ends = sorted([*rng.normal(size=1), rng.choice([math.inf, 2.0])])
            items += [Interval(variable.name, *map(float, ends)), Step(variable.name, knot)]
        elif variable.levels:
            size = rng.integers(1, len(variable.levels) + 1)
            chosen = rng.choice(variable.levels, size, replace=False)
            items.append(Level(variable.name, tuple(sorted(map(str, chosen)))))
    yield from items
    yield from numbers
    for a, b in two_sources(pairwise(items)):
        yield Pattern(a, b)
    for a, b in two_sources(pairwise(numbers)):
        for operation in OPERATIONS:
            yield Pair(operation, a, b)
    for a, b in two_sources(product(items, numbers)):
        yield Pair("product", *((a, b) if rng.random() < 0.5 else (b, a)))


def two_sources(pairs):
    return [(a, b) for a, b in pairs if a.source != b.source]

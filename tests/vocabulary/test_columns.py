import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raw_tables import raws, same_bits
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.read import read_training
from rpte.table.schema import Schema, Variable
from rpte.vocabulary.columns import (
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Value,
    column_from_dict,
    combine,
)

SCHEMA = Schema(
    (
        Variable("age", "number", (), True),
        Variable("dose", "number", (), True),
        Variable("region", "category", ("north", "south", "west"), True),
    ),
    named=True,
)
YOUNG, NORTH = Interval("age", -math.inf, 20.0), Level("region", ("north",))
ALL = [
    Value("age"),
    Missing("region"),
    NORTH,
    Level("region", ("north", "west")),
    YOUNG,
    Interval("age", 20.0, 35.5),
    Interval("age", 35.5, math.inf),
    Interval("age", -math.inf, math.inf),
    Pattern(YOUNG, NORTH),
    Pair("product", Value("age"), Value("dose")),
    Pair("sum", Value("age"), Value("dose")),
    Pair("difference", Value("dose"), Value("age")),
    Pair("absolute difference", Value("age"), Value("dose")),
]
TEXTS = [
    "age",
    "region is missing",
    "region is north",
    "region in {north, west}",
    "age < 20",
    "20 <= age < 35.5",
    "age >= 35.5",
    "age is present",
    "age < 20 and region is north",
    "age * dose",
    "age + dose",
    "dose - age",
    "|age - dose|",
]
NAN = math.nan
ROWS = {
    "age": [10.0, 20.0, 35.5, None, 10.0],
    "dose": [1.0, 2.0, None, 4.0, 5.0],
    "region": ["north", "west", "east", None, "south"],
}
EXPECTED = [
    [10, 20, 35.5, NAN, 10],
    [0, 0, 0, 1, 0],
    [1, 0, 0, 0, 0],
    [1, 1, 0, 0, 0],
    [1, 0, 0, 0, 1],
    [0, 1, 0, 0, 0],
    [0, 0, 1, 0, 0],
    [1, 1, 1, 0, 1],
    [1, 0, 0, 0, 0],
    [10, 40, NAN, NAN, 50],
    [11, 22, NAN, NAN, 15],
    [-9, -18, NAN, NAN, -5],
    [9, 18, NAN, NAN, 5],
]


@pytest.mark.parametrize(("column", "expected"), [*zip(ALL, EXPECTED, strict=True)], ids=TEXTS)
def test_values(column, expected):
    inputs = read_inputs({k: np.array(v, object) for k, v in ROWS.items()}, SCHEMA)
    assert same_bits(column.evaluate(inputs), np.array(expected, float))


@pytest.mark.parametrize(("column", "text"), [*zip(ALL, TEXTS, strict=True)], ids=TEXTS)
def test_texts_sources_and_round_trip(column, text):
    assert column.text == text
    assert all(source in text for source in column.sources)
    assert column_from_dict(json.loads(json.dumps(column.to_dict()))) == column
    assert column.conditions(SCHEMA) == len(set(column.sources))


def test_a_set_of_levels_counts_one_condition_per_eight():
    levels = tuple(f"v{i:02}" for i in range(40))
    schema = Schema((Variable("c", "category", levels),), named=True)
    counts = [Level("c", levels[:k]).conditions(schema) for k in (1, 8, 9, 17, 31, 32, 39)]
    assert counts == [1, 1, 2, 3, 2, 1, 1]
    pattern = Pattern(Level("c", levels[:9]), Interval("x", 0.0, 1.0))
    assert pattern.conditions(schema) == 3


def test_overflow_is_missing_and_zero_has_no_sign():
    a, b = np.array([1e200, -1e308, 0.0, 1.0]), np.array([1e200, 1e308, -1.0, 1.0])
    assert np.isnan(combine("product", a, b)[0])
    assert np.isnan(combine("difference", a, b)[1])
    assert np.isnan(combine("absolute difference", a, b)[1])
    assert not np.signbit(combine("product", a, b)[2])
    assert combine("difference", a, b)[3] == 0.0


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="'rank'"):
        column_from_dict({"kind": "rank"})


@settings(max_examples=30, deadline=None)
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
            if not column.binary:
                assert np.isnan(blank).all()
            else:
                assert (blank == (1.0 if column.kind == "missing" else 0.0)).all()
        if column.binary:
            assert set(np.unique(values)) <= {0.0, 1.0}


def every_column(schema, rng):
    """Make one column of each kind that a schema allows, at random."""
    items, numbers = [], []
    for variable in schema.variables:
        yield Missing(variable.name)
        if variable.kind == "number":
            numbers.append(Value(variable.name))
            ends = sorted([*rng.normal(size=1), rng.choice([math.inf, 2.0])])
            items.append(Interval(variable.name, *map(float, ends)))
        elif variable.levels:
            size = rng.integers(1, len(variable.levels) + 1)
            chosen = rng.choice(variable.levels, size, replace=False)
            items.append(Level(variable.name, tuple(sorted(map(str, chosen)))))
    yield from items
    yield from numbers
    for a, b in pairwise(items):
        yield Pattern(a, b)
    for a, b in pairwise(numbers):
        for operation in ("product", "absolute difference", "sum", "difference"):
            yield Pair(operation, a, b)

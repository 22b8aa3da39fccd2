import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from raw_tables import raws, same_bits
from rpte.errors import InputError
from rpte.table import inputs as module
from rpte.table.column import MISSING
from rpte.table.inputs import read_inputs
from rpte.table.read import read_training

ROWS = {
    "number": [1.5, None, -0.0, 2.0],
    "whole": [1, None, 3, 4],
    "text": ["b", "a, {c}", None, "b"],
    "flag": [True, None, False, True],
}


def equal(a, b):
    return a.schema == b.schema and all(map(same_bits, taken(a), taken(b)))


def taken(inputs):
    """Return the columns as a table takes them: without negative zeros."""
    return inputs.pick(np.arange(inputs.n_rows)).columns


def forms():
    objects = {name: np.array(cells, object) for name, cells in ROWS.items()}
    frame = pd.DataFrame(objects)
    nullable = frame.astype(
        {"number": "Float64", "whole": "Int64", "text": "string", "flag": "boolean"}
    )
    arrow = frame.astype(
        {"number": "double[pyarrow]", "whole": "int64[pyarrow]", "text": "string[pyarrow]",
         "flag": "bool[pyarrow]"}
    )  # fmt: skip
    chunks = [pa.table({k: v[s] for k, v in ROWS.items()}) for s in (slice(0, 2), slice(2, 4))]
    encoded = pa.table(ROWS)
    encoded = encoded.set_column(2, "text", encoded["text"].dictionary_encode())
    return {
        "pandas object": frame,
        "pandas nullable": nullable,
        "pandas arrow": arrow,
        "pandas category": nullable.astype({"text": "category", "flag": "category"}),
        "polars": pl.DataFrame(ROWS),
        "polars categorical": pl.DataFrame(ROWS).with_columns(pl.col("text").cast(pl.Categorical)),
        "pyarrow": pa.table(ROWS),
        "pyarrow chunks": pa.concat_tables(chunks),
        "pyarrow dictionary": encoded,
    }


@pytest.mark.parametrize("name", forms())
def test_every_form_of_a_table_reads_the_same(name):
    expected = read_training({k: np.array(v, object) for k, v in ROWS.items()})
    X = forms()[name]
    found = read_training(X)
    assert equal(found, expected)
    assert equal(read_inputs(X, expected.schema), expected)


def test_what_is_read():
    inputs = read_training(pl.DataFrame(ROWS))
    kinds = [(v.name, v.kind, v.levels, v.has_missing) for v in inputs.schema.variables]
    assert kinds == [
        ("number", "number", (), True),
        ("whole", "number", (), True),
        ("text", "category", ("a, {c}", "b"), True),
        ("flag", "category", ("False", "True"), True),
    ]
    assert inputs["text"].tolist() == [1, 0, MISSING, 1]
    assert inputs["flag"].tolist() == [1, MISSING, 0, 1]
    assert not np.signbit(taken(inputs)[0][2])


@pytest.mark.parametrize("dtype", ["str", "string", object])
def test_many_cells_of_text_read_the_same_in_pandas_columns(monkeypatch, dtype):
    """Gaps, numbers written as text with a special code, and levels."""
    rng = np.random.default_rng(0)
    plain = {
        "level": rng.choice(np.array(["b", "a", None, "3"], object), 50),
        "number": rng.choice(np.array(["1.5", "-9", "2"], object), 50),
    }
    expected = read_training(plain, {"number": [-9]})
    monkeypatch.setattr(module, "MANY_CELLS", 10)
    frame = pd.DataFrame({name: pd.Series(cells, dtype=dtype) for name, cells in plain.items()})
    found = read_training(frame, {"number": [-9]})
    assert found.schema == expected.schema
    for one, other in zip(found.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.specials[1], expected.specials[1])
    assert (found.columns[0] == MISSING).any()


def test_arrays_have_names_by_place_and_kinds_by_cells():
    X = np.array([[1, "a", True], [None, "b", None]], object)
    inputs = read_training(X)
    assert not inputs.schema.named
    assert [(v.name, v.kind) for v in inputs.schema.variables] == [
        ("x0", "number"), ("x1", "category"), ("x2", "category")
    ]  # fmt: skip
    columns = {f"x{i}": X[:, i] for i in range(3)}
    assert all(map(same_bits, inputs.columns, read_training(columns).columns))
    assert equal(read_training(X.tolist()), inputs)


def test_lists_keep_numbers_and_gaps_that_stand_beside_text():
    inputs = read_training([[1.5, "a"], [2.0, float("nan")]])
    assert [v.kind for v in inputs.schema.variables] == ["number", "category"]
    assert inputs["x1"].tolist() == [0, MISSING]
    assert read_training({"c": ["a", float("nan")]})["c"].tolist() == [0, MISSING]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.float16])
def test_numeric_arrays_of_any_width(dtype):
    inputs = read_training(np.array([[1, 2], [3, 4]], dtype))
    assert [c.tolist() for c in inputs.columns] == [[1.0, 3.0], [2.0, 4.0]]
    assert all(c.dtype == np.float64 for c in inputs.columns)


def test_levels_are_sorted_whatever_the_category_says():
    c = pd.Categorical(["b", "a", None], categories=["z", "b", "a"], ordered=True)
    inputs = read_training(pd.DataFrame({"c": c}))
    assert inputs.schema["c"].levels == ("a", "b")  # "z" was never seen
    assert inputs["c"].tolist() == [1, 0, MISSING]


def test_names_that_are_no_text_become_text():
    inputs = read_training(pd.DataFrame([[1, 2]], columns=[0, ("a", 1)]))
    assert inputs.schema.names == ("0", "('a', 1)")


def test_names_alike_as_text_are_refused():
    with pytest.raises(InputError, match=r"\['1'\]"):
        read_training(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_decimals_are_numbers_and_dates_are_refused():
    assert read_training(pl.DataFrame({"d": [Decimal("1.5")]}))["d"].tolist() == [1.5]
    for X in (
        pl.DataFrame({"d": [datetime.date(2020, 1, 1)]}),
        pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}),
        np.array([["2020-01-01"]], "datetime64[D]"),
    ):
        with pytest.raises(InputError, match="dates"):
            read_training(X)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match=r"different lengths \[1, 2\]"):
        read_training({"a": [1, 2], "b": [1]})
    with pytest.raises(InputError, match=r"\['a'\] hold more than one value per row"):
        read_training({"a": [[1.0, 2.0]], "b": [1.0]})


@settings(max_examples=25, deadline=None)
@given(raws())
def test_reading_again_with_the_schema_changes_nothing(raw):
    inputs = read_training(raw.columns)
    assert equal(read_inputs(raw.columns, inputs.schema), inputs)
    assert equal(read_training(pd.DataFrame(raw.columns).astype(object)), inputs) or any(
        all(cell is None or cell != cell for cell in column) for column in raw.columns.values()
    )

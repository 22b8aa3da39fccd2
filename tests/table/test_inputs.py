import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rpte import RPTEClassifier
from rpte.errors import InputError, RPTEWarning
from rpte.table.column import MISSING, UNSEEN, is_absent
from rpte.table.inputs import read_inputs
from rpte.table.read import read_training
from rpte.table.schema import Schema, Variable
from rpte.table.table import make_table, row_hashes


@pytest.fixture
def schema():
    variables = Variable("age", "number"), Variable("region", "category", ("north", "south"))
    return Schema(variables, named=True)


def test_columns_are_matched_by_name(schema):
    X = pd.DataFrame({"spare": [0, 0], "region": ["south", "east"], "age": [3, 4]})
    with pytest.warns(RPTEWarning, match=r"1 columns that the model does not know.*\['spare'\]"):
        inputs = read_inputs(X, schema)
    assert inputs["age"].tolist() == [3.0, 4.0]
    assert inputs["region"].tolist() == [1, UNSEEN]
    assert inputs.n_rows == 2
    assert not inputs.is_missing("region").any()


def test_columns_without_names_are_matched_by_place(schema):
    X = np.array([[3, "south"], [None, None]], object)
    inputs = read_inputs(X, schema)
    assert np.isnan(inputs["age"][1])
    assert inputs["region"].tolist() == [1, MISSING]
    assert (
        inputs.is_missing("age").tolist() == inputs.is_missing("region").tolist() == [False, True]
    )


def test_a_frame_for_a_model_of_an_array_is_read_by_place():
    schema = read_training(np.array([[1.0, 2.0]])).schema
    inputs = read_inputs(pd.DataFrame({"q": [5.0], "p": [6.0]}), schema)
    assert [c.tolist() for c in inputs.columns] == [[5.0], [6.0]]


def test_inputs_pass_through(schema):
    inputs = read_inputs({"age": [1], "region": ["north"]}, schema)
    assert read_inputs(inputs, schema) is inputs


@pytest.mark.parametrize("absent", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_every_kind_of_missing_cell(schema, absent):
    assert is_absent(absent)
    inputs = read_inputs(
        {"age": np.array([absent, 1], object), "region": [absent, "north"]}, schema
    )
    assert (
        inputs.is_missing("age").tolist() == inputs.is_missing("region").tolist() == [True, False]
    )


def test_what_looks_missing_is_a_level():
    inputs = read_training({"a": ["", "nan", "None", "<NA>"]})
    assert inputs.schema["a"].levels == ("", "<NA>", "None", "nan")
    assert not inputs.is_missing("a").any()


def test_negative_zero_is_zero(schema):
    for column in (np.array([-0.0]), np.array([-0.0, None], object)[:1]):
        number = read_inputs({"age": column, "region": ["north"]}, schema)["age"]
        assert not np.signbit(number).any()


def test_numbers_as_levels_agree_across_dtypes():
    schema = read_training({"k": pd.Series([1, 2, None], dtype="category")}).schema
    schema = Schema((Variable("k", "category", ("1", "2")),), schema.named)
    for column in ([1, 2], [1.0, 2.0], ["1", "2"], np.array([1, 2], object)):
        assert read_inputs({"k": np.asarray(column)}, schema)["k"].tolist() == [0, 1]
    assert read_inputs({"k": np.array([np.nan, 3.0])}, schema)["k"].tolist() == [MISSING, UNSEEN]


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ({"age": [1]}, r"lacks 1 of the 2 columns that the model needs: \['region'\]"),
        ({"age": [1, 2], "region": ["north"]}, r"different lengths \[1, 2\]"),
        (
            {"age": [1.0, np.inf, -np.inf], "region": ["a"] * 3},
            r"2 values beyond 1e\+300 \(infinity included; first at row 1: inf",
        ),
        ({"age": ["x"], "region": ["north"]}, "column 'age' is a number but holds the text 'x'"),
        ({"age": [1 + 2j], "region": ["north"]}, "Complex data not supported"),
        ({"age": [[1, 2]], "region": ["north"]}, r"\['age'\] hold more than one value per row"),
        (np.zeros((2, 3)), "X has 3 features, but .* is expecting 2"),
        (np.zeros(3), "Expected 2D array, got 1D array"),
        (np.float64(3), "got scalar array"),
        (np.zeros((1, 2, 3)), "dim 3"),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), "more than once"),
        ({1: [1], "1": [2]}, r"more than once: \['1'\]"),
    ],
)
def test_what_is_refused_and_why(schema, X, says):
    with pytest.raises(InputError, match=says):
        read_inputs(X, schema)


@pytest.mark.parametrize(
    "cells",
    [
        [True, False],
        np.array([False, True]),
        np.array([True, None], object),
        np.array([np.True_, 3.5], object),
        pd.array([True, None], "boolean"),
        pd.Series([True, False], dtype="category"),
        pl.Series([False, None]),
        pa.array([True, None]),
    ],
    ids=lambda cells: f"{type(cells).__module__}.{type(cells).__name__}",
)
def test_booleans_where_training_had_numbers_are_refused(schema, cells):
    """As a number other than 1 and 0 is where training had booleans."""
    with pytest.raises(InputError, match=r"'age' is a number but holds the boolean .*astype"):
        read_inputs({"age": cells, "region": ["north", "south"]}, schema)
    coded = read_training({"age": [1.0, 2.0, -9.0]}, {"age": [-9]}).schema
    with pytest.raises(InputError, match="'age' is a number but holds the boolean"):
        read_inputs({"age": cells}, coded)


def test_a_matrix_of_booleans_for_a_model_of_numbers_is_refused():
    X = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    model = RPTEClassifier(l1=0.01).fit(X, X[:, 0] > 0).model_
    for rows in (1, 60):
        assert np.isfinite(model.score(X[:rows])).all()
        with pytest.raises(InputError, match=r"'x0' is a number but holds the boolean"):
            model.score(X[:rows] > 0)


def test_a_query_that_has_not_run_is_refused_with_the_remedy(schema):
    frame = pl.DataFrame({"age": [30.0, 40.0], "region": ["north", "south"]})
    refused = pytest.raises(InputError, match=r"LazyFrame is a query .*frame = query.collect\(\)")
    with refused:
        read_inputs(frame.lazy(), schema)
    with refused:
        read_training(frame.lazy())
    with refused:
        RPTEClassifier().fit(frame, frame.lazy().select("region"))
    with refused:
        RPTEClassifier().fit(frame, [0, 1], sample_weight=frame.lazy().select("age"))
    named = pd.DataFrame({"collect": [1.0, 2.0]})
    assert read_training(named).schema.names == ("collect",)


def test_cells_that_are_no_numbers_are_refused(schema):
    with pytest.raises(TypeError, match="not 'dict'"):
        read_inputs({"age": np.array([{}], object), "region": ["north"]}, schema)


class TestNoCopies:
    """Numbers are the caller's own where that can be."""

    def test_float64_columns_are_views_that_nobody_can_write_to(self):
        X = np.array([[1.0, -0.0], [np.nan, 2.0], [3.0, 4.0]])
        inputs = read_training(X)
        for name in ("x0", "x1"):
            assert np.shares_memory(inputs[name], X)
            assert not inputs[name].flags.writeable
        assert X.flags.writeable

    @pytest.mark.parametrize("at", [0, 40_000])
    def test_a_negative_zero_is_found_wherever_it_stands(self, at):
        x = np.ones(50_000)
        x[at] = -0.0
        inputs = read_training({"x": x})
        assert not np.signbit(read_inputs({"x": x}, inputs.schema)["x"]).any()

    @pytest.mark.parametrize("copied", [True, False])
    def test_a_table_has_no_negative_zero_and_the_caller_keeps_his(self, copied):
        x = np.array([-0.0, 0.0, 1.0, np.nan, -0.0])
        inputs = read_training({"x": x})
        assert len(np.unique(row_hashes(inputs))) == 3
        table = make_table(inputs, np.ones(5), np.ones(5), copied=copied)
        assert sorted(table.weight) == [1.0, 1.0, 3.0]
        for cells in (table.inputs["x"], table.inputs.take(np.arange(3))["x"]):
            assert not np.signbit(cells[cells == 0.0]).any()
        assert np.signbit(x[[0, 4]]).all()

    def test_picked_rows_are_those_that_are_taken(self):
        X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": list("uvuw"), "c": [5.0, 6, 7, -9]})
        inputs = read_training(X, {"c": [-9]})
        rows = np.array([3, 0, 0, 2, 1])
        picked, taken = inputs.pick(rows), inputs.take(rows)
        assert picked.n_rows == 5
        assert len(picked.columns) == 3
        some = np.array([4, 1])
        for a, b in (
            (picked, taken),
            (picked.take(some), taken.take(some)),
            (picked.only(["c", "a"]), taken.only(["c", "a"])),
            (picked.without(["a"]), taken.without(["a"])),
            (picked.take(slice(1, 3)), taken.take(slice(1, 3))),
        ):
            assert a.schema == b.schema
            for name in a.schema.names:
                assert a[name].tolist() == pytest.approx(b[name].tolist(), nan_ok=True)
                assert a.is_missing(name).tolist() == b.is_missing(name).tolist()
            assert a.codes("c").tolist() == b.codes("c").tolist()
        assert [c.tolist() for c in picked.columns[1:2]] == [taken["b"].tolist()]
        for inputs in (picked, taken):
            column, rows = inputs.source("c")
            np.testing.assert_array_equal(column[rows], picked["c"])


@pytest.mark.parametrize("levels", [["b", "a", "z"], [30, 10, 20]])
def test_categories_are_read_as_their_cells(levels):
    column = pd.Series(pd.Categorical([levels[0], None, levels[1]] * 3, categories=levels))
    inputs = read_training({"c": column.astype(str).where(column.notna(), None).to_numpy()})
    assert len(inputs.schema["c"].levels) == 2  # the third is not used
    found = read_inputs(pd.DataFrame({"c": column}), inputs.schema)
    assert found["c"].tolist() == inputs["c"].tolist()
    assert not found.unknown

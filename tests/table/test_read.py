import datetime
import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import raws, same_bits
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.model.file import to_dict
from rpte.table import column as column_module
from rpte.table import inputs as module
from rpte.table.column import MISSING, distinct, level_text
from rpte.table.files import read_table
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


def test_decimals_are_numbers():
    assert read_training(pl.DataFrame({"d": [Decimal("1.5")]}))["d"].tolist() == [1.5]


DAY, MOMENT = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 3)
DATES = [
    pd.date_range("2020-01-01", periods=3),
    pd.date_range("2020-01-01", periods=3, tz="Europe/Berlin"),
    pd.to_timedelta(range(3), unit="D"),
    pd.period_range("2020-01-01", periods=3),
    *(pd.Series([cell, None], dtype=object)
      for cell in (DAY, MOMENT, datetime.timedelta(1), MOMENT.time())),
]  # fmt: skip
TABLES_OF_DATES = [
    *(pd.DataFrame({"d": column}) for column in DATES),
    *(make({"d": [cell] * 3}) for make in (pl.DataFrame, pa.table)
      for cell in (DAY, MOMENT, datetime.timedelta(2), MOMENT.time())),
    np.array([["2020-01-01"]], "datetime64[D]"),
]  # fmt: skip


@pytest.mark.parametrize("X", TABLES_OF_DATES)
def test_dates_of_every_container_are_refused_by_name(X):
    with pytest.raises(InputError, match=r"column '(d|x0)' holds dates or durations; turn them"):
        read_training(X)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match=r"different lengths \[1, 2\]"):
        read_training({"a": [1, 2], "b": [1]})
    with pytest.raises(InputError, match=r"\['a'\] hold more than one value per row"):
        read_training({"a": [[1.0, 2.0]], "b": [1.0]})


@examples(25)
@given(raws())
def test_reading_again_with_the_schema_changes_nothing(raw):
    inputs = read_training(raw.columns)
    assert equal(read_inputs(raw.columns, inputs.schema), inputs)
    assert equal(read_training(pd.DataFrame(raw.columns).astype(object)), inputs) or any(
        all(cell is None or cell != cell for cell in column) for column in raw.columns.values()
    )


def signal(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, (x + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object, "Int64"])
def test_integers_that_would_become_one_number_are_refused(dtype):
    cells = pd.Series([2**53, 2**53 + 1, 5], dtype=dtype)
    with pytest.raises(InputError, match=r"'c' holds 9007199254740992 and 9007199254740993, which"):
        read_training(pd.DataFrame({"c": cells}))
    apart = cells.where(cells != 2**53 + 1, 2**53 + 2)  # as far apart as floats are
    inputs = read_training(pd.DataFrame({"c": apart.astype(dtype)}))
    assert inputs["c"].tolist() == [2.0**53, 2.0**53 + 2, 5.0]


@pytest.mark.parametrize(
    "cells",
    [
        [2**70, 2**70 + 1],
        [Decimal("0.1"), Decimal("0.10000000000000000001")],
        [Fraction(1, 3), 1 / 3],
        [np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps],
    ],
)
def test_any_exact_numbers_that_would_become_one_are_refused(cells):
    if np.finfo(np.longdouble).eps == np.finfo(float).eps and isinstance(cells[0], np.longdouble):
        pytest.skip("long doubles are doubles here")
    for column in (np.array(cells, object), np.array(cells[::-1], object)):
        with pytest.raises(InputError, match="are one number in float64"):
            read_training({"c": column})


def test_wide_floats_are_refused_where_they_lose():
    wide = np.array([1.0, 1.0], np.longdouble)
    wide[1] += np.finfo(np.longdouble).eps
    if wide[1].astype(float) == 1.0 and wide[1] != 1.0:
        with pytest.raises(InputError, match="are one number"):
            read_training({"c": wide})
    assert read_training({"c": np.array([1.0, 2.0], np.longdouble)})["c"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("cell", [10**400, -(10**400), Decimal("1e400"), Fraction(10**400)])
def test_numbers_without_a_float_are_refused(cell):
    with pytest.raises(InputError, match=r"values beyond 1e\+300"):
        read_training({"c": np.array([cell, 1], object)})


def test_large_whole_numbers_in_a_file_stay_levels(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n9007199254740993,1\n9007199254740992,2\n")
    with pytest.warns(RPTEWarning, match="'id' holds 9007199254740992 and 9007199254740993"):
        table = read_table(path)
    assert table["id"].tolist() == ["9007199254740993", "9007199254740992"]
    assert table["x"].tolist() == [1, 2]


def test_numbers_that_are_too_small_for_slopes_are_refused():
    x, y = signal()
    with pytest.raises(InputError, match=r"'x0' holds numbers no larger than .*e-310 .* multiply"):
        RPTEClassifier(l1=0.02).fit((x * 1e-310)[:, None], y)
    with pytest.raises(InputError, match="no larger than"):
        RPTEClassifier(l1=0.02).fit(np.full((120, 1), 5e-324), y)
    assert read_training({"zero": np.zeros(3)}).schema["zero"].kind == "number"


def test_a_few_tiny_numbers_among_others_are_allowed():
    x, y = signal()
    X = np.where(x > 0, 1.0, np.abs(x) * 1e-310)[:, None]
    fitted = RPTEClassifier(l1=0.02).fit(X, y)
    assert all(check.holds for check in fitted.verify(X, y))


@examples(8)
@given(
    st.integers(0, 100), st.tuples(st.integers(-269, 299), st.integers(-269, 299)), st.booleans()
)
def test_every_allowed_size_gives_a_model_that_holds(seed, powers, gaps):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 2)).clip(-3, 3)
    y = (x[:, 0] * x[:, 1] + rng.normal(size=60) > 0).astype(int)
    X = x * 10.0 ** np.array(powers)
    if gaps:
        X[rng.random(60) < 0.2] = np.nan
    fitted = RPTEClassifier(l1=0.02).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert all(check.holds for check in fitted.verify(X, y))


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e-200, 1e20])
def test_the_unit_of_columns_with_gaps_does_not_matter(unit):
    """Columns with gaps in the same rows were taken for one where their unit is small."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).round(2)
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    X[rng.random(200) < 0.1] = np.nan
    fitted = RPTEClassifier(l1=0.02, vocabulary="original", max_trees=0).fit(X * unit, y)
    assert {r for rule in fitted.model_.rules() for r in rule.sources} == {"x0", "x1"}


@pytest.mark.parametrize("unit", [1.0, 1e9, 1e15, 1e200])
def test_a_slope_is_a_condition_in_any_unit(unit, tmp_path):
    x, y = signal()
    fitted = RPTEClassifier(l1=0.05, vocabulary="original", max_trees=0).fit((x * unit)[:, None], y)
    assert (fitted.audit().mu, fitted.audit().miu) == (1, 1)


class TestMasks:
    def test_masked_cells_are_missing(self):
        x, y = signal()
        plain = np.where(x > 1, np.nan, x)[:, None]
        expected = RPTEClassifier(l1=0.02).fit(plain, y).predict_proba(plain)
        masked = np.ma.array(x[:, None], mask=(x > 1)[:, None])
        fitted = RPTEClassifier(l1=0.02).fit(masked, y)
        assert (fitted.predict_proba(masked) == expected).all()
        assert (fitted.model_.predict_proba(list(masked)) == expected).all()
        named = RPTEClassifier(l1=0.02).fit({"x0": masked[:, 0]}, y)
        assert named.model_.schema["x0"].has_missing

    @pytest.mark.parametrize("cells", [[1, 2, 3], ["a", "b", "c"], [True, False, True]])
    def test_masked_cells_of_any_type(self, cells):
        inputs = read_training({"c": np.ma.array(cells, mask=[0, 1, 0])})
        assert inputs.is_missing("c").tolist() == [False, True, False]
        assert not read_training({"c": np.ma.array(cells)}).is_missing("c").any()

    def test_masked_labels_are_missing(self):
        x, y = signal()
        masked = np.ma.array(y, mask=x > 1)
        with pytest.raises(InputError, match=r"missing label\(s\)"):
            RPTEClassifier(l1=0.02).fit(x[:, None], masked)
        fitted = RPTEClassifier(l1=0.02).fit(x[:, None], y)
        with pytest.raises(InputError, match="y holds None"):
            fitted.verify(x[:, None], masked)


def test_structured_arrays_are_told_to_be_frames():
    X = np.array([(1.0, 2.0)], [("a", float), ("b", float)])
    with pytest.raises(InputError, match=r"fields \['a', 'b'\]; pass pandas.DataFrame"):
        read_training(X)


class Colour(str, enum.Enum):  # noqa: UP042  # its str() is not its value
    RED = "red"


CELLS = [
    True, False, np.True_, 0, 1, 2, 0.0, 1.0, -0.0, 0.5, np.int64(1), np.float32(0.1),
    Decimal("1.0"), Decimal("1.00"), Decimal("0.5"), Fraction(1, 2), 0.10000000149011612,
    "1", "1.0", "True", "a", "red", Colour.RED, None, float("nan"), Decimal("NaN"),
    pd.NA, 2**53, 2**53 + 1, float(2**53),
    1 + 0j, np.timedelta64(1, "D"), b"a", (1, 2), datetime.date(2020, 1, 1),
]  # fmt: skip


def objects(cells):
    return np.array([*cells, None], object)[:-1]


def outcome(function, *arguments):
    """Return what a function gives, or the kind of error and its text."""
    try:
        return function(*arguments)
    except (InputError, TypeError) as error:
        return type(error).__name__, str(error).split(";")[0].split(" such as")[0]


def said(cells):
    inputs = read_training({"c": objects(cells)})
    return inputs.schema, inputs.columns[0]


@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
@examples(300)
@given(st.data())
def test_the_order_of_rows_never_changes_how_a_column_is_read(data):
    cells = data.draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=8))
    order = data.draw(st.permutations(range(len(cells))))
    before, after = outcome(said, cells), outcome(said, [cells[i] for i in order])
    assert before[0] == after[0]  # the schema, or the kind of error
    if not isinstance(before[0], str):
        np.testing.assert_array_equal(before[1][list(order)], after[1])


@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
@examples(15)
@given(st.data())
def test_the_order_of_rows_never_changes_the_model(data):
    few = data.draw(st.lists(st.sampled_from(CELLS[:28]), min_size=2, max_size=4))
    order = np.array(data.draw(st.permutations(range(24))))
    y = np.arange(24) % 2
    cells = objects([few[i % len(few)] for i in range(24)])

    def model(rows):
        X = {"c": cells[rows]}
        fitted = RPTEClassifier(l1=0.02).fit(X, y[rows])
        return to_dict(fitted.model_), fitted.predict_proba(X)

    before, after = outcome(model, np.arange(24)), outcome(model, order)
    assert before[0] == after[0]
    if not isinstance(before[0], str):
        assert (before[1][order] == after[1]).all()


@pytest.mark.parametrize(
    "cells", [[True, 1, 0], [1, True, 0], [0, False], [True, 2.5], [True, 1, "a"]]
)
def test_booleans_beside_numbers_are_refused(cells):
    with pytest.raises(InputError, match=r"'c' mixes booleans .* and numbers .*astype\(bool\)"):
        read_training({"c": objects(cells)})


def test_many_cells_tell_booleans_from_numbers_too(monkeypatch):
    monkeypatch.setattr(column_module, "MANY_CELLS", 3)
    cells, places = distinct(objects([1, True, 0, False, 1.0, None]))
    assert [type(cells[p]) for p in places[:4]] == [int, bool, int, bool]
    assert places[0] == places[4]


@pytest.mark.parametrize(
    ("cells", "levels"),
    [
        (["1.5", "2", "1.5"], ("1.5", "2")),
        (["1", "2"], ("1", "2")),
        ([True, False], ("False", "True")),
        ([Colour.RED, "red", "blue"], ("blue", "red")),
    ],
)
def test_text_and_booleans_are_categories(cells, levels):
    assert read_training({"c": objects(cells)}).schema["c"].levels == levels


@pytest.mark.parametrize("dtype", [str, "string", object])
def test_astype_str_makes_a_category(dtype):
    sex = pd.Series([1, 2, 2, 1]).astype(str).astype(dtype)
    assert read_training(pd.DataFrame({"sex": sex})).schema["sex"].levels == ("1", "2")


def test_many_fractions_in_text_are_worth_a_warning():
    texts = objects([str(v / 8) for v in range(40)])
    with pytest.warns(RPTEWarning, match=r"'c' is text and so a category, .* 40 different"):
        assert read_training({"c": texts}).schema["c"].kind == "category"
    read_training({"c": objects([str(v) for v in range(40)])})  # as postcodes are


def test_text_of_numbers_with_named_codes_is_a_number():
    inputs = read_training({"c": objects(["1.5", "-9", "2"])}, {"c": [-9]})
    assert inputs.schema["c"].kind == "number"


def test_text_beside_numbers_is_a_category_of_their_texts():
    with pytest.warns(RPTEWarning, match=r"'c' mixes text \('a'\) and numbers \(0.5\)"):
        inputs = read_training({"c": objects(["a", 1.0, "b", 0.5])})
    assert inputs.schema["c"].levels == ("0.5", "1", "a", "b")


@pytest.mark.parametrize("cell", [b"a", 1j, np.complex64(1), (1, 2), object()])
@pytest.mark.parametrize("beside", [[], ["a"], [1.0]])
def test_cells_that_are_neither_numbers_nor_text_are_refused(cell, beside):
    with pytest.raises(TypeError, match="argument must be a string or a real number, not"):
        read_training({"c": objects([*beside, cell])})


@pytest.mark.parametrize("beside", [[], ["a"], [1]])
def test_durations_are_refused(beside):
    with pytest.raises(InputError, match="dates or durations"):
        read_training({"c": objects([*beside, np.timedelta64(1, "D")])})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, Decimal("1.0")),
        (0.5, Fraction(1, 2)),
        (np.float32(0.1), 0.10000000149011612),
        ("red", Colour.RED),
    ],
)
def test_equal_cells_have_one_name(one, other):
    assert one == other
    assert level_text(one) == level_text(other)


@pytest.mark.parametrize("cells", [[True, 1, 0], [1, 0.5, False], [-1, 2**63, 2**63 + 1]])
def test_lists_are_read_as_arrays_of_objects_are(cells):
    for table in ({"c": cells}, {"c": tuple(cells)}, [[cell] for cell in cells]):
        with pytest.raises(InputError, match=r"mixes booleans|are one number"):
            read_training(table)


def test_rows_of_booleans_and_numbers():
    inputs = read_training([[1.5, True], [2.5, False], [3.0, True]])
    assert [v.kind for v in inputs.schema.variables] == ["number", "category"]
    assert [v.kind for v in read_training([[1.5, 1], [2.5, 0]]).schema.variables] == ["number"] * 2

"""The kind of a column: decided by the set of its cells, whatever the order of the rows."""

import datetime
import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.model.file import to_dict
from rpte.table import column as column_module
from rpte.table.column import distinct, level_text
from rpte.table.read import read_training


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
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_order_of_rows_never_changes_how_a_column_is_read(data):
    cells = data.draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=8))
    order = data.draw(st.permutations(range(len(cells))))
    before, after = outcome(said, cells), outcome(said, [cells[i] for i in order])
    assert before[0] == after[0]  # the schema, or the kind of error
    if not isinstance(before[0], str):
        np.testing.assert_array_equal(before[1][list(order)], after[1])


@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
@settings(max_examples=15, deadline=None)
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

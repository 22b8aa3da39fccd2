"""Two labels from a table's column, or one line that says why not."""

import numpy as np
import pandas as pd
import pytest

from rpte.errors import InputError
from rpte.table.target import binary_labels, has_label, labels_as, matching_label


def table(*values):
    return pd.DataFrame({"y": list(values)})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "a"], r"holds 1 values \(a\); a model needs cases of two classes"),
        (["a", "b", "c"], r"holds 3 values \(a, b, c\); several classes .* keep the rows of two"),
        (list(range(30)), r"holds 30 values \(0, 1, 10, 11, 12, 13, \.\.\.\); .* is regression"),
        (["a", None, "b"], "missing in 1 of 3 rows, first in row 2"),
        ([1.0, np.nan, 0.0], "missing in 1 of 3 rows, first in row 2"),
    ],
)
def test_what_is_not_two_classes_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        binary_labels(table(*values), "y")


def test_labels_keep_their_type():
    assert binary_labels(table(0, 1, 1), "y").dtype.kind == "i"
    assert binary_labels(table("no", "yes"), "y").tolist() == ["no", "yes"]
    assert has_label(table("no", None), "y").tolist() == [True, False]
    with pytest.raises(InputError, match=r"target column 'Y' .*did you mean 'y'\?"):
        has_label(table(1), "Y")


def test_labels_are_matched_by_their_text():
    assert matching_label("1", [0, 1]) == 1
    assert matching_label("True", [False, True]) is True
    with pytest.raises(InputError, match="'2' is not a class; the classes are 0, 1"):
        matching_label("2", [0, 1])
    assert labels_as(table("0", "1"), "y", (0, 1)).tolist() == [0, 1]
    assert labels_as(table(0.0, 1.0), "y", ("0", "1")).tolist() == ["0", "1"]
    assert labels_as(table(True, False), "y", (False, True)).tolist() == [True, False]
    with pytest.raises(InputError, match="has missing cells"):
        labels_as(table("0", None), "y", (0, 1))

"""Two labels from a table's column, or one line that says why not."""

import numpy as np
import pandas as pd
import pytest

from rpte.errors import InputError
from rpte.table.target import (
    CLASSES,
    REGRESSION,
    SURVIVAL,
    class_labels,
    guessed_task,
    has_label,
    is_follow_up,
    labels_as,
    matching_label,
    target_numbers,
    target_values,
    task_of,
)


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
        class_labels(table(*values), "y")


def test_labels_keep_their_type():
    assert class_labels(table(0, 1, 1), "y").dtype.kind == "i"
    assert class_labels(table("no", "yes"), "y").tolist() == ["no", "yes"]
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


@pytest.mark.parametrize(
    ("cells", "name", "others", "task"),
    [
        (["a", "b", "c"], "time", ["event"], CLASSES),
        ([0, 1, 2], "y", [], CLASSES),
        (range(30), "y", [], REGRESSION),
        ([0.5, 1.5, 2.5], None, [], REGRESSION),
        (range(30), "time", ["event"], SURVIVAL),
        (range(30), "time", ["age"], REGRESSION),
        (range(30), 0, ["event"], REGRESSION),
        ([True, False, "a"], "y", [], CLASSES),
    ],
)
def test_tasks(cells, name, others, task):
    assert task_of(cells, name, others) == task


@pytest.mark.parametrize(
    "name", ["time", "Time", "survivalTime", "follow-up", "time_to_event", "futime", "rfs.time"]
)
def test_names_of_times(name):
    assert is_follow_up(name, ["status", "event"])


@pytest.mark.parametrize("name", ["runtime", "daytime", "overtime", "times", "timezone", "age"])
def test_other_names(name):
    assert not is_follow_up(name, ["event"])


@pytest.mark.parametrize("event", ["event", "DEATH_EVENT", "died", "in_hospital_death", "censored"])
def test_names_of_events(event):
    assert is_follow_up("time", [event])


@pytest.mark.parametrize("event", ["status", "event_type", "eventful", "target", "y"])
def test_names_of_other_targets(event):
    assert not is_follow_up("time", [event])


@pytest.mark.parametrize(
    ("values", "counts", "task"),
    [
        ([0, 1, 1, 2], False, "count"),
        ([0.0, 1.0, 2.0], False, "count"),
        ([30, 40, 55], False, "regression"),
        ([-1, 0, 1], False, "regression"),
        ([0.5, 1.0, 2.0], False, "regression"),
        ([0, 1, 1], False, None),  # two classes
        ([0, 1, 1], True, "count"),
        ([1, 1], True, None),
        (["a", "b", "c"], False, None),
        ([0.0, np.nan, 2.0, 3.0], False, None),
        ([True, False, True], True, None),
    ],
)
def test_which_task_numbers_look_like(values, counts, task):
    guess = guessed_task(target_values(table(*values), "y"), "y", [], counts)
    assert (None if guess is None else guess[0]) == task


def test_a_time_until_an_event_is_no_number_to_predict():
    frame = pd.DataFrame({"time": [0.5, 1.5, 2.5], "event": [0, 1, 1]})
    values = target_values(frame, "time")
    assert guessed_task(values, "time", ["event"]) is None
    assert guessed_task(values, "time", ["other"]) is not None


def test_numbers_of_a_target():
    assert target_numbers(table(1, 2, 4), "y").tolist() == [1.0, 2.0, 4.0]
    with pytest.raises(InputError, match="missing in 1 of 3 rows, first in row 2"):
        target_numbers(table(1.0, None, 2.0), "y")
    with pytest.raises(InputError, match="holds 'b', which is no number"):
        target_numbers(table("b", "c", "d"), "y")

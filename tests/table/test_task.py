"""Which task a target belongs to, by its values and the names around it."""

import pytest

from rpte.table.target import CLASSES, REGRESSION, SURVIVAL, is_follow_up, task_of


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

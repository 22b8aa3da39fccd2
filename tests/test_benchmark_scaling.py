"""The simulation of threads: tasks of known lengths take what they must."""

import time

import pandas as pd
import pytest

from scaling import DISPATCH, Recorder, Simulation, speedups

FLAT = [1.0, [[2.0], [2.0], [2.0], [2.0]], 1.0]
NESTED = [[[1.0, [[1.0], [1.0]]], [[[1.0]] * 4]]]


@pytest.mark.parametrize(
    ("root", "threads", "seconds"),
    [
        (FLAT, 1, 10.0),
        (FLAT, 2, 6.0),
        (FLAT, 3, 6.0),
        (FLAT, 4, 4.0),
        (FLAT, 9, 4.0),
        (NESTED, 1, 7.0),
        (NESTED, 2, 4.0),
        ([3.0], 8, 3.0),
    ],
)
def test_tasks_are_dealt_out(root, threads, seconds):
    assert Simulation(threads).seconds(root) == pytest.approx(seconds, abs=20 * DISPATCH)


def test_a_recorder_gives_time_to_the_task_that_used_it():
    def busy(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    recorder = Recorder()
    for _ in recorder(lambda i: [busy(0.02), *recorder(busy, [0.01, 0.01])], range(2)):
        busy(0.01)
    recorder.flush()
    assert Simulation(1).seconds(recorder.root) == pytest.approx(0.10, abs=0.02)
    (call,) = (part for part in recorder.root if isinstance(part, list))
    assert len(call) == 2
    assert sum(isinstance(part, list) for part in call[0]) == 1
    assert sum(part for part in call[0] if isinstance(part, float)) == pytest.approx(0.02, abs=0.01)


def test_the_table_compares_with_one_thread_of_the_same_kind():
    rows = [("a", "measured", 1, 4.0), ("a", "measured", 2, 2.5), ("a", "simulated", 1, 6.0)]
    rows.append(("a", "simulated", 8, 1.2))
    found = speedups(pd.DataFrame(rows, columns=["data", "kind", "threads", "seconds"]))
    assert found.splitlines()[-1] == "| a | 4.00 | 1.60 | 5.00 |"
    assert "8 threads, simulated, target 5" in found

"""The threads of a fit: those who ask for some have them, nested or not."""

import os
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed

from rpte.rows import threads
from rpte.rows.threads import even_chunks, has_threads, thread_count, thread_map, worker_threads

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.parametrize(("n_jobs", "workers"), [(None, CORES), (1, 1), (3, 3), (-1, CORES)])
def test_worker_threads(monkeypatch, n_jobs, workers):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = threading.active_count()
    with worker_threads(n_jobs):
        assert thread_count(n_jobs) == workers
        assert has_threads() == (workers > 1)
        assert threading.active_count() - before == workers - 1
        assert list(thread_map(np.sqrt, [1.0, 4.0])) == [1.0, 2.0]
    assert not has_threads()
    assert threading.active_count() == before


def test_what_openmp_is_told_is_for_us_too(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert (thread_count(None), thread_count(-1), thread_count(2)) == (3, CORES, 2)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_a_worker_of_joblib_has_one(monkeypatch, backend):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = Parallel(n_jobs=2, backend=backend)(delayed(thread_count)(n) for n in (None, 3))
    assert found == [1, 3]


WAIT = 60  # seconds until a test that hangs fails


def test_no_more_threads_work_than_were_set():
    """However tasks are nested, and all of them do: three meet, a fourth would be counted."""
    lock, together, at_work, most = threading.Lock(), threading.Barrier(3), 0, 0

    def task(_):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        together.wait(WAIT)
        with lock:
            at_work -= 1

    with worker_threads(3):
        list(thread_map(lambda _: list(thread_map(task, range(3))), range(3)))
    assert most == 3


def test_an_idle_thread_helps_with_the_last_task():
    together = threading.Barrier(2)  # one thread alone would wait for the other

    def inner(_):
        together.wait(WAIT)
        return threading.current_thread().name

    def outer(i):
        return set(thread_map(inner, range(2))) if i else set()

    with worker_threads(2):
        found = list(thread_map(outer, range(2)))
    assert len(found[1]) == 2


def test_what_is_not_asked_for_any_more_is_not_begun():
    begun, never = [], threading.Event()

    def task(i):
        begun.append(i)
        if i > 2:
            never.wait(0.05)  # all of them would take 12 seconds
        return i == 2

    with worker_threads(2):
        assert any(thread_map(task, range(500)))
        ended = len(begun)
    assert ended == len(begun) < 500


def test_an_error_ends_the_threads():
    with pytest.raises(ZeroDivisionError), worker_threads(2):
        list(thread_map(lambda x: 1 / x, [1, 0]))
    assert not has_threads()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, -1])
def test_results_come_in_the_order_of_arguments(n_jobs):
    gate = threading.Event()

    def first_last(i):
        if i == 0 and has_other_threads:
            gate.wait(10)
        elif i == 1:
            gate.set()
        return i * i

    with worker_threads(n_jobs):
        has_other_threads = has_threads()
        assert list(thread_map(first_last, range(9))) == [i * i for i in range(9)]


def test_tasks_may_be_nested():
    def outer(i):
        with np.errstate(over="raise" if i == 1 else "ignore"):
            return list(thread_map(lambda j: (i, j, np.geterr()["over"]), range(5)))

    with worker_threads(2):
        found = list(thread_map(outer, range(8)))
    kind = {1: "raise"}
    assert found == [[(i, j, kind.get(i, "ignore")) for j in range(5)] for i in range(8)]


def test_an_error_in_a_nested_task_is_that_of_the_whole():
    def outer(i):
        return list(thread_map(lambda j: 1 / (i - j), range(5)))

    with worker_threads(3), pytest.raises(ZeroDivisionError):
        list(thread_map(outer, range(8)))


def test_a_recorder_takes_the_place_of_threads(monkeypatch):
    seen = []

    def record(function, *arguments):
        seen.append(len(arguments[0]))
        return map(function, *arguments)

    monkeypatch.setattr(threads, "recorder", record)
    assert list(thread_map(abs, [-1, 2])) == [1, 2]
    assert seen == [2]


@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_even_chunks_hold_every_number_once_and_are_few(count, n_jobs):
    with worker_threads(n_jobs):
        found = even_chunks(count)
    assert [i for some in found for i in range(some.start, some.stop)] == list(range(count))
    assert len(found) <= (1 if n_jobs == 1 else threads.PER_THREAD * n_jobs)

"""The threads of a fit: those who ask for some have them, and their work has none of its own."""

import os
import threading

import numpy as np
import pytest

from rpte.rows import threads
from rpte.rows.threads import has_threads, thread_map, worker_threads


@pytest.mark.parametrize(("n_jobs", "workers"), [(None, 1), (1, 1), (3, 3), (-1, os.cpu_count())])
def test_worker_threads(n_jobs, workers):
    with worker_threads(n_jobs):
        pool = threads._pool.get()
        assert has_threads() == (pool is not None) == (workers > 1)
        assert pool is None or pool._max_workers == workers
        assert list(thread_map(np.sqrt, [1.0, 4.0])) == [1.0, 2.0]
    assert not has_threads()
    if pool is not None:
        with pytest.raises(RuntimeError):
            pool.submit(int)


def test_a_worker_thread_has_no_threads():
    with worker_threads(2):
        assert list(thread_map(lambda _: has_threads(), range(8))) == [False] * 8
        with worker_threads(1):
            assert has_threads()  # one thread more adds none, and takes none away


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


def test_a_task_runs_its_own_passes_in_its_thread():
    def outer(i):
        return has_threads(), list(thread_map(lambda j: i + j, range(5)))

    with worker_threads(2):
        found = list(thread_map(outer, range(8)))
    assert found == [(False, [i + j for j in range(5)]) for i in range(8)]


def test_a_single_task_leaves_the_threads_to_its_passes():
    with worker_threads(2):
        assert list(thread_map(lambda _: has_threads(), [0])) == [True]
        assert list(thread_map(lambda _: has_threads(), [0, 1])) == [False, False]

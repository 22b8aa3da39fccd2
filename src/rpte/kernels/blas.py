"""BLAS on one thread, so that no sum depends on the number of threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries of this process, once: it takes milliseconds."""
    return ThreadpoolController()


_lock = Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that no sum depends on the number of threads.

    The limit belongs to the process. It is counted, so that one of several Python threads in here
    at the same time does not lift it for the others.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Hold what scikit-learn compiles to one thread in here: the limit is that of the caller's."""
    with threadpool_limits(limits=1, user_api="openmp"):
        yield

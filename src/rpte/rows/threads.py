"""The threads of a fit: set once by whoever fits, used by every pass.

No result depends on how many there are: each task writes its own place, or is added up in order.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

# A worker thread sees none, so that its own passes run in it and never wait for each other.
_pool: ContextVar[ThreadPoolExecutor | None] = ContextVar("rpte_threads", default=None)


@contextmanager
def worker_threads(n_jobs: int | None) -> Iterator[None]:
    """Let passes use `n_jobs` threads in here (None or 1: no others; -1: every core)."""
    count = 1 if n_jobs is None else (os.cpu_count() or 1) if n_jobs < 0 else n_jobs
    if count == 1:
        yield
        return
    with ThreadPoolExecutor(count) as pool:
        token = _pool.set(pool)
        try:
            yield
        finally:
            _pool.reset(token)


def has_threads() -> bool:
    """Tell whether there is more than one thread."""
    return _pool.get() is not None


def thread_map(function: Callable[..., T], *arguments: Sequence[object]) -> Iterator[T]:
    """Map a function over arguments, results in their order, in threads where there are any.

    A single task runs in the thread that asks, so that its own passes may use the others.
    """
    pool = _pool.get()
    if pool is None or len(arguments[0]) < 2:
        return map(function, *arguments)
    return pool.map(function, *arguments)

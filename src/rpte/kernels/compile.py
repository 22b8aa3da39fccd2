"""How kernels are compiled, announced and spread over threads."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numba

logger = logging.getLogger("rpte")
F = TypeVar("F", bound=Callable[..., Any])

_announced = False


def kernel(function: F) -> F:
    """Compile `function` lazily with an on-disk cache, without the GIL.

    The first compilation of a process is announced once in the log, because it takes seconds.
    """
    compiled = numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function)
    stats = getattr(compiled, "stats", None)
    if stats is None:  # NUMBA_DISABLE_JIT=1: njit returned the function itself
        return function
    pattern = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-*.nbi"
    announced = False

    @wraps(function)
    def call(*args: Any) -> Any:
        nonlocal announced
        if not announced:
            announced = True
            _announce(Path(compiled.stats.cache_path), pattern)
        return compiled(*args)

    call.compiled = compiled  # type: ignore[attr-defined]  # kernels call each other through this
    return call  # type: ignore[return-value]


def inner(function: Any) -> Any:
    """Return the compiled form of a kernel for use in another (itself when JIT is off)."""
    return getattr(function, "compiled", function)


def _announce(cache: Path, pattern: str) -> None:
    """Log, once per process, that a kernel without a cached binary is about to be compiled."""
    global _announced
    if _announced or (cache.is_dir() and any(cache.glob(pattern))):
        return
    _announced = True
    logger.info("rpte compiles its kernels on first use (about half a minute, then cached)")


@contextmanager
def worker_threads(n_jobs: int | None) -> Iterator[ThreadPoolExecutor | None]:
    """Yield a pool for `n_jobs` threads (None or 1: no pool; -1: every core)."""
    count = 1 if n_jobs is None else (os.cpu_count() or 1) if n_jobs < 0 else n_jobs
    if count == 1:
        yield None
        return
    with ThreadPoolExecutor(count) as pool:
        yield pool

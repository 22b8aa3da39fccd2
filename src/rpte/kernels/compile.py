"""How kernels are compiled and announced."""

import logging
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.extending import overload, register_jitable

logger = logging.getLogger("rpte")
F = TypeVar("F", bound=Callable[..., Any])

_announced = False
OPTIONS = {"nogil": True, "fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile `function` lazily with an on-disk cache, without the GIL.

    Kernels may call each other: the one that is called becomes part of the one that calls.

    The first compilation of a process is announced once in the log, because it takes seconds. So no
    kernel puts an array into a slice (a loop does it: numba compiles the text of an error about
    shapes for seconds) or sorts by numpy (`rpte.kernels.codes.stable_order`).
    """
    compiled = numba.njit(**OPTIONS)(function)
    if not hasattr(compiled, "stats"):  # NUMBA_DISABLE_JIT=1: njit returned the function itself
        return function
    ready = False

    @wraps(function)
    def call(*args: Any) -> Any:
        nonlocal ready
        if not ready:
            compiled.enable_caching()
            if READS_LEAN:
                compiled._cache = KernelCache(function)
            _announce(Path(compiled.stats.cache_path), function)
            ready = True
        try:
            return compiled(*args)
        except SystemError as error:
            if _is_interrupt(error):  # numba returned in spite of it
                raise KeyboardInterrupt from error
            raise

    @overload(call, jit_options=OPTIONS, strict=False)  # type: ignore[untyped-decorator]
    def in_kernel(*args: Any) -> Any:
        return function

    return call  # type: ignore[return-value]


def jitable(function: F) -> F:
    """Let kernels call a function that nobody else calls; in Python it runs as it is written."""
    registered: F = register_jitable(**OPTIONS)(function)
    return registered


def _is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an interrupt is what an error comes from, through however many others."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled kernels on disk, read without what only a compiler needs.

    Before numba reads a kernel it loads all that it knows of types and their operations, a quarter
    of a second in every process. Kernels that are on disk need none of this but the counting of
    references.

    A kernel holds those that it calls, which may lie in other files: numba would notice a change of
    its own file only, so the stamp is that of all files in this folder.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        held: Any = getattr(self, "_cache_file", None)
        if hasattr(held, "_source_stamp"):
            held._source_stamp = held._source_stamp, _hash_of_sources()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for a signature, None if it has yet to be compiled."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is not None:
                return found
        return super().load_overload(sig, target_context)


# What the above rests on; numba's own cache serves where a version of it lacks one of these.
READS_LEAN = all(
    hasattr(FunctionCache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors")
) and hasattr(rtsys, "initialize")


@cache
def _hash_of_sources() -> str:
    """Hash the source of all kernels."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _announce(folder: Path, function: Callable[..., Any]) -> None:
    """Log, once per process, that a kernel without a cached binary is about to be compiled."""
    global _announced
    pattern = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-*.nbi"
    if _announced or (folder.is_dir() and any(folder.glob(pattern))):
        return
    _announced = True
    logger.info("rpte compiles its kernels on first use (about half a minute, then cached)")

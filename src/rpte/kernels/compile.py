"""How kernels are compiled and announced."""

import logging
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import overload, register_jitable

from rpte.kernels.compiled import compiled_kernels, hash_of_sources

logger = logging.getLogger("rpte")
F = TypeVar("F", bound=Callable[..., Any])

_announced = False
_called: list[Any] = []  # kernels that were called in this process, as numba holds them
OPTIONS = {"nogil": True, "fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile `function` lazily, unless it is found compiled, without the GIL.

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
            if READS_LEAN:
                compiled._cache = KernelCache(function)
            else:
                compiled.enable_caching()
            _called.append(compiled)
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


def code_of_called() -> dict[str, bytes]:
    """Return the code of the kernels that this process compiled, by name and types of arguments."""
    return {
        _name(kernel.py_func, types): dumps(result._reduce())
        for kernel in _called
        for types, result in kernel.overloads.items()
    }


def _name(function: Callable[..., Any], types: tuple[Any, ...]) -> str:
    return f"{function.__module__}.{function.__qualname__}{types}"


class KernelCache(NullCache):  # type: ignore[misc]
    """Where a kernel is looked for before it is compiled, and kept afterwards.

    First among those that come compiled, then in numba's own cache on disk, in the `folder`; where
    no folder can be written, it is compiled in every process.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @cached_property
    def folder(self) -> Any:
        """Numba's cache on disk."""
        try:
            return FolderCache(self.function)
        except RuntimeError:  # no folder to write to
            return NullCache()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for types of arguments, None if it has yet to be compiled."""
        rtsys.initialize(target_context)
        found = compiled_kernels().read(_name(self.function, sig))
        if found is not None:
            return CompileResult._rebuild(target_context, *found)
        found = self.folder.load_overload(sig, target_context)
        if found is None:
            _announce(self.function)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel that was compiled."""
        self.folder.save_overload(sig, data)


class FolderCache(FunctionCache):  # type: ignore[misc]
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
            held._source_stamp = held._source_stamp, hash_of_sources()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for a signature, None if it has yet to be compiled."""
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is not None:
                return found
        return super().load_overload(sig, target_context)


# What the above rests on; numba's own cache serves where a version of it lacks one of these.
READS_LEAN = (
    all(
        hasattr(FunctionCache, name)
        for name in ("_load_overload", "_guard_against_spurious_io_errors")
    )
    and all(hasattr(CompileResult, name) for name in ("_reduce", "_rebuild"))
    and hasattr(rtsys, "initialize")
)


def _announce(function: Callable[..., Any]) -> None:
    """Log, once per process, that a kernel is about to be compiled, and why."""
    global _announced
    if _announced:
        return
    _announced = True
    kernels = compiled_kernels()
    what = "its kernels on first use (about half a minute, then cached)"
    if kernels.path is not None:
        what = f"a kernel for a new kind of call (seconds, then cached): {function.__name__}"
    elif kernels.refused:
        what = f"{what}: {kernels.refused}"
    logger.info("rpte compiles %s", what)

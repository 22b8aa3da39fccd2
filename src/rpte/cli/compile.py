"""`rpte compile`: the kernels compiled beforehand, so that no first fit has to."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpte.cli.options import AsJson, MaybePath, option, output_option
from rpte.cli.terminal import FAILED, print_found, progress, say
from rpte.errors import InputError
from rpte.utils.output import check_output, is_stream

if TYPE_CHECKING:
    from rpte.kernels.compiled import CompiledKernels

PACKAGE = Path(__file__).parents[1]


def compile(
    output: Annotated[
        MaybePath,
        output_option("Another file, such as one for a wheel; it is not looked for there."),
    ] = None,
    check: Annotated[bool, option("Compile nothing; say what is ready.", "--check")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile the kernels, so that no first fit has to.

    They lie in one file in the installed package or, where that cannot be written, in the user's
    cache of numba. Where kernels are ready already, as in a wheel that came with them, nothing is
    compiled. With --check, the exit code is 1 where none are ready.

    Example: rpte compile
    """
    from rpte.kernels.compiled import compiled_kernels, opened

    check_output(output)
    if output is not None and is_stream(output):
        raise InputError(f"{output} is a device or a pipe; kernels are read again: name a file")
    found, seconds = compiled_kernels(), 0.0
    if not check and (output is not None or found.path is None):
        path, start = output or _place(), time.perf_counter()
        with progress("compiling the kernels"):
            _compile_to(path)
        found, seconds = opened(path), time.perf_counter() - start
    _tell(found, seconds, as_json)
    if found.path is None:
        raise typer.Exit(FAILED)


def _place() -> Path:
    """Return where compiled kernels are looked for and can be written."""
    from rpte.kernels.compiled import places

    own, users = places()
    if os.access(own.parent, os.W_OK):
        return own
    users.parent.mkdir(parents=True, exist_ok=True)
    return users


def _compile_to(path: Path) -> None:
    """Compile all kernels in a new process: numba reads for which processor when it is imported."""
    from rpte.kernels.compiled import compiling

    command = [sys.executable, "-P", "-W", "ignore", "-m", "rpte.estimators.first_fits", str(path)]
    kept = os.environ.get("PYTHONPATH")
    with compiling() as settings:
        paths = os.pathsep.join([str(PACKAGE.parent), *([kept] if kept else [])])
        environment = {**os.environ, **settings, "PYTHONPATH": paths}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "it was ended").splitlines()[-1]
        say(f"error: the kernels could not be compiled: {last}")
        raise typer.Exit(FAILED)


def _tell(found: CompiledKernels, seconds: float, as_json: bool) -> None:
    """Say what is ready and where, how long it took, or why nothing is."""
    from rpte.kernels.compiled import environment

    record = {
        "ready": found.path is not None,
        "file": None if found.path is None else str(found.path),
        "kernels": len(found.entries),
        "seconds": round(seconds, 1),
        "here": environment(),
        "refused": found.refused or None,
    }
    if found.path is None:
        text = f"No compiled kernels are ready{': ' * bool(found.refused)}{found.refused}"
    else:
        took = f"compiled in {seconds:.0f} s" if seconds else "ready"
        size = found.path.stat().st_size / 1e6
        text = f"{len(found.entries)} kernels are {took}: {found.path} ({size:.1f} MB)"
    print_found(as_json, record, text)

"""Run what was exported in other programs."""

import json
import shutil
import subprocess

import numpy as np

from rpte.errors import InputError
from rpte.export.cells import Cells
from rpte.export.target import CannotRunError
from rpte.utils.arrays import Floats


def run_rows(command: list[str], cells: Cells) -> dict[str, Floats]:
    """Give a program one JSON row per line, and return the lines that it answers in JSON."""
    rows = "\n".join(json.dumps(row) for row in cells.rows())
    found = [json.loads(line) for line in run_program(command, rows).splitlines()]
    names = found[0] if found else {}
    return {name: np.array([answer[name] for answer in found], np.float64) for name in names}


def run_program(command: list[str], given: str = "", seconds: float | None = None) -> str:
    """Return what a program prints for some input, refusing the export if it fails."""
    done = subprocess.run(
        command, input=given, capture_output=True, encoding="utf-8", check=False, timeout=seconds
    )
    if done.returncode:
        raise failure(command[0], done.stderr)
    return done.stdout


def failure(program: str, said: str) -> InputError:
    """Return the error for an export that a program cannot run: its last words."""
    words = (said.strip().splitlines() or ["it said nothing"])[-1]
    return InputError(f"{program} could not run the export: {words}; nothing was written")


def find_program(*names: str) -> str:
    """Return the path of the first program that is installed."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise CannotRunError(f"{' or '.join(names)} is not on the PATH")

"""Run what was exported in other programs."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.export.cells import Cells
from rpte.export.classes import CHOSEN, class_keys, class_numbers
from rpte.export.form import Form
from rpte.export.target import CannotRunError
from rpte.utils.arrays import Floats


def run_rows(command: list[str], form: Form, cells: Cells) -> dict[str, Floats]:
    """Give a program one JSON row per line, and return the lines that it answers in JSON."""
    rows = "\n".join(json.dumps(row) for row in cells.rows())
    # JSON may hold U+2028 and others that `splitlines` takes for the end of a line.
    answers = [json.loads(line) for line in run_program(command, rows).split("\n") if line.strip()]
    found = [_lines_of(form, answer) for answer in answers]
    names = found[0] if found else {}
    lines = {name: np.array([answer[name] for answer in found], np.float64) for name in names}
    if form.classes:
        lines[CHOSEN] = class_numbers(form, [answer["class"] for answer in answers])
    return lines


def _lines_of(form: Form, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines that a program tells of a row, by name."""
    if not form.classes:
        others = {name: value for name, value in answer.items() if name != "contributions"}
        return {**answer["contributions"], **others}
    lines = {}
    for label, key in zip(map(str, form.classes), class_keys(form.classes), strict=True):
        lines[f"score_{key}"] = answer["scores"][label]
        lines[f"probability_{key}"] = answer["probabilities"][label]
        lines |= {f"{name}_{key}": part for name, part in answer["contributions"][label].items()}
    return lines


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

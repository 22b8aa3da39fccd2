"""Ctrl-C at random moments: one line, exit code 130, nothing half-written."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from hostile_cases.case import Case, Result

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "utils"))

from test_interrupts import COMMANDS, CREDIT, STARTED, STUBBORN, interrupted

from command_tables import called, credit, write_csv

AT_ONCE = 2


@contextmanager
def _stored() -> Iterator[tuple[Path, Path, Path]]:
    """Yield a folder, a table and a model of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, model = write_csv(credit(300), folder / "t.csv"), folder / "m.json"
        done = called("fit", table, *CREDIT, "-o", model, "--folds", 0, "--paper")
        if done.returncode:
            raise RuntimeError(done.stderr)
        yield folder, table, model


def _fault(folder: Path, command: str, table: Path, model: Path, delay: float, times: int) -> str:
    """Interrupt a command once or more and return what is wrong with how it ended."""
    folder.mkdir()
    code, _, err = interrupted(STARTED, COMMANDS[command](table, model, folder), delay, times)
    files = [path.name for path in folder.iterdir()]
    said = f"{command} after {delay:.2f} s: code {code}, {err!r}, {files}"
    if any(name.endswith(".part") for name in files):
        return said
    if code == 0:  # it was faster
        return ""
    lines = [line for line in err.splitlines() if not line.startswith(("note: ", "hint: "))]
    one = len(lines) == 1 and lines[0].startswith("interrupted: ")
    true = ("nothing was written" in err) == (not files)
    return "" if code == 130 and one and true else said


def commands(seed: int, names: tuple[str, ...], trials: int, longest: float) -> Result:
    """Interrupt commands at random moments of their run."""
    moments, result = random.Random(seed), Result()
    with _stored() as (folder, table, model), ThreadPoolExecutor(AT_ONCE) as pool:
        ended = [
            pool.submit(
                *(_fault, folder / str(number), names[number % len(names)], table, model),
                *(moments.uniform(0.0, longest), 1 + number % 2),
            )
            for number in range(trials)
        ]
        for future in ended:
            result.expect(not future.result(), future.result())
    return result


def lost_exceptions(seed: int) -> Result:
    """Code that swallows what Ctrl-C raises, or raises something else instead."""
    result = Result()
    answers = ("pass", "raise SystemError('hidden') from error", "raise OSError('x') from None")
    for answer in answers:
        code, _, err = interrupted(STUBBORN.format(answer=answer), (), 0.05)
        right = code == 130 and err == "interrupted: nothing was written\n"
        result.expect(right, f"{answer}: code {code}, {err!r}")
    return result


CASES = [
    Case("Ctrl-C in rpte fit", lambda seed: commands(seed, ("fit",), 32, 2.0)),
    Case("Ctrl-C in rpte fit --paper", lambda seed: commands(seed, ("paper",), 24, 1.5)),
    Case(
        "Ctrl-C in rpte score, report, verify",
        lambda seed: commands(seed, ("score", "report", "verify"), 24, 1.5),
    ),
    Case("an interrupt that a library swallows", lost_exceptions),
]

"""Ctrl-C at random moments: one line, exit code 130, nothing half-written."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from hostile_cases.case import Case, Result

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "utils"))

from test_interrupts import CREDIT, STUBBORN, at_moments, ended_well, interrupted

from command_tables import called, credit, write_csv

TRIALS = 12  # of each command


def commands(names: tuple[str, ...], seed: int) -> Result:
    """Interrupt commands at random moments of their run."""
    result = Result()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, model = write_csv(credit(300), folder / "t.csv"), folder / "m.json"
        done = called("fit", table, *CREDIT, "-o", model, "--folds", 0, "--paper")
        if done.returncode:
            raise RuntimeError(done.stderr)
        for ended in at_moments((table, model), folder, names, TRIALS, seed):
            result.expect(ended_well(*ended), str(ended))
    return result


def lost_exceptions(_: int) -> Result:
    """Code that swallows what Ctrl-C raises, or raises something else instead."""
    result = Result()
    answers = ("pass", "raise SystemError('hidden') from error", "raise OSError('x') from None")
    for answer in answers:
        code, _, err = interrupted(STUBBORN.format(answer=answer), 0.1)
        right = code == 130 and err == "interrupted: nothing was written\n"
        result.expect(right, f"{answer}: code {code}, {err!r}")
    return result


CASES = [
    Case("Ctrl-C in rpte fit", partial(commands, ("fit",))),
    Case("Ctrl-C in rpte fit --paper", partial(commands, ("paper",))),
    Case("Ctrl-C in rpte score, report, verify", partial(commands, ("score", "report", "verify"))),
    Case("an interrupt that a library swallows", lost_exceptions),
]

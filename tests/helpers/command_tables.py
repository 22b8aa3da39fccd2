"""Tables in files as people have them, and the command as they call it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer import testing
from typer.testing import CliRunner

import rpte
from rpte.cli import app

SOURCE = str(Path(rpte.__file__).parents[1])
# The runner builds all commands with their options anew at each call, half of the time that a
# short command takes.
testing._get_command = cache(testing._get_command)
SECONDS = 600.0  # after which a process counts as stuck, on a machine however busy
QUICK = ("--l1", "4/n", "--folds", "0")


def run(*arguments, width=120):
    """Call the command inside this process; standard output and error stay apart."""
    env = {"COLUMNS": str(width), "TERM": "dumb"}
    return CliRunner().invoke(app, [str(a) for a in arguments], env=env)


def good(*arguments, width=120):
    """Call the command, which must succeed, and return what it prints."""
    outcome = run(*arguments, width=width)
    assert outcome.exit_code == 0, outcome.output or outcome.exception
    return outcome.stdout


def refused(*arguments):
    """Call the command, which must end in one line and exit code 1, and return the line."""
    outcome = run(*arguments)
    assert outcome.exit_code == 1, outcome.output
    *notes, line = outcome.stderr.splitlines()
    assert line.startswith("error: "), outcome.stderr
    assert all(note.startswith("note: ") for note in notes)
    assert outcome.stdout == ""
    return line


def called(*arguments, **options):
    """Call the installed command in a process of its own."""
    command = [sys.executable, "-m", "rpte", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "120"}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, **options)


def started(*arguments, env=(), **options):
    """Start the command in a process that Ctrl-C reaches, even if the tests run in the background.

    A shell starts background jobs with SIGINT ignored, which their children inherit.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "rpte", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": SOURCE, **dict(env)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def file_of_folder(name):
    """Return a fixture: a file of the fixture `folder` of the same module."""
    return pytest.fixture(scope="module")(lambda folder: folder / name)


def credit(n=400, seed=3):
    """Return a table of loans: case numbers, codes, special codes, gaps and the outcome."""
    rng = np.random.default_rng(seed)
    age = rng.integers(19, 75, n)
    income = rng.lognormal(7.5, 0.5, n).round()
    job = rng.choice(
        ["fixed", "free lance", "part time, seasonal", "other"], n, p=[0.5, 0.2, 0.2, 0.1]
    )
    branch = rng.choice(["001", "007", "012"], n)
    debts = rng.integers(0, 9, n)
    signal = 0.04 * (40 - age) + 1.2 * (job == "free lance") - 0.0006 * (income - 1800)
    signal += 0.25 * debts + 0.8 * (branch == "007") - 1.4
    bad = rng.random(n) < 1 / (1 + np.exp(-signal))
    frame = pd.DataFrame(
        {
            "case": [f"{k:05d}" for k in range(1, n + 1)],
            "age": age.astype(object),
            "income [EUR]": income,
            "job": job,
            "branch": branch,
            "debts": debts,
            "outcome": np.where(bad, "bad", "good"),
            "weight": rng.integers(1, 3, n),
        }
    )
    frame.loc[rng.random(n) < 0.08, "age"] = -9
    frame.loc[rng.random(n) < 0.05, "age"] = "unknown"
    frame.loc[rng.random(n) < 0.1, "income [EUR]"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame


def write_csv(frame, path, delimiter=";", encoding="utf-8-sig"):
    """Write a table as a spreadsheet would."""
    frame.to_csv(path, sep=delimiter, index=False, encoding=encoding)
    return path


CREDIT = (
    *("--target", "outcome", "--positive", "bad", "--id-column", "case"),
    *("--weight-column", "weight", "--special", "age=-9,unknown"),
)


def policies(n=300, seed=0):
    """Return a table of insured policies: years at risk, claims, and what they cost."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "policy": [f"A{k:03d}" for k in range(1, n + 1)],
            "age": rng.integers(18, 80, n),
            "zone": rng.choice(["north", "south", "east"], n),
            "years": rng.uniform(0.2, 2.0, n).round(2),
            "known": rng.normal(0.0, 0.2, n).round(3),
        }
    )
    rate = np.exp(-0.5 + 0.03 * (40 - frame["age"]).clip(0) + 0.8 * (frame["zone"] == "south"))
    frame["claims"] = rng.poisson(frame["years"] * rate * np.exp(frame["known"]))
    frame["cost"] = (rng.gamma(2.0, 200.0, n) * frame["claims"]).round(2)
    return frame

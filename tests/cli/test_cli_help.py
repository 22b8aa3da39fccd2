"""Help fits a screen and shows an example that works; all of it is there where it is asked for."""

from __future__ import annotations

import glob
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from rpte.cli import GROUPS, app
from rpte.cli.help import (
    A_CALL,
    ALL,
    FIRST_SCREEN,
    VALUE_OF,
    examples,
    is_argument,
    option_name,
    paragraphs,
    value_word,
    whole_help,
)

SCREEN_LINES, SCREEN_COLUMNS = 40 - 2, 80  # beside the call and the next prompt
COMMANDS = typer.main.get_command(app).commands
NAMES = sorted(COMMANDS)
each = pytest.mark.parametrize("name", NAMES)


def printed(*words, width=SCREEN_COLUMNS):
    outcome = CliRunner(env={"COLUMNS": str(width)}).invoke(app, list(words))
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def fits(text):
    lines = text.splitlines()
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= SCREEN_COLUMNS


def test_the_overview_fits_a_screen_with_a_line_for_each_command():
    text = printed("--help")
    fits(text)
    assert "\nExample: rpte fit " in text
    for name in NAMES:
        assert re.search(rf"^  {name}  +{re.escape(paragraphs(COMMANDS[name])[0])}$", text, re.M)
    assert [head for head in GROUPS if f"\n{head}\n" not in text] == []


@each
def test_help_fits_a_screen_and_shows_an_example(name):
    text = printed(name, "--help")
    fits(text)
    assert f"Example:\n  rpte {name}" in text
    assert text.startswith(f"Usage: rpte {name} ")


@each
def test_help_all_leaves_nothing_out(name):
    text = " ".join(printed(name, ALL).replace("\\\n", "").split())
    for paragraph in paragraphs(COMMANDS[name]):
        assert paragraph in text
    for parameter in COMMANDS[name].params:
        if not is_argument(parameter):
            assert f"--{option_name(parameter)}" in text
        assert " ".join((parameter.help or "").split()) in text


@each
def test_help_that_leaves_something_out_says_so(name):
    text, everything = (printed(name, flag) for flag in ("--help", ALL))
    assert (text.strip() == everything.strip()) != (f"rpte {name} {ALL}" in text)


@each
@pytest.mark.parametrize("width", [20, 60, 300])
def test_help_suits_other_widths(name, width):
    lines = printed(name, "--help", width=width).splitlines()
    assert max(map(len, lines)) <= max(60, min(width, 100))


def test_help_all_needs_no_arguments_and_runs_nothing():
    assert "Larger than memory" in printed("fit", ALL)
    assert printed("fit", ALL) == printed("fit", "no.csv", "-o", "no.json", ALL)


@each
def test_every_value_has_a_word(name):
    valued = [p for p in COMMANDS[name].params if not is_argument(p) and not p.is_flag]
    assert all(value_word(name, p).isupper() for p in valued)


def test_no_word_and_no_name_is_idle():
    every = {option_name(p) for c in COMMANDS.values() for p in c.params}
    assert set(VALUE_OF) <= every
    for name, shown in FIRST_SCREEN.items():
        assert set(shown.split()) <= {option_name(p) for p in COMMANDS[name].params}
        assert len(whole_help(COMMANDS[name])) > 30


@each
def test_examples_are_calls_that_parse(name):
    calls = examples(COMMANDS[name])
    assert calls
    for program, command, *words in calls:
        assert (program, command) == ("rpte", name)
        words = words[: words.index(">")] if ">" in words else words
        COMMANDS[name].make_context(name, words)


def test_what_looks_like_an_example_is_one():
    """A paragraph that holds a call is drawn as one: nothing is hidden in running text."""
    for command in COMMANDS.values():
        for paragraph in paragraphs(command):
            assert bool(A_CALL.match(paragraph)) == bool(re.search(r": rpte [a-z]+\b", paragraph))


def tables(folder):
    """Write the tables that the examples name."""
    random = np.random.default_rng(0)
    n = 240
    loans = pd.DataFrame(
        {
            "case": [f"A-{1000 + k}" for k in range(n)],
            "age": random.integers(20, 70, n),
            "income": random.integers(1000, 6000, n),
            "job": random.choice(["free lance", "employed"], n),
            "sex": random.choice(["f", "m"], n),
        }
    )
    risk = 1.5 - loans["income"] / 1500 + 0.03 * (loans["age"] - 45) + (loans["job"] == "employed")
    loans["bad"] = np.where(random.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    (folder / "key").write_bytes(bytes(32))
    loans.to_csv(folder / "loans.csv", index=False)
    loans.to_csv(folder / "cases.csv", index=False)
    loans.to_csv(folder / "table.csv", index=False)
    loans.rename(columns={"bad": "outcome"}).to_csv(folder / "test.csv", index=False)
    claims = loans[["age", "income", "job"]].assign(years=random.uniform(0.2, 1, n).round(2))
    claims["claims"] = random.poisson(claims["years"] * claims["age"] / 60)
    claims.to_csv(folder / "policies.csv", index=False)
    claims.assign(age=claims["age"] + 1).to_csv(folder / "kept.csv", index=False)


def call(words):
    """Run a call as a shell would."""
    words = words[1 : words.index(">")] if ">" in words else words[1:]
    given = [path for word in words for path in (sorted(glob.glob(word)) or [word])]  # noqa: PTH207
    return printed(*given, width=200)


@pytest.mark.slow(reason="runs the examples of all commands, two default fits among them")
def test_the_first_examples_work_in_order(tmp_path, monkeypatch):
    """Those of `demo` and `compile`, which read nothing, are run by tests of their own."""
    tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    first = {name: examples(COMMANDS[name])[0] for name in NAMES}
    call([*first["fit"], "--folds", "0", "--id-column", "case"])
    for copy in ("old.json", "new.json"):
        shutil.copy("model.json", copy)
    head = call(first["decide"]).split()[-1]
    first["replay"][first["replay"].index("--head") + 1] = head
    own = {"fit", "decide", "calibrate", "demo", "compile"}
    for name in NAMES:
        if name not in own:
            assert call(first[name])
    printed("fit", "policies.csv", "--target", "claims", "--task", "count", "--exposure", "years",
            "--l1", "0.05", "--folds", "0", "-o", "model.json")  # fmt: skip
    call(first["calibrate"])
    written = {path.name for path in tmp_path.iterdir()}
    assert {"scores.csv", "report.html", "model.sql", "edited.json", "with.json"} <= written

"""The committed results: whole, and docs/paper.md is what they say."""

from __future__ import annotations

import re
import runpy
import shutil
import sys

import pytest
from made_sets import ROOT

from experiments import published
from experiments.report import PAGE, report, without_marks
from experiments.results import FILES, RESULTS, Results, check
from experiments.store import fingerprint
from experiments.tables import SECTIONS
from experiments.tables.coverage import stale_models, stale_note

pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="no results are committed yet")


def test_committed_results_are_whole():
    assert check(RESULTS) == []


@pytest.mark.slow(reason="reads all committed results")
def test_the_page_is_what_the_committed_results_say():
    """After a change: python -m experiments report."""
    page = PAGE.read_text(encoding="utf-8")
    assert without_marks(report(RESULTS)) == without_marks(page)
    for picture in re.findall(r"\((paper/\w+\.svg)\)", page):
        assert (PAGE.parent / picture).exists()


def test_results_older_than_their_sources_are_marked(tmp_path):
    for name in (*FILES, "checksums.json"):
        shutil.copy(RESULTS / name, tmp_path / name)
    path = tmp_path / "units.csv"
    path.write_text(path.read_text().replace(fingerprint("peer"), "0" * 16))
    results = Results(tmp_path)
    stale = stale_models(results)
    assert stale["performance xgboost"] == (results.done["model"] == "xgboost").sum()
    assert "**stale**" in stale_note(results)


@pytest.mark.slow(reason="reads all committed results")
def test_every_published_table_has_its_section():
    text = "".join(make(Results(RESULTS)).title for make in SECTIONS.values())
    for number in (*range(3, 16),):
        assert re.search(rf"\b{number}\b", text) or 3 <= number <= 7
    assert set(published.SETS) <= set(Results(RESULTS).units["table"]) | {"eeg_seizure"}


def test_the_command_line_names_what_there_is(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["experiments", "table", "nothing"])
    with pytest.raises(SystemExit, match="no table"):
        runpy.run_module("experiments", run_name="__main__")
    monkeypatch.setattr(sys, "argv", ["experiments", "table", "coverage"])
    runpy.run_module("experiments", run_name="__main__")
    assert "## What was run" in capsys.readouterr().out

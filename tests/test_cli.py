"""The command line, as a user meets it."""

import re

import pytest
from typer.testing import CliRunner

from rpte.cli import app
from rpte.model.model import Model
from rpte.model.verify import Check

runner = CliRunner()


@pytest.fixture(scope="module")
def shown():
    outcome = runner.invoke(app, ["demo"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_help_names_the_commands():
    outcome = runner.invoke(app, ["--help"])
    assert outcome.exit_code == 0
    assert "demo" in outcome.output
    assert "breast cancer" in outcome.output
    assert runner.invoke(app, ["demo", "--help"]).exit_code == 0


def test_no_command_is_a_request_for_help():
    outcome = runner.invoke(app, [])
    assert "Usage" in outcome.output
    assert "demo" in outcome.output


def test_an_unknown_command_fails():
    assert runner.invoke(app, ["dance"]).exit_code == 2


def test_demo_shows_both_models_whole(shown):
    assert "The default, whole" in shown
    assert "The published configuration, whole" in shown
    assert shown.count("log odds of malignant against benign") == 2
    assert len(re.findall(r"^\s*intercept [+-]\d", shown, re.MULTILINE)) == 2
    assert re.search(r"T1\b", shown)
    assert re.search(r"T1\.L1\s+[+-]?\d", shown)
    assert re.search(r"D1\s+[+-]\d\S*\s+\S", shown)


def test_demo_takes_a_prediction_apart(shown):
    blocks = shown.split("The first held-out patient")[1:]
    assert len(blocks) == 2
    for block in blocks:
        head, total = block.split("-------")[:2]
        adds = [float(n) for n in re.findall(r"^\s*([+-]\d\S*|0)\s+\S", head, re.MULTILINE)]
        score = float(re.search(r"([+-]\d\S*)\s+score; probability of malignant", total)[1])
        assert len(adds) > 3
        assert sum(adds) == pytest.approx(score, abs=0.01)


def test_demo_shows_the_load_beside_its_bound(shown):
    assert all(word in shown for word in ("MU", "MIU", "IIU", "bound", "held-out AUC"))
    rows = re.findall(
        r"^(default|published configuration)\s+(\d+)\s+(\d+)\s+\S+\s+(\d+)\s+(0\.\d+)",
        shown,
        re.MULTILINE,
    )
    assert [row[0] for row in rows] == ["default", "published configuration"]
    for _, terms, conditions, bound, auc in rows:
        assert 0 < int(terms) <= int(conditions) < int(bound)
        assert float(auc) > 0.95


def test_demo_mentions_what_else_could_have_been_chosen(shown):
    assert re.search(r"among models of 0 to \d+ conditions: see clf.frontier_", shown)


def test_demo_shows_every_guarantee_and_that_it_holds(shown):
    assert shown.count("What was verified") == 2
    assert len(re.findall(r"^holds\s", shown, re.MULTILINE)) == 34
    assert "FAILS" not in shown
    for claim in ("leaves partition", "ownership", "bound", "contributions sum", "optimality"):
        assert claim in shown


def test_demo_fails_when_a_guarantee_does(monkeypatch):
    monkeypatch.setattr(Model, "verify", lambda *a: [Check("honesty", False, "none")])
    outcome = runner.invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 1
    assert re.search(r"FAILS\s+honesty\s+none", outcome.output)

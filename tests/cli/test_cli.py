"""The command line, as a user meets it."""

import re

import pytest
from typer.testing import CliRunner

from rpte.cli import app
from rpte.model.model import Model
from rpte.model.verify import Check

runner = CliRunner()


SCREEN = 40  # lines


def demo(*options, columns=80):
    environment = {"COLUMNS": str(columns), "TERM": "dumb"}
    outcome = runner.invoke(app, ["demo", *options], env=environment)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


@pytest.fixture(scope="module")
def shown():
    return demo()


@pytest.fixture(scope="module")
def published():
    return demo("--published", columns=120)


def test_help_names_the_commands():
    outcome = runner.invoke(app, ["--help"])
    assert outcome.exit_code == 0
    assert "demo" in outcome.output
    assert runner.invoke(app, ["demo", "--help"]).exit_code == 0


def test_no_command_is_a_request_for_help():
    outcome = runner.invoke(app, [])
    assert "Usage" in outcome.output
    assert "demo" in outcome.output


def test_an_unknown_command_fails():
    assert runner.invoke(app, ["dance"]).exit_code == 2


def test_demo_fits_a_screen(shown):
    lines = shown.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80


def test_demo_shows_the_default_model(shown):
    assert shown.startswith("The default model of 3,000 patients: ")
    assert re.search(r"\d+ terms?, \d+ conditions? to read", shown)
    assert "The table is made up: harm rises with age and smoking" in shown
    text = " ".join(shown.split())
    ours, published = re.findall(r"AUC (0\.\d+) on 1,000 patients not seen", text)
    assert float(ours) > 0.78
    assert re.search(rf"The published configuration: \d+ conditions, AUC {published}", text)


def test_demo_shows_a_tree_beside_shapes(shown):
    tree = shown[shown.index("dose, kidney") :].split("\nC")[0]
    assert re.search(r"T1\n.*dose (<=|>) \d+", tree)
    assert re.search(r"kidney (<=|>) \d+.* T1\.L\d +[+-]\d", tree)
    assert re.search(r"^C\d  age\n.*age: [+-].*(rises|falls) to .*\n.*D\d", shown, re.MULTILINE)
    assert re.search(r"T1\.L\d .*kidney", shown[shown.index("A patient") :])


def test_demo_shows_the_published_configuration_instead(published):
    assert published.startswith("The published configuration of 3,000 patients: ")
    assert "log odds of outcome = harmed against well: the sum of" in published
    assert re.search(r"T1\.L1\s+[+-]\d", published)
    assert re.search(r"D1\s+[+-]\d\S*\s+\S", published)
    assert "The default" not in published


def test_demo_prints_no_noise_of_binary_fractions(published):
    digits = [d.replace(".", "").lstrip("0") for d in re.findall(r"\d+\.\d+", published)]
    assert max(map(len, digits)) <= 8


@pytest.mark.parametrize("name", ["shown", "published"])
def test_demo_takes_a_prediction_apart(name, request):
    head, total = (
        request.getfixturevalue(name)
        .split("A patient not seen in training")[1]
        .split("score; probability of harmed:")
    )
    adds = [float(n) for n in re.findall(r"\s([+-]\d\S*|0)\s*$", head, re.MULTILINE)]
    score = float(re.match(r" \d\.\d{4}\s+([+-]\d\S*)", total)[1])
    assert len(adds) > 3
    assert sum(adds) == pytest.approx(score, abs=0.01)


@pytest.mark.parametrize("name", ["shown", "published"])
def test_demo_says_in_one_line_that_all_checks_hold(name, request):
    text = request.getfixturevalue(name)
    count = {"shown": 20, "published": 18}[name]  # of one shape per variable, flat beyond ends
    assert f"{count} of {count} checks hold on the training table (rpte verify lists them)" in text
    assert "FAILS" not in text
    assert "leaves in" not in text


def test_demo_says_what_to_do_next(shown, published):
    commands = re.findall(r"^rpte (\w+)", shown, re.MULTILINE)
    assert commands == ["fit", "show", "explain", "report", "demo"]
    assert "--published" in shown
    assert "--published" not in published


def test_demo_fails_when_a_guarantee_does(monkeypatch):
    monkeypatch.setattr(Model, "verify", lambda *a: [Check("honesty", False, "none")])
    outcome = runner.invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 1
    assert re.search(r"FAILS\s+honesty\s+none", outcome.output)

"""counterfactual, reasons, decide, replay, edit and uncertainty of several classes."""

import json

import pytest
from typer.testing import CliRunner

import rpte
from class_tables import LABELS, flower_model, flowers
from rpte.cli import app

runner = CliRunner()
WHEN = ["--when", "2026-01-31T12:00:00Z"]
WHO = ["--by", "A. Smith", "--reason", "a test"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model of three classes and its table."""
    made = tmp_path_factory.mktemp("flowers")
    X, y = flowers()
    flower_model().save(made / "model.json")
    X.assign(kind=y).to_csv(made / "flowers.csv", index=False)
    return made


def run(command, folder, *arguments, code=0):
    given = [command, folder / "model.json", folder / "flowers.csv", *arguments]
    return invoke(*given, code=code)


def invoke(*arguments, code=0):
    outcome = runner.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    assert outcome.exit_code == code, outcome.output
    return outcome


def test_a_counterfactual_names_its_class(folder):
    X, _ = flowers()
    row = int((flower_model().predict(X) == "rose").argmax())
    told = run("counterfactual", folder, "--row", row + 1, "--to-class", "iris", "--json")
    record = json.loads(told.stdout)
    assert (record["predicted"], record["to"]) == ("rose", "iris")
    assert all(answer["optimal"] for answer in record["answers"])
    assert record["answers"]
    shown = run("counterfactual", folder, "--row", row + 1, "--to-class", "iris").stdout
    assert "predicted is 'rose'" in shown
    assert "proved cheapest in the model" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--to-class: say which class is to be reached, one of iris, lily, rose"),
        (["--to-class", "tulip"], "'tulip' is not a class"),
        (["--to", "0.3"], "--to is for models of one score"),
        (["--to-class", "iris", "--exposure", "width"], "--exposure is for models of a number"),
    ],
)
def test_a_goal_that_is_none_is_refused(folder, options, words):
    assert words in run("counterfactual", folder, "--row", 1, *options, code=1).stderr


def test_reasons_are_against_the_next_class_or_a_named_one(folder):
    told = json.loads(run("reasons", folder, "--row", 1, "--row", 2, "--json").stdout)
    wanted = rpte.reason_codes(flower_model(), flowers()[0][:2])
    assert [(each["class"], each["against"]) for each in told] == [
        (each.chosen, each.against) for each in wanted
    ]
    shown = run("reasons", folder, "--against", "lily", "--reference", "best").stdout
    assert "in log odds against the case that speaks least for it" in shown
    assert "The first 5 of 240 cases" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "0.5"], "--threshold is for models of one score"),
        (["--adverse", "rose"], "--adverse is for models of one score"),
        (["--against", "tulip"], "--against tulip"),
        (["--reference", "threshold"], "of several classes it is 'mean' or 'best'"),
    ],
)
@pytest.mark.parametrize("command", ["reasons", "decide"])
def test_what_is_for_one_score_is_refused(folder, tmp_path, command, options, words):
    output = ["-o", tmp_path / "log.jsonl"] if command == "decide" else []
    assert words in run(command, folder, *options, *output, code=1).stderr


def test_a_log_is_replayed(folder, tmp_path):
    log = tmp_path / "log.jsonl"
    head = run("decide", folder, "-o", log, *WHEN).stdout.split()[1]
    again = invoke("replay", log, "--model", folder / "model.json", "--head", head)
    assert "240 cases computed again: all are as recorded" in again.stdout


def test_an_edit_is_measured_and_solved_again(folder, tmp_path):
    edited = tmp_path / "edited.json"
    table = ["--refit", folder / "flowers.csv", "--target", "kind"]
    drop = ["--drop-source", "soil"]
    shown = invoke("edit", folder / "model.json", "-o", edited, *drop, *table, *WHO).stdout
    assert "accuracy" in shown
    model = rpte.load(edited)
    assert "soil" not in model.sources
    assert all(check.holds for check in model.verify(*flowers()))


def test_uncertainty_is_by_class(folder):
    few = ["--target", "kind", "--resamples", "5"]
    record = json.loads(run("uncertainty", folder, *few, "--json").stdout)
    assert [each["class"] for each in record["classes"]] == list(LABELS)
    assert len(record["classes"][0]["terms"]) == 1 + len(flower_model().rules())
    case = json.loads(run("uncertainty", folder, *few, "--row", 3, "--json").stdout)
    assert [each["class"] for each in case["probabilities"]] == list(LABELS)
    assert "the differences of two classes are surer" in run("uncertainty", folder, *few).stdout
    assert "probability" in run("uncertainty", folder, *few, "--row", 3).stdout

"""reasons, decide, replay and edit, as a user meets them."""

import json
import tomllib

import pandas as pd
import pytest
from typer.testing import CliRunner

import rpte
from data_folder import DATA, needs_data
from model_files import stored
from rpte.cli import app
from rpte.model.file import from_dict

runner = CliRunner()
WHEN = ["--when", "2026-01-31T12:00:00Z"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model and its table, a column of ids beside."""
    folder, made = tmp_path_factory.mktemp("bench"), stored("mixed")
    from_dict(made.copy()).save(folder / "model.json")
    frame = made.X.assign(outcome=made.y, weight=made.weight)
    frame.insert(0, "case", [f"{i:05d}" for i in range(len(frame))])
    frame.to_csv(folder / "cases.csv", index=False)
    return folder


def run(*arguments, code=0):
    outcome = runner.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    assert outcome.exit_code == code, outcome.output
    return outcome


def decided(folder, *options):
    log = folder / "log.jsonl"
    outcome = run(
        "decide", folder / "model.json", folder / "cases.csv", "-o", log, "--id-column", "case",
        "--replace", *WHEN, *options,
    )  # fmt: skip
    return log, outcome


def records(folder, log):
    """Return the full records of a log."""
    return list(rpte.read_decisions(log, rpte.load(folder / "model.json")))


def test_decide_prints_the_head_and_replay_takes_it(folder):
    log, outcome = decided(folder)
    head = outcome.stdout.split()[1]
    last = json.loads(log.read_text().splitlines()[-1])
    assert (last["head"], last["cases"]) == (head, 300)
    assert json.loads(log.read_text().splitlines()[2])[:2] == [1, "00000"]
    told = run("replay", log, "--model", folder / "model.json", "--head", head).output
    assert "300 cases computed again: all are as recorded" in told
    assert "the head is the one given" in told
    told = run("replay", log, "--model", folder / "model.json").output
    assert "a file that was written again" in told
    assert not list(folder.glob("*.part"))


def test_scores_in_the_log_round_trip(folder):
    log, _ = decided(folder)
    cases = [json.loads(line) for line in log.read_text().splitlines()[2:-1]]
    scores = rpte.load(folder / "model.json").score(stored("mixed").X)
    assert [case[3] for case in cases] == scores.tolist()


def test_a_second_run_continues_the_log(folder, tmp_path):
    log = tmp_path / "log.jsonl"
    given = ["decide", folder / "model.json", folder / "cases.csv", "-o", log, *WHEN]
    first = run(*given).stdout.split()[1]
    before = log.read_bytes()
    outcome = run(*given)
    assert log.read_bytes().startswith(before)
    assert "300 cases after 300" in outcome.stderr
    told = run("replay", log, "--model", folder / "model.json", "--head", first).output
    assert "600 cases computed again" in told
    assert "the head given proves the first 300, 300 were appended after it" in told
    shown = json.loads(run(*given, "--json").stdout)
    assert (shown["cases"], shown["total"]) == (300, 900)
    assert "error: " in run(*given[:3], "-o", folder / "cases.csv", code=1).output


def test_a_log_of_another_model_is_not_continued(folder, tmp_path):
    log, made = tmp_path / "log.jsonl", stored("published")
    from_dict(made.copy()).save(tmp_path / "other.json")
    made.X.to_csv(tmp_path / "other.csv", index=False)
    run("decide", tmp_path / "other.json", tmp_path / "other.csv", "-o", log)
    before = log.read_bytes()
    given = ["decide", folder / "model.json", folder / "cases.csv", "-o", log]
    assert "holds the decisions of one model" in run(*given, code=1).output
    assert log.read_bytes() == before
    run(*given, "--replace")
    assert log.read_bytes() != before


def test_replay_names_what_was_changed(folder, tmp_path):
    log, outcome = decided(folder)
    lines = log.read_text().splitlines()
    changed = tmp_path / "changed.jsonl"
    changed.write_text("\n".join(lines[:8] + lines[9:]) + "\n")
    told = run("replay", changed, "--model", folder / "model.json", code=1).output
    assert "line 9: case 8 stands where case 7 should: removed or moved" in told
    found = run("replay", changed, "--model", folder / "model.json", "--json", code=1).output
    assert json.loads(found)["findings"][0]["line"] == 9
    run("replay", log, "--model", folder / "model.json", "--head", "0" * 64, code=1)
    run("replay", folder / "cases.csv", "--model", folder / "model.json", code=1)
    assert outcome.stdout.startswith("head ")


def test_decide_as_json_with_a_threshold_and_a_catalogue(folder, tmp_path):
    catalogue = tmp_path / "reasons.toml"
    run("reasons", folder / "model.json", "--template", "-o", catalogue)
    entries = tomllib.loads(catalogue.read_text())["reasons"]
    assert list(entries) == ["age", "income", "region", "smoker", "noise"]
    catalogue.write_text(catalogue.read_text().replace('sentence = "age"', 'sentence = "Too old"'))
    options = ["--catalogue", catalogue, "--adverse", "sick", "--reference", "best"]
    log, outcome = decided(folder, *options, "--threshold", "0.4", "--json")
    assert json.loads(outcome.stdout)["cases"] == 300
    cases = records(folder, log)
    said = {r["sentence"] for case in cases for r in case["reasons"]}
    assert "Too old" in said
    assert "age" not in said
    assert {bool(case["reasons"]) for case in cases if not case["adverse"]} == {False}
    run("replay", log, "--model", folder / "model.json")
    again = run("reasons", folder / "model.json", "--template", "-o", catalogue, code=1)
    assert "so that nothing is lost" in again.output


def test_adverse_cases_without_a_reason_are_said(folder):
    """Nearly all cases are adverse at this threshold, many of them no worse than the mean."""
    _, outcome = decided(folder, "--threshold", "0.05")
    assert "adverse cases have no reason" in outcome.stderr
    _, outcome = decided(folder, "--threshold", "0.05", "--reference", "best")
    assert "have no reason" not in outcome.stderr


def test_reasons_of_named_cases(folder):
    table = [folder / "model.json", folder / "cases.csv", "--id-column", "case"]
    told = run("reasons", *table, "--row", "00003", "--reference", "best", "--json").stdout
    (shown,) = json.loads(told)
    assert shown["case"] == "00003"
    assert 1 <= len(shown["reasons"]) <= 4
    text = run("reasons", *table, "--reference", "threshold", "--threshold", "0.5").output
    assert "against the cases that pass next to the threshold" in text
    assert "none of this name" in run("reasons", *table, "--row", "x", code=1).output
    assert "give a table" in run("reasons", folder / "model.json", code=1).output
    assert "is one of" in run("reasons", *table, "--reference", "x", code=1).output


WHO = ["--by", "A. Smith", "--reason", "a test", *WHEN]


def test_edit_measures_and_refits(folder, tmp_path):
    out = tmp_path / "edited.json"
    options = ["--target", "outcome", "--weight-column", "weight", *WHO]
    told = run(
        "edit", folder / "model.json", "-o", out, "--drop-source", "smoker",
        "--refit", folder / "cases.csv", *options,
    ).output  # fmt: skip
    assert "log-loss" in told
    assert "no longer claimed" not in told
    model, made = rpte.load(out), stored("mixed")
    assert all(check.holds for check in model.verify(*made.given))
    assert model.ledger[0]["by"] == "A. Smith"
    leaf = "T1.L2"
    told = run("edit", out, "-o", tmp_path / "two.json", "--drop-term", leaf, *WHO).output
    assert "no longer claimed: Stage 3 optimality" in told
    entry = run(
        "edit", tmp_path / "two.json", "-o", tmp_path / "three.json", "--refit",
        folder / "cases.csv", *options, "--json",
    ).stdout  # fmt: skip
    assert json.loads(entry)["restored"] == ["Stage 3 optimality of the active terms"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop-term", "T9"], "no such term"),
        ([], "nothing to edit"),
        (["--drop-term", "D1", "--table", "cases.csv"], "--target"),
        (["--drop-term", "D1", "--target", "outcome"], "give one"),
        (["--refit", "cases.csv", "--target", "outcom"], "did you mean 'outcome'"),
        (["--refit", "cases.csv", "--table", "cases.csv", "--target", "outcome"], "leave --table"),
    ],
)
def test_edits_that_cannot_be(folder, tmp_path, options, message):
    given = [folder / o if o == "cases.csv" else o for o in options]
    out = tmp_path / "out.json"
    outcome = run("edit", folder / "model.json", "-o", out, *given, *WHO, code=1)
    assert message in outcome.output
    assert outcome.output.startswith("error: ")
    assert not out.exists()


def test_a_model_is_not_overwritten_by_its_edit(folder):
    model = folder / "model.json"
    outcome = run("edit", model, "-o", model, "--drop-term", "D1", *WHO, code=1)
    assert "which this command reads; give another name" in outcome.output


def test_who_and_why_are_required(folder, tmp_path):
    run("edit", folder / "model.json", "-o", tmp_path / "x.json", "--drop-term", "D1", code=2)


@pytest.mark.slow(reason="fits real tables with the default settings")
@needs_data
@pytest.mark.parametrize("name", ["hepatitis_uci", "loan_eligibility", "cylinder_bands"])
def test_real_tables(name, tmp_path):
    """Strings, gaps and odd levels, from the file to the replay."""
    table = pd.read_csv(DATA / "panel" / f"{name}.csv", dtype=str, keep_default_na=False)
    target = next(c for c in table.columns[::-1] if table[c].nunique() == 2)
    table.to_csv(tmp_path / "cases.csv", index=False)
    from rpte.table.files import read_table

    X = read_table(tmp_path / "cases.csv")
    y = X.pop(target)
    rpte.RPTEClassifier(l1="4/n", budget=40).fit(X, y.to_numpy()).save(tmp_path / "model.json")
    log = tmp_path / "log.jsonl"
    run("decide", tmp_path / "model.json", tmp_path / "cases.csv", "-o", log)
    told = run("replay", log, "--model", tmp_path / "model.json").output
    assert f"{len(table)} cases computed again" in told

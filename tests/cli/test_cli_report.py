"""`rpte report`, as a user meets it."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from model_files import stored, write
from rpte.cli import app
from rpte.report.contents import SECTIONS


def run(*arguments):
    env = {"COLUMNS": "100", "TERM": "dumb"}
    return CliRunner().invoke(app, ["report", *map(str, arguments)], env=env)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a model, its training table and a part of it."""
    folder = tmp_path_factory.mktemp("report")
    held = stored("special")
    write(held.document, folder)
    table = held.X.assign(health=held.y, weight=1.0, ward=np.arange(300) % 3)
    table.to_csv(folder / "all.csv", index=False)
    table[::2].to_csv(folder / "half.csv", index=False)
    return folder


QUICK = ("--resamples", 20)


def test_one_page_with_every_section(files, tmp_path):
    page = tmp_path / "report.html"
    outcome = run(
        files / "model.json", files / "half.csv", "--target", "health", "-o", page, *QUICK
    )
    assert outcome.exit_code == 0, outcome.output
    assert "report.html" in outcome.output
    assert "questions to its owners without an answer: 34 (--about)" in outcome.output
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'<section id="([a-z]+)"', text) == list(SECTIONS)
    assert "Not the training table" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html"]


def test_json_is_what_the_page_is_made_of(files, tmp_path):
    given = (files / "model.json", files / "all.csv", "--target", "health", *QUICK)
    printed = json.loads(run(*given, "--json").stdout)
    target = tmp_path / "report.json"
    assert run(*given, "--json", "-o", target).exit_code == 0
    written = json.loads(target.read_text(encoding="utf-8"))
    assert {**printed, "made": None} == {**written, "made": None}
    assert printed["data"]["table"]["training"]
    assert all(check["holds"] for check in printed["guarantees"])
    assert set(printed["provenance"]["files"]) == {"model", "table"}


def test_weights_groups_peers_and_about(files, tmp_path):
    (tmp_path / "peers.csv").write_text("name,miu\nforest,4000\n")
    about = tmp_path / "about.toml"
    assert run(files / "model.json", "--template", about).exit_code == 0
    filled = about.read_text(encoding="utf-8").replace('use = ""', 'use = "Second reading."')
    about.write_text(filled.replace('"age" = ""', '"age" = "rises"'), encoding="utf-8")
    page = tmp_path / "report.html"
    outcome = run(
        *(files / "model.json", files / "all.csv", "--target", "health", "-o", page, *QUICK),
        *("--weight-column", "weight", "--by", "ward", "--by", "region"),
        *("--peers", tmp_path / "peers.csv", "--about", about, "--threshold", 0.35),
    )
    assert outcome.exit_code == 0, outcome.output
    text = page.read_text(encoding="utf-8")
    for said in ("Second reading.", "Expected of age", "forest", "By ward", "By region", "0.35"):
        assert said in text
    assert "(the training table)" in text


def test_a_model_alone_and_a_table_without_outcomes(files, tmp_path):
    page = tmp_path / "report.html"
    assert run(files / "model.json", "-o", page).exit_code == 0
    assert "No table was given" in page.read_text(encoding="utf-8")
    assert run(files / "model.json", files / "half.csv", "-o", page).exit_code == 0
    assert "needs a table with outcomes" in page.read_text(encoding="utf-8")


def test_stability_refits(files, tmp_path):
    page = tmp_path / "report.html"
    given = (files / "model.json", files / "all.csv", "--target", "health", "-o", page, *QUICK)
    outcome = run(*given, "--stability", 2)
    assert outcome.exit_code == 0, outcome.output
    assert "was run again on 2 bootstrap resamples" in page.read_text(encoding="utf-8")


def test_the_template_is_never_written_over_what_somebody_wrote(tmp_path):
    about = tmp_path / "about.toml"
    about.write_text("mine")
    outcome = run("--template", about)
    assert outcome.exit_code == 1
    assert "exists" in outcome.stderr
    assert about.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "helth"], "did you mean 'health'"),
        (["--target", "health", "--by", "warp"], "the group column 'warp' is not in the table"),
        (["--target", "region"], "is not a class; the classes are"),
        (["--target", "health", "--about", "nowhere.toml"], "nowhere.toml"),
        (["--target", "health", "--weight-column", "region"], "weight"),
    ],
)
def test_mistakes_end_in_one_line_with_the_remedy(arguments, message, files, tmp_path):
    page = tmp_path / "report.html"
    outcome = run(files / "model.json", files / "half.csv", "-o", page, *arguments)
    assert outcome.exit_code == 1, outcome.output
    assert message in outcome.stderr
    assert outcome.stderr.startswith("error: ")
    assert outcome.stderr.count("\n") == 1
    assert not page.exists()


def test_calls_that_make_no_sense_are_refused_before_any_work(files, tmp_path):
    assert run(files / "model.json").exit_code == 2
    assert run(files / "model.json", "--target", "health", "-o", tmp_path / "r").exit_code == 1
    for option in (("--by", "ward"), ("--stability", 2)):
        outcome = run(files / "model.json", files / "half.csv", *option, "-o", tmp_path / "r")
        assert outcome.exit_code == 1
        assert "--target" in outcome.stderr
    lost = run(files / "model.json", "-o", tmp_path / "nowhere" / "report.html")
    assert lost.exit_code == 1
    assert "does not exist; make it first" in lost.stderr


def test_a_changed_file_gets_no_report(files, tmp_path):
    document = stored("special").copy()
    document["intercept"] += 1.0
    outcome = run(write(document, tmp_path), "-o", tmp_path / "report.html")
    assert outcome.exit_code == 1
    assert "hash" in outcome.stderr
    assert not (tmp_path / "report.html").exists()

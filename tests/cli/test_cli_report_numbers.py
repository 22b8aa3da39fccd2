"""`rpte report` of models of numbers: exposure by its name, double lift, what is refused."""

import json

import numpy as np
import pytest

from command_tables import good, policies, refused, run, write_csv
from rpte import load

TARGET = ("--target", "claims")
QUICK = ("--resamples", 20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    frame = policies().assign(glm=lambda f: 0.9 * f["years"])
    table = write_csv(frame, folder / "policies.csv", ",")
    write_csv(frame.rename(columns={"years": "time"}), folder / "renamed.csv", ",")
    no = ("--exclude", "cost", "--exclude", "known", "--exclude", "glm", "--exclude", "policy")
    count = (*TARGET, "--task", "count", "--exposure", "years", *no, "--folds", 0)
    good("fit", table, *count, "--l1", "0.05", "-o", folder / "counts.json")
    good("fit", table, *count, "--l1", "0.3", "-o", folder / "short.json")
    costs = ("--target", "cost", "--task", "regression", "--l1", "0.1", "--folds", 0)
    good("fit", table, *costs, *no[2:], "-o", folder / "costs.json")
    south = frame.assign(south=np.where(frame["zone"] == "south", "yes", "no"))
    two = write_csv(south[["age", "years", "south"]], folder / "two.csv", ",")
    good("fit", two, "--target", "south", "--l1", "0.1", "--folds", 0, "-o", folder / "two.json")
    return folder


def contents(folder, *options):
    given = (folder / "counts.json", folder / "policies.csv", *TARGET, *QUICK)
    return json.loads(good("report", *given, "--json", *options))


def test_the_exposure_is_read_by_the_name_in_the_model_file(folder, tmp_path):
    found = contents(folder)
    assert found["performance"]["exposure"] == pytest.approx(policies()["years"].sum())
    assert found["data"]["table"]["training"]
    assert found == {**contents(folder, "--exposure", "years"), "made": found["made"]}
    page = tmp_path / "report.html"
    good("report", folder / "counts.json", folder / "policies.csv", *TARGET, *QUICK, "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "sum of claims / sum of years" in text
    assert "mean of claims per unit of years" in text


def test_another_column_of_exposure_is_named(folder, tmp_path):
    page = tmp_path / "report.html"
    asked = (folder / "counts.json", folder / "renamed.csv", *TARGET, *QUICK, "-o", page)
    line = refused("report", *asked)
    assert "fitted with the exposure 'years', which the table does not have" in line
    assert "name its column: --exposure" in line
    good("report", *asked, "--exposure", "time")
    outcome = run("report", folder / "counts.json", folder / "renamed.csv", "-o", page)
    assert outcome.exit_code == 0, outcome.output  # without outcomes none is needed


def test_double_lift_against_a_file_and_a_column(folder, tmp_path):
    found = contents(folder, "--against", folder / "short.json", "--against", "glm")
    first, second = found["performance"]["against"]
    assert (first["name"], second["name"]) == (str(folder / "short.json"), "glm")
    frame, other = policies(), load(folder / "short.json")
    mean = other.predict(frame[list(other.sources)], frame["years"])
    total = sum(b["exposure"] * b["other"] for b in first["bands"])
    assert total == pytest.approx(mean.sum())
    assert sum(b["exposure"] * b["other"] for b in second["bands"]) == pytest.approx(
        0.9 * frame["years"].sum()
    )
    assert f"against {folder.name}" not in found["provenance"]["files"]
    assert found["provenance"]["files"]["against short.json"][0] == "short.json"
    page = tmp_path / "report.html"
    asked = (folder / "counts.json", folder / "policies.csv", *TARGET, *QUICK)
    good("report", *asked, "--against", "glm", "-o", page)
    assert "Double lift against glm" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--against", "nobody"], "there is no such file, and the table has no column of that"),
        (["--against", "two.json"], "a double lift is of two models of a number"),
        (["--against", "costs.json"], "it predicts cost, this model claims"),
        (["--against", "zone"], "the prediction column 'zone' holds texts"),
        (["--against", "known"], "known predicts"),
        (["--threshold", "0.3"], "--threshold 0.3 is a probability; the model is of a number"),
        (["--exposure", "yeers"], "did you mean 'years'?"),
    ],
)
def test_what_cannot_be_is_refused(folder, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    page = tmp_path / "report.html"
    asked = ("report", "counts.json", "policies.csv", *TARGET, *QUICK, "-o", page, *options)
    assert message in refused(*asked)
    assert not page.exists()


def test_what_needs_a_table_or_an_outcome_says_so(folder, tmp_path):
    page = tmp_path / "report.html"
    model, table = folder / "counts.json", folder / "policies.csv"
    line = refused("report", model, "--exposure", "years", "-o", page)
    assert "--target, --weight-column, --exposure and --by name columns of a table" in line
    line = refused("report", model, table, "--against", "glm", "-o", page)
    assert "--against needs outcomes; name their column: --target" in line


def test_two_classes_have_neither_exposure_nor_double_lift(folder, tmp_path):
    asked = (
        folder / "two.json",
        folder / "two.csv",
        "--target",
        "south",
        "-o",
        tmp_path / "r.html",
    )
    assert "--exposure is for models of a number" in refused(
        "report", *asked, "--exposure", "years"
    )
    line = refused("report", *asked, "--against", "age")
    assert "a double lift compares predicted means" in line
    line = refused("report", *asked, "--against", folder / "counts.json")
    assert "a double lift is of two models of a number" in line


def test_a_template_asks_of_the_variables_of_a_number(folder, tmp_path):
    good("report", folder / "counts.json", "--template", tmp_path / "about.toml")
    text = (tmp_path / "about.toml").read_text(encoding="utf-8")
    assert '"zone" = ""' in text

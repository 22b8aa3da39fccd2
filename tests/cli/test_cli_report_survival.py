"""`rpte report` of survival: outcome by its names in the model file, horizons, what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from command_tables import good, refused, write_csv
from rpte import RPTESurvival

QUICK = ("--resamples", 20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(60, 9, 200).round()})
    frame["sex"] = rng.choice(["f", "m"], 200)
    days = rng.exponential(300 * np.exp(0.05 * (60 - frame["age"]))).round() + 1
    frame["died"], frame["days"] = (days < 500).astype(int), np.minimum(days, 500.0)
    write_csv(frame, folder / "trial.csv", ",")
    write_csv(frame.rename(columns={"days": "t", "died": "d"}), folder / "renamed.csv", ",")
    X, y = frame[["age", "sex"]], frame[["died", "days"]]
    RPTESurvival(l1=0.05).fit(X, y).save(folder / "trial.json")
    RPTESurvival(l1=0.05).fit(X, y, strata="sex").save(folder / "strata.json")
    return folder


def contents(folder, model, table, *options):
    return json.loads(good("report", folder / model, folder / table, *QUICK, "--json", *options))


def test_time_and_event_are_read_by_the_names_in_the_model_file(folder):
    found = contents(folder, "trial.json", "trial.csv", "--by", "sex")
    assert found["data"]["table"]["training"]
    assert found["performance"]["events"] > 0
    named = contents(folder, "trial.json", "renamed.csv", "--time", "t", "--event", "d")
    assert named["performance"] == found["performance"]
    without = contents(folder, "trial.json", "renamed.csv")
    assert without["performance"] is None


def test_horizons_are_given_one_by_one_or_with_commas(folder, tmp_path):
    asked = contents(folder, "trial.json", "trial.csv", "--horizon", "90,180", "--horizon", "365")
    assert [at["horizon"] for at in asked["performance"]["at"]] == [90.0, 180.0, 365.0]
    page = tmp_path / "report.html"
    good("report", folder / "trial.json", folder / "trial.csv", *QUICK, "--horizon", 90, "-o", page)
    assert "Calibration at 90 days" in page.read_text(encoding="utf-8")


def test_strata_are_named(folder, tmp_path):
    found = contents(folder, "strata.json", "trial.csv", "--strata", "sex")
    assert [b["name"] for b in found["identity"]["baselines"]] == ["f", "m"]
    assert found["data"]["table"]["training"]
    given = folder / "strata.json", folder / "trial.csv", "-o", tmp_path / "r.html"
    assert "give strata=" in refused("report", *given)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target", "died"), "--target is not for survival; name the outcome with --time"),
        (("--threshold", "0.3"), "--threshold is not for survival"),
        (("--horizon", "soon"), "--horizon soon: it is no number"),
        (("--horizon", "9999"), "days 9999 is outside of what was observed"),
        (("--time", "when"), "when"),
    ],
)
def test_what_cannot_be_is_refused(folder, tmp_path, options, said):
    given = folder / "trial.json", folder / "trial.csv", "-o", tmp_path / "r.html"
    assert said in refused("report", *given, *options)


def test_groups_and_refits_need_outcomes(folder, tmp_path):
    given = folder / "trial.json", folder / "renamed.csv", "-o", tmp_path / "r.html"
    assert "name both with --time and --event" in refused("report", *given, "--by", "sex")
    assert "needs outcomes" in refused("report", *given, "--stability", 2)
    only = refused("report", *given, "--event", "d")
    assert "there is no time: name both" in only


def test_options_of_survival_are_refused_of_other_tasks(folder, tmp_path):
    good(
        *("fit", folder / "trial.csv", "--target", "died", "--exclude", "days", "--l1", "0.1"),
        *("--folds", 0, "-o", folder / "two.json"),
    )
    given = folder / "two.json", folder / "trial.csv", "-o", tmp_path / "r.html"
    assert "--horizon is for models of survival" in refused("report", *given, "--horizon", 90)


def test_events_in_words(folder, tmp_path):
    """A value that says that the event was seen, as for `rpte fit`."""
    frame = pd.read_csv(folder / "trial.csv")
    write_csv(frame.assign(died=frame["died"].map({1: "yes", 0: "no"})), folder / "words.csv", ",")
    found = contents(folder, "trial.json", "words.csv", "--event-value", "yes")
    assert found["performance"] == contents(folder, "trial.json", "trial.csv")["performance"]
    assert "--event-value" in refused(
        "report",
        folder / "trial.json",
        folder / "words.csv",
        "-o",
        tmp_path / "r.html",
        "--event-value",
        "ja",
    )

"""Times until an event on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from command_tables import file_of_folder, good, refused, run, write_csv
from rpte import RPTESurvival, load, read_decisions
from survival_trial import FEATURES, trial

OUTCOME = ("--time", "days", "--event", "died")
FAST = ("--l1", "0.06", "--folds", "0", "--id-column", "case")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    table = write_csv(trial(), folder / "trial.csv", ",")
    asked = ("--task", "survival", *OUTCOME, *FAST)
    good("fit", table, *asked, "--exclude", "centre", "-o", folder / "one.json")
    good("fit", table, *asked, "--strata", "centre", "-o", folder / "strata.json")
    return folder


table = file_of_folder("trial.csv")
one = file_of_folder("one.json")
strata = file_of_folder("strata.json")


def rows(number=None):
    found = trial()[FEATURES]
    return found if number is None else found.iloc[[number - 1]]


class TestFit:
    @pytest.mark.parametrize("name", [None, "centre"])
    def test_the_model_is_that_of_the_library(self, folder, name):
        made = RPTESurvival(l1=0.06)
        X = trial()[FEATURES if name is None else [*FEATURES, name]]
        theirs = made.fit(X, trial()[["died", "days"]], strata=name).model_
        ours = load(folder / ("one.json" if name is None else "strata.json"))
        assert ours.components == theirs.components
        assert ours.intercept == theirs.intercept
        assert ours.target == theirs.target
        assert (ours.target.time, ours.target.event) == ("days", "died")

    def test_what_is_said(self, table, tmp_path):
        out = tmp_path / "m.json"
        told = good("fit", table, *OUTCOME, *FAST, "-o", out, width=300)  # --task is clear
        events = int(trial()["died"].sum())
        assert f"400 rows, died in {events}, days from " in told
        assert f"rpte verify {out} {table} --time days --event died" in told

    def test_late_entry(self, tmp_path):
        out, late = tmp_path / "m.json", tmp_path / "late.csv"
        write_csv(trial().assign(since=np.minimum(30.0, trial()["days"] / 2)), late, ",")
        good("fit", late, *OUTCOME, *FAST, "--entry", "since", "--form", "rules", "-o", out)
        model = load(out)
        assert model.target.has_entry
        assert "since" not in model.schema.names
        good("verify", out, late, *OUTCOME, "--entry", "since")
        assert "give entry= as to fit" in refused("verify", out, late, *OUTCOME)

    def test_intervals(self, table, tmp_path):
        out = tmp_path / "m.json"
        good("fit", table, *OUTCOME, *FAST, "--loss", "discrete", "-o", out)
        assert load(out).loss.name == "discrete"
        assert load(out).target.grid
        good("verify", out, table, *OUTCOME)

    @pytest.mark.parametrize(
        ("cells", "options"),
        [
            (["alive", "dead"], ["--event-value", "dead"]),
            ([1, 2], ["--event-value", "2"]),
            ([False, True], []),
            (["FALSE", "TRUE"], []),
            ([0.0, 1.0], []),
        ],
    )
    def test_events_in_other_words(self, one, tmp_path, cells, options):
        died = trial()["died"].map(dict(enumerate(cells)))
        path = write_csv(trial().assign(died=died), tmp_path / "t.csv", ",")
        out = tmp_path / "m.json"
        good("fit", path, *OUTCOME, *options, *FAST, "--exclude", "centre", "-o", out)
        assert load(out).components == load(one).components

    def test_other_causes_count_as_not_seen(self, tmp_path):
        status = trial()["died"].map({0: "alive", 1: "died"}).to_numpy(object)
        status[::7] = "moved"
        path = write_csv(trial().assign(died=status), tmp_path / "t.csv", ",")
        asked = (*OUTCOME, *FAST, "-o", tmp_path / "m.json")
        found = run("fit", path, *asked, "--event-value", "died")
        assert found.exit_code == 0
        assert "holds alive, died, moved; all but died count as not seen" in found.stderr
        assert load(tmp_path / "m.json").target.total == (status == "died").sum()
        says = "say which value means that with --event-value"
        assert says in refused("fit", path, *asked)
        assert "holds alive, died, moved" in refused("fit", path, *asked, "--event-value", "gone")

    @pytest.mark.parametrize("name", ["days", "died"])
    def test_rows_without_an_outcome(self, tmp_path, name):
        frame = trial().astype({"died": object})
        frame.loc[3, name] = None
        path, out = write_csv(frame, tmp_path / "t.csv", ","), tmp_path / "m.json"
        told = refused("fit", path, *OUTCOME, *FAST, "-o", out)
        assert f"'{name}' is missing in row 4" in told
        good("fit", path, *OUTCOME, *FAST, "--drop-unlabelled", "-o", out)
        assert load(out).data["rows"] == 399
        found = run("verify", out, path, *OUTCOME)
        assert found.exit_code == 0
        assert "note: 1 rows without an outcome are left out" in found.stderr

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--task", "survival", "--time", "days"], "--event: --task survival needs"),
            (["--task", "survival", "--event", "died"], "--time: --task survival needs"),
            ([*OUTCOME, "--target", "died"], "--target is not for --task survival"),
            ([*OUTCOME, "--balanced"], "--balanced is not for --task survival"),
            ([*OUTCOME, "--exposure", "age"], "--exposure is not for --task survival"),
            ([*OUTCOME, "--loss", "poisson"], "of a time until an event it is cox or discrete"),
            (
                ["--task", "count", "--target", "died", "--time", "days"],
                "--time is for --task surv",
            ),
            (["--time", "dayz", "--event", "died"], "dayz"),
            (["--time", "stage", "--event", "died"], "the time column 'stage' holds texts"),
            ([], "of a time until an event it is --time and --event"),
            (["--target", "days"], "rpte fit with --task survival --time and --event"),
            (["--task", "surviving", "--target", "died"], "did you mean 'survival'"),
        ],
    )
    def test_refused(self, table, tmp_path, options, says):
        assert says in refused("fit", table, *options, *FAST, "-o", tmp_path / "m.json")

    def test_files_in_batches(self, table, tmp_path):
        asked = ("fit", table, table, *OUTCOME, "-o", tmp_path / "m.json")
        assert "risk sets need all rows in memory" in refused(*asked)

    def test_an_event_as_the_target_is_warned_of(self, table, tmp_path):
        found = run("fit", table, "--target", "died", *FAST, "-o", tmp_path / "m.json")
        assert "column 'days' beside the target 'died' looks like the time until it" in found.stderr
        assert "--task survival" in found.stderr


class TestRead:
    def test_show(self, one, strata):
        text = good("show", one)
        assert "logarithm of the hazard of died relative to the baseline: the sum of" in text
        assert "what a term multiplies the hazard by" in text
        assert " events" in text
        assert "mean" not in text
        record = json.loads(good("show", strata, "--json"))
        assert record["event"] == "died"
        assert record["strata"] == ["north", "south"]
        assert record["rules"][0].keys() >= {"event_fraction", "hazard_ratio"}

    def test_score(self, one, table, tmp_path):
        model, out = load(one), tmp_path / "s.csv"
        asked = ("--horizon", "180,365", "--horizon", "700", "--id-column", "case")
        good("score", one, table, *asked, "-o", out)
        found = pd.read_csv(out)
        names = ["case", "score", "relative_hazard", "median"]
        assert list(found) == [*names, "survival_180", "survival_365", "survival_700"]
        expected = model.survival_at(rows(), [180.0, 365.0, 700.0])
        assert found.iloc[:, 4:].to_numpy() == pytest.approx(expected, abs=1e-12)
        assert found["median"].tolist() == model.target.median(model.score(rows())).tolist()
        assert np.isinf(found["median"]).any()

    def test_score_of_strata(self, strata, table, tmp_path):
        model, out = load(strata), tmp_path / "s.csv"
        found = run("score", strata, table, "-o", out)
        assert "name --strata" in found.stderr
        assert "median" not in pd.read_csv(out)
        good("score", strata, table, "--strata", "centre", "--horizon", "365", "-o", out)
        expected = model.survival_at(rows(), 365, strata=trial()["centre"])
        assert pd.read_csv(out)["survival_365"].to_numpy() == pytest.approx(expected[:, 0])

    def test_explain(self, one, strata, table):
        (expected,) = load(one).survival_at(rows(7), 365)[0]
        text = good("explain", one, table, "--row", "7", "--horizon", "365")
        assert f"survival at 365 days: {expected:.4f}" in text
        assert "hazard so far" in text
        asked = ("--id", "P0006", "--id-column", "case", "--json")
        record = json.loads(good("explain", one, table, *asked, "--horizon", "365"))
        assert record["survival"] == [{"horizon": 365.0, "survival": expected}]
        text = good(
            "explain", strata, table, "--row", "7", "--horizon", "365", "--strata", "centre"
        )
        assert f"of the stratum {trial()['centre'][6]}: " in text

    def test_whatif(self, one, table):
        model, changed = load(one), rows(7).assign(age=40)
        pair = [float(model.survival_at(X, 365)[0, 0]) for X in (rows(7), changed)]
        asked = ("--row", "7", "--set", "age=40", "--horizon", "365")
        text = good("whatif", one, table, *asked)
        assert f"survival at 365 days: {pair[0]:.4f} -> {pair[1]:.4f}" in text
        record = json.loads(good("whatif", one, table, *asked, "--json"))
        assert record["survival"] == [{"horizon": 365.0, "survival": pair}]

    def test_counterfactual(self, one, strata, table):
        model = load(one)
        asked = ("--row", "7", "--horizon", "365", "--to", "0.7", "--may-change", "age")
        record = json.loads(good("counterfactual", one, table, *asked, "--json"))
        expected = model.counterfactuals(rows(7), 0.7, horizon=365.0, actions=None)
        assert record["survival"] == expected.response
        changes = {c["variable"]: c["new"] for c in record["answers"][0]["changes"]}
        assert model.survival_at(rows(7).assign(**changes), 365)[0, 0] >= 0.7
        text = good("counterfactual", one, table, *asked)
        assert "survival at 365 days is" in text
        text = good("counterfactual", strata, table, *asked, "--strata", "centre")
        assert "what would raise it to at least 0.7?" in text

    def test_audit_frontier_and_compare(self, one, strata, table, tmp_path):
        assert "conditions in the whole model" in good("audit", one, table)
        searched = tmp_path / "m.json"
        asked = (*OUTCOME, "--folds", "0", "--id-column", "case", "--max-inspection-units", "3")
        good("fit", table, *asked, "-o", searched)
        assert "between the baseline alone" in good("frontier", searched)
        text = good("compare", one, strata, table)
        assert "Both predict the hazard of died relative to the baseline." in text
        assert "relative hazards move by" in text

    @pytest.mark.parametrize(
        ("command", "says"),
        [
            (["score", "--horizon", "soon"], "--horizon soon: it is no number"),
            (["score", "--horizon", "9999"], "days 9999 is outside of what was observed"),
            (["score", "--class"], "this one is of a time until an event"),
            (["score", "--exposure", "age"], "this one is of a time until an event"),
            (["score", "--strata", "centre"], "the model has one baseline for all rows"),
            (["explain", "--row", "1", "--class", "1"], "models of several classes"),
            (["counterfactual", "--row", "1", "--to", "0.5"], "--horizon: say when survival"),
            (["counterfactual", "--row", "1", "--horizon", "365"], "--to: say which survival at"),
            (["reasons", "--threshold", "0.5"], "--horizon: say at which time"),
            (["verify", "--target", "died"], "give --time and --event"),
            (["verify", "--time", "days"], "--event is missing"),
            (["verify", "--entry", "age"], "--entry needs --time and --event"),
        ],
    )
    def test_refused(self, one, table, command, says):
        assert says in refused(command[0], one, table, *command[1:])

    def test_strata_that_the_model_does_not_know(self, strata, table):
        asked = ("score", strata, table, "--strata", "stage", "--horizon", "365")
        assert "--strata stage: it holds I" in refused(*asked)

    @pytest.mark.parametrize(
        "command",
        [
            ["score", "--horizon", "1"],
            ["explain", "--row", "1", "--horizon", "1"],
            ["explain", "--row", "1", "--strata", "stage"],
            ["whatif", "--row", "1", "--set", "age=3", "--horizon", "1"],
            ["counterfactual", "--row", "1", "--horizon", "1"],
            ["reasons", "--horizon", "1"],
            ["verify", "--time", "days", "--event", "died"],
        ],
    )
    def test_models_of_classes_have_no_times(self, table, tmp_path, command):
        model = tmp_path / "m.json"
        good("fit", table, "--target", "treatment", *FAST, "-o", model)
        told = refused(command[0], model, table, *command[1:])
        assert "for models of a time until an event; this one is of the task 'binary'" in told


class TestRecord:
    def test_verify(self, one, strata, table):
        record = json.loads(good("verify", one, table, *OUTCOME, "--json"))
        names = {check["name"] for check in record["checks"]}
        assert {"training table", "baseline", "supports and event fractions"} <= names
        good("verify", strata, table, *OUTCOME, "--strata", "centre")
        swapped = trial().assign(died=1 - trial()["died"])
        path = write_csv(swapped, table.parent / "swapped.csv", ",")
        found = run("verify", one, path, *OUTCOME)
        assert found.exit_code == 1
        assert "training table" in found.stderr

    def test_reasons(self, one, table):
        text = good("reasons", one, table, "--threshold", "0.6", "--horizon", "365")
        assert "What makes for a high hazard of died, as factors against" in text

    @pytest.mark.parametrize("name", ["one", "strata"])
    def test_decide_and_replay(self, request, table, tmp_path, name):
        model, log = request.getfixturevalue(name), tmp_path / "log.jsonl"
        more = () if name == "one" else ("--strata", "centre")
        asked = ("--threshold", "0.6", "--horizon", "365", "--id-column", "case", *more)
        told = good("decide", model, table, "-o", log, *asked)
        head = told.split()[-1]
        assert "400 cases computed again" in good("replay", log, "--model", model, "--head", head)
        loaded = load(model)
        given = trial()["centre"] if more else None
        expected = loaded.survival_at(rows(), 365, strata=given)[:, 0]
        cases = list(read_decisions(log, loaded))
        assert [case["survival"] for case in cases] == expected.tolist()
        assert [case["adverse"] for case in cases] == (expected <= 0.6).tolist()

    def test_edit_without_a_table(self, one, tmp_path):
        out, asked = tmp_path / "e.json", ("--by", "A. Smith", "--reason", "a test")
        good("edit", one, "-o", out, "--drop-source", "age", *asked)
        assert "age" not in load(out).sources
        told = refused("edit", one, "-o", out, "--drop-source", "age", *asked, *OUTCOME)
        assert "--time and --event name columns of a table" in told


@pytest.mark.parametrize("command", ["fit", "score", "explain", "verify", "decide"])
def test_help_names_the_options(command):
    text = good(command, "--help", width=200)
    assert "Survival: " in text

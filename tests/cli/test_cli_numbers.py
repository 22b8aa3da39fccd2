"""Models of numbers and counts on the command line, and what is for two classes alone."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from command_tables import QUICK, file_of_folder, good, policies, refused, run, write_csv
from rpte import Actions, RPTERegressor, load, read_decisions, reason_codes, reason_rule
from rpte.table.files import read_table

COUNT = ("--target", "claims", "--task", "count", "--exposure", "years", "--id-column", "policy")
NO_FEATURES = ("--exclude", "cost", "--exclude", "known")
FAST = ("--l1", "0.1", "--folds", "0")


def rows(model):
    """Return what a model reads of the table."""
    return policies()[list(load(model).sources)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    table = write_csv(policies(), folder / "policies.csv", ",")
    good("fit", table, *COUNT, *NO_FEATURES, "-o", folder / "counts.json", *FAST)
    costs = ("--target", "cost", "--id-column", "policy", "--exclude", "claims")
    good("fit", table, *costs, "--task", "regression", "-o", folder / "costs.json", *FAST)
    return folder


table = file_of_folder("policies.csv")
counts = file_of_folder("counts.json")
costs = file_of_folder("costs.json")


class TestFit:
    def test_the_model_is_that_of_the_library(self, counts):
        frame = policies()
        X = frame[["age", "zone"]].assign(cost=0.0, known=0.0)
        made = RPTERegressor(l1=0.1, loss="poisson")
        made.fit(X[["age", "zone"]], frame["claims"], exposure=frame["years"])
        ours, theirs = load(counts), made.model_
        assert ours.components == theirs.components
        assert ours.intercept == theirs.intercept
        target = ours.target
        assert (target.name, target.exposure, target.offset) == ("claims", "years", None)
        assert "years" not in ours.schema.names

    @pytest.mark.parametrize(
        ("options", "loss"),
        [
            (["--target", "cost", "--task", "regression"], {"name": "squared_error"}),
            (["--target", "claims", "--task", "count"], {"name": "poisson"}),
            (["--target", "cost", "--task", "amount"], {"name": "tweedie", "power": 1.5}),
            (["--target", "age", "--task", "amount"], {"name": "gamma"}),
            (["--target", "cost", "--power", "1.7"], {"name": "tweedie", "power": 1.7}),
            (["--target", "claims", "--loss", "squared_error"], {"name": "squared_error"}),
            (["--target", "cost", "--task", "count", "--loss", "tweedie"], {"name": "tweedie"}),
            (["--target", "cost", "--exposure", "years"], {"name": "tweedie"}),
            (["--target", "cost", "--offset", "known"], {"name": "squared_error"}),
        ],
    )
    def test_the_task_chooses_the_loss(self, table, tmp_path, options, loss):
        model = tmp_path / "m.json"
        good("fit", table, *options, "--id-column", "policy", "-o", model, *FAST)
        assert loss.items() <= load(model).loss.to_dict().items()

    def test_what_is_guessed_is_said(self, table, tmp_path):
        given = ("fit", table, "--id-column", "policy", "-o", tmp_path / "m.json", *FAST)
        outcome = run(*given, "--target", "claims")
        assert outcome.exit_code == 0, outcome.output
        whole = (
            "note: the target 'claims' holds 6 different whole numbers from 0 to 5, most of them"
        )
        assert outcome.stderr.startswith(f"{whole} small: taken as --task count; say another")
        assert load(tmp_path / "m.json").loss.name == "poisson"
        outcome = run(*given, "--target", "cost")
        assert "different numbers from 0 to" in outcome.stderr
        assert "taken as --task regression" in outcome.stderr
        assert load(tmp_path / "m.json").loss.name == "squared_error"
        outcome = run(*given, "--target", "age")
        assert "whole numbers from 18 to 79: taken as --task regression" in outcome.stderr
        assert run(*given, "--target", "claims", "--task", "count").stderr == ""

    def test_two_values_are_classes_unless_an_exposure_says_counts(self, tmp_path):
        frame = policies(120).assign(claims=lambda f: (f["claims"] > 0).astype(int))
        table = write_csv(frame[["age", "zone", "years", "claims"]], tmp_path / "t.csv", ",")
        given = ("fit", table, "--target", "claims", "-o", tmp_path / "m.json", *FAST)
        outcome = run(*given)
        assert outcome.exit_code == 0, outcome.output
        assert outcome.stderr == ""
        assert load(tmp_path / "m.json").classes == (0, 1)
        outcome = run(*given, "--exposure", "years")
        assert "taken as --task count" in outcome.stderr
        assert load(tmp_path / "m.json").loss.name == "poisson"

    def test_the_estimate_is_of_numbers(self, table, tmp_path):
        model = tmp_path / "m.json"
        asked = (*COUNT, *NO_FEATURES, "-o", model, "--l1", "0.1", "--folds", "2")
        told = good("fit", table, *asked)
        first, _, _, *measures, last = told.splitlines()
        assert "300 rows, claims from 0 to 5, mean 0.9" in first
        assert "per unit of years; 4 variables; loss poisson." in first
        names = [text.strip().rsplit("  ", 1)[0].rstrip() for text in measures]
        assert [re.split(r" +-?\d", name)[0] for name in names][:5] == [
            "deviance explained",
            "Gini index",
            "calibration ratio",
            "mean absolute error",
            "root mean squared error",
        ]
        assert last.endswith(f"verify {model} {table} --target claims --exposure years")
        kept = load(model).training["cross_validation"]
        assert f"{kept['gini']['mean']:.4f}" in measures[1]
        assert f"{kept['calibration_ratio']['mean']:.4f}" in measures[2]
        assert f"{kept['mae']['mean']:.4f}" in measures[3]
        found = json.loads(good("fit", table, *asked, "--json"))["estimate"]
        names = ("deviance_explained", "gini", "calibration_ratio", "mae", "rmse", "miu")
        assert {name: found[name] for name in names} == {name: kept[name] for name in names}

    def test_of_squared_error_the_share_explained_is_r2(self, table, tmp_path):
        asked = ("--target", "cost", "--task", "regression", "-o", tmp_path / "m.json")
        told = good("fit", table, *asked, "--l1", "0.1", "--folds", "2")
        assert "\n  R2 " in told
        assert "deviance explained" not in told
        assert "): R2 " in " ".join(good("show", tmp_path / "m.json").split())

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["--task", "counts"],
                "--task counts: it is one of auto, binary, multiclass, regression",
            ),
            (["--loss", "poison"], "did you mean 'poisson'?"),
            (["--task", "count", "--positive", "1"], "--task count is for a number to predict, "),
            (["--exposure", "years", "--balanced"], "--exposure is for a number to predict, --bal"),
            (["--task", "binary", "--offset", "known"], "--task binary for two classes; leave one"),
            (["--task", "count", "--power", "1.5"], "--power 1.5 is of the Tweedie loss"),
            (["--power", "2.5"], "must be a number between 1 and 2"),
            (
                ["--task", "count", "--exposure", "zone"],
                "holds texts; exposures are numbers",
            ),
            (["--task", "count", "--exposure", "yeers"], "did you mean 'years'?"),
            (["--task", "regression", "--exposure", "years"], "exposure multiplies a mean"),
            (["--task", "amount", "--target", "zone"], "which is no number; correct the cells"),
            (["--task", "count", "--target", "claim"], "did you mean 'claims'?"),
            (
                ["--target", "zone", "--task", "binary"],
                "holds 3 values (east, north, south); several classes are a task of their own",
            ),
            (["--task", "count", "--target", "known"], "the loss needs counts"),
        ],
    )
    def test_what_contradicts_itself_is_refused(self, table, tmp_path, options, message):
        target = [] if "--target" in options else ["--target", "claims"]
        asked = ("fit", table, *target, *options, "-o", tmp_path / "m.json", *QUICK)
        assert message in refused(*asked)
        assert not (tmp_path / "m.json").exists()

    def test_gaps_are_named_and_may_be_left_out(self, tmp_path):
        frame = policies(80).astype({"claims": float})
        frame.loc[3:7, "claims"] = np.nan
        frame.loc[9, "years"] = np.nan
        table = write_csv(frame, tmp_path / "t.csv", ",")
        asked = ("fit", table, *COUNT, "-o", tmp_path / "m.json", *FAST)
        assert "missing in 5 of 80 rows, first in row 4" in refused(*asked)
        assert "the exposure column 'years' is missing in row 5; fill it in" in refused(
            *asked, "--drop-unlabelled"
        )
        frame["years"] = frame["years"].fillna(1.0)
        write_csv(frame, table, ",")
        good(*asked, "--drop-unlabelled")
        verify = ("--target", "claims", "--exposure", "years")
        outcome = run("verify", tmp_path / "m.json", table, *verify)
        assert outcome.exit_code == 0, outcome.output

    def test_tables_in_batches_give_the_model_of_one_file(self, tmp_path):
        frame = policies()
        frame.to_parquet(tmp_path / "whole.parquet")
        parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
        frame.iloc[:100].to_parquet(parts[0])
        frame.iloc[100:].to_parquet(parts[1])
        asked = ("--l1", "0.05", "--folds", "0", "-o")
        number = ("--target", "cost", "--id-column", "policy", "--exclude", "claims")
        for options in ([*COUNT, *NO_FEATURES], number):
            good("fit", tmp_path / "whole.parquet", *options, *asked, tmp_path / "w.json")
            said = run("fit", *parts, *options, *asked, tmp_path / "p.json")
            assert said.exit_code == 0, said.output
            assert (tmp_path / "p.json").read_bytes() == (tmp_path / "w.json").read_bytes()
        assert "taken as --task regression; say another" in said.stderr
        assert "300 rows in files, cost from 0 to" in said.stdout

    def test_bad_cells_of_tables_in_batches_are_named(self, tmp_path):
        frame = policies(80).astype({"claims": float})
        parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
        frame.iloc[:40].to_parquet(parts[0])
        asked = ("fit", *parts, "-o", tmp_path / "m.json", *FAST)
        for column, value, message in (
            ("claims", np.nan, "missing in 1 of 80 rows, first in row 44; fill them in, or leave"),
            ("claims", -2.0, "is -2.0 in row 3 of"),
            ("years", 0.0, "exposure (column 'years') is 0.0 in row 3 of"),
        ):
            frame.assign(**{column: frame[column].where(frame.index != 43, value)}).iloc[
                40:
            ].to_parquet(parts[1])
            assert message in refused(*asked, *COUNT)
        frame.assign(claims="many").iloc[40:].to_parquet(parts[1])
        frame.assign(claims="many").iloc[:40].to_parquet(parts[0])
        assert "holds 'many', which is no number" in refused(*asked, *COUNT)


class TestShow:
    def test_counts_multiply(self, counts):
        shown = good("show", counts)
        assert "logarithm of the mean of claims per unit of years: the sum of (times:" in shown
        model = load(counts)
        assert f"intercept {model.intercept:+.4g}  (mean {np.exp(model.intercept):.4g})" in shown
        for rule in model.rules():
            said, ratio = f"{rule.term}  {rule.coefficient:+.4g}", f"{rule.effect:.4g}"
            if rule.step is None:
                assert f"{said}  (times {ratio})" in shown
            else:
                assert re.search(rf"{re.escape(said)}  [^├└]*: rate\s+ratio\s+{ratio}\s+for", shown)
        assert "positive" not in shown

    def test_numbers_add(self, costs):
        shown = good("show", costs)
        assert "\nmean of cost: the sum of\n" in shown
        assert "times" not in shown

    def test_json(self, counts):
        found = json.loads(good("show", counts, "--json"))
        assert found["mean"] == "mean of claims per unit of years"
        assert found["loss"] == {"name": "poisson", "link": "log"}
        assert not {"positive", "other", "probability"} & set(found)
        assert "rate_ratio" in found["rules"][0]

    def test_leaves_say_their_mean(self, tmp_path):
        rng = np.random.default_rng(0)
        x, z = rng.integers(0, 2, (2, 400))
        frame = pd.DataFrame({"x": x, "z": z, "y": rng.poisson(1 + 5 * (x ^ z))})
        table = write_csv(frame, tmp_path / "t.csv", ",")
        options = ("--target", "y", "--task", "count", "-o", tmp_path / "m.json", "--folds", 0)
        good("fit", table, *options, "--l1", "0.02")
        rules = [r for r in load(tmp_path / "m.json").rules() if r.support < 400]
        assert rules
        shown = good("show", tmp_path / "m.json", width=200)
        said = [f"n={rule.support:g}, mean {rule.mean:.4g}" for rule in rules]
        assert any(text in shown for text in said)
        good("show", tmp_path / "m.json", "--svg", tmp_path / "m.svg")
        drawn = (tmp_path / "m.svg").read_text()
        assert any(text in drawn for text in said)
        assert "logarithm of the mean of y =" in drawn


class TestScore:
    def test_exposure_multiplies_the_mean(self, counts, table, tmp_path):
        outcome = run("score", counts, table, "--exposure", "years", "-o", tmp_path / "s.csv")
        assert outcome.exit_code == 0, outcome.output
        assert outcome.stderr == f"Wrote {tmp_path / 's.csv'}: 300 rows\n"
        found, frame = read_table(tmp_path / "s.csv"), policies()
        assert list(found) == ["row", "score", "mean"]
        score = load(counts).score(rows(counts))
        assert (found["score"] == score).all()
        assert np.allclose(found["mean"], np.exp(score) * frame["years"], rtol=1e-14)

    def test_without_it_the_mean_is_for_one_unit(self, counts, table):
        outcome = run("score", counts, table, "--id-column", "policy")
        assert "note: the mean is for one unit of years; name the column" in outcome.stderr
        head, first, *_ = outcome.stdout.splitlines()
        assert head == "policy,score,mean"
        name, score, mean = first.split(",")
        assert name == "A001"
        assert float(mean) == pytest.approx(np.exp(float(score)), rel=1e-14)

    def test_an_offset_is_added_and_contributions_add_up(self, costs, table):
        lines = good("score", costs, table, "--offset", "known", "--contributions").splitlines()
        frame = pd.DataFrame([map(float, line.split(",")) for line in lines[1:]])
        total = frame.iloc[:, 3:].to_numpy()
        summed = total[:, 0]
        for column in total.T[1:]:
            summed = summed + column
        assert (summed == frame[1]).all()
        assert np.allclose(frame[2], frame[1] + policies()["known"], rtol=1e-14)

    def test_in_batches(self, counts, table, tmp_path):
        frame = policies()
        for name, rows in (("a", frame[:100]), ("b", frame[100:])):
            rows.to_parquet(tmp_path / f"{name}.parquet")
        beside = ("--exposure", "years", "--id-column", "policy")
        files = sorted(tmp_path.glob("*.parquet"))
        run("score", counts, *files, *beside, "-o", tmp_path / "s.csv")
        good("score", counts, table, *beside, "-o", tmp_path / "t.csv")
        assert (tmp_path / "s.csv").read_text() == (tmp_path / "t.csv").read_text()

    def test_what_is_not_of_the_task_is_refused(self, counts, table, tmp_path):
        for option in (["--class"], ["--threshold", "0.5"]):
            line = refused("score", counts, table, *option)
            assert "--class and --threshold are for models of two classes" in line
        assert "exposure column 'none' is not in the table" in refused(
            "score", counts, table, "--exposure", "none"
        )
        two = ("--target", "zone2", "-o", tmp_path / "m.json", *FAST)
        frame = policies(100).assign(zone2=lambda f: np.where(f["age"] > 40, "a", "b"))
        other = write_csv(frame.drop(columns="policy"), tmp_path / "t.csv", ",")
        good("fit", other, *two)
        for command in (["score"], ["verify", "--target", "zone2"]):
            asked = (command[0], tmp_path / "m.json", other, *command[1:], "--exposure", "years")
            assert "--exposure is for models of a number" in refused(*asked)


class TestExplain:
    def test_the_running_product_ends_in_the_mean(self, counts, table):
        for row in (1, 8, 24):
            shown = good("explain", counts, table, "--row", row).splitlines()
            assert shown[1].split() == ["adds", "times", "mean", "so", "far", "because"]
            model, place = load(counts), rows(counts).iloc[[row - 1]]
            mean = float(model.response(place)[0])
            assert shown[-1].strip().endswith(f"mean of claims per unit of years: {mean:.6g}")
            assert f"  {mean:.4g}  score;" in shown[-1]
            adds = [line.split()[:3] for line in shown[3:] if " C1 D" in line]
            product = np.exp(model.intercept)
            for add, times, so_far in adds:
                assert float(times) == pytest.approx(np.exp(float(add)), rel=1e-3)
                product *= np.exp(float(add))
                assert float(so_far) == pytest.approx(product, rel=1e-2)

    def test_numbers_add_up(self, costs, table):
        shown = good("explain", costs, table, "--row", 8).splitlines()
        assert shown[1].split() == ["adds", "because"]
        mean = float(load(costs).response(rows(costs).iloc[[7]])[0])
        assert f"mean of cost: {mean:.6g}" in shown[-1]

    def test_json(self, counts, table):
        found = json.loads(good("explain", counts, table, "--row", 8, "--json"))
        assert found["mean"] == float(load(counts).response(rows(counts).iloc[[7]])[0])
        assert found["mean"] == pytest.approx(np.exp(found["score"]))
        assert not {"probability", "positive", "target"} & set(found)

    def test_the_mean_for_an_exposure_is_told(self, counts, table):
        asked = ("explain", counts, table, "--row", 8, "--exposure", "years")
        case = policies().iloc[[7]]
        mean = float(load(counts).predict(case[["age", "zone"]], case["years"])[0])
        years = float(case["years"].iloc[0])
        last = good(*asked).splitlines()[-1].strip()
        assert last == f"mean of claims with years = {years:g} is {mean:.6g}"
        found = json.loads(good(*asked, "--json"))
        assert (found["exposure"], found["predicted"]) == (years, mean)
        more = json.loads(good(*asked, "--offset", "known", "--json"))
        offset = float(case["known"].iloc[0])
        assert more["offset"] == offset
        assert more["predicted"] == pytest.approx(mean * np.exp(offset))
        assert "did you mean 'years'?" in refused(*asked[:-1], "yeers")

    def test_what_if(self, counts, table):
        shown = good("whatif", counts, table, "--row", 8, "--set", "age=30", "--set", "zone=south")
        after = float(load(counts).response(pd.DataFrame({"age": [30], "zone": ["south"]}))[0])
        assert f"-> {after:.6g}" in shown
        assert "mean of claims per unit of years: " in shown
        assert "probability" not in shown


class TestVerify:
    def test_the_training_table_proves_all(self, counts, costs, table):
        shown = good("verify", counts, table, "--target", "claims", "--exposure", "years")
        assert "Stage 3 optimality" in shown
        assert "FAILS" not in shown
        good("verify", costs, table, "--target", "cost")
        assert "open" in good("verify", counts, table)

    def test_another_exposure_fails(self, counts, table):
        outcome = run("verify", counts, table, "--target", "claims", "--exposure", "age")
        assert outcome.exit_code == 1
        assert "training table" in outcome.stderr
        line = refused("verify", counts, table, "--target", "claims")
        assert "fitted with the exposure 'years'; name its column: --exposure" in line

    def test_columns_need_a_table_and_a_target(self, counts, table):
        line = refused("verify", counts, "--target", "claims", "--exposure", "years")
        assert "--target and --exposure name columns of a table" in line
        assert "--exposure needs --target" in refused(
            "verify", counts, table, "--exposure", "years"
        )


def test_a_frontier_speaks_of_the_mean(table, tmp_path):
    asked = (*COUNT, *NO_FEATURES, "-o", tmp_path / "m.json", "--folds", 0)
    good("fit", table, *asked, "--max-inspection-units", 8)
    shown = good("frontier", tmp_path / "m.json")
    assert "share of the deviance between the mean alone (" in shown
    assert "base rate" not in shown


class TestCompare:
    def test_means_move(self, counts, table, tmp_path):
        asked = (*COUNT, *NO_FEATURES, "-o", tmp_path / "n.json", "--l1", "0.3", "--folds", 0)
        good("fit", table, *asked)
        found = json.loads(good("compare", counts, tmp_path / "n.json", table, "--json"))
        assert found["mean"] == "mean of claims per unit of years"
        moved = found["predictions"]
        models = counts, tmp_path / "n.json"
        before, after = (load(model).response(rows(model)) for model in models)
        change = after - before
        assert moved["mean"]["largest"] == pytest.approx(np.abs(change).max())
        assert not {"positive", "turned_round"} & set(found)
        assert not {"probability", "classes_changed"} & set(moved)
        shown = good("compare", counts, tmp_path / "n.json", table)
        assert "Both predict the mean of claims per unit of years." in shown
        assert f"means move by {np.abs(change).mean():.4g} on average" in shown
        assert "probabilit" not in shown

    def test_models_of_different_things_are_refused(self, counts, costs):
        assert "only models of the same outcome" in refused("compare", counts, costs)


class TestIntervals:
    def test_calibrate_then_score(self, counts, table, tmp_path):
        kept = policies(90, seed=8)
        other = write_csv(kept, tmp_path / "kept.csv", ",")
        asked = ("--target", "claims", "--exposure", "years", "-o", tmp_path / "with.json")
        told = good("calibrate", counts, other, *asked)
        assert told.strip().endswith("prediction intervals: calibrated on 90 rows held out")
        good("score", tmp_path / "with.json", table, "--exposure", "years", "--interval", "0.2",
             "-o", tmp_path / "scores.csv")  # fmt: skip
        found = pd.read_csv(tmp_path / "scores.csv")
        assert list(found) == ["row", "score", "mean", "lower", "upper"]
        frame = policies()
        model = load(tmp_path / "with.json")
        ends = model.predict_interval(frame[["age", "zone"]], 0.2, frame["years"])
        np.testing.assert_allclose(found[["lower", "upper"]], ends)
        assert (found["lower"] <= found["mean"]).all()
        assert (found["mean"] <= found["upper"]).all()
        assert "calibrated on 90 rows" in good("show", tmp_path / "with.json")
        line = refused("score", tmp_path / "with.json", table, "--interval", "0.001")
        assert "alpha=0.001 is too small for 90 calibration rows" in line

    def test_groups_and_weights(self, costs, table, tmp_path):
        kept = policies(60).assign(cost=lambda f: f["cost"] + 1.0)
        other = write_csv(kept, tmp_path / "kept.csv", ",")
        asked = ("--target", "cost", "-o", tmp_path / "with.json")
        told = good("calibrate", costs, other, *asked, "--groups", "zone")
        assert "calibrated on 3 groups held out" in told
        told = good("calibrate", costs, other, *asked, "--weight-column", "claims")
        assert f"calibrated on {kept['claims'].sum()} rows held out" in told

    def test_what_is_refused(self, counts, table, tmp_path):
        asked = ("--target", "claims", "--exposure", "years", "-o", tmp_path / "m.json")
        assert "this is the training table" in refused("calibrate", counts, table, *asked)
        assert not (tmp_path / "m.json").exists()
        line = refused("score", counts, table, "--interval", "0.1")
        assert "the model has no prediction intervals" in line


class TestUncertainty:
    def test_terms_and_the_mean_of_a_case(self, counts, table):
        asked = ("uncertainty", counts, table, "--target", "claims", "--exposure", "years")
        asked = (*asked, "--resamples", 8)
        record = json.loads(good(*asked, "--json"))
        assert record["training_table"]
        assert record["terms"][0]["estimate"] == load(counts).intercept
        case = json.loads(good(*asked, "--row", 8, "--json"))
        row = policies().iloc[[7]]
        mean = float(load(counts).predict(row[["age", "zone"]], row["years"])[0])
        assert case["mean"]["estimate"] == mean
        assert 0.0 < case["mean"]["low"] < case["mean"]["high"]
        shown = good(*asked, "--row", 8)
        assert f"{mean:.6g}" in shown
        assert "mean" in shown
        assert "probability" not in shown

    def test_what_the_fit_had_is_asked_for(self, counts, costs, table):
        line = refused("uncertainty", counts, table, "--target", "claims")
        assert "was fitted with the exposure 'years'" in line
        good("uncertainty", costs, table, "--target", "cost", "--resamples", 3)


class TestOnTheRecord:
    EXPOSED = ("--exposure", "years")

    def test_reasons_are_factors(self, counts, table):
        shown = good("reasons", counts, table, "--row", "1", "--reference", "best")
        first = (
            "What makes for a high mean of claims per unit of years, as factors against the best"
        )
        assert first in shown
        assert " x1." in shown
        asked = ("--row", "1", "--row", "2", "--least", "0", "--most", "9")
        for adverse, sign in (("high", 1.0), ("low", -1.0)):
            found = json.loads(
                good("reasons", counts, table, *asked, "--adverse", adverse, "--json")
            )
            model = load(counts)
            rule = reason_rule(model, adverse=adverse, least=0.0, most=9)
            truth = reason_codes(model, rows(counts)[:2], rule)
            assert [[r["weight"] for r in case["reasons"]] for case in found] == [
                [r.weight for r in reasons] for reasons in truth
            ]
            assert rule.sign(model) == sign

    def test_reasons_of_squared_error_are_in_units_of_the_target(self, costs, table):
        shown = good("reasons", costs, table, "--row", "1", "--adverse", "low")
        assert "What makes for a low mean of cost, in units of cost against the training" in shown
        assert "x" not in shown.splitlines()[-1].split()[1]

    def test_a_log_is_replayed(self, counts, table, tmp_path):
        log = tmp_path / "log.jsonl"
        asked = ("--id-column", "policy", "--threshold", "0.9", *self.EXPOSED)
        head = good("decide", counts, table, "-o", log, *asked).split()[-1]
        said = good("replay", log, "--model", counts, "--head", head)
        assert "300 cases computed again: all are as recorded" in said
        cases = list(read_decisions(log, load(counts)))
        mean = load(counts).predict(rows(counts), exposure=policies()["years"])
        assert [case["mean"] for case in cases] == mean.tolist()
        assert [case["adverse"] for case in cases] == (mean >= 0.9).tolist()
        assert [case["id"] for case in cases] == policies()["policy"].tolist()

    def test_a_mean_for_one_unit_is_said(self, counts, table, tmp_path):
        said = run("decide", counts, table, "-o", tmp_path / "l.jsonl", "--threshold", "1").stderr
        assert "note: the mean is for one unit of years; name the column with --exposure" in said
        said = run("decide", counts, table, "-o", tmp_path / "l.jsonl").stderr
        assert "note: the mean" not in said

    def test_counterfactuals(self, counts, table):
        asked = ("--row", "1", "--may-change", "age", *self.EXPOSED)
        found = json.loads(good("counterfactual", counts, table, "--to", "0.4", *asked, "--json"))
        model, year = load(counts), float(policies()["years"][0])
        truth = model.counterfactuals(
            rows(counts)[:1], 0.4, exposure=year, actions=Actions(may_change=["age"])
        )
        assert {"row": 1, **truth.to_dict()} == found
        shown = good("counterfactual", counts, table, "--to", "0.4", *asked)
        said = f"mean of claims with years = {year:g} is {truth.response:.6g}; what would"
        assert said in " ".join(shown.split())

    def test_an_edit_with_new_estimates(self, counts, table, tmp_path):
        who = ("--by", "A", "--reason", "B", "-o", tmp_path / "e.json", "--drop-source", "zone")
        asked = ("--refit", table, "--target", "claims", *self.EXPOSED)
        shown = good("edit", counts, *who, *asked)
        assert "deviance explained" in shown
        assert "AUC" not in shown
        good("verify", tmp_path / "e.json", table, "--target", "claims", *self.EXPOSED)
        assert load(tmp_path / "e.json").sources == ("age",)

    def test_refused(self, counts, costs, table, tmp_path):
        one = ("--row", "1")
        assert "--to: say which mean of claims" in refused("counterfactual", counts, table, *one)
        assert "a mean above 0" in refused("counterfactual", counts, table, *one, "--to", "-1")
        line = refused("decide", costs, table, "-o", tmp_path / "l.jsonl", *self.EXPOSED)
        assert "exposure multiplies a mean" in line
        who = ("--by", "A", "--reason", "B", "-o", tmp_path / "e.json")
        line = refused("edit", counts, *who, "--refit", table, "--target", "claims")
        assert "was fitted with the exposure 'years'" in line
        assert not list(tmp_path.iterdir())


def test_a_scorecard_is_for_two_classes(counts, tmp_path):
    line = refused("export", counts, "--to", "scorecard", "-o", tmp_path / "card.html")
    assert "number" in line
    assert not list(tmp_path.iterdir())

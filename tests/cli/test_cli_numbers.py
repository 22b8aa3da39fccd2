"""Models of numbers and counts on the command line, and what is for two classes alone."""

import json

import numpy as np
import pandas as pd
import pytest

from command_tables import QUICK, good, policies, refused, run, write_csv
from rpte import RPTERegressor, load
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


@pytest.fixture(scope="module")
def table(folder):
    return folder / "policies.csv"


@pytest.fixture(scope="module")
def counts(folder):
    return folder / "counts.json"


@pytest.fixture(scope="module")
def costs(folder):
    return folder / "costs.json"


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
        assert [name.split(" 0")[0].split(" 1")[0] for name in names][:3] == [
            "deviance explained",
            "mean absolute error",
            "root mean squared error",
        ]
        assert last.endswith(f"verify {model} {table} --target claims --exposure years")
        kept = load(model).training["cross_validation"]
        assert f"{kept['mae']['mean']:.4f}" in measures[1]
        found = json.loads(good("fit", table, *asked, "--json"))["estimate"]
        assert {name: found[name] for name in ("deviance_explained", "mae", "rmse", "miu")} == {
            name: kept[name] for name in ("deviance_explained", "mae", "rmse", "miu")
        }

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--task", "counts"], "--task counts: it is one of auto, binary, regression, count"),
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
            (["--target", "zone"], "holds 3 values (east, north, south); several classes"),
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

    def test_tables_in_batches_are_for_two_classes(self, tmp_path):
        for name in "ab":
            policies(40).to_parquet(tmp_path / f"{name}.parquet")
        line = refused("fit", tmp_path, *COUNT, "-o", tmp_path / "m.json", *FAST)
        assert "a model of a number is fitted in memory" in line


class TestShow:
    def test_counts_multiply(self, counts):
        shown = good("show", counts)
        assert "logarithm of the mean of claims per unit of years: the sum of (times:" in shown
        model = load(counts)
        assert f"intercept {model.intercept:+.4g}  (mean {np.exp(model.intercept):.4g})" in shown
        for term in model.direct:
            said = f"{term.name}  {term.coefficient:+.4g}  (times {np.exp(term.coefficient):.4g})"
            assert said in shown
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


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("report", ["-o", "r.html"]),
        ("report", ["policies.csv", "--target", "claims", "-o", "r.html"]),
        ("report", ["--template", "r.toml"]),
        ("reasons", ["policies.csv"]),
        ("reasons", ["--template", "-o", "r.toml"]),
        ("decide", ["policies.csv", "-o", "r.jsonl"]),
        ("counterfactual", ["policies.csv", "--row", "1"]),
        ("uncertainty", ["policies.csv", "--target", "claims"]),
        ("edit", ["-o", "r.json", "--by", "A", "--reason", "B", "--drop-source", "age"]),
    ],
)
def test_what_is_for_two_classes_says_so(folder, monkeypatch, command, options):
    monkeypatch.chdir(folder)
    line = refused(command.split()[0], "counts.json", *options)
    assert (
        f"error: rpte {command} is for models of two classes, and this one is of a number" in line
    )
    assert "(mean of claims per unit of years)" in line
    assert not list(folder.glob("r.*"))


def test_a_scorecard_is_for_two_classes(counts, tmp_path):
    line = refused("export", counts, "--to", "scorecard", "-o", tmp_path / "card.html")
    assert "number" in line
    assert not list(tmp_path.iterdir())

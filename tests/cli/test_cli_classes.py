"""Models of several classes on the command line, and what has nothing for them."""

import json

import numpy as np
import pandas as pd
import pytest

from command_tables import credit, file_of_folder, good, refused, run, write_csv
from model_files import class_case
from rpte import RPTEClassifier, compare, load
from rpte.table.files import read_table

FAST = ("--l1", "0.01", "--folds", "0")
TARGET = ("--target", "weather", "--id-column", "day")
NAMES = ("calm", "rain", "storm")


def weather(classes=NAMES, n=240):
    """Return a table of days with their weather."""
    X, y, _ = class_case(n=n, classes=classes)
    return X.assign(day=[f"d{k:03d}" for k in range(n)], weather=y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weather")
    table = write_csv(weather(), folder / "weather.csv", ",")
    good("fit", table, *TARGET, "-o", folder / "model.json", *FAST)
    other = ("--l1", "0.03", "--folds", "0", "--balanced", "--exclude", "region")
    good("fit", table, *TARGET, "-o", folder / "other.json", *other)
    return folder


table = file_of_folder("weather.csv")
model = file_of_folder("model.json")


def rows():
    return weather()[["wind", "pressure", "region"]]


class TestFit:
    def test_the_model_is_that_of_the_library(self, model):
        made = RPTEClassifier(l1=0.01).fit(rows(), weather()["weather"])
        assert load(model) == made.model_

    def test_what_is_guessed_is_said(self, table, tmp_path):
        asked = ("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST)
        outcome = run(*asked)
        assert outcome.exit_code == 0, outcome.output
        note = "note: the target 'weather' holds 3 different texts: taken as --task multiclass; say"
        assert outcome.stderr.startswith(note)
        counts = weather()["weather"].value_counts().sort_index()
        held = ", ".join(f"{name} in {count}" for name, count in counts.items())
        assert f"240 rows, weather {held}; 3 variables." in outcome.stdout
        first = (tmp_path / "m.json").read_bytes()
        outcome = run(*asked, "--task", "multiclass")
        assert outcome.exit_code == 0
        assert outcome.stderr == ""
        assert (tmp_path / "m.json").read_bytes() == first

    def test_numbers_are_classes_if_an_option_says_so(self, tmp_path):
        table = write_csv(weather((1, 2, 4)), tmp_path / "t.csv", ",")
        asked = ("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST)
        assert "taken as --task count" in run(*asked).stderr
        assert load(tmp_path / "m.json").task == "regression"
        outcome = run(*asked, "--balanced")
        assert "3 different values, and --balanced is for classes: taken as" in outcome.stderr
        assert load(tmp_path / "m.json").classes == (1, 2, 4)
        assert run(*asked, "--task", "multiclass").stderr == ""
        assert load(tmp_path / "m.json").training["class_factors"] == [1.0, 1.0, 1.0]
        outcome = run("verify", tmp_path / "m.json", table, "--target", "weather")
        assert outcome.exit_code == 0, outcome.output
        told = json.loads(good("explain", tmp_path / "m.json", table, "--row", "2", "--json"))
        assert told["class"] in (1, 2, 4)

    def test_two_labels_are_two_classes_whatever_the_task(self, tmp_path):
        frame = weather()
        frame = frame[frame["weather"] != "storm"]
        table = write_csv(frame, tmp_path / "t.csv", ",")
        good("fit", table, *TARGET, "--task", "multiclass", "-o", tmp_path / "m.json", *FAST)
        assert load(tmp_path / "m.json").task == "binary"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--task", "multiclas"], "did you mean 'multiclass'?"),
            (["--task", "multiclass", "--positive", "rain"], "of several each has a score"),
            (["--task", "multiclass", "--exposure", "wind"], "for several classes; leave one out"),
            (["--positive", "rain"], "positive as given is for two classes alone"),
            (["--task", "binary"], "holds 3 values (calm, rain, storm); several classes are"),
            (["--task", "regression"], "which is no number"),
            (["--paper"], "is for two classes alone, and y holds 3: give vocabulary='shapes'"),
            (["--monotone", "wind=increasing"], "but there are 3 classes; name the class whose"),
            (["--monotone", "wind=hail:increasing"], "names 'hail', which is no class"),
            (["--monotone", "wind=rain:up"], "is 'up'; it must be 'increasing' or 'decreasing'"),
            (["--monotone", "wind=rain:increasing"] * 2, "names 'wind' twice; say it once"),
            (["--target", "day", "--id-column", "weather"], "at most 50 can be told apart"),
        ],
    )
    def test_what_cannot_be_is_refused(self, table, tmp_path, options, message):
        given = [] if "--target" in options else TARGET
        asked = ("fit", table, *given, *options, "-o", tmp_path / "m.json", "--folds", "0")
        assert message in refused(*asked)
        assert not (tmp_path / "m.json").exists()

    def test_monotone_limits_by_class(self, table, tmp_path):
        limits = "wind=storm:increasing", "wind=calm:decreasing"
        asked = [word for limit in limits for word in ("--monotone", limit)]
        good("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST, *asked)
        model = load(tmp_path / "m.json")
        told = {"calm": "decreasing", "storm": "increasing"}
        assert model.settings["limits"]["monotone"] == {"wind": told}
        shown = good("show", tmp_path / "m.json")
        assert "limit: 'storm' increasing in wind" in shown
        assert "monotone: 'calm' decreasing in wind" in good("verify", tmp_path / "m.json")

    def test_rare_classes_are_named(self, tmp_path):
        frame = weather()
        frame.loc[:2, "weather"] = "hail"
        table = write_csv(frame, tmp_path / "t.csv", ",")
        told = run("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST).stderr
        assert "with fewer than 5 rows ('hail' 3)" in " ".join(told.split())
        assert "hail" in load(tmp_path / "m.json").classes

    def test_many_classes_are_told_in_few_words(self, tmp_path):
        frame = weather(n=300)
        frame["weather"] = [f"w{k % 12:02d}" for k in range(300)]
        table = write_csv(frame, tmp_path / "t.csv", ",")
        told = good("fit", table, *TARGET, "-o", tmp_path / "m.json", "--l1", "0.1", "--folds", "0")
        assert "w04 in 25, w05 in 25, 6 more; 3 variables" in told


class TestShow:
    def test_a_table_of_coefficients_by_class(self, model):
        told, found = good("show", model, width=120), load(model)
        lines = told.splitlines()
        heads = next(line.split() for line in lines if line.split()[:1] == ["calm"])
        assert heads == list(NAMES)
        for rule in found.rules():
            line = next(line for line in lines if f"{rule.term}  {rule.conditions}" in line)
            said = line.split()[:3]
            assert said == [f"{size:+.4g}" if size else "0" for size in rule.coefficients]
        assert max(map(len, lines)) <= 120

    @pytest.mark.parametrize("width", [40, 60, 75])
    def test_a_list_where_classes_have_no_room(self, model, width):
        told, found = good("show", model, width=width), load(model)
        assert max(map(len, told.splitlines())) <= width
        words = told.split()
        for rule in found.rules():
            start = words.index(rule.term)
            for name, size in zip(NAMES, rule.coefficients, strict=True):
                if size:
                    place = words.index(f"{size:+.4g}", start)
                    assert words[place + 1] == name

    def test_many_classes_do_not_break_numbers(self, tmp_path):
        table = write_csv(weather([f"class number {k}" for k in range(9)]), tmp_path / "t.csv", ",")
        good("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST)
        for width in (60, 100, 250):
            told = good("show", tmp_path / "m.json", width=width)
            assert max(map(len, told.splitlines())) <= width
            for rule in load(tmp_path / "m.json").rules():
                assert all(f"{size:+.4g}" in told.split() for size in rule.coefficients if size)

    def test_json(self, model):
        told, found = json.loads(good("show", model, "--json")), load(model)
        assert told["classes"] == list(NAMES)
        assert told["intercepts"] == dict(zip(NAMES, found.intercepts, strict=True))
        assert [list(r["coefficients"].values()) for r in told["rules"]] == [
            list(rule.coefficients) for rule in found.rules()
        ]
        assert told["terms"] == found.audit().mu

    def test_a_picture_is_refused(self, model, tmp_path):
        line = refused("show", model, "--svg", tmp_path / "m.svg")
        assert "rpte show --svg is for models of two classes or a number" in line


class TestScore:
    def test_class_scores_and_probabilities(self, model, table, tmp_path):
        said = good("score", model, table, "--id-column", "day", "-o", tmp_path / "s.csv")
        assert said == ""
        told, found = pd.read_csv(tmp_path / "s.csv", float_precision="round_trip"), load(model)
        kinds = ("score", "probability")
        assert list(told) == ["day", "class", *(f"{k}_{name}" for k in kinds for name in NAMES)]
        assert told["class"].tolist() == found.predict(rows()).tolist()
        for k, name in enumerate(NAMES):
            assert told[f"score_{name}"].tolist() == found.score(rows())[:, k].tolist()
            assert (
                told[f"probability_{name}"].tolist() == found.predict_proba(rows())[:, k].tolist()
            )

    def test_contributions_add_up(self, model, table):
        told = good("score", model, table, "--contributions")
        frame = read_csv(told)
        for name in NAMES:
            total = frame[f"intercept_{name}"].to_numpy()
            for component in load(model).components:
                total = total + frame[f"{component.name}_{name}"].to_numpy()
            assert total.tolist() == frame[f"score_{name}"].tolist()

    def test_in_batches(self, model, table, tmp_path):
        frame = read_table(table)
        frame.iloc[:100].to_parquet(tmp_path / "a.parquet")
        frame.iloc[100:].to_parquet(tmp_path / "b.parquet")
        good("score", model, tmp_path / "*.parquet", "-o", tmp_path / "s.parquet")
        whole = read_csv(good("score", model, table))
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "s.parquet"), whole)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--threshold", "0.3"], "rpte score --threshold is for models of two classes"),
            (["--interval", "0.1"], "rpte score --interval is for models of two classes"),
            (["--exposure", "wind"], "is for models of a number; this one is of several classes"),
        ],
    )
    def test_what_is_for_others_is_refused(self, model, table, options, message):
        assert message in refused("score", model, table, *options)

    def test_an_id_that_is_called_as_a_result(self, model, tmp_path):
        frame = weather().rename(columns={"day": "score_rain"})
        table = write_csv(frame, tmp_path / "t.csv", ",")
        line = refused("score", model, table, "--id-column", "score_rain")
        assert "has the name of a result; rename it" in line


def read_csv(text):
    import io

    return pd.read_csv(io.StringIO(text), float_precision="round_trip")


class TestExplain:
    def test_why_this_class_and_not_the_next(self, model, table):
        told = json.loads(good("explain", model, table, "--row", "7", "--json"))
        (found,) = load(model).explain(rows().iloc[[6]])
        assert (told["row"], told["class"], told["against"]) == (7, found.chosen, found.against)
        assert told["probabilities"] == {str(k): v for k, v in found.probabilities.items()}
        parts = told["difference"]["components"]
        total = told["difference"]["intercept"]
        for part in parts:
            total += part["value"]
        assert total == told["difference"]["score"] == found.difference.score
        text = good("explain", model, table, "--row", "7")
        assert f"why {found.chosen} and not {found.against}" in text
        where = f"probability of {found.chosen}, where it is this or {found.against}: "
        assert where in text

    def test_two_classes_by_name(self, model, table):
        asked = ("explain", model, table, "--id", "d010", "--id-column", "day")
        told = json.loads(good(*asked, "--class", "storm", "--against", "calm", "--json"))
        score = load(model).score(rows().iloc[[10]])[0]
        assert (told["class"], told["against"]) == ("storm", "calm")
        assert told["difference"]["score"] == pytest.approx(score[2] - score[0], abs=1e-12)

    def test_all_classes(self, model, table):
        asked = ("explain", model, table, "--row", "7", "--all-classes")
        told, found = json.loads(good(*asked, "--json")), load(model)
        score = found.score(rows().iloc[[6]])[0].tolist()
        assert [told["scores"][name]["score"] for name in NAMES] == score
        text = good(*asked, width=130)
        assert text.splitlines()[-1].split()[:3] == [f"{value:+.4g}" for value in score]
        term = found.rules()[0]
        values = [one.explain(rows().iloc[[6]])[0] for one in found.models]
        first = [v.components[0].contributions[0].value for v in values]
        line = next(line for line in text.splitlines() if f"{term.term}: {term.conditions}" in line)
        assert line.split()[:3] == [f"{value:+.4g}" if value else "0" for value in first]
        narrow = good(*asked, width=50)
        assert max(map(len, narrow.splitlines())) <= 50
        assert all(f"{value:+.4g}" in narrow for value in score)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["--class", "hail"],
                "--class hail: 'hail' is not a class; the classes are calm, rain",
            ),
            (["--class", "rain", "--against", "rain"], "'rain' is given twice"),
            (["--all-classes", "--class", "rain"], "leave --class out"),
            (["--offset", "wind"], "is for models of a number"),
        ],
    )
    def test_what_cannot_be_asked(self, model, table, options, message):
        assert message in refused("explain", model, table, "--row", "1", *options)

    def test_of_two_classes_there_is_nothing_to_name(self, tmp_path):
        frame = credit(150)[["debts", "job", "outcome"]]
        table = write_csv(frame, tmp_path / "t.csv", ",")
        good("fit", table, "--target", "outcome", "-o", tmp_path / "m.json", *FAST)
        line = refused("explain", tmp_path / "m.json", table, "--row", "1", "--class", "bad")
        assert "--class is for models of several classes; this one has one score" in line

    def test_what_if(self, model, table):
        asked = ("whatif", model, table, "--row", "7", "--set", "wind=90", "--set", "region=north")
        told, found = json.loads(good(*asked, "--json")), load(model)
        changed = rows().iloc[[6]].assign(wind=90.0, region="north")
        before, after = (found.predict_proba(X)[0] for X in (rows().iloc[[6]], changed))
        assert [list(p.values()) for p in told["probabilities"]] == [
            before.tolist(),
            after.tolist(),
        ]
        assert told["class"] == [NAMES[before.argmax()], NAMES[after.argmax()]]
        text = good(*asked)
        assert f"{before[2]:.4f}  {after[2]:.4f}" in text
        assert "probability of storm" in text


class TestAuditor:
    def test_verify(self, model, table, tmp_path):
        told = json.loads(good("verify", model, "--json"))
        assert told["holds"]
        assert {"canonical scores", "classes add up"} <= {c["name"] for c in told["checks"]}
        assert "contributions sum to the score" in good("verify", model, table)
        told = json.loads(good("verify", model, table, "--target", "weather", "--json"))
        names = [check["name"] for check in told["checks"]]
        assert "Stage 3 optimality of the active terms" in names
        frame = weather()
        frame.loc[[0, 1], "weather"] = ["rain", "storm"]
        other = write_csv(frame, tmp_path / "t.csv", ",")
        outcome = run("verify", model, other, "--target", "weather")
        assert outcome.exit_code == 1
        assert "training table" in outcome.stderr

    def test_audit(self, model, table):
        told, found = json.loads(good("audit", model, table, "--json")), load(model)
        sizes = [size for rule in found.rules() for size in rule.coefficients]
        assert (told["mu"], told["miu"]) == (len(found.rules()), found.audit().miu)
        counted = {"all": len(sizes), "not_zero": int(np.count_nonzero(sizes))}
        assert told["coefficients"] == counted
        text = good("audit", model, table)
        assert f"coefficients that are not 0, of {len(sizes)}" in text
        assert "terms (MU), each counted once for all classes" in text

    def test_compare(self, folder, table):
        files = folder / "model.json", folder / "other.json"
        told = json.loads(good("compare", *files, table, "--id-column", "day", "--json"))
        a, b = map(load, files)
        mine = compare(a, b, rows())
        for moved in told["predictions"]["moved_most"]:
            assert moved.pop("day") == f"d{moved['row'] - 1:03d}"
        assert told == mine
        assert told["classes"] == list(NAMES)
        assert told["variables"]["removed"] == ["region"]
        p, q = (model.predict_proba(rows()) for model in (a, b))
        moved = 0.5 * np.abs(p - q).sum(axis=1)
        assert told["predictions"]["probability"]["largest"] == pytest.approx(moved.max())
        changed = int((a.predict(rows()) != b.predict(rows())).sum())
        assert told["predictions"]["classes_changed"] == changed
        assert sum(at["rows"] for at in told["predictions"]["changes"]) == changed
        kept = {"removed": a, "added": b}
        for word, whole in kept.items():
            terms = {rule.term: rule.coefficients for rule in whole.rules()}
            for term in told["terms"][word]:
                assert tuple(term["coefficients"]) == terms[term["term"]]
        text = good("compare", *files, table)
        assert f"{changed} rows change class." in text
        assert "Classes that change" in text
        same = good("compare", files[0], files[0], table)
        assert "The models are the same, bit for bit." in same
        assert "0 added, 0 removed, 0 changed" in same

    def test_compare_with_other_outcomes_is_refused(self, model, tmp_path):
        frame = weather()
        table = write_csv(frame.replace({"storm": "tempest"}), tmp_path / "t.csv", ",")
        good("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST)
        assert "only models of the same outcome" in refused("compare", model, tmp_path / "m.json")
        table = write_csv(frame[frame["weather"] != "storm"], tmp_path / "t.csv", ",")
        good("fit", table, *TARGET, "-o", tmp_path / "m.json", *FAST)
        line = refused("compare", model, tmp_path / "m.json")
        assert "a comparison with a model of one score is for models of two classes" in line

    def test_without_validation_there_is_no_frontier(self, model):
        assert "its penalty was given, l1=0.01" in refused("frontier", model)

    @pytest.mark.slow(reason="fits several models with inner validation")
    def test_frontier(self, tmp_path):
        table = write_csv(weather(n=80), tmp_path / "weather.csv", ",")
        good("fit", table, *TARGET, "-o", tmp_path / "m.json", "--folds", "0")
        text = good("frontier", tmp_path / "m.json", "--svg", tmp_path / "f.svg")
        assert "the deviance between the class rates (" in text
        assert (tmp_path / "f.svg").read_text().startswith("<svg")
        told = json.loads(good("frontier", tmp_path / "m.json", "--json"))
        found = load(tmp_path / "m.json").training["selection"]
        assert [p["miu"] for p in told["points"]] == [p["miu"] for p in found["frontier"]]

    @pytest.mark.parametrize("command", ["calibrate"])
    def test_commands_for_one_score_say_so(self, model, table, tmp_path, command):
        out = tmp_path / "m.json"
        line = refused(command, model, table, "--target", "weather", "-o", out)
        assert f"rpte {command} is for models of two classes or a number" in line
        assert "tells 3 classes" in line

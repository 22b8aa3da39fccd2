"""Times until an event: their form, horizons and strata, SQL and scorecards."""

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from command_tables import good, refused
from export_models import (
    every_kind,
    needs_data,
    of_time,
)
from rpte import InputError, RPTESurvival
from rpte.export.cells import probe_table, read_cells
from rpte.export.evaluate import evaluate
from rpte.export.exporting import check_export, read_record
from rpte.export.lower import make_form
from rpte.export.parity import expected
from survival_tables import DATA, made_times


@cache
def fitted(name):
    """Return a model of a real table, and its rows."""
    table = pd.read_csv(DATA / "panel" / f"surv_{name}.csv")
    X, y = table.drop(columns=["time", "target"]), (table["target"] == 1, table["time"])
    return RPTESurvival(l1=0.02, max_trees=1).fit(X, y).model_, X


@cache
def in_strata():
    X, y = made_times(300, 3)
    clinic = np.array(["north", "south-east"])[np.arange(300) % 2]
    return RPTESurvival(l1=0.02).fit(X, y, strata=clinic).model_, X, clinic


class TestForm:
    def test_survival_is_that_of_the_model(self):
        model, X, clinic = in_strata()
        form = make_form(model, {"horizons": [0.5, 1.0]})
        lines = expected(model, X, form.horizons)
        wanted = model.survival_at(X, [0.5, 1.0], clinic)
        for k, label in enumerate(("north", "south_east")):
            mine = clinic == model.target.strata[k]
            for place, time in enumerate(("0_5", "1")):
                found = lines[f"survival_{time}_{label}"][mine]
                np.testing.assert_array_equal(found, wanted[mine, place])

    def test_before_the_first_event_survival_is_sure(self):
        form = make_form(of_time(every_kind()), {"horizons": [0.5]})
        assert (evaluate(form, read_cells(form, probe_table(form)))["survival_0_5"] == 1.0).all()

    def test_what_lines_are_called(self):
        results = make_form(of_time(every_kind()), {"horizons": [0.5, 12.0]}).results
        names = [line.name for line in results]
        assert names == ["score", "hazard_ratio", "survival_0_5", "survival_12"]
        hazard, *others = results[1], results[3]
        assert hazard.text == "hazard of died relative to the baseline"
        assert [line.text for line in others] == ["probability of no event (died) until months 12"]


class TestTargets:
    def test_relativities_are_hazard_ratios_with_the_baseline(self, tmp_path):
        model, X, _ = in_strata()
        path = tmp_path / "ratios.csv"
        assert model.export("relativities", path, X, horizons=[0.0, 1.0], stratum="north").holds
        table = pd.read_csv(path).set_index("term")
        rules = {rule.term: rule.coefficient for rule in model.rules()}
        ratios = table.loc[list(rules), "relativity"]
        np.testing.assert_allclose(ratios, np.exp(list(rules.values())), rtol=1e-12)
        found = table[table["kind"] == "baseline hazard"]["relativity"]
        hazard = float(model.target.steps("north").at(np.array([1.0]))[0])
        assert found.to_dict() == {"survival_0": 0.0, "survival_1": pytest.approx(hazard)}


class TestOptions:
    def test_one_stratum(self, tmp_path):
        model, X, _ = in_strata()
        model.export("python", tmp_path / "m.py", X, horizons="0.5, 1", stratum="south-east")
        assert read_record(tmp_path / "m.py")["options"] == {
            "horizons": [0.5, 1.0],
            "stratum": "south-east",
        }
        names: dict = {}
        exec((tmp_path / "m.py").read_text(), names)
        told = names["predict"](X.iloc[0].to_dict())
        assert list(told) == [
            "score",
            "hazard_ratio",
            "survival_0_5",
            "survival_1",
            "contributions",
        ]
        wanted = model.survival_at(X.head(1), [1.0], ["south-east"])[0, 0]
        assert told["survival_1"] == pytest.approx(wanted, abs=1e-15)

    def test_it_is_checked_again_with_its_horizons(self, tmp_path):
        model, X, _ = in_strata()
        model.export("python", tmp_path / "m.py", X, horizons=1)
        record = check_export(model, tmp_path / "m.py", X.head(9))
        assert {"survival_1_north", "survival_1_south_east"} < set(record.differences)
        assert re.search(r"of the hazard ratio \S+, of survival \S+$", str(record))

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"horizons": [99.0]}, "outside of what was observed"),
            ({"horizons": [-1.0]}, "outside of what was observed"),
            ({"horizons": "a year"}, "horizons='a year'; give times"),
            ({"horizons": [1.0], "stratum": "west"}, "stratum='west' is no stratum of the model"),
            ({"horizons": np.linspace(0.1, 1.0, 101)}, "101 horizons of 2 strata are more than"),
        ],
    )
    def test_what_is_refused(self, options, said, tmp_path):
        with pytest.raises(InputError, match=re.escape(said)):
            in_strata()[0].export("python", tmp_path / "m.py", **options)
        assert not list(tmp_path.iterdir())

    def test_other_tasks_have_no_horizons(self, tmp_path):
        with pytest.raises(InputError, match=r"horizons=\[1\] is about times until an event"):
            every_kind().export("python", tmp_path / "m.py", horizons=[1])

    def test_on_the_command_line(self, tmp_path):
        model, X, _ = in_strata()
        model.save(tmp_path / "model.json")
        X.to_csv(tmp_path / "rows.csv", index=False)
        given = ["export", tmp_path / "model.json", "-o", tmp_path / "m.py", "--to", "python"]
        told = ["--check", tmp_path / "rows.csv", "--option", "stratum=north"]
        assert "of survival" in good(*given, *told, "--horizon", "0.5,1", "--horizon", "2")
        record = json.loads((tmp_path / "m.py.parity.json").read_text())
        assert record["options"]["horizons"] == [0.5, 1.0, 2.0]
        assert "horizons" in refused(*given, "--horizon", "soon")


class TestSQL:
    def test_the_head_says_what_it_is(self):
        pytest.importorskip("sqlglot")
        from rpte.export.target import find_target, settle_options

        model, _, _ = in_strata()
        sql = find_target("sql")
        options = settle_options(sql, {"horizons": [1], "stratum": "north"}, model)
        text = sql.write(make_form(model, options), options)
        hazard = "hazard of event relative to the baseline"
        assert text.startswith(
            f"-- The logarithm of the {hazard}.\n"
            f"-- rpte_score is that logarithm, rpte_hazard_ratio the {hazard}.\n"
            "-- Survival until a time is exp(-hazard * hazard ratio), where hazard is the "
        )
        said = "/* probability of no event until time 1 in the stratum north */"
        assert f'"rpte_survival_1" {said}' in text

    @pytest.mark.slow(reason="runs long queries")
    @pytest.mark.parametrize("adverse", ["high", "low"])
    def test_reasons(self, adverse, tmp_path):
        pytest.importorskip("duckdb")
        model, X, _ = in_strata()
        options = {"reasons": 2, "adverse": adverse, "threshold": 1.1, "horizons": [1.0]}
        record = model.export("sql", tmp_path / "m.sql", X, dialect="duckdb", **options)
        assert record.notes == ("the reasons of all 300 rows are those of rpte reasons",)


@needs_data
class TestScorecard:
    def test_the_sum_of_points_is_read_as_survival(self, tmp_path):
        model, X = fitted("gbsg2")
        record = model.export("scorecard", tmp_path / "card.txt", X, horizons=[365, 730])
        assert record.holds
        card = model.scorecard(X, horizons=[365, 730])
        points = card.points(X)
        assert min(int(table.points.min()) for table in card.tables) == 0
        assert card.base == 0
        text = (tmp_path / "card.txt").read_text()
        rows = re.findall(r"^ +(\d+) +([\d.]+) +([01]\.\d{3})  ([01]\.\d{3})$", text, re.M)
        assert len(rows) > 5
        for total, ratio, *told in rows:
            score = card.log_odds(int(total))
            assert float(ratio) == pytest.approx(np.exp(score), rel=6e-3)
            wanted = model.target.survival_at(np.array([score]), np.array([365.0, 730.0]))[0]
            np.testing.assert_allclose(list(map(float, told)), wanted, atol=5.1e-4)
        np.testing.assert_array_equal(
            card.survival(X), model.target.survival_at(card.log_odds(points), np.array([365, 730]))
        )

    def test_the_largest_rounding_error_is_told(self, tmp_path):
        model, X = fitted("gbsg2")
        record = model.export("scorecard", tmp_path / "card.txt", X, horizons=[365, 730], pdo=10)
        card = model.scorecard(X, horizons=[365, 730], pdo=10)
        gap = np.abs(card.log_odds(card.points(X)) - model.score(X))
        points, moved = (
            gap.max() * card.scale.factor,
            np.abs(card.survival(X) - model.survival_at(X, [365, 730])).max(axis=0),
        )
        assert points <= card.bound
        assert f"and {points:.1f} at most: a factor of {np.exp(gap.max()):.3g}" in record.notes[0]
        assert record.notes[1].startswith("survival_365: ")
        assert record.notes[1].endswith(f"{moved[0]:.4f} at most")
        text = " ".join((tmp_path / "card.txt").read_text().split())
        assert f"moves the sum by at most {card.bound:.1f} points" in text

    @pytest.mark.parametrize("ending", ["csv", "html", "txt"])
    def test_strata_and_formats(self, ending, tmp_path):
        model, X, _ = in_strata()
        path = tmp_path / f"card.{ending}"
        assert model.export("scorecard", path, X, horizons=[1.0]).holds
        assert check_export(model, path, X.head(20)).holds
        if ending == "html":
            assert '<th class="n">time 1 (south-east)</th>' in path.read_text()
            assert "base points" not in path.read_text()

    def test_what_is_refused(self, tmp_path):
        model, X, _ = in_strata()
        for options in ({"base_score": 500.0}, {"base_odds": 2.0}):
            with pytest.raises(InputError, match="points of hazards begin at 0"):
                model.export("scorecard", tmp_path / "card.txt", X, **options)
        with pytest.raises(InputError, match="a card of times has none"):
            model.export("scorecard", tmp_path / "card.txt", X, label="y")
        with pytest.raises(InputError, match=r"ask for survival\(X\)"):
            model.scorecard(X).probability(X)

"""Relativities: the table multiplies to the mean of the model, and says what a tariff says."""

import ast
import csv
import math
from dataclasses import replace

import numpy as np
import pytest

import rpte.export.relativities.table as relativities
from export_models import (
    LOG_LINKS,
    every_kind,
    golden,
    model_with,
    number_model,
    of_number,
    variables,
)
from rpte import InputError, RPTERegressor
from rpte.columns.kinds import Level, Value
from rpte.export.exporting import check_export
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["term"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("loss", LOG_LINKS)
class TestEveryLoss:
    def test_fitted_models(self, loss, tmp_path):
        model, X, _ = number_model(loss)
        for rows in (X, None):
            record = model.export("relativities", tmp_path / "r.csv", rows)
            assert record.engine == "the CSV table, read again"
            assert record.differences["score"].largest == 0.0
            assert record.differences["mean"].relative < 1e-13
        parts = {part.name for _, part in model.parts()} | {c.name for c in model.components}
        assert set(record.differences) == parts | {"score", "mean"}
        assert check_export(model, tmp_path / "r.csv", X.head(20)).rows == 20

    def test_lines_are_those_of_the_model(self, loss, tmp_path):
        model, _, _ = number_model(loss)
        model.export("relativities", tmp_path / "r.csv")
        found = read(tmp_path / "r.csv")
        base = found.pop("base")
        assert float(base["relativity"]) == pytest.approx(math.exp(model.intercept), rel=1e-15)
        assert base["when"] == "mean of claims per unit of exposure"
        rules = {rule.term: rule for rule in model.rules()}
        texts = {term.name: term.text for term in model.direct}
        assert set(rules) <= set(found)
        for name, line in found.items():
            if name not in rules:  # a leaf that says nothing
                assert float(line["relativity"]) == 1.0
                continue
            rule = rules[name]
            assert line["component"] == rule.component
            assert line["when"] == texts.get(name, rule.conditions)  # with what missing does
            assert line["variables"] == ", ".join(rule.sources)
            per_unit = math.exp(rule.coefficient)  # as the kind of the line says
            assert float(line["relativity"]) == pytest.approx(per_unit, rel=1e-15)
            assert line["kind"].startswith("per unit") == (rule.step is not None)
            assert float(line["support"]) == rule.support
            assert float(line["observed_mean"]) == rule.mean


def test_support_is_exposure_and_the_mean_a_frequency(tmp_path):
    rng = np.random.default_rng(0)
    zone = rng.choice(["north", "south"], 300)
    exposure = rng.uniform(0.2, 1.0, 300)
    claims = rng.poisson(np.where(zone == "north", 2.0, 0.5) * exposure)
    made = RPTERegressor(loss="poisson", l1=0.05, max_trees=0)
    made.fit({"zone": zone}, claims, exposure=exposure)
    made.model_.export("relativities", tmp_path / "r.csv")
    base, line = read(tmp_path / "r.csv").values()
    here = zone == ast.literal_eval(line["when"].removeprefix("zone is "))
    assert float(base["support"]) == pytest.approx(exposure.sum())
    assert float(base["observed_mean"]) == pytest.approx(claims.sum() / exposure.sum())
    assert float(line["support"]) == pytest.approx(exposure[here].sum())
    assert float(line["observed_mean"]) == pytest.approx(claims[here].sum() / exposure[here].sum())
    by_hand = float(base["relativity"]) * np.where(here, float(line["relativity"]), 1.0)
    np.testing.assert_allclose(by_hand, made.predict({"zone": zone}, exposure=1), rtol=1e-14)


def one_term(column, coefficient, centre=0.0):
    term = DirectTerm("D1", column, coefficient, centre, 1.0, 9.0, 4.0)
    return of_number(model_with([term], variables(("a", "b", "c"), "k", "f")), "gamma")


def test_a_slope_is_per_unit_from_its_centre(tmp_path):
    model = one_term(Value("a"), 0.25, centre=3.0)
    model.export("relativities", tmp_path / "r.csv")
    line = read(tmp_path / "r.csv")["D1"]
    assert (line["kind"], float(line["centre"])) == ("per unit", 3.0)
    assert float(line["relativity"]) == pytest.approx(math.exp(0.25), rel=1e-15)


@pytest.mark.parametrize("column", ["relativity", "coefficient", "centre"])
def test_every_number_that_counts_is_compared(column, monkeypatch, tmp_path):
    model = one_term(Value("a"), 0.25, centre=3.0)
    right = relativities.write

    def wrong(form, options):
        lines = list(csv.DictReader(right(form, options).splitlines()))
        lines[1][column] = repr(float(lines[1][column]) * 1.001)
        rows = [",".join(lines[0]), *(",".join(line.values()) for line in lines)]
        return "\n".join(rows) + "\n"

    monkeypatch.setattr(relativities, "TARGET", replace(relativities.TARGET, write=wrong))
    with pytest.raises(InputError, match="nothing was written"):
        model.export("relativities", tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (golden("mixed")[0], "add to the log odds of sick: export it to 'scorecard' instead"),
        (of_number(every_kind(), "squared_error"), "mean of claims: export it to 'xlsx' instead"),
        (one_term(Value("a"), 900.0), r"D1 \(.*\) has the coefficient 900.*in other units"),
    ],
)
def test_refused(model, says, tmp_path):
    with pytest.raises(InputError, match=says):
        model.export("relativities", tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


def test_texts_and_endings_that_the_table_cannot_hold(tmp_path):
    schema = Schema((Variable("k\0", "category", ("a", "c"), False),), True)
    term = DirectTerm("D1", Level("k\0", ("a",)), 1.0, 0.0, 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match=r"D1 speaks of a name or level with .*clean the column"):
        of_number(model_with([term], schema), "gamma").export("relativities", tmp_path / "r.csv")
    with pytest.raises(InputError, match="format='xlsx'; it must be csv"):
        number_model("poisson")[0].export("relativities", tmp_path / "r.xlsx")
    assert not list(tmp_path.iterdir())

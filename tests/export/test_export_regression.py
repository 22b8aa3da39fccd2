"""Models of numbers: the form of every loss, exposure, and what documents say of a mean."""

from dataclasses import replace

import numpy as np
import pytest

from export_models import (
    NUMBERS,
    TARGETS,
    every_kind,
    model_with,
    number_model,
    of_number,
    suite_case,
    text_of,
    variables,
)
from rpte import InputError
from rpte.columns.kinds import Value
from rpte.export.cells import probe_table
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.target import Answers, find_target
from rpte.model.parts import DirectTerm
from rpte.model.target import TargetUnits


@pytest.fixture(params=NUMBERS)
def loss(request):
    return request.param


class TestForm:
    def test_the_mean_is_that_of_the_model(self, loss):
        model, X, exposure = number_model(loss)
        unit = {} if exposure is None else {"exposure": 1}
        unit |= {} if model.target.offset is None else {"offset": 0}
        np.testing.assert_array_equal(expected(model, X)["mean"], model.predict(X, **unit))

    def test_scores_far_out_have_a_mean(self):
        model, X, _ = suite_case("log")
        score, mean = (expected(model, X)[name] for name in ("score", "mean"))
        # What users get; most cells of its categories are levels that no training table had.
        assert (model.predict(X, exposure=1, allow_unknown=True) == mean).all()
        assert (mean[score > 700.0] == np.exp(700.0)).all()
        assert (mean[score < -700.0] == np.exp(-700.0)).all()
        assert (np.abs(score) > 700.0).any()

    def test_what_lines_are_called(self):
        model, _, _ = number_model("poisson")
        score, mean = make_form(model).lines[-2:]
        assert score.text == "logarithm of the mean of claims per unit of exposure"
        assert mean.text == "mean of claims per unit of exposure"
        score, mean = make_form(number_model("squared_error")[0]).lines[-2:]
        assert (score.text, mean.text) == ("mean of claims", "mean of claims")
        assert (score.name, mean.name) == ("score", "mean")


class TestTargets:
    @pytest.mark.parametrize(("target", "options"), TARGETS)
    def test_slopes_so_steep_that_scores_are_no_numbers(self, target, options, tmp_path):
        columns = (Value("a"), Value("a"), Value("b"))
        terms = [
            DirectTerm(f"D{i}", column, (-1) ** i * 3e9, 0.0, 1.0, 1.0, 1.0)
            for i, column in enumerate(columns, 1)
        ]
        model = model_with(terms, variables(("a", "b", "c"), "k", "f"))
        model = of_number(model, "squared_error", units=TargetUnits(0.0, 1e9))
        record = model.export(target, tmp_path / "m", **options)
        assert record.holds
        assert 300 < record.rows < 400


class TestExposure:
    def test_the_mean_is_for_one_unit(self, tmp_path):
        model, X, exposure = number_model("poisson")
        model.export("python", tmp_path / "m.py")
        names: dict = {}
        exec((tmp_path / "m.py").read_text(), names)
        rows = X.astype(object).where(X.notna(), None).to_dict("records")
        found = np.array([names["predict"](row)["mean"] for row in rows])
        np.testing.assert_allclose(found * exposure, model.predict(X, exposure), rtol=1e-13)

    @pytest.mark.parametrize("target", ["sql", "python", "javascript", "c", "pmml", "onnx"])
    def test_the_head_says_so(self, target):
        if target in ("sql", "onnx"):
            pytest.importorskip({"sql": "sqlglot", "onnx": "onnx"}[target])
        said = "The mean is for one unit of exposure: multiply it by the exposure of a row."
        assert said in text_of(number_model("poisson")[0], target)
        assert "one unit" not in text_of(number_model("squared_error")[0], target)

    def test_sql_in_comments(self):
        pytest.importorskip("sqlglot")
        text = text_of(number_model("poisson")[0], "sql")
        assert text.startswith(
            "-- The logarithm of the mean of claims per unit of exposure.\n"
            "-- rpte_score is that logarithm, rpte_mean the mean of claims per unit of exposure.\n"
            "-- The mean is for one unit of exposure: multiply it by the exposure of a row.\n"
        )
        assert '"rpte_mean" /* mean of claims per unit of exposure */' in text
        assert "probability" not in text

    def test_an_offset(self):
        model = of_number(every_kind(), "gamma", offset="index")
        said = "The mean is for an offset of 0: multiply it by exp(index)."
        assert said in text_of(model, "python")
        model = of_number(every_kind(), "squared_error", offset="index")
        assert "The mean is for an offset of 0: add the index to it." in text_of(model, "python")


class TestDifferences:
    def difference(self, model, name, wrong, rows=50):
        form = make_form(model)
        truth = expected(model, probe_table(form, rows))
        answers = Answers({**truth, name: truth[name] * (1.0 + wrong)}, "")
        return compare(form, truth, answers, 1e-12)[name].rows

    def test_a_tiny_mean_is_compared_with_itself(self):
        model = replace(of_number(every_kind(), "poisson"), intercept=-30.0)
        assert self.difference(model, "mean", 1e-11) == 50
        assert self.difference(model, "mean", 1e-14) == 0

    def test_units_of_y_may_be_tiny(self):
        term = DirectTerm("D1", Value("a"), 1e-9, 0.3, 1.0, 1.0, 1.0)
        model = model_with([term], variables(("a", "b", "c"), "k", "f"), intercept=1e-9)
        model = of_number(model, "squared_error", units=TargetUnits(0.0, 1e-9))
        for name in ("score", "mean"):
            assert self.difference(model, name, 1e-10) > 25
            assert self.difference(model, name, 1e-14) == 0


class TestRefused:
    def test_a_scorecard(self, loss, tmp_path):
        other = "xlsx" if loss == "squared_error" else "relativities"
        says = f"points that stand for the odds of a class.*number.*export it to '{other}' instead"
        with pytest.raises(InputError, match=says):
            number_model(loss)[0].export("scorecard", tmp_path / "card.csv")
        assert not list(tmp_path.iterdir())


@pytest.mark.slow(reason="runs long queries")
@pytest.mark.parametrize(("adverse", "dialect"), [("high", "duckdb"), ("low", "sqlite")])
@pytest.mark.parametrize("loss", ["squared_error", "gamma"])
def test_reasons_in_sql_are_those_of_the_library(loss, adverse, dialect, tmp_path):
    """Every row is compared before the query is written; the threshold is for one unit."""
    pytest.importorskip("sqlglot")
    pytest.importorskip("duckdb")
    model, X, _ = number_model(loss)
    options = {"dialect": dialect, "adverse": adverse, "reasons": 3}
    options["threshold"] = float(np.median(model.response(X)))
    found = model.export("sql", tmp_path / "m.sql", X, **options)
    assert f"the reasons of all {len(X)} rows are those of rpte reasons" in found.notes


class TestDocuments:
    def test_pmml_is_a_regression(self, loss):
        text = text_of(number_model(loss)[0], "pmml")
        assert '<RegressionModel modelName="rpte" functionName="regression">' in text
        assert '<DataField name="rpte_target" optype="continuous" dataType="double" />' in text
        assert '<NumericPredictor name="rpte_response" coefficient="1" />' in text
        assert "odds" not in text
        assert "probability" not in text

    def test_onnx_has_no_class(self):
        onnx = pytest.importorskip("onnx")
        found = find_target("onnx").write(make_form(number_model("gamma")[0]), {"prefix": ""})
        model = onnx.load_from_string(found)
        assert [prop.key for prop in model.metadata_props] == ["model_hash"]
        outputs = {value.name: value.doc_string for value in model.graph.output}
        assert outputs["mean"] == "mean of claims per unit of exposure"

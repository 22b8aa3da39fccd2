"""Models of several classes: their form, differences, SQL and what documents say of them."""

import importlib.util
import json
import math
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from export_models import (
    classes_of,
    every_kind,
    hostile_rows,
    model_with,
    suite_case,
    text_of,
    variables,
)
from rpte import InputError
from rpte.columns.kinds import Level, Value
from rpte.export.cells import read_cells
from rpte.export.classes import class_keys, without_parts
from rpte.export.evaluate import evaluate
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.target import Answers, find_target
from rpte.model.parts import DirectTerm

LABELS = {
    "texts": ("Adelie", "Chinstrap", "Gentoo"),
    "numbers": (-1, 0, 5),
    "fractions": (1.0, 2.0, 3.5),
    "hostile": ("\"quoted' \n", "*/ -- ]]>", "A", "__proto__", "a", "年"),
    "many": tuple(f"class {i}" for i in range(12)),
}


def parts_of(model):
    """Return the names of the contributions that are not zero for a class."""
    found = set()
    for key, components in zip(class_keys(model.classes), model.by_class, strict=True):
        for component in components:
            terms = [term.name for term in component.direct if term.coefficient != 0.0]
            found |= {f"{name}_{key}" for name in [*terms, component.name] if terms}
    return found


def results_of(model):
    keys = class_keys(model.classes)
    return {"chosen", *(f"{what}_{key}" for what in ("score", "probability") for key in keys)}


def sloped(slopes, intercepts=None, labels=("a", "b", "c")):
    """Return a model whose classes have one slope each of a variable, and its empty table."""
    term = DirectTerm("D1", Value("a"), 1.0, 0.0, 1.0, 1.0, 1.0)
    model = classes_of(model_with([term], variables(("a", "b", "c"), "k", "f")), labels)
    by_class = tuple(
        tuple(replace(c, direct=(replace(c.direct[0], coefficient=slope),)) for c in components)
        for slope, components in zip(slopes, model.by_class, strict=True)
    )
    starts = tuple(intercepts or [0.0] * len(labels))
    return replace(model, by_class=by_class, intercepts=starts)


def table(values):
    return dict.fromkeys("bckf", [None] * len(values)) | {"a": list(values)}


class TestForm:
    def test_many_classes_differ_in_the_order_of_a_sum_alone(self):
        model = classes_of(every_kind(), LABELS["many"])
        rows, form = hostile_rows(model, 500), make_form(model)
        truth, found = expected(model, rows), evaluate(form, read_cells(form, rows))
        assert set(truth) == parts_of(model) | results_of(model)
        for name, values in truth.items():
            slack = 4e-16 if name.startswith("probability") else 0.0
            np.testing.assert_allclose(found[name], values, rtol=slack, atol=slack)

    def test_what_is_expected_is_what_the_model_says(self):
        model = classes_of(every_kind(), LABELS["hostile"])
        rows = hostile_rows(model)
        truth, keys = expected(model, rows), class_keys(model.classes)
        proba, chosen = model.predict_proba(rows), model.predict(rows)
        np.testing.assert_array_equal([truth[f"probability_{k}"] for k in keys], proba.T)
        assert [model.classes[int(k)] for k in truth["chosen"]] == chosen.tolist()

    def test_without_parts_to_the_last_bit(self):
        model = classes_of(every_kind(), LABELS["texts"])
        rows, form = hostile_rows(model), make_form(model)
        short = without_parts(form)
        assert not short.role("term", "component")
        cells = read_cells(form, rows)
        long, found = evaluate(form, cells), evaluate(short, cells)
        for name, values in found.items():
            np.testing.assert_array_equal(values, long[name], name)

    def test_names_differ_in_more_than_case(self):
        keys = class_keys(["a", "A", "a!", "", "年", "class 4", "x" * 80, "x" * 81, -1, 1])
        assert len({key.lower() for key in keys}) == len(keys)
        assert max(map(len, keys)) < 40
        assert all(key.isascii() and key.isidentifier() for key in map("x_{}".format, keys))

    def test_terms_that_say_nothing_of_a_class_have_no_line(self):
        model = sloped([0.0, 1.5, -2.0])
        names = [line.name for line in make_form(model).lines]
        assert "D1_a" not in names
        assert names[:2] == ["D1", "score_a"]
        assert {"D1_b", "C1_b", "D1_c", "C1_c"} < set(names)


class TestTargets:
    def test_the_suite_has_equal_scores_of_which_the_first_wins(self):
        model, X, _ = suite_case("classes")
        truth = expected(model, X)
        first, second = (f"score_{key}" for key in class_keys(model.classes)[2:5:2])
        np.testing.assert_array_equal(truth[first], truth[second])
        assert {2.0} < set(truth["chosen"]) <= {0.0, 1.0, 2.0, 3.0, 5.0}

    def test_the_whole_export(self, tmp_path):
        model = classes_of(every_kind(), LABELS["texts"])
        record = model.export("python", tmp_path / "m.py")
        assert str(record).endswith("; the class is the same")
        assert "of the score 0, of a contribution 0, of the probability" in str(record)
        told = json.loads((tmp_path / "m.py.parity.json").read_text())
        assert told["holds"]
        assert told["differences"]["chosen"]["rows"] == 0
        names: dict = {}
        exec((tmp_path / "m.py").read_text(), names)
        found = names["predict"](dict.fromkeys(model.schema.names))
        assert found["class"] in model.classes
        assert list(found["probabilities"]) == list(model.classes)
        assert math.isclose(sum(found["probabilities"].values()), 1.0)


class TestDifferences:
    def compared(self, model, X, **wrong):
        form, truth = make_form(model), expected(model, X)
        return compare(form, truth, Answers({**truth, **wrong}, ""), 1e-12)

    def test_another_class_is_told(self):
        model, X = sloped([1.0, 2.0, 3.0]), table([1.0, -1.0])
        found = self.compared(model, X, chosen=np.array([1.0, 0.0]))["chosen"]
        assert (found.rows, found.first, found.largest) == (1, 0, 1.0)

    def test_no_class_is_told(self):
        model, X = sloped([1.0, 2.0, 3.0]), table([1.0, -1.0])
        assert self.compared(model, X, chosen=np.array([2.0, np.nan]))["chosen"].rows == 1

    def test_the_second_of_equal_scores_is_told(self):
        model, X = sloped([1.0, 1.0, 0.0]), table([1.0])
        assert self.compared(model, X, chosen=np.array([1.0]))["chosen"].rows == 1

    def test_what_rounding_decides_is_not(self):
        model, X = sloped([1.0, 1.0, 0.0]), table([1.0])
        above = np.array([np.nextafter(1.0, 2.0)])
        found = self.compared(model, X, chosen=np.array([1.0]), score_b=above)
        assert found["chosen"].rows == 0


class TestSQL:
    def query(self, model, rows, **options):
        pytest.importorskip("sqlglot")
        text = text_of(model, "sql", dialect="sqlite", **options)
        with sqlite3.connect(":memory:") as connection:
            names = ", ".join(f'"{name}"' for name in rows)
            connection.execute(f"CREATE TABLE cases ({names})")
            marks = ", ".join("?" * len(rows))
            cells = list(zip(*rows.values(), strict=True))
            connection.executemany(f"INSERT INTO cases VALUES ({marks})", cells)
            found = connection.execute(text)
            return [column[0] for column in found.description], found.fetchall()

    def test_the_columns_of_the_result(self):
        model = sloped([1.0, 0.5, 0.0])
        names, rows = self.query(model, table([2.0]), keys=("b",))
        results = [f"rpte_{what}_{k}" for what in ("probability", "score") for k in "abc"]
        assert names == ["b", "rpte_class", *results]
        assert rows[0][1] == "a"
        assert sum(rows[0][2:5]) == pytest.approx(1.0)
        assert rows[0][5:] == (2.0, 1.0, 0.0)

    def test_a_cell_that_cannot_be_read_has_no_class(self):
        model = sloped([0.0, 0.0, 1.0])  # the score of the others reads nothing
        _, rows = self.query(model, table(["no number", 1.0]), keys=("b",))
        assert rows[0][1:5] == (None, None, None, None)
        assert rows[0][5:] == (0.0, 0.0, None)
        assert rows[1][1] == "c"

    @pytest.mark.slow(reason="exports a model of fifty classes")
    def test_fifty_classes(self, tmp_path):
        pytest.importorskip("sqlglot")
        model = classes_of(every_kind(), tuple(range(50)))
        for dialect in ("sqlite", "duckdb"):
            if dialect == "sqlite" or importlib.util.find_spec("duckdb"):
                record = model.export("sql", tmp_path / "m.sql", dialect=dialect)
                assert record.holds
                assert set(record.differences) == results_of(model)
        with pytest.raises(InputError, match=r"50 classes are \d+ columns.* without contributions"):
            model.export("sql", tmp_path / "n.sql", contributions=True)
        assert not (tmp_path / "n.sql").exists()

    @pytest.mark.slow(reason="a query in each of 28 dialects is written and parsed")
    def test_every_dialect(self):
        sqlglot = pytest.importorskip("sqlglot")
        from rpte.export.sql.dialects import dialect_names

        model = classes_of(every_kind(), LABELS["texts"])
        for dialect in dialect_names():
            text = text_of(model, "sql", dialect=dialect, contributions=True)
            assert "rpte_probability_Gentoo" in text, dialect
            assert ("MAX(" if dialect == "sqlite" else "GREATEST(") in text.upper(), dialect
            assert sqlglot.parse_one(text, dialect=dialect), dialect

    def test_products_too_small_for_a_database_are_watched(self):
        pytest.importorskip("sqlglot")
        text = text_of(sloped([1.0, 0.5, 0.0]), "sql", contributions=True)
        assert 'WHEN ABS("rpte_D1") < 1E-200' in text


class TestRefused:
    def test_a_scorecard(self, tmp_path):
        says = r"a scorecard is for models of two classes.*3 classes.*between\(a, b\)"
        with pytest.raises(InputError, match=says):
            classes_of(every_kind(), "abc").export("scorecard", tmp_path / "card.csv")
        assert not list(tmp_path.iterdir())

    def test_relativities(self, tmp_path):
        says = r"multiply a mean, and the model tells 3 classes.*xlsx.*between\(a, b\)"
        with pytest.raises(InputError, match=says):
            classes_of(every_kind(), "abc").export("relativities", tmp_path / "r.csv")

    def test_reasons(self, tmp_path):
        pytest.importorskip("sqlglot")
        with pytest.raises(InputError, match=r"a query with reasons is for models of two classes"):
            classes_of(every_kind(), "abc").export("sql", tmp_path / "m.sql", reasons=2)

    def test_a_workbook_of_too_many_columns(self, tmp_path):
        pytest.importorskip("openpyxl")
        model = classes_of(every_kind(), tuple(range(50)))
        with pytest.raises(
            InputError, match=r"needs \d+ columns; a sheet has 1024: choose another"
        ):
            model.export("xlsx", tmp_path / "m.xlsx", rows=1)

    def test_labels_that_a_target_cannot_hold(self, tmp_path):
        model = classes_of(every_kind(), ("a", "b\0", "c"))
        for target in ("c", "pmml", "xlsx", "onnx"):
            with pytest.raises(InputError, match=r"class"):
                model.export(target, tmp_path / "m")

    def test_two_of_them_have_a_scorecard(self, tmp_path):
        term = DirectTerm("D1", Level("k", ("3",)), 1.0, 0.0, 1.0, 9.0, 4.0)
        model = classes_of(model_with([term], variables(("a", "b", "c"), "k", "f")), "abc", share=0)
        record = model.between("a", "c").export("scorecard", tmp_path / "card.txt")
        assert record.holds


class TestDocuments:
    def test_pmml_is_a_softmax(self):
        text = text_of(classes_of(every_kind(), LABELS["texts"]), "pmml")
        assert 'functionName="classification" normalizationMethod="softmax"' in text
        for label in LABELS["texts"]:
            assert f'<RegressionTable targetCategory="{label}" intercept="0">' in text
        assert 'name="rpte_class"' in text
        assert 'feature="predictedValue"' in text

    @pytest.mark.parametrize(("labels", "kind"), [("texts", 8), ("numbers", 7), ("fractions", 11)])
    def test_onnx_has_label_and_probabilities(self, labels, kind):
        onnx = pytest.importorskip("onnx")
        model = classes_of(every_kind(), LABELS[labels])
        found = find_target("onnx").write(make_form(model), {"prefix": ""})
        graph = onnx.load_from_string(found)
        outputs = {v.name: v.type.tensor_type for v in graph.graph.output}
        assert list(outputs)[:3] == ["label", "probabilities", "scores"]
        assert outputs["label"].elem_type == kind
        assert outputs["probabilities"].shape.dim[1].dim_value == 3
        properties = {prop.key: prop.value for prop in graph.metadata_props}
        assert json.loads(properties["classes"]) == list(LABELS[labels])

    def test_onnx_of_an_unreadable_cell(self):
        runtime = pytest.importorskip("onnxruntime")
        term = DirectTerm("D1", Level("f", ("True",)), 1.0, 0.0, 1.0, 9.0, 4.0)
        parts = model_with([term], variables(("a", "b", "c"), "k", "f"))
        for labels, unreadable in (("abc", ""), ((1, 2, 3), -(2**63))):
            model = classes_of(parts, tuple(labels), share=0.0)
            content = find_target("onnx").write(make_form(model), {"prefix": ""})
            session = runtime.InferenceSession(content)
            rows = {"f": np.array(["True", "7"], object)}
            label, probabilities = session.run(["label", "probabilities"], rows)
            assert label[0] in model.classes
            assert label[1] == unreadable
            assert np.isnan(probabilities[1]).all()

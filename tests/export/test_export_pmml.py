"""PMML: valid documents that the JPMML evaluator computes as the model does.

Every test that needs a Java machine starts one for all of its documents.
"""

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

from export_models import (
    HOSTILE_NAMES,
    NAMES,
    TABLES,
    every_kind,
    golden,
    hostile_rows,
    model_with,
    needs_data,
    table_model,
    variables,
)
from rpte import InputError, RPTEClassifier
from rpte.columns.kinds import Level, Value
from rpte.export.cells import Cells, probe_table, read_cells
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.pmml import run as pmml_run
from rpte.export.pmml.run import lines_of, run_documents
from rpte.export.target import Answers, CannotRunError, find_target, settle_options
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

needs_java = pytest.mark.skipif(
    not shutil.which("java") or not importlib.util.find_spec("jpmml_evaluator"),
    reason="java is not on the PATH, or jpmml_evaluator is not installed: pip install 'rpte[pmml]'",
)


def document(model):
    return find_target("pmml").write(make_form(model), settle_options(find_target("pmml"), {}))


def written(model, folder, change=lambda text: text):
    path = Path(folder) / f"{len(list(Path(folder).iterdir()))}.pmml"
    path.write_text(change(document(model)), encoding="utf-8")
    return path


def assert_same(cases, folder, evaluate=run_documents):
    """Run each model on its table, all in one Java machine, and compare every line."""
    forms = [make_form(model) for model, _ in cases]
    cells = [read_cells(form, X) for form, (_, X) in zip(forms, cases, strict=True)]
    paths = [written(model, folder) for model, _ in cases]
    found = evaluate(zip(paths, cells, strict=True))
    for form, (model, X), answer in zip(forms, cases, found, strict=True):
        lines = lines_of(form, "rpte_", answer)
        differences = compare(form, expected(model, X), Answers(lines, "JPMML"), 1e-12)
        assert set(differences) == {line.name for line in form.lines}
        beyond = {name: d for name, d in differences.items() if d.rows}
        assert not beyond, (model.schema.names, beyond)
        assert differences["probability"].largest < 1e-15


@pytest.mark.slow
@needs_java
def test_golden_models_hostile_names_and_cells(tmp_path):
    assert_same([*golden_cases(), *hostile_cases()], tmp_path)


def golden_cases():
    cases = [golden(name) for name in NAMES]
    return [*cases, *((model, probe_table(make_form(model), 100)) for model, _ in cases)]


def hostile_cases():
    models = [every_kind(*names) for names in HOSTILE_NAMES.values()]
    models.append(every_kind(("Age", "age", "AGE"), "aGe", "AgE"))
    cases = [(model, hostile_rows(model)) for model in models]
    term = DirectTerm("D1", Value("a"), 1.0, 0.0, 1.0, 1.0, 1.0)
    far = model_with([term], variables(("a", "b", "c"), "k", "f"), intercept=0.0)
    values = [-1e300, -5000.0, -746.0, -720.0, -700.0, -36.0, 0.0, 36.0, 710.0, 1e300]
    cases.append((far, dict.fromkeys("bckf", [None] * len(values)) | {"a": values}))
    X = np.arange(40.0).reshape(-1, 1)
    cases.append((RPTEClassifier(l1=1e6).fit(X, X[:, 0] > 9).model_, X))
    levels = ("", "\r", "a\r\nb", "<&>\"'", " x ", "]]>", "tab\t")
    schema = Schema((Variable("k", "category", levels, False),), True)
    odd = [
        DirectTerm(f"D{i}", Level("k", (level,)), 2.0**i, 0.0, 1.0, 1.0, 1.0)
        for i, level in enumerate(levels)
    ]
    cases.append((model_with(odd, schema), {"k": [*levels, "\n", "a\nb", "x", "tab ", " ", None]}))
    return cases


def in_pmml4s(jobs):
    """Evaluate documents as `run_documents` does, in an engine that shares no code with JPMML."""
    pypmml = pytest.importorskip("pypmml", reason="pypmml is not installed")
    try:
        for path, cells in jobs:
            model = pypmml.Model.load(str(path))
            rows = [model.predict(row) for row in cells.rows()]
            yield {name: [row[name] for row in rows] for name in rows[0]}
    finally:
        pypmml.Model.close()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("java"), reason="java is not on the PATH")
def test_another_engine_agrees(tmp_path):
    kinds = every_kind()
    assert_same([*map(golden, NAMES), (kinds, hostile_rows(kinds))], tmp_path, in_pmml4s)


@pytest.mark.slow
@needs_java
@needs_data
def test_real_tables(tmp_path):
    cases = [table_model(name, False) for name in TABLES]
    assert_same([*cases, table_model("hepatitis_uci.csv", True)], tmp_path)


@pytest.mark.slow
@needs_java
def test_what_programs_pass(tmp_path):
    """Booleans, whole numbers and numbers for texts; what is beyond 1e300 is missing."""
    model = every_kind()
    given = {
        "a": [1, "0.5", 1e301, float("-inf"), float("nan")],
        "b": [2, 1, 0, 0, 0],
        "c": [3, "n/a", -9, "-9.00", "1e301"],
        "k": [3, 3.0, "3", "never seen", None],
        "f": [True, False, "true", "1", "f"],
    }
    meant = {
        "a": [1.0, 0.5, None, None, None],
        "b": [2.0, 1.0, 0.0, 0.0, 0.0],
        "c": [3.0, "n/a", -9.0, -9.0, None],
        "k": ["3", "3", "3", "never seen", None],
        "f": [True, False, True, True, False],
    }
    (found,) = run_documents([(written(model, tmp_path), Cells(5, given))])
    np.testing.assert_array_equal(found["rpte_score"], model.score(meant))


@pytest.mark.slow
@needs_java
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('coefficient="1"', 'coefficient="1.5"'), "do not match"),
        (lambda text: text.replace("<Header ", "<Head "), "Head"),
    ],
    ids=["another model", "not valid"],
)
def test_a_document_that_is_wrong_is_refused(change, says, tmp_path):
    model, rows = golden("mixed")
    path = written(model, tmp_path, change)
    with pytest.raises(
        InputError, match=rf"JPMML could not run the export: .*({says}).*nothing was"
    ):
        run_documents([(path, read_cells(make_form(model), rows))])


@pytest.mark.slow
@needs_java
def test_the_record(tmp_path):
    model, rows = golden("special")
    record = model.export("pmml", tmp_path / "m.pmml", rows, prefix="m_")
    assert record.holds
    assert record.engine == f"JPMML (jpmml_evaluator {record.versions['jpmml_evaluator']})"
    assert 'OutputField name="m_probability"' in (tmp_path / "m.pmml").read_text()


def tags(model):
    return fromstring(re.sub(' xmlns="[^"]*"', "", document(model), count=1))


def test_the_document_reads_like_the_model():
    model = golden("special")[0]
    root = tags(model)
    derived = {field.get("name"): field.get("displayName") for field in root.iter("DerivedField")}
    for _, part in model.parts():
        assert f"rpte_term_{part.name}" in derived
    outputs = [field.get("name") for field in root.iter("OutputField")]
    assert outputs[:2] == ["rpte_score", "rpte_probability"]
    assert len(outputs) == len(make_form(model).lines)
    assert len(list(root.iter("row"))) == 30
    names = {field.get("name") for field in root.iter("DataField")} - {"rpte_target"}
    assert names == {given.name for given in make_form(model).inputs}
    assert document(model) == document(model)


def test_levels_are_listed_but_no_level_is_refused():
    root = tags(golden("mixed")[0])
    fields = {field.get("name"): field for field in root.iter("DataField")}
    assert {value.get("value") for value in fields["smoker"]} == {"False", "True"}
    treated = {f.get("name"): f.get("invalidValueTreatment") for f in root.iter("MiningField")}
    assert treated["smoker"] == "asIs"
    assert treated["age"] == "asMissing"


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (every_kind(("a\x01", "b", "c")), {}, r"'a\\x01' has a name with the character '\\x01'"),
        (every_kind(("\ud800", "b", "c")), {}, "which XML cannot hold"),
        (every_kind(("rpte_a", "b", "c")), {}, "begins like the export's own columns"),
        (golden("mixed")[0], {"prefix": "1"}, "it must be letters"),
        (golden("mixed")[0], {"dialect": "x"}, "pmml has no option 'dialect'"),
    ],
)
def test_refused_before_writing(model, options, says, tmp_path):
    with pytest.raises(InputError, match=says):
        model.export("pmml", tmp_path / "m.pmml", **options)
    assert not list(tmp_path.iterdir())


def test_a_level_that_xml_cannot_hold(tmp_path):
    schema = Schema((Variable("k", "category", ("a\0b", "c"), False),), True)
    term = DirectTerm("D1", Level("k", ("a\0b",)), 1.0, 0.0, 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match=r"'k' has a level with the character '\\x00'"):
        model_with([term], schema).export("pmml", tmp_path / "m.pmml")
    assert not list(tmp_path.iterdir())


class TestWithoutTheEvaluator:
    def not_compared(self, tmp_path):
        record = golden("mixed")[0].export("pmml", tmp_path / "m.pmml")
        assert record.rows == 0
        assert (tmp_path / "m.pmml").is_file()
        return record.engine

    def test_no_java(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda name: None)
        assert self.not_compared(tmp_path) == "java is not on the PATH"

    def test_no_package(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda name: name)
        monkeypatch.setattr(pmml_run, "find_spec", lambda name: None)
        assert "pip install 'rpte[pmml]'" in self.not_compared(tmp_path)

    def test_no_machine(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda name: sys.executable)
        monkeypatch.setattr(pmml_run, "find_spec", lambda name: True)
        says = "raise SystemExit('jpype._jvmfinder.JVMNotFoundException: No JVM')"
        monkeypatch.setattr(pmml_run, "RUNNER", says)
        assert "set JAVA_HOME" in self.not_compared(tmp_path)
        with pytest.raises(CannotRunError):
            run_documents([])

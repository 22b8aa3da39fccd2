"""PMML: valid documents that the JPMML evaluator computes as the model does."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

from export_models import (
    every_kind,
    golden,
    hostile_rows,
    model_with,
)
from rpte import InputError
from rpte.columns.kinds import Level
from rpte.export.cells import Cells, read_cells
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.pmml import run as pmml_run
from rpte.export.pmml.run import lines_of, run_documents
from rpte.export.target import Answers, find_target, settle_options
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

needs_java = pytest.mark.skipif(
    not shutil.which("java") or not importlib.util.find_spec("jpmml_evaluator"),
    reason="java is not on the PATH, or jpmml_evaluator is not installed: pip install 'rpte[pmml]'",
)


def java(test):
    """Mark a test that needs Java; all of them stay in one worker, which starts it once."""
    slow = pytest.mark.slow(reason="a Java machine is started")
    return needs_java(slow(pytest.mark.xdist_group("pmml")(test)))


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


@java
def test_texts_that_xml_may_change(tmp_path):
    levels = ("", "\r", "a\r\nb", "<&>\"'", " x ", "]]>", "tab\t")
    schema = Schema((Variable("k", "category", levels, False),), True)
    terms = [
        DirectTerm(f"D{i}", Level("k", (level,)), 2.0**i, 0.0, 1.0, 1.0, 1.0)
        for i, level in enumerate(levels)
    ]
    cells = [*levels, "\n", "a\nb", "x", "tab ", " ", None]
    assert_same([(model_with(terms, schema), {"k": cells})], tmp_path)


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


@pytest.mark.slow(reason="a second Java machine is started")
@pytest.mark.skipif(not shutil.which("java"), reason="java is not on the PATH")
def test_another_engine_agrees(tmp_path):
    kinds = every_kind()
    stored = map(golden, ("mixed", "products", "shaped", "special"))
    assert_same([*stored, (kinds, hostile_rows(kinds))], tmp_path, in_pmml4s)


@java
def test_what_programs_pass(tmp_path):
    """Booleans, whole numbers and numbers for texts; what is beyond 1e300 is missing."""
    model = every_kind()
    given = {
        "a": [1, "0.5", 1e301, float("-inf"), float("nan")],
        "b": [2, 1, 0, 0, 0],
        "c": [3, "n/a", -9, "-9.00", "1e301"],
        "k": [3, 3.0, "3", "never seen", None],
        "f": [True, False, "true", "1", "f"],
        "f2": [1, 2, 1, 2, 1],
    }
    meant = {
        "a": [1.0, 0.5, None, None, None],
        "b": [2.0, 1.0, 0.0, 0.0, 0.0],
        "c": [3.0, "n/a", -9.0, -9.0, None],
        "k": ["3", "3", "3", "never seen", None],
        "f": [True, False, True, True, False],
        "f2": [1, 2, 1, 2, 1],
    }
    (found,) = run_documents([(written(model, tmp_path), Cells(5, given))])
    np.testing.assert_array_equal(found["rpte_score"], model.score(meant))


@java
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


@java
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
        monkeypatch.setattr(pmml_run, "SHARED", pmml_run.Evaluator())
        says = "raise SystemExit('jpype._jvmfinder.JVMNotFoundException: No JVM')"
        monkeypatch.setattr(pmml_run, "RUNNER", says)
        assert "set JAVA_HOME" in self.not_compared(tmp_path)


ECHO = """
import json, os, sys
for line in sys.stdin:
    path, rows = json.loads(line)
    if path.endswith("ends"):
        sys.exit("it ended")
    if path.endswith("prints half"):
        print("{", end="", flush=True)
        os.kill(os.getpid(), 9)
    answer = {"error": "first\\nlast"} if path.endswith("wrong") else {"rows": rows}
    if path.endswith("pid"):
        answer = {"rows": [{"pid": os.getpid()}]}
    print(json.dumps(answer), flush=True)
"""


class TestOneProcess:
    """The process that holds the Java machine, with a program of a few lines in its place."""

    @pytest.fixture(autouse=True)
    def evaluator(self, monkeypatch):
        monkeypatch.setattr(pmml_run, "RUNNER", ECHO)
        self.evaluator = pmml_run.Evaluator()
        yield
        self.evaluator.close()

    def answer(self, name, cell=None):
        return self.evaluator.evaluate(Path(name), Cells(1, {"a": [cell]}))

    def pid(self):
        return self.answer("pid")[0]["pid"]

    def test_serves_all_jobs(self):
        assert len({self.pid() for _ in range(3)}) == 1
        assert self.answer("m", "é\n\u2028")[0] == {"a": "é\n\u2028"}
        assert self.answer("m", "x" * 300_000)[0] == {"a": "x" * 300_000}  # more than a pipe holds

    def test_an_error_is_that_job_s(self):
        before = self.pid()
        with pytest.raises(InputError, match="JPMML could not run the export: last; nothing was"):
            self.answer("wrong")
        assert self.pid() == before

    @pytest.mark.parametrize("name", ["ends", "prints half"])
    def test_what_ends_the_process_is_told_and_the_next_job_starts_another(self, name):
        before = self.pid()
        said = "it ended" if name == "ends" else "it said nothing"
        with pytest.raises(InputError, match=f"could not run the export: {said}"):
            self.answer(name)
        assert self.pid() != before

    def test_a_process_that_was_killed_is_replaced(self):
        before = self.pid()
        os.kill(before, signal.SIGKILL)
        assert self.pid() != before

    def test_an_interrupted_job_is_not_answered_later(self, monkeypatch):
        before, read = self.pid(), json.loads

        def interrupt(text):
            raise KeyboardInterrupt

        monkeypatch.setattr(pmml_run.json, "loads", interrupt)
        with pytest.raises(KeyboardInterrupt):
            self.answer("m", "first")
        monkeypatch.setattr(pmml_run.json, "loads", read)
        assert self.answer("m", "second")[0] == {"a": "second"}
        assert self.pid() != before

    def test_threads_get_their_own_answers(self):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda i: self.answer("m", i)[0]["a"], range(40)))
        assert found == list(range(40))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_fork_starts_its_own_and_all_end_with_their_interpreters(self):
        code = f"""
import os
from pathlib import Path
from rpte.export.cells import Cells
from rpte.export.pmml import run
run.RUNNER = {ECHO!r}
def tell():
    print(run.SHARED.evaluate(Path("pid"), Cells(1, {{"a": [1]}}))[0]["pid"], flush=True)
tell()
child = os.fork()
if child:
    os.waitpid(child, 0)
tell()
"""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        parent, other, again = map(int, done.stdout.split())
        assert parent == again != other
        for pid in (parent, other):
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

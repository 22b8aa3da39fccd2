"""Exporting: what is checked, written and recorded, whatever the target."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rpte
import rpte.export.code.python as python_target
from export_models import NUMBERS, classes_of, every_kind, golden, of_number
from rpte import InputError, RPTEClassifier
from rpte.cli import app
from rpte.export import target as registry
from rpte.export.exporting import check_export, read_record, record_path
from rpte.export.target import CannotRunError, Target

MODEL, ROWS = golden("mixed")


@pytest.fixture
def patched(monkeypatch):
    """Return a function that changes the Python target for one test."""

    def change(**changes):
        monkeypatch.setattr(python_target, "TARGET", replace(python_target.TARGET, **changes))

    return change


def lines(command):
    done = CliRunner().invoke(app, [str(part) for part in command])
    return done.exit_code, done.output


def test_an_export_comes_with_its_record(tmp_path):
    path = tmp_path / "model.py"
    record = MODEL.export("python", path, ROWS)
    assert record.holds
    assert record.rows == 40
    stored = json.loads((tmp_path / "model.py.parity.json").read_text())
    assert stored["rows"] == 40
    assert stored["target"] == "python"
    assert stored["versions"]["rpte"] == MODEL.library_version
    assert set(stored["versions"]) == {"rpte", "python", "numpy"}
    parts = {part.name for _, part in MODEL.parts()} | {c.name for c in MODEL.components}
    assert set(stored["differences"]) == parts | {"score", "probability"}
    assert stored["differences"]["score"] == {
        "largest": 0.0, "relative": 0.0, "rows": 0, "first": None,
    }  # fmt: skip
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.py", "model.py.parity.json"]


def test_rows_are_made_where_none_are_given(tmp_path):
    record = MODEL.export("python", tmp_path / "model.py")
    assert record.rows == 400
    assert record.rows_from.startswith("made from the model")
    assert str(record).startswith("Compared 400 rows (made from the model")


def test_the_classifier_exports(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    classifier = RPTEClassifier(l1="4/n").fit(X, X[:, 0] > 0)
    assert classifier.export("python", tmp_path / "m.py", X).rows == 80
    with pytest.raises(Exception, match="not fitted"):
        RPTEClassifier().export("python", tmp_path / "m.py")


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("pyton", {}, "no export target 'pyton' (did you mean 'python'?); choose of"),
        ("python", {"dialekt": "x"}, "python has no option 'dialekt'; its options: none"),
    ],
)
def test_unknown_words_are_refused(target, options, says, tmp_path):
    with pytest.raises(InputError, match=re.escape(says)):
        MODEL.export(target, tmp_path / "m", **options)
    assert not list(tmp_path.iterdir())


def test_a_table_without_rows_is_refused(tmp_path):
    empty = {name: [] for name in ROWS}
    with pytest.raises(InputError, match="has no rows; give at least one"):
        MODEL.export("python", tmp_path / "m.py", empty)
    assert not list(tmp_path.iterdir())


def test_options_may_come_as_text():
    target = registry.find_target("scorecard")
    read = registry.settle_options(target, {"pdo": "40", "label": "1"})
    assert (read["pdo"], read["label"]) == (40.0, "1")
    sql = registry.find_target("sql")
    read = registry.settle_options(sql, {"quoted": "False", "reasons": "2"})
    assert (read["quoted"], read["reasons"]) == (False, 2)
    with pytest.raises(InputError, match="quoted='no'; it must be true or false"):
        registry.settle_options(sql, {"quoted": "no"})
    with pytest.raises(InputError, match=r"reasons='1\.5'; it must be a whole number"):
        registry.settle_options(sql, {"reasons": "1.5"})
    with pytest.raises(InputError, match="pdo='much'; it must be a number"):
        registry.settle_options(target, {"pdo": "much"})


END = "\n    return {"


@pytest.mark.parametrize(
    ("model", "X", "old", "new", "says"),
    [
        (MODEL, ROWS, END, f"\n    T1 += 1e-9{END}", "T1 differs by up to 1e-09 in 40 of 40 rows"),
        (
            classes_of(every_kind(), "abc"),
            None,
            "labels[int(chosen)]",
            "labels[0]",
            "chosen differs",
        ),
        *(
            (
                of_number(every_kind(), loss),
                None,
                END,
                f"\n    mean *= 1.0 + 1e-10{END}",
                "mean diff",
            )
            for loss in NUMBERS
        ),
    ],
)
def test_an_export_that_differs_is_not_written(model, X, old, new, says, patched, tmp_path):
    patched(write=lambda *given: python_target.write(*given).replace(old, new))
    with pytest.raises(InputError, match=f"{says}.*nothing was written"):
        model.export("python", tmp_path / "m.py", X)
    assert not list(tmp_path.iterdir())


def test_an_export_that_cannot_run_here_says_so(patched, tmp_path):
    def cannot(*args):
        raise CannotRunError("snake is not installed")

    patched(run=cannot)
    record = MODEL.export("python", tmp_path / "m.py", ROWS)
    assert record.rows == 0
    assert str(record) == "Not compared: snake is not installed"
    assert read_record(tmp_path / "m.py")["engine"] == "snake is not installed"


class TestCheckAgain:
    def test_repeats_the_comparison(self, tmp_path):
        path = tmp_path / "m.py"
        MODEL.export("python", path)
        record = check_export(MODEL, path, ROWS, "rows.csv")
        assert record.holds
        assert record.rows == 40
        assert read_record(path)["rows_from"] == "rows.csv"

    def test_another_model_or_file_is_refused(self, tmp_path):
        path = tmp_path / "m.py"
        MODEL.export("python", path)
        other, rows = golden("limited")
        with pytest.raises(InputError, match="is of another model than was given; export again"):
            check_export(other, path, rows)
        path.write_text(path.read_text() + "# changed\n")
        with pytest.raises(InputError, match="it was changed since"):
            check_export(MODEL, path, ROWS)

    def test_a_record_is_needed(self, tmp_path):
        path = tmp_path / "m.py"
        with pytest.raises(InputError, match=r"m.py.parity.json does not exist; export"):
            check_export(MODEL, path, ROWS)
        record_path(path).write_text("{")
        with pytest.raises(InputError, match="is not JSON"):
            check_export(MODEL, path, ROWS)
        record_path(path).write_text("[]")
        with pytest.raises(InputError, match="is no parity record"):
            check_export(MODEL, path, ROWS)


class TestCommand:
    def test_writes_and_checks(self, tmp_path):
        import pandas as pd

        MODEL.save(tmp_path / "model.json")
        pd.DataFrame(ROWS).assign(label=1).to_csv(tmp_path / "rows.csv", index=False)
        out = tmp_path / "model.py"
        export = ["export", tmp_path / "model.json", "-o", out]
        assert lines([*export, "--to", "python"])[0] == 0
        code, text = lines([*export, "--check", tmp_path / "rows.csv"])
        assert code == 0, text
        assert text.startswith("Compared 40 rows (rows.csv) in Python")

    def test_a_check_that_cannot_run_is_exit_code_1(self, patched, tmp_path):
        MODEL.save(tmp_path / "model.json")

        def cannot(*args):
            raise CannotRunError("no snakes here")

        patched(run=cannot)
        export = ["export", tmp_path / "model.json", "-o", tmp_path / "model.py"]
        assert lines([*export, "--to", "python"]) == (
            0, f"Wrote {tmp_path / 'model.py'}\nNot compared: no snakes here\n",
        )  # fmt: skip
        code, text = lines(export)
        assert code == 1
        assert "could not be compared" in text

    def test_a_difference_is_exit_code_1(self, patched, tmp_path):
        MODEL.save(tmp_path / "model.json")
        export = ["export", tmp_path / "model.json", "-o", tmp_path / "model.py"]
        assert lines([*export, "--to", "python"])[0] == 0

        def off(path, form, options, cells):
            found = python_target.run(path, form, options, cells)
            return replace(found, lines={k: v + 1 for k, v in found.lines.items()})

        patched(run=off)
        code, text = lines(export)
        assert code == 1
        assert "does not agree with" in text

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--to", "cobol"], "no export target 'cobol'"),
            (["--to", "python", "--dialect", "x"], "python has no option 'dialect'"),
            (["--dialect", "x"], "without a target; name one with --to"),
            (["--to", "python", "-o", "."], "is a folder; name a file, such as model.py"),
            (["--to", "python", "--option", "x"], "write it as NAME=VALUE"),
            (["--to", "python", "--check", "absent.csv"], "absent.csv: No such file"),
            ([], "parity.json does not exist"),
        ],
    )
    def test_bad_words_are_one_line(self, arguments, says, tmp_path):
        MODEL.save(tmp_path / "model.json")
        code, text = lines(["export", tmp_path / "model.json", "-o", tmp_path / "m", *arguments])
        assert code == 1
        assert text.startswith("error: ")
        assert says in text
        assert len(text.splitlines()) == 1
        assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_exporting_needs_numpy_and_templates_alone(tmp_path):
    MODEL.save(tmp_path / "model.json")
    code = f"""
import sys, rpte
folder = {str(tmp_path)!r}
model = rpte.load(folder + "/model.json")
cells = {{v.name: v.levels[0] if v.kind == "category" else 1.0 for v in model.schema.variables}}
rows = {{name: [None, cell, cell] for name, cell in cells.items()}}
model.export("scorecard", folder + "/card.csv", rows)
heavy = {{"numba", "sklearn", "pandas", "scipy", "sqlglot", "duckdb", "typer", "jinja2"}}
print(sorted(heavy & set(sys.modules)))
print(model.export("python", folder + "/model.py").rows)
print(sorted(heavy & set(sys.modules)))
"""
    path = [*sys.path, str(Path(rpte.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "400", "['jinja2']"]  # its template needs jinja2


def test_every_target_is_found_and_complete():
    for name in registry.HOMES:
        target = registry.find_target(name)
        assert isinstance(target, Target)
        assert target.name == name

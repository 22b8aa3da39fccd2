"""The deploy page: its examples run, and every comparison on it holds."""

import re
import runpy
import shutil
from pathlib import Path

import pytest

from rpte.export.target import HOMES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "deploy.md").read_text(encoding="utf-8")


@pytest.mark.slow(reason="every command of the page runs")
def test_the_examples_run(tmp_path, monkeypatch):
    pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'rpte[sql]'")
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install 'rpte[sql]'")
    pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'rpte[files]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: rpte[onnx]")
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    pytest.importorskip("skops", reason="skops is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    run_page = runpy.run_path(str(DOCS / "tools" / "run_page.py"))["run_page"]
    monkeypatch.chdir(tmp_path)
    fresh = run_page(PAGE)  # a command that fails fails the test
    mlflow.set_tracking_uri(None)
    office = bool(shutil.which("soffice") or shutil.which("libreoffice"))
    assert fresh.count("Compared 800 rows (applications.csv)") == 7 + office
    files = "model.sql", "model.py", "model.js", "model.c", "card.txt", "model.xlsx", "model.pmml"
    for name in files:
        assert (tmp_path / f"{name}.parity.json").is_file()
    headings = [re.findall(r"^#+ .*", page, re.MULTILINE) for page in (PAGE, fresh)]
    assert headings[0] == headings[1]


def test_every_target_has_its_line():
    listed = set(re.findall(r"^\| `(\w+)` \| `\.", PAGE, re.MULTILINE))
    assert listed >= set(HOMES)

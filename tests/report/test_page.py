"""The examples of docs/report.md run as they stand."""

import runpy
from pathlib import Path

import pytest

from rpte.report.contents import SECTIONS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow(reason="runs every example of the page")
def test_the_report_page_runs(tmp_path, monkeypatch):
    run_page = runpy.run_path(str(DOCS / "tools" / "run_page.py"))["run_page"]
    monkeypatch.chdir(tmp_path)
    run_page((DOCS / "report.md").read_text(encoding="utf-8"))
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f'<section id="{section}"' in written for section in SECTIONS)
    assert (tmp_path / "about.toml").exists()


def test_the_page_names_every_section():
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    for number, title in enumerate(SECTIONS.values(), 1):
        first = title.split(" to ")[0]
        assert f"{number}. *{first}" in page

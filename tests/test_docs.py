"""Every example in a docstring runs, and every public object has one; so do those of a page."""

import doctest
import pkgutil
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

import rpte

DOCS = Path(__file__).parent.parent / "docs"
MODULES = [info.name for info in pkgutil.walk_packages(rpte.__path__, "rpte.")]


def examples(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [test for test in finder.find(module) if test.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    outcome = doctest.testmod(import_module(name))
    assert outcome.failed == 0
    assert outcome.attempted == sum(len(t.examples) for t in examples(import_module(name)))


@pytest.mark.parametrize("name", ["RPTEClassifier", "load", "audit_load"])
def test_public_objects_show_how_they_are_used(name):
    home = import_module(getattr(rpte, name).__module__)
    assert f"{home.__name__}.{name}" in [test.name for test in examples(home)]


def test_the_walk_finds_the_folders():
    assert {"rpte.model.file", "rpte.kernels.growth", "rpte.cli.demo"} <= set(MODULES)


@pytest.mark.parametrize("name", ["rpte", *MODULES])
def test_modules_say_what_they_are_for(name):
    assert (import_module(name).__doc__ or "").strip().endswith((".", ")", "`"))


def _steady(page):
    """Leave hashes and the last bits of numbers out: they may differ between machines."""
    page = re.sub(r"\b[0-9a-f]{12,}\b", "#", page)
    page = re.sub(r"residual \S+ at \S+,", "residual # at #,", page)
    page = re.sub(r"\(\d+ kB\)", "(# kB)", page)
    return re.sub(r"\d+\.\d{8,}", lambda number: f"{float(number[0]):.6g}", page)


PAGES = ["auditor.md", "commands.md", "decisions.md", "explanations.md", "frontier.md"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_examples_print(name, tmp_path, monkeypatch):
    """After a change of the learner: python docs/run_page.py docs/frontier.md , and so on."""
    run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]
    monkeypatch.chdir(tmp_path)
    page = (DOCS / name).read_text(encoding="utf-8")
    assert _steady(run_page(page)) == _steady(page)
    for picture in tmp_path.glob("*.svg"):
        drawn = (DOCS / picture.name).read_text(encoding="utf-8")
        assert picture.read_text(encoding="utf-8") == drawn


def test_the_picture_of_the_rooms_is_that_of_the_imports():
    """After a change of imports between rooms: python docs/room_graph.py ."""
    graph = runpy.run_path(str(DOCS / "room_graph.py"))
    assert graph["PICTURE"].read_text(encoding="utf-8") == graph["draw"]()

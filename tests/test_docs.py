"""Every example in a docstring runs, and every public object has one; so do those of a page."""

import doctest
import pkgutil
import re
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rpte
import rpte.datasets
from data_folder import needs_data

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WRITTEN = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), ROOT / "experiments" / "README.md"])
EXAMPLE = {"losses/squared.py", "tests/losses/test_squared.py"}  # of a new loss
PAGE = runpy.run_path(str(DOCS / "tools" / "run_page.py"))
MODULES = [info.name for info in pkgutil.walk_packages(rpte.__path__, "rpte.")]


def skip_without_its_package(name):
    """Skip the modules of extras that are not installed."""
    for extra in ("dask", "mlflow"):
        if f"{name}.".startswith(f"rpte.{extra}."):
            pytest.importorskip(extra)


def examples(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [test for test in finder.find(module) if test.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    skip_without_its_package(name)
    outcome = doctest.testmod(import_module(name))
    assert outcome.failed == 0
    assert outcome.attempted == sum(len(t.examples) for t in examples(import_module(name)))


@pytest.mark.parametrize("name", rpte.__all__)
def test_public_objects_show_how_they_are_used(name):
    home = import_module(getattr(rpte, name).__module__)
    assert f"{home.__name__}.{name}" in [test.name for test in examples(home)]


def test_the_walk_finds_the_folders():
    assert {"rpte.model.file", "rpte.kernels.growth", "rpte.cli.demo"} <= set(MODULES)


@pytest.mark.parametrize("name", ["rpte", *MODULES])
def test_modules_say_what_they_are_for(name):
    skip_without_its_package(name)
    assert (import_module(name).__doc__ or "").strip().endswith((".", ")", "`"))


@pytest.mark.slow(reason="runs every example of a page")
@pytest.mark.parametrize("name", sorted({*PAGE["PAGES"]} - {"deploy.md", "report.md"}))
def test_a_page_shows_what_its_examples_print(name, tmp_path):
    """After a change of the learner: python docs/tools/run_page.py docs/frontier.md , and so on.

    The two others have tests of their own, in tests/export and tests/report.
    """
    assert PAGE["differences"](DOCS / name, tmp_path) == []


def test_every_page_is_in_the_contents():
    listed = re.findall(r"^(?:.* <)?(\w+)>?$", _contents(), re.MULTILINE)
    assert sorted(listed) == sorted({page.stem for page in DOCS.glob("*.md")} - {"index"})


def _contents():
    """Return what stands in the tables of contents, without their options."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", _text("index.md"), re.DOTALL)
    return re.sub(r"^:.*$", "", "".join(blocks), flags=re.MULTILINE)


def _text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_reference_has_every_public_name_once():
    blocks = re.findall(r"\.\. autosummary::\n(.*?)```", _text("api.md"), re.DOTALL)
    listed = re.findall(r"^   (\w[\w.]*)$", "\n".join(blocks), re.MULTILINE)
    public = [*rpte.__all__, *(f"datasets.{name}" for name in rpte.datasets.__all__)]
    returned = [name for name in listed if "." in name and not name.startswith("datasets.")]
    assert sorted(set(listed) - set(returned)) == sorted(public)
    assert len(listed) == len(set(listed))


@pytest.mark.slow(reason="builds the whole site")
def test_the_site_builds(tmp_path):
    """Warnings are errors and links are checked; the examples of pages have tests of their own."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install 'rpte[docs]'")
    command = [sys.executable, str(DOCS / "build.py"), "--no-run", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_picture_of_the_rooms_is_that_of_the_imports():
    """After a change of imports between rooms: python docs/tools/room_graph.py ."""
    graph = runpy.run_path(str(DOCS / "tools" / "room_graph.py"))
    assert graph["PICTURE"].read_text(encoding="utf-8") == graph["draw"]()


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/how_it_works.md"])
def test_modules_that_guides_name_are_there(page):
    """But those of the example of a new loss."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_0-9/]+\.py)`", text)) - EXAMPLE
    files = [f"/{p.relative_to(ROOT)}" for p in ROOT.rglob("*.py") if ".venv" not in p.parts]
    missing = {name for name in named if not any(f.endswith(f"/{name}") for f in files)}
    assert missing == set()


def test_the_readme_is_short_and_its_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 150
    assert PAGE["run_page"](page) == page
    assert rpte.load("model.json").schema.named


@needs_data
def test_the_picture_of_the_readme_is_that_of_the_default():
    """After a change of the learner: python docs/tools/make_picture.py ."""
    drawn = runpy.run_path(str(DOCS / "tools" / "make_picture.py"))["draw_default"]()
    kept = (DOCS / "model.svg").read_text(encoding="utf-8")
    said = [re.findall(r">([^<>]+)</text>", picture) for picture in (drawn, kept)]
    assert said[0] == said[1]


@pytest.mark.slow(reason="makes the default fit that the pictures show")
def test_the_pictures_of_the_method_are_those_of_the_default():
    """After a change of the learner: python docs/tools/make_method.py ; mend what the page says."""
    make = runpy.run_path(str(DOCS / "tools" / "make_method.py"))
    example = make["Example"].fitted()
    for name, draw in make["PICTURES"].items():
        kept = (DOCS / "method" / f"{name}.svg").read_text(encoding="utf-8")
        said = [re.findall(r">([^<>]+)</text>", picture) for picture in (draw(example), kept)]
        assert said[0] == said[1]

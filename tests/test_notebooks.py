"""The notebooks of examples/ run, and what is committed of their outputs is whole and small."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NAMES = ["clinical", "credit", "survival", "tariff"]
LARGEST = 300_000  # bytes
LONGEST_CELL = 26  # lines
MACHINE = re.compile(
    r"(?:/root|/home|/Users|/tmp|/work|/usr|C:\\)[/\\\w]|object at 0x|site-packages"
)
BARE = re.compile(r"^(?:<|[A-Z]\w+\()")  # a repr of an object for programmers
each = pytest.mark.parametrize("name", NAMES)


def read(name):
    return json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))


def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text(parts):
    return "".join(parts) if isinstance(parts, list) else parts


def faults(notebook):
    """Return what is wrong with the outputs of a notebook."""
    found = []
    for cell in code(notebook):
        for output in cell["outputs"]:
            said = text(output.get("text", "")) + text(output.get("data", {}).get("text/html", ""))
            plain = text(output.get("data", {}).get("text/plain", ""))
            shown = {*output.get("data", {})} - {"text/plain"}
            if output["output_type"] == "error" or output.get("name") == "stderr":
                found.append(f"an error or a warning: {output}")
            if MACHINE.search(said + plain):
                found.append(f"something of one machine: {MACHINE.search(said + plain)[0]}")
            if plain and BARE.match(plain) and not shown:
                found.append(f"a bare repr: {plain[:60]}")
    return found


def test_the_notebooks_are_these():
    assert sorted(path.stem for path in EXAMPLES.glob("*.ipynb")) == NAMES


@each
def test_committed_outputs_are_whole_small_and_of_no_machine(name):
    notebook = read(name)
    assert (EXAMPLES / f"{name}.ipynb").stat().st_size < LARGEST
    assert faults(notebook) == []
    shown = {kind for c in code(notebook) for o in c["outputs"] for kind in o.get("data", {})}
    assert {"image/png", "text/html"} <= shown
    assert sum(bool(cell["outputs"]) for cell in code(notebook)) > 10
    assert all(cell["execution_count"] is None for cell in code(notebook))


@each
def test_cells_are_short_and_told_apart_by_text(name):
    notebook = read(name)
    assert max(text(cell["source"]).count("\n") for cell in code(notebook)) < LONGEST_CELL
    written = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    assert len(written) > len(code(notebook)) / 2
    assert text(written[0]["source"]).startswith("# ")


@each
def test_links_of_notebooks_lead_somewhere(name):
    written = "\n".join(text(cell["source"]) for cell in read(name)["cells"])
    links = re.findall(r"\]\(([^)#:\s]+)", written)
    assert links
    assert [link for link in links if not (EXAMPLES / link).exists()] == []


@pytest.mark.slow(reason="runs every cell in a kernel of its own")
@each
def test_a_notebook_runs(name, tmp_path):
    """To run them and keep the outputs: python examples/execute.py ."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    execute = runpy.run_path(str(EXAMPLES / "execute.py"))["execute"]
    notebook = execute(EXAMPLES / f"{name}.ipynb", tmp_path)
    assert faults(notebook) == []
    kept = read(name)
    counts = [[o["output_type"] for o in cell["outputs"]] for cell in code(notebook)]
    assert counts == [[o["output_type"] for o in cell["outputs"]] for cell in code(kept)]


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ({"output_type": "error", "ename": "ValueError"}, "an error"),
        ({"output_type": "stream", "name": "stderr", "text": "careful"}, "an error"),
        ({"output_type": "stream", "name": "stdout", "text": "/tmp/a"}, "something of one machine"),
        ({"output_type": "execute_result", "data": {"text/plain": "Fold(a=1)"}}, "a bare repr"),
    ],
)
def test_what_is_wrong_with_a_notebook_is_found(output, fault):
    notebook = {"cells": [{"cell_type": "code", "outputs": [output]}]}
    assert [found[: len(fault)] for found in faults(notebook)] == [fault]

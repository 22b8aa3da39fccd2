"""Imports point down: one table of rooms in order, and the exceptions with their reasons."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

import rpte

SOURCE = Path(rpte.__file__).parent

# From the bottom up: a room imports from those above it in this table, never from those below.
ROOMS = (
    "errors",
    "utils",
    "kernels",
    "table",
    "rows",
    "columns",
    "vocabulary",
    "structure",
    "published",
    "estimation",
    "model",
    "audit",
    "counterfactual",
    "scorecard",
    "export",
    "fit",
    "selection",
    "report",
    "estimators",
    "validation",
    "mlflow",
    "check",
    "cli",
    "__main__",
)

METHODS = "a method of Model that is there for convenience, imported when it is called"
EXCEPTIONS = {
    ("model.model", "audit.load"): METHODS,
    ("model.model", "counterfactual"): METHODS,
    ("model.model", "scorecard"): METHODS,
    ("model.model", "export.exporting"): METHODS,
    ("model.model", "report.notebook"): METHODS,
    ("model.explain", "report.notebook"): METHODS,
    ("estimators.model_methods", "validation.cross_validate"): METHODS.replace(
        "Model", "estimators"
    ),
    ("audit.edits", "fit.refit"): "an edit may estimate the terms that are left again",
    ("report.stability", "estimators.classifier"): "stability fits the same settings again",
}


class Import(NamedTuple):
    """An import of ours by ours, by names without the package; `typing` if it is never run."""

    module: str
    imported: str
    typing: bool


def room(module: str) -> str:
    return module.split(".")[0]


def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def targets(node: ast.ImportFrom | ast.Import) -> list[str]:
    """Return the modules of ours that a statement imports; the package itself is none of them."""
    if isinstance(node, ast.Import):
        return [a.name.removeprefix("rpte.") for a in node.names if a.name.startswith("rpte.")]
    if node.module != "rpte" and not (node.module or "").startswith("rpte."):
        return []
    base = (node.module or "").removeprefix("rpte").removeprefix(".")
    longer = [f"{base}.{a.name}".removeprefix(".") for a in node.names]
    modules = [name for name in longer if is_module(name)]
    return modules or ([base] if base else [])


def imports_of(path: Path) -> list[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = path.relative_to(SOURCE).with_suffix("").parts
    module = ".".join(parts).removesuffix(".__init__")
    unrun = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    return [
        Import(module, target, id(node) in unrun)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets(node)
    ]


ALL = [
    found
    for path in sorted(SOURCE.rglob("*.py"))
    if path != SOURCE / "__init__.py"  # it imports lazily, by name
    for found in imports_of(path)
]


def goes_up(found: Import) -> bool:
    return ROOMS.index(room(found.imported)) > ROOMS.index(room(found.module))


def test_every_room_is_in_the_table():
    there = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert there - {"__init__"} == set(ROOMS)


def test_no_import_goes_up():
    """Imports for annotations are never run, so they may."""
    up = {(f.module, f.imported) for f in ALL if not f.typing and goes_up(f)}
    assert up - set(EXCEPTIONS) == set()


def test_no_exception_is_idle():
    up = {(f.module, f.imported) for f in ALL if not f.typing and goes_up(f)}
    assert set(EXCEPTIONS) - up == set()


@pytest.mark.parametrize("name", ["columns", "model", "table"])
def test_what_scores_needs_no_kernels(name):
    """Numba and scikit-learn stay out of rooms that a stored model needs."""
    heavy = {"kernels", "estimation"}
    assert {f for f in ALL if room(f.module) == name and room(f.imported) in heavy} == set()

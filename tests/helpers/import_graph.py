"""Who imports whom in the package, read from its source without running it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import rpte

SOURCE = Path(rpte.__file__).parent


class Import(NamedTuple):
    """An import of ours by ours, by names without the package.

    `typing` if it is never run; what a `_repr_html_` imports runs where a notebook shows the
    object, and counts as that.
    """

    module: str
    imported: str
    typing: bool


def room(module: str) -> str:
    """Return the top-level folder or file of a module."""
    return module.split(".")[0]


def module_name(path: Path) -> str:
    """Return the name of a file of the package, without the package; empty for the package."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def all_imports() -> list[Import]:
    """Return every import between modules; the package's own `__init__` imports lazily, by name."""
    files = sorted(SOURCE.rglob("*.py"))
    return [found for path in files if module_name(path) for found in imports_of(path)]


def imports_of(path: Path) -> list[Import]:
    """Return the imports of one file, those inside functions and for annotations included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unrun = {
        id(inner)
        for node in ast.walk(tree)
        if (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.FunctionDef) and node.name == "_repr_html_")
        for inner in ast.walk(node)
    }
    return [
        Import(module_name(path), target, id(node) in unrun)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in _targets(node)
    ]


def _targets(node: ast.ImportFrom | ast.Import) -> list[str]:
    """Return the modules of ours that a statement imports; the package itself is none of them."""
    if isinstance(node, ast.Import):
        return [a.name.removeprefix("rpte.") for a in node.names if a.name.startswith("rpte.")]
    if node.module != "rpte" and not (node.module or "").startswith("rpte."):
        return []
    base = (node.module or "").removeprefix("rpte").removeprefix(".")
    longer = [f"{base}.{a.name}".removeprefix(".") for a in node.names]
    modules = [name for name in longer if _is_module(name)]
    return modules or ([base] if base else [])


def _is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()

"""Rules of the house that no linter knows: sizes of files and functions, what lies at the top."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from import_graph import SOURCE, all_imports, module_name
from test_arrows import EXCEPTIONS

FILES = sorted(SOURCE.rglob("*.py"))
LONGEST_FILE = 600
LONGEST_FUNCTION = 60  # without its signature and docstring
MOST_LOOSE = 6  # modules at the top of the package
METHODS = "a method that is there for convenience, imported when it is called"
LAZY = {  # imports inside functions, between files of one room, that close a cycle
    ("model.model", "model.verify"): METHODS,
    ("model.model", "model.file"): METHODS,
    ("model.classes", "model.verify"): METHODS,
    ("model.classes", "model.file"): METHODS,
    ("model.causes", "model.file"): METHODS,
    ("model.causes", "model.verify_causes"): METHODS,
}


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_no_file_is_long_but_the_checker():
    """The checker is one file because people copy it."""
    long = {p.name: len(lines_of(p)) for p in FILES if len(lines_of(p)) > LONGEST_FILE}
    assert set(long) <= {"rpte_check.py"}, long


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function below its signature, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_no_function_is_long():
    found = [(p, f) for p in FILES for f in functions(p) if length(f) > LONGEST_FUNCTION]
    assert [f"{p.relative_to(SOURCE)}: {f.name}, {length(f)} lines" for p, f in found] == []


def test_few_modules_lie_loose():
    loose = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert len(loose) <= MOST_LOOSE, sorted(loose)


def test_files_import_each_other_in_one_direction():
    """Imports inside functions count; the exceptions are listed with their reasons."""
    graph: dict[str, set[str]] = {}
    for found in all_imports():
        pair = found.module, found.imported
        if not found.typing and len({*pair}) == 2 and pair not in {**EXCEPTIONS, **LAZY}:
            graph.setdefault(found.module, set()).add(found.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_test_files_have_names_of_their_own():
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_every_room_says_what_lives_there():
    rooms = [path for path in FILES if path.name == "__init__.py" and module_name(path)]
    silent = [module_name(p) for p in rooms if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []

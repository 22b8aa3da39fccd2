"""Do the tests notice? Break the library in drawn places, and count the changes that tests find.

    python benchmarks/mutants.py draw --count 30 --seed 1 > benchmarks/results/mutants.csv
    python benchmarks/mutants.py run benchmarks/results/mutants.csv

A mutant is one change of one line outside the compiled kernels: a sign, a comparison that is off by
one, a check (`if ...: raise`) that never refuses. Rooms are drawn first, then a line, so that large
rooms do not have all mutants. Each is tried in a copy of the tree, one at a time, until a test
fails: by the test files that import its module, then its room's and those of rooms that import it,
then the others of the default tier; one that lives, by the slow tests of the same files. The table
is written after each mutant, and a later run goes on with those that have no outcome: `--stages 1`
gives most of them one soon. When all have one, the tests that found mutants run without them.
What a person finds out about one that lives goes into its note: some change nothing to observe.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import resource
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TextIO

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rpte"
LEFT_OUT = ("kernels", "datasets")  # compiled, and made data
SIGNS = {ast.Add: "-", ast.Sub: "+"}
ORDERS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
SECONDS = 1800  # of processor time, for a mutant that never ends
LIVES, GONE = "lives", "gone"
IMPORTED = ("hypothesis", "narwhals", "numba", "pandas", "scipy.stats", "sklearn.ensemble", "typer")


@dataclass(frozen=True)
class Mutant:
    """One change of a line: what stands there, what takes its place, and which test found it.

    The tier is "default" or "all", that it lives, or that its line is gone; empty if it was not
    tried, when the test that a person expects to find it, if one is named, is the first to be run.
    """

    file: str
    line: int
    kind: str
    old: str
    new: str
    tier: str = ""
    test: str = ""
    note: str = ""

    def broken(self, text: str) -> str:
        """Return a file's text with the change made at its line, or where the line has moved."""
        lines = text.split("\n")
        places = [i for i, line in enumerate(lines) if line == self.old]
        at = min(places, key=lambda i: abs(i + 1 - self.line))
        return "\n".join([*lines[:at], self.new, *lines[at + 1 :]])


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        found = change(node, text)
        if found is None or (node.lineno != node.end_lineno and not isinstance(node, ast.If)):
            continue
        kind, start, end, new = found
        old = lines[node.lineno - 1]
        made = old[:start] + new + old[end:]
        yield Mutant(str(path.relative_to(SOURCE)), node.lineno, kind, old, made)


def change(node: ast.AST, text: str) -> tuple[str, int, int, str] | None:
    """Return the kind of a change, the columns that it replaces, and by what."""
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS and node.lineno == node.end_lineno:
        start, end = between(node.left, node.right, text)
        return "sign", start, end, f" {SIGNS[type(node.op)]} "
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in ORDERS:
        start, end = between(node.left, node.comparators[0], text)
        return "off by one", start, end, f" {ORDERS[type(node.ops[0])]} "
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not node.orelse:
        test = node.test
        if test.lineno == test.end_lineno == node.lineno:
            return "dropped check", test.col_offset, test.end_col_offset, "False"
    return None


def between(left: ast.expr, right: ast.expr, text: str) -> tuple[int, int]:
    """Return the columns of the operator between two operands on a line, brackets kept."""
    line = text.split("\n")[left.lineno - 1]
    start, end = left.end_col_offset, right.col_offset
    found = re.search(r"\s(\+|-|<=|>=|<|>)\s", line[start:end])
    return (start + found.start(), start + found.end()) if found else (start, end)


def draw(count: int, seed: int) -> list[Mutant]:
    """Draw mutants, one room after the other in a drawn order."""
    chance = random.Random(seed)
    by_room: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0]
        if room not in LEFT_OUT:
            by_room[room] += mutants_of(path)
    rooms = sorted(room for room, mutants in by_room.items() if mutants)
    chance.shuffle(rooms)
    found: list[Mutant] = []
    while len(found) < count:
        room = rooms[len(found) % len(rooms)]
        found.append(by_room[room].pop(chance.randrange(len(by_room[room]))))
    return found


def stages(mutant: Mutant, tree: Path) -> list[list[str]]:
    """Return the test files in the order in which they are likely to find a mutant."""
    module = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    room = module.split(".")[0]
    files = sorted((tree / "tests").rglob("test_*.py"))
    direct = [path for path in files if names(path, module)]
    direct.sort(key=lambda path: (module.split(".")[-1] not in path.stem, path.parent.name != room))
    users = {
        path.relative_to(tree / "src" / "rpte").parts[0]
        for path in (tree / "src" / "rpte").rglob("*.py")
        if names(path, module)
    }
    near = [path for path in files if path.parent.name in users | {room}]
    found: list[list[Path]] = []
    for stage in (direct, near, files):
        found.append([path for path in stage if not any(path in earlier for earlier in found)])
    return [[str(path.relative_to(tree)) for path in stage] for stage in found if stage]


def names(path: Path, module: str) -> bool:
    """Tell whether a file names a module as an import does, in either form."""
    folder, _, last = f"rpte.{module}".rpartition(".")
    text = path.read_text(encoding="utf-8")
    pattern = rf"rpte\.{re.escape(module)}\b|from {re.escape(folder)} import .*\b{last}\b"
    return re.search(pattern, text) is not None


def try_mutant(mutant: Mutant, tree: Path, most: int | None) -> Mutant:
    """Return a mutant with the test that finds it; of `most` stages if that is given."""
    place = tree / "src" / "rpte" / mutant.file
    text = place.read_text(encoding="utf-8")
    if mutant.old not in text.split("\n"):
        return replace(mutant, tier=GONE)
    order = stages(mutant, tree)
    near = [file for stage in order[:-1] for file in stage]
    tries = [("default", stage) for stage in order] + [("all", ["--all", *near])]
    file, *name = f"tests/{mutant.test}".split("::")
    expected = [("default", [file, "-k", name[-1]])] if name else []
    for tier, arguments in expected + tries[: len(tries) if most is None else most]:
        place.write_text(mutant.broken(text), encoding="utf-8")
        try:
            failed = first_failure(tree, arguments)
        finally:
            place.write_text(text, encoding="utf-8")
        if failed is not None:
            return replace(mutant, tier=tier, test=failed.removeprefix("tests/"))
    return replace(mutant, tier=LIVES, test="") if most is None else mutant


def first_failure(tree: Path, arguments: list[str]) -> str | None:
    """Return the first test that fails, None if all pass or none was chosen.

    A fork of this process has imported already what does not change.
    """
    shown = tree / "shown.txt"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            with shown.open("w") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            os.chdir(tree)
            sys.path[:0] = [str(tree / "src")]
            sys.dont_write_bytecode = True
            code = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments])
            sys.stdout.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "time ran out"
    if os.waitstatus_to_exitcode(status) in (0, 5):  # 5: no test was chosen
        return None
    text = shown.read_text(encoding="utf-8", errors="replace")
    failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", text, re.MULTILINE)
    return failed[0] if failed else "at import"


def run(given: argparse.Namespace) -> None:
    """Try the mutants of a table that have no outcome, and write it after each."""
    with given.mutants.open(newline="", encoding="utf-8") as file:
        mutants = [Mutant(**{**row, "line": int(row["line"])}) for row in csv.DictReader(file)]
    for name in IMPORTED:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        os.environ.update(PYTHONPATH=str(tree / "src"), PYTHONDONTWRITEBYTECODE="1")
        shutil.copytree(given.tree, tree, ignore=shutil.ignore_patterns(".git", ".coverage*"))
        for at, mutant in enumerate(mutants):
            if not mutant.tier:
                mutants[at] = try_mutant(mutant, tree, given.stages)
                print(mutants[at].file, mutant.line, mutants[at].tier, mutants[at].test, flush=True)
                with given.mutants.open("w", newline="", encoding="utf-8") as file:
                    write(mutants, file)
        done = all(mutant.tier for mutant in mutants)
        killers = sorted({f"tests/{mutant.test}" for mutant in mutants if "::" in mutant.test})
        failed = first_failure(tree, killers) if done and killers else None
    if failed is not None:
        raise SystemExit(f"{failed} fails without any mutant")
    died = [sum(mutant.tier == tier for mutant in mutants) for tier in ("default", "all")]
    print(f"of {len(mutants)}, {died[0]} died in the default tier, {died[1]} more with --all")


def write(mutants: list[Mutant], file: TextIO) -> None:
    """Write a table of mutants."""
    writer = csv.DictWriter(file, [field.name for field in fields(Mutant)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(mutant) for mutant in mutants)


def main() -> None:
    """Draw mutants, or try them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--count", type=int, default=30)
    drawing.add_argument("--seed", type=int, default=1)
    trying = commands.add_parser("run")
    trying.add_argument("mutants", type=Path)
    trying.add_argument("--stages", type=int, help="leave those that live so long")
    trying.add_argument("--tree", type=Path, default=ROOT, help="another checkout to try")
    given = parser.parse_args()
    if given.command == "run":
        run(given)
        return
    write(draw(given.count, given.seed), sys.stdout)


if __name__ == "__main__":
    main()

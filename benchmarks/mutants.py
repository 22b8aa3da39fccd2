"""Do the tests notice? Break the library in drawn places, and count the changes that tests find.

    pytest --all --cov --cov-context=test                   # which test runs which line: .coverage
    python benchmarks/mutants.py draw --count 30 --seed 1 > benchmarks/results/mutants.csv
    python benchmarks/mutants.py run benchmarks/results/mutants.csv --tier all
    python benchmarks/mutants.py run benchmarks/results/mutants.csv --tier default

A mutant is one change of one line outside the compiled kernels: a sign, a comparison or a number
that is off by one, a check (`if ...: raise`) that never refuses. Rooms are drawn first, then a line
that some test runs, so that large rooms do not have all mutants. Each is tried in a copy of the
tree, by the tests that run its line, the quickest first, until one fails.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rpte"
LEFT_OUT = ("kernels", "datasets")  # compiled, and made data
SIGNS = {ast.Add: "-", ast.Sub: "+"}
ORDERS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
SECONDS = 900.0


@dataclass(frozen=True)
class Mutant:
    """One change of a line: what stands there, and what takes its place."""

    file: str
    line: int
    kind: str
    old: str
    new: str

    def broken(self, text: str) -> str:
        """Return a file's text with the change made at its line, or where the line has moved."""
        lines = text.split("\n")
        places = [i for i, line in enumerate(lines) if line == self.old]
        if not places:
            raise SystemExit(f"{self.file} has no line {self.old!r} any more")
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


def lines_with_tests(database: Path) -> dict[tuple[str, int], set[str]]:
    """Return the tests that run each line, from a coverage file with contexts."""
    from coverage.numbits import numbits_to_nums

    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    with sqlite3.connect(database) as data:
        branches = data.execute("SELECT count(*) FROM arc").fetchone()[0]
        query = (
            "SELECT f.path, c.context, a.tono FROM arc a JOIN file f ON f.id = a.file_id "
            "JOIN context c ON c.id = a.context_id WHERE a.tono > 0"
            if branches
            else "SELECT f.path, c.context, l.numbits FROM line_bits l JOIN file f "
            "ON f.id = l.file_id JOIN context c ON c.id = l.context_id"
        )
        for path, context, told in data.execute(query):
            if "::" in context and "/rpte/" in path:
                name = path.rpartition("/rpte/")[2]
                for line in [told] if branches else numbits_to_nums(told):
                    found[name, line].add(context.partition("|")[0])
    return found


def draw(database: Path, count: int, seed: int) -> list[Mutant]:
    """Draw mutants on lines that tests run, one room after the other in a drawn order."""
    chance = random.Random(seed)
    covered = lines_with_tests(database)
    by_room: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0]
        if room not in LEFT_OUT:
            by_room[room] += [m for m in mutants_of(path) if (m.file, m.line) in covered]
    rooms = sorted(room for room, mutants in by_room.items() if mutants)
    chance.shuffle(rooms)
    found: list[Mutant] = []
    while len(found) < count:
        room = rooms[len(found) % len(rooms)]
        found.append(by_room[room].pop(chance.randrange(len(by_room[room]))))
    return found


def tests_of(mutant: Mutant, covered: dict, times: dict[str, float]) -> list[str]:
    """Return the tests that run a mutant's line, the quickest first."""
    tests = covered.get((mutant.file, mutant.line), set())
    return sorted(tests, key=lambda test: (times.get(test, 1.0), test))


def read_times(path: Path | None) -> dict[str, float]:
    """Return the wall seconds of tests, from a table of costs."""
    if path is None:
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["test"]: float(row["wall"]) for row in csv.DictReader(file)}


def try_mutant(mutant: Mutant, tree: Path, tests: list[str], tier: str) -> str:
    """Return the test that finds a mutant, or why none does."""
    if not tests:
        return "no test runs the line"
    place = tree / "src" / "rpte" / mutant.file
    text = place.read_text(encoding="utf-8")
    place.write_text(mutant.broken(text), encoding="utf-8")
    more = ["--all"] if tier == "all" else ["-m", "not slow"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": "",
    }
    names = tree / "tests.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *more, f"@{names}"], cwd=tree, env=environment, capture_output=True,
            text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "died: time ran out"
    finally:
        place.write_text(text, encoding="utf-8")
    failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode and done.returncode != 5:  # 5: every test was left out
        return f"died: {failed[0] if failed else 'at import'}"
    return "survived"


def run(given: argparse.Namespace) -> None:
    """Try all mutants of a file and write what became of each."""
    with given.mutants.open(newline="", encoding="utf-8") as file:
        known = [field.name for field in fields(Mutant)]
        rows = [{name: row[name] for name in known} for row in csv.DictReader(file)]
    mutants = [Mutant(**{**row, "line": int(row["line"])}) for row in rows]
    covered, times = lines_with_tests(given.coverage), read_times(given.costs)
    writer = csv.DictWriter(sys.stdout, [*known, "outcome"])
    writer.writeheader()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(given.tree, tree, ignore=shutil.ignore_patterns(".git", ".coverage*"))
        for mutant in mutants:
            outcome = try_mutant(mutant, tree, tests_of(mutant, covered, times), given.tier)
            writer.writerow({**asdict(mutant), "outcome": outcome})
            sys.stdout.flush()


def main() -> None:
    """Draw mutants, or try them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--count", type=int, default=30)
    drawing.add_argument("--seed", type=int, default=1)
    trying = commands.add_parser("run")
    trying.add_argument("mutants", type=Path)
    trying.add_argument("--tier", choices=["default", "all"], default="default")
    trying.add_argument("--tree", type=Path, default=ROOT, help="another checkout to try")
    trying.add_argument("--costs", type=Path, help="a table of pytest --costs: quick tests first")
    for each in (drawing, trying):
        each.add_argument("--coverage", type=Path, default=ROOT / ".coverage")
    given = parser.parse_args()
    if given.command == "run":
        run(given)
        return
    writer = csv.DictWriter(sys.stdout, [field.name for field in fields(Mutant)])
    writer.writeheader()
    writer.writerows(asdict(mutant) for mutant in draw(given.coverage, given.count, given.seed))


if __name__ == "__main__":
    main()

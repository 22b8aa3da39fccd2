"""Do the tests notice? Break the library in drawn places, and count the changes that tests find.

    python benchmarks/mutants.py draw --count 30 --seed 1 > benchmarks/results/mutants.csv
    python benchmarks/mutants.py run benchmarks/results/mutants.csv --tier default
    python benchmarks/mutants.py run benchmarks/results/mutants.csv --tier all

A mutant is one change of one line outside the compiled kernels: a sign, a comparison that is off by
one, a check (`if ...: raise`) that never refuses. Rooms are drawn first, then a line, so that large
rooms do not have all mutants. Each is tried in a copy of the tree: first by the tests of its room,
then by all tests of the tier, until one fails. Some mutants change nothing that can be observed.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import shutil
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
SECONDS = 1800.0


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


def try_mutant(mutant: Mutant, tree: Path, options: list[str]) -> str:
    """Return the test that finds a mutant, or that it survived."""
    place = tree / "src" / "rpte" / mutant.file
    text = place.read_text(encoding="utf-8")
    place.write_text(mutant.broken(text), encoding="utf-8")
    own = tree / "tests" / mutant.file.split("/")[0]
    try:
        for where in ([str(own)] if own.is_dir() else []), []:
            failed = first_failure(tree, [*options, *where])
            if failed is not None:
                return f"died: {failed}"
    finally:
        place.write_text(text, encoding="utf-8")
    return "survived"


def first_failure(tree: Path, arguments: list[str]) -> str | None:
    """Return the first test that fails, None if all pass or none was chosen."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "time ran out"
    if done.returncode in (0, 5):  # 5: no test was chosen
        return None
    failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", done.stdout, re.MULTILINE)
    return failed[0] if failed else "at import"


def run(given: argparse.Namespace) -> None:
    """Try all mutants of a file and write what became of each."""
    with given.mutants.open(newline="", encoding="utf-8") as file:
        known = [field.name for field in fields(Mutant)]
        rows = [{name: row[name] for name in known} for row in csv.DictReader(file)]
    mutants = [Mutant(**{**row, "line": int(row["line"])}) for row in rows]
    options = given.options.split() if given.options else ["--all"] * (given.tier == "all")
    writer = csv.DictWriter(sys.stdout, [*known, "outcome"])
    writer.writeheader()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(given.tree, tree, ignore=shutil.ignore_patterns(".git", ".coverage*"))
        for mutant in mutants:
            outcome = try_mutant(mutant, tree, options)
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
    trying.add_argument("--options", help="options of pytest in place of the tier's")
    given = parser.parse_args()
    if given.command == "run":
        run(given)
        return
    writer = csv.DictWriter(sys.stdout, [field.name for field in fields(Mutant)])
    writer.writeheader()
    writer.writerows(asdict(mutant) for mutant in draw(given.count, given.seed))


if __name__ == "__main__":
    main()

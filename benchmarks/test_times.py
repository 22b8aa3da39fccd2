"""What the tests cost, by folder or file, from the table that `pytest --costs FILE` writes.

    pytest --all --costs=costs.csv
    python benchmarks/test_times.py costs.csv                    # by folder, as Markdown
    python benchmarks/test_times.py costs.csv --by file
    python benchmarks/test_times.py before.csv costs.csv         # two runs beside each other
    python benchmarks/test_times.py costs.csv --check            # long tests name their reason
    python benchmarks/test_times.py costs.csv --csv > benchmarks/results/test_times.csv

`.ci/run` prints the last of these, of its two runs together. Processor seconds are what compares:
wall seconds depend on what else runs. To measure a tree that has no such option,
copy tests/helpers/run_costs.py into it and register it in its conftest.py as in this one.

A fit counts as repeated when one with the same parameters and data was made before, by whichever
worker. Programs are counted by what they are: `python` for every Python process.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

LONG = 5.0  # processor seconds from which a test has to name its reason
NAMES = {"soffice": "LibreOffice", "libreoffice": "LibreOffice", "chromium": "Chromium"}


@dataclass
class Cost:
    """What some tests cost together."""

    tests: int = 0
    wall: float = 0.0
    processor: float = 0.0
    programs: Counter = field(default_factory=Counter)
    fits: int = 0
    repeated: int = 0

    def add(self, row: dict[str, str], seen: set[str]) -> None:
        """Add a test; `seen` holds the fits that were made before."""
        self.tests += 1
        self.wall += float(row["wall"])
        self.processor += float(row["processor"] or 0.0)
        for program in row["programs"].split():
            name, _, count = program.rpartition(":")
            self.programs[kind_of(name)] += int(count)
        for fit in row["fits"].split():
            self.fits += 1
            self.repeated += fit in seen
            seen.add(fit)


def kind_of(program: str) -> str:
    """Return what people call a program."""
    return "python" if program.startswith("python") else NAMES.get(program, program)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of costs."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_place(rows: list[dict[str, str]], by: str) -> dict[str, Cost]:
    """Return the costs by folder or by file, and of all tests."""
    found: dict[str, Cost] = defaultdict(Cost)
    seen: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        file = row["test"].split("::")[0]
        folder = "/".join(file.split("/")[:2]) if file.count("/") > 1 else "tests"
        for place in (file if by == "file" else folder, "all"):
            found[place].add(row, seen["all" if place == "all" else "place"])
    return dict(sorted(found.items(), key=lambda pair: -pair[1].processor))


def table(runs: list[dict[str, Cost]]) -> list[str]:
    """Return the costs of one or more runs as lines of Markdown."""
    heads = ["tests", "wall s", "processor s", "programs", "fits", "repeated"]
    columns = [
        f"{head} {k}" if len(runs) > 1 else head for k, _ in enumerate(runs) for head in heads
    ]
    lines = [["place", *columns], ["---", *["---:"] * len(columns)]]
    places = list(dict.fromkeys(place for run in runs for place in run))
    for place in places:
        cells = [cell for run in runs for cell in cells_of(run.get(place, Cost()))]
        lines.append([place, *cells])
    return [f"| {' | '.join(line)} |" for line in lines]


def write_table(found: dict[str, Cost]) -> None:
    """Write the costs of one run as CSV."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["place", "tests", "wall", "processor", "programs", "fits", "repeated fits"])
    for place, cost in found.items():
        writer.writerow([place, *(cell.replace(",", "") for cell in cells_of(cost))])


def cells_of(cost: Cost) -> list[str]:
    """Return one cost as cells."""
    programs = ", ".join(f"{name} {count}" for name, count in cost.programs.most_common(6))
    numbers = [f"{cost.tests:,}", f"{cost.wall:.1f}", f"{cost.processor:.1f}"]
    return [*numbers, programs, f"{cost.fits:,}", f"{cost.repeated:,}"]


def unexplained(rows: list[dict[str, str]]) -> list[str]:
    """Return the tests that take long without naming a reason in their marker."""
    long = [row for row in rows if float(row["processor"] or 0.0) >= LONG]
    return [f"{row['test']}: {row['processor']} s" for row in long if not row["reason"]]


def main() -> int:
    """Print the table, or the long tests without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("costs", nargs="+", type=Path)
    parser.add_argument("--by", choices=["folder", "file"], default="folder")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a reason is missing")
    parser.add_argument("--csv", action="store_true", help="all runs together, as CSV")
    given = parser.parse_args()
    if given.check:
        found = [line for path in given.costs for line in unexplained(read(path))]
        print("\n".join(found) or "every long test names its reason")
        return bool(found)
    if given.csv:
        write_table(by_place([row for path in given.costs for row in read(path)], given.by))
        return 0
    print("\n".join(table([by_place(read(path), given.by) for path in given.costs])))
    return 0


if __name__ == "__main__":
    sys.exit(main())

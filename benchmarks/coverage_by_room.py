"""How much of each room the tests run, from what `pytest --cov` measured.

    pytest --all --cov --cov-report=json:coverage.json
    python benchmarks/coverage_by_room.py coverage.json > benchmarks/results/coverage.csv

Compiled kernels are left out, and what subprocesses run is not counted.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from pathlib import Path

COUNTED = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def by_room(files: dict[str, dict]) -> dict[str, list[int]]:
    """Return by room what coverage counted, in the order of `COUNTED`, and of all rooms."""
    found: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTED))
    for name, file in files.items():
        parts = Path(name).parts
        place = parts[len(parts) - parts[::-1].index("rpte") :]
        for room in (place[0].removesuffix(".py"), "all"):
            counts = [int(file["summary"][field]) for field in COUNTED]
            found[room] = [a + b for a, b in zip(found[room], counts, strict=True)]
    return dict(sorted(found.items()))


def main() -> None:
    """Write a line per room."""
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["room", "statements", "run", "branches", "taken", "percent"])
    for room, counts in by_room(measured["files"]).items():
        percent = 100 * (counts[1] + counts[3]) / max(counts[0] + counts[2], 1)
        writer.writerow([room, *counts, f"{percent:.1f}"])


if __name__ == "__main__":
    main()

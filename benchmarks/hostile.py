"""What an adversary and a new user tried against the library, run again: counts and failures.

Run: python benchmarks/hostile.py [--only reading,proofs] [--seed 0] [--seeds 1] [--counts FILE]

Each module of `hostile_cases` holds the cases of one area. A case tries something a number of times
and returns a line for each time that the answer was wrong and nobody was told. Cases that need the
stored tables are left out where `RPTE_DATA` or ../shared/data is absent, and the table says so.
With `--seeds`, each case is run with that many seeds from `--seed` on. With `--counts`, counts are
written to a file after each case, and what it has already counted is not run again: a long run can
be stopped, continued and extended. The command ends with status 1 unless the failures sum to 0.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

TESTS = Path(__file__).parents[1] / "tests"
for folder in (TESTS, *(TESTS / name for name in ("helpers", "audit", "estimators", "estimation"))):
    sys.path.insert(0, str(folder))  # generators and verdicts that the tests use too

import hostile_cases  # noqa: E402
from hostile_cases.case import Case, Result, Skipped  # noqa: E402
from rpte import RPTEWarning  # noqa: E402

KEPT = 5  # lines of failures of a case and seed


@dataclass
class Count:
    """What came of one case with one seed."""

    tried: int
    failures: int
    seconds: float
    lines: list[str]
    left_out: str = ""


def areas() -> list[str]:
    """Return the modules that hold cases."""
    found = (module.name for module in pkgutil.iter_modules(hostile_cases.__path__))
    return sorted(name for name in found if name != "case")


def cases_of(area: str) -> list[Case]:
    """Return the cases of an area, in their order."""
    return list(importlib.import_module(f"hostile_cases.{area}").CASES)


def count_of(case: Case, seed: int) -> Count:
    """Run a case with a seed."""
    begun = time.perf_counter()
    try:
        result = case.run(seed)
    except Skipped as reason:
        return Count(0, 0, 0.0, [], str(reason))
    except Exception as error:  # a case that nobody expected to fail is a failure
        result = Result(1, [f"{type(error).__name__}: {str(error)[:200]}"])
    lines = [line[:500] for line in result.failures[:KEPT]]
    return Count(result.tried, len(result.failures), time.perf_counter() - begun, lines)


def known_counts(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return what a file of counts has, by area, case and seed."""
    return json.loads(path.read_text()) if path is not None and path.exists() else {}


def run(chosen: list[str], seeds: range, path: Path | None) -> Iterator[tuple[str, str, Count]]:
    """Yield what came of each case and seed; what the file at `path` has is not run again."""
    known = known_counts(path)
    for seed in seeds:
        for area in chosen:
            for case in cases_of(area):
                key = f"{area} | {case.what} | {seed}"
                if key not in known:
                    known[key] = asdict(count_of(case, seed))
                    if path is not None and not known[key]["left_out"]:
                        path.write_text(json.dumps(known, indent=1))
                yield area, case.what, Count(**known[key])


def show(found: list[tuple[str, str, Count]]) -> None:
    """Print a line for each case, seeds taken together, and the failures."""
    shown = Table("area", "what was tried", "times", "failures", "seconds", title="Hostile trial")
    by_case: dict[tuple[str, str], list[Count]] = {}
    for area, what, count in found:
        by_case.setdefault((area, what), []).append(count)
    for (area, what), counts in sorted(by_case.items(), key=lambda item: item[0][0]):
        tried, failures = sum(c.tried for c in counts), sum(c.failures for c in counts)
        if left_out := counts[0].left_out:
            shown.add_row(area, what, "-", f"left out: {left_out}", "")
            continue
        seconds = f"{sum(c.seconds for c in counts):.1f}"
        shown.add_row(area, what, f"{tried:,}", str(failures), seconds)
    tried, failures = (sum(getattr(c, n) for _, _, c in found) for n in ("tried", "failures"))
    shown.add_row("", "all", f"{tried:,}", str(failures), "", style="bold")
    Console(width=120).print(shown)
    for area, what, count in found:
        for line in count.lines:
            print(f"{area}: {what}: {line}")


def main() -> int:
    """Run the cases and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(areas()), help="areas, with commas between them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --seed on")
    parser.add_argument("--counts", type=Path, help="file of counts, which a later run continues")
    parser.add_argument("--show", action="store_true", help="run nothing: show what --counts has")
    options = parser.parse_args()
    warnings.simplefilter("ignore", RPTEWarning)  # a case listens to those that it is about
    seeds = range(options.seed, options.seed + options.seeds)
    if options.show:
        keys = ((*key.split(" | "), count) for key, count in known_counts(options.counts).items())
        found = [(area, what, Count(**count)) for area, what, _, count in keys]
    else:
        found = list(run(options.only.split(","), seeds, options.counts))
    show(found)
    return 1 if any(count.failures for _, _, count in found) else 0


if __name__ == "__main__":
    sys.exit(main())

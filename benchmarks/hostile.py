"""What an adversary and a new user tried against the library, run again: counts and failures.

Run: python benchmarks/hostile.py [--only reading,proofs] [--seed 0]

Each module of `hostile_cases` holds the cases of one area. A case tries something a number of times
and returns a line for each time that the answer was wrong and nobody was told. Cases that need the
stored tables are left out where `RPTE_DATA` or ../shared/data is absent, and the table says so. The
command ends with status 1 unless the failures sum to 0.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import time
import warnings

from rich.console import Console
from rich.table import Table

import hostile_cases
from hostile_cases.case import Case, Result, Skipped
from rpte import RPTEWarning


def areas() -> list[str]:
    """Return the modules that hold cases."""
    found = (module.name for module in pkgutil.iter_modules(hostile_cases.__path__))
    return sorted(name for name in found if name != "case")


def cases_of(area: str) -> list[Case]:
    """Return the cases of an area, in their order."""
    return list(importlib.import_module(f"hostile_cases.{area}").CASES)


def main() -> int:
    """Run the cases and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(areas()), help="areas, with commas between them")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shown = Table("area", "what was tried", "times", "failures", "seconds", title="Hostile trial")
    warnings.simplefilter("ignore", RPTEWarning)  # a case listens to those that it is about
    lines: list[str] = []
    failures = tried = 0
    for area in options.only.split(","):
        for case in cases_of(area):
            begun = time.perf_counter()
            try:
                result = case.run(options.seed)
            except Skipped as reason:
                shown.add_row(area, case.what, "-", f"left out: {reason}", "")
                continue
            except Exception as error:  # a case that nobody expected to fail is a failure
                result = Result(1, [f"{type(error).__name__}: {str(error)[:200]}"])
            seconds = f"{time.perf_counter() - begun:.1f}"
            shown.add_row(area, case.what, f"{result.tried:,}", str(len(result.failures)), seconds)
            tried, failures = tried + result.tried, failures + len(result.failures)
            lines += [f"{area}: {case.what}: {failure}" for failure in result.failures[:5]]
    shown.add_row("", "all", f"{tried:,}", str(failures), "", style="bold")
    Console(width=120).print(shown)
    print(*lines, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

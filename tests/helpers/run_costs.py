"""What tests cost: `pytest --costs FILE` writes one row per test.

Wall and processor seconds (those of ended child processes and of fixtures that a test was the
first to need included), the programs that it started, and the fits of our estimators, each a hash
of parameters and data, so that a fit that is made twice is seen. `benchmarks/test_times.py` sums
them by folder.
"""

from __future__ import annotations

import csv
import functools
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

FIELDS = ["test", "outcome", "wall", "processor", "programs", "fits", "reason"]


def passed(path: str) -> set[str]:
    """Return the tests that passed in a run whose costs were written to a file."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return {row["test"] for row in csv.DictReader(file) if row["outcome"] == "passed"}


def processor_seconds() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Costs:
    """Measures each test where it runs, and collects the rows in the process that leads."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.rows: dict[str, dict] = {}
        self.programs: list[str] = []
        self.fits: list[str] = []
        self.start = 0.0
        sys.addaudithook(self.note_program)

    def note_program(self, event: str, arguments: tuple) -> None:
        if event == "subprocess.Popen":
            command = arguments[1]
            first = command if isinstance(command, str) else command[0]
            self.programs.append(Path(os.fsdecode(first)).name)

    def pytest_collection_finish(self) -> None:
        import rpte

        for owner in (rpte.RPTEClassifier, rpte.RPTERegressor, rpte.RPTESurvival):
            owner.fit = self.counted(owner.fit)
        self.start = processor_seconds()

    def counted(self, fit):
        """Return a `fit` that is noted by a hash of what it is given."""
        import joblib

        @functools.wraps(fit)
        def noted(estimator, *given, **named):
            parameters = sorted(estimator.get_params().items(), key=lambda pair: pair[0])
            try:
                key = joblib.hash((type(estimator).__name__, parameters, given, named))
            except Exception:
                key = f"{len(self.fits)}-{id(estimator)}"
            self.fits.append(key[:10])
            return fit(estimator, *given, **named)

        return noted

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.when != "teardown":
            return
        now = processor_seconds()
        programs = " ".join(f"{k}:{n}" for k, n in sorted(Counter(self.programs).items()))
        slow = item.get_closest_marker("slow")
        reason = slow.kwargs.get("reason", "") if slow else ""
        cost = (f"{now - self.start:.3f}", programs, " ".join(self.fits), reason)
        outcome.get_result().user_properties.append(("cost", cost))
        self.start = now
        self.programs.clear()
        self.fits.clear()

    def pytest_runtest_logreport(self, report) -> None:
        row = self.rows.setdefault(report.nodeid, {"test": report.nodeid, "wall": 0.0})
        row["wall"] += report.duration
        if report.when == "call" or report.outcome != "passed":
            row["outcome"] = report.outcome
        for name, cost in report.user_properties:
            if name == "cost":
                row.update(zip(FIELDS[3:], cost, strict=True))

    def pytest_sessionfinish(self, session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS, restval="")
            writer.writeheader()
            for row in sorted(self.rows.values(), key=lambda row: row["test"]):
                writer.writerow({**row, "wall": f"{row['wall']:.3f}"})

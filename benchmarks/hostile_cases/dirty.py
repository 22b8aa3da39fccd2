"""Tables with odd cells, in odd shapes and encodings, for models of every task."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from dirty_tables import scores_of_dirty
from hostile_cases.case import Case, Result
from model_files import EVERY_NAME

TABLES = 20  # of each model
SHARES = (0.0, 0.002, 0.01, 0.05)


def dirty_tables(seed: int) -> Result:
    """Library and checker read the same scores of each row to the last bit, or both refuse."""
    result = Result()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dirty.csv"
        for name in EVERY_NAME:
            for number in range(TABLES):
                rng = random.Random(f"{name} {seed} {number}")
                here, there = scores_of_dirty(name, rng, rng.choice(SHARES), path)
                if here is None or there is None or len(here) != len(there):
                    result.expect(here == there, f"{name} {seed} {number}: one alone refuses")
                    continue
                for row, (one, other) in enumerate(zip(here, there, strict=True)):
                    result.expect(one == other, f"{name} {seed} {number}, row {row}")
    return result


CASES = [Case("rows of dirty tables: library and checker score alike, or refuse", dirty_tables)]

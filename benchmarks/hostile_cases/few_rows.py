"""Tables of 1 to 100 distinct rows that stand for many cases, repeated and by weights."""

from __future__ import annotations

import random

import numpy as np
from test_few_rows import ESTIMATORS, check

from hostile_cases.case import Case, Result

GROUPS = 36  # of two or three distinct rows each
SIZES = 3  # of each estimator


def few_rows(seed: int) -> Result:
    """Every estimator gives one model for rows repeated and weighted, as good as group means."""
    result = Result()
    for name in ESTIMATORS:
        rng = random.Random(f"{name} {seed}")
        for groups in rng.sample(range(1, GROUPS + 1), SIZES):
            try:
                with np.errstate(all="ignore"):
                    check(name, groups)
                result.expect(True, "")
            except Exception as error:  # two models, a poor one, or a crash
                said = f"{type(error).__name__}: {str(error).strip()[:200]}"
                result.expect(False, f"{name}, {groups} groups: {said}")
    return result


CASES = [Case("few distinct rows of 100,000 cases, by repetition and by weights", few_rows)]

"""A small made set, for tests of the evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]


def made(seed: int, n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    noise = rng.integers(0, 3, n).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * x + (z > 0)))).astype(int)
    return pd.DataFrame({"x": x.round(3), "z": z.round(3), "noise": noise, "target": y})

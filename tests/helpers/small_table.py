"""One small table of every kind of column, for tests that need nothing but pandas."""

import numpy as np
import pandas as pd


def mixed_table(n: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    """Return numbers, a category, a boolean and gaps with a label that depends on all of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n).round(),
            "region": rng.choice(["north", "south", "west"], n),
            "smoker": rng.random(n) < 0.3,
            "noise": rng.normal(size=n),
        }
    )
    score = 0.08 * (X["age"] - 50) + 1.2 * X["smoker"] + (X["region"] == "west") - 0.5
    y = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no"))
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "region"] = None
    return X, y

"""A table of three classes, and a model that is fitted on it at a fixed penalty."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from rpte import RPTEClassifier
from rpte.model.classes import ClassesModel

LABELS = ("iris", "lily", "rose")


@cache
def flowers(n: int = 240) -> tuple[pd.DataFrame, pd.Series]:
    """Return flowers with gaps in a number and a category, and their kinds."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "height": rng.normal(40.0, 10.0, n).round(1),
            "width": rng.normal(5.0, 1.5, n).round(2),
            "colour": rng.choice(["red", "white", "blue"], n),
            "soil": rng.choice(["dry", "wet"], n),
        }
    )
    scores = np.column_stack(
        [
            0.12 * (X.height - 40.0) - 1.0 * (X.colour == "red"),
            0.9 * (X.width - 5.0) + 0.8 * (X.soil == "wet"),
            -0.1 * (X.height - 40.0) + 1.5 * (X.colour == "red"),
        ]
    )
    y = pd.Series(np.array(LABELS)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)])
    X.loc[rng.random(n) < 0.06, "width"] = np.nan
    X.loc[rng.random(n) < 0.05, "colour"] = None
    return X, y


@cache
def flower_model() -> ClassesModel:
    """Return a model of the three kinds."""
    model = RPTEClassifier(l1=0.02).fit(*flowers()).model_
    assert isinstance(model, ClassesModel)
    return model

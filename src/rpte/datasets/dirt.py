"""What happens to tables in life: gaps, other spellings, rows that were entered twice."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rpte.datasets.draws import Random
from rpte.utils.arrays import Floats, Index


def empty_cells(X: pd.DataFrame, name: str, share: float | Floats, random: Random) -> None:
    """Empty cells of a column; `share` is how likely that is, for all rows or for each."""
    X[name] = X[name].mask(random.random(len(X)) < share)


def code_cells(X: pd.DataFrame, name: str, code: int, share: float, random: Random) -> None:
    """Put a code in the place of some cells of a column of whole numbers."""
    X[name] = X[name].mask(random.random(len(X)) < share, code)


def respell(X: pd.DataFrame, name: str, share: float, random: Random) -> None:
    """Spell some cells of a text differently: in the other case, capitalised, or with a blank."""
    drawn = random.random(len(X)) / share
    cells = [
        _spellings(cell)[int(3 * u)] if u < 1 and isinstance(cell, str) else cell
        for u, cell in zip(drawn, X[name], strict=True)
    ]
    X[name] = pd.Series(cells, index=X.index, dtype=X[name].dtype)


def _spellings(text: str) -> tuple[str, str, str]:
    return text.swapcase(), text.capitalize(), f"{text} "


def entered_twice(n: int, share: float, random: Random) -> Index:
    """Return for each row which one stands there: itself, or the one above once more, (n,)."""
    own = np.arange(n)
    return np.maximum.accumulate(np.where(random.random(n) < share, 0, own))

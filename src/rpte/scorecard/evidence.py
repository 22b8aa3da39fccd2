"""Weight of evidence and information value of the lines of a card, from counts of labelled rows.

Of a line with g rows of the class that points speak for and b of the other, of G and B in all, the
weight of evidence is WoE = ln((g / G) / (b / B)): like the points, it is high where the favoured
class is frequent. Its part of the information value is IV = (g / G - b / B) WoE; that of a table is
the sum over its lines. Where one count of a line is 0, half a row is added to both.
"""

from dataclasses import dataclass

import numpy as np

from rpte.utils.arrays import Floats, Index

FEW = 5  # rows; under "safe" a line with fewer keeps its counts to itself
HALF = 0.5
Counts = tuple[float, float]  # rows of the favoured class, and of the other


@dataclass(frozen=True, slots=True)
class Evidence:
    """What labelled rows say of a line."""

    rows: float
    favoured: float
    against: float
    rate: float | None  # share of the other class
    woe: float | None
    iv: float | None  # None where no row is in the line


def line_counts(places: Index, lines: int, favoured: Floats, weight: Floats) -> list[Counts]:
    """Return the counts of each line, from the line of each row and its class (1.0: favoured)."""
    sides = (weight * favoured, weight * (1.0 - favoured))
    good, bad = (np.round(np.bincount(places, side, lines), 9).tolist() for side in sides)
    return list(zip(good, bad, strict=True))


def hidden(counts: list[Counts], profile: str) -> list[Counts | None]:
    """Return counts as the profile of the model allows: "safe" hides lines of fewer than 5 rows."""
    if profile == "full":
        return list(counts)
    return [each if sum(each) >= FEW or not sum(each) else None for each in counts]


def evidence_of(counts: Counts, totals: Counts) -> Evidence:
    """Return what the counts of a line say beside those of all rows.

    Examples
    --------
    >>> found = evidence_of((60.0, 10.0), (90.0, 30.0))
    >>> round(found.woe, 4), round(found.iv, 4)
    (0.6931, 0.231)
    """
    good, bad = counts
    rows = good + bad
    if not rows:
        return Evidence(0.0, 0.0, 0.0, None, None, None)
    more = 0.0 if good and bad else HALF
    share, other = (good + more) / totals[0], (bad + more) / totals[1]
    woe = float(np.log(share / other))
    return Evidence(rows, good, bad, bad / rows, woe, (share - other) * woe)

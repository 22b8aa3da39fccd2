"""The card: base points and tables whose points add up to a score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.model.model import Model, probability
from rpte.scorecard.tables import Points, Table, table_from_dict

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """How log odds become points.

    Parameters
    ----------
    pdo : float
        Points to double the odds.
    base_score, base_odds : float
        So many points stand for such odds, to 1.
    points_for : {"positive", "other"}
        The class whose odds they are: more points make it more likely.
    """

    pdo: float = 20.0
    base_score: float = 600.0
    base_odds: float = 50.0
    points_for: Literal["positive", "other"] = "positive"

    def __post_init__(self) -> None:
        rules = {
            "pdo": (_is_above_zero, "a number above 0: the points that double the odds"),
            "base_score": (_is_number, "a number: the points at the base odds"),
            "base_odds": (_is_above_zero, "a number above 0"),
            "points_for": (lambda v: v in ("positive", "other"), "'positive' or 'other'"),
        }
        for name, (holds, rule) in rules.items():
            if not holds(getattr(self, name)):
                raise InputError(f"{name}={getattr(self, name)!r}; it must be {rule}")

    @property
    def factor(self) -> float:
        """Points for one unit of the log odds of the positive class."""
        size = self.pdo / math.log(2)
        return size if self.points_for == "positive" else -size

    @property
    def offset(self) -> float:
        """Points at even odds."""
        return self.base_score - abs(self.factor) * math.log(self.base_odds)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_above_zero(value: Any) -> bool:
    return _is_number(value) and bool(value > 0)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the card."""

    table: int  # from 1; 0 for the base points
    characteristic: str  # the variable or variables of the table
    attribute: str  # when the line applies
    points: int


@dataclass(frozen=True, slots=True)
class Scorecard:
    """Whole points that add up to a score; a model of its own, near the one that it was made of.

    Parameters
    ----------
    model : Model
        What the card was made of; it reads tables.
    scale : Scale
    base : int
        Points of every row.
    tables : tuple of tables
        In each of them one line applies to a row.
    rows : int or None
        How many rows the bins were made from; None if from what the model file tells.
    bound : float
        Points by which the card differs from the model at most, over the values that the bins were
        made from.
    """

    model: Model
    scale: Scale
    base: int
    tables: tuple[Table, ...]
    rows: int | None
    bound: float

    def points(self, X: Any) -> Points:
        """Return the score of each row in points, shape (n_rows,)."""
        inputs = self.model.read(X)
        total = np.full(inputs.n_rows, self.base, np.int64)
        for table in self.tables:
            points = np.array([points for _, points in table.lines(self.model.schema)])
            total = total + points[table.places(inputs)]
        return total

    def log_odds(self, points: Any) -> Floats:
        """Return the log odds of the positive class that some points stand for."""
        return np.asarray((np.asarray(points) - self.scale.offset) / self.scale.factor)

    def probability(self, X: Any) -> Floats:
        """Return the probability of the positive class of each row, shape (n_rows,)."""
        return probability(self.log_odds(self.points(X)))

    def lines(self) -> Iterator[Line]:
        """Yield every line, the base points first."""
        yield Line(0, "base points", "every case", self.base)
        for number, table in enumerate(self.tables, 1):
            for attribute, points in table.lines(self.model.schema):
                yield Line(number, table.title, attribute, points)

    @property
    def range(self) -> tuple[int, int]:
        """The fewest and the most points that lines can add up to."""
        low = self.base + sum(int(table.points.min()) for table in self.tables)
        return low, self.base + sum(int(table.points.max()) for table in self.tables)

    def __str__(self) -> str:
        from rpte.scorecard.view import card_text

        return card_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values, without the model."""
        return {
            "scale": asdict(self.scale),
            "base": self.base,
            "tables": [table.to_dict() for table in self.tables],
            "rows": self.rows,
            "bound": self.bound,
        }

    @classmethod
    def from_dict(cls, model: Model, record: Mapping[str, Any]) -> Scorecard:
        """Rebuild a card from `to_dict` and its model."""
        tables = tuple(table_from_dict(table) for table in record["tables"])
        scale = Scale(**record["scale"])
        return cls(model, scale, record["base"], tables, record["rows"], record["bound"])

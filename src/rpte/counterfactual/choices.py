"""The values that each variable may take instead of its own, and what they cost.

The file tells what is usual for a number: its training quantiles (and extremes, if the profile is
"full") and the thresholds and knots of the model. From these, unless the user says otherwise:

* spread: the distance of the quartiles; if that is 0 of the 5% and 95% quantiles, then of the
  range, then the unit of the penalty;
* step: as many decimals as the training quantiles and the row's own value have, but no more than
  centres are printed with (`short_centre`: about a hundredth of the spread); values are whole
  multiples of it;
* range: the ends of the equal parts of the training rows in the profile. Older files have none:
  then from the least to the largest of these numbers, and one step beyond a threshold. It never
  goes beyond limits outside of which no shape moves ("kept between 30 and 58"). The row's own value
  belongs to it. `Known.told` says whether the profile tells any number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from rpte.columns.kinds import Column, Level, Missing, OneSource, Value, goes_on
from rpte.columns.kinds import Scale as ScaleColumn
from rpte.counterfactual.actions import Actions
from rpte.counterfactual.answers import Scale
from rpte.errors import InputError
from rpte.model.grid import bends, centres, columns_on, jumps, profile_of
from rpte.model.model import Model
from rpte.table.column import MISSING, level_text
from rpte.table.inputs import Inputs
from rpte.table.schema import Variable
from rpte.utils.arrays import Array, Floats, Index, Int32s

MOST_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class Choices:
    """What a variable may be: position 0 is as it is, then numbers ascending, then levels."""

    variable: Variable
    values: Floats  # NaN where there is no number
    codes: Int32s  # of levels or special codes, `MISSING` where there is none
    costs: Floats
    numbers: int  # how many numbers follow position 0
    origin: float  # from where distances of numbers are counted
    scale: Scale  # what the size of a change is measured by

    def column(self, positions: Index) -> Array:
        """Return the typed cells at some positions."""
        return (self.codes if self.variable.kind == "category" else self.values)[positions]

    def frozen(self) -> Choices:
        """Return the variable as it is, without a choice."""
        first = self.values[:1], self.codes[:1], self.costs[:1]
        return Choices(self.variable, *first, 0, self.origin, self.scale)


@dataclass(frozen=True, slots=True)
class Known:
    """What the file, the row and the user tell of a number."""

    spread: float
    step: float
    low: float
    high: float
    median: float
    told: bool


def choices_of(model: Model, row: Inputs, name: str, actions: Actions) -> Choices:
    """Return the choices for one variable of a row."""
    variable = model.schema[name]
    value = math.nan if variable.kind == "category" else float(row[name][0])
    code = int(row.codes(name)[0]) if variable.levels or variable.kind == "category" else MISSING
    fixed = actions.keeps(name)
    # Another number counts for nothing where only its being there is asked for.
    read = [column for column, _ in columns_on(model.components, name)]
    idle = not math.isnan(value) and all(isinstance(column, (Level, Missing)) for column in read)
    as_it_is = fixed or variable.kind == "category" or idle
    scale = Scale(told=as_it_is)
    known = None if as_it_is else known_of(model, name, value, actions)
    if known is not None:
        scale = Scale(known.spread, known.step, known.low, known.high, known.told)
    origin = value if known is None or not math.isnan(value) else known.median
    numbers = np.zeros(0) if known is None else _numbers(known, value, actions.one_way.get(name))
    levels = np.array([] if fixed else _levels(variable, code, actions), np.int32)
    filled = 0.0 if not math.isnan(value) else 1.0
    sizes = filled + np.abs(numbers - origin) / (1.0 if known is None else known.spread)
    sizes = np.concatenate([sizes, np.ones(len(levels))])
    costs = actions.costs.get(name, 1.0) * (actions.per_change + sizes)
    return Choices(
        variable,
        np.concatenate([[value], numbers, np.full(len(levels), np.nan)]),
        np.concatenate([[code], np.full(len(numbers), MISSING), levels]).astype(np.int32),
        np.concatenate([[0.0], costs]),
        len(numbers),
        origin,
        scale,
    )


def _levels(variable: Variable, code: int, actions: Actions) -> list[int]:
    """Return the levels that a variable may become: no pooled one, which names no value."""
    if variable.kind == "number" and variable.name not in tuple(actions.codes):
        return []
    named = variable.levels[:-1] if variable.pooled else variable.levels
    allowed = actions.allowed.get(variable.name) if variable.kind == "category" else None
    if variable.numeric and allowed is not None:
        allowed = [level_text(level) for level in allowed]
    way = actions.one_way.get(variable.name) if variable.numeric and code >= 0 else None
    wrong = {"increase": range(code), "decrease": range(code, len(named))}
    return [
        number
        for number, level in enumerate(named)
        if number != code and (allowed is None or level in allowed)
        if way is None or number not in wrong[way]
    ]


def _numbers(known: Known, value: float, way: str | None) -> Floats:
    """Return the multiples of the step inside the range, without the row's own value."""
    low = max(known.low, value) if way == "increase" and value == value else known.low
    high = min(known.high, value) if way == "decrease" and value == value else known.high
    first, last = (_multiple(end, known.step) for end in (low, high))
    counts = np.arange(math.ceil(first), math.floor(last) + 1, dtype=np.float64)
    # Multiples of the step as the nearest floats of its decimals, which print short.
    exact = Fraction(Decimal(repr(known.step)))
    numbers = counts * float(exact.numerator) / float(exact.denominator) + 0.0
    inside = (numbers >= low) & (numbers <= high) & (numbers != value)
    return np.asarray(numbers[inside])


def _multiple(value: float, step: float) -> float:
    """Return value / step; a whole number where rounding alone keeps it from being one."""
    ratio = value / step
    return float(round(ratio)) if abs(ratio - round(ratio)) < 1e-9 else ratio


def known_of(model: Model, name: str, value: float, actions: Actions) -> Known | None:
    """Return spread, step, range and median of a number; None if no other value is known."""
    profile = profile_of(model, name)
    quantiles = [q for q in profile.get("quantiles") or () if q is not None]
    parts = profile.get("equal_parts") or []
    quantiles += parts or profile.get("extremes") or ()
    named: list[float] = []  # thresholds and knots, which lie inside the training range
    read = list(columns_on(model.components, name))
    for column, threshold in read:
        named += jumps(column, threshold)
        floored = isinstance(column, ScaleColumn) and column.formula in ("log", "sqrt")
        if not (floored and goes_on(column)):  # a floor alone is below the range
            named += bends(column)
    own = [] if math.isnan(value) else [value]
    ends = [*quantiles, *named, *own, *(x for c in model.components for x in centres(c, name))]
    allowed = actions.allowed.get(name, ())
    spread = actions.spreads.get(name) or _spread(model, name, profile, [*ends, *allowed])
    if spread is None or not (ends or allowed):
        return None
    step = actions.steps.get(name) or _step(spread, [*quantiles, *own])
    around = [end for number in named for end in _around(number, step)]
    ends = [*parts, *own] if parts else [*ends, *around]
    low, high = allowed or _moving(read, (min(ends), max(ends)), own, step)
    while (high - low) / step > MOST_VALUES:
        if name in actions.steps:
            raise InputError(
                f"actions.steps[{name!r}] is {step:g}: more than {MOST_VALUES} values from "
                f"{low:g} to {high:g}; give a larger step or a smaller range"
            )
        step = float(f"{10 * step:.0e}")
    middle = (profile.get("quantiles") or [None] * 5)[2]
    median = (low + high) / 2 if middle is None else middle
    return Known(spread, step, low, high, median, bool(quantiles) or name in actions.allowed)


def _around(number: float, step: float) -> tuple[float, float]:
    """Return the multiples of the step next to a number, below and above it."""
    ratio = _multiple(number, step)
    return math.ceil(ratio) * step - step, math.floor(ratio) * step + step


def _moving(
    read: Iterable[tuple[Column, float | None]],
    ends: tuple[float, float],
    own: list[float],
    step: float,
) -> tuple[float, float]:
    """Return the part of a range outside of which another number changes no column that is read."""
    found = [inside for column, test in read for inside in _moves(column, test, step)]
    if not found:
        return ends
    low, high = max(ends[0], min(a for a, _ in found)), min(ends[1], max(b for _, b in found))
    return min([low, *own]), max([high, *own])


def _moves(column: Column, threshold: float | None, step: float) -> Iterator[tuple[float, float]]:
    """Yield where a one-source column, or a test on it, changes with its number.

    At a threshold, and between limits with no multiple of the step, from one multiple to the next.
    """
    at = list(jumps(column, threshold))
    yield from (_around(number, step) for number in at)
    if at or isinstance(column, (Level, Missing)):
        return
    low, high = column.limits if isinstance(column, OneSource) else (-math.inf, math.inf)
    between = math.isfinite(low) and math.isfinite(high)
    if between and math.ceil(_multiple(low, step)) > math.floor(_multiple(high, step)):
        low, high = _around(low, step)[0], _around(high, step)[1]
    yield low, high


def _spread(model: Model, name: str, profile: Mapping[str, Any], ends: list[float]) -> float | None:
    q = profile.get("quantiles") or [None] * 5
    for high, low in ((q[3], q[1]), (q[4], q[0])):
        if high is not None and low is not None and high > low:
            return float(f"{high - low:.12g}")
    if ends and max(ends) > min(ends):
        return float(f"{max(ends) - min(ends):.12g}")
    slopes = (t for c in model.components for t in c.direct if t.column == Value(name))
    return next((float(f"{term.scale:.3g}") for term in slopes), None)


def _step(spread: float, values: list[float]) -> float:
    printed = math.floor(math.log10(spread)) - 2
    exponents = [int(Decimal(repr(v)).normalize().as_tuple().exponent) for v in values]
    places = max(printed, min((e for e in exponents if e < 0), default=0)) if values else printed
    return float(f"1e{places}")

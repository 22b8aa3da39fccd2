"""What a direct term adds over a typical step, as people compare terms.

A coefficient is per unit of its column, and a unit may be a cent or a year. A typical step is one
interquartile range of the column over the training rows: the difference of its values at the two
quartiles of its variable, which the profile in the model file tells (a number, a hinge, a log, a
square root and a clipped number all rise or fall with their variable).

Where that is 0 or not known, the step is one standard deviation of the column, which every file
has: of products, sums, differences and distances, of numbers that count where a condition holds, of
a hinge whose knot lies beyond the quartiles, and where the profile hides the quartiles or is not
there. Steps are rounded to two digits, and what is said of a step is said of the rounded one. The
step of a log is told as a factor of its variable: twice as much. Every other step says which way it
goes: each 11 less of a variable that counts below a number, each 11 more of any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rpte.columns.kinds import Column, Hinge, Pair, Scale, Value
from rpte.losses import Loss
from rpte.model.parts import INVERSES, DirectTerm, Leaf
from rpte.table.decimals import number_text

if TYPE_CHECKING:
    from rpte.model.model import Model

IQR, SD = "interquartile range", "standard deviation"
UNITS = {
    "log": " of the log",
    "sqrt": " of the root",
    "distance": " of the distance",
    "absolute difference": " of the distance",
}  # that are not those of the variable; of a pair else its operation
UNKNOWN = (None,) * 5  # quantiles
NO_PROFILE = {"quantiles": UNKNOWN}
WHAT_STEP = "one interquartile range in training, else one standard deviation"
STEPS_NOTE = (
    f"numbers: coefficients are per unit; after the colon, what a typical step does ({WHAT_STEP})"
)
RATIOS_NOTE = f"numbers: hazard ratios are of a typical step, after the colon ({WHAT_STEP})"
LARGEST_FACTOR = math.log(1e6)  # of a variable whose log is told by a factor


@dataclass(frozen=True, slots=True)
class TypicalStep:
    """A step of a direct term that is a number, and what it does.

    Parameters
    ----------
    size : float
        In units of the term's column.
    measure : str
        What the size is: "interquartile range" or "standard deviation".
    words : str
        The size and its direction as people read it: ``for each 14 more``, ``for each 11 less`` of
        what counts below a number, or ``for 2 times as much`` of a log.
    effect : float
        What the step adds to the score: coefficient times size.
    """

    size: float
    measure: str
    words: str
    effect: float

    @property
    def added(self) -> str:
        """What the step adds to the score, in words: ``+0.5988 for each 14 more``."""
        return f"{self.effect:+.4g} {self.words}"

    def text(self, loss: Loss) -> str:
        """Return what the step does as people compare it: ``odds ratio 1.82 for each 14 more``."""
        if loss.link == "identity":
            return self.added
        return f"{loss.effect_name} {loss.effect(self.effect):.4g} {self.words}"


def typical_step(term: Leaf | DirectTerm, data: Mapping[str, Any]) -> TypicalStep | None:
    """Return the typical step of a term, from the fingerprint `data` of the training table.

    None for what holds or does not: it has no size.
    """
    if isinstance(term, Leaf) or term.column.binary:
        return None
    found, measure = _size(term, data)
    size, words = _worded(term.column, found)
    return TypicalStep(size, measure, words, term.coefficient * size)


def step_text(term: Leaf | DirectTerm, data: Mapping[str, Any], loss: Loss) -> str:
    """Return what a step of a term does, to stand behind its text; empty if it has none."""
    step = typical_step(term, data)
    return "" if step is None else f": {step.text(loss)}"


def steps_text(terms: Sequence[Leaf | DirectTerm], data: Mapping[str, Any]) -> str:
    """Return what a step of a term adds to the score of each class, to stand behind its text."""
    steps = [step for term in terms if (step := typical_step(term, data)) is not None]
    added = ", ".join(f"{step.effect:+.4g}" if step.effect else "0" for step in steps)
    return f": {added} {steps[0].words}" if steps else ""


def step_words(model: Model) -> dict[str, str]:
    """Return how the typical step of each number of a model is told, by the name of its term."""
    steps = {term.name: typical_step(term, model.data) for term in model.direct}
    return {name: step.words for name, step in steps.items() if step is not None}


def step_number(step: float | None) -> float:
    """Return a step as a table of numbers has it: NaN where there is none."""
    return math.nan if step is None else step


def per_step(coefficients: Iterable[float], step: float | None) -> tuple[float, ...]:
    """Return what a step of a term with several coefficients adds to each score."""
    return tuple(size * (1.0 if step is None else step) for size in coefficients)


def _size(term: DirectTerm, data: Mapping[str, Any]) -> tuple[float, str]:
    """Return how far a typical step goes, and what that is."""
    column = term.column
    if isinstance(column, Value | Hinge | Scale):
        own = (each for each in data.get("profile") or () if each["name"] == column.source)
        _, low, _, high, _ = next(own, NO_PROFILE)["quantiles"] or UNKNOWN
        size = 0.0 if low is None or high is None else _movement(column, low, high)
        if 0.0 < size < math.inf:
            return size, IQR
    return term.scale, SD


def _worded(column: Column, size: float) -> tuple[float, str]:
    """Return a step, rounded, and how it is told."""
    if isinstance(column, Scale) and column.formula == "log" and size < LARGEST_FACTOR:
        factor = float(f"{math.exp(size):.2g}")
        if factor > 1.0:
            return math.log(factor), f"for {number_text(factor)} times as much"
    rounded = float(f"{size:.1e}")
    size = rounded if math.isfinite(rounded) else size
    return size, f"for each {number_text(size)} {_direction(column)}"


def unit_words(column: Column) -> str:
    """Return what a coefficient is of: a unit more, or a unit less."""
    return "per unit less" if _direction(column).startswith("less") else "per unit"


def _direction(column: Column) -> str:
    """Return which way a step of a column goes: more or less of its variable, or of a formula."""
    if isinstance(column, Pair) and column.conditional:
        return _direction(column.right if column.left.binary else column.left)
    if isinstance(column, Pair):
        return "more" + UNITS.get(column.operation, f" of the {column.operation}")
    below = isinstance(column, Hinge) and column.side == "below"
    return ("less" if below else "more") + UNITS.get(getattr(column, "formula", ""), "")


def _movement(column: Value | Hinge | Scale, low: float, high: float) -> float:
    """Return how far a column moves between two numbers, 0 if it both rises and falls."""
    if isinstance(column, Value):
        return high - low
    if isinstance(column, Hinge):
        sign = 1.0 if column.side == "above" else -1.0
        reach = column.limits[1] - column.limits[0]
        ends = [min(max(0.0, sign * (x - column.knot)), reach) for x in (low, high)]
        return abs(ends[1] - ends[0])
    if column.formula == "distance":
        return 0.0
    floor, *top = column.numbers
    ends = [min(max(x, floor), *top) if top else max(x, floor) for x in (low, high)]
    formula = INVERSES[column.formula][1] if column.formula in INVERSES else float
    return formula(ends[1]) - formula(ends[0])

"""From a row and a target to several ways of reaching it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from rpte.counterfactual.actions import Actions
from rpte.counterfactual.answers import (
    Answer,
    Change,
    Changeable,
    Counterfactuals,
    Scale,
    total_cost,
)
from rpte.counterfactual.boxes import Grid
from rpte.counterfactual.choices import choices_of
from rpte.counterfactual.solve import Solution, solve
from rpte.errors import InputError
from rpte.model.explain import case_flags, cell_values
from rpte.model.horizon import survival_target
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.target import Target
from rpte.model.what_if import one_row, with_cells
from rpte.table.inputs import Inputs
from rpte.table.numbers import named, per_row
from rpte.utils.arrays import Floats, Index

MARGIN = 1e-9  # of the score beyond the target, so that rounding cannot undo an answer
EVEN = 0.5  # the probability that is meant where none is given


def counterfactuals(
    model: Model,
    X: Any,
    to: float | None = None,
    *,
    side: str | None = None,
    actions: Actions | None = None,
    most: int = 3,
    answers: int = 3,
    exposure: Any = None,
    offset: Any = None,
    horizon: float | None = None,
    strata: Any = None,
) -> Counterfactuals:
    """Find the cheapest changes of a row that bring its probability, or its mean, to a target.

    Parameters
    ----------
    model : Model
    X : table of one row
    to : float
        Probability of the positive class to reach, 0.5 if None. Of a number the mean to reach, in
        units of y, which has to be given; of a time until an event the survival until the horizon,
        or without one the hazard relative to the baseline.
    side : {"below", "above"}, optional
        Whether to end at or below it, or at or above; by default on the other side than the row.
    actions : Actions, optional
        What may be changed, and what it costs.
    most : int
        Variables that may change.
    answers : int
        How many answers to look for. Each leaves at least one variable of every earlier answer as
        it is.
    exposure, offset : float or name of a column of `X`, optional
        Of a number, as in `Model.predict`: `to` is the mean for so much exposure, with this
        offset; for one unit and none if None. Neither is changed.
    horizon : float, optional
        Of a time until an event: when survival shall be `to`.
    strata : array of one, or name of a column of `X`, optional
        The stratum of the row, whose baseline survival is told with.

    Notes
    -----
    An answer is at least 1e-9 beyond the target in the score (of squared error, in units of the
    spread of y) and has been scored again by the model. Costs are compared to 1e-9.
    """
    model = model if horizon is None else model.at_horizon(horizon)
    to = _reachable(model, to)
    if side not in (None, "below", "above"):
        raise InputError(f"side={side!r}; it must be 'below' or 'above'")
    check_counts(most, answers)
    row = one_row(model, X)
    actions = (actions or Actions()).checked(model.schema)
    numbers = one_number("exposure", X, exposure), one_number("offset", X, offset)
    case = Case(row, *numbers, one_stratum(model, named(X, strata)))
    now = case.response(model, model.score(row))
    if side is None:
        side = "below" if now >= to else "above"
    return Question(model, case, to, side, actions, most).told(answers)


def check_counts(most: int, answers: int) -> None:
    """Refuse numbers of changes and of answers that are none."""
    for name, value in (("most", most), ("answers", answers)):
        if not isinstance(value, int) or value < 1:
            raise InputError(f"{name}={value!r}; it must be a whole number, 1 or more")


def _reachable(model: Model, to: float | None) -> float:
    """Return the probability or mean to reach; refuse what no score stands for."""
    target = model.target
    if to is None and isinstance(target, Target):
        return EVEN
    if to is None:
        raise InputError(f"to is not given; say which {target.response_text} is to be reached")
    if not target.is_response(to):
        raise InputError(f"to={to!r}; it must be {target.response_range}")
    return float(to)


def one_number(role: str, X: Any, given: Any) -> float | None:
    """Return the exposure or offset of one row: a number, a list of one, or a column's name."""
    return None if given is None else float(per_row(named(X, given), 1, role)[0])


def one_stratum(model: Model, given: Any) -> Label | None:
    """Return the stratum of one row, None if none is given."""
    if given is None:
        return None
    return survival_target(model.target, "strata").labels_of(given, 1)[0]


@dataclass(frozen=True, slots=True)
class Case:
    """A row, with its exposure, offset and stratum if it has any."""

    row: Inputs
    exposure: float | None = None
    offset: float | None = None
    stratum: Label | None = None

    def response(self, model: Model, score: Floats) -> float:
        """Return what a score of this case stands for."""
        return float(model.target.mean(score, self.exposure, self.offset, self.stratum)[0])


def in_order(found: Sequence[Answer]) -> list[Answer]:
    """Sort answers by cost; of equal cost by the number of changes, then by their names.

    The bound of an answer holds for what leaves a variable of every answer found before as it is.
    Where one of these now follows, its bound has to hold as well.
    """

    def key(number: int) -> tuple[float, int, list[str]]:
        return found[number].cost, len(found[number].changes), sorted(found[number].variables)

    order = sorted(range(len(found)), key=key)
    bounds = [min(found[n].bound for n in order[i:] if n <= own) for i, own in enumerate(order)]
    return [replace(found[n], bound=bound) for n, bound in zip(order, bounds, strict=True)]


class Asked(ABC):
    """One row and what may be changed in it; what is to be reached is said by `solve`."""

    def __init__(self, model: Model, row: Inputs, actions: Actions, most: int) -> None:
        self.model, self.row, self.actions, self.most = model, row, actions, most
        self.choices = {name: choices_of(model, row, name, actions) for name in model.sources}

    @abstractmethod
    def solve(self, fixed: frozenset[str], below: float = math.inf) -> Solution:
        """Solve with some more variables left as they are."""

    @abstractmethod
    def answer(self, solution: Solution) -> Answer:
        """Score the changed row by the model; refuse an answer that does not hold."""

    def answered(self, count: int) -> tuple[list[Answer], Solution]:
        """Look for answers, each the cheapest that is not an earlier one with more changes.

        The solution is that of the first.
        """
        first = self.solve(frozenset())
        found: list[Answer] = []
        solution = first
        while solution.positions is not None:
            answer = self.answer(solution)
            # The search takes any of several equally cheap answers. One that changes only some of
            # the variables of an equally cheap one takes its place, with a bound for both.
            larger = [
                other
                for other in found
                if answer.variables < other.variables and answer.cost <= other.cost
            ]
            bound = min([answer.bound, *(other.bound for other in larger)])
            place = min(map(found.index, larger), default=len(found))
            found.insert(place, replace(answer, bound=bound))
            found = [other for other in found if other not in larger]
            if len(found) == count or not answer.changes:
                break
            solution = self._another(found)
        return in_order(found), first

    def _another(self, found: Sequence[Answer]) -> Solution:
        """Return the cheapest solution that leaves one variable of every answer as it is."""
        changed = [[change.variable for change in answer.changes] for answer in found]
        tried = sorted({frozenset(kept) for kept in product(*changed)}, key=sorted)
        smallest = [kept for kept in tried if not any(other < kept for other in tried)]
        best, bound = Solution(None, math.inf, math.inf, 0.0), math.inf
        for kept in smallest:
            solution = self.solve(kept, best.cost)
            bound = min(bound, solution.bound)
            best = best if solution.positions is None else solution
        return replace(best, bound=min(bound, best.cost))

    def cells(self, positions: Sequence[Index]) -> tuple[dict[str, float | str], dict[str, float]]:
        """Return the cells that change and what each costs."""
        cells: dict[str, float | str] = {}
        costs: dict[str, float] = {}
        for component, chosen in zip(self.model.components, positions, strict=True):
            for name, position in zip(component.sources, chosen.tolist(), strict=True):
                if position > 0:
                    choices = self.choices[name]
                    value, code = float(choices.values[position]), int(choices.codes[position])
                    cells[name] = value if code < 0 else choices.variable.levels[code]
                    costs[name] = float(choices.costs[position])
        return cells, costs

    def changes(
        self, solution: Solution, fresh: Inputs
    ) -> tuple[tuple[Change, ...], tuple[str, ...]]:
        """Return the changes, the dearest first, and what training did not have of them."""
        costs = self.cells(solution.positions or ())[1]
        changes = tuple(
            Change(name, cell_values(self.row, name)[0], cell_values(fresh, name)[0], costs[name])
            for name in sorted(costs, key=lambda name: (-costs[name], name))
        )
        before, after = (case_flags(self.model, row)[0] for row in (self.row, fresh))
        return changes, tuple(flag for flag in after if flag not in before)

    @property
    def scales(self) -> dict[str, Scale]:
        """What a change of each variable is measured by."""
        return {name: choices.scale for name, choices in self.choices.items()}

    def changeable(self) -> Changeable:
        """Return what may change, stated or assumed."""
        actions, names = self.actions, tuple(self.choices)
        by_name = tuple(name for name in names if actions.keeps_by_name(name))
        kept = tuple(name for name in names if name in tuple(actions.keep))
        free = tuple(name for name in names if not actions.keeps(name))
        return Changeable(free, kept, by_name, bool((*actions.keep, *actions.may_change)))


class Question(Asked):
    """One row, one target, and what may be changed."""

    def __init__(
        self, model: Model, case: Case, to: float, side: str, actions: Actions, most: int
    ) -> None:
        super().__init__(model, case.row, actions, most)
        self.case, self.to, self.side = case, to, side
        self.sign = 1 if (side == "above") != model.target.falls else -1
        given = case.exposure, case.offset, case.stratum
        self.target = model.target.score_for(to, *given)
        self.unit = model.target.factor  # of the score
        self.score = float(model.score(self.row)[0])
        subtotals = [abs(float(c.subtotal(self.row)[0])) for c in model.components]
        self.margin = MARGIN * max(self.unit, abs(self.score), abs(self.target), *subtotals)

    @property
    def need(self) -> float:
        """How far the score has to move, in units; 0 or less if it need not."""
        distance = self.sign * (self.target - self.score)
        return (distance + self.margin if distance > 0 else distance) / self.unit

    def solve(self, fixed: frozenset[str], below: float = math.inf) -> Solution:
        """Solve with some more variables left as they are."""
        given = {n: c.frozen() if n in fixed else c for n, c in self.choices.items()}
        grids = [
            Grid(component, tuple(given[name] for name in component.sources), self.sign, self.unit)
            for component in self.model.components
        ]
        return solve(grids, self.need, self.most, below)

    def answer(self, solution: Solution) -> Answer:
        """Score the changed row by the model; refuse an answer that does not hold."""
        cells = self.cells(solution.positions or ())[0]
        fresh = with_cells(self.model, self.row, cells)
        score = float(self.model.score(fresh)[0])
        if self.sign * (score - self.target) < 0:
            raise ArithmeticError(
                f"rounding: the row with {cells} scores {score!r}, the target is "
                f"{self.target!r}; its contributions are too large to be added exactly"
            )
        changes, flags = self.changes(solution, fresh)
        model = self.model
        response = self.case.response(model, np.array([score]))
        cost = total_cost(changes)
        bound = min(solution.bound, cost)
        return Answer(changes, cost, bound, score, response, model.target, flags)

    def told(self, count: int) -> Counterfactuals:
        """Look for answers, and say all."""
        found, first = self.answered(count)
        best = self.score + self.sign * first.reach * self.unit
        return Counterfactuals(
            self.changeable(),
            self.model.target,
            self.score,
            self.case.response(self.model, np.array([self.score])),
            self.to,
            self.side,
            self.most,
            self.actions.per_change,
            tuple(found),
            self.case.response(self.model, np.array([best])),
            first.positions is None and first.bound == math.inf,
            self.scales,
            self.case.exposure,
            self.case.offset,
            self.case.stratum,
        )

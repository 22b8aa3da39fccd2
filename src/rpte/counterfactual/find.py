"""From a row and a target to several ways of reaching it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from rpte.counterfactual.actions import Actions
from rpte.counterfactual.answers import Answer, Change, Changeable, Counterfactuals
from rpte.counterfactual.boxes import Grid
from rpte.counterfactual.choices import choices_of
from rpte.counterfactual.solve import Solution, solve
from rpte.errors import InputError
from rpte.model.explain import cell_values, one_row, with_cells
from rpte.model.model import Model
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Index

MARGIN = 1e-9  # log odds beyond the target, so that rounding cannot undo an answer


def counterfactuals(
    model: Model,
    X: Any,
    to: float = 0.5,
    *,
    side: str | None = None,
    actions: Actions | None = None,
    most: int = 3,
    answers: int = 3,
) -> Counterfactuals:
    """Find the cheapest changes of a row that bring its probability to a target.

    Parameters
    ----------
    model : Model
    X : table of one row
    to : float
        Probability of the positive class to reach.
    side : {"below", "above"}, optional
        Whether to end at or below it, or at or above; by default on the other side than the row.
    actions : Actions, optional
        What may be changed, and what it costs.
    most : int
        Variables that may change.
    answers : int
        How many answers to look for. Each leaves at least one variable of every earlier answer as
        it is.

    Notes
    -----
    An answer is at least 1e-9 beyond the target in log odds and has been scored again by the model.
    Costs are compared to 1e-9.
    """
    if not 0 < to < 1:
        raise InputError(f"to={to!r}; it must be a probability between 0 and 1")
    if side not in (None, "below", "above"):
        raise InputError(f"side={side!r}; it must be 'below' or 'above'")
    for name, value in (("most", most), ("answers", answers)):
        if not isinstance(value, int) or value < 1:
            raise InputError(f"{name}={value!r}; it must be a whole number, 1 or more")
    row = one_row(model, X)
    actions = (actions or Actions()).checked(model.schema)
    if side is None:
        side = "below" if model.predict_proba(row)[0, model.positive] >= to else "above"
    return Question(model, row, to, side, actions, most).answered(answers)


class Question:
    """One row, one target, and what may be changed."""

    def __init__(
        self, model: Model, row: Inputs, to: float, side: str, actions: Actions, most: int
    ) -> None:
        self.model, self.row, self.to, self.side = model, row, to, side
        self.actions, self.most = actions, most
        self.sign = 1 if side == "above" else -1
        self.choices = {name: choices_of(model, row, name, actions) for name in model.sources}
        self.target = math.log(to) - math.log1p(-to)
        self.score = float(model.score(row)[0])
        subtotals = [abs(float(c.subtotal(row)[0])) for c in model.components]
        self.margin = MARGIN * max(1.0, abs(self.score), abs(self.target), *subtotals)

    @property
    def need(self) -> float:
        """How far the score has to move; 0 or less if it need not."""
        distance = self.sign * (self.target - self.score)
        return distance + self.margin if distance > 0 else distance

    def answered(self, count: int) -> Counterfactuals:
        """Look for answers, each the cheapest that is not an earlier one with more changes."""
        first = self.solve(frozenset())
        found: list[Answer] = []
        solution = first
        while solution.positions is not None:
            found.append(self._answer(solution))
            if len(found) == count or not found[-1].changes:
                break
            solution = self._another(found)
        return self._told(found, first)

    def solve(self, fixed: frozenset[str], below: float = math.inf) -> Solution:
        """Solve with some more variables left as they are."""
        given = {n: c.frozen() if n in fixed else c for n, c in self.choices.items()}
        grids = [
            Grid(component, tuple(given[name] for name in component.sources), self.sign)
            for component in self.model.components
        ]
        return solve(grids, self.need, self.most, below)

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

    def _answer(self, solution: Solution) -> Answer:
        """Score the changed row by the model; refuse an answer that does not hold."""
        cells, costs = self._cells(solution.positions or ())
        fresh = with_cells(self.model, self.row, cells)
        explanation = self.model.explain(fresh)[0]
        if self.sign * (explanation.score - self.target) < 0:
            raise ArithmeticError(
                f"rounding: the row with {cells} scores {explanation.score!r}, the target is "
                f"{self.target!r}; its contributions are too large to be added exactly"
            )
        changes = tuple(
            Change(name, cell_values(self.row, name)[0], cell_values(fresh, name)[0], costs[name])
            for name in sorted(cells, key=lambda name: (-costs[name], name))
        )
        score, probability = explanation.score, explanation.probability
        bound, before = min(solution.bound, solution.cost), self.model.explain(self.row)[0].flags
        flags = tuple(flag for flag in explanation.flags if flag not in before)
        return Answer(changes, solution.cost, bound, score, probability, flags)

    def _cells(self, positions: Sequence[Index]) -> tuple[dict[str, float | str], dict[str, float]]:
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

    def _told(self, found: list[Answer], first: Solution) -> Counterfactuals:
        best = self.score + self.sign * first.reach
        return Counterfactuals(
            self._changeable(),
            self.model.classes[self.model.positive],
            self.score,
            float(self.model.predict_proba(self.row)[0, self.model.positive]),
            self.to,
            self.side,
            self.most,
            self.actions.per_change,
            tuple(found),
            1.0 / (1.0 + math.exp(-np.clip(best, -700.0, 700.0))),
            first.positions is None and first.bound == math.inf,
            {name: choices.scale for name, choices in self.choices.items()},
        )

    def _changeable(self) -> Changeable:
        actions, names = self.actions, tuple(self.choices)
        by_name = tuple(name for name in names if actions.keeps_by_name(name))
        kept = tuple(name for name in names if name in tuple(actions.keep))
        free = tuple(name for name in names if not actions.keeps(name))
        return Changeable(free, kept, by_name, bool((*actions.keep, *actions.may_change)))

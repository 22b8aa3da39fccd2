"""The cheapest changes of a row after which a named class has the largest score of several.

The score of the class has to be above that of every other: one inequality for each. Those that an
answer does not meet by itself are taken up one after the other: an answer of some inequalities that
meets all of them is the cheapest of all, and what no answer of some can cost, none of all can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from rpte.counterfactual.actions import Actions
from rpte.counterfactual.answers import (
    Answer,
    AnswersText,
    Changeable,
    Scale,
    changed_variables,
    total_cost,
)
from rpte.counterfactual.boxes import Grid
from rpte.counterfactual.find import MARGIN, Asked, check_counts
from rpte.counterfactual.solve import Solution, solve
from rpte.errors import InputError
from rpte.model.class_target import PairTarget
from rpte.model.classes import ClassesModel
from rpte.model.labels import Label
from rpte.model.parts import Component, DirectTerm, Leaf
from rpte.model.what_if import one_row, with_cells
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats

T = TypeVar("T", Leaf, DirectTerm)


@dataclass(frozen=True, slots=True, repr=False)
class ClassAnswer(Answer):
    """Changes after which a class has the largest score, scored again by the model.

    `score` is how far its score is above the next one, `response` its probability among all.
    """

    next_class: Label = ""  # of the second largest score
    probabilities: Mapping[Label, float] | None = None

    @property
    def reached(self) -> str:
        """Say what the changed row has."""
        label = self.predicts.outcome
        return f"probability of {label!r} {self.response:.4f}, next {self.next_class!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        told = self.probabilities or {}
        more = {"next_class": self.next_class, "probabilities": list(told.values())}
        return {**Answer.to_dict(self), **more}


@dataclass(frozen=True, slots=True, repr=False)
class ClassCounterfactuals(AnswersText):
    """What would have to change in one row for it to be given another class."""

    changeable: Changeable  # stated or assumed
    to: Label  # the class that shall have the largest score
    predicted: Label  # the class of the row as it is
    probabilities: Mapping[Label, float]  # of the row as it is
    most: int  # variables that may change
    per_change: float  # what every change costs whatever its size
    answers: tuple[ClassAnswer, ...]  # the cheapest first
    impossible: bool  # it is proved that no allowed change reaches the class
    scales: dict[str, Scale]  # spread, step and range of each number that may change
    compared: tuple[Label, ...]  # the classes whose scores bounded the search

    @property
    def said(self) -> str:
        """What is predicted, and what shall be."""
        return (
            f"predicted is {self.predicted!r} (probability "
            f"{self.probabilities[self.predicted]:.4f}, of {self.to!r} "
            f"{self.probabilities[self.to]:.4f}); to be {self.to!r}"
        )

    @property
    def reason(self) -> str:
        """Why there is no answer; empty if there is one."""
        if self.answers:
            return ""
        if not self.changeable.may_change:
            return self.changeable.nothing
        if not self.impossible:
            return "no answer was found within the effort, none is ruled out"
        return (
            f"no allowed change of {changed_variables(self.most)} makes it {self.to!r} (numbers "
            "stay in the range recorded in the model file, unless you allow more)"
        )

    @property
    def question(self) -> str:
        """What is predicted, what shall be, and how much may change."""
        return f"{self.said}, changing {changed_variables(self.most)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values; probabilities in the order of the classes."""
        return {
            "changeable": self.changeable.to_dict(),
            "to": self.to,
            "predicted": self.predicted,
            "classes": list(self.probabilities),
            "probabilities": list(self.probabilities.values()),
            "most": self.most,
            "per_change": self.per_change,
            "answers": [answer.to_dict() for answer in self.answers],
            "impossible": self.impossible,
            "compared": list(self.compared),
            "scales": {name: asdict(scale) for name, scale in self.scales.items()},
            "reason": self.reason,
        }


def class_counterfactuals(
    model: ClassesModel,
    X: Any,
    to: Label | None = None,
    *,
    actions: Actions | None = None,
    most: int = 3,
    answers: int = 3,
) -> ClassCounterfactuals:
    """Find the cheapest changes of a row after which a class has the largest score.

    Parameters
    ----------
    model : ClassesModel
    X : table of one row
    to : class
        That shall be predicted.
    actions, most, answers
        As in `counterfactuals`.

    Notes
    -----
    The score of the class is at least 1e-9 above that of every other, and every answer has been
    predicted again by the model. Costs are compared to 1e-9.
    """
    if to is None:
        known = list(model.classes)
        raise InputError(f"to is not given; say which class is to be reached, one of {known}")
    model.target.place(to)
    check_counts(most, answers)
    row = one_row(model.outline, X)
    asked = (actions or Actions()).checked(model.schema)
    return ClassQuestion(model, row, to, asked, most).told(answers)


class ClassQuestion(Asked):
    """One row, one class, and what may be changed."""

    def __init__(
        self, model: ClassesModel, row: Inputs, to: Label, actions: Actions, most: int
    ) -> None:
        super().__init__(model.outline, row, actions, most)
        self.classes, self.to = model, to
        at = model.target.place(to)
        self.others = [k for k in range(len(model.classes)) if k != at]
        self.differences = {k: _difference(model, at, k) for k in self.others}
        score = model.score(row)[0]
        self.leads = score[at] - score  # over each class, (K,)
        sizes = [abs(float(c.subtotal(row)[0])) for each in model.by_class for c in each]
        self.margin = MARGIN * max(1.0, float(np.abs(score).max()), *sizes)
        self.is_there = int(np.argmax(score)) == at
        self.compared = [max(self.others, key=lambda k: score[k])]

    def told(self, count: int) -> ClassCounterfactuals:
        """Look for answers, and say all."""
        model, (found, first) = self.classes, self.answered(count)
        p = model.response(self.row)[0]
        return ClassCounterfactuals(
            self.changeable(),
            self.to,
            model.classes[int(np.argmax(model.score(self.row)[0]))],
            dict(zip(model.classes, p.tolist(), strict=True)),
            self.most,
            self.actions.per_change,
            tuple(each for each in found if isinstance(each, ClassAnswer)),
            first.positions is None and first.bound == math.inf,
            self.scales,
            tuple(model.classes[k] for k in sorted(self.compared)),
        )

    def solve(self, fixed: frozenset[str], below: float = math.inf) -> Solution:
        """Solve with some more variables left as they are."""
        given = {n: c.frozen() if n in fixed else c for n, c in self.choices.items()}
        while True:
            solution = solve(self._grids(given), self._need(), self.most, below)
            if solution.positions is None or self.is_there:
                return solution
            leads = self._leads(self._changed(solution))
            worst = min(self.others, key=lambda k: leads[k])
            if leads[worst] >= self.margin or worst in self.compared:
                return solution
            self.compared.append(worst)

    def _grids(self, given: Mapping[str, Any]) -> list[Grid]:
        grids = []
        for number, component in enumerate(self.model.components):
            choices = tuple(given[name] for name in component.sources)
            first, *more = (self.differences[k][number] for k in self.compared)
            grids.append(Grid(first, choices, 1, others=tuple(more)))
        return grids

    def _need(self) -> Floats | float:
        """Return how far each score compared has to be left behind."""
        short = (0.0 if self.is_there else self.margin) - self.leads[self.compared]
        return short if len(short) > 1 else float(short[0])

    def _leads(self, row: Inputs) -> Floats:
        """Return how far the score of the class is above that of each, (K,)."""
        score = self.classes.score(row)[0]
        return np.asarray(score[self.classes.target.place(self.to)] - score)

    def _changed(self, solution: Solution) -> Inputs:
        return with_cells(self.model, self.row, self.cells(solution.positions or ())[0])

    def answer(self, solution: Solution) -> Answer:
        """Predict the changed row by the model; refuse an answer that does not hold."""
        model, fresh = self.classes, self._changed(solution)
        label, leads = model.predict(fresh)[0], self._leads(fresh)
        if label != self.to:
            raise ArithmeticError(
                f"rounding: the changed row is given {label!r}, not {self.to!r}; its contributions "
                "are too large to be added exactly"
            )
        p = dict(zip(model.classes, model.response(fresh)[0].tolist(), strict=True))
        rival = model.classes[min(self.others, key=lambda k: leads[k])]
        target = PairTarget((rival, self.to), 1, 0.0)
        changes, flags = self.changes(solution, fresh)
        cost, lead = total_cost(changes), float(min(leads[self.others]))
        told = changes, cost, min(solution.bound, cost), lead, p[self.to], target, flags
        return ClassAnswer(*told, next_class=rival, probabilities=p)


def _difference(model: ClassesModel, a: int, b: int) -> tuple[Component, ...]:
    """Return the components of the difference of two scores, with all of their terms."""
    found = []
    for mine, its in zip(model.by_class[a], model.by_class[b], strict=True):
        direct = _differences(mine.direct, its.direct)
        trees = (
            replace(x, leaves=_differences(x.leaves, y.leaves))
            for x, y in zip(mine.trees, its.trees, strict=True)
        )
        found.append(replace(mine, trees=tuple(trees), direct=direct))
    return tuple(found)


def _differences(mine: tuple[T, ...], its: tuple[T, ...]) -> tuple[T, ...]:
    """Return terms with the differences of their coefficients."""
    pairs = zip(mine, its, strict=True)
    return tuple(replace(x, coefficient=x.coefficient - y.coefficient) for x, y in pairs)

"""What people read: the changes, what they cost, and how sure it is that none is cheaper."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rpte.counterfactual.search import TOLERANCE
from rpte.model.explain import probability_of, value_text
from rpte.model.labels import Label
from rpte.model.summary import counted
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, NumberTarget

Cell = float | str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One variable: its value, the value it would have to have, and what that costs."""

    variable: str
    old: Cell
    new: Cell
    cost: float

    def __str__(self) -> str:
        return f"{self.variable}: {value_text(self.old)} -> {value_text(self.new)}"


def total_cost(changes: Iterable[Change]) -> float:
    """Return what changes cost together; exactly rounded, so that their order is no matter."""
    return math.fsum(change.cost for change in changes)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """Changes that reach the target, scored again by the model."""

    changes: tuple[Change, ...]
    cost: float
    bound: float  # least cost of any answer that keeps a variable of each earlier one as it is
    score: float  # of the changed row, as is the response
    response: float  # the probability of the positive class, or the mean
    predicts: AnyTarget
    flags: tuple[str, ...] = ()  # what training did not have, as in an explanation

    @property
    def probability(self) -> float:
        """The response of a model of two classes; `InputError` for a number."""
        return probability_of(self.predicts, self.response)

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables that change."""
        return frozenset(change.variable for change in self.changes)

    @property
    def gap(self) -> float:
        """How much cheaper an answer could be at most."""
        return max(self.cost - self.bound, 0.0)

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no answer is cheaper."""
        return self.gap <= TOLERANCE

    @property
    def proof(self) -> str:
        """How sure it is that no answer is cheaper, in the model alone."""
        known = "proved cheapest" if self.optimal else f"none costs less than {self.bound:.4f}"
        return f"{known} in the model, not advice"

    def __str__(self) -> str:
        head = f"cost {self.cost:.4f} ({self.proof}), {self.reached}"
        return "\n".join([head, *(f"    {change}" for change in self.changes)])

    def __repr__(self) -> str:
        changes = ", ".join(map(str, self.changes))
        return f"{type(self).__name__}({changes}; cost {self.cost:.4g}, {self.reached})"

    def _repr_html_(self) -> str:
        from rpte.notebook.cases import answer_html

        return answer_html(self)

    @property
    def reached(self) -> str:
        """Say what the changed row has."""
        return f"{self.predicts.response_name} {self.predicts.shown(self.response)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        return {
            "changes": [asdict(change) for change in self.changes],
            "cost": self.cost,
            "bound": self.bound,
            "score": self.score,
            self.predicts.response_name: self.response,
            "flags": list(self.flags),
            "gap": self.gap,
            "optimal": self.optimal,
        }


@dataclass(frozen=True, slots=True)
class Scale:
    """What a change of one variable was measured by; None where it was not a number's."""

    spread: float | None = None
    step: float | None = None
    low: float | None = None
    high: float | None = None
    told: bool = True  # False where neither the file nor the user tells the range of a number


@dataclass(frozen=True, slots=True)
class Changeable:
    """Which of the variables that the model reads may change; each is in one of the three."""

    may_change: tuple[str, ...]
    kept: tuple[str, ...]
    kept_by_name: tuple[str, ...]  # the name says who a person is, or what has been
    stated: bool  # the user named a variable to keep or to change; if not, it is an assumption

    def sentences(self, keep: str = "keep", may_change: str = "may_change") -> tuple[str, ...]:
        """Say it, with the names of the two parameters where the user gives them."""
        kept = [f"Kept: {', '.join(self.kept)}."] if self.kept else []
        if self.kept_by_name:
            kept.append(f"Kept because of the name: {', '.join(self.kept_by_name)}.")
        free = ", ".join(self.may_change) or "nothing"
        first = f"May change: {free}." if self.stated else f"Assumed that these may change: {free}."
        remedy = [] if self.stated else [f"Change this with {keep} and {may_change}."]
        return (first, *kept, *remedy)

    @property
    def nothing(self) -> str:
        """Why nothing may change, where that is so."""
        read = self.kept or self.kept_by_name
        if not read:
            return "nothing may change: the model reads no variable"
        remedy = "name in may_change what this person can change" if self.kept_by_name else ""
        remedy = remedy or "take out of keep what this person can change"
        return f"nothing may change: every variable that the model reads is kept; {remedy}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {k: v if k == "stated" else list(v) for k, v in asdict(self).items()}


class AnswersText:
    """What was asked and found, in words: the same for a target and for a class."""

    __slots__ = ()
    changeable: Changeable
    answers: tuple[Any, ...]
    scales: dict[str, Scale]

    @property
    @abstractmethod
    def question(self) -> str:
        """What is predicted, what it is to be, and how much may change."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why there is no answer; empty if there is one."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.question}: {counted(len(self.answers), 'answer')})"

    def _repr_html_(self) -> str:
        from rpte.notebook.cases import counterfactuals_html

        return counterfactuals_html(self)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Numbers whose range neither the file nor the user tells."""
        return tuple(name for name, scale in self.scales.items() if not scale.told)

    def __str__(self) -> str:
        lines = [" ".join(self.changeable.sentences()), f"{self.question}:"]
        lines += [f"{i}. {answer}" for i, answer in enumerate(self.answers, 1)]
        notes = [self.reason] if self.reason else []
        if self.hidden:
            names = ", ".join(self.hidden)
            notes.append(f"the file does not tell the range of {names}: say it with `allowed`")
        return "\n".join([*lines, *notes])


@dataclass(frozen=True, slots=True, repr=False)
class Counterfactuals(AnswersText):
    """What would have to change in one row."""

    changeable: Changeable  # stated or assumed
    predicts: AnyTarget
    score: float  # of the row as it is, as is the response
    response: float  # the probability of the positive class, the mean, or survival
    target: float  # the response to reach
    side: str  # "below" or "above": the response shall be at most, or at least, the target
    most: int  # variables that may change
    per_change: float  # what every change costs whatever its size
    answers: tuple[Answer, ...]  # the cheapest first; at equal cost fewer changes, then names
    reachable: float  # the response nearest to the far side of the target that was found
    impossible: bool  # it is proved that no allowed change reaches the target
    scales: dict[str, Scale]  # spread, step and range of each number that may change
    exposure: float | None = None  # that means are for, where one was given
    offset: float | None = None
    stratum: Label | None = None  # whose baseline survival is told with

    @property
    def probability(self) -> float:
        """The response of a model of two classes; `InputError` for a number."""
        return probability_of(self.predicts, self.response)

    @property
    def positive(self) -> Any:
        """The label that probabilities are of, or the name of the number."""
        return self.predicts.outcome

    @property
    def wanted(self) -> str:
        """The side of the target and the target, in words."""
        return f"{'at most' if self.side == 'below' else 'at least'} {self.target:g}"

    @property
    def reason(self) -> str:
        """Why there is no answer; empty if there is one."""
        if self.answers:
            return ""
        if not self.changeable.may_change:
            return self.changeable.nothing
        extreme = "lowest" if self.side == "below" else "highest"
        shown = self.predicts.shown(self.reachable)
        found = f"the {extreme} {self.predicts.response_name} found is {shown}"
        if not self.impossible:
            return f"no answer was found within the effort, none is ruled out; {found}"
        return (
            f"no allowed change of {changed_variables(self.most)} reaches it; {found} (numbers "
            "stay in the range recorded in the model file, unless you allow more)"
        )

    @property
    def question(self) -> str:
        """What is predicted, what it is to be, and how much may change."""
        predicted = self.predicts.response_with(self.exposure, self.offset)
        shown = self.predicts.shown(self.response)
        changing = f"changing {changed_variables(self.most)}"
        return f"{predicted} is {shown}; to be {self.wanted}, {changing}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "changeable": self.changeable.to_dict(),
            **self._predicted(),
            "score": self.score,
            self.predicts.response_name: self.response,
            "target": self.target,
            "side": self.side,
            "most": self.most,
            "per_change": self.per_change,
            "answers": [answer.to_dict() for answer in self.answers],
            "reachable": self.reachable,
            "impossible": self.impossible,
            "scales": {name: asdict(scale) for name, scale in self.scales.items()},
            "reason": self.reason,
        }

    def _predicted(self) -> dict[str, Any]:
        """Return what is predicted, and for what."""
        if isinstance(self.predicts, NumberTarget):
            beside = {"exposure": self.exposure, "offset": self.offset}
            return {"predicts": self.positive, **beside}
        if isinstance(self.predicts, SurvivalTarget):
            horizon = getattr(self.predicts, "horizon", None)
            return {"event": self.positive, "horizon": horizon, "stratum": self.stratum}
        return {"positive": self.positive}


def changed_variables(most: int) -> str:
    """Say how many variables may change."""
    return "one variable" if most == 1 else f"at most {most} variables"

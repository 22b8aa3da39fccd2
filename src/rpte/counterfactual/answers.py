"""What people read: the changes, what they cost, and how sure it is that none is cheaper."""

from dataclasses import asdict, dataclass
from typing import Any

from rpte.counterfactual.search import TOLERANCE
from rpte.model.explain import value_text

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


@dataclass(frozen=True, slots=True)
class Answer:
    """Changes that reach the target, scored again by the model."""

    changes: tuple[Change, ...]
    cost: float
    bound: float  # least cost of any answer that keeps a variable of each earlier one as it is
    score: float  # of the changed row, as is the probability
    probability: float
    flags: tuple[str, ...] = ()  # what training did not have, as in an explanation

    @property
    def gap(self) -> float:
        """How much cheaper an answer could be at most."""
        return max(self.cost - self.bound, 0.0)

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no answer is cheaper."""
        return self.gap <= TOLERANCE

    def __str__(self) -> str:
        proof = "proved cheapest" if self.optimal else f"none costs less than {self.bound:.4f}"
        head = f"cost {self.cost:.4f} ({proof}), probability {self.probability:.4f}"
        return "\n".join([head, *(f"    {change}" for change in self.changes)])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        changes = [asdict(change) for change in self.changes]
        lists = {"changes": changes, "flags": list(self.flags)}
        return {**asdict(self), **lists, "gap": self.gap, "optimal": self.optimal}


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
    kept_by_name: tuple[str, ...]  # the name says who a person is
    stated: bool  # the user named a variable to keep or to change; if not, it is an assumption

    def sentences(self, keep: str = "keep", may_change: str = "may_change") -> tuple[str, ...]:
        """Say it, with the names of the two parameters where the user gives them."""
        kept = [f"Kept: {', '.join(self.kept)}."] if self.kept else []
        if self.kept_by_name:
            kept.append(f"Kept because of the name: {', '.join(self.kept_by_name)}.")
        free = ", ".join(self.may_change) or "nothing"
        first = f"May change: {free}." if self.stated else f"Assumed that these may change: {free}."
        remedy = [] if self.stated else [f"State otherwise with {keep} and {may_change}."]
        return (first, *kept, *remedy)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {k: v if k == "stated" else list(v) for k, v in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Counterfactuals:
    """What would have to change in one row."""

    changeable: Changeable  # stated or assumed
    positive: Any  # the label that probabilities are of
    score: float  # of the row as it is, as is the probability
    probability: float
    target: float  # the probability to reach
    side: str  # "below" or "above": the probability shall be at most, or at least, the target
    most: int  # variables that may change
    per_change: float  # what every change costs whatever its size
    answers: tuple[Answer, ...]  # the cheapest first
    reachable: float  # the probability nearest to the far side of the target that was found
    impossible: bool  # it is proved that no allowed change reaches the target
    scales: dict[str, Scale]  # spread, step and range of each number that may change

    @property
    def reason(self) -> str:
        """Why there is no answer; empty if there is one."""
        if self.answers:
            return ""
        if not self.changeable.may_change:
            read = self.changeable.kept or self.changeable.kept_by_name
            why = "every variable that the model reads is kept" if read else "the model reads none"
            return f"nothing may change: {why}"
        extreme = "lowest" if self.side == "below" else "highest"
        found = f"the {extreme} probability found is {self.reachable:.4f}"
        if not self.impossible:
            return f"no answer was found within the effort, none is ruled out; {found}"
        return (
            f"no allowed change of {_variables(self.most)} reaches it; {found} (numbers stay in "
            "the range that the file tells of, unless you allow more)"
        )

    @property
    def hidden(self) -> tuple[str, ...]:
        """Numbers whose range neither the file nor the user tells."""
        return tuple(name for name, scale in self.scales.items() if not scale.told)

    def __str__(self) -> str:
        word = "at most" if self.side == "below" else "at least"
        lines = [
            " ".join(self.changeable.sentences()),
            f"probability of {self.positive!r} is {self.probability:.4f}; to be {word} "
            f"{self.target:g}, changing {_variables(self.most)}:",
        ]
        lines += [f"{i}. {answer}" for i, answer in enumerate(self.answers, 1)]
        notes = [self.reason] if self.reason else []
        if self.hidden:
            names = ", ".join(self.hidden)
            notes.append(f"the file does not tell the range of {names}: say it with `allowed`")
        return "\n".join([*lines, *notes])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        answers = [answer.to_dict() for answer in self.answers]
        record = {**asdict(self), "changeable": self.changeable.to_dict(), "answers": answers}
        return {**record, "reason": self.reason}


def _variables(most: int) -> str:
    return "one variable" if most == 1 else f"at most {most} variables"

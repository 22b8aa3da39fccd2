"""The claims of a model, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

if TYPE_CHECKING:
    import pandas as pd

MOST_FAULTS = 5
MONOTONE = "monotone: "  # begins the name of the check of a direction
NOT_CHECKED = "not checked"
HOLDS, FAILS = "holds", "fails"


@dataclass(frozen=True, slots=True)
class Check:
    """One claim: its name, whether it holds, and what was looked at.

    One named "not checked" lists in `claims` what was not looked at, and says what that needs.
    """

    name: str
    holds: bool
    evidence: str
    claims: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def result(self) -> str:
        """Whether it holds, fails or was not checked, in words."""
        if self.name == NOT_CHECKED:
            return NOT_CHECKED
        return HOLDS if self.holds else FAILS

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain JSON values."""
        return {"name": self.name, "holds": self.holds, "evidence": self.evidence}

    def _repr_html_(self) -> str:
        return Checks([self])._repr_html_()


class Checks(list[Check]):
    """The claims of a model as `verify` has checked them; a slice of them is one too.

    A notebook shows each with a tick or a cross, the evidence folded below.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> checks = RPTEClassifier(l1=0.1).fit(X, y).verify(X, y)
    >>> checks.holds
    True
    >>> checks.to_frame().columns.tolist()
    ['claim', 'result', 'evidence']
    """

    __slots__ = ()

    @overload
    def __getitem__(self, place: SupportsIndex) -> Check: ...
    @overload
    def __getitem__(self, place: slice) -> Checks: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Check | Checks:
        """Return one check, or some of them as a list of the same kind."""
        found = super().__getitem__(place)
        return Checks(found) if isinstance(found, list) else found

    @property
    def holds(self) -> bool:
        """Whether no claim fails; those that were not checked do not count."""
        return all(check.holds for check in self)

    @property
    def headline(self) -> str:
        """How many claims hold, fail and were not checked, in words."""
        results = [check.result for check in self]
        held, failed = results.count(HOLDS), results.count(FAILS)
        left = sum(max(len(c.claims), 1) for c in self if c.result == NOT_CHECKED)
        claims = "1 claim holds" if held == 1 else f"{held} claims hold"
        return f"{claims}, {failed} {'fails' if failed == 1 else 'fail'}, {left} not checked"

    def __repr__(self) -> str:
        return f"Checks: {self.headline}"

    def __str__(self) -> str:
        lines = [f"{check.result:12}{check.name}: {check.evidence}" for check in self]
        return "\n".join([self.headline, *lines])

    def _repr_html_(self) -> str:
        from rpte.notebook.checks import checks_html

        return checks_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each claim: whether it holds, fails or was not checked, and why."""
        import pandas as pd

        rows = [
            (claim, check.result, check.evidence)
            for check in self
            for claim in check.claims or (check.name,)
        ]
        return pd.DataFrame(rows, columns=["claim", "result", "evidence"])


def checked(name: str, faults: list[str], evidence: str) -> Check:
    """Return a check that holds if nothing is wrong; else the first faults are the evidence."""
    return Check(name, not faults, "; ".join(faults[:MOST_FAULTS]) or evidence)


def monotone_text(name: str, word: str, label: str | None = None) -> str:
    """Say a monotone direction, of one of several classes if there is a label."""
    return f"{word} in {name}" if label is None else f"'{label}' {word} in {name}"


def monotone_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return every monotone direction in words, with its variable."""
    texts: dict[str, str] = {}
    for name, said in settings["limits"]["monotone"].items():
        of_classes = {None: said} if isinstance(said, str) else said
        texts |= {monotone_text(name, word, label): name for label, word in of_classes.items()}
    return texts


def monotone_claims(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the checks of monotone directions, each with its variable."""
    return {f"{MONOTONE}{text}": name for text, name in monotone_texts(settings).items()}

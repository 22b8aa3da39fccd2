"""Why one of several classes and not another: the principal reasons of the difference of scores.

A case is given the class of the largest score. It is compared with the next one, or with a class
that the rule names; what speaks for the one given, of the two, is weighed as `reasons` weighs what
counts against a case of two classes. Of equal scores the class that stands first in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from rpte.audit.decisions.reasons import (
    LEAST,
    MOST,
    CaseReasons,
    Catalogue,
    Reason,
    Reference,
    reason_codes,
    reason_rule,
)
from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.given import classes_model
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats, Index
from rpte.utils.records import ShownFields


@dataclass(frozen=True, slots=True, repr=False)
class ClassReasonRule(ShownFields):
    """How reasons of several classes are found.

    Parameters
    ----------
    reference : {"mean", "best"}
        As in `reason_rule`, of the difference of two scores.
    against : class, optional
        That a case is compared with; the one of the second largest score if None, and for cases
        that are given this class.
    most, least
        As in `reason_rule`.

    Examples
    --------
    >>> import rpte
    >>> X = {"length": [1.0, 5.0, 9.0] * 12, "depth": [2.0, 3.0] * 18}
    >>> clf = rpte.RPTEClassifier(l1=0.02).fit(X, ["small", "middle", "large"] * 12)
    >>> rule = rpte.ClassReasonRule(against="small")
    >>> told = rpte.class_reasons(clf.model_, X, rule)[2]
    >>> told.chosen, told.against
    ('large', 'small')
    """

    threshold: ClassVar[None] = None  # no class counts against a case
    reference: Reference = "mean"
    against: Label | None = None
    most: int = MOST
    least: float = LEAST

    def checked(self, model: ClassesModel) -> ClassReasonRule:
        """Return the rule; refuse what does not go with a model."""
        if self.reference == "threshold":
            raise InputError(
                "reference='threshold' is for models of one score; of several classes it is 'mean' "
                "or 'best'"
            )
        if self.against is not None:
            model.target.place(self.against)
        reason_rule(
            model.between(*model.classes[:2]), self.reference, most=self.most, least=self.least
        )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ClassReasons:
    """Why a case is given one class and not another, the weightiest reason first."""

    chosen: Label
    against: Label
    reasons: tuple[Reason, ...]

    def _repr_html_(self) -> str:
        from rpte.notebook.results import class_reasons_html

        return class_reasons_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the reasons as plain JSON values."""
        return {
            "class": self.chosen,
            "against": self.against,
            "reasons": [asdict(reason) for reason in self.reasons],
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """Cases that are given one class and compared with another."""

    rows: Index
    chosen: Label
    against: Label
    pair: Model  # the log odds of the two


def compared(model: ClassesModel, score: Floats, against: Label | None) -> Iterator[Compared]:
    """Yield the cases of scores (n, K) by the class given and the one that it is compared with."""
    every = np.arange(len(score))
    chosen = score.argmax(axis=1)
    others = score.copy()
    others[every, chosen] = -np.inf
    next_one = others.argmax(axis=1)
    if against is not None:
        place = model.target.place(against)
        next_one = np.where(chosen == place, next_one, place)
    for a, b in sorted(set(zip(chosen.tolist(), next_one.tolist(), strict=True))):
        rows = np.flatnonzero((chosen == a) & (next_one == b))
        labels = model.classes[a], model.classes[b]
        yield Compared(rows, *labels, model.between(*labels))


def class_reasons(
    model: ClassesModel,
    X: Any,
    rule: ClassReasonRule | None = None,
    catalogue: Catalogue | None = None,
) -> CaseReasons[ClassReasons]:
    """Return the principal reasons of each row for its class and not another.

    Parameters
    ----------
    model : ClassesModel
    X : table of shape (n_rows, n_columns)
    rule : ClassReasonRule, optional
        If None, against the class of the second largest score, and the training mean.
    catalogue : Catalogue, optional
        Codes and sentences by variable; if None, the names of variables.

    Examples
    --------
    >>> import rpte
    >>> X = {"length": [1.0, 5.0, 9.0] * 12, "depth": [2.0, 3.0] * 18}
    >>> clf = rpte.RPTEClassifier(l1=0.02).fit(X, ["small", "middle", "large"] * 12)
    >>> told = rpte.class_reasons(clf.model_, X)[2]
    >>> told.chosen, told.against, [reason.source for reason in told.reasons]
    ('large', 'middle', ['length'])
    """
    model = classes_model(model, "class_reasons", "reason_codes")
    used, inputs = (rule or ClassReasonRule()).checked(model), model.read(X)
    found: dict[int, ClassReasons] = {}
    for some in compared(model, model.score(inputs), used.against):
        told = pair_reasons(some, inputs.take(some.rows), used, catalogue)
        for row, reasons in zip(some.rows.tolist(), told, strict=True):
            found[row] = ClassReasons(some.chosen, some.against, reasons)
    return CaseReasons(found[row] for row in range(inputs.n_rows))


def pair_reasons(
    some: Compared, inputs: Inputs, rule: ClassReasonRule, catalogue: Catalogue | None
) -> list[tuple[Reason, ...]]:
    """Return the reasons of cases for the class that they are given, of two."""
    asked: dict[str, Any] = {"adverse": some.chosen, "most": rule.most, "least": rule.least}
    of_two = reason_rule(some.pair, rule.reference, **asked)
    return reason_codes(some.pair, inputs, of_two, catalogue)

"""Principal reasons for a score, as US Regulation B (12 CFR 1002.9(b)(2)) understands them.

Of two classes one counts against a case, of a number a high mean or a low one, of a time until an
event a high hazard or a low one. Gaps are in units of the score: log odds, units of y, or
logarithms of the factors by which a mean or a hazard is larger.

The unit that adds up is the component: what it adds against a reference is its *gap*. A reason
names one variable. A component of one variable gives its whole gap to it; a component of several
shares its gap among them in proportion to what each could have improved alone, all others as they
are. The gaps are exact; the shares within a component are a stated convention.

Of several classes, reasons say why a case is given one class, that of the largest score (of equal
ones the first in the file), and not another: the next one, or one that the rule names. What speaks
for the one given, of the two, is weighed as what counts against a case of two classes.

What weighs less than a twentieth of the first reason is no principal one and is not told.
Ties: the component that stands first in the file, then the name of the variable. A variable that
the case does not have is a reason like any other, said with its sentence for missing values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from rpte.audit.decisions.catalogue import Catalogue, Reason
from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel
from rpte.model.given import scored_model
from rpte.model.grid import changed, grid, rows_of
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.model.versions import without
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs
from rpte.table.numbers import named
from rpte.utils.arrays import Floats, Index, Mask
from rpte.utils.records import ShownFields

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Reference = Literal["mean", "best", "threshold"]
REFERENCES = ("mean", "best", "threshold")
MOST, LEAST = 4, 0.05
NEAREST = 100  # passing cases next to the threshold whose mean is the reference
LARGEST_GRID = 200_000
OF_CLASSES = ("reference", "against", "most", "least")  # what a rule of several classes has


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


class CaseReasons(list[T]):
    """The principal reasons of some rows: of each a tuple, or `ClassReasons`."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = "1 row" if len(self) == 1 else f"{len(self)} rows"
        return f"CaseReasons of {rows}; to_frame() is a table of them"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import reasons_html

        return reasons_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each reason: row, rank from 1, and the fields of the reason."""
        import pandas as pd

        rows = [
            {"row": row, "rank": rank, **asdict(reason)}
            for row, told in enumerate(self)
            for rank, reason in enumerate(_told(told), 1)
        ]
        names = ["row", "rank", *Reason.__dataclass_fields__]
        return pd.DataFrame(rows, columns=names)


def _told(reasons: Any) -> tuple[Reason, ...]:
    return tuple(getattr(reasons, "reasons", reasons))


@dataclass(frozen=True, slots=True, repr=False)
class ReasonRule(ShownFields):
    """How reasons are found; made by `reason_rule`, which says what the parameters are.

    Parameters
    ----------
    adverse, reference, most, threshold, least, horizon, against
        As in `reason_rule`; `adverse` is None of several classes, where none counts against a case.
    values : mapping from component to float
        What each component adds to the score of the reference; empty of several classes.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> rule = rpte.reason_rule(model, adverse="lost", threshold=0.5)
    >>> rule.adverse, rule.reference, rule.threshold
    ('lost', 'mean', 0.5)
    """

    adverse: Label | None = None
    reference: Reference = "mean"
    values: Mapping[str, float] = field(default_factory=dict)
    most: int = MOST
    threshold: float | None = None
    least: float = LEAST
    horizon: float | None = None
    against: Label | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values; a horizon where it has one."""
        if self.adverse is None:
            return {name: getattr(self, name) for name in OF_CLASSES}
        found = {**without(asdict(self), "against"), "values": dict(self.values)}
        return found if self.horizon is not None else without(found, "horizon")

    def checked(self, model: AnyModel) -> ReasonRule:
        """Return the rule; refuse it where it is not for the number of scores of a model."""
        several = isinstance(model, ClassesModel)
        if several != (self.adverse is None):
            kind = "one score" if several else "several classes"
            raise InputError(
                f"the rule is for {kind}; give one that `reason_rule` makes of the model"
            )
        return _checked(model, self) if isinstance(model, ClassesModel) else self

    def asked(self, model: Model) -> Model:
        """Return a model with the response that the rule decides on: survival at its horizon."""
        return model if self.horizon is None else model.at_horizon(self.horizon)

    def sign(self, model: Model) -> float:
        """Return 1.0 if the score counts against the case, -1.0 if for it."""
        return 1.0 if self.adverse == model.target.sides[0] else -1.0

    def adverse_cases(self, model: Model, response: Floats) -> Mask:
        """Tell which cases, by their probabilities or means (n,), get reasons."""
        if self.threshold is None:
            return np.ones(len(response), bool)
        sign = self.sign(model)
        limit = model.target.limit(self.threshold, sign)
        return np.asarray(model.target.against(response, sign) >= limit)


def reason_rule(
    model: AnyModel,
    reference: Reference = "mean",
    *,
    adverse: Label | None = None,
    most: int = MOST,
    threshold: float | None = None,
    cases: Any = None,
    least: float = LEAST,
    exposure: Any = None,
    offset: Any = None,
    horizon: float | None = None,
    strata: Any = None,
    against: Label | None = None,
) -> ReasonRule:
    """Return how reasons are to be found.

    Parameters
    ----------
    model : Model or ClassesModel
        Of several classes there are `reference` ("mean" or "best", of the difference of two
        scores), `most`, `least` and `against`.
    reference : {"mean", "best", "threshold"}
        "mean": the training mean of each component, as stored in the file. "best": the least
        that a component can add against anybody (over `rpte.model.grid`). "threshold": the
        mean over the cases that pass next to the threshold.
    adverse : label, optional
        The class that counts against the case; the positive class if None. Of a number "high", as
        if None, or "low"; of a time until an event this is said of the hazard.
    most : int
        At most so many reasons; the commentary on Regulation B holds more than four unhelpful.
    threshold : float, optional
        Probability of the adverse class from which on the decision is adverse; of a number the
        mean, up to which it is where a low one is adverse. Of a time until an event the survival at
        the horizon up to which the decision is adverse (from which on, where a low hazard is), or
        without a horizon the hazard relative to the baseline.
    cases : table, optional
        Needed for "threshold": the 100 passing cases that lie nearest to it (all that lie as near
        as the last of them) make the reference.
    least : float
        What weighs less than this share of the first reason is left out; 0 tells everything.
    exposure, offset : per row of `cases`, or names of its columns, optional
        Numeric targets: the threshold is then for the means of the cases with these.
    horizon : float, optional
        Of a time until an event: when survival is asked for.
    strata : per row of `cases`, or the name of a column, optional
        Where the model has several baselines.
    against : class, optional
        Of several classes, the one that a case is compared with; that of the second largest score
        if None, and for cases that are given this class.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> rule = rpte.reason_rule(model, "best", adverse="lost", most=2)
    >>> [[told.source for told in case] for case in rpte.reason_codes(model, X, rule)[:4]]
    [[], [], ['debt'], ['debt']]
    """
    model = scored_model(model, "reason_rule")
    if isinstance(model, ClassesModel):
        given = {"adverse": adverse, "threshold": threshold, "cases": cases, "horizon": horizon}
        given |= {"exposure": exposure, "offset": offset, "strata": strata}
        _refuse_of_classes([name for name, value in given.items() if value is not None])
        return _checked(model, rule_of_classes(reference, against, most, least))
    if against is not None:
        raise InputError("against is for models of several classes; this one has one score")
    assert isinstance(model, Model)
    model = model if horizon is None else model.at_horizon(horizon)
    label = _side(model, adverse)
    if reference not in REFERENCES:
        raise InputError(f"reference={reference!r}; it must be one of {list(REFERENCES)}")
    if most < 1:
        raise InputError(f"most={most!r}; at least one reason has to be told")
    if threshold is not None and not model.target.is_response(threshold):
        raise InputError(f"threshold={threshold!r}; it is {model.target.response_range}")
    if not 0.0 <= least <= 1.0:
        raise InputError(f"least={least!r}; it is a share of the first reason, from 0 to 1")
    time = None if horizon is None else float(horizon)
    rule = ReasonRule(label, reference, {}, most, threshold, least, time)
    if reference == "threshold":
        beside = exposure, offset, strata
        return replace(rule, values=_next_to_threshold(model, rule, cases, *beside))
    stored, sign = model.training["mean_contributions"], rule.sign(model)
    if reference == "best":
        return replace(rule, values={c.name: _best(model, c, sign) for c in model.components})
    means = {c.name: math.fsum(stored[part.name] for part in c.parts) for c in model.components}
    return replace(rule, values=means)


def _refuse_of_classes(given: list[str]) -> None:
    """Refuse what rules of several classes do not have."""
    if given:
        raise InputError(
            f"{given[0]} is for models of one score; of several classes reasons say why the one "
            "predicted and not the next, or not `against`"
        )


def rule_of_classes(
    reference: Reference = "mean",
    against: Label | None = None,
    most: int = MOST,
    least: float = LEAST,
) -> ReasonRule:
    """Return a rule of several classes, not yet checked; it was called `ClassReasonRule`."""
    return ReasonRule(reference=reference, most=most, least=least, against=against)


def _checked(model: ClassesModel, rule: ReasonRule) -> ReasonRule:
    """Return a rule of several classes; refuse what does not go with the model."""
    if rule.reference == "threshold":
        raise InputError(
            "reference='threshold' is for models of one score; of several classes it is 'mean' "
            "or 'best'"
        )
    if rule.against is not None:
        model.target.place(rule.against)
    reason_rule(model.between(*model.classes[:2]), rule.reference, most=rule.most, least=rule.least)
    return rule


def _side(model: Model, adverse: Label | None) -> Label:
    """Return what counts against a case, as the target calls it."""
    sides = model.target.sides
    wanted = sides[0] if adverse is None else adverse
    label = next((side for side in sides if wanted == side or str(wanted) == str(side)), None)
    if label is None:
        of = "a hazard" if isinstance(model.target, SurvivalTarget) else "a number"
        known = f"of {of} it is one of {list(sides)}"
        if isinstance(model.target, Target):
            known = f"the model's classes are {list(model.classes)}"
        raise InputError(f"adverse={adverse!r}; {known}")
    return label


def reason_codes(
    model: AnyModel,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    exposure: Any = None,
    offset: Any = None,
    strata: Any = None,
) -> CaseReasons[Any]:
    """Return the principal reasons of each row, the weightiest first.

    Of each row a tuple of `Reason`. Of several classes they are `ClassReasons`: its class, the one
    that it is compared with, and the reasons for the first and not the other.

    Parameters
    ----------
    model : Model or ClassesModel
    X : table of shape (n_rows, n_columns)
    rule : ReasonRule, optional
        From `reason_rule`; if None, against the training mean, the positive class (of a number a
        high mean) adverse; of several classes also against the class of the second largest score.
    catalogue : Catalogue, optional
        Codes and sentences by variable; if None, the names of variables.
    exposure, offset : per row, or names of columns of `X`, optional
        Of a number, as in `Model.predict`. They decide, with a threshold, which cases get reasons;
        they are no variables of the model, and so no reasons themselves.
    strata : per row, or the name of a column of `X`, optional
        Of a time until an event, where the model has several baselines; as exposure and offset.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10, "age": [30.0, 50.0] * 20}
    >>> clf = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10)
    >>> rule = rpte.reason_rule(clf.model_, adverse="lost")
    >>> [reason.source for reason in rpte.reason_codes(clf.model_, X, rule)[3]]
    ['debt']
    >>> X = {"length": [1.0, 5.0, 9.0] * 12, "depth": [2.0, 3.0] * 18}
    >>> clf = rpte.RPTEClassifier(l1=0.02).fit(X, ["small", "middle", "large"] * 12)
    >>> told = rpte.reason_codes(clf.model_, X)[2]
    >>> told.chosen, told.against, [reason.source for reason in told.reasons]
    ('large', 'middle', ['length'])
    """
    model = scored_model(model, "reason_codes")
    rule = reason_rule(model) if rule is None else rule.checked(model)
    catalogue, inputs = catalogue or Catalogue(), model.read(X)
    beside = {"exposure": exposure, "offset": offset, "strata": strata}
    if isinstance(model, ClassesModel):
        _refuse_of_classes([name for name, value in beside.items() if value is not None])
        return _reasons_of_classes(model, inputs, rule, catalogue)
    given = [named(X, each) for each in beside.values()]
    return _reasons(rule.asked(model), inputs, rule, catalogue, given)


def _reasons(
    model: Model, inputs: Inputs, rule: ReasonRule, catalogue: Catalogue, beside: list[Any]
) -> CaseReasons[tuple[Reason, ...]]:
    """Return the reasons of each row, of a model of one score."""
    response = model.target.mean(model.score(inputs), *beside)
    adverse = rule.adverse_cases(model, response)
    weighed = [_weighed(model, component, inputs, rule) for component in model.components]
    missing = {source: inputs.is_missing(source) for source in model.sources}
    found: CaseReasons[tuple[Reason, ...]] = CaseReasons()
    for row in range(inputs.n_rows):
        every = (reason for reasons in weighed for reason in reasons(row)) if adverse[row] else ()
        ranked = sorted(every, key=lambda reason: -reason.weight)
        told = [r for r in ranked[: rule.most] if r.weight >= rule.least * ranked[0].weight]
        gone = {source for source, rows in missing.items() if rows[row]}
        found.append(tuple(catalogue.said(reason, gone) for reason in told))
    return found


def _reasons_of_classes(
    model: ClassesModel, inputs: Inputs, rule: ReasonRule, catalogue: Catalogue
) -> CaseReasons[ClassReasons]:
    found: dict[int, ClassReasons] = {}
    for some in compared(model, model.score(inputs), rule.against):
        told = pair_reasons(some, inputs.take(some.rows), rule, catalogue)
        for row, reasons in zip(some.rows.tolist(), told, strict=True):
            found[row] = ClassReasons(some.chosen, some.against, reasons)
    return CaseReasons(found[row] for row in range(inputs.n_rows))


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


def pair_reasons(
    some: Compared, inputs: Inputs, rule: ReasonRule, catalogue: Catalogue
) -> CaseReasons[tuple[Reason, ...]]:
    """Return the reasons of cases for the class that they are given, of two."""
    asked: dict[str, Any] = {"adverse": some.chosen, "most": rule.most, "least": rule.least}
    of_two = reason_rule(some.pair, rule.reference, **asked)
    return _reasons(some.pair, inputs, of_two, catalogue, [])


def _weighed(
    model: Model, component: Component, inputs: Inputs, rule: ReasonRule
) -> Callable[[int], list[Reason]]:
    """Return what gives the reasons of a component for a row, by weight, then by name."""
    sign, subtotal = rule.sign(model), component.subtotal(inputs)
    gaps = sign * (subtotal - rule.values[component.name])
    table = {source: np.ones(inputs.n_rows) for source in component.sources}
    for source in component.sources if len(component.sources) > 1 else ():
        table[source] = _gain(model, component, inputs, source, sign * subtotal, sign)

    def reasons(row: int) -> list[Reason]:
        gap = float(gaps[row])
        if not gap > 0.0:
            return []
        gains = {source: float(gain[row]) for source, gain in table.items()}
        total = reduce(add, gains.values(), 0.0)  # left to right, so that SQL finds the same
        if not total > 0.0:  # no variable could improve it alone: all of them together
            gains, total = dict.fromkeys(gains, 1.0), float(len(gains))
        told = [
            Reason(source, component.name, "", "", gap * (gain / total), gap)
            for source, gain in gains.items()
            if gain > 0.0
        ]
        return sorted(told, key=lambda reason: -reason.weight)

    return reasons


def _gain(
    model: Model, component: Component, inputs: Inputs, source: str, now: Floats, sign: float
) -> Floats:
    best = now
    for value in grid(model, component, source):
        other = changed(inputs, source, np.full(inputs.n_rows, value))
        best = np.minimum(best, sign * component.subtotal(other))
    return now - best


def _best(model: Model, component: Component, sign: float) -> float:
    """Return what a component adds at best: over its grid, or part by part if that is too large."""
    grids = {source: grid(model, component, source) for source in component.sources}
    if np.prod([float(len(values)) for values in grids.values()]) <= LARGEST_GRID:
        return sign * float((sign * component.subtotal(_cases(model, grids))).min())
    total = 0.0
    for part in component.parts:
        if isinstance(part, DirectTerm):
            own = {source: grids[source] for source in part.sources}
            values = part.contribution(_cases(model, own))
        else:
            values = np.array([leaf.coefficient for leaf in part.leaves])
        total += sign * float((sign * values).min())
    return total


def _cases(model: Model, grids: Mapping[str, Any]) -> Inputs:
    variables = [model.schema[source] for source in grids]
    table = np.array(list(product(*grids.values())), np.float64)
    kinds = [np.float64 if variable.kind == "number" else np.int32 for variable in variables]
    columns = [cells.astype(kind) for cells, kind in zip(table.T, kinds, strict=True)]
    return rows_of(variables, columns, [np.full(len(table), MISSING, np.int32)] * len(variables))


def _next_to_threshold(
    model: Model, rule: ReasonRule, cases: Any, *beside: Any
) -> dict[str, float]:
    if rule.threshold is None or cases is None:
        raise InputError(
            "reference='threshold' compares with the cases that pass next to the threshold; give "
            "the threshold and a table of cases"
        )
    inputs = model.read(cases)
    response = model.target.mean(model.score(inputs), *(named(cases, each) for each in beside))
    against = model.target.against(response, rule.sign(model))
    passing = np.flatnonzero(~rule.adverse_cases(model, response))
    if not len(passing):
        turned = model.target.limit(1.0, rule.sign(model)) < 0.0
        way = "lower" if turned else "raise"
        raise InputError(
            f"no case of the table passes the threshold {rule.threshold}; {way} it, or use the "
            "reference 'mean'"
        )
    nearest = np.sort(against[passing])[::-1][:NEAREST][-1]
    near = inputs.take(passing[against[passing] >= nearest])
    return {c.name: float(np.mean(c.subtotal(near))) for c in model.components}

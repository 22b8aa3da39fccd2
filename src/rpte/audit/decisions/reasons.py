"""Principal reasons for a score, as US Regulation B (12 CFR 1002.9(b)(2)) understands them.

Of two classes one counts against a case, of a number a high mean or a low one, of a time until an
event a high hazard or a low one. Gaps are in units of the score: log odds, units of y, or
logarithms of the factors by which a mean or a hazard is larger.

The unit that adds up is the component: what it adds against a reference is its *gap*. A reason
names one variable. A component of one variable gives its whole gap to it; a component of several
shares its gap among them in proportion to what each could have improved alone, all others as they
are. The gaps are exact; the shares within a component are a stated convention.

What weighs less than a twentieth of the first reason is no principal one and is not told.
Ties: the component that stands first in the file, then the name of the variable. A variable that
the case does not have is a reason like any other, said with its sentence for missing values.

A user's catalogue, a TOML file, gives the code and the sentence that a variable is told with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import product
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from rpte.errors import InputError, did_you_mean
from rpte.model.file import AnyModel
from rpte.model.given import model_of, one_score_model
from rpte.model.grid import changed, grid, rows_of
from rpte.model.model import Label, Model
from rpte.model.parts import Component, DirectTerm
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.model.versions import without
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs
from rpte.table.numbers import named
from rpte.utils.arrays import Floats, Mask
from rpte.utils.records import ShownFields
from rpte.utils.toml import quoted, read_toml

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Reference = Literal["mean", "best", "threshold"]
REFERENCES = ("mean", "best", "threshold")
MOST, LEAST = 4, 0.05
NEAREST = 100  # passing cases next to the threshold whose mean is the reference
LARGEST_GRID = 200_000
ENTRY_KEYS = ("code", "sentence", "missing")
TEMPLATE_HEAD = """\
# What a person is told when a variable is among the principal reasons.
# code: any short code. sentence: said when the variable weighs against the case.
# missing: said instead when the case has no value for it.
"""


@dataclass(frozen=True, slots=True, repr=False)
class Reason(ShownFields):
    """One principal reason; code and sentence are from the catalogue."""

    source: str  # the variable that the reason names
    component: str
    code: str
    sentence: str
    weight: float  # the variable's share of the gap, in units of the score, against the case
    gap: float  # what the whole component adds against the case, compared with the reference


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
class Catalogue(ShownFields):
    """Codes and sentences by variable.

    Parameters
    ----------
    entries : mapping from variable to {"code", "sentence", "missing"}
        A variable that is not here is said by its name.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> catalogue = rpte.Catalogue({"debt": {"code": "R1", "sentence": "Your debts are high"}})
    >>> rule = rpte.reason_rule(model, adverse="lost")
    >>> [(told.code, told.sentence) for told in rpte.reason_codes(model, X, rule, catalogue)[3]]
    [('R1', 'Your debts are high')]
    """

    entries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def said(self, reason: Reason, missing: Collection[str]) -> Reason:
        """Return a reason with its code and sentence."""
        entry = self.entries.get(reason.source, {})
        gone = reason.source in missing
        sentence = entry.get("missing" if gone else "sentence", "")
        plain = f"{reason.source} is missing" if gone else reason.source
        return replace(reason, code=entry.get("code", ""), sentence=sentence or plain)


@dataclass(frozen=True, slots=True, repr=False)
class ReasonRule(ShownFields):
    """How reasons are found; made by `reason_rule`, which says what the parameters are.

    Parameters
    ----------
    adverse, reference, most, threshold, least, horizon
        As in `reason_rule`.
    values : mapping from component to float
        What each component adds to the score of the reference.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> rule = rpte.reason_rule(model, adverse="lost", threshold=0.5)
    >>> rule.adverse, rule.reference, rule.threshold
    ('lost', 'mean', 0.5)
    """

    adverse: Label
    reference: Reference
    values: Mapping[str, float]
    most: int = MOST
    threshold: float | None = None
    least: float = LEAST
    horizon: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values; a horizon where it has one."""
        found = {**asdict(self), "values": dict(self.values)}
        return found if self.horizon is not None else without(found, "horizon")

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
    model: Model,
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
) -> ReasonRule:
    """Return how reasons are to be found.

    Parameters
    ----------
    model : Model
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

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> rule = rpte.reason_rule(model, "best", adverse="lost", most=2)
    >>> [[told.source for told in case] for case in rpte.reason_codes(model, X, rule)[:4]]
    [[], [], ['debt'], ['debt']]
    """
    model = one_score_model(model, "reason_rule", "class_reasons")
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
    model: Model,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    exposure: Any = None,
    offset: Any = None,
    strata: Any = None,
) -> CaseReasons[tuple[Reason, ...]]:
    """Return the principal reasons of each row, the weightiest first.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    rule : ReasonRule, optional
        From `reason_rule`; if None, against the training mean, the positive class (of a number a
        high mean) adverse.
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
    """
    model = one_score_model(model, "reason_codes", "class_reasons")
    rule = rule or reason_rule(model)
    catalogue = catalogue or Catalogue()
    model = rule.asked(model)
    inputs = model.read(X)
    beside = [named(X, each) for each in (exposure, offset, strata)]
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


def read_variables(model: AnyModel) -> list[str]:
    """Return the variables that a model reads, in the order of its schema."""
    read = set(model.sources)
    return [name for name in model.schema.names if name in read]


def read_catalogue(path: str | Path, model: AnyModel | None = None) -> Catalogue:
    """Read a catalogue; with a model, refuse variables that it does not know.

    Parameters
    ----------
    path : str or Path
        TOML: one table per variable under ``[reasons]``, such as
        ``[reasons.age]`` with ``code``, ``sentence`` and ``missing``.
    model : Model, optional

    Examples
    --------
    >>> import rpte, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reasons.toml"
    ...     _ = path.write_text('reasons.debt = {code = "R1", sentence = "Debts are high"}')
    ...     catalogue = rpte.read_catalogue(path)
    >>> catalogue.entries["debt"]["code"]
    'R1'
    """
    known = None if model is None else model_of(model, "read_catalogue").schema.names
    document = read_toml(path)
    entries = document.get("reasons")
    if not isinstance(entries, dict) or set(document) != {"reasons"}:
        raise InputError(
            f"{path} must hold [reasons] and nothing else; see rpte reasons --template"
        )
    for name, entry in entries.items():
        if not isinstance(entry, dict) or not set(entry) <= set(ENTRY_KEYS):
            raise InputError(
                f"{path}: [reasons.{name}] may hold {list(ENTRY_KEYS)} and nothing else"
            )
        for key, text in entry.items():
            if not isinstance(text, str):
                raise InputError(f"{path}: reasons.{name}.{key} is {text!r}; it must be text")
        if known is not None and name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"{path}: '{name}' is no variable of the model{hint}; rename it")
    return Catalogue(entries)


def catalogue_template(model: AnyModel) -> str:
    """Return a catalogue of the variables that a model reads, to be filled in."""
    lines = [TEMPLATE_HEAD]
    for number, name in enumerate(read_variables(model), 1):
        texts = f"R{number:02d}", name, f"{name} is missing"
        lines.append(f"[reasons.{quoted(name)}]")
        lines += [f"{key} = {quoted(text)}" for key, text in zip(ENTRY_KEYS, texts, strict=True)]
        lines.append("")
    return "\n".join(lines) + "\n"

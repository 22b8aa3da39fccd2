"""One prediction taken apart: contributions in the order in which they are summed.

`what_if` changes values of a row and shows which contributions move, and that no other does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError, did_you_mean
from rpte.model.horizon import NO_SURVIVAL, Survival, survivals
from rpte.model.parts import Component, DirectTerm, TreeTerms, path_text
from rpte.model.summary import counted
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, Target
from rpte.table.column import MISSING, UNSEEN, as_number, as_number_or_special
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.numbers import named, per_row
from rpte.table.schema import Variable
from rpte.table.spelling import read_levels
from rpte.utils.arrays import Mask

if TYPE_CHECKING:
    from rpte.model.model import Model


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one term (such as ``T1.L2`` or ``D3``) adds to the score of one row.

    Under ``reference="mean"`` the value is the difference from the training mean.
    """

    term: str
    text: str
    value: float


@dataclass(frozen=True, slots=True)
class ComponentContribution:
    """What one component adds: the left-to-right sum of its contributions."""

    component: str
    sources: tuple[str, ...]
    value: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The score of one row as a sum.

    Adding `intercept` and the components' values from left to right, each of them the left-to-right
    sum of its contributions, gives `score` to the last bit. `inputs` are the values of the
    variables that the model reads, None where missing. `flags` say what training did not have: a
    missing cell in a column that had none, a level that was rare or never seen. `response` is what
    the score stands for: the probability of the positive class, or the mean, for one unit of
    exposure and without an offset, or the hazard relative to the baseline. `predicted` is the mean
    for the `exposure` and the `offset` that were given, the response where none were. `survival`
    is that of a time until an event, until the horizons that were asked for.
    """

    intercept: float
    components: tuple[ComponentContribution, ...]
    score: float
    response: float
    target: AnyTarget
    inputs: Mapping[str, float | str | None]
    flags: tuple[str, ...] = ()
    reference: str | None = None
    exposure: float | None = None
    offset: float | None = None
    survival: Survival = NO_SURVIVAL

    def __str__(self) -> str:
        lines = [f"{self.intercept:+10.4f}  {self.start}{self._product(self.intercept)}"]
        running = self.intercept
        for component in self.components:
            running += component.value
            product = self._product(running, component.value)
            lines.append(f"{component.value:+10.4f}  {component.component}{product}")
            lines += [f"  {c.value:+10.4f}  {c.term}: {c.text}" for c in component.contributions]
            lines.append(f"{'':14}with {self.given(component.sources)}")
        lines.append(f"{self.score:+10.4f}  score: {self.target.said(self.response)}")
        lines += [f"{'':12}{text}" for text in self.said_for]
        lines += [f"{'':12}note: {flag}" for flag in self.flags]
        return "\n".join(lines)

    def _product(self, running: float, value: float | None = None) -> str:
        """Say, where contributions multiply a mean, by what, and the product so far."""
        if not self.target.multiplies:
            return ""
        effect = self.target.loss.effect
        times = "" if value is None else f"times {effect(value):.4g}, "
        return f"  ({times}{effect(running):.4g} so far)"

    @property
    def probability(self) -> float:
        """The probability of the positive class; `InputError` for a number."""
        return probability_of(self.target, self.response)

    @property
    def predicted(self) -> float:
        """The response for the exposure and the offset that were given."""
        if self.exposure is None and self.offset is None:
            return self.response
        return float(self.target.mean(np.array([self.score]), self.exposure, self.offset)[0])

    @property
    def said_for(self) -> tuple[str, ...]:
        """What is predicted for exposure and offset, or until horizons, in words; else empty."""
        given = self.exposure, self.offset
        if isinstance(self.target, SurvivalTarget):
            return tuple(f"{at}: {value:.4f}" for at, value in self.told_at)
        if isinstance(self.target, Target) or given == (None, None):
            return ()
        return (f"{self.target.response_with(*given)} is {self.target.shown(self.predicted)}",)

    @property
    def told_at(self) -> list[tuple[str, float]]:
        """Each horizon in words, such as "survival at 365 days", with the survival until then."""
        if not isinstance(self.target, SurvivalTarget):
            return []
        of = "" if self.survival.stratum is None else f" of the stratum {self.survival.stratum}"
        pairs = self.survival.pairs
        return [(f"survival at {self.target.when(time)}{of}", value) for time, value in pairs]

    @property
    def positive(self) -> Any:
        """The positive class, or the name of the number."""
        return self.target.outcome

    @property
    def start(self) -> str:
        """What the sum begins with."""
        return "intercept" if self.reference is None else "mean score in training"

    def _repr_html_(self) -> str:
        from rpte.report.notebook import explanation_html

        return explanation_html(self)

    def given(self, sources: tuple[str, ...]) -> str:
        """Say the row's values of some variables."""
        return ", ".join(f"{name} = {value_text(self.inputs[name])}" for name in sources)


def probability_of(target: AnyTarget, response: float) -> float:
    """Return a response that is a probability; `InputError` for a number."""
    if isinstance(target, Target):
        return response
    raise InputError(f"the model predicts no class: its {target.response_text} is `response`")


def value_text(value: float | str | None) -> str:
    """Say one cell."""
    if value is None:
        return "missing"
    return value if isinstance(value, str) else number_text(value)


def explain(
    model: Model,
    X: Any,
    reference: str | None = None,
    exposure: Any = None,
    offset: Any = None,
    horizons: Any = None,
    strata: Any = None,
) -> list[Explanation]:
    """Take the score of each row apart.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    reference : {None, "mean"}
        None: the definition of the score. "mean": contributions against their training mean, a
        view for people.
    exposure, offset : (n_rows,) or numbers, optional
        What the mean of each row is told for, beside that for one unit of exposure.
    horizons : number or array, optional
        Of a time until an event: when survival is told.
    strata : (n_rows,) or one for all, optional
        Whose baseline survival is told with, of a model that has several.
    """
    if reference not in (None, "mean"):
        raise InputError(f"reference={reference!r}; it must be None or 'mean'")
    inputs = model.read(X)
    score = model.score(inputs)
    response = model.target.mean(score, strata=strata)
    survival = survivals(model.target, score, horizons, strata)
    model.target.mean(score, exposure, offset)  # refuses what is no exposure, or no offset
    exposures = _per_row(exposure, "exposure", len(score))
    offsets = _per_row(offset, "offset", len(score))
    shift = dict(model.training["mean_contributions"]) if reference == "mean" else {}
    tables = [_component_table(model, inputs, c, shift) for c in model.components]
    values = {name: cell_values(inputs, name) for name in model.sources}
    flags = case_flags(model, inputs)
    start = model.intercept
    for component in model.components:
        start += sum(shift.get(part.name, 0.0) for part in component.parts)
    return [
        Explanation(
            start,
            tuple(rows[i] for rows in tables),
            float(score[i]),
            float(response[i]),
            model.target,
            {name: column[i] for name, column in values.items()},
            flags[i],
            reference,
            exposures[i],
            offsets[i],
            survival[i],
        )
        for i in range(inputs.n_rows)
    ]


def _per_row(values: Any, name: str, n_rows: int) -> Sequence[float | None]:
    return [None] * n_rows if values is None else per_row(values, n_rows, name).tolist()


def _component_table(
    model: Model, inputs: Inputs, component: Component, shift: dict[str, float]
) -> list[ComponentContribution]:
    columns = [_contributions(model, part, inputs, shift) for part in component.parts]
    name, sources = component.name, component.sources
    return [
        ComponentContribution(name, sources, reduce(add, (c.value for c in row), 0.0), row)
        for row in zip(*columns, strict=True)
    ]


def _contributions(
    model: Model, part: TreeTerms | DirectTerm, inputs: Inputs, shift: dict[str, float]
) -> list[Contribution]:
    values = part.contribution(inputs) - shift.get(part.name, 0.0)
    if isinstance(part, DirectTerm):
        text = _weighed_text(part)
        return [Contribution(part.name, text, float(value) + 0.0) for value in values]
    texts = [path_text(path, model.schema) for path in part.tree.paths()]
    return [
        Contribution(part.leaf_name(int(leaf)), texts[leaf], float(value))
        for leaf, value in zip(part.tree.apply(inputs), values, strict=True)
    ]


def _weighed_text(term: DirectTerm) -> str:
    """Say a direct term; one that is not 0 or 1 with what a unit of it adds."""
    if term.column.binary:
        return term.text
    return f"{term.text}: {term.coefficient:+.4g} per unit"


def cell_values(inputs: Inputs, name: str) -> list[float | str | None]:
    """Return a variable's cells as people know them: numbers, level names, None for missing."""
    column, variable = inputs[name], inputs.schema[name]
    names = dict(enumerate(variable.levels)) | {MISSING: None, UNSEEN: "a level not seen before"}
    if variable.kind == "category":
        return [names[int(code)] for code in column]
    codes = inputs.codes(name) if variable.levels else np.full(inputs.n_rows, MISSING)
    return [
        names[int(code)] if np.isnan(cell) else float(cell)
        for cell, code in zip(column, codes, strict=True)
    ]


def row_flags(inputs: Inputs, name: str) -> list[tuple[str, ...]]:
    """Return, for each row, what a variable holds that training did not prepare the model for."""
    rules = _flags(inputs, name)
    return [tuple(text for held, text in rules if held[row]) for row in range(inputs.n_rows)]


def case_flags(model: Model, inputs: Inputs) -> list[tuple[str, ...]]:
    """Return, for each row, what training did not have of the variables that a model reads."""
    warned = [row_flags(inputs, name) for name in model.sources]
    return [tuple(flag for flags in warned for flag in flags[i]) for i in range(inputs.n_rows)]


def flag_counts(inputs: Inputs, name: str) -> dict[str, int]:
    """Return how many rows each of these flags has."""
    return {text: int(held.sum()) for held, text in _flags(inputs, name)}


def _flags(inputs: Inputs, name: str) -> list[tuple[Mask, str]]:
    variable = inputs.schema[name]
    rules: list[tuple[Mask, str]] = []
    if not variable.has_missing:
        text = f"{name} is missing, which it never was in training"
        rules.append((inputs.is_missing(name), text))
    if variable.kind == "category":
        unknown = len(variable.levels) - 1 if variable.pooled else UNSEEN
        rules.append((inputs.codes(name) == unknown, level_flag(variable)))
    return rules


def level_flag(variable: Variable) -> str:
    """Say that a category holds a level that training did not know by name."""
    how = "was rare or not seen" if variable.pooled else "was not seen"
    return f"{variable.name} holds a level that {how} in training"


@dataclass(frozen=True, slots=True)
class Moved:
    """A component whose contribution was looked at again: before and after."""

    before: ComponentContribution
    after: ComponentContribution

    @property
    def difference(self) -> float:
        """By how much the component moves the score."""
        return self.after.value - self.before.value


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One row before and after a change of some values.

    `changes` maps names to (old, new), None for missing; changed variables that the model does not
    read are in `unread` instead. `moved` are the components that read a changed variable, `still`
    the others, each contribution in them the same to the last bit.
    """

    changes: Mapping[str, tuple[float | str | None, float | str | None]]
    before: Explanation
    after: Explanation
    moved: tuple[Moved, ...]
    still: tuple[str, ...]
    unread: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{name}: {value_text(old)} -> {value_text(new)}"
            for name, (old, new) in self.changes.items()
        ]
        lines += [f"{name} is not read by the model: nothing can move" for name in self.unread]
        for moved in self.moved:
            lines.append(f"{moved.difference:+10.4f}  {moved.before.component}")
            for old, new in zip(moved.before.contributions, moved.after.contributions, strict=True):
                if old != new:
                    lines.append(f"{'':12}from {old.value:+.4f}  {old.term}: {old.text}")
                    lines.append(f"{'':12}to   {new.value:+.4f}  {new.term}: {new.text}")
        lines.append(
            f"{self.after.score - self.before.score:+10.4f}  score, from {self.before.score:+.4f} "
            f"to {self.after.score:+.4f}: {self.before.target.response_text} from "
            f"{self.before.target.shown(self.before.response)} to "
            f"{self.before.target.shown(self.after.response)}"
        )
        lines += [f"{'':12}{text}" for text in self.said_at]
        lines.append(f"{'':12}{self.said}")
        lines += [f"{'':12}note: {flag}" for flag in self.after.flags]
        return "\n".join(lines)

    @property
    def said_at(self) -> list[str]:
        """How survival moves at each horizon that was asked for, in words."""
        pairs = zip(self.before.told_at, self.after.told_at, strict=True)
        return [f"{at}: {old:.4f} -> {new:.4f}" for (at, old), (_, new) in pairs]

    @property
    def said(self) -> str:
        """What was checked, in words."""
        if not self.still:
            return "every component reads a changed variable"
        names = counted(len(self.still), "other component")
        return f"checked: nothing moved in the {names}, to the last bit"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON values."""
        return {
            "changes": {name: list(pair) for name, pair in self.changes.items()},
            "not_read": list(self.unread),
            "score": [self.before.score, self.after.score],
            self.before.target.response_name: [self.before.response, self.after.response],
            self.before.target.outcome_name: self.before.positive,
            **self._survival(),
            "moved": [
                {
                    "component": m.before.component,
                    "difference": m.difference,
                    "before": [[c.term, c.text, c.value] for c in m.before.contributions],
                    "after": [[c.term, c.text, c.value] for c in m.after.contributions],
                }
                for m in self.moved
            ],
            "unmoved_to_the_last_bit": list(self.still),
            "flags": list(self.after.flags),
        }

    def _survival(self) -> dict[str, Any]:
        """Return survival before and after as plain JSON values; nothing without horizons."""
        old, new = self.before.survival, self.after.survival
        if not old.times:
            return {}
        pairs = zip(old.pairs, new.values, strict=True)
        told = [{"horizon": time, "survival": [a, b]} for (time, a), b in pairs]
        return {**old.to_dict(), "survival": told}


def what_if(
    model: Model, X: Any, changes: Mapping[str, Any], horizons: Any = None, strata: Any = None
) -> WhatIf:
    """Change values of one row and see which contributions move.

    `changes` gives the new values by name, as the cells would stand in a table; None for missing. A
    component that moves without reading a changed variable, which no model can, is an error. Of a
    time until an event, survival is told at `horizons`, with the baseline of a stratum.
    """
    row, asked = one_row(model, X), {"horizons": horizons, "strata": named(X, strata)}
    fresh = with_cells(model, row, changes)
    (before,), (after,) = model.explain(row, **asked), model.explain(fresh, **asked)
    read = model.sources
    pairs = list(zip(before.components, after.components, strict=True))
    touched = [(a, b) for a, b in pairs if set(a.sources) & set(changes)]
    for a, b in pairs:
        if (a, b) not in touched and a != b:
            raise ArithmeticError(f"{a.component} moved without reading {sorted(changes)}")
    return WhatIf(
        {n: (cell_values(row, n)[0], cell_values(fresh, n)[0]) for n in changes if n in read},
        before,
        after,
        tuple(Moved(a, b) for a, b in touched),
        tuple(a.component for a, b in pairs if (a, b) not in touched),
        tuple(name for name in changes if name not in read),
    )


def one_row(model: Model, X: Any) -> Inputs:
    """Read a table that must hold one row."""
    row = model.read(X)
    if row.n_rows != 1:
        raise InputError(f"X has {row.n_rows} rows; give one, such as X.iloc[[17]] of a data frame")
    return row


def with_cells(model: Model, row: Inputs, cells: Mapping[str, Any]) -> Inputs:
    """Return a row with other values in some cells, read as those of a table are."""
    columns, specials = list(row.columns), dict(row.specials)
    for name, value in cells.items():
        if name not in model.schema.names:
            hint = did_you_mean(name, model.schema.names)
            raise InputError(f"{name!r} is no variable of the model{hint}")
        variable, position = model.schema[name], model.schema.position(name)
        cell = np.array([value, None], dtype=object)[:1]
        if variable.kind == "category":
            columns[position], _ = read_levels(cell, variable)
        elif variable.levels:
            columns[position], specials[position] = as_number_or_special(cell, variable)
        else:
            columns[position] = as_number(cell, name)
    return Inputs(row.schema, tuple(columns), specials)

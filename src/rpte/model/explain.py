"""One prediction taken apart: contributions in the order in which they are summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.model.explanations import Explanations, frame_of, ordered
from rpte.model.horizon import NO_SURVIVAL, Survival, survivals
from rpte.model.parts import Component, DirectTerm, TreeTerms, path_text
from rpte.model.steps import typical_step
from rpte.model.summary import counted
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, Target
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.numbers import per_row
from rpte.table.schema import Variable
from rpte.utils.arrays import Mask

if TYPE_CHECKING:
    import pandas as pd

    from rpte.model.model import Model

NOT_SEEN = "a level not seen before"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one term (such as ``T1.L2`` or ``D3``) adds to the score of one row.

    Under ``reference="mean"`` the value is the difference from the training mean. `sources` are
    the variables that it depends on: those of a direct term, or of the whole tree of a leaf.
    """

    term: str
    text: str
    value: float
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentContribution:
    """What one component adds: the left-to-right sum of its contributions."""

    component: str
    sources: tuple[str, ...]
    value: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The score of one row as a sum.

    Adding `intercept` and the components' values from left to right, each of them the left-to-right
    sum of its contributions, gives `score` to the last bit. `inputs` are the values of the
    variables that the model reads, None where missing. `flags` say what training did not have: a
    missing cell in a column that had none, a level that was rare or never seen. `response` is what
    the score stands for: the probability of the positive class, or the mean, for one unit of
    exposure and without an offset, or the hazard relative to the baseline. `predicted` is the mean
    for the `exposure` and the `offset` that were given, the response where none were. `survival`
    is that of a time until an event, until the horizons that were asked for. `row` is the label of
    the row in the table: its index in a pandas frame, its place in others.
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
    row: Any = field(default=0, compare=False)

    def __repr__(self) -> str:
        terms = sum(c.value != 0.0 for each in self.components for c in each.contributions)
        said = f"score={self.score:+.4g}, {self.target.response_name}={self.response:.4g}"
        return f"Explanation(row={self.row!r}, {said}, {counted(terms, 'term')})"

    def __str__(self) -> str:
        return self.text()

    def text(self, order: str = "size") -> str:
        """Return the sum in words, the largest contributions first and without zeros.

        With ``order="definition"`` all of them, in the order in which they are summed.
        """
        lines = [f"{self.intercept:+10.4f}  {self.start}{self._product(self.intercept)}"]
        running = self.intercept
        for component in ordered(self.components, order):
            running += component.value
            product = self._product(running, component.value)
            lines.append(f"{component.value:+10.4f}  {component.component}{product}")
            lines += [f"  {c.value:+10.4f}  {c.term}: {c.text}" for c in component.contributions]
            lines.append(f"{'':14}with {self.given(component.sources)}")
        lines += [f"{'':12}{told}" for told in self.folded(order)]
        lines.append(f"{self.score:+10.4f}  score: {self.target.said(self.response)}")
        lines += [f"{'':12}{text}" for text in self.said_for]
        lines += [f"{'':12}note: {flag}" for flag in self.flags]
        return "\n".join(lines)

    def folded(self, order: str = "size") -> list[str]:
        """Say how many terms an order leaves out because they add nothing."""
        zeros = sum(c.value == 0.0 for each in self.components for c in each.contributions)
        if order == "definition" or not zeros:
            return []
        return ["1 other term adds nothing" if zeros == 1 else f"{zeros} other terms add nothing"]

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

    @staticmethod
    def every_score(explained: Sequence[Explanation]) -> list[tuple[Explanation, ...]]:
        """Return the scores of each row: there is one."""
        return [(told,) for told in explained]

    def to_frame(self, order: str = "size") -> pd.DataFrame:
        """Return the contributions as a table; see `Explanations.to_frame`."""
        return frame_of([self], order)

    def _repr_html_(self) -> str:
        from rpte.notebook.explanations import explanation_html

        return explanation_html(self)

    def given(self, sources: tuple[str, ...]) -> str:
        """Say the row's values of some variables."""
        return ", ".join(f"{name} = {self.value_text(name)}" for name in sources)

    def value_text(self, name: str) -> str:
        """Say the row's value of a variable."""
        return value_text(self.inputs[name])


def probability_of(target: AnyTarget, response: float) -> float:
    """Return a response that is a probability; `InputError` for a number."""
    if isinstance(target, Target):
        return response
    raise InputError(f"the model predicts no class: its {target.response_text} is `response`")


def value_text(value: float | str | None) -> str:
    """Say one cell: a level in quotes."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value if value == NOT_SEEN else repr(value)
    return number_text(value)


def explain(
    model: Model,
    X: Any,
    reference: str | None = None,
    exposure: Any = None,
    offset: Any = None,
    horizons: Any = None,
    strata: Any = None,
) -> Explanations[Explanation]:
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
    return Explanations(
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
            i,
        )
        for i in range(inputs.n_rows)
    )


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
        text = _weighed_text(model, part)
        read = part.sources
        return [Contribution(part.name, text, float(value) + 0.0, read) for value in values]
    texts, read = [path_text(path, model.schema) for path in part.tree.paths()], part.sources
    return [
        Contribution(part.leaf_name(int(leaf)), texts[leaf], float(value), read)
        for leaf, value in zip(part.tree.apply(inputs), values, strict=True)
    ]


def _weighed_text(model: Model, term: DirectTerm) -> str:
    """Say a direct term; one that is not 0 or 1 with what a typical step of it adds."""
    step = typical_step(term, model.data)
    text = term.text_in(model.schema)
    return text if step is None else f"{text}: {step.added}"


def cell_values(inputs: Inputs, name: str) -> list[float | str | None]:
    """Return a variable's cells as people know them: numbers, level names, None for missing."""
    column, variable = inputs[name], inputs.schema[name]
    names: dict[int, float | str | None] = {MISSING: None, UNSEEN: NOT_SEEN}
    for code, level in enumerate(variable.levels):
        names[code] = float(level) if variable.numeric else level
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

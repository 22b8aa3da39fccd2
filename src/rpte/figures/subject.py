"""Whom a picture is of: a model, and rows to average over and to draw the density of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.errors import InputError, did_you_mean
from rpte.model.causes import one_event
from rpte.model.classes import ClassesModel
from rpte.model.effect import Background, background, own_parts
from rpte.model.grid import profile_of
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.model.target import AnyTarget, NumberTarget
from rpte.table.column import MISSING
from rpte.table.table import checked_weights
from rpte.utils.arrays import Floats

SPREAD = 2000  # numbers that stand for those of training, in a density


@dataclass(frozen=True, slots=True)
class Subject:
    """A model with rows; `given` tells whether the rows are the caller's own, not of training."""

    model: Model | ClassesModel
    rows: Background | None
    given: bool = False

    @classmethod
    def of(cls, estimator: Any, what: str, X: Any = None, sample_weight: Any = None) -> Subject:
        """Return the model of an estimator, or one that is given, with rows if there are any.

        A fitted estimator has some of its training rows, unless it was stored or copied.
        """
        if isinstance(estimator, Subject):
            return estimator
        if hasattr(estimator, "_fitted"):
            estimator._fitted()  # which refuses one that is not
        model = one_event(getattr(estimator, "model_", estimator), what)
        if X is None:
            if sample_weight is not None:
                raise InputError("sample_weight goes with rows; give X= too")
            return cls(model, getattr(estimator, "_training_rows", None))
        inputs = model.read(X)
        weight = checked_weights(sample_weight, inputs.n_rows)
        return cls(model, background(inputs, model.sources, weight), True)

    @property
    def scores(self) -> tuple[Model, ...]:
        """The model of each score: one, or one for each of several classes."""
        return (self.model,) if isinstance(self.model, Model) else self.model.models

    @property
    def outline(self) -> Model:
        """The structure, whatever the number of scores."""
        return self.model if isinstance(self.model, Model) else self.model.outline

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes where there are several scores; else none."""
        return () if isinstance(self.model, Model) else tuple(map(str, self.model.classes))

    @property
    def unit(self) -> str:
        """What contributions add to, in words."""
        if isinstance(self.model, ClassesModel):
            return "the score of a class"
        return unit_of(self.model.target)

    @property
    def ratio(self) -> str | None:
        """What the exponential of a contribution is called; None where it means nothing."""
        single = isinstance(self.model, Model) and self.model.loss.effect(0.0) == 1.0
        return self.model.loss.effect_name if single else None

    def place(self, source: str) -> int:
        """Return the number of the component that reads a variable."""
        for number, component in enumerate(self.model.components):
            if source in component.sources:
                return number
        hint = did_you_mean(source, self.model.sources)
        reads = ", ".join(self.model.sources) or "nothing"
        raise InputError(f"the model does not read {source!r}{hint}; it reads {reads}")

    def components(self, source: str) -> list[Component]:
        """Return the component that reads a variable, in each score."""
        number = self.place(source)
        return [model.components[number] for model in self.scores]

    def mean_added(self, *sources: str) -> Floats:
        """Return the training mean of what the own terms of some variables add, to each score."""
        numbers = sorted({self.place(source) for source in sources})
        found = []
        for model in self.scores:
            means = model.training["mean_contributions"]
            own = [p for n in numbers for p in own_parts(model.components[n], *sources)]
            found.append(sum(means[part.name] for part in own))
        return np.array(found, np.float64)

    def profile(self, source: str) -> Mapping[str, Any]:
        """Return what the model file tells of the training values of a variable."""
        return profile_of(self.outline, source)

    def level_shares(self, source: str) -> list[float | None]:
        """Return the share of rows with each level or special code, then with none; None: unknown.

        Of all training rows, as the model file tells it; of the rows given, if there are any.
        """
        variable = self.outline.schema[source]
        told, total = self.profile(source), self.outline.data.get("rows")
        if told and total and not self.given:
            counts = [told["levels"].get(level) for level in variable.levels]
            found = [None if isinstance(n, str) or n is None else n / total for n in counts]
            missing = told["missing"]
            return [*found, None if isinstance(missing, str) else float(missing)]
        if self.rows is None:
            return [None] * (len(variable.levels) + 1)
        inputs, weight = self.rows.inputs, self.rows.weight
        absent = float(weight[inputs.is_missing(source)].sum() / weight.sum())
        if not variable.levels:
            return [absent]
        codes = inputs.codes(source)
        known = codes != MISSING
        counted = np.bincount(
            codes[known & (codes >= 0)], weight[known & (codes >= 0)], len(variable.levels)
        )
        return [*(counted / weight.sum()).tolist(), absent]

    def numbers(self, source: str) -> tuple[Floats, Floats] | None:
        """Return numbers of a variable and their weights; None if neither file nor rows have any.

        Of the rows that were given; else of training, spread as the model file tells.
        """
        parts = self.profile(source).get("equal_parts")
        if parts and not self.given:
            at = (np.arange(SPREAD) + 0.5) / SPREAD * (len(parts) - 1)
            return np.interp(at, np.arange(len(parts)), parts), np.ones(SPREAD)
        if self.rows is None:
            return None
        x = self.rows.inputs[source]
        present = ~np.isnan(x)
        return x[present], self.rows.weight[present]


def unit_of(target: AnyTarget) -> str:
    """Return what the terms of one score add to, in few words."""
    if isinstance(target, NumberTarget) and not target.is_linear:
        return f"log {target.mean_text}"
    return target.formula


def check_reference(reference: str | None) -> None:
    """Refuse what effects and contributions are not counted from."""
    if reference not in (None, "mean"):
        raise InputError(f"reference={reference!r}; it must be None or 'mean'")

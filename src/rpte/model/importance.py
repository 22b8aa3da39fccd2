"""How much each variable moves the score: its importance (numpy only).

A variable's contribution to a row is what its own terms add, and an equal share of every term or
tree that it has in common with others, counted from the training mean. Its importance is the mean
absolute contribution over the training rows, weighted as in training. The contributions of all
variables add up to the score less its mean, so that nothing counts twice and nothing is left out.

Of several classes a contribution is counted from its mean over the classes, since a number that is
added to all scores changes no probability, and the importance is the mean over the classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.table.inputs import Inputs
from rpte.table.table import checked_weights
from rpte.utils.arrays import Array, Floats

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

RECORD = "importances"  # the field of the training record
NAMES = ("variable", "component", "importance", "share")  # columns of the table
Part = TreeTerms | DirectTerm


@dataclass(frozen=True, slots=True)
class Evaluations:
    """What columns and trees say of some rows, each evaluated once."""

    inputs: Inputs
    known: dict[Any, Array] = field(default_factory=dict)

    def contribution(self, part: Part) -> Floats:
        """Return what a part adds to each row, (n_rows,)."""
        if isinstance(part, DirectTerm):
            if part.column not in self.known:
                self.known[part.column] = part.column.evaluate(self.inputs)
            return part.times(self.known[part.column])
        if part.tree not in self.known:
            self.known[part.tree] = part.tree.apply(self.inputs)
        return np.array([leaf.coefficient for leaf in part.leaves])[self.known[part.tree]]


@dataclass(frozen=True, slots=True)
class Importances:
    """The scores of a model as importances need them: terms, and mean contributions.

    `scores` has the components of each score, `means` the training mean of each tree and direct
    term in every score, (scores,) each.
    """

    scores: tuple[tuple[Component, ...], ...]
    means: Mapping[str, Floats]

    @classmethod
    def of(cls, model: Model | ClassesModel) -> Importances:
        """Return the scores of a model, with the means of its training rows."""
        means = model.training["mean_contributions"].items()
        return cls(_scores(model), {name: np.atleast_1d(mean) for name, mean in means})

    def sums(self, rows: Evaluations, weight: Floats) -> dict[str, float]:
        """Return, by variable, the weighted sum over rows of absolute contributions."""
        found: dict[str, float] = {}
        for same in zip(*self.scores, strict=True):
            for source in same[0].sources:
                apart = self._contributions(same, source, rows)
                if len(apart) > 1:
                    apart = apart - apart.mean(axis=0)
                found[source] = float(np.abs(apart).mean(axis=0) @ weight)
        return found

    def _contributions(self, same: Sequence[Component], source: str, rows: Evaluations) -> Floats:
        """Return what a variable adds to each score and row, from its mean: (scores, n_rows)."""
        total = np.zeros((len(same), rows.inputs.n_rows))
        for place, parts in enumerate(zip(*(c.parts for c in same), strict=True)):
            first = same[0].parts[place]
            if source in first.sources:
                own = np.stack([rows.contribution(part) for part in parts])
                total += (own - self.means[first.name][:, None]) / len(set(first.sources))
        return total


def _scores(model: Model | ClassesModel) -> tuple[tuple[Component, ...], ...]:
    return tuple(one.components for one in model.models)


def measured_importances(
    model: Model | ClassesModel, inputs: Inputs, weight: Floats
) -> dict[str, float]:
    """Return the importances of the variables over some rows, counted from the means there."""
    total, rows = float(weight.sum()), Evaluations(inputs)
    scores = _scores(model)
    means = {
        parts[0].name: np.array([rows.contribution(part) @ weight / total for part in parts])
        for same in zip(*scores, strict=True)
        for parts in zip(*(component.parts for component in same), strict=True)
    }
    sums = Importances(scores, means).sums(rows, weight)
    return {source: value / total for source, value in sums.items()}


def importances(
    model: Model | ClassesModel, X: Any = None, sample_weight: Any = None
) -> dict[str, float]:
    """Return the importance of each variable that a model reads: those of training, or of rows.

    Raises
    ------
    InputError
        Without rows, if the model file does not tell: an edit dropped them, or it is an old one.
    """
    if X is None:
        stored: Mapping[str, float] | None = model.training.get(RECORD)
        if stored is None:
            raise InputError(
                "the model file tells no importances: it was edited after the fit, or written by "
                "an earlier version; give rows to measure them on: importances(X)"
            )
        return dict(stored)
    inputs = model.read(X)
    if not inputs.n_rows:
        raise InputError("the table has no rows to measure importances on; give at least one")
    return measured_importances(model, inputs, checked_weights(sample_weight, inputs.n_rows))


def importance_rows(
    components: Collection[Component], found: Mapping[str, float]
) -> Iterator[tuple[str, str, float, float]]:
    """Yield variable, component, importance and share of the total, the largest first."""
    total = sum(found.values())
    home = {source: component.name for component in components for source in component.sources}
    for source in sorted(found, key=lambda name: (-found[name], name)):
        share = found[source] / total if total else 0.0
        yield source, home[source], found[source], share

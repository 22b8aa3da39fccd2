"""The rows that a model's terms were learned from: all, or a sample, which is drawn again.

Which rows a long table is searched on follows from their content and weights, unless groups had to
stay together, which no model file keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rpte.model.derivation import Grounds
from rpte.rows.folds import Validation
from rpte.table.table import Table

if TYPE_CHECKING:
    from rpte.model.model import Model


@dataclass(frozen=True, slots=True)
class LearnedFrom:
    """What the terms of a model follow from.

    Parameters
    ----------
    whole : Grounds
        Of all training rows.
    terms : Grounds or None
        Of the rows that terms were found on; None where these cannot be drawn again.
    """

    whole: Grounds
    terms: Grounds | None

    @property
    def rows(self) -> int | None:
        """How many distinct rows a sample has, as the file says it; None for all."""
        if self.terms is None or self.terms is self.whole:
            return None
        return self.terms.table.n_rows


def learned_from(model: Model, table: Table) -> LearnedFrom:
    """Find the rows that the terms of a model were learned from.

    Parameters
    ----------
    model : Model
    table : Table
        The training rows under the model's schema, equal ones merged.
    """
    settings, told = model.settings, model.training["validation"]
    whole = Grounds(table, settings)
    if told["by"] == "groups" and "learned_from_rows" in told:
        return LearnedFrom(whole, None)
    if told["by"] != "content" or settings["l1"] != "cv" or not settings["reassign"]:
        return LearnedFrom(whole, whole)
    validation = Validation(min(told["folds"], table.n_cases + 1))  # more folds change nothing
    sample = validation.sample(table)
    folds = [] if sample is table else validation.folds(sample, sampled=True)
    if not folds:  # of a sample that cannot be split nothing is learned
        return LearnedFrom(whole, whole)
    shared = Grounds(sample, settings) if settings["vocabulary"] == "shapes" else None
    return LearnedFrom(whole, Grounds(folds[0].train.on(sample), settings, shared))

"""What a fit keeps of its rows when it is done: importances, and some rows to average over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rpte.fit.learned import Learned
from rpte.model.causes import CausesModel
from rpte.model.classes import ClassesModel
from rpte.model.effect import MOST_ROWS, Background, background
from rpte.model.importance import RECORD, Evaluations, Importances
from rpte.model.model import Model
from rpte.rows.training_rows import MemoryRows, TrainingRows, taken
from rpte.table.inputs import Inputs
from rpte.table.table import Table
from rpte.utils.arrays import Floats

ALL_UP_TO = 50_000  # rows in memory that are all looked at before some are drawn


def with_importances(learned: Learned, rows: TrainingRows) -> tuple[Learned, Background | None]:
    """Return the models with the importances of their variables, and rows to average over."""
    own = learned.model.models if isinstance(learned.model, CausesModel) else (learned.model,)
    found, some = measure_importances((*own, *learned.frontier), rows)
    told = iter(found)
    return learned.with_training(lambda kept: {**kept, RECORD: next(told)}), some


def measure_importances(
    models: Sequence[Model | ClassesModel], rows: TrainingRows
) -> tuple[list[dict[str, float]], Background | None]:
    """Return the importances of each model, and rows to average over; None if none is read.

    It takes one pass over all rows, for all models together.
    """
    sources = tuple(sorted({source for model in models for source in model.sources}))
    short = isinstance(rows, MemoryRows) and rows.n_rows <= ALL_UP_TO
    step = 0.0 if short else rows.total_weight / MOST_ROWS
    found = list(rows.map(_Pass(tuple(map(Importances.of, models)), sources, step)))
    told = [
        {source: sum(block[source] for block in same) / rows.total_weight for source in same[0]}
        for same in zip(*(block.sums for block in found), strict=True)
    ]
    return told, _background(found, sources, rows.n_cases, sampled=step > 0.0)


class _Found(NamedTuple):
    """What a block of rows has: sums for each model, and some of its rows with their weights."""

    sums: list[dict[str, float]]
    inputs: Inputs
    weight: Floats


@dataclass(frozen=True, slots=True)
class _Pass:
    """Sums of absolute contributions over a block, and rows of it drawn by their weight.

    Of the weight, cumulated in the order of the rows, every `step` draws one; 0 takes all rows.
    """

    models: tuple[Importances, ...]
    sources: tuple[str, ...]
    step: float

    def __call__(self, block: Table) -> _Found:
        inputs, weight = taken(block, self.sources).take(slice(None)), block.weight
        rows = Evaluations(inputs)
        sums = [model.sums(rows, weight) for model in self.models]
        if not self.step:
            return _Found(sums, inputs, weight)
        total = np.cumsum(weight)
        marks = np.arange(0.5 * self.step, total[-1] if len(total) else 0.0, self.step)
        drawn = np.minimum(np.searchsorted(total, marks), len(total) - 1)
        kept, times = np.unique(drawn, return_counts=True)
        return _Found(sums, inputs.take(kept), times.astype(np.float64) * self.step)


def _background(
    found: list[_Found], sources: Sequence[str], n_cases: int, sampled: bool
) -> Background | None:
    if not sources:
        return None
    first = found[0].inputs
    places = range(len(first.schema))
    columns = tuple(np.concatenate([f.inputs.columns[place] for f in found]) for place in places)
    specials = {
        place: np.concatenate([f.inputs.specials[place] for f in found]) for place in first.specials
    }
    weight = np.concatenate([block.weight for block in found])
    drawn = background(Inputs(first.schema, columns, specials), sources, weight)
    return replace(drawn, table_rows=n_cases, sampled=sampled or drawn.sampled)

"""All rows of a fit on the workers of a cluster: each partition one block of typed cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TypeVar

from dask.sizeof import sizeof

from rpte.dask.blocks import Blocks
from rpte.errors import InputError
from rpte.losses import Loss
from rpte.rows.draw import Sample, draw
from rpte.rows.folds import Validation
from rpte.rows.training_rows import KeptBlock
from rpte.table.schema import Schema
from rpte.table.table import Table

T = TypeVar("T")


@sizeof.register(KeptBlock)  # type: ignore[untyped-decorator]
def _bytes(block: KeptBlock) -> int:
    """Return what a block takes, what passes keep of it included, for the worker's limits."""
    own = (getattr(block, f.name) for f in fields(Table) if f.name not in ("inputs", "loss"))
    cells = (*block.inputs.columns, *block.inputs.specials.values())
    return int(block.room + sum(array.nbytes for array in (*own, *cells) if array is not None))


class DaskRows:
    """Rows in partitions, equal ones of a partition merged."""

    def __init__(self, blocks: Blocks[KeptBlock], schema: Schema, loss: Loss) -> None:
        sums = blocks.map(_sums)
        self.schema, self.loss = schema, loss
        self.n_cases = sum(cases for _, cases, _, _ in sums)
        self.total_weight = sum(weight for _, _, weight, _ in sums)
        self.target_total = sum(target for _, _, _, target in sums)
        held = [rows for rows, *_ in sums]
        self._blocks = blocks.only([number for number, rows in enumerate(held) if rows])
        self._sample: Sample = draw(self, sum(held))

    @property
    def n_rows(self) -> int:
        """Number of distinct rows; about, where some are in several partitions."""
        return self._sample.n_rows

    def searched(self, validation: Validation) -> Table:
        """Return the sample of rows that a table in memory would give."""
        return self._sample.table

    @property
    def few(self) -> Table | None:
        """All rows where they are so few that they are not sampled."""
        return self._sample.table if self._sample.whole else None

    def whole(self) -> Table:
        """Refuse to hold all rows in memory."""
        raise InputError(
            "what learns its structure from all rows at once (a fixed l1, reassign=False, the "
            f"published configuration) needs them in memory, and the cluster holds {self.n_rows:,} "
            "different rows; fit with l1='cv', or a sample of them in memory"
        )

    def map(self, function: Callable[[Table], T]) -> Iterator[T]:
        """Yield what a function returns for each partition, in order."""
        return iter(self._blocks.map(function))

    def reduce(self, function: Callable[[Table], T], plus: Callable[[T, T], T]) -> T:
        """Return what a function returns for all partitions, combined on the workers."""
        return self._blocks.reduce(function, plus)


def _sums(block: Table) -> tuple[int, int, float, float]:
    """Return rows, cases, weight, and weight times target."""
    target = float((block.weight * block.y).sum())
    return block.n_rows, block.n_cases, block.total_weight, target

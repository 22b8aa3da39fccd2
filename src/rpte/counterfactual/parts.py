"""The one-source columns that a component is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rpte.columns.kinds import Column, Pair, Pattern
from rpte.model.parts import Component


def one_source(column: Column) -> tuple[Column, ...]:
    """Return the columns of one variable that a column is made of."""
    return (column.left, column.right) if isinstance(column, (Pattern, Pair)) else (column,)


def parts_on(components: Iterable[Component], source: str) -> Iterator[tuple[Column, float | None]]:
    """Yield the one-source columns that read a variable, with the threshold of a test on them.

    None stands for a direct term, for part of a two-source column and for a 0/1 test.
    """
    for component in components:
        for term in component.direct:
            yield from (
                (part, None) for part in one_source(term.column) if part.sources[0] == source
            )
        for split in (split for tree in component.trees for split in tree.tree.splits):
            for part in one_source(split.column):
                if part.sources[0] == source:
                    yield part, None if part is not split.column else split.threshold

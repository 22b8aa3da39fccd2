"""The most frequent conjunctions of the same items: support decides, the label does not."""

from __future__ import annotations

import numpy as np

from rpte.columns.kinds import Column
from rpte.published.mining import ItemIndex, distinct_covers, pair_candidates


def mine_frequent(index: ItemIndex, order: int, budget: int) -> tuple[Column, ...]:
    """Return the `budget` patterns of at most `order` items that cover most weight.

    Patterns that cover every row, or the same rows as a more frequent one, are passed over; ties
    in support are broken by the canonical order of items.
    """
    if not index.items or budget == 0:
        return ()
    usable = (index.singles.cover > 0) & (index.singles.cover < index.table.total_weight)
    usable &= index.permitted(index.singles)
    found = index.singles.keep(usable)
    if order > 1:
        found = found.join(pair_candidates(index, usable))
    ranking = np.lexsort((found.second, found.first, -found.cover))
    return index.columns_of(found.keep(distinct_covers(index, found, ranking, budget)))

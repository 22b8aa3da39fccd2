"""The most frequent conjunctions of the same items: support decides, the label does not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rpte.columns.kinds import Column
from rpte.vocabulary.mining import ItemBook, distinct_covers, pair_candidates


def mine_frequent(
    book: ItemBook, order: int, budget: int, pool: ThreadPoolExecutor | None
) -> tuple[Column, ...]:
    """Return the `budget` patterns of at most `order` items that cover most weight.

    Patterns that cover every row, or the same rows as a more frequent one, are passed over; ties
    in support are broken by the canonical order of items.
    """
    if not book.items or budget == 0:
        return ()
    usable = (book.singles.cover > 0) & (book.singles.cover < book.table.total_weight)
    usable &= book.permitted()
    found = book.singles.keep(usable)
    if order > 1:
        found = found.join(pair_candidates(book, usable, pool))
    ranking = np.lexsort((found.second, found.first, -found.cover))
    taken = distinct_covers(book, found, ranking, budget)
    return tuple(book.column(int(found.first[r]), int(found.second[r])) for r in taken)

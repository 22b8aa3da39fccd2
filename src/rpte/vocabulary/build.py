"""Stage 1 of the default: raw variables and the strongest shapes of single numbers."""

import numpy as np

from rpte.table.table import Table
from rpte.utils.arrays import Index
from rpte.utils.growable import SPARE_ROWS, GrowableMatrix
from rpte.vocabulary.shape_cache import ShapeCache
from rpte.vocabulary.vocabulary import ORIGINAL, PATTERN, Vocabulary, original_columns


def vocabulary_of_shapes(
    cache: ShapeCache,
    part: Table,
    rows: Index,
    budget: int,
    paper: bool = False,
    last: bool = False,
) -> Vocabulary:
    """Return raw variables and at most `budget` shapes, chosen on some rows of the cache's table.

    The `last` call empties the cache, so that no column is in memory twice.
    """
    originals = original_columns(cache.table, paper, cache.limits, not cache.rules)
    columns = (*originals, *cache.strongest(part, rows, budget))
    memory = GrowableMatrix(len(rows), capacity=len(columns) + SPARE_ROWS)
    kept: dict[int, int] = {}  # the first of several equal columns, by their number
    location = np.empty((2, len(columns)))
    for j, column in enumerate(columns):
        entry = cache.entry(column, last)
        if entry.number >= 0 and kept.setdefault(entry.number, j) == j:
            place = memory.extend(1)
            # Any other mode makes a copy first.
            entry.z.take(rows, out=memory.memory[place], mode="clip")
            location[:, place] = entry.centre, entry.scale
    if last:
        cache.close()
    which, (centre, scale) = np.array([*kept.values()], np.intp), location[:, : len(kept)]
    block, chosen = np.where(which < len(originals), ORIGINAL, PATTERN), [columns[j] for j in which]
    return Vocabulary(tuple(chosen), block, memory.rows, centre, scale, memory)

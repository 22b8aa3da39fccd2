"""Stage 1 of the default: raw variables and the strongest shapes of single numbers."""

import numpy as np

from rpte.rows.threads import thread_map
from rpte.table.table import Table
from rpte.utils.arrays import Index
from rpte.vocabulary.cells import SharedCells
from rpte.vocabulary.shape_cache import ShapeCache
from rpte.vocabulary.vocabulary import ORIGINAL, PATTERN, Vocabulary


def vocabulary_of_shapes(
    cache: ShapeCache,
    part: Table,
    rows: Index,
    budget: int,
    paper: bool = False,
    last: bool = False,
) -> Vocabulary:
    """Return raw variables and at most `budget` shapes, chosen on some rows of the cache's table.

    The `last` call empties the cache; what is returned shares its columns.
    """
    originals = cache.originals(paper)
    columns = (*originals, *cache.strongest(part, rows, budget))
    entries = list(thread_map(cache.entry, columns))
    # The first of several equal columns, by their number.
    numbers, first = np.unique([entry.number for entry in entries], return_index=True)
    which = np.sort(first[numbers >= 0])
    if last:
        cache.keep()
    chosen = [entries[j] for j in which]
    centre, scale = np.array([(e.centre, e.scale) for e in chosen]).reshape(-1, 2).T.copy()
    z = SharedCells(cache.table.inputs, tuple(entry.z for entry in chosen), rows)
    block = np.where(which < len(originals), ORIGINAL, PATTERN)
    return Vocabulary(tuple(columns[j] for j in which), block, z, centre, scale)

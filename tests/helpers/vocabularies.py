"""Stage 1 of a whole table, whoever mines it."""

from __future__ import annotations

import numpy as np

from rpte.columns.limits import FREE
from rpte.published.vocabulary import build_vocabulary
from rpte.vocabulary.build import vocabulary_of_shapes
from rpte.vocabulary.shape_cache import ShapeCache


def shapes_vocabulary(table, budget, paper=False, least=5.0, limits=FREE):
    """Return raw variables and shapes of single numbers, as the default mines them."""
    cache = ShapeCache(table, least, limits)
    return vocabulary_of_shapes(cache, table, np.arange(table.n_rows), budget, paper, last=True)


def vocabulary_of(table, chosen, held=None):
    """Return the vocabulary of some settings of Stage 1."""
    if chosen.miner != "shapes":
        return build_vocabulary(table, chosen, held)
    return shapes_vocabulary(table, chosen.budget, chosen.paper, chosen.least, chosen.limits)

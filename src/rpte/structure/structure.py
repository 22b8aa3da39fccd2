"""The result of Stages 1 and 2 on a table: a vocabulary, and trees without common variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpte.structure.tree import Tree
from rpte.vocabulary.vocabulary import Vocabulary

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Structure:
    """The result of Stages 1 and 2.

    Parameters
    ----------
    vocabulary : Vocabulary
    trees : tuple of Tree
        In the order in which they were accepted.
    leaf_codes : (M, n)
        The leaf that each training row reaches.
    used : tuple of frozensets of int
        The vocabulary columns that each tree used up.
    start : (n,)
        The Stage 2 score of no trees.
    steps : tuple of M arrays, each of shape (leaves,)
        What each leaf of a tree adds to it.
    """

    vocabulary: Vocabulary
    trees: tuple[Tree, ...]
    leaf_codes: NDArray[np.int32]
    used: tuple[frozenset[int], ...]
    start: Floats
    steps: tuple[Floats, ...] = ()

    def score(self, n_trees: int) -> Floats:
        """Return the Stage 2 score after the first `n_trees`, (n,)."""
        score = self.start
        for step, codes in zip(self.steps[:n_trees], self.leaf_codes, strict=False):
            score = score + step[codes]
        return score

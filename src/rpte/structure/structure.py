"""The result of Stages 1 and 2 on a table: a vocabulary, and trees without common variables."""

from dataclasses import dataclass

from rpte.structure.tree import Tree
from rpte.utils.arrays import Floats, Int32s
from rpte.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Structure:
    """The result of Stages 1 and 2."""

    vocabulary: Vocabulary
    trees: tuple[Tree, ...]  # in the order in which they were accepted
    leaf_codes: Int32s  # the leaf of each training row, (M, n)
    used: tuple[frozenset[int], ...]  # the vocabulary columns that each tree used up
    start: Floats  # the Stage 2 score without trees, (n,), or (K, n) of several scores
    steps: tuple[Floats, ...] = ()  # what each leaf of each tree adds to it

    def score(self, n_trees: int) -> Floats:
        """Return the Stage 2 score after the first `n_trees`, (n,) or (K, n)."""
        score = self.start
        for step, codes in zip(self.steps[:n_trees], self.leaf_codes, strict=False):
            score = score + step[..., codes]
        return score

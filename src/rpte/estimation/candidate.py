"""What inner validation compares: a set of terms, and a penalty to fit them at."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from rpte.utils.arrays import Mask
from rpte.vocabulary.vocabulary import CODE, CURVE, PAIR, PLAIN, STEP, Vocabulary

ShapeFamily = Literal["values", "levels", "curves", "steps", "all"]
SHAPE_FAMILIES: tuple[ShapeFamily, ...] = ("values", "levels", "curves", "steps")
RULE_FAMILIES: tuple[ShapeFamily, ...] = ("steps", "all")  # of yes/no statements
FAMILY_ROLES = {"levels": CODE, "curves": CURVE, "steps": STEP}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of terms: what Stage 3 may use of a structure.

    Shapes of single numbers are none but logs ("values"), also the single values of numbers that
    have few ("levels"), hinges and distances ("curves"), "steps", or all. The parts of pairs always
    belong to them.
    """

    shape_family: ShapeFamily = "all"
    n_trees: int = 0  # the first ones
    n_pairs: int | None = 0  # the first ones; None for all
    max_conditions: int | None = None  # within which forward selection takes direct terms
    apart: bool = False  # direct terms read no variable that a tree reads
    form: int | None = None  # of a ladder, among those of the search; not in the file

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as plain JSON values; the last two fields where they say more."""
        given = asdict(self)
        del given["form"]
        if self.max_conditions is None:
            del given["max_conditions"]
        if not self.apart:
            del given["apart"]
        return given

    def holds(self, vocabulary: Vocabulary) -> Mask:
        """Tell which columns the candidate holds, (V,)."""
        held = np.ones(len(vocabulary), np.bool_)
        if self.shape_family != "all":
            held = np.isin(vocabulary.role, (PLAIN, FAMILY_ROLES.get(self.shape_family, PLAIN)))
        pairs = np.flatnonzero(vocabulary.block == PAIR)
        held |= vocabulary.parts_of(pairs[: self.n_pairs])
        if self.n_pairs is not None:
            held[pairs[self.n_pairs :]] = False
        return held


@dataclass(frozen=True, slots=True)
class CandidatePenalty:
    """What Stage 3 is to solve: some terms and a penalty."""

    candidate: Candidate
    l1_ratio: float
    l1: float

    def to_dict(self) -> dict[str, Any]:
        """Return the penalty as plain JSON values."""
        return {**self.candidate.to_dict(), "l1_ratio": self.l1_ratio, "l1": self.l1}

"""What was compared in validation: penalties, their losses, and the price of reading a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.rows import scale
from rpte.utils.arrays import Floats, Index


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Validated loss of one penalty.

    `miu` are the conditions of its active terms on the training rows, `deviance` the weighted mean
    over the folds (or over blocks of the held-out rows where there is one fold) and `error` its
    standard error.
    """

    penalty: CandidatePenalty
    miu: int
    deviance: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain JSON values."""
        validated = {"miu": self.miu, "deviance": self.deviance, "error": self.error}
        return {**self.penalty.to_dict(), **validated}


@dataclass(frozen=True, slots=True)
class Price:
    """What a model must explain for being read.

    Parameters
    ----------
    per_condition : float
        Share of the deviance that can be explained which one more condition must explain.
    log_from : float
        Number of conditions beyond which the price of all of them goes by their logarithm.
    """

    per_condition: float = 0.0
    log_from: float = scale.LOG_PRICE_FROM

    @classmethod
    def at(cls, per_condition: float, n_cases: int) -> Price:
        """Return the price at so many cases, where `per_condition` is that on a small table."""
        less = min(1.0, math.sqrt(scale.FULL_PRICE_CASES / n_cases))
        return cls(per_condition * less, scale.LOG_PRICE_FROM / less**2)

    def of(self, conditions: int) -> float:
        """Return the share that a model of so many conditions must explain."""
        if conditions <= self.log_from:
            return self.per_condition * conditions
        return self.per_condition * self.log_from * (1.0 + math.log(conditions / self.log_from))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All evaluations that were compared, the first of them without terms.

    Parameters
    ----------
    evaluations : tuple of Evaluation
    price : Price
    fits : mapping from CandidatePenalty to (q + 1,)
        Rough fits on the rows that the model's structure comes from: intercept, coefficients.
    direct : mapping from Candidate to (d,)
        The vocabulary columns that were direct terms of a candidate there.
    short : tuple of Evaluation
        Of very short models made by forward selection.
    """

    evaluations: tuple[Evaluation, ...] = ()
    price: Price = Price()
    fits: Mapping[CandidatePenalty, Floats] = field(default_factory=dict)
    direct: Mapping[Candidate, Index] = field(default_factory=dict)
    short: tuple[Evaluation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what the file keeps of the comparison, the frontier left to who makes models."""
        null = self.evaluations[0].deviance if self.evaluations else None
        return {
            "price": self.price.per_condition,
            "many": self.price.log_from,
            "compared": len(self.evaluations) + len(self.short),
            "null_deviance": null,
            "frontier": [],
        }

    def explained(self) -> float:
        """Return the deviance that the best evaluation explains of that without terms."""
        return max(self.evaluations[0].deviance - min(p.deviance for p in self.evaluations), 0.0)

    def cost(self, evaluation: Evaluation, explained: float) -> float:
        """Return the validated deviance and the price of a evaluation's conditions."""
        return evaluation.deviance + explained * self.price.of(evaluation.miu)

    def ranked(self, most: int | None) -> list[Evaluation]:
        """Return the evaluations of at most so many conditions, best first; ties to the simple.

        Where the best of all has more, the very short models compete as well: chosen by validation
        among many for their shortness, they would win too often where nobody asked for it.
        """
        best = self._sorted(self.evaluations)
        if most is None or best[0].miu <= most:
            return [p for p in best if most is None or p.miu <= most]
        return self._sorted([p for p in (*self.evaluations, *self.short) if p.miu <= most])

    def _sorted(self, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
        explained = self.explained()
        costs = {id(p): round(self.cost(p, explained), 12) for p in evaluations}
        return sorted(
            evaluations,
            key=lambda p: (costs[id(p)], p.miu, p.penalty.candidate.n_trees, -p.penalty.l1),
        )

    def frontier(
        self, loads: Sequence[int], chosen: Evaluation | None = None, longer: bool = True
    ) -> list[Evaluation]:
        """Return the best within some numbers of conditions, each better than those before.

        Parameters
        ----------
        loads : sequence of numbers of conditions
        chosen : Evaluation, optional
            Very short models that validation finds better still are left out: so many were tried
            that one of them may be so by chance.
        longer : bool
            Whether to return evaluations of more conditions than the chosen one.
        """
        least = -math.inf if chosen is None else chosen.deviance
        most = math.inf if longer or chosen is None else chosen.miu
        short = [p for p in self.short if p.deviance > least]
        best: list[Evaluation] = []

        def key(p: Evaluation) -> tuple[int, float, int, float]:
            return p.miu, round(p.deviance, 12), p.penalty.candidate.n_trees, -p.penalty.l1

        for evaluation in sorted(
            (p for p in (*self.evaluations, *short) if p.miu <= most), key=key
        ):
            if not best or key(evaluation)[1] < key(best[-1])[1]:
                best.append(evaluation)
        ends = np.searchsorted([p.miu for p in best], [*loads, math.inf], side="right")
        return [best[i - 1] for i in np.unique(ends) if i]

"""What inner validation compared: penalties, their losses, and the price of a condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.terms import TermSet
from rpte.fit.calibration import HeldOut
from rpte.rows import scale
from rpte.utils.arrays import Floats


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Validated loss of one penalty."""

    penalty: CandidatePenalty
    miu: int  # conditions of its active terms on the training rows
    deviance: float  # weighted mean over folds, or over blocks of the rows held out by a single one
    error: float  # its standard error

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain JSON values."""
        validated = {name: getattr(self, name) for name in ("miu", "deviance", "error")}
        return {**self.penalty.to_dict(), **validated}

    @property
    def complexity(self) -> tuple[int, float]:
        """Sorts ties between equal numbers of conditions: fewer trees, then a larger penalty."""
        return self.penalty.candidate.n_trees, -self.penalty.l1


@dataclass(frozen=True, slots=True)
class Price:
    """How much of the deviance that can be explained a model must explain for its conditions."""

    per_condition: float = 0.0  # fraction that one more condition must explain
    log_from: float = scale.LOG_PRICE_FROM  # conditions beyond which it grows with their logarithm
    # How far it is a fraction of what the best model leaves unexplained, where that is less than
    # what it explains: not at all, as far as of the other (their geometric mean), or fully.
    of_rest: float = 0.0

    @classmethod
    def at(cls, per_condition: float, n_cases: int, of_rest: float = 0.0) -> Price:
        """Return the price on a table of `n_cases`; `per_condition` is that on a small table."""
        less = min(1.0, scale.FULL_PRICE_CASES / n_cases)
        power = less**scale.PRICE_POWER
        return cls(per_condition * power, scale.LOG_PRICE_FROM / less, of_rest)

    def of(self, conditions: int) -> float:
        """Return the fraction that a model with this number of conditions must explain."""
        if conditions <= self.log_from:
            return self.per_condition * conditions
        return self.per_condition * self.log_from * (1.0 + math.log(conditions / self.log_from))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All evaluations that were compared; fits and terms are those on the reference fold."""

    evaluations: tuple[Evaluation, ...] = ()  # the first is the base rate
    price: Price = Price()
    # Approximate intercept and coefficients (q + 1,), and the terms of each candidate.
    fits: Mapping[CandidatePenalty, Floats] = field(default_factory=dict)
    terms: Mapping[Candidate, TermSet] = field(default_factory=dict)
    interactions: Mapping[str, Any] | None = None  # groups of variables, where they were looked for
    short: tuple[Evaluation, ...] = ()  # of very short models made by forward selection
    screened: int = 0  # evaluations that others replaced
    reference: Mapping[str, Any] | None = None  # what a black box explains beyond the best model
    # How far targets lie from means on held-out rows, of numbers, for what may be fitted.
    held_out: Mapping[CandidatePenalty, HeldOut] = field(default_factory=dict)
    promises: Mapping[str, str] | None = None  # directions of numbers that cost nothing

    def to_dict(self) -> dict[str, Any]:
        """Return what the model file keeps; the frontier is filled in when its models are there."""
        return {
            "price": self.price.per_condition,
            "many": self.price.log_from,
            "compared": len(self.evaluations) + len(self.short) + self.screened,
            "null_deviance": self.evaluations[0].deviance if self.evaluations else None,
            "frontier": [],
            **({} if self.interactions is None else {"interactions": self.interactions}),
            **({} if self.promises is None else {"promises": dict(self.promises)}),
            **({} if self.reference is None else {"reference": self.reference}),
        }

    def explained(self) -> float:
        """Return by how much the best evaluation lowers the deviance of the base rate."""
        return max(self.evaluations[0].deviance - self._least(), 0.0)

    def _least(self) -> float:
        least: float = min(map(attrgetter("deviance"), self.evaluations))
        return least

    def material(self) -> float:
        """Return the deviance that prices are fractions of: what is explained, or is left."""
        base, share = self.explained(), self.price.of_rest
        return base ** (1.0 - share) * min(base, self._least()) ** share if share else base

    def costs(self, evaluations: Sequence[Evaluation]) -> list[float]:
        """Return validated deviance plus price, for each of some evaluations."""
        base = self.material()
        return [e.deviance + base * self.price.of(e.miu) for e in evaluations]

    def ranked(self, most: int | None) -> list[Evaluation]:
        """Return the evaluations of at most `most` conditions, best first; ties to the simpler.

        The very short models compete only where the best of all is too long: as many are tried,
        one of them would too often win by chance. Conditions then have no price, because the
        budget says how many may be read.
        """
        best = self._sorted(self.evaluations)
        if not self.exceeds(most):
            return [e for e in best if most is None or e.miu <= most]
        within = [e for e in (*self.evaluations, *self.short) if e.miu <= (most or 0)]
        return sorted(within, key=lambda e: (round(e.deviance, 12), e.miu, e.complexity))

    def exceeds(self, most: int | None) -> bool:
        """Tell whether the best of all evaluations has more than `most` conditions."""
        return most is not None and self._sorted(self.evaluations)[0].miu > most

    def _sorted(self, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
        pairs = zip(self.costs(evaluations), evaluations, strict=True)
        order = sorted(pairs, key=lambda p: (round(p[0], 12), p[1].miu, p[1].complexity))
        return [evaluation for _, evaluation in order]

    def frontier(
        self, loads: Sequence[int], chosen: Evaluation | None = None, longer: bool = True
    ) -> list[Evaluation]:
        """Return the best within each of some numbers of conditions, each better than the shorter.

        Very short models that beat the `chosen` one are left out: as many were tried, that may be
        chance. Only if `longer`, evaluations of more conditions than the chosen one are returned.
        """
        least = -math.inf if chosen is None else chosen.deviance
        most = math.inf if longer or chosen is None else chosen.miu
        short = (e for e in self.short if e.deviance > least)
        compared = [e for e in (*self.evaluations, *short) if e.miu <= most]
        best: list[Evaluation] = []
        for e in sorted(compared, key=lambda e: (e.miu, round(e.deviance, 12), e.complexity)):
            if not best or round(e.deviance, 12) < round(best[-1].deviance, 12):
                best.append(e)
        ends = np.searchsorted([e.miu for e in best], [*loads, math.inf], side="right")
        return [best[i - 1] for i in np.unique(ends) if i]

"""Curves of cases over time: survival, cumulated hazards, incidences (numpy only)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.losses.risk_sets import GROUPED, LARGEST_HAZARD
from rpte.model.survival import Steps, SurvivalTarget
from rpte.utils.arrays import Floats

LARGEST_RATIO = 1e100  # of a hazard, so that parts of it can be told apart
STEP_CELLS = 2_000_000  # rows times steps times causes that are held at once


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curve:
    """A step function of time, as scikit-survival has them: `x`, `y`, `domain`, and a call."""

    x: Floats
    y: Floats
    name: str = "time"

    def __repr__(self) -> str:
        low, high = self.domain
        return f"Curve({len(self)} steps, {self.name} from {low:g} to {high:g})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import curve_html

        return curve_html(self)

    @property
    def domain(self) -> tuple[float, float]:
        """The first and the last time that the curve tells of."""
        return float(self.x[0]), float(self.x[-1])

    def __call__(self, times: Any) -> Any:
        """Return the values at some times, as many as are given."""
        asked = np.asarray(times, np.float64)
        low, high = self.domain
        if not ((asked >= low) & (asked <= high)).all():
            bad = np.atleast_1d(asked)[~np.atleast_1d((asked >= low) & (asked <= high))][0]
            raise InputError(
                f"{self.name} {bad:g} is outside of what was observed, from {low:g} to {high:g}"
            )
        found = self.y[np.searchsorted(self.x, asked, "right") - 1]
        return float(found) if asked.ndim == 0 else found

    def __len__(self) -> int:
        return len(self.x)


def curves(target: SurvivalTarget, score: Floats, strata: Any, survival: bool) -> list[Curve]:
    """Return the curve of each row: of survival, or of the cumulated hazard."""
    which, ratio = target.numbers_of(strata, len(score)), target.loss.response(score)
    known = [_grid(steps) for steps in target.baseline]
    found = []
    for k, each in zip(which.tolist(), ratio.tolist(), strict=True):
        times, hazard = known[k]
        y = np.where(hazard == 0.0, 0.0, each * np.where(hazard == 0.0, 1.0, hazard))
        found.append(Curve(times, np.exp(-y) if survival else y, target.time_name))
    return found


def _grid(steps: Steps) -> tuple[Floats, Floats]:
    """Return the times of a curve, from 0 to the end, and the hazard at them."""
    inner = np.array(steps.times)
    times = np.unique(np.concatenate([[0.0], inner, [steps.end]]))
    return times, steps.at(times)


def all_times(target: SurvivalTarget) -> Floats:
    """Return the times of all strata at which a curve may have a step, up to the earliest end."""
    times = np.unique(np.concatenate([_grid(steps)[0] for steps in target.baseline]))
    return np.asarray(times[times <= target.end])


@dataclass(frozen=True, slots=True, eq=False)
class JointSteps:
    """What each time adds to the hazards of all causes in one stratum, of a row of score 0."""

    times: Floats  # of events of any cause, (m,)
    hazard: Floats  # (causes, m)
    end: float

    @classmethod
    def of(cls, baselines: Sequence[Steps], grouped: bool) -> JointSteps:
        """Put the baselines of all causes together.

        A baseline that rises by d / n, where d of n rows at risk have an event, is the logarithm of
        a product of 1 - d / n but for a part that goes with (d / n) squared. That part is put right
        here for all causes together, so that without terms the incidences are those of Aalen and
        Johansen.
        """
        times = np.unique(np.concatenate([steps.times for steps in baselines]))
        rises = np.array([np.diff(steps.at(times), prepend=0.0) for steps in baselines])
        shares = -np.expm1(-rises) if grouped else rises
        total = shares.sum(axis=0)
        together = -np.log1p(-np.minimum(total, -math.expm1(-LARGEST_HAZARD)))
        return cls(times, shares * (together / total), min(steps.end for steps in baselines))

    @property
    def grid(self) -> Floats:
        """The times of a curve, from 0 to the end."""
        return np.unique(np.concatenate([[0.0], self.times, [self.end]]))

    def parts_at(self, ratio: Floats, times: Floats) -> Floats:
        """Return survival, then the incidence of each cause, at some times: (1 + causes, n, m).

        `ratio` (n, causes) are hazard ratios. In each step a row that was left has an event with
        the probability 1 - exp(-u), u being the sum of the hazards of all causes, and its cause is
        one of them as its hazard is a part of the sum.
        """
        place = np.searchsorted(self.times, times, "right")
        found = np.empty((1 + len(self.hazard), len(ratio), len(times)))
        rows = max(1, STEP_CELLS // max(1, self.hazard.size))
        for first in range(0, len(ratio), rows):
            some = slice(first, first + rows)
            found[:, some] = self._parts(ratio[some])[:, :, place]
        return found

    def _parts(self, ratio: Floats) -> Floats:
        """Return the same at time 0 and at every step, (1 + causes, n, 1 + steps)."""
        hazards = np.minimum(ratio, LARGEST_RATIO).T[:, :, None] * self.hazard[:, None, :]
        total = hazards.sum(axis=0)
        found = np.zeros((1 + len(hazards), total.shape[0], 1 + total.shape[1]))
        found[0, :, 0] = 1.0
        found[0, :, 1:] = np.exp(-np.cumsum(total, axis=1))
        came = found[0, :, :-1] * -np.expm1(-total)
        share = np.divide(hazards, total, out=np.zeros_like(hazards), where=total > 0.0)
        np.cumsum(came * share, axis=2, out=found[1:, :, 1:])
        return found


def joint_steps(targets: Sequence[SurvivalTarget]) -> list[JointSteps]:
    """Return the joint baseline of all causes, stratum after stratum."""
    grouped = targets[0].ties == GROUPED
    alike = zip(*(target.baseline for target in targets), strict=True)
    return [JointSteps.of(baselines, grouped) for baselines in alike]


def joint_parts(
    targets: Sequence[SurvivalTarget], score: Floats, times: Floats, strata: Any
) -> Floats:
    """Return survival, then the incidence of each cause, at some times: (1 + causes, n, m).

    `score` is (n, causes).
    """
    which = targets[0].numbers_of(strata, len(score))
    found = np.empty((1 + len(targets), len(score), len(times)))
    for k, steps in enumerate(joint_steps(targets)):
        mine = np.flatnonzero(which == k)
        found[:, mine] = steps.parts_at(targets[0].loss.response(score[mine]), times)
    return found


def joint_curves(
    targets: Sequence[SurvivalTarget], score: Floats, strata: Any, part: int
) -> list[Curve]:
    """Return the curve of each row: of survival (part 0), or of the incidence of a cause."""
    which, steps = targets[0].numbers_of(strata, len(score)), joint_steps(targets)
    found = []
    for row, k in enumerate(which.tolist()):
        ratio = targets[0].loss.response(score[row : row + 1])
        y = steps[k].parts_at(ratio, steps[k].grid)[part, 0]
        found.append(Curve(steps[k].grid, y, targets[0].time_name))
    return found

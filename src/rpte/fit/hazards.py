"""Stage 3 of hazards: Poisson fits, each beside the baseline that the fit before has left.

Where the scores are those of the baseline, the gradient is that of the partial likelihood, and its
optimality conditions are those of the fit: both are checked at the last of them. The curvature of a
Poisson fit is never less than that of the partial likelihood, so that no step goes too far. Where
effects are strong it is much larger, and steps are short: they are extrapolated, as far as that
lowers the objective.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rpte.errors import InputError
from rpte.estimation.block_design import BlockDesign
from rpte.estimation.design import Design
from rpte.estimation.extrapolation import Extrapolation
from rpte.estimation.monotone import Ties
from rpte.estimation.problem import AnyProblem
from rpte.estimation.quadratic import Penalty
from rpte.estimation.solver import Fit, lambda_max, target_residual
from rpte.fit.coefficients import Estimate
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.model.certificate import stage3_tolerance
from rpte.model.observed import Exposed, exposed, exposed_first
from rpte.model.survival import SurvivalTarget, longest_times
from rpte.rows.training_rows import MemoryRows
from rpte.table.table import Table
from rpte.utils.arrays import Floats

logger = logging.getLogger("rpte")

TURNS = 100  # of fit and baseline, at most
HALVINGS = 8  # of a step that went too far
SLOW = 0.7  # times the residual of the turn before: where turns hardly help any more
CLOSE = 10.0  # times the residual at which a fit stops


@dataclass(frozen=True, slots=True, eq=False)
class Hazards:
    """Rows with the times that they were under observation."""

    weight: Floats  # as users gave them, (n,)
    risk: RiskSets

    def exposed(self, score: Floats) -> Exposed:
        """Return what a Poisson fit sees beside the baseline at some scores (n,)."""
        return exposed(self.risk, self.weight, score)

    def deviance(self, score: Floats) -> float:
        """Return minus twice the logarithm of the likelihood, by the weight of all rows."""
        return -2.0 * self.risk.log_likelihood(score) / float(self.weight.sum())


@dataclass(frozen=True, slots=True, eq=False)
class TableHazards(Hazards):
    """The hazards of a table, in the order of its rows."""

    table: Table  # targets are 1.0 where an event was seen
    ends: tuple[float, ...]  # the longest time of each stratum
    first: Table  # of a Poisson fit beside the baseline without terms

    @classmethod
    def of(cls, table: Table, rows: FollowUp, target: SurvivalTarget) -> TableHazards:
        """Return the hazards of a table whose targets are keys of the follow-up of some rows."""
        keys, first = np.unique(rows.keys(), return_index=True)
        seen = rows.take(first[np.searchsorted(keys, table.y)])
        _check_events(seen, target)
        risk = RiskSets.of(seen, table.weight, target.ties)
        ends = longest_times(seen, table.weight)
        beside = exposed_first(seen, risk, table.weight)
        counted = replace(table, y=seen.event.astype(np.float64))
        begin = replace(table, y=beside.y, weight=beside.weight)
        return cls(table.weight, risk, counted, ends, begin)

    @property
    def rows(self) -> MemoryRows:
        """The rows as people count them."""
        return MemoryRows(self.table)


def _check_events(rows: FollowUp, target: SurvivalTarget) -> None:
    """Refuse rows without an event, and strata without one."""
    if not rows.event.any():
        raise InputError("no row has an event while it is under observation; hazards need some")
    came = np.bincount(rows.strata[rows.event], minlength=len(target.strata))
    of_cause = "" if target.status is None else f" of {target.outcome}"
    for label, events in zip(target.strata, came, strict=False):
        if not events:
            raise InputError(
                f"the stratum {label!r} has no event{of_cause}, so that its baseline is not known; "
                "merge it with another one"
            )


def retargeted(design: AnyProblem, seen: Exposed) -> AnyProblem:
    """Return a problem with other targets and weights of the same rows."""
    if isinstance(design, Design):
        return replace(design, y=seen.y, weight=seen.weight)
    assert isinstance(design, BlockDesign)
    assert isinstance(design.rows, MemoryRows)
    return replace(design, rows=design.rows.retargeted(seen.y, seen.weight), sample=None)


def estimate_hazards(
    hazards: Hazards,
    design: AnyProblem,
    solve: Callable[[AnyProblem, Floats | None], Estimate],
    l1_ratio: float,
    start: Floats | None,
) -> Estimate:
    """Solve equation (5) of the partial likelihood, from a problem beside the first baseline.

    `solve` is Stage 3 of a Poisson problem, from a start.
    """
    top, before, turns = 0.0, np.inf, 0
    if design.n_terms:
        top = lambda_max(design, l1_ratio)
    beside, steps = np.zeros(design.n_terms), Extrapolation()  # whose baseline the fit is beside
    if start is not None:
        beside, seen = start[1:], hazards.exposed(design.score(float(start[0]), start[1:]))
        design, start = retargeted(design, seen), np.array([start[0] - seen.shift, *beside])
    while True:
        found = solve(design, start)
        fit, turns = found.fit, turns + 1
        design, fit, score = _moved(hazards, design, fit)
        kkt = _violation(found.ties.apply(design), found.ties, fit)
        allowed = stage3_tolerance(top, fit.l1)
        settled = kkt <= allowed and kkt > SLOW * before  # what is left is rounding
        if settled or kkt <= CLOSE * target_residual(fit.l1, top) or turns == TURNS:
            break
        asked, before = steps.next(beside, fit.coefficients), kkt
        value, step = _value(hazards, design, fit, score), asked - fit.coefficients
        beside = fit.coefficients + _not_too_far(hazards, design, fit, value, step)
        if not np.array_equal(beside, fit.coefficients):
            design, fit, _ = _moved(hazards, design, replace(fit, coefficients=beside))
        elif step.any():
            steps.restart()
        start = np.array([fit.intercept, *beside])
    logger.debug("Stage 3: %d baselines, residual %.3g", turns, kkt)
    value = _value(hazards, design, fit, score)
    fit = replace(fit, objective=value, kkt=kkt, converged=bool(kkt <= allowed))
    return Estimate(fit, design, found.ties, top)


def _moved(hazards: Hazards, design: AnyProblem, fit: Fit) -> tuple[AnyProblem, Fit, Floats]:
    """Return a problem, and a fit, beside the baseline at the scores of the fit, and these (n,)."""
    score = design.score(fit.intercept, fit.coefficients)
    seen = hazards.exposed(score)
    return retargeted(design, seen), replace(fit, intercept=fit.intercept - seen.shift), score


def _not_too_far(
    hazards: Hazards, design: AnyProblem, fit: Fit, value: float, step: Floats
) -> Floats:
    """Return as much of a step from a fit as leaves the objective at its value, or below."""
    for _ in range(HALVINGS if step.any() else 0):
        further = replace(fit, coefficients=fit.coefficients + step)
        if _value(hazards, design, further, design.score(0.0, further.coefficients)) <= value:
            return step
        step = 0.5 * step
    return np.zeros(len(step))


def _value(hazards: Hazards, design: AnyProblem, fit: Fit, score: Floats) -> float:
    """Return equation (5) of the partial likelihood at a fit with some scores (n,)."""
    penalty = Penalty.of(design, fit.l1, fit.l1_ratio).value(fit.coefficients)
    return hazards.deviance(score) + penalty


def _violation(tied: AnyProblem, ties: Ties, fit: Fit) -> float:
    """Return the largest violation of the optimality conditions of a problem at a fit."""
    members = ties.members
    theta = np.concatenate([np.zeros(tied.n_leaves), fit.coefficients[len(members) :]])
    theta[members] = fit.coefficients[: len(members)]
    at_intercept, slopes = tied.gradient(fit.intercept, theta)
    found = Penalty.of(tied, fit.l1, fit.l1_ratio).residuals(slopes, theta)
    return max(abs(at_intercept), float(found.max(initial=0.0)))

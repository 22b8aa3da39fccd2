"""Stage 3 of hazards: the rows of a table with their risk sets, and the fit over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rpte.errors import InputError
from rpte.estimation.block_design import BlockDesign
from rpte.estimation.design import Design
from rpte.estimation.partial_likelihood import PartialLikelihood
from rpte.estimation.problem import AnyProblem
from rpte.estimation.solver import lambda_max
from rpte.fit.coefficients import Estimate
from rpte.losses.risk_sets import LARGEST_RANGE, FollowUp, RiskSets
from rpte.model.certificate import stage3_tolerance
from rpte.model.observed import Exposed, exposed, exposed_first
from rpte.model.survival import SurvivalTarget, longest_times
from rpte.rows.training_rows import MemoryRows
from rpte.table.table import Table
from rpte.utils.arrays import Floats

AT_LIMIT = 0.9  # of the largest range of scores


@dataclass(frozen=True, slots=True, eq=False)
class Hazards:
    """Rows with the times that they were under observation."""

    weight: Floats  # as users gave them, (n,)
    risk: RiskSets

    def exposed(self) -> Exposed:
        """Return what a Poisson fit sees beside the baseline without terms."""
        return exposed(self.risk, self.weight)


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


def estimate_hazards(
    hazards: Hazards,
    design: AnyProblem,
    solve: Callable[[AnyProblem, Floats | None], Estimate],
    l1_ratio: float,
    start: Floats | None,
) -> Estimate:
    """Solve equation (5) of the partial likelihood, from a problem beside the first baseline.

    `solve` is Stage 3 of a problem, from a start. What is promised rests on the largest lambda with
    a term beside the first baseline, which of several causes is that of all.
    """
    assert isinstance(design, Design | BlockDesign)
    top = lambda_max(design, l1_ratio) if design.n_terms else 0.0
    problem = PartialLikelihood(design, hazards.risk)
    found = solve(problem, start)
    converged = found.fit.kkt <= stage3_tolerance(top, found.fit.l1)
    return Estimate(replace(found.fit, converged=converged), problem, found.ties, top)


def is_out_of_range(found: Estimate) -> bool:
    """Tell whether a fit ended where scores differ as much as a baseline can be stored for."""
    score = found.design.score(0.0, found.fit.coefficients)
    return not found.fit.converged and float(np.ptp(score)) > AT_LIMIT * LARGEST_RANGE

"""Training rows with their targets and weights, as a fit saw them (numpy only)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rpte.errors import InputError
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.model.outcome import read_outcome
from rpte.model.survival import SurvivalTarget, follow_up
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats, Ints

LEAST = 1e-12  # weight of a row that was under observation at no event


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with their targets and weights as the fit saw them: 1.0 for positive, factors included.

    `cases` is how many cases each row stands for, as its weight says before class factors. Of times
    until an event the targets are 1.0 where one was seen, and `seen` says when.
    """

    inputs: Inputs
    y: Floats
    weight: Floats
    cases: Ints
    seen: FollowUp | None = None


class Exposed(NamedTuple):
    """Targets and weights of a Poisson fit, (n,) each."""

    y: Floats
    weight: Floats


def exposed(risk: RiskSets, weight: Floats) -> Exposed:
    """Return targets and weights of a Poisson fit beside the baseline without terms.

    Weights add up to what they did, so that a penalty means the same as for the likelihood.
    """
    exposure, event = risk.tangent(np.zeros(len(weight)))
    found = weight * exposure
    if not found.sum() > 0.0:
        raise InputError(
            "no interval tells hazards apart: in each, all rows under observation have the event, "
            "or none has; give more intervals"
        )
    factor = float(weight.sum() / found.sum())
    found = np.maximum(found * factor, LEAST * weight)
    rates = np.divide(event * weight, found, out=np.zeros(len(found)), where=found > 0.0)
    return Exposed(rates, found)


def exposed_first(seen: FollowUp, risk: RiskSets, weight: Floats) -> Exposed:
    """Return what a fit sees beside the baseline without terms.

    Of several causes it is that of an event of any cause, the same for all of them: what follows
    from the weights of the rows (knots, centres, thresholds) is then the same, too.
    """
    if seen.status is None:
        return exposed(risk, weight)
    found = exposed(RiskSets.of(seen.of_any_cause, weight, risk.ties), weight)
    return found._replace(y=np.where(seen.event, found.y, 0.0))


def observed(
    target: SurvivalTarget, inputs: Inputs, y: Any, weight: Floats, cases: Ints, *beside: Any
) -> Rows:
    """Return rows with their times under observation; `beside` are entry and strata."""
    outcome = read_outcome(y, inputs.n_rows, target.status)
    seen = follow_up(target, outcome, *beside)
    return Rows(inputs, seen.event.astype(np.float64), weight, cases, seen)

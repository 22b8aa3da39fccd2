"""Cross-validation of times until an event: outcomes by row, strata of folds, figures of a fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.audit.survival_metrics import SurvivalRows, brier_scores, harrell, integrated, time_grid
from rpte.estimators.outcomes import interval_grid, survival_target
from rpte.losses.risk_sets import GROUPED
from rpte.model.model import Model
from rpte.model.outcome import read_outcome
from rpte.model.survival import SurvivalTarget, follow_up
from rpte.table.table import read_weights
from rpte.utils.arrays import Array, Ints

if TYPE_CHECKING:
    from rpte.estimators.survival import RPTESurvival

POINTS = 50  # times at which Brier scores are taken, from the 5% to the 95% point of events


@dataclass(frozen=True, slots=True)
class SurvivalFoldResult:
    """Figures of one fold of times until an event on the rows held out.

    Harrell's concordance is None where no two rows can be compared. The Brier score is integrated
    over time, `brier_explained` is what it is less than that of the Kaplan-Meier curve of these
    rows, as a share; both are None where rows came under observation late, or had no event.
    """

    rows: int
    concordance: float | None
    brier: float | None
    brier_explained: float | None
    miu: int


def by_row(y: Any, n_rows: int) -> Array:
    """Return outcomes as a structured array, of which rows can be taken."""
    outcome = read_outcome(y, n_rows)
    names = outcome.event_name or "event", outcome.time_name or "time"
    found = np.empty(n_rows, [(names[0], np.bool_), (names[1], np.float64)])
    found[names[0]], found[names[1]] = outcome.event, outcome.time
    return found


def strata_of(y: Array) -> Ints:
    """Return what folds keep even: no event, an early one, a late one."""
    outcome = read_outcome(y, len(y))
    middle = np.median(outcome.time[outcome.event]) if outcome.event.any() else 0.0
    return np.where(outcome.event, 1 + (outcome.time > middle), 0).astype(np.int64)


def changed_parameters(fitted: RPTESurvival, y: Any, weight: Any, n_rows: int) -> list[str]:
    """Return what of the target an estimator asks for otherwise than its model was fitted."""
    target, asked = fitted.model_.target, survival_target(fitted)
    assert isinstance(target, SurvivalTarget)
    if (asked.loss, asked.ties) != (target.loss, target.ties):
        return ["loss" if asked.loss != target.loss else "ties"]
    if target.ties != GROUPED:
        return []
    outcome, weights = read_outcome(y, n_rows), read_weights(weight, n_rows)
    came = outcome.event & (weights > 0.0)
    grid = interval_grid(fitted.intervals, outcome.time[came], weights[came])
    return [] if grid == target.grid else ["intervals"]


def fold_result(
    model: Model, X: Any, y: Array, weight: Any, entry: Any = None, strata: Any = None
) -> SurvivalFoldResult:
    """Return the figures of a model on rows that it has not seen."""
    target, outcome = model.target, read_outcome(y, len(y))
    assert isinstance(target, SurvivalTarget)
    seen = follow_up(replace(target, ties="breslow"), outcome, entry, strata)  # times as they are
    rows = SurvivalRows.of(seen, model.score(X), read_weights(weight, len(y)))
    pairs = harrell(rows)
    own, explained = _briers(target, rows, strata)
    known = None if np.isnan(pairs) else pairs
    return SurvivalFoldResult(len(y), known, own, explained, model.audit().miu)


def _briers(
    target: SurvivalTarget, rows: SurvivalRows, strata: Any
) -> tuple[float | None, float | None]:
    """Return the integrated Brier score, and how much less it is than without variables."""
    if rows.seen.entry is not None or not rows.seen.event.any():
        return None, None
    grid = time_grid(rows, POINTS)
    if len(grid) < 2:
        return None, None
    labels = None if strata is None else np.asarray(strata)[rows.places]
    told = target.survival_at(rows.score, grid, labels)
    own, plain = (
        integrated(brier_scores(rows, each, grid), grid) for each in (told, rows.observed.at(grid))
    )
    return own, 1.0 - own / plain if plain > 0.0 else None

"""What a page says of a time until an event: its baseline, and cases with their own curves."""

from collections.abc import Iterator, Sequence

import numpy as np

from rpte.audit.kaplan_meier import censoring, kaplan_meier
from rpte.figures.effect import Record
from rpte.losses.risk_sets import FollowUp
from rpte.model.curves import curves
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.report.cards import explanation_contents, nearest
from rpte.report.evidence import Evidence
from rpte.report.survival_performance import corners, mean_curve, target_of
from rpte.utils.arrays import Array, Floats

LOSS_NAMES = {
    "cox": "Cox's partial likelihood",
    "discrete": "the likelihood of hazards by interval (complementary log-log)",
}


def survival_identity(model: Model, horizons: Sequence[float]) -> Record:
    """Return what a page says of the outcome, and the baseline of each stratum."""
    target = target_of(model)
    return {
        "outcome": target.outcome,
        "time": target.time_name,
        "multiplies": True,
        "loss": model.loss.to_dict(),
        "loss_text": LOSS_NAMES[model.loss.name],
        "ties": target.ties,
        "events": target.total,
        "has_entry": target.has_entry,
        "end": target.end,
        "end_text": target.when(target.end),
        "horizons": [{"horizon": h, "text": target.when(h)} for h in horizons],
        "baselines": [
            {
                "name": str(target.strata[k]) if target.strata else "all rows",
                "curve": baseline_curve(target, k),
                "at": np.exp(-steps.at(np.array(horizons))).tolist(),
            }
            for k, steps in enumerate(target.baseline)
        ],
    }


def baseline_curve(target: SurvivalTarget, number: int, score: float = 0.0) -> list[list[float]]:
    """Return the corners of the survival curve of a score in one stratum."""
    label = np.array([target.strata[number]], object) if target.strata else None
    curve = curves(target, np.array([score]), label, survival=True)[0]
    return corners(curve.x, curve.y)


def follow_up_facts(seen: FollowUp, weight: Floats) -> Record:
    """Return how long rows were under observation: longest, medians by Kaplan-Meier."""
    watched, known = censoring(seen, weight), kaplan_meier(seen, weight)
    return {
        "longest": float(seen.time[weight > 0.0].max()),
        "median_follow_up": _median(watched.times, watched.values),
        "median_survival": _median(known.times, known.values),
    }


def _median(times: Floats, values: Floats) -> float | None:
    """Return the first time at which a curve is at one half or below; None if it never is."""
    below = np.flatnonzero(values <= 0.5 + 1e-12)
    return float(times[below[0]]) if len(below) else None


def survival_cases(model: Model, evidence: Evidence, horizons: Sequence[float]) -> list[Record]:
    """Return a few rows with the reason why each was taken, their sums and their curves."""
    target, score = target_of(model), model.score(evidence.inputs)
    chosen: dict[int, str] = {}
    for row, why in _chosen(target, evidence, score):
        chosen.setdefault(row, why)
    rows = np.array(list(chosen), np.intp)
    average = mean_curve(target, score, evidence.weight, evidence.strata, target.end)
    explained = model.explain(evidence.inputs.take(rows))
    return [
        {
            "why": chosen[row],
            "row": int(evidence.places[row]) + 1,
            **explanation_contents(explanation),
            **case_over_time(
                target, float(score[row]), horizons, average, _label(evidence.strata, row)
            ),
            "outcome": _outcome_text(target, evidence, row),
        }
        for row, explanation in zip(rows.tolist(), explained, strict=True)
    ]


def _label(strata: Array | None, row: int) -> Array | None:
    return None if strata is None else strata[[row]]


def case_over_time(
    target: SurvivalTarget,
    score: float,
    horizons: Sequence[float],
    average: list[list[float]],
    label: Array | None = None,
) -> Record:
    """Return the curve of a case beside the average, and its survival at the horizons."""
    which = int(target.numbers_of(label, 1)[0])
    own = target.survival_at(np.array([score]), np.array(horizons), label)[0]
    times, heights = zip(*average, strict=True)
    beside = np.interp(np.array(horizons), times, heights)
    median = float(target.median(np.array([score]), label)[0])
    return {
        "stratum": None if label is None else str(label[0]),
        "curve": baseline_curve(target, which, score),
        "average": average,
        "survival": [
            {"horizon": h, "text": target.when(h), "value": float(s), "average": float(a)}
            for h, s, a in zip(horizons, own, beside, strict=True)
        ],
        "median": target.when(median) if np.isfinite(median) else None,
    }


def _outcome_text(target: SurvivalTarget, evidence: Evidence, row: int) -> str | None:
    if evidence.seen is None:
        return None
    when = target.when(float(evidence.seen.time[row]))
    return f"{target.outcome} at {when}" if evidence.seen.event[row] else f"none until {when}"


def _chosen(target: SurvivalTarget, evidence: Evidence, score: Floats) -> Iterator[tuple[int, str]]:
    held = np.flatnonzero(evidence.weight > 0)
    yield nearest(held, score), "Typical: the score nearest to the median"
    yield int(held[score[held].argmax()]), "Extreme: the highest hazard"
    yield int(held[score[held].argmin()]), "Extreme: the lowest hazard"
    if evidence.seen is None:
        return
    seen, which = evidence.seen, evidence.seen.strata
    hazard = np.zeros(len(score))
    for k, steps in enumerate(target.baseline):
        mine = np.flatnonzero(which == k)
        since = 0.0 if seen.entry is None else steps.at(seen.entry[mine])
        hazard[mine] = steps.at(seen.time[mine]) - since
    hazard *= target.loss.response(score)
    came = held[seen.event[held]]
    if len(came):
        early = int(came[hazard[came].argmin()])
        yield early, "Far off: the event came when least of it was expected"
    gone = held[~seen.event[held]]
    if len(gone):
        late = int(gone[hazard[gone].argmax()])
        yield late, "Far off: no event, although most of it was expected until then"

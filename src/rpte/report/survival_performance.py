"""Performance of hazards on a table: order of risk, curves, calibration at horizons, groups."""

from collections.abc import Callable, Sequence

import numpy as np

from rpte.audit import metrics
from rpte.audit.kaplan_meier import KaplanMeier, kaplan_meier
from rpte.audit.proportional_hazards import Schoenfeld, proportional, schoenfeld, smooth, terms_of
from rpte.audit.survival_calibration import (
    bands_of,
    calibration_at,
    calibration_slope,
    d_calibration,
    risk_groups,
)
from rpte.audit.survival_metrics import (
    SurvivalRows,
    brier_scores,
    dynamic_auc,
    harrell,
    integrated,
    time_grid,
    uno,
)
from rpte.figures.effect import Record
from rpte.losses.risk_sets import GROUPED, FollowUp
from rpte.model.model import Model
from rpte.model.outcome import Outcome
from rpte.model.survival import SurvivalTarget, follow_up
from rpte.report.cards import finite
from rpte.report.evidence import Evidence
from rpte.report.performance import LEAST, group_rows
from rpte.utils.arrays import Array, Floats, Index

# Names of the measures, and what people read from them; `until` is filled in.
MEASURES = {
    "concordance": (
        "Concordance (Harrell)",
        "of two rows of which one is known to have the event first, how often it has the higher "
        "risk score; 0.5 is chance, 1 is perfect order",
    ),
    "uno": (
        "Concordance (Uno), until {until}",
        "the same, weighted so that it does not depend on when observation ended",
    ),
    "brier": (
        "Integrated Brier score, {since} to {until}",
        "mean squared error of the survival told, over time; lower is better",
    ),
    "brier_reference": (
        "The same of Kaplan-Meier",
        "one curve for everybody: what a model without variables reaches",
    ),
    "explained": (
        "Brier score explained",
        "1 - Brier score / that of Kaplan-Meier; 0: no better than one curve for all",
    ),
    "slope": (
        "Calibration slope",
        "coefficient of the risk score in a fit on it alone; 1 is ideal, below 1 hazard ratios are "
        "too extreme",
    ),
}
GRID, CURVE = 25, 60  # times at which measures, and mean curves, are drawn
MOST_STEPS = 150  # of a curve that is drawn
GROUPS, BANDS, FEW_BANDS, EVENTS_FOR_BANDS = 4, 10, 5, 200
GROUP_NAMES = ("lowest risk", "lower risk", "higher risk", "highest risk")
LEVEL = 0.05  # of tests
DRAWN = 4  # components, and terms, whose residuals are drawn: those that change most
SAMPLE = 20_000  # rows over which curves are averaged, at most


def target_of(model: Model) -> SurvivalTarget:
    """Return the target of a model of a time until an event."""
    assert isinstance(model.target, SurvivalTarget)
    return model.target


def asked_horizons(model: Model, given: Sequence[float]) -> list[float]:
    """Return the horizons that were asked for, or those of the model."""
    target = target_of(model)
    return sorted(set(target.check_times(given).tolist())) if given else list(target.horizons)


def survival_performance(
    model: Model, evidence: Evidence, resamples: int, horizons: Sequence[float]
) -> Record | None:
    """Return everything that is measured on the whole table; None without outcomes."""
    if evidence.seen is None:
        return None
    target, score = target_of(model), model.score(evidence.inputs)
    rows = SurvivalRows.of(evidence.seen, score, evidence.weight)
    strata = None if evidence.strata is None else evidence.strata[rows.places]
    told: Record = {
        "rows": len(rows.score),
        "weight": float(rows.weight.sum()),
        "events": float((rows.weight * rows.event).sum()),
        "training": evidence.training,
        "resamples": resamples,
        "late_entry": evidence.seen.entry is not None,
        "no_events": not rows.seen.event.any(),
    }
    if told["no_events"]:
        return {**told, "measures": []}
    grid = time_grid(rows, GRID)
    inside = [h for h in horizons if h < rows.seen.time[-1]]
    measured = _Measured(rows, target, strata, np.array(inside), grid)
    groups = bands_of(rows, GROUPS)
    return {
        **told,
        **measured.contents(resamples),
        "unreached": [h for h in horizons if h not in inside],
        "curve": _curve(rows, target, strata, np.arange(len(rows.score))),
        "groups": _risk_groups(rows, target, strata, groups, horizons),
        "d_calibration": _d_calibration(target, rows, strata),
        "proportional": proportional_hazards(model, evidence),
    }


class _Measured:
    """Measures of rows at horizons and over a grid of times, with intervals."""

    def __init__(
        self,
        rows: SurvivalRows,
        target: SurvivalTarget,
        strata: Array | None,
        horizons: Floats,
        grid: Floats,
    ) -> None:
        self.rows, self.target, self.strata = rows, target, strata
        self.horizons, self.grid = horizons, grid
        self.at = target.survival_at(rows.score, horizons, strata)
        self.over = target.survival_at(rows.score, grid, strata)
        self.weighted = rows.seen.entry is None and len(grid) > 1

    def everything(self, rows: SurvivalRows) -> Floats:
        """Return all numbers that the bootstrap gives an interval, one after the other."""
        if not self.weighted:
            return np.array([harrell(rows)])
        auc = dynamic_auc(rows, np.concatenate([self.horizons, self.grid]))
        own, reference = (
            [brier_scores(rows, told, times) for told, times in pairs]
            for pairs in (
                ((self.at, self.horizons), (self.over, self.grid)),
                [(rows.observed.at(t), t) for t in (self.horizons, self.grid)],
            )
        )
        whole, plain = (integrated(each[1], self.grid) for each in (own, reference))
        until = float(self.grid[-1])
        single = [harrell(rows), uno(rows, until), whole, plain, 1.0 - whole / plain]
        return np.concatenate([single, auc, own[0], reference[0], own[1], reference[1]])

    def contents(self, resamples: int) -> Record:
        """Return the measures, those at each horizon, and those over time."""
        rows = self.rows
        table = _bootstrapped(rows, self.everything, resamples)
        single = table[:, :1] if not self.weighted else table[:, :5]
        found: Record = {"measures": self._measures(single)}
        h, m = len(self.horizons), len(self.grid)
        sizes = [5, h, m, h, h, m, m]
        empty = np.full((3, sum(sizes)), np.nan)
        parts = np.split(table if self.weighted else empty, np.cumsum(sizes)[:-1], axis=1)
        _, auc, auc_over, brier, reference, brier_over, reference_over = parts
        found["at"] = [
            self._horizon(k, {"auc": auc, "brier": brier, "brier_reference": reference})
            for k in range(h)
        ]
        over = {"auc": auc_over, "brier": brier_over, "brier_reference": reference_over}
        drawn = {key: _lines(self.grid, each) for key, each in over.items()}
        return {**found, "over_time": drawn if self.weighted else None}

    def _measures(self, table: Floats) -> list[Record]:
        ends = [float(f"{end:.3g}") for end in (*self.grid[:1], *self.grid[-1:])]
        values = dict(zip(MEASURES, table.T.tolist(), strict=False))
        slope = calibration_slope(self.rows, _ties(self.target))
        values["slope"] = [None] * 3 if slope is None else list(slope)
        texts = map(self.target.when, ends)
        said = dict(zip(("since", "until"), texts, strict=False))  # none where no grid is
        return [
            {
                "key": key,
                "name": name.format(**said) if self.weighted else name,
                "meaning": meaning,
                **dict(zip(("value", "low", "high"), map(_finite, values[key]), strict=True)),
            }
            for key, (name, meaning) in MEASURES.items()
            if key in values
        ]

    def _horizon(self, k: int, tables: dict[str, Floats]) -> Record:
        rows, horizon = self.rows, float(self.horizons[k])
        risk = 1.0 - self.at[:, k]
        events = float((rows.weight * rows.event).sum())
        known, expected = rows.observed.interval(horizon), rows.mean(risk)
        observed = None if known is None else [1.0 - known[0], 1.0 - known[2], 1.0 - known[1]]
        many = BANDS if events >= EVENTS_FOR_BANDS else FEW_BANDS
        return {
            "horizon": horizon,
            "text": self.target.when(horizon),
            "observed": observed,
            "expected": expected,
            "ratio": expected / observed[0] if observed and observed[0] > 0.0 else None,
            **{key: [_finite(each) for each in table[:, k]] for key, table in tables.items()},
            "bands": calibration_at(rows, risk, horizon, many),
        }


def _ties(target: SurvivalTarget) -> str:
    """Return how ties of times as they are are taken; those of a grid as in Efron's way."""
    return "efron" if target.ties == GROUPED else target.ties


def _finite(value: float | None) -> float | None:
    return None if value is None else finite(float(value))


def _lines(grid: Floats, table: Floats) -> Record:
    """Return a measure over time with its band, without what is not defined."""
    known = np.isfinite(table).all(axis=0)
    names = ("y", "low", "high")
    lines = {name: table[i, known].round(5).tolist() for i, name in enumerate(names)}
    return {"x": grid[known].tolist(), **lines}


def corners(times: Floats, values: Floats) -> list[list[float]]:
    """Return the corners of a step function, of many steps some."""
    kept = np.arange(len(times))
    if len(kept) > MOST_STEPS:
        kept = np.unique(np.linspace(0, len(kept) - 1, MOST_STEPS).astype(int))
    points: list[list[float]] = []
    for time, value in zip(times[kept].tolist(), values[kept].tolist(), strict=True):
        before = [[time, points[-1][1]]] if points else []
        points += [*before, [time, round(value, 5)]]
    return points


def steps_drawn(curve: KaplanMeier) -> list[list[float]]:
    """Return the corners of a Kaplan-Meier curve, from time 0 to its end."""
    times = np.concatenate([[0.0], curve.times, [curve.end]])
    return corners(times, curve.at(times))


def mean_curve(
    target: SurvivalTarget, score: Floats, weight: Floats, strata: Array | None, end: float
) -> list[list[float]]:
    """Return the mean of the survival curves that are told, at some times from 0 to an end."""
    step = max(1, len(score) // SAMPLE)
    rows = np.argsort(score, kind="stable")[step // 2 :: step]
    times = np.linspace(0.0, min(end, target.end), CURVE)
    told = target.survival_at(score[rows], times, None if strata is None else strata[rows])
    mean = np.average(told, axis=0, weights=weight[rows])
    return [[float(t), round(float(v), 5)] for t, v in zip(times, mean, strict=True)]


def _curve(
    rows: SurvivalRows, target: SurvivalTarget, strata: Array | None, inside: Index
) -> Record:
    """Return what was observed of some rows, and what was told."""
    seen, weight = rows.seen.take(inside), rows.weight[inside]
    known = kaplan_meier(seen, weight)
    own = None if strata is None else strata[inside]
    told = mean_curve(target, rows.score[inside], weight, own, known.end)
    return {"observed": steps_drawn(known), "predicted": told}


def _risk_groups(
    rows: SurvivalRows,
    target: SurvivalTarget,
    strata: Array | None,
    groups: list[Index],
    horizons: Sequence[float],
) -> Record | None:
    """Return quarters of the rows by their risk score, their curves, and the log-rank test."""
    if len(groups) < 2:
        return None
    found, test = risk_groups(rows, groups)
    names = GROUP_NAMES if len(groups) == GROUPS else [f"group {k + 1}" for k in range(len(groups))]
    for name, record, inside in zip(names, found, groups, strict=True):
        known = kaplan_meier(rows.seen.take(inside), rows.weight[inside])
        own = None if strata is None else strata[inside]
        told = target.survival_at(rows.score[inside], np.array(horizons), own)
        means = np.average(told, axis=0, weights=rows.weight[inside])
        score = rows.score[inside]
        record |= {
            "name": name,
            "range": [finite(float(np.exp(end))) for end in (score.min(), score.max())],
            "at": [
                {"observed": known.interval(h), "predicted": float(mean)}
                for h, mean in zip(horizons, means, strict=True)
            ],
            **_curve(rows, target, strata, inside),
        }
    fields = ("statistic", "degrees", "p_value")
    return {"groups": found, "test": {name: _finite(getattr(test, name)) for name in fields}}


def _d_calibration(target: SurvivalTarget, rows: SurvivalRows, strata: Array | None) -> Record:
    """Return the D-calibration, of times as the loss sees them."""
    seen = _as_fitted(target, rows.seen, strata)
    which = seen.strata
    survival, entered = np.ones(len(which)), np.ones(len(which))
    ratio = target.loss.response(rows.score)
    for k, steps in enumerate(target.baseline):
        mine = np.flatnonzero(which == k)
        survival[mine] = np.exp(-ratio[mine] * steps.at(seen.time[mine]))
        if seen.entry is not None:
            entered[mine] = np.exp(-ratio[mine] * steps.at(seen.entry[mine]))
    return d_calibration(rows, survival, entered)


def _as_fitted(target: SurvivalTarget, seen: FollowUp, strata: Array | None) -> FollowUp:
    return follow_up(target, Outcome(seen.event, seen.time, status=seen.status), seen.entry, strata)


def proportional_hazards(model: Model, evidence: Evidence) -> Record | None:
    """Return the check of each term: whether its hazard ratio changes over time."""
    target = target_of(model)
    names, texts, values, sizes = terms_of(model, evidence.inputs)
    if not names or evidence.seen is None:
        return None
    seen = _as_fitted(target, evidence.seen, evidence.strata)
    ratios = {rule.term: rule.effect for rule in model.rules()}  # of a number per typical step
    found = schoenfeld(seen, evidence.weight, target.ties, values, sizes)
    terms: list[Record] = [
        {"name": name, "text": text, "whole": False, "effect": finite(ratios[name])}
        | (proportional(found, k) or dict.fromkeys(("correlation", "statistic", "p_value")))
        for k, (name, text) in enumerate(zip(names, texts, strict=True))
    ]
    whole = np.stack([c.subtotal(evidence.inputs) for c in model.components], axis=1)
    ones = np.ones(whole.shape[1])
    strength = schoenfeld(seen, evidence.weight, target.ties, whole, ones)
    components = [
        {"name": c.name, "text": ", ".join(c.sources), "whole": True, **_strength(strength, k)}
        for k, c in enumerate(model.components)
    ]
    for some in (components, terms):
        _mark(some)
    drawn = [_most_changed(components, strength), _most_changed(terms, found)]
    return {
        "terms": terms,
        "level": LEVEL,
        "drawn": [each for some in drawn for each in some],
        "components": components,
    }


def _mark(records: list[Record]) -> None:
    """Say of each whether it changes over time, by a level that is shared by all of them."""
    tested = [record for record in records if record["p_value"] is not None]
    for record in records:
        p_value = record["p_value"]
        record["departs"] = p_value is not None and p_value < LEVEL / len(tested)


def _most_changed(records: list[Record], found: Schoenfeld) -> list[Record]:
    """Return the lines of those that change most over time."""
    tested = [k for k, record in enumerate(records) if record["p_value"] is not None]
    first = sorted(tested, key=lambda k: records[k]["p_value"])[:DRAWN]
    names = ("name", "text", "whole")
    return [{n: records[k][n] for n in names} | _residuals(found, k) for k in first]


def _strength(found: Schoenfeld, number: int) -> Record:
    """Return how strong a component is at first and at last, 1 being as in the model."""
    test = proportional(found, number)
    if test is None:
        return dict.fromkeys(("correlation", "statistic", "p_value", "first", "last"))
    line = smooth(found, number)["value"]
    return {**test, "first": line[0], "last": line[-1]}


def _residuals(found: Schoenfeld, number: int) -> Record:
    return {"coefficient": float(found.coefficients[number]), **smooth(found, number)}


def survival_groups(
    model: Model, evidence: Evidence, resamples: int, horizons: Sequence[float]
) -> list[Record]:
    """Return performance within the groups of each column named, at the middle horizon."""
    if evidence.seen is None:
        return []
    horizon = horizons[len(horizons) // 2]
    return [
        {
            "column": name,
            "in_model": name in model.sources,
            "horizon": target_of(model).when(horizon),
            "groups": [
                {"group": group, **_group(model, evidence, inside, resamples, horizon)}
                for group, inside in group_rows(values)
            ],
        }
        for name, values in evidence.groups.items()
    ]


def _group(
    model: Model, evidence: Evidence, inside: Index, resamples: int, horizon: float
) -> Record:
    assert evidence.seen is not None
    target, score = target_of(model), model.score(evidence.inputs.take(inside))
    rows = SurvivalRows.of(evidence.seen.take(inside), score, evidence.weight[inside])
    events = float((rows.weight * rows.event).sum())
    found: Record = {"rows": len(rows.score), "events": events}
    if len(rows.score) < LEAST:
        return found
    strata = None if evidence.strata is None else evidence.strata[inside][rows.places]
    told = target.survival_at(rows.score, np.array([horizon]), strata)[:, 0]
    known = rows.observed.interval(horizon)
    slope = calibration_slope(rows, _ties(target)) if events else None
    return {
        **found,
        "observed": None if known is None else [1.0 - known[0], 1.0 - known[2], 1.0 - known[1]],
        "expected": rows.mean(1.0 - told),
        "concordance": _with_ends(rows, resamples) if events else [None] * 3,
        "slope": [None] * 3 if slope is None else list(slope),
    }


def _with_ends(rows: SurvivalRows, resamples: int) -> list[float | None]:
    """Return Harrell's concordance with its interval."""
    table = _bootstrapped(rows, lambda sample: np.array([harrell(sample)]), resamples)
    return [_finite(value) for value in table[:, 0]]


def _bootstrapped(
    rows: SurvivalRows, statistic: Callable[[SurvivalRows], Floats], resamples: int
) -> Floats:
    """Return some numbers and their 95% intervals, (3, m); NaN where outcomes do not differ."""
    found = statistic(rows)
    if np.ptp(rows.y) == 0.0:
        return np.stack([found, *np.full((2, len(found)), np.nan)])
    return np.stack([found, *metrics.bootstrap(rows, statistic, resamples)])

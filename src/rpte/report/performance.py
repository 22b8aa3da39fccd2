"""Performance on a table: single numbers, curves, calibration and decisions, with intervals."""

from itertools import pairwise

import numpy as np

from rpte.audit import metrics
from rpte.audit.metrics import GRID, Ranked
from rpte.figures.effect import Record
from rpte.model.model import Model
from rpte.report.cards import finite
from rpte.report.evidence import Evidence
from rpte.utils.arrays import Array, Floats, Index

MEASURES = {
    "auc": ("Area under the ROC curve", "0.5 is chance, 1 is perfect order"),
    "average_precision": ("Average precision", "chance level is the observed rate"),
    "log_loss": ("Log-loss", "nats per case; lower is better"),
    "brier": ("Brier score", "mean squared error of the probability; lower is better"),
    "observed": ("Observed event rate", ""),
    "expected": ("Mean predicted probability", "equals the observed rate if calibrated on average"),
    "calibration_intercept": ("Calibration intercept", "0 is ideal; below 0 risk is overstated"),
    "calibration_slope": ("Calibration slope", "1 is ideal; below 1 predictions are too extreme"),
}
DECISIONS = np.round(np.arange(0.01, 1.0, 0.01), 2)
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LEAST = 10  # rows of a group under which nothing is measured
MOST_GROUPS = 12
BANDS = 4


def performance(
    model: Model, evidence: Evidence, threshold: float, resamples: int
) -> Record | None:
    """Return everything that is measured on the whole table; None without outcomes."""
    if evidence.y is None:
        return None
    rows = metrics.rank(evidence.y, model.score(evidence.inputs), evidence.weight)
    events = float((rows.weight * rows.y).sum())
    groups = metrics.calibration_groups(rows)
    found: Record = {
        "rows": len(rows.y),
        "weight": float(rows.weight.sum()),
        "events": events,
        "training": evidence.training,
        "resamples": resamples,
        "histogram": _histogram(rows),
        "calibration": [{key: round(value, 6) for key, value in g.items()} for g in groups],
    }
    if not 0.0 < events < found["weight"]:
        return {**found, "one_class": True, "measures": _measures(rows, None)}
    table = np.stack([_everything(rows), *metrics.bootstrap(rows, _everything, resamples)])
    sizes = [len(MEASURES), len(GRID), len(GRID) - 1, len(DECISIONS)]  # as in `_everything`
    single, roc, precision, benefit = np.split(table, np.cumsum(sizes)[:-1], axis=1)
    rate = rows.mean(rows.y)
    everybody = _list(rate - (1.0 - rate) * DECISIONS / (1.0 - DECISIONS))
    return {
        **found,
        "one_class": False,
        "measures": _measures(rows, single),
        "roc": _curve(GRID, roc),
        "precision_recall": _curve(GRID[1:], precision),
        "decision": {**_curve(DECISIONS, benefit), "all": everybody},
        "thresholds": _threshold_rows(rows, threshold),
    }


def _everything(rows: Ranked) -> Floats:
    """Return all numbers that the bootstrap gives an interval, one after the other."""
    single = [np.nan if v is None else v for v in metrics.measures(rows).values()]
    roc, precision = metrics.roc_on_grid(rows), metrics.precision_on_grid(rows)[1:]
    return np.concatenate([single, roc, precision, metrics.net_benefit(rows, DECISIONS)])


def _measures(rows: Ranked, ends: Floats | None) -> list[Record]:
    found = metrics.measures(rows)
    records = []
    for place, (key, (name, meaning)) in enumerate(MEASURES.items()):
        low, high = (None, None) if ends is None else map(finite, ends[1:, place])
        record = {"key": key, "name": name, "meaning": meaning, "value": found[key]}
        records.append({**record, "low": low, "high": high})
    return records


def _curve(x: Floats, table: Floats) -> dict[str, list[float | None]]:
    return dict(zip(("x", "y", "low", "high"), map(_list, (x, *table)), strict=True))


def _list(values: Floats) -> list[float | None]:
    return [None if np.isnan(v) else round(float(v), 4) for v in values]


def _threshold_rows(rows: Ranked, chosen: float) -> list[Record]:
    thresholds = np.array(sorted({*THRESHOLDS, chosen}))
    benefit = metrics.net_benefit(rows, thresholds)
    return [
        {
            "threshold": float(at),
            "chosen": float(at) == chosen,
            **_decision(rows, at),
            "net_benefit": float(benefit[place]),
        }
        for place, at in enumerate(thresholds)
    ]


def _decision(rows: Ranked, threshold: float) -> dict[str, list[float | None]]:
    """Return what flagging at a threshold does, each share with its Wilson interval."""
    return {
        name: [None] * 3 if share is None else [share, *metrics.wilson(share, whole)]
        for name, (share, whole) in metrics.at_threshold(rows, threshold).items()
    }


def _histogram(rows: Ranked) -> dict[str, list[float]]:
    place = np.minimum((rows.probability * 20).astype(int), 19)
    found = {}
    for name, y in (("events", 1.0), ("others", 0.0)):
        counts = np.bincount(place, rows.weight * (rows.y == y), minlength=20)
        found[name] = [round(float(c), 6) for c in counts / max(float(counts.sum()), 1e-300)]
    return found


def by_group(model: Model, evidence: Evidence, threshold: float, resamples: int) -> list[Record]:
    """Return performance within the groups of each column named."""
    if evidence.y is None:
        return []
    score = model.score(evidence.inputs)
    return [
        {
            "column": name,
            "in_model": name in model.sources,
            "groups": _groups(values, evidence, score, threshold, resamples),
        }
        for name, values in evidence.groups.items()
    ]


def _groups(
    values: Array, evidence: Evidence, score: Floats, threshold: float, resamples: int
) -> list[Record]:
    assert evidence.y is not None
    found = []
    for name, inside in group_rows(values):
        y, weight = evidence.y[inside], evidence.weight[inside]
        rows = metrics.rank(y, score[inside], weight)
        record: Record = {"group": name, "rows": len(rows.y), "weight": float(weight.sum())}
        if len(rows.y) >= LEAST:
            record |= _group_measures(rows, threshold, resamples)
        found.append(record)
    largest = max(found, key=lambda g: g["weight"])
    for record in found:
        if "flagged" in record and largest.get("flagged", [0])[0]:
            record["ratio"] = record["flagged"][0] / largest["flagged"][0]
    return found


def _group_measures(rows: Ranked, threshold: float, resamples: int) -> Record:
    """Return the measures of one group with intervals, None where a class is missing."""
    keys = ("expected", "auc", "brier")

    def statistic(sample: Ranked) -> list[float | None]:
        return [metrics.expected(sample), metrics.auc(sample), metrics.brier(sample)]

    found = metrics.measures(rows)
    observed, total = float(found["observed"] or 0.0), float(rows.weight.sum())
    both = 0.0 < observed < 1.0
    ends = metrics.bootstrap(rows, statistic, resamples) if both else None
    intervals = {
        key: [found[key], *((None, None) if ends is None else (finite(e[i]) for e in ends))]
        for i, key in enumerate(keys)
    }
    rate = {"observed": [observed, *metrics.wilson(observed, total)]}
    return {**rate, **intervals, **_decision(rows, threshold)}


def group_rows(values: Array) -> list[tuple[str, Index]]:
    """Return groups of rows by what a column holds; numbers of many values by quarters."""
    from rpte.table.column import is_absent, level_text

    gone = np.array([is_absent(v) for v in values], bool)
    numbers = all(isinstance(v, (int, float, np.number)) for v in values[~gone])
    if numbers and len(set(values[~gone].tolist())) > MOST_GROUPS:
        found = number_bands(np.where(gone, np.nan, values).astype(np.float64), BANDS)
    else:
        texts = np.array(["" if g else level_text(v) for v, g in zip(values, gone, strict=True)])
        names, counts = np.unique(texts[~gone], return_counts=True)
        kept = names[np.argsort(-counts, kind="stable")][:MOST_GROUPS]
        found = [(str(n), np.flatnonzero((texts == n) & ~gone)) for n in sorted(kept)]
        rest = np.flatnonzero(~np.isin(texts, kept) & ~gone)
        found += [(f"all other ({len(names) - len(kept)})", rest)] if len(rest) else []
    return [*found, ("missing", np.flatnonzero(gone))] if gone.any() else found


def number_bands(numbers: Floats, bands: int) -> list[tuple[str, Index]]:
    """Return the rows of a number cut at its quantiles, NaN left out; few values stay apart."""
    known = numbers[~np.isnan(numbers)]
    values = np.unique(known)
    if len(values) <= bands:
        return [(f"{value:g}", np.flatnonzero(numbers == value)) for value in values]
    inner = np.linspace(0, 1, bands + 1)[1:-1]
    edges = np.unique(np.quantile(known, inner, method="inverted_cdf"))
    inner_names = [f"above {a:g} to {b:g}" for a, b in pairwise(edges)]
    names = [f"up to {edges[0]:g}", *inner_names, f"above {edges[-1]:g}"]
    place = np.where(np.isnan(numbers), -1, np.searchsorted(edges, numbers, side="left"))
    found = [(name, np.flatnonzero(place == i)) for i, name in enumerate(names)]
    return [(name, rows) for name, rows in found if len(rows)]

"""Performance of a model of several classes on a table: together, class by class, by group."""

from itertools import pairwise
from typing import Any

import numpy as np

from rpte.audit import metrics
from rpte.audit.class_metrics import (
    RankedClasses,
    measured_class,
    measured_classes,
    rank_classes,
)
from rpte.audit.metrics import GRID
from rpte.figures.effect import Record
from rpte.model.classes import ClassesModel
from rpte.report.cards import finite
from rpte.report.evidence import Evidence
from rpte.report.performance import LEAST, group_rows
from rpte.utils.arrays import Floats, Index

MEASURES = {
    "log_loss": ("Log-loss", "nats per case; lower is better"),
    "accuracy": ("Accuracy", "share of the cases whose most probable class is theirs"),
    "balanced_accuracy": (
        "Balanced accuracy",
        "mean over classes of the share found (recall): every class counts the same",
    ),
    "auc": (
        "Mean area under the ROC curves",
        "each class against the rest, all classes alike; 0.5 is chance, 1 is perfect order",
    ),
    "brier": (
        "Brier score",
        "squared errors of the probabilities, summed over classes; lower is better",
    ),
}
BASE = "base_accuracy"
GROUP_KEYS = ("accuracy", "log_loss", "auc")
CLASS_KEYS = ("recall", "precision", "auc")


def class_performance(model: ClassesModel, evidence: Evidence, resamples: int) -> Record | None:
    """Return everything that is measured on the whole table; None without outcomes."""
    if evidence.y is None:
        return None
    rows = rank_classes(model.score(evidence.inputs), evidence.y, evidence.weight)
    occurring = np.unique(rows.y)
    table = rows.confusion()
    ends = _intervals(rows, resamples) if len(occurring) > 1 else None
    return {
        "rows": len(rows.y),
        "weight": float(rows.weight.sum()),
        "training": evidence.training,
        "resamples": resamples,
        "one_class": len(occurring) == 1,
        "absent": [str(c) for k, c in enumerate(model.classes) if k not in occurring],
        "measures": _measures(rows, ends),
        BASE: measured_classes(rows, [BASE])[BASE],
        "confusion": {"counts": table.tolist(), "shares": _row_shares(table)},
        "classes": [_class(model, rows, k, ends) for k in range(rows.n_classes)],
    }


def _intervals(rows: RankedClasses, resamples: int) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of all measures, then of the AUC of each class."""

    def values(sample: RankedClasses) -> list[float | None]:
        own = [metrics.auc(sample.against_rest(k)) for k in range(sample.n_classes)]
        known = [value for value in own if value is not None]
        told = measured_classes(sample, [key for key in MEASURES if key != "auc"])
        told["auc"] = float(np.mean(known)) if known else None
        return [*(told[key] for key in MEASURES), *own]

    return metrics.bootstrap(rows, values, resamples)


def _measures(rows: RankedClasses, ends: tuple[Floats, Floats] | None) -> list[Record]:
    found = measured_classes(rows, MEASURES)
    return [
        {"key": key, "name": name, "meaning": meaning, "value": found[key], **_ends(ends, place)}
        for place, (key, (name, meaning)) in enumerate(MEASURES.items())
    ]


def _ends(ends: tuple[Floats, Floats] | None, place: int) -> Record:
    low, high = (None, None) if ends is None else (finite(e[place]) for e in ends)
    return {"low": low, "high": high}


def _row_shares(table: Floats) -> list[list[float | None]]:
    """Return the shares of each true class that are given each class; None where it is absent."""
    return [[float(v / row.sum()) if row.sum() > 0 else None for v in row] for row in table]


def _class(
    model: ClassesModel, rows: RankedClasses, k: int, ends: tuple[Floats, Floats] | None
) -> Record:
    """Return what is measured of one class: shares with Wilson intervals, curves, calibration."""
    own, found, table = rows.against_rest(k), measured_class(rows, k), rows.confusion()
    auc = _ends(ends, len(MEASURES) + k)
    wholes = {"recall": table[k].sum(), "precision": table[:, k].sum()}
    shares = {key: _wilson(found[key], float(wholes[key])) for key in wholes}
    known = found["auc"] is not None
    return {
        "name": str(model.classes[k]),
        "weight": float(table[k].sum()),
        **found,
        **shares,
        "auc": [found["auc"], auc["low"], auc["high"]],
        "roc": _curve(metrics.roc_on_grid(own)) if known else None,
        "calibration": _calibration(own) if known else [],
    }


def _wilson(share: float | None, whole: float) -> list[float | None]:
    return [None] * 3 if share is None else [share, *metrics.wilson(share, whole)]


def _curve(heights: Floats) -> list[list[float]]:
    """Return the corners of a ROC curve: between equal steps in a line nothing is kept."""
    rounded = (round(float(y), 4) for y in heights)
    points = [[0.0, 0.0], *([float(x), y] for x, y in zip(GRID, rounded, strict=True))]
    kept = [points[0]]
    for (before, here), (_, after) in zip(pairwise(points), pairwise(points[1:]), strict=False):
        if not before[1] == here[1] == after[1]:
            kept.append(here)
    return [*kept, points[-1]]


def _calibration(own: metrics.Ranked) -> list[dict[str, float]]:
    found = metrics.calibration_groups(own)
    return [{key: round(value, 6) for key, value in group.items()} for group in found]


def class_groups(model: ClassesModel, evidence: Evidence, resamples: int) -> list[Record]:
    """Return performance within the groups of each column named."""
    if evidence.y is None:
        return []
    score = model.score(evidence.inputs)
    return [
        {
            "column": name,
            "in_model": name in model.sources,
            "groups": [
                _group(model, evidence, score, group, inside, resamples)
                for group, inside in group_rows(values)
            ],
        }
        for name, values in evidence.groups.items()
    ]


def _group(
    model: ClassesModel,
    evidence: Evidence,
    score: Floats,
    name: str,
    inside: Index,
    resamples: int,
) -> Record:
    assert evidence.y is not None
    rows = rank_classes(score[inside], evidence.y[inside], evidence.weight[inside])
    record: Record = {"group": name, "rows": len(rows.y), "weight": float(rows.weight.sum())}
    if len(rows.y) < LEAST:
        return record
    found, none = measured_classes(rows, GROUP_KEYS), np.full(len(GROUP_KEYS), np.nan)

    def values(sample: RankedClasses) -> list[Any]:
        return list(measured_classes(sample, GROUP_KEYS).values())

    varies = len(np.unique(rows.y)) > 1
    ends = metrics.bootstrap(rows, values, resamples) if varies else (none, none)
    for place, key in enumerate(GROUP_KEYS):
        record[key] = [found[key], *(finite(e[place]) for e in ends)]
    record["accuracy"] = _wilson(found["accuracy"], record["weight"])
    record["classes"] = [
        {
            "name": str(label),
            "observed": rows.mean((rows.y == k).astype(float)),
            "predicted": rows.mean(rows.probability[:, k]),
        }
        for k, label in enumerate(model.classes)
    ]
    return record

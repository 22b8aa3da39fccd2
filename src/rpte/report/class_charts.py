"""The charts of how well several classes are told apart: ROC curves and calibration of each."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rpte.figures.marks import CLASSES, DASHED, DASHES, MARKERS, DotMark, Panel, chart
from rpte.figures.text import name
from rpte.report.charts import DIAGONAL, UNIT, calibration_chart

SQUARE = (290, 250)  # pixels


def class_roc_chart(performance: Mapping[str, Any]) -> Panel:
    """Return the ROC curve of each class against the rest, in one picture."""
    plot = chart(UNIT, UNIT, "share of other classes above", "share of the class found")
    plot.line(DIAGONAL, "faint", 1, DASHED)
    known = [(k, own) for k, own in enumerate(performance["classes"]) if own["roc"]]
    for k, own in known:
        points = [(x, y) for x, y in own["roc"]]
        plot.line(points, CLASSES[k], 2, DASHES[k])
        at = 0.08 + 0.5 * (k + 0.5) / len(performance["classes"])
        height = float(np.interp(at, [x for x, _ in points], [y for _, y in points]))
        plot.marks.append(
            DotMark([(at, height)], CLASSES[k], MARKERS[k], 3.5, name(own["name"], 15))
        )
    said = "; ".join(f"{own['name']} {own['auc'][0]:.3f}" for _, own in known)
    return plot.labelled(f"ROC curves, each class against the rest: {said}")


def class_roc_panels(performance: Mapping[str, Any]) -> list[Panel]:
    """Return the ROC curve of each class against the rest, a small picture for each."""
    found = []
    for own in performance["classes"]:
        if own["roc"]:
            plot = chart(UNIT, UNIT, "others above", "found", *SQUARE)
            plot.line(DIAGONAL, "faint", 1, DASHED)
            plot.line([(x, y) for x, y in own["roc"]])
            plot.title = f"{own['name']}: {own['auc'][0]:.3f}"
            found.append(plot.labelled(f"{own['name']}: ROC curve; area {own['auc'][0]:.3f}"))
    return found


def class_calibration_panels(performance: Mapping[str, Any]) -> list[Panel]:
    """Return observed against predicted shares of each class, a small picture for each."""
    found = []
    for own in performance["classes"]:
        if own["calibration"]:
            plot = calibration_chart(own, SQUARE)
            plot.title = own["name"]
            found.append(plot.labelled(f"{own['name']}. {plot.label}"))
    return found

"""The charts of a report, each from a piece of its contents: width, height, label, body."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rpte.report.captions import drawn_levels, effect_title
from rpte.report.frontier import Frontier, FrontierPoint
from rpte.report.plot import BOTTOM, LEFT, RIGHT, Plot, Points, widened
from rpte.report.svg import (
    ACCENT,
    FAINT,
    INK,
    LINE,
    LOWERS,
    RAISES,
    Drawing,
    path_svg,
    rect_svg,
    shortened,
    text_svg,
)
from rpte.report.tree_svg import signed_bar

DASH = "5 4"
UNIT = (0.0, 1.0)


def _points(curve: Mapping[str, Any], key: str) -> Points:
    pairs = zip(curve["x"], curve[key], strict=True)
    return [(x, y) for x, y in pairs if y is not None]


def roc_chart(performance: Mapping[str, Any]) -> Drawing:
    """Return the ROC curve with its band."""
    curve = performance["roc"]
    plot = Plot(UNIT, UNIT, "1 - specificity (false alarms)", "sensitivity (events found)")
    plot.line([(0, 0), (1, 1)], FAINT, 1, DASH)
    plot.band(_points(curve, "low"), _points(curve, "high"))
    plot.line([(0.0, 0.0), *_points(curve, "y")])
    label = f"ROC curve; area {_measure(performance, 'auc')}"
    return plot.drawing(label)


def precision_chart(performance: Mapping[str, Any]) -> Drawing:
    """Return precision against recall with its band."""
    curve = performance["precision_recall"]
    plot = Plot(UNIT, UNIT, "recall (events found)", "precision (flagged that are events)")
    rate = performance["events"] / performance["weight"]
    plot.line([(0, rate), (1, rate)], FAINT, 1, DASH)
    plot.band(_points(curve, "low"), _points(curve, "high"))
    plot.line(_points(curve, "y"))
    label = (
        f"Precision-recall curve; average precision {_measure(performance, 'average_precision')}"
    )
    return plot.drawing(label)


def calibration_chart(performance: Mapping[str, Any]) -> Drawing:
    """Return observed against predicted rates in groups, with 95% intervals."""
    plot = Plot(UNIT, UNIT, "mean predicted probability", "observed rate")
    plot.line([(0, 0), (1, 1)], FAINT, 1, DASH)
    groups = performance["calibration"]
    plot.line([(g["expected"], g["observed"]) for g in groups], ACCENT, 1)
    for group in groups:
        plot.bar(group["expected"], group["low"], group["high"])
        plot.dot(group["expected"], group["observed"])
    said = "; ".join(f"{g['expected']:.2f} predicted, {g['observed']:.2f} observed" for g in groups)
    return plot.drawing(f"Calibration by tenths: {said}")


def decision_chart(performance: Mapping[str, Any]) -> Drawing:
    """Return the net benefit of the model, of flagging everybody and nobody."""
    curve = performance["decision"]
    rate = performance["events"] / performance["weight"]
    top = max(rate, *(y for _, y in _points(curve, "high")))
    plot = Plot(UNIT, (-0.25 * rate, 1.05 * top), "threshold probability", "net benefit")
    everybody = zip(curve["x"], curve["all"], strict=True)
    plot.line([(0.0, rate), *((x, y) for x, y in everybody if y >= -0.25 * rate)], FAINT, 1.5, DASH)
    plot.line([(0, 0), (1, 0)], INK, 1)
    plot.band(_points(curve, "low"), _points(curve, "high"))
    plot.line(_points(curve, "y"))
    label = "Decision curve: net benefit of the model, of flagging all (dashed) and none (zero)"
    return plot.drawing(label)


def probability_chart(performance: Mapping[str, Any]) -> Drawing:
    """Return how the predicted probabilities of both classes lie: events up, others down."""
    shares = performance["histogram"]
    top = max(*shares["events"], *shares["others"], 0.01)
    plot = Plot(UNIT, (-top, top), "predicted probability", "share of the class", 380, 220, True)
    for place, (up, down) in enumerate(zip(shares["events"], shares["others"], strict=True)):
        x, width = plot.across(place / 20) + 1, plot.across(0.05) - plot.across(0.0) - 2
        middle = plot.down(0.0)
        plot.body.append(rect_svg(x, plot.down(up), width, middle - plot.down(up), RAISES))
        plot.body.append(rect_svg(x, middle, width, plot.down(-down) - middle, LOWERS))
    label = "Predicted probabilities in twentieths: events above the line, others below"
    return plot.drawing(label)


def spread_chart(stability: Mapping[str, Any]) -> Drawing:
    """Return the range of the refits' probabilities against the model's own."""
    spread = stability["spread"]
    plot = Plot(UNIT, UNIT, "probability of this model", "probability of refits (5% to 95%)")
    plot.line([(0, 0), (1, 1)], FAINT, 1, DASH)
    low = list(zip(spread["p"], spread["low"], strict=True))
    high = list(zip(spread["p"], spread["high"], strict=True))
    plot.band(low, high)
    plot.line(low, ACCENT, 1)
    plot.line(high, ACCENT, 1)
    label = f"Spread of probabilities over refits; mean standard deviation {spread['mean_sd']:.3f}"
    return plot.drawing(label)


def _measure(performance: Mapping[str, Any], key: str) -> str:
    found = next(m for m in performance["measures"] if m["key"] == key)
    if found["low"] is None:
        return f"{found['value']:.3f}"
    return f"{found['value']:.3f} (95% interval {found['low']:.3f} to {found['high']:.3f})"


def shape_chart(shape: Mapping[str, Any], scale: Sequence[float], box: Any = None) -> Drawing:
    """Return what a variable adds over its range: a thick line, and its own terms as a thin one.

    Parameters
    ----------
    shape : one of `curves.shapes`, of a number
    scale : (low, high) of the added log odds, the same for all curves of a model
    box : five quantiles, optional
        Where the cases lie: drawn along the axis.
    """
    curves = shape["curves"]
    points = curves["whole"] or curves["own"]
    ends = points[0][0], points[-1][0]
    plot = Plot(
        (ends[0], ends[1]) if ends[0] < ends[1] else widened(*ends),
        (scale[0], scale[1]),
        shortened(shape["source"], 50),
        "adds to log odds",
        380,
        240,
    )
    plot.band(_pairs(curves["low"]), _pairs(curves["high"]))
    plot.line([(ends[0], 0), (ends[1], 0)], INK, 0.8)
    if not shape["alone"]:
        plot.line(_pairs(curves["own"]), INK, 1.1, "" if curves["whole"] else DASH)
    plot.line(_pairs(curves["whole"]), ACCENT, 2.6)
    plot.body.append(_box(plot, box))
    said = [f"{y:+.2f} at {x:.4g}" for x, y in _corners(points)]
    label = f"{effect_title(shape)}: {', '.join(said)}"
    return plot.drawing(label)


def _pairs(points: Sequence[Sequence[float]] | None) -> Points:
    return [(x, y) for x, y in points or []]


def _corners(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return a few points that say a curve in words."""
    step = max(1, math.ceil(len(points) / 6))
    return [(x, y) for x, y in [*points[:-1:step], points[-1]]]


def _box(plot: Plot, quantiles: Sequence[float | None] | None) -> str:
    """Return where the middle nine tenths, the middle half and the median of the cases lie."""
    if not quantiles or None in quantiles:
        return ""
    y = plot.height - BOTTOM - 5
    x = [plot.across(float(q)) for q in quantiles if q is not None]
    whisker = path_svg(f"M{x[0]:.1f} {y}H{x[4]:.1f}", FAINT, 1.5)
    half = rect_svg(x[1], y - 3, max(x[3] - x[1], 1.0), 6, FAINT)
    return whisker + half + rect_svg(x[2] - 1, y - 5, 2, 10, INK)


def level_chart(shape: Mapping[str, Any], largest: float) -> Drawing:
    """Return what each level of a variable (or special code, or missing) adds, as bars.

    Below a bar a thin line for the variable's own terms, across it one for the spread over rows.
    """
    rows = drawn_levels(shape)
    names = ["missing" if row["level"] is None else str(row["level"]) for row in rows]
    values = [row["own"] if row["whole"] is None else row["whole"] for row in rows]
    room = min(max((len(name) for name in names), default=4), 28) * 7.3 + 16
    height, numbers = (30, 0) if shape["alone"] else (34, 60)
    body = []
    for place, (name, row, value) in enumerate(zip(names, rows, values, strict=True)):
        y = height * (place + 0.5) + 4
        look = "f" if row["level"] is None else ""
        body.append(text_svg(room - 8, y + 4, shortened(name, 28), look, "end"))
        body.append(signed_bar(room, y, 180, value, largest or 1.0, not numbers))
        if numbers:
            body.append(_beside_bar(row, room + 90, y, 88 / (largest or 1.0)))
            body.append(text_svg(room + 180 + numbers, y + 4, f"{value:+.3g}", look, "end"))
    said = ", ".join(f"{n} {value:+.3g}" for n, value in zip(names, values, strict=True))
    label = f"{effect_title(shape)}: {said}"
    return int(room + 190 + numbers), height * len(rows) + 8, label, "".join(body)


def _beside_bar(row: Mapping[str, Any], middle: float, y: float, unit: float) -> str:
    """Return the spread over rows as a line across a bar, and own terms as one below it."""
    drawn = ""
    if row["low"] is not None:
        low, high = (middle + row[end] * unit for end in ("low", "high"))
        drawn += path_svg(f"M{low:.1f} {y - 3:.1f}v6m0 -3H{high:.1f}m0 -3v6", INK, 0.9)
    if row["own"] is not None and row["whole"] is not None:
        drawn += path_svg(f"M{middle:.1f} {y + 11:.1f}H{middle + row['own'] * unit:.1f}", INK, 1.8)
    return drawn


def explanation_chart(case: Mapping[str, Any]) -> Drawing:
    """Return a score as a sum: bars that begin where the one before ended."""
    rows = _steps(case)
    ends = [0.0, *(end for _, start, end, _ in rows for end in (start, end))]
    low, high = widened(min(ends), max(ends), 0.12)
    room, plot_width, row = 250, 330, 30
    height = row * (len(rows) + 1) + 14

    def across(value: float) -> float:
        return room + (value - low) / (high - low) * plot_width

    body = [path_svg(f"M{across(0.0):.1f} 6V{height - 8}", LINE)]
    for place, (name, start, end, total) in enumerate(rows):
        y = row * (place + 0.5) + 8
        body.append(text_svg(room - 10, y + 4, shortened(name, 30), "h" if total else "", "end"))
        body.append(_step(across(start), across(end), y, end - start, total))
        if place + 1 < len(rows):
            body.append(path_svg(f"M{across(end):.1f} {y + 9:.1f}v{row - 18}", FAINT))
    y = row * (len(rows) + 0.5) + 8
    said = f"probability of {case['positive']}: {case['probability']:.1%}"
    body.append(text_svg(room + plot_width + 60, y + 2, shortened(said, 60), "h", "end"))
    label = "Score as a sum: " + ", ".join(f"{n} {e - s:+.3g}" for n, s, e, _ in rows)
    return room + plot_width + 70, height, f"{label}; {said}", "".join(body)


def _steps(case: Mapping[str, Any]) -> list[tuple[str, float, float, bool]]:
    """Return name, start and end of each bar, and whether it is the whole score."""
    start = "intercept" if case.get("reference") is None else "mean in training"
    rows = [(start, 0.0, float(case["intercept"]), False)]
    at = float(case["intercept"])
    for component in case["components"]:
        name = f"{component['component']} {', '.join(component['sources'])}"
        rows.append((name, at, at + component["value"], False))
        at = rows[-1][2]
    return [*rows, ("score (log odds)", 0.0, float(case["score"]), True)]


def _step(start: float, end: float, y: float, value: float, total: bool) -> str:
    left, right = min(start, end), max(start, end)
    colour = ACCENT if total else RAISES if value > 0 else LOWERS if value < 0 else FAINT
    bar = rect_svg(left, y - 9, max(right - left, 1.0), 18, colour)
    return bar + text_svg(right + 5, y + 4, f"{value:+.3g}")


def load_chart(audit: Mapping[str, Any], name: str) -> Drawing:
    """Return conditions in the whole model on a logarithmic scale: this one, peers, the bound."""
    rows = [(name, float(audit["miu"]), ACCENT)]
    rows += [(p["name"], float(p["miu"]), FAINT) for p in audit["peers"]]
    rows = [*sorted(rows, key=lambda r: r[1]), ("bound before training", audit["bound"], LINE)]
    top = math.log10(1.0 + max(value for _, value, _ in rows)) or 1.0
    room, width, row = 230, 330, 28
    body = []
    for place, (label, value, colour) in enumerate(rows):
        y = row * (place + 0.5) + 6
        length = math.log10(1.0 + value) / top * width
        look = "h" if colour == ACCENT else ""
        body.append(text_svg(room - 8, y + 4, shortened(label, 30), look, "end"))
        body.append(rect_svg(room, y - 8, max(length, 1.0), 16, colour))
        body.append(text_svg(room + length + 6, y + 4, f"{value:,.6g}", look))
    said = ", ".join(f"{label} {value:,.6g}" for label, value, _ in rows)
    label = f"Conditions in the whole model, logarithmic scale: {said}"
    return room + width + 90, row * len(rows) + 12, label, "".join(body)


def share_bar(share: float, width: int = 120) -> Drawing:
    """Return a share as a small bar."""
    body = rect_svg(0, 3, width, 10, LINE) + rect_svg(0, 3, width * share, 10, ACCENT)
    return width, 16, f"{share:.0%}", body


def quantile_box(column: Mapping[str, Any], ends: Sequence[float]) -> Drawing | None:
    """Return a small box plot of a number's quantiles between two ends; None without them."""
    known = [q for q in column.get("quantiles") or [] if q is not None]
    if len(known) < 5 or not ends[0] < ends[1]:
        return None
    plot = Plot((ends[0], ends[1]), UNIT, "", "", 120 + LEFT + RIGHT, 16 + BOTTOM)
    x = [plot.across(q) - LEFT for q in known]
    body = path_svg(f"M{x[0]:.1f} 8H{x[4]:.1f}", FAINT, 1.5)
    body += rect_svg(x[1], 4, max(x[3] - x[1], 1.0), 8, FAINT) + rect_svg(x[2] - 1, 2, 2, 12, INK)
    said = ", ".join(f"{q:.4g}" for q in known)
    return 120, 16, f"5%, 25%, 50%, 75% and 95% points: {said}", body


def frontier_of(drawn: Mapping[str, Any]) -> Frontier:
    """Return the frontier from the contents of a report."""
    points = tuple(FrontierPoint(**point) for point in drawn["points"])
    return Frontier(points, drawn["null_deviance"], drawn["explainable"], drawn["price"])

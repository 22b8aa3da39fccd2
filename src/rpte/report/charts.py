"""The charts of a report, each from a piece of its contents: width, height, label, body."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from rpte.report import svg
from rpte.report.frontier import Frontier, FrontierPoint, frontier_drawing

UNIT = (0.0, 1.0)
DIAGONAL = ((0.0, 0.0), (1.0, 1.0))


def _points(curve: Mapping[str, Any], key: str, x: str = "x") -> svg.Points:
    return [(x, y) for x, y in zip(curve[x], curve[key], strict=True) if y is not None]


def _curve(plot: svg.Plot, curve: Mapping[str, Any], *start: tuple[float, float]) -> None:
    plot.band(_points(curve, "low"), _points(curve, "high"))
    plot.line([*start, *_points(curve, "y")])


def roc_chart(performance: Mapping[str, Any]) -> svg.Drawing:
    """Return the ROC curve with its band."""
    plot = svg.Plot(UNIT, UNIT, "1 - specificity (false alarms)", "sensitivity (events found)")
    plot.line(DIAGONAL, svg.FAINT, 1, svg.DASH)
    _curve(plot, performance["roc"], (0.0, 0.0))
    return plot.drawing(f"ROC curve; area {_measure(performance, 'auc')}")


def precision_chart(performance: Mapping[str, Any]) -> svg.Drawing:
    """Return precision against recall with its band."""
    plot = svg.Plot(UNIT, UNIT, "recall (events found)", "precision (flagged that are events)")
    rate = performance["events"] / performance["weight"]
    plot.line([(0, rate), (1, rate)], svg.FAINT, 1, svg.DASH)
    _curve(plot, performance["precision_recall"])
    average = _measure(performance, "average_precision")
    return plot.drawing(f"Precision-recall curve; average precision {average}")


def calibration_chart(
    performance: Mapping[str, Any], size: tuple[int, int] = (380, 300)
) -> svg.Drawing:
    """Return observed against predicted rates in groups, with 95% intervals."""
    plot = svg.Plot(UNIT, UNIT, "mean predicted probability", "observed rate", *size)
    plot.line(DIAGONAL, svg.FAINT, 1, svg.DASH)
    groups = performance["calibration"]
    return plot.drawing(f"Calibration by tenths: {draw_groups(plot, groups)}")


def draw_groups(plot: svg.Plot, groups: Sequence[Mapping[str, Any]]) -> str:
    """Draw observed against predicted rates of groups, and say them."""
    plot.line([(g["expected"], g["observed"]) for g in groups], svg.ACCENT, 1)
    for group in groups:
        plot.bar(group["expected"], group["low"], group["high"])
        plot.dot(group["expected"], group["observed"])
    return "; ".join(f"{g['expected']:.2f} predicted, {g['observed']:.2f} observed" for g in groups)


def decision_chart(performance: Mapping[str, Any]) -> svg.Drawing:
    """Return the net benefit of the model, of flagging everybody and nobody."""
    curve = performance["decision"]
    rate = performance["events"] / performance["weight"]
    top, foot = max(rate, *(y for _, y in _points(curve, "high"))), -0.25 * rate
    plot = svg.Plot(UNIT, (foot, 1.05 * top), "threshold probability", "net benefit")
    everybody = [(x, y) for x, y in _points(curve, "all") if y >= foot]
    plot.line([(0.0, rate), *everybody], svg.FAINT, 1.5, svg.DASH)
    plot.line([(0, 0), (1, 0)], svg.INK, 1)
    _curve(plot, curve)
    said = "Decision curve: net benefit of the model, of flagging all (dashed) and none (zero)"
    return plot.drawing(said)


def probability_chart(performance: Mapping[str, Any]) -> svg.Drawing:
    """Return how the predicted probabilities of both classes lie: events up, others down."""
    shares = performance["histogram"]
    top = max(*shares["events"], *shares["others"], 0.01)
    plot = svg.Plot(
        UNIT, (-top, top), "predicted probability", "share of the class", 380, 220, True
    )
    for place, (up, down) in enumerate(zip(shares["events"], shares["others"], strict=True)):
        x, width = plot.across(place / 20) + 1, plot.across(0.05) - plot.across(0.0) - 2
        middle = plot.down(0.0)
        plot.body.append(svg.rect(x, plot.down(up), width, middle - plot.down(up), svg.RAISES))
        plot.body.append(svg.rect(x, middle, width, plot.down(-down) - middle, svg.LOWERS))
    said = "Predicted probabilities in twentieths: events above the line, others below"
    return plot.drawing(said)


def spread_chart(stability: Mapping[str, Any], what: str = "probability") -> svg.Drawing:
    """Return the range of the refits' predictions against the model's own."""
    spread = stability["spread"]
    ends, said = UNIT, f"{spread['mean_sd']:.3f}"
    if what != "probability":
        values = [value for key in ("p", "low", "high") for value in spread[key]]
        ends, said = svg.widened(min(values), max(values)), f"{spread['mean_sd']:.4g}"
    plot = svg.Plot(ends, ends, f"{what} of this model", f"{what} of refits (5% to 95%)")
    plot.line([(end, end) for end in ends], svg.FAINT, 1, svg.DASH)
    low, high = _points(spread, "low", "p"), _points(spread, "high", "p")
    plot.band(low, high)
    plot.line(low, svg.ACCENT, 1)
    plot.line(high, svg.ACCENT, 1)
    many = {"probability": "probabilities", "survival": "survival"}.get(what, f"{what}s")
    return plot.drawing(f"Spread of {many} over refits; mean standard deviation {said}")


def _measure(performance: Mapping[str, Any], key: str) -> str:
    found = next(m for m in performance["measures"] if m["key"] == key)
    if found["low"] is None:
        return f"{found['value']:.3f}"
    return f"{found['value']:.3f} (95% interval {found['low']:.3f} to {found['high']:.3f})"


def explanation_chart(case: Mapping[str, Any]) -> svg.Drawing:
    """Return a score as a sum: bars that begin where the one before ended."""
    rows = _steps(case)
    ends = [0.0, *(end for _, *both in rows for end in both)]
    low, high = svg.widened(min(ends), max(ends), 0.12)
    room, plot_width, row = 250, 330, 30
    height = row * (len(rows) + 1) + 14

    def across(value: float) -> float:
        return room + (value - low) / (high - low) * plot_width

    body = [svg.path(f"M{across(0.0):.1f} 6V{height - 8}", svg.LINE)]
    for place, (name, start, end) in enumerate(rows, 1):
        y, value, total = row * (place - 0.5) + 8, end - start, place == len(rows)
        sign = svg.RAISES if value > 0 else svg.LOWERS if value < 0 else svg.FAINT
        left, right = across(min(start, end)), across(max(start, end))
        look, colour = ("h", svg.ACCENT) if total else ("", sign)
        body.append(svg.text(room - 10, y + 4, svg.shortened(name, 30), look, "end"))
        body.append(svg.rect(left, y - 9, max(right - left, 1.0), 18, colour))
        body.append(svg.text(right + 5, y + 4, f"{value:+.3g}"))
        if not total:
            body.append(svg.path(f"M{across(end):.1f} {y + 9:.1f}v{row - 18}", svg.FAINT))
    said = case["caption"]
    y = row * (len(rows) + 0.5) + 10
    body.append(svg.text(room + plot_width + 60, y, svg.shortened(said, 60), "h", "end"))
    label = "Score as a sum: " + ", ".join(f"{n} {e - s:+.3g}" for n, s, e in rows)
    return room + plot_width + 70, height, f"{label}; {said}", "".join(body)


def _steps(case: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return name, start and end of each bar; the last is the whole score."""
    components = case["components"]
    first = "intercept" if case.get("reference") is None else "mean in training"
    names = [first, *(f"{c['component']} {', '.join(c['sources'])}" for c in components)]
    ends = list(accumulate([float(case["intercept"]), *(c["value"] for c in components)]))
    bars = zip(names, [0.0, *ends], ends, strict=False)
    return [*bars, (f"score ({case['score_unit']})", 0.0, float(case["score"]))]


def load_chart(audit: Mapping[str, Any], name: str) -> svg.Drawing:
    """Return conditions in the whole model on a logarithmic scale: this one, peers, the bound."""
    rows = [(name, float(audit["miu"]), svg.ACCENT)]
    rows += [(p["name"], float(p["miu"]), svg.FAINT) for p in audit["peers"]]
    rows = [*sorted(rows, key=lambda r: r[1]), ("bound before training", audit["bound"], svg.LINE)]
    top = math.log10(1.0 + max(value for _, value, _ in rows)) or 1.0
    room, width, row = 230, 330, 28
    body = []
    for place, (label, value, colour) in enumerate(rows):
        y = row * (place + 0.5) + 6
        length = math.log10(1.0 + value) / top * width
        look = "h" if colour == svg.ACCENT else ""
        body.append(svg.text(room - 8, y + 4, svg.shortened(label, 30), look, "end"))
        body.append(svg.rect(room, y - 8, max(length, 1.0), 16, colour))
        body.append(svg.text(room + length + 6, y + 4, f"{value:,.6g}", look))
    said = ", ".join(f"{label} {value:,.6g}" for label, value, _ in rows)
    label = f"Conditions in the whole model, logarithmic scale: {said}"
    return room + width + 90, row * len(rows) + 12, label, "".join(body)


def share_bar(share: float, width: int = 120) -> svg.Drawing:
    """Return a share as a small bar."""
    body = svg.rect(0, 3, width, 10, svg.LINE) + svg.rect(0, 3, width * share, 10, svg.ACCENT)
    return width, 16, f"{share:.0%}", body


def quantile_box(column: Mapping[str, Any], ends: Sequence[float]) -> svg.Drawing | None:
    """Return a small box plot of a number's quantiles between two ends; None without them."""
    known = [q for q in column.get("quantiles") or [] if q is not None]
    if len(known) < 5 or not ends[0] < ends[1]:
        return None
    places = [120 * svg.share_between(ends[0], ends[1], q) for q in known]
    said = ", ".join(f"{q:.4g}" for q in known)
    return 120, 16, f"5%, 25%, 50%, 75% and 95% points: {said}", svg.box(places, 8, 4)


def frontier_chart(drawn: Mapping[str, Any]) -> svg.Drawing:
    """Return the frontier from the contents of a report."""
    points = tuple(FrontierPoint(**point) for point in drawn["points"])
    return frontier_drawing(Frontier(**{**drawn, "points": points}))

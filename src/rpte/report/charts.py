"""The charts of a report, each from a piece of its contents: width, height, label, body."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rpte.figures import svg
from rpte.figures.case import Bar, CaseFigure
from rpte.figures.frontier import Frontier, FrontierPoint, frontier_panel
from rpte.figures.importance import importance_panel
from rpte.figures.marks import DASHED, Axis, BoxMark, Panel, Points, Spot, TextMark, Tick, chart
from rpte.figures.text import MINUS, name, named_ticks, share_between, widened

UNIT = (0.0, 1.0)
DIAGONAL = ((0.0, 0.0), (1.0, 1.0))
MOST_BARS = 10  # variables with a bar of their own


def _points(curve: Mapping[str, Any], key: str, x: str = "x") -> Points:
    return [(x, y) for x, y in zip(curve[x], curve[key], strict=True) if y is not None]


def _curve(plot: Panel, curve: Mapping[str, Any], *start: tuple[float, float]) -> None:
    plot.band(_points(curve, "low"), _points(curve, "high"))
    plot.line([*start, *_points(curve, "y")])


def roc_chart(performance: Mapping[str, Any]) -> Panel:
    """Return the ROC curve with its band."""
    plot = chart(UNIT, UNIT, "1 - specificity (false alarms)", "sensitivity (events found)")
    plot.line(DIAGONAL, "faint", 1, DASHED)
    _curve(plot, performance["roc"], (0.0, 0.0))
    return plot.labelled(f"ROC curve; area {_measure(performance, 'auc')}")


def precision_chart(performance: Mapping[str, Any]) -> Panel:
    """Return precision against recall with its band."""
    plot = chart(UNIT, UNIT, "recall (events found)", "precision (flagged that are events)")
    rate = performance["events"] / performance["weight"]
    plot.line([(0, rate), (1, rate)], "faint", 1, DASHED)
    _curve(plot, performance["precision_recall"])
    average = _measure(performance, "average_precision")
    return plot.labelled(f"Precision-recall curve; average precision {average}")


def calibration_chart(performance: Mapping[str, Any], size: tuple[int, int] = (380, 300)) -> Panel:
    """Return observed against predicted rates in groups, with 95% intervals."""
    plot = chart(UNIT, UNIT, "mean predicted probability", "observed rate", *size)
    plot.line(DIAGONAL, "faint", 1, DASHED)
    groups = performance["calibration"]
    return plot.labelled(f"Calibration by tenths: {draw_groups(plot, groups)}")


def draw_groups(plot: Panel, groups: Sequence[Mapping[str, Any]]) -> str:
    """Draw observed against predicted rates of groups, and say them."""
    plot.line([(g["expected"], g["observed"]) for g in groups], "accent", 1)
    for group in groups:
        plot.interval(group["expected"], group["low"], group["high"])
        plot.dot(group["expected"], group["observed"])
    return "; ".join(f"{g['expected']:.2f} predicted, {g['observed']:.2f} observed" for g in groups)


def decision_chart(performance: Mapping[str, Any]) -> Panel:
    """Return the net benefit of the model, of flagging everybody and nobody."""
    curve = performance["decision"]
    rate = performance["events"] / performance["weight"]
    top, foot = max(rate, *(y for _, y in _points(curve, "high"))), -0.25 * rate
    plot = chart(UNIT, (foot, 1.05 * top), "threshold probability", "net benefit")
    everybody = [(x, y) for x, y in _points(curve, "all") if y >= foot]
    plot.line([(0.0, rate), *everybody], "faint", 1.5, DASHED)
    plot.line([(0, 0), (1, 0)], "ink", 1)
    _curve(plot, curve)
    said = "Decision curve: net benefit of the model, of flagging all (dashed) and none (zero)"
    return plot.labelled(said)


def probability_chart(performance: Mapping[str, Any]) -> Panel:
    """Return how the predicted probabilities of both classes lie: events up, others down."""
    shares = performance["histogram"]
    top = max(*shares["events"], *shares["others"], 0.01)
    plot = chart(UNIT, (-top, top), "predicted probability", "share of the class", 380, 220)
    plot.y.ticks = [(at, said.lstrip(MINUS)) for at, said in named_ticks(-top, top, 4)]
    edges = [place / 20 for place in range(21)]
    plot.bars(edges, shares["events"], "raises")
    plot.bars(edges, [-share for share in shares["others"]], "lowers")
    plot.line([(0, 0), (1, 0)], "ink", 0.8)
    said = "Predicted probabilities in twentieths: events above the line, others below"
    return plot.labelled(said)


def spread_chart(stability: Mapping[str, Any], what: str = "probability") -> Panel:
    """Return the range of the refits' predictions against the model's own."""
    spread = stability["spread"]
    ends, said = UNIT, f"{spread['mean_sd']:.3f}"
    if what != "probability":
        values = [value for key in ("p", "low", "high") for value in spread[key]]
        ends, said = widened(min(values), max(values)), f"{spread['mean_sd']:.4g}"
    plot = chart(ends, ends, f"{what} of this model", f"{what} of refits (5% to 95%)")
    plot.line([(end, end) for end in ends], "faint", 1, DASHED)
    low, high = _points(spread, "low", "p"), _points(spread, "high", "p")
    plot.band(low, high)
    plot.line(low, "accent", 1)
    plot.line(high, "accent", 1)
    many = {"probability": "probabilities", "survival": "survival"}.get(what, f"{what}s")
    return plot.labelled(f"Spread of {many} over refits; mean standard deviation {said}")


def _measure(performance: Mapping[str, Any], key: str) -> str:
    found = next(m for m in performance["measures"] if m["key"] == key)
    if found["low"] is None:
        return f"{found['value']:.3f}"
    return f"{found['value']:.3f} (95% interval {found['low']:.3f} to {found['high']:.3f})"


def load_chart(audit: Mapping[str, Any], own: str) -> Panel:
    """Return conditions in the whole model on a logarithmic scale: this one, peers, the bound."""
    rows = [(own, float(audit["miu"]), "accent")]
    rows += [(p["name"], float(p["miu"]), "faint") for p in audit["peers"]]
    rows = [*sorted(rows, key=lambda r: r[1]), ("bound before training", audit["bound"], "line")]
    said = ", ".join(f"{label} {value:,.6g}" for label, value, _ in rows)
    names = [Tick(y, name(row[0])) for y, row in enumerate(rows)]
    top = math.log10(1.0 + max(value for _, value, _ in rows)) or 1.0
    panel = Panel(
        Axis(0.0, top * 1.25, ticks=()),
        Axis(len(rows) - 0.4, -0.6, "", names, True),
        f"Conditions in the whole model, logarithmic scale: {said}",
        560,
        50 + 28 * len(rows),
    )
    for y, (label, value, colour) in enumerate(rows):
        length, look = math.log10(1.0 + value), "h n" if colour == "accent" else "n"
        panel.marks.append(BoxMark((0.0, length), (y - 0.3, y + 0.3), colour))
        panel.marks.append(TextMark(length, y, f"{value:,.6g}", "start", (6, 0), look))
        panel.spots.append(Spot(length, y, f"{label}: {value:,.6g} conditions"))
    return panel


def importance_chart(importance: Sequence[Mapping[str, Any]], unit: str) -> Panel:
    """Return a bar for each of the variables that move predictions most."""
    return importance_panel([(r["source"], r["value"]) for r in importance], unit, MOST_BARS, 330)


def explanation_chart(case: Mapping[str, Any]) -> Panel:
    """Return a score as a sum."""
    found = CaseFigure(**{**case["sum"], "bars": [Bar(*bar) for bar in case["sum"]["bars"]]})
    return found.panel()


def share_bar(share: float, width: int = 120) -> svg.Drawing:
    """Return a share as a small bar."""
    body = svg.rect(0, 3, width, 10, svg.LINE) + svg.rect(0, 3, width * share, 10, svg.ACCENT)
    return width, 16, f"{share:.0%}", body


def quantile_box(column: Mapping[str, Any], ends: Sequence[float]) -> svg.Drawing | None:
    """Return a small box plot of a number's quantiles between two ends; None without them."""
    known = [q for q in column.get("quantiles") or [] if q is not None]
    if len(known) < 5 or not ends[0] < ends[1]:
        return None
    places = [120 * share_between(ends[0], ends[1], q) for q in known]
    said = ", ".join(f"{q:.4g}" for q in known)
    return 120, 16, f"5%, 25%, 50%, 75% and 95% points: {said}", svg.box(places, 8, 4)


def frontier_chart(drawn: Mapping[str, Any]) -> Panel:
    """Return the frontier from the contents of a report."""
    points = tuple(FrontierPoint(**point) for point in drawn["points"])
    return frontier_panel(Frontier(**{**drawn, "points": points}))

"""The charts of a time until an event, each from a piece of the contents of a report."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rpte.report import svg
from rpte.report.charts import DIAGONAL, draw_groups
from rpte.report.class_charts import CLASS_COLOURS, DASHES

UNIT = (0.0, 1.0)
COLOURS = tuple(CLASS_COLOURS.values())
KEY_ROW, KEY_TOP = 18, 8
MOST_CHARACTERS = 34
WIDE = 440
DRAWN = ("low", "high", "value")  # lines of residuals


def _ends(*curves: Sequence[Sequence[float]]) -> tuple[float, float]:
    return 0.0, max((curve[-1][0] for curve in curves), default=1.0) or 1.0


def _points(curve: Sequence[Sequence[float]]) -> svg.Points:
    return [(x, y) for x, y in curve]


def _said(curve: Sequence[Sequence[float]]) -> str:
    """Say a curve at its quarters."""
    marks = [curve[len(curve) * k // 4] for k in (1, 2, 3)] + [curve[-1]]
    return ", ".join(f"{y:.2f} at {x:.4g}" for x, y in marks)


def _with_key(
    plot: svg.Plot, names: Sequence[str], looks: Sequence[tuple[str, str]], label: str
) -> svg.Drawing:
    """Return a chart with a line of its key below for each name."""
    width, height, said, body = plot.drawing(label)
    for place, (name, (colour, dash)) in enumerate(zip(names, looks, strict=True)):
        y = height + KEY_TOP + KEY_ROW * (place + 0.5)
        more = f' stroke-dasharray="{dash}"' if dash else ""
        body += svg.path(f"M{plot.left} {y - 4:.1f}h28", colour, 2.4, more)
        body += svg.text(plot.left + 36, y, svg.shortened(name, MOST_CHARACTERS), "n")
    return width, int(height + KEY_TOP + KEY_ROW * len(names) + 4), said, body


def baseline_chart(identity: Mapping[str, Any]) -> svg.Drawing:
    """Return the survival of a case of average score, for each stratum."""
    baselines = identity["baselines"][: len(COLOURS)]
    curves = [each["curve"] for each in baselines]
    name = svg.shortened(identity["time"], 40)
    plot = svg.Plot(_ends(*curves), UNIT, name, "survival", WIDE, 260)
    looks = [(COLOURS[k], DASHES[k]) for k in range(len(curves))]
    for curve, (colour, dash) in zip(curves, looks, strict=True):
        plot.line(_points(curve), colour, 2.2, dash)
    said = "; ".join(f"{each['name']}: {_said(each['curve'])}" for each in baselines)
    names = [each["name"] for each in baselines]
    label = f"Survival of a case of average score: {said}"
    return plot.drawing(label) if len(names) == 1 else _with_key(plot, names, looks, label)


def observed_chart(performance: Mapping[str, Any], time: str) -> svg.Drawing:
    """Return what was observed of all rows (Kaplan-Meier) and the mean of the curves told."""
    curve = performance["curve"]
    plot = svg.Plot(_ends(curve["observed"]), UNIT, svg.shortened(time, 40), "survival")
    plot.line(_points(curve["observed"]), svg.ACCENT, 2)
    plot.line(_points(curve["predicted"]), svg.INK, 1.6, svg.DASH)
    both = f"observed {_said(curve['observed'])}; predicted {_said(curve['predicted'])}"
    return plot.drawing(f"Survival of all rows: {both}")


def groups_chart(performance: Mapping[str, Any], time: str) -> svg.Drawing:
    """Return the Kaplan-Meier curves of the risk groups, and what was told of each (dashed)."""
    groups = performance["groups"]["groups"]
    ends = _ends(*(group["observed"] for group in groups))
    plot = svg.Plot(ends, UNIT, svg.shortened(time, 40), "survival", WIDE, 300)
    looks = [(COLOURS[k], "") for k in range(len(groups))]
    for group, (colour, _) in zip(groups, looks, strict=True):
        plot.line(_points(group["observed"]), colour, 2.2)
        plot.line(_points(group["predicted"]), colour, 1.3, svg.DASH)
    said = "; ".join(f"{group['name']}: {_said(group['observed'])}" for group in groups)
    names = [f"{group['name']}, {group['events']:g} events" for group in groups]
    return _with_key(plot, names, looks, f"Survival by risk group, observed: {said}")


def risk_chart(at: Mapping[str, Any]) -> svg.Drawing:
    """Return observed against predicted risk in bands, at one horizon."""
    bands = [band for band in at["bands"] if band["observed"] is not None]
    heights = [band[key] for band in bands for key in ("expected", "high")]
    top = min(1.0, 1.06 * max(heights, default=1.0)) or 1.0
    names = f"predicted risk at {svg.shortened(at['text'], 24)}", "observed risk (Kaplan-Meier)"
    plot = svg.Plot((0.0, top), (0.0, top), *names)
    plot.line([(x * top, y * top) for x, y in DIAGONAL], svg.FAINT, 1, svg.DASH)
    said = draw_groups(plot, bands)
    return plot.drawing(f"Calibration at {at['text']} by bands of risk: {said}")


def _over_time(line: Mapping[str, Any], key: str = "y") -> svg.Points:
    return list(zip(line["x"], line[key], strict=True))


def auc_chart(performance: Mapping[str, Any], time: str) -> svg.Drawing:
    """Return the area under the ROC curve over time, with its band."""
    line = performance["over_time"]["auc"]
    low = min(0.45, *(line["low"] or [0.45]))
    ends = (line["x"][0], line["x"][-1])
    plot = svg.Plot(ends, (max(0.0, low), 1.0), svg.shortened(time, 40), "AUC at that time")
    plot.line([(ends[0], 0.5), (ends[1], 0.5)], svg.FAINT, 1, svg.DASH)
    plot.band(_over_time(line, "low"), _over_time(line, "high"))
    plot.line(_over_time(line))
    return plot.drawing(f"AUC over time: {_said(_over_time(line))}")


def brier_chart(performance: Mapping[str, Any], time: str) -> svg.Drawing:
    """Return the Brier score over time, and that of Kaplan-Meier (dashed)."""
    own = performance["over_time"]["brier"]
    reference = performance["over_time"]["brier_reference"]
    top = 1.08 * max(0.01, *own["high"], *reference["y"])
    plot = svg.Plot((own["x"][0], own["x"][-1]), (0.0, top), svg.shortened(time, 40), "Brier score")
    plot.line(_over_time(reference), svg.INK, 1.6, svg.DASH)
    plot.band(_over_time(own, "low"), _over_time(own, "high"))
    plot.line(_over_time(own))
    both = f"{_said(_over_time(own))}; of Kaplan-Meier {_said(_over_time(reference))}"
    return plot.drawing(f"Brier score over time: {both}")


def shares_chart(performance: Mapping[str, Any]) -> svg.Drawing:
    """Return the share of rows in each tenth of the survival told for their own time."""
    shares = performance["d_calibration"]["shares"]
    top = 1.15 * max(shares)
    plot = svg.Plot(UNIT, (0.0, top), "survival told at the time of the event", "share", 380, 240)
    foot, width = plot.down(0.0), plot.across(0.1) - plot.across(0.0) - 2
    for place, share in enumerate(shares):
        x, y = plot.across(place / 10) + 1, plot.down(share)
        plot.body.append(svg.rect(x, y, width, foot - y, svg.ACCENT, ' fill-opacity="0.75"'))
    plot.line([(0.0, 0.1), (1.0, 0.1)], svg.INK, 1.2, svg.DASH)
    said = ", ".join(f"{share:.1%}" for share in shares)
    return plot.drawing(f"Shares of the tenths of survival, even if calibrated: {said}")


def residual_line(drawn: Mapping[str, Any], time: str) -> svg.Drawing:
    """Return what the hazard ratio of a term would be over time, with its band.

    Of a whole component, by what its contribution would have to be multiplied.
    """
    low, high = min(drawn["low"]), max(drawn["high"])
    middle = max(drawn["value"]) - min(drawn["value"]) + abs(drawn["coefficient"]) + 0.2
    ends = svg.widened(
        max(low, min(drawn["value"]) - 2 * middle, -20.0),
        min(high, max(drawn["value"]) + 2 * middle, 20.0),
    )
    across = svg.widened(drawn["time"][0], drawn["time"][-1], 0.0)
    whole = drawn["whole"]
    name = "strength (1: as in the model)" if whole else "hazard ratio"
    plot = svg.Plot(across, ends, svg.shortened(time, 40), name, 380, 250)
    plot.y_marks = None if whole else svg.ratio_ticks(*ends)
    plot.line([(at, 0.0) for at in across], svg.INK, 0.8)
    points = {key: list(zip(drawn["time"], drawn[key], strict=True)) for key in DRAWN}
    plot.band(points["low"], points["high"])
    plot.line([(at, drawn["coefficient"]) for at in across], svg.FAINT, 1.4, svg.DASH)
    plot.line(points["value"])
    values = drawn["coefficient"], drawn["value"][0], drawn["value"][-1]
    model, first, last = (value if whole else math.exp(value) for value in values)
    said = f"{model:.3g} in the model, {first:.3g} first, {last:.3g} last"
    what = "Strength" if whole else "Hazard ratio"
    return plot.drawing(f"{what} of {drawn['name']} over time: {said}")


def case_chart(case: Mapping[str, Any], time: str, beside: str = "average") -> svg.Drawing:
    """Return the survival curve of a case beside the average."""
    plot = svg.Plot(_ends(case["curve"]), UNIT, svg.shortened(time, 40), "survival", WIDE, 260)
    plot.line(_points(case["average"]), svg.FAINT, 1.8, svg.DASH)
    plot.line(_points(case["curve"]), svg.ACCENT, 2.4)
    for at in case["survival"]:
        plot.dot(at["horizon"], at["value"])
    said = ", ".join(f"at {at['text']}: {at['value']:.2f}" for at in case["survival"])
    names, looks = ("this case", beside), ((svg.ACCENT, ""), (svg.FAINT, svg.DASH))
    return _with_key(plot, names, looks, f"Survival of the case: {said}")

"""The charts of a time until an event, each from a piece of the contents of a report."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rpte.figures.marks import CLASSES, DASHED, DASHES, Panel, Points, chart
from rpte.figures.text import ratio_ticks, shortened, widened
from rpte.report.charts import DIAGONAL, draw_groups

UNIT = (0.0, 1.0)
MOST_CHARACTERS = 34
WIDE = 440
DRAWN = ("low", "high", "value")  # lines of residuals


def _ends(*curves: Sequence[Sequence[float]]) -> tuple[float, float]:
    return 0.0, max((curve[-1][0] for curve in curves), default=1.0) or 1.0


def _points(curve: Sequence[Sequence[float]]) -> Points:
    return [(x, y) for x, y in curve]


def _said(curve: Sequence[Sequence[float]]) -> str:
    """Say a curve at its quarters."""
    marks = [curve[len(curve) * k // 4] for k in (1, 2, 3)] + [curve[-1]]
    return ", ".join(f"{y:.2f} at {x:.4g}" for x, y in marks)


def baseline_chart(identity: Mapping[str, Any]) -> Panel:
    """Return the survival of a case of average score, for each stratum."""
    baselines = identity["baselines"][: len(CLASSES)]
    curves = [each["curve"] for each in baselines]
    name = shortened(identity["time"], 40)
    plot = chart(_ends(*curves), UNIT, name, "survival", WIDE, 260)
    for k, each in enumerate(baselines):
        said = shortened(each["name"], MOST_CHARACTERS) if len(baselines) > 1 else ""
        plot.line(_points(each["curve"]), CLASSES[k], 2.2, DASHES[k], said)
    said = "; ".join(f"{each['name']}: {_said(each['curve'])}" for each in baselines)
    return plot.labelled(f"Survival of a case of average score: {said}")


def observed_chart(performance: Mapping[str, Any], time: str) -> Panel:
    """Return what was observed of all rows (Kaplan-Meier) and the mean of the curves told."""
    curve = performance["curve"]
    plot = chart(_ends(curve["observed"]), UNIT, shortened(time, 40), "survival")
    plot.line(_points(curve["observed"]), "accent", 2)
    plot.line(_points(curve["predicted"]), "ink", 1.6, DASHED)
    both = f"observed {_said(curve['observed'])}; predicted {_said(curve['predicted'])}"
    return plot.labelled(f"Survival of all rows: {both}")


def groups_chart(performance: Mapping[str, Any], time: str) -> Panel:
    """Return the Kaplan-Meier curves of the risk groups, and what was told of each (dashed)."""
    groups = performance["groups"]["groups"]
    ends = _ends(*(group["observed"] for group in groups))
    plot = chart(ends, UNIT, shortened(time, 40), "survival", WIDE, 300)
    for k, group in enumerate(groups):
        name = f"{group['name']}, {group['events']:g} events"
        plot.line(_points(group["observed"]), CLASSES[k], 2.2, (), shortened(name, MOST_CHARACTERS))
        plot.line(_points(group["predicted"]), CLASSES[k], 1.3, DASHED)
    said = "; ".join(f"{group['name']}: {_said(group['observed'])}" for group in groups)
    return plot.labelled(f"Survival by risk group, observed: {said}")


def risk_chart(at: Mapping[str, Any]) -> Panel:
    """Return observed against predicted risk in bands, at one horizon."""
    bands = [band for band in at["bands"] if band["observed"] is not None]
    heights = [band[key] for band in bands for key in ("expected", "high")]
    top = min(1.0, 1.06 * max(heights, default=1.0)) or 1.0
    names = f"predicted risk at {shortened(at['text'], 24)}", "observed risk (Kaplan-Meier)"
    plot = chart((0.0, top), (0.0, top), *names)
    plot.line([(x * top, y * top) for x, y in DIAGONAL], "faint", 1, DASHED)
    said = draw_groups(plot, bands)
    return plot.labelled(f"Calibration at {at['text']} by bands of risk: {said}")


def _over_time(line: Mapping[str, Any], key: str = "y") -> Points:
    return list(zip(line["x"], line[key], strict=True))


def auc_chart(performance: Mapping[str, Any], time: str) -> Panel:
    """Return the area under the ROC curve over time, with its band."""
    line = performance["over_time"]["auc"]
    low = min(0.45, *(line["low"] or [0.45]))
    ends = (line["x"][0], line["x"][-1])
    plot = chart(ends, (max(0.0, low), 1.0), shortened(time, 40), "AUC at that time")
    plot.line([(ends[0], 0.5), (ends[1], 0.5)], "faint", 1, DASHED)
    plot.band(_over_time(line, "low"), _over_time(line, "high"))
    plot.line(_over_time(line))
    return plot.labelled(f"AUC over time: {_said(_over_time(line))}")


def brier_chart(performance: Mapping[str, Any], time: str) -> Panel:
    """Return the Brier score over time, and that of Kaplan-Meier (dashed)."""
    own = performance["over_time"]["brier"]
    reference = performance["over_time"]["brier_reference"]
    top = 1.08 * max(0.01, *own["high"], *reference["y"])
    plot = chart((own["x"][0], own["x"][-1]), (0.0, top), shortened(time, 40), "Brier score")
    plot.line(_over_time(reference), "ink", 1.6, DASHED)
    plot.band(_over_time(own, "low"), _over_time(own, "high"))
    plot.line(_over_time(own))
    both = f"{_said(_over_time(own))}; of Kaplan-Meier {_said(_over_time(reference))}"
    return plot.labelled(f"Brier score over time: {both}")


def shares_chart(performance: Mapping[str, Any]) -> Panel:
    """Return the share of rows in each tenth of the survival told for their own time."""
    shares = performance["d_calibration"]["shares"]
    top = 1.15 * max(shares)
    plot = chart(UNIT, (0.0, top), "survival told at the time of the event", "share", 380, 240)
    plot.bars([place / 10 for place in range(11)], shares)
    plot.line([(0.0, 0.1), (1.0, 0.1)], "ink", 1.2, DASHED)
    said = ", ".join(f"{share:.1%}" for share in shares)
    return plot.labelled(f"Shares of the tenths of survival, even if calibrated: {said}")


def residual_line(drawn: Mapping[str, Any], time: str) -> Panel:
    """Return what the hazard ratio of a term would be over time, with its band.

    Of a whole component, by what its contribution would have to be multiplied.
    """
    low, high = min(drawn["low"]), max(drawn["high"])
    middle = max(drawn["value"]) - min(drawn["value"]) + abs(drawn["coefficient"]) + 0.2
    ends = widened(
        max(low, min(drawn["value"]) - 2 * middle, -20.0),
        min(high, max(drawn["value"]) + 2 * middle, 20.0),
    )
    across = widened(drawn["time"][0], drawn["time"][-1], 0.0)
    whole = drawn["whole"]
    name = "strength (1: as in the model)" if whole else "hazard ratio"
    plot = chart(across, ends, shortened(time, 40), name, 380, 250)
    plot.y.ticks = None if whole else ratio_ticks(*ends) or None
    plot.line([(at, 0.0) for at in across], "ink", 0.8)
    points = {key: list(zip(drawn["time"], drawn[key], strict=True)) for key in DRAWN}
    plot.band(points["low"], points["high"])
    plot.line([(at, drawn["coefficient"]) for at in across], "faint", 1.4, DASHED)
    plot.line(points["value"])
    values = drawn["coefficient"], drawn["value"][0], drawn["value"][-1]
    model, first, last = (value if whole else math.exp(value) for value in values)
    said = f"{model:.3g} in the model, {first:.3g} first, {last:.3g} last"
    what = "Strength" if whole else "Hazard ratio"
    return plot.labelled(f"{what} of {drawn['name']} over time: {said}")


def case_chart(case: Mapping[str, Any], time: str, beside: str = "average") -> Panel:
    """Return the survival curve of a case beside the average."""
    plot = chart(_ends(case["curve"]), UNIT, shortened(time, 40), "survival", WIDE, 260)
    plot.line(_points(case["average"]), "faint", 1.8, DASHED, beside)
    plot.line(_points(case["curve"]), "accent", 2.4, (), "this case")
    for at in case["survival"]:
        plot.dot(at["horizon"], at["value"])
    said = ", ".join(f"at {at['text']}: {at['value']:.2f}" for at in case["survival"])
    return plot.labelled(f"Survival of the case: {said}")

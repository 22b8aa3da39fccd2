"""The charts of a model of numbers, each from a piece of the contents of a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpte.figures.marks import DASHED, Axis, DotMark, Panel, Spot, TextMark, Tick, chart
from rpte.figures.text import name, shortened, widened
from rpte.report.numbers import count, short

Band = Mapping[str, Any]
Ends = tuple[float, float]
ROW, MOST_CHARACTERS = 24, 22
MEANS = ("observed", "predicted")
LITTLE = 0.02  # of the largest exposure, of groups that do not set a scale
REACH = 0.6  # of the range of means by which a scale goes on for intervals at both ends


def _heights(bands: Sequence[Band], *keys: str) -> list[float]:
    return [band[key] for band in bands for key in keys if band.get(key) is not None]


def _scale(bands: Sequence[Band], *keys: str) -> Ends:
    """Return a range for means, and for their intervals as far as they do not dwarf these."""
    means, ends = _heights(bands, *keys), _heights(bands, *keys, "low", "high")
    room = (max(means) - min(means)) * REACH
    low, high = max(min(ends), min(means) - room), min(max(ends), max(means) + room)
    return widened(low, high)


def prediction_chart(performance: Mapping[str, Any]) -> Panel:
    """Return observed against predicted means in bands of the prediction."""
    bands = performance["bands"]
    ends = _scale(bands, *MEANS)
    plot = chart(ends, ends, "predicted mean", "observed mean")
    plot.line([(end, end) for end in ends], "faint", 1, DASHED)
    plot.line([(b["predicted"], b["observed"]) for b in bands], "accent", 1)
    for band in bands:
        _interval(plot, band["predicted"], band)
        plot.dot(band["predicted"], band["observed"])
    said = "; ".join(f"{short(b['predicted'])} predicted, {short(b['observed'])}" for b in bands)
    return plot.labelled(f"Observed against predicted means by bands: {said} observed")


def _interval(plot: Panel, x: float, band: Band) -> None:
    if band["low"] is not None:
        plot.interval(x, band["low"], band["high"])


def lift_chart(performance: Mapping[str, Any]) -> Panel:
    """Return observed and predicted means over the bands of the prediction, in order."""
    plot = _over_bands(performance["bands"], ("predicted",), "band, by predicted mean")
    said = _said(performance["bands"], "predicted", "observed")
    return plot.labelled(f"Lift by bands of the prediction, predicted and observed: {said}")


def double_lift_chart(against: Mapping[str, Any]) -> Panel:
    """Return observed means and what two models predict, where they differ."""
    name = shortened(against["name"], 24)
    plot = _over_bands(
        against["bands"], ("predicted", "other"), f"band, by this model against {name}"
    )
    said = _said(against["bands"], "predicted", "other", "observed")
    return plot.labelled(f"Double lift against {against['name']}: this, other, observed: {said}")


def _said(bands: Sequence[Band], *keys: str) -> str:
    return "; ".join(", ".join(short(band[key]) for key in keys) for band in bands)


def _over_bands(bands: Sequence[Band], keys: Sequence[str], name: str) -> Panel:
    """Return a chart of bands in order: dots for what was observed, lines for predictions."""
    low, high = _scale(bands, "observed", *keys)
    plot = chart((0.5, len(bands) + 0.5), (low, high), name, "mean")
    for key, colour, dash in zip(keys, ("ink", "raises"), ((), DASHED), strict=False):
        plot.line([(x, band[key]) for x, band in enumerate(bands, 1)], colour, 1.8, dash)
    plot.line([(x, band["observed"]) for x, band in enumerate(bands, 1)], "accent", 1)
    for x, band in enumerate(bands, 1):
        _interval(plot, x, band)
        plot.dot(x, band["observed"])
    return plot


def residual_chart(performance: Mapping[str, Any]) -> Panel:
    """Return observed less predicted means over the bands of the prediction."""
    bands = [
        {
            "residual": band["residual"],
            "low": None if band["low"] is None else band["low"] - band["predicted"],
            "high": None if band["high"] is None else band["high"] - band["predicted"],
        }
        for band in performance["bands"]
    ]
    low, high = widened(
        min(0.0, *_heights(bands, "residual", "low")),
        max(0.0, *_heights(bands, "residual", "high")),
    )
    plot = chart(
        (0.5, len(bands) + 0.5), (low, high), "band, by predicted mean", "observed - predicted"
    )
    plot.line([(0.5, 0.0), (len(bands) + 0.5, 0.0)], "ink", 1)
    for x, band in enumerate(bands, 1):
        _interval(plot, x, band)
        plot.dot(x, band["residual"])
    said = "; ".join(short(band["residual"]) for band in bands)
    return plot.labelled(f"Residuals by bands of the prediction: {said}")


def lorenz_chart(performance: Mapping[str, Any], counted: str) -> Panel | None:
    """Return the share of y over the share of the exposure, lowest predictions first."""
    curve = performance["lorenz"]
    if curve is None:
        return None
    name = shortened(counted, 30)
    plot = chart((0.0, 1.0), (0.0, 1.0), f"share of {name}", "share observed")
    plot.line([(0.0, 0.0), (1.0, 1.0)], "faint", 1, DASHED)
    plot.line(list(zip(curve["x"], curve["y"], strict=True)))
    at = [f"{y:.0%} in the lowest {x:.0%}" for x, y in zip(curve["x"], curve["y"], strict=True)]
    return plot.labelled(f"Lorenz curve: {', '.join(at[10:100:20])}")


def mean_chart(performance: Mapping[str, Any]) -> Panel:
    """Return how the predicted means lie, by exposure."""
    found = performance["histogram"]
    shares, (low, high) = found["shares"], widened(found["low"], found["high"], 0.0)
    plot = chart((low, high), (0.0, 1.08 * max(shares)), "predicted mean", "share", 380, 240)
    step = (high - low) / len(shares)
    plot.bars([low + place * step for place in range(len(shares) + 1)], shares)
    return plot.labelled(f"Predicted means from {short(low)} to {short(high)}, by their share")


def variable_chart(variable: Mapping[str, Any]) -> Panel | None:
    """Return observed and predicted means of the groups of a variable, a row for each.

    A stroke is where a group is predicted, a dot with its interval where it was observed; a ring
    lies beyond the scale. The exposure is beside the name.
    """
    groups = variable["groups"]
    known = [group for group in groups if "observed" in group]
    if not known:
        return None
    largest = max(group["exposure"] for group in groups)
    # Groups of little exposure may lie beyond the scale.
    low, high = _scale([g for g in known if g["exposure"] >= LITTLE * largest], *MEANS)
    names = [
        Tick(y, f"{name(g['group'], MOST_CHARACTERS)}  {short(g['exposure'])}", "observed" not in g)
        for y, g in enumerate(groups)
    ]
    said = "; ".join(
        f"{g['group']}: {short(g['observed'])} observed, {short(g['predicted'])} predicted, "
        f"{count(g['exposure'])}"
        for g in known
    )
    label, rows = (
        f"Means by {variable['name']}: {said}",
        Axis(len(groups) - 0.4, -0.6, "", names, True),
    )
    panel = Panel(Axis(low, high), rows, label, 400, 48 + ROW * len(groups))
    for y, group in enumerate(groups):
        if "observed" not in group:
            panel.marks.append(TextMark(low, y, "few rows: not measured", "start", (8, 0), "n f"))
            continue
        if group["low"] is not None:
            panel.line([(group["low"], y), (group["high"], y)], "accent", 1.5)
        panel.line([(group["predicted"], y - 0.36), (group["predicted"], y + 0.36)], "ink", 3)
        sign = "circle" if low <= group["observed"] <= high else "ring"
        panel.marks.append(DotMark([(group["observed"], y)], "accent", sign))
        means = f"{short(group['observed'])} observed, {short(group['predicted'])} predicted"
        panel.spots.append(Spot(group["observed"], y, f"{group['group']}: {means}"))
    return panel

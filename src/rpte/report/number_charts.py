"""The charts of a model of numbers, each from a piece of the contents of a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpte.figures import svg
from rpte.figures.marks import DASHED, Panel, chart
from rpte.figures.text import named_ticks, share_between, shortened, widened
from rpte.report.numbers import count, short

Band = Mapping[str, Any]
Ends = tuple[float, float]
ROW, VARIABLE_PLOT, EXPOSURE_BAR, MOST_CHARACTERS = 24, 190, 46, 22
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


def variable_chart(variable: Mapping[str, Any]) -> svg.Drawing | None:
    """Return observed and predicted means of the groups of a variable, a row for each."""
    groups = variable["groups"]
    known = [group for group in groups if "observed" in group]
    if not known:
        return None
    largest = max(group["exposure"] for group in groups)
    # Groups of little exposure may lie beyond the scale.
    low, high = _scale([g for g in known if g["exposure"] >= LITTLE * largest], *MEANS)
    names = [shortened(group["group"], MOST_CHARACTERS) for group in groups]
    room = max(len(name) for name in names) * 6.9 + 22
    foot = ROW * len(groups) + 4
    body = _ticks(low, high, room, foot)
    for place, (name, group) in enumerate(zip(names, groups, strict=True)):
        y = ROW * (place + 0.5) + 2
        look = "n" if "observed" in group else "n f"
        body.append(svg.text(room - 8, y + 4, name, look, "end"))
        body.append(_means(group, room, y, (low, high)))
        right = room + VARIABLE_PLOT + 10
        length = max(group["exposure"] / largest * EXPOSURE_BAR, 1.0)
        body.append(svg.rect(right, y - 5, length, 10, svg.FAINT, ' fill-opacity="0.55"'))
        amount = shortened(short(group["exposure"]), 9)
        body.append(svg.text(right + EXPOSURE_BAR + 6, y + 4, amount, "n f"))
    said = "; ".join(
        f"{g['group']}: {short(g['observed'])} observed, {short(g['predicted'])} predicted, "
        f"{count(g['exposure'])}"
        for g in known
    )
    width = int(room + VARIABLE_PLOT + 10 + EXPOSURE_BAR + 62)
    return width, foot + 24, f"Means by {variable['name']}: {said}", "".join(body)


def _ticks(low: float, high: float, room: float, foot: float) -> list[str]:
    """Return the scale below the rows of a variable, with its lines."""
    body = []
    for at, name in named_ticks(low, high, 4):
        x = room + share_between(low, high, at) * VARIABLE_PLOT
        body.append(svg.path(f"M{x:.1f} 2V{foot}", svg.LINE, 0.7))
        body.append(svg.text(x, foot + 16, name, "n f", "middle"))
    return body


def _means(group: Band, room: float, y: float, scale: Ends) -> str:
    """Return a stroke where a group is predicted, a dot and its interval where it was observed."""
    if "observed" not in group:
        return svg.text(room + 8, y + 4, "few rows: not measured", "n f")

    def across(value: float) -> float:
        return room + share_between(*scale, value) * VARIABLE_PLOT

    drawn = ""
    if group["low"] is not None:
        way = f"M{across(group['low']):.1f} {y:.1f}H{across(group['high']):.1f}"
        drawn += svg.path(way, svg.ACCENT, 1.5)
    drawn += svg.rect(across(group["predicted"]) - 1.5, y - 9, 3, 18, svg.INK)
    place = f'cx="{across(group["observed"]):.1f}" cy="{y:.1f}"'
    inside = scale[0] <= group["observed"] <= scale[1]
    look = f'fill="{svg.ACCENT if inside else svg.PAPER}" stroke="{svg.ACCENT}"'
    return drawn + f'<circle {place} r="4" {look}/>'

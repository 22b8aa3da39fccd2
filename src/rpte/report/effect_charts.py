"""What variables add, as pictures with captions: a curve or bars of one, a grid of two.

A caption says what is shown: all that reads a variable or its own terms alone, averaged over what.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rpte.report import svg
from rpte.report.curves import KEYS
from rpte.report.numbers import count, signed

HAZARDS = "log hazard ratio"  # the unit that is drawn as a ratio, on a logarithmic scale
MOST_LEVELS = 30  # of one variable that are drawn
SPREAD_ROOM = 0.5  # of the height of curves that spreads may add to a scale on either side
FLAT = 12.0  # times a curve's height from which on a scale would show it as a flat line
GRID_LEFT, GRID_TOP, GRID_WIDTH, GRID_HEIGHT, GRID_BOTTOM, SHADES = 92, 12, 250, 200, 62, 20


def effect_title(shape: Mapping[str, Any]) -> str:
    """Return the title of the picture of one of `curves.shapes`."""
    whole = shape["alone"] or shape["averaged"] is not None
    if shape["unit"] == HAZARDS:
        return f"Hazard ratio by {'' if whole else 'the own terms of '}{shape['source']}"
    return f"What {'' if whole else 'the own terms of '}{shape['source']} add{'s' * whole}"


def effect_note(shape: Mapping[str, Any], thin: bool = True) -> str:
    """Return the caption of one of `curves.shapes`; `thin` lines are a variable's own terms."""
    own, shared = _terms_text(shape["terms"], "own terms"), _terms_text(shape["shared"])
    others, more = _names_text(shape["others"]), _levels_note(shape)
    if shape["alone"]:
        return f"{own}{more}"
    if shape["averaged"] is None:
        return (
            f"{own}. Not its whole effect: it also acts with {others} in {shared}, which only rows "
            f"can average; give a table{more}"
        )
    over = _rows_text(shape["averaged"])
    if not own:
        return f"whole effect: {shared}, with {others}, over {over}{more}"
    alone = f"; thin: {own} alone" if thin else ""
    return f"whole effect: {own} and {shared} with {others}, over {over}{alone}{more}"


def joint_note(surface: Mapping[str, Any]) -> str:
    """Return the caption of one of `curves.surfaces`."""
    own, shared = _terms_text(surface["terms"]), _terms_text(surface["shared"])
    if not surface["shared"]:
        return f"all that reads them: {own}"
    others = _names_text(surface["others"])
    if surface["averaged"] is None:
        return f"{own}; not {shared} with {others}, which only rows can average"
    over = _rows_text(surface["averaged"])
    return f"all that reads them: {own}, and {shared} with {others}, over {over}"


def _levels_note(shape: Mapping[str, Any]) -> str:
    """Say what a missing number adds (a category has a bar for it), and if levels are left out."""
    levels = shape["levels"]
    gone = [_height(row) for row in levels if row["level"] is None and shape["kind"] == "number"]
    adds = "has the ratio" if shape["unit"] == HAZARDS else "adds"
    missing = f"; missing {adds} {added_text(shape, gone[0])}" if gone else ""
    few = f"; the {MOST_LEVELS} strongest of {len(levels)} levels"
    return missing + (few if len(levels) > MOST_LEVELS else "")


def added_text(shape: Mapping[str, Any], value: float) -> str:
    """Say what is added to the score; of a hazard, what it is multiplied by."""
    return f"{math.exp(value):.3g}" if shape["unit"] == HAZARDS else signed(value, 3)


def _rows_text(averaged: Mapping[str, Any]) -> str:
    of = f" of {count(averaged['table_rows'])}" if averaged["sampled"] else ""
    return f"{count(averaged['rows'])}{of} rows"


def _terms_text(names: Sequence[str], many: str = "terms") -> str:
    return f"{len(names)} {many}" if len(names) > 4 else " + ".join(names)


def _names_text(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _height(row: Mapping[str, Any]) -> float:
    """Return what a level adds: the whole, or its own terms where that is all that is known."""
    return float(row["own"] if row["whole"] is None else row["whole"])


def drawn_levels(shape: Mapping[str, Any], most: int = MOST_LEVELS) -> list[dict[str, Any]]:
    """Return the levels that are drawn: all, or the strongest where they are many, in order."""
    rows = shape["levels"]
    strongest = sorted(range(len(rows)), key=lambda place: -abs(_height(rows[place])))
    return [rows[place] for place in sorted(strongest[:most])]


def effect_scale(shapes: Sequence[Mapping[str, Any]]) -> tuple[tuple[float, float], float]:
    """Return the common scale of curves, and the largest level, of what is added.

    Spreads over rows count up to half the height of the curves beyond these: where variables are
    set to values that do not occur together, a spread may be a thousand times as high.
    """
    lines = [_line(shape) for shape in shapes if shape.get("curves")]
    heights = [0.0, *(y for line in lines for _, y in line)]
    low, high = min(heights), max(heights)
    spreads = [shape["curves"].get(key) for shape in shapes if shape.get("curves") for key in KEYS]
    beyond = [y for line in spreads for _, y in line or ()] if high > low else []
    room = (high - low) * SPREAD_ROOM
    low, high = max(min([low, *beyond]), low - room), min(max([high, *beyond]), high + room)
    levels = [row[key] for shape in shapes for row in shape["levels"] for key in KEYS]
    largest = max([0.0, *(abs(v) for v in levels if v is not None)])
    return svg.widened(low, high, 0.08), largest


def _line(shape: Mapping[str, Any]) -> Sequence[Sequence[float]]:
    """Return the curve of a variable: its whole effect, or its own terms where that is all."""
    curves = shape["curves"]
    return curves.get("whole") or curves.get("own") or ()


def _own_scale(shape: Mapping[str, Any], scale: Sequence[float]) -> tuple[float, float] | None:
    """Return a scale for a curve that would be a flat line on the common one; None if it is not."""
    low, high = effect_scale([shape])[0]
    flat = (high - low) * FLAT < scale[1] - scale[0] and any(y for _, y in _line(shape))
    return (low, high) if flat else None


def shape_chart(
    shape: Mapping[str, Any],
    scale: Sequence[float],
    box: Any = None,
    size: tuple[int, int] = (380, 240),
) -> svg.Drawing:
    """Return what a variable (thick) and its own terms (thin) add; `scale` are the ends."""
    curves = {key: [(x, y) for x, y in line or []] for key, line in shape["curves"].items()}
    points = curves["whole"] or curves["own"]
    start, end = points[0][0], points[-1][0]
    across = svg.widened(start, end) if shape.get("points") or start == end else (start, end)
    name = svg.shortened(shape["source"], 50)
    own = _own_scale(shape, scale)
    plot = svg.Plot(across, own or (scale[0], scale[1]), name, f"adds to {shape['unit']}", *size)
    if shape["unit"] == HAZARDS:
        plot.y_label, plot.y_marks = "hazard ratio", svg.ratio_ticks(*plot.y)
    if own:
        plot.y_label = f"{plot.y_label if plot.y_marks else 'adds'} (own scale)"
    plot.fit_left()
    if shape.get("points"):
        draw_points(plot, points, curves["low"], curves["high"])
    else:
        plot.band(curves["low"], curves["high"])
    plot.line([(start, 0), (end, 0)], svg.INK, 0.8)
    if not shape["alone"]:
        plot.line(curves["own"], svg.INK, 1.1, "" if curves["whole"] else svg.DASH)
    if not shape.get("points"):
        plot.line(curves["whole"], svg.ACCENT, 2.6)
    if box and None not in box:
        plot.body.append(svg.box([plot.across(q) for q in box], plot.height - svg.BOTTOM - 5, 3))
    step = max(1, math.ceil(len(points) / 6))
    some = [*points[:-1:step], points[-1]]
    said = [f"{y:+.2f} at {x:.4g}" for x, y in some]
    if shape["unit"] == HAZARDS:
        said = [f"{added_text(shape, y)} at {x:.4g}" for x, y in some]
    return plot.drawing(f"{effect_title(shape)}: {', '.join(said)}")


def draw_points(
    plot: svg.Plot, points: svg.Points, low: svg.Points = (), high: svg.Points = ()
) -> None:
    """Draw what a number of few values adds at each of them, and between what ends in rows."""
    for (x, below), (_, above) in zip(low, high, strict=True):
        plot.bar(x, below, above)
    for x, y in points:
        plot.dot(x, y, size=4.5)


def level_chart(
    shape: Mapping[str, Any],
    largest: float,
    bar: int = 180,
    characters: int = 28,
    most: int = MOST_LEVELS,
) -> svg.Drawing:
    """Return what each level, code or missing adds as bars, with own terms and spread beside.

    A `bar` may be so wide, a name have so many `characters`; the strongest are drawn, at `most`.
    """
    rows = drawn_levels(shape, most)
    names = ["missing" if row["level"] is None else str(row["level"]) for row in rows]
    room = min(max((len(name) for name in names), default=4), characters) * svg.CHARACTER + 16
    height, numbers = (30, 0) if shape["alone"] else (34, 60)
    body = []
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        y, value = height * (place + 0.5) + 4, _height(row)
        look = "f" if row["level"] is None else ""
        body.append(svg.text(room - 8, y + 4, svg.shortened(name, characters), look, "end"))
        told = added_text(shape, value) if shape["unit"] == HAZARDS else None
        given = value, largest or 1.0, "" if numbers else told
        body.append(svg.signed_bar(room, y, bar, *given))
        if numbers:
            body.append(_beside_bar(row, room + bar / 2, y, (bar / 2 - 2) / (largest or 1.0)))
            shown = told or f"{value:+.3g}"
            body.append(svg.text(room + bar + numbers, y + 4, shown, look, "end"))
    heights = [_height(row) for row in rows]
    if shape["unit"] == HAZARDS:
        texts = [added_text(shape, value) for value in heights]
    else:
        texts = [f"{value:+.3g}" for value in heights]
    said = ", ".join(f"{n} {each}" for n, each in zip(names, texts, strict=True))
    label = f"{effect_title(shape)}: {said}"
    return int(room + bar + 10 + numbers), height * len(rows) + 8, label, "".join(body)


def _beside_bar(row: Mapping[str, Any], middle: float, y: float, unit: float) -> str:
    """Return the spread over rows as a line across a bar, and own terms as one below it."""
    drawn = ""
    if row["low"] is not None:
        low, high = (middle + row[end] * unit for end in ("low", "high"))
        drawn += svg.path(f"M{low:.1f} {y - 3:.1f}v6m0 -3H{high:.1f}m0 -3v6", svg.INK, 0.9)
    if row["own"] is not None and row["whole"] is not None:
        end = middle + row["own"] * unit
        drawn += svg.path(f"M{middle:.1f} {y + 11:.1f}H{end:.1f}", svg.INK, 1.8)
    return drawn


def surface_chart(surface: Mapping[str, Any], largest: float | None = None) -> svg.Drawing:
    """Return one of `curves.surfaces`: the more both move the score, the deeper the shade.

    The deepest shade is that of `largest`, of the largest cell if None.
    """
    cells = [value for row in surface["values"] for value in row]
    deepest = max(map(abs, cells), default=0.0) if largest is None else largest
    body = list(_shades(surface["values"], deepest or 1.0))
    left, foot, end = GRID_LEFT, GRID_TOP + GRID_HEIGHT, GRID_LEFT + GRID_WIDTH
    body.append(svg.path(f"M{left} {GRID_TOP}H{end}V{foot}H{left}Z", svg.LINE))
    marks = _marks(surface["x"])
    fitting = max(min(9, int(GRID_WIDTH / svg.CHARACTER / max(len(marks), 1))), 1)
    for share, name in marks:
        x, said = left + share * GRID_WIDTH, svg.shortened(name, fitting)
        body.append(svg.text(x, foot + 16, said, "n", "middle"))
    for share, name in _marks(surface["y"]):
        y, said = foot - share * GRID_HEIGHT + 4, svg.shortened(name, 10)
        body.append(svg.text(left - 6, y, said, "n", "end"))
    x_name, y_name = (svg.shortened(name, 34) for name in surface["sources"])
    body.append(svg.text(left + GRID_WIDTH / 2, foot + 36, x_name, "n f", "middle"))
    body.append(svg.upright(12, GRID_TOP + GRID_HEIGHT / 2, y_name))
    said = f"{added_text(surface, min(cells))} to {added_text(surface, max(cells))}"
    what = "hazard ratio" if surface["unit"] == HAZARDS else "adds"
    body.append(svg.text(end, foot + 54, f"{what} {said}", "n", "end"))
    both = " and ".join(surface["sources"])
    label = f"What {both} add together: {said} on the {surface['unit']}"
    return end + 16, foot + GRID_BOTTOM, label, "".join(body)


def _shades(values: Sequence[Sequence[float]], largest: float) -> Iterator[str]:
    """Yield one path per shade; neighbours of one shade in a row are one rectangle."""
    ways: dict[int, list[str]] = {}
    height = GRID_HEIGHT / len(values)
    for up, row in enumerate(values):
        width, start = GRID_WIDTH / len(row), 0
        for shade, run in groupby(round(v / largest * SHADES) for v in row):
            length = len(list(run))
            x, y = GRID_LEFT + start * width, GRID_TOP + GRID_HEIGHT - (up + 1) * height
            across = f"{length * width + 0.3:.1f}"
            way = f"M{x:.1f} {y:.1f}h{across}v{height + 0.3:.1f}h-{across}z"
            ways.setdefault(shade, []).append(way)
            start += length
    for shade, drawn in sorted(ways.items()):
        if shade:
            colour, share = svg.RAISES if shade > 0 else svg.LOWERS, abs(shade) / SHADES
            yield f'<path d="{"".join(drawn)}" fill="{colour}" fill-opacity="{share:.2f}"/>'


def _marks(axis: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Return what is written along an axis, and at which share of it."""
    if "levels" in axis:
        levels = axis["levels"]
        return [((k + 0.5) / len(levels), name) for k, name in enumerate(levels)]
    low, high = axis["range"]
    return [(svg.share_between(low, high, at), name) for at, name in svg.named_ticks(low, high, 4)]

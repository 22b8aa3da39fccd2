"""A grid of two variables as a picture: red where they raise the log odds, green where they lower.

The stronger the colour, the more; the scale is written beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rpte.report.numbers import signed
from rpte.report.plot import named_ticks
from rpte.report.svg import LINE, LOWERS, RAISES, Drawing, path_svg, shortened, text_svg
from rpte.report.tree_svg import CHARACTER

LEFT, TOP, WIDTH, HEIGHT, BOTTOM = 92, 12, 250, 200, 62
SHADES = 20


def surface_chart(surface: Mapping[str, Any]) -> Drawing:
    """Return the picture of one of `surfaces.surfaces`: width, height, label, body."""
    values = surface["values"]
    largest = max((abs(v) for row in values for v in row), default=0.0)
    body = list(_cells(values, largest or 1.0))
    foot = TOP + HEIGHT
    frame = f"M{LEFT} {TOP}H{LEFT + WIDTH}V{foot}H{LEFT}Z"
    body.append(path_svg(frame, LINE))
    marks = _marks(surface["x"], 4)
    fitting = min(9, int(WIDTH / CHARACTER / max(len(marks), 1)))
    for share, name in marks:
        said = shortened(name, max(fitting, 1))
        body.append(text_svg(LEFT + share * WIDTH, foot + 16, said, "n", "middle"))
    for share, name in _marks(surface["y"], 4):
        body.append(text_svg(LEFT - 6, foot - share * HEIGHT + 4, shortened(name, 10), "n", "end"))
    x_name, y_name = (shortened(name, 34) for name in surface["sources"])
    body.append(text_svg(LEFT + WIDTH / 2, foot + 36, x_name, "n f", "middle"))
    upright = f'<g transform="translate(12 {TOP + HEIGHT / 2:.0f}) rotate(-90)">'
    body.append(upright + text_svg(0, 0, y_name, "n f", "middle") + "</g>")
    ends = [min(v for row in values for v in row), max(v for row in values for v in row)]
    said = f"{signed(ends[0], 3)} to {signed(ends[1], 3)}"
    body.append(text_svg(LEFT + WIDTH, foot + 54, f"adds {said}", "n", "end"))
    label = f"What {' and '.join(surface['sources'])} add together: {said} on the log odds"
    return LEFT + WIDTH + 16, foot + BOTTOM, label, "".join(body)


def _cells(values: Sequence[Sequence[float]], largest: float) -> Iterator[str]:
    """Yield one path per shade; neighbours of one shade in a row are one rectangle."""
    ways: dict[int, list[str]] = {}
    height = HEIGHT / len(values)
    for up, row in enumerate(values):
        width, start = WIDTH / len(row), 0
        for shade, run in groupby(round(v / largest * SHADES) for v in row):
            length = len(list(run))
            x, y = LEFT + start * width, TOP + HEIGHT - (up + 1) * height
            across = f"{length * width + 0.3:.1f}"
            way = f"M{x:.1f} {y:.1f}h{across}v{height + 0.3:.1f}h-{across}z"
            ways.setdefault(shade, []).append(way)
            start += length
    for shade, drawn in sorted(ways.items()):
        if shade:
            colour, share = RAISES if shade > 0 else LOWERS, abs(shade) / SHADES
            yield f'<path d="{"".join(drawn)}" fill="{colour}" fill-opacity="{share:.2f}"/>'


def _marks(axis: Mapping[str, Any], most: int) -> list[tuple[float, str]]:
    """Return what is written along an axis, and at which share of it."""
    if "levels" in axis:
        levels = axis["levels"]
        return [((k + 0.5) / len(levels), name) for k, name in enumerate(levels)]
    low, high = axis["range"]
    return [((at - low) / ((high - low) or 1.0), name) for at, name in named_ticks(low, high, most)]

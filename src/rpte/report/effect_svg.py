"""One variable's effect as a picture that stands alone: a title, a curve or bars, a caption."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rpte.report.captions import BAND, effect_note, effect_title
from rpte.report.charts import level_chart, shape_chart
from rpte.report.curves import KEYS
from rpte.report.plot import widened
from rpte.report.svg import Drawing, shortened, text_svg

TOP, LINE, CHARACTERS, WIDTH = 34, 17, 62, 440


def effect_scale(shapes: Sequence[Mapping[str, Any]]) -> tuple[tuple[float, float], float]:
    """Return the common scale of curves, and the largest level, of the added log odds."""
    lines = [line for shape in shapes for line in shape.get("curves", {}).values() if line]
    heights = [y for line in lines for _, y in line]
    levels = [row[key] for shape in shapes for row in shape["levels"] for key in KEYS]
    low, high = min([0.0, *heights]), max([0.0, *heights])
    return widened(low, high, 0.08), max([0.0, *(abs(v) for v in levels if v is not None)])


def effect_drawing(shape: Mapping[str, Any], box: Any = None) -> Drawing:
    """Return one of `curves.shapes` with its title and caption.

    Parameters
    ----------
    shape : mapping
    box : five quantiles, optional
        Where the cases lie.
    """
    scale, largest = effect_scale([shape])
    charts = [shape_chart(shape, scale, box)] if shape["kind"] == "number" else []
    if shape["kind"] != "number" or any(row["level"] is not None for row in shape["levels"]):
        charts.append(level_chart(shape, largest))
    title = effect_title(shape)
    body, y = [text_svg(8, 20, shortened(title, 60), "h")], TOP
    for _, height, _, drawn in charts:
        body.append(f'<g transform="translate(0 {y})">{drawn}</g>')
        y += height + 6
    note = effect_note(shape) + (f"; {BAND}" if shape["averaged"] else "")
    lines = textwrap.wrap(note[:1].upper() + note[1:], CHARACTERS)
    body += [text_svg(8, y + LINE * (n + 1), line, "f n") for n, line in enumerate(lines)]
    label = "; ".join([*(label for _, _, label, _ in charts), note])
    width = max(WIDTH, *(width for width, _, _, _ in charts))
    return width, y + LINE * (len(lines) + 1), label, "".join(body)

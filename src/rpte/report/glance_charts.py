"""The pictures of the first screen: which variables matter most, and their effects, small."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpte.report import svg
from rpte.report.class_charts import class_level_chart, class_shape_chart, together
from rpte.report.effect_charts import level_chart, shape_chart
from rpte.report.numbers import short

MOST_BARS = 10  # variables with a bar of their own
ROW, BAR, NUMBER, NAME = 25, 120, 48, 20
SMALL, SMALL_CLASSES = (290, 176), (220, 190)
SMALL_BAR, SMALL_NAME, MOST_LEVELS = 120, 14, 7


def importance_chart(importance: Sequence[Mapping[str, Any]], unit: str) -> svg.Drawing:
    """Return a bar for each of the variables that move predictions most."""
    shown, rest = importance[:MOST_BARS], importance[MOST_BARS:]
    names = [svg.shortened(record["source"], NAME) for record in shown]
    room = max(map(len, names), default=4) * svg.CHARACTER + 12
    largest = max((record["value"] for record in shown), default=0.0) or 1.0
    body = []
    for place, (name, record) in enumerate(zip(names, shown, strict=True)):
        y, length = ROW * (place + 0.5) + 4, record["value"] / largest * BAR
        body.append(svg.text(room - 8, y + 4, name, "", "end"))
        body.append(svg.rect(room, y - 7, max(length, 1.0), 14, svg.FAINT))
        body.append(svg.text(room + length + 5, y + 4, short(record["value"], 2), "n f"))
    height = ROW * len(shown) + 8
    if rest:
        more = f"{len(rest)} more, at most {short(rest[0]['value'], 2)}"
        body.append(svg.text(room, height + 10, more, "n f"))
        height += ROW
    said = ", ".join(f"{r['source']} {short(r['value'], 2)}" for r in importance)
    label = f"Mean absolute contribution to {unit}: {said}"
    return int(room + BAR + NUMBER), height, label, "".join(body)


def small_effect(
    shape: Mapping[str, Any],
    names: Sequence[str],
    scale: Sequence[float],
    largest: float,
    box: Any = None,
) -> svg.Drawing:
    """Return the effect of one variable, small; of several classes, `names` are theirs."""
    number = shape["kind"] == "number"
    if not names:
        return shape_chart(shape, scale, box, SMALL) if number else _levels(shape, largest)
    return (
        class_shape_chart(shape, names, scale, box, SMALL_CLASSES)
        if number
        else class_level_chart(shape, names, largest)
    )


def _levels(shape: Mapping[str, Any], largest: float) -> svg.Drawing:
    return level_chart(shape, largest, SMALL_BAR, SMALL_NAME, MOST_LEVELS)


def drawn_small(shape: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Tell whether a small picture can show a variable: many classes need a picture each."""
    return not names or together(names)

"""The charts of several classes: a line or a bar for each, small multiples where they are many.

A class has a colour, a dash and a marker of its own, so that lines can be told apart by people who
see few colours, and in print without any. Classes of which a variable says nothing are not drawn;
the caption names them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpte.report import svg
from rpte.report.charts import DIAGONAL, UNIT, calibration_chart
from rpte.report.class_cards import of_class
from rpte.report.draw import tree_drawing
from rpte.report.effect_charts import (
    effect_note,
    effect_scale,
    effect_title,
    level_chart,
    shape_chart,
    surface_chart,
)
from rpte.report.numbers import signed

Shape = Mapping[str, Any]
CLASS_COLOURS = {
    "class-1": "#0b63b1", "class-2": "#c2500a", "class-3": "#00785b", "class-4": "#9c3f7c",
    "class-5": "#8c6a00", "class-6": "#3d3f45",
}  # fmt: skip
DASHES = ("", "7 3", "2 3", "10 3 2 3", "4 2", "12 4")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "ring")
MOST_TOGETHER = len(MARKERS)  # classes in one picture
MOST_LEVELS = 12  # drawn as groups of bars
MARKS = 4  # markers along a line
LINE_SIZE, PANEL, SQUARE = (336, 240), (290, 190), (290, 250)
KEY_ROW, KEY_CHARACTERS, BAR_ROW, BARS = 17, 15, 15, 190
SAID = 8  # classes that a caption names


def together(names: Sequence[Any]) -> bool:
    """Tell whether all classes are drawn in one picture."""
    return len(names) <= MOST_TOGETHER


def _look(k: int) -> tuple[str, str]:
    return list(CLASS_COLOURS.values())[k], DASHES[k]


def marker(k: int, x: float, y: float, size: float = 4.0) -> str:
    """Return the marker of a class."""
    colour, kind = _look(k)[0], MARKERS[k]
    if kind in ("circle", "ring"):
        fill = colour if kind == "circle" else svg.PAPER
        look = f'fill="{fill}" stroke="{colour}" stroke-width="1.5"'
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size - 0.5:g}" {look}/>'
    ways = {
        "square": f"m{-size} {-size}h{2 * size}v{2 * size}h{-2 * size}z",
        "triangle": f"m0 {-size - 1}l{size + 1} {2 * size}h{-2 * size - 2}z",
        "diamond": f"m0 {-size - 1.5}l{size + 1.5} {size + 1.5}l{-size - 1.5} {size + 1.5}"
        f"l{-size - 1.5} {-size - 1.5}z",
        "cross": f"m{-size} {-size}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}",
    }
    way = f"M{x:.1f} {y:.1f}{ways[kind]}"
    if kind == "cross":
        return svg.path(way, colour, 2.2)
    return f'<path d="{way}" fill="{colour}"/>'


def _heights(shape: Shape, k: int) -> list[float]:
    """Return everything that a variable adds to the score of a class."""
    own = shape["classes"][k]
    rows = [_level(shape, k, place) for place in range(len(own["levels"]))]
    curves = own["curves"] or {}
    line = curves.get("whole") or curves.get("own") or []
    return [*rows, *(y for _, y in line)]


def spoken_of(shape: Shape) -> list[int]:
    """Return the classes whose score a variable moves."""
    return [k for k in range(len(shape["classes"])) if any(_heights(shape, k))]


def class_note(shape: Shape, names: Sequence[str]) -> str:
    """Return the caption of a variable: which terms, over what, and of which classes nothing."""
    said = effect_note({**shape, "levels": []}, thin=not together(names))
    said += _missing(shape, names)
    levels = shape["classes"][0]["levels"]
    if len(levels) > MOST_LEVELS and together(names):
        said += f"; the {MOST_LEVELS} strongest of {len(levels)} levels"
    return said + _silent(names, spoken_of(shape))


def _missing(shape: Shape, names: Sequence[str]) -> str:
    """Say what a missing number adds; a category has bars for it."""
    levels = shape["classes"][0]["levels"]
    places = [n for n, row in enumerate(levels) if row["level"] is None]
    if not places or shape["kind"] != "number":
        return ""
    added = {k: _level(shape, k, places[0]) for k in spoken_of(shape)}
    told = [f"{svg.shortened(names[k], 24)} {signed(v, 3)}" for k, v in added.items() if v]
    more = f" and {len(told) - SAID} more" if len(told) > SAID else ""
    return f"; missing adds {', '.join(told[:SAID]) or '0'}{more}"


def surface_note(surface: Shape, names: Sequence[str]) -> str:
    """Say of which classes a pair of variables says nothing."""
    return _silent(names, _moved(surface))


def _silent(names: Sequence[str], told: Sequence[int]) -> str:
    silent = [svg.shortened(name, 24) for k, name in enumerate(names) if k not in told]
    if not silent:
        return ""
    more = f" and {len(silent) - SAID} more" if len(silent) > SAID else ""
    return f"; nothing of {', '.join(silent[:SAID])}{more}"


def class_scale(shapes: Sequence[Shape]) -> tuple[tuple[float, float], float]:
    """Return the common scale of curves, and the largest level, over all classes.

    Spreads over rows count where they are drawn: in small multiples.
    """
    each = [of_class(dict(shape), k) for shape in shapes for k in range(len(shape["classes"]))]
    if each and together(shapes[0]["classes"]):
        each = [_without_spread(shape) for shape in each]
    return effect_scale(each)


def _without_spread(shape: Shape) -> dict[str, Any]:
    curves = {
        key: line for key, line in (shape.get("curves") or {}).items() if key in ("whole", "own")
    }
    kept = "own" if not curves.get("whole") else "whole"
    levels = [{**row, "low": None, "high": None} for row in shape["levels"]]
    levels = [{**row, "own": None} if row["whole"] is not None else row for row in levels]
    return {**shape, "curves": {kept: curves.get(kept)}, "levels": levels}


def class_shape_chart(
    shape: Shape,
    names: Sequence[str],
    scale: Sequence[float],
    box: Any = None,
    size: tuple[int, int] = LINE_SIZE,
) -> svg.Drawing:
    """Return what a number adds to the score of each class, a line for each, between two ends."""
    curves = [own["curves"]["whole"] or own["curves"]["own"] for own in shape["classes"]]
    start, end = curves[0][0][0], curves[0][-1][0]
    across = svg.widened(start, end) if shape.get("points") or start == end else (start, end)
    name = svg.shortened(shape["source"], 50)
    plot = svg.Plot(across, (scale[0], scale[1]), name, f"adds to {shape['unit']}", *size)
    plot.line([(start, 0), (end, 0)], svg.INK, 0.8)
    told = spoken_of(shape)
    for k in told:
        if shape.get("points"):
            places = [(plot.across(x), plot.down(y)) for x, y in curves[k]]
            plot.body += [marker(k, x, y) for x, y in places]
        else:
            _marked(plot, k, [(x, y) for x, y in curves[k]], told.index(k) / max(len(told), 1))
    if box and None not in box:
        plot.body.append(svg.box([plot.across(q) for q in box], plot.height - svg.BOTTOM - 5, 3))
    ends = {k: plot.down(curves[k][-1][1]) for k in told}
    room = _end_labels(plot, names, ends)
    said = "; ".join(
        f"{names[k]} {curves[k][0][1]:+.2f} at {start:.4g} to {curves[k][-1][1]:+.2f} at {end:.4g}"
        for k in told
    )
    width, height, label, body = plot.drawing(f"{effect_title(shape)}: {said or 'nothing'}")
    return width + room, height, label, body


def _marked(plot: svg.Plot, k: int, points: svg.Points, shift: float) -> None:
    """Draw the line of a class with its dash and its markers."""
    colour, dash = _look(k)
    plot.line(points, colour, 2.2, dash)
    low, high = plot.x
    x = low + (high - low) * (np.arange(MARKS) + 0.2 + 0.7 * shift) / MARKS
    xs, ys = zip(*points, strict=True)
    for at, height in zip(x, np.interp(x, xs, ys), strict=True):
        plot.body.append(marker(k, plot.across(float(at)), plot.down(float(height))))


def _end_labels(plot: svg.Plot, names: Sequence[str], ends: Mapping[int, float]) -> int:
    """Write the names of lines beside their ends, apart from each other; return the room taken."""
    if not ends:
        return 0
    order = sorted(ends, key=lambda k: ends[k])
    foot, y = plot.height - svg.BOTTOM, svg.TOP - KEY_ROW + 4.0
    places = []
    for k in order:
        y = max(ends[k], y + KEY_ROW)
        places.append(y)
    over = max(0.0, places[-1] - foot)
    for place in range(len(places) - 1, -1, -1):
        limit = foot - KEY_ROW * (len(places) - 1 - place)
        places[place] = min(places[place], limit) if over else places[place]
    x = plot.width - svg.RIGHT + 4
    for k, at in zip(order, places, strict=True):
        colour = _look(k)[0]
        plot.body.append(svg.path(f"M{x} {ends[k]:.1f}L{x + 10} {at:.1f}", colour, 0.8))
        plot.body.append(marker(k, x + 16, at))
        plot.body.append(svg.text(x + 25, at + 4, svg.shortened(names[k], KEY_CHARACTERS), "n"))
    longest = max(min(len(names[k]), KEY_CHARACTERS) for k in ends)
    return int(22 + longest * svg.CHARACTER)


def _key(names: Sequence[str], told: Sequence[int], width: float) -> tuple[str, float]:
    """Return markers with the names of their classes, in lines of some width, and the height."""
    body, x, y = [], 8.0, 12.0
    for k in told:
        name = svg.shortened(names[k], KEY_CHARACTERS)
        step = 26 + len(name) * svg.CHARACTER
        if x > 8.0 and x + step > width:
            x, y = 8.0, y + KEY_ROW
        body.append(marker(k, x + 5, y) + svg.text(x + 14, y + 4, name, "n"))
        x += step
    return "".join(body), y + 12.0


def _drawn_levels(shape: Shape) -> list[int]:
    """Return the places of the levels that are drawn: all, or those strongest in some class."""
    n = len(shape["classes"][0]["levels"])
    largest = [
        max(abs(_level(shape, k, place)) for k in range(len(shape["classes"])))
        for place in range(n)
    ]
    return sorted(sorted(range(n), key=lambda place: -largest[place])[:MOST_LEVELS])


def _level(shape: Shape, k: int, place: int) -> float:
    row = shape["classes"][k]["levels"][place]
    return float(row["own"] if row["whole"] is None else row["whole"])


def class_level_chart(shape: Shape, names: Sequence[str], largest: float) -> svg.Drawing:
    """Return what each level, code or missing adds: a group of bars, one for each class."""
    told, kept = spoken_of(shape), _drawn_levels(shape)
    levels = [shape["classes"][0]["levels"][place]["level"] for place in kept]
    words = ["missing" if level is None else str(level) for level in levels]
    room = min(max((len(word) for word in words), default=4), 22) * svg.CHARACTER + 16
    width = room + BARS + 60
    key, y = _key(names, told, width)
    body, said, middle = [key], [], room + BARS / 2
    for word, level, place in zip(words, levels, kept, strict=True):
        height = BAR_ROW * max(len(told), 1)
        look = "f" if level is None else ""
        body.append(svg.text(room - 8, y + height / 2 + 4, svg.shortened(word, 22), look, "end"))
        body.append(svg.path(f"M{middle:.1f} {y - 2:.1f}v{height + 4}", svg.LINE))
        for row, k in enumerate(told):
            value = _level(shape, k, place)
            body.append(_class_bar(k, middle, y + BAR_ROW * (row + 0.5), value, largest or 1.0))
        values = (f"{names[k]} {_level(shape, k, place):+.3g}" for k in told)
        said.append(f"{word}: {', '.join(values)}")
        y += height + 12
    label = f"{effect_title(shape)}: {'; '.join(said)}"
    return int(width), int(y), label, "".join(body)


def _class_bar(k: int, middle: float, y: float, value: float, largest: float) -> str:
    """Return the bar of a class with its marker at the end and its number beside it."""
    colour, length = _look(k)[0], abs(value) / largest * (BARS / 2 - 6)
    if not value:
        return svg.text(middle + 4, y + 4, "0", "f n")
    end = middle + length if value > 0 else middle - length
    bar = svg.rect(min(middle, end), y - 4, max(length, 1.0), 8, colour, ' fill-opacity="0.75"')
    beside, anchor = (middle - 7, "end") if value > 0 else (middle + 7, "start")
    return bar + marker(k, end, y) + svg.text(beside, y + 4, f"{value:+.3g}", "n", anchor)


def titled(drawing: svg.Drawing, title: str) -> svg.Drawing:
    """Return a drawing below a title of its own."""
    width, height, label, body = drawing
    head = svg.text(8, 15, svg.shortened(title, int(width / svg.CHARACTER) - 3), "h n")
    below = f'<g transform="translate(0 20)">{body}</g>'
    return width, height + 20, f"{title}. {label}", head + below


def class_tree_panels(tree: Mapping[str, Any], names: Sequence[str]) -> list[svg.Drawing]:
    """Return a picture of a tree for each class whose score it moves."""
    return [
        titled(tree_drawing(own), names[k])
        for k, own in enumerate(tree["classes"])
        if any(leaf["coefficient"] for leaf in own["leaves"])
    ]


def class_shape_panels(
    shape: Shape, names: Sequence[str], scale: Sequence[float], largest: float, box: Any = None
) -> list[svg.Drawing]:
    """Return a small picture for each class whose score a variable moves."""
    found = []
    for k in spoken_of(shape):
        own, parts = {**of_class(dict(shape), k), "unit": "score"}, []
        if own["kind"] == "number":
            parts.append(shape_chart(own, scale, box, PANEL))
        coded = [row for row in own["levels"] if row["level"] is not None]
        if own["kind"] != "number" or any(row["own"] or row["whole"] for row in coded):
            parts.append(level_chart(own, largest))
        found.append(titled(tiled(parts, 1), names[k]))
    return found


def _moved(surface: Shape) -> list[int]:
    return [k for k, grid in enumerate(surface["classes"]) if np.any(grid)]


def class_surface_panels(surface: Shape, names: Sequence[str]) -> list[svg.Drawing]:
    """Return a map of two variables for each class whose score they move, in one scale."""
    largest = float(np.abs(surface["classes"]).max())
    return [
        titled(surface_chart({**surface, "values": surface["classes"][k]}, largest), names[k])
        for k in _moved(surface)
    ]


def class_roc_chart(performance: Mapping[str, Any]) -> svg.Drawing:
    """Return the ROC curve of each class against the rest, in one picture."""
    plot = svg.Plot(UNIT, UNIT, "share of other classes above", "share of the class found")
    plot.line(DIAGONAL, svg.FAINT, 1, svg.DASH)
    known = [(k, own) for k, own in enumerate(performance["classes"]) if own["roc"]]
    names = [own["name"] for own in performance["classes"]]
    for k, own in known:
        colour, dash = _look(k)
        points = own["roc"]
        plot.line([(x, y) for x, y in points], colour, 2, dash)
        at = 0.08 + 0.5 * (k + 0.5) / len(names)
        height = np.interp(at, [x for x, _ in points], [y for _, y in points])
        plot.body.append(marker(k, plot.across(at), plot.down(float(height))))
    said = "; ".join(f"{own['name']} {own['auc'][0]:.3f}" for _, own in known)
    width, height, label, body = plot.drawing(f"ROC curves, each class against the rest: {said}")
    key, room = _key(names, [k for k, _ in known], width)
    drawn = f'{body}<g transform="translate({svg.LEFT - 8} {height})">{key}</g>'
    return width, int(height + room), label, drawn


def class_roc_panels(performance: Mapping[str, Any]) -> list[svg.Drawing]:
    """Return the ROC curve of each class against the rest, a small picture for each."""
    found = []
    for own in performance["classes"]:
        if own["roc"]:
            plot = svg.Plot(UNIT, UNIT, "others above", "found", *SQUARE)
            plot.line(DIAGONAL, svg.FAINT, 1, svg.DASH)
            plot.line([(x, y) for x, y in own["roc"]])
            drawing = plot.drawing(f"ROC curve; area {own['auc'][0]:.3f}")
            found.append(titled(drawing, f"{own['name']}: {own['auc'][0]:.3f}"))
    return found


def class_calibration_panels(performance: Mapping[str, Any]) -> list[svg.Drawing]:
    """Return observed against predicted shares of each class, a small picture for each."""
    known = [own for own in performance["classes"] if own["calibration"]]
    return [titled(calibration_chart(own, SQUARE), own["name"]) for own in known]


def tiled(drawings: Sequence[svg.Drawing], columns: int = 3) -> svg.Drawing:
    """Return small pictures side by side as one."""
    rows = [drawings[at : at + columns] for at in range(0, len(drawings), columns)]
    wide = max(width for width, _, _, _ in drawings)
    body, y = [], 0
    for row in rows:
        for place, (_, _, _, drawn) in enumerate(row):
            body.append(f'<g transform="translate({place * wide} {y})">{drawn}</g>')
        y += max(height for _, height, _, _ in row)
    label = "; ".join(label for _, _, label, _ in drawings)
    return wide * min(columns, len(drawings)), y, label, "".join(body)

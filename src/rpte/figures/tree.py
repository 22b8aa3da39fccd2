"""A tree from left to right, with what its leaves add beside them, in the pixels of its panel."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rpte.figures.marks import Axis, BoxMark, Panel, Spot, TextMark
from rpte.figures.text import name, share, shortened, signed
from rpte.utils.arrays import Floats

ROW, TOP, LEFT, GAP = 46, 34, 8, 8  # pixels
LINE, ADVANCE = 28, 6.9  # characters of a line of a condition, of which there are two; their width
LEAF, BARS, TOLD, CLASS = 46, 130, 190, 62  # widths beside the branches


class Way(NamedTuple):
    """A branch of a tree: from a node at some depth to a node or a leaf."""

    depth: int
    y_from: float
    y_to: float
    condition: str
    is_leaf: bool
    support: float


def ways(root: Mapping[str, Any]) -> list[Way]:
    """Return all branches; leaves stand below each other in order, a node between its two."""
    return list(_ways(root, 0, _heights(root)))


def tree_panel(
    card: Mapping[str, Any],
    coefficients: Floats,
    labels: Sequence[str],
    unit: str,
    effect_name: str | None,
) -> Panel:
    """Return the picture of a tree card: bars of one score, or a column for each class.

    `coefficients` has shape (scores, leaves); exponentials are shown under their `effect_name`.
    """
    branches, leaves = ways(card["root"]), card["leaves"]
    total = sum(leaf["support"] for leaf in leaves) or 1.0
    columns = _columns(branches)
    start = columns[-1] + GAP
    beside = CLASS * len(labels) if labels else BARS + TOLD
    width, height = int(start + LEAF + beside), TOP + ROW * len(leaves)
    label = f"Tree {card['name']} over {', '.join(card['sources'])}: " + "; ".join(
        f"{leaf['name']} if {leaf['conditions']}: {', '.join(map(signed, column))}"
        for leaf, column in zip(leaves, coefficients.T.tolist(), strict=True)
    )
    panel = Panel(Axis(0, width), Axis(height, 0), label, width, height, framed=False)
    for way in branches:
        _branch(panel, way, columns, total)
    for row, leaf in enumerate(leaves):
        looks = "h n" if np.any(coefficients[:, row]) else "f n"
        panel.marks.append(TextMark(start, _down(row), leaf["name"], "start", (0, 0), looks))
    at = start + LEAF
    if labels:
        _class_columns(panel, at, coefficients, labels)
    else:
        panel.marks.append(
            TextMark(at, 14, shortened(f"adds to {unit}", 44), "start", (0, 0), "f n")
        )
        _bars(panel, at, coefficients[0], leaves, total, effect_name)
    return panel


def _down(row: float) -> float:
    return TOP + ROW * (row + 0.5)


def _heights(node: Mapping[str, Any]) -> float:
    """Return how far down a node stands: as its leaf, or between its two ways."""
    if "leaf" in node:
        return float(node["leaf"])
    return sum(_heights(way) for way in node["ways"]) / 2


def _ways(node: Mapping[str, Any], depth: int, height: float) -> Iterator[Way]:
    for way in node["ways"]:
        below = _heights(way)
        yield Way(depth, height, below, way["condition"], "leaf" in way, way["support"])
        if "ways" in way:
            yield from _ways(way, depth + 1, below)


def _lines(condition: str) -> list[str]:
    """Return a condition in two lines at most."""
    lines = textwrap.wrap(condition, LINE) or [condition]
    return [lines[0], *([name(" ".join(lines[1:]), LINE)] if lines[1:] else [])]


def _columns(branches: Sequence[Way]) -> list[float]:
    """Return where each depth of nodes stands, wide enough for the texts between."""
    places = [float(LEFT)]
    for depth in range(max(way.depth for way in branches) + 1):
        lines = [line for way in branches if way.depth == depth for line in _lines(way.condition)]
        places.append(places[-1] + GAP * 2 + max(map(len, lines)) * ADVANCE)
    return places


def _branch(panel: Panel, way: Way, columns: Sequence[float], total: float) -> None:
    """Add a branch to its node or, dotted where others go deeper, to its leaf."""
    x, end, y = columns[way.depth], columns[way.depth + 1], _down(way.y_to)
    width = 1.0 + 4.0 * min(way.support / total, 1.0)
    panel.line([(x, _down(way.y_from)), (x, y), (end, y)], "faint", width)
    if way.is_leaf and end < columns[-1]:
        panel.line([(end, y), (columns[-1], y)], "faint", 1.0, (1.5, 3))
    places = (10.0,) if len(_lines(way.condition)) == 1 else (10.0, -11.0)
    for line, up in zip(_lines(way.condition), places, strict=True):
        panel.marks.append(TextMark(x + GAP, y, line, "start", (0, up), "n"))
    said = f"{way.condition}: {share(way.support / total)} of the rows"
    panel.spots.append(Spot((x + end) / 2, y, said))


def _bars(
    panel: Panel,
    start: float,
    values: Floats,
    leaves: Sequence[Mapping[str, Any]],
    total: float,
    effect_name: str | None,
) -> None:
    """Add what each leaf adds, with its ratio and the share of the rows."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    unit = BARS * 0.9 / ((high - low) or 1.0)
    zero, at = start - low * unit, start + BARS
    panel.line([(zero, TOP), (zero, TOP + ROW * len(leaves))], "ink", 0.8)
    for row, (value, leaf) in enumerate(zip(values.tolist(), leaves, strict=True)):
        y = _down(row)
        if value:
            panel.signed_bar(zero, value * unit, y, 11)
        told = signed(value)
        if value and effect_name is not None and leaf["effect"] is not None:
            told += f", {effect_name} {leaf['effect']:.3g}"
        rows = f"{share(leaf['support'] / total)} of the rows"
        panel.marks.append(TextMark(at, y, told, "start", (0, 8)))
        panel.marks.append(TextMark(at, y, rows, "start", (0, -8), "f n"))
        panel.spots.append(Spot(zero + value * unit, y, f"{leaf['name']}: {told}; {rows}"))


def _class_columns(panel: Panel, start: float, coefficients: Floats, labels: Sequence[str]) -> None:
    """Add what each leaf adds to the score of each class, shaded by size."""
    largest = float(np.abs(coefficients).max()) or 1.0
    crowded = max(map(len, labels)) > 8  # names stand on two lines in turn
    for k, label in enumerate(labels):
        x = start + CLASS * (k + 0.5)
        panel.marks.append(
            TextMark(x, 14 + 11 * (k % 2) * crowded, name(label, 13), "middle", (0, 0), "n")
        )
        for row, value in enumerate(coefficients[k].tolist()):
            y, colour = _down(row), "raises" if value >= 0 else "lowers"
            ends = (x - CLASS / 2 + 1, x + CLASS / 2 - 1), (y - 14, y + 14)
            panel.marks.append(BoxMark(*ends, colour, round(0.55 * abs(value) / largest, 3)))
            panel.marks.append(TextMark(x, y, signed(value), "middle"))

"""A tree as a picture: from left to right, a condition on every branch, a bar for every leaf."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from rpte.report.svg import (
    CHARACTER,
    FAINT,
    INK,
    Drawing,
    path_svg,
    shortened,
    signed_bar,
    text_svg,
)

WIDEST, LINES = 26, 2  # a condition is broken after so many characters, and cut after two lines
ROW, TOP, LEFT, GAP = 46, 30, 8, 10
NAME, BAR, NUMBERS = 36, 120, 196


@dataclass(frozen=True, slots=True)
class Way:
    """One branch: from its node at (depth, start) to its own end, with the condition on it."""

    depth: int
    start: float
    end: float
    lines: tuple[str, ...]
    condition: str
    share: float
    leaf: int | None


def tree_drawing(tree: Mapping[str, Any]) -> Drawing:
    """Return the picture of a tree card of `cards`: width, height, label, body."""
    ways: list[Way] = []
    root = _place(tree["root"], 0, iter(range(10**6)), tree["support"] or 1.0, ways)
    columns = _columns(ways)
    leaves = tree["leaves"]
    right = int(columns[-1]) + 8
    height = TOP + ROW * len(leaves)
    largest = max((abs(leaf["coefficient"]) for leaf in leaves), default=0.0) or 1.0
    body = [_head(right)]
    body += [_way(way, columns, right) for way in ways]
    body.append(f'<circle cx="{LEFT}" cy="{root:.1f}" r="4" fill="{INK}"/>')
    body += [_leaf(leaf, TOP + ROW * (i + 0.5), right, largest) for i, leaf in enumerate(leaves)]
    label = f"Tree {tree['name']} over {', '.join(tree['sources'])}: " + "; ".join(
        f"{leaf['name']} if {leaf['conditions']}: {leaf['coefficient']:+.3g}" for leaf in leaves
    )
    return right + NAME + BAR + NUMBERS, height, label, "".join(body)


def _place(
    node: Mapping[str, Any], depth: int, rows: Iterator[int], total: float, ways: list[Way]
) -> float:
    """Lay out a node and all below it; return its height on the picture."""
    if "leaf" in node:
        return TOP + ROW * (next(rows) + 0.5)
    ends = [_place(way, depth + 1, rows, total, ways) for way in node["ways"]]
    middle = (ends[0] + ends[1]) / 2
    for way, end in zip(node["ways"], ends, strict=True):
        lines = _broken(way["condition"])
        share = way["support"] / total
        ways.append(Way(depth, middle, end, lines, way["condition"], share, way.get("leaf")))
    return middle


def _broken(text: str) -> tuple[str, ...]:
    lines = textwrap.wrap(text, WIDEST) or [text]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], shortened(" ".join(lines[LINES - 1 :]), WIDEST)]
    return tuple(lines)


def _columns(ways: list[Way]) -> list[float]:
    """Return where each depth of nodes stands, wide enough for the texts between."""
    deepest = max(way.depth for way in ways)
    places = [float(LEFT)]
    for depth in range(deepest + 1):
        longest = max(len(line) for way in ways if way.depth == depth for line in way.lines)
        places.append(places[-1] + GAP * 2 + longest * CHARACTER)
    return places


def _way(way: Way, columns: list[float], right: int) -> str:
    x, text = columns[way.depth], columns[way.depth] + GAP
    stop = columns[way.depth + 1] if way.leaf is None else right - 4
    d = f"M{x:.1f} {way.start:.1f}V{way.end:.1f}H{stop:.1f}"
    parts = [path_svg(d, FAINT, 1.0 + 4.0 * min(way.share, 1.0), ' stroke-linejoin="round"')]
    above = way.end - 6 if len(way.lines) == 1 else way.end - 7
    parts.append(text_svg(text, above, way.lines[0]))
    if len(way.lines) > 1:
        parts.append(text_svg(text, way.end + 15, way.lines[1]))
    return f"<g><title>{escape(way.condition)}</title>{''.join(parts)}</g>"


def _head(right: int) -> str:
    bar = right + NAME
    return "".join(
        [
            text_svg(right, 16, "leaf", "f n"),
            text_svg(bar + BAR / 2, 16, "adds to log odds", "f n", "middle"),
            text_svg(bar + BAR + 74, 16, "odds ratio", "f n", "end"),
            text_svg(bar + BAR + 136, 16, "n", "f n", "end"),
            text_svg(bar + BAR + 190, 16, "rate", "f n", "end"),
        ]
    )


def _leaf(leaf: Mapping[str, Any], y: float, right: int, largest: float) -> str:
    bar, value = right + NAME, leaf["coefficient"]
    look = "" if value else "f"
    odds = "-" if leaf["odds_ratio"] is None else f"{leaf['odds_ratio']:.3g}"
    rate = "-" if leaf["rate"] is None else f"{leaf['rate']:.0%}"
    return "".join(
        [
            text_svg(right, y + 4, leaf["name"].split(".")[-1], "h" if value else "f"),
            signed_bar(bar, y, BAR, value, largest),
            text_svg(bar + BAR + 74, y + 4, odds if value else "1", look, "end"),
            text_svg(bar + BAR + 136, y + 4, f"{leaf['support']:,.6g}", look, "end"),
            text_svg(bar + BAR + 190, y + 4, rate, look, "end"),
        ]
    )

"""A tree as a picture: from left to right, a condition on every branch, a bar for every leaf."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rpte.report.numbers import percent, short
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
    columns, leaves = _columns(ways), tree["leaves"]
    right = int(columns[-1]) + 8
    largest = max((abs(leaf["coefficient"]) for leaf in leaves), default=0.0) or 1.0
    body = [_head(right), *(_way(way, columns, right) for way in ways)]
    body.append(f'<circle cx="{LEFT}" cy="{root:.1f}" r="4" fill="{INK}"/>')
    body += [_leaf(leaf, TOP + ROW * (i + 0.5), right, largest) for i, leaf in enumerate(leaves)]
    label = f"Tree {tree['name']} over {', '.join(tree['sources'])}: " + "; ".join(
        f"{leaf['name']} if {leaf['conditions']}: {leaf['coefficient']:+.3g}" for leaf in leaves
    )
    return right + NAME + BAR + NUMBERS, TOP + ROW * len(leaves), label, "".join(body)


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
    title = text_svg(right + NAME + BAR / 2, 16, "adds to log odds", "f n", "middle")
    columns = _columns_svg(right, 16, ("odds ratio", "n", "rate"), "f n")
    return text_svg(right, 16, "leaf", "f n") + title + columns


def _leaf(leaf: Mapping[str, Any], y: float, right: int, largest: float) -> str:
    value = leaf["coefficient"]
    odds = "1" if not value else short(leaf["odds_ratio"], 3)
    numbers = (odds, f"{leaf['support']:,.6g}", percent(leaf["rate"], 0))
    name = text_svg(right, y + 4, leaf["name"].split(".")[-1], "h" if value else "f")
    bar = signed_bar(right + NAME, y, BAR, value, largest)
    return name + bar + _columns_svg(right, y + 4, numbers, "" if value else "f")


def _columns_svg(right: int, y: float, texts: Sequence[str], look: str) -> str:
    """Return the three texts beside a bar."""
    start = right + NAME + BAR
    places = zip((74, 136, 190), texts, strict=True)
    return "".join(text_svg(start + x, y, text, look, "end") for x, text in places)

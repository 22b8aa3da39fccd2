"""Draw the rooms of the package and who imports whom, from the source, into docs/rooms.svg.

Run after a change of imports between rooms: python docs/tools/room_graph.py

A line goes down from a room to one that it imports; a line is left out where others already lead
there. Exceptions of `tests/test_arrows.py` are dashed. Rooms stand in layers: nothing imports a
room of its own layer or of one above it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]

from import_graph import SOURCE, all_imports, room  # noqa: E402
from test_arrows import EXCEPTIONS, ROOMS  # noqa: E402

PICTURE = ROOT / "docs" / "rooms.svg"
BOX, LETTER, GAP, STEP, MARGIN = 26, 7.6, 18, 62, 20
SWEEPS = 40
STYLE = """
text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1c1b1f }
.note { font: 12px 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif; fill: #5f5f5f }
.page { fill: #ffffff }
.room { fill: #eef3f9; stroke: #1f5fa8 }
.line { fill: none; stroke: #8b97a6; stroke-width: 1.2 }
.up { stroke: #b3261e; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e6e6 } .note { fill: #a8a8a8 } .page { fill: #14171c }
  .room { fill: #1d2a3a; stroke: #6ea8e6 } .line { stroke: #66717f } .up { stroke: #f2857c }
}
"""
Graph = dict[str, set[str]]
Place = tuple[str, int]  # a room, or a room on whose behalf a line passes a layer, and the layer


def room_graph() -> Graph:
    """Return the rooms that each room imports when it runs, exceptions left out."""
    graph: Graph = {name: set() for name in ROOMS}
    for found in all_imports():
        here, there = room(found.module), room(found.imported)
        if here != there and not found.typing and (found.module, found.imported) not in EXCEPTIONS:
            graph[here].add(there)
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """Return every room that a room needs, directly or through others."""
    found: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left.extend(new)
    return found


def reduced(graph: Graph) -> Graph:
    """Leave out every import that a longer way implies."""
    far = {name: reachable(graph, name) for name in graph}
    return {
        name: {t for t in targets if not any(t in far[other] for other in targets - {t})}
        for name, targets in graph.items()
    }


def layers_of(graph: Graph) -> dict[str, int]:
    """Return each room's layer, 0 at the bottom; a room stands near those it has more lines to."""
    layer: dict[str, int] = {}
    for name in ROOMS:  # from the bottom up, so that what a room imports is placed before it
        layer[name] = 1 + max((layer[t] for t in graph[name]), default=-1)
    users = {name: {n for n in graph if name in graph[n]} for name in graph}
    for name in reversed(ROOMS):
        highest = min((layer[n] - 1 for n in users[name]), default=max(layer.values()))
        if len(users[name]) > len(graph[name]) or not (users[name] or graph[name]):
            layer[name] = highest
    return layer


def chains(graph: Graph, layer: dict[str, int]) -> list[list[Place]]:
    """Return each line as the places that it passes, one for every layer, from the top down."""
    lines = []
    for name in ROOMS:
        for target in sorted(graph[name]):
            passed = range(layer[name] - 1, layer[target], -1)
            through = [(f"{name}>{target}", number) for number in passed]
            lines.append([(name, layer[name]), *through, (target, layer[target])])
    return lines


def order_layers(lines: list[list[Place]], layer: dict[str, int]) -> list[list[Place]]:
    """Order the places of each layer so that few lines cross: the mean of their neighbours."""
    rows: list[list[Place]] = [[] for _ in range(1 + max(layer.values()))]
    for place in dict.fromkeys([*layer.items(), *(p for line in lines for p in line)]):
        rows[place[1]].append(place)
    above, below = neighbours(lines)
    for sweep in range(SWEEPS):
        near = below if sweep % 2 == 0 else above
        for row in rows if sweep % 2 == 0 else reversed(rows):
            at = {p: k / len(r) for r in rows for k, p in enumerate(r)}
            row.sort(key=lambda p, at=at: _mean([at[q] for q in near[p]], at[p]))
    return rows


def neighbours(
    lines: list[list[Place]],
) -> tuple[dict[Place, list[Place]], dict[Place, list[Place]]]:
    """Return the places above and below each place."""
    above: dict[Place, list[Place]] = defaultdict(list)
    below: dict[Place, list[Place]] = defaultdict(list)
    for line in lines:
        for high, low in pairwise(line):
            below[high].append(low)
            above[low].append(high)
    return above, below


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def width_of(place: Place) -> float:
    """Return the width of a box, or that of a line that passes."""
    name = place[0]
    return 6.0 if ">" in name else 20 + LETTER * len(label(name))


def label(name: str) -> str:
    """Return what stands in a box: a folder with a slash, a file without its ending."""
    return f"{name}/" if (SOURCE / name).is_dir() else name


def spread(rows: list[list[Place]], lines: list[list[Place]]) -> dict[Place, float]:
    """Return the middle of each place: near its neighbours, in order, without overlap."""
    x = {p: 0.0 for row in rows for p in row}
    for row in rows:
        _pack(row, x, dict(zip(row, range(len(row)), strict=True)))
    above, below = neighbours(lines)
    for sweep in range(SWEEPS):
        near = below if sweep % 2 == 0 else above
        for row in rows if sweep % 2 == 0 else reversed(rows):
            _pack(row, x, {p: _mean([x[q] for q in near[p]], x[p]) for p in row})
    return x


def _pack(row: list[Place], x: dict[Place, float], wanted: dict[Place, float]) -> None:
    """Put a row's places where they are wanted, pushed apart as far as they must be."""
    if not row:
        return
    room_before = {q: (width_of(p) + width_of(q)) / 2 + GAP for p, q in pairwise(row)}
    right = [wanted[row[0]]]
    for place in row[1:]:
        right.append(max(wanted[place], right[-1] + room_before[place]))
    left = [wanted[row[-1]]]
    for place, after in reversed(list(pairwise(row))):
        left.append(min(wanted[place], left[-1] - room_before[after]))
    for place, a, b in zip(row, right, reversed(left), strict=True):
        x[place] = (a + b) / 2
    for p, q in pairwise(row):
        x[q] = max(x[q], x[p] + room_before[q])


def draw() -> str:
    """Return the picture."""
    graph = reduced(room_graph())
    layer = layers_of(graph)
    lines = chains(graph, layer)
    rows = order_layers(lines, layer)
    x = spread(rows, lines)
    left = min(x[p] - width_of(p) / 2 for p in x) - MARGIN
    width = max(x[p] + width_of(p) / 2 for p in x) + MARGIN - left
    height = STEP * len(rows) + 2 * MARGIN

    def at(place: Place) -> tuple[float, float]:
        return x[place] - left, MARGIN + STEP * (len(rows) - 1 - place[1])

    body = [_line([at(p) for p in line]) for line in lines]
    exceptions = sorted({(room(a), room(b)) for a, b in EXCEPTIONS})
    body += [_up(at((a, layer[a])), at((b, layer[b]))) for a, b in exceptions]
    body += [_box(name, *at((name, layer[name])), width_of((name, 0))) for name in ROOMS]
    return _document(width, height, body)


def _line(points: list[tuple[float, float]]) -> str:
    """Return a curve through the places of a line, from box to box."""
    (x, y), *rest = points
    path = f"M{x:.0f} {y + BOX:.0f}"
    before = (x, y + BOX)
    for number, (x, y) in enumerate(rest):
        end = y if number == len(rest) - 1 else y + BOX / 2
        middle = (before[1] + end) / 2
        path += f"C{before[0]:.0f} {middle:.0f} {x:.0f} {middle:.0f} {x:.0f} {end:.0f}"
        before = (x, end)
    return f'<path class="line" d="{path}"/>'


def _up(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return an exception: a dashed curve upwards."""
    (a, b), (c, d) = start, (end[0], end[1] + BOX)
    bend = 40 if c >= a else -40
    curve = f"C{a + bend:.0f} {b - 40:.0f} {c + bend:.0f} {d + 40:.0f} {c:.0f} {d:.0f}"
    return f'<path class="line up" d="M{a:.0f} {b:.0f}{curve}"/>'


def _box(name: str, x: float, y: float, width: float) -> str:
    return (
        f'<rect class="room" x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" '
        f'height="{BOX}" rx="4"/>'
        f'<text x="{x:.0f}" y="{y + 17:.0f}" text-anchor="middle">{label(name)}</text>'
    )


def _document(width: float, height: float, body: list[str]) -> str:
    says = (
        "a line goes down to what a room imports,",
        "left out where others lead there; dashed: up",
    )
    notes = [
        f'<text class="note" x="{MARGIN}" y="{height - 12 - 16 * above:.0f}">{text}</text>'
        for above, text in zip((1, 0), says, strict=True)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="The rooms of rpte in layers, with lines to the rooms that each imports">'
        f'<style>{STYLE}</style><rect class="page" width="100%" height="100%"/>\n'
        + "\n".join([*body, *notes])
        + "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")

"""The painter of SVG: a panel of marks, and the document around a picture.

A picture has its colours as attributes, so that it looks right alone and on white. Inside the
report they are replaced by those of the reader's colour scheme: `COLOURS` has their names there.
Few pictures that are no panels (the outline of a model, boxes in tables) are made of `text`, `path`
and `rect` directly.
"""

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise

import numpy as np

from rpte.figures.marks import (
    CLASSES,
    MARKERS,
    Axis,
    BandMark,
    BoxMark,
    CellMark,
    Dash,
    DotMark,
    LineMark,
    Mark,
    Panel,
    Points,
    Tick,
    Ticks,
)
from rpte.figures.text import apart, named_ticks, share_between, shortened, signed

Drawing = tuple[int, int, str, str]  # width, height, label, body

COLOURS = {
    "raises": "#b04500", "lowers": "#0a60a8", "ink": "#1c1b1f", "faint": "#6b6b6b",
    "line": "#c9c9c9", "accent": "#1f5fa8", "paper": "#ffffff",
}  # fmt: skip
CLASS_COLOURS = dict(
    zip(CLASSES, ("#0b63b1", "#c2500a", "#00785b", "#9c3f7c", "#8c6a00", "#3d3f45"), strict=True)
)
ALL_COLOURS = {**COLOURS, **CLASS_COLOURS}
RAISES, LOWERS, INK, FAINT, LINE, ACCENT, PAPER = COLOURS.values()
LEFT, TOP, RIGHT, BOTTOM = 56, 14, 16, 46  # margins of a chart
TITLE_ROOM, FAR_ROOM, KEY_ROW, TURNED = 20, 34, 17, 30  # above a panel, for its key, slanted names
NAME_ROW = 15  # of a line of the name of an axis
CHARACTER = 7.3  # advance of the font at its size, in pixels
NARROW = 6.4  # mean advance of the smaller type of axes
MOST_WRITTEN, SHADES = 160, 20  # cells with numbers in them; steps of a shade
ROOM_FOR_NUMBER = 40  # pixels of a cell with a number in it
STYLE = (
    "text{font:13px 'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;fill:" + INK + "}"
    ".h{font-weight:bold}.f{fill:" + FAINT + "}.n{font-size:12px}.i{font-style:italic}"
)


def document(width: int, height: int, label: str, body: str) -> str:
    """Return a standalone SVG document on white; `label` is what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="{PAPER}"/>'
        f"{body}</svg>\n"
    )


def inline(width: int, height: int, label: str, body: str) -> str:
    """Return an SVG element for a page whose style sheet has the type and the colours."""
    return (
        f'<svg class="pic" viewBox="0 0 {width} {height}" style="--w:{width}px" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )


def text(x: float, y: float, words: str, look: str = "", anchor: str = "start") -> str:
    """Return a line of text; `look` are the classes of `STYLE`."""
    kind = f' class="{look}"' if look else ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}"{place}>{escape(words)}</text>'


def path(d: str, colour: str, width: float = 1.0, dash: Dash = ()) -> str:
    """Return an unfilled path."""
    dashed = f' stroke-dasharray="{" ".join(f"{n:g}" for n in dash)}"' if dash else ""
    return f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def rect(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{colour}"{more}/>'
    )


def box(x: Sequence[float], y: float, half: float) -> str:
    """Return five quantiles as a small box plot: nine tenths, the middle half, the median."""
    whisker = path(f"M{x[0]:.1f} {y:g}H{x[4]:.1f}", FAINT, 1.5)
    middle = rect(x[1], y - half, max(x[3] - x[1], 1.0), 2 * half, FAINT)
    return whisker + middle + rect(x[2] - 1, y - half - 2, 2, 2 * half + 4, INK)


def marker(kind: str, colour: str, x: float, y: float, size: float = 4.0) -> str:
    """Return a marker."""
    if kind in ("circle", "ring"):
        fill = colour if kind == "circle" else PAPER
        look = f'fill="{fill}" stroke="{colour}" stroke-width="1.5"'
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{max(size - 0.5, 1):g}" {look}/>'
    ways = {
        "square": f"m{-size} {-size}h{2 * size}v{2 * size}h{-2 * size}z",
        "triangle": f"m0 {-size - 1}l{size + 1} {2 * size}h{-2 * size - 2}z",
        "diamond": f"m0 {-size - 1.5}l{size + 1.5} {size + 1.5}l{-size - 1.5} {size + 1.5}"
        f"l{-size - 1.5} {-size - 1.5}z",
        "cross": f"m{-size} {-size}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}",
    }
    way = f"M{x:.1f} {y:.1f}{ways[kind]}"
    if kind == "cross":
        return path(way, colour, 2.2)
    return f'<path d="{way}" fill="{colour}"/>'


def drawing(panel: Panel) -> Drawing:
    """Return a panel with its axes, key and the places that can be asked what they show."""
    place = Place.of(panel)
    parts = [text(8, 15, shortened(panel.title, int(panel.width / CHARACTER) - 3), "h n")]
    parts = parts if panel.title else []
    parts += place.axes() if panel.framed else []
    parts += [drawn for mark in panel.marks for drawn in place.mark(mark)]
    parts += [*place.frame(), *place.end_labels()]
    key, height = place.key()
    width = panel.width + place.beyond
    return width, int(place.height + height), panel.label, "".join([*parts, key, place.spots()])


@dataclass(frozen=True, slots=True)
class Place:
    """Where the units of a panel's data are on its picture."""

    panel: Panel
    left: float
    right: float  # ends of the axes
    top: float
    foot: float
    height: int  # without the key
    beyond: int  # pixels to the right of the panel that names of lines take
    words: Sequence[str]  # lines of the name of the upright axis
    below: Sequence[str] = ()  # and of the lower one

    @classmethod
    def of(cls, panel: Panel) -> "Place":
        """Return the place of a panel: its margins make room for what is written in them."""
        if not panel.framed:
            top = TITLE_ROOM if panel.title else 0
            return cls(panel, 0, panel.width, top, panel.height, panel.height, 0, ())
        slanted = any(isinstance(t, Tick) and t.slanted for t in panel.x.ticks or ())
        top = TOP + TITLE_ROOM * bool(panel.title) + FAR_ROOM * bool(panel.x.far_ticks)
        foot = panel.height - (BOTTOM if panel.x.label else 28) - TURNED * slanted
        marks = _ticks(panel.y, max(4, panel.height // 45))
        longest = max((len(tick[1]) for tick in marks), default=0)
        room = max(16, int((foot - top + 16) / NARROW))
        words = textwrap.wrap(panel.y.label, room)[:3]
        left = 14 + longest * NARROW + 16 * len(words)
        left = max(left, 0 if panel.y.rows else LEFT - 16)
        far = max((len(tick[1]) for tick in panel.y.far_ticks), default=0)
        right = panel.width - (far * NARROW + 26 if far else 44 if panel.y.rows else RIGHT)
        end = max((min(len(end.words), 18) for end in panel.ends), default=0)
        beyond = int(22 + end * CHARACTER) if end else 0
        below = textwrap.wrap(
            panel.x.label, int(min(right - left + 90, panel.width) / (NARROW + 0.5))
        )
        height = panel.height + NAME_ROW * max(len(below) - 1, 0)
        return cls(panel, left, right, top, foot, height, beyond, words, below)

    def across(self, x: float) -> float:
        """Return the place of a value along the lower axis."""
        share = share_between(self.panel.x.low, self.panel.x.high, x)
        return self.left + share * (self.right - self.left)

    def down(self, y: float) -> float:
        """Return the place of a value along the upright axis."""
        low, high = self.panel.y.low, self.panel.y.high
        share = 1 - share_between(high, low, y) if high < low else share_between(low, high, y)
        return self.foot - share * (self.foot - self.top)

    def axes(self) -> list[str]:
        """Return the marks of both axes and their names."""
        panel = self.panel
        found: list[str] = []
        found += self._lower(_ticks(panel.x, max(3, int(self.right - self.left) // 58)))
        for tick in _ticks(panel.y, max(4, panel.height // 45)):
            y = self.down(tick[0])
            look = "n i" if isinstance(tick, Tick) and tick.names else "n"
            if not panel.y.rows and not panel.is_map:
                found.append(path(f"M{self.left:.1f} {y:.1f}H{self.right:.1f}", LINE, 0.7))
            found.append(text(self.left - 6, y + 4, tick[1], look, "end"))
        middle, height = (self.left + self.right) / 2, (self.top + self.foot) / 2
        for number, words in enumerate(self.below):
            wide = len(words) * (NARROW + 0.5) / 2
            at = min(max(middle, wide), panel.width + self.beyond - wide)
            found.append(text(at, panel.height - 8 + NAME_ROW * number, words, "n f", "middle"))
        for number, words in enumerate(self.words):
            found.append(_upright(13 + NAME_ROW * number, height, words))
        for at, words in panel.x.far_ticks:
            found.append(path(f"M{self.across(at):.1f} {self.top:g}v-4", INK))
            found.append(text(self.across(at), self.top - 8, words, "n", "middle"))
        if panel.x.far_ticks:
            found.append(text(middle, self.top - 24, panel.x.far_label, "n f", "middle"))
        for at, words in panel.y.far_ticks:
            found.append(text(self.right + 5, self.down(at) + 4, words, "n"))
        if panel.y.far_ticks:
            found.append(_upright(panel.width - 4, height, panel.y.far_label))
        return found

    def _lower(self, marks: Ticks) -> Iterator[str]:
        """Yield the marks of the lower axis, leaving out texts that would touch the one before."""
        end = -1e9
        for tick in marks:
            x, words = self.across(tick[0]), tick[1]
            if self.panel.y.rows:
                yield path(f"M{x:.1f} {self.top:g}V{self.foot:g}", LINE, 0.7)
            yield path(f"M{x:.1f} {self.foot:g}v4", INK)
            if isinstance(tick, Tick) and tick.slanted:
                turned = f'<g transform="translate({x + 4:.1f} {self.foot + 14:g}) rotate(-35)">'
                yield turned + text(0, 0, words, "n i", "end") + "</g>"
                continue
            half = len(words) * NARROW / 2
            if x - half < end + 4:
                continue
            end = x + half
            over = x + half > self.panel.width + self.beyond - 2
            at, anchor = (self.panel.width - 2.0, "end") if over else (x, "middle")
            yield text(at, self.foot + 18, words, "n", anchor)

    def frame(self) -> list[str]:
        """Return the lines of the axes."""
        if not self.panel.framed:
            return []
        start = f"M{self.left:.1f} {self.foot:g}" if self.panel.y.rows else (
            f"M{self.left:.1f} {self.top:g}V{self.foot:g}"
        )  # fmt: skip
        return [path(f"{start}H{self.right:.1f}", INK)]

    def mark(self, mark: Mark) -> Iterator[str]:
        """Yield the elements of one mark."""
        if isinstance(mark, CellMark):
            yield from self._cells(mark)
        elif isinstance(mark, LineMark):
            yield path(self._way(mark.points), colour_of(mark.colour), mark.width, mark.dash)
        elif isinstance(mark, BandMark):
            way = self._way([*mark.low, *reversed(mark.high)])
            colour = colour_of(mark.colour)
            yield f'<path d="{way}Z" fill="{colour}" fill-opacity="0.15"/>'
        elif isinstance(mark, DotMark):
            for x, y in mark.points:
                place = self.across(x), self.down(y)
                yield marker(mark.marker, colour_of(mark.colour), *place, mark.size + 0.5)
        elif isinstance(mark, BoxMark):
            (x, right), (y, foot) = sorted(map(self.across, mark.x)), sorted(map(self.down, mark.y))
            more = "" if mark.opacity == 1 else f' fill-opacity="{mark.opacity:g}"'
            size = max(right - x, 1.0), max(foot - y, 0.5)
            yield rect(x, y, *size, colour_of(mark.colour), more)
        else:
            x, y = self.across(mark.x) + mark.shift[0], self.down(mark.y) - mark.shift[1]
            yield text(x, y + 4, mark.words, mark.look, mark.anchor)

    def _way(self, points: Points) -> str:
        places = (f"{self.across(x):.1f} {self.down(y):.1f}" for x, y in points)
        return "M" + "L".join(place for place, _ in groupby(places))

    def _cells(self, mark: CellMark) -> Iterator[str]:
        """Yield one path per shade; neighbours of one shade in a row are one rectangle."""
        ways: dict[int, list[str]] = {}
        across, up = [self.across(x) for x in mark.across], [self.down(y) for y in mark.up]
        for row, values in enumerate(mark.values):
            height, start = up[row] - up[row + 1] + 0.3, 0
            shades = np.round(values / (mark.largest or 1.0) * SHADES).astype(int).tolist()
            for shade, run in groupby(shades):
                stop = start + len(list(run))
                length = f"{across[stop] - across[start] + 0.3:.1f}"
                way = f"M{across[start]:.1f} {up[row + 1]:.1f}h{length}v{height:.1f}h-{length}z"
                ways.setdefault(shade, []).append(way)
                start = stop
        wide = min(b - a for a, b in pairwise(across)) >= ROOM_FOR_NUMBER
        written = mark.written and mark.values.size <= MOST_WRITTEN and wide
        deepest = 0.6 if written else 0.9  # so that numbers can be read
        for shade, drawn in sorted(ways.items()):
            if shade:
                colour, opacity = RAISES if shade > 0 else LOWERS, abs(shade) / SHADES * deepest
                yield f'<path d="{"".join(drawn)}" fill="{colour}" fill-opacity="{opacity:.2f}"/>'
        for (row, column), value in np.ndenumerate(mark.values if written else np.zeros((0, 0))):
            x = (across[column] + across[column + 1]) / 2
            yield text(x, (up[row] + up[row + 1]) / 2 + 4, signed(float(value)), "n", "middle")

    def end_labels(self) -> Iterator[str]:
        """Yield the names of lines beside their ends, apart from each other."""
        ends = sorted(self.panel.ends, key=lambda end: -self.down(end.y))
        if not ends:
            return
        up = apart(np.array([-self.down(end.y) for end in ends]), KEY_ROW, -self.top)
        for end, y in zip(ends, (-up).tolist(), strict=True):
            colour, x = CLASS_COLOURS[CLASSES[end.look]], self.right + 4
            yield path(f"M{x:.1f} {self.down(end.y):.1f}L{x + 10:.1f} {y:.1f}", colour, 0.8)
            yield marker(MARKERS[end.look], colour, x + 16, y)
            yield text(x + 25, y + 4, shortened(end.words, 18), "n")

    def key(self) -> tuple[str, float]:
        """Return the key below the picture, and the height that it takes."""
        found, x, y = [], 8.0, self.height + 12.0
        for words, mark in self.panel.named().items():
            step = 38 + len(words) * NARROW
            if x > 8.0 and x + step > self.panel.width:
                x, y = 8.0, y + KEY_ROW
            colour = colour_of(mark.colour)
            if isinstance(mark, LineMark):
                found.append(path(f"M{x:.1f} {y:.1f}h24", colour, mark.width, mark.dash))
            elif isinstance(mark, BandMark):
                found.append(rect(x, y - 5, 24, 10, colour, ' fill-opacity="0.2"'))
            else:
                found.append(marker(mark.marker, colour, x + 12, y))
            found.append(text(x + 30, y + 4, words, "n"))
            x += step
        return "".join(found), y + 12 - self.height if found else 0.0

    def spots(self) -> str:
        """Return the places that can be asked, as data for the script of the report."""
        found = [
            (round(self.across(s.x), 1), round(self.down(s.y), 1), s.words)
            for s in self.panel.spots
        ]
        if not found:
            return ""
        given = escape(json.dumps(found, ensure_ascii=False, separators=(",", ":")))
        both = self.panel.is_map or not self.panel.framed
        along = "both" if both else "y" if self.panel.y.rows else "x"
        ends = f"{self.top:g} {self.foot:g}"
        return f'<g data-spots="{given}" data-along="{along}" data-ends="{ends}"></g>'


def _ticks(axis: Axis, most: int) -> Ticks:
    low, high = sorted((axis.low, axis.high))
    if axis.ticks is None:
        return named_ticks(low, high, most)
    return [tick for tick in axis.ticks if low <= tick[0] <= high]


def colour_of(role: str) -> str:
    """Return the colour of a role; a colour is its own."""
    return ALL_COLOURS.get(role, role)


def _upright(x: float, y: float, words: str) -> str:
    """Return the name of an axis, from below upwards."""
    turned = f'<g transform="translate({x:g} {y:.0f}) rotate(-90)">'
    return turned + text(0, 0, words, "n f", "middle") + "</g>"

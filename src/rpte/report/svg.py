"""What all pictures share: colours, type, shapes, the document around them, and a small chart.

A picture has its colours as attributes, so that it looks right alone and on white. Inside the
report they are replaced by those of the reader's colour scheme: `COLOURS` has their names there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, pairwise

Drawing = tuple[int, int, str, str]  # width, height, label, body
Points = Sequence[tuple[float, float]]

COLOURS = {
    "raises": "#b04500", "lowers": "#0a60a8", "ink": "#1c1b1f", "faint": "#6b6b6b",
    "line": "#c9c9c9", "accent": "#1f5fa8", "paper": "#ffffff",
}  # fmt: skip
RAISES, LOWERS, INK, FAINT, LINE, ACCENT, PAPER = COLOURS.values()
LEFT, TOP, RIGHT, BOTTOM = 56, 14, 16, 46  # margins of a chart
DASH = "5 4"
CHARACTER = 7.3  # advance of the font at its size, in pixels
NARROW = 6.4  # mean advance of the smaller type of axes
STYLE = (
    "text{font:13px 'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;fill:" + INK + "}"
    ".h{font-weight:bold}.f{fill:" + FAINT + "}.n{font-size:12px}"
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


def upright(x: float, y: float, words: str) -> str:
    """Return the name of an axis, from below upwards."""
    turned = f'<g transform="translate({x:g} {y:.0f}) rotate(-90)">'
    return turned + text(0, 0, words, "n f", "middle") + "</g>"


def path(d: str, colour: str, width: float = 1.0, more: str = "") -> str:
    """Return an unfilled path."""
    return f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width:g}"{more}/>'


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


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, with an ellipsis where something is gone."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def signed_bar(
    x: float, y: float, width: float, value: float, largest: float, said: str | None = None
) -> str:
    """Return a bar to the right (raises) or left (lowers) of its middle, with its number.

    `said` stands in place of the number; nothing does if it is empty.
    """
    middle = x + width / 2
    axis = path(f"M{middle:.1f} {y - 14:.1f}v28", LINE)
    if not value:
        return axis + text(middle + 4, y + 4, "0" if said is None else said, "f") * (said != "")
    length = max(abs(value) / largest * (width / 2 - 2), 1.0)
    colour, start = (RAISES, middle) if value > 0 else (LOWERS, middle - length)
    anchor, beside = ("end", middle - 4) if value > 0 else ("start", middle + 4)
    bar = axis + rect(start, y - 8, length, 16, colour)
    number = f"{value:+.3g}" if said is None else said
    return bar + text(beside, y + 4, number, "", anchor) * (said != "")


@dataclass(slots=True)
class Plot:
    """A chart in the making; coordinates are those of the data."""

    x: tuple[float, float]  # range of the axis; what lies outside is drawn at the border
    y: tuple[float, float]
    x_label: str
    y_label: str
    width: int = 380  # of the whole picture, in pixels
    height: int = 300
    absolute: bool = False  # heights below zero are read without their sign
    left: int = LEFT  # margin, for the numbers of the upright axis
    y_marks: Sequence[tuple[float, str]] | None = None  # of that axis, where they are given
    body: list[str] = field(default_factory=list)

    def fit_left(self) -> None:
        """Make room for the longest number of the upright axis."""
        longest = max((len(name) for _, name in self._upwards()), default=0)
        self.left = max(self.left, int(24 + longest * NARROW))

    def _upwards(self) -> Sequence[tuple[float, str]]:
        return self.y_marks or named_ticks(*self.y, max(4, self.height // 45))

    def across(self, x: float) -> float:
        """Return the place of a value on the picture."""
        return self.left + share_between(*self.x, x) * (self.width - self.left - RIGHT)

    def down(self, y: float) -> float:
        """Return the place of a value on the picture."""
        return self.height - BOTTOM - share_between(*self.y, y) * (self.height - TOP - BOTTOM)

    def line(self, points: Points, colour: str = ACCENT, width: float = 2, dash: str = "") -> None:
        """Draw a line through points."""
        if points:
            more = f' stroke-dasharray="{dash}"' if dash else ""
            self.body.append(path(self._way(points), colour, width, more))

    def band(self, low: Points, high: Points, colour: str = ACCENT) -> None:
        """Fill between two lines."""
        if low and high:
            way = self._way([*low, *reversed(high)])
            self.body.append(f'<path d="{way}Z" fill="{colour}" fill-opacity="0.18"/>')

    def dot(self, x: float, y: float, colour: str = ACCENT, size: float = 3.5) -> None:
        """Draw a dot."""
        place = f'cx="{self.across(x):.1f}" cy="{self.down(y):.1f}"'
        self.body.append(f'<circle {place} r="{size:g}" fill="{colour}"/>')

    def bar(self, x: float, low: float, high: float, colour: str = ACCENT) -> None:
        """Draw an upright error bar."""
        way = f"M{self.across(x):.1f} {self.down(low):.1f}V{self.down(high):.1f}"
        self.body.append(path(way, colour, 1.5))

    def _way(self, points: Points) -> str:
        places = (f"{self.across(x):.1f} {self.down(y):.1f}" for x, y in points)
        return "M" + "L".join(place for place, _ in groupby(places))

    def drawing(self, label: str) -> Drawing:
        """Return axes, everything drawn and the frame; `label` says it in words."""
        frame = path(f"M{self.left} {TOP}V{self.height - BOTTOM}H{self.width - RIGHT}", INK)
        return self.width, self.height, label, "".join([*self._axes(), *self.body, frame])

    def _axes(self) -> list[str]:
        foot, middle = self.height - BOTTOM, (self.left + self.width - RIGHT) / 2
        found = []
        for at, name in named_ticks(*self.x, max(2, (self.width - self.left) // 58)):
            x = self.across(at)
            last = x > self.width - RIGHT - 12 and len(name) > 3
            place, anchor = (x + RIGHT, "end") if last else (x, "middle")
            found.append(path(f"M{x:.1f} {foot}v4", INK))
            found.append(text(place, foot + 18, name, "n", anchor))
        for at, name in self._upwards():
            y, said = self.down(at), name.lstrip("-") if self.absolute else name
            found.append(path(f"M{self.left} {y:.1f}H{self.width - RIGHT}", LINE, 0.7))
            found.append(text(self.left - 6, y + 4, said, "n", "end"))
        found.append(text(middle, self.height - 8, self.x_label, "n f", "middle"))
        label = shortened(self.y_label, int((foot - TOP + 16) / NARROW))
        return [*found, upright(13, (TOP + foot) / 2, label)]


def share_between(low: float, high: float, value: float) -> float:
    """Return where a value lies between two ends, from 0 to 1."""
    return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most about so many round numbers from `low` to `high`.

    Examples
    --------
    >>> ticks(0.0, 35.0, 4)
    [0.0, 10.0, 20.0, 30.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def decimals(marks: Sequence[float]) -> int:
    """Return the decimals that tell round numbers apart."""
    step = min((b - a for a, b in pairwise(marks)), default=0.01)
    return max(0, -math.floor(math.log10(step) + 1e-9))


def named_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round numbers between two ends with their texts."""
    if not high > low:
        return [(low, f"{low:g}")]
    marks = ticks(low, high, most)
    if len(marks) == 1:
        return [(marks[0], f"{marks[0]:.4g}")]
    if max(abs(low), abs(high)) >= 1e7 or decimals(marks) > 6:
        return [(at, f"{at:.4g}") for at in marks]
    return [(at, f"{at:,.{decimals(marks)}f}") for at in marks]


RATIOS = (
    (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2),
    (0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5),
    tuple(2.0**k for k in range(-8, 9)),
    tuple(10.0**k for k in range(-12, 13)),
    tuple(1000.0**k for k in range(-6, 7)),
    tuple(10.0 ** (20 * k) for k in range(-15, 16)),
)


def ratio_ticks(low: float, high: float, most: int = 8) -> list[tuple[float, str]] | None:
    """Return ratios with their texts at their logarithms between two ends; None if few fit.

    Examples
    --------
    >>> [name for _, name in ratio_ticks(-1.5, 1.5)]
    ['0.25', '0.5', '1', '2', '4']
    """
    for ratios in RATIOS:
        marks = [(math.log(ratio), f"{ratio:.4g}") for ratio in ratios]
        if ratios[-1] < 100.0 and not (marks[0][0] <= low * 0.75 and high * 0.75 <= marks[-1][0]):
            continue  # these end well within the range
        inside = [(at, name) for at, name in marks if low <= at <= high]
        if 2 <= len(inside) <= most:
            return inside
    return None


def widened(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return a range with some air at both ends; never empty."""
    room = (high - low) * share
    if not room > 0 or not math.isfinite(room):
        room = abs(low) * 0.05 or 0.5
    return low - room, high + room

"""A small chart: axes with round numbers, lines, bands, dots with bars; SVG text out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from rpte.report.svg import ACCENT, INK, LINE, Drawing, path_svg, text_svg, upright_svg

Points = Sequence[tuple[float, float]]
LEFT, TOP, RIGHT, BOTTOM = 56, 14, 16, 46
DASH = "5 4"


@dataclass(slots=True)
class Plot:
    """A chart in the making; coordinates are those of the data.

    `x` and `y` are the ranges of the axes (what lies outside is drawn at the border), `width` and
    `height` the size of the whole picture in pixels. With `absolute`, heights below zero are read
    without their sign.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    width: int = 380
    height: int = 300
    absolute: bool = False
    body: list[str] = field(default_factory=list)

    def across(self, x: float) -> float:
        """Return the place of a value on the picture."""
        return LEFT + share_between(*self.x, x) * (self.width - LEFT - RIGHT)

    def down(self, y: float) -> float:
        """Return the place of a value on the picture."""
        return self.height - BOTTOM - share_between(*self.y, y) * (self.height - TOP - BOTTOM)

    def line(
        self, points: Points, colour: str = ACCENT, width: float = 2.0, dash: str = ""
    ) -> None:
        """Draw a line through points."""
        if points:
            more = f' stroke-dasharray="{dash}"' if dash else ""
            self.body.append(path_svg(self._way(points), colour, width, more))

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
        self.body.append(path_svg(way, colour, 1.5))

    def _way(self, points: Points) -> str:
        places = (f"{self.across(x):.1f} {self.down(y):.1f}" for x, y in points)
        return "M" + "L".join(place for place, _ in groupby(places))

    def drawing(self, label: str) -> Drawing:
        """Return axes, everything drawn and the frame; `label` says it in words."""
        frame = path_svg(f"M{LEFT} {TOP}V{self.height - BOTTOM}H{self.width - RIGHT}", INK)
        return self.width, self.height, label, "".join([*self._axes(), *self.body, frame])

    def _axes(self) -> list[str]:
        foot, middle = self.height - BOTTOM, (LEFT + self.width - RIGHT) / 2
        found = []
        for at, name in named_ticks(*self.x, max(2, (self.width - LEFT) // 58)):
            x = self.across(at)
            last = x > self.width - RIGHT - 12 and len(name) > 3
            place, anchor = (x + RIGHT, "end") if last else (x, "middle")
            found.append(path_svg(f"M{x:.1f} {foot}v4", INK))
            found.append(text_svg(place, foot + 18, name, "n", anchor))
        for at, name in named_ticks(*self.y, max(3, self.height // 45)):
            y, said = self.down(at), name.lstrip("-") if self.absolute else name
            found.append(path_svg(f"M{LEFT} {y:.1f}H{self.width - RIGHT}", LINE, 0.7))
            found.append(text_svg(LEFT - 6, y + 4, said, "n", "end"))
        found.append(text_svg(middle, self.height - 8, self.x_label, "n f", "middle"))
        return [*found, upright_svg(13, (TOP + foot) / 2, self.y_label)]


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
    if max(abs(low), abs(high)) >= 1e7 or decimals(marks) > 6:
        return [(at, f"{at:.4g}") for at in marks]
    return [(at, f"{at:,.{decimals(marks)}f}") for at in marks]


def widened(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return a range with some air at both ends; never empty."""
    room = (high - low) * share
    if not room > 0 or not math.isfinite(room):
        room = abs(low) * 0.05 or 0.5
    return low - room, high + room

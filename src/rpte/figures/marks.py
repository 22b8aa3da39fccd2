"""The marks of a picture, in the units of its data, and the axes that they stand on.

Colours are roles (`svg.COLOURS` has their names, `pyplot.colour` what they are in matplotlib), so
that every painter takes those of its ground. Several classes have a colour, a dash and a marker
each, which tell them apart for people who see few colours, and in print.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from rpte.utils.arrays import Floats

Points = Sequence[tuple[float, float]]
Dash = tuple[float, ...]  # pixels drawn and left out, in turn

DASHED: Dash = (5, 4)
CLASSES = tuple(f"class-{k}" for k in range(1, 7))  # colours
DASHES: tuple[Dash, ...] = ((), (7, 3), (2, 3), (10, 3, 2, 3), (4, 2), (12, 4))
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "ring")
MOST_TOGETHER = len(MARKERS)  # classes in one panel


class Tick(NamedTuple):
    """A mark of an axis; one that `names` something off the scale is in italics."""

    at: float
    text: str
    names: bool = False

    @property
    def slanted(self) -> bool:
        """Whether it is written aslant along the lower axis: a name that is not short."""
        return self.names and len(self.text) > 3


Ticks = Sequence[Tick | tuple[float, str]]


@dataclass(slots=True)
class Axis:
    """An axis from `low` to `high`: round numbers along it, or the ticks that are given.

    Where `rows` is set, ticks are the names of rows. A second scale may stand on the far side.
    """

    low: float
    high: float
    label: str = ""
    ticks: Ticks | None = None
    rows: bool = False
    far_label: str = ""
    far_ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True, slots=True)
class LineMark:
    """A line through points; its `name`, if any, is in the key."""

    points: Points
    colour: str = "accent"
    width: float = 2.0
    dash: Dash = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class BandMark:
    """What lies between two lines."""

    low: Points
    high: Points
    colour: str = "accent"
    name: str = ""


@dataclass(frozen=True, slots=True)
class DotMark:
    """Points with a marker."""

    points: Points
    colour: str = "accent"
    marker: str = "circle"
    size: float = 3.5  # half of its width, in pixels
    name: str = ""


@dataclass(frozen=True, slots=True)
class BoxMark:
    """A filled rectangle; one that is `hatched` can be told from others in print."""

    x: tuple[float, float]
    y: tuple[float, float]
    colour: str = "accent"
    opacity: float = 1.0
    hatched: bool = False


@dataclass(frozen=True, slots=True)
class TextMark:
    """A line of text, moved by some pixels to the right and up; looks are those of `svg.STYLE`."""

    x: float
    y: float
    words: str
    anchor: str = "start"  # or "middle", "end"
    shift: tuple[float, float] = (0.0, 0.0)
    look: str = "n"


@dataclass(frozen=True, slots=True)
class CellMark:
    """Signed numbers (up, across) between edges, as shades; written into the cells where asked."""

    across: Floats
    up: Floats
    values: Floats
    largest: float  # that has the deepest shade
    written: bool = False


Mark = LineMark | BandMark | DotMark | BoxMark | TextMark | CellMark


class End(NamedTuple):
    """The name of a line, written beside its end."""

    y: float
    words: str
    look: int  # the number of its colour, dash and marker


class Spot(NamedTuple):
    """A place that can be asked what it shows, by the pointer or the keyboard."""

    x: float
    y: float
    words: str


@dataclass(slots=True)
class Panel:
    """One pair of axes with its marks; `label` says in words what it shows."""

    x: Axis
    y: Axis
    label: str = ""
    width: int = 380  # of the whole picture in pixels
    height: int = 300
    title: str = ""
    framed: bool = True
    marks: list[Mark] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)

    def line(
        self,
        points: Points,
        colour: str = "accent",
        width: float = 2.0,
        dash: Dash = (),
        name: str = "",
    ) -> None:
        """Add a line through points, if there are any."""
        if len(points):
            self.marks.append(LineMark(points, colour, width, dash, name))

    def band(self, low: Points, high: Points, colour: str = "accent", name: str = "") -> None:
        """Add what lies between two lines, if they have points."""
        if len(low) and len(high):
            self.marks.append(BandMark(low, high, colour, name))

    def dot(self, x: float, y: float, colour: str = "accent", size: float = 3.5) -> None:
        """Add a dot."""
        self.marks.append(DotMark([(x, y)], colour, "circle", size))

    def interval(
        self, x: float, low: float, high: float, colour: str = "accent", width: float = 1.5
    ) -> None:
        """Add an upright interval."""
        self.marks.append(LineMark([(x, low), (x, high)], colour, width))

    def bars(
        self, edges: Sequence[float], heights: Sequence[float], colour: str = "accent"
    ) -> None:
        """Add the bars of a histogram, from zero, with a little room between them."""
        room = 0.04 * (edges[1] - edges[0])
        for (low, high), height in zip(pairwise(edges), heights, strict=True):
            self.marks.append(BoxMark((low + room, high - room), (0.0, height), colour))

    def signed_bar(self, start: float, length: float, y: float, half: float) -> None:
        """Add a bar to the right for what raises the score, to the left for what lowers it."""
        colour = "raises" if length > 0 else "lowers"
        ends = (start, start + length), (y - half, y + half)
        self.marks.append(BoxMark(*ends, colour, hatched=length < 0))

    def labelled(self, label: str) -> "Panel":
        """Say in words what the panel shows, and return it."""
        self.label = label
        return self

    @property
    def is_map(self) -> bool:
        """Whether it has cells, which need no lines between them."""
        return any(isinstance(mark, CellMark) for mark in self.marks)

    def named(self) -> dict[str, LineMark | BandMark | DotMark]:
        """Return the marks of the key by their name."""
        found: dict[str, LineMark | BandMark | DotMark] = {}
        for mark in self.marks:
            if isinstance(mark, LineMark | BandMark | DotMark) and mark.name:
                found.setdefault(mark.name, mark)
        return found


def chart(
    x: tuple[float, float],
    y: tuple[float, float],
    x_label: str,
    y_label: str,
    width: int = 380,
    height: int = 300,
) -> Panel:
    """Return a panel with two scales."""
    return Panel(Axis(*x, x_label), Axis(*y, y_label), "", width, height)

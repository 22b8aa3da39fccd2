"""A card: what a notebook shows of one object, as plain values, and as HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any, ClassVar
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rpte.figures.marks import Panel
from rpte.figures.svg import document, drawing

MOST_ROWS = 60  # of a table; the others are counted


@dataclass(frozen=True, slots=True)
class Number:
    """A cell with a number, to the right."""

    kind: ClassVar[str] = "number"
    text: str


@dataclass(frozen=True, slots=True)
class Indented:
    """A cell with a text that belongs to the line above."""

    kind: ClassVar[str] = "indented"
    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A cell with a number that is a part of the one above."""

    kind: ClassVar[str] = "aside"
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A cell with a bar from the middle, to the right for what adds, to the left for the rest."""

    kind: ClassVar[str] = "bar"
    value: float
    largest: float

    one_sided: bool = False
    room: ClassVar[int] = 120  # pixels

    @property
    def half(self) -> int:
        """Pixels that the largest bar has."""
        return self.room if self.one_sided else self.room // 2

    @property
    def width(self) -> int:
        """Pixels of the bar; the smallest is seen."""
        return max(round(self.half * abs(self.value) / self.largest), 1) if self.largest else 0

    @property
    def left(self) -> int:
        """Pixels before it."""
        if self.one_sided:
            return 0
        return self.half if self.value > 0 else self.half - self.width


@dataclass(frozen=True, slots=True)
class Mark:
    """A cell with a tick, a cross, or a circle for what was not checked."""

    kind: ClassVar[str] = "mark"
    result: bool | None
    text: str

    @property
    def sign(self) -> str:
        """The sign itself."""
        return "○" if self.result is None else "✓" if self.result else "✗"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below their names; beyond `most` they are counted."""

    kind: ClassVar[str] = "table"
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    most: int = MOST_ROWS
    where: str = ""  # the others are found

    @property
    def more(self) -> str:
        """How many rows are left out, in words."""
        left = len(self.rows) - self.most
        return f"and {left:,} more{f' in {self.where}' if self.where else ''}" if left > 0 else ""


@dataclass(frozen=True, slots=True)
class Note:
    """A line of text; one that warns stands out."""

    kind: ClassVar[str] = "note"
    text: str
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a file."""

    kind: ClassVar[str] = "link"
    text: str
    path: str

    @property
    def address(self) -> str:
        """The file as an address: no part of a name is read as more than that."""
        return quote(self.path if self.path.startswith("/") else f"./{self.path}")


@dataclass(frozen=True, slots=True)
class Picture:
    """A panel on white, as an image."""

    kind: ClassVar[str] = "picture"
    panel: Panel

    @property
    def html(self) -> Markup:
        """The image, with its label in words."""
        code = base64.b64encode(document(*drawing(self.panel)).encode("utf-8", "replace")).decode()
        source = f"data:image/svg+xml;base64,{code}"
        style = "max-width:100%;border-radius:4px"
        return Markup(f'<img style="{style}" src="{source}" alt="{escape(self.panel.label)}">')


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that open below a line."""

    kind: ClassVar[str] = "fold"
    summary: str
    blocks: Sequence[Any]
    is_open: bool = False
    strong: str = ""  # begins the line


@dataclass(frozen=True, slots=True)
class Card:
    """A title, a few lines, and blocks: tables, notes, pictures and folded parts."""

    title: str
    lines: Sequence[str] = ()
    blocks: Sequence[Any] = field(default=())
    mark: Mark | None = None

    @property
    def html(self) -> str:
        """The card as HTML."""
        page = _environment().get_template("card.html.j2").render(card=self)
        # A name may hold half a surrogate pair, which no file can.
        return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("rpte.notebook"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def numbers(values: Iterable[str]) -> list[Number]:
    """Return cells to the right."""
    return [Number(value) for value in values]


def facts(pairs: Iterable[tuple[str, Any]]) -> Table:
    """Return names and values as a table without heads; what is None is left out."""
    return Table((), [(name, value) for name, value in pairs if value is not None])

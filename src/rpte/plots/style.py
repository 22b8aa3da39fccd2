"""Colours, texts and axes that all pictures share.

Colours are those of Okabe and Ito, which colour-blind people tell apart, and none says anything
alone: what lowers a score is hatched too, classes have line styles and their names beside them.
What is ink or paper is taken from the style in use, so that dark ones stay dark.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.report.svg import shortened

PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}  # names are no formulas
TITLE, TEXT, NOTE = 11, 9, 8  # sizes of type
TOP_AXIS = 30.0  # points that an axis on top takes
MOST_NAME = 28  # characters of a name beside an axis
LOWERS_HATCH = "////"
LINES = ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
ON_DARK = ("#56B4E9", "#E69F00", "#2BD4A4", "#E8A4C9", "#F0E442", "#FFFFFF")
MOST_MARKS = 48  # characters of all marks along an axis
RATIOS = (1.0, 2.0, 5.0)  # marks of a ratio, times powers of ten
FINE_RATIOS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)
FINEST_RATIOS = tuple(np.round(np.arange(1.0, 2.0, 0.05), 2).tolist())


def pyplot() -> Any:
    """Return `matplotlib.pyplot`; say how to install it where it is absent."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise InputError("pictures need matplotlib; pip install 'rpte[plot]'") from error
    return plt


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw on: those given, or those of a new figure of some size in inches."""
    plt = pyplot()
    return ax if ax is not None else plt.subplots(figsize=size, layout="constrained")[1]


def divided(ax: Any, rows: int, columns: int, **options: Any) -> list[list[Any]]:
    """Return a grid of axes in the place of one, which stays as an empty frame around them."""
    return _axes_in(ax.figure, _place(ax).subgridspec(rows, columns, **options), rows, columns)


def under_headline(ax: Any, rows: int, columns: int, title: str, note: str) -> list[list[Any]]:
    """Return a grid of axes in the place of one, below a title and in small type what is shown."""
    text = wrapped(ax, note, NOTE)
    room = (TITLE * 1.9 + (text.count("\n") + 1) * NOTE * 1.32) / 72
    height = ax.get_position().height * ax.figure.get_figheight()
    parts = _place(ax).subgridspec(2, 1, height_ratios=(room, max(height - room, 1.0)))
    top = ax.figure.add_subplot(parts[0])
    top.set_axis_off()
    top.text(0, 1, name(title, 90), va="top", fontsize=TITLE, fontweight="bold", **PLAIN)
    look = {"va": "top", "fontsize": NOTE, "alpha": 0.8, "linespacing": 1.15}
    offset = {"xycoords": "axes fraction", "textcoords": "offset points"}
    top.annotate(text, (0, 1), (0, -TITLE * 1.5), annotation_clip=False, **offset, **look, **PLAIN)
    return _axes_in(ax.figure, parts[1].subgridspec(rows, columns), rows, columns)


def _place(ax: Any) -> Any:
    """Return the part of a grid that axes are in, and hide them."""
    ax.set_axis_off()
    if ax.get_subplotspec() is None:
        raise InputError(
            "this picture has several panels, and the axes given are no part of a grid to divide; "
            "give axes of plt.subplots, or none"
        )
    return ax.get_subplotspec()


def _axes_in(figure: Any, grid: Any, rows: int, columns: int) -> list[list[Any]]:
    return [[figure.add_subplot(grid[r, c]) for c in range(columns)] for r in range(rows)]


def is_dark(ax: Any) -> bool:
    """Tell whether axes have a dark ground."""
    from matplotlib.colors import to_rgba

    colours = (to_rgba(c) for c in (ax.get_facecolor(), ax.figure.get_facecolor()))
    red, green, blue, _ = next((c for c in colours if c[3] > 0.5), (1.0, 1.0, 1.0, 1.0))
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.4)


def palette(ax: Any) -> tuple[str, ...]:
    """Return colours for the ground of some axes; the first is that of effects."""
    return ON_DARK if is_dark(ax) else ON_LIGHT


def bar_looks(ax: Any, value: float) -> dict[str, Any]:
    """Return how a bar looks that raises a score, or lowers it: colour and hatch."""
    first, second = palette(ax)[:2]
    paper = "#111111" if is_dark(ax) else "#ffffff"
    if value >= 0:
        return {"facecolor": second, "edgecolor": second, "linewidth": 0.8}
    return {"facecolor": first, "edgecolor": paper, "hatch": LOWERS_HATCH, "linewidth": 0.0}


def ink() -> Any:
    """Return the colour of text in the style in use."""
    return pyplot().rcParams["text.color"]


def plain(text: object) -> str:
    """Return a text on one line, without characters that cannot be drawn."""
    found = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in found)


def name(text: object, most: int = MOST_NAME) -> str:
    """Return a name as it is written beside an axis: on one line, not too long."""
    return shortened(plain(text), most)


def signed(value: float) -> str:
    """Return a number with its sign, to three digits; "0" for none.

    Examples
    --------
    >>> signed(0.12345), signed(12345.6), signed(0.0)
    ('+0.123', '+12,346', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    digits = min(3, max(0, 2 - math.floor(math.log10(abs(value)))))
    small = 1e-3 <= abs(value) < 1e8
    text = f"{value:+,.{digits}f}" if small else f"{value:+.2e}"
    return text.replace("-", "\N{MINUS SIGN}", 1)


def number(value: float) -> str:
    """Return a number of a case or an axis: whole ones in full, others to four digits."""
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value)}".replace("-", "\N{MINUS SIGN}")
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def share(value: float | None) -> str:
    """Return a share of rows in percent; nothing where it is not known."""
    if value is None:
        return ""
    if 0 < value < 0.001:
        return "<0.1%"
    return f"{value:.0%}" if value >= 0.0995 or value == 0 else f"{value:.1%}"


def wrapped(ax: Any, text: str, size: float) -> str:
    """Return a text in lines as wide as the axes."""
    width = ax.get_position().width * ax.figure.get_figwidth() * 72
    return "\n".join(textwrap.wrap(plain(text), max(24, int(width / (size * 0.52)))))


def axis_words(text: str, most: int = 46) -> str:
    """Return what stands along an axis, in lines."""
    return "\n".join(textwrap.wrap(plain(text), most))


def small_title(ax: Any, title: str) -> None:
    """Write a title above a small panel."""
    room = int(ax.get_position().width * ax.figure.get_figwidth() * 72 / (TITLE * 0.85))
    look = {"loc": "left", "fontsize": TITLE, "fontweight": "bold"}
    ax.set_title(name(title, max(14, room)), **look, **PLAIN)


def headline(ax: Any, title: str, note: str = "", above: float = 0.0) -> None:
    """Write a title above axes that are drawn, and below it in small type what is shown.

    `above` are points that something else takes over the axes, such as `TOP_AXIS`.
    """
    if ax.figure.get_layout_engine() is not None:
        ax.figure.draw_without_rendering()  # how wide the axes are, beside their names
    note = wrapped(ax, note, NOTE) if note else ""
    lines = note.count("\n") + 1 if note else 0
    pad = 5.0 + above + lines * NOTE * 1.32
    ax.set_title(
        wrapped(ax, title, TITLE * 1.15),
        loc="left",
        fontsize=TITLE,
        fontweight="bold",
        pad=pad,
        **PLAIN,
    )
    if note:
        ax.annotate(
            note, (0, 1), (0, 4 + above), "axes fraction", textcoords="offset points", va="bottom",
            ha="left", fontsize=NOTE, alpha=0.8, linespacing=1.15, annotation_clip=False, **PLAIN,
        )  # fmt: skip


def open_frame(ax: Any, *sides: str) -> None:
    """Leave nothing of the frame but some sides, and make the marks small."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
        spine.set_linewidth(0.7)
    ax.tick_params(labelsize=TEXT, width=0.7, length=3)


def legend(ax: Any, kinds: Mapping[str, Any]) -> None:
    """Say what is drawn, by its name; names may be anything."""
    dummies = [f"kind {k}" for k in range(len(kinds))]  # a name with an underscore is left out
    look = {"fontsize": NOTE, "frameon": False, "loc": "best", "handlelength": 2.6}
    made = ax.legend(list(kinds.values()), dummies, **look)
    for text, label in zip(made.get_texts(), kinds, strict=True):
        text.set(text=name(label, 40), **PLAIN)


def ratio_marks(low: float, high: float) -> list[tuple[float, str]]:
    """Return where a logarithm has round ratios, with their text, in some range."""
    for steps in (RATIOS, FINE_RATIOS, FINEST_RATIOS):
        found = list(_ratios(low, high, steps))
        if len(found) >= 3:
            break
    while len(found) > 8 or sum(len(text) + 2 for _, text in found) > MOST_MARKS:
        one = next((k for k, (at, _) in enumerate(found) if at == 0.0), 0)
        found = found[one % 2 :: 2]
    return found


def _ratios(low: float, high: float, steps: Sequence[float]) -> Iterator[tuple[float, str]]:
    if high - low > 40:  # no ratio is worth reading
        return
    for power in range(math.floor(low / math.log(10)) - 1, math.ceil(high / math.log(10)) + 1):
        for step in steps:
            at = math.log(step) + power * math.log(10)
            if low <= at <= high:
                value = step * 10.0**power
                yield (0.0 if value == 1.0 else at), f"{value:g}"


def ratio_axis(ax: Any, words: str, along: str = "y") -> None:
    """Add an axis on the far side that reads a logarithm as a ratio."""
    low, high = sorted(ax.get_ylim() if along == "y" else ax.get_xlim())
    marks = ratio_marks(low, high)
    if len(marks) < 2:
        return
    side = ax.secondary_yaxis("right") if along == "y" else ax.secondary_xaxis("top")
    ticks = side.set_yticks if along == "y" else side.set_xticks
    ticks([at for at, _ in marks], [text for _, text in marks])
    (side.set_ylabel if along == "y" else side.set_xlabel)(words, fontsize=TEXT, **PLAIN)
    side.tick_params(labelsize=TEXT, width=0.7, length=3)
    for spine in side.spines.values():
        spine.set_visible(False)

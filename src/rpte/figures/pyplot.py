"""The painter with matplotlib: panels of marks on axes, and the titles above them.

Colours are those of Okabe and Ito, which colour-blind people tell apart, and none says anything
alone: what lowers a score is hatched too, classes have line styles and their names beside them.
What is ink or paper is taken from the style in use, so that dark ones stay dark.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.figures.marks import (
    CLASSES,
    DASHES,
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
    Tick,
)
from rpte.figures.text import MINUS, apart, name, plain, signed

PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}  # names are no formulas
TITLE, TEXT, NOTE = 11, 9, 8  # sizes of type
FAR_AXIS = 30.0  # points that an axis on top takes
PIXELS, PIXELS_OF_TEXT = 80, 105  # of a panel that are an inch of a figure
MOST_WRITTEN = 160  # cells that have their number in them
LOWERS_HATCH = "////"
ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
ON_DARK = ("#56B4E9", "#E69F00", "#2BD4A4", "#E8A4C9", "#F0E442", "#FFFFFF")
SIGNS = dict(zip(MARKERS, "os^Dxo", strict=True))


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


def draw(panel: Panel, ax: Any, title: str, note: str = "") -> Any:
    """Draw a panel with its title on some axes, or on a new figure; return them."""
    pixels = PIXELS if panel.framed else PIXELS_OF_TEXT
    ax = axes_or_new(ax, (panel.width / pixels, panel.height / pixels + 0.5))
    paint(panel, ax)
    headline(ax, title, note, FAR_AXIS if panel.x.far_ticks else 0.0)
    return ax


def draw_several(
    panels: Sequence[Panel], ax: Any, columns: int, title: str, note: str
) -> tuple[Any, list[Any]]:
    """Draw panels in a grid under one title; return the axes that they divide, and theirs."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    size = (panels[0].width / PIXELS * columns, 0.8 + panels[0].height / PIXELS * rows)
    ax = axes_or_new(ax, size)
    grid = [each for row in under_headline(ax, rows, columns, title, note) for each in row]
    for panel, each in zip(panels, grid, strict=False):
        paint(panel, each)
        each.set_title(name(panel.title), loc="left", fontsize=TEXT, **PLAIN)
    for each in grid[len(panels) :]:
        each.set_axis_off()
    return ax, grid[: len(panels)]


def paint(panel: Panel, ax: Any) -> None:
    """Draw the marks of a panel on some axes."""
    ax.set_xlim(panel.x.low, panel.x.high)
    ax.set_ylim(panel.y.low, panel.y.high)
    if panel.framed:
        _axes(panel, ax)
    else:
        ax.set_axis_off()
    drawn: dict[str, Any] = {}
    for order, mark in enumerate(panel.marks):
        made = _mark(mark, ax, 1 + order / 1000)
        if isinstance(mark, LineMark | BandMark | DotMark) and mark.name:
            drawn.setdefault(mark.name, made)
    if panel.ends:
        _end_labels(panel, ax)
    if drawn:
        _legend(ax, drawn)


def _axes(panel: Panel, ax: Any) -> None:
    """Set the marks, the names and the far scales of both axes."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    open_frame(ax, *(("bottom",) if panel.y.rows else ("left", "bottom")))
    small = panel.width < 340
    for axis, which, most in (
        (panel.x, ax.xaxis, _most_ticks(panel)),
        (panel.y, ax.yaxis, max(3, panel.height // 45)),
    ):
        if axis.ticks is None:
            which.set_major_locator(MaxNLocator(most))
        else:
            places = [tick[0] for tick in axis.ticks]
            texts = [tick[1] for tick in axis.ticks]
            if axis.rows or any(texts):
                which.set_ticks(places, texts, **PLAIN)
                _slanted(axis, which)
        if axis.rows:
            which.set_tick_params(length=0)
    if panel.x.ticks is None:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _plain_number(v)))
    across = "x" if panel.y.rows else "y"
    if not panel.is_map:
        ax.grid(axis=across, linewidth=0.4, alpha=0.35)
    ax.set_axisbelow(True)
    ax.set_xlabel(axis_words(panel.x.label, 34 if small else 60), fontsize=TEXT, **PLAIN)
    ax.set_ylabel(axis_words(panel.y.label, 26 if small else 46), fontsize=TEXT, **PLAIN)
    if panel.x.far_ticks:
        _far(ax.secondary_xaxis("top"), "x", panel.x)
    if panel.y.far_ticks:
        _far(ax.secondary_yaxis("right"), "y", panel.y)


def _most_ticks(panel: Panel) -> int:
    """Return how many round numbers fit along the lower axis, beside what is left of the frame."""
    longest = max(len(_plain_number(float(f"{end:.2g}"))) for end in (panel.x.low, panel.x.high))
    return max(2, min(panel.width // 70, (panel.width - 90) // (8 * longest + 14)))


def _plain_number(value: float) -> str:
    return f"{value:,.10g}".replace("-", MINUS) if abs(value) < 1e7 else f"{value:g}"


def _slanted(axis: Axis, which: Any) -> None:
    """Set the names of what is off the scale in italics, aslant along the lower axis."""
    for label, tick in zip(which.get_ticklabels(), axis.ticks or (), strict=True):
        if isinstance(tick, Tick) and tick.names:
            label.set(style="italic")
            if which.axis_name == "x" and tick.slanted:
                label.set(rotation=35, ha="right", rotation_mode="anchor")


def _far(side: Any, along: str, axis: Axis) -> None:
    """Write a second scale on the far side."""
    places, texts = zip(*axis.far_ticks, strict=True)
    (side.set_yticks if along == "y" else side.set_xticks)(places, texts)
    (side.set_ylabel if along == "y" else side.set_xlabel)(axis.far_label, fontsize=TEXT, **PLAIN)
    side.tick_params(labelsize=TEXT, width=0.7, length=3)
    for spine in side.spines.values():
        spine.set_visible(False)


def _mark(mark: Mark, ax: Any, order: float) -> Any:
    """Draw one mark; return what stands for it in a key."""
    if isinstance(mark, LineMark):
        x, y = zip(*mark.points, strict=True)
        look = {"color": colour(mark.colour, ax), "linewidth": mark.width * 0.85}
        look["alpha"] = 0.65 if mark.colour in ("faint", "line") else 1.0
        return ax.plot(x, y, linestyle=_dash(mark.dash, mark.width), zorder=order, **look)[0]
    if isinstance(mark, BandMark):
        x, low = zip(*mark.low, strict=True)
        high = [y for _, y in mark.high]
        look = {"color": colour(mark.colour, ax), "alpha": 0.14, "linewidth": 0}
        return ax.fill_between(x, low, high, zorder=order, **look)
    if isinstance(mark, DotMark):
        x, y = zip(*mark.points, strict=True)
        look = {"color": colour(mark.colour, ax), "markersize": mark.size * 1.6}
        if mark.marker == "ring":
            look["markerfacecolor"] = "none"
        sign = SIGNS[mark.marker]
        return ax.plot(x, y, linestyle="none", marker=sign, zorder=order + 0.1, **look)[0]
    if isinstance(mark, BoxMark):
        return _box(mark, ax, order)
    if isinstance(mark, CellMark):
        return _cells(mark, ax)
    shift = mark.shift[0] * 0.8, mark.shift[1] * 0.8
    ha = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    look = {"fontsize": NOTE if "n" in mark.look else TEXT, "ha": ha, "va": "center"}
    look |= {"fontweight": "bold"} if "h" in mark.look else {}
    look |= {"alpha": 0.75} if "f" in mark.look else {}
    place = {"textcoords": "offset points", "annotation_clip": False, "zorder": 4}
    return ax.annotate(mark.words, (mark.x, mark.y), shift, **place, **look, **PLAIN)


def _box(mark: BoxMark, ax: Any, order: float) -> Any:
    from matplotlib.patches import Rectangle

    fill = colour(mark.colour, ax)
    look = {"facecolor": fill, "alpha": mark.opacity, "linewidth": 0.0, "zorder": order}
    if mark.hatched:
        look |= {"edgecolor": "#111111" if is_dark(ax) else "#ffffff", "hatch": LOWERS_HATCH}
    (x, end), (y, top) = sorted(mark.x), sorted(mark.y)
    return ax.add_patch(Rectangle((x, y), end - x, top - y, **look))


def _cells(mark: CellMark, ax: Any) -> Any:
    """Draw cells as shades; what says it in print are numbers, or contours, dashed below zero."""
    cells, largest = mark.values, mark.largest or 1.0
    look = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    mesh = ax.pcolormesh(mark.across, mark.up, cells, shading="flat", rasterized=True, **look)
    across, up = ((edges[1:] + edges[:-1]) / 2 for edges in (mark.across, mark.up))
    if mark.written and cells.size <= MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(cells):
            ink = "white" if abs(value) > 0.6 * largest else "black"
            at = {"ha": "center", "va": "center", "fontsize": NOTE - 1, "color": ink}
            ax.text(across[column], up[row], signed(float(value)), **at)
    elif min(cells.shape) > 1 and np.ptp(cells) > 0:
        lines = ax.contour(across, up, cells, 7, colors="black", linewidths=0.7)
        ax.clabel(lines, fontsize=NOTE - 1, fmt=lambda v: f"{v:+g}".replace("-", MINUS))
    return mesh


def colour_bar(ax: Any, panels: Sequence[Any], label: str) -> None:
    """Add the scale of shades beside maps."""
    mesh = next(each for each in panels[0].collections if hasattr(each, "get_cmap"))
    bar = ax.figure.colorbar(mesh, ax=list(panels), shrink=0.9, pad=0.02)
    bar.set_label(axis_words(label), fontsize=TEXT, **PLAIN)
    bar.ax.tick_params(labelsize=NOTE)
    bar.outline.set_visible(False)


def _dash(dash: Dash, width: float) -> Any:
    return (0, tuple(length / max(width, 1.0) for length in dash)) if dash else "-"


def _end_labels(panel: Panel, ax: Any) -> None:
    """Write the names of lines at their ends, moved apart where they meet."""
    low, high = ax.get_ylim()
    ends = sorted(panel.ends, key=lambda end: end.y)
    heights = apart(np.array([end.y for end in ends]), (high - low) * 0.055, high)
    for end, y in zip(ends, heights.tolist(), strict=True):
        own = colour(CLASSES[end.look], ax)
        arrow = {"arrowstyle": "-", "color": own, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
        ax.annotate(
            name(end.words, 18), (1.0, end.y), (1.03, y), ("axes fraction", "data"),
            textcoords=("axes fraction", "data"), va="center", color=own, fontsize=TEXT,
            annotation_clip=False,
            arrowprops={**arrow, "linestyle": _dash(DASHES[end.look], 1.0)}, **PLAIN,
        )  # fmt: skip


def _legend(ax: Any, kinds: dict[str, Any]) -> None:
    """Say what is drawn, by its name; names may be anything."""
    dummies = [f"kind {k}" for k in range(len(kinds))]  # a name with an underscore is left out
    slanted = any(label.get_rotation() for label in ax.get_xticklabels())
    columns = 3 if sum(map(len, kinds)) < 70 else 1
    look = {"fontsize": NOTE, "frameon": False, "loc": "upper left", "handlelength": 2.6}
    look |= {"bbox_to_anchor": (0, 0), "borderaxespad": 8 if slanted else 4.6, "ncols": columns}
    made = ax.legend(list(kinds.values()), dummies, **look)
    for text, label in zip(made.get_texts(), kinds, strict=True):
        text.set(text=name(label, 40), **PLAIN)


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


def colour(role: str, ax: Any) -> Any:
    """Return the colour of a role on the ground of some axes."""
    own = ON_DARK if is_dark(ax) else ON_LIGHT
    if role in CLASSES:
        return own[CLASSES.index(role)]
    if role in ("ink", "faint", "line"):
        return ink()
    return own[1] if role == "raises" else own[0]


def ink() -> Any:
    """Return the colour of text in the style in use."""
    return pyplot().rcParams["text.color"]


def wrapped(ax: Any, text: str, size: float) -> str:
    """Return a text in lines as wide as the axes."""
    width = ax.get_position().width * ax.figure.get_figwidth() * 72
    return "\n".join(textwrap.wrap(plain(text), max(24, int(width / (size * 0.52)))))


def axis_words(text: str, most: int = 46) -> str:
    """Return what stands along an axis, in lines."""
    return "\n".join(textwrap.wrap(plain(text), most))


def small_title(ax: Any, title: str) -> None:
    """Write a title above a small panel, in two lines where it is long."""
    room = int(ax.get_position().width * ax.figure.get_figwidth() * 72 / (TITLE * 0.62))
    lines = textwrap.wrap(plain(title), max(14, room))
    lines = [lines[0], name(" ".join(lines[1:]), max(14, room))] if len(lines) > 1 else lines
    look = {"loc": "left", "fontsize": TITLE - 1, "fontweight": "bold"}
    ax.set_title("\n".join(lines), **look, **PLAIN)


def headline(ax: Any, title: str, note: str = "", above: float = 0.0) -> None:
    """Write a title above axes that are drawn, and below it in small type what is shown.

    `above` are points that something else takes over the axes, such as `FAR_AXIS`.
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

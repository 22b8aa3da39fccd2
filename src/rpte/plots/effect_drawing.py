"""How the effect of one variable is drawn: curves with density, bars of levels, small multiples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.plots import style
from rpte.plots.shading import shaded
from rpte.report.effect_charts import MOST_LEVELS, effect_note
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.plots.effect import EffectDisplay

SIZE, BAR_HEIGHT, COLUMNS = (6.4, 4.2), 0.3, 3
MOST_TOGETHER = 6  # classes in one panel
MOST_SMALL = 8  # levels in a small panel
STRIP, STRIP_TOP = 0.16, 0.10  # share of the height that is kept for the density; that it fills
SLOT = 0.09  # share of the range of a curve that a code or missing takes beside it
SPREAD, BAND = "nine tenths of the rows", "95% interval of the bootstrap"


def draw_effect(display: EffectDisplay, ax: Any) -> Iterator[Any]:
    """Draw an effect; yield the axes given or made, and then the panels."""
    if len(display.labels) > MOST_TOGETHER and display.kind == "number":
        yield from _small_multiples(display, ax)
        return
    ax = style.axes_or_new(ax, _size(display))
    on_top = display.kind != "number" and display.ratio is not None
    style.headline(ax, title_of(display), note_of(display), style.TOP_AXIS if on_top else 0.0)
    if display.kind == "number":
        _curves(display, ax, range(len(display.shown)))
    elif len(display.labels) > MOST_TOGETHER:
        _table(display, ax)
    else:
        _bars(display, ax)
    yield ax


def draw_small(display: EffectDisplay, ax: Any) -> None:
    """Draw an effect in a small panel: no caption, and of many classes and levels the strongest."""
    others = display.reading["others"]
    style.headline(ax, title_of(display) + (f" (with {', '.join(others)})" if others else ""))
    if display.kind == "number":
        spread = np.ptp(display.shown, axis=1)
        strongest = np.argsort(-spread, kind="stable")[:MOST_TOGETHER]
        _curves(display, ax, sorted(strongest.tolist()), small=True)
    elif len(display.labels) > MOST_TOGETHER:
        _table(display, ax, MOST_SMALL)
    else:
        _bars(display, ax, small=True)


def title_of(display: EffectDisplay) -> str:
    """Return the title: the variable, and whether this is not its whole effect."""
    return f"{display.source}" + ("" if display.is_whole else " (own terms only)")


def note_of(display: EffectDisplay) -> str:
    """Return the caption: what is shown, averaged over what."""
    shape = {**display.reading, "unit": "", "kind": display.kind, "levels": [], "curves": {}}
    note = effect_note(shape, thin=False)
    if display.reading["alone"]:
        note = f"terms: {note}"
    if display.reference == "mean":
        note += "; 0 is the training mean"
    if len(display.levels) > MOST_LEVELS:
        note += f"; the {MOST_LEVELS} strongest of {len(display.levels)} levels"
    return note[:1].upper() + note[1:]


def _size(display: EffectDisplay) -> tuple[float, float]:
    if display.kind == "number":
        return SIZE
    rows = min(len(display.levels), MOST_LEVELS)
    return SIZE[0], max(2.6, 1.5 + rows * BAR_HEIGHT)


def _small_multiples(display: EffectDisplay, ax: Any) -> Iterator[Any]:
    """Draw each class in a panel of its own, all in one scale."""
    count = len(display.labels)
    rows = -(-count // COLUMNS)
    ax = style.axes_or_new(ax, (3.0 * COLUMNS, 0.8 + 2.1 * rows))
    style.headline(ax, title_of(display), note_of(display))
    panels = [p for row in style.divided(ax, rows, COLUMNS) for p in row]
    scale = _scale(display, range(count))
    for k, panel in enumerate(panels):
        if k >= count:
            panel.set_axis_off()
            continue
        _curves(display, panel, [k], scale)
        panel.set_title(
            style.name(display.labels[k]), loc="left", fontsize=style.TEXT, **style.PLAIN
        )
        panel.set_ylabel(
            display.unit if k % COLUMNS == 0 else "", fontsize=style.NOTE, **style.PLAIN
        )
        if k < count - COLUMNS:
            panel.set_xlabel("")
    yield ax
    yield from panels[:count]


def _scale(display: EffectDisplay, scores: Any) -> tuple[float, float]:
    """Return the range of all that is drawn of some scores, room for the density below."""
    low, high = _reach(display, scores)
    span = (high - low) or 1.0
    return low - span * STRIP, high + span * 0.06


def _reach(display: EffectDisplay, scores: Any) -> tuple[float, float]:
    """Return the least and the largest of all that is drawn of some scores, 0 among them."""
    drawn = {"whole", "own", "band_low", "band_high"}
    if len(scores) == 1 and display.values["band_low"] is None:
        drawn |= {"low", "high"}
    kept = [v[list(scores)] for key, v in display.values.items() if key in drawn and v is not None]
    low = min([0.0, *(float(v.min()) for v in kept if v.size)])
    return low, max([0.0, *(float(v.max()) for v in kept if v.size)])


def _curves(
    display: EffectDisplay,
    ax: Any,
    scores: Any,
    scale: tuple[float, float] | None = None,
    small: bool = False,
) -> None:
    """Draw the curve of each score, and beside it codes and missing."""
    n, x, values, several = len(display.x), display.x, display.values, len(scores) > 1
    ax.set_ylim(*(scale or _scale(display, scores)))
    style.open_frame(ax, "left", "bottom")
    ax.axhline(0, color=style.ink(), linewidth=0.7, alpha=0.7, zorder=1)
    _strip(display, ax)
    colours = style.palette(ax)
    for place, k in enumerate(scores):
        colour = colours[k % len(colours)] if several else colours[0]
        look = style.LINES[k % len(style.LINES)] if several else "-"
        _fills(display, ax, k, colour, spread=not several)
        ax.plot(
            x,
            display.shown[k, :n],
            color=colour,
            linestyle=look,
            linewidth=2.2,
            zorder=4,
            label=("whole effect" if display.is_whole else "own terms") if place == 0 else None,
        )
        if _has_own(display) and not several:
            ax.plot(
                x,
                values["own"][k, :n],
                color=style.ink(),
                linewidth=0.9,
                linestyle="--",
                zorder=3,
                label="own terms alone",
            )
    _slots(display, ax, scores)
    ax.set_xlabel(style.name(display.source, 60), fontsize=style.TEXT, **style.PLAIN)
    words = display.unit if small else f"adds to {display.unit}"
    ax.set_ylabel(style.plain(words), fontsize=style.TEXT, **style.PLAIN)
    if several:
        _direct_labels(display, ax, scores)
    elif display.ratio is not None and not small:
        style.ratio_axis(ax, display.ratio)
    if not small:
        _legend(ax)


def _legend(ax: Any) -> None:
    """Say what lines and bands are, where there is more than one kind of them."""
    handles, labels = ax.get_legend_handles_labels()
    if len(labels) > 1:
        ax.legend(handles, labels, fontsize=style.NOTE, frameon=False, loc="best", handlelength=2.6)


def _has_own(display: EffectDisplay) -> bool:
    """Tell whether own terms are drawn beside the whole effect."""
    return display.is_whole and not display.reading["alone"] and display.values["own"] is not None


def _fills(display: EffectDisplay, ax: Any, k: int, colour: str, spread: bool) -> None:
    """Draw the bands of a curve: of the bootstrap, and of single rows where there is none."""
    n, values = len(display.x), display.values
    if values["band_low"] is not None:
        low, high = values["band_low"][k, :n], values["band_high"][k, :n]
        ax.fill_between(
            display.x,
            low,
            high,
            color=colour,
            alpha=0.25,
            linewidth=0,
            zorder=2,
            label=BAND if k == 0 or spread else None,
        )
    elif values["low"] is not None and spread:
        low, high = values["low"][k, :n], values["high"][k, :n]
        ax.fill_between(
            display.x,
            low,
            high,
            facecolor="none",
            edgecolor=colour,
            alpha=0.45,
            hatch="....",
            linewidth=0.6,
            linestyle=":",
            zorder=2,
            label=SPREAD,
        )


def _strip(display: EffectDisplay, ax: Any) -> None:
    """Draw where the rows are, along the foot of the axes; of a file without rows, quantiles."""
    foot = ax.get_xaxis_transform()
    if display.density is not None:
        edges, shares = display.density
        heights = shares / (shares.max() or 1.0) * STRIP_TOP
        ax.bar(
            edges[:-1],
            heights,
            np.diff(edges),
            align="edge",
            transform=foot,
            zorder=0,
            color=style.ink(),
            alpha=0.35,
            linewidth=0,
        )
    elif display.box is not None:
        low, first, middle, third, high = display.box
        y = STRIP_TOP / 2
        look = {"transform": foot, "color": style.ink(), "alpha": 0.6, "zorder": 1}
        ax.plot([low, high], [y, y], linewidth=0.9, **look)
        ax.plot([first, third], [y, y], linewidth=5, solid_capstyle="butt", **look)
        ax.plot([middle], [y], marker="|", markersize=10, linestyle="none", **look)


def _slots(display: EffectDisplay, ax: Any, scores: Any) -> None:
    """Draw special codes and missing as marks beside the curve, and write all ticks."""
    x, n = display.x, len(display.x)
    low, high = float(x[0]), float(x[-1])
    span = (high - low) or 1.0
    places = [high + span * (0.03 + SLOT * (k + 0.5)) for k in range(len(display.levels))]
    ax.set_xlim(low, high + span * (0.03 + SLOT * len(places)) if places else high)
    if not places:
        return
    ax.axvline(high + span * 0.015, color=style.ink(), linewidth=0.7, linestyle=":", alpha=0.7)
    colours, several = style.palette(ax), len(scores) > 1
    for number, k in enumerate(scores):
        colour = colours[k % len(colours)] if several else colours[0]
        aside = (number - (len(scores) - 1) / 2) * span * SLOT * 0.5 / max(1, len(scores))
        for place, at in enumerate(places):
            _mark(display, ax, at + aside, k, n + place, colour)
    from matplotlib.ticker import MaxNLocator

    ticks = [t for t in MaxNLocator(6).tick_values(low, high) if low <= t <= high]
    names = ["missing" if v is None else style.name(v, 10) for v in display.levels]
    ax.set_xticks([*ticks, *places], [*map(style.number, ticks), *names], **style.PLAIN)
    for label in ax.get_xticklabels()[len(ticks) :]:
        label.set(rotation=35, ha="right", rotation_mode="anchor", style="italic")


def _mark(display: EffectDisplay, ax: Any, at: float, k: int, cell: int, colour: str) -> None:
    """Draw one value as a diamond with its interval."""
    values = display.values
    ends = ("band_low", "band_high") if values["band_low"] is not None else ("low", "high")
    if values[ends[0]] is not None:
        low, high = (values[end][k, cell] for end in ends)
        ax.plot([at, at], [low, high], color=colour, linewidth=1.2, zorder=3)
    ax.plot([at], [display.shown[k, cell]], marker="D", color=colour, markersize=5, zorder=4)


def _direct_labels(display: EffectDisplay, ax: Any, scores: Any) -> None:
    """Write the classes at the ends of their lines, moved apart where they meet."""
    low, high = ax.get_ylim()
    ends = display.shown[list(scores), len(display.x) - 1]
    gap, order = (high - low) * 0.055, np.argsort(ends)
    heights = apart(ends[order], gap, high)
    colours = style.palette(ax)
    for k, y, end in zip(np.array(list(scores))[order], heights, ends[order], strict=True):
        ax.annotate(
            style.name(display.labels[k], 18), (1.0, end), (1.03, y),
            ("axes fraction", "data"), textcoords=("axes fraction", "data"), va="center",
            color=colours[k % len(colours)], fontsize=style.TEXT, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colours[k % len(colours)], "linewidth": 0.8,
                        "linestyle": style.LINES[k % len(style.LINES)], "shrinkA": 0, "shrinkB": 0},
            **style.PLAIN,
        )  # fmt: skip


def apart(heights: Floats, gap: float, top: float) -> Floats:
    """Return rising heights at least a gap apart, as near to those given as that allows."""
    found = heights.astype(np.float64).copy()
    for k in range(1, len(found)):
        found[k] = max(found[k], found[k - 1] + gap)
    found = found - max(0.0, float(found[-1] - top))
    for k in range(len(found) - 2, -1, -1):
        found[k] = min(found[k], found[k + 1] - gap)
    return found


def _order(display: EffectDisplay, most: int) -> list[int]:
    """Return the levels to draw, from the foot up: by effect, or numbers in their order."""
    size = np.abs(display.shown).max(axis=0)
    kept = sorted(np.argsort(-size, kind="stable")[:most].tolist())
    numbers = [_as_number(display.levels[k]) for k in kept]
    if all(
        v is not None for v, k in zip(numbers, kept, strict=True) if display.levels[k] is not None
    ):
        order = sorted(zip(numbers, kept, strict=True), key=lambda p: (p[0] is None, p[0] or 0.0))
        return [k for _, k in order][::-1]
    key = display.shown[0] if len(display.shown) == 1 else np.zeros(len(display.levels))
    return sorted(kept, key=lambda k: (key[k], -k))


def _as_number(level: str | None) -> float | None:
    try:
        return None if level is None else float(level)
    except ValueError:
        return None


def _bars(display: EffectDisplay, ax: Any, small: bool = False) -> None:
    """Draw levels as bars, of several classes as one mark for each."""
    order = _order(display, MOST_SMALL if small else MOST_LEVELS)
    low, high = _reach(display, range(len(display.shown)))
    span = (high - low) or 1.0
    style.open_frame(ax, "bottom")
    if display.labels:
        _dots(display, ax, order)
    for y, k in enumerate(order if not display.labels else []):
        value = float(display.shown[0, k])
        ax.barh(y, value, 0.66, zorder=2, **style.bar_looks(ax, value))
        if _has_own(display):
            own = float(display.values["own"][0, k])
            ax.plot(
                [0, own],
                [y - 0.42, y - 0.42],
                color=style.ink(),
                linewidth=1.2,
                label="own terms alone" if y == 0 else None,
            )
    ends = _interval(display, ax, order) if not display.labels else None
    ax.axvline(0, color=style.ink(), linewidth=0.7)
    ax.set_xlim(low - span * 0.04, high + span * (0.3 if small else 0.17))
    _level_names(display, ax, order)
    for y, k in enumerate(order if not display.labels else []):
        value = float(display.shown[0, k])
        at = max(value, 0.0, *(() if ends is None else (float(e[k]) for e in ends)))
        ax.annotate(
            style.signed(value),
            (at, y),
            (4, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=style.NOTE,
        )
    words = display.unit if small else f"adds to {display.unit}"
    ax.set_xlabel(style.plain(words), fontsize=style.TEXT, **style.PLAIN)
    if not display.labels and display.ratio is not None and not small:
        style.ratio_axis(ax, display.ratio, "x")
    handles, labels = ax.get_legend_handles_labels()
    if labels and not small:
        ax.legend(handles, labels, fontsize=style.NOTE, frameon=False, loc="best")


def _interval(display: EffectDisplay, ax: Any, order: list[int]) -> tuple[Floats, Floats] | None:
    """Draw the interval of each bar, and return the ends of all."""
    values = display.values
    band = values["band_low"] is not None
    low, high = (values[e] for e in (("band_low", "band_high") if band else ("low", "high")))
    if low is None or high is None:
        return None
    at, y = np.array(order), np.arange(len(order))
    ax.hlines(
        y,
        low[0, at],
        high[0, at],
        color=style.ink(),
        linewidth=1.1,
        zorder=3,
        linestyle="-" if band else ":",
        label=BAND if band else SPREAD,
    )
    return low[0], high[0]


def _dots(display: EffectDisplay, ax: Any, order: list[int]) -> None:
    """Draw one mark for each class in the line of a level, with the interval of the bootstrap."""
    colours, marks = style.palette(ax), "osD^vP"
    for k, label in enumerate(display.labels):
        colour, aside = colours[k % len(colours)], (k - (len(display.labels) - 1) / 2) * -0.1
        y = np.arange(len(order)) + aside
        if display.values["band_low"] is not None:
            low, high = (display.values[e][k, order] for e in ("band_low", "band_high"))
            ax.hlines(y, low, high, color=colour, linewidth=1.2)
        ax.plot(
            display.shown[k, order],
            y,
            linestyle="none",
            marker=marks[k % len(marks)],
            color=colour,
            markersize=5.5,
            label=f"\N{ZERO WIDTH SPACE}{style.name(label)}",
        )
    for y in range(len(order)):
        ax.axhline(y, color=style.ink(), linewidth=0.4, alpha=0.25, zorder=0)


def _level_names(display: EffectDisplay, ax: Any, order: list[int]) -> None:
    """Write the levels beside their bars, with the share of the rows."""
    names = []
    for k in order:
        level = "missing" if display.levels[k] is None else style.name(display.levels[k])
        said = style.share(display.shares[k])
        names.append(f"{level}  {said}" if said else level)
    ax.set_yticks(range(len(order)), names, **style.PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.7, len(order) - 0.3)
    for label, k in zip(ax.get_yticklabels(), order, strict=True):
        label.set(style="italic" if display.levels[k] is None else "normal")


def _table(display: EffectDisplay, ax: Any, most: int = MOST_LEVELS) -> None:
    """Draw many classes as a table of numbers, shaded by size."""
    order = _order(display, most)
    cells = display.shown[:, order].T
    shaded(ax, np.arange(cells.shape[1] + 1) - 0.5, np.arange(len(order) + 1) - 0.5, cells, True)
    _level_names(display, ax, order)
    names = [style.name(label, 12) for label in display.labels]
    ax.set_xticks(
        range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor", **style.PLAIN
    )

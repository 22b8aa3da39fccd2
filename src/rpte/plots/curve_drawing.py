"""How the effect of a number is drawn: a curve for each score, bands, density, codes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.plots import style
from rpte.report.effect_charts import SPREAD_ROOM
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.plots.effect import EffectDisplay

STRIP, STRIP_TOP = 0.16, 0.10  # share of the height that is kept for the density; that it fills
SLOT = 0.09  # share of the range of a curve that a code or missing takes beside it
SPREAD, BAND = "nine tenths of the rows", "95% interval of the bootstrap"
OWN = "own terms alone"


def curve_scale(display: EffectDisplay, scores: Sequence[int]) -> tuple[float, float]:
    """Return the range of all that is drawn of some scores, room for the density below."""
    low, high = reach(display, scores)
    span = (high - low) or 1.0
    return low - span * STRIP, high + span * 0.06


def reach(display: EffectDisplay, scores: Sequence[int]) -> tuple[float, float]:
    """Return the least and the largest of all that is drawn of some scores, 0 among them."""
    least, largest = _reach_of(display, scores, "whole", "own", "band_low", "band_high")
    if len(scores) > 1 or display.values["band_low"] is not None:
        return least, largest
    room = (largest - least) * SPREAD_ROOM  # single rows far off would make a curve flat
    low, high = _reach_of(display, scores, "low", "high")
    return max(min(low, least), least - room), min(max(high, largest), largest + room)


def _reach_of(display: EffectDisplay, scores: Sequence[int], *keys: str) -> tuple[float, float]:
    found = [0.0]
    for values in (display.values[key] for key in keys):
        if values is not None and values.size:
            found += [float(values[list(scores)].min()), float(values[list(scores)].max())]
    return min(found), max(found)


def draw_curves(
    display: EffectDisplay,
    ax: Any,
    scores: Sequence[int],
    scale: tuple[float, float] | None = None,
    small: bool = False,
) -> None:
    """Draw the curve of each score, and beside it codes and missing."""
    several = len(scores) > 1
    ax.set_ylim(*(scale or curve_scale(display, scores)))
    style.open_frame(ax, "left", "bottom")
    ax.axhline(0, color=style.ink(), linewidth=0.7, alpha=0.7, zorder=1)
    _strip(display, ax)
    kinds: dict[str, Any] = {}
    for k in scores:
        kinds |= _curve(display, ax, k, several)
    _slots(display, ax, scores, 3 if small else 6)
    ax.set_xlabel(style.name(display.source, 60), fontsize=style.TEXT, **style.PLAIN)
    words = display.unit if small else f"adds to {display.unit}"
    ax.set_ylabel(style.axis_words(words, 24 if small else 46), fontsize=style.TEXT, **style.PLAIN)
    if several:
        _direct_labels(display, ax, scores)
    elif display.ratio is not None and not small:
        style.ratio_axis(ax, display.ratio)
    if not small and len(kinds) > 1:
        style.legend(ax, kinds)


def _look(ax: Any, k: int, several: bool) -> tuple[str, Any]:
    """Return the colour and the line of a score."""
    colours = style.palette(ax)
    if not several:
        return colours[0], "-"
    return colours[k % len(colours)], style.LINES[k % len(style.LINES)]


def _curve(display: EffectDisplay, ax: Any, k: int, several: bool) -> dict[str, Any]:
    """Draw the curve of one score with its band; return what is drawn, by its name."""
    x, n = display.x, len(display.x)
    colour, line = _look(ax, k, several)
    look = {"color": colour, "linestyle": line, "linewidth": 2.2, "zorder": 4}
    kinds = _fills(display, ax, k, colour, spread=not several)
    name = "whole effect" if display.is_whole else "own terms"
    if display.points:
        look |= {"linewidth": 0.8, "linestyle": ":", "marker": "o", "markersize": 6}
    kinds[name] = ax.plot(x, display.shown[k, :n], **look)[0]
    if display.has_own and not several:
        look = {"color": style.ink(), "linestyle": "--", "linewidth": 0.9, "zorder": 3}
        kinds[OWN] = ax.plot(x, display.known("own")[k, :n], **look)[0]
    return kinds


def _fills(display: EffectDisplay, ax: Any, k: int, colour: str, spread: bool) -> dict[str, Any]:
    """Draw the bands of a curve: of the bootstrap, and of single rows where there is none."""
    n = len(display.x)
    look: dict[str, Any]
    if display.values["band_low"] is not None:
        ends, look = ("band_low", "band_high"), {"color": colour, "alpha": 0.25, "linewidth": 0}
        name = BAND
    elif display.values["low"] is not None and spread:
        ends, look = ("low", "high"), {"color": colour, "alpha": 0.12, "linewidth": 0}
        name = SPREAD
    else:
        return {}
    low, high = (display.known(end)[k, :n] for end in ends)
    if display.points:
        return {name: ax.vlines(display.x, low, high, color=colour, linewidth=1.2, zorder=2)}
    return {name: ax.fill_between(display.x, low, high, zorder=2, **look)}


def _strip(display: EffectDisplay, ax: Any) -> None:
    """Draw where the rows are, along the foot of the axes; of a file without rows, quantiles."""
    look: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": style.ink()}
    if display.density is not None:
        edges, shares = display.density
        heights = shares / (shares.max() or 1.0) * STRIP_TOP
        lefts, widths = edges[:-1], np.diff(edges)
        if display.points:  # narrow bars below the points
            widths = np.full(len(display.x), widths.min() * 0.4)
            lefts = display.x - widths / 2
        look |= {"align": "edge", "alpha": 0.35, "linewidth": 0, "zorder": 0}
        ax.bar(lefts, heights, widths, **look)
    elif display.box is not None:
        low, first, middle, third, high = display.box
        y = STRIP_TOP / 2
        look |= {"alpha": 0.6, "zorder": 1}
        ax.plot([low, high], [y, y], linewidth=0.9, **look)
        ax.plot([first, third], [y, y], linewidth=5, solid_capstyle="butt", **look)
        ax.plot([middle], [y], marker="|", markersize=10, linestyle="none", **look)


def _slots(display: EffectDisplay, ax: Any, scores: Sequence[int], most: int) -> None:
    """Draw special codes and missing as marks beside the curve, and write some ticks."""
    n, low, high = len(display.x), float(display.x[0]), float(display.x[-1])
    span, count = (high - low) or 1.0, len(display.levels)
    places = [high + span * (0.03 + SLOT * (k + 0.5)) for k in range(count)]
    room = span * 0.06 if display.points or low == high else 0.0
    ax.set_xlim(low - room, high + (span * (0.03 + SLOT * count) if count else room))
    if not count:
        if display.points:
            ax.set_xticks(display.x, list(map(style.number, display.x)), **style.PLAIN)
        else:
            ax.locator_params(axis="x", nbins=most + 1)
        return
    ax.axvline(high + span * 0.015, color=style.ink(), linewidth=0.7, linestyle=":", alpha=0.7)
    for number, k in enumerate(scores):
        aside = (number - (len(scores) - 1) / 2) * span * SLOT * 0.5 / len(scores)
        for place, at in enumerate(places):
            _mark(display, ax, at + aside, k, n + place, _look(ax, k, len(scores) > 1)[0])
    from matplotlib.ticker import MaxNLocator

    ticks = [t for t in MaxNLocator(most).tick_values(low, high) if low <= t <= high - 0.03 * span]
    ticks = display.x.tolist() if display.points else ticks
    names = ["missing" if v is None else style.name(v, 10) for v in display.levels]
    ax.set_xticks([*ticks, *places], [*map(style.number, ticks), *names], **style.PLAIN)
    for label in ax.get_xticklabels()[len(ticks) :]:
        label.set(rotation=35, ha="right", rotation_mode="anchor", style="italic")


def _mark(display: EffectDisplay, ax: Any, at: float, k: int, cell: int, colour: str) -> None:
    """Draw one value as a diamond with its interval."""
    band = display.values["band_low"] is not None
    ends = ("band_low", "band_high") if band else ("low", "high")
    if display.values[ends[0]] is not None:
        low, high = (display.known(end)[k, cell] for end in ends)
        ax.plot([at, at], [low, high], color=colour, linewidth=1.2, zorder=3)
    ax.plot([at], [display.shown[k, cell]], marker="D", color=colour, markersize=5, zorder=4)


def _direct_labels(display: EffectDisplay, ax: Any, scores: Sequence[int]) -> None:
    """Write the classes at the ends of their lines, moved apart where they meet."""
    low, high = ax.get_ylim()
    ends = display.shown[list(scores), len(display.x) - 1]
    order = np.argsort(ends)
    heights = apart(ends[order], (high - low) * 0.055, high)
    for k, y, end in zip(np.array(scores)[order].tolist(), heights, ends[order], strict=True):
        colour, line = _look(ax, k, True)
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "linestyle": line}
        ax.annotate(
            style.name(display.labels[k], 18), (1.0, end), (1.03, y), ("axes fraction", "data"),
            textcoords=("axes fraction", "data"), va="center", color=colour, fontsize=style.TEXT,
            annotation_clip=False, arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0}, **style.PLAIN,
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

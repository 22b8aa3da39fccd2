"""How the effect of a category is drawn: bars of one score, marks or a table of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.plots import style
from rpte.plots.curve_drawing import BAND, OWN, SPREAD, reach
from rpte.plots.shading import shaded
from rpte.report.effect_charts import MOST_LEVELS
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.plots.effect import EffectDisplay

MOST_SMALL = 8  # levels in a small panel
MARKS = "osD^vP"  # of classes


def draw_levels(display: EffectDisplay, ax: Any, small: bool = False) -> None:
    """Draw levels as bars, of several classes as one mark for each."""
    order = level_order(display, MOST_SMALL if small else MOST_LEVELS)
    low, high = reach(display, range(len(display.shown)))
    span = (high - low) or 1.0
    style.open_frame(ax, "bottom")
    ax.axvline(0, color=style.ink(), linewidth=0.7)
    ax.set_xlim(low - span * 0.04, high + span * (0.3 if small else 0.17))
    kinds = _dots(display, ax, order) if display.labels else _bars(display, ax, order)
    _level_names(display, ax, order)
    words = display.unit if small else f"adds to {display.unit}"
    ax.set_xlabel(style.axis_words(words, 24 if small else 60), fontsize=style.TEXT, **style.PLAIN)
    if display.ratio is not None and not small:
        style.ratio_axis(ax, display.ratio, "x")
    if kinds and (display.labels or not small):
        style.legend(ax, kinds)


def level_order(display: EffectDisplay, most: int) -> list[int]:
    """Return the levels to draw, from the foot up: by effect, or numbers in their order."""
    size = np.abs(display.shown).max(axis=0)
    kept = sorted(np.argsort(-size, kind="stable")[:most].tolist())
    numbers = {k: _as_number(display.levels[k]) for k in kept}
    if all(numbers[k] is not None or display.levels[k] is None for k in kept):
        return sorted(kept, key=lambda k: (numbers[k] is None, numbers[k] or 0.0))[::-1]
    key = display.shown[0] if len(display.shown) == 1 else np.zeros(len(display.levels))
    return sorted(kept, key=lambda k: (key[k], -k))


def _as_number(level: str | None) -> float | None:
    try:
        return None if level is None else float(level)
    except ValueError:
        return None


def _bars(display: EffectDisplay, ax: Any, order: list[int]) -> dict[str, Any]:
    """Draw one bar for each level, its number, own terms below and its interval across it."""
    kinds: dict[str, Any] = {}
    ends, right = _ends(display), reach(display, [0])[1]
    for y, k in enumerate(order):
        value = float(display.shown[0, k])
        ax.barh(y, value, 0.66, zorder=2, **style.bar_looks(ax, value))
        at = min(max([value, 0.0, *(float(end[k]) for end in ends)]), right)
        look = {"ha": "left", "va": "center", "fontsize": style.NOTE, "zorder": 4}
        look["bbox"] = {"facecolor": ax.get_facecolor(), "linewidth": 0, "pad": 0.6}
        ax.annotate(style.signed(value), (at, y), (4, 0), textcoords="offset points", **look)
        if display.has_own:
            own = [0.0, float(display.known("own")[0, k])]
            kinds[OWN] = ax.plot(own, [y - 0.42] * 2, color=style.ink(), linewidth=1.2)[0]
    if ends:
        band = display.values["band_low"] is not None
        look = {"color": style.ink(), "linewidth": 1.1, "linestyle": "-" if band else ":"}
        low, high = (end[order] for end in ends)
        lines = ax.hlines(np.arange(len(order)), low, high, zorder=3, **look)
        kinds[BAND if band else SPREAD] = lines
    return kinds


def _ends(display: EffectDisplay) -> list[Floats]:
    """Return the ends of the intervals of all levels: of the bootstrap, of rows, or none."""
    band = display.values["band_low"] is not None
    keys = ("band_low", "band_high") if band else ("low", "high")
    return [] if display.values[keys[0]] is None else [display.known(key)[0] for key in keys]


def _dots(display: EffectDisplay, ax: Any, order: list[int]) -> dict[str, Any]:
    """Draw one mark for each class in the line of a level, with the interval of the bootstrap."""
    colours, kinds, lines = style.palette(ax), {}, np.arange(len(order))
    for k, label in enumerate(display.labels):
        colour, aside = colours[k % len(colours)], (k - (len(display.labels) - 1) / 2) * -0.1
        if display.values["band_low"] is not None:
            low, high = (display.known(end)[k, order] for end in ("band_low", "band_high"))
            ax.hlines(lines + aside, low, high, color=colour, linewidth=1.2)
        look = {"color": colour, "markersize": 5.5, "linestyle": "none"}
        look["marker"] = MARKS[k % len(MARKS)]
        kinds[label] = ax.plot(display.shown[k, order], lines + aside, **look)[0]
    for line in lines.tolist():
        ax.axhline(line, color=style.ink(), linewidth=0.4, alpha=0.25, zorder=0)
    return kinds


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


def draw_table(display: EffectDisplay, ax: Any, most: int = MOST_LEVELS) -> None:
    """Draw many classes as a table of numbers, shaded by size."""
    order = level_order(display, most)
    cells = display.shown[:, order].T
    across, up = (np.arange(n + 1, dtype=np.float64) - 0.5 for n in cells.shape[::-1])
    shaded(ax, across, up, cells, True)
    _level_names(display, ax, order)
    names = [style.name(label, 12) for label in display.labels]
    look = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(names)), names, **look, **style.PLAIN)

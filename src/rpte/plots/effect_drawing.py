"""How the effect of one variable is drawn: title, caption, and the panels of several classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.plots import style
from rpte.plots.curve_drawing import curve_scale, draw_curves
from rpte.plots.level_drawing import MOST_SMALL, draw_levels, draw_table
from rpte.report.effect_charts import MOST_LEVELS, effect_note

if TYPE_CHECKING:
    from rpte.plots.effect import EffectDisplay

SIZE, BAR_HEIGHT, COLUMNS = (6.4, 4.2), 0.3, 3
MOST_TOGETHER = 6  # classes in one panel


def draw_effect(display: EffectDisplay, ax: Any) -> Iterator[Any]:
    """Draw an effect; yield the axes given or made, and then the panels."""
    if len(display.labels) > MOST_TOGETHER and display.kind == "number":
        yield from _small_multiples(display, ax)
        return
    ax = style.axes_or_new(ax, _size(display))
    if display.kind == "number":
        draw_curves(display, ax, range(len(display.shown)))
    elif len(display.labels) > MOST_TOGETHER:
        draw_table(display, ax)
    else:
        draw_levels(display, ax)
    on_top = display.kind != "number" and display.ratio is not None
    style.headline(ax, title_of(display), note_of(display), style.TOP_AXIS if on_top else 0.0)
    yield ax


def draw_small(display: EffectDisplay, ax: Any) -> None:
    """Draw an effect in a small panel: no caption, and of many classes and levels the strongest."""
    others = display.reading["others"]
    style.small_title(ax, title_of(display) + (f" (with {', '.join(others)})" if others else ""))
    if display.kind == "number":
        spread = np.ptp(display.shown, axis=1)
        strongest = np.argsort(-spread, kind="stable")[:MOST_TOGETHER]
        draw_curves(display, ax, sorted(strongest.tolist()), small=True)
    elif len(display.labels) > MOST_TOGETHER:
        draw_table(display, ax, MOST_SMALL)
    else:
        draw_levels(display, ax, small=True)


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
    told = title_of(display), note_of(display)
    panels = [p for row in style.under_headline(ax, rows, COLUMNS, *told) for p in row]
    scale = curve_scale(display, range(count))
    for k, panel in enumerate(panels):
        if k >= count:
            panel.set_axis_off()
            continue
        draw_curves(display, panel, [k], scale)
        label, unit = style.name(display.labels[k]), display.unit if k % COLUMNS == 0 else ""
        panel.set_title(label, loc="left", fontsize=style.TEXT, **style.PLAIN)
        panel.set_ylabel(unit, fontsize=style.NOTE, **style.PLAIN)
        if k < count - COLUMNS:
            panel.set_xlabel("")
    yield ax
    yield from panels[:count]

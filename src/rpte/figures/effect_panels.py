"""How the effect of one variable is drawn: its title, its caption, and its panels.

A number is a curve for each score, or points where it has few values, above the density of the
rows; codes and missing stand beside it. A category is bars of one score, marks of several, or a
table of many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpte.figures.effect import HAZARDS, EffectFigure
from rpte.figures.marks import (
    CLASSES,
    DASHED,
    DASHES,
    MARKERS,
    MOST_TOGETHER,
    Axis,
    BoxMark,
    CellMark,
    DotMark,
    End,
    Panel,
    Spot,
    TextMark,
    Tick,
)
from rpte.figures.text import name, named_ticks, number, ratio_ticks, share, signed, ticks
from rpte.utils.arrays import Floats

Range = tuple[float, float]
MOST_LEVELS, MOST_SMALL = 30, 8  # levels that are drawn, in a small panel
STRIP, STRIP_TOP = 0.16, 0.10  # share of the height that is kept for the density; that it fills
SLOT = 0.09  # share of the range of a curve that a code or missing takes beside it
SPREAD_ROOM = 0.5  # of the height of curves that the range of single rows may add to a scale
FLAT = 12.0  # times a curve's height from which on a common scale would show it as a flat line
BAND, SPREAD, OWN = "95% interval of the bootstrap", "nine tenths of the rows", "own terms alone"
SIZE, SMALL, ROW = (512, 336), (300, 190), 26  # pixels of a panel, of a small one, of a level
SMALLEST_KEY = 340  # pixels of a panel that has a key
MOST_SPOTS = 40  # places along a curve that can be asked
ZERO = {"mean": "0: training mean", None: "0: as in the model file"}


def effect_title(effect: Mapping[str, Any]) -> str:
    """Return the title of the record of an effect, for a caption."""
    whole = effect["alone"] or effect["averaged"] is not None
    if effect["ratio"] == HAZARDS:
        return f"Hazard ratio by {'' if whole else 'the own terms of '}{effect['source']}"
    return f"What {'' if whole else 'the own terms of '}{effect['source']} add{'s' * whole}"


def effect_note(effect: Mapping[str, Any]) -> str:
    """Return the caption of an effect, from its record or its `reading`: what is averaged over."""
    own, shared = _terms_text(effect["terms"], "own terms"), _terms_text(effect["shared"])
    others = _names_text(effect["others"])
    if effect["alone"]:
        return own
    if effect["averaged"] is None:
        return (
            f"{own}. Not its whole effect: it also acts with {others} in {shared}, which only rows "
            "can average; give a table"
        )
    over = _rows_text(effect["averaged"])
    if not own:
        return f"whole effect: {shared}, with {others}, over {over}"
    return f"whole effect: {own} and {shared} with {others}, over {over}"


def joint_note(surface: Mapping[str, Any]) -> str:
    """Return the caption of the record of a surface, or of its `reading`."""
    own, shared = _terms_text(surface["terms"]), _terms_text(surface["shared"])
    if not surface["shared"]:
        return f"all that reads them: {own}"
    others = _names_text(surface["others"])
    if surface["averaged"] is None:
        return f"{own}; not {shared} with {others}, which only rows can average"
    over = _rows_text(surface["averaged"])
    return f"all that reads them: {own}, and {shared} with {others}, over {over}"


def title_of(effect: EffectFigure) -> str:
    """Return the title: the variable, and whether this is not its whole effect."""
    return f"{effect.source}" + ("" if effect.is_whole else " (own terms only)")


def note_of(effect: EffectFigure) -> str:
    """Return the caption: what is shown, averaged over what."""
    note = effect_note(effect.reading)
    note = f"terms: {note}" if effect.reading["alone"] else note
    if len(effect.levels) > MOST_LEVELS:
        note += f"; the {MOST_LEVELS} strongest of {len(effect.levels)} levels"
    return note[:1].upper() + note[1:]


def _rows_text(averaged: Mapping[str, Any]) -> str:
    of = f" of {averaged['table_rows']:,}" if averaged["sampled"] else ""
    return f"{averaged['rows']:,}{of} rows"


def _spoken_title(effect: EffectFigure) -> str:
    return effect_title({**effect.reading, "source": effect.source, "ratio": effect.ratio})


def _terms_text(names: Sequence[str], many: str = "terms") -> str:
    return f"{len(names)} {many}" if len(names) > 4 else " + ".join(names)


def _names_text(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def effect_panels(effect: EffectFigure) -> list[Panel]:
    """Return the panels of an effect: of many classes and a number one for each, else one."""
    many = len(effect.labels) > MOST_TOGETHER
    if many and effect.kind == "number":
        scale = curve_scale([effect])
        return [
            curve_panel(effect, [k], scale, (240, 180), label)
            for k, label in enumerate(effect.labels)
        ]
    return [effect_panel(effect)]


def small_panel(
    effect: EffectFigure, scale: Range | None = None, reach: Range | None = None
) -> Panel:
    """Return an effect as a small panel: of many classes the strongest, and of many levels."""
    if effect.kind != "number":
        return level_panel(effect, reach, SMALL[0], MOST_SMALL)
    order = np.argsort(-np.ptp(effect.shown, axis=1), kind="stable")[:MOST_TOGETHER]
    return curve_panel(effect, sorted(order.tolist()), scale, SMALL)


def effect_panel(
    effect: EffectFigure,
    scale: Range | None = None,
    reach: Range | None = None,
    size: tuple[int, int] = SIZE,
) -> Panel:
    """Return an effect as one panel, on its own scale or on a common one."""
    if effect.kind == "number":
        return curve_panel(effect, range(len(effect.shown)), scale, size)
    return level_panel(effect, reach, size[0])


def curve_scale(effects: Sequence[EffectFigure]) -> Range:
    """Return the scale of curves with room for the density below."""
    low, high = _reach([effect for effect in effects if len(effect.x)])
    span = (high - low) or 1.0
    return low - span * STRIP, high + span * 0.06


def level_scale(effects: Sequence[EffectFigure]) -> Range:
    """Return the scale of levels with room for their numbers."""
    low, high = _reach(effects)
    span = (high - low) or 1.0
    return low - span * 0.04, high + span * 0.17


def _reach(effects: Sequence[EffectFigure]) -> Range:
    """Return the least and the largest of all that is drawn, 0 among them.

    Single rows far off would make a curve flat: they count half its height at most.
    """
    found = [0.0]
    for effect in effects:
        for values in (effect.shown, effect.values["own"] if effect.has_own else None):
            found += [] if values is None else values.ravel().tolist()
    least, largest = low, high = min(found), max(found)
    for effect in effects:
        if effect.ends is not None and (len(effect.shown) == 1 or _is_band(effect)):
            room = math.inf if _is_band(effect) else (largest - least) * SPREAD_ROOM
            low = min(low, max(float(effect.ends[0].min()), least - room))
            high = max(high, min(float(effect.ends[1].max()), largest + room))
    return low, high


def _is_band(effect: EffectFigure) -> bool:
    return effect.values["band_low"] is not None


def own_scale(effect: EffectFigure, scale: Range | None) -> Range | None:
    """Return the scale of a curve: its own where it would be a flat line on the common one."""
    if scale is None:
        return None
    low, high = curve_scale([effect])
    flat = (high - low) * FLAT < scale[1] - scale[0] and effect.moved
    return (low, high) if flat else scale


def words_for(effect: EffectFigure, value: float) -> str:
    """Say what is added to the score, with the ratio where it means something."""
    ratio = "" if effect.ratio is None or abs(value) > 300 else (
        f", {effect.ratio} {math.exp(value):.3g}"
    )  # fmt: skip
    return f"{signed(value)}{ratio}"


def _axis(effect: EffectFigure, low: float, high: float, several: bool, small: bool) -> Axis:
    """Return the axis of what is added, which names its zero and has ratios on its far side."""
    zero = ZERO[effect.reference]
    axis = Axis(low, high, f"{'' if small else 'adds to '}{effect.unit} ({zero})")
    marks = [] if several or effect.ratio is None else ratio_ticks(low, high)
    if marks and effect.ratio == HAZARDS:
        axis.ticks, axis.label = marks, f"hazard ratio ({zero.replace('0', '1', 1)})"
    elif marks and not small:
        axis.far_label, axis.far_ticks = str(effect.ratio), marks
    return axis


def curve_panel(
    effect: EffectFigure,
    scores: Sequence[int],
    scale: Range | None = None,
    size: tuple[int, int] = SIZE,
    title: str = "",
) -> Panel:
    """Return the curve of each of some scores, and beside it codes and missing."""
    low, high = own_scale(effect, scale) or curve_scale([effect])
    start, end = (float(effect.x[effect.drawn[k]]) for k in (0, -1))
    count = len(effect.levels)
    span = (end - start) or 1.0
    slots = [end + span * (0.04 + SLOT * (k + 0.5)) for k in range(count)]
    room = span * 0.06 if effect.points or start == end else 0.0
    right = end + (span * (0.04 + SLOT * count) if count else room)
    small, several = size[0] < 400, len(scores) > 1
    panel = Panel(
        Axis(start - room, right, name(effect.source, 60), _numbers_along(effect, slots, small)),
        _axis(effect, low, high, several or bool(effect.labels), small or bool(title)),
        f"{_spoken_title(effect)}: {_said(effect, scores)}",
        *size,
        title,
    )
    if scale is not None and (low, high) != scale:
        panel.y.label += ", own scale"
    _strip(effect, panel)
    panel.line([(start - room, 0.0), (right, 0.0)], "ink", 0.8)
    for k in scores:
        _curve(effect, panel, k, several)
    for place, (at, level) in enumerate(zip(slots, effect.levels, strict=True)):
        for n, k in enumerate(scores):
            aside = (n - (len(scores) - 1) / 2) * span * SLOT * 0.5 / len(scores)
            _off_scale(effect, panel, at + aside, len(effect.x) + place, k, several)
        panel.spots.append(_spot(effect, scores, at, len(effect.x) + place, _level_name(level)))
    if several:
        last = int(effect.drawn[-1])
        panel.ends = [End(float(effect.shown[k, last]), effect.labels[k], k) for k in scores]
    panel.spots = [*_spots(effect, scores), *panel.spots]
    panel.x.label += _beyond(effect, scores)
    return panel


def _beyond(effect: EffectFigure, scores: Sequence[int]) -> str:
    """Say what the ends of the range add that are not drawn, since few rows lie there."""
    found = [
        f"{number(effect.x[k])} ({_added(effect, scores, effect.shown[list(scores), k].tolist())})"
        for k, drawn in ((0, effect.drawn[0]), (-1, effect.drawn[-1]))
        if effect.x[k] != effect.x[drawn]
    ]
    return f"; not drawn: to {' and '.join(found)}" if found else ""


def _numbers_along(effect: EffectFigure, slots: Sequence[float], small: bool) -> list[Any] | None:
    """Return the marks along a number: its few values, round numbers, and what is beside them."""
    start, end = (float(effect.x[effect.drawn[k]]) for k in (0, -1))
    if not slots and not effect.points:
        return None
    if effect.points:
        marks = [Tick(x, number(x)) for x in effect.x.tolist()]
    else:
        round_ones = named_ticks(start, end, 3 if small else 5)
        marks = [Tick(at, said) for at, said in round_ones if at <= end - 0.04 * (end - start)]
    names = [_level_name(level, 10) for level in effect.levels]
    return [*marks, *(Tick(at, said, True) for at, said in zip(slots, names, strict=True))]


def _level_name(level: str | None, most: int = 28) -> str:
    return "missing" if level is None else name(level, most)


def _curve(effect: EffectFigure, panel: Panel, k: int, several: bool) -> None:
    """Add the curve of one score, with its band."""
    places = effect.drawn
    x = effect.x[places].tolist()
    colour = CLASSES[k % len(CLASSES)] if several else "accent"
    key = not several and panel.width >= SMALLEST_KEY
    named = "whole effect" if effect.has_own and key else ""
    dash = DASHES[k % len(DASHES)] if several else ()
    line = list(zip(x, effect.shown[k, places].tolist(), strict=True))
    if effect.ends is not None and (not several or _is_band(effect)):
        low, high = (list(zip(x, end[k, places].tolist(), strict=True)) for end in effect.ends)
        said = "" if not key else BAND if _is_band(effect) else SPREAD
        if effect.points:
            for (at, below), (_, above) in zip(low, high, strict=True):
                panel.interval(at, below, above, colour, 1.2)
        else:
            panel.band(low, high, colour, said)
    if effect.has_own and not several and not effect.points:
        own = effect.known("own")[k, places].tolist()
        panel.line(list(zip(x, own, strict=True)), "ink", 1.1, DASHED, OWN if key else "")
    if effect.points:
        sign = MARKERS[k % len(MARKERS)] if several else "circle"
        panel.line(line, colour, 0.9, (1.5, 3))
        panel.marks.append(DotMark(line, colour, sign, 4.5))
    else:
        panel.line(line, colour, 2.4, dash, named)


def _strip(effect: EffectFigure, panel: Panel) -> None:
    """Add where the rows are, along the foot; of a file without rows, quantiles."""
    foot, height = panel.y.low, (panel.y.high - panel.y.low) * STRIP_TOP
    if effect.density is not None:
        edges, shares = effect.density
        top = float(shares.max()) or 1.0
        narrow = 0.4 * float(np.diff(edges).min())
        for place, each in enumerate(shares.tolist()):
            ends = float(edges[place]), float(edges[place + 1])
            if effect.points:  # narrow bars below the points
                middle = float(effect.x[place])
                ends = middle - narrow / 2, middle + narrow / 2
            if each:
                bar = (foot, foot + each / top * height)
                panel.marks.append(BoxMark(ends, bar, "faint", 0.3))
    elif effect.box is not None:
        low, first, middle, third, high = effect.box
        y = foot + height / 2
        panel.line([(low, y), (high, y)], "faint", 1.2)
        panel.line([(first, y), (third, y)], "faint", 5)
        panel.dot(middle, y, "ink", 2.5)


def _off_scale(
    effect: EffectFigure, panel: Panel, at: float, cell: int, k: int, several: bool
) -> None:
    """Add one code, or missing, as a diamond with its interval."""
    colour = CLASSES[k % len(CLASSES)] if several else "accent"
    if effect.ends is not None and (not several or _is_band(effect)):
        low, high = (float(end[k, cell]) for end in effect.ends)
        panel.interval(at, low, high, colour, 1.2)
    sign = MARKERS[k % len(MARKERS)] if several else "diamond"
    panel.marks.append(DotMark([(at, float(effect.shown[k, cell]))], colour, sign, 4.0))


def _spots(effect: EffectFigure, scores: Sequence[int]) -> list[Spot]:
    """Return the places along a curve that can be asked: its few values, or round numbers."""
    x = effect.x[effect.drawn]
    places = x.tolist()
    if not effect.points and x[-1] > x[0]:
        round_ones = ticks(float(x[0]), float(x[-1]), MOST_SPOTS)
        places = [float(x[0]), *(at for at in round_ones if x[0] < at < x[-1]), float(x[-1])]
    found = []
    for at in places:
        values = [float(np.interp(at, x, effect.shown[k, effect.drawn])) for k in scores]
        said = f"{effect.source} {number(at)}: {_added(effect, scores, values)}"
        found.append(Spot(at, values[0], said + _share_at(effect, at)))
    return found


def _spot(effect: EffectFigure, scores: Sequence[int], at: float, cell: int, level: str) -> Spot:
    """Return what a level, a code or missing says where it is asked."""
    values = [float(effect.shown[k, cell]) for k in scores]
    part = share(effect.shares[cell - len(effect.x)])
    rows = f"; {part} of the rows" if part else ""
    return Spot(at, values[0], f"{effect.source} {level}: {_added(effect, scores, values)}{rows}")


def _added(effect: EffectFigure, scores: Sequence[int], values: Sequence[float]) -> str:
    if not effect.labels:
        return words_for(effect, values[0])
    return ", ".join(
        f"{name(effect.labels[k], 18)} {signed(v)}" for k, v in zip(scores, values, strict=True)
    )


def _share_at(effect: EffectFigure, at: float) -> str:
    """Say the share of the rows near a number."""
    if effect.density is None:
        return ""
    edges, shares = effect.density
    place = min(max(int(np.searchsorted(edges, at, "right")) - 1, 0), len(shares) - 1)
    if effect.points:
        return f"; {share(float(shares[place]))} of the rows"
    ends = f"{number(float(edges[place]))} to {number(float(edges[place + 1]))}"
    return f"; {share(float(shares[place]))} of the rows from {ends}"


def _said(effect: EffectFigure, scores: Sequence[int]) -> str:
    """Say a picture for those who do not see it: some values of each score, and what is aside."""
    n = len(effect.x)
    places = np.unique(np.linspace(0, n - 1, 7).round().astype(int)).tolist()
    found = []
    for k in scores:
        told = [f"{_one(effect, effect.shown[k, p])} at {number(effect.x[p])}" for p in places]
        told += [
            f"{_level_name(level)} {_one(effect, effect.shown[k, n + place])}"
            for place, level in enumerate(effect.levels)
        ]
        found.append((f"{effect.labels[k]} " if effect.labels else "") + ", ".join(told))
    return "; ".join(found)


def _one(effect: EffectFigure, value: float) -> str:
    """Say what is added; of a hazard, what it is multiplied by."""
    return f"{math.exp(value):.3g}" if effect.ratio == HAZARDS else signed(value)


def level_panel(
    effect: EffectFigure,
    reach: Range | None = None,
    width: int = SIZE[0],
    most: int = MOST_LEVELS,
) -> Panel:
    """Return levels as bars, of several classes as one mark for each, of many as a table."""
    order, scores = level_order(effect, most), range(len(effect.shown))
    small, table = most < MOST_LEVELS, len(effect.labels) > MOST_TOGETHER
    names = [Tick(y, _with_share(effect, k), effect.levels[k] is None) for y, k in enumerate(order)]
    low, high = reach or level_scale([effect])
    axis = _axis(effect, low, high, bool(effect.labels), small)
    if axis.far_ticks:
        axis.far_label = str(effect.ratio)
    said = "; ".join(
        f"{_level_name(effect.levels[k])} "
        + _added(effect, scores, [float(effect.shown[c, k]) for c in scores])
        for k in order
    )
    size = width, 66 + ROW * len(order) + 44 * bool(axis.far_ticks)
    rows = Axis(-0.7, len(order) - 0.3, "", names, True)
    panel = Panel(axis, rows, f"{_spoken_title(effect)}: {said}", *size)
    if table:
        _table(effect, panel, order)
    else:
        panel.line([(0.0, -0.7), (0.0, len(order) - 0.3)], "ink", 0.8)
        (_class_dots if effect.labels else _bars)(effect, panel, order)
    panel.spots = [
        _spot(effect, scores, float(effect.shown[0, k]), k, _level_name(effect.levels[k]))
        for k in reversed(order)
    ]
    panel.spots = [
        Spot(0.0 if table else spot.x, float(len(order) - 1 - n), spot.words)
        for n, spot in enumerate(panel.spots)
    ]
    return panel


def level_order(effect: EffectFigure, most: int) -> list[int]:
    """Return the levels to draw, from the foot up: by effect, or numbers in their order."""
    size = np.abs(effect.shown).max(axis=0)
    kept = sorted(np.argsort(-size, kind="stable")[:most].tolist())
    numbers = {k: _as_number(effect.levels[k]) for k in kept}
    if all(numbers[k] is not None or effect.levels[k] is None for k in kept):
        return sorted(kept, key=lambda k: (numbers[k] is None, numbers[k] or 0.0))[::-1]
    key = effect.shown[0] if len(effect.shown) == 1 else np.zeros(len(effect.levels))
    return sorted(kept, key=lambda k: (key[k], -k))


def _as_number(level: str | None) -> float | None:
    try:
        return None if level is None else float(level)
    except ValueError:
        return None


def _with_share(effect: EffectFigure, k: int) -> str:
    said = share(effect.shares[k])
    level = _level_name(effect.levels[k])
    return f"{level}  {said}" if said else level


def _bars(effect: EffectFigure, panel: Panel, order: Sequence[int]) -> None:
    """Add one bar for each level with its number, own terms below and its interval across it."""
    own = effect.known("own")[0] if effect.has_own else None
    said = "" if panel.width < SMALLEST_KEY else BAND if _is_band(effect) else SPREAD
    most = panel.x.high - 0.14 * (panel.x.high - panel.x.low)  # there numbers stand
    for y, k in enumerate(order):
        value = float(effect.shown[0, k])
        panel.signed_bar(0.0, value, y, 0.33)
        at = [value, 0.0]
        if effect.ends is not None:
            ends = [min(float(end[0, k]), most) for end in effect.ends]
            panel.line([(ends[0], y), (ends[1], y)], "ink", 1.1, (), said)
            at += ends
        if own is not None:
            panel.line(
                [(0.0, y - 0.42), (float(own[k]), y - 0.42)], "ink", 1.8, (1.5, 1.5), said and OWN
            )
        panel.marks.append(TextMark(max(at), y, _one(effect, value), "start", (5, 0)))


def _class_dots(effect: EffectFigure, panel: Panel, order: Sequence[int]) -> None:
    """Add one mark for each class in the line of a level, with the interval of the bootstrap."""
    for line in range(len(order)):
        panel.line([(panel.x.low, line), (panel.x.high, line)], "line", 0.6)
    for k, label in enumerate(effect.labels):
        aside = (k - (len(effect.labels) - 1) / 2) * -0.1
        if _is_band(effect) and effect.ends is not None:
            for y, place in enumerate(order):
                low, high = (float(end[k, place]) for end in effect.ends)
                panel.line([(low, y + aside), (high, y + aside)], CLASSES[k], 1.2)
        points = [(float(effect.shown[k, place]), y + aside) for y, place in enumerate(order)]
        panel.marks.append(DotMark(points, CLASSES[k], MARKERS[k], 4.0, name(label, 24)))


def _table(effect: EffectFigure, panel: Panel, order: Sequence[int]) -> None:
    """Add many classes as a table of numbers, shaded by size."""
    cells: Floats = effect.shown[:, list(order)].T
    across, up = (np.arange(n + 1, dtype=np.float64) - 0.5 for n in cells.shape[::-1])
    largest = float(np.abs(cells).max()) or 1.0
    panel.marks.append(CellMark(across, up, cells, largest, True))
    names = [Tick(k, name(label, 12), True) for k, label in enumerate(effect.labels)]
    panel.x = Axis(-0.5, len(effect.labels) - 0.5, "", names)
    panel.width = max(panel.width, 150 + 44 * len(effect.labels))
    panel.height += 40

"""Effects, maps and trees of a report, drawn from its contents as `plot` draws them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpte.figures.effect import EffectFigure
from rpte.figures.effect_panels import (
    MOST_LEVELS,
    Range,
    curve_panel,
    curve_scale,
    effect_note,
    effect_panel,
    level_scale,
    small_panel,
)
from rpte.figures.marks import MOST_TOGETHER, Panel
from rpte.figures.surface import SurfaceFigure
from rpte.figures.text import shortened, signed
from rpte.figures.tree import tree_panel
from rpte.model.effect import NOTHING

Shape = Mapping[str, Any]
PAGE, PANEL = (400, 270), (290, 200)  # pixels
SAID = 8  # classes that a caption names


def together(names: Sequence[Any]) -> bool:
    """Tell whether all classes are drawn in one picture."""
    return len(names) <= MOST_TOGETHER


def drawn_small(shape: Shape, names: Sequence[str]) -> bool:
    """Tell whether a small picture can show a variable: many classes need a picture each."""
    return not names or together(names)


def effect_scales(shapes: Sequence[Shape]) -> tuple[Range, Range]:
    """Return the common scale of the curves of a report, and that of the levels."""
    effects = [EffectFigure.from_record(shape) for shape in shapes]
    return curve_scale(effects), level_scale([each for each in effects if len(each.levels)])


def effect_chart(shape: Shape, scale: Range, reach: Range) -> Panel:
    """Return the effect of one variable."""
    return effect_panel(EffectFigure.from_record(shape), scale, reach, PAGE)


def small_effect(shape: Shape, scale: Range, reach: Range) -> Panel:
    """Return the effect of one variable, small."""
    return small_panel(EffectFigure.from_record(shape), scale, reach)


def class_effect_panels(shape: Shape, scale: Range, reach: Range) -> list[Panel]:
    """Return a small picture for each class whose score a number moves; of levels one table."""
    effect = EffectFigure.from_record(shape)
    if effect.kind != "number":
        return [effect_panel(effect, scale, reach)]
    return [curve_panel(effect, [k], scale, PANEL, effect.labels[k]) for k in spoken_of(shape)]


def spoken_of(shape: Shape) -> list[int]:
    """Return the classes whose score a variable moves."""
    moved = np.abs(EffectFigure.from_record(shape).shown).max(axis=1) > NOTHING
    return np.flatnonzero(moved).tolist()


def class_note(shape: Shape, names: Sequence[str]) -> str:
    """Return the caption of a variable: which terms, over what, and of which classes nothing."""
    return level_note(shape) + _silent(names, spoken_of(shape))


def level_note(shape: Shape) -> str:
    """Return the caption of a variable: which terms, over what, and whether levels are left out."""
    levels = (shape.get("classes") or [shape])[0]["levels"]
    few = f"; the {MOST_LEVELS} strongest of {len(levels)} levels"
    return effect_note(shape) + few * (len(levels) > MOST_LEVELS)


def surface_note(surface: Shape, names: Sequence[str]) -> str:
    """Say of which classes a pair of variables says nothing."""
    return _silent(names, _moved(surface))


def _silent(names: Sequence[str], told: Sequence[int]) -> str:
    silent = [shortened(name, 24) for k, name in enumerate(names) if k not in told]
    if not silent:
        return ""
    more = f" and {len(silent) - SAID} more" if len(silent) > SAID else ""
    return f"; nothing of {', '.join(silent[:SAID])}{more}"


def _moved(surface: Shape) -> list[int]:
    values = SurfaceFigure.from_record(surface).values
    return [k for k, grid in enumerate(values) if np.ptp(grid) > NOTHING or len(values) == 1]


def surface_panels(surface: Shape) -> list[Panel]:
    """Return a map of two variables, of several classes one for each whose score they move."""
    figure = SurfaceFigure.from_record(surface)
    panels = figure.panels((340, 280) if "values" in surface else None)
    for panel, values in zip(panels, figure.values, strict=True):
        ends = f"{signed(float(values.min()))} to {signed(float(values.max()))}"
        panel.title = f"{panel.title}: {ends}" if panel.title else ends
    return [panels[k] for k in _moved(surface)]


def tree_chart(tree: Shape, names: Sequence[str] = ()) -> Panel:
    """Return the picture of a tree card; of several classes with a column for each."""
    cards = tree["classes"] if names else [tree]
    sizes = np.array([[leaf["coefficient"] for leaf in card["leaves"]] for card in cards])
    first = cards[0]
    ratio = first["effect_name"] if first["multiplies"] and not names else None
    unit = "the score of a class" if names else first["unit"]
    return tree_panel(first, sizes, names, unit, ratio)

"""From plain values to HTML: the contents of a report become one self-contained page."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rpte.report import (
    charts,
    class_charts,
    effect_charts,
    glance_charts,
    number_charts,
    survival_charts,
)
from rpte.report.class_charts import (
    CLASS_COLOURS,
    class_note,
    class_scale,
    surface_note,
    together,
)
from rpte.report.contents import SECTIONS
from rpte.report.draw import tree_drawing
from rpte.report.effect_charts import effect_note, effect_scale, effect_title, joint_note
from rpte.report.glance_charts import drawn_small
from rpte.report.numbers import count, exact, exponential, fixed, percent, quartiles, short, signed
from rpte.report.svg import COLOURS, inline

# The functions that a template may name.
DRAWINGS: dict[str, Any] = {
    **vars(charts), **vars(effect_charts), **vars(number_charts), **vars(class_charts),
    **vars(survival_charts), **vars(glance_charts),
    "tree_drawing": tree_drawing,
}  # fmt: skip

FILTERS = (fixed, signed, short, quartiles, count, percent, exact, exponential)


def render(contents: Mapping[str, Any]) -> str:
    """Return the report as HTML from its contents or their JSON: no script, nothing loaded."""
    several = contents["identity"]["task"] == "multiclass"
    shapes = [shape for card in contents["components"] for shape in card["shapes"]]
    scale, largest = class_scale(shapes) if several else effect_scale(shapes)
    many = several or contents["identity"]["task"] == "survival"
    colours = {**COLOURS, **CLASS_COLOURS} if many else COLOURS
    given = {"sections": SECTIONS, "colours": colours, "scale": scale, "largest": largest}
    return fill("report.html.j2", report=contents, **given)


def fill(template: str, **given: Any) -> str:
    """Return one of the templates, filled in; what is not marked up is escaped."""
    page = _environment().get_template(template).render(**given)
    # A name may hold half a surrogate pair, which no file can.
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("rpte.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {f.__name__: f for f in FILTERS}
    notes = (effect_title, effect_note, joint_note, class_note, surface_note, together, drawn_small)
    found.globals |= {f.__name__: f for f in (draw, draw_each, *notes)}
    return found


def draw_each(name: str, *given: Any) -> Markup:
    """Return several pictures for the page, one after the other."""
    return Markup("").join(Markup(inline(*drawing)) for drawing in DRAWINGS[name](*given))


def draw(name: str, *given: Any) -> Markup:
    """Return one of the pictures for the page, or nothing where there is nothing to draw."""
    drawing = DRAWINGS[name](*given)
    return Markup("") if drawing is None else Markup(inline(*drawing))

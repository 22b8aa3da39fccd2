"""From plain values to HTML: the contents of a report become one self-contained page."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rpte.report import charts, effect_charts
from rpte.report.contents import SECTIONS
from rpte.report.draw import tree_drawing
from rpte.report.effect_charts import effect_note, effect_scale, effect_title, joint_note
from rpte.report.numbers import count, exact, fixed, known, percent, short, signed
from rpte.report.svg import COLOURS, inline

# The functions that a template may name.
DRAWINGS: dict[str, Any] = vars(charts) | vars(effect_charts) | {"tree_drawing": tree_drawing}


def render(contents: Mapping[str, Any]) -> str:
    """Return the report as HTML from its contents or their JSON: no script, nothing loaded."""
    scale, largest = effect_scale([s for card in contents["components"] for s in card["shapes"]])
    given = {"sections": SECTIONS, "colours": COLOURS, "scale": scale, "largest": largest}
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
    found.filters |= {f.__name__: f for f in (fixed, signed, short, known, count, percent, exact)}
    found.globals |= {f.__name__: f for f in (draw, effect_title, effect_note, joint_note)}
    return found


def draw(name: str, *given: Any) -> Markup:
    """Return one of the pictures for the page, or nothing where there is nothing to draw."""
    drawing = DRAWINGS[name](*given)
    return Markup("") if drawing is None else Markup(inline(*drawing))

"""From plain values to HTML: the contents of a report become one self-contained page."""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rpte.figures import svg
from rpte.figures.effect_panels import effect_title, joint_note
from rpte.figures.marks import Panel
from rpte.figures.svg import CLASS_COLOURS, COLOURS, inline
from rpte.report import charts, class_charts, effect_charts, number_charts, survival_charts
from rpte.report.contents import SECTIONS
from rpte.report.effect_charts import (
    class_note,
    drawn_small,
    effect_scales,
    level_note,
    surface_note,
    together,
)
from rpte.report.numbers import count, exact, exponential, fixed, percent, quartiles, short, signed

# The functions that a template may name.
DRAWINGS: dict[str, Any] = {
    **vars(charts), **vars(effect_charts), **vars(number_charts), **vars(class_charts),
    **vars(survival_charts),
}  # fmt: skip

FILTERS = (fixed, signed, short, quartiles, count, percent, exact, exponential)


def render(contents: Mapping[str, Any]) -> str:
    """Return the report as HTML from its contents or their JSON: one file, nothing loaded.

    Its one script is in the file, and the page's policy allows that script alone, by its hash.
    """
    several = contents["identity"]["task"] == "multiclass"
    shapes = [shape for card in contents["components"] for shape in card["shapes"]]
    scale, reach = effect_scales(shapes)
    many = several or contents["identity"]["task"] == "survival"
    colours = {**COLOURS, **CLASS_COLOURS} if many else COLOURS
    form = contents["case_form"]
    code = page_script(form.get("code", ""))
    given = {"sections": SECTIONS, "colours": colours, "scale": scale, "reach": reach}
    given |= {"script": Markup(code), "policy": policy(code)}
    given["case_data"] = Markup(json_text({k: v for k, v in form.items() if k != "code"}))
    return fill("report.html.j2", report=contents, **given)


def page_script(code: str) -> str:
    """Return the script of a page: the code of a model, and what is the same in all pages.

    Inside an element of HTML, so that no text in it may look like the element's end.
    """
    own = (files("rpte.report") / "templates" / "report.js").read_text(encoding="utf-8")
    whole = f'(() => {{\n"use strict";\n{code}\n{own}}})();\n'.replace("\r", "")
    whole = whole.replace("</", "<\\/").replace("<!--", "<\\!--")
    return whole.encode("utf-8", "replace").decode("utf-8")


def policy(script: str) -> str:
    """Return a Content-Security-Policy that allows one script inside the page, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def json_text(values: Any) -> str:
    """Return plain values as JSON for an element of HTML: nothing in it is markup."""
    text = json.dumps(values)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


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
    notes = (effect_title, level_note, joint_note, class_note, surface_note, together, drawn_small)
    found.globals |= {f.__name__: f for f in (draw, draw_each, *notes)}
    return found


def draw_each(name: str, *given: Any) -> Markup:
    """Return several pictures for the page, one after the other."""
    return Markup("").join(_drawn(picture) for picture in DRAWINGS[name](*given))


def draw(name: str, *given: Any) -> Markup:
    """Return one of the pictures for the page, or nothing where there is nothing to draw."""
    picture = DRAWINGS[name](*given)
    return Markup("") if picture is None else _drawn(picture)


def _drawn(picture: Panel | svg.Drawing) -> Markup:
    return Markup(inline(*(svg.drawing(picture) if isinstance(picture, Panel) else picture)))

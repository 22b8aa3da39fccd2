"""A model as one SVG picture: an outline of its components with a bar for every coefficient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.report.svg import LINE, LOWERS, RAISES, svg_document
from rpte.structure.tree import Branch, Condition

ROW, INDENT, LEFT, BAR, COUNTS = 22, 22, 16, 150, 120
CHARACTER = 7.0  # mean advance of the font at its size, in pixels


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the outline; `coefficient` None where there is nothing to weigh."""

    depth: int
    text: str
    coefficient: float | None = None
    spread: float = 0.0
    counts: str = ""
    heading: bool = False


def draw_model(model: Model) -> str:
    """Return the whole model as an SVG document.

    Bars show coefficients (slopes: the effect of one standard unit, `scale`), red where they raise
    the score of the positive class.
    """
    rows = list(_rows(model))
    widest = max(row.depth * INDENT + len(row.text) * CHARACTER for row in rows)
    bars = LEFT + int(widest) + 20
    width, height = bars + BAR + COUNTS + LEFT, ROW * (len(rows) + 1)
    largest = max((abs(row.spread) for row in rows), default=0.0) or 1.0
    body = [_row_svg(row, number, bars, largest) for number, row in enumerate(rows)]
    axis = f'<path d="M{bars + BAR / 2} 8V{height - 8}" stroke="{LINE}"/>'
    label = f"The model: {len(rows)} lines, every coefficient with a bar"
    return svg_document(width, height, label, axis + "".join(body))


def _rows(model: Model) -> Iterator[Row]:
    positive = model.classes[model.positive]
    yield Row(0, f"log odds of {positive} =", heading=True)
    yield Row(1, "intercept", model.intercept, model.intercept)
    for component in model.components:
        yield Row(0, f"+ {component.name}: {_names(component)}", heading=True)
        for part in component.parts:
            if isinstance(part, DirectTerm):
                yield _direct_row(part)
            else:
                yield Row(1, part.name, heading=True)
                yield from _tree_rows(model, part, part.tree.root, 2)


def _names(component: Component) -> str:
    sources = component.sources
    return ", ".join(sources) if len(sources) <= 6 else f"{len(sources)} variables"


def _direct_row(term: DirectTerm) -> Row:
    text = f"{term.name}  {term.text}"
    counts = _counts(term.support, term.events) if term.column.binary else ""
    return Row(1, text, term.coefficient, term.coefficient * term.scale, counts)


def _tree_rows(model: Model, tree: TreeTerms, branch: Branch, depth: int) -> Iterator[Row]:
    for holds, child in ((True, branch.yes), (False, branch.no)):
        text = Condition(branch.split, holds).text(model.schema)
        if isinstance(child, Branch):
            yield Row(depth, text)
            yield from _tree_rows(model, tree, child, depth + 1)
            continue
        leaf = tree.leaves[child]
        counts = _counts(leaf.support, leaf.events)
        name = f"{text}   {tree.leaf_name(child)}"
        yield Row(depth, name, leaf.coefficient, leaf.coefficient, counts)


def _counts(support: float, events: float) -> str:
    return f"n={support:g}, {events / support:.0%}" if support else ""


def _row_svg(row: Row, number: int, bars: int, largest: float) -> str:
    y = ROW * (number + 1)
    x = LEFT + row.depth * INDENT
    look = ' class="h"' if row.heading else ' class="f"' if row.coefficient == 0 else ""
    parts = [f'<text x="{x}" y="{y}"{look}>{escape(row.text)}</text>']
    if row.coefficient:
        middle, length = bars + BAR / 2, abs(row.spread) / largest * (BAR / 2 - 4)
        start = middle if row.spread > 0 else middle - length
        colour = RAISES if row.spread > 0 else LOWERS
        parts.append(
            f'<rect x="{start:.1f}" y="{y - 12}" width="{length:.1f}" height="15" fill="{colour}"/>'
        )
        side = (middle - 4, "end") if row.spread > 0 else (middle + 4, "start")
        parts.append(
            f'<text class="n" x="{side[0]}" y="{y}" text-anchor="{side[1]}">'
            f"{row.coefficient:+.3g}</text>"
        )
    if row.counts:
        parts.append(f'<text class="f n" x="{bars + BAR + 10}" y="{y}">{row.counts}</text>')
    return "".join(parts)

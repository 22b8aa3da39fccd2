"""A model as an outline, and as one SVG picture of it with a bar for every coefficient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.report.svg import LINE, LOWERS, RAISES, path_svg, rect_svg, svg_document, text_svg
from rpte.structure.tree import Branch, Condition

ROW, INDENT, LEFT, BAR, COUNTS = 22, 22, 16, 150, 120
CHARACTER = 7.0  # mean advance of the font at its size, in pixels


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an outline.

    A term (a leaf or a direct term) has a `name` and a `coefficient`, and a `spread`, its effect
    per standard unit; `counts` are support and events of what is true or false.
    """

    depth: int
    text: str
    name: str = ""
    coefficient: float | None = None
    spread: float = 0.0
    counts: tuple[float, float] | None = None
    heading: bool = False


def outline(model: Model, component: Component) -> Iterator[Line]:
    """Yield the parts of a component in the order of its sum: tests, leaves and direct terms."""
    for part in component.parts:
        if isinstance(part, DirectTerm):
            value, counts = part.coefficient, (part.support, part.events)
            shown = counts if part.column.binary else None
            yield Line(1, part.text, part.name, value, value * part.scale, shown)
        else:
            yield Line(1, part.name, heading=True)
            yield from _below(model, part, part.tree.root, 2)


def _below(model: Model, tree: TreeTerms, branch: Branch, depth: int) -> Iterator[Line]:
    for holds, child in ((True, branch.yes), (False, branch.no)):
        text = Condition(branch.split, holds).text(model.schema)
        if isinstance(child, Branch):
            yield Line(depth, text)
            yield from _below(model, tree, child, depth + 1)
        else:
            leaf, name = tree.leaves[child], tree.leaf_name(child)
            value, counts = leaf.coefficient, (leaf.support, leaf.events)
            yield Line(depth, text, name, value, value, counts)


def draw_model(model: Model) -> str:
    """Return the whole model as an SVG document.

    Bars show coefficients (slopes: the effect of one standard unit, `scale`), red where they raise
    the score of the positive class.
    """
    lines = list(_lines(model))
    widest = max(line.depth * INDENT + len(_text(line)) * CHARACTER for line in lines)
    bars = LEFT + int(widest) + 20
    width, height = bars + BAR + COUNTS + LEFT, ROW * (len(lines) + 1)
    largest = max((abs(line.spread) for line in lines), default=0.0) or 1.0
    body = [_line_svg(line, ROW * number, bars, largest) for number, line in enumerate(lines, 1)]
    axis = path_svg(f"M{bars + BAR / 2} 8V{height - 8}", LINE)
    label = f"The model: {len(lines)} lines, every coefficient with a bar"
    return svg_document(width, height, label, axis + "".join(body))


def _lines(model: Model) -> Iterator[Line]:
    yield Line(0, f"log odds of {model.classes[model.positive]} =", heading=True)
    yield Line(1, "intercept", coefficient=model.intercept, spread=model.intercept)
    for component in model.components:
        names = component.sources
        reads = ", ".join(names) if len(names) <= 6 else f"{len(names)} variables"
        yield Line(0, f"+ {component.name}: {reads}", heading=True)
        yield from outline(model, component)


def _text(line: Line) -> str:
    """Return a direct term with its name first, a leaf with its name last."""
    return (
        f"{line.name}  {line.text}" if line.depth == 1 else f"{line.text}   {line.name}"
    ).strip()


def _line_svg(line: Line, y: int, bars: int, largest: float) -> str:
    look = "h" if line.heading else "f" if line.coefficient == 0 else ""
    parts = [text_svg(LEFT + line.depth * INDENT, y, _text(line), look)]
    if line.coefficient:
        raises, middle = line.spread > 0, bars + BAR / 2
        length = abs(line.spread) / largest * (BAR / 2 - 4)
        start, colour = (middle, RAISES) if raises else (middle - length, LOWERS)
        beside, anchor = (middle - 4, "end") if raises else (middle + 4, "start")
        parts.append(rect_svg(start, y - 12, length, 15, colour))
        parts.append(text_svg(beside, y, f"{line.coefficient:+.3g}", "n", anchor))
    if line.counts and line.counts[0]:
        support, events = line.counts
        counts = f"n={support:g}, {events / support:.0%}"
        parts.append(text_svg(bars + BAR + 10, y, counts, "f n"))
    return "".join(parts)

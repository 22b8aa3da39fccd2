"""The structure of a model as an outline, and as a picture with a bar for every coefficient."""

from collections.abc import Iterator
from dataclasses import dataclass

from rpte.figures import svg
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.model.steps import typical_step
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.structure.tree import Branch, Condition

ROW, INDENT, LEFT, BAR, COUNTS = 22, 22, 16, 150, 120
MEAN_CHARACTER = 7.0  # mean advance of the font at its size, in pixels


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an outline."""

    depth: int
    text: str
    name: str = ""  # of a term: a leaf or a direct term
    coefficient: float | None = None
    spread: float = 0.0  # what a term adds, a number over a typical step
    counts: tuple[float, float] | None = None  # support and total of what is true or false
    heading: bool = False


def outline(model: Model, component: Component) -> Iterator[Line]:
    """Yield the parts of a component in the order of its sum: tests, leaves and direct terms."""
    for part in component.parts:
        if isinstance(part, DirectTerm):
            value, step = part.coefficient, typical_step(part, model.data)
            text = part.text_in(model.schema)
            if step is None:
                yield Line(1, text, part.name, value, value, (part.support, part.events))
            else:
                text = f"{text}: {step.text(model.loss)}"
                yield Line(1, text, part.name, value, step.effect)
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

    Bars show coefficients (of numbers: what a typical step adds), red where they raise the score of
    the positive class.
    """
    lines = list(_lines(model))
    widest = max(line.depth * INDENT + len(_text(line)) * MEAN_CHARACTER for line in lines)
    bars = LEFT + int(widest) + 20
    width, height = bars + BAR + COUNTS + LEFT, ROW * (len(lines) + 1)
    largest = max((abs(line.spread) for line in lines), default=0.0) or 1.0
    numbered = enumerate(lines, 1)
    body = [_line_svg(model, line, ROW * number, bars, largest) for number, line in numbered]
    axis = svg.path(f"M{bars + BAR / 2} 8V{height - 8}", svg.LINE)
    label = f"The model: {len(lines)} lines, every coefficient with a bar"
    return svg.document(width, height, label, axis + "".join(body))


def _lines(model: Model) -> Iterator[Line]:
    yield Line(0, f"{model.target.formula} =", heading=True)
    yield Line(1, "intercept", coefficient=model.intercept, spread=model.intercept)
    for component in model.components:
        names = component.sources
        reads = ", ".join(names) if len(names) <= 6 else f"{len(names)} variables"
        yield Line(0, f"+ {component.name}: {reads}", heading=True)
        yield from outline(model, component)


def _text(line: Line) -> str:
    """Return a direct term with its name first, a leaf with its name last."""
    text = f"{line.name}  {line.text}" if line.depth == 1 else f"{line.text}   {line.name}"
    return text.strip()


def rate_text(model: Model, support: float, total: float) -> str:
    """Say the mean of the target over rows of some weight: a rate in per cent, or a number."""
    mean = total / support
    if isinstance(model.target, SurvivalTarget):
        return f"{mean:.0%} events"
    return f"{mean:.0%}" if isinstance(model.target, Target) else f"mean {mean:.4g}"


def _line_svg(model: Model, line: Line, y: int, bars: int, largest: float) -> str:
    look = "h" if line.heading else "f" if line.coefficient == 0 else ""
    parts = [svg.text(LEFT + line.depth * INDENT, y, _text(line), look)]
    if line.coefficient:
        raises, middle = line.spread > 0, bars + BAR / 2
        length = abs(line.spread) / largest * (BAR / 2 - 4)
        start, colour = (middle, svg.RAISES) if raises else (middle - length, svg.LOWERS)
        beside, anchor = (middle - 4, "end") if raises else (middle + 4, "start")
        parts.append(svg.rect(start, y - 12, length, 15, colour))
        parts.append(svg.text(beside, y, f"{line.coefficient:+.3g}", "n", anchor))
    if line.counts and line.counts[0]:
        counts = f"n={line.counts[0]:g}, {rate_text(model, *line.counts)}"
        parts.append(svg.text(bars + BAR + 10, y, counts, "f n"))
    return "".join(parts)

"""The structure of a model as an outline, and as pictures with a bar for every coefficient.

`draw_model` shows the whole model, `tree_drawing` one tree from left to right.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from typing import Any

from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.model.steps import typical_step
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.report import svg
from rpte.report.numbers import percent, short
from rpte.structure.tree import Branch, Condition

ROW, INDENT, LEFT, BAR, COUNTS = 22, 22, 16, 150, 120
MEAN_CHARACTER = 7.0  # mean advance of the font at its size, in pixels
TREE_ROW, TREE_TOP, TREE_LEFT, TREE_GAP = 46, 30, 8, 10
TREE_NAME, TREE_BAR, TREE_NUMBERS = 36, 120, 196  # widths beside the branches
LINE_LENGTH = 26  # characters of a condition on a branch, which has at most two lines


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


def tree_drawing(tree: Mapping[str, Any]) -> svg.Drawing:
    """Return the picture of a tree card of `cards`: from left to right, a bar for every leaf."""
    branches: list[dict[str, Any]] = []
    root, total = _place(tree["root"], 0, count(), branches), tree["support"] or 1.0
    columns, leaves = _depths(branches), tree["leaves"]
    right = int(columns[-1]) + 8
    largest = max((abs(leaf["coefficient"]) for leaf in leaves), default=0.0) or 1.0
    body = [_head_svg(tree, right), *(_branch_svg(b, columns, right, total) for b in branches)]
    body.append(f'<circle cx="{TREE_LEFT}" cy="{root:.1f}" r="4" fill="{svg.INK}"/>')
    body += [
        _leaf_svg(leaf, TREE_TOP + TREE_ROW * (i + 0.5), right, largest, tree["rate_name"])
        for i, leaf in enumerate(leaves)
    ]
    label = f"Tree {tree['name']} over {', '.join(tree['sources'])}: " + "; ".join(
        f"{leaf['name']} if {leaf['conditions']}: {leaf['coefficient']:+.3g}" for leaf in leaves
    )
    width = right + TREE_NAME + TREE_BAR + TREE_NUMBERS
    return width, TREE_TOP + TREE_ROW * len(leaves), label, "".join(body)


def _place(
    node: Mapping[str, Any], depth: int, rows: Iterator[int], branches: list[dict[str, Any]]
) -> float:
    """Lay out a node and all branches below it; return its height on the picture."""
    if "leaf" in node:
        return TREE_TOP + TREE_ROW * (next(rows) + 0.5)
    ends = [_place(way, depth + 1, rows, branches) for way in node["ways"]]
    middle = (ends[0] + ends[1]) / 2
    for way, end in zip(node["ways"], ends, strict=True):
        lines = textwrap.wrap(way["condition"], LINE_LENGTH) or [way["condition"]]
        rest = [svg.shortened(" ".join(lines[1:]), LINE_LENGTH)] if lines[1:] else []
        place = {"depth": depth, "start": middle, "end": end, "lines": [lines[0], *rest]}
        branches.append({**way, **place})
    return middle


def _depths(branches: list[dict[str, Any]]) -> list[float]:
    """Return where each depth of nodes stands, wide enough for the texts between."""
    places = [float(TREE_LEFT)]
    for depth in range(max(branch["depth"] for branch in branches) + 1):
        lines = [line for b in branches if b["depth"] == depth for line in b["lines"]]
        places.append(places[-1] + TREE_GAP * 2 + max(map(len, lines)) * svg.CHARACTER)
    return places


def _branch_svg(branch: Mapping[str, Any], columns: list[float], right: int, total: float) -> str:
    """Return a branch from its node to its own end, the condition on it, as wide as its share."""
    depth, end, lines = branch["depth"], branch["end"], branch["lines"]
    x, stop = columns[depth], right - 4 if "leaf" in branch else columns[depth + 1]
    width = 1.0 + 4.0 * min(branch["support"] / total, 1.0)
    way = f"M{x:.1f} {branch['start']:.1f}V{end:.1f}H{stop:.1f}"
    parts = [svg.path(way, svg.FAINT, width, ' stroke-linejoin="round"')]
    places = [end - 6] if len(lines) == 1 else [end - 7, end + 15]
    parts += [svg.text(x + TREE_GAP, y, line) for y, line in zip(places, lines, strict=True)]
    return f"<g><title>{escape(branch['condition'])}</title>{''.join(parts)}</g>"


def _head_svg(tree: Mapping[str, Any], right: int) -> str:
    adds = f"adds to {tree['unit']}" if tree["rate_name"] == "rate" else f"adds, {tree['unit']}"
    title = svg.text(right + TREE_NAME + TREE_BAR / 2, 16, svg.shortened(adds, 24), "f n", "middle")
    columns = _columns_svg(right, 16, (tree["effect_name"], "n", tree["rate_name"]), "f n")
    return svg.text(right, 16, "leaf", "f n") + title + columns


def _leaf_svg(leaf: Mapping[str, Any], y: float, right: int, largest: float, rate_name: str) -> str:
    value, rate = leaf["coefficient"], leaf["rate"]
    effect = short(leaf["effect"], 3)  # 1, or 0 in units of y, where the leaf says nothing
    shown = percent(rate, 0) if rate_name == "rate" or rate is None else short(rate, 3)
    numbers = (effect, f"{leaf['support']:,.6g}", shown)
    name = svg.text(right, y + 4, leaf["name"].split(".")[-1], "h" if value else "f")
    bar = svg.signed_bar(right + TREE_NAME, y, TREE_BAR, value, largest)
    return name + bar + _columns_svg(right, y + 4, numbers, "" if value else "f")


def _columns_svg(right: int, y: float, texts: Sequence[str], look: str) -> str:
    start = right + TREE_NAME + TREE_BAR
    places = zip((74, 136, 190), texts, strict=True)
    return "".join(svg.text(start + x, y, text, look, "end") for x, text in places)

"""Models, explanations and checks drawn for a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as Drawing

from rpte.model.explain import Explanation
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.model.verify import Check
from rpte.structure.tree import Branch, Condition

RAISES, LOWERS, QUIET = "bold red", "bold green", "dim"


def coefficient(value: float) -> Text:
    """Return a signed number, coloured by what it does to the score."""
    style = QUIET if value == 0 else RAISES if value > 0 else LOWERS
    return Text("0" if value == 0 else f"{value:+.4g}", style)


def model_view(model: Model) -> Group:
    """Return the whole model: every component, tree, leaf and direct term."""
    positive, other = model.classes[model.positive], model.classes[1 - model.positive]
    title = Text.assemble("log odds of ", (str(positive), "bold"), f" against {other}: the sum of")
    start = Text.assemble("  intercept ", coefficient(model.intercept))
    return Group(title, start, *(_component(model, c) for c in model.components))


def _component(model: Model, component: Component) -> Drawing:
    drawing = Drawing(Text(f"{component.name}  {', '.join(component.sources)}", "bold"))
    for part in component.parts:
        if isinstance(part, DirectTerm):
            drawing.add(_direct(part))
        else:
            node = drawing.add(Text(part.name, "bold"))
            _branch(model, part, part.tree.root, node)
    return drawing


def _direct(term: DirectTerm) -> Text:
    counts = _counts(term.support, term.events) if term.column.binary else ""
    name, text = (f"{term.name}  ", "bold"), f"  {term.text}"
    return Text.assemble(name, coefficient(term.coefficient), text, (counts, QUIET))


def _branch(model: Model, tree: TreeTerms, branch: Branch, drawing: Drawing) -> None:
    for holds, child in ((True, branch.yes), (False, branch.no)):
        text = Text(Condition(branch.split, holds).text(model.schema))
        if isinstance(child, Branch):
            _branch(model, tree, child, drawing.add(text))
            continue
        leaf = tree.leaves[child]
        text.append(f"  {tree.leaf_name(child)}  ", "bold")
        text.append(coefficient(leaf.coefficient))
        text.append(_counts(leaf.support, leaf.events), QUIET)
        drawing.add(text)


def _counts(support: float, events: float) -> str:
    rate = f"{events / support:.0%}" if support else "-"
    return f"  n={support:g}, {rate} positive"


def explanation_view(explanation: Explanation, title: str) -> Table:
    """Return one prediction as a column of numbers that add up."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("adds", justify="right")
    table.add_column("because")
    table.add_row(coefficient(explanation.intercept), "intercept")
    for component in explanation.components:
        for contribution in component.contributions:
            reason = f"{component.component} {contribution.term}: {contribution.text}"
            table.add_row(coefficient(contribution.value), reason)
        table.add_row("", Text(f"with {explanation.given(component.sources)}", QUIET))
    for flag in explanation.flags:
        table.add_row("", Text(f"note: {flag}", "yellow"))
    total = f"score; probability of {explanation.positive} {explanation.probability:.4f}"
    table.add_row("-------", "")
    table.add_row(coefficient(explanation.score), total)
    return table


def checks_view(checks: list[Check]) -> Table:
    """Return the guarantees with their evidence."""
    table = Table(title="What was verified", title_justify="left", box=None, pad_edge=False)
    for name in ("", "claim", "evidence"):
        table.add_column(name)
    for check in checks:
        mark = Text("holds", "green") if check.holds else Text("FAILS", "bold red")
        table.add_row(mark, check.name, Text(check.evidence, QUIET))
    return table

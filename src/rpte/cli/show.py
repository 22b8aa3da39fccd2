"""`rpte show` and `schema`, and models, explanations and checks drawn for a terminal."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rpte.cli.options import AsJson, MaybePath, ModelFile, option
from rpte.cli.terminal import console, print_json, table_of
from rpte.model.explain import Explanation
from rpte.model.file import load
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.model.summary import figures, head_lines
from rpte.model.verify import NOT_CHECKED, Check
from rpte.report.draw import Line, draw_model, outline
from rpte.utils.output import check_output, write_text

RAISES, LOWERS, QUIET = "bold red", "bold green", "dim"


def show(
    model: ModelFile,
    svg: Annotated[MaybePath, option("Write the model as a picture to this SVG file too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the whole model: every component, tree, leaf and direct term, nothing left out.

    Example: rpte show model.json
    """
    check_output(svg, reads=[model])
    loaded = load(model)
    if svg is not None:
        write_text(draw_model(loaded), svg)
    if as_json:
        print_json(model_record(loaded))
        return
    out = console()
    out.print(Text("\n".join(head_lines(loaded)[1:]), QUIET), model_view(loaded))
    if svg is not None:
        out.print(f"Wrote {svg}", soft_wrap=True)


def schema() -> None:
    """Print the JSON Schema (draft 2020-12) that every model file obeys.

    Example: rpte schema > rpte-model.schema.json
    """
    from rpte.model.format import SCHEMA

    typer.echo(json.dumps(SCHEMA, indent=1))


def model_record(model: Model) -> dict[str, Any]:
    """Return what `rpte show` shows as plain values: one rule per term, in the order of the sum."""
    load = model.audit()
    rules = [asdict(rule) for rule in model.rules()]
    for rule in rules:
        for name in ("event_rate", "odds_ratio"):  # no rate without rows, no number for infinity
            rule[name] = rule[name] if math.isfinite(rule[name]) else None
    return {
        "positive": model.classes[model.positive],
        "other": model.classes[1 - model.positive],
        "ownership": model.ownership,
        "limits": model.settings["limits"],
        "cross_validation": figures(model),
        "stopped": model.training["validation"].get("stopped"),
        "terms": load.mu,
        "conditions": load.miu,
        "bound": load.bound,
        "intercept": model.intercept,
        "rules": rules,
    }


def coefficient(value: float) -> Text:
    """Return a signed number, coloured by what it does to the score."""
    style = QUIET if value == 0 else RAISES if value > 0 else LOWERS
    return Text("0" if value == 0 else f"{value:+.4g}", style)


def model_view(model: Model, say: Callable[[str], str] = str) -> Group:
    """Return the whole model; `say` may shorten the texts of conditions and direct terms."""
    positive, other = model.classes[model.positive], model.classes[1 - model.positive]
    title = Text.assemble("log odds of ", (str(positive), "bold"), f" against {other}: the sum of")
    start = Text.assemble("  intercept ", coefficient(model.intercept))
    return Group(title, start, *(_component(model, c, say) for c in model.components))


def _component(model: Model, component: Component, say: Callable[[str], str]) -> Tree:
    nodes = [Tree(Text(f"{component.name}  {', '.join(component.sources)}", "bold"))]
    for line in outline(model, component):
        del nodes[line.depth :]
        nodes.append(nodes[-1].add(_line(line, say)))
    return nodes[0]


def _line(line: Line, say: Callable[[str], str]) -> Text:
    text = Text(say(line.text), "bold" if line.heading else "")
    if line.coefficient is None:
        return text
    name, value, counts = Text(line.name, "bold"), coefficient(line.coefficient), ""
    parts = [name, value, text] if line.depth == 1 else [text, name, value]
    if line.counts:
        support, events = line.counts
        rate = f"{events / support:.0%}" if support else "-"
        counts = f"  n={support:g}, {rate} positive"
    return Text("  ").join(parts).append(counts, QUIET)


def explanation_view(explanation: Explanation, title: str) -> Table:
    """Return one prediction as a column of numbers that add up."""
    table = table_of((">adds", "because"), title=title, title_justify="left")
    table.add_row(coefficient(explanation.intercept), explanation.start)
    for component in explanation.components:
        for contribution in component.contributions:
            reason = f"{component.component} {contribution.term}: {contribution.text}"
            table.add_row(coefficient(contribution.value), reason)
        table.add_row("", Text(f"with {explanation.given(component.sources)}", QUIET))
    for flag in explanation.flags:
        table.add_row("", Text(f"note: {flag}", "yellow"))
    total = f"score; probability of {explanation.positive}: {explanation.probability:.4f}"
    table.add_row("-------", "")
    table.add_row(coefficient(explanation.score), total)
    return table


def checks_view(checks: list[Check]) -> Table:
    """Return the guarantees with their evidence."""
    rows = [(check_mark(check), check.name, Text(check.evidence, QUIET)) for check in checks]
    heads = ("", "claim", "evidence")
    return table_of(heads, rows, title="What was verified", title_justify="left")


def check_mark(check: Check) -> Text:
    """Return whether a claim holds, in one word."""
    if check.name == NOT_CHECKED:
        return Text("open", "yellow")
    return Text("holds", "green") if check.holds else Text("FAILS", "bold red")

"""Models, explanations and checks drawn for a terminal, or as plain values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rpte.cli.terminal import table_of
from rpte.model.class_target import PairTarget
from rpte.model.effects import words_of
from rpte.model.explain import Explanation
from rpte.model.explanations import ordered
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.model.summary import figures
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, NumberTarget, Target
from rpte.model.verify import NOT_CHECKED, Check
from rpte.report.draw import Line, outline, rate_text

RAISES, LOWERS, QUIET = "bold red", "bold green", "dim"


def model_record(model: Model) -> dict[str, Any]:
    """Return what `rpte show` shows as plain values: one rule per term, in the order of the sum."""
    load = model.audit()
    names = model.rule_columns()
    rules = [{names[field]: value for field, value in asdict(r).items()} for r in model.rules()]
    for rule in rules:
        for name in (names["mean"], names["effect"]):  # no rate without rows, no infinity
            rule[name] = rule[name] if math.isfinite(rule[name]) else None
    return {
        **_predicted(model.target),
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


def _predicted(target: AnyTarget) -> dict[str, Any]:
    """Return what a model predicts as plain values."""
    if isinstance(target, NumberTarget):
        return {"mean": target.mean_text, "loss": target.loss.to_dict()}
    if isinstance(target, SurvivalTarget):
        return {
            "hazard": target.hazard_text,
            "loss": target.loss.to_dict(),
            "time": target.time,
            "event": target.event,
            "events": target.total,
            "observed_until": target.end,
            "strata": list(target.strata),
        }
    return {"positive": target.outcome, "other": target.other}


def coefficient(value: float) -> Text:
    """Return a signed number, coloured by what it does to the score."""
    style = QUIET if value == 0 else RAISES if value > 0 else LOWERS
    return Text("0" if value == 0 else f"{value:+.4g}", style)


def model_view(model: Model, say: Callable[[str], str] = str) -> Group:
    """Return the whole model; `say` may shorten the texts of conditions and direct terms."""
    start = Text.assemble("  intercept ", coefficient(model.intercept), _times(model, None))
    words = words_of(model)
    components = (_component(model, c, words, say) for c in model.components)
    return Group(_title(model), start, *components)


def _title(model: Model) -> Text:
    """Say what the terms add up to."""
    target = model.target
    if isinstance(target, Target):
        outcome, other = (target.outcome_text, "bold"), f" against {target.other}: the sum of"
        return Text.assemble("log odds of ", outcome, other)
    before, _, after = target.score_text.partition(target.outcome)
    title = Text.assemble(before, (target.outcome, "bold"), f"{after}: the sum of")
    times = f" (times: what a term multiplies the {_product_name(target)} by)"
    return title.append(times if target.multiplies else "")


def _product_name(target: AnyTarget) -> str:
    """Return what contributions multiply."""
    return "hazard" if isinstance(target, SurvivalTarget) else "mean"


def _times(model: Model, value: float | None) -> Text:
    """Say what a coefficient multiplies the mean or hazard by, or what that starts from."""
    if not model.target.multiplies or value == 0:
        return Text("")
    if value is None:
        start = f"{model.target.response_name} {model.loss.effect(model.intercept):.4g}"
        return Text(f"  ({start})", QUIET)
    return Text(f"(times {model.loss.effect(value):.4g})", QUIET)


def _component(
    model: Model, component: Component, words: Mapping[str, str], say: Callable[[str], str]
) -> Tree:
    """Return what the variables of a component do, in words, and its terms below."""
    nodes = [Tree(Text(f"{component.name}  {', '.join(component.sources)}", "bold"))]
    for source in component.sources:
        if source in words:
            nodes[0].add(Text(f"{source}: {words[source]}", "italic"))
    for line in outline(model, component):
        del nodes[line.depth :]
        nodes.append(nodes[-1].add(_line(model, line, say)))
    return nodes[0]


def _line(model: Model, line: Line, say: Callable[[str], str]) -> Text:
    text = Text(say(line.text), "bold" if line.heading else "")
    if line.coefficient is None:
        return text
    name, value, counts = Text(line.name, "bold"), coefficient(line.coefficient), ""
    times = _times(model, line.coefficient if line.counts else 0.0)  # a number says it per step
    values = [value, times] if times else [value]
    parts = [name, *values, text] if line.depth == 1 else [text, name, *values]
    if line.counts:
        rate = rate_text(model, *line.counts) if line.counts[0] else "-"
        of_class = " positive" if isinstance(model.target, Target) else ""
        counts = f"  n={line.counts[0]:g}, {rate}{of_class}"
    return Text("  ").join(parts).append(counts, QUIET)


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """Return one prediction as plain values."""
    target = explanation.target
    outcome = {} if isinstance(target, NumberTarget) else {target.outcome_name: target.outcome}
    return {
        "intercept": explanation.intercept,
        "components": [asdict(component) for component in explanation.components],
        "score": explanation.score,
        target.response_name: explanation.response,
        **_given(explanation),
        **explanation.survival.to_dict(),
        **outcome,
        "inputs": dict(explanation.inputs),
        "flags": list(explanation.flags),
        "reference": explanation.reference,
    }


def _given(explanation: Explanation) -> dict[str, float]:
    """Return the exposure and the offset that were given, and what is predicted for them."""
    given = {"exposure": explanation.exposure, "offset": explanation.offset}
    known = {role: value for role, value in given.items() if value is not None}
    return {**known, "predicted": explanation.predicted} if known else {}


def explanation_view(explanation: Explanation, title: str, order: str = "size") -> Table:
    """Return one prediction as a column of numbers that add up, in one of the `ORDERS`.

    Where they multiply a mean, with what each multiplies it by, and the product so far.
    """
    target, running = explanation.target, explanation.intercept

    def numbers(value: float, start: bool = False) -> list[Text]:
        shown = [coefficient(value)]
        if target.multiplies:
            effect = target.loss.effect
            times = "" if start else f"{effect(value):.4g}"
            shown += [Text(times), Text(f"{effect(running):.4g}", QUIET)]
        return shown

    more = (">times", f">{_product_name(target)} so far") if target.multiplies else ()
    table = table_of((">adds", *more, "because"), title=title, title_justify="left")
    blank = [""] * len(more)
    table.add_row(*numbers(running, start=True), explanation.start)
    for component in ordered(explanation.components, order):
        for contribution in component.contributions:
            running += contribution.value
            reason = f"{component.component} {contribution.term}: {contribution.text}"
            table.add_row(*numbers(contribution.value), reason)
        table.add_row("", *blank, Text(f"with {explanation.given(component.sources)}", QUIET))
    for told in explanation.folded(order):
        table.add_row("", *blank, Text(told, QUIET))
    for flag in explanation.flags:
        table.add_row("", *blank, Text(f"note: {flag}", "yellow"))
    table.add_row("-------", *blank, "")
    running = explanation.score
    table.add_row(*numbers(running, start=True), f"score; {response_text(explanation)}")
    for text in explanation.said_for:
        table.add_row("", *blank, Text(text, "bold"))
    return table


def response_text(explanation: Explanation) -> str:
    """Say what a score stands for: a probability, or a mean."""
    target = explanation.target
    return f"{response_name(target)}: {target.shown(explanation.response)}"


def response_name(
    target: AnyTarget, exposure: float | None = None, offset: float | None = None
) -> str:
    """Say what is predicted for a case, without the quotes of `target.response_text`."""
    if not isinstance(target, Target):
        return target.response_with(exposure, offset)
    if isinstance(target, PairTarget):
        return f"probability of {target.outcome}, where it is this or {target.other}"
    return f"probability of {target.outcome_text}"


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

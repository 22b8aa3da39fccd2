"""`rpte demo`: a tree over variables that interact, shapes beside it, one prediction added up."""

import logging
import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli.options import option
from rpte.cli.show import check_mark, coefficient, model_view
from rpte.cli.terminal import console, progress, table_of
from rpte.columns.kinds import Scale
from rpte.model.explain import Explanation, value_text
from rpte.model.model import Model
from rpte.model.parts import DirectTerm
from rpte.model.summary import counted
from rpte.model.verify import Check
from rpte.table.decimals import number_text

SEED, TRAINED, OTHERS = 3, 3000, 1000
MADE = (
    "The table is made up: harm rises with age and smoking, and a dose above 60 harms patients "
    "with a kidney function below 55 and helps the others."
)
NEXT = {
    "rpte fit loans.csv --target bad -o model.json": "next, on a table of yours",
    "rpte show model.json": "the whole model",
    "rpte explain model.json loans.csv --row 17": "one case taken apart",
    "rpte report model.json -o report.html": "all of it on one page",
}


def demo(
    published: Annotated[
        bool, option("The published configuration, with its trees.", "--published")
    ] = False,
) -> None:
    """Fit a made table, add up one prediction, and verify the model.

    Two of its variables act together. The prediction is of a patient that training has not seen.

    Example: rpte demo
    """
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rpte").setLevel(logging.INFO)
    name = "published configuration" if published else "default model"
    with progress(f"fitting the {name}"):
        from rpte import RPTEClassifier

        make = RPTEClassifier.paper if published else RPTEClassifier
        train, test = _patients()
        model: Model = make(positive="harmed").fit(*train).model_
        checks = model.verify(*train)
        other = model if published else RPTEClassifier.paper(positive="harmed").fit(*train).model_
    out = console()
    load = f"{counted(len(model.rules()), 'term')}, {counted(model.audit().miu, 'condition')}"
    out.print(Text(f"The {name} of {TRAINED:,} patients: {load} to read", "bold"))
    out.print(f"{MADE} {_quality_line(model, test)}")
    out.print("", model_view(model, _rounded))
    case = _reached(model, test[0])
    shown = model.explain(test[0].iloc[[case]])[0]
    out.print("", _sum_view(model, shown, test[1].iloc[case]))
    out.print("", Group(*_check_lines(checks)))
    if not published:
        size = counted(other.audit().miu, "condition")
        out.print(f"The published configuration: {size}, {_quality_line(other, test)}")
    out.print("", _next_view(published))
    if not all(check.holds for check in checks):
        raise typer.Exit(1)


def _patients() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Make up patients whose kidneys decide what a dose does; return those to fit, and others."""
    import numpy as np
    import pandas as pd

    draw, n = np.random.default_rng(SEED), TRAINED + OTHERS
    age = draw.integers(25, 91, n).astype(float)
    dose = draw.choice(np.arange(10.0, 101.0, 5.0), n)
    kidney = np.clip(draw.normal(75, 25, n), 12, 130).round()
    smoker = draw.choice(["no", "yes"], n, p=[0.7, 0.3])
    weight = np.clip(draw.normal(78, 14, n), 42, 140).round()
    together = np.where(dose > 60, np.where(kidney < 55, 2.4, -0.9), 0.2)
    score = 0.04 * (age - 60) + 0.8 * (smoker == "yes") + together - 1.6
    y = pd.Series(np.where(draw.random(n) < 1 / (1 + np.exp(-score)), "harmed", "well"))
    cells = {"age": age, "dose": dose, "kidney": kidney, "smoker": smoker, "weight": weight}
    X, y = pd.DataFrame(cells), y.rename("outcome")
    return (X[:TRAINED], y[:TRAINED]), (X[TRAINED:], y[TRAINED:])


def _quality_line(model: Model, test: tuple[Any, Any]) -> str:
    """Say how good the model is."""
    from sklearn.metrics import roc_auc_score

    auc = roc_auc_score(test[1] == model.classes[model.positive], model.score(test[0]))
    return f"AUC {auc:.4f} on {len(test[1]):,} patients not seen."


def _reached(model: Model, X: Any) -> int:
    """Return the row, among the first hundred, that the model moves furthest."""
    return int(abs(model.score(X[:100]) - model.intercept).argmax())


def _rounded(text: str) -> str:
    """Return a text with numbers of at most six digits; `rpte show` prints them in full."""
    return re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.6g}", text)


def _sum_view(model: Model, case: Explanation, truth: str) -> Table:
    """Return the terms with what one patient has, and what that adds to the score."""
    title = f"A patient not seen in training ({truth} in truth): the log odds of {case.positive}"
    heads = (">factor", "times what the model reads", ">patient", ">adds")
    table = table_of(heads, title=Text(title, "bold"), title_justify="left")
    table.add_row("", case.start, "", coefficient(case.intercept))
    rules = {rule.term: rule for rule in model.rules()}
    direct = {term.name: term for component in model.components for term in component.direct}
    for part in (part for component in case.components for part in component.contributions):
        term, rule = direct.get(part.term), rules.get(part.term)
        factor = "" if term is None else f"{term.coefficient:+.4g}"
        text = f"{part.term} {_rounded(part.text if term is None else _operand(term))}"
        read = sorted(rule.sources if rule else (), key=text.find)
        values = [value_text(case.inputs[name]) for name in read]
        table.add_row(factor, text, ", ".join(values), coefficient(part.value))
    end = f"score; probability of {case.positive}: {case.probability:.4f}"
    table.add_row("", Text(end, "bold"), "", coefficient(case.score))
    return table


def _operand(term: DirectTerm) -> str:
    """Return what the coefficient is multiplied with, such as ``age - 50``."""
    sign, column = "-" if term.centre > 0 else "+", term.column
    text = column.bare_text if isinstance(column, Scale) else column.text
    return text + (f" {sign} {number_text(abs(term.centre))}" if term.centre else "")


def _check_lines(checks: list[Check]) -> Iterator[Text]:
    """Yield how many checks hold, and those that do not."""
    failed = [check for check in checks if not check.holds]
    said = f"{len(checks) - len(failed)} of {len(checks)} checks hold on the training table"
    yield Text(f"{said} (rpte verify lists them)", "bold")
    for check in failed:
        name, evidence = f"  {check.name:<40}", Text(_rounded(check.evidence), "dim")
        yield Text.assemble(check_mark(check), name, evidence, no_wrap=True, overflow="ellipsis")


def _next_view(published: bool) -> Table:
    other = {} if published else {"rpte demo --published": "the paper's trees, here"}
    rows = [(command, Text(meaning, "dim")) for command, meaning in (NEXT | other).items()]
    return table_of(("", ""), rows, show_header=False)

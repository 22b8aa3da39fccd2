"""`rpte demo`: a model of the breast cancer table that comes with scikit-learn, on one screen."""

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

SEED = 0
GUARANTEES = (
    "contributions sum to the score",
    "leaves partition the inputs",
    "ownership",
    "audit load within its bound",
    "Stage 3 optimality",
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
    """Fit the breast cancer table, and verify the guarantees.

    The model is fitted on three quarters of the rows, the prediction is of one of the others.

    Example: rpte demo
    """
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rpte").setLevel(logging.INFO)
    name = "published configuration" if published else "default model"
    with progress(f"fitting the {name}"):
        from rpte import RPTEClassifier

        make = RPTEClassifier.paper if published else RPTEClassifier
        train, test = _breast_cancer()
        model: Model = make(positive="malignant").fit(*train).model_
        checks = model.verify(*train)
    out = console()
    load = f"{counted(len(model.rules()), 'term')}, {counted(model.audit().miu, 'condition')}"
    out.print(Text(f"The {name} of the breast cancer table: {load} to read", "bold"))
    out.print(_quality_line(model, test))
    if any(component.trees for component in model.components):
        out.print(model_view(model, _rounded))
    out.print("", _sum_view(model, model.explain(test[0].iloc[[0]])[0], test[1].iloc[0]))
    out.print("", Group(*_guarantee_lines(checks)), "", _next_view(published))
    if not all(check.holds for check in checks):
        raise typer.Exit(1)


def _breast_cancer() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).astype(object).rename("diagnosis")
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, y, test_size=0.25, stratify=y, random_state=SEED
    )
    return (X_train, y_train), (X_test, y_test)


def _quality_line(model: Model, test: tuple[Any, Any]) -> str:
    """Say among what the model was chosen, and how good it is."""
    from sklearn.metrics import roc_auc_score

    selection, others = model.training["selection"], len(test[1])
    sizes = [point["miu"] for point in selection["frontier"]] if selection else []
    among = f"Chosen among models of {min(sizes)} to {max(sizes)} conditions; " if sizes else ""
    auc = roc_auc_score(test[1] == model.classes[model.positive], model.score(test[0]))
    return f"{among}AUC {auc:.4f} on {others} patients not seen."


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


def _guarantee_lines(checks: list[Check]) -> Iterator[Text]:
    shown = [check for check in checks if check.name.startswith(GUARANTEES) or not check.holds]
    others = len(checks) - len(shown)
    more = f", with {others} further checks that rpte verify lists" if others else ""
    yield Text(f"Verified on the training table{more}", "bold")
    for check in shown:
        name, evidence = f"  {check.name:<40}", Text(_rounded(check.evidence), "dim")
        yield Text.assemble(check_mark(check), name, evidence, no_wrap=True, overflow="ellipsis")


def _next_view(published: bool) -> Table:
    other = {} if published else {"rpte demo --published": "the paper's trees, here"}
    rows = [(command, Text(meaning, "dim")) for command, meaning in (NEXT | other).items()]
    return table_of(("", ""), rows, show_header=False)

"""`rpte counterfactual`: what would have to change in a case for another decision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli.cases import CaseId, RowNumber, read_case, title_of
from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, IdColumn, Missing, ModelFile, TableFile, pairs
from rpte.cli.terminal import console, print_json
from rpte.counterfactual import Actions, Answer, Counterfactuals
from rpte.counterfactual.actions import read_actions
from rpte.errors import InputError
from rpte.model.explain import value_text
from rpte.model.file import load
from rpte.model.model import Model
from rpte.table.column import parse_number
from rpte.table.decimals import number_text


def counterfactual(
    model: ModelFile,
    table: TableFile,
    row: RowNumber = None,
    case: CaseId = None,
    id_column: IdColumn = None,
    to: Annotated[float, typer.Option(help="The probability of the positive class.")] = 0.5,
    side: Annotated[
        str | None,
        typer.Option(help="below or above it; by default the other side than the case."),
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(help="NAME that may not change.")] = None,
    may_change: Annotated[
        list[str] | None,
        typer.Option(help="NAME that may change although it is like age or sex."),
    ] = None,
    increase: Annotated[list[str] | None, typer.Option(help="NAME that may only rise.")] = None,
    decrease: Annotated[list[str] | None, typer.Option(help="NAME that may only fall.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="NAME=LOW:HIGH, or NAME=LEVEL,LEVEL,...")
    ] = None,
    cost: Annotated[
        list[str] | None, typer.Option(help="NAME=FACTOR on what its changes cost.")
    ] = None,
    step: Annotated[list[str] | None, typer.Option(help="NAME=STEP of a number.")] = None,
    actions: Annotated[
        Path | None,
        typer.Option(help="A TOML file with the same and more; see docs/explanations.md."),
    ] = None,
    at_most: Annotated[int, typer.Option(help="How many variables may change.")] = 3,
    answers: Annotated[int, typer.Option(help="How many answers to look for.")] = 3,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest changes of one case that bring its probability to a target.

    Variables whose names hold a word like age, sex or race are kept unless --may-change names them.
    Every answer is scored again by the model, and says whether it is proved that none is cheaper.
    Options that name variables may be given several times.

    Example: rpte counterfactual model.json cases.csv --row 17 --to 0.3 --keep job --increase income
    """
    with told_in_one_line():
        loaded = load(model)
        told = Actions() if actions is None else read_actions(actions)
        ways = dict.fromkeys(increase or (), "increase") | dict.fromkeys(decrease or (), "decrease")
        asked = told.extended(
            keep=keep or (),
            may_change=may_change or (),
            one_way=ways,
            allowed=_allowed(loaded, pairs("--allow", allow or [])),
            costs=_numbers("--cost", cost),
            steps=_numbers("--step", step),
        )
        named, cells = read_case(loaded, table, row, case, id_column, missing)
        found = loaded.counterfactuals(
            cells, to, side=side, actions=asked, most=at_most, answers=answers
        )
        if as_json:
            print_json({**named, **found.to_dict()})
            return
        console().print(counterfactuals_view(found, title_of(named)))


def _numbers(option: str, texts: list[str] | None) -> dict[str, float]:
    found = {}
    for name, text in pairs(option, texts or []).items():
        number = parse_number(text)
        if number is None:
            raise InputError(f"{option} {name}={text}: {text!r} is no number")
        found[name] = number
    return found


def _allowed(model: Model, texts: dict[str, str]) -> dict[str, list[Any]]:
    """Return ranges and lists of levels; what they must be is checked with all other actions."""
    found: dict[str, list[Any]] = {}
    for name, text in texts.items():
        number = name in model.schema.names and model.schema[name].kind == "number"
        parts = [part.strip() for part in text.split(":" if number else ",")]
        found[name] = [parse_number(part) if number else part for part in parts]
        if number and (len(parts) != 2 or None in found[name]):
            raise InputError(f"--allow {name}={text}: write LOW:HIGH, such as {name}=0:100")
    return found


def counterfactuals_view(found: Counterfactuals, title: str) -> Group:
    """Return every answer as a small table, and how costs are counted."""
    word = "at most" if found.side == "below" else "at least"
    head = Text(
        f"probability of {found.positive} is {found.probability:.4f}; it shall be {word} "
        f"{found.target:g}"
    )
    assumed = Text(" ".join(found.changeable.sentences("--keep", "--may-change")))
    parts: list[Any] = [Text(title, "italic"), assumed, head]
    for number, answer in enumerate(found.answers, 1):
        parts += ["", _answer_view(number, answer)]
    if found.reason:
        parts.append(Text(found.reason, "bold"))
    changed = dict.fromkeys(c.variable for answer in found.answers for c in answer.changes)
    return Group(*parts, "", *_notes(found, list(changed)))


def _answer_view(number: int, answer: Answer) -> Group:
    if not answer.changes:
        return Group(Text("it is there already: nothing has to change", "bold"))
    proof = (
        "proved: no answer is cheaper"
        if answer.optimal
        else f"not proved cheapest: none costs less than {answer.bound:.4f}"
    )
    table = Table(box=None, pad_edge=False)
    for name, justify in (("variable", "left"), ("now", "right"), ("then", "right")):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("cost", justify="right")
    for change in answer.changes:
        values = value_text(change.old), value_text(change.new)
        table.add_row(change.variable, *values, f"{change.cost:.4f}")
    head = f"{number}. probability {answer.probability:.4f}, cost {answer.cost:.4f} ({proof})"
    return Group(Text(head, "bold"), table, *(Text(f"note: {flag}") for flag in answer.flags))


def _notes(found: Counterfactuals, changed: list[str]) -> list[str]:
    """Say how changes are measured."""
    numbers = [
        f"{name}: size 1 is {number_text(scale.spread)}, in steps of {number_text(scale.step)} "
        f"from {number_text(scale.low)} to {number_text(scale.high)}"
        for name, scale in found.scales.items()
        if name in changed and scale.spread and scale.step
        if scale.low is not None and scale.high is not None
    ]
    numbers += [
        f"{name}: the file does not tell its range; say it with --allow '{name}=LOW:HIGH'"
        for name in found.hidden
    ]
    levels = "A level, a special code or a gap that is filled counts as 1."
    start = f"Cost of a change: its size, plus {found.per_change:g}, times the variable's factor."
    again = "Each further answer leaves a variable of every earlier one as it is."
    return [f"{start} {levels}", *numbers, *([again] if len(found.answers) > 1 else [])]

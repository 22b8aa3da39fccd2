"""`rpte explain`, `whatif`, `counterfactual` and `uncertainty`: one case, looked at closely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.options import MaybePath, Names, for_two_classes, option, pairs, rows_for
from rpte.cli.show import (
    QUIET,
    coefficient,
    explanation_record,
    explanation_view,
    response_text,
)
from rpte.cli.terminal import print_found, progress, table_of
from rpte.counterfactual import Actions, Answer, Counterfactuals
from rpte.counterfactual.actions import read_actions
from rpte.errors import InputError
from rpte.model.explain import WhatIf, value_text
from rpte.model.file import load
from rpte.model.model import Model
from rpte.table.column import parse_number
from rpte.table.decimals import number_text

if TYPE_CHECKING:
    from rpte.validation.uncertainty import Bootstrap, CaseIntervals, Interval


def explain(
    model: opt.ModelFile,
    table: opt.TableFile,
    row: opt.RowNumber = None,
    case: opt.CaseId = None,
    id_column: opt.IdColumn = None,
    mean: Annotated[
        bool, option("Contributions against their mean in training.", "--mean")
    ] = False,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Take the score of one case apart: what each rule adds, in the order of the sum.

    Example: rpte explain model.json cases.csv --row 17

    Example: rpte explain model.json cases.csv --id A-1034 --id-column case
    """
    loaded = load(model)
    rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=True)
    one = rows.case(row, case, id_column)
    found = loaded.explain(one.cells, "mean" if mean else None)[0]
    record = {**one.record, **explanation_record(found)}
    print_found(as_json, record, explanation_view(found, one.title))


def whatif(
    model: opt.ModelFile,
    table: opt.TableFile,
    changes: Annotated[
        Names, option("NAME=VALUE, once per cell; NAME= makes it missing.", "--set")
    ] = None,
    row: opt.RowNumber = None,
    case: opt.CaseId = None,
    id_column: opt.IdColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Change values of one case and see which contributions move, and that no other does.

    Example: rpte whatif model.json cases.csv --row 17 --set age=50 --set "job=free lance"
    """
    loaded = load(model)
    asked = pairs("--set", changes, empty=True)
    if not asked:
        raise InputError("say what to change, such as --set age=50")
    rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=True)
    one = rows.case(row, case, id_column)
    found = loaded.what_if(one.cells, {name: value or None for name, value in asked.items()})
    views = Text(one.title, "italic"), _whatif_view(found)
    print_found(as_json, {**one.record, **found.to_dict()}, *views)


def _whatif_view(found: WhatIf) -> Group:
    lines = [
        Text(f"{name}: {value_text(old)} -> {value_text(new)}")
        for name, (old, new) in found.changes.items()
    ]
    lines += [Text(f"{name} is not read by the model: nothing can move") for name in found.unread]
    shown = found.before.target.shown
    end = Text(f"{response_text(found.before)} -> {shown(found.after.response)}", "bold")
    notes = [Text(f"note: {flag}") for flag in found.after.flags]
    return Group(*lines, "", _moves(found), "", end, found.said, *notes)


def _moves(found: WhatIf) -> Table:
    table = table_of((">before", ">after", ">moves by", "term"))
    for moved in found.moved:
        pairs = zip(moved.before.contributions, moved.after.contributions, strict=True)
        for old, new in pairs:
            if old == new:
                continue
            values = (old.value, new.value, new.value - old.value)
            text = f"{moved.before.component} {new.term}: {new.text}"
            table.add_row(*map(coefficient, values), text)
            if old.term != new.term:
                table.add_row("", "", "", Text(f"before {old.term}: {old.text}", QUIET))
    change = found.after.score - found.before.score
    scores = (found.before.score, found.after.score, change)
    table.add_row(*map(coefficient, scores), Text("score", "bold"))
    return table


def counterfactual(
    model: opt.ModelFile,
    table: opt.TableFile,
    row: opt.RowNumber = None,
    case: opt.CaseId = None,
    id_column: opt.IdColumn = None,
    to: Annotated[float, option("The probability of the positive class.")] = 0.5,
    side: Annotated[
        str | None, option("below or above it; by default the other side than the case.")
    ] = None,
    keep: Annotated[Names, option("NAME that may not change.")] = None,
    may_change: Annotated[
        Names, option("NAME that may change although it is like age or sex.")
    ] = None,
    increase: Annotated[Names, option("NAME that may only rise.")] = None,
    decrease: Annotated[Names, option("NAME that may only fall.")] = None,
    allow: Annotated[Names, option("NAME=LOW:HIGH, or NAME=LEVEL,LEVEL,...")] = None,
    cost: Annotated[Names, option("NAME=FACTOR on what its changes cost.")] = None,
    step: Annotated[Names, option("NAME=STEP of a number.")] = None,
    actions: Annotated[
        MaybePath, option("A TOML file with the same and more; see docs/explanations.md.")
    ] = None,
    at_most: Annotated[int, option("How many variables may change.")] = 3,
    answers: Annotated[int, option("How many answers to look for.")] = 3,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Find the cheapest changes of one case that bring its probability to a target.

    Variables whose names hold a word like age, sex or race are kept unless --may-change names them.
    Every answer is scored again by the model, and says whether it is proved that none is cheaper.
    Options that name variables may be given several times.

    Example: rpte counterfactual model.json cases.csv --row 17 --to 0.3 --keep job --increase income
    """
    loaded = for_two_classes(load(model), "counterfactual")
    told = Actions() if actions is None else read_actions(actions)
    ways = dict.fromkeys(increase or (), "increase") | dict.fromkeys(decrease or (), "decrease")
    asked = told.extended(
        keep=keep or (),
        may_change=may_change or (),
        one_way=ways,
        allowed=_allowed(loaded, pairs("--allow", allow)),
        costs=_numbers("--cost", cost),
        steps=_numbers("--step", step),
    )
    rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=True)
    one = rows.case(row, case, id_column)
    wanted: dict[str, Any] = {"side": side, "actions": asked, "most": at_most, "answers": answers}
    found = loaded.counterfactuals(one.cells, to, **wanted)
    views = Text(one.title, "italic"), _counterfactuals_view(found)
    print_found(as_json, {**one.record, **found.to_dict()}, *views)


def _numbers(option: str, texts: Names) -> dict[str, float]:
    found = {}
    for name, text in pairs(option, texts).items():
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


def _counterfactuals_view(found: Counterfactuals) -> Group:
    """Return every answer as a small table, and how costs are counted."""
    word = "at most" if found.side == "below" else "at least"
    parts: list[Any] = [
        Text(" ".join(found.changeable.sentences("--keep", "--may-change"))),
        Text(
            f"probability of {found.positive} is {found.probability:.4f}; it shall be {word} "
            f"{found.target:g}"
        ),
    ]
    for number, answer in enumerate(found.answers, 1):
        parts += ["", _answer_view(number, answer)]
    if found.reason:
        parts.append(Text(found.reason, "bold"))
    changed = {c.variable for answer in found.answers for c in answer.changes}
    return Group(*parts, "", *_notes(found, changed))


def _answer_view(number: int, answer: Answer) -> Group:
    if not answer.changes:
        return Group(Text("it is there already: nothing has to change", "bold"))
    proof = (
        "proved: no answer is cheaper"
        if answer.optimal
        else f"not proved cheapest: none costs less than {answer.bound:.4f}"
    )
    rows = [
        (change.variable, value_text(change.old), value_text(change.new), f"{change.cost:.4f}")
        for change in answer.changes
    ]
    head = f"{number}. probability {answer.probability:.4f}, cost {answer.cost:.4f} ({proof})"
    table = table_of(("variable", ">now", ">then", ">cost"), rows)
    return Group(Text(head, "bold"), table, *(Text(f"note: {flag}") for flag in answer.flags))


def _notes(found: Counterfactuals, changed: set[str]) -> list[str]:
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


def uncertainty(
    model: opt.ModelFile,
    table: opt.TableFile,
    target: Annotated[str, option("The outcome in the training table.")],
    row: opt.RowNumber = None,
    case: opt.CaseId = None,
    id_column: opt.IdColumn = None,
    resamples: Annotated[int, option("How often rows are drawn again.")] = 200,
    seed: Annotated[int, option("The same seed gives the same numbers.")] = 0,
    groups: Annotated[
        str | None, option("The column whose rows are drawn together (a patient).")
    ] = None,
    level: Annotated[float, option("Share of resamples inside an interval.")] = 0.95,
    weight_column: opt.WeightColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show how far coefficients (or one case's score) move when training rows are drawn again.

    Bootstrap of Stage 3: terms, thresholds and penalty stay as in the file.

    Example: rpte uncertainty model.json loans.csv --target bad --row 17
    """
    from rpte.table.target import labels_as
    from rpte.validation.uncertainty import bootstrap, check_level

    check_level(level)
    loaded = for_two_classes(load(model), "uncertainty")
    named: dict[str, Any] = {"target": target, "weight": weight_column, "groups": groups}
    rows = rows_for(loaded, table, missing, id_column=id_column, **named)
    one = None if row is None and case is None else rows.case(row, case, id_column)
    with progress("drawing rows again") as tell:
        drawn = bootstrap(
            loaded,
            rows.inputs,
            labels_as(rows.frame, target, loaded.classes),
            n=resamples,
            seed=seed,
            groups=None if groups is None else rows.frame[groups].to_numpy(),
            sample_weight=rows.weight(weight_column),
            tell=lambda done: tell("drawing rows again", done, resamples),
        )
    found = None if one is None else drawn.cases(one.cells, level)[0]
    record = {**(one.record if one else {}), **_record(drawn, found, level)}
    title = [Text(one.title, "italic")] if one else []
    view = _terms_view(drawn.terms(level), level) if found is None else _case_view(found, level)
    print_found(as_json, record, *title, view, "", _sentence(drawn))


def _sentence(drawn: Bootstrap) -> str:
    notes = [f"What this is: {drawn.what}"]
    if drawn.redrawn:
        notes.append(f"{drawn.redrawn} resamples of one class only were drawn again")
    if drawn.unconverged:
        notes.append(f"{drawn.unconverged} fits missed their tolerance")
    return "; ".join(notes) + "."


def _record(drawn: Bootstrap, found: CaseIntervals | None, level: float) -> dict[str, Any]:
    terms = {"terms": [t.to_dict() for t in drawn.terms(level)]}
    return {
        "what": drawn.what,
        "level": level,
        "resamples": len(drawn.intercepts),
        "seed": drawn.seed,
        "groups": drawn.groups,
        "training_table": drawn.same_table,
        "redrawn": drawn.redrawn,
        "unconverged": drawn.unconverged,
        **(terms if found is None else found.to_dict()),
    }


def _terms_view(terms: list[Interval], level: float) -> Table:
    table = table_of((">coefficient", f">{level:.0%} from", ">to", ">zero", "term"))
    for t in terms:
        zero = "" if t.zero is None else f"{t.zero:.0%}"
        table.add_row(*_ends(t), zero, f"{t.name}: {t.text}" if t.text else t.name)
    return table


def _case_view(found: CaseIntervals, level: float) -> Table:
    table = table_of((">adds", f">{level:.0%} from", ">to", "what"))
    for component in found.components:
        table.add_row(*_ends(component), f"{component.name}: {component.text}")
    table.add_row(*_ends(found.score), Text("score", "bold"))
    chance = found.probability
    shown = [f"{value:.4f}" for value in (chance.estimate, chance.low, chance.high)]
    table.add_row(*shown, Text("probability", "bold"))
    return table


def _ends(interval: Interval) -> list[Text]:
    return [coefficient(value) for value in (interval.estimate, interval.low, interval.high)]

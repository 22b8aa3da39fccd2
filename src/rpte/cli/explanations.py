"""`rpte explain`, `whatif` and `counterfactual`: one case, looked at closely."""

from __future__ import annotations

from typing import Annotated, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.classes import (
    all_classes,
    all_classes_record,
    all_classes_view,
    class_record,
    class_view,
    moved_classes,
    moved_view,
    named_class,
    probabilities,
)
from rpte.cli.options import (
    Case,
    MaybePath,
    Names,
    check_beside,
    option,
    pairs,
    rows_for,
    say_beside,
)
from rpte.cli.show import (
    QUIET,
    coefficient,
    explanation_record,
    explanation_view,
    response_name,
    response_text,
)
from rpte.cli.survival import (
    Horizon,
    Horizons,
    StrataColumn,
    asked_at,
    horizon_times,
    refuse_survival,
)
from rpte.cli.terminal import console, print_found, table_of
from rpte.counterfactual import Actions, Answer, ClassCounterfactuals, Counterfactuals
from rpte.counterfactual.actions import read_actions
from rpte.errors import InputError
from rpte.figures.case import CaseFigure
from rpte.figures.svg import TITLE_ROOM, document, drawing
from rpte.model.classes import ClassesModel
from rpte.model.explain import Explanation, value_text
from rpte.model.explanations import check_order
from rpte.model.file import load_one
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.model.what_if import WhatIf
from rpte.table.column import parse_number
from rpte.table.decimals import number_text
from rpte.utils.output import check_output, write_text


def explain(
    model: opt.ModelFile,
    table: opt.TableFile,
    row: opt.RowNumber = None,
    case: opt.CaseId = None,
    id_column: opt.IdColumn = None,
    order: Annotated[
        str,
        option(
            "size: the largest first, without zeros; definition: all of them, in the order of the "
            "sum."
        ),
    ] = "size",
    mean: Annotated[
        bool, option("Contributions against their mean in training.", "--mean")
    ] = False,
    label: opt.ClassName = None,
    against: opt.AgainstClass = None,
    every: Annotated[
        bool,
        option("Of several: what each rule adds to the score of every class.", "--all-classes"),
    ] = False,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    horizon: Horizons = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    svg: Annotated[MaybePath, option("Write the sum as a picture to this SVG file too.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Take the score of one case apart, the largest part first.

    Of several classes: why the most probable one and not the next, or --class and not --against.

    Of a number, with --exposure and --offset also its mean for those of the case. Of a time until
    an event, with --horizon also the survival until then.

    Example: rpte explain model.json cases.csv --row 17

    Example: rpte explain model.json cases.csv --id A-1034 --id-column case
    """
    check_order(order)
    check_output(svg, reads=[model, table])
    loaded, beside = load_one(model, "rpte explain"), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    asked, times = _asked_classes(loaded, label, against, every), horizon_times(loaded, horizon)
    read: dict[str, Any] = {"id_column": id_column, "allow_unknown": True, **beside}
    rows = rows_for(loaded, table, missing, **read)
    one = rows.case(row, case, id_column)
    at = asked_at(loaded, rows, times, strata, one.place)
    if isinstance(loaded, ClassesModel):
        _explain_class(loaded, one, asked, every, mean, as_json, order, svg)
        return
    given = {**rows.beside(one, beside), **at}
    found = loaded.explain(one.cells, "mean" if mean else None, **given)[0]
    record = {**one.record, **explanation_record(found)}
    print_found(as_json, record, explanation_view(found, one.title, order))
    _draw(found, svg, as_json)


def _draw(found: Explanation, svg: MaybePath, as_json: bool) -> None:
    """Write the picture of a sum, if one is asked for."""
    if svg is None:
        return
    case = CaseFigure.of(found)
    panel = case.panel()
    panel.title, panel.height = case.title, panel.height + TITLE_ROOM
    write_text(document(*drawing(panel)), svg)
    if not as_json:
        console().print(f"Wrote {svg}", soft_wrap=True)


def _asked_classes(
    model: Model | ClassesModel, label: str | None, against: str | None, every: bool
) -> dict[str, Any]:
    """Return the classes that a user names; refuse options that do not go with the model."""
    named = {"--class": label, "--against": against, "--all-classes": every or None}
    given = [option for option, value in named.items() if value is not None]
    if given and not isinstance(model, ClassesModel):
        raise InputError(f"{given[0]} is for models of several classes; this one has one score")
    if every and len(given) > 1:
        raise InputError(f"--all-classes compares no two classes; leave {given[0]} out")
    if not isinstance(model, ClassesModel):
        return {}
    texts = {"label": ("--class", label), "against": ("--against", against)}
    return {name: named_class(model, *pair) for name, pair in texts.items()}


def _explain_class(
    model: ClassesModel,
    one: Case,
    asked: dict[str, Any],
    every: bool,
    mean: bool,
    as_json: bool,
    order: str,
    svg: MaybePath,
) -> None:
    """Print why a case is given one class and not another, or the scores of all classes."""
    if every:
        if svg is not None:
            raise InputError("--svg draws one class against another; leave --all-classes out")
        told = all_classes(model, one, mean)
        record = {**one.record, **all_classes_record(model, told)}
        print_found(as_json, record, *all_classes_view(model, told, one.title, console().width))
        return
    (found,) = model.explain(one.cells, "mean" if mean else None, **asked)
    print_found(as_json, {**one.record, **class_record(found)}, class_view(found, one.title, order))
    _draw(found.difference, svg, as_json)


def whatif(
    model: opt.ModelFile,
    table: opt.TableFile,
    changes: Annotated[
        Names, option("NAME=VALUE, once per cell; NAME= makes it missing.", "--set")
    ] = None,
    row: opt.RowNumber = None,
    case: opt.CaseId = None,
    id_column: opt.IdColumn = None,
    horizon: Horizons = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Change values of one case; see which contributions move.

    Of several classes: contributions to the most probable one against the next. Of a time until an
    event, with --horizon also the survival until then, before and after.

    Example: rpte whatif model.json cases.csv --row 17 --set age=50 --set "job=free lance"
    """
    loaded = load_one(model, "rpte whatif")
    asked = pairs("--set", changes, empty=True)
    if not asked:
        raise InputError("say what to change, such as --set age=50")
    times = horizon_times(loaded, horizon)
    rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=True)
    one = rows.case(row, case, id_column)
    cells = {name: value or None for name, value in asked.items()}
    at = asked_at(loaded, rows, times, strata, one.place)
    found, record = loaded.what_if(one.cells, cells, **at), dict(one.record)
    views: list[Any] = [Text(one.title, "italic"), _whatif_view(found)]
    if isinstance(loaded, ClassesModel):
        before, after = moved_classes(loaded, one, cells)
        record["class"] = [loaded.classes[p.index(max(p))] for p in (before, after)]
        record["probabilities"] = [probabilities(loaded, p) for p in (before, after)]
        views += ["", moved_view(loaded, before, after)]
    print_found(as_json, {**record, **found.to_dict()}, *views)


def _whatif_view(found: WhatIf) -> Group:
    lines = [
        Text(f"{name}: {value_text(old)} -> {value_text(new)}")
        for name, (old, new) in found.changes.items()
    ]
    lines += [Text(f"{name} is not read by the model: nothing can move") for name in found.unread]
    shown = found.before.target.shown
    end = Text(f"{response_text(found.before)} -> {shown(found.after.response)}", "bold")
    at = [Text(text, "bold") for text in found.said_at]
    notes = [Text(f"note: {flag}") for flag in found.after.flags]
    return Group(*lines, "", _moves(found), "", end, *at, found.said, *notes)


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
    to: Annotated[
        float | None,
        option(
            "The probability of the positive class, 0.5 by default; the mean of a number; the "
            "survival at --horizon."
        ),
    ] = None,
    side: Annotated[
        str | None, option("below or above it; by default the other side than the case.")
    ] = None,
    to_class: Annotated[str | None, option("Of several classes: the one to be predicted.")] = None,
    keep: Annotated[Names, option("NAME that may not change.")] = None,
    may_change: Annotated[
        Names, option("NAME that may change although it looks like a fact about a person.")
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
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    horizon: Horizon = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Find the cheapest changes that bring a case to a target.

    Variables whose names hold a word like age, sex, status, family or history are kept unless
    --may-change names them.
    Every answer is scored again by the model, and says whether it is proved that none is cheaper.
    Options that name variables may be given several times. Of a number, --to is the mean that
    rpte score gives: with --exposure for the exposure of the case, else for one unit. Of a time
    until an event, --to is the survival at --horizon. Of several classes, --to-class is the one
    that should have the largest score.

    Example: rpte counterfactual model.json cases.csv --row 17 --to 0.3 --keep job --increase income
    """
    loaded, beside = (
        load_one(model, "rpte counterfactual"),
        {"exposure": exposure, "offset": offset},
    )
    check_beside(loaded, beside)
    say_beside(loaded, beside)
    wanted = _goal(loaded, to, side, to_class, horizon)
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
    named: dict[str, Any] = {"id_column": id_column, "allow_unknown": True, **beside}
    rows = rows_for(loaded, table, missing, **named)
    one = rows.case(row, case, id_column)
    given = {role: rows.numbers(role, column) for role, column in beside.items()}
    wanted |= {"actions": asked, "most": at_most, "answers": answers}
    wanted |= {k: float(v[one.place]) for k, v in given.items() if v is not None}
    wanted |= asked_at(loaded, rows, None, strata, one.place)
    found = loaded.counterfactuals(one.cells, **wanted)
    views = Text(one.title, "italic"), _counterfactuals_view(found)
    print_found(as_json, {**one.record, **found.to_dict()}, *views)


def _goal(
    model: Model | ClassesModel,
    to: float | None,
    side: str | None,
    to_class: str | None,
    horizon: float | None,
) -> dict[str, Any]:
    """Return what is to be reached; refuse options that do not go with the model."""
    refuse_survival(model, [] if horizon is None else ["--horizon"])
    if isinstance(model, ClassesModel):
        if to is not None or side is not None:
            given = "--to" if to is not None else "--side"
            raise InputError(f"{given} is for models of one score; name a class with --to-class")
        if to_class is None:
            known = ", ".join(map(str, model.classes))
            raise InputError(f"--to-class: say which class is to be reached, one of {known}")
        return {"to": named_class(model, "--to-class", to_class)}
    if to_class is not None:
        raise InputError("--to-class is for models of several classes; give --to")
    target = model.target
    if isinstance(target, SurvivalTarget) and horizon is None:
        raise InputError(
            f"--horizon: say when survival is asked for, up to {target.when(target.end)}"
        )
    if to is None and not isinstance(target, Target):
        what = target.response_text if horizon is None else f"survival at {horizon:g}"
        raise InputError(f"--to: say which {what} is to be reached")
    return {"to": to, "side": side, **({} if horizon is None else {"horizon": horizon})}


def _numbers(option: str, texts: Names) -> dict[str, float]:
    found = {}
    for name, text in pairs(option, texts).items():
        number = parse_number(text)
        if number is None:
            raise InputError(f"{option} {name}={text}: {text!r} is no number")
        found[name] = number
    return found


def _allowed(model: Model | ClassesModel, texts: dict[str, str]) -> dict[str, list[Any]]:
    """Return ranges and lists of levels; what they must be is checked with all other actions."""
    found: dict[str, list[Any]] = {}
    for name, text in texts.items():
        number = name in model.schema.names and model.schema[name].kind == "number"
        parts = [part.strip() for part in text.split(":" if number else ",")]
        found[name] = [parse_number(part) if number else part for part in parts]
        if number and (len(parts) != 2 or None in found[name]):
            raise InputError(f"--allow {name}={text}: write LOW:HIGH, such as {name}=0:100")
    return found


def _counterfactuals_view(found: Counterfactuals | ClassCounterfactuals) -> Group:
    """Return every answer as a small table, and how costs are counted."""
    parts: list[Any] = [
        Text(" ".join(found.changeable.sentences("--keep", "--may-change"))),
        Text(_question(found)),
    ]
    for number, answer in enumerate(found.answers, 1):
        parts += ["", _answer_view(number, answer)]
    if found.reason:
        parts.append(Text(found.reason, "bold"))
    changed = {c.variable for answer in found.answers for c in answer.changes}
    return Group(*parts, "", *_notes(found, changed))


def _question(found: Counterfactuals | ClassCounterfactuals) -> str:
    """Say what is predicted, and what is wanted."""
    if isinstance(found, ClassCounterfactuals):
        return found.said
    said = response_name(found.predicts, found.exposure, found.offset)
    move = "raise" if found.wanted.startswith("at least") else "lower"
    now = found.predicts.shown(found.response)
    return f"{said} is {now}; what would {move} it to {found.wanted}?"


def _answer_view(number: int, answer: Answer) -> Group:
    if not answer.changes:
        return Group(Text("it is there already: nothing has to change", "bold"))
    rows = [
        (change.variable, value_text(change.old), value_text(change.new), f"{change.cost:.4f}")
        for change in answer.changes
    ]
    head = f"{number}. {answer.reached}, cost {answer.cost:.4f} ({answer.proof})"
    table = table_of(("variable", ">now", ">then", ">cost"), rows)
    return Group(Text(head, "bold"), table, *(Text(f"note: {flag}") for flag in answer.flags))


def _notes(found: Counterfactuals | ClassCounterfactuals, changed: set[str]) -> list[str]:
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
    levels = "A level, a special code or a missing cell that is filled counts as 1."
    start = f"Cost of a change: its size, plus {found.per_change:g}, times the variable's factor."
    again = "Each further answer leaves a variable of every earlier one as it is."
    return [f"{start} {levels}", *numbers, *([again] if len(found.answers) > 1 else [])]

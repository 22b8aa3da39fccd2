"""`rpte explain`, `whatif`, `counterfactual` and `uncertainty`: one case, looked at closely."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.class_uncertainty import show_class_bootstrap
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
    targets,
)
from rpte.cli.show import (
    QUIET,
    coefficient,
    explanation_record,
    explanation_view,
    response_name,
    response_text,
)
from rpte.cli.terminal import console, print_found, progress, table_of
from rpte.counterfactual import Actions, Answer, ClassCounterfactuals, Counterfactuals
from rpte.counterfactual.actions import read_actions
from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.explain import WhatIf, value_text
from rpte.model.file import load
from rpte.model.model import Model
from rpte.model.target import NumberTarget
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
    label: opt.ClassName = None,
    against: opt.AgainstClass = None,
    every: Annotated[
        bool,
        option("Of several: what each rule adds to the score of every class.", "--all-classes"),
    ] = False,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Take the score of one case apart: what each rule adds, in the order of the sum.

    Of several classes: why the most probable one and not the next, or --class and not --against.

    Of a number, with --exposure and --offset also its mean for those of the case.

    Example: rpte explain model.json cases.csv --row 17

    Example: rpte explain model.json cases.csv --id A-1034 --id-column case
    """
    loaded, beside = load(model), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    asked = _asked_classes(loaded, label, against, every)
    read: dict[str, Any] = {"id_column": id_column, "allow_unknown": True, **beside}
    rows = rows_for(loaded, table, missing, **read)
    one = rows.case(row, case, id_column)
    if isinstance(loaded, ClassesModel):
        _explain_class(loaded, one, asked, every, mean, as_json)
        return
    given = rows.beside(one, beside)
    found = loaded.explain(one.cells, "mean" if mean else None, **given)[0]
    record = {**one.record, **explanation_record(found)}
    print_found(as_json, record, explanation_view(found, one.title))


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
    model: ClassesModel, one: Case, asked: dict[str, Any], every: bool, mean: bool, as_json: bool
) -> None:
    """Print why a case is given one class and not another, or the scores of all classes."""
    if every:
        told = all_classes(model, one, mean)
        record = {**one.record, **all_classes_record(model, told)}
        print_found(as_json, record, *all_classes_view(model, told, one.title, console().width))
        return
    (found,) = model.explain(one.cells, "mean" if mean else None, **asked)
    print_found(as_json, {**one.record, **class_record(found)}, class_view(found, one.title))


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

    Of several classes: contributions to the most probable one against the next.

    Example: rpte whatif model.json cases.csv --row 17 --set age=50 --set "job=free lance"
    """
    loaded = load(model)
    asked = pairs("--set", changes, empty=True)
    if not asked:
        raise InputError("say what to change, such as --set age=50")
    rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=True)
    one = rows.case(row, case, id_column)
    cells = {name: value or None for name, value in asked.items()}
    found, record = loaded.what_if(one.cells, cells), dict(one.record)
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
    to: Annotated[
        float | None,
        option("The probability of the positive class, 0.5 by default; the mean of a number."),
    ] = None,
    side: Annotated[
        str | None, option("below or above it; by default the other side than the case.")
    ] = None,
    to_class: Annotated[str | None, option("Of several classes: the one to be predicted.")] = None,
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
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Find the cheapest changes of one case that bring its probability, or mean, to a target.

    Variables whose names hold a word like age, sex or race are kept unless --may-change names them.
    Every answer is scored again by the model, and says whether it is proved that none is cheaper.
    Options that name variables may be given several times. Of a number, --to is the mean that
    rpte score gives: with --exposure for the exposure of the case, else for one unit. Of several
    classes, --to-class is the one that shall have the largest score.

    Example: rpte counterfactual model.json cases.csv --row 17 --to 0.3 --keep job --increase income
    """
    loaded, beside = load(model), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    say_beside(loaded, beside)
    wanted = _goal(loaded, to, side, to_class)
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
    found = loaded.counterfactuals(one.cells, **wanted)
    views = Text(one.title, "italic"), _counterfactuals_view(found)
    print_found(as_json, {**one.record, **found.to_dict()}, *views)


def _goal(
    model: Model | ClassesModel, to: float | None, side: str | None, to_class: str | None
) -> dict[str, Any]:
    """Return what is to be reached; refuse options that do not go with the model."""
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
    if to is None and isinstance(model.target, NumberTarget):
        raise InputError(f"--to: say which {model.target.mean_text} is to be reached")
    return {"to": to, "side": side}


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
    """Say what is predicted, and what shall be."""
    if isinstance(found, ClassCounterfactuals):
        return found.said
    said = response_name(found.predicts, found.exposure, found.offset)
    return f"{said} is {found.predicts.shown(found.response)}; it shall be {found.wanted}"


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
    head = f"{number}. {answer.reached}, cost {answer.cost:.4f} ({proof})"
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
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show how far coefficients (or one case's score) move when training rows are drawn again.

    Bootstrap of Stage 3: terms, thresholds and penalty stay as in the file. Of several classes the
    coefficients of each, or the probabilities of one case.

    Example: rpte uncertainty model.json loans.csv --target bad --row 17
    """
    from rpte.validation.class_uncertainty import class_bootstrap
    from rpte.validation.uncertainty import bootstrap, check_level

    check_level(level)
    loaded, beside = load(model), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    named: dict[str, Any] = {"target": target, "weight": weight_column, "groups": groups, **beside}
    rows = rows_for(loaded, table, missing, id_column=id_column, **named)
    one = None if row is None and case is None else rows.case(row, case, id_column)
    asked: dict[str, Any] = {
        "n": resamples,
        "seed": seed,
        "groups": None if groups is None else rows.frame[groups].to_numpy(),
        "sample_weight": rows.weight(weight_column),
    }
    asked |= {
        role: rows.numbers(role, column) for role, column in beside.items() if column is not None
    }
    y = targets(loaded, rows.frame, target)
    with progress("drawing rows again") as tell:
        asked["tell"] = lambda done: tell("drawing rows again", done, resamples)
        if not isinstance(loaded, ClassesModel):
            drawn = bootstrap(loaded, rows.inputs, y, **asked)
        else:
            of_classes = class_bootstrap(loaded, rows.inputs, y, **asked)
    if isinstance(loaded, ClassesModel):
        show_class_bootstrap(of_classes, one, level, as_json)
        return
    given = {} if one is None else rows.beside(one, beside)
    found = None if one is None else drawn.cases(one.cells, level, **given)[0]
    record = {**(one.record if one else {}), **_record(drawn, found, level)}
    title = [Text(one.title, "italic")] if one else []
    shown = loaded.target.shown
    view = (
        _terms_view(drawn.terms(level), level) if found is None else _case_view(found, level, shown)
    )
    print_found(as_json, record, *title, view, "", _sentence(drawn))


def _sentence(drawn: Bootstrap) -> str:
    notes = [f"What this is: {drawn.what}"]
    if drawn.redrawn:
        one = "one class" if drawn.model.task == "binary" else "one number"
        notes.append(f"{drawn.redrawn} resamples of {one} only were drawn again")
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


def _case_view(found: CaseIntervals, level: float, shown: Callable[[float], str]) -> Table:
    table = table_of((">adds", f">{level:.0%} from", ">to", "what"))
    for component in found.components:
        table.add_row(*_ends(component), f"{component.name}: {component.text}")
    table.add_row(*_ends(found.score), Text("score", "bold"))
    response = found.response
    ends = map(shown, (response.estimate, response.low, response.high))
    table.add_row(*ends, Text(response.name, "bold"))
    return table


def _ends(interval: Interval) -> list[Text]:
    return [coefficient(value) for value in (interval.estimate, interval.low, interval.high)]

"""`rpte uncertainty`: how far coefficients, or the score of one case, move with the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.options import check_beside, option, rows_for
from rpte.cli.show import coefficient
from rpte.cli.survival import (
    EntryColumn,
    EventColumn,
    EventValue,
    StrataColumn,
    SurvivalColumns,
    TimeColumn,
    labelled,
)
from rpte.cli.terminal import print_found, progress, table_of
from rpte.model.classes import ClassesModel
from rpte.model.file import load_one

if TYPE_CHECKING:
    from rpte.validation.uncertainty import Bootstrap, CaseIntervals, Interval

FORM = (
    "Of every term the middle coefficient is 0, which need not be of the same class in every "
    "resample: the differences of two classes are surer than the coefficients of one."
)


def uncertainty(
    model: opt.ModelFile,
    table: opt.TableFile,
    target: Annotated[str | None, option("The outcome in the training table.")] = None,
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
    time: TimeColumn = None,
    event: EventColumn = None,
    event_value: EventValue = None,
    entry: EntryColumn = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show how far coefficients move when rows are drawn again.

    Bootstrap of Stage 3: terms, thresholds and penalty stay as in the file. Of several classes the
    coefficients of each, or the probabilities of one case.

    Example: rpte uncertainty model.json loans.csv --target bad --row 17

    Survival: rpte uncertainty model.json trial.csv --time days --event died
    """
    from rpte.validation.uncertainty import bootstrap, check_level

    check_level(level)
    loaded, beside = load_one(model, "rpte uncertainty"), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    columns = SurvivalColumns(time, event, event_value, entry, strata)
    columns.check(loaded, target)
    named: dict[str, Any] = {"target": target, "weight": weight_column, "groups": groups, **beside}
    rows = rows_for(loaded, table, missing, id_column=id_column, **named, **columns.named)
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
    y, more = labelled(loaded, rows.frame, target, columns)
    asked |= more
    with progress("drawing rows again") as tell:
        asked["tell"] = lambda done: tell("drawing rows again", done, resamples)
        drawn = bootstrap(loaded, rows.inputs, y, **asked)
    title = [Text(one.title, "italic")] if one else []
    given = {} if one is None else rows.beside(one, beside)
    told, views = _shown(drawn, one, level, given)
    record = {**(one.record if one else {}), **_record(drawn, level), **told}
    print_found(as_json, record, *title, *views, _sentence(drawn))


def _shown(
    drawn: Bootstrap, one: opt.Case | None, level: float, given: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    """Return intervals as plain values, and as tables: of all coefficients, or of one case."""
    model = drawn.model
    if not isinstance(model, ClassesModel):
        if one is not None:
            case = drawn.cases(one.cells, level, **given)[0]
            return case.to_dict(), [_case_view(case, level, model.target.shown), ""]
        terms = drawn.terms(level)
        return {"terms": [t.to_dict() for t in terms]}, [_terms_view([terms], (), level), ""]
    if one is not None:
        found = drawn.probabilities(one.cells, level)[0]
        labels = zip(model.classes, found, strict=True)
        told = [{"class": label, **interval.to_dict()} for label, interval in labels]
        return {"probabilities": told}, [_chances_view(found, level), ""]
    by_class = [drawn.terms(level, label) for label in model.classes]
    told = [
        {"class": label, "terms": [t.to_dict() for t in own]}
        for label, own in zip(model.classes, by_class, strict=True)
    ]
    notes = [FORM] if model.training["objective"]["l1_ratio"] == 1.0 else []
    return {"classes": told}, [_terms_view(by_class, model.classes, level), "", *notes]


def _sentence(drawn: Bootstrap) -> str:
    notes = [f"What this is: {drawn.what}"]
    if drawn.redrawn:
        lacks = {"binary": "of one class only", "multiclass": "without one of the classes"}
        what = lacks.get(drawn.model.task, "of one number only")
        notes.append(f"{drawn.redrawn} resamples {what} were drawn again")
    if drawn.unconverged:
        notes.append(f"{drawn.unconverged} fits missed their tolerance")
    return "; ".join(notes) + "."


def _record(drawn: Bootstrap, level: float) -> dict[str, Any]:
    return {
        "what": drawn.what,
        "level": level,
        "resamples": len(drawn.intercepts),
        "seed": drawn.seed,
        "groups": drawn.groups,
        "training_table": drawn.same_table,
        "redrawn": drawn.redrawn,
        "unconverged": drawn.unconverged,
    }


def _terms_view(
    by_class: Sequence[Sequence[Interval]], classes: Sequence[Any], level: float
) -> Table:
    """Return the intervals of all terms; of several classes a line for each, below each other."""
    heads = (">coefficient", f">{level:.0%} from", ">to", ">zero", "term")
    table = table_of(("class", *heads) if classes else heads)
    names = [[str(label)] for label in classes] or [[]]
    for same in zip(*by_class, strict=True):
        for place, (t, name) in enumerate(zip(same, names, strict=True)):
            zero = "" if t.zero is None else f"{t.zero:.0%}"
            said = f"{t.name}: {t.text}" if t.text else t.name
            table.add_row(*name, *_ends(t), zero, "" if place else said)
    return table


def _chances_view(found: Sequence[Interval], level: float) -> Table:
    table = table_of(("class", ">probability", f">{level:.0%} from", ">to"))
    for t in found:
        table.add_row(t.name, *(f"{value:.4f}" for value in (t.estimate, t.low, t.high)))
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

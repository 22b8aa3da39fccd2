"""`rpte uncertainty`: how far coefficients, or the score of one case, move with the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.class_uncertainty import show_class_bootstrap
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
    from rpte.validation.class_uncertainty import class_bootstrap
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

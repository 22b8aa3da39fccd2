"""`rpte uncertainty`: bootstrap intervals of coefficients, or of one case's score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli.cases import CaseId, RowNumber, case_of, title_of
from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, IdColumn, Missing, ModelFile, TableFile, WeightColumn
from rpte.cli.show import coefficient
from rpte.cli.tables import rows_for
from rpte.cli.terminal import console, print_json, progress
from rpte.model.file import load

if TYPE_CHECKING:
    from rpte.validation.uncertainty import Bootstrap, CaseIntervals, Interval


def uncertainty(
    model: ModelFile,
    table: TableFile,
    target: Annotated[str, typer.Option(help="The outcome in the training table.")],
    row: RowNumber = None,
    case: CaseId = None,
    id_column: IdColumn = None,
    resamples: Annotated[int, typer.Option(help="How often rows are drawn again.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    groups: Annotated[
        str | None, typer.Option(help="The column whose rows are drawn together (a patient).")
    ] = None,
    level: Annotated[float, typer.Option(help="Share of resamples inside an interval.")] = 0.95,
    weight_column: WeightColumn = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Show how far coefficients (or one case's score) move when training rows are drawn again.

    Bootstrap of Stage 3: terms, thresholds and penalty stay as in the file.

    Example: rpte uncertainty model.json loans.csv --target bad --row 17
    """
    with told_in_one_line():
        from rpte.table.target import labels_as
        from rpte.validation.uncertainty import bootstrap, check_level

        check_level(level)
        loaded = load(model)
        rows = rows_for(
            loaded,
            table,
            missing,
            id_column=id_column,
            target=target,
            weight=weight_column,
            groups=groups,
        )
        asked = row is not None or case is not None
        named, cells = case_of(rows, row, case, id_column) if asked else ({}, None)
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
        found = None if cells is None else drawn.cases(cells, level)[0]
        if as_json:
            print_json({**named, **_record(drawn, found, level)})
            return
        view = _terms_view(drawn.terms(level), level) if found is None else _case_view(found, level)
        title = [Text(title_of(named), "italic")] if named else []
        console().print(Group(*title, view, "", _sentence(drawn)))


def _sentence(drawn: Bootstrap) -> str:
    notes = (
        [f"{drawn.redrawn} resamples of one class only were drawn again"] if drawn.redrawn else []
    )
    if drawn.unconverged:
        notes.append(f"{drawn.unconverged} fits missed their tolerance")
    return "; ".join([f"What this is: {drawn.what}", *notes]) + "."


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
    table = _table("coefficient", level)
    table.add_column("zero", justify="right", no_wrap=True)
    table.add_column("term", overflow="fold")
    for t in terms:
        zero = "" if t.zero is None else f"{t.zero:.0%}"
        table.add_row(*_numbers(t), zero, f"{t.name}: {t.text}" if t.text else t.name)
    return table


def _case_view(found: CaseIntervals, level: float) -> Table:
    table = _table("adds", level)
    table.add_column("what", overflow="fold")
    for component in found.components:
        table.add_row(*_numbers(component), f"{component.name}: {component.text}")
    table.add_row(*_numbers(found.score), Text("score", "bold"))
    chance = found.probability
    shown = [f"{value:.4f}" for value in (chance.estimate, chance.low, chance.high)]
    table.add_row(*shown, Text("probability", "bold"))
    return table


def _table(first: str, level: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in (first, f"{level:.0%} from", "to"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _numbers(interval: Interval) -> list[Text]:
    return [coefficient(value) for value in (interval.estimate, interval.low, interval.high)]

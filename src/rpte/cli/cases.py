"""The one case of a table that a command is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.cli.explain import find_row
from rpte.cli.tables import Rows, rows_for
from rpte.model.model import Model
from rpte.table.inputs import Inputs

RowNumber = Annotated[int | None, typer.Option(help="Which row: 1 is the first below the header.")]
CaseId = Annotated[str | None, typer.Option("--id", help="Which case: its text in the id column.")]


def case_of(
    rows: Rows, row: int | None, case: str | None, id_column: str | None
) -> tuple[dict[str, Any], Inputs]:
    """Return what names a case, such as ``{"row": 17}``, and its cells."""
    place = find_row(rows, row, case, id_column)
    name, ids = rows.ids(id_column)
    return {name: ids[place]}, rows.inputs.take(slice(place, place + 1))


def read_case(
    model: Model,
    table: Path,
    row: int | None,
    case: str | None,
    id_column: str | None,
    missing: str | None,
) -> tuple[dict[str, Any], Inputs]:
    """Read a table and return one case of it."""
    rows = rows_for(model, table, missing, id_column=id_column, allow_unknown=True)
    return case_of(rows, row, case, id_column)


def title_of(named: dict[str, Any]) -> str:
    """Say which case it is."""
    return ", ".join(f"{name} {value}" for name, value in named.items())

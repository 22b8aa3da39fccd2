"""`rpte explain`: one case's score as a sum that anybody can add up again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, IdColumn, Missing, ModelFile, TableFile
from rpte.cli.show import explanation_view
from rpte.cli.tables import Rows, rows_for
from rpte.cli.terminal import console, print_json
from rpte.errors import InputError, did_you_mean
from rpte.model.file import load


def explain(
    model: ModelFile,
    table: TableFile,
    row: Annotated[
        int | None, typer.Option(help="Which row: 1 is the first below the header.")
    ] = None,
    case: Annotated[
        str | None, typer.Option("--id", help="Which case: its text in the id column.")
    ] = None,
    id_column: IdColumn = None,
    mean: Annotated[
        bool, typer.Option("--mean", help="Contributions against their mean in training.")
    ] = False,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Take the score of one case apart: what each rule adds, in the order of the sum.

    Example: rpte explain model.json cases.csv --row 17

    Example: rpte explain model.json cases.csv --id A-1034 --id-column case
    """
    with told_in_one_line():
        loaded = load(model)
        rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=True)
        place = find_row(rows, row, case, id_column)
        found = loaded.explain(rows.inputs.take(slice(place, place + 1)), "mean" if mean else None)[
            0
        ]
        name, ids = rows.ids(id_column)
        if as_json:
            print_json({name: ids[place], **asdict(found)})
            return
        console().print(explanation_view(found, f"{name} {ids[place]}"))


def find_row(rows: Rows, row: int | None, case: str | None, id_column: str | None) -> int:
    """Return the place of the row that a user names by its number or by its id."""
    if (row is None) == (case is None):
        raise InputError("name one case: --row NUMBER, or --id TEXT with --id-column NAME")
    if row is not None:
        if not 1 <= row <= len(rows.frame):
            raise InputError(f"--row {row}: the table has the rows 1 to {len(rows.frame)}")
        return row - 1
    if id_column is None:
        raise InputError(f"--id {case}: say which column holds it with --id-column NAME")
    texts = [str(value).strip() for value in rows.ids(id_column)[1]]
    places = [place for place, text in enumerate(texts) if text == str(case).strip()]
    if len(places) != 1:
        what = f"in {len(places)} rows" if places else f"in no row{did_you_mean(case, texts)}"
        remedy = "; name one with --row" if places else ""
        raise InputError(f"'{case}' stands {what} of the column '{id_column}'{remedy}")
    return places[0]

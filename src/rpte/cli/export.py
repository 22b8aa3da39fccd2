"""`rpte export`: a model in another form, compared with the original row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.cli import options as opt
from rpte.cli.options import listed, option, output_option, pairs
from rpte.errors import InputError
from rpte.export.target import HOMES
from rpte.model.file import load


def export(
    model: opt.ModelFile,
    output: Annotated[Path, output_option("The file (or folder) to write.")],
    to: Annotated[
        str | None,
        option(f"Target: {', '.join(HOMES)}. Without it, the export at -o is checked again."),
    ] = None,
    check: Annotated[
        opt.MaybePath,
        option("Table to compare on (and to make a scorecard's bins from): CSV, Parquet, Excel."),
    ] = None,
    missing: opt.Missing = None,
    dialect: Annotated[str | None, option("SQL: the dialect.")] = None,
    table_name: Annotated[str | None, option("SQL: the table to score.")] = None,
    contributions: Annotated[
        bool, option("SQL: every contribution as a column.", "--contributions")
    ] = False,
    reasons: Annotated[int | None, option("SQL: so many reason columns.")] = None,
    other: Annotated[
        opt.Names, option("Other options of the target, name=value.", "--option")
    ] = None,
) -> None:
    """Write a model in another form, and prove row by row that it agrees.

    The parity record is written beside it, with .parity.json added to its name. Without --check
    the rows are made from the model's own thresholds and levels.

    Example: rpte export model.json --to sql --dialect postgres -o model.sql

    Check again on a table: rpte export model.json -o model.sql --check table.csv
    """
    from rpte.export import exporting
    from rpte.table.files import read_table
    from rpte.utils.output import check_output

    sql = {"dialect": dialect, "table_name": table_name, "reasons": reasons}
    named = {**sql, "contributions": contributions or None}
    given: dict[str, Any] = {k: value for k, value in named.items() if value is not None}
    given |= {k.replace("-", "_"): value for k, value in pairs("--option", other).items()}
    if to is None:
        check_output(exporting.record_path(output), reads=[model, check, output])
    elif not output.is_dir():
        check_output(
            *exporting.written_paths(output), reads=[model, check, *exporting.files_named(given)]
        )
    found, rows, source = load(model), None, ""
    if check is not None:
        rows = read_table(check, schema=found.schema, missing=listed(missing))
        source = check.name
    if to is not None:
        record = exporting.export_model(found, to, output, rows, rows_from=source, **given)
        typer.echo(f"Wrote {output}")
    elif given:
        raise InputError(f"options {list(given)} without a target; name one with --to")
    else:
        record = exporting.check_export(found, output, rows, rows_from=source)
    typer.echo("\n".join([str(record), *record.notes]))
    if to is None and not record.rows:
        raise InputError(f"{output} could not be compared")
    if not record.holds:
        raise InputError(f"{output} does not agree with {model}")

"""`rpte export`: a model in another form, compared with the original row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.cli.failures import told_in_one_line
from rpte.errors import InputError
from rpte.model.file import load
from rpte.model.model import Model

HIDE = {"show_default": False}


def export(
    model: Annotated[Path, typer.Argument(help="A model file.", **HIDE)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file (or folder) to write.", **HIDE)
    ],
    to: Annotated[
        str | None,
        typer.Option(help="Target; without it, the export at -o is checked again.", **HIDE),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Table to compare on, CSV or Parquet.", **HIDE)
    ] = None,
    dialect: Annotated[str | None, typer.Option(help="SQL: the dialect.", **HIDE)] = None,
    table_name: Annotated[str | None, typer.Option(help="SQL: the table to score.", **HIDE)] = None,
    contributions: Annotated[
        bool, typer.Option("--contributions", help="SQL: every contribution as a column.")
    ] = False,
    reasons: Annotated[
        int | None, typer.Option(help="SQL: so many reason columns.", **HIDE)
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Other options of the target, name=value.", **HIDE)
    ] = None,
) -> None:
    """Write a model as SQL, Python, JavaScript, C or a scorecard, and prove that it agrees.

    The parity record is written beside it, with .parity.json added to its name. Without --check the
    rows are made from the model's own thresholds and levels.

    Example: rpte export model.json --to sql --dialect postgres -o model.sql

    Check again on a table: rpte export model.json -o model.sql --check table.csv
    """
    from rpte.export.exporting import check_export, export_model

    named = {
        "dialect": dialect,
        "table_name": table_name,
        "contributions": contributions or None,
        "reasons": reasons,
    }
    with told_in_one_line():
        given = {name: value for name, value in named.items() if value is not None}
        given |= dict(map(_option, option or []))
        found = load(model)
        rows = None if check is None else _read_rows(check, found)
        source = "" if check is None else check.name
        if to is not None:
            record = export_model(found, to, output, rows, rows_from=source, **given)
            typer.echo(f"Wrote {output}")
        elif given:
            raise InputError(f"options {list(given)} without a target; name one with --to")
        else:
            record = check_export(found, output, rows, rows_from=source)
        typer.echo(f"Compared {record}" if record.rows else str(record).capitalize())
    if not record.holds:
        typer.echo(f"error: {output} does not agree with {model}", err=True)
        raise typer.Exit(1)


def _option(text: str) -> tuple[str, Any]:
    """Read name=value; a value that spells a number or a truth is one."""
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError(f"--option {text!r} is not of the form name=value")
    plain: dict[str, Any] = {"true": True, "false": False}
    try:
        plain[value] = float(value)
        plain[value] = int(value)
    except ValueError:
        pass
    return name.replace("-", "_"), plain.get(value.lower(), plain.get(value, value))


def _read_rows(path: Path, model: Model) -> Any:
    """Return the columns of a table that the model knows."""
    import pandas as pd

    if not path.is_file():
        raise InputError(f"{path} does not exist; give a CSV or Parquet file")
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (ValueError, ImportError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if not model.schema.named:
        return table
    known = set(model.schema.names)
    return table[[name for name in table.columns if str(name) in known]]

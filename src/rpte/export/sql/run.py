"""Run an exported query: in DuckDB or SQLite, on a table made from typed rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rpte.export.cells import Cell, Cells
from rpte.export.form import CategoryInput, Form, Input
from rpte.export.programs import failure
from rpte.export.target import Answers, CannotRunError, Options


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Run the query at `path`; another dialect's in the words of DuckDB or SQLite."""
    from rpte.export.sql.query import write

    dialect, text = options["dialect"], path.read_bytes().decode("utf-8")
    engine = dialect if dialect in ENGINES else "duckdb" if find_spec("duckdb") else "sqlite"
    if engine == "duckdb" and not find_spec("duckdb"):
        raise CannotRunError("duckdb is not installed; install it with pip install 'rpte[sql]'")
    words = {**options, "dialect": engine}
    said = ""
    if engine != dialect:
        text = write(form, words)
        said = f" (the same query in its words; {dialect} itself was not run)"
    columns = table_columns(form, options, cells)
    names, rows, version = ENGINES[engine](text, options["table_name"], columns)
    lines, others = lines_of(form, options, names, rows), others_of(options, names, rows)
    if not options["contributions"]:  # the query computes them too: show them for once
        shown = write(form, {**words, "contributions": True, "reasons": 0})
        names, rows, _ = ENGINES[engine](shown, options["table_name"], columns)
        lines = {**lines_of(form, options, names, rows), **lines}
    return Answers(lines, version + said, others=others)


Columns = list[tuple[str, str, list[Any]]]  # name, type (number, text or truth), cells


def table_columns(form: Form, options: Options, cells: Cells) -> Columns:
    """Return the columns of a table that holds some rows: the inputs, and keys that count them."""
    from rpte.export.sql.query import keys_of

    columns = [(g.name, *_typed(g, cells.columns[g.name])) for g in form.inputs]
    known = {given.name for given in form.inputs}
    places = list(range(cells.n_rows))
    columns += [(key, "number", places) for key in keys_of(options) if key not in known]
    return columns or [("row", "number", places)]


def _typed(given: Input, cells: list[Cell]) -> tuple[str, list[Any]]:
    if isinstance(given, CategoryInput):
        truths = {None: None, "True": True, "False": False}
        if given.boolean and set(cells) <= set(truths):
            return "truth", [truths[cell] for cell in cells]  # type: ignore[index]
        return "text", cells
    if any(isinstance(code, str) for code in given.codes):
        return "text", [repr(cell) if isinstance(cell, float) else cell for cell in cells]
    return "number", cells


def lines_of(
    form: Form, options: Options, names: list[str], rows: Iterable[tuple[Any, ...]]
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the lines that a query's result holds, by name."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    lines = {line.name: options["prefix"] + line.name for line in form.lines}
    return {
        name: np.array(columns[column], np.float64)
        for name, column in lines.items()
        if column in columns
    }


def others_of(
    options: Options, names: list[str], rows: Iterable[tuple[Any, ...]]
) -> dict[str, tuple[Any, ...]]:
    """Return the columns of a query's result that tell reasons, by name."""
    start = f"{options['prefix']}reason_"
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return {n.removeprefix(options["prefix"]): c for n, c in columns if n.startswith(start)}


def _in_sqlite(query: str, table: str, columns: Columns) -> tuple[list[str], list[Any], str]:
    connection = sqlite3.connect(":memory:")
    types = {"number": "REAL", "text": "TEXT", "truth": "INTEGER"}
    try:
        where = create_table(connection, "sqlite", table, columns, types)
        marks = ", ".join("?" * len(columns))
        rows = zip(*(cells for _, _, cells in columns), strict=True)
        connection.executemany(f"INSERT INTO {where} VALUES ({marks})", rows)
        found = connection.execute(query)
        names = [column[0] for column in found.description]
        return names, found.fetchall(), f"SQLite {sqlite3.sqlite_version}"
    except sqlite3.Error as error:
        if "no such function" in str(error):
            raise CannotRunError(f"this SQLite lacks a function: {error}") from error
        raise failure("SQLite", str(error)) from error
    finally:
        connection.close()


def _in_duckdb(query: str, table: str, columns: Columns) -> tuple[list[str], list[Any], str]:
    import duckdb
    import pandas as pd

    connection = duckdb.connect()
    types = {"number": "DOUBLE", "text": "VARCHAR", "truth": "BOOLEAN"}
    try:
        where = create_table(connection, "duckdb", table, columns, types)
        frame = {str(i): pd.Series(cells, dtype=object) for i, (_, _, cells) in enumerate(columns)}
        connection.register("rpte_rows", pd.DataFrame(frame))
        connection.execute(f"INSERT INTO {where} SELECT * FROM rpte_rows")
        found = connection.execute(query)
        names = [column[0] for column in found.description]
        return names, found.fetchall(), f"DuckDB {duckdb.__version__}"
    except duckdb.Error as error:
        raise failure("DuckDB", str(error).partition("\n")[0]) from error
    finally:
        connection.close()


def create_table(
    connection: Any, dialect: str, table: str, columns: Columns, types: dict[str, str]
) -> str:
    """Make the table that a query reads, empty, and return its name as the dialect writes it."""
    from sqlglot import exp

    place = exp.to_table(table, dialect=dialect)
    if place.db and dialect != "sqlite":
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {place.args['db'].sql(dialect)}")
    listed = ", ".join(
        f"{exp.to_identifier(name, quoted=True).sql(dialect)} {types[kind]}"
        for name, kind, _ in columns
    )
    where = place.sql(dialect)
    connection.execute(f"CREATE TABLE {where} ({listed})")
    return where


ENGINES = {"duckdb": _in_duckdb, "sqlite": _in_sqlite}

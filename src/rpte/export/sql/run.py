"""Run an exported query: in DuckDB or SQLite, on a table made from typed rows."""

import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rpte.export.cells import Cell, Cells
from rpte.export.classes import CHOSEN, class_numbers
from rpte.export.form import Form
from rpte.export.inputs import CategoryInput, Input
from rpte.export.programs import failure
from rpte.export.sql.dialects import CLASS, keys_of
from rpte.export.target import Answers, CannotRunError, Options
from rpte.utils.arrays import Floats

Columns = list[tuple[str, str, list[Any]]]  # name, type (number, text or truth), cells
Result = tuple[list[str], list[Any], str]  # names, rows, what ran the query


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Run the query at `path`; another dialect's in the words of DuckDB or SQLite."""
    from rpte.export.sql.query import query_text

    dialect, text = options["dialect"], path.read_bytes().decode("utf-8")
    engine = dialect if dialect in ENGINES else "duckdb" if find_spec("duckdb") else "sqlite"
    if engine == "duckdb" and not find_spec("duckdb"):
        raise CannotRunError("duckdb is not installed; install it with pip install 'rpte[sql]'")
    words, said = {**options, "dialect": engine}, ""
    if engine != dialect:
        text = query_text(form, words)
        said = f" (the same query in its words; {dialect} itself was not run)"
    table, columns = options["table_name"], table_columns(form, options, cells)
    *found, version = ENGINES[engine](text, table, columns)
    lines, others = read_result(form, options, *found)
    if not (
        options["contributions"] or form.classes
    ):  # the query computes them too: show them for once
        text = query_text(form, {**words, "contributions": True, "reasons": 0})
        *found, _ = ENGINES[engine](text, table, columns)
        lines = {**read_result(form, options, *found)[0], **lines}
    return Answers(lines, version + said, others=others)


def read_result(
    form: Form, options: Options, names: list[str], rows: list[Any]
) -> tuple[dict[str, Floats], dict[str, tuple[Any, ...]]]:
    """Return the lines that a query's result holds, and the columns that tell reasons, by name."""
    prefix = options["prefix"]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    lines = {line.name: columns.get(prefix + line.name) for line in form.lines}
    numbers = {n: np.array(c, np.float64) for n, c in lines.items() if c is not None}
    if form.classes:
        numbers[CHOSEN] = class_numbers(form, columns[f"{prefix}{CLASS}"])
    told = {n: c for n, c in columns.items() if n.startswith(f"{prefix}reason_")}
    return numbers, {name.removeprefix(prefix): column for name, column in told.items()}


def table_columns(form: Form, options: Options, cells: Cells) -> Columns:
    """Return the columns of a table that holds some rows: the inputs, and keys that count them."""
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
    if given.words:
        return "text", [repr(cell) if isinstance(cell, float) else cell for cell in cells]
    return "number", cells


def _in_sqlite(query: str, table: str, columns: Columns) -> Result:
    types = {"number": "REAL", "text": "TEXT", "truth": "INTEGER"}
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            where = create_table(connection, "sqlite", table, columns, types)
            marks = ", ".join("?" * len(columns))
            rows = zip(*(cells for _, _, cells in columns), strict=True)
            connection.executemany(f"INSERT INTO {where} VALUES ({marks})", rows)
            return _result(connection.execute(query), f"SQLite {sqlite3.sqlite_version}")
    except sqlite3.Error as error:
        if "no such function" in str(error):
            raise CannotRunError(f"this SQLite lacks a function: {error}") from error
        raise failure("SQLite", str(error)) from error


def _in_duckdb(query: str, table: str, columns: Columns) -> Result:
    import duckdb
    import pandas as pd

    types = {"number": "DOUBLE", "text": "VARCHAR", "truth": "BOOLEAN"}
    frame = {str(i): pd.Series(cells, dtype=object) for i, (_, _, cells) in enumerate(columns)}
    try:
        with duckdb.connect() as connection:
            where = create_table(connection, "duckdb", table, columns, types)
            connection.register("rpte_rows", pd.DataFrame(frame))
            connection.execute(f"INSERT INTO {where} SELECT * FROM rpte_rows")
            return _result(connection.execute(query), f"DuckDB {duckdb.__version__}")
    except duckdb.Error as error:
        raise failure("DuckDB", str(error).partition("\n")[0]) from error


def _result(found: Any, version: str) -> Result:
    return [column[0] for column in found.description], found.fetchall(), version


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

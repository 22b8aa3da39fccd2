"""Records of any kind: tables of many, and the fields of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rpte.model.explain import value_text
from rpte.notebook.card import Card, Number, facts
from rpte.notebook.card import Table as Rows
from rpte.report.numbers import short
from rpte.utils.records import ShownRecords, given_fields

LONGEST = 300  # characters of a value


def records_html(records: ShownRecords) -> str:
    """Return records as a table."""
    names, rows = records.rows()
    cells = [[cell(value) for value in row] for row in rows]
    title = f"{len(rows)} x {type(records[0]).__name__}" if rows else "nothing"  # type: ignore[index]
    return Card(title, (), [Rows(names, cells, where="`to_frame()`")]).html


def fields_html(record: Any) -> str:
    """Return the fields of a record that hold something."""
    pairs = [(name, cell(value)) for name, value in given_fields(record)]
    return Card(type(record).__name__, (), [facts(pairs)]).html


def cell(value: Any) -> Any:
    """Return a value as a cell: numbers to the right, to four digits."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return Number(f"{value:,}")
    if isinstance(value, float):
        return Number(short(value))
    return words(value)


def words(value: Any) -> str:
    """Return a value in words, shortened where it is long."""
    if isinstance(value, str):
        said = value
    elif isinstance(value, Mapping):
        said = ", ".join(f"{key}: {words(each)}" for key, each in value.items())
    elif isinstance(value, Sequence | set | frozenset):
        said = ", ".join(map(words, value))
    elif isinstance(value, float):
        said = value_text(value)
    else:
        shape = getattr(value, "shape", None)
        said = str(value) if shape is None else f"{type(value).__name__} of shape {shape}"
    return said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."

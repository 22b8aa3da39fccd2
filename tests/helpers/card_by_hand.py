"""A person with a printed scorecard: reads the lines of the CSV table, adds the points."""

from __future__ import annotations

import ast
import csv
import math
import re

NUMBER = r"-?[\d.]+(?:e[-+]?\d+)?"


def read_card(path):
    """Return the base points, and for each table its lines as (attribute, points)."""
    tables: dict[int, list[tuple[str, int]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            tables.setdefault(int(row["table"]), []).append((row["attribute"], int(row["points"])))
    return tables.pop(0)[0][1], tables


def add_up(path, row, known):
    """Return the points of a row; in each table exactly one line must apply.

    Parameters
    ----------
    path : Path
    row : mapping from name to cell
    known : mapping from name of a category to its levels
    """
    total, tables = read_card(path)
    for lines in tables.values():
        points = [value for attribute, value in lines if applies(attribute, row, known)]
        if not points:
            points = [value for attribute, value in lines if attribute == "any other case"]
        assert len(points) == 1, (lines, row)
        total += points[0]
    return total


def applies(text, row, known):
    """Tell whether every condition of a line holds for a row."""
    return text != "any other case" and all(
        _holds(part, row, known) for part in text.split(" and ") if part != "known"
    )


def _holds(text, row, known):
    tail = " (or missing)"
    absent_too, text = text.endswith(tail), text.removesuffix(tail)
    name = next(n for n in row if re.match(rf"({NUMBER} < )?{re.escape(n)} ", text))
    cell, absent = row[name], is_absent(row[name])
    before, after = text.split(f"{name} ", 1)
    if after == "is missing":
        return absent
    if absent:
        return absent_too
    if re.match("<=|>|is a number", after):
        return _in_range(before, after, cell)
    text = f"{cell:g}" if isinstance(cell, float) else str(cell)
    return _in_levels(after, text, known.get(name, ()))


def _in_range(before, after, cell):
    low, high = re.match(NUMBER, before), re.match(rf"<= ({NUMBER})", after)
    above = re.match(rf"> ({NUMBER})", after)
    low = float(low[0]) if low else float(above[1]) if above else -math.inf
    return low < float(cell) <= (float(high[1]) if high else math.inf)


def _in_levels(after, cell, levels):
    if after == "is any other level":
        return cell not in levels
    listed = re.fullmatch(r"(?:not )?in (\{.*\})", after)
    after = re.sub(f"^= ({NUMBER})$", r"is '\1'", after)  # a level that is a number
    quoted = listed[1] if listed else f"{{{re.sub('^is (not )?', '', after)}}}"
    named = {str(level) for level in ast.literal_eval(quoted)}
    negated = after.startswith(("not ", "is not "))
    return ((cell if cell in levels else "(other)") in named) != negated


def is_absent(cell):
    """Tell whether a cell of a data frame is missing."""
    return cell is None or cell != cell

"""Which cells hold a number, for databases that cast any text to one, or to NULL."""

from __future__ import annotations

import sqlite3

from sqlglot import exp

from rpte.export.cells import NUMBER_TEXT

# Of a text that is a number: a zero before another digit, with nothing before it but blanks.
LEADING_ZERO = "*[^-+.0-9eE]0[0-9]*"


def is_number(raw: exp.Expr, text: exp.Expr, most: exp.Expr, text_numbers: str) -> exp.Expr | None:
    """Return the test for a cell that a cast reads as the model does; None if it always does.

    `raw` and `text` are a cell of the user's table as it is and as a text, `most` is the largest
    number, and `text_numbers` is that of the `Dialect`.
    """
    match text_numbers:
        case "affinity":
            # Beside a cast to REAL, SQLite compares a text that is a number to its last character
            # as that number, and any other text, or a blob, is larger than every number.
            number = exp.LTE(this=raw.copy(), expression=exp.cast(most, "double"))
            padded = exp.DPipe(this=exp.Literal.string(" "), expression=raw.copy(), safe=True)
            zero = exp.Glob(this=padded, expression=exp.Literal.string(LEADING_ZERO))
            return exp.and_(number, exp.not_(zero), copy=False)
        case "pattern":  # by a function that MySQL and MariaDB share
            parts = [text, exp.Literal.string(NUMBER_TEXT)]
            place = exp.Anonymous(this="REGEXP_INSTR", expressions=parts)
            return exp.EQ(this=place, expression=exp.Literal.number(1))
        case "blank":
            return exp.NEQ(this=text, expression=exp.Literal.string(""))
    return None


def is_given(raw: exp.Expr, text: exp.Expr, text_numbers: str) -> exp.Expr:
    """Return the test for a cell that is not missing, and therefore has to be read."""
    there = exp.not_(raw.copy().is_(exp.null()))
    if text_numbers != "null":
        return there
    return exp.and_(there, exp.NEQ(this=text, expression=exp.Literal.string("NaN")), copy=False)


def misread(text: str, value: float) -> bool:
    """Tell whether SQLite reads a decimal as a neighbour of the float that it stands for."""
    if len(text) < 17:
        return False
    with sqlite3.connect(":memory:") as connection:
        return bool(connection.execute(f"SELECT {text}").fetchone()[0] != value)

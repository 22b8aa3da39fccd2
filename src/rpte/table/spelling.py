"""Which level of a category a cell spells: the one rule of the model and of every export.

A cell is the level that it is to the letter. If it is none, it is the level of the same *plain
form*: without blanks around it, and a number without needless zeros, so that ``10``, ``"10.0"`` and
``" 10"`` are all the level ``10``. A category whose levels are true and false reads every usual
spelling of them. Where several levels have one plain form, only a text that is one of them to the
letter tells which is meant; anything else is refused, and so is a number other than 1 and 0 in a
boolean. What is left is a level that training did not have. The cells of a category of two numbers
are numbers, however they are written; what spells none is refused.
"""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.table.column import (
    MISSING,
    UNSEEN,
    Raw,
    as_one_of_two,
    distinct,
    is_absent,
    level_text,
)
from rpte.table.schema import Variable
from rpte.utils.arrays import Int32s

DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?")
NUMBER_BEGINS = frozenset("0123456789+-.")
# Plain forms in small letters.
TRUTHS = {"true": "True", "t": "True", "1": "True", "false": "False", "f": "False", "0": "False"}


def plain_form(text: str) -> str:
    """Return a text without blanks around it, and a number without needless zeros.

    A number has digits and perhaps a sign and a point. A leading zero makes a code, which stays.

    Examples
    --------
    >>> plain_form(" 10.00 "), plain_form("-0.0"), plain_form("1.50"), plain_form("007")
    ('10', '0', '1.5', '007')
    """
    form = text.strip(" ")
    if not DECIMAL.fullmatch(form):
        return form
    if "." in form:
        form = form.rstrip("0").rstrip(".")
    return "0" if form == "-0" else form


def truth_form(text: str) -> str | None:
    """Return ``True`` or ``False`` for a text that spells one of them, None for any other.

    Examples
    --------
    >>> truth_form("TRUE"), truth_form(" f"), truth_form("1.0"), truth_form("yes")
    ('True', 'False', 'True', None)
    """
    return TRUTHS.get(plain_form(text).lower())


def named_levels(variable: Variable) -> tuple[str, ...]:
    """Return the levels of a category that training knew by name, without the pooled one."""
    return variable.levels[:-1] if variable.pooled else variable.levels


def is_boolean(levels: Sequence[str]) -> bool:
    """Tell whether the levels of a category are true and false, or one of them.

    Booleans have the levels ``False`` and ``True``; in files they may be ``FALSE`` and ``TRUE``.
    """
    words = [level.strip(" ").lower() for level in levels]
    return bool(words) and set(words) <= {"false", "true"} and len(set(words)) == len(words)


def forms_of(levels: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of each form: a truth where they are booleans, else a plain form."""
    boolean = is_boolean(levels)
    found: dict[str, list[str]] = {}
    for level in levels:
        form = truth_form(level) if boolean else plain_form(level)
        assert form is not None
        found.setdefault(form, []).append(level)
    return found


class Spelling:
    """How the cells of one category are read.

    It is `boolean` if its levels are true and false, and `closed` if nothing else was in training,
    so that 2 cannot be anything.
    """

    def __init__(self, variable: Variable) -> None:
        named = named_levels(variable)
        self.name = variable.name
        self.levels = frozenset(variable.levels)
        self.forms = forms_of(named)
        self.boolean = is_boolean(named)
        self.closed = self.boolean and not variable.pooled

    def level(self, cell: Any) -> str | None:
        """Return the level that a cell is, None if it is no known one; the cell is not missing."""
        text = level_text(cell)
        form = truth_form(text) if self.boolean else plain_form(text)
        alike = self.forms.get(form, []) if form is not None else []
        if text in self.levels and (len(alike) < 2 or not _is_number(cell)):
            return text
        if len(alike) > 1:
            raise InputError(
                f"column '{self.name}' holds {cell!r}, which may be any of its levels {alike}; "
                "write it as the one that is meant, as a text"
            )
        if form is None and self.closed and text.lstrip(" ")[:1] in NUMBER_BEGINS:
            raise InputError(
                f"column '{self.name}' was true or false in training and holds {cell!r}; write 1 "
                "or 0, true or false, t or f (in small or capital letters), or leave it empty"
            )
        return alike[0] if alike else None


@lru_cache(maxsize=4096)
def spelling_of(variable: Variable) -> Spelling:
    """Return how the cells of a category are read."""
    return Spelling(variable)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float, np.number, Decimal)) and not isinstance(cell, bool)


def read_levels(column: Raw, variable: Variable) -> tuple[Int32s, dict[str, int]]:
    """Return the level codes of a category column, and how often each unknown level stands in it.

    A level that is not known is the pooled one, or else `UNSEEN`; a missing cell is `MISSING`.
    """
    if variable.numeric:
        numbers, rows = as_one_of_two(column, variable)
        others = Counter(numbers[rows == UNSEEN].tolist())
        return rows, {level_text(number): count for number, count in others.items()}
    index = {level: code for code, level in enumerate(variable.levels)}
    unknown = len(variable.levels) - 1 if variable.pooled else UNSEEN
    cells, inverse = distinct(column, variable.name)
    level = spelling_of(variable).level
    found = ["" if is_absent(cell) else level(cell) for cell in cells]
    codes = [
        MISSING if is_absent(cell) else unknown if text is None else index[text]
        for cell, text in zip(cells, found, strict=True)
    ]
    rows = np.array(codes, np.int32)[inverse]
    if None not in found:
        return rows, {}
    strange: Counter[str] = Counter()
    for cell, text, count in zip(cells, found, np.bincount(inverse).tolist(), strict=True):
        if text is None:
            strange[level_text(cell)] += count
    return rows, dict(strange)

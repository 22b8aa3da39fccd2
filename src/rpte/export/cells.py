"""Rows as a target sees them: numbers, texts and special codes, None for missing."""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.export.form import Constant, Form, Operation, Value, all_nodes
from rpte.export.inputs import CategoryInput, Code, Input, NumberInput
from rpte.table.column import (
    LARGEST,
    as_number,
    as_number_or_special,
    as_one_of_two,
    is_absent,
    level_text,
)
from rpte.table.inputs import columns_of
from rpte.table.spelling import TRUTHS, plain_form, spelling_of, truth_form

Cell = Code | None
UNSEEN = "a level never seen"
PROBES = 400
EXTREMES = [LARGEST, -LARGEST, 1e-300, 5e-324, -5e-324]
# A text that is a number, blanks around it, for engines that cannot be asked what a number is. In
# classes, since some read a backslash twice. Leading zeros are those of a code.
NUMBER_TEXT = (
    "^[[:space:]]*[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?[[:space:]]*$"
)


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of an export's inputs: for each input the cells, None where missing."""

    n_rows: int
    columns: Mapping[str, list[Cell]]

    def rows(self) -> Iterator[dict[str, Cell]]:
        """Yield each row by name."""
        for i in range(self.n_rows):
            yield {name: column[i] for name, column in self.columns.items()}


def read_cells(form: Form, X: Any) -> Cells:
    """Return the cells of each input, read from a table as the model reads it.

    A number is a float, its special codes as `NumberInput` has them; a category is a text.
    """
    model = form.model
    needed = {given.name for given in form.inputs}
    columns = columns_of(X, model.schema, model.settings["limits"]["exclude"], needed)
    by_name = dict(zip(model.schema.names, columns, strict=True))
    cells = {given.name: _cells(form, given, by_name[given.name]) for given in form.inputs}
    return Cells(len(columns[0]), cells)


def _cells(form: Form, given: Input, column: Any) -> list[Cell]:
    cells = column.tolist()
    if isinstance(given, CategoryInput):
        return [None if is_absent(cell) else level_text(cell) for cell in cells]
    variable = form.model.schema[given.name]
    if not given.codes:
        plain = not variable.numeric
        numbers = as_number(column, given.name) if plain else as_one_of_two(column, variable)[0]
        return [None if math.isnan(number) else float(number) for number in numbers]
    numbers, codes = as_number_or_special(column, variable)
    found: list[Cell] = []
    for number, code, cell in zip(numbers, codes, cells, strict=True):
        if code < 0:
            found.append(None if math.isnan(number) else float(number))
        else:  # the cell may hold a copy of the code in single precision
            copy = isinstance(cell, float) and cell in given.codes
            found.append(cell if copy else given.codes[code])
    return found


def to_the_letter(form: Form, cells: Cells) -> Cells:
    """Return the rows with every known level as training spelled it, others in plain form."""
    columns = dict(cells.columns)
    for given in (given for given in form.inputs if isinstance(given, CategoryInput)):
        level = spelling_of(form.model.schema[given.name]).level
        known: dict[Cell, Cell] = {None: None}
        for cell in set(columns[given.name]) - {None}:
            found = level(cell)
            known[cell] = (plain_form(str(cell)) or cell) if found is None else found
        columns[given.name] = [known[cell] for cell in columns[given.name]]
    return Cells(cells.n_rows, columns)


def refuse_texts(cells: Cells, holds: Callable[[str, str], bool], why: str) -> None:
    """Refuse rows with texts that a target reads as another; `holds` is of a name and a text."""
    for name, column in cells.columns.items():
        for row, cell in enumerate(column):
            if isinstance(cell, str) and holds(name, cell):
                raise InputError(
                    f"column '{name}' holds the text {cell!r} (row {row}), {why}; set it missing "
                    "in the table to compare on"
                )


def probe_table(form: Form, rows: int = PROBES) -> dict[str, list[Cell]]:
    """Make rows that try what the model can tell apart; a table that the model reads.

    Each input goes through every number that it is compared with, the floats next to it, every
    special code, every level, also in other spellings, an unseen one and missing; in the last
    quarter of the rows also through the largest and smallest numbers. How the inputs meet is
    random, with a fixed seed. Columns that the model does not read are missing.
    """
    shuffle = random.Random(0)
    table: dict[str, list[Cell]] = {n: [None] * rows for n in form.model.schema.names}
    for given in form.inputs:
        tried, most = _tried(form, given), EXTREMES if isinstance(given, NumberInput) else []
        usual = _spread(tried, rows - rows // 4, shuffle)
        table[given.name] = usual + _spread([*tried, *most], rows // 4, shuffle)
    return table


def _spread(cells: list[Cell], rows: int, shuffle: random.Random) -> list[Cell]:
    """Repeat cells to a number of rows, in random order; each occurs if there is room."""
    tried = shuffle.sample(cells, len(cells))
    return shuffle.sample(list(itertools.islice(itertools.cycle(tried), rows)), rows)


def _tried(form: Form, given: Input) -> list[Cell]:
    if isinstance(given, CategoryInput):
        return list(dict.fromkeys([None, UNSEEN, *given.levels, *_other_spellings(given)]))
    numbers = {0.0, *_compared(form, given)}
    near = {float(np.nextafter(n, n + step)) for n in numbers for step in (-np.inf, 0.0, np.inf)}
    known = {number + 0.0 for number in near if abs(number) <= LARGEST}
    return list(dict.fromkeys([None, *given.codes, *sorted(known)]))


def _other_spellings(given: CategoryInput) -> list[str]:
    """Return cells that are levels, but not to the letter."""
    if given.boolean:
        truths = {truth: level for level in given.levels if (truth := truth_form(level))}
        return [f" {word.title()}" for word, truth in TRUTHS.items() if truth in truths]
    plain = [level for level in given.levels if level not in given.doubtful]
    fraction = {level: "0" if "." in level else ".0" for level in given.numeric()}
    spelled = [f"{form}{zeros}" for form, zeros in fraction.items()]
    return spelled + [f" {given.form(level)} " for level in plain]


def _compared(form: Form, given: NumberInput) -> set[float]:
    """Return the constants that stand beside an input in some comparison or difference."""
    found = set()
    for node in all_nodes(form):
        parts = node.parts if isinstance(node, Operation) and len(node.parts) == 2 else ()
        if Value(given.name) in parts:
            found |= {part.value for part in parts if isinstance(part, Constant)}
    return found

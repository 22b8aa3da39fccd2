"""Hints at what a column may mean: too weak for a warning, good to know before a model is used."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rpte.table.column import parse_number
from rpte.table.inputs import Inputs

Floats = NDArray[np.float64]

FEW = 10  # at most so many whole numbers may be codes
ROWS = 10  # of each, on average
LARGEST = 20  # of them
SHOWN = 5
APART = 0.2  # distance of 0 from all other numbers, in their range
LONG = {"m": "male", "f": "female", "w": "woman", "y": "yes", "n": "no", "t": "true"}


def hints_of(inputs: Inputs) -> tuple[str, ...]:
    """Return one line for each thing that deserves a look."""
    return tuple(
        text
        for text in (_codes(inputs), _zeros(inputs), _spellings(inputs), _numbers_as_text(inputs))
        if text
    )


def _codes(inputs: Inputs) -> str:
    """Say which numbers have few whole values, as codes have."""
    found = {name: held for name, column in _numbers(inputs) if len(held := _few_whole(column))}
    if not found:
        return ""
    shown = [f"'{name}' ({_values(held)})" for name, held in list(found.items())[:SHOWN]]
    return (
        f"{_listed(shown, len(found))}: few whole numbers; if they are codes and no amounts or "
        "grades, make them categories (astype('category'), or astype(str))"
    )


def _few_whole(column: Floats) -> Floats:
    """Return the values of a column of few whole numbers, none for any other, and for 0 and 1."""
    none = np.zeros(0)
    head = column[: FEW * ROWS]
    if len(np.unique(head[~np.isnan(head)])) > FEW:
        return none
    values = np.unique(column[~np.isnan(column)])
    few = 2 <= len(values) <= FEW and len(column) >= ROWS * len(values)
    whole = few and bool((values == np.rint(values)).all() and np.abs(values).max() <= LARGEST)
    return none if not whole or set(values) == {0.0, 1.0} else values


def _zeros(inputs: Inputs) -> str:
    """Say where 0 stands apart from all other numbers of a column."""
    found = [f"'{name}'" for name, column in _numbers(inputs) if _zero_apart(column)]
    if not found:
        return ""
    return (
        f"{_listed(found[:SHOWN], len(found))}: 0 stands apart from all other numbers; if it means "
        "not measured, say so (special_values={name: [0]})"
    )


def _zero_apart(column: Floats) -> bool:
    if not len(column) or np.fmin.reduce(column) != 0.0:
        return False
    rest = column[column > 0.0]
    if len(np.unique(rest[: 10 * FEW])) <= FEW or (column == 0.0).sum() < 2:
        return False
    return bool(rest.min() >= APART * (rest.max() - rest.min()))


def _spellings(inputs: Inputs) -> str:
    """Say which levels of a category may be one, written differently."""
    found = []
    for variable in inputs.schema.variables:
        if variable.kind == "category":
            alike: dict[str, list[str]] = {}
            for level in variable.levels:
                alike.setdefault(_spelled(level), []).append(level)
            twice = ["/".join(levels) for levels in alike.values() if len(levels) > 1]
            found += [f"'{variable.name}' ({', '.join(twice[:SHOWN])})"] if twice else []
    if not found:
        return ""
    return (
        f"{_listed(found[:SHOWN], len(found))}: levels that differ in spelling alone; if they mean "
        "the same, write them alike"
    )


def _spelled(level: str) -> str:
    plain = "".join(level.split()).casefold()
    return LONG.get(plain, plain)


def _numbers_as_text(inputs: Inputs) -> str:
    """Say which categories hold nothing but numbers in text."""
    found = [
        f"'{variable.name}'"
        for variable in inputs.schema.variables
        if variable.kind == "category"
        and variable.levels
        and all(parse_number(level) is not None for level in variable.levels)
    ]
    if not found:
        return ""
    return (
        f"{_listed(found[:SHOWN], len(found))}: levels that are numbers, in text or declared a "
        "category; if they are amounts, make them numbers (astype(float))"
    )


def _numbers(inputs: Inputs) -> Iterator[tuple[str, Floats]]:
    for place, variable in enumerate(inputs.schema.variables):
        if variable.kind == "number":
            yield variable.name, inputs.columns[place]


def _values(values: Floats) -> str:
    texts = [str(int(value)) for value in values]
    steps = len(values) > 2 and bool((np.diff(values) == 1).all())
    return f"{texts[0]} to {texts[-1]}" if steps else ", ".join(texts)


def _listed(shown: list[str], count: int) -> str:
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more

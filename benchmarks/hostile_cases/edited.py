"""Edits of every kind on every task, one upon another, each followed by `verify`."""

from __future__ import annotations

import random
import warnings
from functools import cache
from typing import Any

from test_edits import TASKS, assert_edited, edits_of_kinds, fitted_task

import rpte
from hostile_cases.case import Case, Result

SEQUENCES, LONGEST = 6, 5
# What an edit is refused for: it changes nothing, or a leaf of a pair has been merged or dropped.
REFUSALS = ("changes nothing", "below one test", "no such", "nothing to edit", "named twice")


@cache
def fitted(task: str, seed: int) -> Any:
    """Return a model with its table and weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted_task(task, seed)


def _edit(result: Result, what: str, model: Any, given: Any, asked: Any) -> Any:
    """Try an edit; return what it leaves, the model itself if it is refused or wrong."""
    try:
        edited = assert_edited(model, *given, asked)
    except rpte.InputError as error:
        told = any(words in str(error) for words in REFUSALS)
        result.expect(told, f"{what}, {asked}: refused: {str(error)[:200]}")
        return model
    except Exception as error:  # wrong, or a crash
        said = f"{type(error).__name__}: {str(error).strip()[:300]}"
        result.expect(False, f"{what}, {asked}: {said}")
        return model
    result.expect(True, "")
    return edited


def single(seed: int) -> Result:
    """Every leaf, pair of leaves, tree, term and variable by itself."""
    result = Result()
    for task in TASKS:
        model, *given = fitted(task, seed + 3)
        for edits in edits_of_kinds(model).values():
            for asked in edits:
                _edit(result, f"{task} {seed}", model, given, asked)
    return result


def sequences(seed: int) -> Result:
    """Several edits, one upon another, each of a random kind."""
    result = Result()
    for task in TASKS:
        first, *given = fitted(task, seed + 3)
        for number in range(SEQUENCES):
            rng, model = random.Random(f"{task} {seed} {number}"), first
            for _ in range(rng.randrange(2, LONGEST + 1)):
                kinds = edits_of_kinds(model)
                if kinds:
                    asked = rng.choice(kinds[rng.choice(list(kinds))])
                    model = _edit(result, f"{task} {seed} {number}", model, given, asked)
    return result


CASES = [
    Case("one edit of each leaf, pair, tree, term and variable: verified", single),
    Case("edits one upon another: verified", sequences),
]

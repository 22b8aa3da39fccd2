"""Two models of several classes side by side: as `compare`, with a coefficient for each class."""

from collections import Counter
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.compare_parts import (
    MOVED_MOST,
    Comparison,
    Group,
    Term,
    facts,
    matched,
    moves_by_group,
    spread,
    stated,
    term_tests,
)
from rpte.model.file import to_dict
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats


def compare_classes(
    a: ClassesModel, b: ClassesModel, X_a: Any = None, X_b: Any = None
) -> Comparison:
    """Compare two models of the same several classes.

    Parameters
    ----------
    a, b : ClassesModel
    X_a, X_b : table, optional
        The same rows for both models; `X_a` serves both if there is no other.

    Returns
    -------
    Comparison, a dict of plain JSON values
        As that of `rpte.compare`, with `classes`, `intercepts` and `coefficients` by class. How far
        a prediction moves is the probability that goes to other classes, between 0 and 1; how far
        variables move it, the log odds of the two classes that they move furthest apart.
    """
    if a.classes != b.classes:
        raise InputError(
            f"the models have the classes {list(a.classes)} and {list(b.classes)}; only models of "
            "the same outcome can be compared"
        )
    read_a, read_b = set(a.sources), set(b.sources)
    return Comparison(
        {
            "same": to_dict(a)["hash"] == to_dict(b)["hash"],
            "classes": list(a.classes),
            "models": [facts(a), facts(b)],
            "intercepts": [list(a.intercepts), list(b.intercepts)],
            "terms": matched(_active(a), _active(b)),
            "variables": {"added": sorted(read_b - read_a), "removed": sorted(read_a - read_b)},
            **stated(a, b),
            "predictions": None
            if X_a is None
            else _predictions(a, b, a.read(X_a), b.read(X_a if X_b is None else X_b)),
        }
    )


def _active(model: ClassesModel) -> list[Term]:
    tests = term_tests(model.outline)
    return [Term(rule, rule.coefficients, *tests[rule.term]) for rule in model.rules()]


def _predictions(
    a: ClassesModel, b: ClassesModel, rows_a: Inputs, rows_b: Inputs
) -> dict[str, Any]:
    p, q = a.response(rows_a), b.response(rows_b)
    gone = 0.5 * np.abs(q - p).sum(axis=1)
    old, new = a.score(rows_a).argmax(axis=1), b.score(rows_b).argmax(axis=1)
    moves = _moves(a, b, rows_a, rows_b)
    by_variables: list[dict[str, Any]] = [
        {"variables": sorted(group), **spread(move)} for group, move in moves.items() if move.any()
    ]
    counts = Counter(zip(old.tolist(), new.tolist(), strict=True))
    changes = sorted((-n, i, j) for (i, j), n in counts.items() if i != j)
    furthest = np.argsort(-gone, kind="stable")[:MOVED_MOST].tolist()
    return {
        "rows": rows_a.n_rows,
        "probability": spread(gone),
        "classes_changed": int((old != new).sum()),
        "changes": [{"rows": -n, "a": a.classes[i], "b": a.classes[j]} for n, i, j in changes],
        "by_variables": sorted(by_variables, key=lambda m: (-m["mean_size"], m["variables"])),
        "moved_most": [
            {
                "row": row + 1,
                "a": a.classes[old[row]],
                "b": a.classes[new[row]],
                "moved": float(gone[row]),
                "mostly": _mostly(moves, row),
            }
            for row in furthest
            if gone[row] > 0.0
        ],
    }


def _mostly(moves: dict[Group, Floats], row: int) -> list[str]:
    """Return the variables that move a row furthest."""
    furthest: Group = max(moves, key=lambda group: (float(moves[group][row]), sorted(group)))
    return sorted(furthest)


def _moves(a: ClassesModel, b: ClassesModel, rows_a: Inputs, rows_b: Inputs) -> dict[Group, Floats]:
    """Return, by group of variables, how far apart it moves the scores of two classes."""
    pairs = zip(a.models, b.models, strict=True)
    each = [moves_by_group(one, other, rows_a, rows_b) for one, other in pairs]
    return {group: np.ptp([moves[group] for moves in each], axis=0) for group in each[0]}

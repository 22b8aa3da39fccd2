"""Two models side by side: terms, guarantees, and where their predictions part.

Terms are matched by what they test, not by their names or texts. Since each model is a sum over
components, the difference of two scores is a sum over the groups of variables that the components
of both connect: these say where a prediction has moved.
"""

from collections import Counter
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.classes import ClassesModel, one_score
from rpte.model.compare_parts import (
    MOVED_MOST,
    Comparison,
    Group,
    Moves,
    active_terms,
    facts,
    matched,
    moves_by_group,
    spread,
    stated,
)
from rpte.model.file import AnyModel, to_dict
from rpte.model.given import scored_model
from rpte.model.model import Model
from rpte.model.target import Target
from rpte.model.versions import NEWEST
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats

BANDS = 5


def compare(a: AnyModel, b: AnyModel, X_a: Any = None, X_b: Any = None) -> Comparison:
    """Compare two models of the same classes, or of the same number.

    Parameters
    ----------
    a, b : Model or ClassesModel
        If they speak of different classes, b is turned round, so that signs mean the same.
    X_a, X_b : table, optional
        The same rows for both models; `X_a` serves both if there is no other.

    Returns
    -------
    Comparison, a dict of plain JSON values
        `same`, `models`, `intercept`, `terms` (added, removed, changed, kept), `variables`,
        `guarantees` and `settings` that differ, and with rows `predictions`. Of two classes also
        the `positive` one, and whether b was `turned_round`; of a number what its `mean` is, of a
        time its `relative hazard`. Of several classes `classes`, and lists of `intercepts` and
        `coefficients`; how far a prediction moves is the probability that goes to other classes,
        between 0 and 1, and how far variables move it, the log odds of the two classes that they
        move furthest apart.

    Examples
    --------
    >>> from rpte import RPTEClassifier
    >>> X, y = {"x": [0.0, 1.0, 2.0, 3.0] * 10}, [0, 0, 1, 1] * 10
    >>> a = RPTEClassifier(l1=0.1).fit(X, y).model_
    >>> b = RPTEClassifier(l1=0.05).fit(X, y).model_
    >>> found = compare(a, b, X)
    >>> found["same"], len(found["terms"]["added"]), found["settings"]
    (False, 0, [{'name': 'l1', 'a': 0.1, 'b': 0.05}])
    """
    a, b = (scored_model(each, "compare") for each in (a, b))
    if not (isinstance(a, ClassesModel) and isinstance(b, ClassesModel)):
        a, b = (one_score(m, "a comparison with a model of one score") for m in (a, b))
    sign, predicted = _predicted(a, b)
    read_a, read_b = set(a.sources), set(b.sources)
    return Comparison(
        {
            "same": to_dict(a, NEWEST)["hash"] == to_dict(b, NEWEST)["hash"],
            **predicted,
            "models": [facts(a), facts(b)],
            **_intercepts(a, b, sign),
            "terms": matched(active_terms(a), active_terms(b, sign)),
            "variables": {"added": sorted(read_b - read_a), "removed": sorted(read_a - read_b)},
            **stated(a, b),
            "predictions": None
            if X_a is None
            else _predictions(a, b, a.read(X_a), b.read(X_a if X_b is None else X_b), sign),
        }
    )


def _predicted(a: AnyModel, b: AnyModel) -> tuple[float, dict[str, Any]]:
    """Return the sign of b's scores, and what both predict; refuse models of different things."""
    if isinstance(a, ClassesModel):
        _check_classes(a, b, a.classes == b.classes)
        return 1.0, {"classes": list(a.classes)}
    if not all(isinstance(model.target, Target) for model in (a, b)):
        scores = a.target.score_text, b.target.score_text
        if scores[0] != scores[1]:
            raise InputError(
                f"the scores are the {scores[0]}, and the {scores[1]}; only models of the same "
                "outcome can be compared"
            )
        return 1.0, {a.target.response_name: a.target.response_text}
    _check_classes(a, b, set(a.classes) == set(b.classes))
    assert isinstance(b, Model)
    sign = 1.0 if a.target.outcome == b.target.outcome else -1.0
    return sign, {"positive": a.target.outcome, "turned_round": sign < 0}


def _check_classes(a: AnyModel, b: AnyModel, alike: bool) -> None:
    if not alike:
        raise InputError(
            f"the models have the classes {list(a.classes)} and {list(b.classes)}; only models of "
            "the same outcome can be compared"
        )


def _intercepts(a: AnyModel, b: AnyModel, sign: float) -> dict[str, Any]:
    """Return both intercepts, of several classes lists of them."""
    if isinstance(a, ClassesModel):
        return {"intercepts": [list(a.intercepts), list(b.intercepts)]}
    return {"intercept": [a.intercepts[0], sign * b.intercepts[0]]}


def _predictions(
    a: AnyModel, b: AnyModel, rows_a: Inputs, rows_b: Inputs, sign: float
) -> dict[str, Any]:
    moves = moves_by_group(a, b, rows_a, rows_b, sign)
    scores = a.score(rows_a), sign * b.score(rows_b)
    by_variables: list[dict[str, Any]] = [
        {"variables": sorted(group), **spread(move)} for group, move in moves.items() if move.any()
    ]
    by_variables.sort(key=lambda m: (-m["mean_size"], m["variables"]))
    if isinstance(a, ClassesModel):
        return {"rows": rows_a.n_rows, **_of_classes(a, *scores, moves, by_variables)}
    return {"rows": rows_a.n_rows, **_of_one_score(a, *scores, moves, by_variables)}


def _of_one_score(
    a: Model, score_a: Floats, score_b: Floats, moves: Moves, by_variables: list[dict[str, Any]]
) -> dict[str, Any]:
    p, q = a.loss.response(score_a), a.loss.response(score_b)
    furthest = np.argsort(-np.abs(q - p), kind="stable")[:MOVED_MOST]
    changed = {"classes_changed": int(((score_a > 0) != (score_b > 0)).sum())}
    return {
        "score": spread(score_b - score_a),
        a.target.response_name: spread(q - p),
        **(changed if isinstance(a.target, Target) else {}),
        "by_variables": by_variables,
        "by_band": _bands(p, q),
        "moved_most": [
            {"row": row + 1, "a": float(p[row]), "b": float(q[row]), "mostly": _mostly(moves, row)}
            for row in furthest.tolist()
            if p[row] != q[row]
        ],
    }


def _of_classes(
    a: ClassesModel,
    score_a: Floats,
    score_b: Floats,
    moves: Moves,
    by_variables: list[dict[str, Any]],
) -> dict[str, Any]:
    p, q = (np.ascontiguousarray(a.loss.response(s.T).T) for s in (score_a, score_b))
    gone = 0.5 * np.abs(q - p).sum(axis=1)
    old, new = score_a.argmax(axis=1), score_b.argmax(axis=1)
    counts = Counter(zip(old.tolist(), new.tolist(), strict=True))
    changes = sorted((-n, i, j) for (i, j), n in counts.items() if i != j)
    furthest = np.argsort(-gone, kind="stable")[:MOVED_MOST].tolist()
    return {
        "probability": spread(gone),
        "classes_changed": int((old != new).sum()),
        "changes": [{"rows": -n, "a": a.classes[i], "b": a.classes[j]} for n, i, j in changes],
        "by_variables": by_variables,
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


def _mostly(moves: Moves, row: int) -> list[str]:
    """Return the variables that move a row furthest."""
    furthest: Group = max(moves, key=lambda g: (abs(moves[g][row]), sorted(g)), default=Group())
    return sorted(furthest)


def _bands(p: Floats, q: Floats) -> list[dict[str, Any]]:
    """Return how probabilities move in bands of equal size of the first model's probability."""
    order = np.argsort(p, kind="stable")
    return [
        {"rows": len(rows), "a": float(p[rows].mean()), "b": float(q[rows].mean())}
        | {"largest": float(np.abs(q[rows] - p[rows]).max())}
        for rows in np.array_split(order, BANDS)
        if len(rows)
    ]

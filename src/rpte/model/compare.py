"""Two models side by side: terms, guarantees, and where their predictions part.

Terms are matched by what they test, not by their names or texts. Since each model is a sum over
components, the difference of two scores is a sum over the groups of variables that the components
of both connect: these say where a prediction has moved.
"""

from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.classes import ClassesModel, one_score
from rpte.model.compare_classes import compare_classes
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
        `guarantees` and `settings` that differ, and with rows `predictions`. Of classes also the
        `positive` one, and whether b was `turned_round`; of a number what its `mean` is, of a time
        its `relative hazard`; of several classes lists of coefficients, see
        `rpte.model.compare_classes`.

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
    if isinstance(a, ClassesModel) and isinstance(b, ClassesModel):
        return compare_classes(a, b, X_a, X_b)
    a, b = (one_score(m, "a comparison with a model of one score") for m in (a, b))
    sign, predicted = _predicted(a, b)
    read_a, read_b = set(a.sources), set(b.sources)
    return Comparison(
        {
            "same": to_dict(a, NEWEST)["hash"] == to_dict(b, NEWEST)["hash"],
            **predicted,
            "models": [facts(a), facts(b)],
            "intercept": [a.intercept, sign * b.intercept],
            "terms": matched(_active(a), _active(b, sign)),
            "variables": {"added": sorted(read_b - read_a), "removed": sorted(read_a - read_b)},
            **stated(a, b),
            "predictions": None
            if X_a is None
            else _predictions(a, b, a.read(X_a), b.read(X_a if X_b is None else X_b), sign),
        }
    )


def _predicted(a: Model, b: Model) -> tuple[float, dict[str, Any]]:
    """Return the sign of b's scores, and what both predict; refuse models of different things."""
    if not all(isinstance(model.target, Target) for model in (a, b)):
        scores = a.target.score_text, b.target.score_text
        if scores[0] != scores[1]:
            raise InputError(
                f"the scores are the {scores[0]}, and the {scores[1]}; only models of the same "
                "outcome can be compared"
            )
        return 1.0, {a.target.response_name: a.target.response_text}
    if set(a.classes) != set(b.classes):
        raise InputError(
            f"the models have the classes {list(a.classes)} and {list(b.classes)}; only models of "
            "the same outcome can be compared"
        )
    sign = 1.0 if a.target.outcome == b.target.outcome else -1.0
    return sign, {"positive": a.target.outcome, "turned_round": sign < 0}


def _active(model: Model, sign: float = 1.0) -> list[Term]:
    tests = term_tests(model)
    return [Term(rule, sign * rule.coefficient, *tests[rule.term]) for rule in model.rules()]


def _predictions(a: Model, b: Model, rows_a: Inputs, rows_b: Inputs, sign: float) -> dict[str, Any]:
    score_a, score_b = a.score(rows_a), sign * b.score(rows_b)
    p, q = a.loss.response(score_a), a.loss.response(score_b)
    moves = moves_by_group(a, b, rows_a, rows_b, sign)
    furthest = np.argsort(-np.abs(q - p), kind="stable")[:MOVED_MOST]
    by_variables: list[dict[str, Any]] = [
        {"variables": sorted(group), **spread(move)} for group, move in moves.items() if move.any()
    ]
    changed = {"classes_changed": int(((score_a > 0) != (score_b > 0)).sum())}
    return {
        "rows": rows_a.n_rows,
        "score": spread(score_b - score_a),
        a.target.response_name: spread(q - p),
        **(changed if isinstance(a.target, Target) else {}),
        "by_variables": sorted(by_variables, key=lambda m: (-m["mean_size"], m["variables"])),
        "by_band": _bands(p, q),
        "moved_most": [_moved(int(row), p, q, moves) for row in furthest if p[row] != q[row]],
    }


def _moved(row: int, p: Floats, q: Floats, moves: dict[Group, Floats]) -> dict[str, Any]:
    group = max(moves, key=lambda g: (abs(moves[g][row]), sorted(g)), default=frozenset[str]())
    return {"row": row + 1, "a": float(p[row]), "b": float(q[row]), "mostly": sorted(group)}


def _bands(p: Floats, q: Floats) -> list[dict[str, Any]]:
    """Return how probabilities move in bands of equal size of the first model's probability."""
    order = np.argsort(p, kind="stable")
    return [
        {"rows": len(rows), "a": float(p[rows].mean()), "b": float(q[rows].mean())}
        | {"largest": float(np.abs(q[rows] - p[rows]).max())}
        for rows in np.array_split(order, BANDS)
        if len(rows)
    ]

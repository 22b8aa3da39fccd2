"""Two models side by side: terms, guarantees, and where their predictions part.

Terms are matched by what they test, not by their names or texts. Since each model is a sum over
components, the difference of two scores is a sum over the groups of variables that the components
of both connect: these say where a prediction has moved.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.file import to_dict
from rpte.model.model import Model, Rule
from rpte.model.parts import DirectTerm, TreeTerms, joined
from rpte.model.target import NumberTarget
from rpte.model.verify import verify
from rpte.model.versions import NEWEST
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats

Group = frozenset[str]
MOVED_MOST = 10
BANDS = 5


@dataclass(frozen=True, slots=True)
class Term:
    """An active term, with what it tests to the last digit, and up to its thresholds."""

    rule: Rule
    coefficient: float
    centre: float
    exact: str
    alike: str

    def to_dict(self) -> dict[str, Any]:
        """Return what people read of the term."""
        said = {"term": self.rule.term, "text": self.rule.conditions}
        return {**said, "sources": list(self.rule.sources), "coefficient": self.coefficient}


def compare(a: Model, b: Model, X_a: Any = None, X_b: Any = None) -> dict[str, Any]:
    """Compare two models of the same two classes, or of the same number.

    Parameters
    ----------
    a, b : Model
        If they speak of different classes, b is turned round, so that signs mean the same.
    X_a, X_b : table, optional
        The same rows for both models; `X_a` serves both if there is no other.

    Returns
    -------
    dict of plain JSON values
        `same`, `models`, `intercept`, `terms` (added, removed, changed, kept), `variables`,
        `guarantees` and `settings` that differ, and with rows `predictions`. Of classes also the
        `positive` one, and whether b was `turned_round`; of a number what its `mean` is.

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
    sign, predicted = _predicted(a, b)
    read_a, read_b = set(a.sources), set(b.sources)
    return {
        "same": to_dict(a, NEWEST)["hash"] == to_dict(b, NEWEST)["hash"],
        **predicted,
        "models": [_facts(a), _facts(b)],
        "intercept": [a.intercept, sign * b.intercept],
        "terms": _terms(_active(a), _active(b, sign)),
        "variables": {"added": sorted(read_b - read_a), "removed": sorted(read_a - read_b)},
        "guarantees": _different(_claims(a), _claims(b)),
        "settings": _different(_settings(a), _settings(b)),
        "predictions": None
        if X_a is None
        else _predictions(a, b, a.read(X_a), b.read(X_a if X_b is None else X_b), sign),
    }


def _predicted(a: Model, b: Model) -> tuple[float, dict[str, Any]]:
    """Return the sign of b's scores, and what both predict; refuse models of different things."""
    if any(isinstance(model.target, NumberTarget) for model in (a, b)):
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


def _facts(model: Model) -> dict[str, Any]:
    load = model.audit()
    return {
        "hash": to_dict(model)["hash"],
        "training_table": model.data["sha256"],
        "rows": model.data["rows"],
        "terms": load.mu,
        "conditions": load.miu,
        "components": len(model.components),
        "largest_component": max((len(c.sources) for c in model.components), default=0),
    }


def _active(model: Model, sign: float = 1.0) -> list[Term]:
    tests = dict(test for _, part in model.parts() for test in _tests(part))
    return [Term(rule, sign * rule.coefficient, *tests[rule.term]) for rule in model.rules()]


def _tests(part: DirectTerm | TreeTerms) -> Iterator[tuple[str, tuple[float, str, str]]]:
    """Yield the name of each term with its centre, what it tests, and that up to thresholds."""
    if isinstance(part, DirectTerm):
        record = part.column.to_dict()
        shape = [record["kind"], *(record.get(key) for key in ("operation", "formula", "side"))]
        yield part.name, (part.centre, _key(record), _key([*shape, *part.sources]))
        return
    for number, path, _ in part.rules():
        tests = [(condition.split.to_dict(), condition.holds) for condition in path]
        alike = [(test["column"], holds) for test, holds in tests]
        yield part.leaf_name(number), (0.0, _key(tests), _key(alike))


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _terms(a: list[Term], b: list[Term]) -> dict[str, Any]:
    """Match terms that test the same, then those that differ by thresholds and have no rival."""
    by_test = {term.exact: term for term in b}
    pairs = [(term, by_test[term.exact]) for term in a if term.exact in by_test]
    matched = {term.exact for term, _ in pairs}
    removed = [term for term in a if term.exact not in matched]
    added = [term for term in b if term.exact not in matched]
    kinds = [Counter(term.alike for term in terms) for terms in (removed, added)]
    moved = [
        (old, new)
        for old in removed
        for new in added
        if old.alike == new.alike and kinds[0][old.alike] == kinds[1][old.alike] == 1
    ]
    gone = {old.exact for old, _ in moved} | {new.exact for _, new in moved}
    changed = [(x, y) for x, y in pairs if (x.coefficient, x.centre) != (y.coefficient, y.centre)]
    return {
        "added": [term.to_dict() for term in added if term.exact not in gone],
        "removed": [term.to_dict() for term in removed if term.exact not in gone],
        "changed": [{"a": x.to_dict(), "b": y.to_dict()} for x, y in [*changed, *moved]],
        "kept": len(pairs) - len(changed),
    }


def _claims(model: Model) -> dict[str, Any]:
    """Return what a model guarantees, by claim; a check that fails is a claim that is gone."""
    limits, settings = model.settings["limits"], model.settings
    claims: dict[str, Any] = {
        "ownership": model.ownership,
        "bound on the conditions": model.bound,
        "conditions allowed": settings["max_inspection_units"],
        "interactions": limits["interactions"],
    }
    if model.ownership == "component":
        claims["variables in one component, at most"] = settings["max_component_sources"]
    claims |= {f"monotone in {name}": word for name, word in limits["monotone"].items()}
    claims |= {f"does not use {name}": True for name in limits["exclude"]}
    claims |= {f"slope only of {name}": True for name in limits["linear_only"]}
    failed = [check.name for check in verify(model) if not check.holds]
    return claims | {f"check '{name}'": "fails" for name in failed}


def _settings(model: Model) -> dict[str, Any]:
    """Return the parameters of the fit that are no guarantees."""
    said = ("limits", "ownership", "max_component_sources", "max_inspection_units", "profile")
    others = {name: value for name, value in model.settings.items() if name not in said}
    penalty = model.settings["limits"]["penalty"]
    return {**others, **{f"penalty factor of {name}": f for name, f in penalty.items()}}


def _different(a: dict[str, Any], b: dict[str, Any]) -> list[dict[str, Any]]:
    found = [{"name": name, "a": a.get(name), "b": b.get(name)} for name in {**a, **b}]
    return [pair for pair in found if pair["a"] != pair["b"]]


def _predictions(a: Model, b: Model, rows_a: Inputs, rows_b: Inputs, sign: float) -> dict[str, Any]:
    score_a, score_b = a.score(rows_a), sign * b.score(rows_b)
    p, q = a.loss.response(score_a), a.loss.response(score_b)
    moves = _moves(a, b, rows_a, rows_b, sign)
    furthest = np.argsort(-np.abs(q - p), kind="stable")[:MOVED_MOST]
    by_variables: list[dict[str, Any]] = [
        {"variables": sorted(group), **_spread(move)} for group, move in moves.items() if move.any()
    ]
    changed = {"classes_changed": int(((score_a > 0) != (score_b > 0)).sum())}
    return {
        "rows": rows_a.n_rows,
        "score": _spread(score_b - score_a),
        a.target.response_name: _spread(q - p),
        **({} if isinstance(a.target, NumberTarget) else changed),
        "by_variables": sorted(by_variables, key=lambda m: (-m["mean_size"], m["variables"])),
        "by_band": _bands(p, q),
        "moved_most": [_moved(int(row), p, q, moves) for row in furthest if p[row] != q[row]],
    }


def _spread(difference: Floats) -> dict[str, float]:
    size = np.abs(difference)
    return {
        "mean": float(difference.mean()),
        "mean_size": float(size.mean()),
        "size_9_of_10": float(np.quantile(size, 0.9)),
        "largest": float(size.max()),
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


def _moves(a: Model, b: Model, rows_a: Inputs, rows_b: Inputs, sign: float) -> dict[Group, Floats]:
    """Return, by group of variables, how far the second model's sum over it exceeds the first's."""
    groups = joined(c.sources for model in (a, b) for c in model.components)
    moves = {group: np.zeros(rows_a.n_rows) for group in groups}
    for model, rows, factor in ((a, rows_a, -1.0), (b, rows_b, sign)):
        for component in model.components:
            group = next(g for g in groups if g >= set(component.sources))
            moves[group] = moves[group] + factor * component.subtotal(rows)
    return moves

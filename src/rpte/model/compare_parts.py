"""What two models are compared by: their terms, guarantees and settings, and how sums move."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpte.model.classes import ClassRule
from rpte.model.file import AnyModel, to_dict
from rpte.model.model import Rule
from rpte.model.parts import DirectTerm, TreeTerms, joined
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats

Group = frozenset[str]
Moves = dict[Group, Floats]  # how far a group of variables moves each row
MOVED_MOST = 10  # rows that are named


class Comparison(dict[str, Any]):
    """How two models differ, as plain JSON values by name."""

    def __repr__(self) -> str:
        if self["same"]:
            return "Comparison(the same)"
        terms = self["terms"]
        counts = [f"{len(terms[word])} {word}" for word in ("added", "removed", "changed")]
        return f"Comparison(terms: {', '.join(counts)}, {terms['kept']} kept)"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import comparison_html

        return comparison_html(self)


@dataclass(frozen=True, slots=True)
class Term:
    """An active term, with what it tests to the last digit, and up to its thresholds."""

    rule: Rule | ClassRule
    coefficient: float | tuple[float, ...]  # or one for each class
    centre: float
    exact: str
    alike: str

    def to_dict(self) -> dict[str, Any]:
        """Return what people read of the term."""
        said: dict[str, Any] = {"term": self.rule.term, "text": self.rule.conditions}
        said["sources"] = list(self.rule.sources)
        if isinstance(self.coefficient, tuple):
            return {**said, "coefficients": list(self.coefficient)}
        return {**said, "coefficient": self.coefficient}


def facts(model: AnyModel) -> dict[str, Any]:
    """Return the size of a model, and what it was fitted on."""
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


def active_terms(model: AnyModel, sign: float = 1.0) -> list[Term]:
    """Return the active terms; `sign` is that of their coefficients in a model of one score."""
    tests = dict(test for _, part in model.outline.parts() for test in _tests(part))
    return [
        Term(
            rule,
            rule.coefficients if isinstance(rule, ClassRule) else sign * rule.coefficient,
            *tests[rule.term],
        )
        for rule in model.rules()
    ]


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


def matched(a: list[Term], b: list[Term]) -> dict[str, Any]:
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


def stated(a: AnyModel, b: AnyModel) -> dict[str, list[dict[str, Any]]]:
    """Return the guarantees and the settings that differ."""
    return {
        "guarantees": _different(_claims(a), _claims(b)),
        "settings": _different(_settings(a), _settings(b)),
    }


def _claims(model: AnyModel) -> dict[str, Any]:
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
    for name, said in limits["monotone"].items():
        if isinstance(said, str):
            claims[f"monotone in {name}"] = said
        else:
            claims |= {f"'{label}' monotone in {name}": word for label, word in said.items()}
    claims |= {f"does not use {name}": True for name in limits["exclude"]}
    claims |= {f"slope only of {name}": True for name in limits["linear_only"]}
    failed = [check.name for check in model.verify() if not check.holds]
    return claims | {f"check '{name}'": "fails" for name in failed}


def _settings(model: AnyModel) -> dict[str, Any]:
    """Return the parameters of the fit that are no guarantees."""
    said = ("limits", "ownership", "max_component_sources", "max_inspection_units", "profile")
    others = {name: value for name, value in model.settings.items() if name not in said}
    penalty = model.settings["limits"]["penalty"]
    return {**others, **{f"penalty factor of {name}": f for name, f in penalty.items()}}


def _different(a: dict[str, Any], b: dict[str, Any]) -> list[dict[str, Any]]:
    found = [{"name": name, "a": a.get(name), "b": b.get(name)} for name in {**a, **b}]
    return [pair for pair in found if pair["a"] != pair["b"]]


def spread(difference: Floats) -> dict[str, float]:
    """Return the mean and the sizes of differences."""
    size = np.abs(difference)
    return {
        "mean": float(difference.mean()),
        "mean_size": float(size.mean()),
        "size_9_of_10": float(np.quantile(size, 0.9)),
        "largest": float(size.max()),
    }


def moves_by_group(
    a: AnyModel, b: AnyModel, rows_a: Inputs, rows_b: Inputs, sign: float = 1.0
) -> Moves:
    """Return, by group of variables, how far the second model's sum over it exceeds the first's.

    Of several classes, how far apart it moves the scores of two of them.
    """
    scores = list(zip(a.models, b.models, strict=True))
    groups = joined(c.sources for model in scores[0] for c in model.components)
    moves = {group: np.zeros((len(scores), rows_a.n_rows)) for group in groups}
    for k, (mine, its) in enumerate(scores):
        for model, rows, factor in ((mine, rows_a, -1.0), (its, rows_b, sign)):
            for component in model.components:
                group = next(g for g in groups if g >= set(component.sources))
                moves[group][k] += factor * component.subtotal(rows)
    return {g: move[0] if len(scores) == 1 else np.ptp(move, axis=0) for g, move in moves.items()}

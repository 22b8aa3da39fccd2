"""A model of several classes as plain values: what each term says of each, and cases taken apart.

Cards are those of the score of each class, as `cards` makes them of two classes, put together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rpte.figures.case import CaseFigure
from rpte.figures.effect import Record, effect_records
from rpte.figures.subject import Subject
from rpte.figures.surface import surface_records
from rpte.model.class_explanation import ClassExplanation
from rpte.model.classes import ClassesModel
from rpte.model.effect import Background
from rpte.report.cards import cards, explanation_contents, finite
from rpte.report.evidence import Evidence
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats

UNIT = "the score of a class"
MOST_TYPICAL, MOST_WRONG = 6, 4  # cases that are shown


def class_cards(
    model: ClassesModel, inputs: Inputs | None, rows: Background | None
) -> list[Record]:
    """Return every component in order, with what it adds to the score of each class."""
    of_classes = [cards(each, inputs) for each in model.models]
    subject = Subject(model, rows)
    return [_card(subject, same) for same in zip(*of_classes, strict=True)]


def _card(subject: Subject, same: Sequence[Record]) -> Record:
    """Return one component from its cards in the scores of all classes."""
    first, component = same[0], subject.outline.components[subject.place(same[0]["sources"][0])]
    rules = [rule for rule in subject.model.rules() if rule.component == first["name"]]
    trees = [*zip(*(card["trees"] for card in same), strict=True)]
    return {
        **{key: first[key] for key in ("name", "sources")},
        "mu": len(rules),
        "miu": sum(rule.inspection_units for rule in rules),
        "ranges": None if first["range"] is None else [card["range"] for card in same],
        "trees": [{"name": each[0]["name"], "classes": list(each)} for each in trees],
        "leaves": [leaf for each in trees for leaf in _leaves(each)],
        "direct": [_term(terms) for terms in zip(*(c["direct"] for c in same), strict=True)],
        "shapes": effect_records(subject, component),
        "surfaces": surface_records(subject, component),
    }


def _term(terms: Sequence[Record]) -> Record:
    """Return a direct term with its coefficient and the share of rows in every class."""
    first = terms[0]
    shared = (
        "name",
        "text",
        "kind",
        "binary",
        "sources",
        "support",
        "step_words",
        "unit_words",
        "centre",
    )
    return {**{key: first[key] for key in shared}, **_in_classes(terms)}


def _in_classes(terms: Sequence[Record]) -> Record:
    return {
        "coefficients": [term["coefficient"] for term in terms],
        "rates": [term["rate"] for term in terms],
    }


def _leaves(trees: Sequence[Record]) -> Iterator[Record]:
    """Yield the leaves of a tree that say something of some class, as direct terms are told."""
    for leaves in zip(*(tree["leaves"] for tree in trees), strict=True):
        if any(leaf["coefficient"] for leaf in leaves):
            told = {key: leaves[0][key] for key in ("name", "support")}
            yield {**told, "text": leaves[0]["conditions"], "binary": True, **_in_classes(leaves)}


def classes_identity(model: ClassesModel) -> Record:
    """Return what a page says of several classes; weights of training count class factors."""
    totals, rates = model.target.totals, model.loss.response(np.array(model.intercepts)[:, None])
    classes = [
        {
            "name": str(label),
            "total": total,
            "share": total / sum(totals),
            "intercept": intercept,
            "intercept_probability": finite(float(rate)),
        }
        for label, total, intercept, rate in zip(
            model.classes, totals, model.intercepts, rates[:, 0], strict=True
        )
    ]
    coefficients = [size for rule in model.rules() for size in rule.coefficients]
    return {
        "classes": classes,
        "class_factors": list(model.training["class_factors"]),
        "coefficients": len(coefficients),
        "zeros": coefficients.count(0.0),
        "intercept": None,
        "score": UNIT,
        "score_unit": UNIT,
    }


def class_cases(model: ClassesModel, evidence: Evidence) -> list[Record]:
    """Return a few rows with the reason why each was taken, and why they are given their class."""
    p = model.response(evidence.inputs)
    chosen: dict[int, str] = {}
    for row, why in _chosen(model, evidence, p):
        chosen.setdefault(row, why)
    rows = np.array(list(chosen), np.intp)
    explained = model.explain(evidence.inputs.take(rows))
    return [
        {
            "why": chosen[int(row)],
            "row": int(evidence.places[row]) + 1,
            "label": None if evidence.labels is None else str(evidence.labels[row]),
            **class_explanation_contents(explanation),
        }
        for row, explanation in zip(rows, explained, strict=True)
    ]


def _chosen(model: ClassesModel, evidence: Evidence, p: Floats) -> Iterator[tuple[int, str]]:
    held = np.flatnonzero(evidence.weight > 0)
    best, names = p.argmax(axis=1), [str(label) for label in model.classes]
    truth = best if evidence.y is None else evidence.y.astype(np.intp)
    said = "rows predicted " if evidence.y is None else ""
    order = np.argsort(-np.array(model.target.totals), kind="stable")
    for k in order[:MOST_TYPICAL]:
        rows = held[truth[held] == k]
        if len(rows):
            own = p[rows, k]
            nearest = int(rows[np.abs(own - np.median(own)).argmin()])
            yield nearest, f"Typical of {said}{names[k]}: nearest to the median of its probability"
    margin = np.diff(np.sort(p, axis=1)[:, -2:], axis=1)[:, 0]
    yield int(held[margin[held].argmin()]), "Undecided: the two most probable classes lie closest"
    wrong = held[best[held] != truth[held]]
    surest = wrong[np.argsort(-p[wrong, best[wrong]], kind="stable")]
    for row in _of_different_pairs(surest, truth, best):
        yield row, f"Wrong: it was {names[truth[row]]}, and {names[best[row]]} was most sure"


def _of_different_pairs(rows: Any, truth: Any, best: Any) -> list[int]:
    """Return the first row of each pair of true and predicted class, a few of them."""
    seen: dict[tuple[int, int], int] = {}
    for row in rows.tolist():
        seen.setdefault((int(truth[row]), int(best[row])), row)
    return list(seen.values())[:MOST_WRONG]


def class_explanation_contents(explanation: ClassExplanation) -> Record:
    """Return why a class and not another as plain values, with the probabilities of all."""
    ranked = sorted(explanation.probabilities.items(), key=lambda pair: -pair[1])
    return {
        "chosen": str(explanation.chosen),
        "against": str(explanation.against),
        "probabilities": [{"name": str(label), "probability": p} for label, p in ranked],
        **explanation_contents(explanation.difference),
        "sum": asdict(CaseFigure.of(explanation)),
    }

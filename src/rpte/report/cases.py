"""Some cases taken apart: typical ones, extreme ones, wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.model.explain import Explanation, value_text
from rpte.model.model import Model
from rpte.report.evidence import Evidence

Floats = NDArray[np.float64]


def cases(model: Model, evidence: Evidence) -> list[dict[str, Any]]:
    """Return a few rows with the reason why each was taken, and their explanations."""
    score = model.score(evidence.inputs)
    chosen: dict[int, str] = {}
    for row, why in _chosen(model, evidence, score):
        chosen.setdefault(row, why)
    rows = np.array(list(chosen), np.intp)
    explained = model.explain(evidence.inputs.take(rows))
    return [
        {
            "why": chosen[int(row)],
            "row": int(evidence.places[row]) + 1,
            "label": None if evidence.labels is None else str(evidence.labels[row]),
            **explanation_contents(explanation),
        }
        for row, explanation in zip(rows, explained, strict=True)
    ]


def _chosen(model: Model, evidence: Evidence, score: Floats) -> Iterator[tuple[int, str]]:
    held = np.flatnonzero(evidence.weight > 0)
    positive, classes = model.classes[model.positive], _by_class(model, evidence, held)
    if not classes:
        yield _nearest(held, score), "Typical: the score nearest to the median"
    for name, rows in classes.items():
        yield _nearest(rows, score), f"Typical of {name}: nearest to the median score of these"
    yield int(held[score[held].argmax()]), f"Extreme: the highest probability of {positive}"
    yield int(held[score[held].argmin()]), f"Extreme: the lowest probability of {positive}"
    for name, rows in classes.items():
        wrong = rows[(score[rows] > 0) != (name == str(positive))]
        if len(wrong):
            worst = int(wrong[np.abs(score[wrong]).argmax()])
            yield worst, f"Wrong: it was {name}, and no other lay further on the wrong side"


def _by_class(
    model: Model, evidence: Evidence, held: NDArray[np.intp]
) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each class that has some, the positive one first."""
    if evidence.y is None:
        return {}
    names = {1.0: model.classes[model.positive], 0.0: model.classes[1 - model.positive]}
    found = {str(name): held[evidence.y[held] == y] for y, name in names.items()}
    return {name: rows for name, rows in found.items() if len(rows)}


def _nearest(rows: NDArray[np.intp], score: Floats) -> int:
    middle = np.median(score[rows])
    return int(rows[np.abs(score[rows] - middle).argmin()])


def explanation_contents(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain values, its inputs as they are printed."""
    record = asdict(explanation)
    for component, plain in zip(explanation.components, record["components"], strict=True):
        plain["given"] = explanation.given(component.sources)
    inputs = {name: value_text(value) for name, value in explanation.inputs.items()}
    return {**record, "inputs": inputs, "positive": str(explanation.positive)}

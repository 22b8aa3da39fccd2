"""The whole model as plain values, each component a card, and some cases taken apart."""

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from rpte.figures.case import CaseFigure
from rpte.figures.effect import Record, effect_records
from rpte.figures.subject import Subject
from rpte.figures.surface import surface_records
from rpte.model.effect import Background
from rpte.model.effects import words_of
from rpte.model.explain import Explanation, value_text
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms, path_text
from rpte.model.steps import typical_step, unit_words
from rpte.model.target import NumberTarget
from rpte.report.evidence import Evidence
from rpte.structure.tree import Branch, Condition
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats, Index


def pictured_cards(model: Model, inputs: Inputs | None, rows: Background | None) -> list[Record]:
    """Return `cards` with effects in words, and what pictures show, averaged over `rows`."""
    subject, words = Subject(model, rows), words_of(model)
    return [
        {
            **card,
            "words": {s: words[s] for s in component.sources if s in words},
            "shapes": effect_records(subject, component),
            "surfaces": surface_records(subject, component),
        }
        for card, component in zip(cards(model, inputs), model.components, strict=True)
    ]


def cards(model: Model, inputs: Inputs | None) -> list[Record]:
    """Return every component in order; ranges are over `inputs`."""
    return [_card(model, component, inputs) for component in model.components]


def _card(model: Model, component: Component, inputs: Inputs | None) -> Record:
    rules = [rule for rule in model.rules() if rule.component == component.name]
    total = None if inputs is None or not inputs.n_rows else component.subtotal(inputs)
    ends = None if total is None else [float(f(total)) for f in (np.min, np.median, np.max)]
    return {
        "name": component.name,
        "sources": list(component.sources),
        "mu": len(rules),
        "miu": sum(rule.inspection_units for rule in rules),
        "range": ends,
        "trees": [tree_card(model, tree) for tree in component.trees],
        "direct": [_term(model, term) for term in component.direct],
    }


def tree_card(model: Model, tree: TreeTerms) -> Record:
    """Return a tree as nested nodes, and its leaves as rows."""
    leaves = [
        {
            "name": tree.leaf_name(n),
            **_counts(model, leaf),
            "conditions": path_text(path, model.schema),
        }
        for n, path, leaf in tree.rules()
    ]
    return {
        "name": tree.name,
        "unit": model.target.score_unit,
        "effect_name": model.loss.effect_name,
        "multiplies": model.loss.effect(0.0) == 1.0,
        "rate_name": "rate" if model.task == "binary" else model.target.mean_name,
        "sources": list(tree.sources),
        "support": sum(leaf.support for leaf in tree.leaves),
        "leaves": leaves,
        "root": _node(model, tree, tree.tree.root),
    }


def _counts(model: Model, term: Leaf | DirectTerm) -> Record:
    step, binary = typical_step(term, model.data), model.task == "binary"
    effect = finite(model.loss.effect(term.coefficient if step is None else step.effect))
    return {
        "support": term.support,
        "events" if binary else "total": term.events,
        "rate": term.events / term.support if term.support else None,
        "coefficient": term.coefficient,
        "effect": effect,
        **({"odds_ratio": effect} if binary else {}),
    }


def _node(model: Model, tree: TreeTerms, node: Branch | int) -> Record:
    """Return the two ways out of a node; a way ends in a leaf's number or in another node."""
    if not isinstance(node, Branch):
        return {"leaf": node, "support": tree.leaves[node].support}
    ways = []
    for holds, child in ((True, node.yes), (False, node.no)):
        below = _node(model, tree, child)
        ways.append({"condition": Condition(node.split, holds).text(model.schema), **below})
    return {"ways": ways, "support": sum(way["support"] for way in ways)}


def _term(model: Model, term: DirectTerm) -> Record:
    step = typical_step(term, model.data)
    return {
        "name": term.name,
        "text": term.text_in(model.schema),
        "kind": term.column.kind,
        "binary": term.column.binary,
        "sources": list(term.sources),
        **_counts(model, term),
        "step": None if step is None else step.size,
        "step_words": None if step is None else step.words,
        "unit_words": unit_words(term.column),
        "centre": term.centre,
    }


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, None for what it cannot."""
    return float(value) if np.isfinite(value) else None


def cases(model: Model, evidence: Evidence) -> list[Record]:
    """Return a few rows with the reason why each was taken, and their explanations."""
    score = model.score(evidence.inputs)
    numbers = isinstance(model.target, NumberTarget)
    chosen: dict[int, str] = {}
    for row, why in (_chosen_numbers if numbers else _chosen)(model, evidence, score):
        chosen.setdefault(row, why)
    rows = np.array(list(chosen), np.intp)
    explained = model.explain(evidence.inputs.take(rows))
    return [
        {
            "why": chosen[int(row)],
            "row": int(evidence.places[row]) + 1,
            **explanation_contents(explanation),
            **(_observed(model, evidence, score, row) if numbers else _label(evidence, row)),
        }
        for row, explanation in zip(rows, explained, strict=True)
    ]


def _label(evidence: Evidence, row: int) -> Record:
    return {"label": None if evidence.labels is None else str(evidence.labels[row])}


def _observed(model: Model, evidence: Evidence, score: Floats, row: int) -> Record:
    """Return the number that was observed, and what was predicted for exposure and offset."""
    mean = _means(model, evidence, score)[row]
    exposure, offset = evidence.exposure, evidence.offset
    return {
        "observed": None if evidence.y is None else float(evidence.y[row]),
        "predicted": finite(float(mean)),
        "exposure": None if exposure is None else float(exposure[row]),
        "offset": None if offset is None else float(offset[row]),
    }


def _means(model: Model, evidence: Evidence, score: Floats) -> Floats:
    assert isinstance(model.target, NumberTarget)
    return model.target.mean(score, evidence.exposure, evidence.offset)


def _chosen_numbers(model: Model, evidence: Evidence, score: Floats) -> Iterator[tuple[int, str]]:
    held, what = np.flatnonzero(evidence.weight > 0), model.target.response_text
    yield nearest(held, score), "Typical: the score nearest to the median"
    yield int(held[score[held].argmax()]), f"Extreme: the highest {what}"
    yield int(held[score[held].argmin()]), f"Extreme: the lowest {what}"
    if evidence.y is None:
        return
    assert isinstance(model.target, NumberTarget)
    plain = model.target.plain(evidence.y, evidence.weight, evidence.exposure, evidence.offset)
    apart = plain.factor * model.loss.unit_deviance(score, plain.y)
    above = evidence.y > _means(model, evidence, score)
    for side, word in ((above, "more"), (~above, "less")):
        rows = held[side[held]]
        if len(rows):
            worst = int(rows[apart[rows].argmax()])
            yield worst, f"Far off: {word} was observed than predicted, with the largest deviance"


def _chosen(model: Model, evidence: Evidence, score: Floats) -> Iterator[tuple[int, str]]:
    held = np.flatnonzero(evidence.weight > 0)
    positive, classes = model.classes[model.positive], _by_class(model, evidence, held)
    if not classes:
        yield nearest(held, score), "Typical: the score nearest to the median"
    for name, rows in classes.items():
        yield nearest(rows, score), f"Typical of {name}: nearest to the median score of these"
    yield int(held[score[held].argmax()]), f"Extreme: the highest probability of {positive}"
    yield int(held[score[held].argmin()]), f"Extreme: the lowest probability of {positive}"
    for name, rows in classes.items():
        wrong = rows[(score[rows] > 0) != (name == str(positive))]
        if len(wrong):
            worst = int(wrong[np.abs(score[wrong]).argmax()])
            yield worst, f"Wrong: it was {name}, and no other lay further on the wrong side"


def _by_class(model: Model, evidence: Evidence, held: Index) -> dict[str, Index]:
    if evidence.y is None:
        return {}
    names = {1.0: model.classes[model.positive], 0.0: model.classes[1 - model.positive]}
    found = {str(name): held[evidence.y[held] == y] for y, name in names.items()}
    return {name: rows for name, rows in found.items() if len(rows)}


def nearest(rows: Index, score: Floats) -> int:
    """Return the one of some rows whose score is nearest to their median."""
    middle = np.median(score[rows])
    return int(rows[np.abs(score[rows] - middle).argmin()])


def explanation_contents(explanation: Explanation) -> Record:
    """Return an explanation as plain values, its inputs as they are printed."""
    target = explanation.target
    record = {
        k: v for k, v in asdict(explanation).items() if k not in ("target", "response", "row")
    }
    record |= {
        target.response_name: explanation.response,
        "caption": target.caption(explanation.response),
        "score_unit": target.score_unit,
        "sum": asdict(CaseFigure.of(explanation)),
    }
    for component, plain in zip(explanation.components, record["components"], strict=True):
        plain["given"] = explanation.given(component.sources)
    inputs = {name: value_text(value) for name, value in explanation.inputs.items()}
    return {**record, "inputs": inputs, "positive": str(explanation.positive)}

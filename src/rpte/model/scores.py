"""Documents of several scores: lists of coefficients and totals, one entry for each score.

A document of several scores and the documents of each of them, as models of two classes, say the
same: the rules for one score are checked on each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from rpte.errors import ModelFileError
from rpte.losses import Multinomial
from rpte.model.target import Target
from rpte.model.validator import Path, place, shown
from rpte.model.versions import ONE_SCORE, Document, without

LISTED = ("coefficient", "target_total")  # of a term
STATES = ("before", "after")  # of an entry of the ledger
FEWEST = 3
FIGURES = "cross_validation"


def stacked(documents: Sequence[Document]) -> Document:
    """Return the document of several scores from those of each."""
    first = documents[0]
    terms = [
        [term for component in each["components"] for term in component["direct"]]
        for each in documents
    ]
    lists = [
        {name: [t[name] for t in same] for name in LISTED} for same in zip(*terms, strict=True)
    ]
    values = iter(lists)
    components = _with_terms(first["components"], lambda term: {**term, **next(values)})
    intercepts = [document["intercept"] for document in documents]
    return {**first, "scores": len(documents), "intercept": intercepts, "components": components}


def taken_apart(document: Document, k: int) -> Document:
    """Return the document of one score of several: its class, and all others.

    Cross-validated figures are of all scores together, and left out.
    """
    training = {
        **without(document["training"], FIGURES),
        "mean_contributions": {
            name: each[k] for name, each in document["training"]["mean_contributions"].items()
        },
        "class_factors": [1.0, 1.0],
    }

    def one(term: Document) -> Document:
        return {**term, **{name: term[name][k] for name in LISTED}}

    return {
        **document,
        **ONE_SCORE,
        "task": Target.task,
        "loss": Target.loss.to_dict(),
        "target": {"classes": [0, 1], "positive": 1, "total": document["target"]["totals"][k]},
        "intercept": document["intercept"][k],
        "components": _with_terms(document["components"], one),
        "training": training,
        **({"ledger": _ledger_of(document, k)} if "ledger" in document else {}),
    }


def _ledger_of(document: Document, k: int) -> list[Document]:
    """Return the ledger as one score has it: its intercepts, and no metrics, which are of all."""

    def one(state: Document) -> Document:
        return {**state, "intercept": state["intercept"][k], "metrics": None}

    return [
        {**entry, **{when: one(entry[when]) for when in STATES}} for entry in document["ledger"]
    ]


def _with_terms(
    components: Sequence[Document], change: Callable[[Document], Document]
) -> list[Document]:
    return [{**each, "direct": [change(term) for term in each["direct"]]} for each in components]


def check_scores(document: Document) -> None:
    """Raise `ModelFileError` where lists do not have an entry for each score."""
    scores, target = document["scores"], document["target"]
    wanted = {"task": "multiclass", "loss": Multinomial(scores).to_dict()}
    for field, value in wanted.items():
        if document[field] != value:
            _refuse((field,), f"is {shown(document[field])}, that of several scores is {value}")
    if scores < FEWEST or "totals" not in target:
        _refuse(("scores",), f"is {scores}; a model of several classes has {FEWEST} or more")
    lists: list[tuple[Path, Any]] = [(("intercept",), document["intercept"])]
    lists += [(("target", name), target[name]) for name in ("classes", "totals")]
    lists.append((("training", "class_factors"), document["training"].get("class_factors")))
    for number, component in enumerate(document["components"]):
        if component["trees"]:
            _refuse(("components", number, "trees"), "must be empty: trees have one score")
        for at, term in enumerate(component["direct"]):
            here: Path = ("components", number, "direct", at)
            lists += [((*here, name), term[name]) for name in LISTED]
    means = document["training"]["mean_contributions"]
    lists += [(("training", "mean_contributions", name), each) for name, each in means.items()]
    for number, entry in enumerate(document.get("ledger", ())):
        for when in STATES:
            lists.append((("ledger", number, when, "intercept"), entry[when]["intercept"]))
            if "accuracy" not in (entry[when]["metrics"] or {"accuracy": None}):
                _refuse(("ledger", number, when, "metrics"), "are not of several classes")
    for path, value in lists:
        if not isinstance(value, list) or len(value) != scores:
            _refuse(path, f"must be a list of {scores}, one entry for each score")
    labels = target["classes"]
    _check_figures(document)
    alike = len({type(label) for label in labels}) == 1
    if not alike or any(not a < b for a, b in pairwise(labels)):
        _refuse(("target", "classes"), "must differ, be of one type, and in order")


def _check_figures(document: Document) -> None:
    """Refuse figures of another task, or of a fit that was edited since."""
    figures, path = document["training"].get(FIGURES), ("training", FIGURES)
    if figures is None:
        return
    if "accuracy" not in figures:
        _refuse(path, f"is not of the task {shown(document['task'])}")
    if "ledger" in document:
        _refuse(path, "is of the fit, which the ledger says was edited")


def _refuse(path: Path, fault: str) -> None:
    raise ModelFileError(f"{place(path)} {fault}")

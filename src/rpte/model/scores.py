"""Documents of several scores: lists of coefficients and totals, one entry for each score.

A document of several scores and the documents of each of them, as models of two classes, say the
same: the rules for one score are checked on each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from rpte.columns.limits import class_directions
from rpte.errors import InputError, ModelFileError
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
        [term for component in each["components"] for term in _terms(component)]
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

    Cross-validated figures and monotone limits are of all scores together, and left out.
    """
    training = {
        **without(document["training"], FIGURES),
        "mean_contributions": {
            name: each[k] for name, each in document["training"]["mean_contributions"].items()
        },
        "class_factors": [1.0, 1.0],
        "monotone": [],
    }
    limits = {**document["settings"]["limits"], "monotone": {}}

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
        "settings": {**document["settings"], "limits": limits},
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
    """Return components whose terms are changed, in the order of `_terms`."""

    def tree(given: Document) -> Document:
        return {**given, "leaves": [change(leaf) for leaf in given["leaves"]]}

    return [
        {
            **each,
            "trees": [tree(given) for given in each["trees"]],
            "direct": [change(term) for term in each["direct"]],
        }
        for each in components
    ]


def _terms(component: Document) -> list[Document]:
    """Return the leaves of a component, then its direct terms."""
    leaves = [leaf for tree in component["trees"] for leaf in tree["leaves"]]
    return [*leaves, *component["direct"]]


def check_one_score(document: Document) -> None:
    """Raise `ModelFileError` where a model of one score has a list in the place of a number."""
    numbers = _listed(document)
    means = document["training"]["mean_contributions"]
    numbers += [(("training", "mean_contributions", name), mean) for name, mean in means.items()]
    for path, value in [(("intercept",), document["intercept"]), *numbers]:
        if isinstance(value, list):
            _refuse(path, "must be a number, not a list: the model has one score")


def _listed(document: Document) -> list[tuple[Path, Any]]:
    """Return what has an entry for each score in leaves and direct terms, with its place."""
    found: list[tuple[Path, Any]] = []
    for number, component in enumerate(document["components"]):
        parts: list[tuple[Path, Document]] = [
            (("trees", at, "leaves", n), leaf)
            for at, tree in enumerate(component["trees"])
            for n, leaf in enumerate(tree["leaves"])
        ]
        parts += [(("direct", at), term) for at, term in enumerate(component["direct"])]
        for where, term in parts:
            found += [(("components", number, *where, name), term[name]) for name in LISTED]
    return found


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
    lists += _listed(document)
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
    _check_limits(document)


def _check_limits(document: Document) -> None:
    """Refuse monotone limits of no class, or of what is no number."""
    monotone, path = document["settings"]["limits"]["monotone"], ("settings", "limits", "monotone")
    numbers = {v["name"] for v in document["schema"]["variables"] if v["kind"] == "number"}
    for name in monotone:
        if name not in numbers:
            _refuse(path, f"names {shown(name)}, no number of the schema")
    try:
        class_directions(monotone, document["target"]["classes"])
    except InputError as error:
        _refuse(path, f"makes no sense: {error}")


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

"""Monotone limits of several classes: their certificates, and the proof from the file alone.

The probability of a class rises with a number, whatever all others are, if the score of the class
does not fall and no other score rises. Scores are sums of terms, so this is shown term by term.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rpte.columns.limits import WORDS, ZERO, class_directions, class_signs, column_effect
from rpte.model.check import MONOTONE, Check, checked, monotone_text

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.parts import DirectTerm

Terms = tuple["DirectTerm", ...]  # one term, as each class has it


def monotone_by_class(model: ClassesModel) -> dict[str, tuple[int, ...]]:
    """Return the direction of each class in the variables that the model claims to be monotone."""
    return class_directions(model.settings["limits"]["monotone"], model.classes)


def signs_by_term(model: ClassesModel) -> dict[str, tuple[int, ...]]:
    """Return the sign that the coefficients of the terms under a limit may have, by term.

    As `class_signs`; a term that no limit admits may have none.
    """
    limits, classes = monotone_by_class(model), len(model.classes)
    nothing = (ZERO,) * classes
    signs = {
        term.name: class_signs(term.column, limits, classes) or nothing
        for term in model.outline.direct
    }
    return {name: found for name, found in signs.items() if any(found)}


def class_certificate(model: ClassesModel) -> list[dict[str, Any]]:
    """Return, for each variable and class under a limit, what the proof rests on.

    The component that reads the variable, and which way each term moves the odds of the class
    against the others when the variable rises (0: it does not move them, or not all one way).
    """
    return [_certificate(model, *limit) for limit in _limits(model)]


def _limits(model: ClassesModel) -> list[tuple[str, int, int]]:
    """Return variable, class and direction of each limit."""
    return [
        (name, k, sign)
        for name, signs in monotone_by_class(model).items()
        for k, sign in enumerate(signs)
        if sign
    ]


def _readers(model: ClassesModel, source: str) -> list[Terms]:
    """Return the terms that read a variable, each as all classes have it."""
    same = zip(*(each.direct for each in model.models), strict=True)
    return [terms for terms in same if source in terms[0].sources]


def _certificate(model: ClassesModel, source: str, k: int, sign: int) -> dict[str, Any]:
    component = next((c for c in model.components if source in c.sources), None)
    return {
        "variable": source,
        "class": str(model.classes[k]),
        "direction": WORDS[sign],
        "component": None if component is None else component.name,
        "leaf_pairs": 0,
        "direct": [
            {"term": terms[0].name, "sign": _odds_move(terms, source, k)}
            for terms in _readers(model, source)
        ],
    }


def _odds_move(terms: Terms, source: str, k: int) -> int:
    effect = column_effect(terms[0].column, source) or 0
    gaps = [effect * (terms[k].coefficient - term.coefficient) for term in terms]
    return int(max(gaps) > 0.0) - int(min(gaps) < 0.0)


def class_limit_checks(model: ClassesModel) -> list[Check]:
    """Return a check for each monotone limit, and one of the stored certificates."""
    checks = [_monotone(model, *limit) for limit in _limits(model)]
    stored, found = list(model.training["monotone"]), class_certificate(model)
    if not (stored or found):
        return []
    faults = [] if stored == found else [f"stored {stored}, found {found}"]
    evidence = f"{len(found)} as stored, found again"
    return [*checks, checked("monotone certificate", faults, evidence)]


def _monotone(model: ClassesModel, source: str, k: int, sign: int) -> Check:
    """The score of a class never moves against a direction, and no other moves along it."""
    readers = _readers(model, source)
    faults = [fault for terms in readers for fault in _faults(model, terms, source, k, sign)]
    evidence = (
        f"{len(readers)} direct terms move the score of {model.classes[k]!r} this way, the others "
        "the other way, or not at all; missing and special codes are outside the claim"
    )
    claim = monotone_text(source, WORDS[sign], str(model.classes[k]))
    return checked(MONOTONE + claim, faults, evidence)


def _faults(model: ClassesModel, terms: Terms, source: str, k: int, sign: int) -> list[str]:
    effect = column_effect(terms[0].column, source)
    if effect is None:
        return [f"{terms[0].name} moves both ways with {source}"]
    return [
        f"{term.name} has the wrong sign for {label!r}"
        for m, (label, term) in enumerate(zip(model.classes, terms, strict=True))
        if (1 if m == k else -1) * effect * sign * term.coefficient < 0
    ]


def pair_directions(
    by_class: Mapping[str, tuple[int, ...]], label: int, other: int
) -> dict[str, str]:
    """Return in which variables the odds of a class against another are monotone, and how."""
    asked = {name: signs[label] or -signs[other] for name, signs in by_class.items()}
    return {name: WORDS[sign] for name, sign in asked.items() if sign}

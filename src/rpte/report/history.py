"""How the model came about: settings, trees tried, models compared, the optimum found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rpte.errors import InputError
from rpte.model.model import Model
from rpte.model.summary import stopped_note
from rpte.report.frontier import read_frontier

TEXTS = ("number", "when", "by", "reason", "hash")


def history(model: Model) -> dict[str, Any]:
    """Return the record of the fit as plain values."""
    training = model.training
    return {
        "settings": dict(model.settings),
        "rounds": [dict(r) for r in training.get("rounds", [])],
        "vocabulary_size": training.get("vocabulary_size"),
        "objective": training.get("objective"),
        "validation": training.get("validation"),
        "stopped": stopped_note(model),
        "selection": _selection(model),
        "monotone": training.get("monotone", []),
        "class_factors": training.get("class_factors"),
    }


def _selection(model: Model) -> dict[str, Any]:
    """Return the frontier with the penalty of each of its models, or why there is none."""
    try:
        found = read_frontier(model)
    except InputError as error:
        return {"frontier": None, "reason": str(error)}
    selection: Mapping[str, Any] = model.training["selection"]
    points = [
        {**record, "chosen": point.chosen, "explained": found.share(point.deviance)}
        for record, point in zip(selection["frontier"], found.points, strict=True)
    ]
    return {
        "frontier": points,
        "drawn": asdict(found),
        "compared": selection.get("compared"),
        "price": found.price,
        "null_deviance": found.null_deviance,
    }


def ledger(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of the edit ledger that a model file may hold, oldest first.

    Fields that are not known here are kept under `more`, so that nothing in a file goes unseen.
    """
    return [_entry(entry) for entry in document.get("ledger") or () if isinstance(entry, Mapping)]


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: entry.get(name) for name in TEXTS}
    states = {name: dict(entry.get(name) or {}) for name in ("before", "after")}
    lists = {name: list(entry.get(name) or ()) for name in ("operations", "withdrawn", "restored")}
    known = {*found, *states, *lists}
    return {**found, **states, **lists, "more": {k: v for k, v in entry.items() if k not in known}}

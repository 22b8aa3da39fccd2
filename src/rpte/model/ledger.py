"""The ledger of a model: who edited it, when, why, and what that cost.

Each entry holds the hash of the entry before it, the hash of the model (ledger aside) before and
after the edit, and a hash of its own: an entry that is changed, left out or moved breaks the chain.
As with the content hash, who rewrites the whole ledger can make a chain that fits; a signature
finds that. What an edit takes from a model is withdrawn here by the name of its check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rpte.losses import Hazard
from rpte.model.check import Check, checked, monotone_claims
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel, content_hash, core_hashes

Entry = Mapping[str, Any]

OPTIMALITY = "Stage 3 optimality of the active terms"
BALANCE = "sum of predictions equals the sum of the target"
BASELINE = "baseline"
UNMET_MISSING = "missing values not met in training"
DERIVED = "thresholds, levels, knots and centres"


def sealed(content: Entry, previous: Entry | None) -> dict[str, Any]:
    """Return an entry with the hash of the one before it and its own."""
    linked = {**content, "previous": None if previous is None else previous["hash"]}
    return {**linked, "hash": content_hash(linked)}


def state(model: AnyModel, metrics: Mapping[str, float | None] | None = None) -> dict[str, Any]:
    """Return what an entry says of a model before or after an edit.

    A model keeps the hash that the last entry knows it by, if that was taken in an earlier version
    of the file.
    """
    hashes, last = core_hashes(model), model.ledger[-1]["after"]["model"] if model.ledger else None
    load = model.audit()
    return {
        "model": last if last in hashes else hashes[0],
        "terms": load.mu,
        "conditions": load.miu,
        "intercept": _intercept(model),
        "metrics": None if metrics is None else dict(metrics),
    }


def _intercept(model: AnyModel) -> float | list[float]:
    """Return the intercept, of several classes those of all."""
    return list(model.intercepts) if isinstance(model, ClassesModel) else model.intercept


def withdrawn(model: AnyModel) -> dict[str, Entry]:
    """Return the claims that edits took from a model, each with the entry that did."""
    gone: dict[str, Entry] = {}
    for entry in model.ledger:
        for name in entry["restored"]:
            gone.pop(name, None)
        gone |= dict.fromkeys(entry["withdrawn"], entry)
    return gone


def solved_claims(model: AnyModel) -> list[str]:
    """Return what `verify` claims of a model because Stage 3 was solved."""
    if isinstance(model.loss, Hazard):
        return [OPTIMALITY, BASELINE]
    return [OPTIMALITY, BALANCE] if model.loss.balanced else [OPTIMALITY]


def ledger_checks(model: AnyModel) -> list[Check]:
    """Return the checks of the ledger; none for a model without one."""
    if not model.ledger:
        return []
    faults = [*_chain_faults(model), *_claim_faults(model)]
    count = "1 entry" if len(model.ledger) == 1 else f"{len(model.ledger)} entries"
    sealing = "each sealing the one before and the models on both sides"
    evidence = f"{count}, {sealing}; head {model.ledger[-1]['hash']}"
    checks = [checked("ledger", faults, evidence)]
    said = [
        f"{name} (withdrawn by entry {entry['number']}, {entry['by']}, {entry['when']})"
        for name, entry in withdrawn(model).items()
    ]
    return [*checks, Check("no longer claimed", True, "; ".join(said))] if said else checks


def _chain_faults(model: AnyModel) -> Iterator[str]:
    before: Entry | None = None
    for number, entry in enumerate(model.ledger, 1):
        if entry["number"] != number:
            yield f"entry {number} is numbered {entry['number']}"
        if entry["hash"] != content_hash(entry):
            yield f"entry {number} was changed: its content does not match its hash"
        if entry["previous"] != (None if before is None else before["hash"]):
            yield f"entry {number} does not follow the entry before it"
        if before is not None and entry["before"]["model"] != before["after"]["model"]:
            yield f"entry {number} edits another model than the entry before it left"
        before = entry
    now = state(model, None if before is None else before["after"]["metrics"])
    if before is not None and before["after"] != now:
        yield "the model is not the one that the last entry left"


def _claim_faults(model: AnyModel) -> Iterator[str]:
    """What was withdrawn must be gone, and what is gone must have been withdrawn."""
    gone = withdrawn(model)
    unsolved = model.settings["reassign"] and model.training["objective"] is None
    for claim in solved_claims(model):
        if unsolved != (claim in gone):
            yield f"'{claim}' is {'gone but not withdrawn' if unsolved else 'withdrawn but there'}"
    for claim in monotone_claims(model.settings):
        if claim in gone:
            yield f"'{claim}' is withdrawn but there"

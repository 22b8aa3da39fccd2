"""Versions of the model file, as documents: version 1, of the first release, and version 2.

Version 1 knew two classes only: `classes`, `positive` and `events`, which in version 2 are the
`target` of a `task` with its `loss`. Both ways lose nothing, so that a model read from a file of
version 1 has the hash of that file.
"""

from collections.abc import Mapping
from typing import Any

from rpte.model.target import Target

Document = dict[str, Any]

NEWEST = 2
VERSIONS = (1, NEWEST)
# What later tasks need: several scores per row (coefficients then are lists), what is added to the
# score of each row, and the hazard that a score multiplies.
ONE_SCORE: Document = {"scores": 1, "offset": None, "baseline": None}


def to_version_2(document: Document) -> Document:
    """Return a document of version 1 as one of version 2; the hash is left out."""
    training = dict(document["training"])
    target = {key: document[key] for key in ("classes", "positive")}
    return {
        **without(document, "classes", "positive", "hash"),
        "version": 2,
        "task": Target.task,
        "loss": Target.loss.to_dict(),
        "target": {**target, "total": training.pop("events")},
        **ONE_SCORE,
        "components": _renamed(document["components"], "events", "target_total"),
        "training": training,
    }


def to_version_1(document: Document) -> Document:
    """Return a document of two classes of version 2 as one of version 1; the hash is left out."""
    target = without(document["target"], "name")  # which version 1 does not know
    training = {**document["training"], "events": target.pop("total")}
    return {
        **without(document, "task", "loss", "target", "hash", *ONE_SCORE),
        **target,
        "version": 1,
        "components": _renamed(document["components"], "target_total", "events"),
        "training": training,
    }


def shape_family(option: Mapping[str, Any]) -> Any:
    """Return which shapes a record of the selection was offered; the first release said `menu`."""
    return option.get("shape_family", option.get("menu"))


def without(document: Mapping[str, Any], *names: str) -> Document:
    """Return a document without some of its fields."""
    return {key: value for key, value in document.items() if key not in names}


def _renamed(value: Any, old: str, new: str) -> Any:
    """Return components in which a field of leaves and direct terms has another name."""
    if isinstance(value, dict):
        return {new if key == old else key: _renamed(v, old, new) for key, v in value.items()}
    return [_renamed(item, old, new) for item in value] if isinstance(value, list) else value

"""The audit load: against its bound, by component, and beside the models that a user compares."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.model.model import Model
from rpte.table.inputs import Inputs

NAME_KEYS = ("name", "model", "family")


def audit_contents(
    model: Model, inputs: Inputs | None, peers: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the audit load as plain values.

    Parameters
    ----------
    model : Model
    inputs : Inputs, optional
        Rows to count predictions for.
    peers : list of records from `read_peers`
    """
    load = model.audit(inputs)
    per_row = load.per_row
    return {
        "mu": load.mu,
        "miu": load.miu,
        "iiu": load.iiu,
        "iiu_range": None if per_row is None else [int(per_row.min()), int(np.max(per_row))],
        "bound": model.bound,
        "peers": peers,
    }


def read_peers(path: Path) -> list[dict[str, Any]]:
    """Read other models' audit loads: a JSON list of objects, or a CSV table with a header.

    Each has a name (`name`, `model` or `family`) and a number `miu`; `mu`, `iiu` and anything else
    is shown as it is.
    """
    text = path.read_text(encoding="utf-8-sig")
    try:
        given = json.loads(text) if path.suffix.lower() == ".json" else _rows(text)
    except (json.JSONDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}; give a JSON list or a CSV") from error
    records = given if isinstance(given, list) else [given]
    return [_peer(path, number, record) for number, record in enumerate(records, 1)]


def _rows(text: str) -> list[dict[str, Any]]:
    return [dict(row) for row in csv.DictReader(text.splitlines())]


def _peer(path: Path, number: int, record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise InputError(f"{path}: entry {number} is {record!r}; give an object per model")
    lower = {str(key).strip().lower(): value for key, value in record.items()}
    name = next((lower.pop(key) for key in NAME_KEYS if lower.get(key)), None)
    miu = _number(lower.pop("miu", None))
    if name is None or miu is None:
        raise InputError(
            f"{path}: entry {number} lacks a name or a number 'miu'; audit_load(model, X) of "
            "Python counts both for other families"
        )
    peer = {"name": str(name), "miu": miu, "mu": _number(lower.pop("mu", None))}
    peer["iiu"] = _number(lower.pop("iiu", None))
    more = {key: value for key, value in lower.items() if value not in (None, "")}
    return {**peer, "more": {key: _number(v) or str(v) for key, v in more.items()}}


def _number(value: Any) -> float | None:
    try:
        found = float(str(value).replace(",", ""))
    except ValueError:
        return None
    return found if np.isfinite(found) and found >= 0 else None

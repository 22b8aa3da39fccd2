"""Audit loads of the models that a user compares with, read from a file."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from rpte.errors import InputError

NAME_KEYS = ("name", "model", "family")


def read_peers(path: Path) -> list[dict[str, Any]]:
    """Read other models' audit loads: a JSON list of objects, or a CSV table with a header.

    Each has a name (`name`, `model` or `family`) and a number `miu`; `mu`, `iiu` and anything else
    is shown as it is.
    """
    text = path.read_text(encoding="utf-8-sig")
    try:
        is_json = path.suffix.lower() == ".json"
        given = json.loads(text) if is_json else list(csv.DictReader(text.splitlines()))
    except (json.JSONDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}; give a JSON list or a CSV") from error
    records = given if isinstance(given, list) else [given]
    return [_peer(path, number, record) for number, record in enumerate(records, 1)]


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
    loads = {key: _number(lower.pop(key, None)) for key in ("mu", "iiu")}
    more = {key: _number(v) or str(v) for key, v in lower.items() if v not in (None, "")}
    return {"name": str(name), "miu": miu, **loads, "more": more}


def _number(value: Any) -> float | None:
    try:
        found = float(str(value).replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None

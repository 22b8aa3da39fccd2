"""Columns from the records of them that model files keep: what `Column.to_dict` wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rpte.columns.kinds import (
    FORMULAS,
    Column,
    Hinge,
    Interval,
    Item,
    Level,
    Missing,
    Number,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)


def column_from_dict(record: Mapping[str, Any]) -> Column:
    """Rebuild a column from its `to_dict`."""
    kind = record["kind"]
    if kind == "missing":
        return Missing(record["source"])
    if kind == "pattern":
        return Pattern(_item_from_dict(record["left"]), _item_from_dict(record["right"]))
    if kind == "pair":
        parts = _part_from_dict(record["left"]), _part_from_dict(record["right"])
        return Pair(record["operation"], *parts)
    return _part_from_dict(record)


def _part_from_dict(record: Mapping[str, Any]) -> Number | Item:
    if record["kind"] in ("value", "hinge", "scale"):
        return _number_from_dict(record)
    if record["kind"] in ("level", "interval", "step"):
        return _item_from_dict(record)
    raise ValueError(f"a column of unknown kind {record['kind']!r}")


def _number_from_dict(record: Mapping[str, Any]) -> Number:
    if record["kind"] == "hinge":
        return Hinge(record["source"], float(record["knot"]), record["side"])
    if record["kind"] == "scale":
        numbers = tuple(float(record[name]) for name in FORMULAS[record["formula"]])
        return Scale(record["source"], record["formula"], numbers)
    return Value(record["source"])


def _item_from_dict(record: Mapping[str, Any]) -> Item:
    if record["kind"] == "level":
        return Level(record["source"], tuple(record["levels"]))
    if record["kind"] == "step":
        return Step(record["source"], float(record["threshold"]))
    low = -math.inf if record["low"] is None else float(record["low"])
    high = math.inf if record["high"] is None else float(record["high"])
    return Interval(record["source"], low, high)

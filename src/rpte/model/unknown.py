"""Levels that training did not have: a warning, or an error where most of a column is unknown."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from rpte.errors import InputError, warn
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

MOSTLY = 0.5  # of the cells that are not missing: beyond it a column is another than in training
HANDFUL = 10  # such cells that a column needs to be judged
SHOWN = 5  # levels that a message names


def checked_inputs(
    model: Model | ClassesModel, inputs: Inputs, allow_unknown: bool = False
) -> Inputs:
    """Return the inputs; warn of unknown levels in columns that the model reads, or refuse them.

    Where levels were pooled in training, unknown ones are read as the pooled level, which is what
    it is for. Such a column is refused only if more than half of its cells are read so, and more
    than twice the share of training.

    `allow_unknown` takes a column that is unknown for the most part; it is then warned of as any
    other.
    """
    check_unknown(model, inputs.unknown, present_cells(inputs, inputs.unknown), allow_unknown)
    return inputs


def present_cells(inputs: Inputs, names: Collection[str]) -> dict[str, int]:
    """Return how many cells of some categories are not missing."""
    known = [name for name in names if inputs.schema[name].kind == "category"]
    return {name: int((inputs[name] != MISSING).sum()) for name in known}


def check_unknown(
    model: Model | ClassesModel,
    unknown: Mapping[str, Mapping[str, int]],
    present: Mapping[str, int],
    allow_unknown: bool = False,
) -> None:
    """Warn of unknown levels, or refuse them, by their counts and those of present cells."""
    read = set(model.sources) if unknown else set()
    said = []
    for name in (name for name in unknown if name in read):
        text = _said(name, unknown[name], present[name])
        if _mostly(model, name, unknown[name], present[name]) and not allow_unknown:
            raise InputError(
                f"{text}, most of the column: it is not what it was in training, such as for other "
                "spellings or another coding; correct it, or score it nevertheless with "
                "allow_unknown=True (--allow-unknown)"
            )
        if not model.schema[name].pooled:
            said.append(text)
    if said:
        warn(f"{'; '.join(said)}; they count as none of the known levels")


def _said(name: str, unknown: Mapping[str, int], present: int) -> str:
    levels = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
    count = sum(unknown.values())
    shown = ", ".join(f"{level[:60]!r} ({times})" for level, times in levels[:SHOWN])
    more = f" and {len(levels) - SHOWN} more" if len(levels) > SHOWN else ""
    what = "a level" if len(levels) == 1 else f"{len(levels)} levels"
    return (
        f"column {name!r}: {count} of {present} cells hold {what} that training did not have: "
        f"{shown}{more}"
    )


def _mostly(
    model: Model | ClassesModel, name: str, unknown: Mapping[str, int], present: int
) -> bool:
    share = sum(unknown.values()) / present
    if present < HANDFUL or share <= MOSTLY:
        return False
    if not model.schema[name].pooled:
        return True
    before = _pooled_share(model, name)
    return before is not None and share > 2 * before


def _pooled_share(model: Model | ClassesModel, name: str) -> float | None:
    """Return the share of training cells that were pooled; None if the file does not tell."""
    profile = model.data.get("profile") or ()
    counts: dict[str, float | str]
    counts = next((column["levels"] for column in profile if column["name"] == name), {})
    weights = {level: count for level, count in counts.items() if not isinstance(count, str)}
    pooled = model.schema[name].levels[-1]
    if pooled not in counts or not weights:
        return None
    return float(weights.get(pooled, 0.0)) / float(sum(weights.values()))

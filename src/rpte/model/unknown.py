"""Levels that training did not have: a warning, or an error where most of a column is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpte.errors import InputError, warn
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs

if TYPE_CHECKING:
    from rpte.model.model import Model

MOSTLY = 0.5  # of the cells that are not missing: beyond it a column is another than in training
HANDFUL = 10  # such cells that a column needs to be judged
SHOWN = 5  # levels that a message names


def checked_inputs(model: Model, inputs: Inputs, allow_unknown: bool = False) -> Inputs:
    """Return the inputs; warn of unknown levels in columns that the model reads, or refuse them.

    Where levels were pooled in training, unknown ones are read as the pooled level, which is what
    it is for. Such a column is refused only if more than half of its cells are read so, and more
    than twice the share of training.

    `allow_unknown` takes a column that is unknown for the most part; it is then warned of as any
    other.
    """
    read = set(model.sources) if inputs.unknown else set()
    said = []
    for name in (name for name in inputs.unknown if name in read):
        if _mostly(model, inputs, name) and not allow_unknown:
            raise InputError(
                f"{_said(inputs, name)}, most of the column: it is not what it was in training, "
                "such as for other spellings or another coding; correct it, or score it "
                "nevertheless with allow_unknown=True (--allow-unknown)"
            )
        if not model.schema[name].pooled:
            said.append(_said(inputs, name))
    if said:
        text = f"{'; '.join(said)}; they count as none of the known levels"
        warn(text, stacklevel=4)
    return inputs


def _said(inputs: Inputs, name: str) -> str:
    levels = sorted(inputs.unknown[name].items(), key=lambda item: (-item[1], item[0]))
    count = sum(inputs.unknown[name].values())
    shown = ", ".join(f"{level[:60]!r} ({times})" for level, times in levels[:SHOWN])
    more = f" and {len(levels) - SHOWN} more" if len(levels) > SHOWN else ""
    what = "a level" if len(levels) == 1 else f"{len(levels)} levels"
    return (
        f"column {name!r}: {count} of {_present(inputs, name)} cells hold {what} that training did "
        f"not have: {shown}{more}"
    )


def _present(inputs: Inputs, name: str) -> int:
    return int((inputs[name] != MISSING).sum())


def _mostly(model: Model, inputs: Inputs, name: str) -> bool:
    present = _present(inputs, name)
    share = sum(inputs.unknown[name].values()) / present
    if present < HANDFUL or share <= MOSTLY:
        return False
    if not model.schema[name].pooled:
        return True
    before = _pooled_share(model, name)
    return before is not None and share > 2 * before


def _pooled_share(model: Model, name: str) -> float | None:
    """Return the share of training cells that were pooled; None if the file does not tell."""
    profile = model.data.get("profile") or ()
    counts: dict[str, float | str]
    counts = next((column["levels"] for column in profile if column["name"] == name), {})
    weights = {level: count for level, count in counts.items() if not isinstance(count, str)}
    pooled = model.schema[name].levels[-1]
    if pooled not in counts or not weights:
        return None
    return float(weights.get(pooled, 0.0)) / float(sum(weights.values()))

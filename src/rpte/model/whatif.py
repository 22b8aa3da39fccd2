"""What if a value were another: which contributions move, and that no other does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError, did_you_mean
from rpte.model.explain import ComponentContribution, Explanation, cell_values, value_text
from rpte.model.summary import counted
from rpte.table.column import as_number, as_number_or_special
from rpte.table.inputs import Inputs
from rpte.table.spelling import read_levels

if TYPE_CHECKING:
    from rpte.model.model import Model


@dataclass(frozen=True, slots=True)
class Moved:
    """A component whose contribution was looked at again: before and after."""

    before: ComponentContribution
    after: ComponentContribution

    @property
    def difference(self) -> float:
        """By how much the component moves the score."""
        return self.after.value - self.before.value


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One row before and after a change of some values.

    `changes` maps names to (old, new), None for missing; changed variables that the model does not
    read are in `unread` instead. `moved` are the components that read a changed variable, `still`
    the others, each contribution in them the same to the last bit.
    """

    changes: Mapping[str, tuple[float | str | None, float | str | None]]
    before: Explanation
    after: Explanation
    moved: tuple[Moved, ...]
    still: tuple[str, ...]
    unread: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{name}: {value_text(old)} -> {value_text(new)}"
            for name, (old, new) in self.changes.items()
        ]
        lines += [f"{name} is not read by the model: nothing can move" for name in self.unread]
        for moved in self.moved:
            lines.append(f"{moved.difference:+10.4f}  {moved.before.component}")
            for old, new in zip(moved.before.contributions, moved.after.contributions, strict=True):
                if old != new:
                    lines.append(f"{'':12}from {old.value:+.4f}  {old.term}: {old.text}")
                    lines.append(f"{'':12}to   {new.value:+.4f}  {new.term}: {new.text}")
        lines.append(
            f"{self.after.score - self.before.score:+10.4f}  score, from {self.before.score:+.4f} "
            f"to {self.after.score:+.4f}: probability of {self.before.positive!r} from "
            f"{self.before.probability:.4f} to {self.after.probability:.4f}"
        )
        lines.append(f"{'':12}{self.said}")
        lines += [f"{'':12}note: {flag}" for flag in self.after.flags]
        return "\n".join(lines)

    @property
    def said(self) -> str:
        """What was checked, in words."""
        if not self.still:
            return "every component reads a changed variable"
        names = counted(len(self.still), "other component")
        return f"checked: nothing moved in the {names}, to the last bit"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON values."""
        return {
            "changes": {name: list(pair) for name, pair in self.changes.items()},
            "not_read": list(self.unread),
            "score": [self.before.score, self.after.score],
            "probability": [self.before.probability, self.after.probability],
            "positive": self.before.positive,
            "moved": [
                {
                    "component": m.before.component,
                    "difference": m.difference,
                    "before": [[c.term, c.text, c.value] for c in m.before.contributions],
                    "after": [[c.term, c.text, c.value] for c in m.after.contributions],
                }
                for m in self.moved
            ],
            "unmoved_to_the_last_bit": list(self.still),
            "flags": list(self.after.flags),
        }


def what_if(model: Model, X: Any, changes: Mapping[str, Any]) -> WhatIf:
    """Change values of one row and see which contributions move.

    `changes` gives the new values by name, as the cells would stand in a table; None for missing. A
    component that moves without reading a changed variable, which no model can, is an error.
    """
    row = one_row(model, X)
    fresh = with_cells(model, row, changes)
    (before,), (after,) = model.explain(row), model.explain(fresh)
    read = model.sources
    pairs = list(zip(before.components, after.components, strict=True))
    touched = [(a, b) for a, b in pairs if set(a.sources) & set(changes)]
    for a, b in pairs:
        if (a, b) not in touched and a != b:
            raise ArithmeticError(f"{a.component} moved without reading {sorted(changes)}")
    return WhatIf(
        {n: (cell_values(row, n)[0], cell_values(fresh, n)[0]) for n in changes if n in read},
        before,
        after,
        tuple(Moved(a, b) for a, b in touched),
        tuple(a.component for a, b in pairs if (a, b) not in touched),
        tuple(name for name in changes if name not in read),
    )


def one_row(model: Model, X: Any) -> Inputs:
    """Read a table that must hold one row."""
    row = model.read(X)
    if row.n_rows != 1:
        raise InputError(f"X has {row.n_rows} rows; give one, such as X.iloc[[17]] of a data frame")
    return row


def with_cells(model: Model, row: Inputs, cells: Mapping[str, Any]) -> Inputs:
    """Return a row with other values in some cells, read as those of a table are."""
    columns, specials = list(row.columns), dict(row.specials)
    for name, value in cells.items():
        if name not in model.schema.names:
            hint = did_you_mean(name, model.schema.names)
            raise InputError(f"{name!r} is no variable of the model{hint}")
        variable, position = model.schema[name], model.schema.position(name)
        cell = np.array([value, None], dtype=object)[:1]
        if variable.kind == "category":
            columns[position], _ = read_levels(cell, variable)
        elif variable.levels:
            columns[position], specials[position] = as_number_or_special(cell, variable)
        else:
            columns[position] = as_number(cell, name)
    return Inputs(row.schema, tuple(columns), specials)

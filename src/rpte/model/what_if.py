"""A row with other values: which contributions move, and that no other does."""

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
from rpte.table.numbers import named
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


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        scores = f"{self.before.score:+.4g} to {self.after.score:+.4g}"
        return f"WhatIf({', '.join(self.changes)}: score from {scores})"

    def _repr_html_(self) -> str:
        from rpte.notebook.cases import what_if_html

        return what_if_html(self)

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
            f"to {self.after.score:+.4f}: {self.before.target.response_text} from "
            f"{self.before.target.shown(self.before.response)} to "
            f"{self.before.target.shown(self.after.response)}"
        )
        lines += [f"{'':12}{text}" for text in self.said_at]
        lines.append(f"{'':12}{self.said}")
        lines += [f"{'':12}note: {flag}" for flag in self.after.flags]
        return "\n".join(lines)

    @property
    def said_at(self) -> list[str]:
        """How survival moves at each horizon that was asked for, in words."""
        pairs = zip(self.before.told_at, self.after.told_at, strict=True)
        return [f"{at}: {old:.4f} -> {new:.4f}" for (at, old), (_, new) in pairs]

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
            self.before.target.response_name: [self.before.response, self.after.response],
            self.before.target.outcome_name: self.before.positive,
            **self._survival(),
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

    def _survival(self) -> dict[str, Any]:
        """Return survival before and after as plain JSON values; nothing without horizons."""
        old, new = self.before.survival, self.after.survival
        if not old.times:
            return {}
        pairs = zip(old.pairs, new.values, strict=True)
        told = [{"horizon": time, "survival": [a, b]} for (time, a), b in pairs]
        return {**old.to_dict(), "survival": told}


def what_if(
    model: Model, X: Any, changes: Mapping[str, Any], horizons: Any = None, strata: Any = None
) -> WhatIf:
    """Change values of one row and see which contributions move.

    `changes` gives the new values by name, as the cells would stand in a table; None for missing. A
    component that moves without reading a changed variable, which no model can, is an error. Of a
    time until an event, survival is told at `horizons`, with the baseline of a stratum.
    """
    row, asked = one_row(model, X), {"horizons": horizons, "strata": named(X, strata)}
    fresh = with_cells(model, row, changes)
    (before,), (after,) = model.explain(row, **asked), model.explain(fresh, **asked)
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

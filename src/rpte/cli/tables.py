"""Rows of a table file, as a model's commands need them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpte.cli.options import listed
from rpte.errors import InputError
from rpte.model.model import Model
from rpte.model.unknown import checked_inputs
from rpte.table.inputs import Inputs, read_inputs

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """A whole table, and what a model reads of it."""

    frame: pd.DataFrame
    inputs: Inputs

    def ids(self, id_column: str | None) -> tuple[str, list[Any]]:
        """Return a name and what names each row: the id column, or row numbers from 1."""
        if id_column is None:
            return "row", list(range(1, len(self.frame) + 1))
        return id_column, self.frame[id_column].tolist()

    def weight(self, column: str | None) -> Array | None:
        """Return the weights of the rows."""
        return None if column is None else weights(self.frame, column)


def rows_for(
    model: Model,
    path: Path,
    missing: str | None = None,
    *,
    id_column: str | None = None,
    allow_unknown: bool = False,
    **others: str | None,
) -> Rows:
    """Read the table of a model; `others`, such as the target, are columns that it must hold."""
    from rpte.table.files import check_column, read_table

    kept = [] if id_column is None else [id_column]
    frame = read_table(path, schema=model.schema, as_text=kept, missing=listed(missing))
    beside = {role: name for role, name in {"id": id_column, **others}.items() if name is not None}
    for role, name in beside.items():
        check_column(frame, name, role)
    read = {source for component in model.components for source in component.sources}
    given = frame if model.schema.named else frame.drop(columns=list(beside.values()))
    inputs = read_inputs(given, model.schema, ignored=set(frame.columns), needed=read)
    return Rows(frame, checked_inputs(model, inputs, allow_unknown))


def weights(frame: pd.DataFrame, column: str) -> Array:
    """Return a column of weights as numbers."""
    from rpte.table.files import check_column

    check_column(frame, column, "weight")
    values = frame[column].to_numpy()
    if values.dtype.kind not in "iufb":
        raise InputError(f"the weight column '{column}' holds texts; weights are numbers")
    found = values.astype(np.float64)
    if np.isnan(found).any():
        row = int(np.flatnonzero(np.isnan(found))[0]) + 1
        raise InputError(
            f"the weight column '{column}' is missing in row {row}; give 0 or a weight"
        )
    return found

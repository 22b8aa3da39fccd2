"""Arguments and options that commands share, and the rows of a table that they name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from rpte.cli.terminal import say
from rpte.errors import InputError, did_you_mean
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.model.unknown import checked_inputs
from rpte.table.inputs import Inputs, read_inputs
from rpte.utils.arrays import Array, Floats

if TYPE_CHECKING:
    import pandas as pd


def option(said: str, *names: str, **more: Any) -> Any:
    """Return an option with its help; without `names` it is called as its parameter is."""
    return typer.Option(*names, help=said, **more)


def output_option(said: str) -> Any:
    """Return the option that names the file to write."""
    return option(said, "--output", "-o")


Names = list[str] | None  # of an option that may be repeated
MaybePath = Path | None
_TABLE = typer.Argument(help="A table: CSV, Parquet or Excel.")

ModelFile = Annotated[Path, typer.Argument(help="A model file.")]
TableFile = Annotated[Path, _TABLE]
TableFiles = Annotated[
    list[Path],
    typer.Argument(
        help="A table: CSV, Parquet or Excel. Several Parquet files, a folder or a pattern of "
        "them, or one above 200 MB, are read in batches and may be larger than memory."
    ),
]
MaybeTable = Annotated[MaybePath, _TABLE]
IdColumn = Annotated[str | None, option("The column that names each case.")]
RowNumber = Annotated[int | None, option("Which row: 1 is the first below the header.")]
CaseId = Annotated[str | None, option("Which case: its text in the id column.", "--id")]
WeightColumn = Annotated[
    str | None, option("The column with the weight (repetitions) of each row.")
]
Missing = Annotated[
    str | None,
    option(
        "Texts that stand for a missing cell, separated by commas, in place of NA, NaN, null, "
        "None and the like; '' for empty cells only."
    ),
]
AllowUnknown = Annotated[
    bool,
    option(
        "Go on where most of a column are levels that training did not have.", "--allow-unknown"
    ),
]
ExposureColumn = Annotated[
    str | None, option("Numeric targets: the column that the mean is multiplied by.", "--exposure")
]
ClassName = Annotated[str | None, option("Of several: the class to explain.", "--class")]
AgainstClass = Annotated[
    str | None, option("Of several: the class that it is compared with, by default the next.")
]
OffsetColumn = Annotated[
    str | None, option("Numeric targets: the column that is added to the score.", "--offset")
]
AsJson = Annotated[bool, option("Print JSON for machines.", "--json")]

EXAMPLES = {
    "--allow": "income=0:5000", "--cost": "income=2", "--set": "age=50", "--step": "income=100",
    "--monotone": "age=increasing", "--option": "points_for=positive", "--special": "age=-9,-8",
    "--penalty": "postcode=2",
}  # fmt: skip


def listed(text: str | None) -> list[str] | None:
    """Return the parts of a text with commas between them."""
    return None if text is None else [part.strip() for part in text.split(",")]


def pairs(name: str, texts: Names, empty: bool = False) -> dict[str, str]:
    """Return ``NAME=VALUE`` texts as a mapping; NAME may hold ``=``, VALUE may be `empty`."""
    found: dict[str, str] = {}
    for text in texts or ():
        key, sign, value = (part.strip() for part in text.rpartition("="))
        if not sign or not key or not (empty or value):
            raise InputError(f"{name} {text}: write it as NAME=VALUE, such as {EXAMPLES[name]}")
        if key in found:
            raise InputError(f"{name} names '{key}' twice; say it once")
        found[key] = value
    return found


def directions(texts: Names) -> dict[str, Any]:
    """Return monotone directions by name, those of a class (``NAME=CLASS:VALUE``) by class."""
    found: dict[str, Any] = {}
    for text in texts or ():
        ((name, value),) = pairs("--monotone", [text]).items()
        label, _, word = (part.strip() for part in value.rpartition(":"))
        known = found.get(name, {})
        if known and not (label and isinstance(known, dict) and label not in known):
            raise InputError(f"--monotone names '{name}' twice; say it once")
        found[name] = {**known, label: word} if label else word
    return found


@dataclass(frozen=True)
class Case:
    """One row of a table, and what names it: its number, or its id."""

    record: dict[str, Any]  # such as {"row": 17}
    cells: Inputs
    place: int  # of the row, from 0

    @property
    def title(self) -> str:
        """What names the case, such as ``row 17``."""
        return ", ".join(f"{name} {value}" for name, value in self.record.items())


@dataclass(frozen=True)
class Rows:
    """A whole table, and what a model reads of it."""

    frame: pd.DataFrame
    inputs: Inputs
    first: int = 1  # number of the first row

    def ids(self, id_column: str | None) -> tuple[str, list[Any]]:
        """Return a name and what names each row: the id column, or row numbers from 1."""
        if id_column is None:
            return "row", list(range(self.first, self.first + len(self.frame)))
        return id_column, self.frame[id_column].tolist()

    def case(self, row: int | None, case: str | None, id_column: str | None) -> Case:
        """Return the one case that a user names by its number or by its id."""
        if (row is None) == (case is None):
            raise InputError("name one case: --row NUMBER, or --id TEXT with --id-column NAME")
        name, ids = self.ids(id_column)
        place = self._place(case, id_column) if row is None else row - 1
        if not 0 <= place < len(ids):
            raise InputError(f"--row {row}: the table has the rows 1 to {len(ids)}")
        return Case({name: ids[place]}, self.inputs.take(slice(place, place + 1)), place)

    def _place(self, case: str | None, id_column: str | None) -> int:
        if id_column is None:
            raise InputError(f"--id {case}: say which column holds it with --id-column NAME")
        texts = [str(value).strip() for value in self.ids(id_column)[1]]
        places = [place for place, text in enumerate(texts) if text == str(case).strip()]
        if len(places) != 1:
            what = f"in {len(places)} rows" if places else f"in no row{did_you_mean(case, texts)}"
            remedy = "; name one with --row" if places else ""
            raise InputError(f"'{case}' stands {what} of the column '{id_column}'{remedy}")
        return places[0]

    def weight(self, column: str | None) -> Floats | None:
        """Return the weights of the rows."""
        return None if column is None else weights(self.frame, column)

    def numbers(self, role: str, column: str | None) -> Floats | None:
        """Return a column of numbers, such as exposures, in its role."""
        return None if column is None else column_numbers(self.frame, column, role)

    def beside(self, case: Case, columns: Mapping[str, str | None]) -> dict[str, Any]:
        """Return the numbers of one case in the columns of some roles, (1,) each."""
        found = {role: self.numbers(role, column) for role, column in columns.items()}
        return {r: None if v is None else v[[case.place]] for r, v in found.items()}


def rows_for(
    model: Model | ClassesModel,
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
    inputs = row_inputs(model, frame, list(beside.values()), read)
    return Rows(frame, checked_inputs(model, inputs, allow_unknown))


def row_inputs(
    model: Model | ClassesModel, frame: pd.DataFrame, beside: list[str], read: Collection[str]
) -> Inputs:
    """Read what a model knows of a table; columns `beside` it are no variables."""
    given = frame if model.schema.named else frame.drop(columns=beside)
    return read_inputs(given, model.schema, ignored=set(frame.columns), needed=read)


def weights(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column of weights as numbers."""
    return column_numbers(frame, name, "weight", "give 0 or a weight")


def column_numbers(
    frame: pd.DataFrame, name: str, role: str, remedy: str = "fill it in, or leave the row out"
) -> Floats:
    """Return a column as numbers; `remedy` is for a cell that is missing."""
    from rpte.table.files import check_column

    check_column(frame, name, role)
    values = frame[name].to_numpy()
    if values.dtype.kind not in "iufb":
        raise InputError(f"the {role} column '{name}' holds texts; {role}s are numbers")
    found = values.astype(np.float64)
    if np.isnan(found).any():
        row = int(np.flatnonzero(np.isnan(found))[0]) + 1
        raise InputError(f"the {role} column '{name}' is missing in row {row}; {remedy}")
    return found


def targets(model: Model | ClassesModel, frame: pd.DataFrame, target: str) -> Array:
    """Return the targets of rows as a model knows them: its classes, or numbers."""
    from rpte.table.target import labels_as, target_numbers

    if isinstance(model.target, NumberTarget):
        return target_numbers(frame, target)
    if isinstance(model.target, SurvivalTarget):
        raise InputError(
            f"--target {target}: the model is of a time until an event, which has no one column"
        )
    return labels_as(frame, target, model.classes)


def check_beside(model: Model | ClassesModel, beside: Mapping[str, str | None]) -> None:
    """Refuse an exposure or an offset, by the names of their columns, of other models."""
    given = [f"--{role}" for role, name in beside.items() if name is not None]
    if given and not isinstance(model.target, NumberTarget):
        of = "several classes" if isinstance(model, ClassesModel) else "two classes"
        of = "a time until an event" if isinstance(model.target, SurvivalTarget) else of
        raise InputError(f"{given[0]} is for models of a number; this one is of {of}")


def say_beside(model: Model | ClassesModel, beside: Mapping[str, str | None]) -> None:
    """Say what means are without, where training had an exposure or an offset."""
    if not isinstance(model.target, NumberTarget):
        return
    trained = {"exposure": model.target.exposure, "offset": model.target.offset}
    for role, name in trained.items():
        if name is not None and beside[role] is None:
            what = f"for one unit of {name}" if role == "exposure" else f"without the offset {name}"
            say(f"note: the mean is {what}; name the column with --{role}")

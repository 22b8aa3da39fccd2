"""Arguments and options that commands share, and how they are taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.errors import InputError


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
AsJson = Annotated[bool, option("Print JSON for machines.", "--json")]

EXAMPLES = {
    "--allow": "income=0:5000",
    "--cost": "income=2",
    "--set": "age=50",
    "--step": "income=100",
    "--monotone": "age=increasing",
    "--option": "points_for=positive",
    "--special": "age=-9,-8",
    "--penalty": "postcode=2",
}


def listed(text: str | None) -> list[str] | None:
    """Return the parts of a text with commas between them."""
    return None if text is None else [part.strip() for part in text.split(",")]


def pairs(name: str, texts: Names, empty: bool = False) -> dict[str, str]:
    """Return the ``NAME=VALUE`` texts of an option as a mapping; NAME may hold the sign ``=``.

    With `empty` a value may be nothing.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        key, sign, value = (part.strip() for part in text.rpartition("="))
        if not sign or not key or not (empty or value):
            raise InputError(f"{name} {text}: write it as NAME=VALUE, such as {EXAMPLES[name]}")
        if key in found:
            raise InputError(f"{name} names '{key}' twice; say it once")
        found[key] = value
    return found

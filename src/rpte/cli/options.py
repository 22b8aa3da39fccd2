"""Arguments and options that commands share, and how they are taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rpte.errors import InputError

ModelFile = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
TableFile = Annotated[
    Path, typer.Argument(help="A table: CSV, Parquet or Excel.", show_default=False)
]
MaybeTable = Annotated[
    Path | None, typer.Argument(help="A table: CSV, Parquet or Excel.", show_default=False)
]
IdColumn = Annotated[
    str | None, typer.Option(help="The column that names each case.", show_default=False)
]
WeightColumn = Annotated[
    str | None,
    typer.Option(help="The column with the weight (repetitions) of each row.", show_default=False),
]
Missing = Annotated[
    str | None,
    typer.Option(
        help="Texts that stand for a missing cell, separated by commas, in place of NA, NaN, null, "
        "None and the like; '' for empty cells only.",
        show_default=False,
    ),
]
AllowUnknown = Annotated[
    bool,
    typer.Option(
        "--allow-unknown",
        help="Go on where most of a column are levels that training did not have.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def listed(text: str | None) -> list[str] | None:
    """Return the parts of a text with commas between them."""
    return None if text is None else [part.strip() for part in text.split(",")]


def pairs(option: str, texts: list[str], empty: bool = False) -> dict[str, str]:
    """Return ``name=value`` texts as a mapping; a name may hold the sign ``=`` itself.

    With `empty` a value may be nothing.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip() or not (empty or value.strip()):
            raise InputError(f"{option} {text}: write it as NAME=VALUE, such as {EXAMPLES[option]}")
        if name.strip() in found:
            raise InputError(f"{option} names '{name.strip()}' twice; say it once")
        found[name.strip()] = value.strip()
    return found


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

"""The tables that the benchmarks read: a folder given by RPTE_DATA, or ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd


def folder() -> Path:
    """Return the data folder."""
    return Path(os.environ.get("RPTE_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the features and the label of a set, such as ``paper12/wdbc``."""
    for ending in (".csv", ".csv.gz"):
        path = folder() / f"{name}{ending}"
        if path.exists():
            table = pd.read_csv(path)
            return table.drop(columns="target"), table["target"]
    raise FileNotFoundError(f"no table {name} in {folder()}; set RPTE_DATA to the data folder")

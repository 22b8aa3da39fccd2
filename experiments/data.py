"""The sets of the evaluation: from a folder, or by name from PMLB and OpenML."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

SEED = 42
FOLDS = 5
REPEATS = 3
SPLITS = FOLDS * REPEATS

SMALL = {
    "lupus": "lupus",
    "postoperative_patient_data": "postop.",
    "appendicitis": "append.",
    "corral": "corral",
    "haberman": "haberman",
    "prnn_crabs": "crabs",
    "biomed": "biomed",
    "hepatitis": "hepatitis",
    "heart_c": "heart-c",
    "saheart": "saheart",
    "wdbc": "WDBC",
}
EEG = "eeg_seizure"
PAPER12 = {**SMALL, EEG: "EEG seizure"}
GROUPED = "eeg_seizure_grouped"
RAW = {
    "hepatitis_uci": "hepatitis, raw",
    "biomed_openml": "biomed, raw",
    "heart_c_uci": "heart-c, raw",
}
NAMES = {**PAPER12, GROUPED: "EEG by recording", **RAW}


@dataclass(frozen=True)
class DataSet:
    """A table with a 0/1 label, and the groups its rows come from if any."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    groups: np.ndarray | None = None

    def hash(self) -> str:
        """Return a hash of names, cells, label and groups, whatever file they came from."""
        found = hashlib.sha256()
        for name in self.X:
            found.update(str(name).encode() + b"\0" + _cells(self.X[name]) + b"\0")
        found.update(np.asarray(self.y, np.int64).tobytes())
        if self.groups is not None:
            found.update(np.asarray(self.groups, np.int64).tobytes())
        return found.hexdigest()[:16]


def _cells(column: pd.Series) -> bytes:
    if pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(np.float64, na_value=np.nan) + 0.0
        return np.where(np.isnan(values), np.nan, values).tobytes()
    return "\0".join("" if pd.isna(cell) else str(cell) for cell in column).encode()


def load(name: str, source: str) -> DataSet:
    """Return a set by name.

    Parameters
    ----------
    name : str
        Of `NAMES`, or any table of the folder, or ``pmlb:NAME``, ``openml:NUMBER``.
    source : str
        A folder with ``NAME.csv`` or ``NAME.csv.gz``, label last and named target, looked for
        there and in its neighbour ``panel``; or "pmlb" to load names from there.
    """
    from experiments.download import openml, pmlb

    if name.startswith("openml:"):
        return DataSet(name, *openml(name.removeprefix("openml:")))
    if name.startswith("pmlb:") or source == "pmlb":
        return DataSet(name, *pmlb(name.removeprefix("pmlb:")))
    folder = Path(source)
    table = _read(folder, EEG if name == GROUPED else name)
    groups = None
    if name == GROUPED:
        groups = pd.factorize(_read(folder, "eeg_seizure_groups")["recording"])[0]
    return DataSet(name, table.drop(columns="target"), table["target"].to_numpy(), groups)


def _read(folder: Path, name: str) -> pd.DataFrame:
    places = [folder / name, folder.parent / "panel" / name]
    files = [Path(f"{place}{ending}") for place in places for ending in (".csv", ".csv.gz")]
    found = next((file for file in files if file.exists()), None)
    if found is None:
        raise FileNotFoundError(
            f"no table {name} in {folder}; give the folder that holds {name}.csv, or --data pmlb"
        )
    return pd.read_csv(found)


def splits(data: DataSet) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the 15 outer splits (train, test): 3 x 5 stratified folds, groups kept together."""
    if data.groups is None:
        folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=SEED)
        return list(folds.split(data.y, data.y))
    return [
        split
        for repeat in range(REPEATS)
        for split in StratifiedGroupKFold(FOLDS, shuffle=True, random_state=SEED + repeat).split(
            data.y, data.y, data.groups
        )
    ]

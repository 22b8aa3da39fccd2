"""EEG with folds by recording, and three sets in their raw form."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.data import EEG, GROUPED, NAMES, RAW
from experiments.markdown import number, table
from experiments.models import MODELS
from experiments.results import Results
from experiments.tables.section import Section, present

CODED = {"hepatitis_uci": "hepatitis", "biomed_openml": "biomed", "heart_c_uci": "heart_c"}
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "results"
FILES = {EEG: "accuracy_paper12.csv", GROUPED: "accuracy_eeg_grouped.csv"}


def variants(results: Results) -> Section:
    """Compare coded with raw forms, and EEG by row with EEG by recording."""
    return Section(
        "Other forms of the data",
        (
            "PMLB's copies of hepatitis, biomed and heart-c code measurements and gaps as numbers. "
            "AUC (MIU) on them and on the raw tables, where text is text and gaps are gaps:",
            _raw(results),
            "EEG: 23 rows come from each recording, so folds by row (the paper's) train on the "
            "recordings that they are tested on; folds by recording do not. AUC (MIU), splits:",
            _eeg(results),
            _from_benchmark(),
        ),
    )


def _cell(results: Results, name: str, model: str) -> str:
    auc, miu = results.means("auc"), results.means("miu")
    if name not in auc.index or model not in auc or pd.isna(auc.at[name, model]):
        return "not run"
    count = results.counts().at[name, model]
    return f"{auc.at[name, model]:.3f} ({miu.at[name, model]:,.0f})" + (
        "" if count >= 15 else f", {count:.0f}"
    )


def _raw(results: Results) -> str:
    models = present(results, list(MODELS))
    models = [m for m in models if _cell(results, "hepatitis_uci", m) != "not run"]
    rows = [
        [NAMES[name], *(_cell(results, name, m) for m in models)]
        for raw, coded in CODED.items()
        for name in (coded, raw)
    ]
    assert set(CODED) == set(RAW)
    return table(["set", *(MODELS[m].title for m in models)], rows) if models else "Not run."


def _eeg(results: Results) -> str:
    models = [
        m
        for m in MODELS
        if _cell(results, EEG, m) != "not run" or _cell(results, GROUPED, m) != "not run"
    ]
    rows = [[NAMES[n], *(_cell(results, n, m) for m in models)] for n in (EEG, GROUPED)]
    return table(["folds", *(MODELS[m].title for m in models)], rows) if models else "Not run."


def _from_benchmark() -> str:
    """Show the EEG rows of the accuracy benchmark, which has the same splits and peers."""
    parts = []
    for name, file in FILES.items():
        path = BENCHMARK / file
        if not path.exists():
            continue
        rows = pd.read_csv(path, comment="#", dtype={"fold": str})
        rows = rows[(rows["table"] == EEG) & (rows["fold"] != "pooled")]
        rows = rows[rows["run"] == rows.groupby("model")["run"].transform("max")]
        for model, part in rows.groupby("model"):
            mean = part[["auc", "miu", "iiu"]].mean()
            versions = part["version"].iloc[-1].split()[0]
            cells = [number(mean["auc"]), number(mean["miu"], ",.0f"), number(mean["iiu"], ",.1f")]
            parts.append([NAMES[name], str(model), *cells, str(len(part)), versions])
    if not parts:
        return ""
    head = ["folds", "model", "AUC", "MIU", "IIU", "splits", "version"]
    return (
        "The accuracy benchmark (`benchmarks/accuracy.py`) has the same outer splits and the same "
        "peers, and more of EEG; its EBM is not tuned. Its rows, at the version stated:\n\n"
        + table(head, parts)
    )

"""What was run, what was not, what failed, and what is older than its sources."""

from __future__ import annotations

import pandas as pd

from experiments.data import NAMES, SPLITS
from experiments.kinds import NAMES as MODELS_OF
from experiments.kinds import SPLITS_OF
from experiments.markdown import table
from experiments.protocol import EXPERIMENTS
from experiments.results import Results, is_stale
from experiments.tables.section import Section

STALE = "stale"


def coverage(results: Results) -> Section:
    """Count units by experiment, model and set."""
    parts = [
        "3 x 5 stratified outer folds (`RepeatedStratifiedKFold`, seed 42; EEG by recording: "
        "`StratifiedGroupKFold`), split number = 5 x repeat + fold; configurations chosen by the "
        "mean AUC of 3 inner stratified folds where a model has a grid (Appendix B). Cells show "
        f"splits done of {SPLITS}; nothing means not run."
    ]
    for what, says in EXPERIMENTS.items():
        units = results.done[results.done["what"] == what]
        if len(units):
            parts += [f"**{what}**: {says}.", _counts(units, what)]
    return Section("What was run", (*parts, _failures(results), stale_note(results)))


def _counts(units: pd.DataFrame, what: str) -> str:
    counts = units.groupby(["table", "model"])["split"].nunique().unstack("model")
    models = [name for name in MODELS_OF[what] if name in counts]
    sets = [name for name in NAMES if name in counts.index]
    sets += [name for name in counts.index if name not in NAMES]
    rows = [[NAMES.get(name, name), *(_count(counts.at[name, m]) for m in models)] for name in sets]
    most = "" if what not in SPLITS_OF else f" (planned: split {SPLITS_OF[what]} only)"
    return table([f"set{most}", *models], rows)


def _count(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.0f}"


def _failures(results: Results) -> str:
    failed = results.units[results.units["status"] == "failed"]
    if failed.empty:
        return "No unit failed."
    kinds = failed.groupby(["what", "model", "error"]).size()
    lines = [f"* {what} {model}, {n} units: {error}" for (what, model, error), n in kinds.items()]
    return "Failed:\n\n" + "\n".join(lines)


def stale_models(results: Results) -> dict[str, int]:
    """Return how many units of each model rest on sources that have changed since."""
    stale = [f"{row.what} {row.model}" for row in results.done.itertuples() if is_stale(row)]
    return {name: stale.count(name) for name in sorted(set(stale))}


def stale_note(results: Results) -> str:
    """Say which results are older than the source files that they depend on."""
    found = stale_models(results)
    if not found:
        return "Fresh: every result rests on the source files as they are now."
    listed = ", ".join(f"{name} ({n})" for name, n in found.items())
    return f"**{STALE}**: made before the last change of a source file they depend on: {listed}."

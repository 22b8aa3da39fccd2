"""The committed results: all units in four small files, with checksums.

`units.csv` has one row per unit with its measures, `rules.parquet` the rules of the models whose
rules are compared, `scores.parquet` their scores (held-out rows; for our models also all rows of
the small sets), `substitutes.json` the same-fold alternatives. `consolidate` adds what is in the
folder of units to what is there; a unit that was made again takes the place of the old one.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.data import PAPER12
from experiments.kinds import depends_on
from experiments.protocol import Unit
from experiments.store import HERE, Store, fingerprint
from rpte.utils.output import write_bytes, write_text

RESULTS = HERE / "results"
KEY = ["what", "table", "model", "split", "config"]
COLUMNS = {
    "status": str,
    "made": str,
    "sources": str,
    "data": str,
    "packages": list,
    "n_train": float,
    "n_test": float,
    "auc": float,
    "balanced_accuracy": float,
    "brier": float,
    "log_loss": float,
    "calibration_slope": float,
    "mu": float,
    "miu": float,
    "iiu": float,
    "tuning_seconds": float,
    "fit_seconds": float,
    "predict_seconds": float,
    "direct_terms": float,
    "components": float,
    "largest_component": float,
    "claims_held": float,
    "claims": float,
    "vocabulary": float,
    "cka_stage1": float,
    "cka_stage3": float,
    "cka_stage1_without_pairs": float,
    "cka_stage3_without_pairs": float,
    "chosen": dict,
    "trees": list,
    "note": str,
    "error": str,
}
PLAIN = (str, float)
WITH_RULES = ("rpte", "rpte_paper", "rulefit", "figs", "figs_100", "sirus")
COVERED = ("heart_c", "wdbc", "saheart")  # sets whose covers are kept for every split
FILES = ("units.csv", "rules.parquet", "scores.parquet", "substitutes.json")
ONLY_SCORED = ("rpte", "rpte_paper", "rpte_strict")  # all rows


@dataclass(frozen=True)
class Results:
    """The committed results, read when they are asked for."""

    folder: Path = RESULTS

    @cached_property
    def units(self) -> pd.DataFrame:
        """One row per unit."""
        return read_units(self.folder)

    @cached_property
    def done(self) -> pd.DataFrame:
        """The units that did not fail."""
        return self.units[self.units["status"] == "done"]

    @cached_property
    def rules(self) -> pd.DataFrame:
        """One row per rule."""
        return pd.read_parquet(self.folder / "rules.parquet")

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per row of a set, model and split."""
        return pd.read_parquet(self.folder / "scores.parquet")

    @cached_property
    def substitutes(self) -> list[dict[str, Any]]:
        """The records of same-fold alternatives."""
        return json.loads((self.folder / "substitutes.json").read_text())

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The units that tables show: of a set and model one configuration.

        With the search if it has at least as many splits as fixed settings have.
        """
        key = KEY[:3]
        counts = self.done.groupby([*key, "config"]).size().unstack("config", fill_value=0)
        counts = counts.reindex(columns=["fixed", "nested"], fill_value=0)
        config = np.where(counts["nested"] >= counts["fixed"], "nested", "fixed")
        wanted = pd.DataFrame({"wanted": config}, index=counts.index).reset_index()
        rows = self.done.merge(wanted, on=key)
        return rows[rows["config"] == rows["wanted"]]

    @cached_property
    def _parts(self) -> dict[tuple[str, str, str], pd.DataFrame]:
        """The units shown, by experiment, set and model; one row per split."""
        return {key: part.set_index("split") for key, part in self.shown.groupby(KEY[:3])}

    @cached_property
    def _counts(self) -> pd.Series:
        """The number of splits by experiment, set and model."""
        return self.shown.groupby(KEY[:3]).size()

    @cached_property
    def _means(self) -> dict[tuple[str, str], pd.DataFrame]:
        """The means that were asked for."""
        return {}

    def means(self, column: str, what: str = "performance") -> pd.DataFrame:
        """Return the mean of a column over the splits: one row per set, one column per model."""
        if (column, what) not in self._means:
            rows = self.shown[self.shown["what"] == what]
            means = rows.groupby(["table", "model"])[column].mean().unstack("model")
            self._means[column, what] = means
        return self._means[column, what]

    def counts(self, what: str = "performance") -> pd.DataFrame:
        """Return the number of splits done: one row per set, one column per model."""
        return self._counts.loc[what].unstack()

    def common(self, column: str, models: list[str]) -> pd.DataFrame:
        """Return means over the splits that all these models have: sets of the paper by model."""
        rows = self.shown[(self.shown["what"] == "performance")]
        rows = rows[rows["model"].isin(models) & rows["table"].isin(list(PAPER12))]
        wide = rows.pivot(index=["table", "split"], columns="model", values=column)
        if not set(models) <= set(wide.columns):
            return pd.DataFrame(columns=models)
        means = wide[models].dropna().groupby("table").mean()
        return means.loc[[name for name in PAPER12 if name in means.index]]

    def is_fixed(self, table: str, model: str) -> bool:
        """Tell whether a set and model are shown with fixed settings."""
        part = self._parts.get(("performance", table, model))
        return part is not None and bool((part["config"] == "fixed").any())

    def folds(self, table: str, model: str, column: str, what: str = "performance") -> pd.Series:
        """Return a column of one set and model by split."""
        part = self._parts.get((what, table, model))
        return pd.Series(dtype=float, name=column) if part is None else part[column]

    def rules_of(self, table: str, model: str) -> pd.DataFrame:
        """Return the rules of one set and model."""
        return self._of(self.rules, table, model)

    def scores_of(self, table: str, model: str) -> pd.DataFrame:
        """Return the scores of one set and model."""
        return self._of(self.scores, table, model)

    def _of(self, rows: pd.DataFrame, table: str, model: str) -> pd.DataFrame:
        config = "fixed" if self.is_fixed(table, model) else "nested"
        mine = (rows["table"] == table) & (rows["model"] == model) & (rows["config"] == config)
        return rows[mine].reset_index(drop=True)


def read_units(folder: Path) -> pd.DataFrame:
    """Read the table of units; empty where there is none."""
    path = folder / "units.csv"
    if not path.exists():
        return pd.DataFrame(columns=[*KEY, *COLUMNS])
    texts = {name: str for name, kind in COLUMNS.items() if kind is not float}
    return pd.read_csv(
        path,
        dtype=texts,
        keep_default_na=False,
        na_values={name: [""] for name, kind in COLUMNS.items() if kind is float},
    )


def unit_of(row: Any) -> Unit:
    """Return the unit of a row."""
    return Unit(row.what, row.table, row.model, int(row.split), row.config)


def is_stale(row: Any) -> bool:
    """Tell whether the sources of a row have changed since it was made."""
    return bool(row.sources != fingerprint(depends_on(unit_of(row))[0]))


def known_records(folder: Path = RESULTS) -> dict[Unit, dict[str, Any]]:
    """Return what committed results say of each unit, as far as a run needs it."""
    units = read_units(folder)
    return {
        unit_of(row): {
            "status": row.status,
            "sources": row.sources,
            "chosen": json.loads(row.chosen or "{}"),
        }
        for row in units.itertuples()
    }


def consolidate(store: Store, folder: Path = RESULTS) -> int:
    """Add units to the results; return how many were added or replaced."""
    records = list(store.records())
    folder.mkdir(parents=True, exist_ok=True)
    old = Results(folder)
    units = pd.DataFrame([unit_row(record) for record in records], columns=[*KEY, *COLUMNS])
    units = _joined(old.units, units, KEY)
    write_text(units.to_csv(index=False), folder / "units.csv")
    made = [r for r in records if r["status"] == "done" and r["what"] == "performance"]
    parts = {
        "rules.parquet": pd.DataFrame([row for r in made for row in rule_rows(r)]),
        "scores.parquet": pd.concat([pd.DataFrame(), *(score_rows(r) for r in made)]),
    }
    for name, new in parts.items():
        before = pd.read_parquet(folder / name) if (folder / name).exists() else new.iloc[:0]
        _write_parquet(_replaced(before, new), folder / name)
    found = [r for r in records if r["what"] == "substitutes" and r["status"] == "done"]
    write_text(_merged_json(folder / "substitutes.json", found), folder / "substitutes.json")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
    write_text(
        json.dumps({"units": len(units), "sha256": sums}, indent=1) + "\n",
        folder / "checksums.json",
    )
    return len(records)


def unit_row(record: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a unit."""
    row = {key: record[key] for key in KEY}
    for name, kind in COLUMNS.items():
        value = record.get(name)
        if name == "error" and value:
            value = value.splitlines()[0]
        if kind not in PLAIN:
            value = json.dumps(value) if value else ""
        elif kind is float and isinstance(value, float):
            value = float(f"{value:.8g}")
        row[name] = "" if value is None and kind is not float else value
    return row


def _joined(old: pd.DataFrame, new: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    both = new if old.empty else pd.concat([old, new], ignore_index=True) if len(new) else old
    return both.drop_duplicates(key, keep="last").sort_values(key).reset_index(drop=True)


def rule_rows(record: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield the rules of a unit; covers only where they are compared."""
    if record["model"] not in WITH_RULES:
        return
    covered = record["split"] == 0 or record["table"] in COVERED
    for rule in record["rules"]:
        yield {
            **{key: record[key] for key in KEY[1:]},
            **{key: rule[key] for key in ("kind", "tree", "text", "coefficient", "rows")},
            "sources": "|".join(rule["sources"]),
            "cover": rule["cover"] if covered else None,
        }


def score_rows(record: dict[str, Any]) -> pd.DataFrame:
    """Return the scores of a unit: of held-out rows, of the small sets all rows for some models."""
    key = {name: record[name] for name in KEY[1:]}
    everything = record.get("all_scores") if record["model"] in ONLY_SCORED else None
    score = record["scores"] if everything is None else everything
    if record["n_train"] > 2_000:
        return pd.DataFrame()
    row = record["test"] if everything is None else range(len(score))
    held = np.ones(len(score), bool) if everything is None else np.isin(row, record["test"])
    return pd.DataFrame(
        {**key, "row": np.array(row, np.int32), "held_out": held, "score": np.float32(score)}
    )


def _replaced(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return old rows whose unit is not made again, and the new ones, in order of the units."""
    if new.empty:
        return old
    key = KEY[1:]
    if not old.empty:
        again = new[key].drop_duplicates()
        kept = old.merge(again, on=key, how="left", indicator=True)
        old = old[(kept["_merge"] == "left_only").to_numpy()]
    both = pd.concat([old, new], ignore_index=True) if len(old) else new
    return both.sort_values(key, kind="stable").reset_index(drop=True)


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False, compression="zstd")
    write_bytes(buffer.getvalue(), path)


def _merged_json(path: Path, records: list[dict[str, Any]]) -> str:
    old = json.loads(path.read_text()) if path.exists() else []
    by_key = {tuple(record[key] for key in KEY): record for record in [*old, *records]}
    return json.dumps([by_key[key] for key in sorted(by_key)], indent=1) + "\n"


def check(folder: Path = RESULTS) -> list[str]:
    """Return what is wrong with the committed results: checksums, doubles, missing parts."""
    path = folder / "checksums.json"
    if not path.exists():
        return [f"{path.name} is missing; run python -m experiments consolidate"]
    stated = json.loads(path.read_text())
    wrong = []
    for name, known in stated["sha256"].items():
        found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if found != known:
            wrong.append(f"{name} has the checksum {found[:12]}, stated is {known[:12]}")
    units = read_units(folder)
    if len(units) != stated["units"]:
        wrong.append(f"units.csv has {len(units)} rows, stated are {stated['units']}")
    double = units[units.duplicated(KEY)]
    wrong += [f"{unit_of(row)} is there twice" for row in double.itertuples()]
    wrong += _incomplete(Results(folder))
    return wrong


def _incomplete(results: Results) -> list[str]:
    """Return units that are done but lack their measures, rules or scores."""
    done = results.done[results.done["what"] == "performance"]
    lacking = done[done[["auc", "brier", "log_loss", "miu", "iiu"]].isna().any(axis=1)]
    wrong = [f"{unit_of(row)} lacks a measure" for row in lacking.itertuples()]
    small = done[done["n_train"] <= 2_000]
    scored = set(results.scores[KEY[1:]].drop_duplicates().itertuples(index=False, name=None))
    keys = small[KEY[1:]].itertuples(index=False, name=None)
    return wrong + [f"{key} has no scores" for key in keys if key not in scored]

"""The tables of the accuracy benchmark in Markdown, from the CSV files of `accuracy.py`.

Of our models the last run counts. A figure of a table is the mean over its folds; a figure of a
suite is taken over the tables that every model shown has finished. Seconds are compared with
LightGBM's table by table (medians over the folds), and the median ratio is shown.

Run: python benchmarks/accuracy_tables.py [FILE.csv ...]
         [--write docs/benchmarks.md] [--why README.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from accuracy import HERE, POOLED, read_log
from peers import MODELS

OURS, RULES, L1 = "rpte", "rpte_rules", "l1_logistic"
NO_TARGET = "postoperative_patient_data"  # chance level for every model
EEG = "eeg_seizure"
NAMES = {
    "rpte": "ours",
    "rpte_strict": "ours, strict",
    "rpte_rules": "ours, rules",
    "rpte_paper": "ours, paper's configuration",
    "l1_logistic": "L1 logistic",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "random_forest": "random forest",
    "ebm": "EBM",
}
INSTEAD = (OURS, L1, "xgboost", "ebm")  # ours, and what people use instead
MEANS = ("auc", "log_loss", "brier", "mu", "iiu", "components")
TITLES = {
    "paper12": "The paper's twelve sets",
    "panel": "The panel",
    "eeg_grouped": "EEG, folds by recording",
}
# Krishnamoorthy, tables "Predictive performance" and "Audit-load metrics": AUC of RPTE, EBM and
# XGBoost, then MIU of the same.
PUBLISHED = {
    "lupus": (0.768, 0.806, 0.772, 10, 159, 760),
    "postoperative_patient_data": (0.432, 0.407, 0.440, 16, 33, 211),
    "appendicitis": (0.797, 0.847, 0.806, 20, 657, 660),
    "corral": (1.000, 1.000, 1.000, 18, 32, 1600),
    "prnn_crabs": (0.974, 0.983, 0.976, 39, 1033, 1894),
    "hepatitis": (0.790, 0.848, 0.793, 40, 368, 600),
    "biomed": (0.927, 0.980, 0.945, 35, 1110, 1624),
    "haberman": (0.669, 0.697, 0.687, 36, 165, 775),
    "heart_c": (0.903, 0.915, 0.906, 75, 370, 1247),
    "saheart": (0.728, 0.767, 0.748, 91, 1492, 820),
    "wdbc": (0.987, 0.996, 0.993, 46, 12593, 1478),
    "eeg_seizure": (0.990, 0.991, 0.995, 442, 145155, 9608),
}


@dataclass(frozen=True)
class Results:
    """The last runs of one suite and seed, one row per fold and the pooled rows apart."""

    suite: str
    seed: int
    folds: pd.DataFrame
    pooled: pd.DataFrame

    @property
    def models(self) -> list[str]:
        """The models that have rows, in the order in which they are shown."""
        return [model for model in MODELS if model in set(self.folds["model"])]

    @property
    def compared(self) -> list[str]:
        """The models that have finished at least half of the tables."""
        counts = self.folds.groupby("model")["table"].nunique()
        return [m for m in self.models if 2 * counts[m] >= self.folds["table"].nunique()]

    def each(self, column: str) -> pd.DataFrame:
        """Return the mean over the folds, one row per table and one column per model."""
        means = self.folds.groupby(["table", "model"], sort=False)[column].mean()
        return means.unstack("model").reindex(columns=list(MODELS))

    @cached_property
    def slopes(self) -> pd.DataFrame:
        """The mean calibration slope over the repeats; NaN where there is none."""
        means = self.pooled.groupby(["table", "model"], sort=False)["calibration_slope"].mean()
        return means.unstack("model").reindex(columns=list(MODELS))

    def shared(self, *models: str) -> list[str]:
        """Return the tables that all these models have finished, but the one at chance level."""
        rows = self.pooled[self.pooled["model"].isin(models)]
        done = rows.groupby("table", sort=False)["model"].nunique()
        return [t for t in done.index if done[t] == len(models) and t != NO_TARGET]

    def means(self, column: str, *models: str) -> list[float]:
        """Return the mean of a column for each model, over the tables that they share."""
        return self.each(column).loc[self.shared(*models), list(models)].mean().tolist()


def last_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the last run of every table and model."""
    last = rows.groupby(["suite", "table", "model", "seed"])["run"].transform("max")
    return rows[rows["run"] == last]


def read_results(paths: list[Path]) -> list[Results]:
    """Return the results of all files by suite and seed."""
    rows = last_runs(pd.concat([read_log(path) for path in paths], ignore_index=True))
    found = []
    for (suite, seed), part in rows.groupby(["suite", "seed"], sort=False):
        pooled = part["fold"] == POOLED
        found.append(Results(suite, seed, part[~pooled], part[pooled]))
    return found


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table, the first column to the left and the others to the right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def number(value: float, form: str = ".3f") -> str:
    """Write a number; nothing for NaN."""
    return "" if pd.isna(value) else format(value, form)


def model_row(results: Results, model: str) -> list[str]:
    """Return the line of a model."""
    tables = results.shared(*results.compared)
    miu = results.each("miu").loc[tables, model]
    slope = results.slopes.loc[tables, model].median()
    mean = {name: results.each(name).loc[tables, model].mean() for name in MEANS}
    return [
        NAMES[model],
        *(number(mean[name], ".4f") for name in MEANS[:3]),
        number(slope, ".2f"),
        *(number(value, ",.0f") for value in (miu.mean(), miu.median(), miu.max())),
        *(number(mean[name], ",.1f") for name in MEANS[3:]),
        number(seconds_ratio(results, model, tables), ".2f"),
    ]


def seconds_ratio(results: Results, model: str, tables: list[str]) -> float:
    """Return the median over tables of the seconds of a model against LightGBM's."""
    medians = results.folds.groupby(["table", "model"])["fit_seconds"].median().unstack("model")
    if "lightgbm" not in medians:
        return np.nan
    return float((medians[model] / medians["lightgbm"]).loc[tables].median())


def models_table(results: Results) -> str:
    """Return one line per model."""
    head = ["model", "AUC", "log-loss", "Brier", "calibration slope", "MIU mean", "median", "max"]
    head += ["MU", "IIU", "components", "fit time"]
    return markdown(head, [model_row(results, model) for model in results.compared])


def tables_table(results: Results) -> str:
    """Return one line per table: AUC of every model, MIU of ours and EBM, distance to L1."""
    auc, miu = results.each("auc"), results.each("miu")
    beside = results.suite == "paper12"
    shown = [m for m in results.models if m not in ("rpte_strict", "rpte_paper")]
    readable = [m for m in (OURS, "ebm") if m in shown]
    head = ["table", *(NAMES[m] for m in shown), *(f"MIU {NAMES[m]}" for m in readable)]
    head += ["ours - L1"] * bool(results.shared(OURS, L1))
    if beside:
        head += [f"published {what}" for what in ("RPTE", "EBM", "XGBoost")]
        head += [f"published MIU {what}" for what in ("RPTE", "EBM", "XGBoost")]
    rows = []
    for table in auc.index:
        row = [table, *(number(auc.at[table, m]) for m in shown)]
        row += [number(miu.at[table, m], ",.0f") for m in readable]
        row += [difference_text(results, table)] * bool(results.shared(OURS, L1))
        if beside:
            row += [format(v, ".3f" if v <= 1 else ",d") for v in PUBLISHED[table]]
        rows.append(row)
    return markdown(head, rows)


def difference(results: Results, table: str) -> tuple[float, float]:
    """Return the mean AUC of ours minus L1 logistic and its corrected standard error.

    Nadeau and Bengio: the variance over J folds times 1/J + n_test/n_train.
    """
    part = results.folds[results.folds["table"] == table]
    wide = part.pivot(index=["repeat", "fold"], columns="model", values="auc")
    if not {OURS, L1} <= set(wide.columns):
        return np.nan, np.nan
    apart = (wide[OURS] - wide[L1]).dropna()
    share = (part["n_test"] / part["n_train"]).mean()
    return apart.mean(), float(np.sqrt(apart.var(ddof=1) * (1 / len(apart) + share)))


def difference_text(results: Results, table: str) -> str:
    """Write the difference and its error."""
    apart, error = difference(results, table)
    return "" if np.isnan(apart) else f"{apart:+.3f} ± {number(error)}"


@dataclass(frozen=True)
class Target:
    """A target, what was measured, and whether it is met (and stretched)."""

    text: str
    measured: str
    met: bool
    stretch: bool | None = None

    def row(self) -> list[str]:
        """Return the line of the table."""
        far = {None: "", True: ", stretch met", False: ", stretch not met"}[self.stretch]
        return [self.text, self.measured, ("met" if self.met else "not met") + far]


def accuracy_targets(results: Results) -> Iterator[Target]:
    """The paper's sets: against EBM and XGBoost."""
    models = (OURS, "ebm", "xgboost")
    if not results.shared(*models):
        return
    own, ebm, _ = results.means("auc", *models)
    apart, sets = own - ebm, f"over {len(results.shared(*models))} sets"
    yield Target(
        "AUC - EBM's >= 0.003 (0.008)", f"{apart:+.4f} {sets}", apart >= 0.003, apart >= 0.008
    )
    for column in ("log_loss", "brier"):
        own, *others = results.means(column, *models)
        text = f"{own:.4f}; EBM {others[0]:.4f}, XGBoost {others[1]:.4f}, {sets}"
        yield Target(f"{column} below EBM's and XGBoost's", text, own < min(others))


def load_targets(results: Results) -> Iterator[Target]:
    """The paper's sets: the audit load."""
    if OURS not in results.models:
        return
    miu = results.each("miu")[OURS].dropna()
    small = miu.drop(EEG, errors="ignore").mean()
    yield Target("MIU over the small sets <= 12 (9.5)", f"{small:.1f}", small <= 12, small <= 9.5)
    if EEG in miu:
        yield Target("MIU on EEG <= 90 (60)", f"{miu[EEG]:.1f}", miu[EEG] <= 90, miu[EEG] <= 60)


def rules_targets(results: Results) -> Iterator[Target]:
    """The paper's ten small sets that can be learned: yes/no statements alone."""
    if RULES not in results.models:
        return
    small = results.each("auc")[[RULES, "ebm"]].drop([EEG, NO_TARGET], errors="ignore").dropna()
    (own, ebm), over = small.mean(), f"over {len(small)} sets"
    miu = results.each("miu")[RULES].loc[small.index].mean()
    yield Target("rules: AUC at least 0.874", f"{own:.4f} {over}", own >= 0.874)
    yield Target("rules: at most 0.008 below EBM's", f"{own - ebm:+.4f}", own >= ebm - 0.008)
    yield Target("rules: MIU at most 21", f"{miu:.1f}", miu <= 21)


def logistic_targets(results: Results) -> Iterator[Target]:
    """The paper's sets: against L1 logistic."""
    found = {table: difference(results, table) for table in results.shared(OURS, L1)}
    if not found:
        return
    below = [f"{t} {d:+.3f} ± {e:.3f}" for t, (d, e) in found.items() if d < -0.005 - e]
    text = "no set below L1 logistic by more than 0.005 + one error"
    yield Target(text, ", ".join(below) or "none", not below)
    mean = float(np.mean([apart for apart, _ in found.values()]))
    yield Target("on average at least 0.005 above it", f"{mean:+.4f}", mean >= 0.005)


def single_targets(results: Results) -> Iterator[Target]:
    """The paper's sets: those with a target of their own."""
    auc = results.each("auc")[OURS]
    goals = {"corral": (0.9995, None), "prnn_crabs": (0.997, None), EEG: (0.990, 0.994)}
    for table, (goal, far) in goals.items():
        value = auc.get(table, np.nan)
        if not np.isnan(value):
            stretch = None if far is None else bool(value >= far)
            name = f"{table} at least {goal:.3f}" + (f" ({far})" if far else "")
            yield Target(name, f"{value:.4f}", bool(value >= goal), stretch)


def calibration_targets(results: Results) -> Iterator[Target]:
    """Calibration; sets without a slope are listed."""
    if OURS not in results.models:
        return
    slope = results.slopes[OURS].median()
    left_out = results.pooled[results.pooled["model"] == OURS].dropna(subset="note")
    listed = ", ".join(sorted({f"{r.table} {r.note}" for r in left_out.itertuples()}))
    text = f"{slope:.2f}" + (f" (without {listed})" if listed else "")
    yield Target("median calibration slope in [0.85, 1.15]", text, 0.85 <= slope <= 1.15)


def ownership_targets(results: Results) -> Iterator[Target]:
    """Ownership, on every fold."""
    held = results.folds.loc[results.folds["model"] == OURS, "verified"].map(is_verified)
    if len(held):
        text = f"{held.sum()} of {len(held)} folds"
        yield Target("component ownership verified on every fold", text, bool(held.all()))


def is_verified(text: str) -> bool:
    """Tell whether ``component 5/5`` says that all checks hold."""
    policy, counts = text.split()
    held, total = counts.split("/")
    return policy == "component" and held == total


def grouped_targets(results: Results) -> Iterator[Target]:
    """EEG with folds by recording."""
    models = (OURS, "ebm", "xgboost", "lightgbm")
    if results.shared(*models):
        own, *peers = results.means("auc", *models)
        best = max(peers)
        yield Target("AUC at least the best peer's", f"{own:.4f}; {best:.4f}", own >= best)


def panel_targets(results: Results) -> Iterator[Target]:
    """The panel: against EBM and XGBoost, and the audit load."""
    models = (OURS, "ebm", "xgboost")
    if results.shared(*models):
        own, *peers = results.means("auc", *models)
        text, lead = f"{own:.4f}; EBM {peers[0]:.4f}, XGBoost {peers[1]:.4f}", own - max(peers)
        yield Target("AUC above EBM's and XGBoost's (by 0.004)", text, lead > 0, lead >= 0.004)
        for column in ("log_loss", "brier"):
            own, *peers = results.means(column, *models)
            text = f"{own:.4f}; EBM {peers[0]:.4f}, XGBoost {peers[1]:.4f}"
            yield Target(f"{column} below EBM's and XGBoost's", text, own < min(peers))
        auc = results.each("auc")[list(models)].dropna(subset=[OURS])
        apart = (auc[OURS] - auc[list(models[1:])].max(axis=1)).dropna()
        below = ", ".join(f"{t} {d:+.3f}" for t, d in apart[apart < -0.012].items())
        yield Target("no table more than 0.012 below the better", below or "none", not below)
    if OURS in results.models:
        miu = results.each("miu")[OURS].dropna()
        most = results.folds.loc[results.folds["model"] == OURS, "miu"].max()
        yield Target("median MIU at most 20", f"{miu.median():.1f}", miu.median() <= 20)
        yield Target("no MIU above 300 on any fold", f"{most:.0f}", most <= 300)


def large_targets(results: Results) -> Iterator[Target]:
    """The panel's tables of 5,000 rows or more: against LightGBM."""
    if "lightgbm" not in results.models:
        return
    folds = results.folds
    rows = (folds["n_train"] + folds["n_test"]).groupby(folds["table"]).max()
    auc, miu = (results.each(c)[[OURS, "lightgbm"]].dropna() for c in ("auc", "miu"))
    large = [t for t in auc.index if rows[t] >= 5_000]
    apart = auc.loc[large, OURS] - auc.loc[large, "lightgbm"]
    below = ", ".join(f"{t} {d:+.4f}" for t, d in apart.items() if d < -0.002)
    yield Target("5,000 rows or more: within 0.002 of LightGBM", below or "all", not below)
    mean = miu.loc[large, OURS].mean()
    yield Target("5,000 rows or more: mean MIU at most 80", f"{mean:.0f}", mean <= 80)


Rule = Callable[[Results], Iterator[Target]]
TARGETS: dict[str, tuple[Rule, ...]] = {
    "paper12": (
        accuracy_targets,
        load_targets,
        rules_targets,
        logistic_targets,
        single_targets,
        calibration_targets,
        ownership_targets,
    ),
    "panel": (panel_targets, large_targets, ownership_targets),
    "eeg_grouped": (grouped_targets, ownership_targets),
}


def targets_table(results: Results) -> str:
    """Return one line per target that can be judged."""
    rows = [target.row() for rule in TARGETS[results.suite] for target in rule(results)]
    return markdown(["target", "measured", ""], rows) if rows else ""


def notes(results: Results) -> str:
    """List where a model was cut short."""
    cut = results.folds.dropna(subset="note")
    if cut.empty:
        return ""
    tables = cut.groupby(["model", "note"], sort=False)["table"].unique()
    lines = [f"* {NAMES[m]}, {note}: {', '.join(t)}" for (m, note), t in tables.items()]
    return "Cut short:\n\n" + "\n".join(lines)


def section(results: Results) -> str:
    """Return the section of a suite."""
    splits = results.folds.groupby(["table", "model"]).size().max()
    tables = results.shared(*results.compared)
    out = ""
    if results.suite == "paper12":
        out = f", without {NO_TARGET}, where every model is at chance level"
    says = (
        f"Seed {results.seed}, up to {splits} splits; means over the {len(tables)} tables that "
        f"every model has finished{out}. Fit time: median ratio to LightGBM's, tuning included."
    )
    parts = [
        f"### {TITLES[results.suite]}",
        says,
        models_table(results) if tables else "",
        targets_table(results),
        "AUC by table:",
        tables_table(results),
        notes(results),
    ]
    return "\n\n".join(part for part in parts if part)


def why(results: list[Results]) -> str:
    """Return the README's table: what is gained over each model that people use instead."""
    paper, panel = (next(r for r in results if r.suite == suite) for suite in ("paper12", "panel"))
    sets, tables = paper.shared(*INSTEAD), panel.shared(*INSTEAD)
    head = ["model", f"AUC, {len(sets)} sets of the paper", f"AUC, {len(tables)} further tables"]
    head += ["log-loss, there", "conditions to read, median", "fit time"]
    miu = panel.each("miu").loc[tables, list(INSTEAD)].median()
    seconds = panel.folds.groupby(["table", "model"])["fit_seconds"].median().unstack("model")
    times = seconds.loc[tables].div(seconds.loc[tables, OURS], axis=0).median()
    columns = zip(*(r.means("auc", *INSTEAD) for r in (paper, panel)), strict=True)
    losses = panel.means("log_loss", *INSTEAD)
    rows = [
        [
            NAMES[model],
            *(number(value) for value in (*auc, loss)),
            number(miu[model], ",.0f"),
            number(times[model], ".1f"),
        ]
        for model, auc, loss in zip(INSTEAD, columns, losses, strict=True)
    ]
    return markdown(head, rows)


def section_of(path: Path, name: str) -> tuple[str, str, str]:
    """Return a file's text before, between and after the two marks of a section."""
    begin, end = f"<!-- {name}:begin -->\n\n", f"\n\n<!-- {name}:end -->"
    before, found, rest = path.read_text().partition(begin)
    inside, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{path} has no section {name}; put its two marks where the tables go")
    return before + begin, inside, end + after


def replace_section(path: Path, name: str, text: str) -> None:
    """Put the text between the two marks of a file."""
    before, _, after = section_of(path, name)
    path.write_text(before + text + after)


def stored() -> list[Path]:
    """Return the logs that there are."""
    known = [HERE / "results" / f"accuracy_{suite}.csv" for suite in TITLES]
    return [path for path in known if path.exists()]


def main() -> None:
    """Print the tables, or write them into a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--write", type=Path, help="replace the benchmark section of this file")
    parser.add_argument("--why", type=Path, help="replace the short table of this file")
    args = parser.parse_args()
    files = args.files or stored()
    if not files:
        raise SystemExit("no results yet; run benchmarks/accuracy.py first")
    results = read_results(files)
    text = "\n\n".join(section(part) for part in results)
    if args.write:
        replace_section(args.write, "benchmark", text)
    if args.why:
        replace_section(args.why, "why", why(results))
    if not (args.write or args.why):
        print(text)


if __name__ == "__main__":
    main()

"""The pictures of docs/paper.md, drawn from the committed results as SVG, the same every time."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments import published
from experiments.data import PAPER12
from experiments.models import MODELS
from experiments.results import COVERED, RESULTS, Results
from experiments.statistics import critical_difference, mean_ranks
from experiments.store import HERE
from experiments.tables.patterns import score_agreement, tree_stability
from experiments.tables.performance import SHOWN, compare
from experiments.tables.section import present
from rpte.utils.output import write_bytes

FOLDER = HERE.parent / "docs" / "paper"
COLOURS = {
    "rpte": "#b3202a",
    "rpte_paper": "#e07b39",
    "l1_logistic": "#555555",
    "xgboost": "#1f5fa8",
    "lightgbm": "#4b9cd3",
    "random_forest": "#7fb2d9",
    "ebm": "#2e7d4f",
    "rulefit": "#7a4ea3",
    "figs": "#a17fc0",
    "sirus": "#c2a5d6",
}
INK = "#222222"


def _axes(width: float, height: float) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update(
        {
            "svg.hashsalt": "rpte",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#888888",
            "text.color": INK,
        }
    )
    return plt.subplots(figsize=(width, height), layout="constrained")


def _top_down(axes: Any) -> None:
    """Let the first row stand at the top, with room around the rows."""
    axes.set_ylim(len(axes.get_yticks()) - 0.4, -0.6)


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "rpte experiments"})
    plt.close(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(buffer.getvalue(), path)


def trade_off(results: Results) -> Any:
    """AUC against MIU, one point per model; published points are hollow."""
    models = present(results, SHOWN)
    auc, miu = results.common("auc", models), results.common("miu", models)
    sets = list(auc.index)
    figure, axes = _axes(7.0, 4.2)
    for model in models:
        x, y = miu[model].mean(), auc[model].mean()
        axes.scatter(x, y, s=70, color=COLOURS[model], zorder=3)
        axes.annotate(MODELS[model].title, (x, y), (7, 4), textcoords="offset points")
        if model in published.AUC:
            known = published.MIU.loc[sets, model].mean(), published.AUC.loc[sets, model].mean()
            axes.scatter(*known, s=50, facecolors="none", edgecolors=COLOURS[model])
            axes.plot([x, known[0]], [y, known[1]], color=COLOURS[model], lw=0.6, alpha=0.6)
    axes.set_xscale("log")
    axes.set_xlabel(f"conditions in the model (MIU), mean over {len(sets)} sets")
    axes.set_ylabel("AUC")
    axes.set_title("Accuracy against audit load (hollow: published)", loc="left", fontsize=10)
    axes.margins(x=0.16, y=0.12)
    return figure


def differences(results: Results) -> Any:
    """AUC of our default less that of each peer, set by set, with corrected 95% intervals."""
    from scipy import stats

    peers = [name for name in present(results, SHOWN) if name not in ("rpte", "figs", "sirus")]
    figure, axes = _axes(7.4, 5.6)
    names = list(PAPER12)
    for place, peer in enumerate(peers):
        for row, name in enumerate(names):
            test = compare(results, "rpte", peer, name)
            if test is None:
                continue
            n = len(
                results.folds(name, "rpte", "auc").index.intersection(
                    results.folds(name, peer, "auc").index
                )
            )
            half = test.error * stats.t.ppf(0.975, n - 1)
            at = row + (place - (len(peers) - 1) / 2) * 0.11
            axes.plot([test.mean - half, test.mean + half], [at, at], color=COLOURS[peer], lw=1)
            axes.plot(test.mean, at, "o", ms=3.5, color=COLOURS[peer])
    for peer in peers:
        axes.plot([], [], "o-", color=COLOURS[peer], label=MODELS[peer].title)
    axes.axvspan(-0.01, 0.01, color="#eeeeee", zorder=0)
    axes.axvline(0, color="#888888", lw=0.8)
    axes.set_yticks(range(len(names)), [PAPER12[n] for n in names])
    _top_down(axes)
    axes.set_xlim(-0.25, 0.3)
    axes.set_xlabel("AUC of our default less the other model's (grey: within 0.01)")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def ranks(results: Results) -> Any:
    """Mean ranks of AUC over the sets, with Nemenyi's critical difference."""
    models = present(results, SHOWN)
    table = results.common("auc", models).round(3).to_numpy()
    place = mean_ranks(table)
    width = critical_difference(len(models), max(len(table), 1))
    figure, axes = _axes(7.0, 3.2)
    order = np.argsort(place)
    for row, k in enumerate(order):
        axes.plot(place[k], row, "o", color=COLOURS[models[k]])
        axes.plot(
            [place[k] - width / 2, place[k] + width / 2], [row, row], color=COLOURS[models[k]]
        )
    axes.set_yticks(range(len(models)), [MODELS[models[k]].title for k in order])
    _top_down(axes)
    axes.set_xlabel(
        f"mean rank of AUC over {len(table)} sets, 1 is best; bars that do not overlap differ "
        "(Nemenyi, 5 %)"
    )
    return figure


def alignment(results: Results) -> Any:
    """CKA before and after tree construction, by set."""
    units = results.done[results.done["what"] == "alignment"]
    means = units.groupby("table")[["cka_stage1", "cka_stage3"]].mean()
    names = [name for name in PAPER12 if name in means.index]
    figure, axes = _axes(7.0, 3.4)
    for row, name in enumerate(names):
        a, b = means.loc[name]
        axes.plot([a, b], [row, row], color="#bbbbbb", zorder=1)
        axes.plot(a, row, "o", color="#999999")
        axes.plot(b, row, "o", color=COLOURS["rpte"])
    axes.plot([], [], "o", color="#999999", label="patterns (Stage 1)")
    axes.plot([], [], "o", color=COLOURS["rpte"], label="what Stage 3 is offered")
    axes.set_yticks(range(len(names)), [PAPER12[n] for n in names])
    _top_down(axes)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("linear CKA of the HUG and the frequent representation")
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def stability(results: Results) -> Any:
    """Stability of trees and of scores over the splits, by set and model."""
    figure, axes = _axes(7.0, 2.8)
    rows = [(name, model) for name in COVERED for model in ("rpte_paper", "rpte")]
    for row, (name, model) in enumerate(rows):
        found = tree_stability(results, name, model), score_agreement(results, name, model)
        for value, marker in zip(found, "so", strict=True):
            if value is not None:
                axes.plot(value, row, marker, color=COLOURS[model])
    axes.plot([], [], "s", color=INK, label="active trees (Jaccard)")
    axes.plot([], [], "o", color=INK, label="scores (Spearman)")
    axes.set_yticks(range(len(rows)), [f"{PAPER12[n]}, {MODELS[m].title}" for n, m in rows])
    _top_down(axes)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("agreement of the models of different splits")
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


FIGURES: dict[str, Callable[[Results], Any]] = {
    "trade_off": trade_off,
    "differences": differences,
    "ranks": ranks,
    "alignment": alignment,
    "stability": stability,
}


def draw(folder: Path = RESULTS, out: Path = FOLDER) -> list[Path]:
    """Draw all pictures; return their paths."""
    results = Results(folder)
    paths = []
    for name, make in FIGURES.items():
        _save(make(results), out / f"{name}.svg")
        paths.append(out / f"{name}.svg")
    return paths

"""Models of one training fold that may not use one variable (the paper's same-fold analysis).

Each variable that the reference model uses is left out in turn and the model is learned again.
Candidates are screened by the AUC of three-fold out-of-fold predictions inside the training fold:
those that lose at most 0.01 stay, the best five are judged on the held-out fold. A candidate agrees
with the reference (the paper's "joint agreement criteria" are not stated) if the Spearman
correlation of held-out scores is at least 0.95 and the tenth of the rows with the highest scores
overlaps by a Jaccard index of at least 0.8; both numbers are kept, so other bounds can be tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks.peers import Rows, fit_ours
from experiments.data import SEED, DataSet, splits
from experiments.protocol import Unit
from experiments.rules import RuleRow, rules_of
from rpte import RPTEClassifier

SCREEN = 0.01
KEPT = 5
LEAST = 0.75  # Jaccard index of covers from which two rules are coverage-equivalent
REFERENCES = ("rpte", "rpte_paper")


def substitute(unit: Unit, data: DataSet, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """Look for models of a training fold without one of the reference's variables."""
    train, test = splits(data)[unit.split]
    rows = Rows(data.X, data.y, data.groups, SEED).take(train)
    make = _maker(unit.model, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = fit_ours(make(), rows)
        used = sorted({s for c in reference.model_.components for s in c.sources})
        base = _out_of_fold_auc(make, rows)
        losses = {name: base - _out_of_fold_auc(make, _without(rows, name)) for name in used}
        kept = sorted((n for n in used if losses[n] <= SCREEN), key=losses.__getitem__)[:KEPT]
        held = data.X.iloc[test]
        found = [
            _compare(
                reference, fit_ours(make(), _without(rows, name)), name, rows, held, data.y[test]
            )
            for name in kept
        ]
    return {
        "n_train": len(train),
        "n_test": len(test),
        "used": used,
        "out_of_fold_auc": base,
        "out_of_fold_losses": losses,
        "auc": float(roc_auc_score(data.y[test], reference.decision_function(held))),
        "alternatives": found,
    }


def _maker(model: str, given: dict[str, Any] | None) -> Callable[[], RPTEClassifier]:
    if model == "rpte":
        return RPTEClassifier
    assert given is not None
    chosen = given["rpte_paper"]["chosen"]
    return lambda: RPTEClassifier.paper(**chosen)


def _without(rows: Rows, name: str) -> Rows:
    return Rows(rows.X.drop(columns=name), rows.y, rows.groups, rows.seed)


def _out_of_fold_auc(make: Callable[[], RPTEClassifier], rows: Rows) -> float:
    score = np.zeros(len(rows.y))
    for train, test in rows.folds(3):
        model = fit_ours(make(), rows.take(train))
        score[test] = model.decision_function(rows.X.iloc[test])
    return float(roc_auc_score(rows.y, score))


def _compare(
    reference: RPTEClassifier,
    other: RPTEClassifier,
    removed: str,
    rows: Rows,
    X: pd.DataFrame,
    y: np.ndarray,
) -> dict[str, Any]:
    """Compare two models on held-out rows, and their rules on the training rows."""
    a, b = reference.decision_function(X), other.decision_function(X.drop(columns=removed))
    same = equivalent(rules_of(reference, rows.X), rules_of(other, rows.X.drop(columns=removed)))
    return {
        "removed": removed,
        "auc": float(roc_auc_score(y, b)),
        "auc_loss": float(roc_auc_score(y, a) - roc_auc_score(y, b)),
        "spearman": _spearman(a, b),
        "top_jaccard": _top_jaccard(a, b),
        "new": sorted(_sources(other) - _sources(reference)),
        "rules": same[:3],
    }


def _sources(model: RPTEClassifier) -> set[str]:
    return {s for component in model.model_.components for s in component.sources}


def _spearman(a: np.ndarray, b: np.ndarray) -> float | None:
    value = float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan
    return None if np.isnan(value) else value


def _top_jaccard(a: np.ndarray, b: np.ndarray) -> float:
    """Return the overlap of the tenth of the rows with the highest scores, ties by place."""
    size = max(1, round(len(a) / 10))
    first, second = (set(np.argsort(-s, kind="stable")[:size].tolist()) for s in (a, b))
    return len(first & second) / len(first | second)


def equivalent(first: list[RuleRow], second: list[RuleRow]) -> list[dict[str, Any]]:
    """Return pairs of rules with other texts that cover the same rows with the same sign."""
    pairs = []
    for a in first:
        for b in second:
            if a.cover is None or b.cover is None or a.text == b.text:
                continue
            both, any_of = (a.cover & b.cover).sum(), (a.cover | b.cover).sum()
            overlap = float(both / any_of) if any_of else 0.0
            if overlap >= LEAST and a.coefficient * b.coefficient > 0:
                pairs.append(_pair(a, b, overlap))
    return sorted(pairs, key=lambda pair: -pair["jaccard"])


def _pair(a: RuleRow, b: RuleRow, overlap: float) -> dict[str, Any]:
    return {
        "reference": a.text,
        "alternative": b.text,
        "coefficients": [float(f"{r.coefficient:.4g}") for r in (a, b)],
        "jaccard": round(overlap, 4),
    }

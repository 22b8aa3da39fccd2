"""A unit of the performance experiment: fit on a split, measure, keep what later tables need."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers import CLIP, Fitted, Rows, log_odds
from experiments.data import SEED, DataSet, splits
from experiments.models import MODELS
from experiments.protocol import Unit
from experiments.rules import RuleRow, rules_of
from experiments.sirus import Sirus
from rpte import AuditLoad, RPTEClassifier, audit_load
from rpte.audit.load import count
from rpte.audit.metrics import auc, brier, calibration, log_loss, rank
from rpte.audit.terms import Terms, consulted_where

WITH_COVERS = 2_000  # rows up to which covers and the scores of all rows are kept


def perform(unit: Unit, data: DataSet) -> dict[str, Any]:
    """Fit a model on the training rows of a split and describe it."""
    train, test = splits(data)[unit.split]
    rows = Rows(data.X, data.y, data.groups, SEED).take(train)
    spec = MODELS[unit.model]
    fit = spec.fit if unit.config == "nested" or spec.fixed is None else spec.fixed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        fitted = fit(rows)
        total = time.process_time() - start
        return {
            "n_train": len(train),
            "n_test": len(test),
            "chosen": dict(fitted.chosen),
            "note": "; ".join(fitted.notes),
            "tuning_seconds": round(fitted.tuning_seconds, 4),
            "fit_seconds": round(total - fitted.tuning_seconds, 4),
            **describe(fitted, data, test),
        }


def describe(fitted: Fitted, data: DataSet, test: np.ndarray) -> dict[str, Any]:
    """Return measures on the test rows, the audit load, rules and scores of a fitted model."""
    X, y = data.X.iloc[test], data.y[test]
    start = time.process_time()
    score = log_odds(fitted.model, X)
    predict_seconds = time.process_time() - start
    load = load_of(fitted.model, X)
    record: dict[str, Any] = {
        "predict_seconds": round(predict_seconds, 5),
        **measures(y, score, np.asarray(fitted.model.predict(X)) == 1),
        "mu": load.mu,
        "miu": load.miu,
        "iiu": round(float(load.iiu or 0.0), 4),
        "test": test.tolist(),
        "scores": _rounded(score),
        "rules": _rules(fitted.model, data),
    }
    if isinstance(fitted.model, RPTEClassifier):
        record |= _own(fitted.model)
        if len(data.y) <= WITH_COVERS:
            record["all_scores"] = _rounded(log_odds(fitted.model, data.X))
    return record


def measures(y: np.ndarray, score: np.ndarray, flagged: np.ndarray) -> dict[str, float | None]:
    """Return AUC, balanced accuracy, Brier score, log-loss and calibration slope.

    `score` are log odds, `flagged` the rows that the model itself predicts to be 1.
    """
    clipped = np.clip(score, -CLIP, CLIP)
    ranked = rank(y.astype(np.float64), clipped, np.ones(len(y)))
    balanced = (flagged[y == 1].mean() + (~flagged[y == 0]).mean()) / 2
    return {
        "auc": auc(ranked),
        "balanced_accuracy": float(balanced),
        "brier": brier(ranked),
        "log_loss": log_loss(ranked),
        "calibration_slope": calibration(ranked)[1],
    }


def load_of(model: Any, X: pd.DataFrame) -> AuditLoad:
    """Return the audit load; SIRUS, which the library does not know, by the library's rule.

    All rules of SIRUS speak in every row, from inside or from outside, so a row reads them all.
    """
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    if not isinstance(final, Sirus):
        return audit_load(model, X)
    conditions = np.array([len(rule.literals) for rule in final.rules_], np.int64)
    everywhere = np.ones((len(X), len(conditions)), bool)
    return count(Terms(conditions, consulted_where(everywhere)), "SIRUS")


def _rules(model: Any, data: DataSet) -> list[dict[str, Any]]:
    keep = len(data.y) <= WITH_COVERS
    return [_rule_record(rule, keep) for rule in rules_of(model, data.X)]


def _rule_record(rule: RuleRow, keep_cover: bool) -> dict[str, Any]:
    cover = rule.cover
    return {
        "kind": rule.kind,
        "tree": rule.tree,
        "sources": list(rule.sources),
        "text": rule.text,
        "coefficient": float(f"{rule.coefficient:.6g}"),
        "rows": None if cover is None else int(cover.sum()),
        "cover": np.packbits(cover).tobytes().hex() if keep_cover and cover is not None else None,
    }


def _own(model: RPTEClassifier) -> dict[str, Any]:
    """Return what only our models have: trees, components, and how many claims hold."""
    stored = model.model_
    checks = [check for check in stored.verify() if check.name != "not checked"]
    trees = [list(tree.sources) for c in stored.components for tree in c.trees]
    return {
        "trees": trees,
        "direct_terms": sum(len(c.direct) for c in stored.components),
        "components": len(stored.components),
        "largest_component": max((len(c.sources) for c in stored.components), default=0),
        "claims_held": sum(check.holds for check in checks),
        "claims": len(checks),
    }


def _rounded(score: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in np.clip(score, -CLIP, CLIP)]

"""How plain the chosen model should be: three rules for picking a point of the validated path.

Protocol: ten small tables of the panel, 5 stratified folds, shuffled, seed 7. In each fold the
default is fitted once; from the points stored in its model, the simplest one (fewest trees, then
largest lambda) whose paired deviance is within c standard errors of the best is refitted. c = 0 is
the default. These tables chose it, so its figures here are not an unbiased estimate.

Run: python benchmarks/selection_rule.py
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from data import read
from rpte import RPTEClassifier

TABLES = [
    "spect",
    "backache",
    "hepatitis_uci",
    "loan_eligibility",
    "heart_statlog",
    "pima_diabetes",
    "breast_cancer_ljubljana",
    "swiss_labor",
    "heart_failure",
    "blood_transfusion",
]
ERRORS = (0.0, 0.5, 1.0)


def chosen(points: list[dict], errors: float) -> tuple[int, float]:
    """Return the number of trees and lambda of the simplest point near enough to the best."""
    losses = np.array([point["folds"] for point in points])
    best = losses[int(np.argmin([point["deviance"] for point in points]))]
    apart = losses - best
    spread = apart.std(axis=1) / np.sqrt(max(losses.shape[1] - 1, 1))
    good = np.flatnonzero(apart.mean(axis=1) <= errors * spread + 1e-12)
    point = min((points[i] for i in good), key=lambda p: (p["n_trees"], -p["l1"]))
    return point["n_trees"], point["l1"]


def evaluate(name: str) -> np.ndarray:
    """Return mean AUC, log-loss and MIU for each rule, shape (rules, 3)."""
    X, y = read(f"panel/{name}")
    rows = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=7).split(X, y):
        first = RPTEClassifier().fit(X.iloc[train], y.iloc[train])
        models = [first]
        for errors in ERRORS[1:]:
            trees, l1 = chosen(first.model_.training["selection"]["points"], errors)
            again = RPTEClassifier(max_trees=trees, l1=l1)
            models.append(again.fit(X.iloc[train], y.iloc[train]))
        p = [model.predict_proba(X.iloc[test])[:, 1] for model in models]
        truth = y.iloc[test]
        rows.append(
            [
                (roc_auc_score(truth, q), log_loss(truth, q), m.audit().miu)
                for q, m in zip(p, models, strict=True)
            ]
        )
    return np.mean(rows, axis=0)


def main() -> None:
    """Print each table and the means: AUC, log-loss, MIU for c = 0, 0.5, 1."""
    print(__doc__)
    results = []
    for name in TABLES:
        results.append(evaluate(name))
        print(
            f"{name:26}", *(f"{a:7.4f} {b:6.4f} {c:5.1f} |" for a, b, c in results[-1]), flush=True
        )
    means = np.mean(results, axis=0)
    print(f"{'mean':26}", *(f"{a:7.4f} {b:6.4f} {c:5.1f} |" for a, b, c in means))


if __name__ == "__main__":
    main()

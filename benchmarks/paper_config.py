"""The published configuration on breast cancer, beside the reference's figures.

Protocol: 569 x 30, 5 stratified folds, shuffled, seed 42, nothing tuned; mean AUC, MIU and IIU on
held-out rows over the folds; every fold's model is verified on its training rows. Eight L/K/G
cells, then the four ownership policies at L=2, K=100, G=0.001. Two copies of the table:
paper12/wdbc (PMLB, rounded to three decimals) and paper12/wdbc_full_precision (scikit-learn's).

Reference (hugiml-core 1.1.22, `benchmarks/reference_peer.py`): its published figures, AUC .990 and
MIU 46 at L=2, K=100, G=0.001, are those of the full-precision copy.

Run: python benchmarks/paper_config.py
"""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from data import read
from rpte import RPTEClassifier

TABLES = ("paper12/wdbc", "paper12/wdbc_full_precision")


def evaluate(estimator: RPTEClassifier, name: str) -> tuple[float, float, float]:
    """Return mean AUC, MIU and IIU over the folds."""
    X, y = read(name)
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=42).split(X, y):
        estimator.fit(X.iloc[train], y.iloc[train])
        failed = [c for c in estimator.model_.verify(X.iloc[train], y.iloc[train]) if not c.holds]
        if failed:
            raise SystemExit(f"verification failed: {failed}")
        load = estimator.audit(X.iloc[test])
        auc = roc_auc_score(y.iloc[test], estimator.decision_function(X.iloc[test]))
        scores.append((auc, load.miu, load.iiu))
    auc, miu, iiu = np.mean(scores, axis=0)
    return auc, miu, iiu


def print_row(label: str, estimator: RPTEClassifier) -> None:
    """Print one configuration on both copies of the table."""
    cells = [evaluate(estimator, name) for name in TABLES]
    print(label, *(f"{auc:9.4f} {miu:5.1f} {iiu:5.1f}" for auc, miu, iiu in cells), flush=True)


def main() -> None:
    """Print both tables."""
    print(__doc__)
    print(f"{'':16}   rounded              full precision")
    print(f"{'  L    K      G':16}      AUC   MIU   IIU       AUC   MIU   IIU")
    for order, budget, gain in product((1, 2), (50, 100), (0.01, 0.001)):
        paper = RPTEClassifier.paper(pattern_order=order, budget=budget, min_gain=gain)
        print_row(f"{order:3} {budget:4} {gain:6g} ", paper)
    print("\nownership")
    for policy in ("paper", "separate", "strict", "component"):
        print_row(f"{policy:16}", RPTEClassifier.paper(ownership=policy))


if __name__ == "__main__":
    main()

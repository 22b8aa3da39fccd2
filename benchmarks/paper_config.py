"""The published configuration on breast cancer, beside the reference's figures.

Protocol: paper12/wdbc (569 x 30), 5 stratified folds, shuffled, seed 42, nothing tuned. For each of
the eight L/K/G cells: mean AUC over the folds, mean MIU, mean IIU on held-out rows. Then the four
ownership policies at L=2, K=100, G=0.001. Reference (hugiml-core 1.1.22, same folds): AUC .990 and
MIU 46 at L=2, K=100, G=0.001; AUC .987-.990 and MIU 37-46 over the eight cells.

Run: python benchmarks/paper_config.py
"""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from data import read
from rpte import RPTEClassifier


def evaluate(estimator: RPTEClassifier, name: str) -> tuple[float, float, float]:
    """Return mean AUC, MIU and IIU over the folds; every fold's model is verified."""
    X, y = read(name)
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=42).split(X, y):
        estimator.fit(X.iloc[train], y.iloc[train])
        failed = [c for c in estimator.model_.verify(X.iloc[train], y.iloc[train]) if not c.holds]
        assert not failed, failed
        load = estimator.audit(X.iloc[test])
        auc = roc_auc_score(y.iloc[test], estimator.decision_function(X.iloc[test]))
        scores.append((auc, load.miu, load.iiu))
    auc, miu, iiu = np.mean(scores, axis=0)
    return auc, miu, iiu


def main() -> None:
    """Print both tables."""
    print(__doc__)
    print("  L    K      G    AUC   MIU   IIU")
    for order, budget, gain in product((1, 2), (50, 100), (0.01, 0.001)):
        paper = RPTEClassifier.paper(pattern_order=order, budget=budget, min_gain=gain)
        auc, miu, iiu = evaluate(paper, "paper12/wdbc")
        print(f"{order:3} {budget:4} {gain:6g} {auc:6.4f} {miu:5.1f} {iiu:5.1f}", flush=True)
    print("\npolicy        AUC   MIU   IIU")
    for policy in ("paper", "separate", "strict", "component"):
        auc, miu, iiu = evaluate(RPTEClassifier.paper(ownership=policy), "paper12/wdbc")
        print(f"{policy:10} {auc:6.4f} {miu:5.1f} {iiu:5.1f}", flush=True)


if __name__ == "__main__":
    main()

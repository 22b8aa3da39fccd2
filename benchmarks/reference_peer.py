"""The author's implementation on the folds of `paper_config.py`.

hugiml-core 1.1.22 is a peer, never imported by the library; install it in an environment of its
own: pip install hugiml-core==1.1.22. Settings: L=2, topK=100, G=0.001, adaptive binning, originals
plus patterns and augmented pairs, sequential RPTE with 3xD leaves at depth 4, L1 with C=0.5.

Run: python benchmarks/reference_peer.py
"""

from __future__ import annotations

import warnings

import numpy as np
from hugiml import HUGIMLClassifier, get_complexity
from hugiml.rpte_bounded_lookahead_leafwise import LeafWiseBoundedLookaheadRPTEFeatureLR
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from data import read


def reference() -> HUGIMLClassifier:
    """Return the reference with the paper's settings."""
    downstream = LeafWiseBoundedLookaheadRPTEFeatureLR(
        leaf_config="3xD", depth=4, enable_lookahead=False, lr_C=0.5, lr_penalty="l1"
    )
    return HUGIMLClassifier(
        L=2,
        topK=100,
        G=0.001,
        B=-1,
        adaptive_binning=True,
        feature_mode="original_plus_patterns",
        augmented_pair_transforms=True,
        convert_binary_to_categorical=False,
        topk_budget_strict=False,
        base_estimator=downstream,
    )


def main() -> None:
    """Print mean AUC and MIU (as the reference counts it) on both copies of the table."""
    warnings.simplefilter("ignore")
    for name in ("paper12/wdbc", "paper12/wdbc_full_precision"):
        X, y = read(name)
        rows = []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=42).split(X, y):
            model = reference().fit(X.iloc[train], y.iloc[train])
            score = model.predict_proba(X.iloc[test])[:, 1]
            rows.append((roc_auc_score(y.iloc[test], score), get_complexity(model)))
        auc, miu = np.mean(rows, axis=0)
        print(f"{name:28} AUC {auc:.4f}  MIU {miu:.1f}", flush=True)


if __name__ == "__main__":
    main()

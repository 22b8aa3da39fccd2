"""Linear CKA between the HUG and the frequent representation of a training fold.

Kornblith et al., 2019: ||X'Y||^2 / (||X'X|| ||Y'Y||), columns centred, training rows. Stage 1
compares the 0/1 pattern matrices alone; "before Stage 3" compares everything that Stage 3 is
offered, leaves and direct terms. Both sides have the L, K and G that the full configuration chose
on the split and both mine pairs; without pairs the comparison is made as well.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from experiments.data import DataSet, splits
from experiments.protocol import Unit
from experiments.stages import Stages, patterns_on, stages, without_pairs
from rpte import RPTEClassifier

COMPARISONS = ("cka",)


def cka(X: np.ndarray, Y: np.ndarray) -> float | None:
    """Return the linear CKA of two matrices with the same rows; None if one has no variance."""
    x, y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    scale = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(x.T @ y) ** 2 / scale) if scale > 0 else None


def align(unit: Unit, data: DataSet, given: dict[str, Any]) -> dict[str, Any]:
    """Compare the two representations of the training rows of a split."""
    train, _ = splits(data)[unit.split]
    X, y, chosen = data.X.iloc[train], data.y[train], given["rpte_paper"]["chosen"]
    record: dict[str, Any] = {"n_train": len(train), "chosen": chosen}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pairs in (True, False):
            with without_pairs(not pairs):
                both = [_stages(miner, chosen, X, y) for miner in ("hug", "frequent")]
                mined = [patterns_on(s.vocabulary(), s.schema, X) for s in both]
                offered = [s.design(X) for s in both]
            suffix = "" if pairs else "_without_pairs"
            record[f"cka_stage1{suffix}"] = cka(*mined) if all(m.size for m in mined) else None
            record[f"cka_stage3{suffix}"] = cka(*offered)
            record[f"patterns{suffix}"] = [m.shape[1] for m in mined]
    return record


def _stages(miner: str, chosen: dict[str, Any], X: Any, y: np.ndarray) -> Stages:
    return stages(RPTEClassifier.paper(vocabulary=miner, **chosen), X, y)

"""How good a model of this kind is on rows it has not seen: the whole fit, repeated in folds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError, RPTEWarning
from rpte.folds import deal
from rpte.table.read import read_training
from rpte.table.table import row_hashes

if TYPE_CHECKING:
    import pandas as pd

    from rpte.progress import Progress

Array = NDArray[Any]
Rows = NDArray[np.intp]
MEASURES = ("auc", "log_loss", "brier", "miu")


@dataclass(frozen=True, slots=True)
class FoldResult:
    """What one fold's model did on the rows held out; `auc` is None where they are of one class."""

    rows: int
    auc: float | None
    log_loss: float
    brier: float
    miu: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The results of all folds."""

    folds: tuple[FoldResult, ...]

    def mean(self, measure: str) -> float | None:
        """Return the mean of a measure over the folds that have it."""
        values = self._values(measure)
        return float(np.mean(values)) if values else None

    def error(self, measure: str) -> float | None:
        """Return the standard error of the mean over folds; None for a single one."""
        values = self._values(measure)
        return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None

    def _values(self, measure: str) -> list[float]:
        found = [getattr(fold, measure) for fold in self.folds]
        return [value for value in found if value is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return means, standard errors and the folds as plain JSON values."""
        record: dict[str, Any] = {
            name: {"mean": self.mean(name), "error": self.error(name)} for name in MEASURES
        }
        return {**record, "folds": [asdict(fold) for fold in self.folds]}


def estimate(
    estimator: Any,
    X: pd.DataFrame,
    y: Array,
    *,
    weight: Array | None = None,
    groups: Array | None = None,
    folds: int = 5,
    on_fold: Callable[[int, int, float], None] = lambda number, count, share: None,
) -> Estimate:
    """Cross-validate an estimator: everything that a fit learns is learned again in each fold.

    Rows of one group are never split; rows of equal content are spread over the folds, as they
    recur in life. The folds depend on the content of the rows, not on their order.

    Parameters
    ----------
    estimator : RPTEClassifier
        Its parameters are used; it is not changed.
    X, y, weight, groups : as for `RPTEClassifier.fit`
    folds : int
        Fewer where the smaller class has fewer rows or groups.
    on_fold : function of (number, count, share)
        Called when each fold is begun, and between the steps of its fit with the share done.
    """
    from sklearn.base import clone

    inputs = read_training(X, estimator.special_values)
    X = _pinned(X, [v.name for v in inputs.schema.variables if v.kind == "category"])
    splits = list(held_out_splits(row_hashes(inputs), y, groups, folds, weight))

    def told(number: int) -> Callable[[Progress], None]:
        return lambda now: on_fold(number, len(splits), now.share)

    results = []
    for number, (train, test) in enumerate(splits, 1):
        kept = [None if column is None else column[train] for column in (weight, groups)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)  # said of the whole table already
            fitted = clone(estimator).fit(X.iloc[train], y[train], *kept, progress=told(number))
            held_out = None if weight is None else weight[test]
            results.append(_measured(fitted, X.iloc[test], y[test], held_out))
    return Estimate(tuple(results))


def _pinned(X: pd.DataFrame, categories: list[str]) -> pd.DataFrame:
    """Declare categories, so that a fold without a column's only text still reads levels."""
    return X.astype(dict.fromkeys(categories, "category"))


def held_out_splits(
    content: Array, y: Array, groups: Array | None, folds: int, weight: Array | None = None
) -> Iterator[tuple[Rows, Rows]]:
    """Yield training and held-out rows, folds that train on one class left out."""
    if folds < 2:
        raise InputError(f"folds={folds}; give at least 2")
    positive = y == np.unique(y)[-1]
    units = np.arange(len(y)) if groups is None else groups.astype(str)
    most = min(folds, *(len(np.unique(units[positive == side])) for side in (False, True)))
    if most < 2:
        raise InputError("one class has fewer than two rows or groups to hold out")
    fold = (
        _by_content(content, positive, most, weight)
        if groups is None
        else (_by_group(units, positive, most))
    )
    for f in range(most):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if 0 < positive[train].sum() < len(train):
            yield train, test


def _by_content(content: Array, positive: Array, folds: int, weight: Array | None) -> Rows:
    """Deal rows out in the order of their content, equal ones to different folds."""
    order = np.lexsort((*(() if weight is None else (weight,)), content))
    dealt = deal(positive[order].astype(np.float64), np.ones(len(order), np.int64), folds)
    fold = np.empty(len(order), np.intp)
    fold[order] = dealt.argmax(axis=0)
    return fold


def _by_group(groups: Array, positive: Array, folds: int) -> Rows:
    from sklearn.model_selection import StratifiedGroupKFold

    fold = np.full(len(groups), -1, np.intp)
    unit = np.unique(groups, return_inverse=True)[1]
    for f, (_, test) in enumerate(StratifiedGroupKFold(folds).split(unit, positive, unit)):
        fold[test] = f
    return fold


def _measured(fitted: Any, X: pd.DataFrame, y: Array, weight: Array | None) -> FoldResult:
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

    model = fitted.model_
    p = model.predict_proba(X)[:, model.positive]
    truth = (y == model.classes[model.positive]).astype(int)
    both = 0 < truth.sum() < len(truth)
    return FoldResult(
        rows=len(truth),
        auc=float(roc_auc_score(truth, p, sample_weight=weight)) if both else None,
        log_loss=float(log_loss(truth, p, sample_weight=weight, labels=[0, 1])),
        brier=float(brier_score_loss(truth, p, sample_weight=weight)),
        miu=model.audit().miu,
    )

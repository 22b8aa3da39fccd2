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

    Rows of equal content, or of one group, are never split. The folds depend on the content of the
    rows, not on their order.

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
    splits = list(held_out_splits(row_hashes(inputs), y, groups, folds))

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
    content: Array, y: Array, groups: Array | None, folds: int
) -> Iterator[tuple[Rows, Rows]]:
    """Yield training and held-out rows, folds that train on one class left out."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    if folds < 2:
        raise InputError(f"folds={folds}; give at least 2")
    keys, unit = np.unique(content if groups is None else groups.astype(str), return_inverse=True)
    positive = y == np.unique(y)[-1]
    events = np.bincount(unit, positive) / np.bincount(unit)
    label = (events > 0.5).astype(int)
    units = (len(np.unique(unit[positive == side])) for side in (False, True))
    most = min(folds, np.bincount(label, minlength=2).min() if groups is None else min(units))
    if most < 2:
        raise InputError("one class has fewer than two different rows or groups to hold out")
    if groups is None:  # content has put the keys in a random order
        found = StratifiedKFold(most).split(keys, label)
    else:
        found = StratifiedGroupKFold(most).split(unit, positive, unit)
    for _, held_out in found:
        test = np.isin(unit, held_out) if groups is None else np.isin(np.arange(len(y)), held_out)
        if 0 < positive[~test].sum() < (~test).sum():
            yield np.flatnonzero(~test), np.flatnonzero(test)


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

"""How good a fit is on rows it has not seen: all of it repeated in folds."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rpte.audit.class_metrics import class_measures
from rpte.audit.number_metrics import number_measures
from rpte.errors import InputError, RPTEWarning
from rpte.estimators.numbers import checked_loss
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.model.classes import ClassesModel
from rpte.model.summary import RECORD
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.table.inputs import Inputs, as_array, as_matrix, column_names
from rpte.table.numbers import named
from rpte.table.read import read_training
from rpte.table.table import read_weights, row_hashes
from rpte.utils.arrays import Array, Index, Ints
from rpte.validation.survival_folds import (
    SurvivalFoldResult,
    by_row,
    changed_parameters,
    fold_result,
    strata_of,
)
from rpte.validation.tables import fold_of_rows, is_training_table, labelled_rows, trains_on_both

if TYPE_CHECKING:
    import pandas as pd

    from rpte.model.model import Model
    from rpte.utils.progress import Progress

Kept = TypeVar("Kept", "Model", "ClassesModel")


@dataclass(frozen=True, slots=True)
class FoldResult:
    """Figures of one fold on the rows held out; `auc` is None where they are of one class."""

    rows: int
    auc: float | None
    log_loss: float
    brier: float
    miu: int


@dataclass(frozen=True, slots=True)
class NumberFoldResult:
    """Figures of one fold of numbers on the rows held out.

    `deviance_explained` is against the mean of these rows, None where they are all equal. The Gini
    index is of their order by prediction, None where numbers are negative or all 0; the calibration
    ratio is the sum predicted over the sum observed, None where that is 0. The mean absolute and
    the root mean squared error are in units of y.
    """

    rows: int
    deviance_explained: float | None
    gini: float | None
    calibration_ratio: float | None
    mae: float
    rmse: float
    miu: int


@dataclass(frozen=True, slots=True)
class ClassFoldResult:
    """Figures of one fold of several classes on the rows held out.

    `auc` is the mean over classes, each against the rest; None where all rows are of one class.
    """

    rows: int
    auc: float | None
    log_loss: float
    accuracy: float
    miu: int


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """The results of all folds; `by` is what decides them: content, or groups, never split.

    `unknown` counts, by column that the model of a fold reads, the held-out cells with a level that
    the fold's training rows did not have. They are scored as any new level: as the pooled one, or
    as none of the known ones.
    """

    folds: (
        tuple[FoldResult, ...]
        | tuple[NumberFoldResult, ...]
        | tuple[ClassFoldResult, ...]
        | tuple[SurvivalFoldResult, ...]
    )
    by: str = "content"
    unknown: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = ", ".join(
            f"{name}={self.mean(name):.4g}" for name in self.measures if self._values(name)
        )
        return f"Estimate({said}; {len(self.folds)} folds)"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import estimate_html

        return estimate_html(self)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the figures."""
        return tuple(each.name for each in fields(self.folds[0]) if each.name != "rows")

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
        """Return means, standard errors, folds and unknown levels as plain JSON values."""
        folds = [asdict(fold) for fold in self.folds]
        return {**self._means(), "folds": folds, "unknown": dict(self.unknown)}

    def record(self) -> dict[str, Any]:
        """Return what a model file keeps: the protocol, means and standard errors."""
        means = {name: None if m["mean"] is None else m for name, m in self._means().items()}
        rows = sum(fold.rows for fold in self.folds)
        return {"folds": len(self.folds), "by": self.by, "rows": rows, **means}

    def _means(self) -> dict[str, Any]:
        return {
            name: {"mean": self.mean(name), "error": self.error(name)} for name in self.measures
        }


def with_estimate(model: Kept, found: Estimate) -> Kept:
    """Return a model that keeps the cross-validated figures of its fit."""
    if model.ledger:
        raise InputError(
            "the model was edited after training: figures of the fit would not speak of it; fit "
            "again under the limits that you want, and cross-validate that"
        )
    return replace(model, training={**model.training, RECORD: found.record()})


def check_repeats(fitted: Any, X: Any, y: Any, weight: Any, **given: Any) -> None:
    """Refuse what would not repeat the fit of an estimator's model in every fold."""
    model: Model | ClassesModel = fitted.model_
    if hasattr(fitted, "at_miu_"):
        raise InputError(
            f"the model was picked from the frontier, at({fitted.at_miu_}), which folds would not "
            f"repeat; fit with max_inspection_units={fitted.at_miu_} and cross-validate that"
        )
    schema = read_training(X, fitted.special_values).schema
    classes = model.classes if isinstance(model, ClassesModel) else ()
    now = settings_for(checked_parameters(fitted), fitted.limits, schema, classes).to_dict()
    changed = [name for name, value in now.items() if value != model.settings[name]]
    if isinstance(model.target, NumberTarget):
        same_loss = checked_loss(fitted.loss, fitted.power) == model.loss
        changed += [] if same_loss else ["loss"]
    if isinstance(model.target, SurvivalTarget):
        changed += changed_parameters(fitted, y, weight, model.read(X).n_rows)
    if changed:
        raise InputError(f"{changed[0]} was changed since the fit; fit again, then cross-validate")
    same = is_training_table(model, labelled_rows(model, X, y, weight, **given))
    if not same.holds:
        beside = {"regression": ", exposure and offset", "survival": ", entry and strata"}
        more = "sample_weight" + beside.get(model.task, "")
        raise InputError(
            f"this is not the table that the model was fitted on ({same.evidence}); give X, y and "
            f"{more} as to fit"
        )


def estimate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    weight: Any = None,
    groups: Any = None,
    folds: int = 5,
    on_fold: Callable[[int, int, float], None] = lambda number, count, share: None,
    **given: Any,
) -> Estimate:
    """Cross-validate an estimator: everything that a fit learns is learned again in each fold.

    Rows of one group are never split; rows of equal content are spread over the folds, as new rows
    may repeat old ones. The folds depend on the content of the rows, not on their order.

    X, y, weight and groups are as for `fit`, `given` are the exposure and the offset of a
    regressor, or the entry and the strata of times; the estimator is not changed. There are fewer
    folds where the smallest class, or a table of numbers, has fewer rows or groups. `on_fold` is
    called with number, count and share when each fold begins, and between the steps of its fit.
    """
    from sklearn.base import clone

    inputs = read_training(X, estimator.special_values)
    frame = _pinned(X, [v.name for v in inputs.schema.variables if v.kind == "category"])
    y = by_row(y, inputs.n_rows) if _of_times(estimator) else np.asarray(y)
    weight, groups = (None if v is None else np.asarray(v) for v in (weight, groups))
    strata = _strata(estimator, frame, y, **given)
    splits = list(held_out_splits(row_hashes(inputs), y, groups, folds, weight, strata))
    if not splits:
        raise InputError(
            "in every fold a class would be held out as a whole, as its groups are few; give "
            "groups that hold rows of several classes, or more of them"
        )

    def tell(number: int) -> Callable[[Progress], None]:
        return lambda now: on_fold(number, len(splits), now.share)

    results, unknown = [], Counter[str]()
    for number, (train, test) in enumerate(splits, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)  # the fit of the whole table has warned
            kept = {name: _of_rows(values, train) for name, values in given.items()}
            fitted = clone(estimator).fit(
                _rows(frame, train),
                y[train],
                sample_weight=_of_rows(weight, train),
                groups=_of_rows(groups, train),
                progress=tell(number),
                **kept,
            )
            some = _rows(frame, test)
            held_out = {name: named(some, _of_rows(values, test)) for name, values in given.items()}
            # A level may have all its rows in one fold: that is no other table than in training.
            read = fitted.model_.read(some, allow_unknown=True)
            results.append(_measured(fitted, read, y[test], _of_rows(weight, test), **held_out))
            for name in {*read.unknown} & {*fitted.model_.sources}:
                unknown[name] += sum(read.unknown[name].values())
    by = "content" if groups is None else "groups"
    return Estimate(tuple(results), by, dict(sorted(unknown.items())))


def _strata(estimator: Any, X: Any, y: Array, **given: Any) -> Ints | None:
    """Return what folds of numbers or times keep even; None for classes."""
    if _of_times(estimator):
        return strata_of(y)
    if not hasattr(estimator, "loss"):
        return None
    target = NumberTarget(checked_loss(estimator.loss, estimator.power), 0.0)
    known = {name: named(X, given.get(name)) for name in ("exposure", "offset")}
    plain = target.plain(target.read(y, len(y)), np.ones(len(y)), **known)
    return target.loss.strata(plain.y)


def _of_times(estimator: Any) -> bool:
    from rpte.estimators.survival import RPTESurvival

    return isinstance(estimator, RPTESurvival)


def _of_rows(values: Any, rows: Index) -> Any:
    """Return the values of some rows; None, the name of a column and a number for all stay."""
    if values is None or isinstance(values, str) or not as_array(values).ndim:
        return values
    return as_array(values)[rows]


def _pinned(X: Any, categories: list[str]) -> pd.DataFrame | Array:
    """Declare categories, so that a fold without a column's only text still reads levels."""
    import pandas as pd

    names = column_names(X)
    if names is None and as_matrix(X).dtype.kind in "fiub":
        return as_matrix(X)  # an array stays one: its columns have places, not names
    if names is None:
        columns = {f"x{place}": column for place, column in enumerate(as_matrix(X).T)}
    else:
        columns = {name: as_array(X[key]) for name, key in names.items()}
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(columns)
    return frame.astype({key: "category" for key in frame.columns if str(key) in categories})


def _rows(X: pd.DataFrame | Array, rows: Index) -> pd.DataFrame | Array:
    return X[rows] if isinstance(X, np.ndarray) else X.iloc[rows]


def held_out_splits(
    content: Array,
    y: Array,
    groups: Array | None,
    folds: int,
    weight: Array | None = None,
    strata: Ints | None = None,
) -> Iterator[tuple[Index, Index]]:
    """Yield training and held-out rows, folds that train on too few classes or one number left out.

    Without `strata`, which numbers have, `y` holds classes, and all of them are to be trained on.
    """
    fold = fold_of_rows(content, y, groups, folds, weight, strata)
    for f, trains in enumerate(trains_on_both(fold, y, every=strata is None)):
        if trains and (fold == f).any():
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def _measured(fitted: Any, X: Inputs, y: Array, weight: Array | None, **given: Any) -> Any:
    """Return the figures of a fold."""
    model: Model | ClassesModel = fitted.model_
    if isinstance(model, ClassesModel):
        rows = model.target.read(y, len(y)), read_weights(weight, len(y))
        told: Any = class_measures(model.score(X), *rows)
        kept = {name: told[name] for name in ("auc", "log_loss", "accuracy")}
        return ClassFoldResult(len(y), **kept, miu=model.audit().miu)
    if isinstance(model.target, SurvivalTarget):
        return fold_result(model, X, y, weight, **given)
    if not isinstance(model.target, NumberTarget):
        return _of_classes(model, X, y, weight)
    rows = model.target.read(y, len(y)), read_weights(weight, len(y))
    found: Any = number_measures(model.target, model.score(X), *rows, **given)
    kept = {each.name: found[each.name] for each in fields(NumberFoldResult)[1:-1]}
    return NumberFoldResult(len(y), **kept, miu=model.audit().miu)


def _of_classes(model: Model, X: Inputs, y: Array, weight: Array | None) -> FoldResult:
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

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

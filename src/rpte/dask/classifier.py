"""The estimator over collections of dask: the classifier's parameters, and a client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import dask.array as da
import dask.bag as db
import numpy as np
from dask import delayed
from sklearn.base import clone

from rpte.dask.blocks import Session
from rpte.dask.partitions import Collections, is_dask, needed_columns, row_parts
from rpte.dask.training import check_splits, read_cluster
from rpte.errors import InputError
from rpte.estimators import classifier
from rpte.estimators.training_data import Given, TrainingData
from rpte.model.model import Model
from rpte.table.inputs import Inputs
from rpte.utils.progress import Callback, Watch

if TYPE_CHECKING:
    from rpte.estimators.cost import FitCost
    from rpte.export.parity import Parity
    from rpte.model.check import Check
    from rpte.validation.cross_validate import Estimate


class RPTEClassifier(classifier.RPTEClassifier):
    """`rpte.RPTEClassifier` over dask data frames and arrays; partitions stay where they are.

    Parameters
    ----------
    client : distributed.Client, address of a scheduler, or None, default=None
        The cluster that computes; the current client if None.
    **parameters
        Those of `rpte.RPTEClassifier`. Up to 100,000 distinct rows are fitted in memory, with every
        setting. Of more rows the file has no profile of columns and no hash of the table, and only
        ``l1="cv"`` is fitted.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> from distributed import Client
    >>> from rpte.dask import RPTEClassifier
    >>> frame = pd.DataFrame({"x": range(400), "bad": [k >= 170 for k in range(400)]})
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     X = dd.from_pandas(frame, npartitions=3)
    ...     clf = RPTEClassifier(client).fit(X, "bad")
    ...     clf.predict_proba(X).compute().shape
    (400, 2)
    """

    def __init__(self, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(["client", *classifier.RPTEClassifier._get_param_names()])

    def __sklearn_clone__(self) -> Self:
        others = {k: v for k, v in self.get_params(deep=False).items() if k != "client"}
        copied = {name: clone(value, safe=False) for name, value in others.items()}
        return type(self)(self.client, **copied)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        given = state.get("client")
        return {**state, "client": given if isinstance(given, str) else None}

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        progress: Callback | None = None,
        cache_dir: str | Path | None = None,
    ) -> RPTEClassifier:
        """Learn a model from rows on a cluster.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, or dask.array.Array of shape (n_rows, n_columns)
        y : name of a column, dask Series, or dask Array of shape (n_rows,)
            In the same partitions as `X`, as when both come from one data frame.
        sample_weight : name of a column, dask Series or Array, optional
        groups, cache_dir : None
            Not for rows on a cluster.
        progress : function of one `rpte.Progress`, optional
            As in `rpte.RPTEClassifier.fit`; asked while workers compute, too.
        """
        super().fit(X, y, sample_weight, groups, progress=progress, cache_dir=cache_dir)
        return self

    @contextmanager
    def _reading(self, given: Given, watch: Watch) -> Iterator[TrainingData]:
        """Yield what the fit needs of the collections, which workers hold until then."""
        if given.cache_dir is not None:
            raise InputError(
                f"cache_dir={given.cache_dir!r}; leave it out: rows stay on the workers"
            )
        check_splits(self.cv, given.groups)
        unread = tuple(getattr(self.limits, "exclude", ()))
        table = Collections(given.X, given.y, given.sample_weight, unread)
        with closing(Session(self.client, watch.tell)) as session:
            yield read_cluster(self, given.parameters, table, session, watch)

    def _lazily(self, method: Callable[[Model, Any], Any], X: Any, meta: Any) -> Any:
        """Return what the model makes of each partition, computed when it is asked for."""
        model, X = self._fitted(), needed_columns(X, self._fitted())
        made = partial(method, model)
        if not isinstance(X, da.Array):
            return X.map_partitions(made, meta=meta)
        chunks = X.chunks[0], *((size,) for size in meta.shape[1:])
        alone = None if meta.ndim == 2 else 1
        return X.map_blocks(made, chunks=chunks, drop_axis=alone, dtype=meta.dtype, meta=meta)

    def predict(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return the more probable class of each row; lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().predict(X, allow_unknown=allow_unknown)
        classes, scored = self.classes_, partial(_scored, "decision_function", allow_unknown)
        found = self._lazily(scored, X, np.zeros(0))
        return found.map_blocks(
            lambda score: classes[(score > 0).astype(np.intp)], meta=classes[:0]
        )

    def predict_proba(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return class probabilities, (n_rows, 2); lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().predict_proba(X, allow_unknown=allow_unknown)
        return self._lazily(partial(_scored, "predict_proba", allow_unknown), X, np.zeros((0, 2)))

    def decision_function(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return the log odds of ``classes_[1]``; lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().decision_function(X, allow_unknown=allow_unknown)
        return self._lazily(partial(_scored, "decision_function", allow_unknown), X, np.zeros(0))

    def explain(self, X: Any, reference: str | None = None, *, allow_unknown: bool = False) -> Any:
        """Take each row's score apart; lazily, of a collection, as a bag of explanations."""
        if not is_dask(X):
            return super().explain(X, reference, allow_unknown=allow_unknown)
        model = self._fitted()
        explained = delayed(partial(_explained, model, reference, allow_unknown))
        return db.from_delayed([*map(explained, row_parts(needed_columns(X, model)))])

    def _inputs(self, X: Any, allow_unknown: bool = False) -> Inputs:
        _refuse_collection(X)
        return super()._inputs(X, allow_unknown)

    def verify(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **given: Any
    ) -> list[Check]:
        """Check every claim of the model; more can be checked with a training table in memory."""
        _refuse_collection(X)
        return super().verify(X, y, sample_weight, **given)

    def export(self, target: str, path: str | Path, X: Any = None, **options: Any) -> Parity:
        """Write the model in another form; see `rpte.RPTEClassifier.export`."""
        _refuse_collection(X)
        return super().export(target, path, X, **options)

    def estimate_cost(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> FitCost:
        """Tell what a fit in memory or of files would take; see `rpte.RPTEClassifier`."""
        _refuse_collection(X)
        return super().estimate_cost(X, y, sample_weight, groups)

    def cross_validate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        folds: int = 5,
        **given: Any,
    ) -> Estimate:
        """Estimate how good the fit is, of a training table in memory alone."""
        raise InputError(
            "cross_validate fits rows in memory; hold partitions out (X.random_split) and score "
            "them, or use rpte.RPTEClassifier on a sample"
        )


def _refuse_collection(X: Any) -> None:
    if is_dask(X):
        raise InputError(
            f"X is a dask {type(X).__name__}, of which rows in memory are needed here; pass "
            "X.compute(), or some of its rows (X.partitions[0].compute())"
        )


def _explained(model: Model, reference: str | None, allow_unknown: bool, part: Any) -> Any:
    return model.explain(part, reference, allow_unknown=allow_unknown)


def _scored(name: str, allow_unknown: bool, model: Model, part: Any) -> Any:
    return getattr(model, name)(part, allow_unknown=allow_unknown)

"""The classifier over collections of dask."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rpte.dask.estimator import ClusterMixin, scored
from rpte.dask.partitions import is_dask
from rpte.estimators import classifier
from rpte.estimators.classifier import chosen_classes, log_probabilities
from rpte.utils.arrays import Array, Floats
from rpte.utils.progress import Callback


class RPTEClassifier(ClusterMixin, classifier.RPTEClassifier):
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

    in_memory: ClassVar[Any] = classifier.RPTEClassifier

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
            In the same partitions as `X`, as a column of the data frame that `X` comes from is.
        sample_weight : name of a column, dask Series or Array, optional
        groups, cache_dir : None
            Not for rows on a cluster.
        progress : function of one `rpte.Progress`, optional
            As in `rpte.RPTEClassifier.fit`; asked while workers compute, too.
        """
        super().fit(X, y, sample_weight, groups, progress=progress, cache_dir=cache_dir)
        return self

    def predict(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return the more probable class of each row; lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().predict(X, allow_unknown=allow_unknown)
        classes = self._known_classes()
        return self._lazily(partial(_predicted, classes, allow_unknown), X, classes[:0])

    def predict_proba(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return class probabilities, (n_rows, classes); lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().predict_proba(X, allow_unknown=allow_unknown)
        meta = np.zeros((0, len(self._known_classes())))
        return self._lazily(partial(scored, "predict_proba", allow_unknown), X, meta)

    def predict_log_proba(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return logarithms of class probabilities; lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().predict_log_proba(X, allow_unknown=allow_unknown)
        meta = np.zeros((0, len(self._known_classes())))
        return self._lazily(partial(_log_probabilities, allow_unknown), X, meta)

    def decision_function(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return the log odds of ``classes_[1]``, of several classes the score of each, (n, K).

        Lazily, of a collection, as an array.
        """
        if not is_dask(X):
            return super().decision_function(X, allow_unknown=allow_unknown)
        classes = len(self._known_classes())
        meta = np.zeros(0 if classes == 2 else (0, classes))
        return self._lazily(partial(scored, "decision_function", allow_unknown), X, meta)

    def _known_classes(self) -> Array:
        self._fitted()
        return np.asarray(self.classes_)


def _log_probabilities(allow_unknown: bool, model: Any, part: Any) -> Floats:
    """Return the logarithms of the class probabilities of each row of a partition."""
    return log_probabilities(model.decision_function(part, allow_unknown=allow_unknown))


def _predicted(classes: Array, allow_unknown: bool, model: Any, part: Any) -> Array:
    """Return the class of each row of a partition."""
    return np.asarray(classes[chosen_classes(model.score(part, allow_unknown=allow_unknown))])

"""The estimator of numbers over collections of dask."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import dask.array as da
import numpy as np
from dask import delayed

from rpte.dask.estimator import ClusterMixin, refuse_collection, scored
from rpte.dask.partitions import aligned_parts, beside_column, is_dask, needed_columns
from rpte.estimators import regressor
from rpte.model.model import Model
from rpte.model.target import NumberTarget
from rpte.table.numbers import named, warn_of_forgotten
from rpte.utils.arrays import Floats
from rpte.utils.progress import Callback


class RPTERegressor(ClusterMixin, regressor.RPTERegressor):
    """`rpte.RPTERegressor` over dask data frames and arrays; partitions stay where they are.

    Parameters
    ----------
    client : distributed.Client, address of a scheduler, or None, default=None
        The cluster that computes; the current client if None.
    **parameters
        Those of `rpte.RPTERegressor`. Up to 100,000 distinct rows are fitted in memory, with every
        setting. Of more rows the file has no profile of columns and no hash of the table, and only
        ``l1="cv"`` is fitted.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> from distributed import Client
    >>> from rpte.dask import RPTERegressor
    >>> frame = pd.DataFrame({"x": range(400), "claims": [k // 170 for k in range(400)]})
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     X = dd.from_pandas(frame.assign(years=1.0), npartitions=3)
    ...     reg = RPTERegressor(client, loss="poisson", l1=0.05)
    ...     reg.fit(X, "claims", exposure="years").predict(X, "years").compute().shape
    (400,)
    """

    in_memory: ClassVar[Any] = regressor.RPTERegressor

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
        groups: Any = None,
        *,
        progress: Callback | None = None,
        cache_dir: str | Path | None = None,
    ) -> RPTERegressor:
        """Learn a model from rows on a cluster.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, or dask.array.Array of shape (n_rows, n_columns)
        y : name of a column, dask Series, or dask Array of shape (n_rows,)
            In the same partitions as `X`, as a column of the data frame that `X` comes from is.
        sample_weight, exposure, offset : name of a column, dask Series or Array, optional
        groups, cache_dir : None
            Not for rows on a cluster.
        progress : function of one `rpte.Progress`, optional
            As in `rpte.RPTEClassifier.fit`; asked while workers compute, too.
        """
        rows = X, y, sample_weight, exposure, offset, groups
        super().fit(*rows, progress=progress, cache_dir=cache_dir)
        return self

    def predict(
        self, X: Any, exposure: Any = None, offset: Any = None, *, allow_unknown: bool = False
    ) -> Any:
        """Return the mean for each row; lazily, of a collection, as an array.

        Exposure and offset are then names of columns, dask series or arrays, or one number.
        """
        if not is_dask(X):
            return super().predict(X, exposure, offset, allow_unknown=allow_unknown)
        model = self._fitted()
        assert isinstance(model.target, NumberTarget)
        rows = needed_columns(X, model)
        warn_of_forgotten(model.target, exposure, offset)  # once, and not by every worker
        given = {"exposure": exposure, "offset": offset}
        beside = {role: beside_column(X, role, each) for role, each in given.items()}
        parts, apart = aligned_parts(rows, {r: c for r, c in beside.items() if is_dask(c)})
        columns = [apart.get(role, [each] * len(parts)) for role, each in beside.items()]
        made = delayed(partial(_means, model, allow_unknown))
        lengths = rows.chunks[0] if isinstance(rows, da.Array) else [np.nan] * len(parts)
        found = map(made, parts, *columns)
        blocks = [da.from_delayed(d, (n,), float) for d, n in zip(found, lengths, strict=True)]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)

    def linear_predictor(self, X: Any, *, allow_unknown: bool = False) -> Any:
        """Return the sum of all contributions; lazily, of a collection, as an array."""
        if not is_dask(X):
            return super().linear_predictor(X, allow_unknown=allow_unknown)
        return self._lazily(partial(scored, "score", allow_unknown), X, np.zeros(0))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the fraction of the deviance that is explained, of rows in memory."""
        refuse_collection(X)
        return super().score(X, y, sample_weight, exposure, offset)


def _means(model: Model, allow_unknown: bool, part: Any, exposure: Any, offset: Any) -> Floats:
    given = named(part, exposure), named(part, offset)
    return np.asarray(model.target.mean(model.score(part, allow_unknown=allow_unknown), *given))

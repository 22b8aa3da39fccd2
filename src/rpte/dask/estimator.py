"""What estimators over collections of dask share: a client, fits on its cluster, lazy answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import dask.array as da
import dask.bag as db
from dask import delayed
from sklearn.base import clone

from rpte.dask.blocks import Session
from rpte.dask.partitions import Collections, is_dask, needed_columns, row_parts
from rpte.dask.training import check_splits, read_cluster
from rpte.errors import InputError
from rpte.estimators.training_data import Given, TrainingData
from rpte.model.model import Model
from rpte.table.inputs import Inputs
from rpte.utils.progress import Watch

if TYPE_CHECKING:
    from rpte.estimators.cost import FitCost
    from rpte.export.parity import Parity
    from rpte.model.check import Checks
    from rpte.validation.cross_validate import Estimate


class ClusterMixin:
    """For the estimator `in_memory`, before which it stands among the base classes."""

    in_memory: ClassVar[Any]
    client: Any

    def __init__(self, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(["client", *cls.in_memory._get_param_names()])

    def __sklearn_clone__(self) -> Self:
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        others = {name: value for name, value in parameters.items() if name != "client"}
        copied = {name: clone(value, safe=False) for name, value in others.items()}
        return type(self)(self.client, **copied)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        given = state.get("client")
        return {**state, "client": given if isinstance(given, str) else None}

    @contextmanager
    def _reading(self, given: Given, watch: Watch) -> Iterator[TrainingData]:
        """Yield what the fit needs of the collections, which workers hold until then."""
        if given.cache_dir is not None:
            raise InputError(
                f"cache_dir={given.cache_dir!r}; leave it out: rows stay on the workers"
            )
        check_splits(self.cv, given.groups)  # type: ignore[attr-defined]
        unread = tuple(getattr(self.limits, "exclude", ()))  # type: ignore[attr-defined]
        roles = "y", "sample_weight", "exposure", "offset"
        table = Collections(given.X, {role: getattr(given, role) for role in roles}, unread)
        with closing(Session(self.client, watch.tell)) as session:
            yield read_cluster(self, given.parameters, table, session, watch)

    def _lazily(self, method: Callable[[Model, Any], Any], X: Any, meta: Any) -> Any:
        """Return what the model makes of each partition, computed when it is asked for."""
        model: Model = self._fitted()  # type: ignore[attr-defined]
        X = needed_columns(X, model)
        made = partial(method, model)
        if not isinstance(X, da.Array):
            return X.map_partitions(made, meta=meta)
        chunks = X.chunks[0], *((size,) for size in meta.shape[1:])
        alone = None if meta.ndim == 2 else 1
        return X.map_blocks(made, chunks=chunks, drop_axis=alone, dtype=meta.dtype, meta=meta)

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        *given: Any,
        allow_unknown: bool = False,
        **named: Any,
    ) -> Any:
        """Take each row's score apart; lazily, of a collection, as a bag of explanations.

        Of rows in memory, `given` and `named` are the exposure and the offset of a regressor.
        """
        if not is_dask(X):
            asked = {"allow_unknown": allow_unknown, **named}
            return self.in_memory.explain(self, X, reference, *given, **asked)
        if given or named:
            raise InputError(
                "exposure and offset are explained of rows in memory; leave them out, or give some "
                "rows (X.partitions[0].compute())"
            )
        model: Model = self._fitted()  # type: ignore[attr-defined]
        explained = delayed(partial(_explained, model, reference, allow_unknown))
        return db.from_delayed([*map(explained, row_parts(needed_columns(X, model)))])

    def _inputs(self, X: Any, allow_unknown: bool = False) -> Inputs:
        refuse_collection(X)
        found: Inputs = self.in_memory._inputs(self, X, allow_unknown)
        return found

    def verify(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **given: Any
    ) -> Checks:
        """Check every claim of the model; more can be checked with a training table in memory."""
        refuse_collection(X)
        found: Checks = self.in_memory.verify(self, X, y, sample_weight, **given)
        return found

    def estimate_cost(self, X: Any, *given: Any, **named: Any) -> FitCost:
        """Tell what a fit in memory or of files would take; see `rpte.RPTEClassifier`."""
        refuse_collection(X)
        found: FitCost = self.in_memory.estimate_cost(self, X, *given, **named)
        return found

    def export(self, target: str, path: str | Path, X: Any = None, **options: Any) -> Parity:
        """Write the model in another form; see `rpte.RPTEClassifier.export`."""
        refuse_collection(X)
        found: Parity = self.in_memory.export(self, target, path, X, **options)
        return found

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
            f"them, or use rpte.{type(self).__name__} on a sample"
        )


def refuse_collection(X: Any) -> None:
    """Refuse rows that are not in memory."""
    if is_dask(X):
        raise InputError(
            f"X is a dask {type(X).__name__}, of which rows in memory are needed here; pass "
            "X.compute(), or some of its rows (X.partitions[0].compute())"
        )


def _explained(model: Model, reference: str | None, allow_unknown: bool, part: Any) -> Any:
    return model.explain(part, reference, allow_unknown=allow_unknown)


def scored(name: str, allow_unknown: bool, model: Model, part: Any) -> Any:
    """Return what a method of the model returns for the rows of a partition."""
    return getattr(model, name)(part, allow_unknown=allow_unknown)

"""What a black box explains of the deviance that the model leaves on rows it has not seen.

Every held-out row has a score from a fit without it, and a Newton step g / h that the score leaves
undone. Boosted trees learn these steps, weighted by h, on some held-out rows and are judged on
others: one way for every loss. What a row's label has taught the fits of other folds is missing
from their residuals, so that the gain is rather too small than too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from rpte.columns.kinds import Value
from rpte.columns.limits import Permissions
from rpte.estimation.candidate import CandidatePenalty
from rpte.kernels.blas import one_openmp_thread
from rpte.rows.threads import thread_map
from rpte.selection.held_out import held_out_scores
from rpte.selection.search import Search
from rpte.structure.coding import code_number
from rpte.table.schema import Variable
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Ints

FEWEST_ROWS, MOST_ROWS = 200, 5_000  # held out: of fewer, little can be told from chance
FOLDS = 3  # of the held-out rows
STAGES = (
    10,
    50,
)  # trees, of which as many are used as explain most; more if ten help beyond chance
MOST_COLUMNS = 50  # that a split looks at, drawn where there are more
FURTHEST = 4.0  # Newton steps end at so many times their spread
MOST_BINS = 63  # of a feature; categories of more levels are read as numbers
NAMED, LEAST_PART = 4, 0.1  # variables that carry a miss, and what they carry of the largest part
# A miss: so many standard errors, and so much of what the reference explains in all.
CERTAIN, MATERIAL = 3.0, 0.1


def find_reference(search: Search, penalty: CandidatePenalty) -> dict[str, Any]:
    """Return the record of what boosted trees explain beyond the fits at a penalty.

    It has no rows where held-out scores are not at hand, or too few.
    """
    held = held_out_scores(search, penalty)
    if held is None or held[0].n_rows < FEWEST_ROWS:
        return {"rows": 0}
    table, score, fold = held
    if len(search.folds) < FOLDS:
        part = np.zeros(1) if table.part is None else table.part
        own = np.unique(part, return_inverse=True)[1].reshape(-1)  # groups stay together
        fold = own if own.max() else np.arange(table.n_rows)
    some = np.arange(min(table.n_rows, MOST_ROWS))
    fold = np.unique(fold[some] % FOLDS, return_inverse=True)[1].reshape(-1)
    if not fold.max():
        return {"rows": 0}
    score, limits = np.atleast_2d(score)[:, some], search.settings.limits
    return _Reference(table.take(some), score, fold, limits).record()


@dataclass(slots=True, eq=False)
class _Reference:
    """Boosted trees for the Newton steps of some held-out rows; scores are (K, n)."""

    table: Table
    score: Floats
    fold: Ints
    limits: Permissions  # an array keeps excluded variables, which nothing may be told of
    features: Floats = field(init=False)  # (n, q)
    sources: Ints = field(init=False)  # the variable of each feature, (q,)
    boosted: list[list[Any]] = field(init=False)  # by fold, then by score

    def __post_init__(self) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        inputs, found = self.table.inputs, []
        at = self.table.loss.residuals(self._scores(), self.table.y, self.table.weight)
        curvature = np.atleast_2d(at.hessian).sum(axis=0)
        for place, variable in self._variables():
            codes = inputs.specials.get(place)
            if variable.kind == "number":
                found.append((self._binned(variable.name, curvature), place, False))
            else:
                codes = inputs.codes(variable.name)
            if codes is not None:
                whole = np.where(codes >= 0, codes.astype(np.float64), np.nan)
                found.append((whole, place, len(variable.levels) <= MOST_BINS))
        columns, sources, categorical = zip(*found, strict=True)
        self.features, self.sources = np.column_stack(columns), np.array(sources)
        make = partial(
            HistGradientBoostingRegressor,
            max_leaf_nodes=16,
            max_bins=MOST_BINS,
            l2_regularization=1.0,
            max_features=min(1.0, MOST_COLUMNS / len(sources)),
            categorical_features=np.array(categorical),
            early_stopping=False,
            warm_start=True,
            random_state=0,
        )
        self.boosted = [[make() for _ in self.score] for _ in range(int(self.fold.max()) + 1)]

    def _binned(self, name: str, curvature: Floats) -> Floats:
        """Return a number as bins of like curvature, made once for all fits; NaN where missing."""
        x, codes = self.table.inputs[name], np.empty(self.table.n_rows, np.uint8)
        code_number(Value(name), self.table, x, curvature, MOST_BINS, codes)
        return np.where(np.isnan(x), np.nan, codes)

    def _variables(self) -> list[tuple[int, Variable]]:
        every = enumerate(self.table.schema.variables)
        return [(place, v) for place, v in every if self.limits.usable(v.name)]

    def _grow(self, trees: int, fold: int) -> None:
        """Learn the steps of all scores from the rows outside of a fold, by more trees."""
        train, loss = self.fold != fold, self.table.loss
        at = loss.residuals(self._scores(train), self.table.y[train], self.table.weight[train])
        both = zip(np.atleast_2d(at.gradient), np.atleast_2d(at.hessian), strict=True)
        for boosted, (gradient, hessian) in zip(self.boosted[fold], both, strict=True):
            weight, step = hessian / hessian.mean(), gradient / hessian
            most = FURTHEST * float(np.sqrt(np.average(step * step, weights=weight)))
            boosted.set_params(max_iter=trees)
            with one_openmp_thread():
                boosted.fit(self.features[train], np.clip(step, -most, most), weight)

    def _scores(self, rows: Any = slice(None), steps: Any = 0.0) -> Floats:
        """Return the scores of some rows with further steps, (n,) of one score."""
        score = self.score[:, rows] + steps
        return score if len(score) > 1 else np.asarray(score[0])

    def _deviances(self, features: Floats, first: int, last: int) -> Floats:
        """Return the deviance of each row with `first` + 1 trees, and up to `last`, (m, n)."""
        found = np.empty((last - first, len(self.fold)))
        for fold, boosted in enumerate(self.boosted):
            rows = self.fold == fold
            with one_openmp_thread():
                stages = zip(*(b.staged_predict(features[rows]) for b in boosted), strict=True)
                for line, steps in zip(found, islice(stages, first, last), strict=True):
                    score = self._scores(rows, np.array(steps))
                    line[rows] = self.table.loss.unit_deviance(score, self.table.y[rows])
        return found

    def record(self) -> dict[str, Any]:
        """Return what the trees explain beyond the scores, with its standard error."""
        table, weight, loss = self.table, self.table.weight, self.table.loss
        before = loss.unit_deviance(self._scores(), table.y)
        best, at, known = before, -1, 0
        for trees in STAGES:
            list(thread_map(partial(self._grow, trees), range(len(self.boosted))))
            for number, after in enumerate(self._deviances(self.features, known, trees), known):
                if round(float(after @ weight), 9) < round(float(best @ weight), 9):
                    best, at = after, number
            known, gains = trees, before - best
            gain = float(np.average(gains, weights=weight))
            error = float(np.linalg.norm(weight * (gains - gain)) / weight.sum())
            if gain <= error:
                break
        null = loss.deviance(loss.null_rows(table.y, weight), table.y, weight)
        model = float(np.average(before, weights=weight))
        found = {"deviance": model, "gain": gain, "error": error, "null_deviance": null}
        record = {"rows": len(gains), **{k: float(f"{v:.6g}") for k, v in found.items()}}
        if not is_miss(record):
            return record
        return {**record, "variables": self._carriers(at, best)}

    def _carriers(self, at: int, best: Floats) -> list[str]:
        """Return the variables without whose order the trees explain less, the first most."""
        lost, features = {}, self.features.copy()
        for place, variable in self._variables():
            own = self.sources == place
            features[:, own] = np.roll(self.features[:, own], 1, 0)  # rows are in random order
            after = self._deviances(features, at, at + 1)[0]
            lost[variable.name] = float((after - best) @ self.table.weight)
            features[:, own] = self.features[:, own]
        ranked = sorted(lost, key=lambda name: (-round(lost[name], 9), name))
        least = LEAST_PART * max(lost.values())
        return [name for name in ranked[:NAMED] if lost[name] > least] or ranked[:1]


def is_miss(record: Mapping[str, Any]) -> bool:
    """Tell whether the reference explains much more than the model, and surely."""
    if not record["rows"]:
        return False
    gain = record["gain"]
    explained = record["null_deviance"] - record["deviance"] + gain
    return bool(gain > max(CERTAIN * record["error"], MATERIAL * explained))

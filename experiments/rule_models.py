"""The rule models that the accuracy benchmark leaves out, and EBM with the paper's grid.

RuleFit and FIGS read numbers without gaps: text as codes, gaps as medians, as a pipeline that the
audit can follow. The paper states no grid for FIGS and SIRUS: FIGS chooses among four sizes, SIRUS
has the 10 rules of depth 2 of the paper's appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from benchmarks.peers import Fitted, Rows, choose, coded, ebm
from experiments.sirus import Sirus

EBM_GRID = {"max_rounds": (200, 500), "interactions": (0, 10), "learning_rate": (0.015, 0.05)}
RULEFIT_GRID = {"n_estimators": (50, 100), "max_rules": (30, 60), "tree_size": (3, 4)}
FIGS_GRID = {"max_rules": (6, 12, 25, 50)}
RULEFIT_FIXED = {"n_estimators": 100, "max_rules": 60, "tree_size": 4}
FIGS_FIXED = {"max_rules": 25}

Make = Callable[[dict[str, Any], int], Any]


def _tuned(rows: Rows, make: Make, grid: dict[str, Any], fixed: dict[str, Any] | None) -> Fitted:
    """Fit a model of numbers without gaps, with its grid or with fixed settings."""
    encoder, codes, _ = coded(rows)
    gaps = SimpleImputer(strategy="median", keep_empty_features=True).fit(codes.X.to_numpy())
    filled = Rows(pd.DataFrame(gaps.transform(codes.X.to_numpy())), rows.y, rows.groups, rows.seed)

    def fit(chosen: dict[str, Any], train: Rows, _: Rows | None = None) -> Any:
        return make(chosen, rows.seed).fit(train.X.to_numpy(), train.y)

    steps = [("codes", encoder), ("gaps", gaps)]
    if fixed is not None:
        model = Pipeline([*steps, ("model", fit(fixed, filled))])
        return Fitted(model, ("fixed settings",), fixed)
    best = choose(fit, grid, filled)
    return Fitted(
        Pipeline([*steps, ("model", fit(best.chosen, filled))]), (), best.chosen, best.seconds
    )


def _rulefit(chosen: dict[str, Any], seed: int) -> Any:
    from imodels import RuleFitClassifier

    np.random.seed(seed)  # noqa: NPY002 - imodels draws tree sizes from the global generator
    return RuleFitClassifier(random_state=seed, **chosen)


def _figs(chosen: dict[str, Any], seed: int) -> Any:
    from imodels import FIGSClassifier

    return FIGSClassifier(random_state=seed, **chosen)


def rulefit(rows: Rows, fixed: bool = False) -> Fitted:
    """RuleFit (imodels) with the paper's grid."""
    return _tuned(rows, _rulefit, RULEFIT_GRID, RULEFIT_FIXED if fixed else None)


def figs(rows: Rows, fixed: bool = False) -> Fitted:
    """FIGS (imodels), its size chosen among four."""
    return _tuned(rows, _figs, FIGS_GRID, FIGS_FIXED if fixed else None)


def figs_100(rows: Rows) -> Fitted:
    """FIGS with the 100 rules of the paper's appendix A."""
    return _tuned(rows, _figs, {}, {"max_rules": 100})


def sirus(rows: Rows) -> Fitted:
    """SIRUS with 10 rules of depth 2."""
    return _tuned(rows, lambda chosen, seed: Sirus(seed=seed, **chosen), {}, {"n_rules": 10})


def ebm_tuned(rows: Rows, fixed: bool = False) -> Fitted:
    """EBM with the paper's grid; with fixed settings its upper end."""
    from interpret.glassbox import ExplainableBoostingClassifier

    if fixed:
        return ebm(rows)

    def fit(chosen: dict[str, Any], train: Rows, _: Rows | None = None) -> Any:
        model = ExplainableBoostingClassifier(n_jobs=1, random_state=rows.seed, **chosen)
        return model.fit(train.X, train.y)

    best = choose(fit, EBM_GRID, rows)
    return Fitted(fit(best.chosen, rows), (), best.chosen, best.seconds)

"""The models of the accuracy benchmark: ours and the peers, each a function from rows to a model.

XGBoost, LightGBM and the random forest choose among the paper's eight configurations (its Appendix
"Hyperparameter Configuration") by the mean AUC of three inner stratified folds, and are then fitted
on all training rows; the first of equally good configurations wins. XGBoost's early stopping runs
on the inner folds, and the last fit takes the mean of the rounds found there. EBM is the upper end
of the paper's grid, nothing tuned. Where rows come in groups, inner validation respects them.

A model that is cut short says so in the notes it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from rpte import RPTEClassifier

EBM_ROWS = 20_000  # most rows EBM is trained on
EBM_COLUMNS = 200  # most columns among which EBM looks for interactions
LOGISTIC_ROWS = 100_000  # most rows the logistic regression is trained on
TUNING_ROWS = 20_000  # rows on which a choice is made where a table has more than LONG
LONG = 50_000
ROUNDS = 200
CLIP = 35.0
PAPER_GRID = {"pattern_order": (1, 2), "budget": (50, 100), "min_gain": (0.01, 0.001)}

NUMBERS = make_column_selector(dtype_include="number")
TEXT = make_column_selector(dtype_exclude="number")


@dataclass(frozen=True)
class Rows:
    """Training rows, the groups they come from if any, and the seed of whatever is random."""

    X: pd.DataFrame
    y: np.ndarray
    groups: np.ndarray | None = None
    seed: int = 42

    def take(self, index: np.ndarray) -> Rows:
        """Select rows by position."""
        groups = None if self.groups is None else self.groups[index]
        return Rows(self.X.iloc[index], self.y[index], groups, self.seed)

    def at_most(self, n: int) -> Rows:
        """Return all rows, or a sample of `n` in which the label keeps its share."""
        if len(self.y) <= n:
            return self
        everything = np.arange(len(self.y))
        kept, _ = train_test_split(
            everything, train_size=n, stratify=self.y, random_state=self.seed
        )
        return self.take(np.sort(kept))

    def for_tuning(self) -> Rows:
        """Return the rows on which a choice is made."""
        return self.at_most(TUNING_ROWS) if len(self.y) > LONG else self

    def folds(self, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return inner folds: stratified, and by group where there are groups."""
        kind = StratifiedKFold if self.groups is None else StratifiedGroupKFold
        splitter = kind(n, shuffle=True, random_state=self.seed)
        return list(splitter.split(self.X, self.y, self.groups))


@dataclass(frozen=True)
class Fitted:
    """A fitted model, how it was cut short, what was chosen for it and the CPU time of choosing."""

    model: Any
    notes: tuple[str, ...] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    tuning_seconds: float = 0.0


Fit = Callable[[dict[str, Any], Rows, Rows], Any]


def tune(
    fit: Fit, grid: dict[str, tuple[Any, ...]], rows: Rows
) -> tuple[dict[str, Any], list[Any]]:
    """Return the best configuration by inner AUC, and its models of the inner folds."""
    folds = [(rows.take(train), rows.take(test)) for train, test in rows.folds(3)]
    best: tuple[float, dict[str, Any], list[Any]] = (-np.inf, {}, [])
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        models = [fit(chosen, train, test) for train, test in folds]
        pairs = zip(models, folds, strict=True)
        auc = np.mean([roc_auc_score(t.y, m.predict_proba(t.X)[:, 1]) for m, (_, t) in pairs])
        if auc > best[0]:
            best = (float(auc), chosen, models)
    return best[1:]


@dataclass(frozen=True)
class Choice:
    """A chosen configuration, its models of the inner folds, and the CPU time it took."""

    chosen: dict[str, Any]
    models: list[Any]
    seconds: float


def choose(fit: Fit, grid: dict[str, tuple[Any, ...]], rows: Rows) -> Choice:
    """Tune, and take the time."""
    start = time.process_time()
    chosen, models = tune(fit, grid, rows)
    return Choice(chosen, models, time.process_time() - start)


def log_odds(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Return the log odds of the second class."""
    final = model.steps[-1][1] if isinstance(model, Pipeline) else model
    # The decision function of FIGS is a sum of shares.
    if hasattr(final, "decision_function") and type(final).__name__ != "FIGSClassifier":
        return np.asarray(model.decision_function(X), dtype=np.float64)
    p = np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.clip(np.log(p) - np.log1p(-p), -CLIP, CLIP)


def tuning_notes(rows: Rows) -> tuple[str, ...]:
    """Say so if the configuration was chosen on a sample."""
    return (f"tuned on {TUNING_ROWS} rows",) if len(rows.y) > LONG else ()


def coded(rows: Rows) -> tuple[ColumnTransformer, Rows, list[int]]:
    """Return an encoder of text as codes (missing and unseen as NaN), the coded rows, and which."""
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    encoder = ColumnTransformer([("text", codes, TEXT)], remainder="passthrough")
    X = pd.DataFrame(encoder.fit_transform(rows.X).astype(np.float64))
    n_text = len(TEXT(rows.X))
    return encoder, Rows(X, rows.y, rows.groups, rows.seed), list(range(n_text))


def pipeline(encoder: ColumnTransformer, model: Any) -> Pipeline:
    """Put a fitted encoder before a fitted model."""
    return Pipeline([("codes", encoder), ("model", model)])


def fit_ours(model: RPTEClassifier, rows: Rows) -> RPTEClassifier:
    """Fit one of our models, groups respected."""
    return model.fit(rows.X, rows.y, groups=rows.groups)


def rpte(rows: Rows) -> Fitted:
    """Our default."""
    return Fitted(fit_ours(RPTEClassifier(), rows))


def rpte_strict(rows: Rows) -> Fitted:
    """Our default with no variable in two terms."""
    return Fitted(fit_ours(RPTEClassifier(ownership="strict"), rows))


def rpte_rules(rows: Rows) -> Fitted:
    """Our default with yes/no statements alone."""
    return Fitted(fit_ours(RPTEClassifier(form="rules"), rows))


def rpte_paper(rows: Rows, ownership: str = "paper") -> Fitted:
    """The published configuration, tuned as in the paper."""

    def fit(chosen: dict[str, Any], train: Rows, _: Rows | None = None) -> RPTEClassifier:
        return fit_ours(RPTEClassifier.paper(ownership=ownership, **chosen), train)

    best = choose(fit, PAPER_GRID, rows.for_tuning())
    return Fitted(fit(best.chosen, rows), tuning_notes(rows), best.chosen, best.seconds)


def numbers_with_gaps(X: pd.DataFrame) -> list[str]:
    """Return the numbers that are missing somewhere."""
    return [name for name in NUMBERS(X) if X[name].isna().any()]


def logistic_columns() -> ColumnTransformer:
    """Make standardised numbers with medians for gaps, flags of gaps, and levels of text."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=5, max_categories=200
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, NUMBERS),
            ("flags", MissingIndicator(features="all"), numbers_with_gaps),
            ("levels", levels, TEXT),
        ]
    )


def l1_logistic(rows: Rows) -> Fitted:
    """L1 logistic regression, lambda by the log-loss of five inner folds."""
    chosen_on, last = rows.for_tuning(), rows.at_most(LOGISTIC_ROWS)
    # liblinear penalises the intercept; on this scale hardly.
    tol = 1e-4 if len(rows.y) <= 2_000 else 1e-3
    common = {"solver": "liblinear", "intercept_scaling": 10.0, "max_iter": 1000, "tol": tol}
    search = LogisticRegressionCV(
        Cs=20,
        l1_ratios=(1.0,),
        cv=chosen_on.folds(5),
        scoring="neg_log_loss",
        random_state=rows.seed,
        use_legacy_attributes=False,
        **common,
    )
    model = make_pipeline(logistic_columns(), search).fit(chosen_on.X, chosen_on.y)
    if last is chosen_on:
        return Fitted(model, (), {"C": float(search.C_)})
    final = LogisticRegression(C=search.C_, l1_ratio=1.0, random_state=rows.seed, **common)
    model = make_pipeline(logistic_columns(), final).fit(last.X, last.y)
    cut = (f"trained on {LOGISTIC_ROWS} rows",) if len(rows.y) > LOGISTIC_ROWS else ()
    return Fitted(model, (*tuning_notes(rows), *cut), {"C": float(search.C_)})


def xgboost(rows: Rows) -> Fitted:
    """XGBoost with the paper's grid; text as native categories, gaps as they are."""
    from xgboost import XGBClassifier

    encoder, codes, text = coded(rows)
    kinds = ["c" if j in text else "q" for j in range(codes.X.shape[1])]
    base = XGBClassifier(
        reg_lambda=1.0,
        tree_method="hist",
        enable_categorical=True,
        feature_types=kinds,
        n_jobs=1,
        random_state=rows.seed,
    )

    def stopped_early(chosen: dict[str, Any], train: Rows, test: Rows) -> Any:
        model = clone(base).set_params(n_estimators=ROUNDS, early_stopping_rounds=20, **chosen)
        return model.fit(train.X, train.y, eval_set=[(test.X, test.y)], verbose=False)

    grid = {"max_depth": (2, 4), "learning_rate": (0.03, 0.1), "min_child_weight": (1, 5)}
    best = choose(stopped_early, grid, codes.for_tuning())
    rounds = max(1, round(np.mean([model.best_iteration + 1 for model in best.models])))
    chosen = {**best.chosen, "n_estimators": rounds}
    model = clone(base).set_params(**chosen).fit(codes.X.to_numpy(), codes.y)
    return Fitted(pipeline(encoder, model), tuning_notes(rows), chosen, best.seconds)


def lightgbm(rows: Rows) -> Fitted:
    """LightGBM with the paper's grid; text as native categories, gaps as they are."""
    from lightgbm import LGBMClassifier

    encoder, codes, text = coded(rows)
    base = LGBMClassifier(
        reg_lambda=1.0, n_estimators=ROUNDS, n_jobs=1, verbose=-1, random_state=rows.seed
    )

    def fit(chosen: dict[str, Any], train: Rows, _: Rows | None = None) -> Any:
        model = clone(base).set_params(**chosen)
        return model.fit(train.X.to_numpy(), train.y, categorical_feature=text or "auto")

    grid = {"learning_rate": (0.03, 0.1), "num_leaves": (15, 31), "min_child_samples": (10, 30)}
    best = choose(fit, grid, codes.for_tuning())
    model = pipeline(encoder, fit(best.chosen, codes))
    return Fitted(model, tuning_notes(rows), best.chosen, best.seconds)


def random_forest(rows: Rows) -> Fitted:
    """A random forest with the paper's grid; text as ordinal codes, gaps as they are."""
    encoder, codes, _ = coded(rows)
    base = RandomForestClassifier(max_features="sqrt", n_jobs=1, random_state=rows.seed)

    def fit(chosen: dict[str, Any], train: Rows, _: Rows | None = None) -> Any:
        return clone(base).set_params(**chosen).fit(train.X.to_numpy(), train.y)

    grid = {"n_estimators": (50, 100), "max_depth": (4, 8), "min_samples_leaf": (1, 5)}
    best = choose(fit, grid, codes.for_tuning())
    model = pipeline(encoder, fit(best.chosen, codes))
    return Fitted(model, tuning_notes(rows), best.chosen, best.seconds)


def ebm(rows: Rows) -> Fitted:
    """EBM with 500 rounds, 10 interactions, learning rate 0.05."""
    from interpret.glassbox import ExplainableBoostingClassifier

    kept, wide = rows.at_most(EBM_ROWS), rows.X.shape[1] > EBM_COLUMNS
    model = ExplainableBoostingClassifier(
        max_rounds=500,
        interactions=0 if wide else 10,
        learning_rate=0.05,
        n_jobs=1,
        random_state=42,
    )
    bags = None if kept.groups is None else np.stack(list(group_bags(kept, model)))
    model.fit(kept.X, kept.y, bags=bags)
    return Fitted(model, tuple(ebm_notes(rows, wide)))


def group_bags(rows: Rows, model: Any) -> Iterator[np.ndarray]:
    """Return EBM's outer bags (1 to train, -1 to stop) with no group on both sides."""
    splitter = GroupShuffleSplit(
        model.outer_bags, test_size=model.validation_size, random_state=rows.seed
    )
    for _, stop in splitter.split(rows.X, rows.y, rows.groups):
        bag = np.ones(len(rows.y), dtype=np.int8)
        bag[stop] = -1
        yield bag


def ebm_notes(rows: Rows, wide: bool) -> Iterator[str]:
    """Say how EBM was cut short."""
    if len(rows.y) > EBM_ROWS:
        yield f"trained on {EBM_ROWS} rows"
    if wide:
        yield "no interactions"


OURS = {
    "rpte": rpte,
    "rpte_strict": rpte_strict,
    "rpte_rules": rpte_rules,
    "rpte_paper": rpte_paper,
}
PEERS = {
    "l1_logistic": l1_logistic,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "random_forest": random_forest,
    "ebm": ebm,
}
MODELS: dict[str, Callable[[Rows], Fitted]] = {**OURS, **PEERS}
PACKAGES = {
    "l1_logistic": "scikit-learn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "random_forest": "scikit-learn",
    "ebm": "interpret-core",
}

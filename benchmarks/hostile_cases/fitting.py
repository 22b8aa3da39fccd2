"""Equal rows, rows that a code fills, budgets of a few conditions, empty models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from data import read
from hostile_cases.case import Case, Result, Skipped
from rpte import RPTEClassifier, RPTEWarning

SHARES = (0.01, 0.05, 0.15, 0.3)
TABLES = {"credit_scoring_spain": 4_454, "adult": 12_000, "bank_marketing": 10_000}
SPLITS = 5
CLOSE = 0.003  # AUC, mean over the splits
SMALL = ("pima_diabetes", "credit_scoring_spain", "stroke", "loan_eligibility", "heart_failure")


def table(name: str, most: int | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return a stored table, or so many of its rows."""
    try:
        X, y = read(f"panel/{name}")
    except FileNotFoundError as error:
        raise Skipped(str(error)) from None
    if most is not None and most < len(X):
        X, _, y, _ = train_test_split(X, y, train_size=most, random_state=1, stratify=y)
    return X.reset_index(drop=True), y.reset_index(drop=True)


def fill_with_code(X: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """Set all cells of a share of the rows to -9."""
    rows = np.random.default_rng(seed).permutation(len(X))[: int(share * len(X))]
    columns = {}
    for name in X:
        number = X[name].dtype.kind in "biuf"
        cells = X[name].to_numpy(float if number else object, copy=True)
        cells[rows] = -9 if number else "-9"
        columns[name] = cells
    return pd.DataFrame(columns)


def split_aucs(name: str, share: float, seed: int) -> Iterator[tuple[float, float]]:
    """Yield the AUC on rows not seen, without and with a column of noise."""
    whole, y = table(name, TABLES[name])
    for split in range(SPLITS):
        X = fill_with_code(whole, share, seed + split)
        noise = np.random.default_rng(seed + split + 99).normal(size=len(X))
        train, test = train_test_split(
            np.arange(len(X)), test_size=0.3, random_state=split, stratify=y
        )
        found = []
        for given in (X, X.assign(noise_=noise)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RPTEWarning)  # of the codes
                fitted = RPTEClassifier().fit(given.iloc[train], y[train])
                p = fitted.predict_proba(given.iloc[test])[:, 1]
            found.append(float(roc_auc_score(y[test], p)))
        yield found[0], found[1]


def equal_rows(seed: int) -> Result:
    """Expect that a block of equal rows costs no accuracy."""
    result = Result()
    for name in TABLES:
        for share in SHARES:
            apart = [a - b for a, b in split_aucs(name, share, seed)]
            mean, error = np.mean(apart), np.std(apart, ddof=1) / np.sqrt(SPLITS)
            told = f"{name}, {share:.0%} of the rows -9: AUC {mean:+.4f} ± {error:.4f} apart"
            print(told)
            result.expect(bool(mean > -CLOSE), told)
    return result


def budgets(seed: int) -> Result:
    """Expect that a budget of a few conditions is used, and that the frontier begins there."""
    result = Result()
    for name in SMALL:
        X, y = table(name)
        rate = y.mean()
        null = -2 * (rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
        frontier = RPTEClassifier().fit(X, y).frontier_
        # A third condition may not be worth it: each point is better than the one before.
        result.expect({1, 2} <= set(frontier["miu"]), f"{name}: {frontier['miu'].tolist()}")
        before = null
        for most in (1, 2, 3):
            fitted = RPTEClassifier(max_inspection_units=most).fit(X, y)
            score, miu = fitted.decision_function(X), fitted.audit().miu
            deviance = 2 * np.mean(np.logaddexp(0, np.where(y == 1, -score, score)))
            told = f"{name}, at most {most}: {miu}, deviance {deviance:.4f} after {before:.4f}"
            better = deviance < before or miu < most
            result.expect(0 < miu <= most and better, told)
            before = deviance
    return result


def empty_models(seed: int) -> Result:
    """Expect a warning wherever a model has no terms."""
    result = Result()
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    constant = np.zeros((200, 2))
    tried = [(X, {"l1": 10.0}), (X, {"max_inspection_units": 0}), (constant, {}), (X, {})]
    for table, given in tried:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fitted = RPTEClassifier(**given).fit(table, y)
        said = any("the model is empty" in str(warning.message) for warning in told)
        result.expect(said == (not fitted.model_.components), f"{given}: {fitted.audit()}")
    return result


CASES = [
    Case("a share of the rows all -9, against the same with noise", equal_rows),
    Case("budgets of 1, 2 and 3 conditions", budgets),
    Case("models without terms are announced", empty_models),
]

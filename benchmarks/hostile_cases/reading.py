"""Tables, labels and weights as nobody should give them."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import data
from hostile_cases.case import Case, Result, Skipped
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.estimators.labels import read_labels
from rpte.model.file import from_dict, to_dict
from rpte.table.files import read_table
from rpte.table.hints import find_sentinels
from rpte.table.read import read_training

OBJECTS = [
    True, False, np.True_, 0, 1, 2.5, 1.0, -0.0, np.int64(1), np.float32(0.1), Decimal("1.0"),
    Decimal("0.5"), Fraction(1, 2), "1", "1.0", "True", "a", None, float("nan"), pd.NA, pd.NaT,
    2**53, 2**53 + 1, 10**400, 1 + 0j, np.timedelta64(1, "D"), b"a", (1, 2),
    datetime.date(2020, 1, 1), Decimal("NaN"), np.longdouble(1),
]  # fmt: skip
PAIRS = [
    ("a", "a\0"), ("a", "b"), (0, 2**53 + 1), (1, 2.0), (True, False), (True, 2), (b"a", b"b"),
    (Decimal(1), Decimal(2)), ((1, 2), (3,)), (2**70, 2**70 + 1), ("1", 1), (-1, 1), (0.0, 1.0),
    (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), ("\ud800", "b"), (None, 1),
]  # fmt: skip
CODES = [-1, -9, -99, 99, 999, 9999, -999]
WARNED = ("adult.csv.gz", "bank_marketing.csv.gz")  # 99999 of capital gains, -1 of days


def objects(cells: list[Any]) -> Any:
    """Return an array of objects."""
    return np.array([*cells, None], object)[:-1]


def quietly(function: Callable[[], Any]) -> Any:
    """Return what a function gives, or the kind of the error with which it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        try:
            return function()
        except InputError:  # or one of its kinds
            return InputError.__name__
        except TypeError as error:
            return type(error).__name__


def alike(before: Any, after: Any, order: Any) -> bool:
    """Tell whether two readings of a column are the same but for the order of rows."""
    if isinstance(after, str) or before.schema != after.schema:
        return False
    numbers = before["c"].dtype.kind == "f"
    return np.array_equal(before["c"][order], after["c"], equal_nan=numbers)


def mixed_objects(seed: int) -> Result:
    """Columns of mixed objects in two orders of their rows."""
    rng, result = np.random.default_rng(seed), Result()
    for _ in range(10_000):
        cells = [OBJECTS[i] for i in rng.integers(0, len(OBJECTS), rng.integers(1, 6))]
        order = rng.permutation(len(cells))
        before = quietly(lambda c=cells: read_training({"c": objects(c)}))
        after = quietly(lambda c=cells, o=order: read_training({"c": objects(c)[o]}))
        same = before == after if isinstance(before, str) else alike(before, after, order)
        result.expect(same, f"{cells} in the order {order.tolist()}")
    return result


def sizes(seed: int) -> Result:
    """Columns of any size that a float can have, alone and beside another."""
    rng, result = np.random.default_rng(seed), Result()
    for _ in range(80):
        powers = rng.uniform(-320, 305, 2)
        with np.errstate(all="ignore"):
            X = rng.normal(size=(60, 2)) * 10.0**powers
        X[rng.random((60, 2)) < rng.choice([0, 0.1])] = np.nan
        y = (rng.random(60) < 0.5).astype(int)
        fitted = quietly(lambda X=X, y=y: RPTEClassifier(l1=0.02).fit(X, y))
        if isinstance(fitted, str):
            result.expect(True, "")
            continue
        with np.errstate(all="ignore"):
            score = fitted.decision_function(X)
        failed = [check.name for check in fitted.verify(X, y) if not check.holds]
        result.expect(bool(np.isfinite(score).all()) and not failed, f"10**{powers}: {failed}")
    return result


def whole_numbers(seed: int) -> Result:
    """Large whole numbers: all told apart, or refused."""
    rng, result = np.random.default_rng(seed), Result()
    for _ in range(5_000):
        start = int(2 ** rng.uniform(50, 66))
        cells = [start + int(step) for step in rng.integers(0, 600, 4)]
        inputs = quietly(lambda c=cells: read_training({"c": objects(c)}))
        told = isinstance(inputs, str) or len(set(inputs["c"])) == len(set(cells))
        result.expect(told, f"{cells} became {inputs if isinstance(inputs, str) else inputs['c']}")
    return result


def masks(seed: int) -> Result:
    """Masked cells, labels and weights."""
    rng, result = np.random.default_rng(seed), Result()
    for _ in range(500):
        mask = rng.random(30) < 0.2
        mask[0] = True
        cells = [
            rng.normal(size=30),
            rng.integers(0, 9, 30),
            rng.random(30) < 0.5,
            np.full(30, "a"),
        ]
        for column in cells:
            inputs = read_training({"c": np.ma.array(column, mask=mask)})
            result.expect(inputs.is_missing("c").tolist() == mask.tolist(), f"cells {column.dtype}")
        X, y = rng.normal(size=(30, 1)), np.arange(30) % 2
        refused = quietly(lambda m=mask, y=y: read_labels(np.ma.array(y, mask=m), 30))
        result.expect(refused == "InputError", "labels")
        weight = np.ma.array(np.ones(30), mask=mask)
        refused = quietly(lambda X=X, y=y, w=weight: RPTEClassifier(l1=0.1).fit(X, y, w))
        result.expect(refused == "InputError", "weights")
    return result


def weights(seed: int) -> Result:
    """Weights of any size: a finite model, or refused."""
    rng, result = np.random.default_rng(seed), Result()
    X = rng.normal(size=(60, 1))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    for _ in range(150):
        weight = 10.0 ** rng.uniform(-320, 308, 60) if rng.random() < 0.5 else np.ones(60)
        weight[rng.integers(60)] = 10.0 ** rng.uniform(-320, 308)
        with np.errstate(all="raise", under="ignore"):
            fitted = quietly(lambda w=weight: RPTEClassifier(l1=0.02).fit(X, y, w))
        good = isinstance(fitted, str) or all(c.holds for c in fitted.verify(X, y, weight))
        result.expect(good, f"weights up to {weight.max():g}")
    return result


def labels(seed: int) -> Result:
    """Labels of all types: the same in classes_, predictions and the file, or refused."""
    rng, result = np.random.default_rng(seed), Result()
    X = rng.normal(size=(40, 1)).round(2)
    side = (X[:, 0] > 0).astype(int)
    for first, second in [*PAIRS, *[pair[::-1] for pair in PAIRS]]:
        y = objects([(first, second)[i] for i in side])
        fitted = quietly(lambda y=y: RPTEClassifier(l1=0.05).fit(X, y))
        if not isinstance(fitted, str):
            loaded = from_dict(to_dict(fitted.model_))
            good = fitted.predict(X).tolist() == loaded.predict(X).tolist() == y.tolist()
            result.expect(
                good and list(loaded.classes) == fitted.classes_.tolist(), f"{first, second}"
            )
        else:
            result.expect(fitted == "InputError", f"{first, second}: {fitted}")
    return result


def planted_codes(seed: int) -> Result:
    """Codes planted in numbers that do not come near them, and the same numbers without."""
    rng, result = np.random.default_rng(seed), Result()
    for _ in range(3_000):
        code = int(rng.choice(CODES))
        smooth = [
            rng.poisson(12, 300),
            rng.normal(size=300).round(2),
            rng.gamma(2, 6, 300).round(1),
        ]
        rest = smooth[rng.integers(3)].astype(float)
        near = (code == -1 and rest.min() < 0) or abs(code) < 2 * np.ptp(rest)
        clean = dict(find_sentinels(read_training({"c": rest})).codes)
        result.expect(clean == {}, f"{clean} in numbers without codes")
        if not near:
            rest[rng.choice(300, 15, replace=False)] = code
            found = dict(find_sentinels(read_training({"c": rest})).codes)
            result.expect(found == {"c": (code,)}, f"{found} for {code}")
    return result


def real_tables(_: int) -> Result:
    """The stored tables, in which two columns hold codes, and rows of -9 planted in them."""
    result = Result()
    folder = data.folder() / "panel"
    if not folder.is_dir():
        raise Skipped("the stored tables are absent")
    for path in sorted(folder.glob("*.csv*")):
        if path.stat().st_size > 600_000:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)
            X = read_table(path).drop(columns="target")
            found = dict(find_sentinels(read_training(X)).codes)
            result.expect(bool(found) == (path.name in WARNED), f"{path.name}: {found}")
            numbers = X.select_dtypes("number").astype(float)
            if numbers.shape[1] >= 3:
                numbers.iloc[::20] = -9999.0
                rows = find_sentinels(read_training(numbers)).rows
                result.expect(-9999 in rows, f"{path.name}: rows of -9999 are not seen")
    return result


CASES = [
    Case("columns of mixed objects, rows in another order", mixed_objects),
    Case("numbers of any size: a model that holds, or refused", sizes),
    Case("large whole numbers: told apart, or refused", whole_numbers),
    Case("masked cells, labels, weights", masks),
    Case("weights of any size: a model that holds, or refused", weights),
    Case("labels of any type: the same everywhere, or refused", labels),
    Case("codes planted among numbers, and none", planted_codes),
    Case("stored tables: no false alarm, planted rows seen", real_tables),
]

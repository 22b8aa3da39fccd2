"""Files of models of numbers: sums that agree, exposures and weights."""

import json

import numpy as np
import pandas as pd
import pytest

from model_files import number_case, stored, write
from rpte import InputError, RPTERegressor, verify_file
from rpte.check import rpte_check
from rpte.model.file import from_dict, to_dict

BALANCE = "sum of predictions equals the sum of the target"


def test_sums_of_squared_error_may_be_of_either_sign():
    level = np.repeat(["cold", "mild", "hot"], 40)
    degrees = np.repeat([-10.0, 1.0, 20.0], 40) + np.tile([-0.5, 0.5], 60)
    model = RPTERegressor(l1=0.001, max_trees=0).fit(pd.DataFrame({"level": level}), degrees).model_
    sums = [term.target_total for term in model.direct]
    assert min(sums) < 0 < max(sums)
    assert all(check.holds for check in model.verify(pd.DataFrame({"level": level}), degrees))
    assert from_dict(to_dict(model)).direct == model.direct


def balance(model, *given, **beside):
    return [check for check in model.verify(*given, **beside) if check.name == BALANCE]


@pytest.mark.parametrize("ratio", [1.0, 0.15])
@pytest.mark.parametrize("size", [1e-7, 1.0, 1e9])
def test_predictions_add_up_in_any_units_of_y(ratio, size):
    X, mean, rng = number_case()
    y = np.log(mean) + 0.3 * rng.normal(size=len(X))
    y = size * (y - y.mean())  # adds up to nothing but rounding
    made = RPTERegressor(l1=0.05, l1_ratio=ratio, max_trees=1).fit(X, y)
    checks = made.model_.verify(X, y)
    assert [check for check in checks if not check.holds] == []
    assert BALANCE in {check.name for check in checks}
    assert abs(made.predict(X).sum()) < 1e-6 * size * len(X)


@pytest.mark.parametrize("size", [0.05, 1.0, 1000.0])
def test_predicted_counts_add_up_by_exposure(size):
    X, mean, rng = number_case()
    exposure, weight = rng.uniform(0.1, 9.0, len(X)), rng.integers(1, 4, len(X)).astype(float)
    y = rng.poisson(size * mean * exposure).astype(float)
    made = RPTERegressor(loss="poisson", l1=0.05, max_trees=1)
    made.fit(X, y, sample_weight=weight, exposure=exposure)
    (check,) = balance(made.model_, X, y, weight, exposure=exposure)
    assert check.holds
    assert f"the target to {(weight * y).sum():.9g}" in check.evidence
    predicted = made.predict(X, exposure=exposure)
    assert (weight * predicted).sum() == pytest.approx((weight * y).sum(), rel=1e-6)
    assert all(c.holds for c in made.model_.verify(X, y, weight, exposure=exposure))


@pytest.mark.parametrize("name", ["amounts", "claims", "boosted_counts"])
def test_nothing_is_said_of_sums_that_need_not_agree(name):
    made = stored(name)
    assert balance(from_dict(made.copy()), *made.given, **made.beside) == []


def test_training_rows_come_with_the_exposure_of_the_fit():
    made = stored("counts")
    model = from_dict(made.copy())
    with pytest.raises(InputError, match="fitted with the exposure 'exposure'; give exposure="):
        model.verify(made.X, made.y)
    with pytest.raises(InputError, match="fitted without offset; leave offset= out"):
        model.verify(made.X, made.y, exposure=made.exposure, offset=np.zeros(len(made.X)))


def test_an_exposure_that_is_a_column_is_named_in_the_file(tmp_path):
    made = stored("counts")
    table = made.X.assign(years=made.exposure)
    reg = RPTERegressor(loss="poisson", l1=0.05, max_trees=0).fit(table, made.y, exposure="years")
    reg.save(tmp_path / "model.json")
    target = json.loads((tmp_path / "model.json").read_text())["target"]
    assert (target["name"], target["exposure"], target["offset"]) == ("claims", "years", None)
    checks = verify_file(tmp_path / "model.json", table, made.y, exposure="years")
    assert all(check.holds for check in checks)
    table.assign(claims=made.y).to_csv(tmp_path / "train.csv", index=False)
    options = ["--target", "claims", "--exposure-column", "years"]
    paths = [str(tmp_path / "model.json"), str(tmp_path / "train.csv")]
    assert rpte_check.main([*paths, *options]) == 0


def test_rows_with_one_content_are_one_however_they_come(tmp_path):
    """A whole weight is so many rows, to the hash and to the checker."""
    made = stored("squared")
    times = made.weight.astype(int)
    table = pd.DataFrame(made.X).assign(y=made.y, known=made.offset)
    table.loc[table.index.repeat(times)].to_csv(tmp_path / "train.csv", index=False)
    path = write(made.document, tmp_path)
    options = ["--target", "y", "--offset-column", "known"]
    assert rpte_check.main([str(path), str(tmp_path / "train.csv"), *options]) == 0

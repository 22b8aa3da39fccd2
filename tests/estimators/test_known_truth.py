"""Amounts that are made with known factors: the default fit finds them again."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTERegressor

REGION = {"north": 1.3, "south": 1.0, "west": 0.8}
PER_YEAR, YOUNG = 1.03, 1.5


def policies(n, seed):
    """Return a table, its exposure and its true mean for one unit of exposure."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "car_age": rng.integers(0, 15, n),
            "region": rng.choice(list(REGION), n),
            "colour": rng.choice(["red", "blue", "grey"], n),
        }
    )
    years = rng.uniform(0.2, 1.0, n)
    mean = 200.0 * PER_YEAR ** X["car_age"] * X["region"].map(REGION)
    return X, years, (mean * np.where(X["age"] < 26, YOUNG, 1.0)).to_numpy(float), rng


def amounts(loss, mean, years, rng):
    """Return amounts with these means for their exposure, spread as the loss has it."""
    if loss == "gamma":
        return rng.gamma(4.0 * years, mean / 4.0)
    claims = rng.poisson(2.0 * years)  # sums of gamma claims: Tweedie of the power 1.5
    return np.array(
        [rng.gamma(k, m / 2.0) if k else 0.0 for k, m in zip(claims, mean, strict=True)]
    )


@pytest.mark.slow(reason="factors within 5 % need 20,000 amounts")
@pytest.mark.parametrize("loss", ["gamma", "tweedie"])
def test_factors_of_made_amounts_are_recovered(loss):
    X, years, mean, rng = policies(20_000, 3)
    y = amounts(loss, mean, years, rng)
    reg = RPTERegressor(loss=loss).fit(X, y, exposure=years)
    assert all(check.holds for check in reg.verify(X, y, exposure=years))
    base = pd.DataFrame({"age": [50], "car_age": [7], "region": ["south"], "colour": ["red"]})

    def factor(**changes):
        other = base.assign(**changes)
        return float(reg.predict(other, 1)[0] / reg.predict(base, 1)[0])

    assert float(reg.predict(base, 1)[0]) == pytest.approx(200.0 * PER_YEAR**7, rel=0.05)
    for region, truth in REGION.items():
        assert factor(region=region) == pytest.approx(truth, rel=0.05)
    assert factor(car_age=14) == pytest.approx(PER_YEAR**7, rel=0.05)
    assert factor(colour="blue") == pytest.approx(1.0, rel=0.06)  # which means nothing
    assert factor(age=20) == pytest.approx(YOUNG, rel=0.08)

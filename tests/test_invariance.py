"""Units do not matter: of y, of exposure, of time and of weights, for every task.

The same table in other units gives the same terms, scores that differ by a known shift or factor,
and the same figures. Decimal units are powers of ten, so that only rounding differs.
"""

from functools import cache

import numpy as np
import pytest

from rpte import InputError, RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.audit.number_metrics import number_measures
from rpte.model.parts import TreeTerms

N = 200
NUMBERS = ("squared_error", "poisson", "gamma", "tweedie")
EXPOSED = ("poisson", "gamma", "tweedie")
TIMED = ("cox", "discrete", "causes")
ENDS = (-12, 12)
ALL = tuple(range(-12, 13, 3))
IN_Y = ("mae", "rmse", "observed", "expected")  # figures in units of y


@cache
def table(seed=5):
    """Return a table, the logarithm of what its rows have more or less of, and exposures."""
    rng = np.random.default_rng(seed)
    X = {
        "age": rng.integers(18, 80, N),
        "debt": rng.gamma(2.0, 1.0, N).round(2),
        "zone": rng.choice(["north", "south", "west"], N),
    }
    both = (X["age"] > 50) & (X["debt"] > 1.5)
    effect = 0.02 * (X["age"] - 50.0) + 0.6 * (X["zone"] == "north") - 0.9 * both
    return X, effect, rng.uniform(0.1, 2.0, N).round(2)


@cache
def targets(loss, exposed=False, seed=5):
    """Return numbers that a loss is for, of rows with their exposures or with one unit each."""
    (_, effect, exposure), rng = table(seed), np.random.default_rng(seed + 1)
    mean = np.exp(effect) * (exposure if exposed else 1.0)
    if loss == "squared_error":
        return 3.0 + effect + rng.normal(0.0, 0.5, N)
    if loss == "gamma":
        return rng.gamma(2.0, mean / 2.0)
    counts = rng.poisson(mean)
    return counts.astype(float) if loss == "poisson" else rng.gamma(2.0 * counts + 1e-9, 0.5)


def structure(model):
    """Return the terms of a model: their places, conditions and the leaves of trees."""
    leaves = [len(part.leaves) for _, part in model.parts() if isinstance(part, TreeTerms)]
    return [(rule.component, rule.term, rule.conditions) for rule in model.rules()], leaves


class Fitted:
    """A regressor with the table that it was fitted on, in some units."""

    def __init__(self, loss, y_unit=1.0, exposure_unit=None, l1=0.02, seed=5):
        X, _, exposure = table(seed)
        self.X, self.y = X, targets(loss, exposure_unit is not None, seed) * y_unit
        self.given = {} if exposure_unit is None else {"exposure": exposure * exposure_unit}
        self.regressor = RPTERegressor(loss=loss, l1=l1).fit(X, self.y, **self.given)
        self.model = self.regressor.model_

    def figures(self):
        """Return the measures of the model on its table."""
        score, one = self.model.score(self.X), np.ones(N)
        found = number_measures(self.model.target, score, self.y, one, **self.given)
        assert found["deviance_explained"] == self.regressor.score(self.X, self.y, **self.given)
        return found

    def assert_verified(self):
        """Every claim holds on the training table."""
        checks = self.regressor.verify(self.X, self.y, **self.given)
        assert [check for check in checks if not check.holds] == []


def assert_same(found, base, y_unit, exposure_unit=1.0):
    """Two fits are the same but for units."""
    assert structure(found.model) == structure(base.model)
    found.assert_verified()
    mean = found.regressor.predict(found.X, **found.given)
    expected = base.regressor.predict(base.X, **base.given)
    np.testing.assert_allclose(mean / y_unit, expected, rtol=1e-6)
    base_figures = base.figures()
    power = base.model.target.loss.to_dict().get("power", POWERS.get(base.model.loss.name))
    for name, value in found.figures().items():
        unit = y_unit if name in IN_Y else 1.0
        unit /= exposure_unit if name in ("observed", "expected") else 1.0
        if name == "deviance":
            unit = (y_unit / exposure_unit) ** (2.0 - power)
        assert value / unit == pytest.approx(base_figures[name], rel=1e-6, abs=1e-9), name


POWERS = {"squared_error": 0.0, "poisson": 1.0, "gamma": 2.0}


@cache
def base_fit(loss, exposed, l1=0.02, seed=5):
    """Return the fit in the units of the table."""
    found = Fitted(loss, exposure_unit=1.0 if exposed else None, l1=l1, seed=seed)
    assert seed != 5 or len(found.model.rules()) > 3
    return found


@pytest.mark.parametrize("power", ENDS)
@pytest.mark.parametrize("loss", NUMBERS)
def test_the_unit_of_y_does_not_matter(loss, power):
    unit = 10.0**power
    assert_same(Fitted(loss, unit), base_fit(loss, False), unit)


@pytest.mark.parametrize("power", ENDS)
@pytest.mark.parametrize("loss", EXPOSED)
def test_the_unit_of_exposure_does_not_matter(loss, power):
    unit = 10.0**power
    assert_same(Fitted(loss, 1.0, unit), base_fit(loss, True), 1.0, unit)


@pytest.mark.slow(reason="every third power of ten, each with a default fit that searches")
@pytest.mark.parametrize("loss", NUMBERS)
def test_no_power_of_ten_matters_to_a_search(loss):
    exposed = loss in EXPOSED
    base = base_fit(loss, exposed, "cv")
    for power in ALL:
        unit = 10.0**power
        assert_same(Fitted(loss, unit, 1.0 if exposed else None, "cv"), base, unit)
        if exposed:
            assert_same(Fitted(loss, 1.0, unit, "cv"), base, 1.0, unit)


def test_rates_weighted_by_exposure_are_counts_with_exposure_in_any_unit():
    (X, _, exposure), counts = table(), targets("poisson", exposed=True)
    asked = {"loss": "poisson", "l1": 1e-5, "vocabulary": "original", "max_trees": 0}
    base = RPTERegressor(**asked).fit(X, counts, exposure=exposure)
    seconds = exposure * 365.25 * 86_400.0 + 0.5  # not whole: a weight, and not repetition
    rates = RPTERegressor(**asked).fit(X, counts / seconds, sample_weight=seconds)
    read = [[rule.sources for rule in reg.model_.rules()] for reg in (rates, base)]
    assert read[0] == read[1] != []
    expected = base.predict(X, exposure=exposure)
    np.testing.assert_allclose(rates.predict(X) * seconds, expected, rtol=1e-3)


@pytest.mark.parametrize("shift", [1e3, 1.2345678e7])
def test_a_shift_of_y_does_not_matter_to_squared_error(shift):
    base, (X, _, _) = base_fit("squared_error", False), table()
    y = base.y + shift
    moved = RPTERegressor(l1=0.02).fit(X, y)
    assert structure(moved.model_) == structure(base.model)
    assert all(check.holds for check in moved.verify(X, y))
    assert moved.score(X, y) == pytest.approx(base.figures()["r2"], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("loss", EXPOSED)
def test_a_model_without_terms_explains_nothing_in_any_unit(loss, unit):
    (X, _, exposure), y = table(), targets(loss, exposed=True)
    for given, targets_of in (({"exposure": exposure * unit}, y), ({}, y * unit)):
        reg = RPTERegressor(loss=loss, l1=1e6).fit(X, targets_of, **given)
        assert not reg.model_.rules()
        assert reg.score(X, targets_of, **given) == pytest.approx(0.0, abs=1e-9)


@cache
def timed(task, power=0, seed=5):
    """Return a model of times in some unit, with its table and what was fitted."""
    X, effect, _ = table(seed)
    rng, unit = np.random.default_rng(seed + 3), 10.0**power
    latent, seen = rng.exponential(np.exp(-effect)), rng.uniform(0.5, 3.0, N)
    event, time = latent <= seen, np.minimum(latent, seen)
    status = event * (1 + (rng.random(N) < 0.4)) if task == "causes" else event
    loss = "cox" if task == "causes" else task
    y = (status, time * unit)
    return RPTESurvival(loss=loss, l1=0.05).fit(X, y), X, y


def assert_same_times(task, power, seed=5):
    """Two fits are the same but for the unit of time."""
    (base, X, y), (found, _, moved) = timed(task, 0, seed), timed(task, power, seed)
    several = task == "causes"
    for one, other in zip(
        *((m.models if several else (m,)) for m in (found.model_, base.model_)), strict=True
    ):
        assert structure(one) == structure(other)
        for place in (0.4, 0.9):
            both = one.survival_at(X, [place * 10.0**power]), other.survival_at(X, [place])
            np.testing.assert_allclose(*both, rtol=1e-6)
    np.testing.assert_allclose(found.predict(X), base.predict(X), rtol=1e-6, atol=1e-9)
    given = {"cause": 1} if several else {}
    assert found.score(X, moved, **given) == pytest.approx(base.score(X, y, **given))
    assert [check for check in found.verify(X, moved) if not check.holds] == []


@pytest.mark.parametrize("power", ENDS)
@pytest.mark.parametrize("task", TIMED)
def test_the_unit_of_time_does_not_matter(task, power):
    base = timed(task)[0].model_
    assert len((base.cause(1) if task == "causes" else base).rules()) > 1
    assert_same_times(task, power)


def of_weights(task, weight, seed=5):
    """Return an estimator of a convex fit alone, fitted with some weights; trees count cases."""
    (X, effect, exposure), rng = table(seed), np.random.default_rng(seed + 4)
    asked = {"l1": 0.02, "vocabulary": "original", "max_trees": 0}
    if task == "two classes":
        return RPTEClassifier(**asked).fit(X, rng.random(N) < 1 / (1 + np.exp(-effect)), weight)
    if task == "three classes":
        y = np.where(rng.random(N) < 0.3, "c", np.where(effect > 0.1, "a", "b"))
        levels = {"zone": X["zone"]}  # several classes have no other vocabulary than shapes
        return RPTEClassifier(l1=0.01, max_trees=0).fit(levels, y, weight)
    exposed = task.endswith("exposed")
    loss = task.removesuffix(" exposed")
    given = {"exposure": exposure} if exposed else {}
    y = targets(loss, exposed, seed)
    return RPTERegressor(loss=loss, **asked).fit(X, y, weight, **given)


TASKS = ("two classes", "three classes", *NUMBERS, *(f"{loss} exposed" for loss in EXPOSED))


def assert_same_weights(task, power, seed=5):
    """Coefficients of given terms are the same but for the unit of weights."""
    weight = np.random.default_rng(seed + 5).integers(1, 4, N) * 0.7
    base, found = (of_weights(task, weight * unit, seed) for unit in (1.0, 10.0**power))
    X = {name: table(seed)[0][name] for name in base.feature_names_in_}
    np.testing.assert_allclose(found.model_.score(X), base.model_.score(X), rtol=1e-6, atol=1e-9)
    assert seed != 5 or base.model_.components


@pytest.mark.parametrize("task", TASKS)
def test_the_unit_of_weights_does_not_matter_to_coefficients(task):
    for power in (3, 6, 12):
        assert_same_weights(task, power)


@pytest.mark.parametrize("power", [-12, -3, 15])
@pytest.mark.parametrize("task", TASKS)
def test_weights_that_are_no_numbers_of_cases_are_refused_in_words(task, power):
    with pytest.raises(InputError, match="rescale the weights to a mean near 1"):
        of_weights(task, np.full(N, 0.7 * 10.0**power))

"""Motor policies, their claims and what these cost."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rpte.datasets import dirt
from rpte.datasets.dataset import Claims
from rpte.datasets.draws import Random, choose, exponential, normal, poisson, streams, whole
from rpte.datasets.truth import Effect, Truth, no_effect, numbers, of_levels
from rpte.utils.arrays import Floats, Index, Ints

UNKNOWN = 999  # in vehicle_age
REGIONS = {
    "capital": 0.15,
    "coast": 0.2,
    "hills": 0.15,
    "lakes": 0.2,
    "plains": 0.25,
    "islands": 0.05,
}
FUELS = {"petrol": 0.55, "diesel": 0.35, "electric": 0.1}
NEVER_CLAIM = 0.3  # fraction of the policies that report no claim whatever their rate
GAMMA_SHAPE = 2


def _driver(X: pd.DataFrame) -> Floats:
    age = numbers(X, "driver_age")
    return 0.07 * np.maximum(30 - age, 0) + 0.04 * np.maximum(age - 65, 0)


def _power(X: pd.DataFrame) -> Floats:
    return 0.004 * (numbers(X, "vehicle_power") - 90)


def _young_and_fast(X: pd.DataFrame) -> Floats:
    young, fast = numbers(X, "driver_age") < 25, numbers(X, "vehicle_power") >= 100
    return np.where(young & fast, 0.7, 0.0)


def _vehicle_age(X: pd.DataFrame) -> Floats:
    age = numbers(X, "vehicle_age")
    return np.where(age == UNKNOWN, 0.2, -0.04 * np.minimum(age, 10))


def _bonus(X: pd.DataFrame) -> Floats:
    return -0.05 * numbers(X, "bonus_class")


def _density(X: pd.DataFrame) -> Floats:
    return 0.15 * np.log(numbers(X, "density") / 200)


def _distance(X: pd.DataFrame) -> Floats:
    distance = numbers(X, "annual_km")
    known = np.where(np.isnan(distance), 12000.0, distance)
    return 0.4 * np.log(known / 12000) + 0.1 * np.isnan(distance)


TRUTH = Truth(
    intercept=-1.7,
    effects=(
        Effect(
            ("driver_age",),
            "U",
            "+0.07 for each year below 30, +0.04 for each year above 65",
            _driver,
        ),
        Effect(("vehicle_power",), "slope", "+0.004 per kW from 90", _power),
        Effect(
            ("driver_age", "vehicle_power"),
            "interaction",
            "+0.7 where the driver is below 25 and the power 100 or more",
            _young_and_fast,
        ),
        Effect(
            ("vehicle_age",),
            "falling, then flat",
            f"-0.04 per year up to 10, flat beyond; +0.2 for {UNKNOWN} (unknown)",
            _vehicle_age,
        ),
        Effect(("bonus_class",), "slope", "-0.05 per class", _bonus),
        of_levels("region", {"capital": 0.35, "coast": 0.15, "islands": -0.4}),
        of_levels("fuel", {"diesel": 0.15}),
        Effect(("density",), "logarithm", "+0.15 per unit of log(density / 200)", _density),
        Effect(
            ("annual_km",),
            "logarithm",
            "+0.4 per unit of log(annual_km / 12000), +0.1 where missing",
            _distance,
        ),
        no_effect("payment", "nothing"),
    ),
    scale="log rate",
)


def _cost_of_power(X: pd.DataFrame) -> Floats:
    return 0.004 * (numbers(X, "vehicle_power") - 90)


def _cost_of_new(X: pd.DataFrame) -> Floats:
    return np.where(numbers(X, "vehicle_age") <= 3, 0.4, 0.0)


AMOUNT_TRUTH = Truth(
    intercept=7.5,
    effects=(
        Effect(("vehicle_power",), "slope", "+0.004 per kW from 90", _cost_of_power),
        Effect(("vehicle_age",), "step", "+0.4 up to 3 years", _cost_of_new),
        of_levels("region", {"capital": 0.2}),
    ),
    scale="log mean",
)


def make_claims(n_rows: int = 20_000, *, random_state: int = 0, dirty: bool = True) -> Claims:
    """Make motor policies with their claims: counts with exposure.

    Claims are counts with more zeros than a Poisson distribution has (three policies in ten never
    report anything); their mean is the exposure times the true rate all the same. The truth has a
    U, slopes, one that ends, logarithms, levels of text, a code with an effect of its own, and an
    interaction: young drivers in fast cars.

    Parameters
    ----------
    n_rows : int, default=20000
    random_state : int, default=0
        The same number gives the same table, on any machine.
    dirty : bool, default=True
        With empty cells (the distance is missing more often where it is long), a code for unknown
        ages of vehicles, several spellings of one region, and policies that stand there twice.
        Without these the same rows are clean.

    Returns
    -------
    Claims
        `X`, `y` (claims), `exposure` (years), `amounts` (their cost), `special_values`, `truth`
        (claims per year), `amount_truth` (cost per claim), `description`, and everything in one
        table as `frame`.

    Examples
    --------
    >>> from rpte import RPTERegressor
    >>> from rpte.datasets import make_claims
    >>> data = make_claims(2000)
    >>> reg = RPTERegressor(loss="poisson", l1=0.01, special_values=data.special_values)
    >>> reg.fit(data.X, data.y, exposure=data.exposure).predict(data.X[:3], data.exposure[:3]).shape
    (3,)
    """
    rows, outcome, dirt_random = streams(n_rows, random_state)
    X = _policies(rows, n_rows)
    years = np.where(rows.random(n_rows) < 0.55, 1.0, whole(rows, n_rows, 1, 51) / 52).round(2)
    kept = np.arange(n_rows)
    if dirty:
        kept = _soil(X, dirt_random)
    reports = outcome.random(n_rows) >= NEVER_CLAIM
    mean = np.where(reports, TRUTH.response(X) * years / (1 - NEVER_CLAIM), 0.0)
    claims = poisson(outcome, mean)
    costs = _costs(outcome, claims, AMOUNT_TRUTH.response(X))
    return Claims(
        X=X.iloc[kept].reset_index(drop=True),
        y=pd.Series(claims[kept], name="claims"),
        truth=TRUTH,
        special_values={"vehicle_age": [UNKNOWN]} if dirty else {},
        description=_description(dirty),
        exposure=pd.Series(years[kept], name="years"),
        amounts=pd.Series(costs[kept], name="cost"),
        amount_truth=AMOUNT_TRUTH,
    )


def _policies(random: Random, n: int) -> pd.DataFrame:
    driver = np.clip(np.round(18 + 55 * random.random(n) + 6 * normal(random, n)), 18, 90).astype(
        np.int64
    )
    power = np.clip(5 * np.round((60 + 22 * np.abs(normal(random, n)) * 1.5) / 5), 40, 250)
    licensed = np.clip(driver - 18, 0, 20)
    density = np.exp(5.3 + 1.3 * normal(random, n))
    distance = np.exp(9.35 + 0.4 * normal(random, n))
    return pd.DataFrame(
        {
            "driver_age": driver,
            "vehicle_power": power.astype(np.int64),
            "vehicle_age": np.floor(18 * random.random(n) ** 1.5).astype(np.int64),
            "bonus_class": np.floor(licensed * np.sqrt(random.random(n))).astype(np.int64),
            "region": choose(random, n, REGIONS),
            "fuel": choose(random, n, FUELS),
            "density": np.clip(np.round(density), 1, 20000).astype(np.int64),
            "annual_km": (500 * np.maximum(np.round(distance / 500), 2)).astype(np.int64),
            "payment": choose(random, n, {"yearly": 0.6, "monthly": 0.4}),
        }
    )


def _soil(X: pd.DataFrame, random: Random) -> Index:
    """Make the table dirty; return which row stands in each place."""
    far = numbers(X, "annual_km") > 15000
    dirt.empty_cells(X, "annual_km", np.where(far, 0.15, 0.05), random)
    dirt.empty_cells(X, "fuel", 0.02, random)
    dirt.code_cells(X, "vehicle_age", UNKNOWN, 0.03, random)
    dirt.respell(X, "region", 0.02, random)
    return dirt.entered_twice(len(X), 0.01, random)


def _costs(random: Random, claims: Ints, mean: Floats) -> Floats:
    """Return the sums of gamma distributed costs, one for each claim, in whole cents."""
    total = np.zeros(len(claims))
    for k in range(GAMMA_SHAPE * int(claims.max(initial=0))):
        total += np.where(k < GAMMA_SHAPE * claims, exponential(random, len(claims)), 0.0)
    return np.round(total * mean / GAMMA_SHAPE, 2)


def _description(dirty: bool) -> str:
    text = (
        "Policies of a made-up motor insurer. y is the number of claims in the years insured "
        "(exposure); there are more zeros than a Poisson distribution has."
    )
    if dirty:
        text += (
            f" In vehicle_age, {UNKNOWN} means unknown. annual_km is missing more often where it "
            "is large, some cells of fuel are empty, some regions are spelled differently "
            "('Coast', 'COAST', 'coast '), and one policy in a hundred stands there twice."
        )
    return text

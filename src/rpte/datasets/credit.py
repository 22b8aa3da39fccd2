"""Loan applications, and whether they defaulted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rpte.datasets import dirt
from rpte.datasets.dataset import Dataset
from rpte.datasets.draws import Random, choose, normal, streams, whole
from rpte.datasets.truth import Effect, Truth, no_effect, numbers, of_levels, plain
from rpte.utils.arrays import Floats, Index

NEVER = -9  # in months_since_delinquency
REFUSED = 9999999  # in income
CHECKING = {"no account": 0.4, "<0": 0.25, "0 to 200": 0.25, ">=200": 0.1}
SAVINGS = {"none": 0.55, "under 1000": 0.2, "1000 to 5000": 0.15, "over 5000": 0.1}
PURPOSES = {"car": 0.35, "furniture": 0.2, "repairs": 0.15, "education": 0.13, "business": 0.12}
RARE_PURPOSES = {"boat": 0.02, "wedding": 0.02, "horse": 0.01}
REGIONS = {"north": 0.3, "east": 0.2, "south": 0.3, "west": 0.2}
BRANCHES = 40


def _age(X: pd.DataFrame) -> Floats:
    age = numbers(X, "age")
    return np.where(age < 45, 0.05 * (45 - age), 0.0)


def _income(X: pd.DataFrame) -> Floats:
    income = numbers(X, "income")
    known = np.where(np.isnan(income) | (income == REFUSED), 2500.0, income)
    added: Floats = -0.9 * np.log(known / 2500)
    added[np.isnan(income)] = 0.3
    added[income == REFUSED] = 0.8
    return added


def _duration(X: pd.DataFrame) -> Floats:
    saved = np.array([plain(cell) != "none" for cell in X["savings"]])
    return np.where(saved, 0.0, 0.04 * np.maximum(numbers(X, "duration") - 12, 0))


def _other_loans(X: pd.DataFrame) -> Floats:
    return np.where(numbers(X, "other_loans") >= 2, 0.8, 0.0)


def _delinquency(X: pd.DataFrame) -> Floats:
    months = numbers(X, "months_since_delinquency")
    return np.where(months == NEVER, -0.6, 1.2 * np.maximum(1 - months / 36, 0))


def _customer(X: pd.DataFrame) -> Floats:
    return -0.4 * X["existing_customer"].to_numpy(dtype=np.float64)


TRUTH = Truth(
    intercept=-2.6,
    effects=(
        Effect(("age",), "falling, then flat", "-0.05 per year up to 45, flat beyond", _age),
        Effect(
            ("income",),
            "logarithm",
            f"-0.9 per unit of log(income / 2500), +0.3 where missing, +0.8 for {REFUSED}",
            _income,
        ),
        of_levels("checking", {"<0": 1.0, "0 to 200": 0.5, "no account": -0.5}, missing=0.2),
        Effect(
            ("duration", "savings"),
            "interaction",
            "+0.04 per month above 12 where savings are 'none', 0 for all others",
            _duration,
        ),
        of_levels("savings", {"over 5000": -0.6}),
        Effect(
            ("months_since_delinquency",),
            "falling, then flat",
            f"+1.2 at 0 months, falling to 0 at 36, flat beyond; -0.6 for {NEVER} (never)",
            _delinquency,
        ),
        Effect(("other_loans",), "step", "+0.8 from 2 on", _other_loans),
        of_levels("purpose", {"business": 0.6, "education": 0.3}),
        Effect(("existing_customer",), "yes or no", "-0.4 for True", _customer),
        no_effect("amount", "nothing; it only goes with duration"),
        no_effect("region", "nothing"),
    ),
    scale="log odds",
)


def make_credit(n_rows: int = 3000, *, random_state: int = 0, dirty: bool = True) -> Dataset:
    """Make loan applications, of which about a fifth default.

    The truth has a logarithm, slopes that end, a step, levels of text, codes with an effect of
    their own, an interaction (the duration matters only without savings), and two variables that
    mean nothing, one of which goes with another that does.

    Parameters
    ----------
    n_rows : int, default=3000
    random_state : int, default=0
        The same number gives the same table, on any machine.
    dirty : bool, default=True
        With empty cells (income is missing more often where it is low), a code for incomes that
        were refused, several spellings of one purpose, and applications that were entered twice.
        Without these the same rows are clean; -9 still says that there was no delinquency.

    Returns
    -------
    Dataset
        `X`, `y` ("yes" where a loan defaulted), `groups` (the branch), `special_values`, `truth`,
        `description`, and everything in one table as `frame`.

    Examples
    --------
    >>> from rpte import RPTEClassifier
    >>> from rpte.datasets import make_credit
    >>> data = make_credit(500)
    >>> clf = RPTEClassifier(l1=0.01, special_values=data.special_values)
    >>> clf.fit(data.X, data.y).classes_.tolist()
    ['no', 'yes']
    """
    rows, outcome, dirt_random = streams(n_rows, random_state)
    X = _applications(rows, n_rows)
    branch = whole(rows, n_rows, 1, BRANCHES)
    kept = np.arange(n_rows)
    if dirty:
        kept = _soil(X, dirt_random)
    drawn = outcome.random(n_rows) < TRUTH.response(X)
    y = pd.Series(np.where(drawn, "yes", "no"), name="default")
    return Dataset(
        X=X.iloc[kept].reset_index(drop=True),
        y=y.iloc[kept].reset_index(drop=True),
        truth=TRUTH,
        special_values=_codes(dirty),
        description=_description(dirty),
        groups=pd.Series(branch[kept], name="branch"),
    )


def _applications(random: Random, n: int) -> pd.DataFrame:
    age = np.clip(np.round(20 + 12 * np.abs(normal(random, n)) + 9 * random.random(n)), 19, 75)
    income = np.exp(7.8 + 0.5 * normal(random, n) + 0.004 * (age - 40))
    duration = 6 * whole(random, n, 1, 10)
    amount = 130 * duration * np.exp(0.45 * normal(random, n))
    late = np.where(random.random(n) < 0.7, NEVER, whole(random, n, 0, 83))
    return pd.DataFrame(
        {
            "age": age.astype(np.int64),
            "income": (10 * np.round(income / 10)).astype(np.int64),
            "checking": choose(random, n, CHECKING),
            "savings": choose(random, n, SAVINGS),
            "duration": duration,
            "amount": (50 * np.round(amount / 50)).astype(np.int64),
            "purpose": choose(random, n, PURPOSES | RARE_PURPOSES),
            "months_since_delinquency": late.astype(np.int64),
            "other_loans": np.floor(5 * random.random(n) ** 2).astype(np.int64),
            "existing_customer": random.random(n) < 0.45,
            "region": choose(random, n, REGIONS),
        }
    )


def _soil(X: pd.DataFrame, random: Random) -> Index:
    """Make the table dirty; return which row stands in each place."""
    low = numbers(X, "income") < 1800
    dirt.code_cells(X, "income", REFUSED, 0.03, random)
    dirt.empty_cells(X, "income", np.where(low, 0.12, 0.03), random)
    dirt.empty_cells(X, "checking", 0.06, random)
    dirt.empty_cells(X, "savings", 0.04, random)
    dirt.respell(X, "purpose", 0.04, random)
    return dirt.entered_twice(len(X), 0.02, random)


def _codes(dirty: bool) -> dict[str, list[int]]:
    codes = {"months_since_delinquency": [NEVER]}
    return {"income": [REFUSED], **codes} if dirty else codes


def _description(dirty: bool) -> str:
    text = (
        "Loan applications of a made-up bank. y is 'yes' where the loan defaulted. In "
        f"months_since_delinquency, {NEVER} means never."
    )
    if dirty:
        text += (
            f" In income, {REFUSED} means that the applicant would not say; income is missing more "
            "often where it is low. Some cells of checking and savings are empty, some purposes "
            "are spelled differently ('Car', 'CAR', 'car '), and one application in fifty was "
            "entered twice."
        )
    return text

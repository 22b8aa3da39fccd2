"""Patients of a clinical trial, and when they died or were last seen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rpte.datasets import dirt
from rpte.datasets.dataset import Trial
from rpte.datasets.draws import Random, choose, exponential, normal, streams, whole
from rpte.datasets.truth import Effect, Truth, no_effect, numbers, of_levels, plain
from rpte.utils.arrays import Array, Floats, Index

BELOW_LIMIT = -1  # in biomarker
LIMIT = 1.2  # of detection
RESPONDS = 5.0  # the biomarker from which on the new treatment helps
STAGES = {"I": 0.25, "II": 0.3, "III": 0.3, "IV": 0.15}
COUNTRIES = {"Denmark": 1.0, "Italy": 0.6, "Japan": 1.6}  # the scale of time in each
CENTRES = 12
SCALE, SHAPE = 2600.0, 1.2  # of the baseline hazard: (days / scale) ** shape


def _age(X: pd.DataFrame) -> Floats:
    age = numbers(X, "age")
    return np.where(age > 50, 0.04 * (age - 50), 0.0)


def _biomarker(X: pd.DataFrame) -> Floats:
    value = numbers(X, "biomarker")
    known = np.where(np.isnan(value) | (value == BELOW_LIMIT), RESPONDS, value)
    added: Floats = 0.4 * np.log(known / RESPONDS)
    added[value == BELOW_LIMIT] = -0.9
    return added


def _treatment(X: pd.DataFrame) -> Floats:
    new = np.array([plain(cell) == "new" for cell in X["treatment"]])
    return np.where(new & (numbers(X, "biomarker") >= RESPONDS), -0.9, 0.0)


def _performance(X: pd.DataFrame) -> Floats:
    return np.where(numbers(X, "performance") >= 2, 0.6, 0.0)


TRUTH = Truth(
    intercept=0.0,
    effects=(
        Effect(("age",), "flat, then rising", "0 up to 50, +0.04 per year beyond", _age),
        of_levels("stage", {"II": 0.4, "III": 0.9, "IV": 1.5}),
        Effect(
            ("biomarker",),
            "logarithm",
            f"+0.4 per unit of log(biomarker / 5), -0.9 for {BELOW_LIMIT} (below the limit)",
            _biomarker,
        ),
        Effect(
            ("treatment", "biomarker"),
            "interaction",
            "-0.9 for the new treatment where the biomarker is 5 or more, 0 for all others",
            _treatment,
        ),
        Effect(("performance",), "step", "+0.6 from 2 on", _performance),
        no_effect("creatinine", "nothing; it only goes with age"),
        no_effect("sex", "nothing"),
    ),
    scale="log hazard ratio",
)


def make_trial(
    n_rows: int = 1500,
    *,
    random_state: int = 0,
    dirty: bool = True,
    strata: bool = False,
    late_entry: bool = False,
) -> Trial:
    """Make the patients of a clinical trial: times until death, many of them censored.

    Hazards are proportional. The truth has slopes, a logarithm, a step, levels of text, a code
    (below the limit of detection) with an effect of its own, and an interaction: the new treatment
    helps only those with a high biomarker.

    Parameters
    ----------
    n_rows : int, default=1500
    random_state : int, default=0
        The same number gives the same table, on any machine.
    dirty : bool, default=True
        With empty cells, several spellings of one stage, and patients who stand there twice.
        Without these the same rows are clean; -1 still says that the biomarker was below the limit.
    strata : bool, default=False
        Whether patients come from three countries, each with a baseline hazard of its own.
    late_entry : bool, default=False
        Whether days count from the diagnosis, and patients join later, if they live to do so.

    Returns
    -------
    Trial
        `X`, `y` (a table of "died" and "days"), `groups` (the centre), `strata` and `entry` (None
        unless asked for), `special_values`, `truth` (the logarithm of the hazard ratio),
        `description`, and everything in one table as `frame`.

    Examples
    --------
    >>> from rpte import RPTESurvival
    >>> from rpte.datasets import make_trial
    >>> data = make_trial(400)
    >>> est = RPTESurvival(l1=0.02, special_values=data.special_values).fit(data.X, data.y)
    >>> est.predict(data.X[:3]).shape
    (3,)
    """
    rows, outcome, dirt_random = streams(n_rows, random_state)
    X = _patients(rows, n_rows)
    centre = whole(rows, n_rows, 1, CENTRES)
    names = list(COUNTRIES)
    country = np.array([names[number % len(names)] for number in centre], dtype=object)
    kept = np.arange(n_rows)
    if dirty:
        kept = _soil(X, dirt_random)
    joined = np.floor(600 * outcome.random(n_rows) ** 2) if late_entry else np.zeros(n_rows)
    slower = [COUNTRIES[name] if strata else 1.0 for name in country]
    y = _follow(outcome, TRUTH.score(X), SCALE * np.array(slower), joined)
    return Trial(
        X=X.iloc[kept].reset_index(drop=True),
        y=y.iloc[kept].reset_index(drop=True),
        truth=TRUTH,
        special_values={"biomarker": [BELOW_LIMIT]},
        description=_description(dirty, strata, late_entry),
        groups=_column("centre", centre, kept),
        strata=_column("country", country, kept) if strata else None,
        entry=_column("joined", joined.astype(np.int64), kept) if late_entry else None,
    )


def _column(name: str, cells: Array, kept: Index) -> pd.Series:
    return pd.Series(cells[kept], name=name)


def _patients(random: Random, n: int) -> pd.DataFrame:
    age = np.clip(np.round(62 + 11 * normal(random, n)), 30, 88)
    creatinine = 0.6 + 0.006 * age + 0.15 * normal(random, n)
    biomarker = np.round(np.exp(1.5 + 1.0 * normal(random, n)), 1)
    return pd.DataFrame(
        {
            "treatment": choose(random, n, {"new": 0.5, "standard": 0.5}),
            "age": age.astype(np.int64),
            "sex": choose(random, n, {"female": 0.45, "male": 0.55}),
            "stage": choose(random, n, STAGES),
            "biomarker": np.where(biomarker < LIMIT, BELOW_LIMIT, biomarker),
            "performance": np.floor(4 * random.random(n) ** 1.5).astype(np.int64),
            "creatinine": np.maximum(np.round(creatinine, 2), 0.3),
        }
    )


def _soil(X: pd.DataFrame, random: Random) -> Index:
    """Make the table dirty; return which row stands in each place."""
    dirt.empty_cells(X, "biomarker", 0.08, random)
    dirt.empty_cells(X, "creatinine", 0.15, random)
    dirt.empty_cells(X, "stage", 0.02, random)
    dirt.respell(X, "stage", 0.03, random)
    return dirt.entered_twice(len(X), 0.01, random)


def _follow(random: Random, score: Floats, scale: Floats, joined: Floats) -> pd.DataFrame:
    """Return who died and when: times of a Weibull distribution, given that they passed `joined`.

    The cumulated hazard at death is that at `joined` and an exponential number more.
    """
    passed = (joined / scale) ** SHAPE * np.exp(score)
    at_death = passed + exponential(random, len(score))
    death = scale * (at_death * np.exp(-score)) ** (1 / SHAPE)
    left = joined + np.minimum(np.floor(250 + 1500 * random.random(len(score))), 1095)
    days = np.maximum(np.ceil(np.minimum(death, left)), joined + 1)
    return pd.DataFrame({"died": death <= left, "days": days.astype(np.int64)})


def _description(dirty: bool, strata: bool, late_entry: bool) -> str:
    text = (
        "Patients of a made-up trial in twelve centres. y is whether and after how many days a "
        f"patient died, or was last seen. In biomarker, {BELOW_LIMIT} means below the limit of "
        f"detection ({LIMIT})."
    )
    if strata:
        text += " Each country has a baseline hazard of its own (strata)."
    if late_entry:
        text += " Days count from the diagnosis; patients were seen from the day of entry on."
    if dirty:
        text += (
            " Some cells of biomarker, creatinine and stage are empty, some stages are spelled "
            "differently ('iii', 'III '), and one patient in a hundred stands there twice."
        )
    return text

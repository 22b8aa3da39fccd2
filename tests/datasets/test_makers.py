"""Made-up tables: the same for a seed, dirty as described, and drawn from the truth they state."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pandas as pd
import pytest

import rpte
from rpte import InputError
from rpte.datasets import make_claims, make_credit, make_trial

MAKERS = {"credit": make_credit, "claims": make_claims, "trial": make_trial}
# The text of 500 rows: it changes only where a maker is changed on purpose.
HASHES = {
    "credit": "7e077ee675e81df5",
    "claims": "acc1b5290b02c0dd",
    "trial": "0e841414c0af65ba",
}
each = pytest.mark.parametrize("name", MAKERS)


def digest(frame):
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()[:16]


@each
def test_a_seed_gives_the_same_table_everywhere(name):
    assert digest(MAKERS[name](500, random_state=7).frame) == HASHES[name]


@each
def test_another_seed_gives_another_table(name):
    first, second = (MAKERS[name](200, random_state=seed).frame for seed in (0, 1))
    assert not first.equals(second)
    assert list(first.dtypes) == list(second.dtypes)


@each
def test_the_dirty_table_has_gaps_codes_spellings_and_equal_rows(name):
    data, clean = MAKERS[name](3000), MAKERS[name](3000, dirty=False)
    assert data.X.isna().to_numpy().sum() > 50
    assert clean.X.isna().to_numpy().sum() == 0
    for column, codes in data.special_values.items():
        assert data.X[column].isin(codes).sum() > 20
    assert set(clean.special_values) <= set(data.special_values)
    texts = [c for c in data.X if not pd.api.types.is_numeric_dtype(data.X[c])]
    spelled = {c: data.X[c].dropna().nunique() - clean.X[c].nunique() for c in texts}
    assert sum(extra >= 3 for extra in spelled.values()) == 1
    assert data.frame.duplicated().sum() > clean.frame.duplicated().sum() + 15


@each
def test_the_clean_table_is_the_dirty_one_before(name):
    """Where a row was not entered twice, what no dirt touched is the same."""
    data, clean = MAKERS[name](1000).X, MAKERS[name](1000, dirty=False).X
    column = {"credit": "age", "claims": "driver_age", "trial": "age"}[name]
    assert np.mean(data[column] == clean[column]) > 0.95


@each
def test_a_description_names_every_code(name):
    data = MAKERS[name](50)
    for column, codes in data.special_values.items():
        assert column in data.description
        assert all(str(code) in data.description for code in codes)


@each
def test_the_truth_tells_of_every_variable(name):
    data = MAKERS[name](50)
    told = {source for effect in data.truth.effects for source in effect.sources}
    assert told == set(data.X)
    assert data.truth.table().shape == (len(data.truth.effects), 3)


@each
def test_what_is_said_to_mean_nothing_moves_nothing(name):
    data = MAKERS[name](300)
    silent = [e.sources[0] for e in data.truth.effects if e.shape == "none"]
    shuffled = data.X.copy()
    shuffled[silent] = shuffled[silent].iloc[::-1].to_numpy()
    assert silent
    assert (data.truth.score(data.X) == data.truth.score(shuffled)).all()
    for source in set(data.X) - set(silent):
        assert data.truth.effect(source, data.X).std() > 0.01


@each
def test_rows_keep_their_score_in_any_order(name):
    data = MAKERS[name](300)
    order = np.random.default_rng(0).permutation(300)
    assert (data.truth.score(data.X.iloc[order]) == data.truth.score(data.X)[order]).all()


@each
def test_spelling_does_not_change_the_score(name):
    data = MAKERS[name](300)
    column = {"credit": "purpose", "claims": "region", "trial": "stage"}[name]
    shouted = data.X.assign(**{column: data.X[column].str.upper() + " "})
    assert (data.truth.score(shouted) == data.truth.score(data.X)).all()


@each
def test_a_dataset_shows_its_truth(name):
    data = MAKERS[name](30)
    page = data._repr_html_()
    for effect in data.truth.effects:
        assert effect.words in repr(data)
        assert effect.name in page
    assert "&#39;&lt;0&#39;" in make_credit(5)._repr_html_()
    assert data.truth.effects[0].name in data.truth._repr_html_()


@each
def test_a_dataset_survives_pickling(name):
    data = MAKERS[name](40)
    again = pickle.loads(pickle.dumps(data))
    assert again.frame.equals(data.frame)
    assert (again.truth.score(data.X) == data.truth.score(data.X)).all()


@each
@pytest.mark.parametrize("wrong", [{"n_rows": 0}, {"n_rows": 1.5}, {"random_state": -1}])
def test_wrong_numbers_are_refused(name, wrong):
    with pytest.raises(InputError, match=r"must be a whole number from [01] on"):
        MAKERS[name](**wrong)


def test_an_unknown_variable_of_the_truth_is_refused():
    data = make_credit(10)
    with pytest.raises(InputError, match="did you mean 'income'"):
        data.truth.effect("incom", data.X)


def test_the_makers_are_reached_from_the_package():
    assert rpte.datasets.make_credit is make_credit
    assert "datasets" in dir(rpte)


def test_the_frame_is_everything():
    data = make_trial(60, strata=True, late_entry=True)
    assert list(data.frame) == [*data.X, "died", "days", "centre", "country", "joined"]
    claims = make_claims(60)
    assert list(claims.frame) == [*claims.X, "claims", "years", "cost"]
    assert list(make_credit(60).frame)[-2:] == ["default", "branch"]

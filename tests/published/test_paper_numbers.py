"""The published configuration carried over to numbers: gains in deviance, trees on residuals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rpte
from rpte import InputError, RPTERegressor
from rpte.check import rpte_check
from rpte.columns.kinds import Pattern
from rpte.columns.limits import FREE
from rpte.estimators.numbers import read_memory
from rpte.estimators.parameters import checked_parameters
from rpte.estimators.training_data import Given
from rpte.losses import OF_NUMBERS
from rpte.published.hug import item_utilities, mine_hug
from rpte.published.items import make_items
from rpte.published.joint import JointCounts
from rpte.published.mining import item_index
from rpte.published.pairs import mine_pairs, rank_sources
from rpte.vocabulary.gain import SortedColumn

N = 500
NUMBERS = ["squared_error", "poisson", "gamma", "tweedie"]


def planted(loss, n=N, seed=0):
    """Return a table in which y is higher where a > 0.5 in the town x, and exposures."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n).round(3) for name in "abc"})
    X["town"] = rng.choice(list("xyz"), n)
    hit = (X["a"] > 0.5) & (X["town"] == "x")
    if loss == "squared_error":
        return X, pd.Series(2.0 * hit + 0.3 * rng.normal(size=n), name="cost"), None
    years = pd.Series(rng.uniform(0.5, 2.0, n).round(2), name="years")
    mean = np.exp(1.8 * hit) * years
    y = {
        "poisson": lambda: rng.poisson(mean),
        "gamma": lambda: rng.gamma(4.0, mean / 4.0),
        "tweedie": lambda: rng.poisson(mean) * rng.gamma(4.0, 0.25, n),
    }[loss]()
    return X, pd.Series(y, name="cost"), years


def table_of(loss):
    X, y, years = planted(loss)
    reg = RPTERegressor.paper(loss=loss)
    given = Given(checked_parameters(reg), X, y, exposure=years)
    return read_memory(reg, given).training.rows.whole()


@pytest.fixture(scope="module", params=NUMBERS)
def fitted(request):
    X, y, years = planted(request.param)
    given = {} if years is None else {"exposure": years}
    return RPTERegressor.paper(loss=request.param).fit(X, y, **given), X, y, given


def test_it_fits_verifies_and_keeps_its_claims(fitted):
    reg, X, y, given = fitted
    assert reg.score(X, y, **given) > 0.4
    assert reg.model_.settings["conventions"] == "paper"
    assert reg.model_.settings["criterion"] == "newton"
    checks = reg.verify(X, y, **given)
    assert [check for check in checks if not check.holds] == []
    assert any("trees share no source" in str(check) for check in checks)


def test_a_file_scores_bit_for_bit_and_the_checker_accepts_it(fitted, tmp_path, capsys):
    reg, X, *_ = fitted
    path = tmp_path / "model.json"
    reg.save(path)
    np.testing.assert_array_equal(rpte.load(path).score(X), reg.linear_predictor(X))
    assert rpte_check.main([str(path)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("loss", NUMBERS)
def test_a_planted_pattern_is_found(loss):
    table = table_of(loss)
    index = item_index(table, make_items(table, printed=False))
    first = mine_hug(index, 2, 100, 0.001)[0]
    assert isinstance(first, Pattern)
    assert set(first.sources) == {"a", "town"}
    X, y, years = planted(loss)
    given = {} if years is None else {"exposure": years}
    reg = RPTERegressor.paper(loss=loss, max_trees=0).fit(X, y, **given)
    strongest = reg.rules_.iloc[reg.rules_["coefficient"].abs().argmax()]
    assert set(strongest["sources"]) == {"a", "town"}
    assert strongest["coefficient"] > 0


@pytest.mark.parametrize("loss", NUMBERS)
def test_gains_are_those_of_row_by_row_sums(loss):
    """Bins, joint cells and utilities against what a loop over rows gives."""
    table = table_of(loss)
    a = table.schema.position("a")
    x, y, weight = table.inputs.columns[a], table.y, table.weight
    edges = np.array([-0.5, 0.5])
    cells = np.searchsorted(edges, x, side="right")
    scores = [table.loss.null_score(y[cells == c], weight[cells == c]) for c in range(3)]
    null = np.full(len(y), table.null_score)
    fall = table.loss.deviance(null, y, weight)
    fall -= table.loss.deviance(np.array(scores)[cells], y, weight)
    found = SortedColumn(x, y, weight, table.loss).gains(edges)
    np.testing.assert_allclose(found, fall / 2, atol=1e-6)
    codes = np.array([cells, np.arange(len(y)) % 2], np.int8)
    joint = JointCounts(table, codes, [3, 2]).beside(0, np.array([1]))[0]
    for c in range(3):
        for d in range(2):
            rows = (codes[0] == c) & (codes[1] == d)
            sums = weight[rows].sum(), (weight * y)[rows].sum()
            np.testing.assert_allclose(joint[c, d], sums, rtol=1e-9, atol=1e-9)
    utility = item_utilities(item_index(table, make_items(table, printed=False)))
    assert utility.max() == 1.0
    assert (utility >= 0.0).all()


def test_pairs_of_numbers_that_interact_come_first():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.normal(size=N) for name in "abcd"})
    y = 3.0 * (X["b"] * X["d"] > 0) + rng.normal(size=N)
    reg = RPTERegressor.paper()
    table = read_memory(reg, Given(checked_parameters(reg), X, y)).training.rows.whole()
    assert set(rank_sources(table, frozenset("abcd"))[:2]) == {"b", "d"}
    first = mine_pairs(table, 5, frozenset("abcd"), FREE)[0]
    assert set(first.sources) == {"b", "d"}


def test_units_and_order_of_rows_do_not_matter():
    X, y, years = planted("gamma")
    reg = RPTERegressor.paper(loss="gamma").fit(X, y, exposure=years)
    order = np.random.default_rng(1).permutation(N)
    other = RPTERegressor.paper(loss="gamma")
    other.fit(X.iloc[order], 1_000.0 * y.iloc[order], exposure=years.iloc[order])
    assert reg.rules_["conditions"].tolist() == other.rules_["conditions"].tolist()
    np.testing.assert_allclose(1e3 * reg.predict(X, 1), other.predict(X, 1), rtol=1e-6)


def test_the_other_published_vocabulary_and_ownership():
    X, y, _ = planted("squared_error")
    frequent = RPTERegressor(vocabulary="frequent", l1=0.02).fit(X, y)
    assert all(check.holds for check in frequent.verify(X, y))
    strict = RPTERegressor.paper(ownership="strict", budget=30, min_gain=0.01).fit(X, y)
    assert all(check.holds for check in strict.verify(X, y))
    assert strict.get_params()["min_gain"] == 0.01


def test_files_and_the_command_line(tmp_path):
    pytest.importorskip("pyarrow", reason="tables in files need pyarrow, the extra 'files'")
    from command_tables import good

    X, y, years = planted("poisson", 200)
    frame = X.assign(cost=y, years=years)
    frame.to_parquet(tmp_path / "rows.parquet")
    reg = RPTERegressor.paper(loss="poisson").fit(X, y, exposure=years)
    stored = RPTERegressor.paper(loss="poisson")
    stored.fit(tmp_path / "rows.parquet", "cost", exposure="years")
    assert stored.model_ == reg.model_
    asked = (
        "--target",
        "cost",
        "--task",
        "count",
        "--exposure",
        "years",
        "--paper",
        "--folds",
        "0",
    )
    good("fit", tmp_path / "rows.parquet", *asked, "-o", tmp_path / "m.json")
    assert rpte.load(tmp_path / "m.json").components == reg.model_.components


def test_two_classes_alone_have_label_trees():
    with pytest.raises(TypeError):
        RPTERegressor(criterion="label")
    with pytest.raises(InputError, match="conventions='theirs'"):
        RPTERegressor(conventions="theirs").fit(*planted("squared_error")[:2])
    assert {loss.name for loss in OF_NUMBERS} == {*NUMBERS}

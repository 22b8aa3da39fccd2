"""The bootstrap of Stage 3: against a naive loop, reproducible, and honest about what it is."""

import json

import numpy as np
import pandas as pd
import pytest

from model_files import stored
from rpte import InputError, Limits, RPTEClassifier, bootstrap
from rpte.model.file import build
from rpte.model.parts import TreeTerms
from rpte.model.verify_table import labelled
from rpte.validation.uncertainty import Refit, term_columns

NAMES = ("mixed", "published", "special", "monotone", "limited", "chosen", "products", "array")


def loaded(name):
    case = stored(name)
    return build(case.document), case


def file_coefficients(model):
    return np.array(
        [
            value
            for _, part in model.parts()
            for value in (
                [leaf.coefficient for leaf in part.leaves]
                if isinstance(part, TreeTerms)
                else [part.coefficient]
            )
        ]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_training_rows_give_the_model_back(name):
    """The refit solves the problem of the file: on its own rows it returns its coefficients."""
    model, case = loaded(name)
    rows = labelled(model, model.read(case.X), case.y, case.weight)
    refit = Refit(model, rows)
    fit = refit.at(np.ones(rows.inputs.n_rows, np.int64))
    columns = term_columns(model, rows.inputs)
    score = fit.intercept + columns @ (fit.coefficients[refit.places] / scales(model))
    np.testing.assert_allclose(score, model.score(rows.inputs), atol=1e-5)
    assert fit.converged


def scales(model):
    return np.concatenate(
        [
            np.ones(len(part.leaves)) if isinstance(part, TreeTerms) else [part.scale]
            for _, part in model.parts()
        ]
    )


def test_columns_times_coefficients_are_the_score():
    model, case = loaded("products")
    columns = term_columns(model, model.read(case.X))
    score = model.intercept + columns @ file_coefficients(model)
    np.testing.assert_allclose(score, model.score(case.X), atol=1e-9)


def simple(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": rng.normal(size=n).round(2)})
    y = rng.random(n) < 1 / (1 + np.exp(-(0.8 * X["a"] - 0.5 * X["b"] - 0.2)))
    return X, y.to_numpy().astype(int)


PLAIN = {"vocabulary": "original", "max_trees": 0, "l1": 1e-4, "l1_ratio": 1.0}


def plain_model(X, y, **changes):
    return RPTEClassifier(**{**PLAIN, **changes}).fit(X, y).model_


def test_it_is_what_a_naive_loop_finds():
    """Repeat the drawn rows themselves and fit with scikit-learn at the same penalty."""
    from sklearn.linear_model import LogisticRegression

    X, y = simple()
    l1 = 0.02
    model = plain_model(X, y, l1=l1)
    drawn = bootstrap(model, X, y, n=5, seed=4)
    rng = np.random.default_rng(4)
    terms = {part.column.text: part for _, part in model.parts()}
    for k in range(5):
        rows = rng.integers(0, len(y), len(y))
        Z = np.column_stack(
            [(X[name].to_numpy()[rows] - t.centre) / t.scale for name, t in terms.items()]
        )
        # Mean deviance + l1 |b| is (2 / n) (sum of losses + n l1 / 2 |b|).
        C = 2.0 / (len(y) * l1)
        other = LogisticRegression(
            l1_ratio=1.0, C=C, solver="saga", tol=1e-10, max_iter=100_000
        ).fit(Z, y[rows])
        expected = other.coef_[0] / [t.scale for t in terms.values()]
        np.testing.assert_allclose(drawn.coefficients[k], expected, atol=1e-4)


def test_a_seed_gives_the_same_numbers_and_another_others():
    X, y = simple(120)
    model = plain_model(X, y)
    one, two = (bootstrap(model, X, y, n=6, seed=1) for _ in range(2))
    assert (one.coefficients == two.coefficients).all()
    assert (one.intercepts == two.intercepts).all()
    assert (bootstrap(model, X, y, n=6, seed=2).coefficients != one.coefficients).any()


def test_groups_are_drawn_together():
    """Rows that come in copies of one group each give the resamples of the rows themselves."""
    X, y = simple(80)
    model = plain_model(X, y)
    single = bootstrap(model, X, y, n=6)
    groups = np.repeat([f"{k:03d}" for k in range(len(y))], 2)
    twice = bootstrap(
        model, X.loc[X.index.repeat(2)], np.repeat(y, 2), n=6, groups=groups,
        sample_weight=np.full(2 * len(y), 0.5),
    )  # fmt: skip
    np.testing.assert_allclose(twice.coefficients, single.coefficients, atol=1e-7)
    assert twice.groups == len(y)
    assert "resamples of 80 groups" in twice.what
    with pytest.raises(InputError, match="groups has shape"):
        bootstrap(model, X, y, n=2, groups=[1, 2])


@pytest.mark.slow(reason="makes many refits")
def test_intervals_cover_a_simple_truth_about_as_often_as_they_say():
    """80% intervals of two slopes over 25 tables: of 50, far from none and far from all."""
    hits = []
    for seed in range(25):
        X, y = simple(200, seed + 100)
        drawn = bootstrap(plain_model(X, y), X, y, n=50)
        intervals = {t.text.split(",")[0]: t for t in drawn.terms(0.8) if t.name != "intercept"}
        for name, truth in (("a", 0.8), ("b", -0.5)):
            found = intervals.get(name)
            hits.append(found is not None and found.low <= truth <= found.high)
    assert 0.65 <= np.mean(hits) <= 0.93


@pytest.mark.parametrize("name", ["special", "products", "monotone"])
def test_cases_add_up_and_hold_their_estimates_names(name):
    model, case = loaded(name)
    drawn = bootstrap(model, case.X, case.y, n=12, sample_weight=case.weight)
    rows = case.X.iloc[[3, 8]]
    told = model.explain(rows)
    for found, explained in zip(drawn.cases(rows), told, strict=True):
        assert found.score.estimate == explained.score
        assert found.score.low <= found.score.high
        assert 0 <= found.probability.low <= found.probability.high <= 1
        assert [c.estimate for c in found.components] == [c.value for c in explained.components]
        names = [c.term for part in explained.components for c in part.contributions]
        assert [t.name for t in found.terms] == names
        assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    wide, narrow = drawn.cases(rows, 0.99)[0], drawn.cases(rows, 0.5)[0]
    assert wide.score.low <= narrow.score.low <= narrow.score.high <= wide.score.high


def test_resamples_respect_monotone_limits():
    model, case = loaded("monotone")
    drawn = bootstrap(model, case.X, case.y, n=10)
    directions = model.settings["limits"]["monotone"]
    assert directions
    grid = np.linspace(-2, 2, 21)
    for name, word in directions.items():
        rows = pd.concat([case.X.iloc[[0]]] * len(grid)).assign(**{name: grid})
        scores = drawn.intercepts + term_columns(model, model.read(rows)) @ drawn.coefficients.T
        steps = np.diff(scores, axis=0) * (1 if word == "increasing" else -1)
        assert (steps >= -1e-12).all()


def test_signs_of_direct_terms_are_respected():
    X, y = simple(60, seed=5)
    model = plain_model(X, y, limits=Limits(monotone={"a": "increasing"}))
    drawn = bootstrap(model, X, y, n=40)
    column = [part.sources for _, part in model.parts()].index(("a",))
    assert (drawn.coefficients[:, column] >= 0).all()


def test_it_says_what_it_is():
    X, y = simple(120)
    model = plain_model(X, y)
    drawn = bootstrap(model, X, y, n=5)
    assert "structure and penalty as in the file" in drawn.what
    assert "5 resamples of rows, seed 0" in drawn.what
    assert drawn.same_table
    assert drawn.unconverged == 0
    other = bootstrap(model, X.iloc[:100], y[:100], n=5)
    assert "not the one that the model was fitted on" in other.what


def test_terms_say_how_often_they_vanish():
    X, y = simple(120)
    X = X.assign(noise=np.random.default_rng(1).normal(size=120).round(2))
    model = plain_model(X, y, l1=0.03)
    found = {t.name: t for t in bootstrap(model, X, y, n=40).terms()}
    text = {t.text.split(",")[0]: t.zero for t in found.values() if t.name != "intercept"}
    assert found["intercept"].zero is None
    assert text["a"] == 0.0
    assert 0.0 < text["noise"] < 1.0


def test_mistakes_are_told():
    X, y = simple(60)
    model = plain_model(X, y)
    with pytest.raises(InputError, match="n=0; the number of resamples"):
        bootstrap(model, X, y, n=0)
    with pytest.raises(InputError, match="level=95; it must lie between 0 and 1"):
        bootstrap(model, X, y, n=2).terms(95)
    with pytest.raises(InputError, match="no Stage 3"):
        bootstrap(loaded("boosted")[0], *stored("boosted").given[:2], n=2)
    with pytest.raises(InputError, match="held one class only"):
        bootstrap(model, X[y == 1], y[y == 1], n=2)

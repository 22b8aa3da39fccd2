"""Products with leaf codes against the one-hot matrix, and the checks on what comes in."""

from __future__ import annotations

import numpy as np
import pytest
from designs import make_design, one_hot, random_design

from rpte.estimation.design import Design


@pytest.mark.parametrize(("n", "trees", "d"), [(50, 3, 4), (5000, 2, 3), (30, 0, 3), (30, 2, 0)])
def test_products_equal_the_one_hot_ones(n, trees, d):
    design = random_design(1, n, trees, d)
    z = one_hot(design)
    rng = np.random.default_rng(0)
    theta, values = rng.normal(size=design.n_terms), rng.normal(size=n)
    np.testing.assert_allclose(design.score(0.3, theta), 0.3 + z @ theta, atol=1e-12)
    np.testing.assert_allclose(design.transposed(values), z.T @ values, atol=1e-11)


@pytest.mark.parametrize("n", [50, 5000])
def test_products_of_some_terms(n):
    design = random_design(1, n, trees=4, d=6)
    mask = np.random.default_rng(0).random(design.n_terms) < 0.3
    chosen = design.select(mask)
    values = np.random.default_rng(1).normal(size=n)
    np.testing.assert_array_equal(
        design.transposed(values, chosen)[mask], design.transposed(values)[mask]
    )
    leaves = np.arange(design.n_leaves)
    owner = np.searchsorted(design.starts, leaves, side="right") - 1
    np.testing.assert_array_equal(chosen.trees, np.unique(owner[mask[: design.n_leaves]]))
    np.testing.assert_array_equal(chosen.columns, np.flatnonzero(mask[design.n_leaves :]))


@pytest.mark.parametrize("n", [50, 5000])
def test_gradient_is_the_slope_of_the_deviance(n):
    design = random_design(3, n)
    rng = np.random.default_rng(0)
    theta, along = rng.normal(size=design.n_terms), rng.normal(size=design.n_terms)
    at_intercept, gradient = design.gradient(0.1, theta)
    h = 1e-5
    ahead, behind = (design.deviance(0.1 + s * h, theta + s * h * along) for s in (1, -1))
    assert (ahead - behind) / (2 * h) == pytest.approx(at_intercept + gradient @ along, rel=1e-7)


@pytest.mark.parametrize("n", [50, 5000])
def test_gram_of_some_terms(n):
    design = random_design(5, n, trees=4, d=6)
    h = np.random.default_rng(0).uniform(0.1, 1, n)
    terms = np.array([0, 2, 9, 10, design.n_leaves + 1, design.n_leaves + 4])
    mask = np.zeros(design.n_terms, np.bool_)
    mask[terms] = True
    gram = design.weighted_gram(design.select(mask), h)
    np.testing.assert_array_equal(gram.selection.terms, terms)
    np.testing.assert_array_equal(gram.centred, gram.centred.T)
    z = one_hot(design)[:, terms]
    centred = z - np.average(z, axis=0, weights=h)
    np.testing.assert_allclose(gram.centred, centred.T @ (h[:, None] * centred), atol=1e-9)
    np.testing.assert_allclose(gram.cross, z.T @ h, rtol=1e-12)


def test_deviance_is_stable_far_out():
    design = make_design([np.array([0, 1])], np.zeros((2, 0)), np.array([0.0, 1.0]))
    assert design.deviance(0.0, np.array([-800.0, 800.0])) == 0.0
    assert design.deviance(0.0, np.array([800.0, -800.0])) == 1600.0


BROKEN = {
    "weight": ({"weight": np.zeros(4)}, "weight must be positive"),
    "one class": ({"y": np.ones(4)}, "y must hold 0 and 1"),
    "code": ({"leaf_codes": np.full((1, 4), 2, np.int32)}, "leaf_codes must lie in"),
    "nan": ({"direct": np.full((4, 1), np.nan)}, "direct holds NaN"),
    "length": ({"penalty": np.ones(2)}, r"penalty has shape \(2,\)"),
    "signs": ({"sign": np.zeros(4, np.int8)}, r"sign has shape \(4,\)"),
    "sign type": ({"sign": np.zeros(3)}, "type float64"),
    "sign value": ({"sign": np.array([0, 2, 0], np.int8)}, "sign must hold"),
    "order": ({"direct": np.zeros((4, 4)), "penalty": np.ones(6)}, "Fortran order"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_designs_are_refused(name):
    values, message = BROKEN[name]
    good = {
        "leaf_codes": np.array([[0, 0, 1, 1]], np.int32),
        "leaf_counts": (2,),
        "direct": np.zeros((4, 1)),
        "y": np.array([0.0, 1.0, 0.0, 1.0]),
        "weight": np.ones(4),
        "penalty": np.ones(3),
    }
    Design(**good)
    with pytest.raises(ValueError, match=message):
        Design(**(good | values))

"""Products of terms over rows: codes of terms that exclude each other give what their cells do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.kernels import term_products as module


def terms_of(rng, n, dense, groups):
    """Return terms in random order, their cells (k, n): numbers, and levels of some groups."""
    cells = [rng.normal(size=n) for _ in range(dense)]
    place = [(-1, 0)] * dense
    codes, widths = np.zeros((len(groups), n), np.uint16), []
    for g, levels in enumerate(groups):
        codes[g] = rng.integers(0, levels + 1, n)
        widths.append(levels + 1)
        cells += [codes[g] == level + 1.0 for level in range(levels)]
        place += [(g, level + 1) for level in range(levels)]
    order = rng.permutation(len(cells))
    z = np.array(cells, np.float32).reshape(len(cells), n)
    group, level = np.array(place, np.intp).reshape(-1, 2)[order].T.copy()
    terms = z, codes, np.array(widths, np.int64), order.astype(np.intp), group, level
    return terms, z[order].astype(float)


def run(name, compiled):
    function = getattr(module, name)
    return function if compiled else function.__wrapped__


GROUPS = st.lists(st.integers(1, 9), max_size=4)


@pytest.mark.slow(reason="takes the moments of many rows")
@pytest.mark.parametrize("compiled", [True, False])
@examples(30)
@given(st.integers(0, 10_000), st.integers(0, 60), GROUPS, st.integers(0, 60))
def test_moments_are_extended_as_if_taken_at_once(compiled, seed, dense, groups, known):
    """Also across panels: those of the terms that stay are not computed again."""
    rng = np.random.default_rng(seed)
    terms, x = terms_of(rng, 50, dense, groups)
    k, h = len(x), rng.random(50)
    known = min(known, k)
    found = np.zeros((k - known, k + 1))
    for low, high in ((0, 17), (17, 50)):
        run("moments_of_rows", compiled)(terms, known, h, low, high, found)
    second, cross = np.full((k, k), np.nan), np.full(k, np.nan)
    second[:known, :known], cross[:known] = 7.0, 7.0
    run("put_moments", compiled)(found, known, second, cross)
    expected, sums = (x * h) @ x.T, x @ h
    expected[:known, :known], sums[:known] = 7.0, 7.0
    np.testing.assert_allclose(second, expected, atol=1e-4)
    np.testing.assert_allclose(cross, sums, atol=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
@examples(30)
@given(st.integers(0, 10_000), st.integers(0, 9), GROUPS)
def test_gradients_and_scores_between_two_rows(compiled, seed, dense, groups):
    rng = np.random.default_rng(seed)
    terms, x = terms_of(rng, 40, dense, groups)
    values, move = rng.normal(size=40), rng.normal(size=len(x)) * (rng.random(len(x)) < 0.7)
    out, exact = np.empty((2, len(x)))
    run("gradients", compiled)(terms, values.astype(np.float32), 5, 31, out)
    run("exact_gradients", compiled)(terms, values, 5, 31, exact)
    np.testing.assert_allclose(out, x[:, 5:31] @ values[5:31], atol=1e-4)
    np.testing.assert_allclose(exact, x[:, 5:31] @ values[5:31], atol=1e-12)
    score = np.ones(40)
    run("add_rows", compiled)(terms, move, 5, 31, score)
    np.testing.assert_allclose(score[5:31], 1.0 + move @ x[:, 5:31])
    assert (score[:5] == 1.0).all()
    assert (score[31:] == 1.0).all()


def test_codes_are_read_where_they_pay():
    """The cells of terms with codes are not looked at; those of few terms are."""
    rng = np.random.default_rng(0)
    terms, x = terms_of(rng, 40, 2, [module.FEW, module.FEW - 1])
    blind = np.where((terms[4] == 0)[np.argsort(terms[3]), None], np.nan, terms[0])
    found = np.zeros((len(x), len(x) + 1))
    module.moments_of_rows((blind.astype(np.float32), *terms[1:]), 0, np.ones(40), 0, 40, found)
    np.testing.assert_allclose(np.tril(found[:, :-1]), np.tril(x @ x.T), atol=1e-4)
    missing = np.where((terms[4] == 1)[np.argsort(terms[3]), None], np.nan, terms[0])
    module.moments_of_rows((missing.astype(np.float32), *terms[1:]), 0, np.ones(40), 0, 40, found)
    assert np.isnan(found).any()

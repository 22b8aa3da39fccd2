"""Tests over sets and over splits, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments import published
from experiments.statistics import critical_difference, holm, mean_ranks, paired, wilcoxon


def test_the_papers_own_wilcoxon_figures_follow_from_its_table():
    """Its tests are of unrounded means, so a tie of the printed ones may be none there."""
    for peer, (statistic, p, _, _, record) in published.WILCOXON.items():
        test = wilcoxon(published.AUC["rpte_paper"], published.AUC[peer])
        stated = [int(part) for part in record.split("-")]
        ties = test.record[1] - stated[1]
        assert ties >= 0
        assert abs(test.record[0] - stated[0]) <= ties
        assert abs(test.record[2] - stated[2]) <= ties
        assert test.statistic == pytest.approx(statistic, abs=4)
        assert test.p == pytest.approx(p, abs=0.1)


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=9))
def test_wilcoxon_is_the_permutation_test(apart):
    values = np.array(apart, float)
    test = wilcoxon(values, np.zeros(len(values)))
    moved = values[values != 0]
    if not len(moved):
        assert test.p == 1.0
        return
    ranks = stats.rankdata(np.abs(moved))
    signs = np.array(np.meshgrid(*[[0, 1]] * len(moved))).reshape(len(moved), -1)
    sums = ranks @ signs
    least = min(ranks[moved > 0].sum(), ranks[moved < 0].sum())
    assert test.statistic == least
    assert test.p == pytest.approx(min(1.0, 2 * np.mean(sums <= least + 1e-9)))


def test_wilcoxon_agrees_with_scipy_without_ties():
    apart = np.array([0.3, -0.1, 0.25, 0.4, -0.05, 0.6, 0.7])
    expected = stats.wilcoxon(apart, method="exact")
    test = wilcoxon(apart, np.zeros(7))
    assert (test.statistic, test.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_holm_is_the_papers_correction():
    p = [row[1] for row in published.WILCOXON.values()]
    stated = [row[2] for row in published.WILCOXON.values()]
    assert holm(p) == pytest.approx(stated, abs=0.003)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_holm_keeps_order_and_never_lowers(p):
    corrected = holm(p)
    assert all(c >= q - 1e-12 for c, q in zip(corrected, p, strict=True))
    assert all(c <= 1.0 for c in corrected)
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= -1e-12).all()


def test_the_corrected_error_is_wider_than_the_plain_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.8, 0.02, 15), rng.normal(0.78, 0.02, 15)
    found = paired(a, b, 0.25)
    apart = a - b
    assert found.mean == pytest.approx(apart.mean())
    assert found.error == pytest.approx(np.sqrt(apart.var(ddof=1) * (1 / 15 + 0.25)))
    assert found.p > stats.ttest_rel(a, b).pvalue
    assert found.worse + found.same + found.better == pytest.approx(1.0)


def test_equal_models_are_practically_equal():
    same = paired([0.9] * 5, [0.9] * 5, 0.25)
    assert (same.same, same.p) == (1.0, 1.0)
    far = paired([0.9] * 5, [0.8] * 5, 0.25)
    assert (far.better, far.p) == (1.0, 0.0)


def test_ranks_and_nemenyi():
    ranks = mean_ranks(np.array([[0.9, 0.8, 0.8], [0.7, 0.9, 0.6]]))
    assert ranks.tolist() == [1.5, 1.75, 2.75]
    # Demsar (2006): q at 5 % is 2.569 for four models
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=0.01)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_tables import coded, grower_of, random_table, same_tree
from effort import examples
from rpte.losses import BINOMIAL
from rpte.published.label_trees import LabelCounts, LabelGrower
from rpte.rows.threads import worker_threads
from rpte.structure import grower
from rpte.structure.boosting import Stage2, Stage2Settings, discover_trees

CRITERIA = st.sampled_from(["label", "newton"])


def two_source_table(seed, n=120):
    """Six columns over four sources, two of them of two sources."""
    columns, y, w = random_table(seed, n, n_columns=6)
    sources = [(0,), (1,), (2,), (3,), (0, 2), (1, 3)]
    return coded(columns.codes, columns.n_bins, columns.is_category, sources), y, w


def sources_of(columns, tree):
    return {s for j in tree.used_columns for s in columns.sources[j]}


@given(st.integers(0, 10_000), CRITERIA, st.sampled_from([1, 2, 3, 10]))
@examples(100)
def test_trees_share_no_source_and_the_deviance_falls(seed, criterion, most):
    columns, y, w = two_source_table(seed)
    options = Stage2Settings(max_trees=most, max_sources=2, max_leaves=5)
    grower = grower_of(criterion, columns, y, w, options)
    result = discover_trees(columns, y, w, options, grower)
    claimed = [s for tree in result.trees for s in sources_of(columns, tree)]
    assert len(claimed) == len(set(claimed))
    assert len(result.trees) <= min(most, 4)
    assert all(len(sources_of(columns, tree)) <= 2 for tree in result.trees)
    accepted = [r for r in result.rounds if r.accepted]
    assert [r.tree for r in accepted] == list(result.trees)
    last = BINOMIAL.deviance(np.full(len(y), result.base), y, w)
    for r in accepted:
        assert r.deviance_before == pytest.approx(last, rel=1e-12)
        assert r.deviance_after < r.deviance_before
        last = r.deviance_after
    assert BINOMIAL.deviance(result.score, y, w) == pytest.approx(last, rel=1e-12)


def test_score_is_base_plus_steps_of_newton_values():
    columns, y, w = random_table(5, 200)
    result = discover_trees(columns, y, w, Stage2Settings(max_sources=1))
    mean = (w * y).sum() / w.sum()
    assert result.base == pytest.approx(np.log(mean / (1 - mean)))
    score = np.full(len(y), result.base)
    assert len(result.rounds) > 1
    for r in result.rounds:
        p = 1 / (1 + np.exp(-score))
        leaf = r.tree.apply(columns.codes)
        np.testing.assert_array_equal(r.leaf, leaf)
        for k, value in enumerate(r.leaf_values):
            at = leaf == k
            expected = (w * (y - p))[at].sum() / ((w * p * (1 - p))[at].sum() + 1.0)
            assert value == pytest.approx(expected, rel=1e-9)
        assert r.step in {0.3 / 2**k for k in range(6)} | {0.0}
        score = score + r.step * r.leaf_values[leaf]
    np.testing.assert_array_equal(score, result.score)


def from_score(start, base):
    """Return Stage 2 before its first tree, with a score of its own."""
    return Stage2((), (), start, base, "")


def test_trees_set_out_from_a_given_score():
    """What the start explains already, no tree explains again."""
    columns, y, w = random_table(5, 200)
    plain = discover_trees(columns, y, w, Stage2Settings(max_trees=1))
    base = from_score(np.full(len(y), plain.base), plain.base)
    same = discover_trees(columns, y, w, Stage2Settings(max_trees=1), None, base)
    assert same_tree(same.trees[0], plain.trees[0])
    rng = np.random.default_rng(0)
    start = rng.normal(size=len(y))
    before = from_score(start.copy(), plain.base)
    found = discover_trees(columns, y, w, Stage2Settings(max_trees=1), None, before)
    (r,) = found.rounds
    p = 1 / (1 + np.exp(-start))
    leaf = r.tree.apply(columns.codes)
    for k, value in enumerate(r.leaf_values):
        at = leaf == k
        expected = (w * (y - p))[at].sum() / ((w * p * (1 - p))[at].sum() + 1.0)
        assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(found.score, start + r.step * r.leaf_values[leaf])
    np.testing.assert_array_equal(before.score, start)
    certain = from_score(np.where(y == 1, 30.0, -30.0), plain.base)
    assert discover_trees(columns, y, w, Stage2Settings(), None, certain).trees == ()


@given(st.integers(0, 10_000), CRITERIA, st.lists(st.integers(0, 5), max_size=4))
@examples(40)
def test_going_on_is_the_same_as_going_through(seed, criterion, stops):
    """Trees on demand: with any stops on the way, the trees are those of one run."""
    columns, y, w = two_source_table(seed)

    def options(most):
        return Stage2Settings(max_trees=most, max_sources=1, max_leaves=4)

    grower = grower_of(criterion, columns, y, w, options(4))
    whole = discover_trees(columns, y, w, options(4), grower)
    found = None
    for most in [*stops, 4]:
        before = 0 if found is None else len(found.trees)
        found = discover_trees(columns, y, w, options(most), grower, found)
        assert len(found.trees) <= max(most, before)
        for one, other in zip(found.trees, whole.trees, strict=False):
            assert same_tree(one, other)
    assert len(found.trees) == len(whole.trees)
    assert [r.accepted for r in found.rounds] == [r.accepted for r in whole.rounds]
    np.testing.assert_array_equal(found.score, whole.score)
    assert found.stopped == whole.stopped
    again = discover_trees(columns, y, w, options(4), grower, found)
    assert len(again.rounds) == len(found.rounds)


def test_going_on_counts_the_rows_once(monkeypatch):
    """The root of a label tree is the same in every round."""
    counted = []
    of = LabelCounts.of

    def count(*args):
        counted.append(of(*args))
        return counted[-1]

    monkeypatch.setattr(LabelCounts, "of", count)
    columns, y, w = random_table(5, 300, missing=False, categories=False)
    grower = LabelGrower(columns, y, w, Stage2Settings(max_sources=1))
    found = None
    for most in (1, 2, 3):
        options = Stage2Settings(max_trees=most, max_sources=1)
        found = discover_trees(columns, y, w, options, grower, found)
    assert len(found.trees) == 3
    assert len(counted) == 1
    assert grower.counts is counted[0] is not None


def test_the_line_search_halves_a_step_that_is_too_long():
    columns, y, w = random_table(5, 200)
    result = discover_trees(columns, y, w, Stage2Settings(learning_rate=40.0))
    assert result.rounds[0].accepted
    assert result.rounds[0].step < 40.0
    assert result.rounds[0].deviance_after < result.rounds[0].deviance_before
    hopeless = Stage2Settings(learning_rate=1e9, line_search_trials=2)
    rejected = discover_trees(columns, y, w, hopeless)
    assert rejected.trees == ()
    assert rejected.rounds[0].reason == rejected.stopped == "no step lowers the deviance"


def test_a_tree_that_hardly_helps_ends_the_search():
    columns, y, w = random_table(5, 200)
    result = discover_trees(columns, y, w, Stage2Settings(learning_rate=1e-10, max_sources=1))
    assert len(result.trees) == 1
    assert result.stopped == "deviance hardly falls"
    assert not result.rounds[1].accepted


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_one_class_gives_no_tree(target):
    columns, _, w = random_table(5, 50)
    result = discover_trees(columns, np.full(50, target), w, Stage2Settings())
    assert result.trees == ()
    assert result.stopped == "y has one value"
    assert np.isfinite(result.base)


def test_newton_sees_residuals_and_label_does_not():
    """After the first tree took a, copies of a are worth nothing to the residuals."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4000))
    copy = np.where(rng.random(4000) < 0.05, 1 - a, a)
    y = (rng.random(4000) < 0.1 + 0.6 * a + 0.2 * b).astype(float)
    columns = coded([a, copy, b])
    second = {}
    for criterion in ("label", "newton"):
        options = Stage2Settings(max_sources=1, learning_rate=1.0, leaf_ridge=1e-3)
        grower = grower_of(criterion, columns, y, np.ones(4000), options)
        result = discover_trees(columns, y, np.ones(4000), options, grower)
        assert result.trees[0].used_columns == (0,)
        second[criterion] = result.trees[1].used_columns
    assert second == {"label": (1,), "newton": (2,)}


@given(st.integers(0, 10_000), CRITERIA)
@examples(60)
def test_integer_weights_are_repetition(seed, criterion):
    columns, y, w = two_source_table(seed, 60)
    again = np.repeat(np.arange(60), w.astype(int))
    repeated = coded(columns.codes[:, again], columns.n_bins, columns.is_category, columns.sources)
    options, ones = Stage2Settings(max_trees=3), np.ones(len(again))
    first, second = (
        discover_trees(*given, options, grower_of(criterion, *given, options))
        for given in ((columns, y, w), (repeated, y[again], ones))
    )
    assert len(first.trees) == len(second.trees)
    for one, other in zip(first.trees, second.trees, strict=True):
        assert same_tree(one, other, exact=criterion == "label")


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(grower, "_WORTH_THREADS", 0)
    columns, y, w = random_table(8, 500, n_columns=25)
    w = w * np.random.default_rng(1).random(500)
    alone = discover_trees(columns, y, w, Stage2Settings(max_sources=3))
    with worker_threads(3):
        together = discover_trees(columns, y, w, Stage2Settings(max_sources=3))
    assert len(alone.trees) > 1
    assert len(alone.trees) == len(together.trees)
    assert all(map(same_tree, alone.trees, together.trees))
    np.testing.assert_array_equal(alone.score, together.score)


@pytest.mark.parametrize("lookahead", [False, True])
@pytest.mark.parametrize("criterion", ["label", "newton"])
def test_rows_of_weight_zero_are_absent(criterion, lookahead):
    columns, y, w = random_table(21, 600)
    w[np.random.default_rng(0).random(600) < 0.3] = 0.0
    kept = w > 0
    part = coded(columns.codes[:, kept], columns.n_bins, columns.is_category)
    options = Stage2Settings(lookahead=lookahead, max_sources=2)
    whole, fewer = (
        discover_trees(*given, options, grower_of(criterion, *given, options))
        for given in ((columns, y, w), (part, y[kept], w[kept]))
    )
    assert len(whole.trees) == len(fewer.trees) > 0
    for one, other in zip(whole.trees, fewer.trees, strict=True):
        assert same_tree(one, other, exact=False)

"""Passes over blocks of rows: the same sums for any number of threads, in block order."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from raw_tables import random_raw
from rpte import RPTEClassifier
from rpte.rows import scale
from rpte.rows.passes import RowBlocks, UnevenBlocks, add, each_block
from rpte.rows.threads import worker_threads
from rpte.rows.training_rows import MemoryRows

THREADS = pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(scale, "BLOCK_ROWS", 7)


@pytest.mark.parametrize("n_rows", [0, 1, 6, 7, 8, 14, 50])
def test_blocks_hold_every_row_once_in_order(short_blocks, n_rows):
    rows = np.arange(n_rows)
    found = [rows[block] for block in each_block(lambda block: block, RowBlocks(n_rows))]
    assert np.concatenate(found).tolist() == rows.tolist()
    assert all(len(block) == 7 for block in found[:-1])
    assert len(found) == max(1, -(-n_rows // 7))


def test_blocks_may_begin_where_they_are_told():
    rows = np.arange(9)
    found = each_block(lambda block: rows[block].tolist(), UnevenBlocks(np.array([0, 4, 4, 9])))
    assert list(found) == [[0, 1, 2, 3], [], [4, 5, 6, 7, 8]]


@THREADS
def test_sums_are_those_of_blocks_in_order(short_blocks, n_jobs):
    values = np.exp(np.random.default_rng(0).normal(scale=20.0, size=100))
    expected = 0.0
    for low in range(0, 100, 7):
        expected += float(values[low : low + 7].sum())
    with worker_threads(n_jobs):
        assert add(lambda rows: float(values[rows].sum()), RowBlocks(100)) == expected


@THREADS
def test_a_tuple_is_added_part_by_part(short_blocks, n_jobs):
    x = np.random.default_rng(1).normal(size=(30, 2))

    def statistic(rows):
        return float(len(x[rows])), (x[rows].T @ x[rows], x[rows].sum(axis=0))

    with worker_threads(n_jobs):
        count, (gram, sums) = add(statistic, RowBlocks(30))
    assert count == 30.0
    np.testing.assert_allclose(gram, x.T @ x)
    np.testing.assert_allclose(sums, x.sum(axis=0))


def test_no_rows_have_a_sum(short_blocks):
    assert add(lambda rows: np.ones(3)[rows].sum(), RowBlocks(0)) == 0.0


@THREADS
def test_what_a_block_raises_is_raised(short_blocks, n_jobs):
    def fail(rows):
        if rows.start == 14:
            raise ArithmeticError("the third block")
        return 0.0

    with worker_threads(n_jobs), pytest.raises(ArithmeticError, match="third"):
        add(fail, RowBlocks(30))


@THREADS
def test_a_table_is_read_block_by_block(short_blocks, n_jobs):
    table = random_raw(3, ["number", "category", "few"], 40).table()
    with worker_threads(n_jobs):
        blocks = list(each_block(lambda some: some, MemoryRows(table)))
        weight, events = add(
            lambda some: (some.weight.sum(), (some.weight * some.y).sum()), MemoryRows(table)
        )
    assert sum(block.n_rows for block in blocks) == table.n_rows
    for name in table.schema.names:
        cells = np.concatenate([block.inputs[name] for block in blocks])
        np.testing.assert_array_equal(cells, table.inputs[name])
    assert weight == pytest.approx(table.total_weight)
    assert events == pytest.approx((table.weight * table.y).sum())


@pytest.mark.parametrize("l1", ["search", "4/n"])
def test_a_fit_over_other_blocks_has_the_same_terms(monkeypatch, l1):
    """And over the same blocks the same bits, for any number of threads."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :8], y[::3]
    given = {"cv": 2, "l1_ratio": 1.0, "max_trees": 2} if l1 == "search" else {"l1": l1}
    whole = RPTEClassifier(**given).fit(X, y)
    monkeypatch.setattr(scale, "BLOCK_ROWS", 40)
    fits = [RPTEClassifier(n_jobs=n_jobs, **given).fit(X, y) for n_jobs in (None, 2, 3)]
    scores = [fit.decision_function(X) for fit in fits]
    assert scores[0].tobytes() == scores[1].tobytes() == scores[2].tobytes()
    np.testing.assert_allclose(scores[0], whole.decision_function(X), rtol=0, atol=1e-6)
    texts = [[part.name for _, part in fit.model_.parts()] for fit in (whole, fits[0])]
    assert texts[0] == texts[1]
    assert fits[0].model_.audit().miu == whole.model_.audit().miu

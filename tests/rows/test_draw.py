"""A sample drawn from rows in blocks is that of the same rows in one table."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from rpte.rows import draw as drawing
from rpte.rows import scale
from rpte.rows.draw import draw
from rpte.table.read import read_training
from rpte.table.table import make_table

MOST = 300


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(scale, "LONG_ABOVE", MOST)
    monkeypatch.setattr(scale, "SAMPLE_ROWS", MOST)


class Split:
    """Rows in blocks, equal ones of a block merged; counts what comes out of passes."""

    def __init__(self, x, town, y, weight, blocks):
        whole = read_training({"x": x, "town": town})
        self.table = make_table(whole, y, weight)
        at = [np.flatnonzero(blocks == number) for number in range(blocks.max() + 1)]
        self.blocks = [make_table(whole.take(k), y[k], weight[k]) for k in at if len(k)]
        self.passes = 0

    def reduce(self, function, plus):
        self.passes += 1
        return reduce(plus, map(function, self.blocks))

    def drawn(self):
        return draw(self, sum(block.n_rows for block in self.blocks))


def made(kind, seed, n=6_000, count=9):
    rng = np.random.default_rng(seed)
    x, town = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    if kind == "heavy":  # a few rows are half of the table, and are in every block
        x, town = np.where(rng.random(n) < 0.5, rng.integers(0, 4, n), x), np.repeat("a", n)
    if kind == "twice":
        x = x[rng.integers(0, n, n)]
    if kind == "few":
        x = rng.integers(0, 40, n).astype(float)
    weight = rng.choice([0.5, 1.0, 3.0, 400.0], n) if kind == "weights" else np.ones(n)
    y = (rng.random(n) < 0.4).astype(float)
    blocks = np.zeros(n, int) if count == 1 else rng.integers(0, count, n) ** 2 // count
    return Split(x, town, y, weight, blocks)


@pytest.mark.parametrize("count", [1, 2, 9, 60])
@pytest.mark.parametrize("kind", ["distinct", "twice", "heavy", "weights", "few"])
def test_the_sample_is_that_of_one_table(kind, count):
    rows = made(kind, 3, count=count)
    found, wanted = rows.drawn(), rows.table.sample(MOST)
    assert found.whole == (wanted is rows.table) == (kind == "few")
    np.testing.assert_array_equal(found.table.y, wanted.y)
    np.testing.assert_array_equal(found.table.cases, wanted.cases)
    np.testing.assert_allclose(found.table.weight, wanted.weight, rtol=1e-14)
    for name in ("x", "town"):
        np.testing.assert_array_equal(found.table.inputs[name], wanted.inputs[name])


def test_different_rows_are_counted_where_they_can_be():
    for kind, slack in (("distinct", 0), ("few", 0), ("twice", 0.05)):
        rows = made(kind, 4)
        assert rows.drawn().n_rows == pytest.approx(rows.table.n_rows, rel=slack, abs=0)


def test_sketches_leave_few_rows_to_be_counted(monkeypatch):
    rows, sizes = made("heavy", 5, n=40_000, count=20), []
    collect = drawing._Candidates.count
    monkeypatch.setattr(
        drawing._Candidates, "count", lambda self, b: sizes.append(collect(self, b)) or sizes[-1]
    )
    rows.drawn()
    assert 0 < sum(len(found.hashes) for found in sizes) <= drawing.FEW * MOST
    assert rows.passes < 9

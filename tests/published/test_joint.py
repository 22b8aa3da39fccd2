import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import Raw
from rpte.kernels.published import popcount
from rpte.published.joint import JointCounts


def table_of(weights, seed, n):
    rng = np.random.default_rng(seed)
    weight = {
        "ones": np.ones(n),
        "small": rng.integers(1, 6, n).astype(float),
        "large": rng.integers(1, 40, n).astype(float),
        "fractions": rng.random(n) + 0.5,
    }[weights]
    x = rng.normal(size=n)
    return Raw({"x": x}, (rng.random(n) < 0.4).astype(float), weight).table()


def naive(table, codes, sizes, first, other, width):
    out = np.zeros((sizes[first], width, 2))
    for a in range(sizes[first]):
        for b in range(sizes[other]):
            rows = (codes[first] == a) & (codes[other] == b)
            out[a, b] = table.weight[rows].sum(), (table.weight * table.y)[rows].sum()
    return out


@given(
    st.integers(0, 1000),
    st.integers(1, 200),
    st.sampled_from(["ones", "small", "large", "fractions"]),
)
@examples(40)
def test_counts_equal_those_of_a_loop(seed, n, weights):
    table = table_of(weights, seed, n)
    rng = np.random.default_rng(seed + 1)
    sizes = [3, 1, 5, 4]
    codes = np.array([rng.integers(0, size + 2, table.n_rows) for size in sizes], np.int32)
    counts = JointCounts(table, codes, sizes)
    for first in range(3):
        others = np.arange(first + 1, 4)
        found = counts.beside(first, others)
        for cells, other in zip(found, others, strict=True):
            expected = naive(table, codes, sizes, first, other, found.shape[2])
            if weights == "fractions":
                np.testing.assert_allclose(cells, expected, rtol=1e-12)
            else:
                assert np.array_equal(cells, expected)


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0])
def test_ones_of_a_word(word):
    assert popcount(np.uint64(word)) == bin(word).count("1")

"""Orders of rows, where values and bins of like weight begin, and bins of rows, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.kernels.codes import (
    assign_bins,
    key_range,
    pack_rows,
    quantile_starts,
    sorted_numbers,
    stable_order,
    unpack_rows,
)

SEEDS = st.integers(0, 10_000)


def chosen(kernel, compiled):
    return kernel if compiled else getattr(kernel, "__wrapped__", kernel)


def spread_out(rng, n, how):
    """Return values of one size, of very different sizes, a few, or as large as can be."""
    if how == "equal":
        return rng.normal(size=n)
    if how == "close":  # their leading bits are the same
        return 1.0 + rng.integers(0, 9, n) * 2.0**-52
    if how == "tiny":
        return rng.integers(-2, 3, n) * 5e-324
    return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-308.2, 308.2, n)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("how", ["equal", "close", "tiny", "wide"])
@examples(20)
@given(SEEDS, st.integers(1, 60), st.sampled_from([0, 3, 20]))
def test_rows_are_put_in_order_and_values_begin_once(compiled, how, seed, n, dropped):
    rng = np.random.default_rng(seed)
    x = spread_out(rng, n, how) + 0.0
    x[rng.random(n) < 0.2] = np.nan
    words, present = x.view(np.uint64), x[~np.isnan(x)]
    count, least, most = chosen(key_range, compiled)(x, words)
    assert count == len(present)
    if not count:
        return
    bits, packed = n.bit_length(), np.empty(n, np.uint64)
    dropped = max(dropped, (int(most) - int(least)).bit_length() + bits - 64)
    chosen(pack_rows, compiled)(x, words, np.uint64(least), dropped, bits, packed)
    packed.sort()
    order, first = packed[:count].view(np.int64), np.empty(count, np.int64)
    values = chosen(unpack_rows, compiled)(packed[:count], x, bits, order, first)
    first = first[:values]
    assert sorted(order.tolist()) == np.flatnonzero(~np.isnan(x)).tolist()
    assert x[order].tolist() == np.sort(present).tolist()
    assert first.tolist() == np.unique(np.sort(present), return_index=True)[1].tolist()


@pytest.mark.parametrize("compiled", [True, False])
@examples(40)
@given(SEEDS, st.integers(2, 80), st.integers(1, 9), st.booleans())
def test_bins_end_where_the_next_share_of_the_weight_begins(compiled, seed, n, most, plain):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, n) if plain else rng.uniform(0.1, 3.0, n)
    before = np.cumsum(counts) - counts
    first = before.copy() if plain else np.cumsum(rng.integers(1, 4, n))
    begins = first.copy()
    weight = begins if plain else before
    bins = chosen(quantile_starts, compiled)(weight, float(counts.sum()), most, begins)
    share = np.floor(before / counts.sum() * most)
    expected = np.unique(share, return_index=True)[1]
    assert bins == len(expected) <= most
    assert begins[:bins].tolist() == first[expected].tolist()


@pytest.mark.parametrize("compiled", [True, False])
@examples(20)
@given(SEEDS, st.integers(1, 60))
def test_rows_of_a_bin_have_its_number(compiled, seed, n):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n + 5)[:n]
    first = np.unique([0, *rng.integers(0, n, 4)])
    out = np.full(n + 5, 77, np.uint16)
    chosen(assign_bins, compiled)(order, first, out)
    number = np.searchsorted(first, np.arange(n), side="right") - 1
    assert out[order].tolist() == number.tolist()
    assert (np.delete(out, order) == 77).all()


@pytest.mark.parametrize("compiled", [True, False])
@examples(50)
@given(st.lists(st.sampled_from([-np.inf, -2.5, -0.0, 0.0, 1e-300, 1.0, 3.0, np.inf]), max_size=40))
def test_the_smallest_comes_first_and_equal_ones_keep_their_places(compiled, values):
    run = stable_order if compiled else stable_order.__wrapped__
    values = np.array(values, float)
    assert run(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_many_values():
    values = np.random.default_rng(0).integers(0, 500, 3001).astype(float)
    assert (stable_order(values) == np.argsort(values, kind="stable")).all()


@pytest.mark.parametrize("how", ["equal", "close", "tiny", "wide"])
@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_numbers_are_sorted_by_their_bits(how, n):
    x = spread_out(np.random.default_rng(n), n, how) + 0.0
    assert (sorted_numbers(x.copy()) == np.sort(x)).all()

"""Gains of pairs: the kernel against the same steps written with numpy, and what chance gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.kernels.pair_cells import ROUNDS, pair_gains

RULE = np.array([1.0, 2.0, 0.7])  # ridge, least curvature of a leaf, factor on leaf values


def made(seed, n=160, scores=1, sizes=(4, 3, 5), n_folds=3, strength=1.0):
    """Return codes, their numbers, folds, and derivatives with an interaction of 0 and 1."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.uint8)
    curvature = rng.uniform(0.1, 0.3, (scores, n))
    parity = np.where((codes[0] > 1) ^ (codes[1] > 0), 1.0, -1.0)
    gradient = rng.normal(size=(scores, n)) * np.sqrt(curvature) + strength * curvature * parity
    folds = rng.integers(0, n_folds, n), n_folds
    return codes, np.array(sizes), folds, (gradient, curvature)


def gains(function, given, pairs, draws=0, place=0):
    out = np.empty((len(pairs), 1 + draws))
    with np.errstate(over="ignore"):  # the generator's products wrap around
        function(*given, RULE, np.array(pairs, np.intp), draws, place, out)
    return out


def gain_by_numpy(given, pair):
    """Return the held-out gain of a pair: main effects, two levels of cuts, leaf values."""
    codes, sizes, (folds, n_folds), (gradient, curvature) = given
    a, b = codes[pair[0]], codes[pair[1]]
    shape = (len(gradient), n_folds, sizes[pair[0]], sizes[pair[1]])
    g, h = np.zeros(shape), np.zeros(shape)
    np.add.at(g, (slice(None), folds, a, b), gradient)
    np.add.at(h, (slice(None), folds, a, b), curvature)
    return sum(
        held_out_gain(g.sum(1) - g[:, f], h.sum(1) - h[:, f], g[:, f], h[:, f])
        for f in range(n_folds)
    )


def held_out_gain(g, h, held_g, held_h):
    main = np.stack([main_effects(one, two) for one, two in zip(g, h, strict=True)])
    g, held_g = g - h * main, held_g - held_h * main
    plain, turned = grown(g, h), grown(g.swapaxes(1, 2), h.swapaxes(1, 2))
    leaves = turned[1].T if turned[0] > plain[0] else plain[1]
    found = 0.0
    for leaf in np.unique(leaves):
        G, H, held_G, held_H = (v[:, leaves == leaf].sum(1) for v in (g, h, held_g, held_h))
        value = RULE[2] * G / (H + RULE[0])
        found += (held_G * value - 0.5 * held_H * value**2).sum()
    return found


def main_effects(g, h):
    row, column = np.zeros(len(g)), np.zeros(g.shape[1])
    for _ in range(ROUNDS):
        row = (g - h * column).sum(1) / (h.sum(1) + RULE[0])
        column = (g - h * row[:, None]).sum(0) / (h.sum(0) + RULE[0])
    return row[:, None] + column


def grown(g, h):
    """Return the gain of the best tree that cuts the first variable first, and leaves of cells."""
    _, first, second = g.shape
    found = []
    for cut in range(first - 1):
        leaves, gain = np.zeros((first, second), int), 0.0
        for side, at in enumerate((slice(None, cut + 1), slice(cut + 1, None))):
            gain_of_side, after = best_cut(g[:, at].sum(1), h[:, at].sum(1))
            leaves[at] = 2 * side + (np.arange(second) >= after)
            gain += gain_of_side
        found.append((gain, leaves))
    return max(found, key=lambda each: each[0])


def best_cut(g, h):
    """Return the gain of a line of cells, cut where that gains most, and where it is cut."""

    def gain(at):
        return (g[:, at].sum(1) ** 2 / (h[:, at].sum(1) + RULE[0])).sum()

    best, size = (gain(slice(None)), g.shape[1]), g.shape[1]
    for cut in range(1, size):
        heavy = min(h[:, :cut].sum(), h[:, cut:].sum()) >= RULE[1] * len(g)
        found = gain(slice(None, cut)) + gain(slice(cut, None))
        if heavy and found > best[0]:
            best = found, cut
    return best


@examples(40)
@given(st.integers(0, 999), st.sampled_from([1, 2]), st.sampled_from([0.0, 1.0, 3.0]))
def test_gains_are_those_of_the_same_steps_in_numpy(seed, scores, strength):
    data = made(seed, scores=scores, strength=strength)
    pairs = [(0, 1), (0, 2), (2, 1)]
    found = gains(pair_gains, data, pairs)[:, 0]
    expected = [gain_by_numpy(data, pair) for pair in pairs]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_kernel_does_the_same_as_its_python_code():
    """Draws too: what is added up in doubles does not depend on the compiler."""
    data, pairs = made(1, n=60), [(0, 1), (1, 2)]
    plain = getattr(pair_gains, "__wrapped__", pair_gains)
    np.testing.assert_allclose(
        gains(pair_gains, data, pairs, draws=2), gains(plain, data, pairs, draws=2), rtol=1e-9
    )


def test_a_planted_pair_gains_more_than_chance_and_others_do_not():
    data, pairs = made(3, n=2_000), [(0, 1), (0, 2), (1, 2)]
    found = gains(pair_gains, data, pairs, draws=30)
    threshold = found[:, 1:].max()
    assert found[0, 0] > 5 * threshold
    assert (found[1:, 0] < threshold).all()


def test_what_is_drawn_depends_on_the_place_of_a_pair_and_on_nothing_else():
    """So pairs may be dealt out to tasks in any way."""
    data, pairs = made(5), [(0, 1), (0, 2), (1, 2)]
    together = gains(pair_gains, data, pairs, draws=4)
    apart = [gains(pair_gains, data, [pair], 4, place)[0] for place, pair in enumerate(pairs)]
    np.testing.assert_array_equal(together, apart)
    assert len(np.unique(together[:, 1:])) == 12


def test_chance_gains_what_gradients_of_true_scores_gain():
    """Draws are normal with the curvature as variance: so are gradients if the score is true."""
    real = [gains(pair_gains, made(seed, strength=0.0), [(0, 1)])[0, 0] for seed in range(300)]
    drawn = gains(pair_gains, made(0, strength=0.0), [(0, 1)], draws=300)[0, 1:]
    error = np.hypot(np.std(real), np.std(drawn)) / np.sqrt(300)
    assert abs(np.mean(real) - np.mean(drawn)) < 4 * error
    assert 0.7 < np.quantile(real, 0.95) / np.quantile(drawn, 0.95) < 1.4

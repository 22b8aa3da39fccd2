"""Models of given lengths: an oracle that tries every subset, and the rules that bind them."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from rpte.estimation.approximate import ApproximateDesign
from rpte.estimation.ownership import ComponentRule, Joining
from rpte.estimation.subsets import best_subsets, grown_subsets
from rpte.losses import BINOMIAL, SQUARED, Multinomial


def design_of(z, y, sign=None):
    q, n = z.shape
    sign = np.zeros(q, np.int8) if sign is None else np.array(sign, np.int8)
    rows, ones = np.arange(q), np.ones(n)
    return ApproximateDesign(z.astype(np.float32), rows, y, ones, np.ones(q), sign, BINOMIAL)


def drawn(n=4_000, q=8, seed=0, effects=(1.0, -0.8, 0.6)):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q, n))
    score = sum(e * z[j] for j, e in enumerate(effects))
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    return z, y


def null_fit(y, q):
    return np.concatenate([[np.log(y.mean() / (1 - y.mean()))], np.zeros(q)])


def free(q):
    return Joining([(f"x{j}",) for j in range(q)], "component", ComponentRule(6))


def deviance_of(z, y, which):
    """Return the deviance of the unpenalised fit of some terms, by Newton's method."""
    design = np.vstack([np.ones(z.shape[1]), z[list(which)]])
    theta = np.zeros(len(design))
    for _ in range(25):
        p = 1 / (1 + np.exp(-theta @ design))
        theta += np.linalg.solve((design * p * (1 - p)) @ design.T, design @ (y - p))
    s = theta @ design
    return 2 * np.logaddexp(0, np.where(y == 1, -s, s)).mean()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_best_subset_of_all(size):
    z, y = drawn()
    found = best_subsets(design_of(z, y), null_fit(y, 8), np.ones(8, int), [free(8)], [size])[0]
    best = min(combinations(range(8), size), key=lambda which: deviance_of(z, y, which))
    assert tuple(found) == best


def test_a_term_that_costs_more_conditions_must_say_more():
    z, y = drawn()
    conditions = np.array([5, 1, 1, 1, 1, 1, 1, 1])
    one, two, all_three = best_subsets(
        design_of(z, y), null_fit(y, 8), conditions, [free(8)], [1, 2, 7]
    )
    assert (one.tolist(), two.tolist(), all_three.tolist()) == ([1], [1, 2], [0, 1, 2])


def test_repetitions_constants_and_noise_are_left_out():
    z, y = drawn(seed=1)
    z = np.vstack([z, 2 * z[0] + 1, np.ones(z.shape[1])])
    found = best_subsets(design_of(z, y), null_fit(y, 10), np.ones(10, int), [free(10)], [300])[0]
    assert {1, 2} <= set(found.tolist())
    assert len({0, 8} & set(found.tolist())) == 1
    assert 9 not in found


def test_a_term_whose_values_hang_on_a_few_rows_is_left_out():
    rng = np.random.default_rng(3)
    z, y = drawn(q=3)
    wild = np.zeros(z.shape[1])
    wild[:10] = rng.normal(size=10) + 100.0
    y[:10] = 1.0
    tests = design_of(np.vstack([z, wild]), y)
    found = best_subsets(tests, null_fit(y, 4), np.ones(4, int), [free(4)], [4])[0]
    assert 3 not in found


def test_signs_that_are_not_allowed_are_not_taken():
    z, y = drawn()
    design = design_of(z, y, sign=[-1, -1, 1, 0, 0, 0, 0, 0])
    found = best_subsets(design, null_fit(y, 8), np.ones(8, int), [free(8)], [3])[0]
    assert 0 not in found
    assert {1, 2} <= set(found.tolist())


def test_components_stay_as_small_as_the_rule_says():
    z, y = drawn(effects=(1.0, 0.9, 0.8))
    sources = [("a", "b"), ("b", "c"), ("c", "d"), *[(f"x{j}",) for j in range(5)]]

    def taken(policy, largest):
        joining = Joining(sources, policy, ComponentRule(largest))
        conditions = np.array([2, 2, 2, 1, 1, 1, 1, 1])
        found = best_subsets(design_of(z, y), null_fit(y, 8), conditions, [joining], [6])[0]
        return {0, 1, 2} & set(found.tolist())

    assert taken("component", 4) == {0, 1, 2}
    assert taken("component", 3) == {0, 1}
    assert taken("component", 2) == {0, 2}
    assert taken("paper", 2) == {0, 1, 2}


def test_of_several_rules_the_one_that_gains_most_decides():
    """Greedily the first term shuts out two others; joined from the start, these come in."""
    z, y = drawn(effects=(1.0, 0.9, 0.8))
    sources = [("a", "c"), ("a", "b"), ("c", "d"), *[(f"x{j}",) for j in range(5)]]
    rule, conditions = ComponentRule(2), np.array([2, 2, 2, 1, 1, 1, 1, 1])

    def taken(*joinings):
        found = best_subsets(design_of(z, y), null_fit(y, 8), conditions, joinings, [4])[0]
        return found.tolist()

    def greedy():
        return Joining(sources, "component", rule)

    def together():
        return Joining(sources, "component", rule, [("a", "b"), ("c", "d")])

    assert 0 in taken(greedy())
    assert taken(together()) == [1, 2]
    assert taken(greedy(), together()) == [1, 2]


def test_around_a_good_fit_it_finds_what_is_said_beside_it():
    """The slopes are those at no terms: a term of the fit is taken like any other."""
    z, y = drawn()
    from_null = best_subsets(design_of(z, y), null_fit(y, 8), np.ones(8, int), [free(8)], [3])[0]
    fit = np.array([0.0, 0.9, -0.7, 0.5, 0, 0, 0, 0, 0])
    around = best_subsets(design_of(z, y), fit, np.ones(8, int), [free(8)], [3])[0]
    assert around.tolist() == from_null.tolist() == [0, 1, 2]


def test_of_numbers_a_term_that_others_replace_is_dropped_again():
    """The sum of two terms is taken first; both together say all that it does, and more."""
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, 4_000))
    z = np.array([a, b, a + b + 0.3 * noise])
    y = a + b + 0.05 * rng.normal(size=4_000)
    design, fit = replace(design_of(z, y), loss=SQUARED), np.array([y.mean(), 0.0, 0.0, 0.0])
    one, two = best_subsets(design, fit, np.ones(3, int), [free(3)], [1, 2])
    assert one.tolist() == [2]
    assert two.tolist() == [0, 1]


def of_classes(n=3_000, q=8, seed=0):
    """Return a design of three classes that the first three terms tell apart."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q, n))
    score = np.array([1.2 * z[0], 0.9 * z[1], 0.7 * z[2]])
    y = np.argmax(score + rng.gumbel(size=(3, n)), axis=0).astype(float)
    given = np.arange(q), y, np.ones(n), np.ones(q), np.zeros(q, np.int8), Multinomial(3)
    return ApproximateDesign(z.astype(np.float32), *given)


def test_subsets_of_several_classes_grow_within_their_conditions():
    conditions = np.array([1, 1, 1, 2, 2, 2, 3, 3])
    sizes = [1, 2, 3, 5, 9, 100]
    found = grown_subsets(of_classes(), conditions, free(8), sizes)
    assert found[0].tolist() == [0]
    assert found[2].tolist() == [0, 1, 2]
    for size, terms in zip(sizes, found, strict=True):
        assert conditions[terms].sum() <= size
        assert (np.diff(terms) > 0).all()
    for small, large in pairwise(found):
        assert set(small.tolist()) <= set(large.tolist())


def test_subsets_of_several_classes_keep_to_ownership():
    names = [("a",), ("b",), ("a", "b"), ("a", "c"), ("b", "c"), ("d",), ("a", "d"), ("e",)]
    design = of_classes(seed=2)
    joining = Joining(names, "component", ComponentRule(1))
    for terms in grown_subsets(design, np.ones(8, int), joining, [2, 4, 8]):
        assert all(len(names[j]) == 1 for j in terms)
    wide = grown_subsets(design, np.ones(8, int), free(8), [3])[0]
    assert wide.tolist() == [0, 1, 2]

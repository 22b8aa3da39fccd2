"""Each ownership policy against its rule in words, on random source sets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpte.estimation.ownership import ComponentRule, Components, admit, components

NAMES = "abcdefgh"


@st.composite
def problems(draw):
    """Draw source-disjoint trees, columns with one or two sources and an order among them."""
    names = draw(st.permutations(NAMES))
    cuts = sorted(draw(st.sets(st.integers(1, 6), max_size=3)))
    trees = [tuple(sorted(names[a:b])) for a, b in zip([0, *cuts], cuts, strict=False)]
    sources = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True).map(tuple)
    columns = draw(st.lists(sources, max_size=14))
    raw = np.array([len(c) == 1 and draw(st.booleans()) for c in columns], bool)
    ranking = np.array(draw(st.permutations(range(len(columns)))), np.intp)
    return columns, raw, trees, ranking, draw(st.integers(1, 6))


def admitted(policy, problem):
    columns, raw, trees, ranking, largest = problem
    found = admit(policy, columns, raw, trees, ranking, ComponentRule(largest)).tolist()
    assert found == sorted(set(found))
    return found


@given(problems())
def test_paper_admits_every_column(problem):
    assert admitted("paper", problem) == list(range(len(problem[0])))


@given(problems())
def test_separate_admits_what_shares_no_source_with_a_tree(problem):
    columns, _, trees, *_ = problem
    free = [j for j, c in enumerate(columns) if not any(set(c) & set(t) for t in trees)]
    assert admitted("separate", problem) == free


@given(problems())
def test_strict_admits_greedily_one_owner_per_source(problem):
    columns, raw, trees, ranking, _ = problem

    def agree(i, j):
        one_group = raw[i] and raw[j] and columns[i] == columns[j]
        return one_group or not set(columns[i]) & set(columns[j])

    found = admitted("strict", problem)
    assert all(agree(i, j) for i, j in combinations(found, 2))
    expected = []
    for j in ranking:
        free = not any(set(columns[j]) & set(t) for t in trees)
        if free and all(agree(i, j) for i in expected):
            expected.append(int(j))
    assert found == sorted(expected)


@given(problems())
def test_component_admits_greedily_within_its_limits(problem):
    columns, _, trees, ranking, largest = problem
    chosen = [j for j, c in enumerate(columns) if len(c) == 1]
    for j in ranking:
        if len(columns[j]) == 2:
            parts = parts_of([*trees, *(columns[i] for i in chosen)])
            touched = [p for p in parts if p & set(columns[j])]
            joined = set(columns[j]).union(*touched)
            inside_one = any(set(columns[j]) <= p for p in parts)
            n_trees = sum(set(t) <= joined for t in trees)
            if n_trees <= 1 and (inside_one or len(joined) <= largest):
                chosen.append(int(j))
    assert admitted("component", problem) == sorted(chosen)


@given(problems())
def test_components_hold_one_tree_and_stay_small(problem):
    columns, _, trees, _, largest = problem
    found = admitted("component", problem)
    one_source = [j for j, c in enumerate(columns) if len(c) == 1]
    assert set(one_source) <= set(found)
    for part in parts_of([*trees, *(columns[j] for j in found)]):
        assert sum(set(t) <= part for t in trees) <= 1
        widest_tree = max((len(t) for t in trees if set(t) <= part), default=0)
        assert len(part) <= max(largest, widest_tree, 1)


@given(st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple), max_size=8))
def test_components_are_the_connected_parts(parts):
    groups = components(parts)
    assert sorted(i for group in groups for i in group) == list(range(len(parts)))
    assert groups == sorted(sorted(group) for group in groups)
    expected = parts_of(parts)
    found = [set().union(*(parts[i] for i in group)) for group in groups]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def parts_of(groups):
    """Merge overlapping sets until none overlap."""
    parts = [set(group) for group in groups]
    merging = True
    while merging:
        merging = False
        for a, b in combinations(range(len(parts)), 2):
            if parts[a] & parts[b]:
                parts[a] |= parts.pop(b)
                merging = True
                break
    return parts


@pytest.mark.parametrize("policy", ["paper", "separate", "strict", "component"])
def test_nothing_to_admit(policy):
    empty = np.zeros(0, np.intp)
    assert admit(policy, [], empty.astype(bool), [("a",)], empty, ComponentRule(6)).tolist() == []


def test_long_chains_are_joined():
    joined = Components()
    for i in range(3000):
        joined.join((f"v{i:04}", f"v{i + 1:04}"))
    assert joined.part("v0000") is joined.part("v3000")
    assert joined.allows(("v0000", "v3000"), ComponentRule(1))
    assert not joined.allows(("v0000", "other"), ComponentRule(3001))
    assert joined.allows(("v0000", "other"), ComponentRule(3002))
    backwards = Components()
    for i in reversed(range(3000)):
        backwards.join((f"v{i:04}", f"v{i + 1:04}"))
    assert backwards.part("v3000") is backwards.part("v0000")

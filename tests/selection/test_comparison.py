"""What a condition costs, and which evaluations win."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.selection.comparison import Comparison, Evaluation, Price


def evaluation(miu, deviance, n_trees=0, l1=0.1):
    return Evaluation(CandidatePenalty(Candidate("all", n_trees), 1.0, l1), miu, deviance, 0.01)


POINTS = st.lists(
    st.builds(evaluation, st.integers(0, 40), st.floats(0.1, 1.0), st.integers(0, 3)), max_size=20
)
BASE = evaluation(0, 1.0)


@examples(50)
@given(st.integers(1, 10**7), st.integers(0, 500))
def test_the_price_grows_with_conditions_and_falls_with_cases(cases, conditions):
    price, more = Price.at(0.002, cases), Price.at(0.002, 4 * cases)
    assert price.of(conditions) < price.of(conditions + 1)
    if conditions <= price.log_from:
        assert more.of(conditions) <= price.of(conditions)
    assert price.of(conditions) <= price.per_condition * conditions * (1 + 1e-12)


def test_the_price_is_continuous_where_it_turns_to_the_logarithm():
    price = Price(0.01, 20)
    assert price.of(20) == pytest.approx(0.2)
    assert price.of(40) == pytest.approx(0.2 * (1 + math.log(2)))


@examples(100)
@given(POINTS, st.integers(0, 40), st.floats(0.0, 0.05))
def test_the_best_within_a_budget_has_the_least_cost(points, most, each):
    compared = Comparison((BASE, *points), Price(each))
    ranked = compared.ranked(most)
    within = [e for e in compared.evaluations if e.miu <= most]
    if compared.exceeds(most):  # the budget says how many may be read: conditions have no price
        costs, least = [e.deviance for e in ranked], min(e.deviance for e in within)
    else:
        costs, least = compared.costs(ranked), min(compared.costs(within))
    assert all(e.miu <= most for e in ranked)
    assert [round(c, 12) for c in costs] == sorted(round(c, 12) for c in costs)
    assert round(costs[0], 12) == round(least, 12)


def test_short_models_compete_only_where_the_budget_binds():
    short = evaluation(1, 0.5)
    compared = Comparison((BASE, evaluation(5, 0.6)), Price(), short=(short,))
    assert short not in compared.ranked(None)
    assert short not in compared.ranked(5)
    assert compared.ranked(2)[0] is short


@examples(100)
@given(POINTS)
def test_along_the_frontier_more_conditions_explain_more(points):
    compared = Comparison((BASE, *points))
    found = compared.frontier((0, 1, 2, 3, 5, 8, 12, 20, 30))
    assert [e.miu for e in found] == sorted({e.miu for e in found})
    deviances = [round(e.deviance, 12) for e in found]
    assert deviances == sorted(set(deviances), reverse=True)
    assert deviances[-1] == round(min(e.deviance for e in compared.evaluations), 12)

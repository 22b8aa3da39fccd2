"""Rounds of products: against what the first is compared, when they end, and what is kept."""

from types import SimpleNamespace

import numpy as np
import pytest

from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.losses import SQUARED
from rpte.rows import scale
from rpte.selection import ladder
from rpte.selection.comparison import Evaluation, Price
from rpte.selection.ladder import Form, LadderPlan
from rpte.selection.search import Search
from rpte.structure.groups import Interactions

BLOCKS = np.array([-0.002, 0.001, 0.002, -0.001, 0.0])  # by which losses differ, about their mean


class ScriptedSearch:
    """What rounds of products read of a search, with losses that are given."""

    costs, best, least_cost, mean = Search.costs, Search.best, Search.least_cost, Search.mean
    weights, independent, price = np.ones(5), 5, Price(of_rest=1.0)

    def __init__(self, cases: int) -> None:
        y = np.arange(cases, dtype=float)
        table = SimpleNamespace(loss=SQUARED, y=y, n_rows=cases, cases_of=lambda: np.ones(cases))
        self.learner = SimpleNamespace(table=table)
        self.evaluations: list[Evaluation] = []
        self.losses: dict[CandidatePenalty, np.ndarray] = {}

    def add(self, deviance: float) -> list[Evaluation]:
        """Evaluate one more model, with this deviance."""
        number = len(self.losses)
        penalty = CandidatePenalty(Candidate("all", form=number), 1.0, 0.1)
        self.losses[penalty] = deviance + BLOCKS * (1 + number % 3)
        self.evaluations.append(Evaluation(penalty, number, deviance, 0.001))
        return self.evaluations[-1:]


def kept_rounds(monkeypatch, rounds, cases=2_000, tree=0.277):
    """Return how many rounds are tried, and the deviances that are kept of them."""
    search = ScriptedSearch(cases)
    null, alone, _ = search.add(1.0), search.add(0.30), search.add(tree)
    plan = LadderPlan(null[0].penalty, Interactions(), 0.0, (None,), {}, starts=[null[0].penalty])
    tried = []

    def compare(search, plan, form):
        assert form == Form((), len(tried) + 1)
        assert len(plan.starts) == form.rounds  # each looks at what the one before leaves
        tried.append(form)
        return search.add(rounds[len(tried) - 1])

    monkeypatch.setattr(ladder, "_compare_form", compare)
    ladder._compare_products(search, plan, [*null, *alone])
    return len(tried), [e.deviance for e in search.evaluations[3:]]


def test_of_many_rows_the_first_round_has_to_beat_a_tree(monkeypatch):
    monkeypatch.setattr(scale, "LONG_ABOVE", 1_999)
    assert kept_rounds(monkeypatch, [0.28, 0.20, 0.21]) == (1, [])


def test_a_first_round_behind_a_tree_may_lead_to_a_better_one(monkeypatch):
    assert kept_rounds(monkeypatch, [0.285, 0.258, 0.25, 0.26]) == (4, [0.285, 0.258, 0.25])


def test_rounds_that_end_behind_a_tree_are_dropped(monkeypatch):
    assert kept_rounds(monkeypatch, [0.285, 0.276, 0.272, 0.28]) == (4, [])


def test_a_first_round_no_better_than_shapes_is_the_last(monkeypatch):
    assert kept_rounds(monkeypatch, [0.295, 0.2]) == (1, [])


@pytest.mark.parametrize(("first", "tried"), [(0.285, 1), (0.25, 2)])
def test_of_few_cases_the_first_round_is_better_than_all(monkeypatch, first, tried):
    few = scale.LENGTHS_FROM_CASES - 1
    assert kept_rounds(monkeypatch, [first, 0.29], few)[0] == tried

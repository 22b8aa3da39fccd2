"""The search: candidates that are dropped, and paths on the first of many rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.estimation.candidate import Candidate
from rpte.losses import SQUARED
from rpte.rows import scale
from rpte.selection.search import Search
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.utils.progress import Watch
from searches import search_of

MIXED = mixed_case(150)
SINGLES = (Candidate("values"), Candidate("curves"), Candidate("steps"))


class TestBeaten:
    """A candidate that is clearly worse than the best one is not tried with the next L1 ratio."""

    def test_a_candidate_may_win_if_it_is_not_beaten(self, monkeypatch):
        search = search_of(MIXED, audit_price=0.0)
        assert len(search.folds) == scale.FOLDS
        monkeypatch.setattr(scale, "BEATEN", -np.inf)
        assert search.compare(SINGLES[0], 1.0)  # the first one never is
        assert not search.compare(SINGLES[1], 1.0)
        monkeypatch.setattr(scale, "BEATEN", np.inf)
        assert search.compare(SINGLES[2], 1.0)
        assert list(search.paths) == [(candidate, 1.0) for candidate in SINGLES]
        assert {p.penalty.candidate for p in search.evaluations[1:]} == set(SINGLES)
        assert search.complete == search.evaluations
        assert all(evaluation.penalty in search.fits for evaluation in search.evaluations)

    def test_what_adds_to_a_candidate_that_was_not_compared_is_not_either(self):
        search = search_of(MIXED)
        search.compare(SINGLES[0], 1.0)
        known = len(search.evaluations)
        assert not search.compare(Candidate("curves", 1, 0), 1.0, SINGLES[1])
        assert len(search.evaluations) == known

    def test_a_shape_family_that_cannot_win_is_not_tried_with_more_ridge(self, monkeypatch):
        monkeypatch.setattr(scale, "BEATEN", -np.inf)
        tried, honest = [], Search.compare

        def watched(search, candidate, l1_ratio, base=None):
            tried.append((candidate.shape_family, l1_ratio))
            return honest(search, candidate, l1_ratio, base)

        monkeypatch.setattr(Search, "compare", watched)
        RPTEClassifier(shapes="free", max_trees=0, pattern_order=1).fit(MIXED.X, MIXED.y)
        first, *others = dict.fromkeys(shape_family for shape_family, _ in tried)
        assert tried[:2] == [(first, 1.0), (first, 0.15)]
        assert others
        assert tried[2:] == [(shape_family, 1.0) for shape_family in others]

    @pytest.mark.parametrize("shapes", ["one", "free"])
    def test_labels_by_chance_drop_every_candidate_but_the_first(self, shapes):
        """Where the base rate is best there still is a way to set out from."""
        rng = np.random.default_rng(0)
        y = rng.permutation(MIXED.y)
        model = RPTEClassifier(shapes=shapes, max_trees=1, budget=20).fit(MIXED.X, y)
        assert all(check.holds for check in model.verify())


class TestFirstRows:
    """Shape families are compared on the first of many rows, and the best one again on all."""

    def test_the_best_family_is_compared_again_on_all_rows(self):
        search = search_of(MIXED, audit_price=0.0)
        search.compare_base_rate()
        search.first_rows = 60
        for candidate in SINGLES:
            search.compare(candidate, 1.0)
        best, screened = search.best(search.complete).penalty, list(search.evaluations)
        rows = search.reference_fold.train.n_rows
        assert search._path(search.reference_fold, SINGLES[0], 1.0).design.y.size == 60 < rows
        search.compare_again()
        assert search.screened == screened
        assert search.evaluations[0] == screened[0]  # the base rate
        assert {e.penalty.candidate for e in search.evaluations[1:]} == {best.candidate}
        assert list(search.paths) == [(best.candidate, 1.0)]
        assert search._path(search.reference_fold, SINGLES[0], 1.0).design.y.size == rows
        alone = search_of(MIXED, audit_price=0.0)
        alone.compare(best.candidate, 1.0)
        known = {e.penalty: e.deviance for e in alone.evaluations}
        for evaluation in search.evaluations[1:]:
            at = min(known, key=lambda p: abs(np.log(p.l1 / evaluation.penalty.l1)))
            assert abs(known[at] - evaluation.deviance) < 0.02

    def test_when_time_is_up_what_the_first_rows_say_counts(self):
        search = search_of(MIXED, audit_price=0.0)
        search.compare_base_rate()
        search.first_rows = 60
        search.compare(SINGLES[0], 1.0)
        known = list(search.evaluations)
        search.watch = Watch(max_seconds=0.0)
        search.compare_again()
        assert search.evaluations == known

    def test_a_long_table_is_searched_that_way(self, monkeypatch):
        seen = []
        monkeypatch.setattr(scale, "FAMILY_ROWS", 30)
        monkeypatch.setattr(scale, "LENGTHS_ALONE_FROM_CASES", 1)
        again = Search.compare_again
        monkeypatch.setattr(
            Search, "compare_again", lambda s: (seen.append(s.first_rows), again(s))
        )
        model = MIXED.fit(RPTEClassifier(cv=2, l1_ratio=1.0, budget=40)).model_
        assert seen == [30]
        assert all(check.holds for check in model.verify(MIXED.X, MIXED.y, MIXED.weight))


def test_however_heavy_rows_are_few_of_them_are_not_enough_for_a_path():
    """Forty rows of 100,000 cases are forty rows: paths see all of them."""
    y = np.arange(40.0)
    few = make_table(read_training({"x": y}), y, np.full(40, 2500.0), loss=SQUARED)
    rows = {"weight": np.ones(100_000), "hashes": np.arange(100_000, dtype=np.uint64)}
    long = replace(few, y=np.arange(100_000.0), cases=None, **rows)

    def enough(table):
        return Search.enough_rows.fget(SimpleNamespace(learner=SimpleNamespace(table=table)))

    assert enough(few) is None
    assert enough(long) == scale.FIRST_ROWS
    assert enough(replace(long, weight=np.full(100_000, 7.0))) == scale.FIRST_ROWS
    assert (
        enough(replace(long, hashes=long.hashes // 1000)) is None
    )  # the first are of few contents

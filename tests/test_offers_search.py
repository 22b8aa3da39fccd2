"""The search: offers that are left after the first folds."""

import numpy as np
import pytest

import rpte.search as module
from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.comparison import Comparison
from rpte.estimation.terms import Offer
from rpte.progress import Watch
from searches import search_of

MIXED = mixed_case(150)
SINGLES = (Offer("values"), Offer("curves"), Offer("steps"))


class TestRepeats:
    """Below 1,000 rows the folds are dealt out three times; what is beaten is left after one."""

    def test_only_what_is_not_beaten_is_tried_on_the_repeats(self, monkeypatch):
        search = search_of(MIXED, audit_price=0.0)
        assert len(search.parts) == 15
        monkeypatch.setattr(module, "BEATEN", -np.inf)
        for offer in SINGLES[:2]:
            search.compare(offer, 1.0)
        assert list(search.paths) == [(SINGLES[0], 1.0)]  # the first one is never left
        monkeypatch.setattr(module, "BEATEN", np.inf)
        search.compare(SINGLES[2], 1.0)
        assert list(search.paths) == [(SINGLES[0], 1.0), (SINGLES[2], 1.0)]
        assert {p.aim.offer for p in search.points} == {SINGLES[0], SINGLES[2]}
        assert search.complete == search.points
        assert all(point.aim in search.fits for point in search.points)

    def test_what_adds_to_an_offer_that_was_left_is_left(self, monkeypatch):
        search = search_of(MIXED)
        monkeypatch.setattr(module, "BEATEN", -np.inf)
        search.compare(SINGLES[0], 1.0)
        search.compare(SINGLES[1], 1.0)
        known = len(search.points)
        search.compare(Offer("curves", 1, 0), 1.0, SINGLES[1])
        assert len(search.points) == known

    def test_labels_by_chance_leave_every_offer_but_the_first(self):
        """Where the base rate is best there still is a way to set out from."""
        rng = np.random.default_rng(0)
        y = rng.permutation(MIXED.y)
        model = RPTEClassifier(max_trees=1, budget=20).fit(MIXED.X, y)
        assert all(check.holds for check in model.verify())

    def test_a_point_of_the_first_folds_is_set_beside_those_of_all(self, monkeypatch):
        """It is worse than the best point by what it is worse on the same folds."""
        monkeypatch.setattr(module, "BEATEN", np.inf)
        search = search_of(MIXED, audit_price=0.0)
        search.compare(SINGLES[0], 1.0)
        best = Comparison(tuple(search.complete), search.price).ranked(None)[0]
        weights = np.concatenate([part.weights for part in search.parts])
        first = search.losses[best.aim][:5]
        known, paths = len(search.points), dict(search.paths)
        is_over = (over for over in [False] * 4 + [True] * 20)
        with monkeypatch.context() as timed:
            timed.setattr(Watch, "is_over", lambda _: next(is_over))
            search.compare(SINGLES[2], 1.0)
        assert search.paths == paths
        unfinished = search.points[known:]
        assert len(unfinished) == 3
        search.compare(SINGLES[2], 1.0)
        again = search.points[known + 3 :]
        assert [p.aim for p in unfinished] == [p.aim for p in again[:3]]
        for point in unfinished:
            apart = np.average(search.losses[point.aim][:5] - first, weights=weights[:5])
            assert point.deviance == pytest.approx(best.deviance + apart)
        for point in (best, *again):
            mean = np.average(search.losses[point.aim], weights=weights)
            assert point.deviance == pytest.approx(mean)

    def test_without_repeats_nothing_is_left(self, monkeypatch):
        monkeypatch.setattr(module, "BEATEN", -np.inf)
        groups = np.arange(150) % 30
        search = search_of(MIXED, cv=3, groups=groups)
        for offer in SINGLES:
            search.compare(offer, 1.0)
        assert len(search.parts) == 3
        assert len(search.paths) == len(SINGLES)
        assert {p.aim for p in search.points} == set(search.losses)

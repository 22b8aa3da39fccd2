"""The search: terms as rows of memory that grow, and offers that are left after the first folds."""

import numpy as np
import pytest

import rpte.search as module
from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.comparison import Comparison, Price
from rpte.estimation.terms import Offer, choose_terms, make_design
from rpte.folds import make_validation
from rpte.progress import Watch
from rpte.selection import _search
from searches import table_of

MIXED = mixed_case(150)
SINGLES = (Offer("values"), Offer("curves"), Offer("steps"))


def search_of(cv=None, groups=None, **parameters):
    """Return a search whose parts are mined, its base rate compared."""
    validation = make_validation(cv, None, MIXED.y, groups)
    table, chosen = table_of(MIXED, validation, **{"max_trees": 2, "budget": 30, **parameters})
    price = Price.at(chosen.audit_price, table.n_rows)
    folds = validation.folds(table)
    search = _search(table, chosen, validation, folds, None, price, Watch())
    search.compare_base_rate()
    return search


class TestRows:
    def test_terms_are_found_where_they_were_put(self):
        """Vocabulary, products, trees, more products: each on its own and on held-out rows."""
        search = search_of(cv=3)
        search.compare(Offer("curves"), 1.0)
        search.start(search.complete[-1].aim)
        search.grow(2)
        best = search.complete[-1].aim
        search.look_for_products(best)
        for part in search.everyone:
            structure = part.structure
            offer = Offer("all", len(structure.trees), None)
            terms = choose_terms(part.train, structure, offer, search.settings.admission())
            assert len(terms.trees)
            assert terms.vocabulary.paired[terms.direct].any()
            rows = part.rows_of(terms)
            design = make_design(part.train, structure, terms)
            rng = np.random.default_rng(0)
            theta = rng.normal(size=design.n_terms)
            score = design.score(0.0, theta)
            np.testing.assert_allclose(theta @ part.own[rows], score, atol=1e-3)
            if part.valid is not None:
                codes = [tree.apply(part.valid.inputs) for tree in terms.trees]
                leaves = [
                    k == c
                    for t, c in zip(terms.trees, codes, strict=True)
                    for k in range(t.n_leaves)
                ]
                direct = structure.vocabulary.on(part.valid.inputs)[terms.direct]
                expected = np.vstack([*leaves, direct])
                np.testing.assert_allclose(part.held[rows], expected, atol=1e-5)


class TestRepeats:
    """Below 1,000 rows the folds are dealt out three times; what is beaten is left after one."""

    def test_only_what_is_not_beaten_is_tried_on_the_repeats(self, monkeypatch):
        search = search_of(audit_price=0.0)
        assert len(search.parts) == 15
        monkeypatch.setattr(module, "BEATEN", -np.inf)
        for offer in SINGLES[:2]:
            search.compare(offer, 1.0)
        assert list(search.paths) == [(SINGLES[0], 1.0)]  # the first one is never left
        monkeypatch.setattr(module, "BEATEN", np.inf)
        search.compare(SINGLES[2], 1.0)
        assert list(search.paths) == [(SINGLES[0], 1.0), (SINGLES[2], 1.0)]
        assert {p.aim.offer for p in search.points} == set(SINGLES)
        assert {p.aim.offer for p in search.complete} == {SINGLES[0], SINGLES[2]}
        assert all(point.aim in search.fits for point in search.points)

    def test_what_adds_to_an_offer_that_was_left_is_left(self, monkeypatch):
        search = search_of()
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
        search = search_of(audit_price=0.0)
        monkeypatch.setattr(module, "BEATEN", np.inf)
        search.compare(SINGLES[0], 1.0)
        best = Comparison(tuple(search.complete), search.price).ranked(None)[0]
        weights = np.concatenate([part.weights for part in search.parts])
        first = search.losses[best.aim][:5]
        whole = np.average(search.losses[best.aim], weights=weights)
        known, paths = len(search.points), dict(search.paths)
        monkeypatch.setattr(module, "BEATEN", -np.inf)
        search.compare(SINGLES[2], 1.0)
        assert search.paths == paths
        left = search.points[known:]
        monkeypatch.setattr(module, "BEATEN", np.inf)
        search.compare(SINGLES[2], 1.0)
        again = search.points[known + len(left) :]
        assert [p.aim for p in left] == [p.aim for p in again]
        for point in left:
            losses = search.losses[point.aim]
            apart = np.average(losses[:5] - first, weights=weights[:5])
            assert point.deviance == pytest.approx(whole + apart)
        for point in again:
            mean = np.average(search.losses[point.aim], weights=weights)
            assert point.deviance == pytest.approx(mean)

    def test_without_repeats_nothing_is_left(self, monkeypatch):
        monkeypatch.setattr(module, "BEATEN", -np.inf)
        groups = np.arange(150) % 30
        search = search_of(cv=3, groups=groups)
        for offer in SINGLES:
            search.compare(offer, 1.0)
        assert len(search.parts) == 3
        assert len(search.paths) == len(SINGLES)
        assert {p.aim for p in search.points} == set(search.losses)

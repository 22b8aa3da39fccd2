"""Inner validation: what is compared, what is chosen, and the frontier that is left."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

import rpte.folds as folds_module
import rpte.selection as module
from fit_tables import make_case, mixed_case
from rpte import InputError, Limits, RPTEClassifier
from rpte.estimation.terms import Offer
from rpte.folds import make_validation
from rpte.model.file import to_dict
from rpte.parameters import checked_parameters, settings_for
from rpte.selection import FRONTIER, Aim, Comparison, Point, select
from rpte.table.read import read_training
from rpte.table.table import make_table

SMALL = make_case(4, ("number", "few", "two"), 70, clear=True)
MIXED = mixed_case(150)
TABLES = {"small": SMALL, "mixed": MIXED}
EASY = {"cv": 2, "l1_ratio": 1.0, "budget": 40}  # few folds and paths, for speed


@cache
def fitted(name, **changes):
    return TABLES[name].fit(RPTEClassifier(**{**EASY, **changes}))


def table_of(case, validation, **parameters):
    inputs = read_training(case.X)
    chosen = settings_for(checked_parameters(RPTEClassifier(**parameters)), None, inputs.schema)
    y = (case.y == np.unique(case.y)[1]).astype(float)
    return make_table(inputs, y, case.weight, chosen.pooling, validation.part), chosen


def only_offer(monkeypatch, offer):
    """Let Stage 2 set out from one offer, whatever validation says."""
    monkeypatch.setattr(module, "_compare_first", lambda search, _: search.compare(offer, 1.0))
    monkeypatch.setattr(module, "_without_terms", lambda *_: Aim(offer, 1.0, 0.005))


class TestFolds:
    @pytest.mark.parametrize("vocabulary", ["shapes", "hug"])
    def test_what_is_learned_in_a_fold_does_not_see_its_held_out_labels(
        self, monkeypatch, vocabulary
    ):
        """The start of Stage 2 fixed, the labels of held-out rows turned: the same bits."""
        only_offer(monkeypatch, Offer("all", 0, None))
        monkeypatch.setattr(module, "_grid", lambda *_: np.array([0.005]))
        monkeypatch.setattr(module, "MANY_CASES", 0)
        honest = module._Search._trail
        half = np.arange(150) % 3 > 0
        validation = make_validation(
            [(np.flatnonzero(half), np.flatnonzero(~half))], None, half, None
        )
        given = {"vocabulary": vocabulary, "budget": 20, "max_trees": 3, "l1_ratio": 1.0}
        table, chosen = table_of(MIXED, validation, **given)
        held_out = validation.roles[0][table.part] == folds_module.TEST

        def learned(table):
            """Return what was fitted on the training rows, and on all rows."""
            seen = {len(table.y): [], int((~held_out).sum()): []}

            def watched(search, train, structure, offer, l1_ratio):
                trail = honest(search, train, structure, offer, l1_ratio)
                said = [trail.terms.vocabulary.columns[j].text for j in trail.terms.direct]

                def to(l1):
                    fit = trail.to(l1)
                    values = [fit.intercept, *fit.coefficients.tolist()]
                    seen[train.n_rows].append((offer, l1, said, trail.terms.trees, values))
                    return fit

                return replace(trail, to=to)

            monkeypatch.setattr(module._Search, "_trail", watched)
            select(table, chosen, validation, None)
            whole, part = seen.values()
            return whole, part

        whole, part = learned(table)
        turned = replace(table, y=np.where(held_out, 1.0 - table.y, table.y))
        other_whole, other_part = learned(turned)
        common = [(a, b) for a in part for b in other_part if a[:2] == b[:2]]
        assert len(common) >= 2
        assert any(offer.n_trees for (offer, *_), _ in common)
        assert all(a == b for a, b in common)
        assert whole != other_whole

    def test_groups_are_never_split(self, monkeypatch):
        seen = []
        honest = module._part

        def watched(table, fold, *given):
            seen.append((set(table.part[fold[0]]), set(table.part[fold[1]])))
            return honest(table, fold, *given)

        monkeypatch.setattr(module, "_part", watched)
        groups = np.arange(150) % 12
        validation = make_validation(3, None, MIXED.y, groups)
        table, chosen = table_of(MIXED, validation, vocabulary="original", max_trees=1)
        select(table, chosen, validation, None)
        assert len(seen) == 3
        assert all(train and test and not train & test for train, test in seen)
        assert set().union(*(test for _, test in seen)) == set(range(12))

    def test_the_validated_deviance_is_that_of_held_out_rows(self, monkeypatch):
        """One offer, one penalty, splits by hand: the mean over folds, weighted by their rows."""
        only_offer(monkeypatch, Offer("values"))
        monkeypatch.setattr(module, "_compare_further", lambda *_: None)
        monkeypatch.setattr(module, "_grid", lambda *_: np.array([0.02]))
        fold = np.arange(70) % 3
        splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
        validation = make_validation(splits, None, SMALL.y, None)
        table, chosen = table_of(SMALL, validation, max_trees=1)
        _, compared = select(table, chosen, validation, None)
        _, point = compared.points  # after the base rate
        losses, weights = [], []
        for train, test in splits:
            model = RPTEClassifier(
                vocabulary="original", pattern_order=1, max_trees=0, l1=0.02, min_samples_leaf=1
            ).fit(SMALL.X.iloc[train], SMALL.y[train], SMALL.weight[train])
            p = model.predict_proba(SMALL.X.iloc[test])
            losses.append(2 * log_loss(SMALL.y[test], p, sample_weight=SMALL.weight[test]))
            weights.append(SMALL.weight[test].sum())
        mean = np.average(losses, weights=weights)
        assert point.deviance == pytest.approx(mean, rel=0.02)
        spread = np.average((np.array(losses) - mean) ** 2, weights=weights)
        assert point.error == pytest.approx(np.sqrt(spread / 2), rel=0.1)


def points_of(rows):
    return tuple(
        Point(Aim(Offer("all", trees, 0), 1.0, l1), miu, deviance, 0.1)
        for miu, deviance, trees, l1 in rows
    )


ROWS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from(np.round(np.linspace(0.5, 1.4, 19), 2).tolist()),
        st.integers(0, 3),
        st.sampled_from([0.1, 0.2, 0.4]),
    ),
    min_size=1,
    max_size=40,
)
PRICES = st.sampled_from([0.0, 0.002, 0.01, 0.05])


class TestComparison:
    @settings(max_examples=150, deadline=None)
    @given(ROWS, PRICES, st.none() | st.integers(0, 30))
    def test_ranking_by_brute_force(self, rows, price, most):
        points = points_of(rows)
        compared = Comparison(points, price)
        explained = max(rows[0][1] - min(row[1] for row in rows), 0.0)

        def cost(p):
            return round(p.deviance + price * explained * p.miu, 12)

        def key(p):
            return cost(p), p.miu, p.aim.offer.n_trees, -p.aim.l1

        ranked = compared.ranked(most)
        within = [p for p in points if most is None or p.miu <= most]
        assert len(ranked) == len(within)
        assert {id(p) for p in ranked} == {id(p) for p in within}
        assert [key(p) for p in ranked] == sorted(map(key, within))
        assert all(compared.cost(p) == pytest.approx(cost(p), abs=1e-12) for p in points)

    @settings(max_examples=150, deadline=None)
    @given(ROWS)
    def test_the_frontier_by_brute_force(self, rows):
        points = points_of(rows)
        frontier = Comparison(points).frontier(12)

        def beaten(p):
            return any(
                q.miu <= p.miu and q.deviance <= p.deviance
                and (q.miu, q.deviance) != (p.miu, p.deviance)
                for q in points
            )  # fmt: skip

        best = sorted({(p.miu, p.deviance) for p in points if not beaten(p)})
        found = [(p.miu, p.deviance) for p in frontier]
        assert len(found) == min(len(best), FRONTIER)
        assert found == sorted(set(found))
        assert set(found) <= set(best)
        assert (found[0], found[-1]) == (best[0], best[-1])
        if len(best) <= FRONTIER:
            assert found == best

    def test_a_long_frontier_is_thinned_evenly(self):
        points = points_of([(miu, 1.4 - 0.01 * miu, 0, 0.1) for miu in range(56)])
        assert [p.miu for p in Comparison(points).frontier(12)] == list(range(0, 56, 5))

    @settings(max_examples=60, deadline=None)
    @given(ROWS)
    def test_a_higher_price_never_buys_more_conditions(self, rows):
        points = points_of(rows)
        prices = (0.0, 0.001, 0.01, 0.1, 1.0)
        chosen = [Comparison(points, price).ranked(None)[0] for price in prices]
        assert chosen[0].deviance == min(p.deviance for p in points)
        assert all(a.miu >= b.miu for a, b in pairwise(chosen))


class TestBudget:
    @pytest.mark.parametrize("name", TABLES)
    @pytest.mark.parametrize("most", [0, 1, 3, 10])
    def test_a_budget_is_kept_and_used_well(self, name, most):
        found = fitted(name, max_inspection_units=most, max_trees=2)
        assert found.audit().miu <= most
        assert all(check.holds for check in found.verify())
        free = fitted(name, max_trees=2).frontier_
        within = free[free["miu"] <= most]
        assert set(found.frontier_["miu"]) >= set(within["miu"])
        assert (most == 0) == (found.audit().miu == 0)

    @pytest.mark.parametrize("most", [0, 2])
    def test_a_budget_is_kept_where_validation_saw_a_sample(self, monkeypatch, most):
        """The penalty then shrinks, so that more terms enter than were counted."""
        monkeypatch.setattr(folds_module, "SMALL", 10)
        monkeypatch.setattr(folds_module, "LARGE", 100)
        monkeypatch.setattr(folds_module, "SAMPLE", 100)
        case = mixed_case(400)
        found = case.fit(RPTEClassifier(max_inspection_units=most, max_trees=1, l1_ratio=1.0))
        assert found.audit().miu <= most

    def test_without_reassignment_no_budget_can_be_kept(self):
        with pytest.raises(InputError, match="max_inspection_units=2 with reassign=False"):
            SMALL.fit(RPTEClassifier(reassign=False, max_inspection_units=2))

    @pytest.mark.parametrize("l1", ["4/n", 0.01])
    def test_a_given_penalty_leaves_nothing_to_choose(self, l1):
        with pytest.raises(InputError, match=f"max_inspection_units=5 with l1={l1!r}"):
            SMALL.fit(RPTEClassifier(max_inspection_units=5, l1=l1))

    def test_the_budget_is_kept_under_limits_and_policies(self):
        limits = Limits(monotone={"age": "increasing"}, exclude=["noise"])
        for ownership in ("strict", "component"):
            made = RPTEClassifier(
                **EASY, max_inspection_units=4, ownership=ownership, limits=limits, max_trees=1
            )
            assert MIXED.fit(made).audit().miu <= 4
            assert all(check.holds for check in made.verify(MIXED.X, MIXED.y, MIXED.weight))

    def test_the_price_is_that_of_the_settings(self):
        free = fitted("mixed", max_trees=2, audit_price=0.0)
        frontier = free.frontier_
        assert free.audit().miu == frontier["miu"].iloc[-1]
        chosen = free.model_.training["selection"]["chosen"]
        taken = frontier[(frontier["l1"] == chosen["l1"]) & (frontier["menu"] == chosen["menu"])]
        assert taken["deviance"].min() == frontier["deviance"].min()
        dear = fitted("mixed", max_trees=2, audit_price=0.2)
        assert dear.audit().miu < free.audit().miu
        assert dear.model_.training["selection"]["price"] == 0.2


class TestFrontier:
    @pytest.mark.parametrize("name", TABLES)
    def test_it_is_a_frontier_of_these_models(self, name):
        found = fitted(name, max_trees=2)
        frontier, models = found.frontier_, found.frontier_models_
        assert 2 <= len(frontier) == len(models) <= FRONTIER + 1
        assert (frontier["miu"].diff().dropna() > 0).all()
        assert (frontier["deviance"].diff().dropna() < 0).all()
        assert frontier["miu"].tolist() == [model.audit().miu for model in models]
        assert frontier["components"].tolist() == [len(model.components) for model in models]
        assert (frontier["error"] >= 0).all()
        for model, row in zip(models, frontier.to_dict("records"), strict=True):
            assert model.training["selection"]["frontier"] == row_list(frontier)
            chosen = model.training["selection"]["chosen"]
            assert {key: row[key] for key in chosen} == chosen
            assert model.training["objective"]["l1"] == row["l1"]

    @pytest.mark.parametrize("name", TABLES)
    def test_at_gives_the_best_model_within_a_load(self, name):
        found, case = fitted(name, max_trees=2), TABLES[name]
        frontier = found.frontier_
        before = to_dict(found.model_)
        for miu in (0, 1, 4, 9, 1000):
            there = found.at(miu=miu)
            assert there.audit().miu <= miu
            assert there.audit().miu == frontier["miu"][frontier["miu"] <= miu].max()
            checks = there.model_.verify(case.X, case.y, case.weight)
            assert all(check.holds for check in checks)
            assert there.get_params() == found.get_params()
            assert there.predict(case.X).shape == case.y.shape
        assert found.at(miu=10**6).model_ == found.frontier_models_[-1]
        assert to_dict(found.model_) == before
        assert any(model == found.model_ for model in found.frontier_models_)

    def test_at_needs_a_fit_a_frontier_and_enough_conditions(self):
        with pytest.raises(NotFittedError):
            RPTEClassifier().at(miu=3)
        with pytest.raises(InputError, match=r"miu=-1; the least on the frontier is 0"):
            fitted("small", max_trees=2).at(miu=-1)
        given = SMALL.fit(RPTEClassifier(l1=0.02))
        assert len(given.frontier_) == 0
        with pytest.raises(InputError, match=r"miu=3; there is no frontier"):
            given.at(miu=3)

    def test_the_same_table_gives_the_same_frontier(self):
        made = {**EASY, "max_trees": 2}
        first = [to_dict(model) for model in fitted("small", max_trees=2).frontier_models_]
        order = np.random.default_rng(0).permutation(len(SMALL.y))
        threads = SMALL.take(order).fit(RPTEClassifier(**made, n_jobs=2))
        assert [to_dict(model) for model in threads.frontier_models_] == first


def row_list(frontier):
    return [dict(row) for row in frontier.astype(object).to_dict("records")]


def test_the_null_deviance_is_that_of_the_base_rate():
    rng = np.random.default_rng(1)
    case = replace(SMALL, X=SMALL.X.assign(**{f"e{i}": rng.normal(size=70) for i in range(8)}))
    case = replace(case, y=rng.integers(0, 2, 70), weight=np.ones(70))
    made = RPTEClassifier(vocabulary="original", pattern_order=1, max_trees=0, l1_ratio=1.0)
    found = case.fit(made).model_.training["selection"]["null_deviance"]
    rate = case.y.mean()
    entropy = -2 * (rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    assert found == pytest.approx(entropy, abs=2e-3)

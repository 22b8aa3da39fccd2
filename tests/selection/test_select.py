"""Inner validation: what is compared, what is chosen, and the frontier that is left."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score

import rpte.fit.settings as settings_module
import rpte.rows.folds as folds_module
import rpte.selection.fold_state as fold_state
import rpte.selection.ladder as ladder
import rpte.selection.select as module
from effort import examples
from fit_tables import Case, make_case, mixed_case
from rpte import InputError, Limits, RPTEClassifier, RPTEWarning
from rpte.estimation.candidate import Candidate, CandidatePenalty
from rpte.estimation.design import Design
from rpte.estimation.one_shape import KINDS
from rpte.estimation.solver import solve
from rpte.fit.structure_learner import StructureLearner
from rpte.model.file import to_dict
from rpte.rows import scale
from rpte.rows.folds import Cases, Fold, make_validation
from rpte.rows.training_rows import MemoryRows
from rpte.selection.comparison import Comparison, Evaluation, Price
from rpte.selection.fold_shapes import ShapeChoice
from rpte.selection.ladder import compare_ladders
from rpte.selection.search import Search
from rpte.selection.select import select
from rpte.structure.groups import Interactions
from searches import search_of, table_of, watch_fits

SMALL = make_case(4, ("number", "few", "two"), 70, clear=True)
MIXED = mixed_case(150)
TABLES = {"small": SMALL, "mixed": MIXED}
EASY = {"cv": 2, "l1_ratio": 1.0, "budget": 40}  # few folds and paths, for speed


@cache
def fitted(name, **changes):
    return TABLES[name].fit(RPTEClassifier(**{**EASY, **changes}))


def only_candidate(monkeypatch, candidate, l1):
    """Let Stage 2 set out from one candidate at one penalty, whatever validation says."""
    chosen = Evaluation(CandidatePenalty(candidate, 1.0, l1), 0, 0.0, 0.0)
    monkeypatch.setattr(module, "_compare_first", lambda search, _: search.compare(candidate, 1.0))
    monkeypatch.setattr(Search, "_grid", lambda *_: np.array([l1]))
    monkeypatch.setattr(Comparison, "ranked", lambda *_: [chosen])


def fixed_shapes(search, _):
    """Give every variable the longest shape of the first kind that its fold has.

    How long that is may differ between folds, and on all rows it follows from all labels.
    """
    for shapes in (fold.shapes for fold in search.all_folds):
        for name in shapes.columns:
            sizes = {kind: len(shapes.shapes[name, kind]) for kind in KINDS}
            kind = next((k for k in KINDS[::-1] if sizes[k]), None)
            if kind is not None:
                shapes.choices[name] = ShapeChoice(kind, sizes[kind])


class TestFolds:
    @pytest.mark.parametrize("vocabulary", ["shapes", "hug"])
    @pytest.mark.parametrize("sample", [False, True])
    def test_what_is_learned_in_a_fold_does_not_see_its_held_out_labels(
        self, monkeypatch, vocabulary, sample
    ):
        """The start of Stage 2 fixed, the labels of held-out rows turned: the same bits."""
        only_candidate(
            monkeypatch, Candidate("all", 0, 0 if vocabulary == "shapes" else None), 0.005
        )
        monkeypatch.setattr(Search, "compare_base_rate", lambda *_: None)
        monkeypatch.setattr(scale, "CASES_FOR_SHAPES", 0)
        validation = make_validation(None, None, MIXED.y, None)
        given = {"vocabulary": vocabulary, "budget": 20, "max_trees": 3, "l1_ratio": 1.0}
        given["shapes"] = "free"
        table, chosen = table_of(MIXED, validation, **given)
        rows = np.arange(30 * sample, table.n_rows)  # with a sample, some rows are not looked at
        trained = (np.arange(table.n_rows) % 3 > 0) & np.isin(np.arange(table.n_rows), rows)
        train = np.flatnonzero(trained[rows])
        test = np.setdiff1d(np.arange(len(rows)), train)
        fold = Fold(*(Cases(side, np.ones(len(side), np.int64)) for side in (train, test)))
        taken = (lambda _, table: table.take(rows)) if sample else (lambda _, table: table)
        monkeypatch.setattr(folds_module.Validation, "sample", taken)
        if sample:
            monkeypatch.setattr(scale, "LONG_ABOVE", 0)
        monkeypatch.setattr(folds_module.Validation, "folds", lambda *_: [fold])
        turned = replace(table, y=np.where(trained, table.y, 1.0 - table.y))
        seen = watch_fits(monkeypatch)

        def learned(table):
            """Return what was fitted on the training rows, on all rows, and the structure."""
            seen.clear()
            found, _ = select(MemoryRows(table), chosen, validation)
            part = [fit for fit in seen if fit[0] == trained.sum()]
            return part, [fit for fit in seen if fit[0] == table.n_rows], found

        part, whole, found = learned(table)
        other_part, other_whole, other = learned(turned)
        common = [(a, b) for a in part for b in other_part if a[1:3] == b[1:3]]
        assert len(common) >= 2
        assert any(candidate.n_trees for (_, candidate, *_), _ in common)
        assert all(a == b for a, b in common)
        assert found.table.n_rows == (trained.sum() if sample else table.n_rows)
        columns = [f.structure.vocabulary.columns for f in (found, other)]
        assert (columns[0] == columns[1]) == sample  # a sample is all that is learned from
        assert (whole != other_whole) != sample

    def test_ladders_of_a_fold_do_not_see_its_held_out_labels(self, monkeypatch):
        """What all folds decide together is fixed: base, margin, groups, and kinds of shapes."""
        groups = Interactions((("age", "income"),))
        monkeypatch.setattr(ladder, "find_interactions", lambda *_: groups)
        monkeypatch.setattr(ladder, "choose_margin", lambda _: 0.01)
        monkeypatch.setattr(ladder, "choose_shapes", fixed_shapes)
        monkeypatch.setattr(Search, "_grid", lambda *_: np.array([0.005]))
        table, _ = table_of(MIXED, make_validation(None, None, MIXED.y, None))
        trained = np.arange(table.n_rows) % 3 > 0
        rows = map(np.flatnonzero, (trained, ~trained))
        fold = Fold(*(Cases(side, np.ones(len(side), np.int64)) for side in rows))

        def learned(labels):
            search = search_of(MIXED, folds=[fold], labels=labels, l1_ratio=1.0)
            search.compare(Candidate("curves"), 1.0)
            compare_ladders(search, CandidatePenalty(Candidate("curves"), 1.0, 0.005))
            (state,) = search.folds
            columns = state.structure.vocabulary.columns
            terms = {
                candidate: ([columns[j] for j in terms.direct], terms.trees, terms.signs.tolist())
                for candidate, terms in state.ladder_terms.items()
            }
            number = search.all_folds.index(state)
            fits = {
                candidate: path.fits[number][0].tolist()
                for (candidate, _), path in search.paths.items()
                if candidate.form is not None
            }
            return terms, fits

        terms, fits = learned(table.y)
        other_terms, other_fits = learned(np.where(trained, table.y, 1.0 - table.y))
        assert terms == other_terms
        assert any(trees for _, trees, _ in terms.values())
        common = fits.keys() & other_fits.keys()
        assert len(common) > 10
        assert all(fits[candidate] == other_fits[candidate] for candidate in common)

    def test_the_whole_table_is_searched_beside_one_split_of_the_user(self):
        """A split that leaves rows out is no sample: the structure comes from all rows."""
        role = np.arange(150) % 3
        splits = [(np.flatnonzero(role == 0), np.flatnonzero(role == 1))]
        validation = make_validation(splits, None, MIXED.y, None)
        table, chosen = table_of(MIXED, validation, max_trees=1, l1_ratio=1.0, budget=20)
        found, compared = select(MemoryRows(table), chosen, validation)
        assert found.table is table
        assert compared.evaluations[0].deviance > min(p.deviance for p in compared.evaluations)

    def test_groups_are_never_split(self, monkeypatch):
        seen = []
        honest = fold_state.mine_fold

        def watched(learner, fold, *given):
            part = learner.table.part
            seen.append((set(part[fold.train.rows]), set(part[fold.test.rows])))
            return honest(learner, fold, *given)

        monkeypatch.setattr(fold_state, "mine_fold", watched)
        groups = np.arange(150) % 12
        validation = make_validation(3, None, MIXED.y, groups)
        table, chosen = table_of(MIXED, validation, vocabulary="original", max_trees=1)
        select(MemoryRows(table), chosen, validation)
        assert len(seen) == 3
        assert all(train and test and not train & test for train, test in seen)
        assert set().union(*(test for _, test in seen)) == set(range(12))

    def test_the_validated_deviance_is_that_of_held_out_rows(self, monkeypatch):
        """One candidate, one penalty, splits by hand: the mean over folds, weighted by rows."""
        only_candidate(monkeypatch, Candidate("values"), 0.02)
        monkeypatch.setattr(module, "_compare_further", lambda *_: None)
        fold = np.arange(70) % 3
        splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
        validation = make_validation(splits, None, SMALL.y, None)
        table, chosen = table_of(SMALL, validation, max_trees=1, shapes="free")
        _, compared = select(MemoryRows(table), chosen, validation)
        vocabulary = StructureLearner.of(table, chosen).mine(table).vocabulary
        z = vocabulary.z[Candidate("values").holds(vocabulary)]
        losses, base, weights = [], [], []
        for roles in validation.roles:
            train, test = (roles[table.part] == r for r in (folds_module.TRAIN, folds_module.TEST))
            nothing = np.zeros((0, int(train.sum())), np.int32)
            direct = np.asfortranarray(z[:, train].T)
            fit = solve(
                Design(nothing, (), direct, table.y[train], table.weight[train], np.ones(len(z))),
                0.02,
            )
            rate = np.average(table.y[train], weights=table.weight[train])
            score = fit.intercept + fit.coefficients @ z[:, test]
            for found, p in ((losses, 1 / (1 + np.exp(-score))), (base, np.full(len(score), rate))):
                loss = log_loss(table.y[test], p, sample_weight=table.weight[test])
                found.append(2 * loss)
            weights.append(table.weight[test].sum())
        for evaluation, expected in zip(compared.evaluations, (base, losses), strict=True):
            mean = np.average(expected, weights=weights)
            assert evaluation.deviance == pytest.approx(mean, rel=1e-2 if evaluation.miu else 1e-9)
            spread = np.average((np.array(expected) - mean) ** 2, weights=weights)
            assert evaluation.error == pytest.approx(np.sqrt(spread / 2), rel=0.03)
        assert compared.evaluations[0].miu == 0 < compared.evaluations[1].miu


class TestPaths:
    """Each candidate goes down its lambdas until it has got worse."""

    def compared(self, **parameters):
        validation = make_validation(3, None, MIXED.y, None)
        given = {"audit_price": 0.0, "max_trees": 2, "shapes": "free", **parameters}
        table, chosen = table_of(MIXED, validation, **given)
        _, compared = select(MemoryRows(table), chosen, validation)
        paths = {}
        for evaluation in compared.evaluations[1:]:
            paths.setdefault(
                (evaluation.penalty.candidate, evaluation.penalty.l1_ratio), []
            ).append(evaluation)
        return compared, paths

    def test_a_path_ends_some_lambdas_after_its_least(self, monkeypatch):
        _, paths = self.compared()
        assert len(paths) > 4
        ended = 0
        for evaluations in paths.values():
            lambdas = [p.penalty.l1 for p in evaluations]
            assert lambdas == sorted(set(lambdas), reverse=True)
            steps = np.diff(np.log(lambdas))
            assert steps == pytest.approx(np.full(len(steps), steps[0] if len(steps) else 0.0))
            losses = [p.deviance for p in evaluations]
            for at in range(len(losses) - 1):
                assert (
                    at - int(np.argmin(losses[: at + 1])) < scale.PATIENCE
                )  # or it would have ended
            ended += len(losses) - 1 - int(np.argmin(losses)) == scale.PATIENCE
        assert ended > 2

    @pytest.mark.parametrize("l1_ratio", [None, 1.0, 0.5])
    def test_every_evaluation_has_the_fit_that_it_counts(self, l1_ratio):
        compared, paths = self.compared(l1_ratio=l1_ratio)
        assert {share for _, share in paths} == {
            *(scale.L1_RATIOS if l1_ratio is None else (l1_ratio,))
        }
        for evaluation in compared.evaluations:
            fit = compared.fits[evaluation.penalty]
            assert (evaluation.miu == 0) == (not fit[1:].any())
        deviances = [p.deviance for p in compared.evaluations]
        assert min(deviances) < deviances[0] == compared.to_dict()["null_deviance"]

    def test_what_adds_to_a_candidate_starts_near_its_best(self, monkeypatch):
        """Trees and products are tried at the penalties where the direct terms were good."""
        monkeypatch.setattr(scale, "BEATEN", np.inf)
        _, paths = self.compared(l1_ratio=1.0)
        adding = {candidate for candidate, _ in paths if candidate.n_trees or candidate.n_pairs}
        assert adding
        for candidate in adding:
            base = paths[replace(candidate, n_trees=0, n_pairs=0), 1.0]
            lambdas = [p.penalty.l1 for p in base]
            least = int(np.argmin([p.deviance for p in base]))
            first = paths[candidate, 1.0][0].penalty.l1
            assert lambdas.index(first) == max(0, least - scale.HEAD_START)


def evaluations_of(rows):
    return tuple(
        Evaluation(CandidatePenalty(Candidate("all", trees, 0), 1.0, l1), miu, deviance, 0.1)
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


class TestLengths:
    def case(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(1_200, 4))
        score = 2 * X[:, 0] * X[:, 1] + 1.5 * X[:, 2] * X[:, 3]
        y = (rng.random(1_200) < 1 / (1 + np.exp(-score))).astype(int)
        return Case(pd.DataFrame(X, columns=list("abcd")), y, np.ones(1_200))

    def compared(self, **parameters):
        case = self.case()
        validation = make_validation(2, None, case.y, None)
        given = {"l1_ratio": 1.0, "shapes": "free", **parameters}
        table, chosen = table_of(case, validation, **given)
        return table, select(MemoryRows(table), chosen, validation)

    def test_models_of_given_lengths_are_compared_where_cases_are_many(self, monkeypatch):
        monkeypatch.setattr(scale, "LENGTHS_FROM_CASES", 10**6)
        _, (_, without) = self.compared()
        assert all(e.penalty.candidate.max_conditions is None for e in without.evaluations)
        monkeypatch.setattr(scale, "LENGTHS_FROM_CASES", 200)
        _, (_, compared) = self.compared()
        lengths = [e for e in compared.evaluations if e.penalty.candidate.max_conditions]
        assert {e.penalty.candidate.max_conditions for e in lengths} <= set(scale.LENGTHS)
        assert all(e.miu <= e.penalty.candidate.max_conditions for e in lengths)
        assert len(compared.evaluations) > len(without.evaluations)

    def test_they_cost_fewer_conditions_for_the_same_deviance(self, monkeypatch):
        """A penalty path needs more terms to say as much."""
        monkeypatch.setattr(scale, "LENGTHS_ALONE_FROM_CASES", 10**6)
        _, (_, compared) = self.compared(audit_price=0.0)
        taken, path = [], []
        for e in compared.evaluations:
            (path if e.penalty.candidate.max_conditions is None else taken).append(e)
        good = min(e.deviance for e in path) * 1.01
        assert min(e.miu for e in taken if e.deviance <= good) < min(
            e.miu for e in path if e.deviance <= good
        )

    def test_more_products_are_looked_for_from_the_best_of_them(self, monkeypatch):
        monkeypatch.setattr(scale, "LENGTHS_ALONE_FROM_CASES", 0)
        monkeypatch.setattr(scale, "MOST_PRODUCTS", 5)
        monkeypatch.setattr(scale, "PRODUCT_ROUNDS", 1)
        _, (few, _) = self.compared()
        monkeypatch.setattr(scale, "PRODUCT_ROUNDS", 3)
        _, (more, compared) = self.compared()
        known, now = (f.structure.vocabulary.columns for f in (few, more))
        assert now[: len(known)] == known
        assert len(set(now)) == len(now) > len(known)
        assert max(e.penalty.candidate.n_pairs for e in compared.evaluations) > 5

    @pytest.mark.slow(reason="fits several models with inner validation")
    def test_no_two_rounds_compare_models_under_one_name(self):
        """A round that finds no products would fit other terms as the same candidates."""
        rng = np.random.default_rng(101)
        Z = rng.normal(size=(1_500, 8))
        a, b = Z[:, 0] > 0, Z[:, 1] > 0
        y = rng.random(1_500) < 1 / (1 + np.exp(-(2.0 * (a ^ b) - 1.8)))
        frame = pd.DataFrame(Z, columns=[f"x{j}" for j in range(8)])
        model = RPTEClassifier().fit(frame, y).model_
        assert {"x0", "x1"} <= set(model.rules()[0].sources)


class TestComparison:
    @examples(150)
    @given(ROWS, PRICES, st.none() | st.integers(0, 30))
    def test_ranking_by_brute_force(self, rows, price, most):
        evaluations = evaluations_of(rows)
        compared = Comparison(evaluations, Price(price, 7))
        explained = max(rows[0][1] - min(row[1] for row in rows), 0.0)

        def cost(p):
            read = p.miu if p.miu <= 7 else 7 + 7 * np.log(p.miu / 7)
            return round(p.deviance + price * explained * read, 12)

        def key(p):
            return cost(p), p.miu, p.penalty.candidate.n_trees, -p.penalty.l1

        ranked = compared.ranked(most)
        within = [p for p in evaluations if most is None or p.miu <= most]
        assert len(ranked) == len(within)
        assert {id(p) for p in ranked} == {id(p) for p in within}
        assert [key(p) for p in ranked] == sorted(map(key, within))
        assert compared.explained() == pytest.approx(explained)
        assert compared.costs(evaluations) == pytest.approx([*map(cost, evaluations)], abs=1e-12)

    @examples(150)
    @given(ROWS)
    def test_the_frontier_by_brute_force(self, rows):
        evaluations = evaluations_of(rows)
        loads = (0, 2, 5, 9, 14)
        frontier = Comparison(evaluations).frontier(loads)

        def beaten(p):
            return any(
                q.miu <= p.miu and q.deviance <= p.deviance
                and (q.miu, q.deviance) != (p.miu, p.deviance)
                for q in evaluations
            )  # fmt: skip

        best = sorted({(p.miu, p.deviance) for p in evaluations if not beaten(p)})
        found = [(p.miu, p.deviance) for p in frontier]
        within = [max((b for b in best if b[0] <= load), default=None) for load in (*loads, 99)]
        assert found == sorted({b for b in within if b is not None})

    @examples(60)
    @given(ROWS, st.integers(0, 30))
    def test_a_frontier_up_to_some_conditions_is_that_of_the_evaluations_within(self, rows, most):
        within = evaluations_of([(0, 1.5, 0, 0.4), *(row for row in rows if row[0] <= most)])
        evaluations = evaluations_of([(0, 1.5, 0, 0.4), *rows])
        chosen = replace(within[0], miu=most)
        found = Comparison(evaluations).frontier(scale.FRONTIER, chosen, longer=False)
        assert found == Comparison(within).frontier(scale.FRONTIER)

    def test_a_long_frontier_has_its_first_evaluations_at_one_two_and_three_conditions(self):
        evaluations = evaluations_of([(miu, 1.4 - 0.01 * miu, 0, 0.1) for miu in range(56)])
        found = [p.miu for p in Comparison(evaluations).frontier(scale.FRONTIER)]
        assert found == [*range(9), 10, 12, 15, 20, 30, 50, 55]

    def test_short_models_compete_where_a_budget_binds(self):
        evaluations = evaluations_of([(0, 1.4, 0, 0.1), (2, 1.3, 0, 0.1), (9, 1.0, 0, 0.1)])
        short = evaluations_of([(1, 0.9, 0, 0.1), (2, 0.8, 0, 0.1)])
        compared = Comparison(evaluations, short=short)
        assert compared.ranked(None)[0].miu == 9
        assert compared.ranked(9)[0].miu == 9
        assert [p.deviance for p in compared.ranked(8)] == [0.8, 0.9, 1.3, 1.4]
        assert compared.ranked(1)[0] is short[0]
        dear = replace(compared, price=Price(0.1))  # conditions within a budget that binds are free
        assert [p.deviance for p in dear.ranked(8)] == [0.8, 0.9, 1.3, 1.4]
        assert [p.deviance for p in compared.frontier((0, 1, 2, 9))] == [1.4, 0.9, 0.8]
        kept = compared.frontier((0, 1, 2, 9), evaluations[2])
        assert [p.deviance for p in kept] == [1.4, 1.3, 1.0]  # none that beats the chosen one
        assert compared.to_dict()["compared"] == 5

    @examples(60)
    @given(ROWS)
    def test_a_higher_price_never_buys_more_conditions(self, rows):
        evaluations = evaluations_of(rows)
        prices = (0.0, 0.001, 0.01, 0.1, 1.0)
        chosen = [Comparison(evaluations, Price(p)).ranked(None)[0] for p in prices]
        assert chosen[0].deviance == min(p.deviance for p in evaluations)
        assert all(a.miu >= b.miu for a, b in pairwise(chosen))


class TestBudget:
    @pytest.mark.parametrize("shapes", ["one", "free"])
    @pytest.mark.parametrize("name", TABLES)
    @pytest.mark.parametrize("most", [0, 1, 3, 10])
    def test_a_budget_is_kept_and_used_well(self, name, most, shapes):
        """Whatever a model of the free frontier says within it, one as short says as well."""
        made = {"max_trees": 2, "shapes": shapes}
        found = fitted(name, max_inspection_units=most, **made)
        assert found.audit().miu <= most
        assert all(check.holds for check in found.verify())
        whole = fitted(name, **made)
        free, kept = whole.frontier_, found.frontier_
        for row in free[free["miu"] <= most].itertuples():
            assert kept[kept["miu"] <= row.miu]["deviance"].min() <= row.deviance + 1e-12
        if whole.audit().miu > most:  # then it is at least as good as `at`
            own = kept["deviance"][kept["miu"] == found.audit().miu].item()
            assert own <= free["deviance"][free["miu"] <= most].min() + 1e-12
        assert (most == 0) == (found.audit().miu == 0)

    @pytest.mark.parametrize("shapes", ["one", "free"])
    def test_without_a_budget_there_is_one_of_300_conditions(self, monkeypatch, shapes):
        made = {**EASY, "budget": 60, "max_trees": 2, "audit_price": 0.0, "shapes": shapes}
        free = MIXED.fit(RPTEClassifier(**made)).audit().miu
        monkeypatch.setattr(settings_module, "MOST_CONDITIONS", free - 1)
        bounded = MIXED.fit(RPTEClassifier(**made))
        assert bounded.audit().miu < free
        larger = RPTEClassifier(**made, max_inspection_units=free)
        assert MIXED.fit(larger).audit().miu == free

    @pytest.mark.parametrize("shapes", ["one", "free"])
    @pytest.mark.parametrize("most", [1, 2, 3])
    def test_a_budget_of_a_few_conditions_buys_the_best_of_them(self, most, shapes):
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        found = RPTEClassifier(max_inspection_units=most, cv=3, shapes=shapes).fit(X, y)
        assert found.audit().miu == most
        # Validated deviance chooses, and a line that ends inside the data ranks its ends alike.
        least = max(roc_auc_score(y, -X[name]) for name in X) - (0.06 if shapes == "one" else 0.005)
        assert roc_auc_score(y, found.decision_function(X)) > least
        assert all(check.holds for check in found.verify(X, y))

    @pytest.mark.parametrize("shapes", ["one", "free"])
    def test_the_frontier_begins_at_one_two_and_three_conditions(self, shapes):
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        found = RPTEClassifier(cv=3, shapes=shapes).fit(X, y)
        assert {1, 2, 3} <= set(found.frontier_["miu"])
        for miu in (1, 2, 3):
            assert found.at(miu=miu).audit().miu == miu

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

    @pytest.mark.parametrize("shapes", ["one", "free"])
    def test_the_price_is_that_of_the_settings(self, shapes):
        free = fitted("mixed", max_trees=2, audit_price=0.0, shapes=shapes)
        frontier = free.frontier_
        assert free.audit().miu == frontier["miu"].iloc[-1]
        chosen = free.model_.training["selection"]["chosen"]
        taken = frontier[
            (frontier["l1"] == chosen["l1"]) & (frontier["shape_family"] == chosen["shape_family"])
        ]
        assert taken["deviance"].min() == frontier["deviance"].min()
        dear = fitted("mixed", max_trees=2, audit_price=0.2, shapes=shapes)
        assert dear.audit().miu < free.audit().miu
        assert dear.model_.training["selection"]["price"] == 0.2


class TestFrontier:
    @pytest.mark.parametrize("shapes", ["one", "free"])
    @pytest.mark.parametrize("name", TABLES)
    def test_it_is_a_frontier_of_these_models(self, name, shapes):
        found = fitted(name, max_trees=2, shapes=shapes)
        frontier, models = found.frontier_, found.frontier_models_
        assert 2 <= len(frontier) == len(models) <= len(scale.FRONTIER) + 2
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

    @pytest.mark.parametrize("shapes", ["one", "free"])
    @pytest.mark.parametrize("name", TABLES)
    def test_at_gives_the_best_model_within_a_load(self, name, shapes):
        found, case = fitted(name, max_trees=2, shapes=shapes), TABLES[name]
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

    @pytest.mark.parametrize("shapes", ["one", "free"])
    def test_the_same_table_gives_the_same_frontier(self, shapes):
        made = {**EASY, "max_trees": 2, "shapes": shapes}
        found = fitted("small", max_trees=2, shapes=shapes)
        first = [to_dict(model) for model in found.frontier_models_]
        order = np.random.default_rng(0).permutation(len(SMALL.y))
        threads = SMALL.take(order).fit(RPTEClassifier(**made, n_jobs=2))
        assert [to_dict(model) for model in threads.frontier_models_] == first


def row_list(frontier):
    rows = [dict(row) for row in frontier.astype(object).to_dict("records")]
    return [{key: value for key, value in row.items() if value == value} for row in rows]


def test_the_null_deviance_is_that_of_the_base_rate():
    rng = np.random.default_rng(1)
    case = replace(SMALL, X=SMALL.X.assign(**{f"e{i}": rng.normal(size=70) for i in range(8)}))
    case = replace(case, y=rng.integers(0, 2, 70), weight=np.ones(70))
    made = RPTEClassifier(vocabulary="original", pattern_order=1, max_trees=0, l1_ratio=1.0)
    found = case.fit(made).model_.training["selection"]["null_deviance"]
    rate = case.y.mean()
    entropy = -2 * (rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    assert found == pytest.approx(entropy, abs=2e-3)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"l1": 10.0}, "l1=10 is above the largest at which a term survives"),
        ({"max_inspection_units": 0}, "max_inspection_units=0 allows no condition"),
        ({"reassign": False, "max_trees": 0, "ownership": "paper"}, "Stage 2 accepted no tree"),
        ({}, "no model predicted rows held out by validation so much better"),
    ],
)
def test_an_empty_model_is_announced_with_its_reason(given, why):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(200, 3)), rng.permutation(np.arange(200) % 2)
    with pytest.warns(RPTEWarning, match=f"the model is empty: .*{why}"):
        found = RPTEClassifier(**given).fit(X, y)
    assert found.audit().mu == 0


def test_columns_that_say_nothing_are_the_reason():
    with pytest.warns(RPTEWarning, match="no column that varies goes with the labels"):
        RPTEClassifier().fit(np.ones((80, 2)), np.arange(80) % 2)

"""Large tables: the search sees a sample of their rows, Stage 3 sees all."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import rpte.fit.training as training_module
from effort import examples
from fit_tables import cases, make_case, mixed_case
from rpte import Limits, RPTEClassifier, RPTEWarning, load
from rpte.estimation.candidate import Candidate
from rpte.estimation.solver import solve
from rpte.estimation.terms import choose_terms
from rpte.model.file import to_dict
from rpte.rows import scale
from rpte.rows.folds import make_validation
from rpte.rows.training_rows import MemoryRows
from rpte.selection.select import select
from searches import call_large, set_scale, table_of, watch_fits


@cache
def sampled(**changes):
    """Fit 600 rows as if these were many; return the problems of Stage 3 too."""
    with pytest.MonkeyPatch.context() as patch:
        call_large(patch)
        designs, honest = [], training_module.block_design

        def watched(rows, *given):
            designs.append(honest(rows, *given))
            return designs[-1]

        patch.setattr(training_module, "block_design", watched)
        case = mixed_case(600)
        return case, case.fit(RPTEClassifier(**{"l1_ratio": 1.0, **changes})), designs


def scores_of(design, fit):
    """Return the scores of a fit on all rows."""
    table, theta = design.rows.whole(), fit.coefficients
    tiles = design.terms.tiles(table)
    score = fit.intercept + np.concatenate([theta[design.n_leaves :] @ z for *_, z in tiles])
    for start, codes in zip(design.starts, design.terms.codes(table), strict=False):
        score += theta[start + codes]
    return score


class TestSample:
    """Above some number of rows the search sees a sample; Stage 3 sees all rows."""

    CHANGES = (
        {},
        {"shapes": "free"},
        {"l1_ratio": 0.5},
        {"vocabulary": "hug", "budget": 20, "max_trees": 2},
    )

    @pytest.mark.parametrize("changes", CHANGES)
    def test_every_model_solves_its_terms_on_all_rows(self, changes):
        case, found, designs = sampled(**changes)
        problems = {}
        for design in designs:
            assert design.n_rows == 600
            assert design.sample.n_rows < 200
            problems.setdefault(design.n_terms, []).append(design)
        models = [found.model_, *found.frontier_models_]
        assert any(model.audit().miu > 3 for model in models)
        for model in models:
            told = model.training["objective"]
            assert told["converged"]
            if not told["terms_offered"]:
                continue
            direct = [
                (design, solve(design, told["l1"], told["l1_ratio"]))
                for design in problems[told["terms_offered"]]
            ]
            close = [
                (design, fit)
                for design, fit in direct
                if fit.objective == pytest.approx(told["value"], rel=1e-9)
            ]
            assert close
            design, fit = close[0]
            scores = np.sort(scores_of(design, fit))
            np.testing.assert_allclose(np.sort(model.score(case.X)), scores, atol=1e-4)

    @pytest.mark.parametrize("changes", CHANGES)
    def test_the_model_holds_what_it_claims(self, monkeypatch, changes):
        case, found, _ = sampled(**changes)
        call_large(monkeypatch)
        for model in (found.model_, *found.frontier_models_):
            checks = model.verify(case.X, case.y, case.weight)
            assert [check for check in checks if not check.holds] == []
        assert found.model_.training["distinct_rows"] == 600
        assert len(found.frontier_models_) <= len(scale.FRONTIER_OF_LONG_TABLES) + 2
        promised = [row["miu"] for row in found.model_.training["selection"]["frontier"]]
        assert max(promised) == found.model_.audit().miu  # none is harder to read

    @pytest.mark.parametrize("seed", range(6))
    def test_trees_of_a_sample_send_missing_as_all_rows_have_it(self, monkeypatch, seed):
        """Splits near the middle: which side is the heavier differs from sample to table."""
        call_large(monkeypatch)
        case = make_case(seed, ("number", "few"), 400, clear=True)
        case = replace(case, X=case.X.fillna(0.0))
        made = RPTEClassifier(ownership="separate", max_leaves=4, l1_ratio=1.0, cv=2)
        found = case.fit(made)
        for model in (found.model_, *found.frontier_models_):
            checks = model.verify(case.X, case.y, case.weight)
            assert [check for check in checks if not check.holds] == []

    @pytest.mark.slow(reason="fits and verifies 25 drawn tables")
    @examples(25)
    @given(
        cases(rows=(70, 200), clear=True),
        st.sampled_from(["shapes", "hug", "original"]),
        st.sampled_from(["component", "paper", "separate", "strict"]),
        st.sampled_from([{}, {"monotone": {"clear": "increasing"}, "penalty": {"clear": 2.0}}]),
        st.booleans(),
    )
    def test_any_table_gives_a_model_that_holds(self, case, vocabulary, ownership, limits, grouped):
        made = RPTEClassifier(
            vocabulary=vocabulary, ownership=ownership, limits=Limits(**limits), budget=15,
            max_trees=2, l1_ratio=1.0,
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", RPTEWarning)  # some samples have too few cases
            set_scale(patch, LONG_ABOVE=40, SAMPLE_ROWS=50)
            groups = np.arange(len(case.y)) % 7 if grouped else None
            found = made.fit(case.X, case.y, case.weight, groups=groups)
            for model in (found.model_, *found.frontier_models_):
                checks = model.verify(case.X, case.y, case.weight)
                assert [check for check in checks if not check.holds] == []

    @pytest.mark.parametrize("ownership", ["component", "separate", "strict"])
    def test_few_rows_of_a_searched_sample_tell_which_terms_there_are(self, monkeypatch, ownership):
        call_large(monkeypatch)
        case = mixed_case(600)
        validation = make_validation(None, None, case.y, None)
        given = {"max_trees": 2, "ownership": ownership, "shapes": "free"}
        table, chosen = table_of(case, validation, **given)
        found, terms = [], []
        for rows in (8, 10**6):
            monkeypatch.setattr(scale, "SAMPLE_ROWS_KEPT", rows)
            found.append(select(MemoryRows(table), chosen, validation)[0])
            assert found[-1].structure.vocabulary.z.shape[1] == min(rows, found[-1].table.n_rows)
            candidate = Candidate("all", len(found[-1].structure.trees), None)
            admission = chosen.admission()
            terms.append(choose_terms(found[-1].table, found[-1].structure, candidate, admission))
        assert found[0].columns is None
        assert len(terms[0].trees)
        assert terms[0].trees == terms[1].trees
        assert terms[0].direct.tolist() == terms[1].direct.tolist()
        columns = [each.structure.vocabulary.columns for each in found]
        assert columns[0] == columns[1]

    def test_the_file_says_on_how_many_rows_the_terms_were_found(self, tmp_path):
        _, found, _ = sampled()
        found.save(tmp_path / "model.json")
        said = load(tmp_path / "model.json").training["validation"]["learned_from_rows"]
        assert 0 < said < 600
        whole = mixed_case(150).fit(RPTEClassifier(l1="4/n")).model_
        assert "learned_from_rows" not in whole.training["validation"]

    def test_the_order_of_rows_does_not_matter(self, monkeypatch):
        case, found, _ = sampled()
        call_large(monkeypatch)
        order = np.random.default_rng(1).permutation(600)
        again = case.take(order).fit(RPTEClassifier(l1_ratio=1.0, n_jobs=2))
        assert to_dict(again.model_) == to_dict(found.model_)

    @pytest.mark.slow(reason="products are split over threads from thousands of rows on")
    def test_the_threads_of_matrix_products_do_not_matter(self):
        """Long sums are split over threads only where that changes no bit."""
        case = mixed_case(11_000)
        made = {"l1_ratio": 1.0, "max_trees": 1, "cv": 2}
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(to_dict(case.fit(RPTEClassifier(**made)).model_))
        assert found[0] == found[1]

    @pytest.mark.parametrize("shapes", ["one", "free"])
    def test_the_penalty_shrinks_with_the_root_of_the_rows(self, monkeypatch, shapes):
        call_large(monkeypatch)
        seen = watch_fits(monkeypatch)
        case = mixed_case(600)
        validation = make_validation(None, None, case.y, None)
        table, chosen = table_of(case, validation, l1_ratio=1.0, max_trees=1, shapes=shapes)
        found, compared = select(MemoryRows(table), chosen, validation)
        trained = found.table.n_rows
        assert {rows for rows, *_ in seen} == {trained}
        assert 155 < trained < 165  # four of five folds of 200 rows
        shrink = np.sqrt(trained / 600)
        lambdas = {(candidate, round(l1 * shrink, 12)) for _, candidate, l1, *_ in seen}
        evaluations = (*compared.evaluations, *compared.short)
        told = {(p.penalty.candidate, round(p.penalty.l1, 12)) for p in evaluations}
        # Ladders take the place of most of what they start from.
        assert told == lambdas if shapes == "free" else told < lambdas
        assert len(told) > 5
        for _, candidate, l1, _, _, fit in seen:
            kept = next(
                kept
                for penalty, kept in compared.fits.items()
                if penalty.candidate == candidate and penalty.l1 == pytest.approx(l1 * shrink)
            )
            assert kept.tolist() == fit

    @pytest.mark.parametrize("most", [0, 2])
    def test_a_budget_is_kept_where_validation_saw_a_sample(self, monkeypatch, most):
        """The penalty then shrinks, so that more terms enter than were counted."""
        call_large(monkeypatch)
        case = mixed_case(600)
        found = case.fit(RPTEClassifier(max_inspection_units=most, max_trees=1, l1_ratio=1.0))
        assert found.audit().miu <= most

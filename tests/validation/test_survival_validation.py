"""Times until an event: edits, refits, bootstrap, cross-validation, alternatives."""

import numpy as np
import pytest

from rpte import (
    InputError,
    Labelled,
    RPTEClassifier,
    RPTESurvival,
    alternatives,
    bootstrap,
    edit,
    load,
)
from rpte.fit.refit import refit
from rpte.model.file import to_dict
from survival_tables import made_times, tied_times

X, Y = made_times(300, 0)
TIED, ROWS = tied_times(300, 1, entry=True, strata=True)
TIED_Y = ROWS.event, ROWS.time
GIVEN = {"entry": ROWS.entry, "strata": ROWS.stratum}
LOSSES = [{}, {"ties": "breslow"}, {"loss": "discrete"}]


def fit(**parameters):
    return RPTESurvival(**{"l1": 0.05, **parameters}).fit(X, Y)


class TestRefit:
    @pytest.mark.parametrize("parameters", LOSSES)
    def test_on_the_same_table_nothing_changes(self, parameters):
        model = RPTESurvival(l1=0.05, **parameters).fit(TIED, TIED_Y, **GIVEN).model_
        again = refit(model, TIED, TIED_Y, **GIVEN)
        np.testing.assert_allclose(again.score(TIED), model.score(TIED), atol=1e-6)
        assert again.data["sha256"] == model.data["sha256"]
        checks = again.verify(TIED, TIED_Y, **GIVEN)
        assert all(check.holds for check in checks)
        assert {check.name for check in checks} >= {"baseline", "training table"}

    def test_on_other_rows_coefficients_and_baseline_move(self):
        model, half = fit().model_, np.arange(0, 300, 2)
        y = Y[0][half], Y[1][half]
        again = refit(model, X.iloc[half], y)
        assert {rule.conditions for rule in again.rules()} <= {r.conditions for r in model.rules()}
        assert again.target.baseline != model.target.baseline
        assert again.target.total == y[0].sum()
        claims = again.verify(X.iloc[half], y)
        unmet = {check.name for check in claims if check.holds is False}
        assert not unmet - {"thresholds, levels, knots and centres"}

    def test_rows_without_events(self):
        with pytest.raises(InputError, match="no row has an event while it is under observation"):
            refit(fit().model_, X, (np.zeros(300, bool), Y[1]))

    def test_what_was_not_given_to_the_fit(self):
        for name in ("entry", "strata", "exposure"):
            with pytest.raises(InputError, match=r"leave|one baseline for all rows"):
                refit(fit().model_, X, Y, **{name: Y[1] / 2})
        with pytest.raises(InputError, match="leave entry= out"):
            refit(RPTEClassifier(l1=0.05).fit(X, Y[0]).model_, X, Y[0], entry=Y[1] / 2)


class TestEdit:
    def test_a_dropped_term_keeps_the_mean_and_withdraws_the_baseline(self):
        model = fit().model_
        name = model.rules()[0].term
        told = {"by": "A. Smith", "reason": "not plausible", "table": Labelled(X, Y)}
        shorter = edit(model, drop_terms=[name], **told)
        assert name not in {rule.term for rule in shorter.rules()}
        assert shorter.score(X).mean() == pytest.approx(0.0, abs=1e-9)
        entry = shorter.ledger[-1]
        assert entry["withdrawn"] == ["Stage 3 optimality of the active terms", "baseline"]
        assert (
            entry["after"]["metrics"]["log_likelihood"]
            < entry["before"]["metrics"]["log_likelihood"]
        )
        assert entry["before"]["metrics"]["events"] == Y[0].sum()
        checks = shorter.verify(X, Y)
        assert all(check.holds for check in checks)
        assert "baseline" not in {check.name for check in checks}

    def test_a_refit_gives_both_claims_back(self, tmp_path):
        model = fit().model_
        name = model.rules()[0].term
        told = {"by": "A. Smith", "reason": "a test"}
        shorter = edit(model, drop_terms=[name], **told)
        again = edit(shorter, refit=True, table=Labelled(X, Y), **told)
        assert set(again.ledger[-1]["restored"]) == set(shorter.ledger[-1]["withdrawn"])
        assert all(check.holds for check in again.verify(X, Y))
        again.save(tmp_path / "model.json")
        assert to_dict(load(tmp_path / "model.json")) == to_dict(again)

    def test_with_entry_and_strata(self):
        table = TIED.assign(begin=ROWS.entry, clinic=ROWS.stratum)
        named = {"entry": "begin", "strata": "clinic"}
        model = RPTESurvival(l1=0.05).fit(table, TIED_Y, **named).model_
        labelled = Labelled(table, TIED_Y, **named)
        again = edit(model, by="A. Smith", reason="a test", refit=True, table=labelled)
        assert all(check.holds for check in again.verify(table, TIED_Y, **named))


class TestBootstrap:
    def test_intervals_hold_the_estimates_and_the_truth(self):
        model = RPTESurvival(vocabulary="original", max_trees=0, l1=1e-6).fit(X, Y).model_
        drawn = bootstrap(model, X, Y, n=60)
        assert drawn.same_table
        assert drawn.unconverged == 0
        terms = {interval.name: interval for interval in drawn.terms()}
        slope = next(t for _, t in model.parts() if t.sources == ("a",))
        assert terms[slope.name].low < 1.0 < terms[slope.name].high
        case = drawn.cases(X[:1])[0]
        assert case.score.low <= case.score.estimate <= case.score.high
        assert case.response.name == "relative hazard"
        assert case.response.estimate == pytest.approx(np.exp(model.score(X[:1])[0]))

    def test_standard_errors_are_those_of_cox_regression(self):
        peers = pytest.importorskip("lifelines")
        model = RPTESurvival(vocabulary="original", max_trees=0, l1=1e-6).fit(X, Y).model_
        drawn = bootstrap(model, X, Y, n=200)
        peer = peers.CoxPHFitter().fit(X.assign(time=Y[1], event=Y[0]), "time", "event")
        spread = dict(zip(drawn.names, drawn.coefficients.std(axis=0), strict=True))
        for _, term in model.parts():
            expected = peer.standard_errors_[term.sources[0]]
            assert spread[term.name] == pytest.approx(expected, rel=0.25)

    @pytest.mark.parametrize("parameters", LOSSES)
    def test_with_entry_strata_weights_and_groups(self, parameters):
        model = RPTESurvival(l1=0.05, **parameters).fit(TIED, TIED_Y, **GIVEN).model_
        told = {"n": 5, "groups": np.arange(300) // 3, **GIVEN}
        one, other = (bootstrap(model, TIED, TIED_Y, **told) for _ in range(2))
        np.testing.assert_array_equal(one.coefficients, other.coefficients)
        assert np.isfinite(one.coefficients).all()
        assert one.unconverged == 0

    def test_a_resample_of_every_row_once_is_the_model(self):
        from rpte.validation.tables import labelled_rows
        from rpte.validation.uncertainty import Refit

        model = fit(max_trees=0).model_
        solved = Refit(model, labelled_rows(model, X, Y, None))
        found = solved.at(np.ones(300, np.int64))
        parts = [part for _, part in model.parts()]
        expected = [part.coefficient * part.scale for part in parts]
        np.testing.assert_allclose(found.coefficients[solved.places], expected, atol=1e-6)
        assert found.intercept == pytest.approx(model.intercept, abs=1e-6)


class TestCrossValidation:
    def test_figures_are_kept_with_the_model(self, tmp_path):
        found = RPTESurvival(l1=0.05).fit(X, Y)
        estimate = found.cross_validate(X, Y, folds=3)
        assert 0.65 < estimate.mean("concordance") < 0.85
        assert 0.0 < estimate.mean("brier") < 0.25
        assert 0.05 < estimate.mean("brier_explained") < 0.6
        found.save(tmp_path / "model.json")
        record = load(tmp_path / "model.json").training["cross_validation"]
        assert record["concordance"]["mean"] == estimate.mean("concordance")
        assert "concordance 0." in found.summary()
        assert "Brier score over time 0." in found.summary()

    def test_figures_are_those_of_scikit_survival(self):
        metrics = pytest.importorskip("sksurv.metrics")
        util = pytest.importorskip("sksurv.util")
        from rpte.audit.survival_metrics import SurvivalRows, time_grid
        from rpte.losses.risk_sets import FollowUp
        from rpte.validation.survival_folds import by_row, fold_result

        new, (event, time) = made_times(200, 5)
        model = fit().model_
        found = fold_result(model, new, by_row((event, time), 200), None)
        surv = util.Surv.from_arrays(event, time)
        score = model.score(new)
        assert found.concordance == pytest.approx(
            metrics.concordance_index_censored(event, time, score)[0]
        )
        grid = time_grid(SurvivalRows.of(FollowUp(time, event), score, np.ones(200)), 50)
        curves = model.target.survival_at(score, grid)
        expected = metrics.integrated_brier_score(surv, surv, curves, grid)
        assert found.brier == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("parameters", LOSSES)
    def test_with_entry_strata_weights_and_groups(self, parameters):
        found = RPTESurvival(l1=0.05, **parameters)
        weight = np.arange(300) % 3 + 0.5
        found.fit(TIED, TIED_Y, weight, **GIVEN)
        told = {"sample_weight": weight, "groups": np.arange(300) // 2, "folds": 3}
        estimate = found.cross_validate(TIED, TIED_Y, **told, **GIVEN)
        assert estimate.by == "groups"
        assert estimate.mean("concordance") > 0.6
        assert estimate.mean("brier") is None  # with late entry

    def test_strata_without_entry(self):
        table = TIED.assign(clinic=ROWS.stratum)
        found = RPTESurvival(l1=0.05).fit(table, TIED_Y, strata="clinic")
        estimate = found.cross_validate(table, TIED_Y, folds=3, strata="clinic")
        assert 0.0 < estimate.mean("brier_explained") < 1.0

    def test_another_table_or_other_parameters(self):
        found = RPTESurvival(l1=0.05).fit(X, Y)
        with pytest.raises(InputError, match="sample_weight, entry and strata as to fit"):
            found.cross_validate(X, (Y[0], Y[1] * 2.0))
        with pytest.raises(InputError, match="ties was changed since the fit"):
            found.set_params(ties="breslow").cross_validate(X, Y)
        found = RPTESurvival(l1=0.05, loss="discrete", intervals=5).fit(X, Y)
        with pytest.raises(InputError, match="intervals was changed since the fit"):
            found.set_params(intervals=6).cross_validate(X, Y)


def test_alternatives_are_refused_with_words():
    with pytest.raises(InputError, match=r"exclude=.* compare figures of cross_validate"):
        alternatives(fit().model_, X, Y)

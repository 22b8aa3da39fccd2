"""Survival at horizons: explanations, what-if, and a model with survival as its response."""

import json

import numpy as np
import pytest

from rpte import RPTEClassifier, RPTESurvival
from rpte.errors import InputError
from rpte.model.file import to_dict
from rpte.model.survival import SurvivalTarget
from survival_trial import FEATURES, fitted, trial

TIMES = [180.0, 365.0]


def rows(count=5, strata=None):
    return trial()[FEATURES if strata is None else [*FEATURES, strata]].iloc[:count]


class TestExplain:
    @pytest.mark.parametrize("loss", ["cox", "discrete"])
    def test_contributions_add_up_and_survival_follows(self, loss):
        model = fitted(loss)
        survival = model.survival_at(rows(), TIMES)
        for row, found in enumerate(model.explain(rows(), horizons=TIMES)):
            running = found.intercept
            for component in found.components:
                running += component.value
            assert running == found.score
            assert found.response == pytest.approx(np.exp(found.score))
            assert found.survival.times == tuple(TIMES)
            assert found.survival.values == tuple(survival[row])
            text = str(found)
            assert f"survival at 365 days: {survival[row, 1]:.4f}" in text
            assert "so far)" in text
            assert "mean" not in text.replace("missing", "")

    def test_the_estimator_and_one_time(self):
        frame = trial()
        est = RPTESurvival(l1=0.06).fit(frame[FEATURES], frame[["died", "days"]])
        (found,) = est.explain(frame[FEATURES].iloc[:1], horizons=365)
        assert found.survival == est.model_.explain(rows(1), horizons=[365.0])[0].survival

    def test_a_stratum_has_its_baseline(self):
        model, one = fitted(strata="centre"), rows(1)
        found = {}
        for centre in ("north", "south"):
            (told,) = model.explain(one, horizons=365, strata=[centre])
            (expected,) = model.survival_at(one, 365, strata=[centre])[0]
            assert told.survival.values == (expected,)
            assert told.survival.stratum == centre
            assert f"survival at 365 days of the stratum {centre}: {expected:.4f}" in str(told)
            found[centre] = expected
        assert found["north"] > found["south"]

    def test_without_horizons_nothing_is_told(self):
        (found,) = fitted().explain(rows(1))
        assert found.said_for == ()
        assert found.survival.to_dict() == {}

    @pytest.mark.parametrize(
        ("asked", "says"),
        [
            ({"horizons": -1.0}, "days -1 is outside of what was observed, from 0 to"),
            ({"horizons": [1.0, 1e9]}, "days 1e"),
            ({"horizons": np.nan}, "days nan is outside"),
            ({"exposure": 1.0}, "exposure and offset are for models of numbers"),
            ({"strata": ["north"]}, "the model has one baseline for all rows"),
        ],
    )
    def test_refused(self, asked, says):
        with pytest.raises(InputError, match=says):
            fitted().explain(rows(1), **asked)

    def test_refused_where_the_stratum_matters(self):
        model = fitted(strata="centre")
        with pytest.raises(InputError, match="give strata="):
            model.explain(rows(1), horizons=365)
        with pytest.raises(InputError, match="strata holds 'west'"):
            model.explain(rows(1), horizons=365, strata=["west"])

    def test_models_of_classes_have_no_horizons(self):
        clf = RPTEClassifier(l1=0.1).fit({"x": [0.0, 1.0, 2.0, 3.0] * 10}, [0, 0, 1, 1] * 10)
        for asked in ({"horizons": 1.0}, {"strata": ["a"]}):
            with pytest.raises(InputError, match="for models of a time until an event"):
                clf.model_.explain({"x": [0.0]}, **asked)
        with pytest.raises(InputError, match="horizon= is for models of a time"):
            clf.model_.at_horizon(1.0)


class TestWhatIf:
    def test_survival_before_and_after(self):
        model, one = fitted(), rows(1)
        found = model.what_if(one, {"age": 40}, horizons=TIMES)
        (before,) = model.survival_at(one, TIMES)
        (after,) = model.survival_at(one.assign(age=40), TIMES)
        assert found.before.survival.values == tuple(before)
        assert found.after.survival.values == tuple(after)
        assert f"survival at 180 days: {before[0]:.4f} -> {after[0]:.4f}" in str(found)
        record = json.loads(json.dumps(found.to_dict()))
        assert record["survival"] == [
            {"horizon": t, "survival": [a, b]} for t, a, b in zip(TIMES, before, after, strict=True)
        ]

    def test_without_horizons(self):
        found = fitted().what_if(rows(1), {"age": 40})
        assert "survival" not in found.to_dict()
        assert "hazard of died relative to the baseline from" in str(found)


class TestAtHorizon:
    @pytest.mark.parametrize("strata", [None, "centre"])
    def test_survival_is_the_response_and_its_score_is_known(self, strata):
        model = fitted(strata=strata)
        view, given = model.at_horizon(365), None if strata is None else ["south"] * 5
        score = model.score(rows())
        assert view.score(rows()).tolist() == score.tolist()
        survival = view.target.mean(score, strata=given)
        assert survival.tolist() == model.survival_at(rows(), 365, strata=given)[:, 0].tolist()
        stratum = None if given is None else "south"
        for each, at in zip(survival, score, strict=True):
            assert view.target.score_for(each, strata=stratum) == pytest.approx(at, abs=1e-9)

    def test_the_file_is_that_of_the_model(self):
        assert to_dict(fitted().at_horizon(365))["hash"] == to_dict(fitted())["hash"]

    def test_a_time_before_the_first_event_has_no_score(self):
        view = fitted().at_horizon(0.0)
        assert view.target.mean(np.array([0.3])).tolist() == [1.0]
        with pytest.raises(InputError, match="before the first event"):
            view.target.score_for(0.9)


class TestWords:
    def test_the_summary(self):
        text = fitted().summary()
        assert "RPTE model: logarithm of the hazard of died relative to the baseline" in text
        events = int(trial()["died"].sum())
        assert f"baseline: {events} events until 730 days, ties 'efron'" in text
        assert "mean" not in text
        assert "event fraction" in text

    def test_the_summary_of_strata(self):
        text = fitted(strata="centre").summary()
        assert "baseline, one for each of the strata north, south: " in text

    def test_the_rules(self):
        names, found = fitted().rule_table()
        assert names[-5:-2] == ["event_fraction", "coefficient", "step"]
        assert names[-2:] == ["effect_per_step", "hazard_ratio"]
        for *_, fraction, _, _, effect, ratio in found:
            assert 0.0 <= fraction <= 1.0
            assert ratio == pytest.approx(np.exp(effect))

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("days", "365 days"),
            ("Months", "365 Months"),
            ("futime", "futime 365"),
            (None, "time 365"),
        ],
    )
    def test_a_time(self, name, said):
        assert SurvivalTarget(fitted().loss, time=name).when(365.0) == said

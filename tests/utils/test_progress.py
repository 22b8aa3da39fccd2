"""How far a fit is, said to a callback; stopped by it, by the clock, or by an interrupt."""

import threading
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_validate

import rpte.utils.progress as module
from fit_tables import make_case, mixed_case
from rpte import Cancelled, InputError, Limits, Progress, RPTEClassifier, RPTEWarning, load
from rpte.check import rpte_check
from rpte.fit.refit import refit
from rpte.model.file import to_dict
from rpte.report.contents import report_contents
from rpte.report.html import render
from searches import call_large

SMALL = make_case(4, ("number", "few", "two"), 70, clear=True)
MIXED = mixed_case(100)
EASY = {"cv": 2, "l1_ratio": 1.0, "budget": 20, "max_trees": 2}  # few folds and paths, for speed
WAYS = {
    "default": {},
    "free shapes": {"shapes": "free"},
    "two shares": {"l1_ratio": None},
    "strict": {"ownership": "strict"},
    "patterns": {"vocabulary": "hug", "budget": 20},
    "budget": {"max_inspection_units": 2},
    "monotone": {"limits": Limits(monotone={"age": "increasing"})},
    "given": {"l1": 0.01},
    "patterns, given": {"vocabulary": "hug", "budget": 20, "l1": "4/n"},
    "not reassigned": {"reassign": False, "ownership": "paper"},
    "sample": {},
}
GIVEN = ["given", "patterns, given"]
BASE_RATE = sorted(set(WAYS) - set(GIVEN))  # with no time at all


def classifier(way, **changes):
    return RPTEClassifier(**{**EASY, **WAYS[way], **changes})


class Clock:
    """Stands still for so many looks, then runs out."""

    def __init__(self, looks):
        self.looks, self.left = 0, looks

    def __call__(self):
        self.looks += 1
        return 0.0 if self.looks <= self.left else 1e9


@pytest.fixture
def stopped_at(monkeypatch):
    """Return a function that fits a case until the n-th look at the clock."""

    def fit(estimator, case, looks):
        clock = Clock(1 + looks)  # the first look is when the fit begins
        monkeypatch.setattr(module, "clock", clock)
        fitted = case.fit(estimator.set_params(max_fit_seconds=1))
        return fitted, clock.looks - 1

    return fit


def case_of(way, monkeypatch):
    if way == "sample":
        call_large(monkeypatch)
        return mixed_case(320)
    return MIXED


def state(fitted):
    return {name: id(value) for name, value in vars(fitted).items()}


class Teller:
    """Answers the n-th call with something, or raises it, and keeps what was said."""

    def __init__(self, calls=10**9, answer=None):
        self.said, self.calls, self.answer = [], calls, answer

    def __call__(self, now):
        self.said.append(now)
        if len(self.said) < self.calls:
            return None
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class TestTime:
    @pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
    @pytest.mark.parametrize("way", WAYS)
    def test_a_fit_that_is_stopped_anywhere_gives_a_model_that_holds(
        self, way, monkeypatch, stopped_at
    ):
        case = case_of(way, monkeypatch)
        whole, looks = stopped_at(classifier(way), case, 10**9)
        assert "stopped" not in whole.model_.training["validation"]
        assert looks >= 3
        seen, compared = set(), []
        for n in sorted({*range(0, looks, max(1, looks // 6)), 0, looks - 1}):
            fitted, _ = stopped_at(classifier(way), case, n)
            model, record = fitted.model_, fitted.model_.training
            assert all(check.holds for check in fitted.verify(case.X, case.y, case.weight))
            stopped = record["validation"]["stopped"]
            assert stopped == {
                "max_fit_seconds": 1.0, "stage": stopped["stage"], "reproducible": False
            }  # fmt: skip
            seen.add(stopped["stage"])
            assert model.audit().miu <= (WAYS[way].get("max_inspection_units") or np.inf)
            if record["selection"] is not None:
                compared.append(record["selection"]["compared"])
                self.check_frontier(fitted)
        assert compared == sorted(compared)
        assert len(seen) > 1 or seen == {"growing trees"}

    def check_frontier(self, fitted):
        """The model is among those compared, and no worse than the base rate."""
        selection = fitted.model_.training["selection"]
        if not selection["compared"]:
            return
        shown = fitted.frontier_
        chosen = shown[shown["l1"] == selection["chosen"]["l1"]]
        assert (chosen["deviance"] <= selection["null_deviance"]).all()
        for model in fitted.frontier_models_:
            assert model.training["validation"] == fitted.model_.training["validation"]

    @pytest.mark.parametrize("way", BASE_RATE)
    def test_without_any_time_the_model_is_the_base_rate(self, way, monkeypatch):
        case = case_of(way, monkeypatch)
        with pytest.warns(RPTEWarning, match="max_fit_seconds=0 was used up while mining|growing"):
            fitted = case.fit(classifier(way, max_fit_seconds=0))
        assert fitted.audit().miu == 0
        rate = np.average(case.y == fitted.classes_[1], weights=case.weight)
        assert fitted.predict_proba(case.X)[:, 1] == pytest.approx(rate, rel=1e-6)

    @pytest.mark.parametrize("way", GIVEN)
    def test_without_any_time_a_given_penalty_has_direct_terms_only(self, way):
        with pytest.warns(RPTEWarning, match="while growing trees"):
            fitted = MIXED.fit(classifier(way, max_fit_seconds=0))
        assert fitted.audit().miu > 0
        assert not any(component.trees for component in fitted.model_.components)
        assert any(c.trees for c in MIXED.fit(classifier(way)).model_.components)

    def test_a_limit_that_is_not_reached_leaves_no_trace(self):
        plain = SMALL.fit(classifier("default"))
        limited = SMALL.fit(classifier("default", max_fit_seconds=np.int64(10_000)))
        assert to_dict(limited.model_) == to_dict(plain.model_)

    def test_without_a_limit_nobody_looks_at_the_clock(self, monkeypatch):
        clock = Clock(0)
        monkeypatch.setattr(module, "clock", clock)
        SMALL.fit(classifier("default"))
        assert clock.looks == 1

    @pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
    def test_the_file_says_so_and_every_reader(self, tmp_path, stopped_at):
        fitted, _ = stopped_at(classifier("default"), SMALL, 8)
        path = tmp_path / "model.json"
        fitted.save(path)
        model = load(path)
        assert to_dict(model) == to_dict(fitted.model_)
        line = "stopped by max_fit_seconds=1 while comparing single variables: the best model"
        assert len([text for text in model.summary().splitlines() if line in text]) == 1
        assert rpte_check.main([str(path)]) == 0
        again = refit(model, SMALL.X, SMALL.y, SMALL.weight)
        assert again.training["validation"] == model.training["validation"]
        assert f"The search was {line}" in render(report_contents(model))

    def test_an_error_from_the_warning_keeps_the_fit_before(self):
        fitted = SMALL.fit(classifier("given"))
        before = state(fitted)
        fitted.max_fit_seconds = 0
        with pytest.warns(RPTEWarning):
            MIXED.fit(clone(fitted))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RPTEWarning):
                MIXED.fit(fitted)
        del before["max_fit_seconds"]
        assert before.items() <= state(fitted).items()


class TestProgress:
    @pytest.mark.parametrize("way", WAYS)
    def test_the_model_does_not_depend_on_who_watches(self, way, monkeypatch):
        case, teller = case_of(way, monkeypatch), Teller()
        watched = classifier(way).fit(case.X, case.y, case.weight, progress=teller)
        alone = case.fit(classifier(way))
        assert to_dict(watched.model_) == to_dict(alone.model_)
        pairs = zip(watched.frontier_models_, alone.frontier_models_, strict=True)
        assert all(to_dict(a) == to_dict(b) for a, b in pairs)
        self.check_said(teller.said, watched)

    def check_said(self, said, fitted):
        assert all(type(now) is Progress for now in said)
        assert all(a.share <= b.share and a.seconds <= b.seconds for a, b in pairwise(said))
        assert (said[0].stage, said[0].share, said[0].deviance) == ("reading the table", 0.0, None)
        assert said[-1].share == 1.0
        assert len({now.stage for now in said}) >= 3
        assert len({now.share for now in said}) > len(said) / 2
        if fitted.l1 == "cv" and fitted.reassign:
            shown = fitted.frontier_
            chosen = fitted.model_.training["selection"]["chosen"]
            same = [shown[key] == value for key, value in chosen.items()]
            best = shown[np.logical_and.reduce(same)]
            assert said[-1].deviance in best["deviance"].tolist() or best.empty

    def test_calls_come_from_the_thread_that_fits(self):
        threads = set()

        def callback(now):
            threads.add(threading.current_thread())

        classifier("default", n_jobs=2).fit(SMALL.X, SMALL.y, progress=callback)
        assert threads == {threading.current_thread()}

    def test_what_is_no_function_is_refused(self):
        with pytest.raises(InputError, match=r"^progress='loud'; it must be"):
            classifier("given").fit(SMALL.X, SMALL.y, progress="loud")

    def test_scikit_learn_hands_it_on(self):
        teller = Teller()
        given = {"params": {"progress": teller}, "cv": 2, "error_score": "raise"}
        cross_validate(classifier("given"), SMALL.X, SMALL.y, **given)
        assert len([now for now in teller.said if now.share == 0.0]) == 2
        with config_context(enable_metadata_routing=True):
            asked = classifier("given").set_fit_request(progress=True)
            cross_validate(asked, SMALL.X, SMALL.y, **given)
        assert len([now for now in teller.said if now.share == 0.0]) == 4


class TestCancelling:
    @pytest.mark.parametrize("way", ["default", "strict", "given", "not reassigned"])
    def test_cancelled_at_any_call_the_fit_before_stays(self, way):
        teller = Teller()
        classifier(way).fit(MIXED.X, MIXED.y, progress=teller)
        calls = len(teller.said)
        fitted, fresh = SMALL.fit(classifier(way)), classifier(way)
        before, empty = state(fitted), state(fresh)
        for n in sorted({*range(1, calls + 1, max(1, calls // 8)), calls - 1, calls}):
            estimator, was = ((fitted, before), (fresh, empty))[n % 2]
            with pytest.raises(Cancelled, match=r"^the fit was cancelled while "):
                estimator.fit(MIXED.X, MIXED.y, progress=Teller(n, False))
            assert state(estimator) == was

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), Cancelled("enough"), OSError("full")])
    def test_what_the_callback_raises_goes_through(self, error):
        fitted = SMALL.fit(classifier("given"))
        before = state(fitted)
        with pytest.raises(type(error)):
            fitted.fit(MIXED.X.to_numpy(object), MIXED.y, progress=Teller(4, error))
        assert state(fitted) == before
        assert len(fitted.predict(SMALL.X)) == 70

    @pytest.mark.parametrize("answer", [None, True, 0, "", np.True_])
    def test_only_false_cancels(self, answer):
        fitted = classifier("given").fit(SMALL.X, SMALL.y, progress=Teller(1, answer))
        assert fitted.audit().miu > 0

    def test_a_false_of_numpy_cancels(self):
        with pytest.raises(Cancelled):
            classifier("given").fit(SMALL.X, SMALL.y, progress=Teller(1, np.False_))

    def test_a_bad_table_keeps_the_fit_before(self):
        fitted = SMALL.fit(classifier("given"))
        before = state(fitted)
        with pytest.raises(InputError):
            fitted.fit(MIXED.X, np.zeros(len(MIXED.y)))
        assert state(fitted) == before

    def test_a_fit_without_names_forgets_those_of_the_fit_before(self):
        fitted = SMALL.fit(classifier("given"))
        assert "feature_names_in_" in vars(fitted)
        fitted.fit(SMALL.X[["clear"]].to_numpy(), SMALL.y)
        assert "feature_names_in_" not in vars(fitted)
        assert fitted.n_features_in_ == 1

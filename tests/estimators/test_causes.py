"""Competing risks: one structure, a hazard for each cause, incidences that add up."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from rpte import InputError, RPTESurvival, load, reason_rule
from rpte.cli import app
from rpte.model.file import from_dict, sealed_hash, to_dict
from rpte.model.model import Model
from rpte.model.outcome import find_causes, read_outcome

QUICK = {"l1": 0.03}


def made(n, seed, ties=False):
    """Return a table of which `a` raises the hazard of cause 1, `b` and `c` that of cause 2."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n).round(2),
            "b": rng.normal(size=n).round(2),
            "c": rng.choice(["u", "v", "w"], n),
            "idle": rng.normal(size=n).round(2),
        }
    )
    first = rng.exponential(1.0 / (0.5 * np.exp(0.9 * X["a"])))
    second = rng.exponential(1.0 / (0.4 * np.exp(-0.7 * X["b"] + 1.0 * (X["c"] == "w"))))
    seen = rng.uniform(0.5, 4.0, n)
    time = np.minimum(np.minimum(first, second), seen)
    status = np.where(time == seen, 0, np.where(time == first, 1, 2))
    return X, (status, np.ceil(4.0 * time) if ties else time)


X, (STATUS, TIME) = made(300, 0)
Y = STATUS, TIME


def fit(X=X, y=Y, given=None, **parameters):
    return RPTESurvival(**{**QUICK, **parameters}).fit(X, y, **(given or {}))


FITTED = fit()


def aalen_johansen(status, time, weight, at):
    """Return survival and the incidences of all causes, as the textbook has them."""
    survival, found = 1.0, np.zeros(int(status.max()))
    for moment in np.unique(time[status > 0]):
        if moment > at:
            break
        risk = weight[time >= moment].sum()
        came = [weight[(time == moment) & (status == k + 1)].sum() for k in range(len(found))]
        found = found + survival * np.array(came) / risk
        survival *= 1.0 - sum(came) / risk
    return np.array([survival, *found])


class TestKnownTruth:
    X, Y = made(2_000, 4)
    FOUND = RPTESurvival().fit(X, Y)

    def test_each_cause_has_its_variables(self):
        found = {}
        for cause in (1, 2):
            rules = self.FOUND.model_.cause(cause).rules()
            for rule in rules:
                size = found.setdefault(cause, {}).setdefault(rule.sources, 0.0)
                found[cause][rule.sources] = max(size, abs(rule.coefficient))
        assert found[1]["a",] == pytest.approx(0.9, abs=0.15)
        assert found[2]["b",] == pytest.approx(0.7, abs=0.15)
        assert found[1].get(("b",), 0.0) < 0.1
        assert found[2].get(("a",), 0.0) < 0.1
        assert found[1].get(("idle",), 0.0) < 0.1

    def test_incidences_are_those_of_the_truth(self):
        rng = np.random.default_rng(9)
        case = pd.DataFrame({"a": [1.0], "b": [-1.0], "c": ["w"], "idle": [0.0]})
        first = rng.exponential(1.0 / (0.5 * np.exp(0.9)), 200_000)
        second = rng.exponential(1.0 / (0.4 * np.exp(1.7)), 200_000)
        for time in (0.2, 0.6, 1.5):
            truth = [((first < second) & (first <= time)).mean()]
            truth.append(((second < first) & (second <= time)).mean())
            found = [self.FOUND.model_.incidence_at(case, time, k)[0, 0] for k in (1, 2)]
            assert found == pytest.approx(truth, abs=0.04)

    def test_all_claims_hold(self):
        assert all(check.holds for check in self.FOUND.verify(self.X, self.Y))

    def test_order_of_cases(self):
        scores = [self.FOUND.score(self.X, self.Y, cause=cause) for cause in (1, 2)]
        assert min(scores) > 0.68
        assert min(scores) < self.FOUND.score(self.X, self.Y) < max(scores)


class TestCurves:
    @pytest.mark.parametrize("loss", ["cox", "discrete"])
    def test_parts_add_up(self, loss):
        found = fit(loss=loss)
        parts = [found.predict_survival_function(X, return_array=True)]
        for cause in (1, 2):
            parts.append(found.predict_cumulative_incidence_function(X, cause, return_array=True))
            assert (np.diff(parts[-1], axis=1) >= 0.0).all()
        assert np.abs(sum(parts) - 1.0).max() < 1e-12
        whole = found.predict_cumulative_incidence_function(X, return_array=True)
        assert np.allclose(whole, 1.0 - parts[0], atol=1e-15)
        hazard = found.predict_cumulative_hazard_function(X, return_array=True)
        assert np.allclose(np.exp(-hazard), parts[0])

    def test_functions_are_the_arrays(self):
        times = FITTED.unique_times_
        array = FITTED.predict_cumulative_incidence_function(X[:5], 2, return_array=True)
        curves = FITTED.predict_cumulative_incidence_function(X[:5], 2)
        for row, curve in zip(array, curves, strict=True):
            assert np.array_equal(curve(times), row)
            assert curve.domain == (0.0, TIME.max())
            assert curve(0.0) == 0.0
        assert FITTED.predict_survival_function(X[:1])[0](0.0) == 1.0

    def test_median(self):
        found = FITTED.predict_median(X)
        curves = FITTED.predict_survival_function(X)
        reached = np.isfinite(found)
        assert reached.any()
        pairs = [(c, t) for c, t in zip(curves[reached], found[reached], strict=True)]
        assert all(curve(t) <= 0.5 + 1e-9 for curve, t in pairs)
        assert all(curve(t * (1.0 - 1e-9)) > 0.5 for curve, t in pairs)
        assert all(curve.y[-1] > 0.5 for curve in curves[~reached])

    def test_one_event_has_an_incidence(self):
        found = RPTESurvival(l1=0.1).fit(X, (STATUS == 1, TIME))
        part = found.predict_cumulative_incidence_function(X[:3], return_array=True)
        whole = found.predict_survival_function(X[:3], return_array=True)
        assert np.array_equal(part, 1.0 - whole)
        curve = found.predict_cumulative_incidence_function(X[:3])[0]
        assert np.array_equal(curve(found.unique_times_), part[0])
        with pytest.raises(InputError, match="the model is of one event"):
            found.predict(X, cause=1)


class TestAalenJohansen:
    """Without terms, incidences are those of the textbook."""

    NONE = {"l1": 10.0}  # noqa: RUF012

    def check(self, found, y, weight=None):
        status, time = np.asarray(y[0]), np.asarray(y[1], float)
        weight = np.ones(len(time)) if weight is None else weight
        for at in np.quantile(time, [0.1, 0.4, 0.8, 1.0]):
            truth = aalen_johansen(status, time, weight, at)
            parts = [found.model_.survival_at(X[:1], at)[0, 0]]
            parts += [found.model_.incidence_at(X[:1], at, k)[0, 0] for k in (1, 2)]
            assert parts == pytest.approx(truth, abs=1e-10)

    @pytest.mark.filterwarnings("ignore:the model is empty")
    def test_without_ties(self):
        self.check(fit(**self.NONE), Y)

    @pytest.mark.filterwarnings("ignore:the model is empty")
    def test_with_ties(self):
        tied = made(300, 0, ties=True)[1]
        self.check(fit(y=tied, ties="breslow", **self.NONE), tied)

    @pytest.mark.filterwarnings("ignore:the model is empty")
    def test_with_weights(self):
        tied, weight = made(300, 0, ties=True)[1], np.arange(300) % 3 + 0.5
        found = fit(y=tied, given={"sample_weight": weight}, ties="breslow", **self.NONE)
        self.check(found, tied, weight)

    @pytest.mark.filterwarnings("ignore:the model is empty")
    def test_on_a_grid(self):
        tied = made(300, 0, ties=True)[1]
        ends = np.unique(tied[1])
        self.check(fit(y=tied, loss="discrete", intervals=ends, **self.NONE), tied)


class TestInvariance:
    def test_labels(self):
        names = np.array(["alive", "death", "relapse"])[STATUS]
        found = fit(y=(names, TIME), censored="alive")
        assert found.model_.causes == ("death", "relapse")
        assert np.array_equal(found.predict(X), FITTED.predict(X))
        table = pd.DataFrame({"state": pd.Categorical(names), "months": TIME})
        named = fit(y=table, censored="alive")
        assert np.array_equal(named.predict(X, "relapse"), FITTED.predict(X, 2))
        assert "hazard of relapse" in str(named.explain(X[:1], cause="relapse")[0])
        assert all(check.holds for check in named.verify(X, table))
        coded = fit(y=pd.DataFrame({"months": TIME, "status": STATUS}))
        assert np.array_equal(coded.predict(X), FITTED.predict(X))

    def test_one_cause_by_name_is_a_model_of_one_event(self):
        names = np.where(STATUS == 1, "died", "alive")
        found = fit(y=(names, TIME), censored="alive")
        plain = fit(y=(STATUS == 1, TIME))
        assert isinstance(found.model_, Model)
        assert np.array_equal(found.predict(X), plain.predict(X))
        assert all(check.holds for check in found.verify(X, (names, TIME)))


class TestStructure:
    def test_no_variable_in_two_components(self):
        for policy in ("component", "separate", "strict"):
            found = fit(ownership=policy).model_
            sources = [s for component in found.components for s in component.sources]
            assert len(sources) == len(set(sources))
            assert all(check.holds for check in found.verify(X, Y)), policy

    def test_optimum_of_each_cause(self):
        """The terms of a cause are estimated as if it were fitted alone with all of them."""
        sk = pytest.importorskip("lifelines")
        found = fit(l1=1e-9, max_trees=0, vocabulary="original").model_.cause(1)
        design = pd.get_dummies(X, columns=["c"], drop_first=True, dtype=float)
        table = design.assign(time=TIME, event=STATUS == 1)
        other = sk.CoxPHFitter().fit(table, "time", "event")
        risk = design[other.params_.index] @ other.params_
        score = found.score(X)
        assert np.allclose(score, risk - risk.mean(), atol=1e-4)

    def test_strata_and_entry(self):
        where = np.where(np.arange(len(X)) % 2, "north", "south")
        since = TIME * (np.arange(len(X)) % 4) / 8
        given = {"strata": where, "entry": since}
        found = fit(given=given)
        assert all(check.holds for check in found.verify(X, Y, **given))
        north = found.model_.incidence_at(X[:2], 1.0, 1, strata=["north", "south"])
        south = found.model_.incidence_at(X[:2], 1.0, 1, strata=["south", "south"])
        assert north[0] != south[0]
        assert north[1] == south[1]


class TestFile:
    def test_a_cause_has_a_file_of_its_own(self, tmp_path):
        model = FITTED.model_.cause(2)
        model.save(tmp_path / "two.json")
        found = load(tmp_path / "two.json")
        assert np.array_equal(found.score(X), FITTED.predict(X, 2))
        assert all(check.holds for check in found.verify(X, Y))
        assert model.export("sql", tmp_path / "two.sql", X).holds
        with pytest.raises(InputError, match="must be one of"):
            found.verify(X, (STATUS == 2, TIME))

    def change(self, change):
        document = json.loads(json.dumps(to_dict(FITTED.model_)))
        change(document)
        for own in document["models"]:
            own["hash"] = sealed_hash({k: v for k, v in own.items() if k != "hash"})
        document["hash"] = sealed_hash({k: v for k, v in document.items() if k != "hash"})
        return document

    def test_a_forged_term_is_found(self):
        def forge(document):
            first = next(c["direct"][0] for c in document["models"][1]["components"] if c["direct"])
            first["scale"] *= 2.0

        model = from_dict(self.change(forge))
        assert not all(check.holds for check in model.verify(X, Y))


REFUSED = {
    "few events": ((np.where(np.arange(300) < 4, 3, STATUS), TIME), {}, "the cause 3 has 4 events"),
    "many causes": ((np.arange(300) % 12, TIME), {}, "has 11 causes, at most 10"),
    "no zero": ((STATUS + 1, TIME), {}, "events must be True or False"),
    "parts of causes": ((STATUS + 0.5, TIME), {}, "events must be True or False"),
    "names": ((STATUS.astype(str), TIME), {}, "with censored="),
    "a gap": (
        (np.where(np.arange(300) == 3, None, "x"), TIME),
        {"censored": "x"},
        r"\[3\] is miss",
    ),
    "no such name": ((np.full(300, "x"), TIME), {"censored": "y"}, "is no value of the event"),
    "two types": ((STATUS, TIME), {"censored": "alive"}, "give one type"),
}


class TestRefused:
    @pytest.mark.parametrize("name", REFUSED)
    def test_outcomes(self, name):
        y, given, match = REFUSED[name]
        with pytest.raises(InputError, match=match):
            fit(y=y, **given)

    def test_a_stratum_without_a_cause(self):
        where = np.where(STATUS == 2, "x", np.where(np.arange(300) % 2, "x", "y"))
        with pytest.raises(InputError, match="the stratum 'y' has no event of cause 2"):
            fit(given={"strata": where})

    def test_what_is_for_one_event(self, tmp_path):
        for call in (
            lambda: FITTED.export("sql", tmp_path / "x.sql"),
            lambda: FITTED.cross_validate(X, Y),
            lambda: FITTED.at(3),
            lambda: FITTED.plot("a"),
            lambda: FITTED.plot_case(X[:1]),
            lambda: FITTED.importances_,
            lambda: reason_rule(FITTED.model_, threshold=1.0),
        ):
            with pytest.raises(InputError, match=r"cause\(2\)` is|cause\(2\) is a model of one"):
                call()

    def test_no_such_cause(self):
        for cause in (None, 3):
            with pytest.raises(InputError, match=r"give cause=, one of \[1, 2\]"):
                FITTED.explain(X[:1], cause=cause)

    def test_a_status_that_training_did_not_have(self):
        with pytest.raises(InputError, match=r"is 7; it must be one of \[0, 1, 2\]"):
            FITTED.score(X, (np.where(STATUS == 1, 7, STATUS), TIME))


class TestReading:
    def test_codes(self):
        status = find_causes((np.array([0.0, 2.0, 5.0]), np.ones(3)))
        assert (status.causes, status.censored) == ((2, 5), 0)
        found = read_outcome((np.array([0, 5, 2, 5]), np.ones(4)), 4, status.of(5))
        assert found.event.tolist() == [False, True, False, True]
        assert found.status.tolist() == [0, 2, 1, 2]

    def test_plain_events_are_no_causes(self):
        for event in (STATUS == 1, (STATUS == 1).astype(int), (STATUS == 1).astype(float)):
            assert find_causes((event, TIME)) is None


class TestCommands:
    def run(self, *words):
        return CliRunner().invoke(app, [str(word) for word in words])

    def test_show_and_score(self, tmp_path):
        FITTED.save(tmp_path / "m.json")
        X.assign(status=STATUS, time=TIME).to_csv(tmp_path / "t.csv", index=False)
        shown = self.run("show", tmp_path / "m.json")
        assert shown.stdout.strip() == FITTED.model_.summary(every=True)
        told = json.loads(self.run("show", tmp_path / "m.json", "--json").stdout)
        assert told["causes"] == [1, 2]
        assert len(told["rules"]) == len(FITTED.rules_)
        out = tmp_path / "s.csv"
        self.run("score", tmp_path / "m.json", tmp_path / "t.csv", "--horizon", "1", "-o", out)
        found = pd.read_csv(out)
        assert np.allclose(found["score_cause_2"], FITTED.predict(X, 2), rtol=1e-14)
        parts = found[["survival_1", "incidence_cause_1_1", "incidence_cause_2_1"]]
        assert np.allclose(parts.sum(axis=1), 1.0)
        refused = self.run("explain", tmp_path / "m.json", tmp_path / "t.csv", "--row", 1)
        assert refused.exit_code != 0

    def test_verify_the_file_of_a_cause(self, tmp_path):
        FITTED.model_.cause(1).save(tmp_path / "one.json")
        X.assign(status=STATUS, time=TIME).to_csv(tmp_path / "t.csv", index=False)
        words = "verify", tmp_path / "one.json", tmp_path / "t.csv"
        found = self.run(*words, "--time", "time", "--event", "status")
        assert found.exit_code == 0, found.output

"""RPTESurvival: outcomes in every form, what is refused, and what may not matter to a model."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError

from data_folder import needs_data
from rpte import InputError, RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.model.file import to_dict
from survival_tables import gbsg2, made_times, tied_times

pytestmark = pytest.mark.filterwarnings("ignore:some held-out rows")  # of folds of few rows
X, (EVENT, TIME) = made_times(120, 0)
QUICK = {"l1": 0.05}


def fit(X=X, y=(EVENT, TIME), given=None, **parameters):
    return RPTESurvival(**{**QUICK, **parameters}).fit(X, y, **(given or {}))


def document(estimator):
    return to_dict(estimator.model_)


def with_cell(values, place, cell):
    """Return values of which one is another."""
    found = np.array(values, object)
    found[place] = cell
    return found


def structured(event=EVENT, time=TIME, names=("event", "time")):
    found = np.empty(len(time), [(names[0], event.dtype), (names[1], time.dtype)])
    found[names[0]], found[names[1]] = event, time
    return found


class TestForms:
    """The same outcome in any of these gives the same model."""

    FORMS = {  # noqa: RUF012
        "tuple": (EVENT, TIME),
        "lists": (EVENT.tolist(), TIME.tolist()),
        "whole numbers": (EVENT.astype(np.int8), TIME),
        "numbers": (EVENT.astype(float), TIME),
        "objects": (EVENT.astype(object), TIME.astype(object)),
        "nullable": (pd.Series(EVENT.astype(int)).astype("Int64"), pd.array(TIME, "Float64")),
        "structured": structured(),
        "time first": structured(TIME, EVENT)[["event", "time"]],
        "structured of numbers": structured(EVENT.astype(int)),
        "pandas": pd.DataFrame({"event": EVENT, "time": TIME}),
        "pandas, time first": pd.DataFrame({"time": TIME, "event": EVENT.astype(int)}),
        "polars": pl.DataFrame({"event": EVENT, "time": TIME}),
        "polars columns": (pl.Series(EVENT), pl.Series(TIME)),
        "arrow": (pa.array(EVENT), pa.array(TIME)),
    }
    MODEL = document(fit())

    @pytest.mark.parametrize("form", FORMS)
    def test_same_model(self, form):
        found = document(fit(y=self.FORMS[form]))
        assert found["components"] == self.MODEL["components"]
        assert found["target"]["baseline"] == self.MODEL["target"]["baseline"]
        assert found["data"] == self.MODEL["data"]

    def test_names_are_kept(self):
        table = pd.DataFrame({"months": TIME, "died": EVENT})
        target = fit(y=table).model_.target
        assert (target.event, target.time) == ("died", "months")
        target = fit(y=(table["died"], table["months"])).model_.target
        assert (target.event, target.time) == ("died", "months")
        target = fit(y=structured(names=("cens", "days"))).model_.target
        assert (target.event, target.time) == ("cens", "days")

    def test_as_scikit_survival_makes_it(self):
        surv = pytest.importorskip("sksurv.util").Surv.from_arrays(EVENT, TIME)
        assert document(fit(y=surv))["components"] == self.MODEL["components"]


OUTCOMES = {
    "no event": ((np.zeros(120, bool), TIME), "no row with a positive weight has an event"),
    "negative": ((EVENT, np.where(np.arange(120) == 3, -1.0, TIME)), r"\[3\] is -1.0; times must"),
    "missing": ((EVENT, with_cell(TIME, 3, None)), "the time in y contains NaN: 1 missing"),
    "infinite": ((EVENT, with_cell(TIME, 3, np.inf)), "the time in y contains infinity"),
    "text": ((EVENT, with_cell(TIME, 3, "x")), r"the time in y\[3\] is 'x'; give numbers"),
    "dates": ((EVENT, pd.to_timedelta(TIME, unit="D")), "give a number of days"),
    "status codes": ((EVENT + 1, TIME), r"the event in y\[0\] is 2; events must be True or False"),
    "status": (
        (np.where(EVENT, "died", "alive"), TIME),
        r"is 'died'; .* \(status == 'died', time\)",
    ),
    "missing event": ((with_cell(EVENT, 3, None), TIME), r"the event in y\[3\] is None"),
    "no number": ((np.where(np.arange(120) == 3, np.nan, EVENT), TIME), r"y\[3\] is nan"),
    "equal times": ((EVENT, np.ones(120)), "all times are 1; .* use RPTEClassifier"),
    "few events": ((EVENT[:9], TIME), r"the events in y have shape \(9,\), X has 120 rows"),
    "few times": ((EVENT, TIME[:9]), "X has 120 rows and the time in y has 9"),
    "none": (None, "requires y to be passed"),
    "one column": (TIME, "y is of the type ndarray; y must be a structured array"),
    "a matrix": (np.column_stack([EVENT, TIME]), "y must be a structured array"),
    "three columns": (pd.DataFrame({"a": EVENT, "b": TIME, "c": TIME}), "y has 3 columns"),
    "two events": (pd.DataFrame({"a": EVENT, "b": EVENT}), "both columns of y are True or False"),
    "two times": (pd.DataFrame({"a": TIME, "b": TIME}), "no column of y is True or False"),
    "three fields": (
        np.zeros(120, [("a", bool), ("b", float), ("c", float)]),
        r"y has the fields \['a', 'b', 'c'\]",
    ),
}
STRATA = np.array(["x", "y"])[np.arange(120) % 2]
BESIDE = {
    "entry at the time": ({"entry": TIME}, r"entry\[0\] is .* before its time: .* 120 row"),
    "entry missing": ({"entry": with_cell(TIME / 2, 3, None)}, r"entry\[3\] is nan"),
    "few entries": ({"entry": TIME[:9]}, "X has 120 rows and entry has 9"),
    "no column": ({"entry": "begin"}, "the table has no column 'begin'"),
    "no such strata": ({"strata": "clinic"}, "the table has no column 'clinic'"),
    "a stratum without events": (
        {"strata": np.where(EVENT, "x", "y")},
        "the stratum 'y' has no event, .* merge it",
    ),
    "few strata": ({"strata": STRATA[:9]}, r"strata has shape \(9,\)"),
    "missing strata": ({"strata": with_cell(STRATA, 3, None)}, r"strata\[3\] is missing"),
    "strata of two types": ({"strata": with_cell(STRATA, 3, 1)}, "strata holds the types int, str"),
    "no weight": ({"sample_weight": np.zeros(120)}, "every sample weight is zero"),
    "negative weight": (
        {"sample_weight": -np.ones(120)},
        "weights must be finite and not negative",
    ),
}
PARAMETERS = {
    "loss": ({"loss": "weibull"}, r"loss='weibull'; it must be one of \['cox', 'discrete'\]"),
    "ties": ({"ties": "exact"}, r"ties='exact'; it must be one of \['efron', 'breslow'\]"),
    "reassign": ({"reassign": False}, "reassign=False has no baseline"),
    "intervals of cox": ({"intervals": 5}, 'intervals are of the loss "discrete"'),
    "no interval": ({"loss": "discrete", "intervals": 0}, "must be from 1 to 1000"),
    "falling": ({"loss": "discrete", "intervals": [2, 1]}, "positive and rising"),
    "text": ({"loss": "discrete", "intervals": "x"}, "intervals='x'; it must be how many"),
    "one interval": (
        {"loss": "discrete", "intervals": [4.0]},
        "no interval tells hazards apart: .* give more intervals",
    ),
    "too early": ({"loss": "discrete", "intervals": [0.1]}, "an event was seen at .* later end"),
}


class TestRefused:
    @pytest.mark.parametrize("case", OUTCOMES)
    def test_outcomes(self, case):
        y, said = OUTCOMES[case]
        with pytest.raises(InputError, match=said):
            fit(y=y)

    @pytest.mark.parametrize("case", BESIDE)
    def test_what_is_given_beside(self, case):
        given, said = BESIDE[case]
        with pytest.raises(InputError, match=said):
            fit(given=given)

    @pytest.mark.parametrize("case", PARAMETERS)
    def test_parameters(self, case):
        parameters, said = PARAMETERS[case]
        with pytest.raises(InputError, match=said):
            fit(**parameters)

    def test_one_row_and_none(self):
        for n in (0, 1):
            with pytest.raises(InputError, match=f"{n} sample"):
                fit(X[:n], (EVENT[:n], TIME[:n]))

    def test_files_and_tables_of_a_cluster(self, tmp_path):
        X.to_parquet(tmp_path / "rows.parquet")
        with pytest.raises(InputError, match="reads tables in memory, risk sets need all rows"):
            fit(tmp_path / "rows.parquet")

    def test_a_table_of_nothing_but_strata(self):
        with pytest.raises(InputError, match=r"no variables beside \['clinic'\]"):
            fit(pd.DataFrame({"clinic": STRATA}), given={"strata": "clinic"})

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            RPTESurvival().predict(X)

    def test_rows_that_cannot_be_compared(self):
        with pytest.raises(InputError, match="no two rows can be compared"):
            fit().score(X, (np.zeros(120, bool), TIME))

    def test_strata_at_prediction(self):
        found = fit(given={"strata": STRATA})
        for name in ("predict_survival_function", "predict_median"):
            with pytest.raises(InputError, match="a baseline for each of 2 strata, such as 'x'"):
                getattr(found, name)(X)
        with pytest.raises(InputError, match=r"strata holds 'z'; those of the model are"):
            found.predict_survival_function(X, with_cell(STRATA, 3, "z"))
        with pytest.raises(InputError, match=r"strata has shape \(3,\)"):
            found.predict_survival_function(X, STRATA[:3])
        with pytest.raises(InputError, match="the model has one baseline for all rows"):
            fit().predict_survival_function(X, STRATA)

    @pytest.mark.parametrize("time", [100.0, -1.0, np.nan])
    def test_times_that_were_not_observed(self, time):
        found = fit()
        with pytest.raises(InputError, match="is outside of what was observed, from 0 to 2"):
            found.model_.survival_at(X, time)
        with pytest.raises(InputError, match="is outside of what was observed, from 0 to 2"):
            found.predict_survival_function(X)[0](time)

    def test_a_horizon_that_is_no_number(self):
        with pytest.raises(InputError, match="time at which survival is told"):
            fit().model_.survival_at(X, "late")

    def test_predictions_of_other_tasks(self):
        model = fit().model_
        with pytest.raises(InputError, match="predicts no class"):
            model.predict_proba(X)
        with pytest.raises(InputError, match="of times until an event survival_at"):
            model.predict_interval(X)
        with pytest.raises(InputError, match="times= is for models of a time until an event"):
            RPTEClassifier(**QUICK).fit(X, EVENT).model_.survival_at(X, 1.0)


class TestHints:
    """Who gives times and events to another estimator is told of this one."""

    def test_numbers_that_are_structured(self):
        with pytest.raises(InputError, match="fields"):
            RPTERegressor(**QUICK).fit(X, structured())


LONG, ROWS = tied_times(400, 1, entry=True, strata=True)
GIVEN = {"entry": ROWS.entry, "strata": ROWS.stratum}


class TestFit:
    def test_scores_have_the_mean_0_and_are_log_hazard_ratios(self):
        found = fit()
        assert found.predict(X).mean() == pytest.approx(0.0, abs=1e-12)
        hazard = found.predict_cumulative_hazard_function(X, return_array=True)[:, -1]
        ratio = hazard / hazard[0]
        np.testing.assert_allclose(ratio, np.exp(found.predict(X) - found.predict(X)[0]))

    def test_missing_cells_categories_and_codes(self):
        rng = np.random.default_rng(2)
        table = LONG.assign(
            a=np.where(rng.random(400) < 0.2, np.nan, LONG["a"]),
            b=np.where(rng.random(400) < 0.1, -99.0, LONG["b"]),
            kind=np.where(LONG["b"] > 0.5, "high", np.where(LONG["b"] < -0.5, None, "low")),
        )
        found = RPTESurvival(special_values={"b": [-99]}).fit(table, (ROWS.event, ROWS.time))
        assert np.isfinite(found.predict(table)).all()
        assert all(check.holds for check in found.verify(table, (ROWS.event, ROWS.time)))

    def test_a_model_without_terms_is_the_curve_of_all_rows(self):
        nonparametric = pytest.importorskip("sksurv.nonparametric")
        found = RPTESurvival(max_inspection_units=0, ties="breslow")
        found.fit(LONG, (ROWS.event, ROWS.time))
        times, hazard = nonparametric.nelson_aalen_estimator(ROWS.event, ROWS.time)
        curve = found.predict_cumulative_hazard_function(LONG[:1])[0]
        np.testing.assert_allclose(curve(times), hazard, rtol=1e-12)

    def test_splitters_of_scikit_learn(self):
        from sklearn.model_selection import KFold, StratifiedKFold

        for cv in (KFold(3), StratifiedKFold(3), 3):
            found = RPTESurvival(cv=cv).fit(LONG, (ROWS.event, ROWS.time))
            assert found.score(LONG, (ROWS.event, ROWS.time)) > 0.6

    def test_columns_that_are_named(self):
        table = LONG.assign(begin=ROWS.entry, clinic=ROWS.stratum)
        found = RPTESurvival(**QUICK).fit(
            table, (ROWS.event, ROWS.time), entry="begin", strata="clinic"
        )
        other = RPTESurvival(**QUICK).fit(LONG, (ROWS.event, ROWS.time), **GIVEN)
        assert not {"begin", "clinic"} & set(found.model_.schema.names)
        np.testing.assert_array_equal(found.predict(table), other.predict(LONG))
        curves = found.predict_survival_function(table, "clinic", return_array=True)
        expected = other.predict_survival_function(LONG, ROWS.stratum, return_array=True)
        np.testing.assert_array_equal(curves, expected)
        checks = found.verify(table, (ROWS.event, ROWS.time), entry="begin", strata="clinic")
        assert all(check.holds for check in checks)

    def test_entry_cannot_be_forgotten(self):
        found = RPTESurvival(**QUICK).fit(LONG, (ROWS.event, ROWS.time), entry=ROWS.entry)
        with pytest.raises(InputError, match="give entry= as to fit"):
            found.verify(LONG, (ROWS.event, ROWS.time))


class TestDiscrete:
    def test_given_ends(self):
        found = fit(loss="discrete", intervals=[0.5, 1.0, 2.0, 4.0])
        assert found.model_.target.grid == (0.5, 1.0, 2.0, 4.0)
        assert set(found.model_.target.baseline[0].times) <= {0.5, 1.0, 2.0, 4.0}
        assert all(check.holds for check in found.verify(X, (EVENT, TIME)))

    def test_a_number_of_intervals_with_equally_many_events(self):
        grid = fit(loss="discrete", intervals=np.int64(5)).model_.target.grid
        counts = np.bincount(np.searchsorted(grid, TIME[EVENT]))
        assert len(grid) == 5
        assert counts.max() - counts.min() <= 1

    def test_one_interval_for_each_time_where_these_are_few(self):
        time = np.ceil(TIME * 3)
        found = fit(y=(EVENT, time), loss="discrete").model_.target.grid
        assert found == tuple(np.unique(time[EVENT]))

    def test_coefficients_are_those_of_a_complementary_log_log_model_of_rows_and_intervals(self):
        """The grouped likelihood is that of a binomial model with this link (Prentice 1978)."""
        time = np.minimum(np.ceil(TIME * 2), 4.0)
        event = EVENT & (TIME * 2 <= 4.0)
        told = {"vocabulary": "original", "max_trees": 0, "l1": 1e-9}
        found = fit(y=(event, time), loss="discrete", **told)
        row, interval = np.array([(i, k) for i in range(len(time)) for k in range(int(time[i]))]).T
        came = event[row] & (interval == time[row] - 1)
        design = np.column_stack([np.eye(4)[interval], X.to_numpy()[row]])

        def loss(theta):
            u = np.exp(design @ theta)
            value = np.where(came, np.log(-np.expm1(-u)), -u).sum()
            slope = np.where(came, u / np.expm1(u), -u)
            return -value, -(slope @ design)

        peer = minimize(loss, np.zeros(7), jac=True, method="BFGS", options={"gtol": 1e-9})
        slopes = {t.sources[0]: t.coefficient for _, t in found.model_.parts()}
        np.testing.assert_allclose([slopes[name] for name in X], peer.x[-3:], atol=1e-6)


class TestKept:
    def test_curves_as_scikit_survival_has_them(self):
        found = fit()
        curve = found.predict_survival_function(X)[5]
        assert curve.domain == (0.0, TIME.max())
        assert curve(0.0) == 1.0
        np.testing.assert_array_equal(curve(curve.x), curve.y)
        table = found.predict_survival_function(X, return_array=True)
        np.testing.assert_array_equal(table[5], curve(found.unique_times_))
        assert (np.diff(table, axis=1) <= 0.0).all()

    def test_the_median_is_where_the_curve_falls_to_one_half(self):
        found = fit()
        median, curves = found.predict_median(X), found.predict_survival_function(X)
        assert np.isfinite(median).any()
        for half, curve in zip(median, curves, strict=True):
            if np.isinf(half):
                assert curve.y[-1] > 0.5
            else:
                assert curve(half) <= 0.5 < curve.y[np.searchsorted(curve.x, half) - 1]


@pytest.mark.slow(reason="fits several models with inner validation")
@needs_data
def test_a_real_table():
    table, y = gbsg2()
    found = RPTESurvival().fit(table, y)
    assert 0.69 < found.score(table, y) < 0.76
    assert all(check.holds for check in found.verify(table, y))
    assert "hazard of target" in found.summary()


@pytest.mark.parametrize("form", ["pair", "table", "made up"])
def test_the_cost_is_estimated_for_every_form_of_outcomes(form):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 80, 300)})
    died, days = rng.random(300) < 0.6, np.ceil(rng.exponential(900.0 / X["age"]))
    y = {"pair": (died, days), "table": pd.DataFrame({"died": died, "days": days})}.get(form)
    found = RPTESurvival(l1=0.05).estimate_cost(X, y)
    assert found.rows == 300
    assert found.seconds > 0

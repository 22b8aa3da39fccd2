"""What people really have: any container, odd names, odd cells, weights, groups."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, TimeSeriesSplit, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.class_weight import compute_class_weight

from data_folder import DATA, needs_data
from fit_tables import mixed_case
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.model.file import to_dict

CASE = mixed_case(150)


VALIDATED = {"cv": 2, "l1_ratio": 1.0, "max_trees": 1}  # a search with less to compare


def fit(X, y, **parameters):
    return RPTEClassifier(**{"l1": "4/n", **parameters}).fit(X, y)


@cache
def usual():
    """Return a classifier of the usual table."""
    return fit(CASE.X, CASE.y)


def document(classifier):
    return to_dict(classifier.model_)


def rows_as_dict(frame):
    """Return {name: object array} with None for missing."""
    return {
        name: np.array([None if v is None or v != v else v for v in frame[name]], object)
        for name in frame
    }


class TestContainers:
    """The same table in any of these gives the same model."""

    FRAME = CASE.X
    PLAIN = rows_as_dict(CASE.X)
    LISTS = {name: column.tolist() for name, column in PLAIN.items()}  # noqa: RUF012
    NULLABLE = {  # noqa: RUF012
        "age": "Int64", "income": "Float64", "region": "string", "smoker": "boolean",
        "noise": "Float64",
    }  # fmt: skip
    ARROW = {  # noqa: RUF012
        "age": "int64[pyarrow]", "income": "double[pyarrow]", "region": "string[pyarrow]",
        "smoker": "bool[pyarrow]", "noise": "double[pyarrow]",
    }  # fmt: skip
    FORMS = {  # noqa: RUF012
        "pandas": lambda s: s.FRAME,
        "pandas object": lambda s: pd.DataFrame(s.PLAIN),
        "pandas nullable": lambda s: s.FRAME.astype(s.NULLABLE),
        "pandas arrow": lambda s: s.FRAME.astype(s.ARROW),
        "pandas category": lambda s: s.FRAME.astype({"region": "category"}),
        "pandas other index": lambda s: s.FRAME.set_axis(range(900, 900 + len(s.FRAME))),
        "polars": lambda s: pl.DataFrame(s.LISTS),
        "polars categorical": lambda s: pl.DataFrame(s.LISTS).with_columns(
            pl.col("region").cast(pl.Categorical)
        ),
        "pyarrow": lambda s: pa.table(s.LISTS),
        "pyarrow chunks": lambda s: pa.concat_tables(
            [pa.table(s.LISTS).slice(0, 70), pa.table(s.LISTS).slice(70)]
        ),
        "dict of arrays": lambda s: s.PLAIN,
        "dict of lists": lambda s: s.LISTS,
    }

    @pytest.mark.parametrize("form", FORMS)
    def test_named_tables(self, form):
        X = self.FORMS[form](self)
        expected = usual()
        found = fit(X, CASE.y)
        assert document(found)["components"]
        assert document(found) == document(expected)
        assert found.decision_function(X).tolist() == expected.decision_function(X).tolist()
        assert found.feature_names_in_.tolist() == list(self.FRAME.columns)
        assert found.n_features_in_ == 5

    @pytest.mark.parametrize("form", ["pandas nullable", "polars", "pyarrow"])
    def test_with_inner_validation(self, form):
        one, two = (fit(X, CASE.y, l1="cv", **VALIDATED) for X in (self.FORMS[form](self), CASE.X))
        assert document(one) == document(two)

    def test_arrays_and_lists_without_names(self):
        X = CASE.X[["age", "income", "noise"]].to_numpy()
        expected = fit(X, CASE.y)
        assert not hasattr(expected, "feature_names_in_")
        for form in (X.tolist(), np.asfortranarray(X), X.astype(object), list(map(tuple, X))):
            assert document(fit(form, CASE.y)) == document(expected)
        mixed = [list(row) for row in zip(*self.LISTS.values(), strict=True)]
        objects = np.array(mixed, object)
        assert document(fit(mixed, CASE.y)) == document(fit(objects, CASE.y))
        kinds = [v.kind for v in fit(mixed, CASE.y).model_.schema.variables]
        assert kinds == ["number", "number", "category", "category", "number"]

    def test_labels_in_any_container(self):
        expected = document(usual())
        for y in (CASE.y.tolist(), pd.Series(CASE.y), pd.Series(CASE.y, dtype="category"),
                  pl.Series(CASE.y), pa.array(CASE.y), CASE.y.astype(object)):  # fmt: skip
            assert document(fit(self.FRAME, y)) == expected

    def test_sparse_tables_are_refused(self):
        from scipy.sparse import csr_array

        with pytest.raises(TypeError, match=r"Sparse data was passed.*pass X.toarray"):
            fit(csr_array(np.eye(20)), [0, 1] * 10)


class TestNames:
    def test_extra_columns_are_ignored_with_one_warning(self):
        classifier = usual()
        more = CASE.X.assign(extra=1, more="text", when=pd.Timestamp("2020-01-01"))
        for call in (classifier.predict_proba, classifier.predict, classifier.explain):
            with pytest.warns(RPTEWarning) as caught:
                found = call(more)
            assert len(caught) == 1
            assert "3 columns that the model does not know" in str(caught[0].message)
            assert "'extra', 'more', 'when'" in str(caught[0].message)
            plain = call(CASE.X)
            assert np.array_equal(found, plain) if isinstance(found, np.ndarray) else found == plain

    def test_names_that_occur_twice_are_refused(self):
        for names in (["p", "p"], [1, "1"]):
            X = CASE.X[["age", "noise"]].set_axis(names, axis=1)
            with pytest.raises(InputError, match=r"more than once: \['(p|1)'\]; rename"):
                fit(X, CASE.y)
        table = pa.table([[1.0, 2.0], [1.0, 2.0]], names=["p", "p"])
        with pytest.raises(InputError, match="more than once"):
            fit(table, [0, 1])
        classifier = fit(CASE.X[["age"]], CASE.y)
        with pytest.raises(InputError, match="more than once"):
            classifier.predict(CASE.X[["age", "noise"]].set_axis(["age", "age"], axis=1))

    @pytest.mark.parametrize("name", ["", "  "])
    def test_empty_names_are_refused(self, name):
        X = CASE.X[["age", "noise"]].set_axis(["age", name], axis=1)
        with pytest.raises(InputError, match=r"at places \[1\] have an empty name; name them"):
            fit(X, CASE.y)

    def test_an_array_for_a_named_model_is_read_by_place(self):
        classifier = usual()
        array = CASE.X.to_numpy(object)
        assert (classifier.predict_proba(array) == classifier.predict_proba(CASE.X)).all()
        with pytest.raises(ValueError, match="X has 4 features, but RPTEClassifier is expecting 5"):
            classifier.predict(array[:, :4])

    def test_names_with_signs_and_lines_in_them(self, tmp_path):
        strange = ["a <= b", 'q"uote', "line\nbreak", "ünï", "__len__"]
        X = CASE.X.set_axis(strange, axis=1)
        classifier = fit(X, CASE.y)
        classifier.save(tmp_path / "model.json")
        assert all(check.holds for check in classifier.model_.verify(X, CASE.y))


def rows_lists(frame):
    return {name: column.tolist() for name, column in rows_as_dict(frame).items()}


def with_signal(column, n=80, seed=0, labels=None):
    """Return a table with one given column beside a number that tells the label."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2 if labels is None else labels
    return {"signal": (y + rng.normal(size=n)).round(1), "odd": column}, y


class TestCells:
    @pytest.mark.parametrize(
        "kind", ["constant", "one level", "empty", "empty text", "all but one"]
    )
    def test_columns_that_say_nothing_change_nothing(self, kind):
        column = {
            "constant": np.full(80, 3.0),
            "one level": np.array(["only"] * 80, object),
            "empty": np.full(80, np.nan),
            "empty text": np.array([None] * 80, object),
            "all but one": np.array([7.0] + [np.nan] * 79),
        }[kind]
        X, y = with_signal(column)
        for parameters in (
            {},
            {"l1": "cv", **VALIDATED},
            {"conventions": "paper", "criterion": "label"},
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = fit(X, y, **parameters)
            assert {s for c in found.model_.components for s in c.sources} <= {"signal"} or (
                kind == "all but one"
            )
            assert all(check.holds for check in found.model_.verify(X, y))
            assert np.isfinite(found.decision_function(X)).all()

    def test_dates_in_place_of_numbers_are_refused_at_prediction(self):
        X, y = with_signal(np.arange(80.0))
        classifier = fit(X, y)
        when = pd.date_range("2020-01-01", periods=80)
        with pytest.raises(InputError, match="column 'odd' is a number but holds dates"):
            classifier.predict(pd.DataFrame(X | {"odd": when}))
        with pytest.raises(TypeError, match="not 'date' in column 'odd'"):
            classifier.predict(pd.DataFrame(X | {"odd": when.date}))

    def test_a_table_of_such_columns_alone_gives_the_base_rate(self):
        X = {"a": np.full(80, 1.0), "b": np.array([None] * 80, object)}
        y = np.arange(80) % 4 == 0
        with pytest.warns(RPTEWarning, match="the model is empty: .* no column that varies"):
            validated = fit(X, y, l1="cv")
        for found in (validated, fit(X, y)):
            assert found.audit().mu == 0
            np.testing.assert_allclose(found.predict_proba(X)[:, 1], 0.25)

    @pytest.mark.parametrize(
        "parameters", [{}, {"l1": "cv", **VALIDATED}, {"conventions": "paper"}]
    )
    def test_numbers_up_to_1e300_are_numbers(self, parameters):
        rng = np.random.default_rng(1)
        y = np.arange(120) % 2
        X = {
            "signal": (y + rng.normal(size=120)).round(1),
            "odd": rng.choice([-1e300, -1e299, 0.0, 1e-300, 1e300], 120) * np.where(y, 1, 0.5),
            "big": 1e300 * (y + 0.3 * rng.normal(size=120)).clip(-1, 1).round(2),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = fit(X, y, **parameters)
            score = found.decision_function(X)
        assert np.isfinite(score).all()
        assert "big" in {s for c in found.model_.components for s in c.sources}
        assert all(check.holds for check in found.model_.verify(X, y))

    @pytest.mark.parametrize("bad", [np.inf, -np.inf, 1.1e300, "1e301"])
    def test_beyond_1e300_is_refused_by_name(self, bad):
        X, y = with_signal(np.arange(80.0))
        classifier = fit(X, y)
        worse = X | {"odd": np.array([*range(77), bad, 1, 2], object if bad == "1e301" else float)}
        says = r"column 'odd' holds 1 values beyond 1e\+300 \(infinity included; first at row 77"
        if bad == "1e301":
            worse["odd"] = np.array([str(v) for v in worse["odd"]], object)
        else:  # text is a category
            with pytest.raises(InputError, match=says):
                fit(worse, y)
        with pytest.raises(InputError, match=says):
            classifier.predict(worse)

    def test_no_rows_and_one_row(self):
        X, y = with_signal(np.arange(80.0))
        for n in (0, 1):
            few = {name: column[:n] for name, column in X.items()}
            with pytest.raises(
                ValueError, match=rf"Found array with {n} sample\(s\).*minimum of 2"
            ):
                fit(few, y[:n])
        classifier = fit(X, y)
        one = {name: column[:1] for name, column in X.items()}
        assert classifier.predict_proba(one).shape == (1, 2)
        assert classifier.predict_proba(one)[0, 1] == classifier.predict_proba(X)[0, 1]
        with pytest.raises(ValueError, match="0 sample"):
            classifier.predict({name: column[:0] for name, column in X.items()})

    def test_two_rows_are_enough_to_say_the_base_rate(self):
        with (
            pytest.warns(RPTEWarning, match="the model is the base rate alone"),
            pytest.warns(RPTEWarning, match="2 of 2 classes with fewer than 5 rows"),
        ):
            found = RPTEClassifier().fit({"x": [0.0, 1.0]}, [0, 1])
        assert found.predict_proba({"x": [0.0, 1.0]})[:, 1].tolist() == [0.5, 0.5]

    @pytest.mark.slow(reason="a table of ten thousand columns")
    def test_ten_thousand_columns_and_fifty_rows(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 10_000)).round(2)
        y = (X[:, 4321] > 0).astype(int)
        found = fit(X, y)
        assert "x4321" in {s for c in found.model_.components for s in c.sources}
        assert all(check.holds for check in found.model_.verify(X, y))

    def test_a_hundred_thousand_levels(self):
        """Every level is rare but two; those two tell the label."""
        rng = np.random.default_rng(0)
        n = 100_000
        level = np.array([f"level {i}" for i in range(n)], object)
        common = rng.random(n) < 0.3
        level[common] = np.where(rng.random(common.sum()) < 0.5, "p", "q")
        y = np.where(common, level == "p", rng.random(n) < 0.5).astype(int)
        found = fit({"level": level}, y, max_trees=2)
        variable = found.model_.schema["level"]
        assert variable.levels == ("p", "q", "(other)")
        assert found.audit().miu <= 10
        p, q = found.predict_proba({"level": ["p", "q"]})[:, 1]
        assert p > 0.95 > 0.05 > q
        assert len(str(document(found))) < 50_000


class TestFlags:
    def test_missing_where_training_had_none_is_flagged(self):
        classifier = usual()
        row = CASE.X.dropna().head(1)
        assert classifier.explain(row)[0].flags == ()
        gone = classifier.explain(row.assign(age=np.nan))[0]
        assert gone.flags == ("age is missing, which it never was in training",)
        assert gone.inputs["age"] is None
        assert gone.flags[0] in str(gone)
        known = classifier.explain(row.assign(income=np.nan))[0]
        assert known.flags == ()  # training had such rows

    def test_missing_in_rows_without_weight_does_not_count_as_known(self):
        X = CASE.X.copy()
        X.loc[:9, "age"] = np.nan
        weight = np.where(np.arange(len(X)) < 10, 0.0, 1.0)
        classifier = RPTEClassifier(l1="4/n").fit(X, CASE.y, sample_weight=weight)
        assert classifier.explain(X.head(1))[0].flags[0].startswith("age is missing")

    def test_levels_never_seen_are_flagged_and_score_as_no_level(self):
        classifier = usual()
        row = CASE.X.dropna().head(1)
        explained = classifier.explain(row.assign(region="atlantis"))[0]
        assert explained.flags == ("region holds a level that was not seen in training",)
        total = explained.intercept
        for component in explained.components:
            total += component.value
        assert total == explained.score

    def test_several_flags_at_once(self):
        classifier = usual()
        row = CASE.X.dropna().head(1).assign(age=np.nan, smoker=None, region="atlantis")
        flags = classifier.explain(row)[0].flags
        assert [flag.split()[0] for flag in flags] == ["age", "region", "smoker"]


CONFIGURATIONS = {
    "default": VALIDATED,
    "4/n": {"l1": "4/n"},
    "published": {"l1": "4/n", "criterion": "label", "conventions": "paper", "ownership": "paper"},
    "lookahead": {"l1": "4/n", "lookahead": True},
}
every_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)
NO_EFFECT = pytest.mark.filterwarnings("ignore:groups are kept together")


class TestWeights:
    """Integer weights are repeated rows, zero is an absent row, also by class and in groups."""

    WHOLE = np.random.default_rng(0).integers(0, 4, len(CASE.y))

    @every_configuration
    @pytest.mark.parametrize("class_weight", ["balanced", {"sick": 3.0, "healthy": 0.5}])
    def test_whole_weights_are_repeated_rows(self, name, class_weight):
        rows = np.repeat(np.arange(len(CASE.y)), self.WHOLE)
        make = {**CONFIGURATIONS[name], "class_weight": class_weight}
        weighted = RPTEClassifier(**make).fit(CASE.X, CASE.y, sample_weight=self.WHOLE)
        repeated = RPTEClassifier(**make).fit(CASE.X.iloc[rows], CASE.y[rows])
        assert document(weighted)["components"]
        assert document(weighted) == document(repeated)
        checks = weighted.model_.verify(CASE.X, CASE.y, self.WHOLE)
        assert [check for check in checks if not check.holds] == []

    @every_configuration
    def test_a_weight_of_zero_is_an_absent_row(self, name):
        """Where classes are balanced; elsewhere test_properties tries it."""
        kept = np.arange(len(CASE.y)) % 3 > 0
        X = CASE.X.copy()
        X.loc[~kept, "region"] = "only here"
        X.loc[~kept, "age"] = np.nan
        weight = np.where(kept, 1.5, 0.0)
        make = {**CONFIGURATIONS[name], "class_weight": "balanced"}
        zero = RPTEClassifier(**make).fit(X, CASE.y, sample_weight=weight)
        absent = RPTEClassifier(**make).fit(X[kept], CASE.y[kept], sample_weight=weight[kept])
        assert document(zero) == document(absent)
        assert "only here" not in zero.model_.schema["region"].levels

    @every_configuration
    def test_class_weights_are_sample_weights(self, name):
        factors = {"sick": 2.5, "healthy": 0.75}
        by_class = RPTEClassifier(class_weight=factors, **CONFIGURATIONS[name])
        by_class.fit(CASE.X, CASE.y, sample_weight=CASE.weight)
        own = CASE.weight * np.where(CASE.y == "sick", 2.5, 0.75)
        by_row = RPTEClassifier(**CONFIGURATIONS[name]).fit(CASE.X, CASE.y, sample_weight=own)
        one, two = document(by_class), document(by_row)
        assert one["components"] == two["components"]
        assert one["intercept"] == two["intercept"]
        assert one["training"]["class_factors"] == [0.75, 2.5]
        checks = by_class.model_.verify(CASE.X, CASE.y, CASE.weight)
        assert [check for check in checks if not check.holds] == []
        assert by_class.model_.training["rows"] == pytest.approx(own.sum())

    def test_balanced_gives_both_classes_the_same_weight(self):
        y = np.where(np.arange(len(CASE.y)) % 5 == 0, "sick", "healthy")
        model = fit(CASE.X, y, class_weight="balanced").model_
        balanced = model.training
        expected = compute_class_weight("balanced", classes=np.unique(y), y=y)
        assert balanced["class_factors"] == pytest.approx(expected.tolist())
        assert model.target.total == pytest.approx(balanced["rows"] / 2)
        assert balanced["rows"] == pytest.approx(len(y))

    def test_a_class_that_is_not_named_keeps_its_weight(self):
        found = fit(CASE.X, CASE.y, class_weight={"sick": 2})
        assert found.model_.training["class_factors"] == [1.0, 2.0]

    @pytest.mark.parametrize(
        ("class_weight", "says"),
        [
            ("even", "class_weight='even'; it must be None, 'balanced' or a mapping"),
            ([1, 2], "it must be None, 'balanced' or a mapping"),
            ({"ill": 2}, "'ill' is not a class, the classes are"),
            ({"sick": -1}, "weights must be finite and not negative"),
            ({"sick": "2"}, "weights must be finite and not negative"),
            ({"sick": 0}, "only one class has rows with a positive weight"),
        ],
    )
    def test_bad_class_weights_are_refused(self, class_weight, says):
        with pytest.raises(InputError, match=says):
            fit(CASE.X, CASE.y, class_weight=class_weight)

    def test_weights_that_leave_one_class_are_refused(self):
        for balanced in (None, "balanced"):
            with pytest.raises(InputError, match="only one class has rows"):
                RPTEClassifier(class_weight=balanced).fit(
                    CASE.X, CASE.y, sample_weight=(CASE.y == "sick").astype(float)
                )

    @NO_EFFECT
    @pytest.mark.parametrize("name", ["default", "4/n"])
    def test_weights_and_groups_together(self, name):
        """A repeated row is in the group of the row that it repeats."""
        groups = np.random.default_rng(1).integers(0, 30, len(CASE.y))
        rows = np.repeat(np.arange(len(CASE.y)), self.WHOLE)
        make = CONFIGURATIONS[name]
        weighted = RPTEClassifier(**make).fit(CASE.X, CASE.y, self.WHOLE, groups)
        repeated = RPTEClassifier(**make).fit(CASE.X.iloc[rows], CASE.y[rows], None, groups[rows])
        assert document(weighted) == document(repeated)

    @pytest.mark.parametrize("step", [0.5, 3.0])
    def test_another_unit_of_weight_changes_only_counts(self, step):
        """With a penalty that is told, the optimum does not know the unit."""
        make = {"l1": 0.02, "max_trees": 0, "vocabulary": "original", "min_samples_leaf": 1}
        one = RPTEClassifier(**make).fit(CASE.X, CASE.y, np.ones(len(CASE.y)))
        two = RPTEClassifier(**make).fit(CASE.X, CASE.y, np.full(len(CASE.y), step))
        np.testing.assert_allclose(
            one.decision_function(CASE.X), two.decision_function(CASE.X), atol=0.05
        )
        assert two.model_.training["rows"] == step * one.model_.training["rows"]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Recorder(RPTEClassifier):
    """Keeps what `fit` was given."""

    seen = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None, groups=None):
        Recorder.seen.append((len(X), sample_weight, groups))
        return super().fit(X, y, sample_weight, groups)


class TestGroupsAndSplitters:
    GROUPS = np.random.default_rng(2).integers(0, 25, len(CASE.y))

    def test_groups_and_splitters_change_what_is_selected(self):
        def points(**given):
            cv = given.pop("cv", 2)
            found = RPTEClassifier(**{**VALIDATED, "cv": cv}).fit(CASE.X, CASE.y, **given)
            return found.model_.training["selection"]["frontier"]

        plain = points()
        assert points(groups=self.GROUPS) != plain
        assert points(cv=3) != plain
        assert points(cv=TimeSeriesSplit(3)) != plain
        assert points(cv=GroupKFold(4), groups=self.GROUPS) != plain
        one_each = np.arange(len(CASE.y))
        assert points(groups=one_each) != points(groups=self.GROUPS)

    @NO_EFFECT
    def test_routing_through_a_pipeline_into_cross_validation(self, routing):
        Recorder.seen.clear()
        final = Recorder(l1="4/n").set_fit_request(sample_weight=True, groups=True)
        pipe = Pipeline([("same", FunctionTransformer()), ("rpte", final)])
        weight = np.arange(len(CASE.y)) % 3 + 1.0
        found = cross_validate(
            pipe,
            CASE.X,
            CASE.y,
            cv=GroupKFold(4),
            params={"sample_weight": weight, "groups": self.GROUPS},
            scoring=get_scorer("neg_log_loss").set_score_request(sample_weight=True),
            return_estimator=True,
        )
        assert np.isfinite(found["test_score"]).all()
        splits = GroupKFold(4).split(CASE.X, CASE.y, self.GROUPS)
        for (train, _), (n, given, groups) in zip(splits, Recorder.seen, strict=True):
            assert n == len(train)
            assert (given == weight[train]).all()
            assert (groups == self.GROUPS[train]).all()
        train, _ = next(GroupKFold(4).split(CASE.X, CASE.y, self.GROUPS))
        by_hand = RPTEClassifier(l1="4/n").fit(CASE.X.iloc[train], CASE.y[train], weight[train])
        assert (
            document(found["estimator"][0]["rpte"])["components"]
            == (document(by_hand)["components"])
        )

    def test_what_is_not_requested_is_not_routed(self, routing):
        pipe, params = Pipeline([("rpte", RPTEClassifier(l1="4/n"))]), {"groups": self.GROUPS}
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="groups"):
            cross_validate(pipe, CASE.X, CASE.y, cv=3, params=params, error_score="raise")


@needs_data
@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
class TestStoredTables:
    """A few real tables, straight from read_csv; benchmarks/panel_smoke.py has them all."""

    TABLES = ("breast_cancer_ljubljana", "postoperative_uci", "hepatitis_uci")

    def read(self, name):
        frame = pd.read_csv(DATA / "panel" / f"{name}.csv")
        return frame, frame.pop("target").to_numpy()

    @pytest.mark.parametrize("name", TABLES)
    def test_strings_and_gaps_read_the_same_in_every_container(self, name):
        frame, y = self.read(name)
        expected = document(fit(frame, y))
        for form in (
            rows_as_dict(frame),
            pl.DataFrame(rows_lists(frame)),
            pa.table(rows_lists(frame)),
            frame.convert_dtypes(),
            frame.convert_dtypes(dtype_backend="pyarrow"),
        ):
            assert document(fit(form, y)) == expected

    @pytest.mark.parametrize("name", TABLES)
    def test_defaults_fit_and_every_claim_holds(self, name):
        frame, y = self.read(name)
        model = RPTEClassifier().fit(frame, y).model_
        assert [check for check in model.verify(frame, y) if not check.holds] == []


class TestWhatNewcomersTry:
    def test_a_model_needs_only_the_columns_that_it_reads(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"used": rng.normal(size=200), "idle": rng.normal(size=200)})
        y = (X["used"] > 0).astype(int)
        clf = RPTEClassifier(limits={"linear_only": ["used"]}, l1=0.3).fit(X, y)
        assert {s for c in clf.model_.components for s in c.sources} == {"used"}
        alone = clf.model_.predict_proba({"used": X["used"]})
        assert (alone == clf.predict_proba(X)).all()
        with pytest.raises(InputError, match=r"lacks 1 of the 2 columns .*\['idle'\]"):
            clf.predict_proba(X[["used"]])

    def test_mistakes_are_met_with_a_remedy(self):
        X = pd.DataFrame({"Gender": ["m", "f"] * 20, "age": np.arange(40.0)})
        y = np.arange(40) % 2
        with pytest.raises(InputError, match="did you mean 'Gender'"):
            RPTEClassifier(limits={"exclude": ["Gendr"]}).fit(X, y)
        with pytest.raises(InputError, match="the table is in files, so name the column"):
            RPTEClassifier().fit("table.csv", y)
        with pytest.raises(InputError, match="mixes labels of the types"):
            RPTEClassifier().fit(X, np.array([1, "Y"] * 20, dtype=object))
        with pytest.raises(TypeError, match="column 'k'"):
            RPTEClassifier().fit(X.assign(k=[[1]] * 40), y)
        with pytest.raises(InputError, match="missing already"):
            RPTEClassifier(special_values={"age": [np.nan, -9]}).fit(X, y)
        clf = RPTEClassifier(l1="4/n").fit(X, y)
        with pytest.raises(InputError, match="single values; give lists"):
            clf.predict(X.iloc[0].to_dict())
        with pytest.raises(InputError, match=r"X\.iloc\[\[0\]\]"):
            clf.predict(X.iloc[0])
        with pytest.raises(FileNotFoundError, match="make it first"):
            clf.save("no/such/folder/model.json")

    def test_the_summary_tells_of_limits_and_class_weights(self):
        X = pd.DataFrame({"age": np.arange(60.0), "x": np.tile([0.0, 1.0, 2.0], 20)})
        y = (np.arange(60) > 40).astype(int)
        limits = {"monotone": {"age": "increasing"}, "exclude": ["x"]}
        clf = RPTEClassifier(limits=limits, class_weight="balanced", l1="4/n").fit(X, y)
        text = clf.summary()
        assert "limit: increasing in age" in text
        assert "limit: exclude ['x']" in text
        assert "n and rate count these weights" in text
        assert all(check.holds for check in clf.verify(X, y))

"""The estimator: parameters, labels, tables, and scikit-learn tools."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from fit_tables import mixed_case
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.fit.structure_learner import StructureLearner
from rpte.model.file import to_dict

CASE = mixed_case()


def small(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(2)
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value", "rule"),
        [
            ("ownership", "mine", "one of ['component', 'strict', 'separate', 'paper']"),
            ("vocabulary", None, "one of ['shapes', 'hug', 'frequent', 'original']"),
            ("criterion", "gini", "one of ['newton', 'label']"),
            ("conventions", "theirs", "one of ['ours', 'paper']"),
            ("pattern_order", 3, "one of [1, 2]"),
            ("pattern_order", True, "one of [1, 2]"),
            ("max_component_sources", 0, "a whole number from 1"),
            ("budget", -1, "a whole number from 0"),
            ("budget", 1.5, "a whole number from 0"),
            ("max_trees", None, "a whole number from 0"),
            ("max_leaves", 1, "a whole number from 2"),
            ("max_depth", 0, "a whole number from 1"),
            ("max_depth", True, "a whole number from 1"),
            ("min_gain", -0.1, "a number in [0, inf]"),
            ("min_gain", float("nan"), "a number in [0, inf]"),
            ("min_samples_leaf", 0, "a number in [1, inf]"),
            ("leaf_ridge", "1", "a number in [0, inf]"),
            ("learning_rate", 0, "a number in [1e-06, 1]"),
            ("learning_rate", 1.1, "a number in [1e-06, 1]"),
            ("l1_ratio", 0.0, "a number in [0.001, 1]"),
            ("audit_price", -0.1, "a number in [0, 1]"),
            ("audit_price", None, "a number in [0, 1]"),
            ("max_inspection_units", -1, "a whole number from 0"),
            ("max_inspection_units", 2.5, "a whole number from 0"),
            ("lookahead", 1, "True or False"),
            ("reassign", "no", "True or False"),
            ("l1", "aic", "'cv', '4/n' or a positive number"),
            ("l1", 0.0, "'cv', '4/n' or a positive number"),
            ("l1", float("inf"), "'cv', '4/n' or a positive number"),
            ("l1", True, "'cv', '4/n' or a positive number"),
            ("n_jobs", 0, "None, -1 or a whole number from 1"),
            ("n_jobs", -2, "None, -1 or a whole number from 1"),
            ("n_jobs", 1.0, "None, -1 or a whole number from 1"),
        ],
    )
    def test_a_bad_value_is_refused_with_its_rule(self, name, value, rule):
        with pytest.raises(InputError) as caught:
            RPTEClassifier(**{name: value}).fit(*small())
        assert str(caught.value).startswith(f"{name}={value!r}; it must be ")
        assert rule in str(caught.value)

    def test_every_parameter_can_be_refused(self):
        """Nothing that __init__ takes escapes the checks, but for `positive`, a label."""
        for name in set(RPTEClassifier().get_params()) - {"positive"}:
            with pytest.raises(InputError, match=f"^{name}="):
                RPTEClassifier(**{name: "nonsense"}).fit(*small())

    def test_numpy_scalars_are_numbers(self):
        X, y = small()
        same = {"budget": np.int64(5), "l1": np.float64(0.05), "min_samples_leaf": np.int32(4)}
        model = RPTEClassifier(**same).fit(X, y).model_
        plain = {name: value.item() for name, value in same.items()}
        assert to_dict(model) == to_dict(RPTEClassifier(**plain).fit(X, y).model_)
        assert type(model.settings["budget"]) is int

    def test_the_defaults_are_documented(self):
        for name, parameter in inspect.signature(RPTEClassifier).parameters.items():
            assert parameter.kind is parameter.KEYWORD_ONLY
            assert name in RPTEClassifier.__doc__

    def test_the_published_configuration(self):
        signature = inspect.signature(RPTEClassifier.paper)
        named = {n: p.default for n, p in signature.parameters.items() if n != "changes"}
        assert named == {"pattern_order": 2, "budget": 100, "min_gain": 0.001, "ownership": "paper"}
        found = RPTEClassifier.paper(pattern_order=1, budget=50, min_gain=0.01).get_params()
        changed = {k: v for k, v in found.items() if v != RPTEClassifier().get_params()[k]}
        assert changed == {
            "vocabulary": "hug",
            "pattern_order": 1,
            "budget": 50,
            "min_gain": 0.01,
            "ownership": "paper",
            "criterion": "label",
            "max_leaves": 12,
            "max_depth": 8,
            "l1": "4/n",
            "l1_ratio": 1.0,
            "conventions": "paper",
        }
        assert RPTEClassifier.paper(l1=0.5, n_jobs=2).get_params()["l1"] == 0.5


class TestLabels:
    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([1] * 60, "y holds one class only, 1"),
            (["a"] * 60, "y holds one class only, 'a'"),
            ([0.0, 1.0, np.nan] * 20, r"NaN: 20 missing label\(s\), first at row 2"),
            (["a", "b", None] * 20, r"20 missing label\(s\), first at row 2"),
            ([0, 1] * 29, "X has 60 rows and y has 58"),
            (None, "y is None"),
        ],
    )
    def test_other_labels_are_refused(self, labels, message):
        labels = labels if labels is None else np.array(labels, object if None in labels else None)
        with pytest.raises(ValueError, match=message):
            RPTEClassifier().fit(small()[0], labels)

    def test_positive_names_a_class(self):
        X, y = small()
        assert RPTEClassifier(l1=0.05, positive=0).fit(X, y).model_.positive == 0
        with pytest.raises(InputError, match=r"positive='sick' is not a class; .* \[0, 1\]"):
            RPTEClassifier(positive="sick").fit(X, y)


class TestTables:
    def test_one_case_of_a_class_gives_the_base_rate_and_a_warning(self):
        X, y = small()
        y = np.where(np.arange(60) == 5, 1, 0)
        few = pytest.warns(RPTEWarning, match=r"1 of 2 classes with fewer than 5 rows \(1 1\)")
        with few, pytest.warns(RPTEWarning, match=r"both classes \(1 row"):
            classifier = RPTEClassifier().fit(X, y)
        assert classifier.audit().mu == 0
        np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], 1 / 60)


class TestFit:
    def test_without_reassignment_the_score_is_that_of_stage_2(self):
        """F0 + the sum of eta times Newton leaf values, boosted here by hand over the trees."""
        classifier = CASE.fit(RPTEClassifier(reassign=False, max_component_sources=2))
        model, X = classifier.model_, CASE.X
        y, weight = (CASE.y == "sick").astype(float), CASE.weight
        rounds = [r for r in model.training["rounds"] if r["accepted"]]
        trees = [tree for component in model.components for tree in component.trees]
        assert len(trees) == len(rounds) >= 2
        assert all(not component.direct for component in model.components)
        assert model.training["objective"] is None
        rate = np.average(y, weights=weight)
        score = np.full(len(y), np.log(rate / (1 - rate)))
        assert model.intercept == pytest.approx(score[0], abs=1e-12)
        reached = {tree.name: tree.tree.apply(model.read(X)) for tree in trees}
        added = {tree.name: tree.contribution(model.read(X)) for tree in trees}
        for step in [r["step"] for r in rounds]:  # the file has trees by component: find the next
            wanted = {
                n: step * newton_values(leaf, y, weight, score) for n, leaf in reached.items()
            }
            (name,) = [n for n in reached if np.allclose(added[n], wanted[n], atol=1e-12)]
            score = score + added[name]
            del reached[name]
        np.testing.assert_allclose(model.score(X), score, rtol=1e-12)

    @pytest.mark.slow(reason="fits several models with inner validation")
    @pytest.mark.filterwarnings("ignore:of rows not seen")  # a fold may miss it
    @pytest.mark.parametrize("seed", range(4))
    def test_lookahead_finds_a_parity_of_three(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, (600, 8)).astype(float)
        y = X[:, :3].sum(axis=1) % 2
        train = np.arange(600) < 400
        classifier = RPTEClassifier(lookahead=True, l1_ratio=1.0).fit(X[train], y[train])
        assert roc_auc_score(y[~train], classifier.decision_function(X[~train])) == 1.0
        whole = RPTEClassifier(lookahead=True, l1_ratio=1.0).fit(X, y)
        assert roc_auc_score(y, whole.decision_function(X)) == 1.0
        assert whole.audit().miu <= 14

    def test_the_published_configuration_reproduces_the_reference(self):
        """Breast cancer, 5 folds of seed 42: AUC .990 and MIU 46, as published."""
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        auc, miu = [], []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=42).split(X, y):
            classifier = RPTEClassifier.paper().fit(X.iloc[train], y.iloc[train])
            auc.append(roc_auc_score(y.iloc[test], classifier.decision_function(X.iloc[test])))
            miu.append(classifier.audit().miu)
        assert np.mean(auc) == pytest.approx(0.990, abs=0.005)
        assert np.mean(miu) == pytest.approx(46, abs=12)


def newton_values(leaf, y, weight, score):
    """Return the leaf value of equation (4), rho = 1, of each row."""
    p = 1 / (1 + np.exp(-score))
    gradient = np.bincount(leaf, weight * (y - p))
    hessian = np.bincount(leaf, weight * p * (1 - p))
    return (gradient / (hessian + 1.0))[leaf]


class TestValidation:
    @pytest.mark.parametrize(("shapes", "stage2"), [("free", "grow"), ("one", "without_trees")])
    def test_everything_learned_from_y_is_learned_again_in_each_fold(
        self, monkeypatch, shapes, stage2
    ):
        seen = {"mine": [], stage2: []}

        def watched(stage):
            honest = getattr(StructureLearner, stage)

            def call(learner, part, *given, **named):
                seen[stage].append(part)
                return honest(learner, part, *given, **named)

            return call

        for stage in seen:
            monkeypatch.setattr(StructureLearner, stage, watched(stage))
        X, y = small(120)
        RPTEClassifier(budget=5, shapes=shapes).fit(X, y)
        for found in seen.values():
            (whole,) = (part for part in found if part.n_rows == 120)
            parts = [part for part in found if part is not whole]
            assert len(parts) == 5
            held_out = [rows_of(whole) - rows_of(part) for part in parts]
            assert set().union(*held_out) == rows_of(whole)
            assert sum(map(len, held_out)) == 120
            for rows in held_out:
                labels = [row[-1] for row in rows]
                assert min(labels.count(0.0), labels.count(1.0)) >= 1

    @pytest.mark.slow(reason="fits several models with inner validation")
    @pytest.mark.parametrize("seed", range(3))
    def test_noise_gives_an_almost_empty_model(self, seed):
        """A vocabulary mined on all rows looks good on any fold: leaking would keep many terms."""
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 25)), rng.integers(0, 2, 80)
        mined = RPTEClassifier(vocabulary="hug", budget=30, l1_ratio=1.0, cv=5)
        assert mined.fit(X, y).audit().mu <= 2

    @pytest.mark.parametrize("seed", range(2))
    def test_noise_gives_an_almost_empty_default_model(self, seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 25)), rng.integers(0, 2, 80)
        assert RPTEClassifier().fit(X, y).audit().mu <= 2

    def test_a_signal_is_kept(self):
        X, y = small(150)
        classifier = RPTEClassifier().fit(X, y)
        assert 1 <= classifier.audit().mu <= 20
        assert classifier.score(X, y) > 0.8
        selection = classifier.model_.training["selection"]
        evaluations, chosen = selection["frontier"], selection["chosen"]
        best = min(evaluations, key=lambda evaluation: evaluation["deviance"])
        taken = next(p for p in evaluations if chosen.items() <= p.items())
        assert best["deviance"] <= taken["deviance"] <= best["deviance"] + 3 * best["error"]
        assert taken["miu"] <= best["miu"]
        assert taken["deviance"] < selection["null_deviance"]


def rows_of(table):
    cells = np.column_stack([*table.inputs.columns, table.y])
    return {tuple(row) for row in cells}


class TestLogarithms:
    """`predict_log_proba` is the logarithm of `predict_proba`, finite where that is 0."""

    @pytest.mark.parametrize("labels", [("no", "yes"), ("a", "b", "c")])
    def test_they_are_those_of_the_probabilities(self, labels):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(90, 2))
        cuts = np.quantile(X[:, 0], np.arange(1, len(labels)) / len(labels))
        y = np.array(labels)[np.digitize(X[:, 0] + 0.2 * rng.normal(size=90), cuts)]
        clf = RPTEClassifier(l1=0.02, max_trees=0).fit(X, y)
        found = clf.predict_log_proba(X)
        np.testing.assert_allclose(found, np.log(clf.predict_proba(X)), rtol=1e-12, atol=1e-15)
        far = clf.predict_log_proba([[1e6, 0.0], [-1e6, 0.0]])
        assert np.isfinite(far).all()


@pytest.mark.parametrize("name", ["column", "level", "target"])
def test_text_that_is_not_unicode_is_refused_before_the_search(name):
    """No model file could hold it."""
    half, rng = "a\ud800", np.random.default_rng(0)
    c = rng.choice(np.array([half if name == "level" else "u", "v"], object), 60)
    X = {half if name == "column" else "a": rng.normal(size=60), "c": c}
    y = pd.Series(rng.integers(0, 2, 60), name=half if name == "target" else "y")
    with pytest.raises(InputError, match=r"half of a surrogate pair.* rename it"):
        RPTEClassifier(l1=0.1).fit(X, y)


@pytest.mark.parametrize("heavy", [1e7, 1e10, 5e13])
@pytest.mark.parametrize("labels", [["no", "yes"], ["no", "perhaps", "yes"]])
def test_a_class_that_is_very_rare_has_its_base_rate(labels, heavy):
    """Its log odds are not limited to a million to one, and the model passes its own checks."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=60)})
    y = np.array(labels)[np.arange(60) % len(labels)]
    weight = np.where(np.arange(60) == 3 * len(labels), heavy, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = RPTEClassifier(l1=0.02).fit(X, y, weight)
    assert [check for check in clf.verify(X, y, weight) if not check.holds] == []
    rates = [weight[y == label].sum() / weight.sum() for label in labels]
    found = np.average(clf.predict_proba(X), axis=0, weights=weight)
    np.testing.assert_allclose(found, rates, rtol=1e-3)

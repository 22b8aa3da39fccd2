"""What holds for a fit of every task: invariances, claims, files, budgets, frontiers, time."""

from dataclasses import dataclass, field
from functools import cache
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from class_tables import flowers
from rpte import Limits, RPTEClassifier, RPTERegressor, RPTESurvival, RPTEWarning, load
from rpte.model.file import to_dict, to_text
from small_table import mixed_table
from survival_tables import tied_times

pytestmark = pytest.mark.filterwarnings("ignore:some held-out rows")  # of folds of few rows
FIXED, SEARCH = {"l1": 0.03}, {"cv": 2, "l1_ratio": 1.0, "budget": 20, "max_trees": 2}


@dataclass(frozen=True)
class Case:
    """A table, its outcome as columns, what `fit` is given beside it, and an estimator."""

    made: object
    X: pd.DataFrame
    y: pd.DataFrame
    rising: str  # a number that raises the score, which a limit may name
    given: dict = field(default_factory=dict)

    def outcome(self, y=None):
        y = self.y if y is None else y
        return y if len(y.columns) > 1 else y.iloc[:, 0]

    def fit(self, rows=None, weight=None, columns=None, **parameters):
        rows = np.arange(len(self.X)) if rows is None else rows
        given = {name: values[rows] for name, values in self.given.items()}
        if weight is not None:
            given["sample_weight"] = weight
        X = self.X.iloc[rows][list(columns or self.X)]
        made = clone(self.made).set_params(**{**FIXED, **parameters})
        return made.fit(X, self.outcome(self.y.iloc[rows]), **given)

    def checks(self, found, weight=None):
        y, given = self.outcome(), dict(self.given)
        return found.verify(self.X, y, weight, **given)


def numbers(loss):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 2)).round(2), columns=["a", "b"])
    X["group"] = rng.choice(["p", "q", "r"], 160)
    score = 0.2 + 0.6 * X["a"] - 0.8 * np.maximum(X["b"], 0) + 0.5 * (X["group"] == "q")
    X.loc[rng.random(160) < 0.1, "a"] = np.nan
    exposure = rng.uniform(0.2, 2.0, 160).round(2)
    mean = np.exp(score) * exposure
    y = {
        "squared_error": 10 * score + rng.normal(size=160),
        "poisson": rng.poisson(3 * mean).astype(float),
        "gamma": mean * rng.gamma(4.0, 0.25, 160),
        "tweedie": rng.poisson(mean) * rng.gamma(4.0, 0.25, 160),
    }[loss]
    given = {} if loss == "squared_error" else {"exposure": exposure}
    return Case(RPTERegressor(loss=loss), X, pd.DataFrame({"cost": y}), "a", given)


def times(beside=False, causes=False, **parameters):
    X, rows = tied_times(200, 1, entry=True, strata=True)
    event = rows.event * (1 + (np.arange(200) % 3 == 0)) if causes else rows.event
    y = pd.DataFrame({"event": event, "time": rows.time})
    given = {"entry": rows.entry, "strata": rows.stratum} if beside else {}
    return Case(RPTESurvival(**parameters), X, y, "a", given)


def labelled(X, y, rising, **parameters):
    return Case(RPTEClassifier(**parameters), X, pd.DataFrame({"label": np.asarray(y)}), rising)


TASKS = {
    "two classes": lambda: labelled(*mixed_table(160), "age"),
    "two classes, free shapes": lambda: labelled(*mixed_table(160), "age", shapes="free"),
    "three classes": lambda: labelled(*(part[:160] for part in flowers()), "height"),
    **{
        loss: lambda loss=loss: numbers(loss)
        for loss in ("squared_error", "poisson", "gamma", "tweedie")
    },
    "cox": times,
    "breslow": lambda: times(ties="breslow"),
    "cox, late entry and strata": lambda: times(beside=True),
    "discrete": lambda: times(loss="discrete"),
    "discrete, late entry and strata": lambda: times(beside=True, loss="discrete"),
    "causes": lambda: times(causes=True),
}
case = cache(lambda task: TASKS[task]())
each_task = pytest.mark.parametrize("task", TASKS)
SEARCHED = [task for task in TASKS if task not in ("causes", "gamma", "tweedie", "breslow")]


@cache
def fitted(task, searched=False):
    return case(task).fit(**({"l1": "cv", **SEARCH} if searched else {}))


def documents(found):
    return [to_dict(found.model_), *(to_dict(m) for m in getattr(found, "frontier_models_", ()))]


@each_task
@pytest.mark.parametrize(
    "l1", [0.03, pytest.param("cv", marks=pytest.mark.slow(reason="searches"))]
)
class TestWhatMayNotMatter:
    def changes(self, l1):
        return {"l1": l1, **(SEARCH if l1 == "cv" else {})}

    def test_the_order_of_rows(self, task, l1):
        order = np.random.default_rng(2).permutation(len(case(task).X))
        found = case(task).fit(order, **self.changes(l1))
        assert documents(found) == documents(fitted(task, l1 == "cv"))

    def test_repetition_instead_of_whole_weights(self, task, l1):
        n = len(case(task).X)
        weight = np.random.default_rng(1).integers(0, 4, n)
        weighted = case(task).fit(weight=weight.astype(float), **self.changes(l1))
        repeated = case(task).fit(np.repeat(np.arange(n), weight), **self.changes(l1))
        assert documents(weighted) == documents(repeated)
        assert case(task).checks(weighted, weight).holds

    def test_the_order_of_columns(self, task, l1):
        names = list(case(task).X)[::-1]
        found, other = case(task).fit(columns=names, **self.changes(l1)), fitted(task, l1 == "cv")
        score = found.model_.score(case(task).X[names])
        np.testing.assert_array_equal(score, other.model_.score(case(task).X))

    def test_the_number_of_threads(self, task, l1):
        found = case(task).fit(n_jobs=2, **self.changes(l1))
        assert documents(found) == documents(fitted(task, l1 == "cv"))


@each_task
def test_every_claim_holds_on_the_table_and_not_on_another(task):
    found, own = fitted(task), case(task)
    assert found.audit().miu > 0
    checks = own.checks(found)
    assert checks.holds, [check for check in checks if not check.holds]
    names = {check.name for check in checks}
    assert any("optimality" in name for name in names)
    assert ("baseline" in names) == isinstance(found, RPTESurvival)
    turned = own.outcome(own.y.iloc[::-1].reset_index(drop=True))
    if not own.given:  # a row that came late may not end before
        assert not found.verify(own.X, turned).holds


@each_task
def test_a_file_scores_bit_for_bit(task, tmp_path):
    found, X = fitted(task), case(task).X
    found.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    assert to_text(model) == to_text(found.model_)
    np.testing.assert_array_equal(model.score(X), found.model_.score(X))


BUDGETS = [(task, most) for task in TASKS for most in (0, 1, 4)]


@pytest.mark.parametrize(("task", "most"), BUDGETS)
def test_a_budget_is_kept(task, most):
    found = case(task).fit(l1="cv", max_inspection_units=most, **SEARCH)
    assert found.audit().miu <= most
    assert most < 4 or found.audit().miu > 0
    assert case(task).checks(found).holds


@pytest.mark.parametrize("task", SEARCHED)
def test_a_smaller_model_of_the_frontier(task):
    found = fitted(task, True)
    least = int(found.frontier_["miu"].min())
    small = found.at(least)
    assert small.audit().miu == least <= found.audit().miu
    assert type(small.model_) is type(found.model_)
    assert case(task).checks(small).holds


@each_task
def test_without_any_time_the_model_is_empty(task):
    with pytest.warns(RPTEWarning, match="max_fit_seconds=0 was used up"):
        found = case(task).fit(l1="cv", max_fit_seconds=0)
    assert found.audit().miu == 0
    assert case(task).checks(found).holds
    models = getattr(found.model_, "models", (found.model_,))
    assert models[-1].training["validation"]["stopped"]["stage"]


@pytest.mark.parametrize("task", SEARCHED)
def test_groups_are_kept_together(task):
    own, groups = case(task), np.arange(len(case(task).X)) // 4
    made = clone(own.made).set_params(**SEARCH)
    found, again = (
        clone(made).fit(own.X, own.outcome(), groups=names, **own.given)
        for names in (groups, groups + 100)
    )
    assert found.model_.training["validation"]["by"] == "groups"
    assert to_text(found.model_) == to_text(again.model_)


@pytest.mark.parametrize("word", ["increasing", "decreasing"])
@pytest.mark.parametrize("task", [t for t in TASKS if t not in ("three classes", "causes")])
def test_a_monotone_limit_is_kept_and_proved(task, word):
    own, name = case(task), case(task).rising
    found = own.fit(limits=Limits(monotone={name: word}), l1=0.01)
    checks = own.checks(found)
    assert checks.holds
    assert {f"monotone: {word} in {name}"} <= {check.name for check in checks}
    ends = own.X[name].min(), own.X[name].max()
    for place in range(5):
        rows = own.X.iloc[[place] * 40].assign(**{name: np.linspace(*ends, 40)})
        steps = np.diff(found.model_.score(rows))
        assert (steps >= -1e-12).all() if word == "increasing" else (steps <= 1e-12).all()


@each_task
def test_terms_have_one_name_and_variables_one_component(task):
    model = fitted(task).model_
    sources = list(chain(*(component.sources for component in model.components)))
    assert len(sources) == len(set(sources)) > 0
    rules = model.rules()
    assert len({rule.term for rule in rules}) == len(rules) == len(fitted(task).rules_)

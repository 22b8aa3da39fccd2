"""What boosted trees explain beyond the model: told where it is much, for every task."""

import numpy as np
import pandas as pd
import pytest

import rpte
from rpte import Limits, RPTEClassifier, RPTERegressor, RPTESurvival, RPTEWarning
from rpte.selection import reference

ROWS = 600


def world(task, together):
    """Return an additive estimator, and a table whose truth is additive, or a parity of two."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=["a", "b", "c", "d"])
    score = 2.0 * np.sign(X["a"] * X["b"]) if together else 1.2 * X["a"] - 0.8 * X["b"]
    score, made = score.to_numpy(), {"max_component_sources": 1, "max_trees": 0}
    if task == "classes":
        return RPTEClassifier(**made), X, np.digitize(score + rng.logistic(size=ROWS), [-1, 1])
    if task == "binary":
        return RPTEClassifier(**made), X, (rng.random(ROWS) < 1 / (1 + np.exp(-score))).astype(int)
    if task == "number":
        return RPTERegressor(**made), X, score + rng.normal(size=ROWS)
    if task == "count":
        return RPTERegressor(loss="poisson", **made), X, rng.poisson(np.exp(0.5 * score))
    event = rng.random(ROWS) < 0.7
    time = rng.exponential(np.exp(-0.5 * score)) + 0.01
    return RPTESurvival(**made), X, pd.DataFrame({"event": event, "time": time})


TASKS = ["binary", "classes", "number", "count", "survival"]


@pytest.mark.parametrize("task", TASKS)
def test_a_missed_interaction_is_told_with_its_variables(task, tmp_path):
    estimator, X, y = world(task, together=True)
    said = r"boosted trees explain \d+ % of the deviance and the best .* \d+ %; .* on [ab], [ab]\b"
    with pytest.warns(RPTEWarning, match=said):
        estimator.fit(X, y)
    found = estimator.model_.training["selection"]["reference"]
    assert found["rows"] == ROWS
    assert set(found["variables"][:2]) == {"a", "b"}
    assert found["gain"] > 3.0 * found["error"]
    assert "boosted trees explain" in estimator.summary()
    estimator.save(tmp_path / "model.json")
    assert rpte.load(tmp_path / "model.json").training == estimator.model_.training


@pytest.mark.parametrize("task", TASKS)
def test_an_additive_table_raises_no_alarm(task):
    estimator, X, y = world(task, together=False)
    estimator.fit(X, y)  # a warning would be an error
    found = estimator.model_.training["selection"]["reference"]
    assert found["rows"] == ROWS
    assert "variables" not in found
    assert "boosted trees" not in estimator.summary()


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_an_excluded_variable_is_no_part_of_it(kind):
    """An array keeps its place, so that columns can be counted off; a table does without it."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(ROWS, 3)).round(2), columns=["x0", "x1", "x2"])
    y = 2 * X.x0 + X.x1 + rng.normal(size=ROWS)
    model = RPTERegressor(limits=Limits(exclude=["x0"])).fit(kind(X), y).model_
    found = model.training["selection"]["reference"]  # a warning would be an error
    assert found["rows"] == ROWS
    assert "variables" not in found


@pytest.mark.parametrize(
    ("limits", "offered"),
    [({"interactions": []}, True), ({"exclude": ["c"]}, False), ({"penalty": {"c": 1.5}}, True)],
)
def test_fewer_limits_are_offered_where_limits_may_forbid_what_acts(limits, offered):
    estimator, X, y = world("number", together=True)
    with pytest.warns(RPTEWarning, match="boosted trees explain") as told:
        estimator.set_params(limits=Limits(**limits)).fit(X, y)
    assert ("fewer limits" in str(told[0].message)) == offered


def test_few_rows_are_not_judged():
    estimator, X, y = world("number", together=True)
    few = reference.FEWEST_ROWS - 1
    found = estimator.fit(X[:few], y[:few]).model_.training["selection"]["reference"]
    assert found == {"rows": 0}


def test_categories_special_codes_and_missing_cells_are_features():
    rng = np.random.default_rng(2)
    code = rng.choice([-9.0, 1.0, 2.0, np.nan], ROWS)
    X = pd.DataFrame({"kind": rng.choice(list("uvw"), ROWS), "code": code, "c": rng.random(ROWS)})
    y = 3.0 * ((X["kind"] == "u") ^ (X["code"] == -9.0)) + 0.3 * rng.normal(size=ROWS)
    made = {"max_component_sources": 1, "max_trees": 0, "special_values": {"code": [-9]}}
    with pytest.warns(RPTEWarning, match=r"what it misses depends on (kind, code|code, kind)\."):
        RPTERegressor(**made).fit(X, y)

"""No effect is extrapolated: what happens beyond the training data, where nobody has looked."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from fit_tables import mixed_case
from model_files import EVERY_NAME, direct, sealed, stored, write
from rpte import Limits, RPTEClassifier, RPTERegressor, RPTESurvival, RPTEWarning, load
from rpte.check import rpte_check
from rpte.columns.kinds import Level, Value, one_source
from rpte.model.file import from_dict, to_dict
from rpte.model.grid import bends, columns_on, jumps
from survival_tables import made_times

CLAIM = "no extrapolation"


def risk(score, rng):
    return rng.random(len(score)) < 1 / (1 + np.exp(-score))


def amounts(seed):
    """Return a table in which the logarithm of an amount acts, and one in which a distance does."""
    rng = np.random.default_rng(seed)
    amount, age = rng.lognormal(3, 1.2, 800).round(1), rng.normal(50, 12, 800).round()
    score = np.log(amount) - 3.0 + np.abs(age - 50) / 6 - 1.5
    return pd.DataFrame({"amount": amount, "age": age}), risk(score, rng)


def products(seed):
    """Return a table in which what one number does depends on another."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(1500, 3)).round(2), columns=["a", "b", "c"])
    both = np.maximum(X.a + 0.3, 0) * np.maximum(0.8 - X.b, 0)
    return X, risk(3 * both.to_numpy() - 2 + X.c.to_numpy(), rng)


@cache
def fitted(task, seed):
    """Return a table and the default model of it."""
    if task == "times":
        X, y = made_times(300, seed)
        return X, RPTESurvival().fit(X, y).model_
    if task == "cause":
        case = stored("causes")
        return case.X, RPTESurvival(censored="alive").fit(case.X, case.y).model_.models[0]
    if task == "labels":
        case = mixed_case(400, seed)
        return case.X, case.fit(RPTEClassifier()).model_
    X, y = (products if task == "products" else amounts)(seed)
    if task == "numbers":
        return X, RPTERegressor().fit(X, y + 0.0).model_
    if task == "counts":
        return X, RPTERegressor(loss="poisson").fit(X, y + 0.0).model_
    if task == "classes":
        return X, RPTEClassifier().fit(X, y + 2 * (X.iloc[:, 0] > X.iloc[:, 0].median())).model_
    return X, RPTEClassifier().fit(X, y).model_


def numbers_of(model):
    read = {source for component in model.components for source in component.sources}
    return [v.name for v in model.schema.variables if v.kind == "number" and v.name in read]


def printed_limits(model, name):
    """Return the least and the largest number that terms and tests of a variable print."""
    read = list(columns_on(model.components, name))
    named = {number for column, threshold in read for number in jumps(column, threshold)}
    named |= {number for column, _ in read for number in bends(column)}
    return min(named), max(named)


def moves(model, X, name, far):
    """Return by how much scores move from just beyond the printed limits to far beyond them."""
    ends = printed_limits(model, name)
    just = (np.nextafter(ends[0], -np.inf), np.nextafter(ends[1], np.inf))
    there = [ends[0] - far, ends[1] + far]
    scores = [[model.score(X.assign(**{name: float(x)})) for x in pair]
              for pair in zip(just, there, strict=True)]  # fmt: skip
    return max(float(np.abs(np.subtract(*pair)).max()) for pair in scores)


TASKS = ["labels", "times", "amounts", "products", "numbers", "counts", "classes", "cause"]


@pytest.mark.parametrize("task", TASKS)
@examples(20)
@given(seed=st.integers(0, 2), at=st.integers(0, 99), far=st.floats(1e-6, 1e280))
def test_beyond_the_printed_limits_nothing_changes(task, seed, at, far):
    X, model = fitted(task, seed)
    assert model.settings["shapes"] == "one"
    for name in numbers_of(model):
        low, high = printed_limits(model, name)
        assert X[name].min() <= low <= high <= X[name].max()
        assert moves(model, X.iloc[at : at + 40], name, far) == 0.0, (seed, name)
    assert {check.name: check.holds for check in model.verify()}[CLAIM]


def test_logarithms_distances_and_products_are_among_them():
    columns = [term.column for task in ("amounts", "products") for seed in range(3)
               for term in fitted(task, seed)[1].direct]  # fmt: skip
    formulas = {getattr(part, "formula", part.kind) for c in columns for part in one_source(c)}
    assert {"log", "distance", "clip", "hinge"} <= formulas
    assert any(len(column.sources) > 1 for column in columns)


@pytest.mark.parametrize("name", EVERY_NAME)
def test_stored_models_of_one_shape_end_inside_the_data(name):
    made = stored(name)
    models = made.document.get("models", [made.document])
    for document in models:
        model = from_dict(document)
        claimed = {check.name for check in model.verify()} >= {CLAIM}
        assert claimed == (document["settings"].get("shapes") == "one")
        for variable in numbers_of(model) if claimed else ():
            rows = made.X[:40]
            assert moves(model, rows, variable, 1e9) == 0.0


def test_a_special_code_keeps_its_own_level():
    rng = np.random.default_rng(4)
    age, coded = rng.normal(50, 12, 900).round(), rng.random(900) < 0.2
    y = risk((age - 50) / 8 + np.where(coded, 2.0, 0.0), rng)
    X = pd.DataFrame({"age": np.where(coded, 999.0, age), "other": rng.normal(size=900)})
    model = RPTEClassifier(special_values={"age": [999]}).fit(X, y).model_
    assert Level("age", ("999",)) in [term.column for term in model.direct]
    assert printed_limits(model, "age")[1] <= age.max()
    code, near, end = model.score(X.iloc[:3].assign(age=[999.0, 998.0, age.max()], other=0.0))
    assert near == end != code


def changed(change):
    _, model = fitted("amounts", 0)
    document = json.loads(json.dumps(to_dict(model)))
    change(document)
    return sealed(document)


def unlimited(document):
    column = next(t["column"] for t in direct(document) if t["column"].get("formula") == "log")
    del column["high"]


def plain(document):
    term = next(t for t in direct(document) if t["column"]["kind"] == "scale")
    term["column"] = Value(term["column"]["source"]).to_dict()


def narrow(document):
    for column in document["data"]["profile"]:
        column["extremes"] = [20.0, 30.0]


def as_it_is(document):
    pass


def wide(document):
    for column in document["data"]["profile"]:
        column["extremes"] = [-1e3, 1e5]


@pytest.mark.parametrize(
    ("change", "holds"),
    [(as_it_is, True), (wide, True), (unlimited, False), (plain, False), (narrow, False)],
)
def test_library_and_checker_find_an_effect_without_an_end(change, holds, tmp_path, capsys):
    path = write(changed(change), tmp_path)
    assert {check.name: check.holds for check in load(path).verify()}[CLAIM] == holds
    rpte_check.main([str(path)])
    verdict = next(line for line in capsys.readouterr().out.splitlines() if CLAIM in line)
    assert verdict.startswith("holds") == holds


def test_a_variable_that_is_linear_by_limit_has_a_slope_without_an_end(tmp_path, capsys):
    X, y = amounts(1)
    classifier = RPTEClassifier(limits=Limits(linear_only=["age", "amount"]))
    with pytest.warns(RPTEWarning, match="boosted trees .* allow the model more: fewer limits"):
        model = classifier.fit(X, y).model_  # age acts by its distance, which the limit forbids
    assert any(isinstance(term.column, Value) for term in model.direct)
    assert {check.name: check.holds for check in model.verify()}[CLAIM]
    assert rpte_check.main([str(write(to_dict(model), tmp_path))]) == 0
    assert f"holds  {CLAIM}" in capsys.readouterr().out

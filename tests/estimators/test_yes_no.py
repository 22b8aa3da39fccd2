"""A column of two values is yes/no, whatever its type: learned, printed, scored, changed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from effort import examples
from rpte import Actions, InputError, Limits, ModelFileError, RPTEClassifier, RPTEWarning, load
from rpte.check import rpte_check
from rpte.columns.kinds import Level, Step
from rpte.model.file import to_dict

TYPES = {
    "int8": lambda x: x.astype(np.int8),
    "float32": lambda x: x.astype(np.float32),
    "float64": lambda x: x.astype(float),
    "objects": lambda x: x.astype(object),
    "texts of numbers": lambda x: x.astype(str),
    "categories": lambda x: pd.Categorical(x),
    "bool": lambda x: x.astype(bool),
    "words": lambda x: np.where(x == 1, "yes", "no"),
}
SAME_NAMES = list(TYPES)[:6]  # the levels are called 0 and 1


def table(seed=0, n=400, gaps=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(50, 12, n).round(), "smoker": rng.integers(0, 2, n)})
    X["group"] = rng.choice([1, 2], n)
    X["dose"] = np.where(rng.random(n) < 0.5, 0.25, 0.75)
    score = 0.05 * (X["age"] - 50) + 1.4 * X["smoker"] - 0.9 * (X["group"] == 2)
    score += 1.2 * (X["dose"] > 0.5)
    if gaps:
        X["smoker"] = X["smoker"].where(rng.random(n) < 0.8)
        score = score.fillna(0.3)
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return RPTEClassifier().fit(X, y), X, y


def term_of(model, name):
    (found,) = [term for term in model.direct if term.sources == (name,)]
    return found


@examples(12)
@given(st.integers(0, 10**6), st.booleans())
def test_every_type_gives_the_same_model(seed, gaps):
    """With other names of the levels rows stand in another order: sums are equal but for that."""
    X, y = table(seed, 120, gaps)
    made = {}
    for name, cast in TYPES.items():
        cells = np.array([None] * len(X), object)
        there = X["smoker"].notna().to_numpy()
        cells[there] = list(cast(X["smoker"][there].to_numpy().astype(int)))
        column = pd.Series(cells) if gaps else pd.Series(cast(X["smoker"].to_numpy()))
        frame = X.assign(smoker=column)
        made[name] = RPTEClassifier(l1=0.01, max_trees=1).fit(frame, y)
        made[name].proba_ = made[name].predict_proba(frame)
    first = made["float64"]
    for name in TYPES:
        assert len(made[name].model_.direct) == len(first.model_.direct)
        assert made[name].audit().miu == first.audit().miu
        np.testing.assert_allclose(made[name].proba_, first.proba_, atol=1e-9)
    for name in SAME_NAMES:
        assert made[name].model_.components == first.model_.components


@pytest.mark.parametrize("name", list(TYPES))
def test_every_type_gives_the_same_search(name, fitted):
    _, X, y = fitted
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    first = RPTEClassifier(cv=splits).fit(X, y)
    frame = X.assign(smoker=TYPES[name](X["smoker"].to_numpy()))
    other = RPTEClassifier(cv=splits).fit(frame, y)
    np.testing.assert_allclose(other.predict_proba(frame), first.predict_proba(X), atol=1e-6)
    assert other.audit().miu == first.audit().miu


def test_it_is_one_condition_that_says_so(fitted):
    clf, X, y = fitted
    assert term_of(clf.model_, "smoker").column == Level("smoker", ("1",))
    assert term_of(clf.model_, "group").column == Level("group", ("2",))
    text = clf.summary(terms=True)
    assert "smoker = 1  (n=" in text
    assert "missing" not in text.replace(line_of(text, "age"), "")
    assert all(check.holds for check in clf.verify(X, y))
    assert clf.model_.rules()


def line_of(text, name):
    return next(line for line in text.splitlines() if f"  {name} " in line)


def test_missing_cells_have_a_term_only_if_training_had_some():
    X, y = table(1, gaps=True)
    y = np.where(X["smoker"].isna(), 1, y)
    model = RPTEClassifier().fit(X, y).model_
    assert {c.text for c in (t.column for t in model.direct) if c.sources == ("smoker",)} == {
        "smoker = 1",
        "smoker is missing",
    }
    assert model.schema["smoker"].has_missing
    assert not model.schema["group"].has_missing


def test_cells_are_read_as_numbers(fitted):
    clf, X, _ = fitted
    row = X.iloc[[0]].assign(smoker=1)
    for cell in (1.0, True, "1", "1.0", " 1 ", np.float32(1)):
        frame = row.assign(smoker=pd.Series([cell], row.index, object))
        assert clf.decision_function(frame) == clf.decision_function(row)
    with pytest.raises(InputError, match="'smoker' is a number but holds the text 'maybe'"):
        clf.predict(row.assign(smoker="maybe"))
    with pytest.raises(InputError, match="'group' is a number but holds the boolean True"):
        clf.predict(row.assign(group=True))


@pytest.mark.parametrize("cell", [2, 0.5, -1])
def test_any_other_number_is_an_unknown_level(fitted, cell):
    clf, X, _ = fitted
    row = X.iloc[[0]]
    with pytest.warns(RPTEWarning, match=f"training did not have: '{cell}' .1.; they count as no"):
        found = clf.decision_function(row.assign(smoker=cell))
    assert found == clf.decision_function(row.assign(smoker=0))
    wrong = X.assign(smoker=cell)
    with pytest.raises(InputError, match="most of the column: it is not what it was in training"):
        clf.predict(wrong)


def test_an_array_is_read_alike(fitted):
    clf, X, y = fitted
    found = RPTEClassifier().fit(X.to_numpy(), y)
    assert found.model_.schema["x1"].numeric
    np.testing.assert_array_equal(
        found.predict_proba(X.to_numpy()), found.predict_proba(X.to_numpy().tolist())
    )
    np.testing.assert_allclose(found.predict_proba(X.to_numpy()), clf.predict_proba(X), atol=0.05)


def test_fractions_and_limits_keep_a_number(fitted):
    """Of two fractions the step between them is the term: equal fractions are an accident."""
    clf, X, y = fitted
    assert term_of(clf.model_, "dose").column == Step("dose", 0.5)
    limits = Limits(monotone={"smoker": "increasing"}, linear_only=["group"])
    limited = RPTEClassifier(limits=limits).fit(X, y)
    assert limited.model_.schema["smoker"].kind == limited.model_.schema["group"].kind == "number"
    assert term_of(limited.model_, "smoker").column == Step("smoker", 0.5)
    assert all(check.holds for check in limited.verify(X, y))
    np.testing.assert_allclose(limited.predict_proba(X), clf.predict_proba(X), atol=0.02)


def test_the_published_configuration_keeps_numbers():
    X, y = table()
    assert RPTEClassifier.paper().fit(X, y).model_.schema["smoker"].kind == "number"


def test_trees_split_on_it():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 2, (1500, 4)), columns=list("abcd"))
    risk = np.where(X["a"] & (X["b"] | X["c"]), 0.8, 0.2)
    y = (rng.random(1500) < risk).astype(int)
    clf = RPTEClassifier().fit(X, y)
    (tree,) = clf.model_.trees
    assert set(tree.sources) == {"a", "b", "c"}
    assert "if a = " in clf.summary(terms=True)
    assert "is not 1 (or missing)" in clf.summary(terms=True)
    assert all(check.holds for check in clf.verify(X, y))


def test_what_would_have_to_change_is_the_other_value(fitted):
    clf, X, _ = fitted
    row = X[X["smoker"] == 1].iloc[[0]].assign(age=50)
    only = Actions(keep=["age", "group", "dose"])
    now = clf.predict_proba(row)[0, 1]
    found = clf.model_.counterfactuals(row, to=now - 0.05, actions=only)
    (change,) = found.answers[0].changes
    assert (change.variable, change.old, change.new) == ("smoker", 1.0, 0.0)
    for stuck in (
        replace(only, one_way={"smoker": "increase"}),
        replace(only, allowed={"smoker": [1]}),
    ):
        assert not clf.model_.counterfactuals(row, to=now - 0.05, actions=stuck).answers
    falls = replace(only, one_way={"smoker": "decrease"}, allowed={"smoker": [0, 1]})
    assert clf.model_.counterfactuals(row, to=now - 0.05, actions=falls).answers
    with pytest.raises(InputError, match=r"list levels that training had; .3. is none"):
        clf.model_.counterfactuals(row, to=0.1, actions=Actions(allowed={"smoker": [3]}))


def test_it_is_drawn_as_two_levels(fitted):
    clf, X, _ = fitted
    drawn = clf.plot("smoker", X=X)
    assert drawn.kind == "category"
    assert drawn.levels == ("0", "1")


def test_the_file_says_so_and_the_checker_reads_it(fitted, tmp_path):
    clf, X, y = fitted
    clf.save(tmp_path / "m.json")
    X.assign(y=y).to_csv(tmp_path / "x.csv", index=False)
    X.astype({"smoker": bool}).to_csv(tmp_path / "bool.csv", index=False)
    assert load(tmp_path / "m.json").schema == clf.model_.schema
    model, table = str(tmp_path / "m.json"), str(tmp_path / "x.csv")
    assert rpte_check.main([model, table, "--target", "y"]) == 0
    for name in ("x", "bool"):
        scores = str(tmp_path / "scores.csv")
        assert rpte_check.main([model, str(tmp_path / f"{name}.csv"), "--scores", scores]) == 0
        np.testing.assert_array_equal(
            pd.read_csv(scores)["score"], clf.decision_function(X.iloc[: len(X)])
        )


@pytest.mark.parametrize(
    "change",
    [
        {"levels": ["0", "2", "3"]},
        {"levels": ["1", "0"]},
        {"levels": ["0", "1.0"]},
        {"levels": ["no", "yes"]},
        {"kind": "number"},
    ],
)
def test_a_file_with_other_levels_is_refused(fitted, change, tmp_path):
    document = to_dict(fitted[0].model_)
    variable = next(v for v in document["schema"]["variables"] if v["name"] == "smoker")
    assert variable["numeric"]
    variable.update(change)
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.json")
    assert any("smoker" in fault for fault in rpte_check.sense_of_schema(document))

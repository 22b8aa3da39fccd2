"""Effects in words and as a table: what is said is what scores, from the average case."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rpte
from command_tables import run
from export_models import STORED_NAMES, stored_model
from rpte import RPTEClassifier, RPTERegressor
from rpte.columns.kinds import Hinge, Interval, Level, Scale, Step, Value
from rpte.model.effects import Sizes, own_effects, words_of
from rpte.model.parts import Component, DirectTerm
from rpte.table.schema import Schema, Variable


def additive(column, coefficient, profile, variable=None, mean=0.0, more=()):
    """Return a model of one variable with a profile, its terms as they are given."""
    model = stored_model("squared")[0]
    variable = variable or Variable(column.source, "number", (), False)
    terms = [
        DirectTerm(f"D{n}", each, size, 0.0, 1.0, 10.0, 5.0)
        for n, (each, size) in enumerate([(column, coefficient), *more], 1)
    ]
    means = {"D1": mean, **{f"D{n}": 0.0 for n in range(2, len(terms) + 1)}}
    training = {**model.training, "mean_contributions": means}
    data = {**model.data, "profile": [{"name": variable.name, **profile}]}
    parts = Component("C1", (), tuple(terms))
    schema = Schema((variable,), True)
    return replace(model, schema=schema, components=(parts,), training=training, data=data)


FULL = {"extremes": [0.0, 100.0], "equal_parts": None, "values": None, "quantiles": None}


@pytest.mark.parametrize(
    ("column", "size", "more", "said"),
    [
        (Value("x"), 0.02, (), "0 at 0, rises to +2.00 at 100"),
        (Scale("x", "clip", (20.0, 60.0)), -0.1, (), "-2.00 up to 20, falls to -6.00 at 60, flat after"),  # noqa: E501
        (Step("x", 40.0), 1.5, (), "0 up to 40, +1.50 above 40"),
        (
            Interval("x", 0.34, 0.53),
            1.5,
            (),
            "0 below 0.34, +1.50 from 0.34 below 0.53, 0 from 0.53",
        ),
        (
            Step("x", 40.0),
            1.5,
            [(Step("x", 70.0), -0.5)],
            "0 up to 40, +1.50 above 40 up to 70, +1.00 above 70",
        ),
        (
            Hinge("x", 50.0, "below"),
            -0.02,
            [(Hinge("x", 80.0, "above"), 0.1)],
            "-1.00 at 0, rises to 0 at 50, flat up to 80, rises to +2.00 at 100",
        ),
        (
            Scale("x", "clip", (0.0, 50.0)),
            0.02,
            [(Scale("x", "clip", (50.0, 100.0)), 0.1)],
            "+5.00 at 0, rises to +6.00 at 50, to +11.00 at 100",
        ),
        (
            Scale("x", "clip", (0.0, 50.0)),
            0.02,
            [(Step("x", 50.0), 1.0)],
            "0 at 0, rises to +1.00 at 50, +2.00 above 50",
        ),
    ],
)  # fmt: skip
def test_curves_in_words(column, size, more, said):
    assert words_of(additive(column, size, FULL, more=more)) == {"x": said}


def test_sizes_are_from_the_training_mean():
    assert words_of(additive(Step("x", 40.0), 1.5, FULL, mean=0.5)) == {
        "x": "-0.50 up to 40, +1.00 above 40"
    }


def test_a_slight_bend_is_left_out_and_a_clear_one_is_not():
    slight = [(Hinge("x", 50.0, "above"), 0.001)]
    assert "50" not in words_of(additive(Value("x"), 0.02, FULL, more=slight))["x"]
    clear = [(Hinge("x", 50.0, "above"), 0.02)]
    assert "+1.00 at 50" in words_of(additive(Value("x"), 0.02, FULL, more=clear))["x"]


def test_ends_of_the_range_have_few_digits_and_thresholds_all_of_theirs():
    ends = {**FULL, "extremes": [-3.768307623647706, 123456.789]}
    found = words_of(additive(Scale("x", "clip", (12.345, 100.0)), 0.01, ends))["x"]
    assert found == "+0.12 up to 12.345, rises to +1.00 at 100, flat after"
    assert (
        words_of(additive(Value("x"), 0.02, ends))["x"] == "0 at -3.768, rises to +2,469 at 123500"
    )


def test_few_values_are_points():
    values = {**FULL, "values": [1.0, 2.0, 3.0, 4.0]}
    found = words_of(additive(Step("x", 1.5), 0.4, values))["x"]
    assert found == "0 at 1, +0.40 at 2 to 4"


def test_levels_that_add_the_same_stand_together():
    variable = Variable("x", "category", ("a", "b", "c", "7"), True)
    found = words_of(additive(Level("x", ("b", "7")), 0.25, FULL, variable))["x"]
    assert found == "+0.25 for 'b' and 7, 0 for 'a', 'c' and missing"
    many = Variable("x", "category", tuple("abcdefgh"), False)
    found = words_of(additive(Level("x", ("b",)), -0.25, FULL, many))["x"]
    assert found == "-0.25 for 'b', 0 for all others"


def test_a_line_without_a_known_range_has_no_words():
    nothing = {"extremes": None, "equal_parts": None, "values": None, "quantiles": None}
    assert words_of(additive(Value("x"), 0.02, nothing)) == {}
    assert words_of(additive(Step("x", 40.0), 1.0, nothing)) == {"x": "0 up to 40, +1.00 above 40"}
    text = additive(Value("x"), 0.02, nothing).summary()
    assert "D1  x" in text  # the term, where words do not fit


@pytest.mark.parametrize(
    ("largest", "size", "said"),
    [
        (0.6, 0.004, "0"),
        (0.6, -0.6, "-0.60"),
        (0.034, 0.0034, "+0.003"),
        (23456.0, 1234.5, "+1,234"),
        (150.0, -3.2, "-3"),
        (0.0, 0.0, "0"),
    ],
)
def test_sizes_have_the_digits_that_matter(largest, size, said):
    assert Sizes(largest).text(size) == said


@pytest.mark.parametrize("name", STORED_NAMES)
def test_effects_are_those_of_the_score(name):
    """Changing one variable changes the score by the difference of its effects."""
    model, rows = stored_model(name)
    if hasattr(model, "causes") or not model.components:
        return
    base = pd.DataFrame(rows) if isinstance(rows, dict) else None
    frame = model.effects()
    assert frame["effect"].notna().all()
    known = [e.source for e in own_effects(model) if e.levels or e.corners()]
    assert list(dict.fromkeys(frame["variable"])) == known
    if base is None or len(model.models) > 1:
        return
    for source, own in frame[frame["alone"]].groupby("variable"):
        cells = [None if value == "missing" else value for value in own["value"]]
        found = []
        for cell in cells:
            row = base.iloc[[0]].astype(object).copy()
            row[source] = cell
            found.append(model.score(row)[0])
        np.testing.assert_allclose(np.diff(found), np.diff(own["effect"]), atol=1e-9)


def test_the_average_score_and_the_effects_make_the_prediction():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "k": rng.choice(list("pqr"), 600)})
    y = X["a"].clip(-1, 1) + (X["k"] == "p") + rng.normal(0, 0.3, 600)
    reg = RPTERegressor(l1=0.01, max_trees=0, max_component_sources=1).fit(X, y)
    model = reg.model_
    average = float(re.search(r"([-+.\d]+)  average score", reg.summary())[1])
    assert average == pytest.approx(reg.predict(X).mean(), abs=1e-4)
    total = np.full(5, model.intercept + sum(model.training["mean_contributions"].values()))
    for effect in own_effects(model):
        if effect.variable.kind == "number":
            total += effect.at_numbers(X[effect.source][:5].tolist())[0]
        else:
            of = dict(zip(effect.levels, effect.at_levels()[0], strict=True))
            total += np.array([of[level] for level in X[effect.source][:5]])
    np.testing.assert_allclose(total, reg.predict(X[:5]), atol=1e-9)


def test_the_same_words_everywhere(tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.integers(20, 80, 500), "smoker": rng.integers(0, 2, 500)})
    y = (rng.random(500) < 1 / (1 + np.exp(3 - 0.05 * X["age"] - X["smoker"]))).astype(int)
    clf = RPTEClassifier(l1=0.005, vocabulary="original", max_trees=0).fit(X, y)
    words = words_of(clf.model_)
    assert set(words) == {"age", "smoker"}
    clf.save(tmp_path / "m.json")
    again = rpte.load(tmp_path / "m.json")
    assert words_of(again) == words
    shown = run("show", tmp_path / "m.json", width=400).stdout
    page = clf.report().html
    for text in (clf.summary(), shown, clf._repr_html_(), page):
        assert all(
            said in text.replace("&#x27;", "'").replace("&#39;", "'") for said in words.values()
        )
    pd.testing.assert_frame_equal(clf.effects_, again.effects())
    assert "D1" not in clf.summary()
    assert "D1" in clf.summary(terms=True)

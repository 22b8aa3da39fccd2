"""Lists of explanations: tables that add up, orders, and what shap is given."""

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from effort import examples
from rpte import InputError
from rpte.model.explanations import JOINT, Explanations, ordered
from shown_models import TASKS, shown
from small_models import models, rows

ONE_SCORE = [task for task in TASKS if task not in ("several", "causes")]


def explained(task, X):
    estimator = shown(task)[0]
    return estimator.explain(X, cause=1) if task == "causes" else estimator.explain(X)


def scores(task, X):
    estimator = shown(task)[0]
    if task == "causes":
        return estimator.predict(X, cause=1)
    return estimator.model_.score(X)


def added_again(frame):
    """Add a frame of one row as the score is defined."""
    terms = frame.iloc[1:]
    subtotals = [
        reduce(add, terms["contribution"][terms["component"] == name].tolist(), 0.0)
        for name in dict.fromkeys(terms["component"])
    ]
    return reduce(add, subtotals, frame["contribution"].iloc[0])


@pytest.mark.parametrize("task", ["causes", *ONE_SCORE])
def test_a_table_in_the_defining_order_gives_the_score_to_the_last_bit(task):
    X = shown(task)[1].iloc[20:40]
    frame = explained(task, X).to_frame(order="definition")
    found = [added_again(part) for _, part in frame.groupby("row", sort=False)]
    assert found == scores(task, X).tolist()
    assert list(dict.fromkeys(frame["row"])) == X.index.tolist()


@examples(60)
@given(models(), rows())
def test_any_model_adds_up_and_sorts(model, row):
    told = model.explain(row)[0]
    assert added_again(told.to_frame(order="definition")) == told.score
    frame = told.to_frame()
    assert (frame["contribution"].iloc[1:] != 0.0).all()
    assert frame["contribution"].sum() == pytest.approx(told.score, abs=1e-9)
    sizes = [abs(each.value) for each in ordered(told.components)]
    assert sizes == sorted(sizes, reverse=True)
    for each in ordered(told.components):
        parts = [abs(part.value) for part in each.contributions]
        assert parts == sorted(parts, reverse=True)


def test_several_classes_have_the_pair_in_their_table():
    X = shown("several")[1].iloc[:6]
    told = explained("several", X)
    frame = told.to_frame(order="definition")
    score = pd.DataFrame(scores("several", X), X.index, shown("several")[0].classes_)
    for each, (row, part) in zip(told, frame.groupby("row", sort=False), strict=True):
        assert set(part["class"]) == {each.chosen}
        assert set(part["against"]) == {each.against}
        assert added_again(part) == each.difference.score
        gap = score.loc[row, each.chosen] - score.loc[row, each.against]
        assert each.difference.score == pytest.approx(gap)


def test_the_values_stand_beside_the_terms():
    X = shown("binary")[1]
    place = int(np.flatnonzero(X["income"].isna())[0])
    frame = explained("binary", X.iloc[[place]]).to_frame("definition")
    told = dict(zip(frame["variables"], frame["values"], strict=True))
    assert told["income"] == "missing"
    assert told["age"] == f"{X['age'].iloc[place]:g}"


def test_print_sorts_by_size_and_the_defining_order_is_on_request():
    found = explained("binary", shown("binary")[1])
    told = next(e for e in found if abs(e.components[0].value) < abs(e.components[1].value))
    by_size = [each.component for each in ordered(told.components)]
    assert _components(str(told)) == by_size
    assert _components(told.text("definition")) == [each.component for each in told.components]
    assert by_size[0] != told.components[0].component
    with pytest.raises(InputError, match="order='largest'; it must be 'size' or 'definition'"):
        told.text("largest")


def _components(text):
    parts = [line.split()[1] for line in text.splitlines() if not line.startswith("  " * 5)]
    return [part for part in parts if part.startswith("C") and part[1:].isdigit()]


def test_slices_are_lists_of_the_same_kind_and_reprs_are_short():
    told = explained("binary", shown("binary")[1].iloc[:12])
    assert isinstance(told[3:5], Explanations)
    assert [each.row for each in told[3:5]] == [103, 104]
    assert told[0].row == 100
    assert len(repr(told)) < 120
    assert len(repr(told[0])) < 120
    several = explained("several", shown("several")[1].iloc[:3])
    assert len(repr(several[0])) < 120


def test_rows_without_labels_are_told_by_place():
    X = shown("binary")[1].iloc[:3]
    table = {name: X[name].tolist() for name in X}
    assert [e.row for e in shown("binary")[0].model_.explain(table)] == [0, 1, 2]


@pytest.mark.parametrize("reference", [None, "mean"])
@pytest.mark.parametrize("task", ONE_SCORE)
def test_shap_values_add_up_by_variable(task, reference):
    shap = pytest.importorskip("shap")
    estimator, X, _, _ = shown(task)
    found = estimator.explain(X.head(15), reference).to_shap()
    assert isinstance(found, shap.Explanation)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, estimator.model_.score(X.head(15)), atol=1e-12)
    assert found.values.shape == found.data.shape == (15, len(found.feature_names))
    read = {name for column in found.feature_names for name in column.split(JOINT)}
    assert read == set(estimator.model_.sources)
    assert len(set(found.feature_names)) == len(found.feature_names)


def test_shap_values_of_a_variable_are_those_of_its_own_terms():
    pytest.importorskip("shap")
    estimator, X, _, _ = shown("binary")
    found, model = estimator.explain(X.head(9)).to_shap(), estimator.model_
    inputs = model.read(X.head(9))
    for k, name in enumerate(found.feature_names):
        own = [p for _, p in model.parts() if sorted(p.sources) == sorted(name.split(JOINT))]
        np.testing.assert_allclose(found.values[:, k], sum(p.contribution(inputs) for p in own))
    assert found.data[:, found.feature_names.index("job")].tolist() == X["job"].head(9).tolist()


def test_shap_of_several_classes_has_the_scores_of_all():
    pytest.importorskip("shap")
    estimator, X, _, _ = shown("several")
    told = estimator.explain(X.head(8))
    found = told.to_shap()
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, estimator.decision_function(X.head(8)), atol=1e-12)
    assert list(found.output_names) == estimator.classes_.tolist()
    two = Explanations([*told[2:4], *estimator.explain(X.iloc[[50]])]).to_shap()
    want = estimator.decision_function(X.iloc[[2, 3, 50]])
    np.testing.assert_allclose(two.base_values + two.values.sum(axis=1), want, atol=1e-12)


def test_no_rows_are_refused():
    pytest.importorskip("shap")
    with pytest.raises(InputError, match="no rows to show"):
        Explanations().to_shap()

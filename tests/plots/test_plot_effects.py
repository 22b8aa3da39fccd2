"""Effects as pictures: their numbers are those of the model, and a part is never drawn as whole."""

import pickle
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest

import rpte

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from class_pages import fitted as classes_fitted
from plot_models import TASKS, fitted, given
from report_pages import opposite
from rpte import EffectDisplay, InputError, SurfaceDisplay, bootstrap
from rpte.figures.band import effect_band
from rpte.figures.effect_panels import note_of, title_of
from rpte.figures.subject import Subject


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def scores_at(model, X, source, values):
    """Return the mean score of all rows with a variable set to each value, (values, scores).

    Rows count by their exposure, as they do in training.
    """
    found, weight = [], X.get("years")
    for value in values:
        held = X.copy()
        column = np.full(len(X), value, object if isinstance(value, str) else float)
        held[source] = column
        found.append(np.atleast_1d(np.average(model.score(held), axis=0, weights=weight)))
    return np.array(found)


@pytest.mark.slow(reason="draws many figures")
@pytest.mark.parametrize("task", TASKS)
def test_differences_of_an_effect_are_those_of_mean_scores(task):
    """The partial dependence, of every variable of every task."""
    made, (X, _, _) = fitted(task), given(task)
    for source in made.model_.sources:
        display = made.plot(source)
        frame = display.frame()
        told = frame[frame["value"] != "missing"]
        told = told[told["value"].map(lambda v: v != "(other)")]
        labels = display.labels or (None,)
        for k, label in enumerate(labels):
            own = told if label is None else told[told["class"] == label]
            own = own.iloc[:: max(1, len(own) // 12)]
            wanted = scores_at(made.model_, X, source, own["value"])[:, k]
            got = own["whole"].to_numpy()
            np.testing.assert_allclose(got - got[0], wanted - wanted[0], atol=1e-8)


@pytest.mark.parametrize("task", ["binary", "classes", "number"])
def test_an_effect_has_the_mean_zero_over_the_training_rows(task):
    made, (X, _, _) = fitted(task), given(task)
    inputs = made.model_.read(X)
    subject = Subject.of(made, "plot")
    for source in made.model_.sources:
        plain = EffectDisplay.of(subject, source, reference=None)
        centred = EffectDisplay.of(subject, source)
        shift = plain.shown - centred.shown
        for k, component in enumerate(subject.components(source)):
            own = [p for p in component.parts if set(p.sources) == {source}]
            mean = sum(p.contribution(inputs).mean() for p in own)
            np.testing.assert_allclose(shift[k], mean, atol=1e-9)


@pytest.mark.parametrize("task", ["binary", "number", "counts", "times"])
def test_the_band_is_that_of_refitted_models(task):
    """Each resample of the coefficients is a model; its effect is drawn by the same code."""
    made, (X, y, beside) = fitted(task), given(task)
    model, source = made.model_, "age"
    drawn = bootstrap(model, X, y, n=8, **beside)
    display = made.plot(source, bootstrap=drawn)
    rows, place = made._training_rows, Subject.of(made, "plot").place(source)
    curves = []
    for coefficients in drawn.coefficients:
        other = with_coefficients(model, dict(zip(drawn.names, coefficients, strict=True)))
        curve = EffectDisplay.of(Subject(other, rows), source, reference=None).shown[0]
        own = [p for p in other.components[place].parts if set(p.sources) == {source}]
        curves.append(curve - sum(rows.mean(p.contribution(rows.inputs)) for p in own))
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(display.known("band_low")[0], low, atol=1e-8)
    np.testing.assert_allclose(display.known("band_high")[0], high, atol=1e-8)


def with_coefficients(model, sizes):
    components = []
    for component in model.components:
        direct = tuple(replace(t, coefficient=float(sizes[t.name])) for t in component.direct)
        trees = []
        for tree in component.trees:
            leaves = tuple(
                replace(leaf, coefficient=float(sizes[tree.leaf_name(n)]))
                for n, leaf in enumerate(tree.leaves)
            )
            trees.append(replace(tree, leaves=leaves))
        components.append(replace(component, trees=tuple(trees), direct=direct))
    return replace(model, components=tuple(components))


def test_the_band_of_classes_does_not_depend_on_what_changes_no_probability():
    made, (X, y, _) = fitted("classes"), given("classes")
    drawn = bootstrap(made.model_, X, y, n=6)
    shifts = np.random.default_rng(0).normal(size=(6, 1, drawn.coefficients.shape[2]))
    moved = replace(drawn, coefficients=drawn.coefficients + shifts)
    subject = Subject.of(made, "plot")
    from rpte.model.effect import Cells

    cells = [Cells.of_numbers(np.array([25.0, 50.0, 75.0]))]
    for a, b in zip(
        effect_band(subject, "age", cells, drawn),
        effect_band(subject, "age", cells, moved),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)
    display = made.plot("age", bootstrap=drawn)
    assert set(display.frame()["class"]) == {"a", "b", "c"}


def test_a_bootstrap_of_another_model_is_refused():
    made, (X, y, _) = fitted("binary"), given("binary")
    other = fitted("binary", max_trees=0)
    assert other.model_.components != made.model_.components
    drawn = bootstrap(other.model_, X, y, n=2)
    with pytest.raises(InputError, match="of another model"):
        made.plot("age", bootstrap=drawn)
    with pytest.raises(InputError, match=r"give what rpte.bootstrap\(model, X, y\) returns"):
        made.plot("age", bootstrap=100)
    with pytest.raises(InputError, match="effect of one variable"):
        made.plot("age", "kind", bootstrap=bootstrap(made.model_, X, y, n=2))


def test_a_part_is_never_drawn_as_the_whole():
    model, X, _ = opposite()
    whole, own = model.plot("late", X=X), model.plot("late")
    assert note_of(whole).startswith("Whole effect: D1 and D2 with kind, over 400 rows")
    assert np.diff(whole.shown[0, [0, -1]]) > 0  # rises, although its own term falls
    assert np.diff(whole.known("own")[0, [0, -1]]) < 0
    assert not own.is_whole
    assert title_of(own) == "late (own terms only)"
    assert "Not its whole effect: it also acts with kind" in note_of(own)
    assert own.frame()["whole"].isna().all()
    assert own.ax_.get_title(loc="left") == "late (own terms only)"
    assert own.density[1].sum() == pytest.approx(1.0)  # equal parts of the rows, in the file
    kept = ("equal_parts", "values")
    told = [{k: v for k, v in c.items() if k not in kept} for c in model.data["profile"]]
    older = replace(model, data={**model.data, "profile": told}).plot("late")
    assert older.density is None
    assert len(older.box) == 5  # quantiles of an older file stand in for the rows
    assert np.isfinite(older.shown).all()
    with pytest.raises(InputError, match=r"plot\('kind', X=X\)"):
        model.plot("kind")
    mapped = model.plot("late", "kind", X=X)
    assert mapped.together
    assert mapped.is_whole


@pytest.mark.slow(reason="draws many figures")
def test_the_rows_of_the_fit_are_used_and_stay_behind_when_it_is_stored():
    made, (X, _, _) = fitted("binary"), given("binary")
    for source in made.model_.sources:
        pd.testing.assert_frame_equal(
            made.plot(source).frame().drop(columns="share"),
            made.plot(source, X=X).frame().drop(columns="share"),
        )
    again = pickle.loads(pickle.dumps(made))
    assert not hasattr(again, "_training_rows")
    assert again.plot("age", X=X).is_whole
    assert "_training_rows" not in str(pickle.dumps(made))


def test_codes_and_missing_stand_beside_the_curve():
    made = fitted("binary")
    display = made.plot("score")
    assert display.levels == ("-9",)
    names = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert names[-1] == "-9"
    assert display.x.min() > -9  # the code is no number
    income = made.plot("income")
    assert income.levels[-1] is None
    assert [t.get_text() for t in income.ax_.get_xticklabels()][-1] == "missing"
    kind = made.plot("kind").frame().set_index("value")
    X, _, _ = given("binary")
    assert kind.loc["missing", "share"] == pytest.approx(X["kind"].isna().mean())
    assert kind.loc["card", "share"] == pytest.approx((X["kind"] == "card").mean())


def test_many_classes_have_a_panel_each():
    made = classes_fitted(8)
    display = made.plot("late")
    assert len(display.axes_) == 8
    assert [ax.get_title(loc="left") for ax in display.axes_] == list(display.labels)
    scales = {ax.get_ylim() for ax in display.axes_}
    assert len(scales) == 1
    assert made.plot("kind").axes_ == [plt.gca()]


def test_a_map_is_the_mean_score_with_both_set():
    made, (X, _, _) = fitted("binary"), given("binary")
    for names in (("age", "kind"), ("age", "income"), ("income", "score")):
        frame = made.plot(*names).frame()
        frame = frame[(frame[list(names)] != "missing").all(axis=1)]
        some = frame.iloc[:: max(1, len(frame) // 10)]
        wanted = []
        for row in some.to_dict("records"):
            held = X.copy()
            for name in names:
                held[name] = row[name]
            wanted.append(made.model_.score(held).mean())
        got = some["effect"].to_numpy()
        wanted = np.array(wanted)
        np.testing.assert_allclose(got - got[0], wanted - wanted[0], atol=1e-8)


@pytest.mark.slow(reason="draws many figures")
@pytest.mark.parametrize("task", TASKS)
def test_two_variables_of_every_task(task):
    made = fitted(task)
    display = made.plot(*made.model_.sources[:2])
    assert isinstance(display, SurfaceDisplay)
    assert len(display.axes_) == max(1, len(display.labels))


def test_what_is_no_name_is_refused_with_the_nearest():
    made = fitted("binary")
    with pytest.raises(InputError, match=r"does not read 'aeg' \(did you mean 'age'\?\)"):
        made.plot("aeg")
    with pytest.raises(InputError, match="given 3 names"):
        made.plot("age", "kind", "income")
    with pytest.raises(InputError, match="given twice"):
        made.plot("age", "age")
    with pytest.raises(InputError, match="reference='median'; it must be"):
        made.plot("age", reference="median")
    with pytest.raises(InputError, match="give X= too"):
        made.plot("age", sample_weight=[1.0])
    X, _, _ = given("binary")
    with pytest.raises(InputError, match="no rows to average over"):
        made.plot("age", X=X[:0])


@pytest.mark.parametrize("profile", ["safe", "full"])
def test_pictures_show_the_observed_range_wherever_the_model_comes_from(profile, tmp_path):
    draw = np.random.default_rng(3)
    X = pd.DataFrame({
        "amount": np.round(np.exp(draw.normal(7, 1, 600))),
        "rate": draw.integers(1, 5, 600).astype(float),
        "age": draw.integers(19, 76, 600).astype(float),
    })  # fmt: skip
    X.loc[:1, "rate"] = 9.0  # which two rows have
    score = np.log(X["amount"]) - 7 - 0.7 * X["rate"] + 0.06 * X["age"]
    y = draw.random(600) < 1 / (1 + np.exp(-score))
    made = rpte.RPTEClassifier(l1="4/n", profile=profile, max_component_sources=1).fit(X, y)
    made.save(tmp_path / "model.json")
    others = pickle.loads(pickle.dumps(made)), rpte.load(tmp_path / "model.json")
    for name in ("amount", "rate", "age"):
        display = made.plot(name)
        values, known = display.frame()["value"], X[name].sort_values()
        ends = known.iloc[[0, -1]] if profile == "full" else known.iloc[[4, -5]]
        assert [values.min(), values.max()] == ends.tolist()
        for other in others:
            same = other.plot(name)
            pd.testing.assert_frame_equal(same.frame(), display.frame(), check_exact=True)
            np.testing.assert_array_equal(same.density[1], display.density[1])
    rate = made.plot("rate")
    assert rate.points
    assert rate.x.tolist() == ([1, 2, 3, 4, 9] if profile == "full" else [1, 2, 3, 4])
    assert rate.ax_.get_xticks().tolist() == rate.x.tolist()
    (dots,) = (line for line in rate.ax_.lines if line.get_marker() == "o")
    assert dots.get_xdata().tolist() == rate.x.tolist()
    middles = [bar.get_x() + bar.get_width() / 2 for bar in rate.ax_.patches]
    assert middles == pytest.approx(rate.x.tolist())  # the density stands below the points
    assert not made.plot("age").points
    whole = made.plot("age", X=X.iloc[:50])
    assert whole.x.tolist() == made.plot("age").x.tolist()  # the rows that are given change nothing

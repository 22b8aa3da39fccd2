"""Cases, trees, importances, frontier and overview as pictures."""

from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from model_files import stored
from plot_models import CODES, TASKS, fitted, given
from report_pages import model_of
from rpte import (
    CaseDisplay,
    FrontierDisplay,
    ImportanceDisplay,
    InputError,
    OverviewDisplay,
    RPTEClassifier,
    TreeDisplay,
    edit,
    load,
)
from rpte.figures.case import MOST_BARS, Bar
from rpte.figures.effect_panels import note_of
from rpte.fit import importance
from rpte.model.classes import ClassesModel

GOLDEN = Path(__file__).parents[1] / "golden" / "models_2"


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def beside(task, X):
    """Return what the case of a task needs beside its row."""
    return {"strata": X["centre"].iloc[:1]} if task == "strata" else {}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("reference", [None, "mean"])
def test_the_bars_of_a_case_add_up_to_its_score(task, reference):
    made, (X, _, _) = fitted(task), given(task)
    for row in (0, 17):
        held = beside(task, X)
        display = made.plot_case(X.iloc[row], reference=reference, **held)
        frame = display.frame()
        (told,) = made.model_.explain(X.iloc[[row]], reference, **held)
        told = getattr(told, "difference", told)
        assert display.score == told.score
        sizes = dict(zip(frame["component"], frame["contribution"], strict=True))
        total = sizes[""]
        for component in told.components:  # in the defining order: to the last bit
            assert sizes[component.component] == component.value
            total += component.value
        assert reference == "mean" or total == told.score
        assert frame["sum"].iloc[-1] == pytest.approx(told.score, abs=1e-9)
        sizes = frame["contribution"].abs().to_numpy()[1:]
        assert (np.diff(sizes) <= 0).all()


@pytest.mark.slow(reason="draws many figures")
def test_one_row_in_any_form_and_no_more():
    made, (X, _, _) = fitted("binary"), given("binary")
    row = X.iloc[17]
    first = made.plot_case(row).frame()
    for form in (X.iloc[[17]], row.to_dict(), {k: [v] for k, v in row.items()}):
        pd.testing.assert_frame_equal(made.plot_case(form).frame(), first)
    with pytest.raises(InputError, match=r"one row, and this table has 2; give one: X.iloc\[17\]"):
        made.plot_case(X.iloc[:2])
    with pytest.raises(InputError, match="'age' has 2 values"):
        made.plot_case({"age": [1, 2]})
    matrix = np.column_stack([X["age"], X["age"] ** 2])
    array = RPTEClassifier(l1=0.05).fit(matrix, X["age"] > 50)
    assert array.plot_case(matrix[3]).score == array.model_.score(matrix[3:4])[0]


def test_zeros_are_folded_and_many_bars_too():
    bars = [Bar(f"C{k}", f"x{k} = 1", 2.0**-k) for k in range(20)] + [Bar("Z", "z = 0", 0.0)] * 3
    display = CaseDisplay(bars, 0.5, 0.5 + sum(b.value for b in bars), "intercept", "unit", "title")
    shown = display.shown()
    assert len(shown) == MOST_BARS + 1
    assert shown[-1].label == "3 others: 0"
    assert shown[-2].label == "9 others"
    assert sum(bar.value for bar in shown) == pytest.approx(sum(bar.value for bar in bars))
    assert len(display.frame()) == len(bars) + 1
    nothing = CaseDisplay(bars[-1:], 0.5, 0.5, "intercept", "unit", "title")
    assert [bar.label for bar in nothing.shown()] == ["1 other: 0"]
    names = [t.get_text() for t in display.plot().ax_.get_yticklabels()]
    assert names[0] == "intercept"
    assert names[-1] == "score"


def test_a_case_of_classes_says_why_and_not_the_next():
    made, (X, _, _) = fitted("classes"), given("classes")
    display = made.plot_case(X.iloc[0], label="c", against="a")
    assert display.title == "Why c and not a"
    assert display.unit == "log odds of c against a"
    assert display.notes[0].startswith("probabilities: ")
    (told,) = made.explain(X.iloc[[0]])
    assert made.plot_case(X.iloc[0]).title == f"Why {told.chosen} and not {told.against}"


def test_a_case_says_what_it_stands_for():
    X, _, _ = given("counts")
    counts = fitted("counts").plot_case(X.iloc[0], exposure=2.0)
    assert "years = 2" in counts.notes[0]
    X, _, _ = given("times")
    times = fitted("times").plot_case(X.iloc[0], horizons=[100.0])
    assert times.notes[0].startswith("survival at 100")
    binary = fitted("binary").plot_case(X.iloc[0])
    assert "probability of good" in binary.title.lower()


def test_a_tree_is_drawn_with_every_leaf_and_condition():
    model = model_of("mixed")
    display = model.plot("T1")
    assert isinstance(display, TreeDisplay)
    tree = next(t for t in model.trees if t.name == "T1")
    frame = display.frame()
    assert frame["coefficient"].tolist() == [leaf.coefficient for leaf in tree.leaves]
    assert frame["share"].sum() == pytest.approx(1.0)
    shown = " ".join(t.get_text().replace("\n", " ") for t in display.ax_.texts)
    for number, path, _ in tree.rules():
        assert tree.leaf_name(number) in shown
        for condition in path:
            assert condition.text(model.schema)[:25] in shown
    ways = list(display.ways())
    assert sum(way.is_leaf for way in ways) == len(tree.leaves)
    with pytest.raises(InputError, match=r"does not read 'T99'.*its trees are T1"):
        model.plot("T99")
    with pytest.raises(InputError, match="there is no tree 'T1'; the model has none"):
        TreeDisplay.from_estimator(model_of("chosen"))


def test_the_frontier_has_the_points_of_training_or_a_reason():
    model = model_of("chosen")
    frame = model.plot_frontier().frame()
    told = model.training["selection"]["frontier"]
    assert frame["miu"].tolist() == [point["miu"] for point in told]
    assert frame["deviance"].tolist() == [point["deviance"] for point in told]
    assert frame["chosen"].sum() == 1
    assert isinstance(FrontierDisplay.from_estimator(model), FrontierDisplay)
    with pytest.raises(InputError, match="no frontier: its penalty was given"):
        fitted("binary").plot_frontier()


def brute_force(made, X, weight=None):
    """Return importances by adding up single terms, row by row."""
    model = made.model_
    models = model.models if isinstance(model, ClassesModel) else (model,)
    inputs = models[0].read(X)
    found = {}
    for source in model.sources:
        scores = []
        for one in models:
            total = np.zeros(len(X))
            for _, part in one.parts():
                if source in part.sources:
                    values = part.contribution(inputs)
                    total += (values - np.average(values, weights=weight)) / len(set(part.sources))
            scores.append(total)
        apart = np.array(scores)
        apart = apart - apart.mean(axis=0) if len(models) > 1 else apart
        found[source] = np.average(np.abs(apart).mean(axis=0), weights=weight)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_importances_are_mean_absolute_contributions(task):
    made, (X, _, _) = fitted(task), given(task)
    frame = made.importances_
    wanted = brute_force(made, X, X.get("years"))
    got = dict(zip(frame["variable"], frame["importance"], strict=True))
    assert got == pytest.approx(wanted, abs=1e-9)
    assert frame["share"].sum() == pytest.approx(1.0)
    assert frame["importance"].is_monotonic_decreasing
    homes = {s: c.name for c in made.model_.components for s in c.sources}
    assert dict(zip(frame["variable"], frame["component"], strict=True)) == homes
    measured = made.model_.importances(X, X.get("years"))
    assert measured["importance"].tolist() == pytest.approx(frame["importance"].tolist(), abs=1e-9)
    array = made.feature_importances_
    names = list(made.feature_names_in_)
    assert array.shape == (len(names),)
    assert dict(zip(names, array, strict=True)) == {**dict.fromkeys(names, 0.0), **got}


def test_importances_are_in_the_file_and_go_with_an_edit(tmp_path):
    made, (X, _, _) = fitted("binary"), given("binary")
    made.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    pd.testing.assert_frame_equal(again.importances(), made.importances_)
    term = again.direct[0].name
    told = {"by": "a reader", "reason": "a test"}
    edited = edit(again, drop_terms=[term], **told)
    with pytest.raises(InputError, match=r"give rows to measure them on: importances\(X\)"):
        edited.importances()
    assert len(edited.importances(X)) == len(edited.sources)
    assert not ImportanceDisplay.from_estimator(edited, X=X).frame().empty


def test_importances_that_are_not_those_of_the_table_are_found():
    made, (X, y, _) = fitted("binary"), given("binary")
    model = made.model_
    told = {name: 1.001 * value for name, value in model.training["importances"].items()}
    wrong = replace(model, training={**model.training, "importances": told})
    for checked, holds in ((model, True), (wrong, False)):
        assert {c.name: c.holds for c in checked.verify(X, y)}["importances"] == holds


@pytest.mark.slow(reason="draws many figures")
def test_a_fit_from_files_has_importances_and_rows_too(tmp_path):
    pytest.importorskip("pyarrow", reason="tables in files need pyarrow")
    X, y, _ = given("binary")
    table = X.assign(y=y)
    table.to_parquet(tmp_path / "table.parquet")
    parameters = {"l1": 0.01, "special_values": CODES}
    made = RPTEClassifier(**parameters).fit(tmp_path / "table.parquet", "y")
    memory = RPTEClassifier(**parameters).fit(X, pd.Series(y, name="y"))
    pd.testing.assert_frame_equal(made.importances_, memory.importances_)
    pd.testing.assert_frame_equal(made.plot("age").frame(), memory.plot("age").frame())


def test_long_tables_are_drawn_from_some_of_their_rows(monkeypatch):
    X, y, _ = given("binary")
    monkeypatch.setattr(importance, "ALL_UP_TO", 100)
    made = RPTEClassifier(l1=0.02, special_values=CODES)
    many = pd.concat([X] * 12, ignore_index=True)
    many["age"] = many["age"] + np.repeat(np.arange(12) / 100, len(X))  # no two rows alike
    made.fit(many, np.tile(y, 12))
    rows, display = made._training_rows, made.plot("age")
    assert rows.sampled
    assert rows.table_rows == len(many)
    assert rows.inputs.n_rows <= 2000
    assert rows.weight.sum() == pytest.approx(len(many), rel=1e-3)
    assert rows.mean(rows.inputs["age"]) == pytest.approx(many["age"].mean(), rel=0.03)
    assert not display.reading["alone"]
    assert "over 2,000 of 4,800 rows" in note_of(display)


@pytest.mark.slow(reason="draws many figures")
def test_an_overview_has_importances_and_the_strongest_components():
    for task in TASKS:
        made = fitted(task)
        display = made.plot()
        assert isinstance(display, OverviewDisplay)
        assert len(display.axes_) == 1 + len(display.panels)
        pd.testing.assert_frame_equal(display.frame(), made.importances_)
        assert 1 <= len(display.panels) <= 6


def test_a_loaded_model_draws_what_it_knows(tmp_path):
    made, (X, _, _) = fitted("binary"), given("binary")
    made.save(tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    shared = {s for c in model.components for s in c.sources if len(c.sources) > 1}
    for panel in model.plot().panels:
        if hasattr(panel, "source") and panel.source in shared:
            assert not panel.is_whole
    assert all(panel.is_whole for panel in model.plot(X=X).panels)
    assert model.plot_case(X.iloc[0]).score == model.score(X.iloc[[0]])[0]


def test_a_model_without_terms_says_that_there_is_nothing_to_draw():
    X, y, _ = given("binary")
    made = RPTEClassifier(l1=10.0, special_values=CODES).fit(X, y)
    assert made.feature_importances_.tolist() == [0.0] * X.shape[1]
    with pytest.raises(InputError, match="the model has no terms"):
        made.plot()
    assert made.plot_case(X.iloc[0]).shown() == []


def test_old_files_measure_importances_on_rows():
    held = stored("mixed")
    model = load(GOLDEN / "mixed.json")
    with pytest.raises(InputError, match="tells no importances"):
        model.importances()
    with pytest.raises(InputError, match="tells no importances"):
        model.plot()
    assert len(model.importances(held.X, held.weight)) == len(model.sources)

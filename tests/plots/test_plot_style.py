"""How pictures look: hostile names are text, nothing is cut off, no setting is touched."""

import builtins
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from matplotlib.text import Text

from effort import examples
from plot_models import TASKS, fitted, given
from rpte import InputError, RPTEClassifier
from rpte.figures import pyplot as painter
from rpte.figures.text import apart, ratio_ticks, share, signed

NAMES = [
    "$\\frac{a}{b}$",
    "_hidden",
    "ä\u202e<b>",
    "a\nb\tc",
    "x$y$z",
    "long " * 30,
    "{7*7}",
    "\\alpha^2",
]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def all_displays(made, X):
    sources = made.model_.sources
    yield made.plot()
    for source in sources:
        yield made.plot(source)
    if len(sources) > 1:
        yield made.plot(*sources[:2])
    held = {"strata": X["centre"].iloc[:1]} if "centre" in X else {}
    yield made.plot_case(X.iloc[3], **held)
    outline = getattr(made.model_, "outline", made.model_)
    for tree in outline.trees:
        yield made.plot(tree.name)


@pytest.mark.slow(reason="draws many figures")
@pytest.mark.parametrize("task", TASKS)
def test_all_text_lies_inside_the_figure(task):
    made, (X, _, _) = fitted(task), given(task)
    for display in all_displays(made, X):
        figure = display.figure_
        figure.canvas.draw()
        box = figure.bbox
        for text in shown_texts(figure.axes):
            found = text.get_window_extent()
            inside = found.x0 >= -2 and found.y0 >= -2
            inside &= found.x1 <= box.x1 + 2 and found.y1 <= box.y1 + 2
            assert inside, (text.get_text(), found.extents, box.extents)
        plt.close(figure)


def shown_texts(axes):
    """Yield the texts of axes that are drawn: of marks those between the ends of an axis."""
    for ax in axes:
        found = [*ax.texts, ax.title, ax._left_title]
        found += ax.get_legend().get_texts() if ax.get_legend() else []
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = axis.get_major_ticks()
            found += [axis.label, *(t.label1 for t in ticks if low <= t.get_loc() <= high)]
        yield from (text for text in found if text.get_text().strip() and text.get_visible())
        yield from shown_texts(ax.child_axes)


@pytest.mark.slow(reason="draws many figures")
@pytest.mark.parametrize("dark", [False, True])
def test_hostile_names_are_text_and_nothing_else(dark):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=240).round(2) for name in NAMES[:4]})
    for name in NAMES[4:]:
        X[name] = rng.choice(np.array(["$x_1$", "_y", "z\nz", "$"], object), 240)
    score = (
        X[NAMES[0]] + X[NAMES[1]] + (X[NAMES[4]] == "$x_1$") * X[NAMES[2]] + (X[NAMES[5]] == "_y")
    )
    for y in (np.where(score > 0, "$yes$", "_no"), pd.cut(score, 3, labels=["$a$", "_b", "c"])):
        made = RPTEClassifier(l1=0.01).fit(X, np.asarray(y, object))
        with plt.style.context("dark_background" if dark else "default"):
            for display in all_displays(made, X):
                display.figure_.canvas.draw()
                assert display.frame() is not None
                for text in display.figure_.findobj(Text):
                    if any(mark in text.get_text() for mark in ("$", "\\")):
                        assert not text.get_parse_math(), text.get_text()
                plt.close(display.figure_)
        two = made.plot(NAMES[4])
        legend = two.ax_.get_legend()
        if two.labels:
            assert "_b" in [t.get_text() for t in legend.get_texts()]


def test_no_setting_is_changed_and_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("plt.show was called"))
    made, (X, _, _) = fitted("binary"), given("binary")
    before = dict(matplotlib.rcParams)
    for display in all_displays(made, X):
        assert display.figure_ is display.ax_.figure
    assert dict(matplotlib.rcParams) == before


@pytest.mark.slow(reason="draws many figures")
def test_pictures_are_drawn_on_axes_that_are_given():
    made, (X, _, _) = fitted("binary"), given("binary")
    figure, axes = plt.subplots(2, 3, figsize=(14, 8), layout="constrained")
    flat = axes.ravel()
    displays = [made.plot("age", ax=flat[0]), made.plot("kind", ax=flat[1])]
    displays += [made.plot("age", "kind", ax=flat[2]), made.plot_case(X.iloc[0], ax=flat[3])]
    displays.append(made.plot(ax=flat[4]))
    for display, ax in zip(displays, flat, strict=False):
        assert display.ax_ is ax
        assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1
    figure.canvas.draw()
    again = displays[0].plot()
    assert again is displays[0]
    assert again.figure_ is not figure
    free = plt.figure().add_axes([0.1, 0.1, 0.8, 0.8])
    with pytest.raises(InputError, match=r"give axes of plt.subplots"):
        made.plot(ax=free)


def test_dark_grounds_get_other_colours():
    made = fitted("binary")
    with plt.style.context("dark_background"):
        dark = made.plot("age").ax_.lines[-1].get_color()
        assert painter.ink() == "white"
    assert dark == painter.ON_DARK[0]
    assert made.plot("age").ax_.lines[-1].get_color() == painter.ON_LIGHT[0]


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    made = fitted("binary")
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'rpte\[plot\]'"):
        made.plot("age")
    assert len(made.importances_) == len(made.model_.sources)


@hypothesis_given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.floats(0.01, 0.3))
@examples(50)
def test_labels_stand_apart_and_below_the_top(heights, gap):
    found = apart(np.sort(heights), gap, 5.0)
    assert (np.diff(found) >= gap - 1e-9).all()
    assert found[-1] <= 5.0 + 1e-9


@hypothesis_given(st.floats(-20, 20), st.floats(0.05, 20))
@examples(100)
def test_marks_of_a_ratio_are_few_and_inside(low, span):
    marks = ratio_ticks(low, low + span)
    assert len(marks) <= 8
    assert all(low <= at <= low + span for at, _ in marks)
    for at, text in marks:
        assert np.exp(at) == pytest.approx(float(text), rel=1e-6)


def test_numbers_have_a_sensible_length():
    assert [signed(v) for v in (0.0, 1.668e-11, 0.12345, -1.5, 1234.5, 5e9)] == [
        "0", "+1.67e\N{MINUS SIGN}11", "+0.123", "\N{MINUS SIGN}1.50", "+1,234", "+5.00e+09",
    ]  # fmt: skip
    assert share(0.0004) == "<0.1%"
    assert share(None) == ""

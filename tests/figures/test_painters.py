"""One picture, two painters: what SVG and matplotlib draw is the same, and is that of the model."""

import json
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

import rpte
from plot_models import TASKS, fitted
from report_pages import opposite
from rpte.figures import pyplot as painter
from rpte.figures.effect import EffectFigure
from rpte.figures.effect_panels import curve_scale, effect_panel, effect_panels, own_scale
from rpte.figures.marks import CLASSES, BoxMark, LineMark, chart
from rpte.figures.subject import Subject
from rpte.figures.svg import ALL_COLOURS, Place, drawing
from rpte.figures.text import named_ticks, signed


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def panels_of(task):
    subject = Subject.of(fitted(task), "plot")
    for source in subject.model.sources:
        yield from effect_panels(EffectFigure.of(subject, source))


@pytest.mark.parametrize("task", TASKS)
def test_both_painters_draw_every_line_where_it_is(task):
    for panel in panels_of(task):
        ax = plt.figure().add_subplot()
        painter.paint(panel, ax)
        body, place = drawing(panel)[3], Place.of(panel)
        drawn = [np.column_stack(line.get_data()) for line in ax.lines]
        for mark in panel.marks:
            if not isinstance(mark, LineMark):
                continue
            assert any(
                len(points) == len(mark.points) and np.allclose(points, mark.points)
                for points in drawn
            )
            x, y = mark.points[0]
            assert f"M{place.across(x):.1f} {place.down(y):.1f}" in body
        bars = [mark for mark in panel.marks if isinstance(mark, BoxMark)]
        assert sorted(round(b.get_width(), 9) for b in ax.patches) == sorted(
            round(abs(bar.x[1] - bar.x[0]), 9) for bar in bars
        )
        assert len(re.findall("<rect", body)) >= len(bars)
        assert ax.get_xlabel().replace("\n", " ") == panel.x.label
        assert (panel.x.low, panel.x.high) == ax.get_xlim()
        plt.close("all")


@pytest.mark.parametrize("task", TASKS)
def test_every_effect_names_its_zero(task):
    for panel in panels_of(task):
        labels = f"{panel.x.label} {panel.y.label}"
        is_table = panel.is_map
        assert is_table or re.search(r"\([01]: training mean\)", labels)
    subject = Subject.of(fitted(task), "plot")
    stored = EffectFigure.of(subject, subject.model.sources[0], reference=None)
    panel = effect_panels(stored)[0]
    assert "as in the model file" in f"{panel.x.label} {panel.y.label}" or panel.is_map


def test_the_picture_of_a_record_is_that_of_the_model():
    """The report draws from its contents what `plot` draws from the model."""
    subject = Subject.of(fitted("binary"), "plot")
    for source in subject.model.sources:
        effect = EffectFigure.of(subject, source)
        again = EffectFigure.from_record(json.loads(json.dumps(effect.record())))
        first, second = effect_panel(effect), effect_panel(again)
        height = first.y.high - first.y.low
        assert (second.y.low, second.y.high) == pytest.approx(
            (first.y.low, first.y.high), abs=height / 500
        )
        assert [s.x for s in second.spots] == [s.x for s in first.spots]
        for a, b in zip(first.spots, second.spots, strict=True):
            assert b.y == pytest.approx(a.y, abs=height / 500)


def test_spots_say_what_the_model_adds():
    model, X, _ = opposite()
    subject = Subject.of(model, "plot", X)
    effect = EffectFigure.of(subject, "late")
    (panel,) = effect_panels(effect)
    assert {"late"} == {spot.words.split()[0] for spot in panel.spots}
    for spot in panel.spots:
        assert spot.y == pytest.approx(np.interp(spot.x, effect.x, effect.shown[0]), abs=1e-9)
        assert re.search(r"odds ratio [\d.]+; [<\d.]+% of the rows from", spot.words), spot.words


def test_a_flat_curve_has_a_scale_of_its_own_and_says_so():
    model, X, _ = opposite()
    effect = EffectFigure.of(Subject.of(model, "plot", X), "late")
    low, high = curve_scale([effect])
    wide = (100 * low, 100 * high)
    assert own_scale(effect, wide) == (low, high)
    assert own_scale(effect, (low, high)) == (low, high)
    assert effect_panel(effect, wide, None).y.label.endswith("own scale")


def test_roles_have_a_colour_in_both_painters():
    ax = plt.figure().add_subplot()
    for role in (*CLASSES, "raises", "lowers", "accent", "ink", "faint", "line"):
        assert re.fullmatch("#[0-9a-f]{6}", ALL_COLOURS[role])
        assert to_hex(painter.colour(role, ax))
    classes = {to_hex(painter.colour(role, ax)) for role in CLASSES}
    assert len(classes) == len(CLASSES)


def test_marks_along_an_axis_do_not_touch():
    panel = chart((0.0, 1.0), (0.0, 1.0), "x", "y", 300, 200)
    panel.x.ticks = [(k / 40, f"{k}000") for k in range(41)]
    body = drawing(panel)[3]
    places = [
        float(x)
        for x in re.findall(r'class="n" x="([\d.]+)" y="[\d.]+" text-anchor="middle">\d', body)
    ]
    assert len(places) > 2
    assert min(np.diff(places)) > 20
    assert named_ticks(-2.0, 2.0, 4)[0] == (-2.0, "\N{MINUS SIGN}2")


def test_a_range_that_few_rows_take_is_drawn_in_part_and_the_rest_is_told():
    rng = np.random.default_rng(5)
    income = np.round(np.exp(rng.normal(8, 0.4, 500)))
    income[:8] = 900_000.0
    y = rng.random(500) < np.where(income > 3000, 0.2, 0.7)
    made = rpte.RPTEClassifier(l1="4/n").fit(pd.DataFrame({"income": income}), y)
    display = made.plot("income")
    low, high = display.ax_.get_xlim()
    dense = np.quantile(income, [0.05, 0.95])
    assert low <= dense[0] < dense[1] <= high < 20_000
    assert display.frame()["value"].max() == 900_000
    last = display.frame()["whole"].iloc[-1]
    label = display.ax_.get_xlabel().replace("\n", " ")
    assert f"not drawn: to 900000 ({signed(last)}" in label
    again = EffectFigure.from_record(json.loads(json.dumps(display.record())))
    assert effect_panel(again).x.label == effect_panel(display).x.label
    np.testing.assert_allclose(again.density[1], display.density[1])

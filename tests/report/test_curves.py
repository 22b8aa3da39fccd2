"""Effects as drawn are what the model does to the mean score, and own terms what they add."""

import json
import re

import numpy as np
import pytest

from report_pages import evidence_of, model_of, opposite
from rpte.figures.effect import EffectFigure, effect_records
from rpte.figures.effect_panels import effect_note, effect_title, joint_note, level_order
from rpte.figures.subject import Subject
from rpte.figures.surface import PAGE_CELLS, surface_records
from rpte.model.effect import background
from rpte.report.charts import quantile_box
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs

WAYS = ("whole", "own")


def shapes(model, component, rows):
    return effect_records(Subject(model, rows), component, None)


def surfaces(model, component, rows):
    return surface_records(Subject(model, rows), component, None)


NAMES = ["mixed", "products", "shaped", "special", "monotone", "array", "boosted"]


def test_the_marks_of_a_box_are_centred_on_its_line():
    box = quantile_box({"quantiles": [1, 2, 3, 4, 5]}, (0, 6))[3]
    (line,) = re.findall(r"M[\d.]+ ([\d.]+)H", box)
    rectangles = re.findall(r' y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', box)
    assert [float(y) + float(height) / 2 for y, height in rectangles] == [float(line)] * 2


def own_parts(component, source):
    return [part for part in component.parts if part.sources == (source,)]


def rows_of(name):
    inputs = evidence_of(name).inputs
    return inputs, background(inputs, model_of(name).sources)


def drawn(points, x):
    """Return the heights of a line at some numbers; a jump is two points side by side."""
    at, height = np.array(points).T
    inside = (x >= at[0]) & (x <= at[-1])
    return inside, np.interp(x[inside], at, height), max(np.ptp(height), 1e-12) / 1000


@pytest.mark.parametrize("name", NAMES)
def test_thin_lines_are_the_sum_of_own_terms(name):
    model, (inputs, rows) = model_of(name), rows_of(name)
    for component in model.components:
        for shape in shapes(model, component, rows):
            source = shape["source"]
            own = own_parts(component, source)
            assert shape["terms"] == [part.name for part in own]
            total = sum(part.contribution(inputs) for part in own)
            missing = inputs.is_missing(source)
            if not own:
                assert all(row["own"] is None for row in shape["levels"])
                assert shape.get("curves", {"own": None})["own"] is None
                continue
            if shape["kind"] == "number":
                inside, heights, allowed = drawn(shape["curves"]["own"], inputs[source])
                assert inside.mean() > 0.5
                assert heights == pytest.approx(total[inside], abs=allowed)
            for place, level in enumerate(shape["levels"]):
                held = missing if level["level"] is None else inputs.codes(source) == place
                assert total[held] == pytest.approx(level["own"])


@pytest.mark.parametrize("name", NAMES)
def test_thick_lines_are_the_partial_dependence(name):
    model, (inputs, rows) = model_of(name), rows_of(name)
    for component in model.components:
        for shape in shapes(model, component, rows):
            if shape["kind"] != "number":
                continue
            points = shape["curves"]["whole"][:: max(1, len(shape["curves"]["whole"]) // 6)]
            scores = [mean_score(model, inputs, shape["source"], x) for x, _ in points]
            heights = [y for _, y in points]
            assert np.diff(heights) == pytest.approx(np.diff(scores), abs=1e-9)


def mean_score(model, inputs, source, x):
    """Return the mean score of the rows, a number being the same in all of them."""
    position = inputs.schema.position(source)
    columns, specials = list(inputs.columns), dict(inputs.specials)
    columns[position] = np.full(inputs.n_rows, x)
    if position in specials:
        specials[position] = np.full(inputs.n_rows, MISSING, np.int32)
    return model.score(Inputs(inputs.schema, tuple(columns), specials)).mean()


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_drawn_and_without_rows_those_with_own_terms(name):
    model, (_, rows) = model_of(name), rows_of(name)
    for component in model.components:
        found = shapes(model, component, rows)
        assert [shape["source"] for shape in found] == list(component.sources)
        found = shapes(model, component, None)
        expected = [s for s in component.sources if own_parts(component, s)]
        assert [shape["source"] for shape in found] == expected
        for shape in found:
            readers = [p for p in component.parts if shape["source"] in p.sources]
            assert shape["alone"] == (len(readers) == len(shape["terms"]))
            assert shape["averaged"] is None
            for row in shape["levels"]:
                assert (row["whole"] is not None) == shape["alone"]


def test_a_number_that_falls_by_itself_and_rises_as_a_whole_is_drawn_rising():
    model, X, _ = opposite()
    inputs = model.read(X)
    (component,) = model.components
    kind, late = shapes(model, component, background(inputs, model.sources))
    (start, end), (first, last) = (late["curves"][k][:: len(late["curves"][k]) - 1] for k in WAYS)
    assert end[1] > start[1]
    assert last[1] < first[1]
    assert effect_title(late) == "What late adds"
    assert "whole effect: D1 and D2 with kind, over 400 rows" in effect_note(late)
    assert "whole effect: D2, with late, over 400 rows" in effect_note(kind)


def test_without_rows_the_picture_says_what_it_leaves_out():
    model, _, _ = opposite()
    (late,) = shapes(model, model.components[0], None)
    assert late["curves"]["whole"] is None
    assert effect_title(late) == "What the own terms of late add"
    assert "Not its whole effect: it also acts with kind in D2" in effect_note(late)


def test_a_curve_is_short_however_many_rows():
    model, (_, rows) = model_of("shaped"), rows_of("shaped")
    counts = [
        len(line)
        for component in model.components
        for shape in shapes(model, component, rows)
        for line in shape.get("curves", {}).values()
        if line
    ]
    assert 2 <= max(counts) < 200


def test_of_many_levels_the_strongest_are_drawn():
    levels = [
        {"level": f"l{k}", "own": None, "whole": (-1.0) ** k * k, "low": 0.0, "high": 0.0,
         "share": 0.02}
        for k in range(50)
    ]  # fmt: skip
    told = {"kind": "category", "unit": "u", "ratio": None, "reference": None, "density": None,
            "box": None, "points": False, "part": None, "terms": [], "shared": [], "others": [],
            "averaged": None, "alone": True}  # fmt: skip
    effect = EffectFigure.from_record({"source": "a", "levels": levels, **told})
    order = level_order(effect, 30)
    assert sorted(order) == list(range(20, 50))
    assert (np.diff(effect.shown[0, order]) > 0).all()  # from the foot up


def test_a_record_gives_its_effect_again():
    model, (_, rows) = model_of("mixed"), rows_of("mixed")
    for component in model.components:
        for record in effect_records(Subject(model, rows), component):
            again = EffectFigure.from_record(json.loads(json.dumps(record)))
            assert again.record() == record


@pytest.mark.parametrize("name", ["products", "shaped", "mixed"])
def test_surfaces_hold_every_pair_and_every_term_that_reads_it(name):
    model, (_, rows) = model_of(name), rows_of(name)
    for component in model.components:
        found = surfaces(model, component, rows)
        pairs = {frozenset(term.sources) for term in component.direct if len(term.sources) == 2}
        assert {frozenset(surface["sources"]) for surface in found} == pairs
        for surface in found:
            read = set(surface["sources"])
            readers = [p.name for p in component.parts if read & set(p.sources)]
            assert sorted(surface["terms"] + surface["shared"]) == sorted(readers)
            assert joint_note(surface)
            across = surface["x"].get("levels") or [None] * PAGE_CELLS
            up = surface["y"].get("levels") or [None] * PAGE_CELLS
            assert np.array(surface["values"]).shape == (len(up), len(across))


def test_a_surface_is_what_its_variables_do_to_the_score():
    model, X, _ = opposite()
    inputs = model.read(X)
    rows = background(inputs, model.sources)
    (surface,) = surfaces(model, model.components[0], rows)
    assert surface["sources"] == ["late", "kind"]
    edges = np.linspace(*surface["x"]["range"], PAGE_CELLS + 1)
    for across, late in enumerate((edges[1:] + edges[:-1]) / 2):
        for up, kind in enumerate(surface["y"]["levels"]):
            (score,) = model.score({"late": [late], "kind": [kind]})
            shown = surface["values"][up][across]
            assert shown == pytest.approx(score - model.intercept, abs=1e-6)

"""What a variable adds by itself, as drawn, is what its terms add."""

import numpy as np
import pytest

from report_pages import evidence_of, model_of
from rpte.report.curves import shapes
from rpte.report.surfaces import CELLS, surfaces

NAMES = ["mixed", "products", "shaped", "special", "monotone", "array", "boosted"]


def own_parts(component, source):
    return [part for part in component.parts if part.sources == (source,)]


@pytest.mark.parametrize("name", NAMES)
def test_curves_and_levels_are_the_sum_of_the_terms(name):
    model, rows = model_of(name), evidence_of(name).inputs
    for component in model.components:
        for shape in shapes(model, component, rows):
            source = shape["source"]
            total = sum(part.contribution(rows) for part in own_parts(component, source))
            missing = rows.is_missing(source)
            if shape["kind"] == "number":
                x = rows[source]
                at, height = np.array(shape["points"]).T
                present = (x >= at[0]) & (x <= at[-1])
                assert present.mean() > 0.5
                allowed = max(np.ptp(height), 1e-12) / 1000
                drawn = np.interp(x[present], at, height)
                assert drawn == pytest.approx(total[present], abs=allowed)
            for place, level in enumerate(shape["levels"]):
                inside = missing if level["level"] is None else rows.codes(source) == place
                assert total[inside] == pytest.approx(level["value"])


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_with_terms_of_its_own_is_drawn(name):
    model = model_of(name)
    for component in model.components:
        drawn = shapes(model, component, None)
        expected = [s for s in component.sources if own_parts(component, s)]
        assert [shape["source"] for shape in drawn] == expected
        for shape in drawn:
            terms = [p.name for p in own_parts(component, shape["source"])]
            assert shape["terms"] == terms
            readers = [p for p in component.parts if shape["source"] in p.sources]
            assert shape["alone"] == (len(readers) == len(terms))


def test_a_curve_is_short_however_many_rows():
    model, rows = model_of("shaped"), evidence_of("shaped").inputs
    counts = [
        len(shape.get("points", []))
        for component in model.components
        for shape in shapes(model, component, rows)
    ]
    assert 2 <= max(counts) < 200


@pytest.mark.parametrize("name", ["products", "shaped", "mixed"])
def test_surfaces_hold_every_term_of_two_variables(name):
    model, rows = model_of(name), evidence_of(name).inputs
    for component in model.components:
        found = surfaces(model, component, rows)
        drawn = sorted(term for surface in found for term in surface["terms"])
        assert drawn == sorted(t.name for t in component.direct if len(t.sources) == 2)
        for surface in found:
            across = surface["x"].get("levels") or [None] * CELLS
            up = surface["y"].get("levels") or [None] * CELLS
            assert np.array(surface["values"]).shape == (len(up), len(across))


def test_a_surface_is_the_sum_of_its_terms():
    model, rows = model_of("shaped"), evidence_of("shaped").inputs
    component = next(c for c in model.components if surfaces(model, c, rows))
    surface = surfaces(model, component, rows)[0]
    axes = []
    for name, axis in zip(surface["sources"], (surface["x"], surface["y"]), strict=True):
        if "levels" in axis:
            axes.append([(name, level) for level in axis["levels"]])
        else:
            edges = np.linspace(*axis["range"], CELLS + 1)
            axes.append([(name, x) for x in (edges[1:] + edges[:-1]) / 2])
    terms = [t for t in component.direct if t.name in surface["terms"]]
    for up, across in ((0, 0), (len(axes[1]) - 1, len(axes[0]) // 2)):
        cells = {n: [None] for n in model.schema.names} | {
            name: [value] for name, value in (axes[0][across], axes[1][up])
        }
        one = model.read(cells)
        total = sum(float(term.contribution(one)[0]) for term in terms)
        assert surface["values"][up][across] == pytest.approx(total, abs=1e-6)

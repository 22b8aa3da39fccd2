"""What a variable is said to do is what it does to the mean score."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_pages import evidence_of, model_of, opposite
from rpte import RPTEClassifier
from rpte.model import effect as module
from rpte.model.effect import Cells, background, effect, joint_effect
from rpte.model.parts import TreeTerms
from rpte.table.column import MISSING
from rpte.table.inputs import Inputs

NAMES = ["mixed", "products", "shaped", "special", "monotone", "array", "boosted"]


def with_cell(inputs, source, number, code):
    """Return rows that all have the same value of one variable."""
    position, n = inputs.schema.position(source), inputs.n_rows
    columns, specials = list(inputs.columns), dict(inputs.specials)
    if inputs.schema[source].kind == "category":
        columns[position] = np.full(n, code, np.int32)
    else:
        columns[position] = np.full(n, number)
        if position in specials:
            specials[position] = np.full(n, code, np.int32)
    return Inputs(inputs.schema, tuple(columns), specials)


def mean_score(model, inputs, weight, source, number, code):
    """Return the partial dependence of the score, by brute force."""
    changed = with_cell(inputs, source, number, code)
    return np.average(model.score(changed), weights=weight)


def cells_of(model, inputs, source):
    """Return some values of a variable: numbers that rows have, all levels, missing."""
    variable = model.schema[source]
    codes = [*range(len(variable.levels)), MISSING]
    found = [(np.nan, code) for code in codes]
    if variable.kind == "number":
        numbers = np.unique(inputs[source][~np.isnan(inputs[source])])
        found += [(x, MISSING) for x in numbers[:: max(1, len(numbers) // 7)]]
    numbers, codes = zip(*found, strict=True)
    return Cells(np.array(numbers), np.array(codes, np.int32))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_whole_effect_is_the_partial_dependence_up_to_a_constant(name, weighted):
    model, inputs = model_of(name), evidence_of(name).inputs
    weight = np.arange(inputs.n_rows) % 4 * 1.0 if weighted else np.ones(inputs.n_rows)
    rows = background(inputs, model.sources, weight)
    assert not rows.sampled
    for component in model.components:
        for source in component.sources:
            cells = cells_of(model, inputs, source)
            found = effect(component, model.schema, source, cells, rows)
            brute = [
                mean_score(model, inputs, weight, source, number, code)
                for number, code in zip(cells.numbers, cells.codes, strict=True)
            ]
            assert found.whole - found.whole[0] == pytest.approx(
                np.array(brute) - brute[0], abs=1e-9
            )


@pytest.mark.parametrize("name", NAMES)
def test_without_rows_only_own_terms_are_known(name):
    model, inputs = model_of(name), evidence_of(name).inputs
    for component in model.components:
        for source in component.sources:
            cells = cells_of(model, inputs, source)
            found = effect(component, model.schema, source, cells, None)
            alone = all(p.sources == (source,) for p in component.parts if source in p.sources)
            assert (found.whole is not None) == alone
            own = [p for p in component.parts if p.sources == (source,)]
            assert (found.own is not None) == bool(own)


@pytest.mark.parametrize("name", ["mixed", "products", "shaped", "special"])
def test_two_variables_together_are_the_joint_partial_dependence(name):
    model, inputs = model_of(name), evidence_of(name).inputs
    rows = background(inputs, model.sources)
    seen = 0
    for component in model.components:
        names = component.sources
        for first, second in pairwise(names):
            axes = {s: cells_of(model, inputs, s) for s in (first, second)}
            found = joint_effect(component, model.schema, axes, rows)
            assert found.shape == (len(axes[second]), len(axes[first]))
            brute = np.empty_like(found)
            for up in range(len(axes[second])):
                cell = axes[second].numbers[up], axes[second].codes[up]
                changed = with_cell(inputs, second, *cell)
                for across in range(len(axes[first])):
                    cell = axes[first].numbers[across], axes[first].codes[across]
                    brute[up, across] = model.score(with_cell(changed, first, *cell)).mean()
            assert found - found[0, 0] == pytest.approx(brute - brute[0, 0], abs=1e-9)
            seen += 1
    assert seen


def test_own_terms_may_fall_where_the_effect_rises():
    model, X, _ = opposite()
    (component,) = model.components
    values, rows = Cells.of_numbers(np.array([-1.5, 1.5])), background(model.read(X), model.sources)
    found = effect(component, model.schema, "late", values, rows)
    assert np.diff(found.own) == pytest.approx(-3.0)
    assert np.diff(found.whole) > 2.0
    scores = [model.score(X.assign(late=x)).mean() for x in (-1.5, 1.5)]
    assert np.diff(found.whole) == pytest.approx(np.diff(scores))


@pytest.mark.parametrize("name", NAMES)
def test_the_spread_holds_the_mean_and_nine_tenths_of_the_rows(name):
    model, inputs = model_of(name), evidence_of(name).inputs
    rows = background(inputs, model.sources)
    for component in model.components:
        for source in component.sources:
            cells = module.reference(rows, source)
            found = effect(component, model.schema, source, cells, rows)
            if found.low is not None:  # at the reference value all rows agree
                assert found.low == pytest.approx(found.whole)
                assert found.high == pytest.approx(found.whole)
                wide = effect(
                    component, model.schema, source, cells_of(model, inputs, source), rows
                )
                assert (wide.low <= wide.high).all()


def test_an_effect_that_cancels_in_the_mean_has_a_spread():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=2000).round(2), "sex": rng.choice(["f", "m"], 2000)})
    turned = np.where(X["sex"] == "f", 2.0, -2.0) * X["a"]
    y = rng.random(2000) < 1 / (1 + np.exp(-turned))
    model = RPTEClassifier(l1=0.002).fit(X, y).model_
    (component,) = model.components
    found = effect(
        component,
        model.schema,
        "a",
        Cells.of_numbers(np.array([-1.0, 1.0])),
        background(model.read(X), model.sources),
    )
    assert abs(np.diff(found.whole)[0]) < 0.5
    assert (found.high - found.low > 2.0).all()


@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), most=st.integers(1, 20))
def test_rows_are_drawn_by_content_and_weight(seed, n, most):
    rng = np.random.default_rng(seed)
    model = model_of("mixed")
    inputs = evidence_of("mixed").inputs
    rows = inputs.take(rng.integers(0, inputs.n_rows, n))
    weight = rng.integers(0, 4, n) * 1.0
    weight[rng.integers(n)] = 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ROWS", most)
        found = background(rows, model.sources, weight)
        order = rng.permutation(n)
        moved = background(rows.take(order), model.sources, weight[order])
        repeated = background(rows.take(np.repeat(np.arange(n), weight.astype(int))), model.sources)
    for other in (moved, repeated):
        assert other.sampled == found.sampled
        assert other.weight.tolist() == found.weight.tolist()
        assert model.score(other.inputs).tolist() == model.score(found.inputs).tolist()
    assert found.inputs.n_rows <= max(most, 1) or not found.sampled
    assert found.weight.sum() == (most if found.sampled else weight.sum())


def test_a_heavy_row_keeps_its_share_in_a_sample(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 40)
    model, inputs = model_of("mixed"), evidence_of("mixed").inputs
    weight = np.ones(inputs.n_rows)
    weight[3] = inputs.n_rows / 3  # a quarter of the whole, as a block of equal rows would be
    found = background(inputs, model.sources, weight)
    assert found.sampled
    assert found.weight.max() / found.weight.sum() == pytest.approx(0.25, abs=0.03)


def test_trees_are_averaged_too():
    trees = [
        part
        for name in NAMES
        for _, part in model_of(name).parts()
        if isinstance(part, TreeTerms) and len(part.sources) > 1
    ]
    assert trees  # else the tests above prove nothing of leaves

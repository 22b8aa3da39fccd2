"""What a notebook shows: cards, charts and pictures."""

import xml.etree.ElementTree as ET

import pytest

from model_files import stored
from report_pages import hostile, model_of, opposite
from rpte import InputError, RPTEClassifier
from rpte.report.notebook import Picture, plot_effect, plot_frontier, plot_tree

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def fitted():
    held = stored("mixed")
    made = RPTEClassifier(l1="4/n", vocabulary="original", max_leaves=4)
    return made.fit(held.X, held.y, held.weight)


def test_a_tree_is_drawn_with_every_leaf_and_condition(fitted, tmp_path):
    picture = fitted.plot_tree(1)
    root = ET.fromstring(picture._repr_svg_())
    texts = " ".join("".join(t.itertext()) for t in root.iter(f"{SVG}text"))
    titles = " ".join(t.text for t in root.iter(f"{SVG}title"))
    tree = next(t for c in fitted.model_.components for t in c.trees if t.name == "T1")
    for number, path, leaf in tree.rules():
        assert f"L{number + 1}" in texts
        assert f"{leaf.support:,.6g}" in texts
        for condition in path:
            assert condition.text(fitted.model_.schema) in titles
    picture.save(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == picture.svg
    assert fitted.plot_tree("T1") == picture
    assert 'alt="Tree T1' in picture._repr_html_()
    assert len(repr(picture)) < 100


def test_a_tree_that_is_not_there_is_said(fitted):
    with pytest.raises(InputError, match=r"there is no tree T99; its trees are T1"):
        fitted.plot_tree(99)
    with pytest.raises(InputError, match="the model has none"):
        plot_tree(model_of("chosen"), 1)


def test_the_frontier_is_a_picture_or_a_reason(fitted):
    picture = plot_frontier(model_of("chosen"))
    assert isinstance(picture, Picture)
    assert ET.fromstring(picture.svg).tag == f"{SVG}svg"
    with pytest.raises(InputError, match="no frontier"):
        fitted.plot_frontier()


def test_markup_in_names_stays_text():
    model, _, _ = hostile()
    for component in model.components:
        for tree in component.trees:
            ET.fromstring(plot_tree(model, tree.name).svg)


def svg_text(picture):
    root = ET.fromstring(picture.svg)
    return " ".join("".join(t.itertext()) for t in root.iter(f"{SVG}text"))


def test_an_effect_is_drawn_whole_with_rows_and_says_so_without():
    model, X, _ = opposite()
    whole, own = plot_effect(model, "late", X), plot_effect(model, "late")
    assert "What late adds" in svg_text(whole)
    assert "Whole effect: D1 and D2 with kind, over 400 rows" in svg_text(whole)
    first, last = whole.label.split(": ")[1].split(", ")[0], whole.label.split("; ")[0]
    assert first.startswith("-")  # rises, although its own term falls
    assert last.split(", ")[-1].startswith("+")
    assert "What the own terms of late add" in svg_text(own)
    assert "Not its whole effect: it also acts with kind" in svg_text(own)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed", "special", "products", "array"])
def test_every_variable_of_a_model_can_be_drawn(name):
    model, held = model_of(name), stored(name)
    for source in model.sources:
        picture = plot_effect(model, source, held.X, held.weight)
        assert source in svg_text(picture)


def test_an_effect_that_cannot_be_drawn_is_refused_with_the_remedy(fitted):
    model, X, _ = opposite()
    with pytest.raises(InputError, match=r"plot_effect\('kind', X\)"):
        plot_effect(model, "kind")
    with pytest.raises(InputError, match=r"does not read 'lat'.*late"):
        plot_effect(model, "lat", X)
    source = fitted.model_.sources[0]
    held = stored("mixed")
    assert fitted.plot_effect(source, held.X).svg == plot_effect(fitted.model_, source, held.X).svg


def test_weights_of_an_effect_are_checked():
    model, X, _ = opposite()
    with pytest.raises(InputError, match=r"sample_weight.shape == \(2,\), expected \(400,\)"):
        plot_effect(model, "late", X, [1.0, 2.0])
    with pytest.raises(InputError, match="not negative"):
        plot_effect(model, "late", X, [-1.0] * 400)
    with pytest.raises(InputError, match="no rows to average over"):
        plot_effect(model, "late", X[:0])

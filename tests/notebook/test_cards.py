"""Cards of models and explanations: what they say, and that every notebook can show them."""

import re

import pytest
from sklearn import set_config
from sklearn.base import clone

from class_pages import fitted as classes_fitted
from class_pages import hostile_classes
from report_pages import Page, hostile, opposite
from rpte import RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.notebook.card import Bar, Card, Fold, Link, Mark, Note, Number, Table
from rpte.notebook.explanations import MOST_CASES
from shown_models import TASKS, loans, shown

# What the sanitizers of JupyterLab and VS Code leave in an output that is not trusted.
ALLOWED = {
    "div", "span", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "img",
    "a",
}  # fmt: skip
BACKGROUNDS = ("#ffffff", "#111318", "#1e1e1e")  # white, JupyterLab's dark theme, that of VS Code


def every_card(task):
    estimator, X, y, given = shown(task)
    cause = {"cause": 1} if task == "causes" else {}
    told = estimator.explain(X.head(4), **cause)
    return [estimator, estimator.model_, told, told[0], estimator.verify(X, y, **given)]


@pytest.mark.parametrize("task", TASKS)
def test_cards_hold_what_an_untrusted_notebook_shows(task):
    for each in every_card(task):
        page = Page(each._repr_html_())
        assert page.faults == []
        assert {tag for tag, _, _ in page.elements} <= ALLOWED
        for tag, given, _ in page.elements:
            assert "class" not in given
            assert "id" not in given, tag  # nothing reaches the page around it
            assert not any(name.startswith("on") for name in given)


@pytest.mark.parametrize("task", TASKS)
def test_text_has_the_colour_of_the_notebook(task):
    """So it is legible on light and on dark: only bars and marks have colours of their own."""
    for each in every_card(task):
        for _, given, _ in Page(each._repr_html_()).elements:
            style = given.get("style", "")
            for colour in re.findall(r"(?<![-\w])color:([^;]+)", style):
                assert colour == "inherit" or contrast(colour, 3.0), style
            for colour in re.findall(r"background-color:([^;]+)", style):
                assert contrast(colour, 3.0), style


def contrast(colour, least):
    return all(ratio(colour, ground) >= least for ground in BACKGROUNDS)


def ratio(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    """Return the relative luminance of a colour, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_kind_of_cell_and_block_has_enough_contrast():
    row = (Mark(True, "a"), Mark(False, "b"), Mark(None, "c"), Bar(1.0, 2.0), Bar(-1.0, 2.0))
    blocks = [Table("abcdef", [(*row, Number("1"))]), Note("n", warns=True), Link("x", "a b.html")]
    text = Card("t", ["l"], [Fold("f", blocks)], Mark(False, "")).html
    colours = set(re.findall(r"(?<![-\w])(?:background-)?color:(#\w+)", text))
    assert len(colours) >= 4
    assert all(contrast(colour, 3.0) for colour in colours), colours
    assert 'href="./a%20b.html"' in text


def test_a_model_shows_its_size_components_and_terms():
    estimator = shown("binary")[0]
    said = Page(estimator.model_._repr_html_()).said()
    load = estimator.audit()
    assert f"{load.mu} terms, {load.miu} conditions" in said
    for component in estimator.model_.components:
        assert ", ".join(component.sources) in said
    for rule in estimator.model_.rules():
        assert rule.term in said
        assert rule.conditions in said


def test_an_estimator_shows_scikit_learns_diagram_until_it_is_fitted():
    for fresh in (RPTEClassifier(l1=0.1), RPTERegressor(), RPTESurvival()):
        assert "sk-" in fresh._repr_html_()
    estimator = shown("binary")[0]
    assert f"fitted by {estimator!r}".replace("'", "&#39;") in estimator._repr_html_()
    assert estimator._repr_mimebundle_()["text/html"] == estimator._repr_html_()
    assert "sk-" in clone(estimator)._repr_html_()
    set_config(display="text")
    try:
        assert not hasattr(estimator, "_repr_html_")
    finally:
        set_config(display="diagram")


def test_an_explanation_shows_every_contribution_that_is_not_zero_with_its_value():
    X, _ = loans()
    told = shown("binary")[0].explain(X.iloc[[5]])[0]
    said = Page(told._repr_html_()).said()
    for component in told.components:
        for part in component.contributions:
            assert (f"{part.term}: {part.text}" in said) == (part.value != 0.0)
    assert "age = " in said
    assert "other terms add nothing" in said


def test_a_list_shows_some_rows_and_counts_the_others():
    X, _ = loans()
    text = shown("binary")[0].explain(X)._repr_html_()
    assert text.count("<details") == MOST_CASES
    assert f"and {len(X) - MOST_CASES} more rows" in text
    assert len(text) < 200_000


def test_several_classes_show_each_class_and_coefficient():
    model = classes_fitted().model_
    text = model._repr_html_()
    assert "3 classes" in text
    for rule in model.rules():
        assert f">{rule.term}<" in text
        assert all(f">{size:+.4g}<" in text for size in rule.coefficients if size)
    told = shown("several")[0].explain(shown("several")[1].head(1))[0]
    said = Page(told._repr_html_()).said()
    assert f"why {told.chosen} and not {told.against}" in said
    assert f"{told.probabilities[told.chosen]:.2%}" in said


def test_a_card_says_which_variables_act_together():
    model, _, _ = opposite()
    assert "kind, late act together with others" in Page(model._repr_html_()).said()


def test_markup_in_names_stays_text():
    model, X, _ = hostile()
    several, rows = hostile_classes()[:2]
    for each in (model, model.explain(X[:1])[0], several, several.explain(rows[:1])[0]):
        page = Page(each._repr_html_())
        assert page.faults == []
        assert {tag for tag, _, _ in page.elements} <= ALLOWED

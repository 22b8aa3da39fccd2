"""What a notebook shows of several classes: cards, explanations, and pictures of every variable."""

import re

import numpy as np
import pytest

from class_pages import CODED, NAMES, fitted, hostile_classes, table, with_pair
from report_pages import Page
from rpte import InputError, RPTEClassifier
from rpte.report.class_charts import CLASS_COLOURS, MOST_TOGETHER
from rpte.report.notebook import plot_effect


def test_the_estimator_explains_a_named_class():
    X, y = table()
    made = fitted()
    (told,) = made.explain(X[:1], label="sort 2", against="sort 0")
    assert (told.chosen, told.against) == ("sort 2", "sort 0")
    with pytest.raises(InputError, match="'x' is not a class"):
        made.explain(X[:1], label="x")
    two = RPTEClassifier(l1=0.1, special_values=CODED).fit(X, y == "sort 1")
    with pytest.raises(InputError, match="for several classes"):
        two.explain(X[:1], label=True)
    assert two.explain(X[:1])[0].probability == pytest.approx(two.predict_proba(X[:1])[0, 1])


@pytest.mark.parametrize("classes", [3, 8])
def test_effects_are_drawn_for_every_class(classes):
    X, _ = table(classes)
    made = fitted(classes)
    for source in made.model_.sources:
        picture = made.plot_effect(source, X)
        assert Page(picture.svg).faults == []
        home = next(c for c in made.model_.components if source in c.sources)
        sizes = np.array([r.coefficients for r in made.model_.rules() if r.component == home.name])
        for k, label in enumerate(made.model_.classes):
            assert (label in re.sub("nothing of .*", "", picture.label)) == bool(sizes[:, k].any())
        used = sum(colour in picture.svg for colour in CLASS_COLOURS.values())
        assert (used > 0) == (classes <= MOST_TOGETHER)


def test_a_pair_is_averaged_over_rows_or_asks_for_them():
    model, X, _ = with_pair()
    with pytest.raises(InputError, match="averaged over rows only"):
        plot_effect(model, "kind")
    assert "whole effect: D2, with late, over 240 rows" in plot_effect(model, "kind", X).label
    with pytest.raises(InputError, match="does not read 'age'"):
        plot_effect(model, "age")


def test_frontier_and_trees_say_why_there_is_none():
    with pytest.raises(InputError, match="this model has no frontier: its penalty was given"):
        fitted().plot_frontier()
    with pytest.raises(InputError, match="there is no tree T1; the model has none"):
        fitted().plot_tree()


@pytest.mark.parametrize("classes", [3, 8])
def test_names_are_text_and_nothing_else(classes):
    made, X, _ = hostile_classes(classes)
    shown = [made._repr_html_(), made.explain(X[:1])[0]._repr_html_()]
    shown += [made.plot_effect(source, X).svg for source in made.model_.sources]
    for text in shown:
        page = Page(text)
        assert page.faults == []
        assert not any(page.all(tag) for tag in ("i", "script", "section"))
    assert all(name in Page(shown[0]).said() for name in NAMES[:classes])

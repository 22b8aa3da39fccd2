"""What a notebook shows of several classes: cards, explanations, and pictures of every variable."""

import re

import pytest

from class_pages import CODED, NAMES, fitted, hostile_classes, table
from report_pages import Page
from rpte import InputError, RPTEClassifier


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
def test_names_are_text_and_nothing_else(classes):
    made, X, _ = hostile_classes(classes)
    shown = [made._repr_html_(), made.explain(X[:1])[0]._repr_html_()]
    for text, named in zip(shown, ("Classes", "Probabilities"), strict=True):
        assert re.search(rf"<details[^>]* open><summary[^>]*>{named}</summary>", text)
        page = Page(text)
        assert page.faults == []
        assert not any(page.all(tag) for tag in ("i", "script", "section"))
    assert all(name in Page(shown[0]).said() for name in NAMES[:classes])

"""The whole model as text: nothing is left out."""

from dataclasses import replace

import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.model.parts import TreeTerms

CASE = mixed_case()
MAKERS = {
    "default": lambda: RPTEClassifier(l1=0.01),
    "published": RPTEClassifier.paper,
    "levels": lambda: RPTEClassifier(vocabulary="original", ownership="separate", l1="4/n"),
}


@pytest.fixture(scope="module", params=MAKERS)
def classifier(request):
    return CASE.fit(MAKERS[request.param]())


def test_every_active_term_is_named_with_its_coefficient(classifier):
    lines = classifier.summary().splitlines()
    rules = classifier.rules_
    assert len(rules) > 5
    for rule in rules.itertuples():
        mark = f"{rule.term}  " if rule.tree == "" else f": {rule.term}  ("
        (line,) = [line for line in lines if mark in line]
        style = "+9.4g" if rule.tree == "" else "+9.4f"
        assert line.startswith(f"{rule.coefficient:{style}}")
        if rule.tree == "":
            assert rule.conditions in line


def test_every_condition_is_said_on_the_way_to_its_leaf(classifier):
    text, seen = classifier.summary(), 0
    for _, part in classifier.model_.parts():
        if isinstance(part, TreeTerms):
            for path in part.tree.paths():
                for condition in path:
                    seen += 1
                    word = "if" if condition.holds else "else"
                    assert f"{word} {condition.text(classifier.model_.schema)}" in text
    assert seen


def test_the_load_the_bound_and_the_components_are_stated(classifier):
    load, text = classifier.audit(), classifier.summary()
    assert f"{load.mu} terms, {load.miu} conditions to read" in text
    assert f"bound before training: {load.bound}" in text
    assert f"ownership '{classifier.ownership}'" in text
    assert f"{classifier.model_.intercept:+9.4f}  intercept" in text
    for component in classifier.model_.components:
        assert f"{component.name}: {', '.join(component.sources)}" in text.splitlines()


def test_a_model_without_terms_is_its_intercept(classifier):
    blank = replace(classifier.model_, components=(), intercept=-1.5)
    assert blank.summary().splitlines()[-1] == "  -1.5000  intercept"
    assert "0 terms, 0 conditions" in blank.summary()

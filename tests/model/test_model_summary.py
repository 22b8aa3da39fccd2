"""The whole model as text: nothing is left out."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.losses import BINOMIAL
from rpte.model.parts import TreeTerms
from rpte.model.summary import figures_text

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
    lines = classifier.summary(every=True, terms=True).splitlines()
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
    text, seen = classifier.summary(every=True, terms=True), 0
    for _, part in classifier.model_.parts():
        if isinstance(part, TreeTerms):
            for path in part.tree.paths():
                for condition in path:
                    seen += 1
                    word = "if" if condition.holds else "else"
                    assert f"{word} {condition.text(classifier.model_.schema)}" in text
    assert seen


def test_the_load_the_bound_and_the_components_are_stated(classifier):
    load, text = classifier.audit(), classifier.summary(every=True, terms=True)
    assert f"{load.mu} terms, {load.miu} conditions to read" in text
    told = text.index("intercept")
    assert text.index(f"at most {load.bound} conditions were possible") > told  # after the model
    assert text.index(f"ownership '{classifier.ownership}'") > told
    assert f"{classifier.model_.intercept:+9.4f}  intercept" in text
    for component in classifier.model_.components:
        assert f"{component.name}: {', '.join(component.sources)}" in text.splitlines()


def test_a_model_without_terms_is_its_intercept(classifier):
    blank = replace(classifier.model_, components=(), intercept=-1.5)
    assert blank.summary().splitlines()[-1] == "  -1.5000  intercept"
    assert "0 terms, 0 conditions" in blank.summary()


def frontier_of(*points):
    """Return the record of a selection whose frontier has some conditions, deviances, errors."""
    names = ("miu", "deviance", "error")
    return {"null_deviance": 1.0, "frontier": [dict(zip(names, p, strict=True)) for p in points]}


def test_the_shortest_model_within_one_standard_error_comes_last(classifier):
    model = classifier.model_
    load = model.audit().miu

    def last_line(*points):
        told = {**model.training, "selection": frontier_of((0, 1.0, 0.1), *points)}
        return replace(model, training=told).summary().splitlines()[-1]

    said = last_line((1, 0.75, 0.1), (2, 0.64, 0.1), (load, 0.6, 0.05), (load + 1, 0.5, 0.2))
    assert said == (
        f"shorter: 2 conditions instead of {load} explain 36.0 % of the deviance instead of 40.0 % "
        "(validated; within one standard error): clf.at(miu=2), or fit with max_inspection_units=2"
    )
    assert "shorter" not in last_line((1, 0.75, 0.1), (load, 0.6, 0.05))
    assert "shorter" not in last_line((1, 0.55, 0.1), (load + 1, 0.5, 0.2))  # not this model's


def long_table(n=700, variables=24):
    draw = np.random.default_rng(5)
    X = pd.DataFrame({f"x{i:02d}": draw.choice(list("abcd"), n) for i in range(variables)})
    weights = np.linspace(2.0, 0.3, variables)
    return X, sum(w * (X[name] == "a") for w, name in zip(weights, X, strict=True)), draw


@pytest.mark.parametrize("classes", [2, 3])
def test_long_models_begin_with_the_largest_and_fold_the_small(classes):
    X, score, draw = long_table()
    noisy = score + draw.logistic(size=len(X))
    y = np.searchsorted(np.quantile(noisy, np.arange(1, classes) / classes), noisy)
    made = RPTEClassifier(l1=0.002, max_trees=0, max_component_sources=1).fit(X, y)
    load, short, full = made.audit(), made.summary(terms=True), made.summary(every=True, terms=True)
    assert load.mu > 40
    told = re.search(
        r"and (\d+) terms of (\d+) variables, (\d+)% of all importance \((.*)\)", short
    )
    names = re.findall(r"^C\d+: (\w+)$", short, re.MULTILINE)
    sizes = dict(made.importances_[["variable", "importance"]].to_numpy().tolist())
    assert names == sorted(sizes, key=lambda name: -sizes[name])[: len(names)]
    assert len(names) + int(told[2]) == len(sizes)
    shown = re.findall(r"  D\d+  ", short)
    assert len(shown) + int(told[1]) == load.mu
    assert 20 < len(shown) <= 30
    rest = sum(size for name, size in sizes.items() if name not in names) / sum(sizes.values())
    assert int(told[3]) == round(100 * rest)
    assert "summary(every=True) has all" in short
    assert len(re.findall(r"  D\d+  ", full)) == load.mu
    assert "importance (" not in full


def test_the_first_lines_have_no_words_of_the_house(classifier):
    first = "\n".join(classifier.summary().splitlines()[:2])
    assert not re.search("bound|ownership|leaves", first)


def test_a_class_that_is_a_number_is_called_a_class():
    X, _, _ = long_table(variables=2)
    y = (X["x00"] == "a").to_numpy().astype(int)
    of = [
        RPTEClassifier(l1="4/n").fit(X, y),
        RPTEClassifier(l1="4/n").fit(X, np.array(["no", "yes"])[y]),
    ]
    assert of[0].summary().startswith("RPTE model: log odds of class 1 against 0\n")
    assert of[1].summary().startswith("RPTE model: log odds of 'yes' against 'no'\n")
    named = RPTEClassifier(l1="4/n").fit(X, pd.Series(y, name="bad"))
    assert named.summary().startswith("RPTE model: log odds of bad = 1 against 0\n")
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    assert named.plot("x00").unit == "log odds of bad = 1"


@pytest.mark.parametrize(("share", "said"), [(0.2109, "21.1% lower"), (-0.05, "5.0% higher")])
def test_the_brier_score_over_time_is_a_sentence(share, said):
    whole = {"mean": 0.1391, "error": None}
    record = {
        "folds": 5, "rows": 600, "by": "content", "concordance": {"mean": 0.7, "error": 0.01},
        "brier": whole, "brier_explained": {"mean": share, "error": 0.02}, "miu": whole,
    }  # fmt: skip
    assert figures_text(record, BINOMIAL).endswith(
        f"Brier score over time 0.1391, which is {said} than that of the Kaplan-Meier curve"
    )

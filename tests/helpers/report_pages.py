"""Reports to test: of the stored models, and of a table with hostile names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from model_files import stored
from rpte import RPTEClassifier, RPTERegressor
from rpte.columns.kinds import Level, Pair, Value
from rpte.model.file import from_dict
from rpte.model.parts import Component, DirectTerm
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render

HOSTILE = ["<script>alert(1)</script>", 'a"b&c', "x' onload='y", "{{ 7 * 7 }}", "]]>-->", "ä\u202e"]
QUICK = ReportOptions(resamples=20, show_cases=True)
VOID = {"meta", "link", "br", "img", "path", "rect", "circle"}


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, text by element, faults of nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.faults, self.text = [], [], [], []
        self.feed(text)
        self.faults += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> out of place")

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]

    def said(self):
        return " ".join(text for tag, text in self.text if tag != "script")

    def scripts(self):
        """Return the texts of the scripts that run, and of those that hold data."""
        texts = [text for tag, text in self.text if tag == "script"]
        kinds = [attributes.get("type") for attributes in self.all("script")]
        runs = [text for text, kind in zip(texts, kinds, strict=True) if kind is None]
        return runs, [text for text, kind in zip(texts, kinds, strict=True) if kind]


@cache
def model_of(name):
    return from_dict(stored(name).document)


def evidence_of(name, **more):
    held = stored(name)
    beside = {role: given for role, given in held.beside.items() if given is not None}
    return gather(model_of(name), held.X, held.y, held.weight, **beside, **more)


@cache
def contents_of(name):
    return report_contents(model_of(name), evidence_of(name), QUICK, stored(name).document)


@cache
def page_of(name):
    return render(contents_of(name))


@cache
def opposite():
    """Return a model and a table: a number lowers the score by itself, and raises it as a whole.

    Its product with a level outweighs its own slope in the mean over the rows.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"late": rng.normal(size=400).round(2)})
    X["kind"] = rng.choice(np.array(["card", "loan", "other"], object), 400, p=[0.5, 0.3, 0.2])
    y = rng.random(400) < 1 / (1 + np.exp(-np.where(X["kind"] == "card", 4, -1) * X["late"]))
    fitted = RPTEClassifier(l1=0.5, profile="full").fit(X, y).model_
    late, card = Value("late"), Level("kind", ("card",))
    product = Pair("product", late, card)
    counts = 400.0, float(y.sum())
    direct = (
        DirectTerm("D1", late, -1.0, 0.0, 1.0, *counts),
        DirectTerm("D2", product, 5.0, 0.0, 1.0, *counts),
    )
    means = {term.name: float(term.contribution(fitted.read(X)).mean()) for term in direct}
    training = {**fitted.training, "mean_contributions": means}
    return replace(fitted, components=(Component("C1", (), direct),), training=training), X, y


@cache
def hostile():
    """Return a model and a table whose names, levels and classes are markup."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.normal(size=200).round(2) for name in HOSTILE[:3]})
    for name in HOSTILE[3:]:
        X[name] = rng.choice(np.array(["<b>bold</b>", "&amp;", "<!--"], object), 200)
    score = X[HOSTILE[0]] + 2 * (X[HOSTILE[3]] == "<b>bold</b>") * X[HOSTILE[1]]
    y = np.where(score + rng.normal(size=200) > 0.5, "<i>yes</i>", "</section>")
    clf = RPTEClassifier(l1=0.01, max_trees=1, max_leaves=4).fit(X, y)
    return clf.model_, X, y


@cache
def hostile_number():
    """Return a model of a number and a table whose names and levels are markup."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({name: rng.normal(size=200).round(2) for name in HOSTILE[:2]})
    X[HOSTILE[3]] = rng.choice(np.array(["<b>bold</b>", "&amp;", "<!--"], object), 200)
    X["<u>years</u>"] = rng.uniform(0.5, 2.0, 200).round(2)
    rate = np.exp(X[HOSTILE[0]] / 2 + (X[HOSTILE[3]] == "<b>bold</b>"))
    y = pd.Series(rng.poisson(rate * X["<u>years</u>"]), name="<i>claims</i> {y}")
    made = RPTERegressor(loss="poisson", l1=0.02, max_trees=1, max_leaves=4)
    return made.fit(X, y, exposure="<u>years</u>").model_, X, y


@cache
def hostile_number_page():
    model, X, y = hostile_number()
    evidence = gather(
        *(model, X, y),
        name="<img src=x>.csv",
        groups={HOSTILE[3]: X[HOSTILE[3]].to_numpy()},
        exposure="<u>years</u>",
        against={"<s>glm</s>": np.full(200, 1.5)},
    )
    return render(report_contents(model, evidence, QUICK))


@cache
def hostile_page():
    model, X, y = hostile()
    groups = {HOSTILE[3]: X[HOSTILE[3]].to_numpy()}
    evidence = gather(model, X, y, name="<img src=x>.csv", groups=groups)
    return render(report_contents(model, evidence, QUICK))

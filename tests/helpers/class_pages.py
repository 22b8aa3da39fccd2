"""Models of several classes to report on: three with pairs, nine, and names that are markup."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from report_pages import HOSTILE, QUICK
from rpte import RPTEClassifier
from rpte.columns.kinds import Level, Pair, Value
from rpte.model.classes import ClassesModel
from rpte.model.parts import Component, DirectTerm
from rpte.report.contents import report_contents
from rpte.report.evidence import gather
from rpte.report.html import render

CODED = {"code": [-9]}
NAMES = ["<i>one</i>", "a&b", "{{ 7 * 7 }}", "</section>", "fi've", 'x"y', "]]>-->", "ä\u202e"]


@cache
def table(classes=3, n=240, seed=0):
    """Return a number, a category and a coded number, and labels that go by them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"late": rng.normal(size=n).round(2)})
    X["kind"] = rng.choice(np.array(["card", "loan", "other"], object), n)
    X["code"] = np.where(rng.random(n) < 0.2, -9, rng.normal(size=n).round(1))
    moved = [X["late"], -X["late"], 2.0 * (X["kind"] == "card"), X["code"], 1.5 * (X["code"] == -9)]
    score = np.column_stack([2 * moved[k % 5] for k in range(classes)])
    labels = np.array([f"sort {k}" for k in range(classes)])
    return X, labels[(score + rng.gumbel(size=(n, classes))).argmax(axis=1)]


@cache
def fitted(classes=3, n=240):
    X, y = table(classes, n)
    made = RPTEClassifier(l1=0.01, pattern_order=1, special_values=CODED)
    return made.fit(X, y)


@cache
def with_pair():
    """Return a model in which a product with a level moves one class alone, and its table."""
    X, y = table()
    model: ClassesModel = fitted().model_
    late, card = Value("late"), Level("kind", ("card",))
    columns = {"D1": late, "D2": Pair("product", late, card)}
    sizes = {"D1": (0.5, -0.5, 0.0), "D2": (0.0, 0.0, 3.0)}
    inputs = model.read(X)
    by_class, means = [], {name: [] for name in columns}
    for k, total in enumerate(model.target.totals):
        direct = tuple(
            DirectTerm(name, columns[name], sizes[name][k], 0.0, 1.0, float(len(y)), total)
            for name in columns
        )
        by_class.append((Component("C1", (), direct),))
        for term in direct:
            means[term.name].append(float(term.contribution(inputs).mean()))
    training = {**model.training, "mean_contributions": means}
    return replace(model, by_class=tuple(by_class), training=training), X, y


@cache
def hostile_classes(classes=3):
    """Return a model and a table whose names, levels and classes are markup."""
    X, y = table(classes, 320)
    X = X.rename(columns={"late": HOSTILE[0], "kind": HOSTILE[1], "code": HOSTILE[3]})
    X[HOSTILE[1]] = X[HOSTILE[1]].map({"card": "<b>bold</b>", "loan": "&amp;", "other": "<!--"})
    y = np.array([NAMES[int(label.split()[1])] for label in y], object)
    made = RPTEClassifier(l1=0.01, max_trees=0, special_values={HOSTILE[3]: [-9]})
    return made.fit(X, y), X, y


@cache
def hostile_classes_page(classes=3):
    made, X, y = hostile_classes(classes)
    return render(report_contents(made.model_, gather(made.model_, X, y), QUICK))

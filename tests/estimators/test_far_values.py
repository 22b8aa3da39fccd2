"""One shape per variable: what happens beyond the training data, where nobody has looked."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier, RPTESurvival
from survival_tables import made_times

FAR = 1e9


@cache
def fitted(task, seed):
    """Return a table and the default model of it."""
    if task == "times":
        X, y = made_times(300, seed)
        return X, RPTESurvival().fit(X, y).model_
    case = mixed_case(400, seed)
    return case.X, case.fit(RPTEClassifier()).model_


def own_effects(model):
    """Return the columns of each number that direct terms of one variable alone read."""
    read = {name for tree in model.trees for name in tree.sources}
    read |= {n for t in model.direct for n in t.sources if len(set(t.sources)) > 1}
    numbers = {v.name for v in model.schema.variables if v.kind == "number"} - read
    found = {}
    for term in model.direct:
        if set(term.sources) <= numbers:
            found.setdefault(term.sources[0], []).append(term.column)
    return found


def goes_on(columns):
    """Tell whether an effect is a logarithm or a distance, which have no end."""
    return any(getattr(column, "formula", None) in ("log", "distance") for column in columns)


def moves(model, X, name):
    """Return by how much the score moves from the ends of the data to far beyond them."""
    rows, ends = X.iloc[:40], (X[name].min(), X[name].max())
    pairs = zip(ends, (-FAR, FAR), strict=True)
    scores = [[model.score(rows.assign(**{name: float(x)})) for x in pair] for pair in pairs]
    return max(float(np.abs(there - far).max()) for there, far in scores)


@pytest.mark.parametrize("task", ["labels", "times"])
def test_far_values_say_what_the_ends_of_the_data_say(task):
    seen = 0
    for seed in range(5):
        X, model = fitted(task, seed)
        for name, columns in own_effects(model).items():
            if not goes_on(columns):
                assert moves(model, X, name) == 0.0, (seed, name, columns)
                seen += any(getattr(column, "formula", None) == "clip" for column in columns)
    assert seen > 3


@pytest.mark.xfail(strict=True, reason="the logarithm of a number has no upper end")
def test_logarithms_end_inside_the_data_too():
    rng = np.random.default_rng(0)
    amount = rng.lognormal(3, 1.2, 800).round(1)
    X = pd.DataFrame({"amount": amount, "other": rng.normal(size=800)})
    model = RPTEClassifier().fit(X, rng.random(800) < 1 / (1 + np.exp(3.0 - np.log(amount)))).model_
    (columns,) = own_effects(model).values()
    assert goes_on(columns)
    assert moves(model, X, "amount") == 0.0

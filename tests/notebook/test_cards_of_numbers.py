"""What a notebook shows of a model of numbers: its words, not those of classes."""

import numpy as np
import pandas as pd
import pytest

from rpte import RPTERegressor


@pytest.fixture(scope="module", params=["squared_error", "gamma"])
def fitted(request):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    X["group"] = rng.choice(["p", "q"], 300)
    y = np.exp(0.5 * X["a"] + 0.6 * X["a"] * (X["b"] > 0)) * rng.gamma(5.0, 0.2, 300)
    return RPTERegressor(loss=request.param, l1=0.01).fit(X, y.rename("cost")), X


def test_cards_and_pictures_speak_of_the_number(fitted):
    reg, X = fitted
    shown = [
        reg._repr_html_(),
        reg.model_._repr_html_(),
        reg.explain(X[:1])[0]._repr_html_(),
    ]
    assert "mean of cost" in shown[1]
    for text in shown:
        for word in ("log odds", "probability", "odds ratio"):
            assert word not in text

"""The fingerprint of the training table: the same for the same table, and discreet."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fit_tables import mixed_case
from model_files import special_case, stored
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.model.verify_table import near
from rpte.table.fingerprint import fingerprint
from rpte.table.read import read_training

CASE = mixed_case()


def fit(X, y, weight=None, **parameters):
    return RPTEClassifier(**{"l1": 0.05, "max_trees": 1, **parameters}).fit(X, y, weight).model_


def profile(X, y=None, **parameters):
    y = np.arange(len(X)) % 2 if y is None else y
    columns = fit(X, y, **parameters).data["profile"]
    return {column["name"]: column for column in columns}


def test_container_and_row_order_do_not_matter():
    first = fit(CASE.X, CASE.y, CASE.weight).data
    order = np.random.default_rng(1).permutation(len(CASE.y))
    shuffled = CASE.X.iloc[order][["noise", "region", "age", "smoker", "income"]]
    assert near(fit(shuffled, CASE.y[order], CASE.weight[order]).data["sha256"], first["sha256"])
    plain = {name: list(CASE.X[name].astype(object)) for name in CASE.X}
    for table in (pl.from_pandas(CASE.X), pa.Table.from_pandas(CASE.X), plain):
        assert fit(table, CASE.y, CASE.weight).data == first


@pytest.mark.parametrize("other", ["cell", "label", "weight", "row", "names"])
def test_everything_in_the_table_matters(other):
    X, y, weight = CASE.X.copy(), CASE.y.copy(), CASE.weight.copy()
    if other == "cell":
        X.loc[5, "noise"] += 0.001
    elif other == "label":
        y[5] = "sick" if y[5] == "healthy" else "healthy"
    elif other == "weight":
        weight[5] += 0.5
    elif other == "row":
        X, y, weight = X.iloc[1:], y[1:], weight[1:]
    else:
        X = X.rename(columns={"noise": "nois"})
    first = fit(CASE.X, CASE.y, CASE.weight).data
    assert fit(X, y, weight).data["sha256"] != first["sha256"]


def test_labels_matter_by_name_and_not_by_which_is_positive():
    first = fit(CASE.X, CASE.y).data["sha256"]
    assert fit(CASE.X, CASE.y, positive="healthy").data["sha256"] == first
    assert fit(CASE.X, CASE.y == "sick").data["sha256"] != first


def test_groups_that_keep_equal_rows_apart_do_not_change_it():
    X = pd.concat([CASE.X, CASE.X.head(50)], ignore_index=True)
    y, weight = np.append(CASE.y, CASE.y[:50]), np.append(CASE.weight, CASE.weight[:50]) / 3
    alone = RPTEClassifier(l1=0.05).fit(X, y, weight)
    with pytest.warns(RPTEWarning, match="groups are kept together by inner validation"):
        grouped = RPTEClassifier(l1=0.05).fit(X, y, weight, groups=np.arange(350) // 5)
    assert grouped.model_.data["sha256"] == alone.model_.data["sha256"]
    assert grouped.model_.training["validation"] == {"folds": 5, "by": "groups"}
    assert grouped.model_.training["distinct_rows"] > grouped.model_.data["distinct_rows"]
    assert all(check.holds for check in grouped.model_.verify(X, y, weight))


def test_verify_says_whether_it_is_the_training_table():
    model = fit(CASE.X, CASE.y, CASE.weight)
    checks = {c.name: c for c in model.verify(CASE.X.head(200), CASE.y[:200], CASE.weight[:200])}
    check = checks["training table"]
    assert not check.holds
    assert model.data["sha256"] in check.evidence
    assert "distinct rows: stored 300, found 200" in check.evidence
    good = {c.name: c for c in model.verify(CASE.X, CASE.y, CASE.weight)}["training table"]
    assert good.holds
    assert model.data["sha256"] in good.evidence


def test_a_weight_of_the_wrong_shape_is_refused():
    with pytest.raises(InputError, match=r"sample_weight.shape == \(3,\), expected \(300,\)"):
        fit(CASE.X, CASE.y).verify(CASE.X, CASE.y, [1, 2, 3])


def test_the_profile_describes_each_column():
    found = profile(CASE.X, CASE.y)
    assert list(found) == list(CASE.X)
    age = CASE.X["age"]
    assert found["age"]["quantiles"] == [
        float(np.quantile(age, q, method="inverted_cdf")) for q in (0.05, 0.25, 0.5, 0.75, 0.95)
    ]
    assert found["age"]["distinct"] == age.nunique()
    assert found["income"]["missing"] == pytest.approx(CASE.X["income"].isna().mean())
    assert found["region"]["levels"] == CASE.X["region"].value_counts().sort_index().to_dict()
    assert found["region"]["quantiles"] is None
    assert all(column["extremes"] is None for column in found.values())


def test_special_codes_are_counted_like_levels():
    case = special_case()
    found = profile(case.X, case.y, special_values={"points": [-9, -8]})["points"]
    assert found["levels"] == {
        code: float((case.X["points"] == int(code)).sum()) for code in ("-9", "-8")
    }
    assert min(found["quantiles"][1:]) > 0


@pytest.mark.parametrize("n", [12, 40, 90, 400])
def test_exact_extremes_are_never_shown_unless_asked(n):
    rng = np.random.default_rng(n)
    X = pd.DataFrame({"x": rng.normal(size=n), "flag": rng.integers(0, 3, n), "few": [0.0] * n})
    X.loc[: n // 2, "few"] = 0.5  # two whole numbers would be levels
    safe, full = profile(X), profile(X, profile="full")
    for name in X:
        ends = [float(X[name].min()), float(X[name].max())]
        assert not set(ends) & set(safe[name]["quantiles"])
        assert safe[name]["extremes"] is None
        assert full[name]["extremes"] == ends
        assert None not in full[name]["quantiles"]
    beyond = [(X["x"] <= q).sum() for q in safe["x"]["quantiles"] if q is not None]
    assert all(5 <= count <= n - 4 for count in beyond)


@pytest.mark.parametrize("n", [9, 12, 40, 90, 400])
def test_equal_parts_end_where_five_rows_lie(n):
    rng = np.random.default_rng(n)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "flag": rng.integers(0, 2, n),
            "c": ["a", "b", "a"] * (n // 3) + ["b"] * (n % 3),
        }
    )
    X["rare"] = [7.0] * 3 + [1.0] * 4 + [0.0] * (n - 7)
    weight = np.repeat([1.0, 2.0], [n // 2, n - n // 2])
    for given in (None, weight):
        times = np.ones(n, int) if given is None else given.astype(int)
        x = np.sort(np.repeat(X["x"].to_numpy(), times))
        found = fingerprint_of(X, given, "safe")
        parts = found["x"]["equal_parts"]
        if len(x) < 10:
            assert parts is None
            continue
        assert (parts[0], parts[-1]) == (x[4], x[-5])
        assert len(parts) - 1 == min(20, len(x) // 5)
        shares = np.arange(1, len(parts) - 1) / (len(parts) - 1)
        inner = x[np.ceil(shares * len(x) - 1e-9).astype(int) - 1]
        assert parts[1:-1] == np.clip(inner, x[4], x[-5]).tolist()
        assert found["x"]["values"] is None
        full = fingerprint_of(X, given, "full")
        assert full["x"]["equal_parts"][:: len(parts) - 1] == [x[0], x[-1]]
        assert full["rare"]["values"] == [0.0, 1.0, 7.0]
        counts = X["rare"].repeat(times).value_counts()
        told = sorted(counts.index[counts >= 5])
        assert found["rare"]["values"] == (told if len(told) > 1 else None)
        assert "values" not in found["c"]


def fingerprint_of(X, weight, profile):
    """Return the profile of columns, by name, whatever the fit would say of so few rows."""
    table = read_training(X)
    own = np.ones(len(X)) if weight is None else weight
    found = fingerprint(table, np.zeros(len(X)), own, (), profile)["profile"]
    return {column["name"]: column for column in found}


def test_counts_under_five_are_hidden_with_company():
    X = pd.DataFrame({"c": ["a"] * 60 + ["b"] * 30 + ["d"] * 7 + ["e"] * 3})
    settings = {"min_samples_leaf": 1, "special_values": None}
    assert profile(X, **settings)["c"]["levels"] == {"a": 60, "b": 30, "d": "hidden", "e": "<5"}
    shown = profile(X, profile="full", **settings)["c"]["levels"]
    assert shown == {"a": 60, "b": 30, "d": 7, "e": 3}
    X.loc[:1, "c"] = None
    found = profile(X, **settings)["c"]
    assert found["missing"] == "<5"
    assert found["levels"] == {"a": 58, "b": 30, "d": 7, "e": "<5"}


def test_the_profile_can_be_left_out():
    model = fit(CASE.X, CASE.y, profile="none")
    assert model.data["profile"] is None
    assert model.data["sha256"] == fit(CASE.X, CASE.y).data["sha256"]
    assert stored("chosen").document["data"]["profile"] is None


def test_the_profile_does_not_change_the_model():
    models = [fit(CASE.X, CASE.y, profile=how) for how in ("safe", "full", "none")]
    assert len({repr(model.components) for model in models}) == 1

"""Files of models of numbers: what is refused, what a tamperer changes, sums that agree."""

import json

import numpy as np
import pandas as pd
import pytest

from model_files import NUMBER_NAMES, direct, number_case, sealed, stored, trees, write
from rpte import InputError, ModelFileError, RPTERegressor, load, verify_file
from rpte.check import rpte_check
from rpte.losses import OF_NUMBERS
from rpte.model.file import from_dict, to_dict

TABLE, SUPPORT, MEANS = "training table", "supports and means", "mean contributions"
SUMS, ASKED = "supports and means add up", "size as asked for"
OPTIMUM = "Stage 3 optimality of the active terms"
STAGE_2 = "leaf values of Stage 2"
BALANCE = "sum of predictions equals the sum of the target"


def failing(document, folder, made=None):
    """Return the checks that fail on a document whose hash fits."""
    path = write(sealed(document), folder)
    checks = verify_file(path, *made.given, **made.beside) if made else verify_file(path)
    return {check.name for check in checks if not check.holds}


@pytest.mark.parametrize("name", NUMBER_NAMES)
def test_files_as_written_pass_every_check(name, tmp_path):
    made = stored(name)
    assert trees(made.document)
    path = write(made.document, tmp_path)
    checks = verify_file(path, *made.given, **made.beside)
    assert [check for check in checks if not check.holds] == []
    assert {TABLE, SUPPORT, MEANS, SUMS} <= {check.name for check in checks}
    assert "supports and means" in verify_file(path)[-1].evidence
    assert not any("event" in check.evidence for check in checks)
    assert load(path) == from_dict(made.copy())
    assert json.loads(json.dumps(to_dict(load(path)))) == made.document


def test_there_is_a_file_of_every_loss():
    losses = {stored(name).document["loss"]["name"] for name in NUMBER_NAMES}
    assert losses == {loss.name for loss in OF_NUMBERS}


def put(value, *path):
    """Return a change that sets a field, given by its path."""

    def change(document):
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    change.__name__ = f"{'.'.join(map(str, path))}={value!r}"[:50]
    return change


def drop_power(d):
    del d["loss"]["power"]


def classes(d):
    d["target"] = {"classes": [0, 1], "positive": 1, "total": 3.0}


def negative_leaf(d):
    trees(d)[0]["leaves"][0]["target_total"] = -1.0


def unreal_support(d):
    direct(d)[0]["support"] = 1.1 * d["target"]["units"]["weight"] * d["training"]["rows"]


def without_units(d):
    del d["target"]["units"]


REFUSED = [
    ("counts", put("binary", "task"), r"loss\.name does not go with the task 'binary'"),
    ("counts", put("binomial", "loss", "name"), r"loss\.name does not go with the task 'regr"),
    ("counts", put("identity", "loss", "link"), r"loss\.link is 'identity', that of 'poisson' is"),
    ("squared", put("log", "loss", "link"), r"loss\.link is 'log', that of 'squared_error' is"),
    ("counts", put(1.5, "loss", "power"), r"loss must have a 'power' where its name is 'tweedie'"),
    ("claims", drop_power, r"loss must have a 'power' where its name is 'tweedie'"),
    ("claims", put(2.0, "loss", "power"), r"loss\.power is 2\.0; it must lie between 1 and 2"),
    ("claims", put(1.55555555, "loss", "power"), r"loss\.power is 1\.55555555; .* six decimals"),
    ("counts", classes, r"target does not go with the task 'regression'"),
    ("counts", without_units, r"target lacks the field 'units'"),
    ("squared", put("years", "target", "exposure"), r"exposure is 'years'; squared error has none"),
    ("counts", put(0.5, "target", "units", "centre"), r"target\.units\.centre is not 0"),
    ("counts", put(0, "target", "units", "scale"), r"target\.units\.scale is 0; it must be above"),
    ("counts", put(-1.0, "target", "total"), r"target\.total is negative"),
    ("claims", negative_leaf, r"leaves\[0\]\.target_total is -1; it must be at least 0"),
    ("counts", unreal_support, r"direct\[0\]\.support is .*, training\.rows only"),
    ("counts", put([1.0, 1.0], "training", "class_factors"), r"training must have 'class_factors'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "message"), REFUSED, ids=lambda v: getattr(v, "__name__", None)
)
def test_what_makes_no_sense_is_refused_by_library_and_checker(name, change, message, tmp_path):
    document = stored(name).copy()
    change(document)
    path = write(sealed(document), tmp_path)
    with pytest.raises(ModelFileError, match=message) as raised:
        load(path)
    assert len(str(raised.value).splitlines()) == 1
    assert rpte_check.main([str(path)]) == 1


def test_sums_of_squared_error_may_be_of_either_sign():
    level = np.repeat(["cold", "mild", "hot"], 40)
    degrees = np.repeat([-10.0, 1.0, 20.0], 40) + np.tile([-0.5, 0.5], 60)
    model = RPTERegressor(l1=0.001, max_trees=0).fit(pd.DataFrame({"level": level}), degrees).model_
    sums = [term.target_total for term in model.direct]
    assert min(sums) < 0 < max(sums)
    assert all(check.holds for check in model.verify(pd.DataFrame({"level": level}), degrees))
    assert from_dict(to_dict(model)).direct == model.direct


def other_centre(d):
    d["target"]["units"]["centre"] += 1.0


def other_scale(d):
    d["target"]["units"]["scale"] *= 1.01


def other_weight(d):
    d["target"]["units"]["weight"] *= 1.01


def other_power(d):
    d["loss"]["power"] = 1.5


def other_loss(d):
    d["loss"]["name"] = "poisson" if d["loss"]["name"] == "gamma" else "gamma"


def other_total(d):
    d["target"]["total"] *= 1.001


def leaf_total(d):
    for leaf, sign in zip(trees(d)[0]["leaves"], (1.0, -1.0), strict=False):
        leaf["target_total"] += 0.5 * sign


def term_total(d):
    direct(d)[0]["target_total"] *= 1.001


def coefficient(d):
    direct(d)[0]["coefficient"] *= 1.001


def leaf_coefficient(d):
    next(v for v in trees(d)[0]["leaves"] if v["coefficient"])["coefficient"] *= 1.01


def intercept(d):
    d["intercept"] *= 1.001


def fewer_samples(d):
    least = min(leaf["support"] for tree in trees(d) for leaf in tree["leaves"])
    d["settings"]["min_samples_leaf"] = 1.01 * least / d["target"]["units"]["weight"]


WITH_TABLE = [
    ("squared", other_centre, {TABLE}),
    ("squared", other_scale, {TABLE, OPTIMUM}),
    ("counts", other_weight, {TABLE, SUMS}),
    ("claims", other_power, {OPTIMUM}),
    ("amounts", other_loss, {OPTIMUM}),
    ("counts", other_total, {TABLE, SUMS}),
    ("squared", other_total, {TABLE, SUMS}),
    ("counts", leaf_total, {SUPPORT}),
    ("amounts", term_total, {SUPPORT}),
    ("squared", coefficient, {OPTIMUM, MEANS}),
    ("claims", coefficient, {OPTIMUM, MEANS}),
    ("squared", leaf_coefficient, {SUMS, OPTIMUM}),
    ("squared", intercept, {OPTIMUM, BALANCE}),
    ("counts", intercept, {OPTIMUM, BALANCE}),
    ("boosted_counts", leaf_coefficient, {STAGE_2}),
    ("boosted_counts", intercept, {STAGE_2}),
    ("counts", fewer_samples, {ASKED}),
]


@pytest.mark.parametrize(
    ("name", "change", "expected"), WITH_TABLE, ids=lambda v: getattr(v, "__name__", None)
)
def test_it_fails_given_the_training_table(name, change, expected, tmp_path):
    document = stored(name).copy()
    change(document)
    found = failing(document, tmp_path, stored(name))
    assert expected <= found
    alone = failing(document, tmp_path)
    assert alone <= {SUMS, ASKED}
    path = write(sealed(document), tmp_path)
    assert rpte_check.main([str(path)]) == bool(alone)


def balance(model, *given, **beside):
    return [check for check in model.verify(*given, **beside) if check.name == BALANCE]


@pytest.mark.parametrize("ratio", [1.0, 0.15])
@pytest.mark.parametrize("size", [1e-7, 1.0, 1e9])
def test_predictions_add_up_in_any_units_of_y(ratio, size):
    X, mean, rng = number_case()
    y = np.log(mean) + 0.3 * rng.normal(size=len(X))
    y = size * (y - y.mean())  # adds up to nothing but rounding
    made = RPTERegressor(l1=0.05, l1_ratio=ratio, max_trees=1).fit(X, y)
    checks = made.model_.verify(X, y)
    assert [check for check in checks if not check.holds] == []
    assert BALANCE in {check.name for check in checks}
    assert abs(made.predict(X).sum()) < 1e-6 * size * len(X)


@pytest.mark.parametrize("size", [0.05, 1.0, 1000.0])
def test_predicted_counts_add_up_by_exposure(size):
    X, mean, rng = number_case()
    exposure, weight = rng.uniform(0.1, 9.0, len(X)), rng.integers(1, 4, len(X)).astype(float)
    y = rng.poisson(size * mean * exposure).astype(float)
    made = RPTERegressor(loss="poisson", l1=0.05, max_trees=1)
    made.fit(X, y, sample_weight=weight, exposure=exposure)
    (check,) = balance(made.model_, X, y, weight, exposure=exposure)
    assert check.holds
    assert f"the target to {(weight * y).sum():.9g}" in check.evidence
    predicted = made.predict(X, exposure=exposure)
    assert (weight * predicted).sum() == pytest.approx((weight * y).sum(), rel=1e-6)
    assert all(c.holds for c in made.model_.verify(X, y, weight, exposure=exposure))


@pytest.mark.parametrize("name", ["amounts", "claims", "boosted_counts"])
def test_nothing_is_said_of_sums_that_need_not_agree(name):
    made = stored(name)
    assert balance(from_dict(made.copy()), *made.given, **made.beside) == []


def test_training_rows_come_with_the_exposure_of_the_fit():
    made = stored("counts")
    model = from_dict(made.copy())
    with pytest.raises(InputError, match="fitted with the exposure 'exposure'; give exposure="):
        model.verify(made.X, made.y)
    with pytest.raises(InputError, match="fitted without offset; leave offset= out"):
        model.verify(made.X, made.y, exposure=made.exposure, offset=np.zeros(len(made.X)))


def test_an_exposure_that_is_a_column_is_named_in_the_file(tmp_path):
    made = stored("counts")
    table = made.X.assign(years=made.exposure)
    reg = RPTERegressor(loss="poisson", l1=0.05, max_trees=0).fit(table, made.y, exposure="years")
    reg.save(tmp_path / "model.json")
    target = json.loads((tmp_path / "model.json").read_text())["target"]
    assert (target["name"], target["exposure"], target["offset"]) == ("claims", "years", None)
    checks = verify_file(tmp_path / "model.json", table, made.y, exposure="years")
    assert all(check.holds for check in checks)
    table.assign(claims=made.y).to_csv(tmp_path / "train.csv", index=False)
    options = ["--target", "claims", "--exposure-column", "years"]
    paths = [str(tmp_path / "model.json"), str(tmp_path / "train.csv")]
    assert rpte_check.main([*paths, *options]) == 0


def test_rows_with_one_content_are_one_however_they_come(tmp_path):
    """A whole weight is so many rows, to the hash and to the checker."""
    made = stored("squared")
    times = made.weight.astype(int)
    table = pd.DataFrame(made.X).assign(y=made.y, known=made.offset)
    table.loc[table.index.repeat(times)].to_csv(tmp_path / "train.csv", index=False)
    path = write(made.document, tmp_path)
    options = ["--target", "y", "--offset-column", "known"]
    assert rpte_check.main([str(path), str(tmp_path / "train.csv"), *options]) == 0

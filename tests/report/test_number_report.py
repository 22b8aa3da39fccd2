"""The report of a model of numbers: plain values that add up, and a page in their words."""

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from model_files import NUMBER_NAMES, stored
from report_pages import (
    HOSTILE,
    QUICK,
    Page,
    contents_of,
    evidence_of,
    hostile_number,
    hostile_number_page,
    model_of,
    page_of,
)
from rpte import InputError, RPTEClassifier, RPTERegressor
from rpte.audit.number_metrics import number_measures
from rpte.model.file import from_dict, to_dict
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
from rpte.report.number_performance import variable_groups
from rpte.report.stability import _frame, parameters, stability
from rpte.table.inputs import read_inputs
from rpte.table.schema import Schema, Variable


def measures(contents):
    return {m["key"]: m for m in contents["performance"]["measures"]}


@pytest.mark.parametrize("name", NUMBER_NAMES)
def test_contents_are_plain_json_and_every_claim_holds(name):
    contents = contents_of(name)
    assert json.loads(json.dumps(contents, allow_nan=False)) == contents
    assert contents["data"]["table"]["training"]
    assert all(check["holds"] for check in contents["guarantees"])
    assert (
        any("optimal" in check["name"] for check in contents["guarantees"])
        == (model_of(name).settings["reassign"])
    )
    assert contents["identity"]["task"] == "regression"
    assert not {"positive", "other", "class_factors"} & set(contents["identity"])


@pytest.mark.parametrize("name", ["counts", "squared", "claims"])
def test_measures_are_those_of_every_other_caller(name):
    held, model = stored(name), model_of(name)
    weight = np.ones(len(held.y)) if held.weight is None else held.weight
    y = np.asarray(held.y, float)
    expected = number_measures(model.target, model.score(held.X), y, weight, **held.beside)
    for key, found in measures(contents_of(name)).items():
        assert found["value"] == (None if expected[key] is None else pytest.approx(expected[key]))
        if found["low"] is not None:
            assert found["low"] <= found["value"] <= found["high"]


def test_r2_is_told_once():
    X = pd.DataFrame({"x": np.arange(60.0)})
    model = RPTERegressor(l1=0.1).fit(X, X["x"] ** 2).model_
    found = measures(report_contents(model, gather(model, X, X["x"] ** 2), QUICK))
    assert "r2" in found
    assert not {"deviance_explained", "deviance"} & set(found)
    assert {"deviance_explained", "r2"} <= set(measures(contents_of("squared")))  # less an offset


@pytest.mark.parametrize("name", ["counts", "claims", "amounts"])
def test_bands_and_variables_add_up_to_the_table(name):
    held, found = stored(name), contents_of(name)["performance"]
    weight = np.ones(len(held.y)) if held.weight is None else held.weight
    exposure = np.ones(len(held.y)) if held.exposure is None else held.exposure
    whole, total = (weight * exposure).sum(), (weight * held.y).sum()
    groupings = [found["bands"], *(v["groups"] for v in found["variables"])]
    for groups in groupings:
        assert sum(g["exposure"] for g in groups) == pytest.approx(whole)
        if all("observed" in g for g in groups):
            amount = sum(g["exposure"] * g["observed"] for g in groups)
            assert amount == pytest.approx(total)
    model = model_of(name)
    read = [source for source in model.schema.names if source in model.sources]
    assert [v["name"] for v in found["variables"] if v["read"]] == read
    lift = sum(b["exposure"] * b["lift"] for b in found["bands"]) / whole
    assert lift == pytest.approx(1.0)


def test_levels_have_the_means_of_their_rows():
    held = stored("counts")
    found = next(
        v for v in contents_of("counts")["performance"]["variables"] if v["name"] == "region"
    )
    sums = pd.DataFrame({"y": held.y.to_numpy(), "e": held.exposure}).groupby(held.X["region"])
    rates = sums["y"].sum() / sums["e"].sum()
    assert {g["group"]: g["observed"] for g in found["groups"]} == pytest.approx(rates.to_dict())


def test_groups_of_a_variable_keep_codes_gaps_and_unknown_levels_apart():
    variables = (
        Variable("age", "number", ("-9",), True),
        Variable("zone", "category", tuple("abcdefghijklmno"), True),
    )
    zones = [*"abcdefghijklmno", None, "zz"] * 3
    ages = [*np.arange(15.0), np.nan, -9] * 3
    inputs = read_inputs({"age": ages, "zone": zones}, Schema(variables, True))
    names = [name for name, _ in variable_groups(inputs, "age")]
    assert names[0].startswith("up to ")
    assert names[-2:] == ["-9", "missing"]
    found = dict(variable_groups(inputs, "zone"))
    assert [*found][-3:] == ["all other (3)", "not in training", "missing"]
    for name in ("age", "zone"):
        rows = np.concatenate([rows for _, rows in variable_groups(inputs, name)])
        assert sorted(rows.tolist()) == list(range(51))


def test_the_exposure_of_training_is_asked_for():
    held, model = stored("counts"), model_of("counts")
    with pytest.raises(InputError, match="fitted with the exposure 'exposure', without which"):
        gather(model, held.X, held.y)
    without = gather(model, held.X)  # no outcomes, nothing to compare
    assert report_contents(model, without, QUICK)["performance"] is None
    two = RPTEClassifier(l1=0.1).fit(held.X, held.y > 1).model_
    with pytest.raises(InputError, match="exposure is for models of numbers"):
        gather(two, held.X, held.y > 1, exposure=held.exposure)
    with pytest.raises(InputError, match="a double lift compares predicted means"):
        gather(two, held.X, held.y > 1, against={"a": held.y})


def test_another_exposure_is_another_table():
    held, model = stored("counts"), model_of("counts")
    assert evidence_of("counts").training
    assert not gather(model, held.X, held.y, exposure=2 * held.exposure).training
    known = stored("boosted_counts")
    assert evidence_of("boosted_counts").training
    exposed = gather(model_of("boosted_counts"), known.X, known.y, exposure=np.ones(len(known.y)))
    assert not exposed.training
    assert exposed.sha256 is None


def test_rows_without_an_outcome_are_left_out_with_all_that_is_theirs():
    held, model = stored("counts"), model_of("counts")
    y = held.y.to_numpy().copy()
    y[[3, 8]] = np.nan
    kept = ~np.isnan(y)
    given = {"exposure": held.exposure, "against": {"other": held.exposure}}
    found = gather(model, held.X, y, **given)
    assert found.unlabelled == 2
    assert (found.exposure == held.exposure[kept]).all()
    assert (found.against["other"] == held.exposure[kept]).all()
    assert report_contents(model, found, QUICK)["performance"]["rows"] == kept.sum()


def test_double_lift_is_in_the_contents_with_paired_intervals():
    held, model = stored("counts"), model_of("counts")
    flat = held.exposure * float(held.y.sum() / held.exposure.sum())
    evidence = evidence_of(
        "counts", against={"flat": flat, "itself": model.predict(held.X, held.exposure)}
    )
    first, second = report_contents(model, evidence, QUICK)["performance"]["against"]
    assert (first["name"], second["name"]) == ("flat", "itself")
    by_key = {m["key"]: m for m in first["measures"]}
    assert by_key["deviance_explained"]["other"] == pytest.approx(0.0, abs=1e-12)
    assert by_key["gini"]["other"] == pytest.approx(0.0, abs=1e-12)
    assert by_key["gini"]["low"] > 0.0  # better in every resample
    assert first["gap"] < first["other_gap"]
    assert all(m["value"] == pytest.approx(0.0, abs=1e-12) for m in second["measures"])


@pytest.mark.parametrize("y", [np.full(40, 2.0), np.zeros(40)], ids=["two", "zero"])
def test_numbers_that_do_not_vary_are_no_crash(y):
    X = pd.DataFrame({"x": np.arange(40.0) % 7})
    model = RPTERegressor(loss="poisson", l1=0.01).fit(X, X["x"]).model_
    contents = report_contents(model, gather(model, X, y, against={"b": np.ones(40)}), QUICK)
    assert contents["performance"]["constant"]
    assert measures(contents)["deviance_explained"]["value"] is None
    assert "One value only." in render(contents)


def test_a_model_of_the_mean_alone_has_a_page():
    X = pd.DataFrame({"x": np.arange(40.0), "g": list("ab") * 20})
    model = RPTERegressor(l1=100.0).fit(X, X["x"]).model_
    assert not model.components
    page = render(report_contents(model, gather(model, X, X["x"], groups={"g": X["g"]}), QUICK))
    assert "The mean only." in page
    assert "the same mean of x, 19.5." in page


def test_groups_are_measured_with_their_exposure():
    held, model = stored("counts"), model_of("counts")
    evidence = evidence_of("counts", groups={"half": np.where(np.arange(260) < 255, "a", "b")})
    first, few = report_contents(model, evidence, QUICK)["subgroups"][0]["groups"]
    assert first["exposure"] == pytest.approx(held.exposure[:255].sum())
    assert first["observed"] == pytest.approx(held.y[:255].sum() / held.exposure[:255].sum())
    assert first["gini"][1] < first["gini"][0] < first["gini"][2]
    assert set(few) == {"group", "rows", "exposure"}


def test_cases_are_typical_extreme_and_far_off_and_multiply_up():
    held, model, cases = stored("claims"), model_of("claims"), contents_of("claims")["cases"]
    mean = model.predict(held.X, held.exposure, held.offset)
    for case in cases:
        row = case["row"] - 1
        assert case["predicted"] == pytest.approx(mean[row])
        assert (case["observed"], case["exposure"]) == (held.y[row], held.exposure[row])
        total = case["intercept"] + sum(c["value"] for c in case["components"])
        assert np.exp(total) == pytest.approx(case["mean"])
    more, less = (
        next(c for c in cases if f"{word} was observed" in c["why"]) for word in ("more", "less")
    )
    assert more["observed"] > more["predicted"]
    assert less["observed"] < less["predicted"]


WORDS_OF_CLASSES = (
    r"\bAUC\b|\bROC\b|log odds|[Oo]dds ratio|robabilit|[Bb]rier|\bclass\b|\bclasses\b|base rate"
)


@pytest.mark.parametrize("name", ["counts", "squared"])
def test_the_page_speaks_of_means_and_never_of_classes(name):
    # What people are asked, what rules ask for and the names of settings are the same for all.
    text = re.sub(
        r'<section id="(purpose|history|crosswalk)".*?</section>',
        "",
        page_of(name),
        flags=re.DOTALL,
    )
    said = Page(text).said()
    assert re.findall(WORDS_OF_CLASSES, said) == []
    assert "mean of" in said
    assert "Calibration ratio" in said
    assert ("Rate ratio" in said) == (name == "counts")


def test_names_are_text_and_nothing_else():
    model, _, _ = hostile_number()
    found = Page(hostile_number_page())
    assert found.faults == []
    assert {HOSTILE[0], HOSTILE[3]} <= set(model.sources)
    said = found.said()
    for name in (*HOSTILE[:2], HOSTILE[3], "<i>claims</i> {y}", "<u>years</u>", "<s>glm</s>"):
        assert name in said
    assert not any(found.all(tag) for tag in ("i", "u", "s", "img"))


@cache
def told():
    """Return the contents of a report in which one row stands out, without single cases."""
    held, model = stored("amounts"), model_of("amounts")
    X, y = held.X.copy(), held.y.copy()
    y[17], X[17, 1] = 98765.4321, 77.12345
    options = ReportOptions(resamples=20)
    return report_contents(model, gather(model, X, y), options)


def test_single_rows_are_not_in_the_page():
    text = json.dumps(told()) + render(told())
    assert "98765" not in text
    assert "98,765" not in text
    assert "77.12" not in text


@pytest.mark.parametrize("name", ["squared", "counts", "amounts", "claims", "boosted_counts"])
def test_the_parameters_of_a_file_give_its_model_again(name):
    model, evidence = model_of(name), evidence_of(name)
    again = RPTERegressor(**parameters(model)).fit(
        *(_frame(model, evidence), evidence.labels, evidence.weight),
        exposure=evidence.exposure,
        offset=evidence.offset,
    )
    refitted = from_dict(to_dict(again.model_))
    assert refitted.score(evidence.inputs) == pytest.approx(model.score(evidence.inputs), rel=1e-6)


def test_stability_is_of_means():
    model, evidence = model_of("counts"), evidence_of("counts")
    found = stability(model, evidence, 2)
    assert 0.0 < found["optimism"] < 0.5  # of the deviance explained
    spread = found["spread"]
    assert all(low <= high for low, high in zip(spread["low"], spread["high"], strict=True))
    assert spread["p"] == sorted(spread["p"])
    options = ReportOptions(resamples=20, refits=2)
    assert "Optimism of the deviance explained" in render(report_contents(model, evidence, options))

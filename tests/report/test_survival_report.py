"""The report of a time until an event: plain values that add up, and a page in their words."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from report_pages import HOSTILE, Page
from rpte import InputError, RPTESurvival
from rpte.audit.survival_metrics import concordance
from rpte.figures.text import ratio_ticks
from rpte.model.file import from_dict, to_dict
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
from rpte.report.stability import parameters

QUICK = ReportOptions(resamples=20, show_cases=True)


def table(n=400, seed=0):
    """Return rows, events and days; half of the patients are of a ward with a hazard of its own."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60, 10, n).round(), "sex": rng.choice(["f", "m"], n)})
    X["ward"] = rng.choice(["north", "south"], n)
    risk = np.exp(0.05 * (X["age"] - 60) + 0.7 * (X["sex"] == "m") + 0.5 * (X["ward"] == "south"))
    days = rng.exponential(400 / risk).round() + 1
    end = rng.uniform(100, 1500, n).round()
    died = pd.Series(days <= end, name="died")
    return X, died, pd.Series(np.minimum(days, end), name="days")


def inputs(strata=False, **_):
    X = table()[0]
    return X.drop(columns="ward") if strata else X


@cache
def fitted(**given):
    X, (_, died, days), over = inputs(**given), table(), {}
    if given.pop("strata", False):
        over["strata"] = table()[0]["ward"].to_numpy()
    if given.pop("late", False):
        over["entry"] = (days * 0.3).round()
    model = RPTESurvival(l1=0.02, **given).fit(X, (died, days), **over).model_
    return from_dict(to_dict(model)), over


@cache
def contents(resamples=20, horizons=(), **given):
    X, (whole, died, days) = inputs(**given), table()
    model, over = fitted(**given)
    evidence = gather(model, X, (died, days), groups={"sex": whole["sex"].to_numpy()}, **over)
    options = ReportOptions(resamples=resamples, horizons=horizons, show_cases=True)
    return report_contents(model, evidence, options)


@cache
def page(**given):
    return render(contents(**given))


KINDS = [
    {},
    {"strata": True},
    {"late": True},
    {"loss": "discrete", "intervals": 6},
    {"ties": "breslow"},
]


@pytest.mark.parametrize("given", KINDS, ids=str)
def test_contents_are_plain_json_the_table_is_known_and_every_claim_holds(given):
    found = contents(**given)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["identity"]["task"] == "survival"
    assert found["data"]["table"]["training"]
    assert all(check["holds"] for check in found["guarantees"]), found["guarantees"]
    assert any(check["name"] == "baseline" for check in found["guarantees"])


@pytest.mark.parametrize("given", KINDS, ids=str)
def test_pages_are_well_formed_and_ask_for_nothing(given):
    read = Page(page(**given))
    assert read.faults == []
    assert not [tag for tag, _, _ in read.elements if tag in ("iframe", "object")]
    assert len(read.all("script")) == 2
    said = read.said()
    assert "hazard ratio of died" in said
    assert "days until died" in said
    assert "Do hazard ratios stay the same?" in said
    labels = [a["aria-label"] for a in read.all("svg")]
    assert any(label.startswith("Survival of the case: at ") for label in labels)
    assert any(label.startswith("Survival by risk group") for label in labels)
    assert any(label.startswith("Hazard ratio by age") for label in labels)
    assert all(label for label in labels)


def test_measures_are_those_of_every_other_caller():
    X, died, days = table()
    model, _ = fitted()
    found = {m["key"]: m for m in contents()["performance"]["measures"]}
    expected = concordance(died.to_numpy(), days.to_numpy(), model.score(X))
    assert found["concordance"]["value"] == pytest.approx(expected)
    assert found["explained"]["value"] == pytest.approx(
        1 - found["brier"]["value"] / found["brier_reference"]["value"]
    )
    for each in found.values():
        assert each["low"] <= each["value"] <= each["high"]


def test_survival_at_horizons_is_that_of_the_model():
    X, _, _ = table()
    model, _ = fitted()
    found = contents(horizons=(365.0, 180.0))
    told = [h["horizon"] for h in found["identity"]["horizons"]]
    assert told == [180.0, 365.0]
    assert [at["text"] for at in found["performance"]["at"]] == ["180 days", "365 days"]
    survival = model.survival_at(X, told)
    for at, mean in zip(found["performance"]["at"], survival.mean(axis=0), strict=True):
        assert at["expected"] == pytest.approx(1 - mean)
        weights = [band["weight"] for band in at["bands"]]
        risks = [band["expected"] for band in at["bands"]]
        assert sum(weights) == len(X)
        assert np.average(risks, weights=weights) == pytest.approx(1 - mean)
        assert risks == sorted(risks)
    for case in found["cases"]:
        own = survival[case["row"] - 1]
        assert [at["value"] for at in case["survival"]] == pytest.approx(own.tolist())
    assert "at 365 days" in page(horizons=(365.0, 180.0))


def test_horizons_come_from_the_model_and_those_beyond_it_are_refused():
    model, _ = fitted()
    target = model.target
    assert len(target.horizons) == 3
    assert list(target.horizons) == sorted(target.horizons)
    assert 0 < target.horizons[0] < target.horizons[-1] < target.end
    assert all(float(f"{h:.2g}") == h for h in target.horizons)
    with pytest.raises(InputError, match="days 99999 is outside of what was observed"):
        report_contents(model, None, ReportOptions(horizons=(99999.0,)))


def test_times_are_said_in_their_unit():
    target = fitted()[0].target
    assert target.when(365) == "365 days"
    assert replace(target, time="follow_up_months").when(12) == "12 months"
    assert replace(target, time="duration").when(12) == "duration 12"
    assert replace(target, time=None).when(1.5) == "time 1.5"


def test_strata_have_a_baseline_each():
    found = contents(strata=True)
    assert [b["name"] for b in found["identity"]["baselines"]] == ["north", "south"]
    assert {case["stratum"] for case in found["cases"]} <= {"north", "south"}
    X, (_, died, days) = inputs(strata=True), table()
    model, _ = fitted(strata=True)
    with pytest.raises(InputError, match="give strata="):
        gather(model, X, (died, days))
    with pytest.raises(InputError, match="strata holds 'south pole'"):
        gather(model, X, (died, days), strata=np.full(len(X), "south pole", object))


def test_late_entry_leaves_out_what_needs_weights_by_observation():
    found = contents(late=True)["performance"]
    assert [m["key"] for m in found["measures"]] == ["concordance", "slope"]
    assert found["over_time"] is None
    assert "Late entry." in page(late=True)
    X, died, days = table()
    with pytest.raises(InputError, match="give entry="):
        gather(fitted(late=True)[0], X, (died, days))


def test_risk_groups_and_subgroups_count_all_rows():
    found = contents()
    groups = found["performance"]["groups"]["groups"]
    assert sum(g["rows"] for g in groups) == 400
    assert sum(g["events"] for g in groups) == found["performance"]["events"]
    assert groups[0]["range"][1] <= groups[-1]["range"][0]
    block = found["subgroups"][0]
    assert [g["group"] for g in block["groups"]] == ["f", "m"]
    assert sum(g["rows"] for g in block["groups"]) == 400


def test_every_term_and_component_is_checked_for_proportional_hazards():
    model, _ = fitted()
    found = contents()["performance"]["proportional"]
    assert not any(each["departs"] for each in found["components"])
    assert [t["name"] for t in found["terms"]] == [rule.term for rule in model.rules()]
    assert [c["name"] for c in found["components"]] == [c.name for c in model.components]
    assert all(0.0 <= t["p_value"] <= 1.0 for t in found["terms"])
    assert {d["whole"] for d in found["drawn"]} == {True, False}


def test_an_effect_that_turns_is_told_in_words():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"x": rng.normal(size=1500)})
    early, late = np.exp(1.2 * x["x"]), np.exp(-0.2 * x["x"])
    need = rng.exponential(size=1500)
    time = np.where(need < 0.3 * early, need / early, 0.3 + (need - 0.3 * early) / late)
    y = (time < 2.0, np.minimum(time, 2.0))
    model = RPTESurvival(l1=0.02).fit(x, y).model_
    found = report_contents(model, gather(model, x, y), QUICK)
    (whole,) = found["performance"]["proportional"]["components"]
    assert whole["departs"]
    assert whole["correlation"] < 0
    assert whole["first"] > 1.5 > 0.8 > whole["last"]
    assert "A ratio that changes is a mean over the follow-up" in render(found)


def test_rows_without_an_outcome_are_left_out_and_counted():
    X, died, days = table()
    model, _ = fitted()
    event, time = died.astype(object), days.copy()
    event[3], time[5] = None, np.nan
    evidence = gather(model, X, (event, time))
    assert evidence.unlabelled == 2
    assert not evidence.training
    assert len(evidence.seen.time) == 398
    with pytest.raises(InputError, match="no row has both an event and a time"):
        gather(model, X, (np.full(400, None), days))


def test_tables_without_events_all_events_or_short_of_the_horizon():
    X, died, days = table()
    model, _ = fitted()
    none = report_contents(model, gather(model, X, (np.zeros(400, bool), days)), QUICK)
    assert none["performance"]["no_events"]
    assert "No row of the table has died" in render(none)
    every = report_contents(model, gather(model, X, (np.ones(400, bool), days)), QUICK)
    assert {m["key"] for m in every["performance"]["measures"]} >= {"uno", "brier"}
    assert Page(render(every)).faults == []
    early = np.minimum(days, 60.0)
    short = report_contents(model, gather(model, X, (died & (days <= 60), early)), QUICK)
    assert short["performance"]["unreached"]
    assert ": the table ends before." in render(short)
    alone = gather(model, X.iloc[:1], (died[:1] | True, days[:1]))
    assert Page(render(report_contents(model, alone, QUICK))).faults == []


def test_weights_are_repetitions():
    X, died, days = table()
    weight = np.random.default_rng(1).integers(0, 3, 400)
    rows = np.repeat(np.arange(400), weight)
    model, _ = fitted()
    one = gather(model, X, (died, days), weight.astype(float))
    many = gather(model, X.iloc[rows], (died.iloc[rows], days.iloc[rows]))
    told = [report_contents(model, each, QUICK)["performance"] for each in (one, many)]
    for few, more in zip(*(each["measures"] for each in told), strict=True):
        assert few["value"] == pytest.approx(more["value"], abs=1e-9)
    tests = [each["proportional"]["terms"][0]["statistic"] for each in told]
    assert tests[0] == pytest.approx(tests[1])


def test_the_page_without_a_table_has_the_baseline():
    model, _ = fitted()
    text = render(report_contents(model))
    assert Page(text).faults == []
    assert "Survival of a case of average score" in text
    assert "--time and --event" in text


def test_a_model_without_terms_gives_one_curve():
    X, died, days = table(60)
    model = RPTESurvival(l1=10.0).fit(X, (died, days)).model_
    assert not model.components
    text = render(report_contents(model, gather(model, X, (died, days)), QUICK))
    assert "The baseline only." in text
    assert Page(text).faults == []


def test_names_are_never_markup():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.normal(size=200).round(2) for name in HOSTILE[:3]})
    X["</td>"] = rng.choice(["<b>bold</b>", "&amp;"], 200)
    time = pd.Series(rng.exponential(np.exp(-X[HOSTILE[0]])), name="<i>days</i>")
    event = pd.Series(time < 2, name="<u>died</u>")
    ward = rng.choice(["<s>1</s>", "</h2>"], 200)
    model = RPTESurvival(l1=0.02).fit(X, (event, time), strata=ward).model_
    groups = {"</td>": X["</td>"].to_numpy()}
    evidence = gather(model, X, (event, time), strata=ward, groups=groups, name="<img src=x>")
    read = Page(render(report_contents(model, evidence, QUICK)))
    assert read.faults == []
    tags = {tag for tag, _, _ in read.elements}
    assert not tags & {"s", "i", "u", "img"}


def test_tripod_items_are_answered_by_what_the_page_says_of_times():
    rows = {r["number"]: r for r in contents()["crosswalk"][0]["rows"]}
    assert "performance" in rows["8a"]["sections"]
    assert "data" in rows["5b"]["sections"]
    assert rows["8a"]["open"]  # the definition is left to people


def test_refits_are_of_the_same_kind():
    X, died, days = table(200)
    for given in ({}, {"loss": "discrete", "intervals": 4}):
        model = RPTESurvival(l1=0.05, **given).fit(X, (died, days)).model_
        again = RPTESurvival(**parameters(model)).fit(X, (died, days)).model_
        assert to_dict(again)["components"] == to_dict(model)["components"]
        evidence = gather(model, X, (died, days))
        found = report_contents(model, evidence, ReportOptions(resamples=20, refits=2))
        assert len(found["stability"]["miu"]) == 2
        assert all(0 <= p <= 1 for p in found["stability"]["spread"]["p"])
        assert "Optimism of the concordance" in render(found)


def test_exposure_and_double_lift_are_of_numbers():
    X, died, days = table(50)
    model, _ = fitted()
    with pytest.raises(InputError, match="exposure is for models of numbers; this one is of"):
        gather(model, X, (died, days), exposure=np.ones(50))
    with pytest.raises(InputError, match="the model is of a time until an event"):
        gather(model, X, (died, days), against={"other": np.ones(50)})


@pytest.mark.parametrize("ends", [(-0.1, 0.1), (-0.9, 0.5), (-1.5, 1.5), (-4.0, 6.0), (-20, 20)])
def test_ratios_along_an_axis_are_round_and_few(ends):
    marks = ratio_ticks(*ends)
    assert 2 <= len(marks) <= 9
    assert all(ends[0] <= at <= ends[1] for at, _ in marks)
    assert "1" in [name for _, name in marks]


def test_notebook_cards_have_curves_and_horizons():
    X, _, _ = table()
    model, _ = fitted()
    card = model._repr_html_()
    assert "with the event" in card
    assert "Baseline survival" in card
    text = model.target.when(model.target.horizons[0])
    assert f"at {text}" in card
    explained = model.explain(X.iloc[:1])[0]._repr_html_()
    value = model.survival_at(X.iloc[:1], model.target.horizons[0])[0, 0]
    assert f"at {text}: {value:.2f}" in explained
    assert explained.count("<img") == 1
    several = fitted(strata=True)[0]
    assert several.explain(inputs(strata=True).iloc[:1])[0]._repr_html_().count("<img") == 0
    assert "north" in several._repr_html_()

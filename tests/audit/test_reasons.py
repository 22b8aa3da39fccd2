"""Principal reasons: exact gaps, stated shares, ties, missing values, the catalogue."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

import rpte
from export_models import NUMBERS, model_with, number_model
from model_files import NAMES, stored
from rpte.audit.decisions.catalogue import Catalogue, catalogue_template, read_catalogue
from rpte.columns.kinds import Interval, Value
from rpte.errors import InputError
from rpte.model.file import from_dict
from rpte.model.grid import grid
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable
from survival_trial import FEATURES, fitted, trial

HORIZON = 365.0


def model_of(name):
    return from_dict(stored(name).copy())


@pytest.fixture(scope="module")
def plain():
    """Return a model of single variables."""
    return model_of("chosen")


def gaps(model, X, rule):
    """Return the gap of each component on each row, from `explain`."""
    sign = 1.0 if rule.adverse == model.classes[model.positive] else -1.0
    return [
        {c.component: sign * (c.value - rule.values[c.component]) for c in e.components}
        for e in model.explain(X)
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flip", [False, True])
def test_weights_share_the_gap_of_their_component(name, flip):
    made, model = stored(name), model_of(name)
    adverse = model.classes[model.positive ^ flip]
    rule = rpte.reason_rule(model, adverse=adverse, most=99, least=0.0)
    X = made.X[:25]
    seen = 0
    for reasons, gap in zip(rpte.reason_codes(model, X, rule), gaps(model, X, rule), strict=True):
        weights = [reason.weight for reason in reasons]
        assert weights == sorted(weights, reverse=True)
        assert all(weight > 0 for weight in weights)
        totals = {}
        for reason in reasons:
            totals[reason.component] = totals.get(reason.component, 0.0) + reason.weight
            assert reason.gap == gap[reason.component]
        assert totals.keys() == {c for c, value in gap.items() if value > 0}
        assert all(total == pytest.approx(gap[c]) for c, total in totals.items())
        seen += len(reasons)
    assert seen > 10


def test_the_mean_reference_is_the_training_mean(plain):
    made = stored("chosen")
    rule = rpte.reason_rule(plain)
    inputs = plain.read(made.X)
    for component in plain.components:
        mean = np.average(component.subtotal(inputs), weights=made.weight)
        assert rule.values[component.name] == pytest.approx(mean, abs=1e-9)


def test_one_variable_gets_the_whole_gap(plain):
    rule = rpte.reason_rule(plain)
    for reasons in rpte.reason_codes(plain, stored("chosen").X[:20], rule):
        assert all(reason.weight == reason.gap for reason in reasons)


@pytest.mark.parametrize("name", ["limited", "products", "special", "chosen"])
def test_nobody_is_better_than_the_best(name):
    """The best is at most what any training row with values has, and the grid attains it."""
    model, made = model_of(name), stored(name)
    for sign, adverse in ((1.0, model.positive), (-1.0, 1 - model.positive)):
        rule = rpte.reason_rule(model, "best", adverse=model.classes[adverse])
        for component in model.components:
            grids = {s: grid(model, component, s) for s in component.sources}
            if np.prod([len(g) for g in grids.values()]) < 3000:
                values = [
                    component.subtotal(
                        model.read(_row(model, dict(zip(grids, cells, strict=True))))
                    )
                    for cells in product(*grids.values())
                ]
                assert sign * rule.values[component.name] == min(sign * v[0] for v in values)
    assert made.document["settings"]["profile"] in ("safe", "full", "none")


def _row(model, cells):
    named = {}
    for variable in model.schema.variables:
        cell = cells.get(variable.name)
        known = cell is not None and variable.kind == "category"
        named[variable.name] = [variable.levels[int(cell)] if known else cell]
    return named


def test_a_full_profile_bounds_every_training_row():
    model, made = model_of("limited"), stored("limited")
    rule = rpte.reason_rule(model, "best")
    present = made.X[made.X.notna().all(axis=1)]
    inputs = model.read(present.drop(columns="noise"))
    for component in model.components:
        assert rule.values[component.name] <= component.subtotal(inputs).min() + 1e-9


@cache
def deciding(task):
    """Return a model, its table, what `fit` had beside it, and its two adverse sides.

    Each side is its name, the numbers that a threshold is for, and 1 if the high ones are adverse.
    """
    if task == "two classes":
        model, X = model_of("chosen"), stored("chosen").X
        p = model.predict_proba(X)
        return model, X, {}, [(label, p[:, k], 1) for k, label in enumerate(model.classes)]
    if task in NUMBERS:
        model, X, exposure = number_model(task)
        beside = {} if exposure is None else {"exposure": exposure}
        mean = model.predict(X, **beside)
        return model, X, beside, [("high", mean, 1), ("low", mean, -1)]
    strata = "centre" if task == "survival, strata" else None
    X = trial()[[*FEATURES, *([strata] if strata else [])]]
    model, beside = fitted(strata=strata), {"strata": strata} if strata else {}
    alive = model.survival_at(X, HORIZON, **beside)[:, 0]
    return model, X, beside, [("high", alive, -1), ("low", alive, 1)]


@pytest.mark.filterwarnings("ignore:the table has 1 columns")
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("task", ["two classes", *NUMBERS, "survival", "survival, strata"])
class TestThresholds:
    def rule(self, task, side, reference, share, **asked):
        """Return a rule of reasons, who is adverse by it, and the distance of each."""
        model, _, _, sides = deciding(task)
        adverse, value, sign = sides[side]
        threshold = float(np.quantile(value, share))
        asked |= {"horizon": HORIZON} if task.startswith("survival") else {}
        rule = rpte.reason_rule(model, reference, adverse=adverse, threshold=threshold, **asked)
        return rule, sign * value >= sign * threshold, np.abs(value - threshold)

    def test_it_says_who_gets_reasons(self, task, side):
        model, X, beside, _ = deciding(task)
        rule, adverse, _ = self.rule(task, side, "best", 0.5)
        found = rpte.reason_codes(model, X, rule, **beside)
        assert [bool(reasons) for reasons in found] == adverse.tolist()

    def test_the_cases_that_just_pass_are_the_reference(self, task, side):
        model, X, beside, _ = deciding(task)
        rule, adverse, distance = self.rule(task, side, "threshold", 0.6, cases=X, **beside)
        near = X[~adverse & (distance <= np.sort(distance[~adverse])[:100][-1])]
        for component in model.components:
            mean = component.subtotal(model.read(near[list(model.sources)])).mean()
            assert rule.values[component.name] == pytest.approx(mean)


def test_at_most_four_by_default():
    model, X = model_of("products"), stored("products").X
    assert max(len(r) for r in rpte.reason_codes(model, X)) == 4
    few = rpte.reason_codes(model, X, rpte.reason_rule(model, most=2))
    for reasons, first in zip(rpte.reason_codes(model, X), few, strict=True):
        assert reasons[:2] == first


def test_what_weighs_little_is_no_principal_reason():
    model, X = model_of("products"), stored("products").X
    everything = rpte.reason_codes(model, X, rpte.reason_rule(model, least=0.0))
    told = rpte.reason_codes(model, X, rpte.reason_rule(model, least=0.2))
    for some, all_of_them in zip(told, everything, strict=True):
        assert some == tuple(r for r in all_of_them if r.weight >= 0.2 * all_of_them[0].weight)
    assert any(len(some) < len(more) for some, more in zip(told, everything, strict=True))


def test_ties_are_broken_by_the_file_and_then_by_name():
    """Two variables that could improve equally much stand in the order of their names."""
    X = {"z": [0.0, 1.0, 0.0, 1.0] * 10, "b": [0.0, 0.0, 1.0, 1.0] * 10}
    clf = rpte.RPTEClassifier(l1=0.01, min_samples_leaf=2).fit(X, [0, 0, 0, 1] * 10)
    assert len(clf.model_.components) == 1
    first, second = rpte.reason_codes(clf.model_, X)[3]
    assert (first.source, second.source) == ("b", "z")
    assert first.weight == second.weight == first.gap / 2


def test_missing_values_have_their_sentence(plain):
    X = stored("chosen").X.copy()
    rule = rpte.reason_rule(plain, "best", most=9, least=0.0)
    read = {s for c in plain.components for s in c.sources}
    said = Catalogue(
        {n: {"code": "X", "sentence": "has", "missing": "lacks"} for n in read if n != "age"}
    )
    sentences = set()
    for place, reasons in enumerate(rpte.reason_codes(plain, X, rule, said)):
        for reason in reasons:
            gone = pd.isna(X.iloc[place][reason.source])
            sentences.add(reason.sentence)
            if reason.source == "age":
                assert (reason.code, reason.sentence) == ("", "age is missing" if gone else "age")
            else:
                assert (reason.code, reason.sentence) == ("X", "lacks" if gone else "has")
    assert {"has", "lacks"} <= sentences


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "median"}, "must be one of"),
        ({"adverse": "neither"}, "classes are"),
        ({"most": 0}, "at least one"),
        ({"threshold": 1.5}, "between 0 and 1"),
        ({"least": 2}, "from 0 to 1"),
        ({"reference": "threshold"}, "give the threshold and a table"),
    ],
)
def test_what_cannot_be_asked(plain, options, message):
    with pytest.raises(InputError, match=message):
        rpte.reason_rule(plain, **options)


def test_no_case_passes(plain):
    X = stored("chosen").X
    with pytest.raises(InputError, match="no case of the table passes"):
        rpte.reason_rule(plain, "threshold", threshold=1e-9, cases=X)


class TestCatalogue:
    def test_a_template_is_a_catalogue(self, plain, tmp_path):
        path = tmp_path / "reasons.toml"
        path.write_text(catalogue_template(plain), encoding="utf-8")
        found = read_catalogue(path, plain)
        read = {s for c in plain.components for s in c.sources}
        assert found.entries.keys() == read
        assert all(
            set(entry) == {"code", "sentence", "missing"} for entry in found.entries.values()
        )

    def test_odd_names(self, tmp_path):
        names = ['a "b"', "c.d", "tab\there", "é\x7f", "[x]", "back\\slash", "new\nline"]
        X = {name: [float(i % (k + 2)) for i in range(40)] for k, name in enumerate(names)}
        model = rpte.RPTEClassifier(l1=0.001).fit(X, [i % 2 for i in range(40)]).model_
        path = tmp_path / "reasons.toml"
        path.write_text(catalogue_template(model), encoding="utf-8")
        assert set(read_catalogue(path, model).entries) <= set(names)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[reasons", "not a TOML file"),
            ("[other]\n", "nothing else"),
            ("[reasons]\nage = 1\n", "may hold"),
            ("[reasons.age]\nword = 'x'\n", "may hold"),
            ("[reasons.age]\ncode = 1\n", "must be text"),
            ("[reasons.agee]\ncode = 'x'\n", "did you mean 'age'"),
        ],
    )
    def test_a_wrong_one(self, plain, tmp_path, text, message):
        path = tmp_path / "reasons.toml"
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_catalogue(path, plain)


def test_the_open_end_of_an_interval_is_no_value():
    """Without a profile the largest float would be the best that anybody can have."""
    schema = Schema((Variable("a", "number", (), False),), True)
    terms = [
        DirectTerm("D1", Interval("a", -np.inf, 2.0), 1.0, 0.0, 1.0, 1.0, 1.0),
        DirectTerm("D2", Value("a"), -0.5, 3.0, 1.0, 1.0, 1.0),
    ]
    model = replace(model_with(terms, schema), data={"profile": None})
    values = grid(model, model.components[0], "a")
    assert values == [np.nextafter(2.0, 0.0), 2.0, np.nextafter(2.0, 3.0), 3.0]
    assert rpte.reason_rule(model, "best").values == {"C1": 0.0}

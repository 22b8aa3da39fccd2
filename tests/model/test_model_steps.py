"""Typical steps of direct terms: against the training table, and one ratio everywhere."""

import json
import math
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_tables import run
from effort import examples
from report_pages import contents_of, page_of
from rpte import RPTEClassifier
from rpte.columns.kinds import Hinge, Pair, Scale, Step, Value
from rpte.losses import BINOMIAL, SQUARED
from rpte.model.parts import DirectTerm
from rpte.model.steps import IQR, SD, step_words, typical_step, unit_words
from rpte.report.cards import cards
from rpte.report.draw import draw_model
from rpte.report.numbers import short
from rpte.table.fingerprint import fingerprint
from rpte.table.read import read_training
from shown_models import shown

ROUNDED = 0.051  # two digits


def term(column, coefficient=0.5, scale=3.0):
    return DirectTerm("D1", column, coefficient, 0.0, scale, 10.0, 5.0)


def profiled(values, profile="full", weight=None):
    """Return a number as a table has it, and the fingerprint of that table."""
    table = read_training(pd.DataFrame({"x": values, "z": np.arange(len(values), dtype=float)}))
    own = np.ones(len(values)) if weight is None else np.asarray(weight, float)
    return table, fingerprint(table, np.zeros(len(values)), own, (), profile)


def inner_half(column, table, weight):
    """Return the column's quartiles over the rows that have a value, by sorting them."""
    values = column.evaluate(table)
    held = ~np.isnan(values)
    order = np.argsort(values[held], kind="stable")
    below = np.cumsum(weight[held][order])
    low, high = (values[held][order][np.searchsorted(below, q * below[-1])] for q in (0.25, 0.75))
    return high - low


RISING = [
    Value("x"),
    Hinge("x", 12.0, "above"),
    Scale("x", "log", (0.5,)),
    Scale("x", "sqrt", (0.0,)),
    Scale("x", "clip", (5.0, 30.0)),
    Scale("x", "log", (5.0, 30.0)),
    Hinge("x", 12.0, "above", 30.0),
    Hinge("x", 30.0, "below", 5.0),
]


@examples(60)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=8, max_size=60),
    st.sampled_from(RISING),
    st.randoms(use_true_random=False),
)
def test_a_step_is_the_interquartile_range_of_the_column(cells, column, random):
    cells = [*cells, 3, 40]
    weight = np.array([random.choice([1.0, 2.0]) for _ in cells])
    table, data = profiled(np.array(cells, float), weight=weight)
    step = typical_step(term(column), data)
    spread = inner_half(column, table, weight)
    if spread == 0.0:
        assert step.measure == SD
        assert step.size == pytest.approx(3.0, 0.01)
        return
    assert step.measure == IQR
    told = math.exp(step.size) if "times" in step.words else step.size
    assert told == pytest.approx(math.exp(spread) if "times" in step.words else spread, ROUNDED)
    assert step.effect == 0.5 * step.size


def test_a_falling_hinge_steps_as_far_as_it_falls():
    _, data = profiled(np.arange(1.0, 101.0))
    assert typical_step(term(Hinge("x", 60.0, "below")), data).size == 35.0  # from 25, up to 60
    assert typical_step(term(Hinge("x", 20.0, "below")), data).measure == SD
    assert typical_step(term(Hinge("x", 60.0, "below", 40.0)), data).size == 20.0  # up to 40


def test_every_step_says_which_way_it_goes():
    _, data = profiled(np.arange(1.0, 101.0))
    down, up, holds = Hinge("x", 60.0, "below"), Hinge("x", 30.0, "above"), Step("z", 5.0)
    found = {
        down: "for each 35 less",
        up: "for each 45 more",
        Scale("x", "clip", (5.0, 80.0)): "for each 50 more",
        Scale("x", "distance", (50.0,)): "for each 30 more of the distance",
        Pair("product", down, holds): "for each 30 less",
        Pair("product", holds, up): "for each 30 more",
        Pair("product", Value("x"), Value("z")): "for each 30 more of the product",
        Pair("absolute difference", Value("x"), Value("z")): "for each 30 more of the distance",
    }
    for column, words in found.items():
        assert typical_step(term(column, scale=30.0), data).words == words
    assert (
        typical_step(term(down, 0.02), data).text(BINOMIAL) == "odds ratio 2.014 for each 35 less"
    )
    assert [unit_words(column) for column in (down, up, Value("x"))] == [
        "per unit less", "per unit", "per unit",
    ]  # fmt: skip


def test_what_missing_does_is_told_where_training_had_some():
    for column in RISING:
        full, known = (
            term(column).text_in(read_training(pd.DataFrame({"x": cells})).schema)
            for cells in ([1.0, None, 3.0, 4.0] * 9, [1.0, 2.0, 3.0, 4.0] * 9)
        )
        assert full == term(column).text
        assert "missing" in full
        assert "missing" not in known
        assert full.startswith(known.removesuffix(")").partition(" (less than")[0])


@pytest.mark.parametrize(
    "column",
    [
        Pair("product", Value("x"), Value("z")),
        Pair("product", Value("x"), Step("z", 5.0)),
        Pair("difference", Value("x"), Value("z")),
        Scale("x", "distance", (50.0,)),
    ],
)
def test_what_quartiles_cannot_tell_has_a_step_of_one_standard_deviation(column):
    _, data = profiled(np.arange(1.0, 101.0))
    step = typical_step(term(column, scale=123.4), data)
    assert (step.size, step.measure) == (120.0, SD)
    assert step.words.startswith("for each 120 more")


def test_without_quartiles_a_step_is_one_standard_deviation():
    for profile in ("safe", "none"):  # of five rows each quartile is one of few
        _, data = profiled(np.arange(5.0), profile)
        assert typical_step(term(Value("x")), data).measure == SD
    assert typical_step(term(Value("x")), {}).words == "for each 3 more"
    assert typical_step(term(Value("x"), scale=1.0), {}).words == "for each 1 more"
    assert typical_step(term(Step("x", 1.0)), {}) is None


def test_steps_in_words():
    _, data = profiled(np.arange(1.0, 101.0))
    step = typical_step(term(Value("x"), 0.01234), data)
    assert step.added == "+0.617 for each 50 more"
    assert step.text(BINOMIAL) == "odds ratio 1.853 for each 50 more"
    assert step.text(SQUARED) == "+0.617 for each 50 more"
    log = typical_step(term(Scale("x", "log", (0.5,)), 0.5), data)
    assert log.text(BINOMIAL) == "odds ratio 1.732 for 3 times as much"
    assert log.size == math.log(3.0)
    flat = typical_step(term(Scale("x", "log", (60.0,)), 0.5, scale=0.01), data)
    assert flat.words == "for 1.2 times as much"
    flat = typical_step(term(Scale("x", "log", (80.0,)), 0.5, scale=0.01), data)
    assert (flat.measure, flat.words) == (SD, "for each 0.01 more of the log")
    root = typical_step(term(Scale("x", "sqrt", (0.0,)), 0.5), data)
    assert root.added == "+1.85 for each 3.7 more of the root"


def test_numbers_of_any_size_have_a_step():
    for values in ([-1e300, 1e300] * 20, [1e-260, 3e-260] * 20, [1e299, 2e299] * 20):
        _, data = profiled(np.array(values))
        for column in (Value("x"), Hinge("x", 0.0, "above"), Scale("x", "log", (1e-300,))):
            step = typical_step(term(column), data)
            assert 0.0 < step.size < math.inf


def dollars(n=400, seed=3):
    """Return a table whose amounts are in the thousand millions, and a class that follows them."""
    rng = np.random.default_rng(seed)
    amount = np.exp(rng.normal(21.0, 0.3, n)).round()
    X = pd.DataFrame({"amount": amount, "age": rng.integers(18, 80, n)})
    return X, (amount / 1.3e9 + rng.normal(0, 0.5, n) > 1.0).astype(int)


def test_a_tiny_slope_is_told_by_its_step():
    X, y = dollars()
    clf = RPTEClassifier(l1=0.001, vocabulary="original", max_trees=0).fit(X, y)
    rule = clf.rules_.set_index("sources").loc[[("amount",)]].iloc[0]
    assert abs(rule["coefficient"]) < 1e-6
    texts = [c.text for e in clf.explain(X[:3]) for p in e.components for c in p.contributions]
    assert any(text.startswith("amount, from ") for text in texts)
    assert not any(re.search(r"e[-+]\d\d", text) for text in texts)
    behind = [
        line.split("  ", 3)[-1]
        for line in clf.summary(terms=True).splitlines()
        if "amount," in line
    ]
    assert behind
    assert not any(re.search(r"e[-+]\d\d", text) for text in behind)


def ratios_in(text, name):
    """Return the ratio, or effect, of each number by its term, from lines of text."""
    found = re.findall(rf"(D\d+)\b[^\n]*?: {name}([-+.\de]+) (?:per|for) ", text)
    return {term: float(ratio) for term, ratio in found}


def told(values):
    return {term: float(f"{value:.4g}") for term, value in values.items()}


@pytest.mark.parametrize("task", ["binary", "number", "count", "survival", "strata"])
def test_one_ratio_everywhere(task, tmp_path):
    model = shown(task)[0].model_
    loss, found = model.loss, {}
    names, rows = model.rule_table()
    for row in (dict(zip(names, row, strict=True)) for row in rows):
        if math.isnan(row["step"]):
            assert row["effect_per_step"] == row["coefficient"]
        else:
            assert row["effect_per_step"] == row["coefficient"] * row["step"]
            found[row["term"]] = row[names[-1]]
        assert row[names[-1]] == loss.effect(row["effect_per_step"])
    assert found
    model.save(tmp_path / "model.json")
    name = "" if loss.link == "identity" else f"{loss.effect_name} "
    on_screen = run("show", tmp_path / "model.json", width=400).stdout
    drawn = re.sub("<[^>]+>", "\n", unescape(draw_model(model)))
    for text in (model.summary(terms=True), on_screen, drawn):
        assert ratios_in(text, name) == told(found)
    in_json = json.loads(run("show", tmp_path / "model.json", "--json").stdout)["rules"]
    assert {r["term"]: r[names[-1]] for r in in_json if r["step"] is not None} == found
    page = unescape(model._repr_html_())
    direct = [term for card in cards(model, None) for term in card["direct"] if term["step"]]
    assert {term["name"]: term["effect"] for term in direct} == found
    for term in direct:
        cells = rf"{term['name']}</.*?{term['step_words']}</td>\s*<td[^>]*>{short(term['effect'])}<"
        assert re.search(cells, page, re.DOTALL)


def test_the_report_has_the_ratio_of_the_step():
    direct = [t for c in contents_of("shaped")["components"] for t in c["direct"] if t["step"]]
    assert len(direct) > 3
    for each in direct:
        said = f'{short(each["effect"])} <small class="ends">{each["step_words"]}</small>'
        assert said in page_of("shaped")


def test_steps_of_several_scores():
    for task in ("several", "causes"):
        model = shown(task)[0].model_
        names, rows = model.rule_table()
        rules = {rule.term: rule for rule in model.rules()}
        some = next(r for r in rules.values() if r.step is not None)
        row = dict(zip(names, rows[list(rules).index(some.term)], strict=True))
        labels = model.classes if task == "several" else model.causes
        for label, size in zip(labels, some.coefficients, strict=True):
            effect = size * some.step
            if task == "several":
                assert row[f"effect per step of {label!r}"] == effect
            else:
                assert row[f"hazard ratio of {label!r}"] == pytest.approx(math.exp(effect))
        words = step_words(model.outline)[some.term]
        line = next(x for x in model.summary().splitlines() if f"  {some.term}  " in x)
        assert re.search(rf": .*{re.escape(words)}", line)
        assert words in model._repr_html_()

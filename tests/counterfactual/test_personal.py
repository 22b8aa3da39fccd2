"""Age, sex and the like are kept unless named; every answer begins with what may change."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpte import Actions, InputError, Limits, RPTEClassifier
from rpte.columns.kinds import Level, Value
from rpte.counterfactual.actions import WORDS, is_personal
from rpte.model.parts import Component, DirectTerm
from rpte.table.schema import Schema, Variable
from small_models import make

SCHEMA = Schema(
    (
        Variable("Age", "number", (), False),
        Variable("customerSex", "category", ("male", "female"), False),
        Variable("income", "number", (), False),
    ),
    named=True,
)
ROW = {"Age": [22.0], "customerSex": ["male"], "income": [2.0]}


def model_of(*columns):
    """Return a model in which every column adds its own value to the log odds."""
    terms = (DirectTerm(f"D{i}", c, 1.0, 0.0, 1.0, 1, 0) for i, c in enumerate(columns))
    parts = tuple(Component(f"C{i}", (), (term,)) for i, term in enumerate(terms))
    profile = [
        {"name": v.name, "kind": v.kind, "quantiles": [0.0, 10.0, 22.0, 40.0, 60.0]}
        for v in SCHEMA.variables
    ]
    return make(parts, intercept=-24.0, schema=SCHEMA, profile=profile)


MODEL = model_of(Value("Age"), Level("customerSex", ("male",)), Value("income"))


def changed(found):
    return {change.variable for answer in found.answers for change in answer.changes}


def test_age_and_sex_are_kept_without_a_word_of_the_user():
    found = MODEL.counterfactuals(ROW, to=0.3, answers=9)
    assert changed(found) == {"income"}
    assert found.changeable.may_change == ("income",)
    assert found.changeable.kept_by_name == ("Age", "customerSex")
    assert not found.changeable.stated
    first = str(found).splitlines()[0]
    assert first == (
        "Assumed that these may change: income. Kept because of the name: Age, customerSex. Change "
        "this with keep and may_change."
    )
    record = found.to_dict()
    assert next(iter(record)) == "changeable"
    assert json.loads(json.dumps(record["changeable"])) == record["changeable"]


def test_may_change_lifts_what_it_names_and_nothing_else():
    actions = Actions(may_change=["Age"], keep=["income"])
    found = MODEL.counterfactuals(ROW, to=0.1, actions=actions)
    assert changed(found) == {"Age"}
    assert found.changeable.to_dict() == {
        "may_change": ["Age"],
        "kept": ["income"],
        "kept_by_name": ["customerSex"],
        "stated": True,
    }
    first = str(found).splitlines()[0]
    assert first == "May change: Age. Kept: income. Kept because of the name: customerSex."


def test_nothing_left_to_change_is_said():
    found = MODEL.counterfactuals(ROW, to=0.01, actions=Actions(keep=["income"]))
    assert found.answers == ()
    assert found.reason == (
        "nothing may change: every variable that the model reads is kept; name in may_change what "
        "this person can change"
    )
    assert "May change: nothing." in str(found)
    assert (
        make(()).counterfactuals({"a": [1.0]}, to=0.1).reason
        == "nothing may change: the model reads no variable"
    )


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (Actions(may_change=["Ag"]), r"may_change names 'Ag', no variable .*did you mean 'Age'"),
        (Actions(may_change="Age"), "may_change is 'Age'; it must be a list"),
        (Actions(may_change=["Age"], keep=["Age"]), "'Age' is in actions.keep and in actions.may"),
        (Actions(one_way={"Age": "increase"}), "one_way names 'Age', which is kept because of its"),
        (Actions(costs={"customerSex": 9}), "name it in may_change too"),
    ],
)
def test_mistakes_are_told(actions, said):
    with pytest.raises(InputError, match=said):
        MODEL.counterfactuals(ROW, actions=actions)


def test_facts_of_the_past_stay_and_monotone_knowledge_holds():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({
        "credit_history": draw.choice(["all paid", "critical"], 900),
        "foreign_worker": draw.choice(["yes", "no"], 900),
        "income": draw.integers(1, 60, 900) * 100.0,
        "debts": draw.integers(0, 9, 900).astype(float),
    })  # fmt: skip
    score = 2.0 * (X["credit_history"] == "critical") + (X["foreign_worker"] == "yes")
    score += 0.5 * X["debts"] - X["income"] / 1000 - 1
    y = draw.random(900) < 1 / (1 + np.exp(-score))
    limits = {"income": "decreasing", "debts": "increasing"}
    made = RPTEClassifier(l1=0.01, limits=Limits(monotone=limits)).fit(X, y)
    assert {"credit_history", "foreign_worker", "income", "debts"} <= set(made.model_.sources)
    now = made.predict_proba(X)[:, 1]
    for place in np.flatnonzero((now > 0.6) & (now < 0.9))[:8]:
        row = X.iloc[[place]]
        found = made.model_.counterfactuals(row, to=0.4, answers=3)
        assert found.changeable.kept_by_name == ("credit_history", "foreign_worker")
        assert changed(found) <= {"income", "debts"}
        assert found.answers
        for change in (change for answer in found.answers for change in answer.changes):
            assert (change.new > change.old) == (change.variable == "income")
            assert X[change.variable].min() <= change.new <= X[change.variable].max()
        assert "in the model, not advice" in str(found)
    free = Actions(may_change=["credit_history"])
    critical = X[(X["credit_history"] == "critical") & (now > 0.5)].iloc[[0]]
    stated = made.model_.counterfactuals(critical, to=0.45, actions=free, answers=9)
    assert "credit_history" in changed(stated)
    assert "foreign_worker" not in changed(stated)


def test_what_if_is_free():
    assert MODEL.what_if(ROW, {"Age": 23.0}).after.score == MODEL.score(ROW)[0] + 1


KNOWN = ["Age", "AGE_AT_LOAN", "ageAtLoan", "customer.age", "age2", "DOBYear", "native-country"]
KNOWN += ["credit_history", "personal_status", "foreign_worker", "FamilySize", "applicationDate"]
KNOWN += ["months_since_delinquency", "checking.status", "country-of-origin", "previous loans"]
OTHERS = [
    "updated",
    "statusquo",
    "originate",
    "pasta",
    "prioritised",
    "mileage",
    "Average",
    "storage",
    "page",
    "péage",
    "Essex",
    "trace",
    "wage",
    "",
    "births",
]


def test_words_are_whole_words():
    assert [name for name in KNOWN if not is_personal(name)] == []
    assert [name for name in OTHERS if is_personal(name)] == []


@given(
    word=st.sampled_from(sorted(WORDS)),
    others=st.lists(st.sampled_from(["loan", "of", "customer"]), max_size=2),
    place=st.integers(0, 2),
    style=st.sampled_from(["snake", "upper", "camel", "pascal", "spaced", "kebab"]),
)
def test_a_word_is_found_however_the_name_is_written(word, others, place, style):
    words = [*others[:place], word, *others[place:]]
    joined = {
        "snake": "_".join(words),
        "upper": "_".join(words).upper(),
        "camel": words[0] + "".join(w.title() for w in words[1:]),
        "pascal": "".join(w.title() for w in words),
        "spaced": " ".join(words).title(),
        "kebab": "-".join(words),
    }
    assert is_personal(joined[style])
    assert not is_personal("x" + joined[style].lower().replace(word, f"q{word}s"))

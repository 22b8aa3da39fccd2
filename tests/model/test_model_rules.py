"""The rule table against pandas."""

import ast

import numpy as np
import pandas as pd
import pytest

from fit_tables import mixed_case
from rpte import RPTEClassifier

CASE = mixed_case()
COLUMNS = (
    "component tree term conditions sources inspection_units support event_rate coefficient "
    "step effect_per_step odds_ratio"
)


@pytest.fixture(scope="module", params=[None, "healthy"])
def classifier(request):
    return CASE.fit(
        RPTEClassifier(vocabulary="hug", l1=0.015, max_leaves=6, positive=request.param)
    )


def test_the_frame_has_one_row_per_active_term(classifier):
    rules = classifier.rules_
    assert isinstance(rules, pd.DataFrame)
    assert list(rules.columns) == COLUMNS.split()
    assert rules["term"].is_unique
    assert len(rules) == classifier.audit().mu > 3
    assert rules["inspection_units"].sum() == classifier.audit().miu
    assert (rules["coefficient"] != 0).all()
    leaves = rules[rules["tree"] != ""]
    assert len(leaves)
    assert (leaves["term"].str.split(".").str[0] == leaves["tree"]).all()
    assert rules["term"][rules["tree"] == ""].str.startswith("D").all()


def test_odds_ratios_are_those_of_a_step_of_numbers_and_of_the_coefficients_of_others(classifier):
    rules = classifier.rules_
    steps = rules["step"].fillna(1.0)
    np.testing.assert_array_equal(rules["effect_per_step"], rules["coefficient"] * steps)
    np.testing.assert_allclose(rules["odds_ratio"], np.exp(rules["effect_per_step"]))
    columns = {t.name: t.column for c in classifier.model_.components for t in c.direct}
    numbers = [name in columns and not columns[name].binary for name in rules["term"]]
    assert rules["step"].notna().tolist() == numbers


def test_support_and_event_rates_are_those_of_the_table(classifier):
    event = CASE.y == classifier.model_.classes[classifier.model_.positive]
    for rule in classifier.rules_.itertuples():
        rows = rows_of_rule(rule.conditions)
        weight = CASE.weight[rows]
        assert rule.support == pytest.approx(weight.sum())
        assert rule.event_rate == pytest.approx(np.average(event[rows], weights=weight))


def rows_of_rule(text):
    """Return where a rule's conditions hold, from its text alone, with pandas."""
    if ", from " in text:
        formula = text.split(", from ")[0].replace("|", "")
        return CASE.X.eval(formula).notna().to_numpy()
    marked = text.replace(" and known", "&known").replace("not (", "not_(")
    return np.all([condition_rows(part) for part in split_top(marked)], axis=0)


def split_top(text):
    """Split at the " and " that stand outside of parentheses."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text.startswith(" and ", i):
            parts.append(text[start:i])
            start = i + 5
    return [*parts, text[start:]]


def condition_rows(text):
    missing_holds = text.endswith(" (or missing)")
    text = text.removesuffix(" (or missing)")
    if text.startswith("not_("):
        return ~np.all([condition_rows(part) for part in split_top(text[5:-1])], axis=0)
    known = text.endswith("&known")
    text = text.removesuffix("&known")
    name = next(n for n in CASE.X if n in text.replace("|", " ").split() or f"|{n}" in text)
    column = CASE.X[name]
    if text.endswith((" is missing", " is present")):
        return (column.isna() == text.endswith("missing")).to_numpy()
    if " is " in text or " in {" in text:
        return level_rows(text, column, missing_holds, known)
    return number_rows(text, missing_holds)


def level_rows(text, column, missing_holds, known):
    quoted = text[text.index("{") :] if "{" in text else f"{{{text.split()[-1]}}}"
    listed = ast.literal_eval(quoted)
    inside = column.astype(str).isin(listed) & column.notna()
    negated = " not in " in text or " is not " in text
    held = (~inside if negated else inside) & (column.notna() if negated else True)
    assert not (known and missing_holds)
    return (held | column.isna() if missing_holds else held).to_numpy()


def number_rows(text, missing_holds):
    for name in CASE.X:
        text = text.replace(f"|{name}", f"abs({name}").replace(f"{name}|", f"{name})")
    held = CASE.X.eval(text).to_numpy()
    if not missing_holds:
        return held
    gone = CASE.X[[n for n in CASE.X if n in text]].isna().any(axis=1).to_numpy()
    return held | gone

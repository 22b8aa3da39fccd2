"""One rule for which level a cell is: the model, the checker and the reader of files agree."""

import csv
import json
import string
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from export_models import model_with
from rpte import InputError, RPTEClassifier
from rpte.check import rpte_check
from rpte.columns.kinds import Level
from rpte.model.file import to_dict
from rpte.model.parts import DirectTerm
from rpte.table.column import MISSING, UNSEEN
from rpte.table.files import read_table
from rpte.table.schema import Schema, Variable
from rpte.table.spelling import forms_of, is_boolean, plain_form, read_levels, spelling_of

FLAG = Variable("flag", "category", ("False", "True"))
TRUE = (True, np.True_, 1, 1.0, np.int8(1), Decimal("1.0"), "True", "true", "TRUE", "T", " t ", "1",
        "1.0", " 1.000", "1.")  # fmt: skip
FALSE = (False, 0, 0.0, -0.0, "False", "false", "FALSE", "f", "F ", "0", "0.0", "-0.0")


def codes(cells, variable):
    return read_levels(np.array([*cells, None], object)[:-1], variable)[0].tolist()


def a_model(variable):
    """Return a model in which each level of one category has a coefficient of its own."""
    terms = [
        DirectTerm(f"D{i}", Level(variable.name, (level,)), 2.0**i, 0.0, 1.0, 1.0, 1.0)
        for i, level in enumerate(variable.levels)
    ]
    return model_with(terms, Schema((variable,), True), intercept=0.0)


@pytest.mark.parametrize("levels", [("False", "True"), ("FALSE", "TRUE"), ("false", "true")])
def test_every_usual_spelling_of_a_boolean(levels):
    variable = Variable("flag", "category", levels)
    for cell in TRUE:
        assert codes([cell], variable) == [1], cell
    for cell in FALSE:
        assert codes([cell], variable) == [0], cell
    assert (
        codes([None, float("nan"), pd.NA, "yes", "maybe"], variable) == [MISSING] * 3 + [UNSEEN] * 2
    )


@pytest.mark.parametrize("cell", [2, -1, 0.5, "2", " 7", "10", "1e0", "+1"])
def test_a_number_that_is_neither_true_nor_false_is_refused(cell):
    with pytest.raises(InputError, match="'flag' was true or false in training and holds"):
        codes([True, cell], FLAG)


def test_a_boolean_of_which_one_value_was_pooled():
    rare = Variable("flag", "category", ("False", "(other)"), pooled=True)
    assert codes([0, "0.0", "FALSE", 1, "true", "x", 7], rare) == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "cell", [10, 10.0, np.int32(10), "10", "10.0", " 10", "10 ", "10.", Decimal(10)]
)
def test_a_number_is_the_level_that_spells_it(cell):
    for level in ("10", "10.0", " 10"):
        assert codes([cell], Variable("k", "category", (level, "north"))) == [0]


def test_what_is_no_other_spelling():
    variable = Variable("k", "category", ("007", "10", "v1.0"))
    assert codes(["7", 7, "010", "1e1", "+10", "v1", "v1.00", "10\t"], variable) == [UNSEEN] * 8
    assert codes(["007", " 007", "v1.0 "], variable) == [0, 0, 2]


def test_what_may_be_several_levels_is_refused():
    twice = Variable("version", "category", ("1.1", "1.10", "north"))
    assert codes(["1.1", "1.10", "north"], twice) == [0, 1, 2]
    for cell in (1.1, "1.100", " 1.1"):
        with pytest.raises(InputError, match=r"may be any of its levels \['1.1', '1.10'\]"):
            codes([cell], twice)


@examples(100)
@given(st.lists(st.text(string.digits + ".- aTtruefalsF", max_size=6), min_size=1, unique=True))
def test_a_level_is_always_itself(levels):
    variable = Variable("k", "category", tuple(sorted(levels)))
    assert codes(variable.levels, variable) == list(range(len(levels)))
    assert sum(map(len, forms_of(variable.levels).values())) == len(levels)


@examples(100)
@given(st.integers(-(10**20), 10**20), st.integers(0, 4), st.integers(0, 2))
def test_zeros_and_blanks_do_not_matter(number, zeros, blanks):
    text = f"{' ' * blanks}{number}.{'0' * zeros}{' ' * blanks}"
    assert plain_form(text) == str(number)
    assert codes([text, number], Variable("k", "category", (str(number),))) == [0, 0]


LEVELS = st.lists(
    st.sampled_from(["10", "10.0", "7", "north", " x", "x", "True", "true", "False", "0", "1.50"]),
    min_size=1,
    max_size=5,
    unique=True,
)
NUMBERS = ("10", "10.0", " 10", "10.00", "7.", "0", "1", "2", "1.5", "-0")
CELLS = st.sampled_from([*NUMBERS, "north ", "x", " x", "TRUE", "t", "f", "nowhere", "", "NA"])


@pytest.mark.filterwarnings("ignore:column .* training did not have")
@examples(60)
@given(LEVELS, st.booleans(), st.lists(CELLS, min_size=1, max_size=6))
def test_the_checker_reads_cells_as_the_library_does(tmp_path_factory, levels, pooled, cells):
    """A CSV file read by both: the same scores to the last bit, or both refuse it."""
    named = (*sorted(levels), "(other)") if pooled else tuple(sorted(levels))
    model = a_model(Variable("k", "category", named, True, pooled))
    path = tmp_path_factory.mktemp("spelling") / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["row", "k"], *([i, cell] for i, cell in enumerate(cells))])
    document = json.loads(json.dumps(to_dict(model)))
    try:
        inputs = model.read(read_table(path, schema=model.schema)[["k"]], allow_unknown=True)
        found = model.score(inputs).tolist()
    except InputError:
        found = None
    try:
        again = [
            rpte_check.score(document, row) for row in rpte_check.read_rows(document, str(path))
        ]
    except rpte_check.Problem:
        again = None
    assert again == found


def test_a_fitted_model_scores_booleans_however_they_come():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.random(300) < 0.5, "code": rng.choice(["10", "20", "x"], 300)})
    y = (X["flag"] ^ (rng.random(300) < 0.2)).astype(int) | (X["code"] == "10")
    clf = RPTEClassifier(l1="4/n").fit(X, y)
    truth = clf.predict_proba(X)
    spelled = {
        "flag": [lambda v: int(v), float, str, lambda v: str(v).upper(), lambda v: f" {int(v)}.0"],
        "code": [lambda v: int(v) if v.isdigit() else v, lambda v: f"{v}.0" if v.isdigit() else v,
                 lambda v: f" {v} "],
    }  # fmt: skip
    for name, ways in spelled.items():
        for way in ways:
            other = X.assign(**{name: X[name].map(way).astype(object)})
            assert np.array_equal(clf.predict_proba(other), truth)
            assert np.array_equal(clf.model_.predict_proba(other), truth)
    with pytest.raises(InputError, match="holds 2"):
        clf.predict_proba(X.assign(flag=2))


def test_only_true_and_false_make_a_boolean():
    assert is_boolean(["TRUE"])
    assert not is_boolean(["True", "TRUE"])
    assert not is_boolean(["True", "False", "x"])
    assert not is_boolean(["0", "1"])
    assert not is_boolean([])
    assert spelling_of(FLAG) is spelling_of(replace(FLAG))

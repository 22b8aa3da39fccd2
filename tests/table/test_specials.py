"""Special codes of numbers: levels of their own next to the numeric range."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import same_bits
from rpte import InputError, RPTEClassifier, RPTEWarning, load
from rpte.columns.kinds import Interval, Level, Missing, Pair, Value
from rpte.kernels.growth import IS_MISSING, ORDERED
from rpte.model.file import to_dict
from rpte.published.vocabulary import VocabularySettings, build_vocabulary
from rpte.structure.coded import Split, TreeBuilder
from rpte.structure.coding import code_columns
from rpte.structure.tree import Condition, Tree
from rpte.structure.tree import Split as TreeSplit
from rpte.table.column import MISSING
from rpte.table.inputs import read_inputs
from rpte.table.read import read_training
from rpte.table.schema import Schema
from rpte.table.table import make_table, row_hashes
from rpte.vocabulary.shape_cache import original_columns

CELLS = [1.5, -9.0, None, -8.0, 3.0, -9.0]


def read(cells=CELLS, codes=(-9, -8, -7)):
    return read_training({"x": np.array(cells, object)}, {"x": list(codes)})


def test_a_special_code_is_neither_a_number_nor_missing():
    inputs = read()
    assert inputs.schema["x"].levels == ("-9", "-8", "-7")
    assert inputs.schema["x"].kind == "number"
    assert inputs.schema["x"].has_missing
    np.testing.assert_array_equal(inputs["x"], [1.5, np.nan, np.nan, np.nan, 3.0, np.nan])
    assert inputs.codes("x").tolist() == [MISSING, 0, MISSING, 1, MISSING, 0]
    assert inputs.is_missing("x").tolist() == [False, False, True, False, False, False]
    assert not read([1.0, -9.0]).schema["x"].has_missing


def test_every_form_of_a_column_says_the_same():
    expected = read()
    forms = [
        {"x": np.array([np.nan if c is None else c for c in CELLS])},
        pd.DataFrame({"x": pd.array(CELLS, dtype="Float64")}),
        pd.DataFrame({"x": pd.array(CELLS, dtype="double[pyarrow]")}),
        pl.DataFrame({"x": CELLS}),
        pa.table({"x": CELLS}),
        {"x": np.array([None if c is None else str(c) for c in CELLS], object)},  # "-9.0"
        {"x": np.array([None if c is None else f"{c:g} " for c in CELLS], object)},  # "-9 "
    ]
    for X in forms:
        found = read_training(X, {"x": [-9, -8.0, "-7"]})
        assert found.schema == expected.schema
        assert same_bits(found["x"], expected["x"])
        assert same_bits(found.codes("x"), expected.codes("x"))
        again = read_inputs(X, expected.schema)
        assert same_bits(again["x"], expected["x"])
        assert same_bits(again.codes("x"), expected.codes("x"))


def test_text_codes_leave_the_column_a_number():
    cells = ["1.5", "unknown", "2", "refused", None, "-9"]
    inputs = read(cells, ["unknown", "refused", -9])
    assert inputs.schema["x"].levels == ("unknown", "refused", "-9")
    np.testing.assert_array_equal(inputs["x"], [1.5, np.nan, 2.0, np.nan, np.nan, np.nan])
    assert inputs.codes("x").tolist() == [-1, 0, -1, 1, -1, 2]
    mixed = read([1.5, "unknown", 2, "refused", None, -9], ["unknown", "refused", -9])
    assert same_bits(mixed["x"], inputs["x"])
    assert same_bits(mixed.codes("x"), inputs.codes("x"))


def test_a_text_that_is_no_declared_code_is_refused_at_prediction():
    schema = read(["1.5", "unknown", "2"], ["unknown"]).schema
    with pytest.raises(InputError, match=r"'x' is a number but holds the text 'lost'.*special"):
        read_inputs({"x": np.array(["lost"], object)}, schema)


def test_infinity_can_be_a_code_and_is_refused_otherwise():
    inputs = read([1.0, np.inf, 2.0], [np.inf])
    assert inputs.codes("x").tolist() == [-1, 0, -1]
    with pytest.raises(InputError, match=r"beyond 1e\+300"):
        read([1.0, np.inf, 2.0], [-9])


@pytest.mark.parametrize(
    ("specials", "says"),
    [
        ({"z": [-9]}, r"special_values names \['z'\], which are not columns"),
        ({"x": []}, r"special_values\['x'\] is \[\]; list each code once, at least one"),
        ({"x": [-9, -9.0]}, r"special_values\['x'\] is \['-9', '-9'\]; list each code once"),
        ({"x": -9}, r"special_values\['x'\] is -9; it must be a list of codes"),
        ({"x": "unknown"}, r"special_values\['x'\] is 'unknown'; it must be a list of codes"),
        ({"c": ["a"]}, r"special_values names 'c', which is a category"),
        ([-9], r"special_values=\[-9\]; it must map names of columns to codes"),
    ],
)
def test_what_is_refused_and_why(specials, says):
    X = {"x": [1.0, -9.0], "c": ["a", "b"]}
    with pytest.raises(InputError, match=says):
        RPTEClassifier(special_values=specials).fit(X, [0, 1])


def test_integer_names_of_columns_are_matched_as_text():
    X = pd.DataFrame([[1.0], [-9.0]], columns=[7])
    assert read_training(X, {7: [-9]}).schema["7"].levels == ("-9",)


def test_schema_with_codes_survives_the_file():
    schema = read().schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_rows_that_differ_in_codes_alone_stay_apart():
    inputs = read([-9.0, -8.0, None, -9.0], (-9, -8))
    assert len(np.unique(row_hashes(inputs))) == 3
    table = make_table(inputs, np.ones(4), np.ones(4))
    assert sorted(table.weight) == [1.0, 1.0, 2.0]
    taken = table.take(np.arange(2))
    assert taken.inputs.codes("x").tolist() == table.inputs.codes("x")[:2].tolist()


def test_hashes_do_not_depend_on_how_codes_are_numbered():
    one, two = read(codes=(-9, -8)), read(codes=(-8, -7, -9))
    assert same_bits(row_hashes(one), row_hashes(two))


def test_raw_columns_are_value_codes_and_flag():
    table = make_table(read(), np.array([0, 1, 0, 1, 0, 1.0]), np.ones(6))
    columns = original_columns(table, paper=False)
    codes = [Level("x", (code,)) for code in ("-9", "-8", "-7")]
    assert columns == (Value("x"), *codes, Missing("x"))
    names = ["x", "x = -9", "x = -8", "x = -7", "x is missing"]
    assert [c.text for c in columns] == names
    values = {c.text: c.evaluate(read()).tolist() for c in columns}
    assert values["x = -9"] == [0, 1, 0, 0, 0, 1]
    assert values["x = -7"] == [0] * 6
    assert values["x is missing"] == [0, 0, 1, 0, 0, 0]


def test_thresholds_say_that_codes_go_with_missing():
    schema = read_training({"x": CELLS, "z": [1.0] * 6}, {"x": [-9]}).schema
    split = TreeSplit(Value("x"), 2.0, True)
    assert Condition(split, True).text(schema) == "x <= 2 (or missing or special)"
    assert Condition(split, False).text(schema) == "x > 2"
    pair = TreeSplit(Pair("sum", Value("z"), Value("x")), 2.0, False)
    assert Condition(pair, False).text(schema) == "z + x > 2 (or missing or special)"
    assert Condition(TreeSplit(Value("z"), 2.0, True), True).text(schema) == "z <= 2 (or missing)"
    inside = TreeSplit(Interval("x", 0.0, 2.0))
    assert Condition(inside, False).text(schema) == "not (0 <= x < 2) (or missing or special)"
    code = TreeSplit(Level("x", ("-9",)))
    assert Condition(code, True).text(schema) == "x = -9"
    assert Condition(code, False).text(schema) == "x is not -9 (or missing)"


def grown(inputs, y, test, **more):
    """Return a table, its columns and a tree with one split of x."""
    table = make_table(inputs, y, np.ones(len(y)))
    vocabulary = build_vocabulary(table, VocabularySettings("original", 1, 5, 0.001, paper=False))
    columns = code_columns(table, vocabulary, paper=False)
    j = next(k for k, c in enumerate(columns.columns) if c.column == Value("x"))
    builder = TreeBuilder()
    bins = int(columns.coded.n_bins[j])
    builder.split(0, Split(j, test, bins, True, 1.0, **more))
    return table, columns, builder.finish()


def test_a_split_of_numbers_from_the_rest_sends_codes_with_missing():
    table, columns, tree = grown(read(), np.array([0, 1, 0, 1, 0, 1.0]), IS_MISSING)
    readable, numbers = columns.read(tree)
    assert (numbers[readable.apply(table.inputs)] == tree.apply(columns.coded.codes)).all()
    texts = [path[0].text(table.schema) for path in readable.paths()]
    assert texts == ["x is a number", "x is missing or special"]
    assert readable == Tree.from_dict(json.loads(json.dumps(readable.to_dict())))
    beyond = read_inputs({"x": np.array([1e9, -1e9, -9, -7, np.nan])}, table.schema)
    assert readable.apply(beyond).tolist() == [0, 0, 1, 1, 1]


def test_a_threshold_sends_codes_with_missing():
    table, columns, tree = grown(read(), np.array([0, 1, 0, 1, 0, 1.0]), ORDERED, bin=0, next_bin=1)
    readable, numbers = columns.read(tree)
    assert (numbers[readable.apply(table.inputs)] == tree.apply(columns.coded.codes)).all()


@pytest.fixture(scope="module")
def credit():
    """A score whose codes -9 and -8 say opposite things, -7 is declared but never occurs."""
    rng = np.random.default_rng(3)
    n = 500
    score = rng.normal(70, 10, n).round()
    kind = rng.random(n)
    score = np.where(kind < 0.15, -9, np.where(kind < 0.3, -8, score))
    score = np.where(kind > 0.95, np.nan, score)
    other = rng.normal(size=n).round(2)
    signal = np.where(score > 0, (score - 70) / 8, np.where(score == -9, 2.0, -2.0)) + other
    y = (rng.random(n) < 1 / (1 + np.exp(-np.nan_to_num(signal)))).astype(int)
    return pd.DataFrame({"score": score, "other": other}), y


CODES = {"score": [-9, -8, -7]}


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"l1": "4/n"}, {"l1": "4/n", "vocabulary": "original"},
        {"l1": "4/n", "ownership": "strict", "vocabulary": "original", "max_trees": 0},
        {"l1": "4/n", "ownership": "strict"},
        {"l1": "4/n", "lookahead": True}, {"l1": "4/n", "vocabulary": "hug"},
        {"l1": "4/n", "criterion": "label", "conventions": "paper", "ownership": "paper"},
    ],
)  # fmt: skip
def test_whole_fits_hold_what_they_claim(credit, changes, tmp_path):
    X, y = credit
    classifier = RPTEClassifier(special_values=CODES, **changes).fit(X, y)
    model = classifier.model_
    assert [c for c in model.verify(X, y) if not c.holds] == []
    assert model.audit().miu <= model.bound
    proba = classifier.predict_proba(pd.DataFrame({"score": [-9, -8.0], "other": [0.0, 0.0]}))
    assert proba[0, 1] > 0.7 > 0.3 > proba[1, 1]
    classifier.save(tmp_path / "model.json")
    stored = load(tmp_path / "model.json")
    assert stored == model
    assert stored.score(X).tolist() == model.score(X).tolist()


def test_terms_and_explanations_speak_of_codes(credit):
    X, y = credit
    classifier = RPTEClassifier(special_values=CODES, l1="4/n", max_trees=0).fit(X, y)
    texts = set(classifier.rules_["conditions"])
    assert {"score = -9", "score = -8"} <= texts
    rows = pd.DataFrame({"score": [-9, -7, np.nan, 70], "other": [0.0] * 4})
    explained = classifier.explain(rows)
    assert [e.inputs["score"] for e in explained] == ["-9", "-7", None, 70.0]
    assert [explained[i].flags for i in (0, 2, 3)] == [(), (), ()]


def test_codes_matter(credit):
    X, y = credit
    with pytest.warns(RPTEWarning, match=r"special_values=\{'score': \[-9, -8\]\}"):
        plain = RPTEClassifier(l1="4/n").fit(X, y)
    coded = RPTEClassifier(l1="4/n", special_values=CODES).fit(X, y)
    assert to_dict(plain.model_)["components"] != to_dict(coded.model_)["components"]
    text = {"score": [str(int(v)) if v == v else None for v in X["score"]], "other": X["other"]}
    again = RPTEClassifier(l1="4/n", special_values=CODES).fit(pd.DataFrame(text), y)
    assert to_dict(again.model_) == to_dict(coded.model_)


def test_a_declared_code_that_never_occurred_changes_nothing_but_the_schema(credit):
    X, y = credit
    with_unseen = RPTEClassifier(l1="4/n", special_values=CODES).fit(X, y).model_
    without = RPTEClassifier(l1="4/n", special_values={"score": [-9, -8]}).fit(X, y).model_
    assert with_unseen.components == without.components
    assert with_unseen.intercept == without.intercept
    missing_like = with_unseen.score({"score": [-7.0], "other": [0.0]})
    assert np.isfinite(missing_like).all()


@examples(25)
@given(st.lists(st.sampled_from([1.0, 2.5, -9.0, -8.0, None]), min_size=2, max_size=30))
def test_numbers_codes_and_missing_part_the_rows(cells):
    inputs = read(cells, (-9, -8))
    kinds = [~np.isnan(inputs["x"]), inputs.codes("x") >= 0, inputs.is_missing("x")]
    assert (np.sum(kinds, axis=0) == 1).all()

"""A card is a model of its own: one line of each table applies to any row, and points add up."""

import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from card_by_hand import add_up
from effort import examples
from export_models import DATA, needs_data
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.columns.kinds import Interval, Level, Missing, Pair, Step, Value
from rpte.export.scorecard.card import card_csv
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.model.unknown import HANDFUL
from rpte.scorecard import Scorecard
from rpte.scorecard.build import CERTAIN, MOST_BINS
from rpte.scorecard.card import Grid
from small_models import SCHEMA, make, models
from small_models import rows as one_row

POINT = 20 / math.log(2)
FULL = {name: [0.0, 3.0] for name in SCHEMA.names} | {"c": ["u", "v"]}


def term(column, coefficient, centre=0.0):
    return DirectTerm("D", column, coefficient, centre, 1.0, 1, 0)


def table(rows):
    return {name: [row[name][0] for row in rows] for name in SCHEMA.names}


def all_rows():
    """Draw so few rows that no column is refused because most of its levels are unknown."""
    return st.lists(one_row(), min_size=1, max_size=HANDFUL - 3).map(table)


NEW = table([{name: ["new" if name == "c" else None] for name in SCHEMA.names}] * (HANDFUL - 3))


def binary(model):
    """Tell whether a model consists of steps, levels and leaves on numbers as they are."""
    columns = [p.column for _, p in model.parts() if isinstance(p, DirectTerm)]
    trees = [p for _, p in model.parts() if isinstance(p, TreeTerms)]
    tests = [s.column for t in trees for s in t.tree.splits if len(t.sources) == 1]
    return all(c.binary for c in columns) and all(
        c.binary or isinstance(c, Value) for c in tests
    )  # fmt: skip


@examples(40)
@given(models(curved=True), all_rows(), st.booleans())
@example(make((Component("C1", (), (term(Level("c", ("u",)), 1.0),)),)), NEW, True)
def test_one_line_of_every_table_applies_and_points_add_up(model, rows, from_rows):
    rows = {name: [*cells, *FULL[name]] for name, cells in rows.items()}
    card = model.scorecard(rows if from_rows else None)
    inputs = model.read(rows)
    total = np.full(inputs.n_rows, card.base)
    lines = list(card.lines())
    for number, found in enumerate(card.tables, 1):
        places = found.places(inputs)
        assert places.min() >= 0
        printed = [line.points for line in lines if line.table == number]
        assert places.max() < len(printed)
        total += np.array(printed)[places]
    assert card.points(rows).tolist() == total.tolist()
    again = Scorecard.from_dict(model, json.loads(json.dumps(card.to_dict())))
    assert again.points(rows).tolist() == total.tolist()
    assert card_csv(again) == card_csv(card)


@examples(40)
@given(models(), all_rows())
def test_rounding_is_all_that_is_lost_of_steps_and_levels(model, rows):
    if not binary(model):
        return
    card = model.scorecard(rows)
    lost = np.abs(card.log_odds(card.points(rows)) - model.score(rows)) * POINT
    assert lost.max() <= (len(card.model.sources) + sum(1 for _ in model.parts()) + 1) * 0.5 + 1e-6


@examples(40)
@given(models(curved=True), st.integers(0, 9))
def test_the_bound_holds_over_the_values_that_bins_were_made_from(model, seed):
    rng = np.random.default_rng(seed)
    cells = [None, 0.0, 0.3, 1.0, 2.5, 3.0, 5.0, 6.0]
    rows = {name: [cells[i] for i in rng.integers(len(cells), size=80)] for name in SCHEMA.names}
    rows["c"] = [(None, "u", "v", "w", "new")[i] for i in rng.integers(5, size=80)]
    card = model.scorecard(rows)
    gap = np.abs(card.log_odds(card.points(rows)) - model.score(rows)) * POINT
    assert gap.max() <= card.bound + 1e-6


def test_a_card_by_hand():
    parts = (
        Component("C1", (), (term(Value("a"), 0.5, 2.0),)),
        Component("C2", (), (term(Step("b", 2.5), 1.0), term(Missing("b"), -0.4))),
        Component("C3", (), (term(Level("c", ("v",)), -1.2),)),
        Component("C4", (), (term(Level("s", ("-9",)), 0.3), term(Interval("s", 1.0, 3.0), 0.7))),
    )
    rows = {"a": [0.0, 1.0, 2.0, 3.0], "b": [2.0, 3.0, 2.0, 3.0], "c": ["u", "v", "w", "u"]}
    rows |= {"s": [0.0, 1.0, 2.0, 3.0], "z": [0.0] * 4}
    card = make(parts, intercept=-1.0).scorecard(rows)
    found = {line.attribute: line.points for line in card.lines()}
    assert found.pop("every case") == round(600 - POINT * math.log(50) - POINT)
    assert found == {
        "a <= 0.5": round(-1.0 * POINT),
        "0.5 < a <= 1.5": round(-0.5 * POINT),
        "1.5 < a <= 2.5": 0,
        "a > 2.5": round(0.5 * POINT),
        "a is missing": 0,
        "b <= 2.5": 0,
        "b > 2.5": round(POINT),
        "b is missing": round(-0.4 * POINT),
        "c in {'u', 'w'}": 0,
        "c is 'v'": round(-1.2 * POINT),
        "c is missing": 0,
        "c is any other level": 0,
        "s <= 0.5": 0,
        "0.5 < s <= 2.5": round(0.7 * POINT),
        "s > 2.5": 0,
        "s = -9": round(0.3 * POINT),
        "s is 'n/a'": 0,
        "s is missing": 0,
    }
    assert card.points({**rows, "a": [0.5, 0.50001, None, 99.0]}).tolist() == [
        card.base + a + b + c + s
        for a, b, c, s in [(-29, 0, 0, 0), (-14, 29, -35, 20), (0, 0, 0, 20), (14, 29, 0, 0)]
    ]


def test_a_product_becomes_tables_that_add_up():
    model = make((Component("C1", (), (term(Pair("product", Value("a"), Value("z")), 0.2),)),))
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 7, 500).tolist() for name in ("a", "b", "s", "z")}
    card = model.scorecard(rows)
    titles = [found.title for found in card.tables]
    assert titles == ["a", "z", "a and z"]
    gap = np.abs(card.log_odds(card.points(rows)) - model.score(rows)) * POINT
    assert gap.mean() < 0.1 * np.std(model.score(rows)) * POINT
    assert max(card.tables[2].points.shape) <= MOST_BINS + 1


def test_neighbours_with_equal_points_are_joined():
    columns = [Step("a", t) for t in (0.5, 1.5, 2.5, 3.5)]
    terms = tuple(term(c, v) for c, v in zip(columns, [1.0, 1e-4, -1.0, 1e-4], strict=True))
    rows = {"a": [0.0, 1.0, 2.0, 3.0, 4.0]}
    card = make((Component("C1", (), terms),)).scorecard(rows)
    found = [(line.attribute, line.points) for line in card.lines()][1:]
    assert found == [("a <= 0.5", 0), ("0.5 < a <= 2.5", 29), ("a > 2.5", 0), ("a is missing", 0)]


def test_points_count_for_the_class_that_is_asked_for():
    model = make((Component("C1", (), (term(Step("b", 2.5), 1.0),)),), intercept=-1.0)
    ours, other = (model.scorecard(points_for=side) for side in ("positive", "other"))
    rows = {"b": [1.0, 4.0]}
    assert ours.points(rows).tolist() == [458, 487]
    assert other.points(rows).tolist() == [516, 487]
    assert ours.probability(rows) == pytest.approx(other.probability(rows), abs=0.01)


def test_without_rows_the_file_must_tell_the_values():
    slope = (Component("C1", (), (term(Value("a"), 0.5),)),)
    told = make(slope).scorecard()
    assert told.rows is None
    assert "Bins were made from what the model file tells" in str(told)
    hidden = [{"name": "a", "kind": "number", "quantiles": [None, 1.0, 2.0, 4.0, 6.0]}]
    for profile in (hidden, None):
        with pytest.raises(InputError, match="cuts 'a' into bins, and the model file does"):
            make(slope, profile=profile).scorecard()
    with pytest.raises(InputError, match="cuts 'a' into bins, and the rows hold no number of it"):
        make(slope).scorecard({"a": [None, None]})
    steps = (Component("C1", (), (term(Step("a", 2.5), 0.5),)),)
    assert len(make(steps, profile=None).scorecard().tables) == 1


@pytest.mark.parametrize(
    "x",
    [
        np.r_[np.arange(300.0), 1e12, -1e12],
        np.r_[np.arange(300.0) * 1e-9, 1e-7],
        np.full(302, 5.0),
        np.r_[np.arange(300.0) * 1e300 / 300, -1e300, 5e-324],
        np.r_[np.arange(300.0) + 1e15, 0.0],
    ],
    ids=["outliers", "tiny", "constant", "huge", "far"],
)
def test_extreme_columns_print_nothing_absurd(x, tmp_path):
    slope = 40.0 / max(float(np.subtract(*np.percentile(x, [75, 25]))), 1e-30)
    model = make((Component("C1", (), (term(Value("a"), slope, float(np.median(x))),)),))
    rows = {"a": x.tolist()}
    record = model.export("scorecard", tmp_path / "card.txt", rows)
    text = (tmp_path / "card.txt").read_text()
    printed = text.split("Bins were made")[0] + str(record) + " ".join(record.notes)
    assert not re.search(r"\d{17,}|inf|nan", printed)
    card = model.scorecard(rows)
    assert np.abs([line.points for line in card.lines()]).max() <= 600 + 2 * CERTAIN * POINT
    assert max(float(n) for n in re.findall(r"([\d.]+) at most", record.notes[0])) <= 1200


SETS = {"credit_scoring_spain.csv.gz": 0.004, "loan_eligibility.csv": 0.004, "adult.csv.gz": 0.004}


@pytest.mark.slow(reason="fits real tables with the default settings")
@needs_data
@pytest.mark.parametrize("name", SETS)
def test_real_tables_lose_little_and_can_be_added_up_by_hand(name, tmp_path):
    frame = pd.read_csv(DATA / "panel" / name)
    frame = frame.sample(min(len(frame), 4000), random_state=0)
    X, y = frame.drop(columns="target"), frame["target"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        model = RPTEClassifier().fit(X, y).model_
    card = model.scorecard(X)
    points = card.points(X)
    assert roc_auc_score(y, points) > roc_auc_score(y, model.score(X)) - SETS[name]
    scores = (np.clip(s, -CERTAIN, CERTAIN) for s in (card.log_odds(points), model.score(X)))
    assert np.abs(np.subtract(*scores)).mean() * POINT < 8
    for found in (found for found in card.tables if isinstance(found, Grid)):
        assert all(axis.bins <= MOST_BINS for axis in found.axes)
        cuts = [cut for axis in found.axes for cut in axis.cuts or ()]
        assert all(len(repr(cut)) <= 9 for cut in cuts)
    path = tmp_path / "card.csv"
    path.write_text(card_csv(card), encoding="utf-8")
    some = X.sample(60, random_state=1).astype(object)
    rng = np.random.default_rng(0)
    for column in some:
        some.loc[rng.random(60) < 0.1, column] = None
    known = {v.name: v.levels[: len(v.levels) - v.pooled] for v in model.schema.variables}
    by_hand = [add_up(path, row, known) for row in some.to_dict("records")]
    assert by_hand == card.points(some).tolist()

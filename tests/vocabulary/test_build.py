import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import naive_stage1 as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from raw_tables import Raw, random_raw, raws, same_bits
from rpte.columns.kinds import (
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.columns.limits import FREE
from rpte.published.hug import mine_hug
from rpte.published.items import make_items
from rpte.published.mining import item_index
from rpte.published.pairs import mine_pairs
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR, PATTERN, evaluate_columns, original_columns
from rpte.published.vocabulary import VocabularySettings, build_vocabulary
from rpte.vocabulary.build import Room

choices = st.builds(
    VocabularySettings,
    miner=st.sampled_from(["hug", "frequent", "original", "shapes"]),
    pattern_order=st.sampled_from([1, 2]),
    budget=st.sampled_from([2, 6, 20]),
    min_gain=st.sampled_from([0.001, 0.01]),
    paper=st.booleans(),
)
OURS = VocabularySettings("hug", 2, 10, 0.001, paper=False)
PAPER = replace(OURS, paper=True)
SHAPES = replace(OURS, miner="shapes")


def identical(a, b):
    """Tell whether two vocabularies agree bit for bit."""
    fields = ("block", "centre", "scale", "z")
    return a.columns == b.columns and all(same_bits(getattr(a, f), getattr(b, f)) for f in fields)


@settings(max_examples=50, deadline=None)
@given(raws(), choices, st.randoms(use_true_random=False))
def test_neither_row_order_nor_column_order_nor_repetition_matters(raw, chosen, random):
    expected = build_vocabulary(raw.table(), chosen)
    rows, names = list(range(len(raw.y))), list(raw.columns)
    random.shuffle(rows)
    random.shuffle(names)
    for other in (raw.take(np.array(rows)), raw.reordered(names), raw.repeated()):
        assert identical(build_vocabulary(other.table(), chosen), expected)


@settings(max_examples=40, deadline=None)
@given(raws(), choices)
def test_the_vocabulary_is_bounded_and_names_raw_variables(raw, chosen):
    table = raw.table()
    found = build_vocabulary(table, chosen)
    raw_names = {
        c.sources for c, b in zip(found.columns, found.block, strict=True) if b == ORIGINAL
    }
    assert len(raw_names) <= len(raw.columns)
    assert all(len(sources) == 1 for sources in raw_names)
    for block in (PATTERN, PAIR):
        assert (found.block == block).sum() <= chosen.budget
    kinds = {ORIGINAL: (Value, Level, Missing), PATTERN: (Level, Interval, Pattern), PAIR: Pair}
    if chosen.miner == "shapes":
        kinds[PATTERN] = (Hinge, Interval, Scale, Step)
    for j, (column, block) in enumerate(zip(found.columns, found.block, strict=True)):
        assert isinstance(column, kinds[int(block)])
        assert set(column.sources) <= set(raw.columns)
        x = column.evaluate(table.inputs)
        z = (x - found.centre[j]) / found.scale[j]
        assert same_bits(found.z[j], np.where(np.isnan(x), 0.0, z))
        assert np.isfinite(found.centre[j])
        if column.binary:
            assert (found.centre[j], found.scale[j]) == (0.0, 1.0)
        assert 0 < found.scale[j] < np.inf
    assert (np.diff(found.block) >= 0).all()
    if chosen.miner == "original":
        assert (found.block == ORIGINAL).all()


@settings(max_examples=40, deadline=None)
@given(raws(), choices, st.integers(1, 30))
def test_a_vocabulary_that_holds_few_rows_says_the_same(raw, chosen, held):
    table = raw.table()
    whole, few = build_vocabulary(table, chosen), build_vocabulary(table, chosen, None, held)
    assert few.columns == whole.columns
    for field in ("block", "centre", "scale"):
        assert same_bits(getattr(few, field), getattr(whole, field))
    rows = table.n_rows if chosen.miner == "shapes" else held
    assert same_bits(few.z, whole.z[:, :rows])


@settings(max_examples=40, deadline=None)
@given(raws(), choices)
def test_nothing_is_said_twice(raw, chosen):
    table = raw.table()
    found = build_vocabulary(table, chosen)
    values = [column.evaluate(table.inputs) for column in found.columns]
    indicator = [bool(np.isin(v, (0.0, 1.0)).all()) for v in values]
    kept = naive.distinct([v.tolist() for v in values], indicator)
    assert kept == list(range(len(found)))


@settings(max_examples=20, deadline=None)
@given(raws(kinds=("number", "few", "category"), least=3), st.integers(0, 99))
def test_columns_read_only_their_sources(raw, seed):
    table, rng = raw.table(), np.random.default_rng(seed)
    for column in build_vocabulary(table, OURS).columns:
        others = [
            c if v.name in column.sources else rng.permutation(c)
            for v, c in zip(table.schema.variables, table.inputs.columns, strict=True)
        ]
        changed = Inputs(table.schema, tuple(others))
        assert same_bits(column.evaluate(changed), column.evaluate(table.inputs))


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES, replace(OURS, miner="frequent")])
def test_threads_change_nothing(chosen):
    table = random_raw(1, ["number", "category", "few", "skewed", "number"], 150).table()
    with ThreadPoolExecutor(3) as pool:
        assert identical(build_vocabulary(table, chosen, pool), build_vocabulary(table, chosen))


@pytest.mark.parametrize("chosen", [OURS, PAPER])
def test_unnamed_columns_go_by_place(chosen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)).round(1)
    table = make_table(read_training(X), (X[:, 0] > 0).astype(float), np.ones(60))
    found = build_vocabulary(table, replace(chosen, budget=20))
    values = [c.text for c in found.columns if isinstance(c, Value)]
    assert values == [f"x{i}" for i in range(12)]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("budget", "min_gain"), [(50, 0.01), (100, 0.001)])
def test_breast_cancer_with_the_paper_settings(order, budget, min_gain):
    """Mined columns equal the oracle (test_hug, test_pairs); here: what the filters leave."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = Raw({n: X[n].to_numpy() for n in X}, y.to_numpy(float), np.ones(len(y))).table()
    chosen = VocabularySettings("hug", order, budget, min_gain, paper=True)
    patterns = mine_hug(item_index(table, make_items(table, False)), order, budget, min_gain, None)
    pairs = mine_pairs(table, budget, table.schema.names, FREE, None) if order > 1 else ()
    columns = (*(Value(name) for name in sorted(X)), *patterns, *pairs)
    block = np.repeat([0, 1, 2], [30, len(patterns), len(pairs)])
    values = np.column_stack([c.evaluate(table.inputs) for c in columns])
    kept = naive.distinct(values.T.tolist(), block == 1)
    last = [kept[j] for j in naive.independent(values[:, kept], block[kept])]
    assert [c.text for c in build_vocabulary(table, chosen).columns] == [
        columns[j].text for j in last
    ]


def test_wdbc_redundancy_counts_equal_the_reference():
    """As published: 230 -> 125 columns (9 duplicates, 2 complements, 15 patterns, 79 pairs)."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=42, stratify=y)
    table = Raw({n: X[n].to_numpy() for n in X}, y.to_numpy(float), np.ones(len(y))).table()
    patterns = mine_hug(item_index(table, make_items(table, printed=False)), 2, 100, 0.001, None)
    assert len(patterns) == len(mine_pairs(table, 100, table.schema.names, FREE, None)) == 100
    found = build_vocabulary(table, VocabularySettings("hug", 2, 100, 0.001, paper=True))
    assert np.bincount(found.block).tolist() == [30, 100 - 2 - 15, 100 - 9 - 79]


def test_raw_columns_in_canonical_order():
    raw = random_raw(0, ["category", "number", "two"], 60)
    raw.columns["z0"][0], raw.columns["y1"][1] = None, np.nan
    table = raw.table()
    texts = [c.text for c in original_columns(table, paper=False)]
    levels = [f"z0 is {level}" for level in ("", "a", "b, c", "is e", "{d}")]
    assert [t for t in texts if not t.startswith("x2")] == [
        "y1",
        "y1 is missing",
        *levels,
        "z0 is missing",
    ]
    assert "y1 is missing" not in [c.text for c in original_columns(table, paper=True)]


@settings(max_examples=40, deadline=None)
@given(raws(kinds=("number", "few", "skewed", "huge")))
def test_centres_and_scales_stand_for_missing(raw):
    table, wide = raw.table(), raw.repeated()
    values = tuple(Value(name) for name in sorted(raw.columns))
    pairs = mine_pairs(table, 5, table.schema.names, FREE, None)
    exact = evaluate_columns(table, values, (), pairs, paper=True)
    short = evaluate_columns(table, values, (), pairs, paper=False)
    inputs = read_inputs(wide.columns, table.schema)
    for j, column in enumerate(exact.columns):
        x = column.evaluate(inputs)
        present = x[~np.isnan(x)]
        if not len(present):
            continue
        unit = max(np.abs(present).max(), 1e-300)
        centre = present.mean() if isinstance(column, Pair) else np.median(present)
        assert exact.centre[j] == pytest.approx(centre, rel=1e-9, abs=unit * 1e-12)
        spread = np.std(np.where(np.isnan(x), centre, x) / unit) * unit
        assert exact.scale[j] == pytest.approx(spread if spread > 0 else 1.0, rel=1e-6)
        assert abs(short.centre[j] - np.median(present)) <= max(short.scale[j] / 100, unit * 1e-12)
        assert (exact.z[j][np.isnan(column.evaluate(table.inputs))] == 0.0).all()
        assert not np.isnan(exact.z[j]).any()


def test_the_paper_keeps_the_k_raw_columns_of_highest_gain():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.5).astype(float)
    columns = {f"v{i}": (y * i + 3 * rng.normal(size=300)).round(2) for i in range(6)}
    columns["gone"] = np.full(300, np.nan)  # a column without a value must not break the ranking
    table = Raw(columns, y, np.ones(300)).table()
    found = build_vocabulary(table, VocabularySettings("original", 1, 3, 0.001, paper=True))
    assert [c.text for c in found.columns] == ["v3", "v4", "v5"]
    ours = build_vocabulary(table, VocabularySettings("original", 1, 3, 0.001, paper=False))
    assert [c.text for c in ours.columns] == [f"v{i}" for i in range(6)]


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES])
def test_awkward_columns(chosen):
    raw = random_raw(
        7, ["constant", "empty", "one", "category", "huge", "01", "number"], 80, gaps=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = build_vocabulary(raw.table(), chosen)
    sources = {s for c in found.columns for s in c.sources}
    assert sources.isdisjoint({"z0", "y1", "x2"})  # constant, empty, one level: nothing to say
    assert {"w3", "v4", "u5", "t6"} <= sources


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES])
def test_a_table_with_nothing_to_say_has_no_columns(chosen):
    table = random_raw(0, ["constant", "empty", "one"], 20, gaps=False).table()
    assert len(build_vocabulary(table, chosen)) == 0


def test_one_level_with_gaps_is_one_column():
    c = np.array(["only", None] * 10, object)
    table = Raw({"c": c}, np.array([0.0, 1.0] * 10), np.ones(20)).table()
    assert [v.text for v in build_vocabulary(table, OURS).columns] == ["c is only"]


def test_lookahead_leaves_half_of_the_pair_budget():
    assert replace(OURS, lookahead=True).pair_budget == 5
    assert OURS.pair_budget == 10


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES])
def test_keep_and_other_rows_agree(chosen):
    table = random_raw(3, ["number", "category", "few"], 60).table()
    found = build_vocabulary(table, chosen)
    which = np.array([len(found) - 1, 0])
    part = found.keep(which)
    assert part.columns == (found.columns[-1], found.columns[0])
    assert same_bits(part.z, found.z[which])
    assert same_bits(found.on(table.inputs), found.z)
    rows = np.array([5, 3, 3, 17])
    assert same_bits(found.on(table.inputs.take(rows)), found.z[:, rows])
    assert same_bits(found.on(table.inputs.take(rows), 2), found.z[2:, rows])
    assert found.z.flags.c_contiguous


@settings(max_examples=30, deadline=None)
@given(raws(least=2, rows=(20, 60)), st.integers(0, 99))
def test_more_pairs_repeat_nothing(raw, seed):
    """Two-source columns join; what is constant, or an earlier column once more, does not."""
    table, rng = raw.table(), np.random.default_rng(seed)
    found = build_vocabulary(table, SHAPES)
    binary = [c for c in found.columns if c.binary and isinstance(c, (Level, Step))]
    pairs = tuple(
        Pattern(binary[i], binary[k])
        for i, k in rng.integers(0, max(len(binary), 1), (12, 2))
        if binary and binary[i].source != binary[k].source
    )
    more = found.with_pairs(table, (*pairs, *pairs[:3]))
    assert identical(more.keep(np.arange(len(found))), found)
    assert (more.block[len(found) :] == PAIR).all()
    said = [c.evaluate(table.inputs) for c in found.columns if c.binary]
    wanted = []
    for pair in pairs:
        x = pair.evaluate(table.inputs)
        known = any(same_bits(x, s) or same_bits(x, 1.0 - s) for s in said)
        if not known and x.min() < x.max():
            wanted.append(pair)
            said.append(x)
    assert more.columns[len(found) :] == tuple(wanted)
    for column, z in zip(more.columns[len(found) :], more.z[len(found) :], strict=True):
        assert same_bits(z, column.evaluate(table.inputs))


def test_more_pairs_use_the_room_there_is_without_changing_what_is_known():
    """A vocabulary that grows twice in different ways: each has its own pairs, copied or not."""
    table = random_raw(7, ["number", "skewed", "01"], 60).table()
    chosen = VocabularySettings("shapes", 2, 10, 0.0, False)
    known = build_vocabulary(table, chosen)
    before = known.z.copy()
    names = table.schema.names
    pairs = [Pair("product", Value(a), Value(b)) for a, b in (names[:2], names[1:])]
    one = known.with_pairs(table, (pairs[0],))
    two = known.with_pairs(table, (pairs[1],))
    both = one.with_pairs(table, (pairs[1],))
    assert np.shares_memory(known.z, one.z)
    assert np.shares_memory(one.z, both.z)
    assert not np.shares_memory(known.z, two.z)
    for grown, added in ((one, pairs[:1]), (two, pairs[1:]), (both, pairs)):
        assert same_bits(grown.z[: len(known)], before)
        assert list(grown.columns[len(known) :]) == added
        told = grown.on(table.inputs)
        np.testing.assert_allclose(grown.z, told, atol=1e-12)
    full = replace(known, room=Room(known.z, len(known)))
    assert not np.shares_memory(full.with_pairs(table, (pairs[0],)).z, known.z)
    assert same_bits(full.with_pairs(table, (pairs[0],)).z, one.z)

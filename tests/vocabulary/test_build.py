import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_stage1 as naive
from effort import examples
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
from rpte.published.pairs import mine_pairs
from rpte.published.vocabulary import VocabularySettings
from rpte.rows.threads import worker_threads
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.vocabulary.shape_cache import original_columns
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR, PATTERN, evaluate_columns
from vocabularies import shapes_vocabulary, vocabulary_of

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
    return a.columns == b.columns and all(
        same_bits(getattr(a, f)[:], getattr(b, f)[:]) for f in fields
    )


@examples(50)
@given(raws(), choices, st.randoms(use_true_random=False))
def test_neither_row_order_nor_column_order_nor_repetition_matters(raw, chosen, random):
    expected = vocabulary_of(raw.table(), chosen)
    rows, names = list(range(len(raw.y))), list(raw.columns)
    random.shuffle(rows)
    random.shuffle(names)
    for other in (raw.take(np.array(rows)), raw.reordered(names), raw.repeated()):
        assert identical(vocabulary_of(other.table(), chosen), expected)


@examples(40)
@given(raws(), choices)
def test_the_vocabulary_is_bounded_and_names_raw_variables(raw, chosen):
    table = raw.table()
    found = vocabulary_of(table, chosen)
    raw_names = {
        c.sources for c, b in zip(found.columns, found.block, strict=True) if b == ORIGINAL
    }
    assert len(raw_names) <= len(raw.columns)
    assert all(len(sources) == 1 for sources in raw_names)
    for block in (PATTERN, PAIR):
        assert (found.block == block).sum() <= chosen.budget
    kinds = {ORIGINAL: (Value, Level, Missing), PATTERN: (Level, Interval, Pattern), PAIR: Pair}
    if chosen.miner == "shapes":
        kinds[PATTERN] = (Hinge, Interval, Level, Scale, Step)
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


@examples(40)
@given(raws(), choices, st.integers(1, 30))
def test_a_vocabulary_that_holds_few_rows_says_the_same(raw, chosen, held):
    table = raw.table()
    whole, few = vocabulary_of(table, chosen), vocabulary_of(table, chosen, held)
    assert few.columns == whole.columns
    for field in ("block", "centre", "scale"):
        assert same_bits(getattr(few, field), getattr(whole, field))
    rows = table.n_rows if chosen.miner == "shapes" else held
    assert same_bits(few.z[:], whole.z[:, :rows])


@examples(40)
@given(raws(), choices)
def test_nothing_is_said_twice(raw, chosen):
    table = raw.table()
    found = vocabulary_of(table, chosen)
    values = [column.evaluate(table.inputs) for column in found.columns]
    indicator = [bool(np.isin(v, (0.0, 1.0)).all()) for v in values]
    kept = naive.distinct([v.tolist() for v in values], indicator)
    assert kept == list(range(len(found)))


@examples(20)
@given(raws(kinds=("number", "few", "category"), least=3), st.integers(0, 99))
def test_columns_read_only_their_sources(raw, seed):
    table, rng = raw.table(), np.random.default_rng(seed)
    for column in vocabulary_of(table, OURS).columns:
        others = [
            c if v.name in column.sources else rng.permutation(c)
            for v, c in zip(table.schema.variables, table.inputs.columns, strict=True)
        ]
        changed = Inputs(table.schema, tuple(others))
        assert same_bits(column.evaluate(changed), column.evaluate(table.inputs))


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES, replace(OURS, miner="frequent")])
def test_threads_change_nothing(chosen):
    table = random_raw(1, ["number", "category", "few", "skewed", "number"], 150).table()
    alone = vocabulary_of(table, chosen)
    with worker_threads(3):
        assert identical(vocabulary_of(table, chosen), alone)


@pytest.mark.parametrize("chosen", [OURS, PAPER])
def test_unnamed_columns_go_by_place(chosen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)).round(1)
    table = make_table(read_training(X), (X[:, 0] > 0).astype(float), np.ones(60))
    found = vocabulary_of(table, replace(chosen, budget=20))
    values = [c.text for c in found.columns if isinstance(c, Value)]
    assert values == [f"x{i}" for i in range(12)]


def test_raw_columns_in_canonical_order():
    raw = random_raw(0, ["category", "number", "two"], 60)
    raw.columns["z0"][0], raw.columns["y1"][1] = None, np.nan
    table = raw.table()
    texts = [c.text for c in original_columns(table, paper=False)]
    levels = [f"z0 is {level!r}" for level in ("", "a", "b, c", "is e", "{d}")]
    assert [t for t in texts if not t.startswith("x2")] == [
        "y1",
        "y1 is missing",
        *levels,
        "z0 is missing",
    ]
    assert "y1 is missing" not in [c.text for c in original_columns(table, paper=True)]


@examples(40)
@given(raws(kinds=("number", "few", "skewed", "huge")))
def test_centres_and_scales_stand_for_missing(raw):
    table, wide = raw.table(), raw.repeated()
    values = tuple(Value(name) for name in sorted(raw.columns))
    pairs = mine_pairs(table, 5, table.schema.names, FREE)
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


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES])
def test_awkward_columns(chosen):
    raw = random_raw(
        7, ["constant", "empty", "one", "category", "huge", "01", "number"], 80, gaps=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vocabulary_of(raw.table(), chosen)
    sources = {s for c in found.columns for s in c.sources}
    assert sources.isdisjoint({"z0", "y1", "x2"})  # constant, empty, one level: nothing to say
    assert {"w3", "v4", "u5", "t6"} <= sources


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES])
def test_a_table_with_nothing_to_say_has_no_columns(chosen):
    table = random_raw(0, ["constant", "empty", "one"], 20, gaps=False).table()
    assert len(vocabulary_of(table, chosen)) == 0


def test_one_level_with_gaps_is_one_column():
    c = np.array(["only", None] * 10, object)
    table = Raw({"c": c}, np.array([0.0, 1.0] * 10), np.ones(20)).table()
    assert [v.text for v in vocabulary_of(table, OURS).columns] == ["c is 'only'"]


@pytest.mark.parametrize("chosen", [OURS, PAPER, SHAPES])
def test_keep_and_other_rows_agree(chosen):
    table = random_raw(3, ["number", "category", "few"], 60).table()
    found = vocabulary_of(table, chosen)
    which = np.array([len(found) - 1, 0])
    part = found.keep(which)
    assert part.columns == (found.columns[-1], found.columns[0])
    assert same_bits(part.z[:], found.z[which])
    assert same_bits(found.on(table.inputs), found.z[:])
    rows = np.array([5, 3, 3, 17])
    assert same_bits(found.on(table.inputs.take(rows)), found.z[:, rows])
    assert same_bits(found.column_on(table.inputs.take(rows), 2), found.z[2, rows])
    assert found.z[:].flags.c_contiguous


@examples(30)
@given(raws(least=2, rows=(20, 60)), st.integers(0, 99))
def test_more_pairs_repeat_nothing(raw, seed):
    """Two-source columns join; what is constant, or an earlier column once more, does not."""
    table, rng = raw.table(), np.random.default_rng(seed)
    found = vocabulary_of(table, SHAPES)
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


def test_more_pairs_use_the_memory_there_is_without_changing_what_is_known():
    """A vocabulary that grows twice in different ways: each has its own pairs, copied or not."""
    table = random_raw(7, ["number", "skewed", "01"], 60).table()
    known = shapes_vocabulary(table, 10)
    before = known.z[:]
    names = table.schema.names
    pairs = [Pair("product", Value(a), Value(b)) for a, b in (names[:2], names[1:])]
    one = known.with_pairs(table, (pairs[0],))
    two = known.with_pairs(table, (pairs[1],))
    both = one.with_pairs(table, (pairs[1],))
    assert one.z.shared is known.z.shared
    assert both.z.own[0] is one.z.own[0]
    for grown, added in ((one, pairs[:1]), (two, pairs[1:]), (both, pairs)):
        assert same_bits(grown.z[: len(known)], before)
        assert list(grown.columns[len(known) :]) == added
        told = grown.on(table.inputs)
        np.testing.assert_allclose(grown.z[:], told, atol=1e-12)
    full = replace(known, z=before).with_pairs(table, (pairs[0],))
    assert same_bits(full.z, one.z[:])

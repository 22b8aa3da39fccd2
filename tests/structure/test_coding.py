"""The way to codes and back: a tree read from codes sends every training row the same way."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_tables import grower_of
from effort import examples
from raw_tables import Raw, random_raw, raws
from rpte.columns.kinds import Level, Missing, Pair, Value
from rpte.columns.limits import FREE
from rpte.kernels.growth import IS_MISSING, LEVELS, ORDERED
from rpte.published.pairs import lookahead_roots
from rpte.published.vocabulary import VocabularySettings, build_vocabulary
from rpte.structure.boosting import Stage2Settings, discover_trees
from rpte.structure.coded import Split, TreeBuilder
from rpte.structure.coding import MAX_BINS, Ranks, code_columns
from rpte.table.decimals import shortest_between

KINDS = ("number", "few", "skewed", "01", "huge", "category", "two", "one")


def coded(raw, paper, roots=0, order=2, budget=8):
    table = raw.table()
    vocabulary = build_vocabulary(table, VocabularySettings("hug", order, budget, 0.001, paper))
    known = [c for c in vocabulary.columns if isinstance(c, Pair)]
    extra = lookahead_roots(table, known, roots, FREE)
    return table, vocabulary, code_columns(table, vocabulary, paper, extra)


def of_value(columns):
    """The codes of the first number, and how many bins it has."""
    j = next(k for k, c in enumerate(columns.columns) if isinstance(c.column, Value))
    return columns.coded.codes[j], columns.coded.n_bins[j]


def random_tree(columns, weight, rng, leaves=9):
    """Split leaves at random, any column and any test that the grower could offer."""
    coded, builder = columns.coded, TreeBuilder()
    rows = {0: np.arange(coded.n_rows)}
    for _ in range(6 * leaves):
        node = int(rng.choice(list(rows)))
        split = random_split(coded, rows[node], rng)
        if split is None or builder.n_leaves == leaves:
            continue
        inside = rows.pop(node)
        left = split.table()[coded.codes[split.column, inside]]
        builder.split(node, split)
        first, second = builder.children[node]
        rows[first], rows[second] = inside[left], inside[~left]
    return builder.finish()


def random_split(coded, rows, rng):
    j = int(rng.integers(coded.n_columns))
    bins = int(coded.n_bins[j])
    seen = np.unique(coded.codes[j, rows]).astype(int)
    present, gaps = seen[seen < bins].tolist(), bool((seen == bins).any())
    if gaps and present and rng.random() < 0.4:
        return Split(j, IS_MISSING, bins, True, 1.0)
    if len(present) < 2:
        return None
    side, cut = bool(rng.random() < 0.5), int(rng.integers(1, len(present)))
    if coded.is_category[j]:
        rng.shuffle(present)
        left, right = tuple(present[:cut]), tuple(present[cut:])
        return Split(j, LEVELS, bins, side, 1.0, left_levels=left, right_levels=right)
    return Split(j, ORDERED, bins, side, 1.0, bin=present[cut - 1], next_bin=present[cut])


def assert_round_trip(table, columns, tree):
    readable, numbers = columns.read(tree)
    assert sorted(numbers) == list(range(tree.n_leaves))
    reached = tree.apply(columns.coded.codes)
    assert (numbers[readable.apply(table.inputs)] == reached).all()
    members = {s for m in columns.members(tree) for s in columns_sources(columns, m)}
    assert members <= set(readable.sources)


def columns_sources(columns, member):
    return [s for c in columns.columns if member in c.members for s in c.column.sources]


@examples(80)
@given(raws(kinds=KINDS, least=2, rows=(12, 70)), st.booleans(), st.integers(0, 9999))
def test_random_trees_come_back_as_they_were(raw, paper, seed):
    table, _, columns = coded(raw, paper, roots=4)
    rng = np.random.default_rng(seed)
    if not columns.columns:
        return
    tree = random_tree(columns, table.weight, rng)
    if tree.n_leaves > 1:
        assert_round_trip(table, columns, tree)
    else:
        with pytest.raises(ValueError, match="without a split"):
            columns.read(tree)


@pytest.mark.parametrize("paper", [True, False])
@pytest.mark.parametrize("criterion", ["label", "newton"])
@pytest.mark.parametrize("lookahead", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_grown_trees_come_back_as_they_were(paper, criterion, lookahead, seed):
    kinds = ["number", "category", "few", "two", "skewed", "number"]
    table, _, columns = coded(random_raw(seed, kinds, 300), paper, roots=5 if lookahead else 0)
    chosen = Stage2Settings(
        max_trees=4, max_leaves=8, max_depth=5, min_samples_leaf=5,
        leaf_ridge=1.0, learning_rate=0.3, max_sources=None, lookahead=lookahead,
    )  # fmt: skip
    given = columns.coded, table.y, table.weight
    found = discover_trees(*given, chosen, grower_of(criterion, *given, chosen)).trees
    assert found or lookahead  # the probe rows may reject every tree
    for tree in found:
        assert_round_trip(table, columns, tree)


def test_a_pair_is_missing_where_either_part_is():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 40)).round(2)
    a[:5], b[5:12] = np.nan, np.nan
    raw = Raw({"a": a, "b": b}, (rng.random(40) < 0.5).astype(float), np.ones(40))
    table, _, columns = coded(raw, paper=False, roots=1)
    j = next(k for k, c in enumerate(columns.columns) if isinstance(c.column, Pair))
    builder = TreeBuilder()
    builder.split(0, Split(j, IS_MISSING, int(columns.coded.n_bins[j]), True, 1.0))
    tree = builder.finish()
    assert (tree.apply(columns.coded.codes) == 0).sum() == 12
    assert_round_trip(table, columns, tree)


@examples(40)
@given(raws(kinds=KINDS, least=2), st.booleans())
def test_codes_keep_the_order_of_values_and_the_gaps(raw, paper):
    table, vocabulary, columns = coded(raw, paper)
    names = table.schema.names
    for j, column in enumerate(columns.columns):
        codes, bins = columns.coded.codes[j].astype(int), columns.coded.n_bins[j]
        assert [names[s] for s in columns.coded.sources[j]] == list(column.column.sources)
        assert codes.max() <= bins
        if column.levels:
            cells = table.inputs[column.column.sources[0]]
            assert (codes == np.where(cells < 0, bins, cells)).all()
            continue
        x = column.column.evaluate(table.inputs)
        if column.column.binary:
            assert (codes == x).all()
            continue
        x = np.where(np.isnan(x), column.fill, x) if paper else x
        gaps = np.isnan(x)
        assert ((codes == bins) == gaps).all()
        order = np.argsort(x[~gaps])
        assert (np.diff(codes[~gaps][order]) >= 0).all()
        new, apart = np.diff(codes[~gaps][order]) > 0, np.diff(x[~gaps][order])
        assert (apart[new] > 0).all()
        # What differs only by the rounding of its parts, such as 0.1 + 0.2 and 0.3, is one value.
        assert new[apart > (1e-6 if isinstance(column.column, Pair) else 0)].all()
    assert columns.coded.codes.shape == (len(columns.columns), table.n_rows)
    if paper:
        assert [c.members for c in columns.columns] == [(j,) for j in range(len(vocabulary))]


@pytest.mark.parametrize("weighted", [True, False])
def test_many_values_fall_into_255_bins_of_like_weight(weighted):
    rng = np.random.default_rng(1)
    n = 3000
    x = rng.exponential(size=n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    raw = Raw({"x": np.where(np.arange(n) < 50, np.nan, x)}, (x > 1).astype(float), weight)
    table, _, columns = coded(raw, paper=False)
    codes, n_bins = of_value(columns)
    assert n_bins == MAX_BINS == 255
    assert columns.coded.codes.dtype == np.uint8
    assert ((codes == 255) == np.isnan(table.inputs["x"])).all()
    present = codes < 255
    shares = np.bincount(codes[present], table.weight[present])
    mean = shares.sum() / 255
    assert (np.abs(shares - mean) <= table.weight.max()).all()
    x_now = table.inputs["x"]
    ends = [(x_now[codes == b].min(), x_now[codes == b].max()) for b in range(255)]
    assert all(a[1] < b[0] for a, b in pairwise(ends))
    _, _, again = coded(raw.repeated(), paper=False)
    assert (again.coded.codes == columns.coded.codes).all()
    exact = coded(raw, paper=True)[2]
    assert exact.coded.codes.dtype == np.uint16
    filled = exact.columns[0].fill
    assert exact.coded.n_bins[0] == len(np.unique([*x[50:], filled]))


@pytest.mark.parametrize("gap", [2.0**-50, 2.0**-20])
def test_values_that_hardly_differ_have_codes_of_their_own(gap):
    rng = np.random.default_rng(3)
    x = 1.0 + rng.integers(0, 40, 600) * gap
    x[:2], x[2:30] = (-1e300, 1e300), np.nan
    raw = Raw({"x": x}, (rng.random(600) < 0.5).astype(float), np.ones(600))
    table, _, columns = coded(raw, paper=False)
    codes, n_bins = of_value(columns)
    cells = table.inputs["x"]
    values, places = np.unique(cells[~np.isnan(cells)], return_inverse=True)
    assert n_bins == len(values) == 42
    assert (codes[~np.isnan(cells)] == places).all()
    assert (codes[np.isnan(cells)] == 42).all()


def test_the_ends_of_bins_are_looked_up_in_the_rows():
    rng = np.random.default_rng(5)
    n = 6000
    raw = Raw({"x": rng.normal(size=n)}, (rng.random(n) < 0.5).astype(float), np.ones(n))
    raw.columns["x"][:9] = np.nan
    table, vocabulary, columns = coded(raw, paper=True, order=1)
    (column,) = (c for c in columns.columns if isinstance(c.column, Value))
    n_bins = int(columns.coded.n_bins[0])
    x = table.inputs["x"]
    values = np.unique([*x[~np.isnan(x)], vocabulary.centre[0]])
    for last in (0, int(np.searchsorted(values, column.fill)) - 1, len(values) - 2):
        builder = TreeBuilder()
        split = Split(0, ORDERED, n_bins, False, 1.0, bin=last, next_bin=last + 1)
        builder.split(0, split)
        threshold = columns.read(builder.finish())[0].root.split.threshold
        assert threshold == values[last] / 2 + values[last + 1] / 2


def test_a_heavy_value_leaves_fewer_bins_but_stays_whole():
    x = np.concatenate([np.full(5000, 7.0), np.arange(400.0)])
    raw = Raw({"x": x}, (x > 100).astype(float), np.ones(len(x)))
    table, _, columns = coded(raw, paper=False)
    codes, n_bins = of_value(columns)
    assert 2 < n_bins < 255
    for value in np.unique(x):
        assert len(np.unique(codes[table.inputs["x"] == value])) == 1


@pytest.mark.parametrize("paper", [True, False])
def test_thresholds_lie_between_the_neighbours_of_the_node(paper):
    x = np.array([0.1183, 0.1249, 0.2, 0.3] * 5)
    raw = Raw({"x": x}, (x > 0.12).astype(float), np.ones(20))
    table, _, columns = coded(raw, paper, order=1)
    j = next(k for k, c in enumerate(columns.columns) if isinstance(c.column, Value))
    builder = TreeBuilder()
    builder.split(0, Split(j, ORDERED, 4, False, 1.0, bin=0, next_bin=1))
    tree, _ = columns.read(builder.finish())
    assert tree.root.split.threshold == (0.1183 / 2 + 0.1249 / 2 if paper else 0.12)
    builder = TreeBuilder()
    builder.split(0, Split(j, ORDERED, 4, False, 1.0, bin=0, next_bin=3))
    tree, _ = columns.read(builder.finish())
    middle = 0.1183 / 2 + 0.3 / 2
    assert tree.root.split.threshold == (middle if paper else shortest_between(0.1183, 0.3))
    assert table.n_rows == 4


def test_missing_goes_with_its_filled_value_in_the_paper_configuration():
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan] * 6)
    raw = Raw({"x": x}, (x > 2).astype(float), np.ones(30))
    table, vocabulary, columns = coded(raw, paper=True, order=1)
    assert vocabulary.centre[0] == 2.5
    for last, goes_left in ((0, False), (1, False), (2, True)):
        builder = TreeBuilder()
        # bins: 1, 2, the filled 2.5, 3, 4
        builder.split(0, Split(0, ORDERED, 5, False, 1.0, bin=last, next_bin=last + 1))
        tree = builder.finish()
        readable, _ = columns.read(tree)
        assert readable.root.split.missing_holds == goes_left
        assert_round_trip(table, columns, tree)


def test_a_whole_category_is_one_column_that_uses_up_its_levels_and_flag():
    raw = random_raw(11, ["category", "number"], 80)
    raw.columns["z0"][:6] = None
    table, vocabulary, ours = coded(raw, paper=False)
    (category,) = (c for c in ours.columns if c.levels)
    used = {vocabulary.columns[m] for m in category.members}
    assert used == {Missing("z0"), *(Level("z0", (v,)) for v in table.schema["z0"].levels)}
    assert ours.coded.is_category.sum() == 1
    paper = coded(raw, paper=True)[2]
    assert not paper.coded.is_category.any()


def test_roots_come_last_and_use_up_nothing():
    raw = random_raw(2, ["number"] * 4, 60)
    _, _, columns = coded(raw, paper=False, roots=3)
    assert columns.coded.root_only.tolist() == [False] * (len(columns.columns) - 3) + [True] * 3
    assert all(c.members == () for c in columns.columns[-3:])


@examples(40)
@given(raws(kinds=KINDS, least=4), st.booleans())
def test_ranks_of_a_table_code_any_of_its_rows(raw, some):
    table = raw.table()
    rows = np.arange(table.n_rows)[:: 2 if some else 1]
    part = table.take(rows) if some else table
    vocabulary = build_vocabulary(part, VocabularySettings("hug", 2, 8, 0.001, False))
    ranks = Ranks(table)
    assert (ranks.rows_of(part) == rows).all()
    found = code_columns(part, vocabulary, False, ranks=ranks).coded
    alone = code_columns(part, vocabulary, False).coded
    assert (found.codes == alone.codes).all()
    assert (found.n_bins == alone.n_bins).all()


def test_ranks_put_many_values_into_the_same_bins():
    rng = np.random.default_rng(2)
    x = np.where(rng.random(4000) < 0.1, np.nan, rng.normal(size=4000).round(3))
    raw = Raw({"x": x}, (rng.random(4000) < 0.5).astype(float), rng.integers(1, 4, 4000) * 1.0)
    table, vocabulary, _ = coded(raw, paper=False, order=1)
    part = table.take(np.flatnonzero(rng.random(table.n_rows) < 0.8))
    found = code_columns(part, vocabulary, False, ranks=Ranks(table)).coded
    alone = code_columns(part, vocabulary, False).coded
    assert found.n_bins.max() == MAX_BINS
    assert (found.codes == alone.codes).all()

"""Stage 3 over blocks of rows, against the same problem in memory."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from designs import random_design, tree_design

from raw_tables import random_raw, same_bits
from row_engines import uneven
from rpte.columns.kinds import Hinge, Interval, Level, Missing, Pair, Pattern, Scale, Value
from rpte.estimation.block_design import BlockDesign, _Evaluation
from rpte.estimation.block_terms import BlockTerms
from rpte.estimation.canonical import canonical
from rpte.estimation.design import Design
from rpte.estimation.monotone import solve_in_order
from rpte.estimation.partial_likelihood import PartialLikelihood
from rpte.estimation.solver import lambda_max, solve
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import add_leaf_rows, add_sums_and_peaks, fill_terms
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.rows import scale
from rpte.rows import training_rows as rows_module
from rpte.rows.threads import worker_threads
from rpte.rows.training_rows import MemoryRows
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.inputs import Picked
from rpte.vocabulary.shape_cache import standardise

COLUMNS = (
    Value("z0"),
    Hinge("z0", 0.3, "above"),
    Hinge("v4", 0.2, "below"),
    Level("y1", ("a", "{d}")),
    Missing("z0"),
    Interval("x2", -1.0, 1.5),
    Scale("u5", "log", (0.5,)),
    Scale("x2", "distance", (0.4,)),
    Scale("x2", "distance", (0.4, -0.5, 1.0)),
    Scale("u5", "log", (0.5, 1.5)),
    Hinge("z0", 0.3, "above", 0.9),
    Pair("product", Hinge("z0", 0.3, "below", -0.6), Hinge("x2", 0.1, "above", 0.8)),
    Pattern(Level("y1", ("a",)), Interval("x2", 0.0, 9.0)),
    Pair("product", Value("z0"), Hinge("x2", 0.0, "above")),
    Pair("product", Level("y1", ("b, c",)), Value("v4")),
    Pair("sum", Value("z0"), Value("v4")),
    Pair("difference", Scale("u5", "log", (0.5,)), Value("v4")),
    Pair("absolute difference", Value("v4"), Value("x2")),
    Pair("product", Value("w3"), Value("t6")),
)
KINDS = ["number", "category", "few", "huge", "number", "skewed", "huge"]


TREES = (
    Tree(Branch(Split(Value("z0"), 0.1, True), Branch(Split(Level("y1", ("a",))), 0, 1), 2)),
    Tree(Branch(Split(Value("v4"), 0.5, False), 0, Branch(Split(Missing("x2")), 1, 2))),
)


@pytest.fixture(scope="module", params=[120, 5000])
def case(request):
    table = random_raw(21, KINDS, request.param).table()
    rng = np.random.default_rng(1)
    binary = [column.binary for column in COLUMNS]
    centre = np.where(binary, 0.0, rng.normal(size=len(COLUMNS)))
    scale = np.where(binary, 1.0, rng.uniform(0.5, 2.0, len(COLUMNS)))
    z = [
        standardise(column.evaluate(table.inputs), float(m), float(s))
        for column, m, s in zip(COLUMNS, centre, scale, strict=True)
    ]
    return table, BlockTerms.of(TREES, COLUMNS, centre, scale), np.array(z).T


def values_of(terms, block):
    """Return the direct terms of a block, (rows, d)."""
    return np.concatenate([tile.T.copy() for _, _, tile in terms.tiles(block)])


def designs(case, rows=None):
    """Return the same problem with terms that are held, and over blocks."""
    table, terms, dense = case
    columns = np.arange(len(COLUMNS) - 1)  # but the product of huge numbers
    some = ("operation", "kind", "place", "knot", "centre", "scale")
    few = replace(terms, **{name: getattr(terms, name)[columns] for name in some})
    codes = np.array([tree.apply(table.inputs) for tree in TREES])
    penalty = np.ones(6 + len(columns))
    held = Design(
        codes, (3, 3), np.asfortranarray(dense[:, columns]), table.y, table.weight, penalty
    )
    return held, BlockDesign(rows or MemoryRows(table), few, (3, 3), penalty)


def same(a, b):
    """Check that numbers are equal but for rounding, where one divides and the other multiplies."""
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())


def test_terms_are_what_their_columns_say(case):
    table, terms, dense = case
    np.testing.assert_allclose(values_of(terms, table), dense, rtol=4e-16, atol=0.0)
    codes = [tree.apply(table.inputs) for tree in TREES]
    np.testing.assert_array_equal(terms.codes(table), codes)


def test_a_distance_is_made_of_its_number(case):
    table = case[0]
    distance = Scale("z0", "distance", (0.25,))
    x = distance.evaluate(table.inputs)
    made = BlockTerms.of((), (distance,), np.zeros(1), np.ones(1))
    assert made.numbers == (Value("z0"),)
    assert same_bits(values_of(made, table)[:, 0], np.where(np.isnan(x), 0.0, x))


@pytest.mark.parametrize("room", [0, 2**30])
def test_what_is_made_of_a_block_is_kept_where_there_is_room(case, monkeypatch, room):
    table, terms, _ = case
    monkeypatch.setattr(rows_module, "KEPT_BYTES", room)
    monkeypatch.setattr(rows_module, "KEPT_PER_CELL", 2)
    few = len(table.schema) * table.n_rows * 2
    lazy = MemoryRows(replace(table, inputs=table.inputs.pick(np.arange(table.n_rows))))
    first = np.concatenate(list(lazy.map(lambda block: values_of(terms, block))))
    taken, honest = [], Picked.__getitem__
    monkeypatch.setattr(Picked, "__getitem__", lambda s, i: taken.append(i) or honest(s, i))
    again = np.concatenate(list(lazy.map(lambda block: values_of(terms, block))))
    assert same_bits(first, again)
    assert same_bits(first, values_of(terms, table))
    assert bool(taken) == (room == 0)
    kept = sum(a.nbytes for block in lazy._blocks for a in block.made.values())
    assert 0 < kept <= max(few, room)


class TestKernels:
    """The kernels compute what their source says."""

    @pytest.fixture(params=[30, 1100])
    def rows(self, case, request):
        terms, rng = case[1], np.random.default_rng(2)
        numbers = rng.normal(size=(len(terms.numbers), request.param))
        numbers[rng.random(numbers.shape) < 0.2] = np.nan
        bits = rng.integers(0, 2, (len(terms.bits), request.param)).astype(np.uint8)
        gaps = np.ones(len(COLUMNS), np.bool_)
        return numbers, bits, (*terms.cells(case[0])[2][:-1], gaps)

    def test_terms(self, rows):
        out = np.empty((2, len(COLUMNS), 20))
        fill_terms(*rows, 7, out[0])
        getattr(fill_terms, "__wrapped__", fill_terms)(*rows, 7, out[1])
        assert same_bits(out[0], out[1])

    def test_sums_and_peaks(self, rows):
        n, z = rows[0].shape[1], np.empty((len(COLUMNS), rows[0].shape[1]))
        fill_terms(*rows, 0, z)
        values, sums, peaks = np.arange(n) - 9.0, np.zeros(len(z)), np.full(len(z), 0.5)
        add_sums_and_peaks(*rows, values, sums, peaks)
        same(sums, z @ values)
        np.testing.assert_array_equal(peaks, np.maximum(np.abs(z).max(axis=1), 0.5))


def test_leaves_against_columns():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (2, 40)).astype(np.int32)
    root, tile = rng.random(30), rng.normal(size=(4, 30))
    starts, trees, out = np.array([0, 3]), np.array([0, 1]), np.zeros((6, 4))
    add_leaf_rows(codes, starts, trees, root, tile, 7, out)
    hot = np.concatenate([np.eye(3)[c[7:37]] for c in codes], axis=1)
    np.testing.assert_allclose(out, hot.T @ (tile * root).T)


@pytest.mark.parametrize("kind", [MemoryRows, uneven])
def test_points_of_both_designs(case, kind):
    held, blocks = designs(case, kind(case[0]))
    rng = np.random.default_rng(3)
    theta, change = 0.3 * rng.normal(size=(2, held.n_terms))
    a, b = blocks.at(0.3, theta), held.at(0.3, theta)
    assert a.loss == pytest.approx(b.loss, rel=1e-13)
    for size in (1.0, 0.25):
        a, b = (d.line(d.at(0.3, theta), 0.2, change)(size) for d in (blocks, held))
        assert a.loss == pytest.approx(b.loss, rel=1e-13)
        assert a.intercept == b.intercept
        assert same_bits(a.theta, b.theta)
        slopes = blocks.slopes(a), held.slopes(b)
        assert slopes[0][0] == pytest.approx(slopes[1][0], abs=1e-14)
        same(slopes[0][1], slopes[1][1])
    assert blocks.null_score == pytest.approx(held.null_score, rel=1e-14)
    assert blocks.null_model().loss == pytest.approx(held.null_model().loss, rel=1e-13)
    same(blocks.null_model().gradient, held.null_model().gradient)
    same(blocks.null_model().peaks, held.null_model().peaks)


@pytest.mark.parametrize("kind", [MemoryRows, uneven])
def test_gram_matrices_of_both_designs(case, kind):
    held, blocks = designs(case, kind(case[0]))
    rng = np.random.default_rng(3)
    theta = 0.3 * rng.normal(size=held.n_terms)
    for share in (0.5, 2.0):
        few = held.select(rng.random(held.n_terms) < share)
        with one_blas_thread():
            grams = [
                [d.data_gram(few), d.gram(few, d.at(0.3, theta), 1.0, 1e-10, True)[0]]
                for d in (blocks, held)
            ]
            rough = blocks.gram(few, blocks.at(0.3, theta), 1.0, 1e-10, False)[0]
        for a, b in zip(*grams, strict=True):
            same(a.centred, b.centred)
            same(a.cross, b.cross)
        size = np.sqrt(np.diag(a.centred))
        assert (np.abs(rough.centred - a.centred) <= 1e-5 * np.outer(size, size)).all()


@pytest.mark.parametrize("columns", [[3, 4], [0, 3], [3, 5, 8]])
def test_levels_that_sum_to_one(case, columns):
    held, blocks = designs(case)
    columns = np.array(columns)
    assert blocks.sum_to_one(columns) == held.sum_to_one(columns)


def test_a_variable_and_its_missing_flag_sum_to_one(case):
    table = case[0]
    columns = [Level("y1", (level,)) for level in table.schema["y1"].levels] + [Missing("y1")]
    d = len(columns)
    terms = BlockTerms.of((), columns, np.zeros(d), np.ones(d))
    design = BlockDesign(uneven(table), terms, (), np.ones(d))
    assert design.sum_to_one(np.arange(d))
    assert not design.sum_to_one(np.arange(d - 2))


def test_both_designs_have_the_same_solution(case):
    held, blocks = designs(case)
    l1 = 0.02 * lambda_max(held)
    assert lambda_max(blocks) == pytest.approx(lambda_max(held), rel=1e-12)
    a, b = solve(blocks, l1, 0.9), solve(held, l1, 0.9)
    assert a.converged
    np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=1e-5, atol=1e-7)


def test_tied_leaves_of_both_designs(case):
    order = [[(1, 0), (0, 1), (2, 1)], [(0, 1), (1, 0)]]
    held, blocks = designs(case)
    l1 = 0.002 * lambda_max(held)
    (a, ties), (b, expected) = (solve_in_order(d, order, l1, 0.9) for d in (blocks, held))
    assert [g.tolist() for g in ties.group] == [g.tolist() for g in expected.group]
    assert len(set(ties.group[1].tolist())) == 2
    np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_blocks_in_any_order_have_the_same_solution(case, seed):
    """For any number of threads; and what is sent to a block has no rows in it."""
    table = case[0]
    rows = uneven(table, seed)
    sample = MemoryRows(table.sample(table.n_rows // 3))
    first, other = (replace(designs(case, r)[1], sample=sample) for r in (MemoryRows(table), rows))
    l1 = 0.01 * lambda_max(first)
    fits = []
    for n_jobs in (1, 3):
        with worker_threads(n_jobs):
            fits.append(solve(first, l1))
    assert same_bits(fits[0].coefficients, fits[1].coefficients)
    found = solve(other, l1)
    assert found.converged
    np.testing.assert_allclose(found.coefficients, fits[0].coefficients, atol=1e-6)
    assert max(map(len, rows.sent)) < 20_000


def test_a_sample_makes_the_first_gram_matrices(case, monkeypatch):
    """Then some rows of every block do, then all rows."""
    table = case[0]
    for name in ("SAMPLED_ROWS_PER_TERM", "ROWS_PER_TERM", "GRAM_ROWS"):
        monkeypatch.setattr(scale, name, 0.5)
    rows = uneven(table)
    whole = designs(case, rows)[1]
    design = replace(whole, sample=MemoryRows(table.sample(table.n_rows // 3)))
    every = design.select(np.ones(design.n_terms, bool))
    point = design.at(0.1, np.zeros(design.n_terms))
    passes = len(rows.sent)
    with one_blas_thread():
        gram, fresh = design.gram(every, point, 1 / 64, 1e-10, True)
        assert (fresh, len(rows.sent)) == (False, passes)
        expected = design.part().gram(every, point, 1.0, 1e-10, True)[0]
        assert same_bits(gram.centred, expected.centred)
        some, fresh = design.gram(every, point, 1 / 8, 1e-10, True)
        assert (fresh, len(rows.sent)) == (False, passes + 1)
        gram, fresh = design.gram(every, point, 1.0, 1e-10, True)
    assert (fresh, len(rows.sent)) == (True, passes + 2)
    assert some.total == pytest.approx(gram.total, rel=1e-12)  # at a constant score
    if table.n_rows > 1000:
        np.testing.assert_allclose(some.cross[:3], gram.cross[:3], rtol=0.3)
    assert not np.array_equal(some.cross[:3], gram.cross[:3])
    l1 = 0.01 * lambda_max(whole)
    found, expected = (solve(problem, l1, 0.9).coefficients for problem in (design, whole))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_start_is_not_solved_on_the_sample_again(case):
    table = case[0]
    sample = uneven(table.sample(table.n_rows // 3))
    design = replace(designs(case)[1], sample=sample)
    l1 = 0.01 * lambda_max(design)
    cold = solve(design, l1)
    evaluations = [pickle.loads(sent) for sent in sample.sent]
    assert any(isinstance(each, _Evaluation) for each in evaluations)
    sample.sent.clear()
    warm = solve(design, l1, start=np.array([cold.intercept, *cold.coefficients]))
    assert sample.sent == []
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-6)


def test_a_step_corrects_the_gram_matrix(case):
    """After the correction the matrix says of the step what the gradients said."""
    design = designs(case)[0]
    rng = np.random.default_rng(5)
    mask = np.arange(design.n_terms) % 2 == 0
    with one_blas_thread():
        whole = design.weighted_gram(design.select(mask), design.row_weight[:100])
    mask[whole.selection.terms[np.diag(whole.centred) == 0.0]] = False  # constant there
    few = design.select(mask)
    with one_blas_thread():
        gram = design.weighted_gram(few, design.row_weight[:100])
    move, shift = rng.normal(size=few.terms.size), 0.3
    bend, at_intercept = 2.0 * move + 0.1, 0.5
    found = gram.corrected(move, shift, bend, at_intercept)
    whole = found.centred + np.outer(found.cross, found.cross) / found.total
    same(whole @ move + found.cross * shift, bend)
    assert found.cross @ move + found.total * shift == pytest.approx(at_intercept)
    assert np.linalg.eigvalsh(found.centred).min() > -1e-9
    assert gram.corrected(move, shift, -bend, at_intercept) is gram


class TestManyRows:
    """The first rows are solved first, and their Gram matrix serves for all."""

    @pytest.fixture
    def watched(self, monkeypatch):
        rows, honest = [], Design.weighted_gram

        def gram(design, selection, h):
            rows.append((len(design.y), len(h)))
            return honest(design, selection, h)

        monkeypatch.setattr(Design, "weighted_gram", gram)
        for name in ("GRAM_ROWS", "FIRST_ROWS", "ROWS_PER_TERM"):
            monkeypatch.setattr(scale, name, 20)
        return rows

    @pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_solution_is_that_of_all_rows(self, watched, seed, l1_ratio, monkeypatch):
        design = random_design(seed, n=6000, trees=1, d=6)
        l1 = 0.01 * lambda_max(design)
        quick = solve(design, l1, l1_ratio)
        assert {n for n, _ in watched} == {750, 6000}
        assert (6000, 750) in watched
        assert quick.converged
        assert quick.kkt <= 1e-9 * lambda_max(design, l1_ratio)
        np.testing.assert_allclose(
            quick.gradient, design.gradient(quick.intercept, quick.coefficients)[1], atol=1e-14
        )
        monkeypatch.setattr(scale, "GRAM_ROWS", 6000)
        monkeypatch.setattr(scale, "FIRST_ROWS", 6000)
        plain = solve(design, l1, l1_ratio)
        assert quick.objective == pytest.approx(plain.objective, abs=1e-14)

    def test_first_rows_that_tell_nothing_are_given_up(self, watched):
        """Rows in an order that is not random: the Gram matrix of all rows takes over."""
        design = random_design(1, n=4000, trees=0, d=4)
        order = np.argsort(design.direct[:, 0])
        design = replace(
            design,
            leaf_codes=design.leaf_codes[:, order],
            direct=np.asfortranarray(design.direct[order]),
            y=design.y[order],
            weight=design.weight[order],
        )
        assert solve(design, 0.01 * lambda_max(design)).converged
        assert (4000, 4000) in watched

    def test_a_first_part_of_one_class_is_not_solved(self, watched):
        design = random_design(2, n=4000, trees=0, d=4)
        order = np.argsort(design.y, kind="stable")
        sorted_design = replace(
            design, direct=np.asfortranarray(design.direct[order]), y=design.y[order]
        )
        assert solve(sorted_design, 0.01 * lambda_max(sorted_design)).converged
        assert {n for n, _ in watched} == {4000}


@pytest.mark.parametrize("seed", range(6))
def test_what_is_not_unique_on_many_rows_is_made_canonical_too(seed, monkeypatch):
    design, conditions, groups = tree_design(seed)
    fit = solve(design, 0.1 * lambda_max(design))
    expected = canonical(design, fit, conditions, groups)
    monkeypatch.setattr(scale, "LONG_ABOVE", 60)
    found = canonical(design, fit, conditions, groups)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-6)


@pytest.mark.parametrize("entry", [False, True])
def test_hazards_over_blocks_are_those_of_terms_that_are_held(case, entry):
    rng, n = np.random.default_rng(5), case[0].n_rows
    time = rng.integers(1, 40, n).astype(float)
    since = np.where(rng.random(n) < 0.3, np.floor(time / 2), 0.0) if entry else None
    rows = FollowUp(time, rng.random(n) < 0.6, since)
    risk = RiskSets.of(rows, case[0].weight, "efron")
    held, blocks = (PartialLikelihood(each, risk) for each in designs(case))
    theta = 0.1 * rng.normal(size=held.n_terms)
    ends = [problem.at(0.0, theta) for problem in (held, blocks)]
    assert ends[0].loss == pytest.approx(ends[1].loss, rel=1e-12)
    same(held.slopes(ends[0])[1], blocks.slopes(ends[1])[1])
    some = held.select(rng.random(held.n_terms) < 0.7)
    with one_blas_thread():
        first = held.gram(some, ends[0], 1.0, 1e-10, True)[0].centred
        second = blocks.gram(some, ends[1], 1.0, 1e-10, True)[0].centred
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9 * np.abs(first).max())
    l1 = 0.1 * lambda_max(held)
    fits = [solve(problem, l1) for problem in (held, blocks)]
    assert all(fit.converged for fit in fits)
    assert fits[0].objective == pytest.approx(fits[1].objective, rel=1e-10)

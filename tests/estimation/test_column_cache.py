"""Terms that are evaluated block by block, against terms that are held."""

from dataclasses import replace

import numpy as np
import pytest
from designs import random_design, tree_design

import rpte.estimation.column_cache as module
import rpte.estimation.newton as newton_module
from raw_tables import random_raw, same_bits
from rpte.columns.kinds import Hinge, Interval, Level, Missing, Pair, Pattern, Scale, Value
from rpte.estimation.canonical import canonical
from rpte.estimation.column_cache import ColumnCache, EvaluatedTerms, IndexedCells
from rpte.estimation.design import Design
from rpte.estimation.gram import weighted_gram
from rpte.estimation.solver import lambda_max, solve
from rpte.kernels.blas import one_blas_thread
from rpte.kernels.design_products import add_sums_and_peaks, fill_terms, gather
from rpte.rows import scale
from rpte.table.inputs import Inputs, Picked
from rpte.table.schema import Schema, Variable
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
    Pattern(Level("y1", ("a",)), Interval("x2", 0.0, 9.0)),
    Pair("product", Value("z0"), Hinge("x2", 0.0, "above")),
    Pair("product", Level("y1", ("b, c",)), Value("v4")),
    Pair("sum", Value("z0"), Value("v4")),
    Pair("difference", Scale("u5", "log", (0.5,)), Value("v4")),
    Pair("absolute difference", Value("v4"), Value("x2")),
    Pair("product", Value("w3"), Value("t6")),
)
KINDS = ["number", "category", "few", "huge", "number", "skewed", "huge"]


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
    return (
        table,
        EvaluatedTerms.of(ColumnCache(table.inputs), COLUMNS, centre, scale),
        np.array(z).T,
    )


def designs(case):
    """Return the same problem with terms that are held, and with terms that are evaluated."""
    table, evaluated, dense = case
    codes = np.random.default_rng(0).integers(0, 3, (2, table.n_rows)).astype(np.int32)
    columns = np.arange(len(COLUMNS) - 1)  # but the product of huge numbers
    few = replace(
        evaluated,
        shape=(table.n_rows, len(columns)),
        **{
            name: getattr(evaluated, name)[columns]
            for name in ("operation", "kind", "place", "knot", "centre", "scale")
        },
    )
    held = np.asfortranarray(dense[:, columns])
    given = table.y, table.weight, np.ones(6 + len(columns))
    return Design(codes, (3, 3), held, *given), Design(codes, (3, 3), few, *given)


def same(a, b):
    """Check that numbers are equal but for rounding, where one divides and the other multiplies."""
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())


def test_terms_are_what_their_columns_say(case):
    table, evaluated, dense = case
    np.testing.assert_allclose(evaluated[np.arange(table.n_rows)], dense, rtol=4e-16, atol=0.0)
    assert same_bits(evaluated.first_rows(70)[np.arange(70)], evaluated[np.arange(70)])


def test_cells_without_room_are_taken_each_time(case, monkeypatch):
    table, evaluated, _ = case
    monkeypatch.setattr(module, "HELD_CELLS", -1)
    lean = replace(evaluated, cache=ColumnCache(table.inputs.pick(np.arange(table.n_rows))))
    assert isinstance(lean.cache.number(Value("z0")), IndexedCells)
    assert same_bits(lean[np.arange(table.n_rows)], evaluated[np.arange(table.n_rows)])


def test_a_distance_is_made_of_its_number(case):
    table = case[0]
    distance = Scale("z0", "distance", (0.25,))
    x = distance.evaluate(table.inputs)
    made = EvaluatedTerms.of(ColumnCache(table.inputs), (distance,), np.zeros(1), np.ones(1))
    assert made.numbers == (Value("z0"),)
    found = made[np.arange(table.n_rows)][:, 0]
    assert same_bits(found, np.where(np.isnan(x), 0.0, x))


def test_a_column_is_evaluated_once_for_all_terms(case):
    cache = ColumnCache(case[0].inputs)
    log, level = Scale("u5", "log", (0.5,)), Level("y1", ("a",))
    assert cache.number(log) is cache.number(log)
    assert cache.bits(level) is cache.bits(level)
    assert cache.bits(level).dtype == np.uint8


def test_few_numbers_stand_for_many_cells(monkeypatch):
    x = np.random.default_rng(0).integers(0, 9, 3000) / 7.0
    x[5] = np.nan
    y = np.arange(3000.0)
    schema = Schema((Variable("a", "number"), Variable("b", "number")), True)
    cache = ColumnCache(Inputs(schema, (x, y)).pick(np.arange(3000)[::-1]))
    monkeypatch.setattr(module, "HELD_CELLS", 1000)
    a, b = cache.number(Value("a")), cache.number(Value("b"))
    assert a.rows.dtype == np.uint8
    assert len(a.cells) == 10
    np.testing.assert_array_equal(a.cells[a.rows], x[::-1])
    np.testing.assert_array_equal(b, y[::-1])  # there was room for one
    assert cache.has_gaps(Value("a"))
    assert not cache.has_gaps(Value("b"))
    np.testing.assert_array_equal(cache.in_order(["a"])["a"], x[::-1])


def test_levels_are_taken_once_for_all_columns(case, monkeypatch):
    table = case[0]
    cache, taken = ColumnCache(table.inputs.pick(np.arange(table.n_rows))), []
    honest = Picked.__getitem__
    monkeypatch.setattr(Picked, "__getitem__", lambda s, i: taken.append(i) or honest(s, i))
    for column in (Level("y1", ("a",)), Level("y1", ("b, c",)), COLUMNS[8]):
        expected = column.evaluate(table.inputs)
        np.testing.assert_array_equal(cache.bits(column), expected)
    assert len(taken) == 2  # the levels, and the number of the pattern


class TestKernels:
    """The kernels compute what their source says."""

    @pytest.fixture(params=[30, 1100])
    def rows(self, case, request):
        evaluated, rng = case[1], np.random.default_rng(2)
        numbers = rng.normal(size=(len(evaluated.numbers), request.param))
        numbers[rng.random(numbers.shape) < 0.2] = np.nan
        bits = rng.integers(0, 2, (len(evaluated.bits), request.param)).astype(np.uint8)
        gaps = np.ones(len(COLUMNS), np.bool_)
        return numbers, bits, (*evaluated.open().program[:-1], gaps)

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

    def test_a_gather(self):
        column, rows = np.arange(40.0)[::2], np.array([3, 1, 19, 0, 7])
        out = np.empty(3)
        gather(column, rows, 1, out)
        assert out.tolist() == [2.0, 38.0, 0.0]


def test_products_with_both_designs(case):
    held, evaluated = designs(case)
    rng = np.random.default_rng(3)
    theta, values = rng.normal(size=held.n_terms), rng.normal(size=len(held.y))
    same(evaluated.score(0.3, theta), held.score(0.3, theta))
    same(evaluated.transposed(values), held.transposed(values))
    few = held.select(rng.random(held.n_terms) < 0.5)
    for rows in (len(values), 100):
        a, b = (d.transposed(values[:rows], few)[few.terms] for d in (evaluated, held))
        same(a, b)
        with one_blas_thread():
            a, b = (weighted_gram(d, few, np.abs(values[:rows])) for d in (evaluated, held))
            rough = weighted_gram(evaluated, few, np.abs(values[:rows]), exact=False)
        same(a.centred, b.centred)
        same(a.cross, held.transposed(np.abs(values[:rows]), few)[few.terms])
        largest = np.sqrt(np.outer(np.diag(a.centred), np.diag(a.centred)))
        assert (np.abs(rough.centred - a.centred) <= 1e-6 * largest).all()
    for a, b in zip(evaluated.sums_and_peaks(values), held.sums_and_peaks(values), strict=True):
        same(a, b)


@pytest.mark.parametrize("columns", [[3, 4], [0, 3], [3, 5, 8]])
def test_levels_that_sum_to_one(case, columns):
    held, evaluated = designs(case)
    columns = np.array(columns)
    assert evaluated.sum_to_one(columns) == held.sum_to_one(columns)


def test_a_variable_and_its_missing_flag_sum_to_one(case):
    table = case[0]
    levels = table.schema["y1"].levels
    columns = [Level("y1", (level,)) for level in levels] + [Missing("y1")]
    terms = EvaluatedTerms.of(
        ColumnCache(table.inputs), columns, np.zeros(len(columns)), np.ones(len(columns))
    )
    assert terms.sum_to_one(np.arange(len(columns)))
    assert not terms.sum_to_one(np.arange(len(columns) - 2))


def test_a_step_of_both_designs(case):
    held, evaluated = designs(case)
    rng = np.random.default_rng(4)
    score, change = rng.normal(size=len(held.y)), 0.1 * rng.normal(size=held.n_terms)
    before = score.copy()
    a, b = evaluated.step(score, 0.2, change), held.step(score, 0.2, change)
    assert same_bits(score, before)
    for name in ("along", "score", "residual", "curvature"):
        same(getattr(a, name), getattr(b, name))
    assert a.loss == pytest.approx(b.loss, rel=1e-13)
    assert b.slopes is None
    same(a.slopes[1], held.transposed(b.residual))


def test_both_designs_have_the_same_solution(case):
    held, evaluated = designs(case)
    l1 = 0.02 * lambda_max(held)
    assert lambda_max(evaluated) == pytest.approx(lambda_max(held), rel=1e-12)
    a, b = solve(evaluated, l1, 0.9), solve(held, l1, 0.9)
    assert a.converged
    np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=1e-5, atol=1e-7)


def test_a_step_corrects_the_gram_matrix(case):
    """After the correction the matrix says of the step what the gradients said."""
    design = designs(case)[1]
    rng = np.random.default_rng(5)
    mask = np.arange(design.n_terms) % 2 == 0
    mask[6 + COLUMNS.index(Missing("z0"))] = False  # it may be constant
    few = design.select(mask)
    with one_blas_thread():
        gram = weighted_gram(design, few, design.row_weight[:100])
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
        rows, honest = [], newton_module.weighted_gram

        def gram(design, selection, h, exact):
            rows.append((len(design.y), len(h)))
            return honest(design, selection, h, exact)

        monkeypatch.setattr(newton_module, "weighted_gram", gram)
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
    monkeypatch.setitem(canonical.__globals__, "SAMPLED_ABOVE", 60)
    found = canonical(design, fit, conditions, groups)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-6)

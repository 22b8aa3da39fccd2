"""Products of two variables for what the single variables leave unexplained."""

from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

import rpte.vocabulary.products as module
from effort import examples
from raw_tables import Raw, raws
from rpte.columns.kinds import (
    Hinge,
    Interval,
    Level,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
    one_source,
)
from rpte.columns.limits import FREE, Limits, permissions
from rpte.kernels.screening import LEAST_CURVATURE, own_sums
from rpte.losses import OF_NUMBERS, SQUARED
from rpte.table.decimals import shortest_between
from rpte.vocabulary.products import (
    _at_most,
    _candidates,
    _Known,
    _products,
    _Slopes,
    find_products,
)
from rpte.vocabulary.vocabulary import PAIR
from vocabularies import shapes_vocabulary


def vocabulary_of(table, limits=FREE):
    return shapes_vocabulary(table, 400, limits=limits)


def main_effects(table, vocabulary):
    """Return the score of a penalised fit of all one-source columns, and their use."""
    z = vocabulary.z[:].T
    fit = LogisticRegression(C=1.0, max_iter=200).fit(z, table.y, table.weight)
    return fit.decision_function(z), np.abs(fit.coef_[0]) * z.std(axis=0)


def found_in(table, most=10, limits=FREE):
    vocabulary = vocabulary_of(table, limits)
    score, use = main_effects(table, vocabulary)
    return find_products(table, vocabulary, use, score, most, limits)


@cache
def planted(kind, n=2000, seed=0):
    """Return a table whose label has main effects of a, b, g and one product."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=n).round(2) for name in "abcd"}
    columns["flag"] = rng.integers(0, 2, n).astype(float)
    columns["g"] = rng.choice(np.array(["u", "v", "w"], object), n)
    columns["h"] = rng.choice(np.array(["u", "v", "w"], object), n)
    a, b, u = columns["a"], columns["b"], (columns["g"] == "u") + 0.0
    product = {
        "hinges": np.maximum(a, 0) * np.maximum(b - 0.4, 0),
        "level": np.maximum(a, 0) * u,
        "levels": 1.0 * u * (columns["h"] == "w"),
        "steps": 1.0 * (a > 0.2) * (b > -0.1),
        "flag": columns["flag"] * np.maximum(-b, 0),
    }[kind]
    score = 0.5 * a - 0.4 * b + 0.5 * u + 1.5 * (product - product.mean()) / product.std()
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    return Raw(columns, y, np.ones(n)).table()


@pytest.mark.parametrize(
    ("kind", "sources"),
    [
        ("hinges", {"a", "b"}),
        ("level", {"a", "g"}),
        ("levels", {"g", "h"}),
        ("steps", {"a", "b"}),
        ("flag", {"b", "flag"}),
    ],
)
def test_a_planted_product_comes_first(kind, sources):
    found = found_in(planted(kind))
    assert len(found) == 10
    assert set(found[0].sources) == sources


def test_the_shape_of_the_planted_product_is_found():
    hinges = found_in(planted("hinges"))[0]
    assert isinstance(hinges, Pair)
    assert {hinges.left.source, hinges.right.source} == {"a", "b"}
    assert all(isinstance(p, (Hinge, Step)) for p in (hinges.left, hinges.right))
    levels = found_in(planted("levels"))[0]
    assert levels == Pattern(Level("g", ("u",)), Level("h", ("w",)))
    level = found_in(planted("level"))[0]
    assert Level("g", ("u",)) in (level.left, level.right)


ENDS = {"a": (-1.5, 1.5), "b": (-1.0, 2.0), "c": (-2.0, 2.0), "flag": (0.0, 1.0)}


@pytest.mark.parametrize("kind", ["hinges", "level"])
def test_with_ends_no_product_or_distance_changes_beyond_them(kind):
    table = planted(kind)
    vocabulary = vocabulary_of(table)
    score, use = main_effects(table, vocabulary)
    found = find_products(table, vocabulary, use, score, 60, FREE, ENDS)
    assert {column.kind for column in found} == {"pair", "pattern"}
    for part in (part for column in found for part in one_source(column)):
        if part.binary:
            assert part in vocabulary.columns or part == Step("flag", 0.5)
            continue
        assert part.source in ENDS  # d, which has none, is in no product
        assert part.limited
        assert set(part.limits) & set(ENDS[part.source])
    free = find_products(table, vocabulary, use, score, 1, FREE)[0]
    for column in (found[0], free):  # the planted product, with limits or without
        assert set(column.sources) == set("ab" if kind == "hinges" else "ag")


def test_with_ends_a_distance_is_of_numbers_kept_between_them():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 2)) * 10 + 50
    y = (np.abs(x[:, 0] - x[:, 1]) + rng.normal(size=600) > 12).astype(float)
    table = Raw({"a": x[:, 0], "b": x[:, 1]}, y, np.ones(600)).table()
    vocabulary = vocabulary_of(table)
    use, ends = np.zeros(len(vocabulary)), {"a": (30.0, 70.0), "b": (28.0, 72.0)}
    found = find_products(table, vocabulary, use, np.zeros(600), 10, FREE, ends)
    kept = [Scale(name, "clip", limits) for name, limits in ends.items()]
    assert found[0] == Pair("absolute difference", *kept)


def test_the_product_is_not_found_when_the_score_has_it():
    """What is looked for is what the score leaves, not what goes with the label."""
    table = planted("levels")
    vocabulary = vocabulary_of(table)
    both = Pattern(Level("g", ("u",)), Level("h", ("w",)))
    told = np.column_stack([vocabulary.z[:].T, both.evaluate(table.inputs)])
    score = LogisticRegression(C=1e4, max_iter=2000).fit(told, table.y).decision_function(told)
    found = find_products(table, vocabulary, np.ones(len(vocabulary)), score, 60, FREE)
    assert both not in found


def own_gradient(a, b, residual, curvature, t=None):
    """Return the gradient of a distance t beside its parts, or of their product if None."""
    slopes = _Slopes(residual, curvature, np.ones(len(a)))
    pair, first, second = np.array([a, b]), np.zeros(1, np.intp), np.ones(1, np.intp)
    if t is not None:
        (found,) = slopes.of_distances(pair, np.ones(1), first, second)
    else:
        own = np.empty((2, 3))
        own_sums(pair, curvature, residual, own)
        (found,) = slopes.of_products(pair, own, first, second)
        (bound,) = _at_most(pair, np.zeros(2, np.bool_), own, slopes, first, second)
        assert bound >= found - 1e-9
    return found * np.sqrt(len(a))


def projected(a, b, residual, curvature, t=None):
    """Regress a term on its parts by weighted least squares; return the rest's gradient.

    It is 0 where the rest is too small a fraction of the term.
    """
    beside, term = np.column_stack([a, b]), a * b if t is None else t
    line = LinearRegression().fit(beside, term, sample_weight=curvature)
    rest = term - line.predict(beside)
    size, whole = curvature @ rest**2, curvature @ term**2
    assume(whole == 0.0 or abs(size / whole / LEAST_CURVATURE - 1) > 1e-3)
    return abs(residual @ rest) / np.sqrt(size) if size > LEAST_CURVATURE * whole else 0.0


@examples(60)
@given(st.integers(0, 9_999), st.integers(8, 200), st.booleans(), st.booleans())
@example(1841, 8, False, False)  # the rest is 6e-7 of the product: its parts say it already
def test_the_own_gradient_is_that_of_least_squares(seed, n, step_a, step_b):
    rng = np.random.default_rng(seed)
    a = (rng.random(n) < 0.5) + 0.0 if step_a else np.maximum(rng.normal(size=n), 0)
    b = (rng.random(n) < 0.5) + 0.0 if step_b else np.maximum(rng.normal(size=n) + 0.3, 0)
    residual, curvature = rng.normal(size=n), rng.uniform(0.05, 1.0, n)
    expected = projected(a, b, residual, curvature)
    found = own_gradient(a, b, residual, curvature)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7)


@examples(40)
@given(st.integers(0, 9_999), st.integers(8, 5_000), st.integers(2, 12), st.booleans())
def test_single_precision_says_how_strong_a_product_can_be(seed, n, parts, nearly_alike):
    rng = np.random.default_rng(seed)
    z = np.maximum(rng.normal(size=(parts, n)) + 0.3, 0)
    if nearly_alike:
        z[1] = z[0] * (1 + 1e-3 * rng.random(n))
    binary = rng.random(parts) < 0.4
    z[binary] = z[binary] > 0.5
    weight, curvature = rng.uniform(1.0, 3.0, n), rng.uniform(0.05, 1.0, n)
    slopes = _Slopes(rng.normal(size=n), curvature, weight)
    i, k = np.triu_indices(parts, 1)
    own = np.empty((parts, 3))
    own_sums(z, curvature, slopes.residual, own)
    exact = slopes.of_products(z, own, i, k)
    bound = _at_most(z, binary, own, slopes, i, k)
    assert (bound >= exact - 1e-9).all()
    for a, b, most, got in zip(i, k, bound, exact, strict=True):
        beside = np.column_stack([np.ones(n), z[a], z[b], z[a] * z[b]])
        if n > 50 and np.linalg.cond(beside) < 30:
            assert most <= got + 1e-2  # and not much weaker


@examples(15)
@given(st.integers(0, 9_999), st.sampled_from([1, 3, 7, 128]))
def test_products_come_in_the_order_of_their_strength(seed, at_once):
    """However few are looked at in full at a time, and however little is known before."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=60).round(1) for name in "abc"}
    table = Raw(columns, (rng.random(60) < 0.4) + 0.0, np.ones(60)).table()
    vocabulary = vocabulary_of(table)
    weight = table.weight
    slopes = _Slopes(weight * (table.y - 0.4), weight * 0.24, weight)
    known = _Known.of(vocabulary, np.zeros(len(vocabulary)), module.MOST_PARTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", at_once)
        found = list(_products(table, known, slopes))
        patch.setattr(module, "ROUNDING", np.inf)  # nothing is known before
        assert [c.column for c in _products(table, known, slopes)] == [c.column for c in found]
    assert [c.strength for c in found] == sorted((c.strength for c in found), reverse=True)
    for candidate in found:
        values = np.empty(table.n_rows)
        candidate.fill(values)
        told = candidate.column.evaluate(table.inputs)
        np.testing.assert_allclose(values * told.max(), told * values.max(), atol=1e-9)


@examples(40)
@given(st.integers(0, 9_999), st.integers(8, 200), st.floats(-50, 50), st.floats(0.4, 2.5))
def test_the_gradient_of_a_distance_is_that_of_least_squares(seed, n, middle, spread):
    rng = np.random.default_rng(seed)
    a, b = middle + rng.normal(size=n), middle + spread * rng.normal(size=n)
    residual, curvature = rng.normal(size=n), rng.uniform(0.05, 1.0, n)
    distance = np.abs(a - b)
    beside = np.column_stack([np.ones(n), a - middle, b - middle, distance])
    assume(np.linalg.cond(beside) < 1e3)  # else one is the larger in nearly all rows
    expected = projected(a, b, residual, curvature, distance)
    got = own_gradient(a, b, residual, curvature, distance)
    assert got == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_a_product_that_its_parts_say_already_has_no_gradient():
    rng = np.random.default_rng(0)
    a = (rng.random(100) < 0.5) + 0.0
    residual, curvature = rng.normal(size=100), np.full(100, 0.25)
    for b in (a, 1.0 - a, np.where(a == 1, 2.0, 0.0), np.ones(100)):
        assert own_gradient(a, b, residual, curvature) == 0.0
        assert own_gradient(b, a, residual, curvature) == 0.0
    b = (rng.random(100) < 0.5) + 0.0
    before = own_gradient(a, b, residual, curvature)
    shifted = residual + curvature * (3 * a - 2 * b + 1)  # main effects do not count
    assert before > 0
    assert own_gradient(a, b, shifted, curvature) == pytest.approx(before)
    assert own_gradient(a, b, shifted + curvature * a * b, curvature) != pytest.approx(before)


@examples(15)
@given(raws(least=2, most=4, kinds=("number", "few", "skewed", "01", "category"), rows=(40, 80)))
def test_the_ranking_by_brute_force(raw):
    """All pairs of parts, where none is cut from the lists, in the order of their own gradient."""
    table = raw.table()
    vocabulary = vocabulary_of(table)
    p = np.average(table.y, weights=table.weight)
    residual, curvature = table.weight * (table.y - p), table.weight * p * (1 - p)
    filled = [
        np.where(np.isnan(x := column.evaluate(table.inputs)), centre, x)
        for column, centre in zip(vocabulary.columns, vocabulary.centre, strict=True)
    ]
    zero_one = [np.isin(x, (0.0, 1.0)).all() for x in filled]
    parts = {}
    for j, column in enumerate(vocabulary.columns):
        x = filled[j]
        is_number = isinstance(column, Value)
        if isinstance(column, (Hinge, Step, Level, Interval)) or (is_number and zero_one[j]):
            parts[column] = x / vocabulary.scale[j]
        elif is_number and len(np.unique(x)) == 2:
            upper = Step(column.source, shortest_between(x.min(), x.max()))
            parts[upper] = upper.evaluate(table.inputs)
    strength = {}
    for one, two in combinations(parts, 2):
        if one.source != two.source:
            gradient = own_gradient(parts[one], parts[two], residual, curvature)
            strength["product", frozenset({one, two})] = gradient
    numbers = [j for j, c in enumerate(vocabulary.columns) if isinstance(c, Value)]
    for j, k in combinations([j for j in numbers if not zero_one[j]], 2):
        ratio = vocabulary.scale[j] / vocabulary.scale[k]
        if 1 / 3 < ratio < 3:
            x = [filled[i] / vocabulary.scale[j] for i in (j, k)]
            key = "absolute difference", frozenset({vocabulary.columns[i] for i in (j, k)})
            strength[key] = own_gradient(*x, residual, curvature, np.abs(x[0] - x[1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT_LIST", 10**6)
        patch.setattr(module, "CANDIDATES", 10**6)
        slopes = _Slopes(residual, curvature, table.weight)
        found = _candidates(table, vocabulary, np.zeros(len(vocabulary)), slopes, FREE)
    assert len(parts) <= module.MOST_PARTS
    kinds = [getattr(c.column, "operation", "product") for c in found]
    pairs = [frozenset({c.column.left, c.column.right}) for c in found]
    got = [strength.pop(key) for key in zip(kinds, pairs, strict=True)]
    assert not strength
    assert all(a >= b * (1 - 1e-6) - 1e-7 for a, b in pairwise(got))


@examples(20)
@given(raws(least=2, most=5, rows=(30, 80)), st.integers(0, 12))
def test_pairs_are_of_two_variables_and_no_more_than_asked_for(raw, most):
    table = raw.table()
    vocabulary = vocabulary_of(table)
    score = np.zeros(table.n_rows)
    use = np.random.default_rng(0).random(len(vocabulary))
    found = find_products(table, vocabulary, use, score, most, FREE)
    assert len(found) <= most
    assert len(set(found)) == len(found)
    for column in found:
        assert len(set(column.sources)) == 2
        assert isinstance(column, (Pair, Pattern))
        values = column.evaluate(table.inputs)
        assert np.nanmin(values, initial=0.0) >= 0.0  # zero where a part says nothing
    assert find_products(table, vocabulary, use, score, most + 1, FREE)[: len(found)] == found
    more = vocabulary.with_pairs(table, found)
    assert (more.block == PAIR).sum() <= len(found)


@examples(10)
@given(
    raws(least=2, most=4, kinds=("number", "skewed", "category", "two"), rows=(40, 60)),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_and_repetition_do_not_matter(raw, random):
    rows = list(range(len(raw.y)))
    random.shuffle(rows)

    def products(same):
        table = same.table()
        vocabulary = vocabulary_of(table)
        start = np.zeros(table.n_rows)
        return find_products(table, vocabulary, np.zeros(len(vocabulary)), start, 8, FREE)

    found = products(raw)
    assert products(raw.take(np.array(rows))) == found
    assert products(raw.repeated()) == found


@pytest.mark.parametrize("loss", OF_NUMBERS, ids=lambda x: x.name)
def test_the_unit_of_weights_does_not_matter_to_tables_of_few_rows(loss):
    rng = np.random.default_rng(0)
    columns = {"age": np.arange(300) % 25 + 20.0, "bonus": np.arange(300) // 25 + 0.0}
    columns["letter"] = rng.choice(np.array([*"ABCD"], object), 300)
    y = 1.0 + columns["bonus"] * (columns["letter"] == "B") + rng.integers(0, 3, 300)
    raw = Raw(columns, y, rng.integers(1, 5, 300).astype(float))

    table = replace(raw.table(), loss=loss)
    vocabulary = vocabulary_of(table)
    use = np.linspace(0, 1, len(vocabulary))

    def products(unit):
        start, heavy = loss.null_rows(table.y, table.weight), unit * table.weight
        return find_products(replace(table, weight=heavy), vocabulary, use, start, 8, FREE)

    found = products(1.0)
    assert found
    assert {source for column in found[:1] for source in column.sources} == {"bonus", "letter"}
    for unit in (100.0, 1e6):  # so that few rows, or one, have cases enough to screen products
        assert products(unit) == found


def test_parts_are_the_columns_of_most_use(monkeypatch):
    table = planted("hinges")
    vocabulary = vocabulary_of(table)
    use = np.zeros(len(vocabulary))
    wanted = {Level("g", ("v",)), Level("h", ("u",))}
    wanted |= {c for c in vocabulary.columns if isinstance(c, Step) and c.source == "d"}
    chosen = [j for j, c in enumerate(vocabulary.columns) if c in wanted]
    use[chosen] = 1.0
    monkeypatch.setattr(module, "MOST_PARTS", len(chosen))
    found = find_products(table, vocabulary, use, np.zeros(table.n_rows), 100, FREE)
    products = [c for c in found if getattr(c, "operation", "product") == "product"]
    parts = {part for column in products for part in (column.left, column.right)}
    assert len(chosen) > 4
    assert parts == {vocabulary.columns[j] for j in chosen}


def test_a_distance_of_two_numbers_in_one_unit_is_found():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 4)) * [10, 12, 9, 1000] + 50
    y = (np.abs(x[:, 0] - x[:, 1]) + rng.normal(size=600) > 12).astype(float)
    columns = {name: x[:, i] for i, name in enumerate("abcd")}
    table = Raw(columns, y, np.ones(600)).table()
    vocabulary = vocabulary_of(table)
    found = find_products(table, vocabulary, np.zeros(len(vocabulary)), np.zeros(600), 10, FREE)
    assert found[0] == Pair("absolute difference", Value("a"), Value("b"))
    distances = distances_among_candidates(table)
    assert set(map(frozenset, distances)) == set(map(frozenset, ("ab", "ac", "bc")))


def distances_among_candidates(table):
    """Return the variables of all distances that are candidates without any score."""
    vocabulary = vocabulary_of(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CANDIDATES", 10**6)
        slopes = _Slopes(table.weight * (table.y - 0.5), table.weight / 4, table.weight)
        found = _candidates(table, vocabulary, np.zeros(len(vocabulary)), slopes, FREE)
    columns = [c.column for c in found]
    return [c.sources for c in columns if getattr(c, "operation", "") == "absolute difference"]


def test_where_numbers_lie_does_not_change_their_distance():
    """Dates in fine units: the same order of pairs as counted from their own beginning."""
    rng = np.random.default_rng(8)
    x = (1000 * rng.normal(size=(300, 5))).round()
    y = (np.abs(x[:, 0] - x[:, 1]) + 500 * rng.normal(size=300) > 1000).astype(float)

    def distances(offset):
        columns = {name: x[:, i] + offset for i, name in enumerate("abcde")}
        return distances_among_candidates(Raw(columns, y, np.ones(300)).table())

    near = distances(0.0)
    assert near[0] == ("a", "b")
    assert len(near) == 10
    assert distances(1e13) == near


def test_limits_are_kept():
    table = planted("hinges")
    assert any("a" in c.sources for c in found_in(table, 60))

    def products(**limits):
        return found_in(table, 60, permissions(Limits(**limits), table.schema))

    assert not any("a" in c.sources for c in products(linear_only=["a"]))
    assert not any("a" in c.sources for c in products(exclude=["a"]))
    assert {frozenset(c.sources) for c in products(interactions=[{"c", "g"}])} == {frozenset("cg")}
    ordered = products(monotone={"a": "increasing", "b": "decreasing"})
    limits = permissions(Limits(monotone={"a": "increasing", "b": "decreasing"}), table.schema)
    both = [c for c in ordered if set(c.sources) == {"a", "b"}]
    assert both
    assert all(limits.sign(c) in (1, -1) for c in both)


def test_no_products_without_two_variables():
    rng = np.random.default_rng(0)
    table = Raw({"a": rng.normal(size=50).round(1)}, np.arange(50) % 2.0, np.ones(50)).table()
    vocabulary = vocabulary_of(table)
    use, score = np.ones(len(vocabulary)), np.zeros(table.n_rows)
    assert find_products(table, vocabulary, use, score, 10, FREE) == ()


def test_codes_and_numbers_of_two_values_are_parts():
    """Sex coded 1 and 2, a stage coded 1 to 3: the label goes with one stage of one sex."""
    rng = np.random.default_rng(5)
    columns = {
        "sex": rng.integers(1, 3, 900).astype(float),
        "stage": rng.integers(1, 4, 900).astype(float),
        "other": rng.normal(size=900),
    }
    both = (columns["sex"] == 2) & (columns["stage"] == 2)
    y = (rng.random(900) < np.where(both, 0.85, 0.25)).astype(float)
    found = found_in(Raw(columns, y, np.ones(900)).table(), 1)
    assert found == (Pattern(Step("sex", 1.5), Interval("stage", 2.0, 3.0)),)


def test_numbers_of_few_rows_offer_more_parts_and_classes_do_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    columns = {name: x[:, i] for i, name in enumerate("abc")}
    classes = Raw(columns, (x[:, 0] > 0).astype(float), np.ones(600)).table()
    numbers = replace(classes, y=x[:, 0], loss=SQUARED)
    assert module._most_parts(classes) == (240, 240)
    assert module._most_parts(numbers) == (1_000, 480)
    assert module._screened_rows(classes) == 50_000
    assert module._screened_rows(numbers) == 20_000

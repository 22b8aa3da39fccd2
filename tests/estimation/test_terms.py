from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from raw_tables import random_raw, same_bits
from rpte.columns.kinds import RAW, Hinge, Level, Pair, Value
from rpte.columns.limits import FREE, Limits, permissions
from rpte.estimation.candidate import Candidate
from rpte.estimation.ownership import ComponentRule
from rpte.estimation.terms import Admission, Structure, choose_terms, design_on, make_design
from rpte.published.vocabulary import VocabularySettings, build_vocabulary
from rpte.structure.tree import Branch, Split, Tree
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR
from vocabularies import shapes_vocabulary

POLICIES = ("paper", "separate", "strict", "component")


def admission(policy, paper):
    return Admission(policy, ComponentRule(6), paper)


def candidate(n_trees):
    """All columns beside the first trees."""
    return Candidate("all", n_trees, None)


@pytest.fixture(scope="module")
def case():
    """A vocabulary on six variables, two hand-made trees: on z0 and y1, and on x2."""
    kinds = ["number", "category", "few", "two", "number", "skewed"]
    table = random_raw(21, kinds, 120).table()
    chosen = VocabularySettings("hug", 2, 15, 0.001, paper=False)
    vocabulary = build_vocabulary(table, chosen)
    inner = Branch(Split(Level("y1", ("a",))), 0, 1)
    trees = (
        Tree(Branch(Split(Value("z0"), 0.1, True), inner, 2)),
        Tree(Branch(Split(Value("x2"), 0.5, False), 0, 1)),
    )
    codes = np.array([tree.apply(table.inputs) for tree in trees], np.int32)
    used = tuple(
        frozenset(j for j, c in enumerate(vocabulary.columns) if c in (s.column for s in t.splits))
        for t in trees
    )
    rng = np.random.default_rng(0)
    steps = tuple(rng.normal(size=tree.n_leaves) for tree in trees)
    return table, Structure(vocabulary, trees, codes, used, rng.normal(size=table.n_rows), steps)


def leaf_covers(structure, n_trees):
    covers = [
        codes == k for codes in structure.leaf_codes[:n_trees] for k in range(codes.max() + 1)
    ]
    return {side.tobytes() for c in covers for side in (c, ~c)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("n_trees", [0, 1, 2])
@pytest.mark.parametrize("paper", [True, False])
def test_used_columns_and_repeated_leaves_are_left_out(case, policy, n_trees, paper):
    table, structure = case
    vocabulary = structure.vocabulary
    terms = choose_terms(table, structure, candidate(n_trees), admission(policy, paper))
    assert terms.trees == structure.trees[:n_trees]
    used = set().union(*structure.used[:n_trees])
    said = leaf_covers(structure, n_trees)
    expected = []
    for j, column in enumerate(vocabulary.columns):
        repeats = column.binary and (vocabulary.z[j] > 0).tobytes() in said
        if not repeats and (policy == "component" or j not in used):
            expected.append(j)
    found = terms.direct.tolist()
    assert found == sorted(found)
    assert set(found) <= set(expected)
    owned = {s for tree in terms.trees for s in tree.sources}
    sources = [set(vocabulary.columns[j].sources) for j in expected]
    if policy == "paper":
        assert found == expected
    elif policy == "separate":
        assert found == [j for j, s in zip(expected, sources, strict=True) if not s & owned]
    elif policy == "strict":
        taken = [vocabulary.columns[j].sources for j in found if vocabulary.block[j] != ORIGINAL]
        raw = {vocabulary.columns[j].sources for j in found if vocabulary.block[j] == ORIGINAL}
        flat = [s for sources in (*taken, *raw) for s in sources]
        assert len(flat) == len(set(flat))
        assert not owned & set(flat)
    else:
        assert {j for j, s in zip(expected, sources, strict=True) if len(s) == 1} <= set(found)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("held", [1, 7, 60])
def test_terms_are_the_same_where_few_rows_are_held(case, policy, held):
    table, structure = case
    vocabulary = replace(structure.vocabulary, z=structure.vocabulary.z[:, :held])
    few = replace(structure, vocabulary=vocabulary)
    whole = choose_terms(table, structure, candidate(2), admission(policy, True))
    terms = choose_terms(table, few, candidate(2), admission(policy, True))
    assert terms.direct.tolist() == whole.direct.tolist()
    design, expected = design_on(table, terms, FREE), make_design(table, structure, whole)
    assert same_bits(design.leaf_codes, expected.leaf_codes)
    np.testing.assert_allclose(design.direct, expected.direct, atol=1e-12)


def test_some_column_repeats_a_leaf(case):
    _, structure = case
    said = leaf_covers(structure, 2)
    vocabulary = structure.vocabulary
    level = next(j for j, c in enumerate(vocabulary.columns) if c == Value("x2"))
    assert level in structure.used[1]
    assert len(said) == 2 * 3 + 2  # a tree of two leaves says two sets only


def test_a_column_equal_to_a_leaf_is_said_once():
    raw = random_raw(4, ["two", "number"], 60, gaps=False)
    table = raw.table()
    vocabulary = build_vocabulary(table, VocabularySettings("original", 1, 5, 0.001, paper=False))
    assert [c.name for c in vocabulary.columns] == ["y1", "z0 is yes"]
    rest = Branch(Split(Value("y1"), 0.0), 1, 2)
    tree = Tree(Branch(Split(Level("z0", ("no",))), 0, rest))  # a leaf is all but "z0 is yes"
    codes = tree.apply(table.inputs)[None]
    structure = Structure(vocabulary, (tree,), codes, (frozenset(),), np.zeros(table.n_rows))
    few = replace(structure, vocabulary=replace(vocabulary, z=vocabulary.z[:, :2]))
    for policy in ("paper", "component"):
        for known in (structure, few):
            terms = choose_terms(table, known, candidate(1), admission(policy, True))
            assert terms.direct.tolist() == [0]
        assert choose_terms(
            table, structure, candidate(1), admission(policy, False)
        ).direct.tolist() == [0]
        assert choose_terms(
            table, structure, candidate(0), admission(policy, False)
        ).direct.tolist() == [0, 1]


def test_two_source_terms_enter_by_standardised_gradient(case):
    table, structure = case
    vocabulary = structure.vocabulary
    score = structure.score(0)
    p = 1 / (1 + np.exp(-score))
    curvature = table.weight * p * (1 - p)

    def gradient(j):
        z = vocabulary.z[j]
        z = z - np.average(z, weights=curvature)
        return abs((table.weight * (table.y - p)) @ z) / np.sqrt((curvature * z * z).sum())

    order = sorted(range(len(vocabulary)), key=lambda j: (-gradient(j), vocabulary.columns[j].name))
    expected, taken = [], set()
    for j in order:  # strict without trees: the steepest column owns its sources
        sources = set(vocabulary.columns[j].sources)
        mates = [i for i in expected if set(vocabulary.columns[i].sources) & sources]
        raw = vocabulary.block[j] == ORIGINAL
        if not mates or (raw and all(vocabulary.block[i] == ORIGINAL for i in mates)):
            expected.append(j)
            taken |= sources
    found = choose_terms(table, structure, candidate(0), admission("strict", False))
    assert found.direct.tolist() == sorted(expected)
    assert taken


def test_strict_in_the_paper_order_lets_patterns_and_pairs_go_first(case):
    table, structure = case
    vocabulary = structure.vocabulary
    order = sorted(range(len(vocabulary)), key=lambda j: vocabulary.block[j] == ORIGINAL)
    owner, expected = {}, []
    for j in order:
        sources = vocabulary.columns[j].sources
        me = ("raw", *sources) if vocabulary.block[j] == ORIGINAL else ("own", j)
        if all(owner.setdefault(s, me) == me for s in sources if s in owner) and all(
            owner.get(s, me) == me for s in sources
        ):
            owner.update(dict.fromkeys(sources, me))
            expected.append(j)
    found = choose_terms(table, structure, candidate(0), admission("strict", True))
    assert found.direct.tolist() == sorted(expected)


def matrix_of(structure, terms):
    """Return the terms on the structure's rows, leaves as 0/1 columns: (n, q)."""
    one_hot = [
        codes == k
        for tree, codes in zip(terms.trees, structure.leaf_codes, strict=False)
        for k in range(tree.n_leaves)
    ]
    return np.column_stack([*np.array(one_hot, float), *structure.vocabulary.z[terms.direct]])


@pytest.mark.parametrize("policy", POLICIES)
def test_the_design_says_what_the_terms_do(case, policy):
    table, structure = case
    terms = choose_terms(table, structure, candidate(2), admission(policy, False))
    design = make_design(table, structure, terms)
    assert terms.leaf_counts == (3, 2)
    q = 5 + len(terms.direct)
    assert design.penalty.tolist() == [1.0] * q
    expected = matrix_of(structure, terms)
    rng = np.random.default_rng(1)
    coefficients = rng.normal(size=q) * (rng.random(q) < 0.6)
    np.testing.assert_allclose(
        design.score(0.3, coefficients), 0.3 + expected @ coefficients, atol=1e-10
    )
    assert same_bits(design.y, table.y)
    assert not np.isnan(design.direct).any()


@pytest.mark.parametrize("n_trees", [0, 2])
def test_the_design_on_another_table(case, n_trees):
    table, structure = case
    terms = choose_terms(table, structure, candidate(n_trees), admission("component", False))
    limits = permissions(Limits(monotone={"v4": "increasing"}, penalty={"z0": 3.0}), table.schema)
    there, here = design_on(table, terms, limits), make_design(table, structure, terms, limits)
    for name in ("leaf_codes", "y", "weight", "penalty", "sign"):
        assert same_bits(getattr(there, name), getattr(here, name))
    np.testing.assert_array_equal(there.direct, here.direct)
    assert there.leaf_counts == here.leaf_counts
    assert set(here.penalty) == {1.0, 3.0}
    assert 1 in here.sign
    few = table.take(np.arange(10, 90))
    smaller = design_on(few, terms, limits)
    np.testing.assert_array_equal(smaller.direct, here.direct[10:90])
    assert same_bits(smaller.leaf_codes, here.leaf_codes[:, 10:90])


@pytest.mark.parametrize("seed", range(5))
def test_active_terms_score_as_the_whole_fit(case, seed):
    """Trees without an active leaf and direct terms of zero go, and nothing else."""
    table, structure = case
    terms = choose_terms(table, structure, candidate(2), admission("component", False))
    rng = np.random.default_rng(seed)
    fit = rng.normal(size=1 + 5 + len(terms.direct)) * (rng.random(6 + len(terms.direct)) < 0.3)
    fit[1:4] *= seed % 2
    fit[4:6] *= seed > 2
    kept, few = terms.active(fit)
    used = [fit[1:4].any(), fit[4:6].any()]
    assert kept.trees == tuple(t for t, u in zip(structure.trees, used, strict=True) if u)
    assert kept.direct.tolist() == terms.direct[fit[6:] != 0].tolist()
    assert len(few) == 1 + sum(kept.leaf_counts) + len(kept.direct)
    whole = design_on(table, terms, FREE).score(fit[0], fit[1:])
    np.testing.assert_allclose(design_on(table, kept, FREE).score(few[0], few[1:]), whole)


def test_no_active_terms(case):
    table, structure = case
    terms = choose_terms(table, structure, candidate(1), admission("paper", False))
    kept, few = terms.active(np.append(0.7, np.zeros(3 + len(terms.direct))))
    assert (kept.trees, len(kept.direct), few.tolist()) == ((), 0, [0.7])
    design = design_on(table, kept, FREE)
    assert design.n_terms == 0
    assert (design.score(few[0], few[1:]) == 0.7).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fit_is_carried_to_more_terms(case, policy):
    """Leaves begin at zero, and so do direct terms that are new; what is not offered is lost."""
    table, structure = case
    few = choose_terms(table, structure, Candidate("all", 0, 0), admission(policy, False))
    more = choose_terms(table, structure, candidate(2), admission(policy, False))
    fit = np.random.default_rng(0).normal(size=1 + len(few.direct))
    carried = more.carry(fit, few)
    assert carried.shape == (1 + 5 + len(more.direct),)
    assert carried[0] == fit[0]
    assert not carried[1:6].any()
    known = dict(zip(few.direct.tolist(), fit[1:].tolist(), strict=True))
    assert carried[6:].tolist() == [known.get(j, 0.0) for j in more.direct.tolist()]
    assert len(set(known) & set(more.direct.tolist())) > 1


@pytest.mark.parametrize(
    ("shape_family", "kinds"),
    [
        ("values", {"log"}),
        ("levels", {"log", "interval"}),
        ("curves", {"log", "distance", "hinge"}),
        ("steps", {"log", "step"}),
        ("all", {"log", "distance", "hinge", "step", "interval"}),
    ],
)
def test_a_menu_offers_its_shapes_beside_the_raw_columns(shape_family, kinds):
    table = random_raw(3, ["number", "category", "skewed", "few"], 150).table()
    vocabulary = shapes_vocabulary(table, 400)
    nothing = np.zeros((0, table.n_rows), np.int32)
    structure = Structure(vocabulary, (), nothing, (), np.zeros(table.n_rows))
    terms = choose_terms(table, structure, Candidate(shape_family), admission("component", False))
    found = [vocabulary.columns[j] for j in terms.direct]
    shapes = [c for c in found if not isinstance(c, RAW)]
    assert {getattr(c, "formula", c.kind) for c in shapes} == kinds
    assert [c for c in found if isinstance(c, RAW)] == [
        c for c in vocabulary.columns if isinstance(c, RAW)
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_fewer_pairs_are_the_first_of_the_vocabulary(case, policy):
    table, structure = case
    pairs = np.flatnonzero(structure.vocabulary.block == PAIR)

    def direct(n_pairs):
        few = Candidate("all", 1, n_pairs)
        return choose_terms(table, structure, few, admission(policy, False)).direct.tolist()

    assert len(pairs) > 2
    for most in range(len(pairs) + 2):
        assert not set(direct(most)) & set(pairs[most:].tolist())
    assert direct(len(pairs)) == direct(None)
    if policy == "component":  # a pair's place is decided by those before it
        taken = [set(direct(most)) & set(pairs.tolist()) for most in range(len(pairs) + 1)]
        assert all(few <= more for few, more in pairwise(taken))


def test_parts_come_with_their_pairs():
    table = random_raw(3, ["number", "category", "skewed"], 150).table()
    vocabulary = shapes_vocabulary(table, 400)
    hinges = [c for c in vocabulary.columns if isinstance(c, Hinge)]
    one, two = hinges[0], next(h for h in hinges if h.source != hinges[0].source)
    vocabulary = vocabulary.with_pairs(table, (Pair("product", one, two),))
    shown = [c for c, held in zip(vocabulary.columns, Candidate("values", 0, 1).holds(vocabulary),
                                  strict=True) if held and isinstance(c, Hinge)]  # fmt: skip
    assert set(shown) == {one, two}
    assert not any(
        held and isinstance(c, Hinge)
        for c, held in zip(vocabulary.columns, Candidate("values").holds(vocabulary), strict=True)
    )

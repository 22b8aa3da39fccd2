"""One fold: its terms as rows of memory that grow."""

import numpy as np

from fit_tables import mixed_case
from rpte.estimation.candidate import Candidate
from rpte.estimation.terms import choose_terms, make_design
from rpte.utils.growable import SPARE_ROWS, GrowableMatrix
from searches import search_of

MIXED = mixed_case(150)


def test_rows_stay_where_they_were_put():
    rng = np.random.default_rng(0)
    rows, blocks = (
        GrowableMatrix(7, np.float32),
        [rng.normal(size=(k, 7)).astype(np.float32) for k in (3, 0, 1, 40)],
    )
    places = [rows.add(block) for block in blocks]
    assert places == [0, 3, 3, 4]
    for first, block in zip(places, blocks, strict=True):
        assert (rows.memory[first : first + len(block)] == block).all()


def test_what_is_added_moves_no_rows_while_there_is_room():
    rows = GrowableMatrix(3)
    rows.add(np.zeros((5, 3)))
    before = rows.memory
    rows.add(np.ones((SPARE_ROWS, 3)))
    assert rows.memory is before
    rows.add(np.ones((1, 3)))
    assert rows.memory is not before
    assert rows.memory[: 6 + SPARE_ROWS].sum(axis=1).tolist() == [0.0] * 5 + [3.0] * (
        1 + SPARE_ROWS
    )


def test_terms_are_found_where_they_were_put():
    """Vocabulary, products, trees, more products: each on its own and on held-out rows."""
    search = search_of(MIXED, cv=3, groups=np.arange(150) % 30)
    search.compare(Candidate("curves"), 1.0)
    search.start_stage2(search.complete[-1].penalty)
    search.grow(2)
    best = search.complete[-1].penalty
    search.look_for_products(best)
    for fold in search.all_folds:
        structure = fold.structure
        candidate = Candidate("all", len(structure.trees), None)
        terms = choose_terms(fold.train, structure, candidate, search.settings.admission())
        assert len(terms.trees)
        assert terms.vocabulary.paired[terms.direct].any()
        rows = fold.design(terms, *terms.penalties(search.settings.limits)).rows
        design = make_design(fold.train, structure, terms)
        rng = np.random.default_rng(0)
        theta = rng.normal(size=design.n_terms)
        score = design.score(0.0, theta)
        np.testing.assert_allclose(theta @ fold.train_terms.memory[rows], score, atol=1e-3)
        if fold.valid is not None:
            codes = [tree.apply(fold.valid.inputs) for tree in terms.trees]
            leaves = [
                k == c for t, c in zip(terms.trees, codes, strict=True) for k in range(t.n_leaves)
            ]
            direct = structure.vocabulary.on(fold.valid.inputs)[terms.direct]
            expected = np.vstack([*leaves, direct])
            np.testing.assert_allclose(fold.valid_terms.memory[rows], expected, atol=1e-5)

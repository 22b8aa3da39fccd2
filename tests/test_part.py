"""Parts of a table: their terms as rows of memory that grow."""

import numpy as np

from fit_tables import mixed_case
from rpte.estimation.candidate import Candidate
from rpte.estimation.terms import choose_terms, make_design
from rpte.selection.fold_state import ROOM, GrowableMatrix
from searches import search_of

MIXED = mixed_case(150)


def test_rows_stay_where_they_were_put():
    rng = np.random.default_rng(0)
    rows, blocks = (
        GrowableMatrix(7),
        [rng.normal(size=(k, 7)).astype(np.float32) for k in (3, 0, 1, 40)],
    )
    places = [rows.add(block) for block in blocks]
    assert places == [0, 3, 3, 4]
    for first, block in zip(places, blocks, strict=True):
        assert (rows.z[first : first + len(block)] == block).all()


def test_what_is_added_moves_no_rows_while_there_is_room():
    rows = GrowableMatrix(3)
    rows.add(np.zeros((5, 3)))
    before = rows.z
    rows.add(np.ones((ROOM, 3)))
    assert rows.z is before
    rows.add(np.ones((1, 3)))
    assert rows.z is not before
    assert rows.z[: 6 + ROOM].sum(axis=1).tolist() == [0.0] * 5 + [3.0] * (1 + ROOM)


def test_terms_are_found_where_they_were_put():
    """Vocabulary, products, trees, more products: each on its own and on held-out rows."""
    search = search_of(MIXED, cv=3, groups=np.arange(150) % 30)
    search.compare(Candidate("curves"), 1.0)
    search.start(search.complete[-1].penalty)
    search.grow(2)
    best = search.complete[-1].penalty
    search.look_for_products(best)
    for part in search.all_folds:
        structure = part.structure
        candidate = Candidate("all", len(structure.trees), None)
        terms = choose_terms(part.train, structure, candidate, search.settings.admission())
        assert len(terms.trees)
        assert terms.vocabulary.paired[terms.direct].any()
        rows = part.rows_of(terms)
        design = make_design(part.train, structure, terms)
        rng = np.random.default_rng(0)
        theta = rng.normal(size=design.n_terms)
        score = design.score(0.0, theta)
        np.testing.assert_allclose(theta @ part.own.z[rows], score, atol=1e-3)
        if part.valid is not None:
            codes = [tree.apply(part.valid.inputs) for tree in terms.trees]
            leaves = [
                k == c for t, c in zip(terms.trees, codes, strict=True) for k in range(t.n_leaves)
            ]
            direct = structure.vocabulary.on(part.valid.inputs)[terms.direct]
            expected = np.vstack([*leaves, direct])
            np.testing.assert_allclose(part.held.z[rows], expected, atol=1e-5)

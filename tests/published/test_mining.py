from itertools import combinations

import numpy as np
import pytest

from raw_tables import random_raw
from rpte.published.items import make_items
from rpte.published.mining import distinct_covers, item_index, pair_candidates, select
from rpte.rows.threads import worker_threads


@pytest.fixture(params=range(4))
def index(request):
    kinds = ["number", "category", "few", "two", "01"]
    table = random_raw(request.param, kinds, 60).table()
    return item_index(table, make_items(table, printed=True))


def rows_of(index, *items):
    inside = np.ones(index.table.n_rows, bool)
    for item in items:
        inside &= index.items[item].evaluate(index.table.inputs) > 0
    return inside


def test_singles_count_weight_and_events(index):
    weight, y = index.table.weight, index.table.y
    for k in range(len(index.items)):
        inside = rows_of(index, k)
        assert index.singles.cover[k] == weight[inside].sum()
        assert index.singles.events[k] == (weight * y)[inside].sum()
        assert (index.covers(index.singles, k) == inside).all()
    assert all(a is b for a, b in zip(index.columns_of(index.singles), index.items, strict=True))


def test_pairs_are_all_pairs_of_allowed_items_of_two_variables(index):
    rng = np.random.default_rng(0)
    allowed = rng.random(len(index.items)) < 0.7
    found = index.singles.keep(np.zeros(0, np.intp)).join(pair_candidates(index, allowed))
    weight, y, expected = index.table.weight, index.table.y, {}
    for a, b in combinations(np.flatnonzero(allowed), 2):
        inside = rows_of(index, a, b)
        if index.owner[a] != index.owner[b] and 0 < weight[inside].sum() < weight.sum():
            expected[(int(a), int(b))] = (weight[inside].sum(), (weight * y)[inside].sum())
    got = {
        (int(a), int(b)): (c, e)
        for a, b, c, e in zip(found.first, found.second, found.cover, found.events, strict=True)
    }
    assert got == expected
    assert len(found) == len(expected) > 0


def test_threads_change_nothing(index):
    allowed = np.ones(len(index.items), bool)
    empty = index.singles.keep(np.zeros(0, np.intp))
    alone = empty.join(pair_candidates(index, allowed))
    with worker_threads(2):
        together = empty.join(pair_candidates(index, allowed))
    for name in ("first", "second", "cover", "events", "gain"):
        assert (getattr(alone, name) == getattr(together, name)).all()


def test_one_allowed_column_gives_no_pairs(index):
    assert pair_candidates(index, index.owner == 0) == []
    assert pair_candidates(index, np.zeros(len(index.items), bool)) == []


def test_selection_by_brute_force(index):
    found = index.singles.join(pair_candidates(index, np.ones(len(index.items), bool)))
    order = np.random.default_rng(1).permutation(len(found))
    members = [{int(a), int(b)} - {-1} for a, b in zip(found.first, found.second, strict=True)]
    covers = [rows_of(index, *m).tobytes() for m in members]
    for budget in (1, 10, len(found)):
        expected = []
        for row in order:
            repeats = any(
                len(members[row]) == len(members[r]) == 2
                and members[row] & members[r]
                and covers[row] == covers[r]
                for r in expected
            )
            if len(expected) < budget and not repeats:
                expected.append(int(row))
        assert select(index, found, order, budget).tolist() == expected
        unique = {}
        for row in order:
            unique.setdefault(covers[row], int(row))
        kept = distinct_covers(index, found, order, budget)
        assert kept.tolist() == list(unique.values())[:budget]

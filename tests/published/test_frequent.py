from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from raw_tables import Raw, random_raw, raws
from rpte.columns.kinds import Pattern
from rpte.published.items import make_items
from rpte.published.mining import item_index, mine_frequent
from rpte.rows.threads import worker_threads


def brute_force(table, columns, order, budget):
    """Count the cover of every item and pair of items; most weight first, canonical order."""
    items = [item for column in columns for item in column.items]
    cover = {i: item.evaluate(table.inputs) > 0 for i, item in enumerate(items)}
    found = [((i, -1), cover[i]) for i in cover]
    if order == 2:
        two = (p for p in combinations(cover, 2) if items[p[0]].source != items[p[1]].source)
        found += [((a, b), cover[a] & cover[b]) for a, b in two]
    total = table.total_weight
    ranked = sorted(found, key=lambda f: (-(table.weight[f[1]].sum()), f[0]))
    seen, kept = set(), []
    for (a, b), rows in ranked:
        if 0 < table.weight[rows].sum() < total and rows.tobytes() not in seen:
            seen.add(rows.tobytes())
            kept.append(items[a] if b < 0 else Pattern(items[a], items[b]))
    return tuple(kept[:budget])


@examples(30)
@given(raws(rows=(8, 40)), st.sampled_from([1, 2]), st.sampled_from([3, 25]))
def test_equals_brute_force(raw, order, budget):
    table = raw.table()
    columns = make_items(table, printed=True)
    found = mine_frequent(item_index(table, columns), order, budget)
    assert found == brute_force(table, columns, order, budget)


def test_the_label_does_not_matter_for_given_items():
    raw = random_raw(0, ["number", "category", "few"], 80)
    table, turned = raw.table(), Raw(raw.columns, 1 - raw.y, raw.weight).table()
    items = make_items(table, printed=True)
    found = mine_frequent(item_index(table, items), 2, 20)
    codes = make_items(turned, printed=True)
    assert [c.items for c in codes] == [c.items for c in items]  # gain is symmetric in the label
    assert mine_frequent(item_index(turned, codes), 2, 20) == found
    with worker_threads(2):
        assert mine_frequent(item_index(table, items), 2, 20) == found


def test_nothing_to_mine():
    table = random_raw(0, ["constant", "number"], 20).table()
    assert mine_frequent(item_index(table, ()), 2, 5) == ()
    assert mine_frequent(item_index(table, make_items(table, printed=True)), 2, 0) == ()
    assert np.isfinite(table.weight).all()

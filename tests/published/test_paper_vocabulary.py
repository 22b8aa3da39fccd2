"""Stage 1 as published: what is left of the mined patterns and pairs."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import naive_stage1 as naive
from raw_tables import Raw
from rpte.columns.kinds import Value
from rpte.columns.limits import FREE
from rpte.published.hug import mine_hug
from rpte.published.items import make_items
from rpte.published.mining import item_index
from rpte.published.pairs import mine_pairs
from rpte.published.vocabulary import VocabularySettings, build_vocabulary


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("budget", "min_gain"), [(50, 0.01), (100, 0.001)])
def test_breast_cancer_with_the_paper_settings(order, budget, min_gain):
    """Mined columns equal the oracle (test_hug, test_pairs); here: what the filters leave."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = Raw({n: X[n].to_numpy() for n in X}, y.to_numpy(float), np.ones(len(y))).table()
    chosen = VocabularySettings("hug", order, budget, min_gain, paper=True)
    patterns = mine_hug(item_index(table, make_items(table, False)), order, budget, min_gain)
    pairs = mine_pairs(table, budget, table.schema.names, FREE) if order > 1 else ()
    columns = (*(Value(name) for name in sorted(X)), *patterns, *pairs)
    block = np.repeat([0, 1, 2], [30, len(patterns), len(pairs)])
    values = np.column_stack([c.evaluate(table.inputs) for c in columns])
    kept = naive.distinct(values.T.tolist(), block == 1)
    last = [kept[j] for j in naive.independent(values[:, kept], block[kept])]
    assert [c.text for c in build_vocabulary(table, chosen).columns] == [
        columns[j].text for j in last
    ]


def test_wdbc_redundancy_counts_equal_the_reference():
    """As published: 230 -> 125 columns (9 duplicates, 2 complements, 15 patterns, 79 pairs)."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=42, stratify=y)
    table = Raw({n: X[n].to_numpy() for n in X}, y.to_numpy(float), np.ones(len(y))).table()
    patterns = mine_hug(item_index(table, make_items(table, printed=False)), 2, 100, 0.001)
    assert len(patterns) == len(mine_pairs(table, 100, table.schema.names, FREE)) == 100
    found = build_vocabulary(table, VocabularySettings("hug", 2, 100, 0.001, paper=True))
    assert np.bincount(found.block).tolist() == [30, 100 - 2 - 15, 100 - 9 - 79]


def test_the_paper_keeps_the_k_raw_columns_of_highest_gain():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.5).astype(float)
    columns = {f"v{i}": (y * i + 3 * rng.normal(size=300)).round(2) for i in range(6)}
    columns["gone"] = np.full(300, np.nan)  # a column without a value must not break the ranking
    table = Raw(columns, y, np.ones(300)).table()
    found = build_vocabulary(table, VocabularySettings("original", 1, 3, 0.001, paper=True))
    assert [c.text for c in found.columns] == ["v3", "v4", "v5"]
    ours = build_vocabulary(table, VocabularySettings("original", 1, 3, 0.001, paper=False))
    assert [c.text for c in ours.columns] == [f"v{i}" for i in range(6)]


def test_lookahead_leaves_half_of_the_pair_budget():
    chosen = VocabularySettings("hug", 2, 10, 0.001, paper=False)
    assert replace(chosen, lookahead=True).pair_budget == 5
    assert chosen.pair_budget == 10


def test_shapes_are_not_made_here():
    with pytest.raises(ValueError, match="vocabulary_of_shapes"):
        build_vocabulary(None, VocabularySettings("shapes", 2, 10, 0.001, paper=False))

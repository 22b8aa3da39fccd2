"""A schema learned block by block is that of all rows at once."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rpte.errors import InputError
from rpte.table import blockwise
from rpte.table.blockwise import learn, typed
from rpte.table.read import read_training, split_columns
from rpte.table.table import PoolingRule, make_table

RULE = PoolingRule(5.0, 4, frozenset({"kept"}))
SPECIALS = {"income": [-9, "n/a"], "age": [-1]}


def frame(n=400):
    rng = np.random.default_rng(3)
    income = pd.Series(rng.integers(0, 50, n).astype(object))
    income[rng.random(n) < 0.1] = "n/a"
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, -1.0, rng.normal(50, 9, n).round(1)),
            "small": rng.normal(size=n).astype(np.float32),
            "count": rng.integers(-5, 5, n),
            "income": income,
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "zero": np.where(rng.random(n) < 0.5, -0.0, 0.0),
            "flag": rng.random(n) < 0.3,
            "maybe": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
            "town": rng.choice(list("abcdefgh"), n, p=[0.4, 0.3, 0.1, 0.1, 0.07, 0.01, 0.01, 0.01]),
            "code": pd.Categorical(rng.choice([1, 2, 30], n)),
            "price": [Decimal(int(v)) / 100 for v in rng.integers(0, 10**6, n)],
            "nothing": [None] * n,
            "smoker": rng.integers(0, 2, n),
            "kept": rng.integers(0, 2, n),
            "half": rng.integers(0, 2, n) / 2,
            "twice": np.where(rng.random(n) < 0.1, np.nan, rng.choice([7.0, -3.0], n)),
            "both": pd.Series(rng.integers(0, 2, n).astype(object)).where(rng.random(n) < 0.9),
            "cents": [Decimal(int(v)) for v in rng.integers(1, 3, n)],
        }
    )


def blocks(table, ends):
    return [table.iloc[low:high] for low, high in zip([0, *ends], [*ends, len(table)], strict=True)]


def merged(table, weight, ends, rule=RULE, specials=SPECIALS):
    """Return the schema from blocks, and the typed cells of all of them."""
    parts = blocks(table, ends)
    weights = [weight[part.index] for part in parts]
    facts = [learn(split_columns(p), w, specials) for p, w in zip(parts, weights, strict=True)]
    total = facts[0]
    for more in facts[1:]:
        total = total + more
    schema = total.finish(rule, specials)
    return schema, [typed(split_columns(part), schema) for part in parts], total


@pytest.mark.parametrize("ends", [[], [1], [100, 110, 399], [0, 200]])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_give_the_schema_and_cells_of_the_whole_table(ends, weighted):
    table = frame()
    rng = np.random.default_rng(0)
    weight = rng.choice([0.0, 0.5, 3.0], len(table)) if weighted else np.ones(len(table))
    y = (np.arange(len(table)) % 2).astype(float)
    whole = make_table(read_training(table, SPECIALS), y, weight, RULE)
    schema, cells, _ = merged(table, weight, ends)
    assert schema == whole.schema
    yes_no = {v.name: v.levels for v in schema.variables if v.numeric}
    two = ("0", "1")
    assert yes_no == {"smoker": two, "twice": ("-3", "7"), "both": two, "cents": ("1", "2")}
    hashes = blockwise_hashes(cells, weight)
    assert set(hashes) == set(whole.hashes)


def blockwise_hashes(cells, weight):
    from rpte.table.table import row_hashes

    found = np.concatenate([row_hashes(some) for some in cells])
    return found[weight > 0]


def test_order_of_blocks_does_not_matter():
    table = frame()
    weight = np.ones(len(table))
    turned = table.iloc[::-1]
    assert merged(table, weight, [37])[0] == merged(turned, weight[::-1], [5, 290])[0]


def test_single_precision_is_told():
    total = merged(frame(), np.ones(400), [100])[2]
    single = dict(zip(total.names, (facts.single for facts in total.columns), strict=True))
    assert single["small"]
    assert single["count"]
    assert not any(single[name] for name in ("age", "gap", "price", "income"))


def test_whole_numbers_that_meet_as_floats_are_refused_across_blocks():
    table = pd.DataFrame({"id": [2**53, 5, 2**53 + 1]})
    with pytest.raises(InputError, match="one number in float64"):
        merged(table, np.ones(3), [1, 2], specials=None)


def test_decimals_that_meet_as_floats_are_refused_across_blocks():
    cells = [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")]
    table = pd.DataFrame({"x": cells})
    with pytest.raises(InputError, match="one number in float64"):
        merged(table, np.ones(2), [1], specials=None)


def test_dates_are_refused():
    table = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(InputError, match="dates"):
        merged(table, np.ones(2), [1], specials=None)


def test_too_many_texts_are_refused(monkeypatch):
    monkeypatch.setattr(blockwise, "MOST_CELLS", 50)
    table = pd.DataFrame({"id": [f"case {i}" for i in range(60)], "x": np.arange(60.0)})
    with pytest.raises(InputError, match="'id' holds more than 50 different cells"):
        merged(table, np.ones(60), [30], specials=None)


def test_a_column_of_two_types_is_refused():
    one = learn(split_columns({"x": np.array(["a", "b"], object)}), np.ones(2))
    other = learn(split_columns({"x": np.array([1.5, 2.0])}), np.ones(2))
    with pytest.raises(InputError, match="one type everywhere"):
        one + other


def test_other_columns_are_refused():
    one = learn(split_columns({"x": np.ones(2)}), np.ones(2))
    with pytest.raises(InputError, match="different columns"):
        one + learn(split_columns({"z": np.ones(2)}), np.ones(2))

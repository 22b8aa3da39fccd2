"""The benchmark of planted interactions: worlds, judgement, resuming, and the tables."""

from argparse import Namespace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import planted
from peers import Rows

PAIR, TRIPLE = frozenset({"x0", "x1"}), frozenset({"x4", "x5", "x6"})


def sets(*terms: str) -> list[frozenset[str]]:
    return [frozenset(term.split("*")) for term in terms]


@pytest.mark.parametrize(
    ("terms", "found", "false"),
    [
        (sets("x0", "x1", "x4"), (False, False), 0),
        (sets("x0*x1", "x1*x0"), (True, False), 0),
        (sets("x0*x1*x2"), (True, False), 2),
        (sets("x4*x5"), (False, False), 0),
        (sets("x4*x5", "x6*x5"), (False, True), 0),
        (sets("x4*x5*x6", "x0*x4"), (False, True), 1),
    ],
)
def test_judgement(terms, found, false):
    assert planted.judge(terms, [PAIR, TRIPLE]) == (found, false)


@pytest.mark.parametrize("world", planted.WORLDS)
def test_a_world_is_additive_but_for_its_sets(world):
    """Mixed differences of the true log odds are zero for every pair that is in no true set."""
    X, _, score = planted.draw(world, 60, 1)
    assert score == pytest.approx(log_odds(world, X))
    other = X.iloc[::-1].reset_index(drop=True)
    alone = {name: log_odds(world, X.assign(**other[[name]])) for name in X}
    for a, b in combinations(X, 2):
        both = log_odds(world, X.assign(**other[[a, b]]))
        mixed = both - alone[a] - alone[b] + score
        true = frozenset({a, b}) in planted.pairs_of(planted.TRUE[world])
        assert (np.abs(mixed).max() > 0.1) == true, (a, b)


def log_odds(world: str, X: pd.DataFrame) -> np.ndarray:
    return sum(np.asarray(planted.EFFECTS[name](X), float) for name in planted.WORLDS[world])


def test_worlds_and_seeds_have_tables_of_their_own():
    first = planted.draw("smooth", 50, 0)[0]
    assert first.equals(planted.draw("smooth", 50, 0)[0])
    assert not first.equals(planted.draw("smooth", 50, 1)[0])
    assert not first.equals(planted.draw("xor", 50, 0)[0])


def test_our_terms_are_the_variables_of_leaves_and_direct_terms():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    y = (X.a * X.b + 0.5 * X.c > 0).astype(int).to_numpy()
    _, terms = planted.rpte_terms(Rows(X, y))
    assert frozenset({"a", "b"}) in terms


def test_a_second_run_goes_on_and_again_starts_anew(tmp_path, monkeypatch):
    made = []

    def row_of(*key):
        made.append(key)
        return dict(zip(planted.KEYS, key, strict=True)) | {"terms": "", "auc": 0.5, "miu": 3}

    monkeypatch.setattr(planted, "row_of", row_of)
    monkeypatch.setattr(planted, "label", str.upper)
    options = Namespace(models=["rpte"], worlds=["xor"], sizes=[300], seeds=[0], again=False)
    options.out = tmp_path / "made.csv"
    planted.run(options)
    options.seeds = [0, 1]
    planted.run(options)
    assert made == [("rpte", "xor", 300, 0), ("rpte", "xor", 300, 1)]
    options.again, options.seeds = True, [1]
    planted.run(options)
    assert made[2:] == [("rpte", "xor", 300, 1)]
    rows = planted.read(options.out)
    assert rows.seed.to_list() == [0, 1]
    assert set(rows.version) == {"RPTE"}


def test_tables_have_shares_and_means():
    said = {"auc": 0.8, "oracle": 0.9, "miu": 7}
    cells = [("rpte", "xor", "x2*x3"), ("rpte", "xor", ""), ("ebm", "mixed", "x0*x1 x8*x9 x4*x6")]
    keys = ("model", "world", "terms")
    rows = [dict(zip(keys, cell, strict=True)) | {"n": 1000} | said for cell in cells]
    frame = planted.judged(pd.DataFrame(rows))
    table, targets = planted.table_of(frame), planted.targets_of(frame)
    assert "| xor | 1000 | rpte | 2 | x2*x3 | 0.50 | 0.50 | 0.00 | 0.8000 | 0.9000 | 7 |" in table
    assert "| ebm, all | 1 | x0*x1, x2*x3, x4*x5*x6 | 1.00 0.00 0.00 | 0.00 | 1.00 |" in table
    assert "| n = 1,000: pairs found, at least .90 | rpte | 0.50 | 0.50 |" in targets

"""Groups of variables that interact: those that were planted are found, and no others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rpte.columns.limits import FREE
from rpte.losses import BINOMIAL, POISSON, SQUARED
from rpte.rows.threads import worker_threads
from rpte.structure.groups import MOST_GROUPS, MOST_SOURCES, find_groups
from rpte.table.read import read_training
from rpte.table.table import make_table

LOSSES = {"binomial": BINOMIAL, "squared": SQUARED, "poisson": POISSON}
PLANTED = {
    "xor": lambda X: parity(X["a"] > 0, X["b"] > 0),
    "and": lambda X: 3.0 * ((X["a"] > 0) & (X["b"] > 0)),
    "xor with a category": lambda X: parity(X["kind"] == "u", X["b"] > 0),
    "where a number is missing": lambda X: parity(X["gap"].isna(), X["b"] > 0),
}
SOURCES = dict(zip(PLANTED, (("a", "b"), ("a", "b"), ("b", "kind"), ("b", "gap")), strict=True))


def parity(one, other):
    return np.where(one ^ other, 1.5, -1.5)


def features(seed, n):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n).round(3) for name in "abcd"})
    X["heavy"] = rng.standard_cauchy(n).round(2)
    X["kind"] = rng.choice(["u", "v"], n)
    X["town"] = rng.choice(list("klmnopqr"), n, p=[0.5, 0.2, 0.1, *[0.04] * 5])
    X["gap"] = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n).round(3))
    return X


def drawn(loss, score, seed):
    """Return targets of a score."""
    rng = np.random.default_rng(seed + 1)
    if loss is BINOMIAL:
        return (rng.random(len(score)) < 1 / (1 + np.exp(-score))).astype(float)
    if loss is POISSON:
        return rng.poisson(np.exp(score)).astype(float)
    return 3.0 * (score + rng.normal(size=len(score)))


def held_out(X, y, loss, score):
    """Return the rows as a table, and what an additive fit says of them."""
    table = make_table(read_training(X), y, np.ones(len(y)), loss=loss)
    order = np.argsort(X["a"].to_numpy(), kind="stable")  # whose numbers do not recur
    found = np.empty(len(y))
    found[np.argsort(table.inputs["a"], kind="stable")] = score[order]
    return table, found


def made(loss, seed=0, n=1_500, planted=None, additive=0.0):
    """Return a table and additive scores: of what is planted, they know nothing."""
    X = features(seed, n)
    X["a"] += np.arange(n) * 1e-6  # so that rows can be told apart
    main = additive * (X["c"] - (X["town"] == "k") + 0.5 * np.tanh(X["heavy"])).to_numpy()
    score = main if planted is None else main + np.asarray(PLANTED[planted](X))
    y = drawn(loss, 0.5 * score if loss is POISSON else score, seed)
    known = 0.5 * main if loss is POISSON else main
    return held_out(X, y, loss, 3.0 * known if loss is SQUARED else known)


def groups_of(table, score, limits=FREE, largest=MOST_SOURCES, folds=None):
    folds = np.arange(table.n_rows) % 5 if folds is None else folds
    use = np.ones(len(table.schema))
    return find_groups(table, score, folds, limits, largest, use)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_found_and_nothing_else(planted, loss):
    given = [made(LOSSES[loss], seed, planted=planted, additive=0.5) for seed in range(6)]
    every = [groups_of(*each) for each in given]
    wanted = {*SOURCES[planted]}
    assert all(any(wanted <= {*group} for group in found.groups) for found in every)
    exact = [found for found in every if found.groups == (SOURCES[planted],)]
    assert len(exact) >= 4  # chance may add a variable
    found, evidence = exact[0], exact[0].evidence[0]
    assert (evidence.first, evidence.second) in (SOURCES[planted], SOURCES[planted][::-1])
    assert evidence.gain == found.strongest > 3 * evidence.threshold
    assert found.may_matter
    assert found.sources == {*SOURCES[planted]}


@pytest.mark.parametrize("loss", LOSSES)
def test_tables_without_interactions_have_no_groups(loss):
    """By chance one table of thirty has some: the threshold is the largest of thirty draws."""
    kinds = [{"n": n, "additive": size} for n in (150, 600) for size in (0.0, 1.0)]
    found = [groups_of(*made(LOSSES[loss], seed=seed, **k)) for seed in range(10) for k in kinds]
    assert sum(bool(each.groups) for each in found) <= 4
    assert all(each.strongest <= each.threshold for each in found if not each.groups)


def test_rare_events_have_no_groups_by_chance():
    found = []
    for seed in range(20):
        X = features(seed, 2_000)
        y = (np.random.default_rng(seed + 1).random(2_000) < 0.01).astype(float)
        table = make_table(read_training(X), y, np.ones(2_000))
        found.append(groups_of(table, np.full(table.n_rows, table.null_score)))
    assert sum(bool(each.groups) for each in found) <= 3


def two_pairs(loss=BINOMIAL, n=3_000):
    """Plant two parities that share a variable, and one apart from them."""
    X = features(7, n)
    X["a"] += np.arange(n) * 1e-6
    score = parity(X["a"] > 0, X["b"] > 0) + parity(X["b"] > 0, X["c"] > 0)
    score += parity(X["d"] > 0, X["kind"] == "u")
    return held_out(X, drawn(loss, score, 7), loss, np.zeros(n))


def test_pairs_that_share_a_variable_are_one_group():
    found = groups_of(*two_pairs())
    assert set(found.groups) == {("a", "b", "c"), ("d", "kind")}
    gains = [pairing.gain for pairing in found.evidence]
    assert len(gains) == 3
    assert all(pairing.gain > pairing.threshold for pairing in found.evidence)
    assert found.to_dict()["groups"] == [list(group) for group in found.groups]


def test_groups_are_no_larger_than_allowed_and_disjoint():
    found = groups_of(*two_pairs(), largest=2)
    assert len(found.groups) <= MOST_GROUPS
    assert all(len(group) == 2 for group in found.groups)
    assert sum(map(len, found.groups)) == len(found.sources)
    assert groups_of(*two_pairs(), largest=1).groups == ()


def test_limits_are_kept():
    table, score = two_pairs()
    together = replace(FREE, together=(frozenset("bc"), frozenset({"d", "kind"})))
    assert set(groups_of(table, score, together).groups) == {("b", "c"), ("d", "kind")}
    without = replace(FREE, linear_only=frozenset("b"))
    assert set(groups_of(table, score, without).groups) == {("d", "kind")}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_rows_does_not_matter(loss):
    table, score = made(LOSSES[loss], planted="and", n=800)
    folds, order = np.arange(800) % 5, np.random.default_rng(0).permutation(800)
    found = groups_of(table, score)
    other = groups_of(table.take(order), score[order], folds=folds[order])
    assert found.groups == other.groups != ()
    for one, two in zip(found.evidence, other.evidence, strict=True):
        assert (one.first, one.second) == (two.first, two.second)
        assert one.gain == pytest.approx(two.gain, rel=1e-9)
        assert one.threshold == pytest.approx(two.threshold, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_do_not_change_a_bit(loss, monkeypatch):
    monkeypatch.setattr("rpte.structure.groups.PER_TASK", 3)
    table, score = made(LOSSES[loss], planted="xor", n=800)
    found = []
    for threads in (1, 3):
        with worker_threads(threads):
            found.append(groups_of(table, score))
    assert found[0] == found[1]
    assert found[0].groups

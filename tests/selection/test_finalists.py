"""The best candidates are validated on rows that the search has not seen."""

import pickle

import numpy as np
import pytest

from rpte import RPTEClassifier
from rpte.rows import scale
from rpte.selection import finalists as module
from rpte.selection import select as select_module
from rpte.table.table import places, row_hashes
from searches import set_scale


def table(n=900, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] + np.maximum(X[:, 1], 0) + X[:, 2] * X[:, 3]
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


@pytest.fixture
def long_tables(monkeypatch):
    set_scale(monkeypatch, MANY_ROWS=100, LONG_ABOVE=200)
    set_scale(monkeypatch, FEWER_FOLDS_FROM_CASES=20, LENGTHS_FROM_CASES=20)
    set_scale(monkeypatch, LENGTHS_ALONE_FROM_CASES=20, BEATEN=50.0)


def watched(monkeypatch, name):
    """Return a list that fills with the search before and after it is validated further."""
    seen, honest = [], getattr(select_module, name)

    def watch(search, *given):
        before = [*search.evaluations], len(search.weights), module.best_candidates(search)
        honest(search, *given)
        seen.append((search, before))

    monkeypatch.setattr(select_module, name, watch)
    return seen


@pytest.mark.parametrize("long_above", [200, 2_000])
def test_the_other_folds_validate_the_best(monkeypatch, long_tables, long_above):
    monkeypatch.setattr(scale, "LONG_ABOVE", long_above)
    seen = watched(monkeypatch, "validate_finalists")
    X, y = table()
    RPTEClassifier().fit(X, y)
    ((search, (before, blocks, chosen)),) = seen
    assert 2 <= len(chosen) <= scale.FINALISTS
    # One fold was searched in blocks, or two as they are; five were validated in the end.
    assert (blocks, len(search.weights)) == ((10, 50) if long_above == 200 else (2, 5))
    assert search.weights.sum() == len(y)
    shifts, validated = set(), set()
    for old, new in zip(before, search.evaluations, strict=True):
        losses = search.losses.get(new.penalty, ())
        if len(losses) == len(search.weights):
            validated.add((new.penalty.candidate, new.penalty.l1_ratio))
            assert new.deviance == pytest.approx(np.average(losses, weights=search.weights))
        else:
            shifts.add(round(new.deviance - old.deviance, 12))
    assert validated >= {*chosen}  # and the steps that lead to them
    assert len(shifts) == 1


def test_a_single_finalist_needs_no_further_folds(monkeypatch, long_tables):
    monkeypatch.setattr(scale, "BEATEN", -1.0)
    seen = watched(monkeypatch, "validate_finalists")
    RPTEClassifier().fit(*table())
    ((search, (before, blocks, _)),) = seen
    assert len(search.weights) == blocks
    assert search.evaluations == before


def test_held_out_labels_do_not_reach_what_is_fitted(monkeypatch, long_tables):
    """The steps that are taken again on a fold see its training rows alone."""
    seen = []
    honest = module._losses

    def spied(search, fold, chosen):
        found = honest(search, fold, chosen)
        seen.append((fold, search.learner.table))
        return found

    monkeypatch.setattr(module, "_losses", spied)
    RPTEClassifier().fit(*table())
    assert len(seen) == 4
    held = np.concatenate([fold.test.rows for fold, _ in seen])
    assert len(np.unique(held)) == len(held)
    assert all(not set(fold.train.rows) & set(fold.test.rows) for fold, _ in seen)


def test_rows_outside_a_sample_validate_the_best(monkeypatch, long_tables):
    set_scale(monkeypatch, SAMPLE_ROWS=300, OUTSIDE=3)
    passes = []
    honest = module.add

    def add(function, rows):
        passes.append((function, rows))
        return honest(function, rows)

    monkeypatch.setattr(module, "add", add)
    seen = watched(monkeypatch, "validate_outside")
    X, y = table(2_000)
    RPTEClassifier(n_jobs=2).fit(X, y)
    ((search, (_, blocks, _)),) = seen
    ((function, rows),) = passes
    assert len(pickle.dumps(function)) < 60_000  # no table is in it
    sample = set(row_hashes(search.learner.table.inputs).tolist())
    hashes = row_hashes(rows.whole().inputs)
    place = places(hashes)
    chosen = (place >= function.limit) & (place < 3 * function.limit)
    assert not sample & set(hashes[chosen].tolist())
    assert search.weights[blocks:].sum() == pytest.approx(chosen.sum())
    assert chosen.sum() > 1.5 * len(sample)
    best = search.best([e for e in search.complete if len(search.losses[e.penalty]) > blocks])
    assert best.error > 0

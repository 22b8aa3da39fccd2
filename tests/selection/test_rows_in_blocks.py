"""Whole fits over blocks that are not those of memory, as files and clusters have them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fit_tables import mixed_case
from row_engines import uneven
from rpte import Limits
from rpte.errors import InputError
from rpte.fit.algorithm import learn
from rpte.fit.training import Training
from rpte.model.file import to_dict
from rpte.model.target import Target
from rpte.rows.folds import make_validation
from rpte.rows.threads import worker_threads
from rpte.selection.frontier import select_models
from rpte.utils.progress import Watch
from searches import call_large, table_of

CHANGES = (
    {},
    {"l1_ratio": 0.5},
    {"ownership": "separate", "max_leaves": 4, "max_trees": 2},
    {"form": "rules", "limits": Limits(monotone={"clear": "increasing"})},
)


@cache
def training_of(number):
    case, validation = mixed_case(600), make_validation(None, None, mixed_case(600).y, None)
    table, settings = table_of(case, validation, **CHANGES[number])
    of = Target((0, 1), 1, 0.0)
    return case, validation, Training.of(table, settings, of, {"folds": 5, "by": "content"})


def said(model):
    """Return the terms of a model, and their coefficients."""
    parts = [part for _, part in model.parts()]
    texts = [str(getattr(part, "column", None) or part.tree.to_dict()) for part in parts]
    return texts, [getattr(part, "coefficient", 0.0) for part in parts]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_other_blocks_give_the_same_terms_and_scores(monkeypatch, number):
    call_large(monkeypatch)
    case, validation, training = training_of(number)
    expected = select_models(training, validation, Watch())
    rows = uneven(training.rows.whole(), number)
    found = select_models(replace(training, rows=rows), validation, Watch())
    pairs = zip((found.model, *found.frontier), (expected.model, *expected.frontier), strict=True)
    for model, other in pairs:
        assert said(model)[0] == said(other)[0]
        np.testing.assert_allclose(model.score(case.X), other.score(case.X), rtol=0, atol=1e-6)
        assert model.training["objective"]["converged"]
        assert model.audit().miu == other.audit().miu
        for a, b in zip(model.parts(), other.parts(), strict=True):
            leaves = [getattr(p[1], "leaves", (p[1],)) for p in (a, b)]
            for one, two in zip(*leaves, strict=True):
                assert one.support == pytest.approx(two.support)
                assert one.target_total == pytest.approx(two.target_total)
    assert found.model.audit().miu > 2
    # Terms and coefficients go to the rows, and no rows with them.
    assert max(map(len, rows.sent)) < 40_000


def test_threads_do_not_matter(monkeypatch):
    call_large(monkeypatch)
    _, validation, training = training_of(0)
    found = []
    for n_jobs in (1, 2, 3):
        rows = uneven(training.rows.whole())
        with worker_threads(n_jobs):
            learned = select_models(replace(training, rows=rows), validation, Watch())
        found.append(to_dict(learned.model))
    assert found[0] == found[1] == found[2]


def test_fixed_penalties_need_all_rows_in_memory(monkeypatch):
    call_large(monkeypatch)
    _, _, training = training_of(0)
    rows = uneven(training.rows.whole())

    def refuse():
        raise InputError("all rows are needed in memory")

    monkeypatch.setattr(rows, "whole", refuse)
    fixed = replace(training, rows=rows, settings=replace(training.settings, l1="4/n"))
    with pytest.raises(InputError, match="in memory"):
        learn(fixed, Watch())
    assert rows.sent == []

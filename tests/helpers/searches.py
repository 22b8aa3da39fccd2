"""Running the search for candidates and penalties alone, and watching it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpte import RPTEClassifier
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.structure_learner import StructureLearner
from rpte.rows import scale
from rpte.rows.folds import make_validation
from rpte.selection.comparison import Price
from rpte.selection.search import Search
from rpte.selection.select import _search
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.utils.progress import Watch


def table_of(case, validation, **parameters):
    inputs = read_training(case.X)
    chosen = settings_for(checked_parameters(RPTEClassifier(**parameters)), None, inputs.schema)
    y = (case.y == np.unique(case.y)[1]).astype(float)
    return make_table(inputs, y, case.weight, chosen.pooling, validation.part), chosen


def search_of(case, cv=None, groups=None, folds=None, labels=None, **parameters):
    """Return a search whose folds are mined, its base rate compared.

    `folds` and `labels` of the merged table may be given.
    """
    validation = make_validation(cv, None, case.y, groups)
    table, chosen = table_of(case, validation, **{"max_trees": 2, "budget": 30, **parameters})
    table = table if labels is None else replace(table, y=labels)
    price = Price.at(chosen.audit_price, table.n_cases)
    learner = StructureLearner.of(table, chosen)
    folds = validation.folds(table) if folds is None else folds
    search = _search(table, learner, validation, folds, price, Watch())
    search.compare_base_rate()
    return search


def watch_fits(monkeypatch):
    """Return a list that fills with fits: rows, candidate, lambda, terms, coefficients."""
    seen, honest = [], Search._path

    def watched(search, fold, candidate, *given):
        path = honest(search, fold, candidate, *given)
        said = [path.terms.vocabulary.columns[j].text for j in path.terms.direct]

        def solve(l1s):
            fits = path.solve(l1s)
            for l1, fit in zip(l1s.tolist(), fits.tolist(), strict=True):
                seen.append((fold.train.n_rows, candidate, l1, said, path.terms.trees, fit))
            return fits

        return replace(path, solve=solve)

    monkeypatch.setattr(Search, "_path", watched)
    return seen


def call_large(monkeypatch):
    """Treat tables of more than 200 rows as large: the search sees 200 of them."""
    set_scale(monkeypatch, LONG_ABOVE=150, SAMPLE_ROWS=200)
    set_scale(monkeypatch, LONG_TABLE_ABOVE=300)


def set_scale(monkeypatch, **constants):
    for name, value in constants.items():
        monkeypatch.setattr(scale, name, value)

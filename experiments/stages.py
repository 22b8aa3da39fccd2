"""The stages of the published configuration one by one, for experiments that look inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from rpte import RPTEClassifier
from rpte.estimation.candidate import Candidate
from rpte.estimation.terms import choose_terms
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.algorithm import learn_structure
from rpte.fit.settings import Settings
from rpte.fit.training import Training
from rpte.model.target import Target
from rpte.published.vocabulary import build_vocabulary
from rpte.table.inputs import read_inputs
from rpte.table.read import read_training
from rpte.table.schema import Schema
from rpte.table.table import Table, make_table
from rpte.utils.progress import Watch
from rpte.vocabulary.vocabulary import PATTERN, Vocabulary


@contextmanager
def without_pairs(wanted: bool = True) -> Iterator[None]:
    """Mine no augmented pairs; the paper's ablation, for which the library has no parameter.

    Patches the module: one unit at a time in a process.
    """
    if not wanted:
        yield
        return
    with patch("rpte.published.vocabulary.mine_pairs", lambda *_: ()):
        yield


@dataclass(frozen=True)
class Stages:
    """A training table under the settings of a classifier."""

    table: Table
    settings: Settings

    @property
    def schema(self) -> Schema:
        """The schema of the training rows."""
        return self.table.schema

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of Stage 1."""
        return build_vocabulary(self.table, self.settings.stage1())

    def design(self, X: pd.DataFrame) -> np.ndarray:
        """Return what Stage 3 is given, leaves and direct terms, on some rows: (n, q)."""
        training = Training.of(self.table, self.settings, Target((0, 1), 1, 0.0), {})
        found = learn_structure(training, Watch())
        structure = found.structure
        candidate = Candidate("all", len(structure.trees), None)
        terms = choose_terms(found.table, structure, candidate, self.settings.admission())
        inputs = read_inputs(X, self.schema)
        leaves = [np.arange(tree.n_leaves)[:, None] == tree.apply(inputs) for tree in terms.trees]
        direct = structure.vocabulary.keep(terms.direct).on(inputs)
        return np.vstack([*leaves, direct]).T


def stages(classifier: RPTEClassifier, X: pd.DataFrame, y: np.ndarray) -> Stages:
    """Read a training table as `fit` does."""
    inputs = read_training(X)
    settings = settings_for(checked_parameters(classifier), None, inputs.schema)
    table = make_table(inputs, y.astype(np.float64), np.ones(len(y)), settings.pooling)
    return Stages(table, settings)


def on_rows(vocabulary: Vocabulary, schema: Schema, X: pd.DataFrame) -> np.ndarray:
    """Return the columns of a vocabulary on some rows, (n, V)."""
    return vocabulary.on(read_inputs(X, schema)).T


def patterns_on(vocabulary: Vocabulary, schema: Schema, X: pd.DataFrame) -> np.ndarray:
    """Return the 0/1 mined patterns on some rows, (n, patterns)."""
    binary: Any = [column.binary for column in vocabulary.columns]
    kept = (vocabulary.block == PATTERN) & np.array(binary, bool)
    return on_rows(vocabulary, schema, X)[:, kept]

"""SIRUS: stable rules by their frequency in a forest of shallow trees on quantile-binned columns.

Benard, Biau, Da Veiga and Scornet, "SIRUS: Stable and Interpretable RUle Set for classification",
2021. Columns are cut at their q-quantiles; of the paths of a large forest of depth 2 the most
frequent are taken, those left out that depend linearly on the ones before; a rule says the mean
label of the training rows inside and of those outside, and the prediction is the mean over rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

Path = tuple[tuple[int, int, bool], ...]  # (column, bin, whether below) in the order of columns


@dataclass(frozen=True)
class SirusRule:
    """A rule: its literals (column, threshold, below), and what it says inside and outside."""

    literals: tuple[tuple[int, float, bool], ...]
    inside: float
    outside: float
    frequency: float

    def covers(self, X: np.ndarray) -> np.ndarray:
        """Tell which rows satisfy all literals; a missing value is never below."""
        held = np.ones(len(X), bool)
        for column, threshold, below in self.literals:
            held &= (X[:, column] < threshold) == below
        return held


class Sirus(ClassifierMixin, BaseEstimator):
    """Classifier of `n_rules` rules.

    Parameters
    ----------
    n_rules, depth, n_bins, n_trees : int
    seed : int
    """

    def __init__(
        self,
        n_rules: int = 10,
        depth: int = 2,
        n_bins: int = 10,
        n_trees: int = 1000,
        seed: int = 42,
    ) -> None:
        self.n_rules, self.depth, self.n_bins = n_rules, depth, n_bins
        self.n_trees, self.seed = n_trees, seed

    def fit(self, X: Any, y: Any) -> Sirus:
        """Grow the forest on binned columns and keep its most frequent independent paths."""
        values, label = np.asarray(X, np.float64), np.asarray(y, np.float64)
        self.cuts_ = [_cuts(column, self.n_bins) for column in values.T]
        codes = self._codes(values)
        forest = RandomForestClassifier(
            self.n_trees,
            max_depth=self.depth,
            max_features=max(1, values.shape[1] // 3),
            random_state=self.seed,
            n_jobs=1,
        ).fit(codes, label)
        counted = Counter(path for tree in forest.estimators_ for path in _paths(tree.tree_))
        ranked = sorted(counted.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
        self.rules_ = list(self._independent(ranked, values, label))
        self.base_, self.classes_ = float(label.mean()), np.array([0, 1])
        return self

    def _codes(self, values: np.ndarray) -> np.ndarray:
        codes = [
            np.searchsorted(c, v, side="right") for c, v in zip(self.cuts_, values.T, strict=True)
        ]
        return np.stack(codes, axis=1).astype(np.float64)

    def _independent(
        self, ranked: list[tuple[Path, int]], X: np.ndarray, y: np.ndarray
    ) -> Iterator[SirusRule]:
        """Yield the most frequent rules whose indicators are linearly independent."""
        basis = np.ones((1, len(y)))
        for path, count in ranked:
            literals = tuple((j, float(self.cuts_[j][k]), below) for j, k, below in path)
            rule = SirusRule(literals, 0.0, 0.0, count / self.n_trees)
            held = rule.covers(X)
            grown = np.vstack([basis, held])
            if np.linalg.matrix_rank(grown) == len(grown):
                basis = grown
                yield SirusRule(literals, y[held].mean(), y[~held].mean(), rule.frequency)
            if len(basis) > self.n_rules:
                return

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean of what the rules say, shape (n_rows, 2)."""
        values = np.asarray(X, np.float64)
        p = np.full(len(values), self.base_)
        if self.rules_:
            said = [np.where(r.covers(values), r.inside, r.outside) for r in self.rules_]
            p = np.mean(said, axis=0)
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the more probable class."""
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def _cuts(column: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the inner quantiles of a column, each once; values below the first are bin 0."""
    present = column[~np.isnan(column)]
    if not len(present):
        return np.zeros(0)
    inner = np.quantile(present, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    return np.unique(inner[inner > present.min()])


def _paths(tree: Any) -> Iterator[Path]:
    """Yield the path to every node but the root; equal tests of a path are one."""
    stack: list[tuple[int, Path]] = [(0, ())]
    while stack:
        node, path = stack.pop()
        if path:
            yield path
        if tree.children_left[node] < 0:
            continue
        column, cut = int(tree.feature[node]), int(np.floor(tree.threshold[node]))
        for child, below in ((tree.children_left[node], True), (tree.children_right[node], False)):
            grown = tuple(sorted({*path, (column, cut, below)}))
            stack.append((int(child), grown))

"""Random Stage 3 designs, and their one-hot form for other people's solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from rpte.estimation.design import Design


def make_design(
    codes: list[NDArray[np.intp]],
    direct: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    penalty: NDArray[np.float64] | None = None,
) -> Design:
    counts = tuple(int(c.max()) + 1 for c in codes)
    q = sum(counts) + direct.shape[1]
    return Design(
        np.array(codes, dtype=np.int32).reshape(len(codes), y.size),
        counts,
        np.asfortranarray(direct, dtype=np.float64),
        y.astype(np.float64),
        np.ones(y.size) if weight is None else weight,
        np.ones(q) if penalty is None else penalty,
    )


def one_hot(design: Design) -> NDArray[np.float64]:
    leaves = [np.eye(k)[c] for k, c in zip(design.leaf_counts, design.leaf_codes, strict=True)]
    return np.hstack([*leaves, design.direct])


def standardised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)


def random_design(seed: int, n: int = 120, trees: int = 3, d: int = 8) -> Design:
    """Random leaves and correlated columns; odd seeds have weights."""
    rng = np.random.default_rng(seed)
    codes = [np.unique(rng.integers(0, 4, n), return_inverse=True)[1] for _ in range(trees)]
    x = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    signal = x[:, : min(d, 3)].sum(axis=1) + sum((c - 1.5) * 0.7 for c in codes)
    y = (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(float)
    y[:2] = 0.0, 1.0
    weight = rng.uniform(0.2, 3.0, n) if seed % 2 else None
    return make_design(codes, standardised(x), y, weight)


def tree_design(seed: int, n: int = 80) -> tuple[Design, NDArray[np.intp], list[NDArray[np.intp]]]:
    """Leaves of shallow trees on correlated binary data, with one-hot groups: many dependences.

    Returns the design, the conditions of each term, and the groups.
    """
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 2, (n, 3))
    binary = np.hstack([base, base ^ (rng.random((n, 3)) < 0.1), rng.integers(0, 2, (n, 2))])
    y = (base.sum(axis=1) + rng.normal(size=n) > 1.5).astype(float)
    codes, conditions = [], []
    for m in range(4):
        columns = rng.choice(binary.shape[1], 3, replace=False)
        tree = DecisionTreeClassifier(max_depth=2 + m % 2, min_samples_leaf=3, random_state=m)
        tree.fit(binary[:, columns], y)
        _, code = np.unique(tree.apply(binary[:, columns]), return_inverse=True)
        codes.append(code)
        paths = tree.decision_path(binary[:, columns]).toarray().sum(axis=1) - 1
        conditions += [int(paths[code == leaf][0]) for leaf in range(code.max() + 1)]
    level = rng.integers(0, 3, n)
    direct = np.hstack([binary[:, :4], np.eye(3)[level]]).astype(float)
    first = len(conditions)
    keep = _distinct(codes, direct[:, :4])
    design = make_design(codes, np.hstack([direct[:, keep], direct[:, 4:]]), y)
    conditions += [1] * (len(keep) + 3)
    return design, np.array(conditions), [first + len(keep) + np.arange(3)]


def _distinct(codes: list[NDArray[np.intp]], columns: NDArray[np.float64]) -> list[int]:
    """Columns that neither equal nor complement a leaf or an earlier column."""
    seen = {(c == leaf).tobytes() for c in codes for leaf in range(c.max() + 1)}
    keep = []
    for j in range(columns.shape[1]):
        column = columns[:, j] == 1.0
        if column.tobytes() not in seen and (~column).tobytes() not in seen:
            keep.append(j)
            seen.add(column.tobytes())
    return keep

"""Random Stage 3 designs, their one-hot form for other solvers, and what a solution must fulfil."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from rpte.estimation.design import Design
from rpte.estimation.solver import Fit, lambda_max


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


def with_signs(design: Design, seed: int, penalties: bool = False) -> Design:
    """A third of the terms each: not negative, not positive, free."""
    rng = np.random.default_rng(seed)
    sign = rng.integers(-1, 2, design.n_terms).astype(np.int8)
    penalty = rng.uniform(0.3, 3.0, design.n_terms) if penalties else design.penalty
    return replace(design, sign=sign, penalty=penalty)


def objective_and_slope(
    design: Design, intercept: float, theta: NDArray[np.float64], ridge: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Mean deviance plus ridge and its gradient (intercept first), on the one-hot design."""
    z = one_hot(design)
    share, score = 2 * design.weight / design.weight.sum(), intercept + z @ theta
    residual = share * (1 / (1 + np.exp(-score)) - design.y)
    value = share @ (np.logaddexp(0, score) - design.y * score) + ridge @ theta**2 / 2
    return value, np.append(residual.sum(), z.T @ residual + ridge * theta)


def penalties(
    design: Design, l1: float, l1_ratio: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return l1 * l1_ratio * design.penalty, l1 * (1 - l1_ratio) * design.penalty


def objective(
    design: Design, intercept: float, theta: NDArray[np.float64], l1: float, l1_ratio: float
) -> float:
    """Equation (5) straight from its definition, on the one-hot design."""
    bound, ridge = penalties(design, l1, l1_ratio)
    return objective_and_slope(design, intercept, theta, ridge)[0] + bound @ np.abs(theta)


def kkt(design: Design, fit: Fit) -> float:
    """Distance of zero from the subdifferential, term by term, from its definition."""
    bound, ridge = penalties(design, fit.l1, fit.l1_ratio)
    _, slope = objective_and_slope(design, fit.intercept, fit.coefficients, ridge)
    worst = [abs(slope[0])]
    for g, t, b, s, w in zip(
        slope[1:], fit.coefficients, bound, design.sign, design.penalty, strict=True
    ):
        low, high = (b, b) if t > 0 else (-b, -b) if t < 0 else (-b, b)
        if t == 0 and s == 1:
            low = -np.inf
        if t == 0 and s == -1:
            high = np.inf
        # The normal cone of t >= 0 at zero is (-inf, 0]; 0 must lie in g + [low, high].
        worst.append(max(g + low, -(g + high), 0.0) / w)
    return max(worst)


def assert_certified(design: Design, fit: Fit) -> None:
    assert (design.sign * fit.coefficients >= 0).all()
    assert fit.converged
    # Where no term may follow its gradient, the limits are those of lambda alone.
    top = lambda_max(design, fit.l1_ratio) or fit.l1
    measured = kkt(design, fit)
    assert measured <= min(1.01e-6 * top, 1.01e-3 * fit.l1)
    assert abs(measured - fit.kkt) <= 1e-3 * min(1e-6 * top, 1e-3 * fit.l1)


def random_starts(design: Design, count: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Intercepts with coefficients, of forbidden signs too."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        theta = 0.3 * rng.normal(size=design.n_terms) * (rng.random(design.n_terms) < 0.7)
        yield np.append(0.3 * rng.normal(), theta)

"""Stage 3 against scikit-learn's saga at equal accuracy, and the time of whole paths.

Protocol. "cancer": the breast cancer table of scikit-learn as RPTE would see it, 30 standardised
values, 120 steps at quantiles, 10 shallow trees on random thirds of the columns. "random": M trees
of L independent random leaves and d correlated standardised columns, a fifth of which matter; such
well-conditioned designs are the best case for saga. Fixed seeds. For each lambda (a share of
lambda_max), ours is `solve` from scratch, the median of three runs after compilation. saga sees
the same problem one-hot (built outside the clock) and its `tol` is tightened tenfold from 0.1
until its objective is within 1e-6 (relative) of ours; only that last, successful run is timed.
Both run on one thread, in the same process, one after the other, and are measured in CPU seconds,
which neighbours on the machine disturb least. "gap" is saga's relative distance above our
objective at the end. Aim: at least 5x.

Paths go from lambda_max to a thousandth of it. The first row is what one fold of a default fit of a
small table asks for, some thirty times per fit, where every call counts: the median of nine runs.

    PYTHONPATH=src python benchmarks/stage3.py
"""

from __future__ import annotations

import time
import warnings
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from rpte.estimation.design import Design
from rpte.estimation.solver import Fit, lambda_grid, lambda_max, path, solve

ACCURACY = 1e-6
AGAINST_SAGA = [(569, 10, 6, 150), (2000, 12, 6, 60), (5000, 20, 5, 100), (11500, 10, 6, 40)]
SMALL = (600, 5, 6, 60)
PATHS = [(569, 10, 6, 150), (11_500, 20, 6, 280), (100_000, 20, 5, 150)]


def make(n: int, trees: int, leaves: int, d: int, seed: int = 0) -> Design:
    """Random design with correlated direct columns and random leaves."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ (np.eye(d) + 0.6 * rng.normal(size=(d, d)) / np.sqrt(d))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    codes = rng.integers(0, leaves, size=(trees, n)).astype(np.int32)
    slopes = np.where(rng.random(d) < 0.2, rng.normal(size=d), 0.0)
    values = 0.5 * rng.normal(size=(trees, leaves))
    score = x @ slopes + values[np.arange(trees)[:, None], codes].sum(axis=0)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    penalty = np.ones(trees * leaves + d)
    return Design(codes, (leaves,) * trees, np.asfortranarray(x), y, np.ones(n), penalty)


def cancer() -> Design:
    """Values, quantile steps and shallow trees of the breast cancer table."""
    x, y = load_breast_cancer(return_X_y=True)
    cuts = np.quantile(x, [0.2, 0.4, 0.6, 0.8], axis=0)
    direct = np.hstack([x, *(x > cut for cut in cuts)])
    direct = (direct - direct.mean(axis=0)) / direct.std(axis=0)
    rng, codes = np.random.default_rng(0), []
    for _ in range(10):
        columns = rng.choice(30, 10, replace=False)
        tree = DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=5, random_state=0)
        leaf = tree.fit(x[:, columns], y).apply(x[:, columns])
        codes.append(np.unique(leaf, return_inverse=True)[1])
    counts = tuple(int(c.max()) + 1 for c in codes)
    ones = np.ones(sum(counts) + direct.shape[1])
    return Design(
        np.array(codes, np.int32),
        counts,
        np.asfortranarray(direct),
        y.astype(float),
        np.ones(y.size),
        ones,
    )


def one_hot(design: Design) -> NDArray[np.float64]:
    """Z as saga wants it."""
    leaves = [np.eye(k)[c] for k, c in zip(design.leaf_counts, design.leaf_codes, strict=True)]
    return np.ascontiguousarray(np.hstack([*leaves, design.direct]))


def time_ours(design: Design, l1: float, l1_ratio: float) -> tuple[float, Fit]:
    """Median seconds of three cold fits, and the fit."""
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        fit = solve(design, l1, l1_ratio)
        seconds.append(time.process_time() - begin)
    return median(seconds), fit


def time_saga(design: Design, z: NDArray[np.float64], fit: Fit) -> tuple[float, float, float]:
    """Seconds, tol and gap of the loosest saga that is within `ACCURACY`."""
    for tol in 10.0 ** -np.arange(1, 10):
        saga = LogisticRegression(
            solver="saga",
            C=2 / (design.weight.sum() * fit.l1),
            l1_ratio=fit.l1_ratio,
            tol=tol,
            max_iter=100_000,
            random_state=0,
        )
        begin = time.process_time()
        saga.fit(z, design.y)
        seconds = time.process_time() - begin
        theta = saga.coef_[0]
        ridge = (1 - fit.l1_ratio) / 2 * (theta**2).sum()
        penalty = fit.l1 * (fit.l1_ratio * np.abs(theta).sum() + ridge)
        gap = (design.deviance(saga.intercept_[0], theta) + penalty) / fit.objective - 1
        if gap <= ACCURACY:
            return seconds, tol, gap
    raise RuntimeError("saga never came within the accuracy asked for")


def against_saga() -> None:
    """Print one line per design and lambda."""
    head = ("design", "n", "leaves", "direct", "l1_ratio", "lam/max", "active", "ours s", "kkt/max")
    print("".join(f"{h:>10}" for h in (*head, "saga s", "tol", "gap", "ratio")))
    designs = [("cancer", cancer()), *(("random", make(*shape)) for shape in AGAINST_SAGA)]
    for name, design in designs:
        n, d = design.direct.shape
        z = one_hot(design)
        for l1_ratio, share in ((1.0, 0.1), (1.0, 0.01), (0.5, 0.01)):
            top = lambda_max(design, l1_ratio)
            ours, fit = time_ours(design, share * top, l1_ratio)
            saga, tol, gap = time_saga(design, z, fit)
            active = np.count_nonzero(fit.coefficients)
            print(
                f"{name:>10}{n:>10}{design.n_leaves:>10}{d:>10}{l1_ratio:>10}{share:>10}"
                f"{active:>10}{ours:>10.4f}{fit.kkt / top:>10.0e}{saga:>10.3f}{tol:>10.0e}"
                f"{gap:>10.0e}{saga / ours:>9.1f}x",
                flush=True,
            )


def time_path(design: Design, length: int, runs: int) -> None:
    """Print the median time of the path of `length` lambdas, and how well it ended."""
    n, d = design.direct.shape
    grid, seconds = lambda_grid(design, length=length), []
    for _ in range(runs):
        begin = time.process_time()
        fits = path(design, grid)
        seconds.append(time.process_time() - begin)
    worst = max(f.kkt for f in fits) / grid[0]
    active = np.count_nonzero(fits[-1].coefficients)
    print(
        f"n={n} leaves={design.n_leaves} direct={d}: {median(seconds):.3f} s, "
        f"converged {sum(f.converged for f in fits)}/{length}, "
        f"{sum(f.iterations for f in fits)} steps, worst kkt/lambda_max {worst:.0e}, "
        f"{active} active at the end",
        flush=True,
    )


def whole_paths() -> None:
    """Print one line per design: the small one, then those of 50 lambdas."""
    print("\nwhole paths, lambda_max to lambda_max/1000: one of 40 lambdas, then of 50")
    time_path(make(*SMALL), 40, 9)
    for design in [cancer(), *(make(*shape) for shape in PATHS)]:
        time_path(design, 50, 1)


def main() -> None:
    """Compile on a small design, then measure."""
    small = make(200, 2, 3, 5)
    path(small, lambda_grid(small, length=5))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        against_saga()
        whole_paths()


if __name__ == "__main__":
    main()

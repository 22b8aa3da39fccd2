"""Stage 2: source-disjoint trees, one after the other (the paper's Algorithm 1).

Each round grows a tree on the columns whose sources are all still available, gives its leaves
temporary Newton values (equation 4), and keeps the tree if a backtracking line search lowers the
deviance. Its sources then leave the pool. The leaf values serve the next round's residuals only:
Stage 3 estimates every coefficient anew.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.losses import BINOMIAL, Loss, Residuals
from rpte.structure.coded import CodedColumns, CodeTree
from rpte.structure.grower import GrowthLimits, grow
from rpte.structure.lookahead import grow_with_lookahead
from rpte.utils.arrays import Floats, Index, Int32s

LEAST_DROP = 1e-8  # relative fall of the deviance, for every tree but the first


@dataclass(frozen=True, slots=True)
class Stage2Settings:
    """The bounds and rates of Algorithm 1."""

    max_trees: int = 10  # T
    max_leaves: int = 12  # L_max
    max_depth: int = 8  # D_max
    min_samples_leaf: float = 5.0  # least sum of weights in a leaf
    leaf_ridge: float = 1.0  # rho of equation (4)
    learning_rate: float = 0.3  # eta_0, where the line search begins
    line_search_trials: int = 6  # B_ls, steps that are tried, each half the one before
    max_sources: int | None = None  # that one tree may read
    together: tuple[frozenset[int], ...] | None = None  # sets of sources that a tree may mix
    lookahead: bool = False  # search two-level splits where no single split helps

    def growth(self) -> GrowthLimits:
        """Return the bounds of one tree."""
        bounds = self.max_leaves, self.max_depth, self.min_samples_leaf, self.leaf_ridge
        return GrowthLimits(*bounds, max_sources=self.max_sources, together=self.together)


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One tree that was grown, and the result of its line search."""

    tree: CodeTree
    leaf: Int32s  # of each row, (n,)
    accepted: bool
    step: float  # eta_m, 0 if rejected
    leaf_values: Floats  # before that factor, (n_leaves,), or (K, n_leaves) of several scores
    deviance_before: float
    deviance_after: float  # as before for a rejected tree
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return what the model file keeps of the round."""
        kept = ("step", "deviance_before", "deviance_after", "reason")
        told = {name: getattr(self, name) for name in kept}
        return {"accepted": self.accepted, "leaves": self.tree.n_leaves, **told}


@dataclass(frozen=True, slots=True, eq=False)
class Stage2:
    """The trees of the accepted `rounds`."""

    trees: tuple[CodeTree, ...]
    rounds: tuple[Round, ...]
    score: Floats  # the boosted F, (n,) or (K, n), and its start F_0: NaN for several scores
    base: float
    stopped: str  # why no further tree follows


@dataclass(frozen=True, slots=True, eq=False)
class Grower(ABC):
    """Grows one tree after the other on the columns of a table; `y` and `weight` are (n,)."""

    columns: CodedColumns
    y: Floats
    weight: Floats
    settings: Stage2Settings

    @abstractmethod
    def grow(self, eligible: Index, residuals: Residuals) -> CodeTree | None:
        """Grow a tree on the eligible columns; None if there is no valid split."""

    def tree(self, eligible: Index, g: Floats, h: Floats, limits: GrowthLimits) -> CodeTree | None:
        """Grow a tree by gradient and hessian, with lookahead if the settings ask for it."""
        if self.settings.lookahead:
            return grow_with_lookahead(self.columns, eligible, self.y, g, h, self.weight, limits)
        return grow(self.columns, eligible, g, h, self.weight, limits)


class NewtonGrower(Grower):
    """Splits by their gain in the second-order loss of the residuals."""

    def grow(self, eligible: Index, residuals: Residuals) -> CodeTree | None:
        """Grow a tree by the residuals."""
        return self.tree(eligible, residuals.gradient, residuals.hessian, self.settings.growth())


def discover_trees(
    columns: CodedColumns,
    y: NDArray[np.generic],
    weight: Floats,
    settings: Stage2Settings,
    grower: Grower | None = None,
    before: Stage2 | None = None,
    loss: Loss = BINOMIAL,
) -> Stage2:
    """Run Stage 2 from F_0, the null score, or continue it from `before`.

    `columns` is the vocabulary as codes; `y`, `weight` are (n,). The `grower` is a `NewtonGrower`
    if None.
    """
    target = np.asarray(y, dtype=np.float64)
    weight = np.asarray(weight, dtype=np.float64)
    grower = grower or NewtonGrower(columns, target, weight, settings)

    def deviance(score: Floats) -> float:
        return loss.deviance(score, target, weight)

    if before is None:
        start = loss.null_rows(target, weight)
        before = Stage2((), (), start, base_of(loss, target, weight), "every round was used")
    score, stopped, rounds = before.score, before.stopped, list(before.rounds)
    available = {s for sources in columns.sources for s in sources}
    available -= {s for tree in before.trees for j in tree.used_columns for s in columns.sources[j]}
    while all(r.accepted for r in rounds) and len(rounds) < settings.max_trees:
        residuals = loss.residuals(score, target, weight)
        if not loss.varies(target[weight > 0]):
            stopped = "y has one value"
            break
        tree, stopped = _next_tree(columns, available, residuals, grower)
        if tree is None:
            break
        known = rounds[-1].deviance_after if rounds else deviance(score)
        leaf = tree.apply(columns.codes)
        values = newton_values(leaf, tree.n_leaves, residuals, settings.leaf_ridge)
        least_drop = LEAST_DROP * known if rounds else 0.0
        step, after, stopped = _line_search(
            deviance, score, values[..., leaf], known, least_drop, settings
        )
        rounds.append(Round(tree, leaf, step > 0.0, step, values, known, after, stopped))
        if step == 0.0:
            break
        score = score + step * values[..., leaf]
        available -= {s for j in tree.used_columns for s in columns.sources[j]}
    trees = tuple(r.tree for r in rounds if r.accepted)
    if len(trees) == settings.max_trees:
        stopped = f"{settings.max_trees} trees, the most allowed"
    return Stage2(trees, tuple(rounds), score, before.base, stopped)


def base_of(loss: Loss, y: Floats, weight: Floats) -> float:
    """Return the null score, which Stage 2 starts from; NaN where there are several."""
    return loss.null_score(y, weight) if loss.n_scores == 1 else np.nan


def _next_tree(
    columns: CodedColumns, available: set[int], residuals: Residuals, grower: Grower
) -> tuple[CodeTree | None, str]:
    """Grow the tree of one round on E, the columns whose sources are available, or say why not."""
    fits = [available.issuperset(sources) for sources in columns.sources]
    eligible = np.flatnonzero(np.array(fits, dtype=np.bool_))
    if not len(eligible):
        return None, "no column has all its sources available"
    return grower.grow(eligible, residuals), "no valid split"


def newton_values(leaf: Int32s, n_leaves: int, residuals: Residuals, ridge: float) -> Floats:
    """Return the leaf values of equation (4), sum r / (sum h + rho): (n_leaves,).

    Those of several scores are (K, n_leaves).
    """

    def sums(values: Floats) -> Floats:
        if values.ndim > 1:
            return np.array([sums(each) for each in values])
        return np.asarray(np.bincount(leaf, values, n_leaves), np.float64)

    values: Floats = sums(residuals.gradient) / (sums(residuals.hessian) + ridge)
    return values


def _line_search(
    deviance: Callable[[Floats], float],
    score: Floats,
    change: Floats,
    before: float,
    least_drop: float,
    settings: Stage2Settings,
) -> tuple[float, float, str]:
    """Halve the step from eta_0 until the deviance falls, by at least `least_drop`.

    Returns the step (0 if the tree is rejected), the deviance after it, and the reason.
    """
    step = settings.learning_rate
    for _ in range(settings.line_search_trials):
        after = deviance(score + step * change)
        if after < before:
            if before - after >= least_drop:
                return step, after, "deviance falls"
            return 0.0, before, "deviance hardly falls"
        step /= 2
    return 0.0, before, "no step lowers the deviance"

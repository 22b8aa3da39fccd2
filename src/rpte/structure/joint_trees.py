"""Stage 2 of rules: several trees grown at once, none of which reads a variable of another.

Every step takes the best split of all: of a leaf of any tree, or of all rows, which begins a new
tree (FIGS, Tan et al. 2022, by the second-order gain and with source ownership). After each split
all leaf values are fitted again, so that the next one is judged beside all that is there. A
variable that only adds to the others is split best on all rows and has a tree of its own. It is not
bound to it: where it says more inside a leaf of another tree, it moves there and its own tree is
given up. Only trees of two variables or more keep theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rpte.kernels.growth import GAIN
from rpte.losses import BINOMIAL, Loss
from rpte.structure.boosting import Round, Stage2, Stage2Settings, base_of
from rpte.structure.coded import CodedColumns, CodeTree, TreeBuilder
from rpte.structure.grower import GrowthTask, OpenLeaf, SourceBudget, divide, open_leaf, read_split
from rpte.structure.grower import stack as side_by_side
from rpte.utils.arrays import Floats, Index, Int32s, Ints, Mask

MOST_SPLITS, MOST_SPLITS_OF_CLASSES = 80, 30
# The least gain of a split, a fall of the deviance to second order: of a tree of one variable, and
# of one that joins variables, which is more where there are many columns to join. Of K classes,
# K - 1 times as much: chance gains that often.
LEAST_GAIN, LEAST_JOINT_GAIN, GAIN_PER_LOG_COLUMN = 4.0, 10.0, 2.0
LEAST_STEP = 0.02  # fraction of a Newton step
LEAST_DIFFERENCE = 4.0  # squared, in standard errors, of two leaves that stay apart


@dataclass(slots=True, eq=False)
class _GrowingTree:
    """A tree while it grows: its leaves' rows and its leaf values."""

    builder: TreeBuilder
    rows: dict[int, Int32s]  # of each leaf, by node
    values: dict[int, Floats]  # one number, or one for each class
    sources: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Int32s, classes: tuple[int, ...]) -> _GrowingTree:
        return cls(TreeBuilder(), {0: rows}, {0: np.zeros(classes)})

    def score(self, shape: tuple[int, ...]) -> Floats:
        """Return what the tree adds to the scores, (n,) or (K, n)."""
        return self.spread(self.values, shape)

    def spread(self, values: dict[int, Floats], shape: tuple[int, ...]) -> Floats:
        """Return the value of the leaf of each row, (n,) or (K, n)."""
        added = np.zeros(shape)
        for node, rows in self.rows.items():
            added[..., rows] = values[node][..., None]
        return added


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """The best split of a leaf of a tree."""

    gain: float
    tree: _GrowingTree
    task: GrowthTask
    leaf: OpenLeaf
    column: int  # among the chosen ones of the task


@dataclass(slots=True, eq=False)
class _Forest:
    """All trees so far, and the score that they add up to."""

    columns: CodedColumns
    y: Floats
    weight: Floats
    settings: Stage2Settings
    loss: Loss
    start: Floats
    trees: list[_GrowingTree] = field(default_factory=list)

    def score(self) -> Floats:
        shape = self.start.shape
        return self.start + sum((tree.score(shape) for tree in self.trees), np.zeros(1))

    @property
    def chance(self) -> int:
        """How many directions a leaf's values have that change a prediction."""
        return max(1, self.loss.n_scores - 1)

    def choices(self) -> Iterator[_Choice]:
        """Yield the best split of every leaf, and that which begins another tree."""
        at = self.loss.residuals(self.score(), self.y, self.weight)
        stats = side_by_side(at.gradient, at.hessian, self.weight)
        rows = np.flatnonzero(self.weight > 0).astype(np.int32)
        fresh = _GrowingTree.of(rows, self.start.shape[:-1])
        for tree in (*self.trees, fresh):
            chosen, joins = self._open_to(tree)
            if tree.builder.n_leaves >= self.settings.max_leaves or not len(chosen):
                continue
            task = GrowthTask(self.columns, chosen, stats, self.settings.growth())
            for node, inside in tree.rows.items():
                leaf = open_leaf(task, node, inside, tree.builder.depth[node])
                for admitted, least in ((~joins, self._least(tree)), (joins, self.least_joint)):
                    k = None if leaf is None else leaf.best(admitted)
                    if leaf is not None and k is not None and leaf.found[k, GAIN] >= least:
                        yield _Choice(float(leaf.found[k, GAIN]), tree, task, leaf, k)

    @property
    def least_joint(self) -> float:
        """The least gain of a split by which a tree reads one more variable."""
        least = LEAST_JOINT_GAIN + GAIN_PER_LOG_COLUMN * math.log(self.columns.n_columns)
        return self.chance * least

    def _least(self, tree: _GrowingTree) -> float:
        """Return the least gain of a split on a tree's own variables, or that begins it."""
        return self.least_joint if len(tree.sources) > 1 else self.chance * LEAST_GAIN

    def _open_to(self, tree: _GrowingTree) -> tuple[Ints, Mask]:
        """Return the columns that a tree may split on, and which would bring it another variable.

        Those of its own sources, and of sources that no tree of several has; a new tree begins with
        a source that is in none.
        """
        others = [other for other in self.trees if other is not tree]
        taken = {s for o in others if len(o.sources) > 1 or not tree.sources for s in o.sources}
        free = [not taken.intersection(sources) for sources in self.columns.sources]
        chosen: Index = np.flatnonzero(np.array(free, np.bool_) & ~self.columns.root_only)
        own = [tree.sources.issuperset(self.columns.sources[j]) for j in chosen]
        budget = SourceBudget(self.columns, chosen, self.settings.growth())
        for k in np.flatnonzero(own):
            budget.take(int(k))
        admitted = budget.admits()
        joins = ~np.array(own, np.bool_) & bool(tree.sources)
        return np.asarray(chosen[admitted], np.int64), joins[admitted]

    def split(self, choice: _Choice) -> None:
        """Take a split, and fit all leaf values again."""
        tree, leaf = choice.tree, choice.leaf
        if not tree.sources:
            self.trees.append(tree)
        test = read_split(choice.task, leaf, choice.column)
        del tree.rows[leaf.node]
        before = tree.values.pop(leaf.node)
        for node, rows, _ in divide(choice.task, tree.builder, leaf.node, leaf.rows, test):
            tree.rows[node], tree.values[node] = rows, before
        tree.sources |= set(self.columns.sources[test.column])
        given_up = [o for o in self.trees if o is not tree and o.sources & tree.sources]
        self.trees = [other for other in self.trees if other not in given_up]
        self.fit([tree, *(other for other in self.trees if other is not tree)])

    def fit(self, trees: list[_GrowingTree]) -> None:
        """Take a Newton step of the leaf values of one tree after the other, while that helps."""
        score = self.score()
        for tree in trees:
            steps = self._steps(tree, score)
            step = tree.spread(steps, score.shape)
            before, fraction = self._deviance(score), 1.0
            while fraction > LEAST_STEP and self._deviance(score + fraction * step) > before:
                fraction /= 2.0
            if fraction > LEAST_STEP:
                score = score + fraction * step
                tree.values = {node: v + fraction * steps[node] for node, v in tree.values.items()}

    def _deviance(self, score: Floats) -> float:
        return self.loss.deviance(score, self.y, self.weight)

    def _steps(self, tree: _GrowingTree, score: Floats) -> dict[int, Floats]:
        """Return the Newton step of each leaf value, with the ridge of equation (4)."""
        at, ridge = self.loss.residuals(score, self.y, self.weight), self.settings.leaf_ridge
        found = {}
        for n, rows in tree.rows.items():
            g, h = at.gradient[..., rows].sum(axis=-1), at.hessian[..., rows].sum(axis=-1)
            found[n] = np.asarray((g - ridge * tree.values[n]) / (h + ridge))
        return found

    def merge(self) -> None:
        """Take back splits between leaves of nearly the same effect, the least difference first."""
        while found := min(self._differences(), key=lambda d: d[0], default=None):
            difference, tree, node = found
            if difference >= LEAST_DIFFERENCE:
                return
            first, second = tree.builder.children[node]
            rows = np.sort(np.concatenate([tree.rows.pop(first), tree.rows.pop(second)]))
            value = (tree.values.pop(first) + tree.values.pop(second)) / 2.0
            tree.rows[node], tree.values[node] = rows, value
            tree.builder.splits[node] = None
            tree.sources = {s for j in _columns(tree) for s in self.columns.sources[j]}
            self.trees = [kept for kept in self.trees if kept.sources]
            self.fit(self.trees)

    def _differences(self) -> Iterator[tuple[float, _GrowingTree, int]]:
        """Yield how far apart two sibling leaves are, in squared standard errors of chance."""
        hessian = self.loss.residuals(self.score(), self.y, self.weight).hessian
        ridge = self.settings.leaf_ridge
        for tree in self.trees:
            for node, (first, second) in enumerate(tree.builder.children):
                if first in tree.rows and second in tree.rows:
                    apart = tree.values[first] - tree.values[second]
                    some = (hessian[..., tree.rows[n]].sum(axis=-1) for n in (first, second))
                    variance = sum(1.0 / (mass + ridge) for mass in some)
                    yield float((apart**2 / variance).sum() / self.chance), tree, node


def _columns(tree: _GrowingTree) -> set[int]:
    """Return the columns that the nodes above a tree's leaves test."""
    tested: set[int] = set()
    waiting = [0]
    while waiting:
        split = tree.builder.splits[node := waiting.pop()]
        if split is not None:
            tested.add(split.column)
            waiting += tree.builder.children[node]
    return tested


def _finished(tree: _GrowingTree) -> tuple[CodeTree, Floats]:
    """Return a tree without what was merged, and its leaf values."""
    builder, copied, waiting = TreeBuilder(), {0: 0}, [0]
    while waiting:
        split = tree.builder.splits[node := waiting.pop()]
        if split is not None:
            builder.split(copied[node], split)
            children = tree.builder.children[node]
            copied |= dict(zip(children, builder.children[copied[node]], strict=True))
            waiting += children
    found = builder.finish()
    assert found is not None
    values = np.empty((*next(iter(tree.values.values())).shape, found.n_leaves))
    for node in tree.rows:
        values[..., found.leaf[copied[node]]] = tree.values[node]
    return found, values


def discover_joint_trees(
    columns: CodedColumns,
    y: Floats,
    weight: Floats,
    settings: Stage2Settings,
    loss: Loss = BINOMIAL,
) -> Stage2:
    """Grow trees at once from the null score; `y`, `weight` are (n,).

    Those that read two variables or more are returned: what single variables do, direct terms say
    in fewer conditions. The first is the one without which the deviance would rise most.
    """
    base = base_of(loss, y, weight)
    forest = _Forest(columns, y, weight, settings, loss, loss.null_rows(y, weight))
    most = MOST_SPLITS if loss.n_scores == 1 else MOST_SPLITS_OF_CLASSES
    for _ in range(most if loss.varies(y[weight > 0]) else 0):
        best = _best(list(forest.choices()))
        if best is None:
            break
        forest.split(best)
    forest.merge()
    return _as_rounds(forest, [tree for tree in forest.trees if len(tree.sources) > 1], base)


def _best(choices: list[_Choice]) -> _Choice | None:
    """Return the choice of the largest gain; of equals the first."""
    rounded = [float(f"{choice.gain:.10g}") for choice in choices]
    return choices[int(np.argmax(rounded))] if choices else None


def _as_rounds(forest: _Forest, kept: list[_GrowingTree], base: float) -> Stage2:
    """Return trees as if they had been accepted one after the other, the most useful first."""
    y, weight, loss = forest.y, forest.weight, forest.loss
    whole = forest.score()
    without = [loss.deviance(whole - tree.score(whole.shape), y, weight) for tree in kept]
    order = sorted(range(len(kept)), key=lambda i: (-float(f"{without[i]:.10g}"), i))
    order = order[: forest.settings.max_trees]
    rounds: list[Round] = []
    score, known = forest.start, loss.deviance(forest.start, y, weight)
    for i in order:
        tree, values = _finished(kept[i])
        leaf = tree.apply(forest.columns.codes)
        score = score + values[..., leaf]
        after = loss.deviance(score, y, weight)
        rounds.append(Round(tree, leaf, True, 1.0, values, known, after, "grown with the others"))
        known = after
    trees = tuple(r.tree for r in rounds)
    return Stage2(trees, tuple(rounds), score, base, "no split gains enough")

"""From estimated terms to the frozen model: drop what is zero, prune, name, order, bound.

The number of scores is an axis: of several classes a term is kept where it says something of any.
Each score has the same parts, with coefficients and counts of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rpte.columns.units import any_active, bound_under, is_active
from rpte.estimation.block_terms import leaves_of
from rpte.estimation.ownership import components
from rpte.fit.coefficients import TrainedTerms
from rpte.fit.hazards import TableHazards
from rpte.fit.training import Training
from rpte.model.certificate import monotone_certificate
from rpte.model.class_limits import class_certificate
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.model.survival import SurvivalTarget, steps_of
from rpte.model.target import AnyTarget
from rpte.rows.training_rows import TrainingRows, taken
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.utils.arrays import Floats

T = TypeVar("T", Leaf, DirectTerm)
Part = TreeTerms | DirectTerm
Counts = tuple[float, float]  # the weight and the events of some rows
EachBlock = Callable[[Callable[[Table], Any]], Iterator[Any]]  # as `TrainingRows.map`


def assemble(
    training: Training, trained: TrainedTerms, record: dict[str, Any]
) -> Model | ClassesModel:
    """Build the model that is stored: active terms only, in components that share no source.

    `record` is what the file keeps of the search.
    """
    named, means, ties = _counted_parts(training, trained)
    rows, settings, target = training.rows, training.settings, training.predicts
    shared: dict[str, Any] = {
        "schema": rows.schema,
        "ownership": settings.ownership,
        "settings": settings.to_dict(),
        "bound": bound_under(rows.schema, settings.to_dict()),
        "data": training.data,
    }
    counts = {"rows": training.counted.total_weight, "distinct_rows": rows.n_rows, "ties": ties}
    made: Model | ClassesModel
    if isinstance(target, ClassesTarget):
        target = replace(target, totals=_totals(rows, len(named)))
        told = {**counts, "mean_contributions": means, "monotone": [], **record}
        starts = tuple(trained.intercepts.tolist())
        made = ClassesModel(
            target=target, intercepts=starts, by_class=tuple(named), training=told, **shared
        )
        return replace(made, training={**told, "monotone": class_certificate(made)})
    target = training.target
    told = {name: target.factor * mean for name, (mean,) in means.items()}
    made = Model(
        target=target,
        intercept=float(target.score_of(trained.intercepts[0])),
        components=tuple(_in_units(target, component) for component in named[0]),
        training={**counts, "mean_contributions": told, **record},
        **shared,
    )
    if training.hazards is not None:
        made = with_baseline(made, training.hazards)
    return replace(made, training={**made.training, "monotone": monotone_certificate(made)})


def _counted_parts(
    training: Training, trained: TrainedTerms
) -> tuple[list[tuple[Component, ...]], dict[str, list[float]], list[list[str]]]:
    """Return the components of each score, mean contributions by name of a part, and ties.

    Components stand in the order of how far they move the scores, of several all of them, apart.
    """
    drawn, direct = _trees(trained), _direct(trained)
    by_score: list[list[Part]] = [
        [*(tree.terms for tree in trees), *terms]
        for trees, terms in zip(drawn, direct, strict=True)
    ]
    groups = components([part.sources for part in by_score[0]])
    grouped = [[[parts[i] for i in group] for group in groups] for parts in by_score]
    measured = measure(training.counted.map, drawn, grouped)
    first = [group.parts[0].sources for group in measured[0]]
    spread = [_spread(same) for same in zip(*measured, strict=True)]
    order = sorted(range(len(groups)), key=lambda g: (-spread[g], first[g]))
    named = [name_parts([found[g].parts for g in order]) for found in measured]
    means = [[mean for g in order for mean in found[g].means] for found in measured]
    names = [part.name for component in named[0] for part in component.parts]
    by_name = zip(names, map(list, zip(*means, strict=True)), strict=True)
    return named, dict(by_name), _ties(named[0], drawn[0])


def _totals(rows: TrainingRows, classes: int) -> tuple[float, ...]:
    """Return the weight of each class."""
    found = sum(rows.map(_ClassWeights(classes)))
    return tuple(np.asarray(found, np.float64).tolist())


@dataclass(frozen=True, slots=True)
class _ClassWeights:
    """The weight of each class in a block, (classes,)."""

    classes: int

    def __call__(self, block: Table) -> Any:
        return np.bincount(block.y.astype(np.intp), block.weight, self.classes)


def with_baseline(model: Model, hazards: TableHazards) -> Model:
    """Return a model whose scores have the mean 0 in training, with the baseline beside them."""
    assert isinstance(model.target, SurvivalTarget)
    total = sum(model.training["mean_contributions"].values(), 0.0)
    centred = replace(model, intercept=0.0 - total)
    score = np.concatenate(list(hazards.rows.map(lambda block: centred.score(block.inputs))))
    baseline = steps_of(hazards.risk, score, hazards.ends)
    return replace(centred, target=replace(model.target, baseline=baseline))


def _in_units(target: AnyTarget, component: Component) -> Component:
    """Return a component in the units of the model, from those of the fit."""

    def term(of: T) -> T:
        return replace(
            of,
            coefficient=target.factor * of.coefficient,
            support=target.units.weight * of.support,
            target_total=target.total_of(of.target_total, of.support),
        )

    trees = (replace(tree, leaves=tuple(map(term, tree.leaves))) for tree in component.trees)
    return replace(component, trees=tuple(trees), direct=tuple(map(term, component.direct)))


class Drawn(NamedTuple):
    """A tree that says something, subtrees that say one thing drawn together."""

    terms: TreeTerms  # its leaves not yet counted
    whole: Tree
    members: list[list[int]]  # the leaves of the whole tree that each leaf replaces
    groups: list[int]  # the tie group of each leaf

    def counted(self, sums: Floats) -> TreeTerms:
        """Return the tree with its counts; `sums` (2, leaves) are weight and events by leaf."""
        counts = [sums[:, old].sum(axis=1).tolist() for old in self.members]
        pairs = zip(self.terms.leaves, counts, strict=True)
        leaves = tuple(replace(leaf, support=s[0], target_total=s[1]) for leaf, s in pairs)
        return replace(self.terms, leaves=leaves)


def _trees(trained: TrainedTerms) -> list[list[Drawn]]:
    """Return, for each score, the trees that say something of any, with its coefficients."""
    found: list[list[Drawn]] = [[] for _ in trained.coefficients]
    active, start = any_active(trained.coefficients.T), 0
    for t, tree in enumerate(trained.terms.trees):
        rows = slice(start, start + tree.n_leaves)
        start += tree.n_leaves
        idle, group = ~active[rows], trained.groups(t)
        alike = group
        if trained.said is not None:
            if idle.all():
                continue
            idle, alike = ~trained.said[rows], np.arange(tree.n_leaves)

        def same(leaves: list[int], idle: Any = idle, alike: Any = alike) -> bool:
            return bool(idle[leaves].all() or (alike[leaves] == alike[leaves[0]]).all())

        pruned, members = tree.merge_leaves(same)
        if pruned is None:
            continue
        factors, groups = trained.factors()[rows], [int(group[old[0]]) for old in members]
        for drawn, coefficients in zip(found, trained.coefficients[:, rows], strict=True):
            leaves = tuple(_leaf(coefficients, factors, old) for old in members)
            drawn.append(Drawn(TreeTerms("", pruned, leaves), tree, members, groups))
    return found


def _ties(named: tuple[Component, ...], drawn: list[Drawn]) -> list[list[str]]:
    """Name the active leaves that share a coefficient because a monotone limit tied them."""
    ties: list[list[str]] = []
    for tree in (tree for component in named for tree in component.trees):
        groups = next(each.groups for each in drawn if each.terms.tree is tree.tree)
        names: dict[int, list[str]] = {}
        for number, leaf in enumerate(tree.leaves):
            if leaf.coefficient != 0:
                names.setdefault(groups[number], []).append(tree.leaf_name(number))
        ties += [members for members in names.values() if len(members) > 1]
    return ties


def _leaf(coefficients: Floats, factors: Floats, old: list[int]) -> Leaf:
    """Return the leaf that stands for some old ones; its penalty is the sum of theirs."""
    coefficient = float(coefficients[old[0]]) if is_active(coefficients[old[0]]) else 0.0
    return Leaf(coefficient, 0.0, 0.0, float(factors[old].sum()))


def _direct(trained: TrainedTerms) -> list[list[DirectTerm]]:
    """Return, for each score, the direct terms that are active in any, not yet counted.

    Their coefficients are in the user's units.
    """
    vocabulary, start = trained.terms.vocabulary, sum(trained.terms.leaf_counts)
    sizes, factors = trained.coefficients[:, start:], trained.factors()[start:]
    kept = np.flatnonzero(any_active(sizes.T)).tolist()

    def term(d: int, size: float) -> DirectTerm:
        j = trained.terms.direct[d]
        scale, centre = float(vocabulary.scale[j]), float(vocabulary.centre[j])
        column, factor = vocabulary.columns[j], float(factors[d])
        return DirectTerm("", column, size / scale + 0.0, centre, scale, 0.0, 0.0, factor)

    return [[term(d, float(own[d])) for d in kept] for own in sizes]


@dataclass(frozen=True, slots=True)
class Measured:
    """The parts of a component, counted, with the mean contribution of each."""

    parts: list[Part]
    means: list[float]
    spread: float  # how far it moves scores apart; components stand in this order


def _spread(same: Sequence[Measured]) -> float:
    """Return how far a component moves scores apart; of several, by the sum of the variances."""
    if len(same) == 1:
        return same[0].spread
    return round(sum(each.spread**2 for each in same), 9)


class _BlockSums(NamedTuple):
    """What a block of rows adds to the measure of a component."""

    counts: Floats  # weight and events where a term says something, weight times it; (parts, 3)
    weight: float
    mean: float
    squares: float  # weighted squared distances from the mean of the block


_Sums = tuple[list[Floats], list[_BlockSums]]


def measure(
    each_block: EachBlock, drawn: list[list[Drawn]], groups: list[list[list[Part]]]
) -> list[list[Measured]]:
    """Evaluate every part and count every leaf once for each score, in one pass over all rows."""
    if not groups[0]:
        return [[] for _ in groups]
    found = list(each_block(_Measurement(tuple(each.whole for each in drawn[0]), groups)))
    scores = zip(drawn, groups, zip(*found, strict=True), strict=True)
    return [_of_score(*score) for score in scores]


def _of_score(
    drawn: list[Drawn], groups: list[list[Part]], found: Sequence[_Sums]
) -> list[Measured]:
    """Add up what blocks say of the parts of one score."""
    sums = [sum(block) for block in zip(*(leaves for leaves, _ in found), strict=True)]
    counted = {id(each.terms): each.counted(s) for each, s in zip(drawn, sums, strict=True)}
    by_group = zip(groups, zip(*(blocks for _, blocks in found), strict=True), strict=True)
    return [_measured([counted.get(id(p), p) for p in parts], sums) for parts, sums in by_group]


def _measured(parts: list[Part], found: Sequence[_BlockSums]) -> Measured:
    """Add up what blocks say of a component."""
    counts = sum((block.counts for block in found), np.zeros((len(parts), 3)))
    weight, means, squares = np.array([block[1:] for block in found]).T
    mass, mean = weight.sum(), np.average(means, weights=weight)
    spread = np.sqrt((squares.sum() + weight @ (means - mean) ** 2) / mass)
    counted = [
        replace(part, support=float(s[0]), target_total=float(s[1]))
        if isinstance(part, DirectTerm)
        else part
        for part, s in zip(parts, counts, strict=True)
    ]
    return Measured(counted, (counts[:, 2] / mass).tolist(), float(np.round(spread, 9)))


@dataclass(frozen=True, slots=True)
class _Measurement:
    """Of each score, counts of the leaves of trees in a block, (2, leaves), and of components.

    The target of one of several classes is 1.0 in its rows, 0.0 elsewhere.
    """

    trees: tuple[Tree, ...]
    groups: list[list[list[Part]]]  # by score

    def __call__(self, block: Table) -> list[_Sums]:
        codes = [leaves_of(block, tree) for tree in self.trees]
        several = len(self.groups) > 1
        found = []
        for k, groups in enumerate(self.groups):
            y = (block.y == k).astype(np.float64) if several else block.y
            weights = block.weight, block.weight * y
            leaves = [
                np.array([np.bincount(reached, w, tree.n_leaves) for w in weights])
                for reached, tree in zip(codes, self.trees, strict=True)
            ]
            found.append((leaves, [self._sums(block, y, parts) for parts in groups]))
        return found

    def _sums(self, block: Table, y: Floats, parts: list[Part]) -> _BlockSums:
        inputs = taken(block, {source for part in parts for source in part.sources})
        return _block_sums(Table(inputs, y, block.weight, loss=block.loss), parts)


def _block_sums(some: Table, parts: list[Part]) -> _BlockSums:
    weight, total, counts = some.weight, np.zeros(some.n_rows), np.zeros((len(parts), 3))
    whole = float(weight.sum()), float((weight * some.y).sum())
    for sums, part in zip(counts, parts, strict=True):
        said, contribution = _evaluated(some, whole, part)
        total += contribution
        sums[:] = *said, (contribution * weight).sum()
    mean = float((total * weight).sum() / whole[0]) if whole[0] else 0.0
    return _BlockSums(counts, whole[0], mean, float((((total - mean) ** 2) * weight).sum()))


def _evaluated(some: Table, whole: Counts, part: Part) -> tuple[Counts, Floats]:
    """Return the counts of rows where a direct term says something, and its contributions.

    `whole` are the counts of all rows.
    """
    if isinstance(part, TreeTerms):
        return (0.0, 0.0), part.contribution(some.inputs)
    values = part.column.evaluate(some.inputs)
    contributions = part.times(values)
    if not part.column.binary:
        there = ~np.isnan(values)
        if there.all():
            return whole, contributions
        held, y = np.compress(there, some.weight), np.compress(there, some.y)  # faster than a mask
    else:
        held, y = values * some.weight, some.y
    return (float(held.sum()), float((held * y).sum())), contributions


def name_parts(groups: list[list[Part]]) -> tuple[Component, ...]:
    """Number components, trees and direct terms through the whole model."""
    out, n_trees, n_direct = [], 0, 0
    for number, group in enumerate(groups, 1):
        trees, direct = [], []
        for part in group:
            if isinstance(part, TreeTerms):
                n_trees += 1
                trees.append(replace(part, name=f"T{n_trees}"))
            else:
                n_direct += 1
                direct.append(replace(part, name=f"D{n_direct}"))
        out.append(Component(f"C{number}", tuple(trees), tuple(direct)))
    return tuple(out)

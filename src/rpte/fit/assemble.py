"""From estimated terms to the frozen model: drop what is zero, prune, name, order, bound."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rpte.columns.units import bound_under, is_active
from rpte.estimation.block_terms import leaves_of
from rpte.estimation.ownership import components
from rpte.fit.coefficients import TrainedTerms
from rpte.fit.hazards import TableHazards
from rpte.fit.training import Training
from rpte.model.certificate import monotone_certificate
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.model.survival import SurvivalTarget, steps_of
from rpte.model.target import AnyTarget
from rpte.rows.training_rows import taken
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.utils.arrays import Floats

T = TypeVar("T", Leaf, DirectTerm)
Part = TreeTerms | DirectTerm
Counts = tuple[float, float]  # the weight and the events of some rows
EachBlock = Callable[[Callable[[Table], Any]], Iterator[Any]]  # as `TrainingRows.map`


def assemble(training: Training, trained: TrainedTerms, record: dict[str, Any]) -> Model:
    """Build the model that is stored: active terms only, in components that share no source.

    `record` is what the file keeps of the search.
    """
    rows, settings = training.rows, training.settings
    drawn = _trees(trained)
    parts: list[Part] = [*(tree.terms for tree in drawn), *_direct(trained)]
    groups = components([part.sources for part in parts])
    measured = measure(training.counted.map, drawn, [[parts[i] for i in group] for group in groups])
    measured.sort(key=lambda group: (-group.spread, group.parts[0].sources))
    named = name_parts([group.parts for group in measured])
    means = [mean for group in measured for mean in group.means]
    names = [part.name for component in named for part in component.parts]
    target = training.target
    model = Model(
        schema=rows.schema,
        target=target,
        intercept=float(target.score_of(trained.intercept)),
        components=tuple(_in_units(target, component) for component in named),
        ownership=settings.ownership,
        settings=settings.to_dict(),
        bound=bound_under(rows.schema, settings.to_dict()),
        training={
            "rows": training.counted.total_weight,
            "distinct_rows": rows.n_rows,
            "ties": _ties(named, drawn),
            "mean_contributions": {
                name: target.factor * mean for name, mean in zip(names, means, strict=True)
            },
            **record,
        },
        data=training.data,
    )
    if training.hazards is not None:
        model = with_baseline(model, training.hazards)
    return replace(model, training={**model.training, "monotone": monotone_certificate(model)})


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


def _trees(trained: TrainedTerms) -> list[Drawn]:
    """Return the trees that say something."""
    found, start = [], 0
    for t, tree in enumerate(trained.terms.trees):
        rows = slice(start, start + tree.n_leaves)
        start += tree.n_leaves
        coefficients, factors = trained.coefficients[rows], trained.factors()[rows]
        idle, group = ~is_active(coefficients), trained.groups(t)
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
        leaves = tuple(made_leaf(coefficients, factors, old) for old in members)
        groups = [int(group[old[0]]) for old in members]
        found.append(Drawn(TreeTerms("", pruned, leaves), tree, members, groups))
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


def made_leaf(coefficients: Floats, factors: Floats, old: list[int]) -> Leaf:
    """Return the leaf that stands for some old ones; its penalty is the sum of theirs."""
    coefficient = float(coefficients[old[0]]) if is_active(coefficients[old[0]]) else 0.0
    return Leaf(coefficient, 0.0, 0.0, float(factors[old].sum()))


def _direct(trained: TrainedTerms) -> list[DirectTerm]:
    """Return the active direct terms, their coefficients in the user's units, not yet counted."""
    vocabulary, start = trained.terms.vocabulary, sum(trained.terms.leaf_counts)
    found = []
    for d, j in enumerate(trained.terms.direct):
        coefficient = float(trained.coefficients[start + d])
        if not is_active(coefficient):
            continue
        scale, centre = float(vocabulary.scale[j]), float(vocabulary.centre[j])
        factor = float(trained.factors()[start + d])
        column = vocabulary.columns[j]
        found.append(DirectTerm("", column, coefficient / scale, centre, scale, 0.0, 0.0, factor))
    return found


@dataclass(frozen=True, slots=True)
class Measured:
    """The parts of a component, counted, with the mean contribution of each."""

    parts: list[Part]
    means: list[float]
    spread: float  # how far it moves scores apart; components stand in this order


class _BlockSums(NamedTuple):
    """What a block of rows adds to the measure of a component."""

    counts: Floats  # weight and events where a term says something, weight times it; (parts, 3)
    weight: float
    mean: float
    squares: float  # weighted squared distances from the mean of the block


def measure(each_block: EachBlock, drawn: list[Drawn], groups: list[list[Part]]) -> list[Measured]:
    """Evaluate every part and count every leaf once, in one pass over all rows."""
    if not groups:
        return []
    found = list(each_block(_Measurement(tuple(each.whole for each in drawn), groups)))
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
    """Counts of the leaves of trees in a block, (2, leaves) each, and measures of components."""

    trees: tuple[Tree, ...]
    groups: list[list[Part]]

    def __call__(self, block: Table) -> tuple[list[Floats], list[_BlockSums]]:
        weights = block.weight, block.weight * block.y
        leaves = []
        for tree in self.trees:
            codes, count = leaves_of(block, tree), tree.n_leaves
            leaves.append(np.array([np.bincount(codes, w, count) for w in weights]))
        return leaves, [self._sums(block, parts) for parts in self.groups]

    def _sums(self, block: Table, parts: list[Part]) -> _BlockSums:
        inputs = taken(block, {source for part in parts for source in part.sources})
        return _block_sums(Table(inputs, block.y, block.weight, loss=block.loss), parts)


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

"""From estimated terms to the frozen model: drop what is zero, prune, name, order, bound."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rpte.columns.units import bound_under, is_active
from rpte.estimation.ownership import components
from rpte.fit.coefficients import TrainedTerms
from rpte.fit.training import Training
from rpte.model.certificate import monotone_certificate
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.rows.passes import RowBlocks, TableBlocks, add, each_block
from rpte.structure.tree import Tree
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Int32s

TieGroups = tuple[Tree, list[int]]
Part = TreeTerms | DirectTerm
Counts = tuple[float, float]  # the weight and the events of some rows


def assemble(training: Training, trained: TrainedTerms, record: dict[str, Any]) -> Model:
    """Build the model that is stored: active terms only, in components that share no source.

    `record` is what the file keeps of the search.
    """
    table, settings = training.table, training.settings
    trees, tied = _trees(table, trained)
    parts: list[Part] = [*trees, *_direct(trained)]
    groups = components([part.sources for part in parts])
    measured = [_measure(table, [parts[i] for i in group]) for group in groups]
    measured.sort(key=lambda group: (-group.spread, group.parts[0].sources))
    named = _named([group.parts for group in measured])
    means = [mean for group in measured for mean in group.means]
    names = [part.name for component in named for part in component.parts]
    model = Model(
        schema=table.schema,
        target=training.target,
        intercept=float(trained.intercept),
        components=named,
        ownership=settings.ownership,
        settings=settings.to_dict(),
        bound=bound_under(table.schema, settings.to_dict()),
        training={
            "rows": table.total_weight,
            "distinct_rows": table.n_rows,
            "class_factors": [1.0, 1.0],
            "ties": _ties(named, tied),
            "mean_contributions": dict(zip(names, means, strict=True)),
            **record,
        },
        data=training.data,
    )
    return replace(model, training={**model.training, "monotone": monotone_certificate(model)})


def _trees(table: Table, trained: TrainedTerms) -> tuple[list[TreeTerms], list[TieGroups]]:
    """Return the trees that say something, and the tie group of each of their leaves.

    Subtrees that say one thing are drawn together.
    """
    found, tied, start = [], [], 0
    for t, (tree, codes) in enumerate(zip(trained.terms.trees, trained.leaf_codes, strict=True)):
        rows = slice(start, start + tree.n_leaves)
        start += tree.n_leaves
        coefficients, factors = trained.coefficients[rows], trained.factors()[rows]
        idle, group = ~is_active(coefficients), trained.groups(t)

        def same(leaves: list[int], idle: Any = idle, group: Any = group) -> bool:
            return bool(idle[leaves].all() or (group[leaves] == group[leaves[0]]).all())

        pruned, members = tree.merge_leaves(same)
        if pruned is None:
            continue
        sums = _leaf_counts(table, codes, len(idle))
        leaves = tuple(_leaf(sums, coefficients, factors, old) for old in members)
        found.append(TreeTerms("", pruned, leaves))
        tied.append((pruned, [int(group[old[0]]) for old in members]))
    return found, tied


def _leaf_counts(table: Table, codes: Int32s, n_leaves: int) -> Floats:
    """Return the weight and the events of each leaf, (2, leaves)."""

    def counts(rows: slice) -> Floats:
        weights = table.weight[rows], table.weight[rows] * table.y[rows]
        return np.array([np.bincount(codes[rows], w, n_leaves) for w in weights])

    return add(counts, RowBlocks(table.n_rows))


def _ties(named: tuple[Component, ...], tied: list[TieGroups]) -> list[list[str]]:
    """Name the active leaves that share a coefficient because a monotone limit tied them."""
    ties: list[list[str]] = []
    for tree in (tree for component in named for tree in component.trees):
        groups = next(groups for drawn, groups in tied if drawn is tree.tree)
        names: dict[int, list[str]] = {}
        for number, leaf in enumerate(tree.leaves):
            if leaf.coefficient != 0:
                names.setdefault(groups[number], []).append(tree.leaf_name(number))
        ties += [members for members in names.values() if len(members) > 1]
    return ties


def _leaf(sums: Floats, coefficients: Floats, factors: Floats, old: list[int]) -> Leaf:
    """Return the leaf that stands for some old ones; its penalty is the sum of theirs.

    `sums` (2, leaves) are the weight and the events of all old leaves.
    """
    coefficient = float(coefficients[old[0]]) if is_active(coefficients[old[0]]) else 0.0
    support, events = sums[:, old].sum(axis=1).tolist()
    return Leaf(coefficient, support, events, float(factors[old].sum()))


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
class _Measured:
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


def _measure(table: Table, parts: list[Part]) -> _Measured:
    """Evaluate every part once, in one pass over all rows."""
    cells = table.inputs.only({source for part in parts for source in part.sources})
    rows = TableBlocks(replace(table, inputs=cells))
    found = list(each_block(lambda some: _block_sums(some, parts), rows))
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
    return _Measured(counted, (counts[:, 2] / mass).tolist(), float(np.round(spread, 9)))


def _block_sums(some: Table, parts: list[Part]) -> _BlockSums:
    weight, total, counts = some.weight, np.zeros(some.n_rows), np.zeros((len(parts), 3))
    whole = float(weight.sum()), float((weight * some.y).sum())
    for sums, part in zip(counts, parts, strict=True):
        said, contribution = _evaluated(some, whole, part)
        total += contribution
        sums[:] = *said, (contribution * weight).sum()
    mean = float((total * weight).sum() / whole[0])
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


def _named(groups: list[list[Part]]) -> tuple[Component, ...]:
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

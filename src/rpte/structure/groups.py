"""Which variables interact: disjoint groups of at most four, each with its evidence.

The rows are those that inner validation holds out, with the scores of additive fits that have not
seen them. A pair of variables gains what a tree of two levels explains there beyond the pair's own
main effects, fitted on some folds and valued on another (`kernels/pair_cells.py`). The largest gain
of all pairs is compared with the largest gains under chance: what the gradients of the same cells
would gain if the additive score were true. The best pair above them all starts a group or joins two
variables of one; its tree goes into the score, and the pairs are looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rpte.columns.limits import Permissions
from rpte.kernels.pair_cells import pair_gains
from rpte.losses.loss import Residuals
from rpte.rows.threads import chunks, thread_map
from rpte.structure.coded import CodedColumns
from rpte.structure.group_trees import grow_group, least_information
from rpte.structure.grower import GrowthLimits
from rpte.table.table import Table
from rpte.utils.arrays import Bytes, Floats, Index, Ints

MOST_SOURCES = 4  # of a group
MOST_GROUPS = 3
ROUNDS = 6  # of scans
FIRST_DRAWS, DRAWS = 5, 30  # of chance
LEAST_GAIN = 1.0  # nats, whatever chance gains
MAY_MATTER = 0.6  # of the largest gain of chance, from which products are compared
SHRINK = 0.7  # of leaf values: those of few rows are too large
TREE_SHRINK = 0.8  # of the tree that goes into the score
CELLS = 9  # codes of a variable
MOST_VARIABLES = 64  # of more, those of most use are looked at
PER_TASK = 32  # pairs
LEAVES, DEPTH = 8, 4  # of the tree that goes into the score


@dataclass(frozen=True, slots=True)
class Pairing:
    """Why two variables are in one group: their gain in nats, and the largest one of chance."""

    first: str
    second: str
    gain: float
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as plain JSON values."""
        numbers = {"gain": round(self.gain, 4), "threshold": round(self.threshold, 4)}
        return {"variables": [self.first, self.second], **numbers}


@dataclass(frozen=True, slots=True)
class Interactions:
    """Groups of variables that interact, the strongest first, and the evidence for each pair."""

    groups: tuple[tuple[str, ...], ...] = ()
    evidence: tuple[Pairing, ...] = ()
    strongest: float = 0.0  # gain of any pair
    threshold: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return groups and evidence as plain JSON values."""
        return {
            "groups": [list(group) for group in self.groups],
            "evidence": [pairing.to_dict() for pairing in self.evidence],
            "strongest": round(self.strongest, 4),
            "threshold": round(self.threshold, 4),
        }

    @property
    def may_matter(self) -> bool:
        """Whether some pair gains as much as chance may, so that products are worth a look."""
        return self.strongest > MAY_MATTER * self.threshold

    @property
    def sources(self) -> frozenset[str]:
        """The variables of all groups."""
        return frozenset(name for group in self.groups for name in group)


def find_groups(
    held: Table, score: Floats, folds: Ints, limits: Permissions, largest: int, use: Floats
) -> Interactions:
    """Find the groups of variables that interact.

    Parameters
    ----------
    held : Table
        The rows that validation holds out.
    score : (n,) or (K, n)
        Of additive fits that have not seen them.
    folds : (n,)
        The fold of each row, from 0.
    limits : Permissions
        Which variables may share a component.
    largest : int
        Variables of a group at the most.
    use : (p,)
        How much each variable moves the score; of very many, those of most use are looked at.
    """
    names = _candidates(held, limits, use)
    pairs = [p for p in combinations(names, 2) if limits.may_interact(p)]
    if not pairs or largest < 2:
        return Interactions()
    finder = _Finder.of(held, score, folds, names)
    places = {name: place for place, name in enumerate(names)}
    at = np.array([[places[a], places[b]] for a, b in pairs], np.intp)
    gains = finder.gains(score, at)
    if gains[:, 0].max() <= LEAST_GAIN:
        return Interactions()
    strongest, threshold = float(gains[:, 0].max()), LEAST_GAIN
    for draws in (FIRST_DRAWS, DRAWS):  # the first ones tell of most tables that nothing interacts
        if strongest > threshold:
            threshold = max(threshold, float(finder.gains(score, at, draws)[:, 1:].max()))
    groups: list[frozenset[str]] = []
    evidence: list[Pairing] = []
    for _ in range(ROUNDS):
        found = _strongest(
            pairs, gains[:, 0], threshold, groups, min(largest, MOST_SOURCES), limits
        )
        if found is None:
            break
        number, group = found
        groups = [other for other in groups if not other & group] + [group]
        evidence.append(Pairing(*pairs[number], float(gains[number, 0]), threshold))
        chosen = np.array(sorted(places[name] for name in group), np.int64)
        score = score + finder.tree_scores(score, chosen)
        gains = finder.gains(score, at)
    return Interactions(_in_order(groups, evidence), tuple(evidence), strongest, threshold)


def _candidates(held: Table, limits: Permissions, use: Floats) -> list[str]:
    """Return the variables that may interact, in canonical order; of many those of most use."""
    schema = held.schema
    allowed = [i for i in schema.canonical() if limits.derivable(schema.variables[i].name)]
    order = np.lexsort((np.arange(len(allowed)), -np.round(use[allowed], 9)))
    kept = sorted(order[:MOST_VARIABLES].tolist())
    return [schema.variables[allowed[k]].name for k in kept]


def _strongest(
    pairs: Sequence[tuple[str, str]],
    gains: Floats,
    threshold: float,
    groups: Sequence[frozenset[str]],
    largest: int,
    limits: Permissions,
) -> tuple[int, frozenset[str]] | None:
    """Return the pair of the largest gain that may start a group or join one, and that group."""
    for number in np.argsort(-np.round(gains, 9), kind="stable"):
        if gains[number] <= threshold:
            return None
        pair = frozenset(pairs[number])
        touched = [group for group in groups if group & pair]
        group = pair.union(*touched)
        known = any(pair <= other for other in touched)
        full = len(group) > largest or (not touched and len(groups) >= MOST_GROUPS)
        if not known and not full and limits.may_interact(group):
            return int(number), group
    return None


def _in_order(
    groups: Iterable[frozenset[str]], evidence: Sequence[Pairing]
) -> tuple[tuple[str, ...], ...]:
    """Return groups by the gain of their strongest pair, the names of each sorted."""

    def strength(group: frozenset[str]) -> float:
        return max(pair.gain for pair in evidence if pair.first in group)

    return tuple(tuple(sorted(g)) for g in sorted(groups, key=lambda g: (-strength(g), sorted(g))))


@dataclass(frozen=True, slots=True, eq=False)
class _Finder:
    """The held-out rows as few codes, with what gains are counted in."""

    held: Table
    columns: CodedColumns
    folds: Ints
    n_folds: int
    dispersion: float  # gains are in units of it
    rule: Floats

    @classmethod
    def of(cls, held: Table, score: Floats, folds: Ints, names: Sequence[str]) -> _Finder:
        at = held.loss.residuals(score, held.y, held.weight)
        curvature = np.atleast_2d(at.hessian).mean(axis=0)
        mean = np.atleast_2d(score).mean(axis=0)
        codes = np.empty((len(names), held.n_rows), np.uint8)
        sizes = np.empty(len(names), np.int64)
        for place, name in enumerate(names):
            sizes[place] = _few_codes(held, name, curvature, mean, codes[place])
        sources = tuple((place,) for place in range(len(names)))
        flags = np.zeros(len(names), np.bool_)
        columns = CodedColumns(codes, sizes, flags, sources, flags)
        dispersion = held.loss.dispersion(score, held.y, held.weight)
        least = least_information(float(curvature.sum()))
        rule = np.array([least, min(2.0, least), SHRINK])
        return cls(held, columns, folds, int(folds.max()) + 1, dispersion, rule)

    def at(self, score: Floats) -> Residuals:
        """Return the derivatives of the loss at a score."""
        return self.held.loss.residuals(score, self.held.y, self.held.weight)

    def gains(self, score: Floats, pairs: Index, draws: int = 0) -> Floats:
        """Return the gain of each pair in nats, then as many of chance, (m, 1 + draws)."""
        at = self.at(score)
        values = np.atleast_2d(at.gradient) / np.sqrt(self.dispersion), np.atleast_2d(at.hessian)
        found = np.empty((len(pairs), 1 + draws))
        given = self.columns.codes, self.columns.n_bins, (self.folds, self.n_folds), values

        def fill(some: slice) -> None:
            pair_gains(*given, self.rule, pairs[some], draws, some.start, found[some])

        list(thread_map(fill, chunks(len(pairs), PER_TASK)))
        return found

    def tree_scores(self, score: Floats, chosen: Index) -> Floats:
        """Return what a tree of some variables adds to the score, each fold's from the others."""
        at, weight, added = self.at(score), self.held.weight, np.zeros_like(score)
        limits = GrowthLimits(LEAVES, DEPTH, 0.0, self.rule[0])
        for fold in range(self.n_folds):
            trains = self.folds != fold
            tree = grow_group(self.columns, chosen, at, np.where(trains, weight, 0.0), limits)
            if tree is None:
                continue
            leaf, rows = tree.apply(self.columns.codes), np.flatnonzero(trains)
            sums = [
                np.array([np.bincount(leaf[rows], each[rows], tree.n_leaves) for each in some])
                for some in map(np.atleast_2d, (at.gradient, at.hessian))
            ]
            values = TREE_SHRINK * sums[0] / (sums[1] + self.rule[0])
            steps = values[:, leaf[~trains]]
            added[..., ~trains] = steps if score.ndim > 1 else steps[0]
        return added


def _few_codes(held: Table, name: str, curvature: Floats, score: Floats, out: Bytes) -> int:
    """Write few codes of a variable, bins of equal curvature; return how many there are.

    Labels choose none of them. Levels are in the order of their mean additive score, missing and
    unknown cells have a code of their own, and so have special codes together.
    """
    column = held.inputs[name]
    if column.dtype.kind == "f":
        values, there = column, ~np.isnan(column)
        absent = np.where(there, 0, 1)
        if held.schema[name].levels:
            absent += (~there) & (held.inputs.codes(name) >= 0)
    else:
        there = column >= 0
        absent = np.where(there, 0, 1)
        size = len(held.schema[name].levels)
        mass = np.bincount(column[there], curvature[there], size)
        means = np.bincount(column[there], (curvature * score)[there], size)
        ranking = np.argsort(np.round(means / np.maximum(mass, 1e-300), 9), kind="stable")
        values = np.zeros(len(column))
        values[there] = np.argsort(ranking)[column[there]]
    levels, place = np.unique(values[there], return_inverse=True)
    bins = np.arange(len(levels))
    if len(levels) > CELLS:
        mass = np.bincount(place, curvature[there], len(levels))
        middle = (np.cumsum(mass) - mass / 2) * (CELLS / mass.sum())
        bins = np.unique(np.minimum(middle.astype(np.int64), CELLS - 1), return_inverse=True)[1]
    count = int(bins.max(initial=-1)) + 1
    out[there] = bins[place].astype(np.uint8)
    kinds = np.unique(absent[~there])
    out[~there] = (count + np.searchsorted(kinds, absent[~there])).astype(np.uint8)
    return count + len(kinds)

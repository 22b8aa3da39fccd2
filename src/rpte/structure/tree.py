"""The tree as people read it and as it scores: real thresholds, levels by name (numpy only)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rpte.columns.kinds import (
    Column,
    Interval,
    Level,
    Missing,
    column_from_dict,
    is_true,
    operand_name,
    operand_text,
    said_level,
)
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats, Index, Int32s, Mask

MAX_BINS = 255  # of a number that trees split on
EXACT_BINS = 65_535  # in the published configuration
MOST_BINS = 32  # in the trees of groups


class Words(NamedTuple):
    """How conditions are put: columns, columns beside a sign, and levels."""

    column: Callable[[Column], str]
    operand: Callable[[Column], str]
    level: Callable[[str], str]


TEXT = Words(lambda column: column.text, operand_text, said_level)
NAME = Words(lambda column: column.name, operand_name, str)


@dataclass(frozen=True, slots=True)
class Split:
    """A test on one column.

    A numeric column holds iff its value is at most `threshold`, and where it is missing iff
    `missing_holds`. A binary column (threshold None) holds iff it is true, never where missing.
    """

    column: Column
    threshold: float | None = None
    missing_holds: bool = False

    def holds(self, inputs: Inputs) -> Mask:
        """Return for which rows the test holds."""
        if self.threshold is None:
            return is_true(self.column, inputs)
        values = self.column.evaluate(inputs)
        # Comparisons with a missing value are false.
        return ~(values > self.threshold) if self.missing_holds else values <= self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return the split as plain JSON values."""
        record: dict[str, Any] = {"column": self.column.to_dict()}
        if self.threshold is not None:
            record["at_most"] = self.threshold
            record["missing_holds"] = self.missing_holds
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Split:
        """Rebuild a split from `to_dict`."""
        column = column_from_dict(record["column"])
        if "at_most" not in record:
            return cls(column)
        return cls(column, float(record["at_most"]), bool(record["missing_holds"]))


@dataclass(frozen=True, slots=True)
class Condition:
    """One side of a split: a condition on the way to a leaf."""

    split: Split
    holds: bool

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the condition reads."""
        return self.split.column.sources

    def count(self, schema: Schema) -> int:
        """Return the conditions that a person reads here (two for two sources)."""
        return self.split.column.conditions(schema)

    def text(self, schema: Schema) -> str:
        """Return the condition in words; it always says where missing goes."""
        return self._said(schema, TEXT)

    def name(self, schema: Schema) -> str:
        """Return the condition as logs of decisions hold it, by names: it stays as it is."""
        return self._said(schema, NAME)

    def _said(self, schema: Schema, words: Words) -> str:
        column, threshold = self.split.column, self.split.threshold
        if threshold is not None:
            sign = "<=" if self.holds else ">"
            tail = _absent_text(column, schema) if self.split.missing_holds == self.holds else ""
            return f"{words.operand(column)} {sign} {number_text(threshold)}{tail}"
        if isinstance(column, Level):
            return _level_text(column, self.holds, schema, words)
        if isinstance(column, Interval) and column.unbounded:
            return f"{column.source} is {'a number' if self.holds else 'missing or special'}"
        said = words.column(column)
        if isinstance(column, Missing):
            return said if self.holds else f"{column.source} is present"
        return said if self.holds else f"not ({said}){_absent_text(column, schema)}"


def _absent_text(column: Column, schema: Schema) -> str:
    """Say that missing goes this way, and special codes with it where there are any."""
    variables = [schema[source] for source in column.sources]
    special = any(v.kind == "number" and v.levels for v in variables)
    return " (or missing or special)" if special else " (or missing)"


def _level_text(column: Level, holds: bool, schema: Schema, words: Words) -> str:
    """List the levels that go this way or those that do not, the shorter; missing is 'not in'."""
    others = tuple(v for v in schema[column.source].levels if v not in column.levels)
    if 0 < len(others) < len(column.levels):
        listed = f"{{{', '.join(map(words.level, others))}}}"
        said = f"{column.source} not in {listed} and known"
        return said if holds else f"{column.source} in {listed} (or missing)"
    if holds:
        return words.column(column)
    if len(column.levels) == 1:
        return f"{column.source} is not {words.level(column.levels[0])} (or missing)"
    listed = ", ".join(map(words.level, column.levels))
    return f"{column.source} not in {{{listed}}} (or missing)"


@dataclass(frozen=True, slots=True)
class Branch:
    """An inner node; a child is a branch or the number of a leaf."""

    split: Split
    yes: Branch | int
    no: Branch | int


@dataclass(frozen=True, slots=True)
class Tree:
    """A partition of the input space; leaves are numbered from 0, the `yes` side first."""

    root: Branch

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return sum(1 for _ in self.paths())

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the tree reads, sorted."""
        return tuple(sorted({s for path in self.paths() for c in path for s in c.sources}))

    @property
    def splits(self) -> tuple[Split, ...]:
        """All splits, parents before children."""
        return tuple(node.split for node in _nodes(self.root) if isinstance(node, Branch))

    def paths(self) -> Iterator[tuple[Condition, ...]]:
        """Yield the conditions on the way to each leaf, in the order of leaves."""
        return _paths(self.root, ())

    def apply(self, inputs: Inputs) -> Int32s:
        """Return the number of the leaf that each row reaches, shape (n_rows,)."""
        leaves = np.zeros(inputs.n_rows, np.int32)
        waiting: list[tuple[Branch | int, Index]] = [(self.root, np.arange(inputs.n_rows))]
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, Branch):
                holds = node.split.holds(inputs)[rows]
                waiting += [(node.yes, rows[holds]), (node.no, rows[~holds])]
            else:
                leaves[rows] = node
        return leaves

    def side_weights(self, inputs: Inputs, weight: Floats) -> Floats:
        """Return what rows add up to at each branch, parents first, (branches, 3).

        The weight for which its test holds, the weight for which it does not, and how many rows
        have no value for it.
        """
        found: list[list[float]] = []
        _add_sides(self.root, inputs, weight, np.arange(inputs.n_rows), found)
        return np.array(found, np.float64)

    def with_heavier_sides(self, sums: Floats) -> Tree:
        """Return the tree whose tests send missing to the side of more weight in `side_weights`.

        Those that meet a missing value stay as they are.
        """
        return Tree(_heavier(self.root, iter(sums.tolist())))

    def merge_leaves(
        self, same: Callable[[list[int]], bool]
    ) -> tuple[Tree | None, list[list[int]]]:
        """Replace every subtree whose leaves are the `same` by one leaf.

        Returns the tree, None if one leaf remains, and for each new leaf the old leaves that it
        replaces.
        """
        members: list[list[int]] = []
        root = _merge(self.root, same, members)
        return (Tree(root) if isinstance(root, Branch) else None), members

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain JSON values."""
        return {"root": _node_dict(self.root)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Tree:
        """Rebuild a tree from `to_dict`."""
        root = _node_from_dict(record["root"])
        if not isinstance(root, Branch):
            raise ValueError("a tree without a split")
        tree = cls(root)
        numbers = leaf_numbers(root)
        if numbers != list(range(len(numbers))):
            raise ValueError(f"leaves numbered {numbers[:20]}, not 0, 1, 2, ... in order")
        return tree


def _paths(node: Branch | int, way: tuple[Condition, ...]) -> Iterator[tuple[Condition, ...]]:
    if not isinstance(node, Branch):
        yield way
        return
    yield from _paths(node.yes, (*way, Condition(node.split, True)))
    yield from _paths(node.no, (*way, Condition(node.split, False)))


def _add_sides(
    node: Branch | int, inputs: Inputs, weight: Floats, rows: Index, found: list[list[float]]
) -> None:
    if not isinstance(node, Branch):
        return
    holds = node.split.holds(inputs)[rows]
    yes, no = rows[holds], rows[~holds]
    missing = np.isnan(node.split.column.evaluate(inputs)[rows]).sum()
    found.append([weight[yes].sum(), weight[no].sum(), missing])
    _add_sides(node.yes, inputs, weight, yes, found)
    _add_sides(node.no, inputs, weight, no, found)


def _heavier(node: Branch, sums: Iterator[list[float]]) -> Branch:
    split, (yes, no, missing) = node.split, next(sums)
    if split.threshold is not None and yes != no and not missing:
        split = replace(split, missing_holds=yes > no)
    children = (
        _heavier(child, sums) if isinstance(child, Branch) else child
        for child in (node.yes, node.no)
    )
    return Branch(split, *children)


def _nodes(node: Branch | int) -> Iterator[Branch | int]:
    """Yield the nodes, parents before children, the `yes` side first."""
    yield node
    if isinstance(node, Branch):
        yield from _nodes(node.yes)
        yield from _nodes(node.no)


def leaf_numbers(node: Branch | int) -> list[int]:
    """Return the numbers of the leaves below a node, in order."""
    return [inner for inner in _nodes(node) if not isinstance(inner, Branch)]


def _merge(
    node: Branch | int, same: Callable[[list[int]], bool], out: list[list[int]]
) -> Branch | int:
    leaves = leaf_numbers(node)
    if not isinstance(node, Branch) or same(leaves):
        out.append(leaves)
        return len(out) - 1
    yes = _merge(node.yes, same, out)
    return Branch(node.split, yes, _merge(node.no, same, out))


def _node_dict(node: Branch | int) -> dict[str, Any]:
    if not isinstance(node, Branch):
        return {"leaf": node}
    return {"if": node.split.to_dict(), "yes": _node_dict(node.yes), "no": _node_dict(node.no)}


def _node_from_dict(record: Mapping[str, Any]) -> Branch | int:
    if "leaf" in record:
        return int(record["leaf"])
    split = Split.from_dict(record["if"])
    return Branch(split, _node_from_dict(record["yes"]), _node_from_dict(record["no"]))


def path_conditions(path: tuple[Condition, ...], schema: Schema) -> int:
    """Count the conditions on the way to a leaf, as they stand."""
    return sum(condition.count(schema) for condition in path)

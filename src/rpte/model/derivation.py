"""What Stages 1 and 2 make of a training table, found again with numpy alone.

A fit learns which columns and tests to use from labels; the numbers in them (knots, edges, bins,
centres) follow from the cells and weights. This module finds these numbers again, so that `verify`
need not believe them. Which rows a long table is searched on follows from their content and
weights too, unless groups had to stay together, which no model file keeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.columns.kinds import (
    RAW,
    Column,
    Hinge,
    Interval,
    Level,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
    goes_on,
)
from rpte.model.survival import SurvivalTarget
from rpte.published.items import inner_edges
from rpte.rows.folds import Validation
from rpte.structure.gaps import separable
from rpte.structure.tree import EXACT_BINS, MAX_BINS, MOST_BINS
from rpte.table.decimals import edge_between, short_centre, thresholds_between
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index
from rpte.vocabulary.gain import SortedColumn, median
from rpte.vocabulary.ramps import MARGINS, inner_limits, ramp, within
from rpte.vocabulary.shapes import FEWEST_LEVELS, MOST_LEVELS, shapes_of

if TYPE_CHECKING:
    from rpte.model.model import Model

SAMPLE_OF_OLD_FILES = 25_000  # rows, where a file does not say how many were searched


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins that thresholds on a column stand between: smallest and largest value of each."""

    low: Floats
    high: Floats

    def around(self, below: float, above: float) -> tuple[float, float]:
        """Return the upper end of the bin of one value, and the lower end of that of another."""
        first, second = np.searchsorted(self.low, [below, above], side="right") - 1
        return float(self.high[first]), float(self.low[second])


@dataclass(frozen=True, slots=True)
class TrainingTable:
    """A training table as the fit saw it (equal rows merged), and the parameters of the fit.

    `sample` is of the sample that the table trains on a part of, where shapes and the centres of
    single variables come from all of the sample.
    """

    table: Table
    settings: Mapping[str, Any]
    sample: TrainingTable | None = None
    _cells: dict[Column, Floats] = field(default_factory=dict)
    _locations: dict[Column, tuple[float, float]] = field(default_factory=dict)
    _bins: dict[tuple[Column, bool, bool], Bins] = field(default_factory=dict)
    _values: dict[str, Floats] = field(default_factory=dict)
    _offered: dict[str, list[Column]] = field(default_factory=dict)

    @property
    def paper(self) -> bool:
        """Whether the published configuration's small choices were followed."""
        return bool(self.settings["conventions"] == "paper")

    @property
    def one_shape(self) -> bool:
        """Whether every variable has one shape."""
        return self.settings.get("shapes") == "one"

    def cells(self, column: Column) -> Floats:
        """Return a column on every row."""
        if column not in self._cells:
            self._cells[column] = column.evaluate(self.table.inputs)
        return self._cells[column]

    def values(self, name: str) -> Floats:
        """Return the different values of a number, ascending."""
        if name not in self._values:
            x = self.table.inputs[name]
            self._values[name] = np.unique(x[~np.isnan(x)])
        return self._values[name]

    def location(self, column: Column) -> tuple[float, float]:
        """Return the centre of a number, which stands for missing, and the deviation with it."""
        if self.sample is not None and not isinstance(column, (Pair, Pattern)):
            return self.sample.location(column)
        if column not in self._locations:
            self._locations[column] = self._located(column)
        return self._locations[column]

    def _located(self, column: Column) -> tuple[float, float]:
        x, weight = self.cells(column), self.table.weight
        missing = np.isnan(x)
        mined = self.paper and self.settings["vocabulary"] != "shapes"
        centre = 0.0
        if column.centred and mined and isinstance(column, Pair):
            centre = float(np.average(x[~missing], weights=weight[~missing]))
        elif column.centred:
            centre = median(x, weight)
        scale = _spread(np.where(missing, centre, x), weight)
        return (centre if mined or scale == 0.0 else short_centre(centre, scale)), scale or 1.0

    def filled(self, column: Column) -> Floats:
        """Return a number on every row, missing cells as the published configuration fills them."""
        x = self.cells(column)
        return np.where(np.isnan(x), self.location(column)[0], x)

    def bins(self, column: Column, filled: bool, joined: bool = True) -> Bins:
        """Return the bins of a number that trees split on.

        `filled` as in the published configuration: missing cells have the centre, rows count once.
        `joined` if values of a pair that copies of the rows confuse are one; earlier versions kept
        them apart.
        """
        key = column, filled, joined
        if key not in self._bins:
            x, weight = self.cells(column), self.table.weight
            if filled:
                x, weight = self.filled(column), np.ones(len(x))
            order = np.argsort(x, kind="stable")[: int((~np.isnan(x)).sum())]
            first = np.flatnonzero(np.diff(x[order], prepend=-np.inf) > 0)
            if joined and isinstance(column, Pair):
                first = separable(column, self.table.inputs, x, order, first)
            most = EXACT_BINS if filled else MOST_BINS if self.one_shape else MAX_BINS
            self._bins[key] = _binned(x[order] + 0.0, weight[order], first, most)
        return self._bins[key]

    def offers(self, column: Column) -> bool:
        """Tell whether Stage 1 offers a column, up to which columns it chose by their labels."""
        if isinstance(column, (Pair, Pattern)):
            paired = (
                self.settings["pattern_order"] > 1 and self.settings["vocabulary"] != "original"
            )
            product = isinstance(column, Pattern) or column.operation == "product"
            return paired and all(self._is_part(p, product) for p in (column.left, column.right))
        if isinstance(column, RAW):
            single = not isinstance(column, Level) or len(column.levels) == 1
            return single or (self.settings["vocabulary"] == "shapes" and self._has_sets(column))
        assert isinstance(column, (Step, Hinge, Interval, Scale))
        if self.sample is not None:
            return self.sample.offers(column)
        return any(self._same(column, other) for other in self._made_of(column.source))

    def _has_sets(self, column: Column) -> bool:
        """Tell whether a category has as many levels as sets are made of."""
        variable = self.table.schema[column.sources[0]]
        if self.one_shape:
            return variable.kind != "number"
        return variable.kind != "number" and FEWEST_LEVELS <= len(variable.levels) <= MOST_LEVELS

    def is_root(self, column: Column) -> bool:
        """Tell whether lookahead may have made a pair, for a tree alone."""
        if not isinstance(column, Pair) or self.settings["vocabulary"] == "original":
            return False
        numbers = isinstance(column.left, Value) and isinstance(column.right, Value)
        return bool(self.settings["lookahead"]) and numbers

    def _is_part(self, column: Column, product: bool) -> bool:
        """Tell whether a column may be a part of a product, or else of a distance or a sum.

        Shapes and conditions are multiplied, and of numbers those that hold 0 and 1 alone; one that
        has two other values is told by a step between them.
        """
        if self.settings["vocabulary"] != "shapes" or not product:
            return self.offers(column)
        if isinstance(column, Value):
            return self._is_flag(column)
        if isinstance(column, Step) and len(values := self.values(column.source)) == 2:
            between = thresholds_between(float(values[0]), float(values[1]), False)
            flag = self._is_flag(Value(column.source)) and not self.one_shape
            if column.threshold in between and not flag:
                return True
        return self.offers(column)

    def _is_flag(self, column: Value) -> bool:
        return bool(np.isin(self.filled(column), (0.0, 1.0)).all())

    def _made_of(self, name: str) -> list[Column]:
        """Return the derived columns of one number."""
        if name not in self._offered:
            self._offered[name] = self._shapes(name, self.settings["vocabulary"])
        return self._offered[name]

    def _shapes(self, name: str, vocabulary: str) -> list[Column]:
        if vocabulary == "original":
            return []
        if vocabulary == "shapes":
            rules = self.settings.get("form") == "rules"
            free = shapes_of(self.table, name, self.settings["min_samples_leaf"], rules).columns
            return [*free, *self._limited(name, free)] if self.one_shape else free
        table = self.table
        column = SortedColumn(table.inputs[name], table.y, table.weight, table.loss)
        ends = [-math.inf, *inner_edges(column, not self.paper).tolist(), math.inf]
        return [Interval(name, a, b) for a, b in pairwise(ends)]

    def _limited(self, name: str, free: list[Column]) -> list[Column]:
        """Return pieces of piecewise lines and the other shapes, as they end for each margin."""
        knots = [column.knot for column in free if isinstance(column, Hinge)]
        found: list[Column] = []
        for limits in {inner_limits(self.table, name, margin) for margin in MARGINS} - {None}:
            assert limits is not None
            ends = sorted({*limits, *(k for k in knots if limits[0] < k < limits[1])})
            found += [ramp(name, each) for each in combinations(ends, 2)]
            shapes = (within(column, limits) for column in free if goes_on(column))
            found += [column for column in shapes if column is not None]
        return found

    def _same(self, column: Column, other: Column) -> bool:
        """Tell whether a column is another, its numbers being chosen as some version does."""
        if column == other:
            return True
        if isinstance(column, Step) and isinstance(other, Step):
            return self._alike(column.source, column.threshold, other.threshold)
        if isinstance(column, Hinge) and isinstance(other, Hinge):
            near = self._alike(column.source, column.knot, other.knot)
            return near and (column.side, column.end) == (other.side, other.end)
        if isinstance(column, Interval) and isinstance(other, Interval):
            ends = zip((column.low, column.high), (other.low, other.high), strict=True)
            mined = self.settings["vocabulary"] != "shapes"
            return mined and all(self._same_edge(column.source, a, b) for a, b in ends)
        return isinstance(column, Scale) and isinstance(other, Scale) and self._floor(column, other)

    def _alike(self, name: str, number: float, other: float) -> bool:
        """Tell whether two numbers stand between the same values, as thresholds do."""
        values = self.values(name)
        above, others = np.searchsorted(values, [number, other], side="right")
        if above != others or not 0 < above < len(values):
            return False
        ends = float(values[above - 1]), float(values[above])
        return number in thresholds_between(*ends, False)

    def _same_edge(self, name: str, edge: float, other: float) -> bool:
        """Tell whether two edges part the same values; an edge's own value is above it."""
        values = self.values(name)
        above, others = np.searchsorted(values, [edge, other], side="left")
        if edge == other or above != others or not 0 < above < len(values):
            return edge == other
        low, high = float(values[above - 1]), float(values[above])
        if self.paper:  # earlier versions kept the percentile as it is
            return edge_between(edge, low, high) == other
        return edge in [high if t == low else t for t in thresholds_between(low, high, False)]

    def _floor(self, column: Scale, other: Scale) -> bool:
        """Tell whether both are logs, with a number just below the smallest positive value."""
        if {column.formula, other.formula} != {"log"} or column.limited or other.limited:
            return False
        values = self.values(column.source)
        smallest = float(values[values > 0][0])
        return column.numbers[0] in thresholds_between(smallest / 2, smallest, False)


def _spread(x: Floats, weight: Floats) -> float:
    """Return the weighted standard deviation; shares keep squares of values near 1e300 finite."""
    total = weight.sum()
    mean = (x * weight).sum() / total
    biggest = float(np.abs(x - mean).max())
    if biggest == 0.0:
        return 0.0
    return biggest * float(np.sqrt((weight * ((x - mean) / biggest) ** 2).sum() / total))


def _binned(x: Floats, weight: Floats, first: Index, most: int) -> Bins:
    """Return one bin per value, or bins of like weight where there are too many values.

    The values ascend; `first` is where each one that counts as different begins.
    """
    low, high = x[first], x[np.append(first[1:], len(x))[: len(first)] - 1]
    if len(first) <= most:
        return Bins(low, high)
    value = np.repeat(np.arange(len(first)), np.diff(first, append=len(x)))
    counts = np.bincount(value, weight).astype(np.float64)
    before = np.cumsum(counts) - counts
    number = np.floor(before / float(counts.sum()) * most)
    starts = np.flatnonzero(np.diff(number, prepend=-1.0) > 0)
    return Bins(low[starts], high[np.append(starts[1:], len(first)) - 1])


@dataclass(frozen=True, slots=True)
class LearnedFrom:
    """What the terms of a model follow from.

    `whole` is of all training rows, `terms` of those that terms were found on; None where these
    cannot be drawn again.
    """

    whole: TrainingTable
    terms: TrainingTable | None

    @property
    def rows(self) -> int | None:
        """How many distinct rows a sample has, as the file says it; None for all."""
        if self.terms is None or self.terms is self.whole:
            return None
        return self.terms.table.n_rows


def learned_from(model: Model, table: Table) -> LearnedFrom:
    """Find the rows that the terms of a model were learned from, in its merged training table."""
    settings, told = model.settings, model.training["validation"]
    whole = TrainingTable(table, settings)
    of_causes = isinstance(model.target, SurvivalTarget) and model.target.status is not None
    if (told["by"] == "groups" or of_causes) and "learned_from_rows" in told:
        return LearnedFrom(whole, None)
    if told["by"] != "content" or settings["l1"] != "cv" or not settings["reassign"]:
        return LearnedFrom(whole, whole)
    if "learned_from_rows" not in told:
        return LearnedFrom(whole, whole)
    validation = Validation(min(told["folds"], table.n_cases + 1))  # more folds change nothing
    sample = _searched(table, told)
    folds = validation.folds(sample)
    if folds and len(folds[0].train.rows) != told["learned_from_rows"]:
        folds = validation.folds(sample, copies=False)
    if not folds:  # of a sample that cannot be split nothing is learned
        return LearnedFrom(whole, whole)
    shared = TrainingTable(sample, settings) if settings["vocabulary"] == "shapes" else None
    return LearnedFrom(whole, TrainingTable(folds[0].train.on(sample), settings, shared))


def _searched(table: Table, told: Mapping[str, Any]) -> Table:
    """Draw the rows that were searched; in old files their places were those in the table."""
    if "searched_rows" in told:
        return table.sample(told["searched_rows"])
    place = (np.arange(table.n_rows) + 0.5) / table.n_rows
    return replace(table, hashes=(place * 2.0**64).astype(np.uint64)).sample(SAMPLE_OF_OLD_FILES)

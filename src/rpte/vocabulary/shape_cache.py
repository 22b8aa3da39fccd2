"""The columns of a table's single variables, shared by all folds that learn from its rows.

Shapes, centres and scales come from cells and weights alone, so they are made once. Only which of
them are kept when there are more than the budget is learned from labels, anew for each set of rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rpte.columns.kinds import Column, Hinge, Level, Missing, Step, Value
from rpte.columns.limits import FREE, Permissions
from rpte.kernels.screening import column_moments, knot_moments, scaled_squares
from rpte.rows.threads import thread_map
from rpte.table.column import few_values
from rpte.table.decimals import short_centre
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index, Mask
from rpte.vocabulary.cuts import best_cuts, level_sets
from rpte.vocabulary.gain import median
from rpte.vocabulary.ramps import Limits, inner_limits
from rpte.vocabulary.redundancy import Registry
from rpte.vocabulary.screening import NullModel, promising, strongest
from rpte.vocabulary.shapes import shapes_of

Middle = Literal["zero", "mean", "median"]

NARROWEST = 1e-290  # a coefficient of a column that varies less, such as a product, may overflow
STEPS, ABOVE, BELOW, OTHER = range(4)  # the first three in the order of `knot_scores`


@dataclass(frozen=True, slots=True)
class Entry:
    """A column on all rows of a table."""

    z: Floats  # (value - centre) / scale, 0 where missing, binary columns as they are; (n,)
    centre: float
    scale: float
    # The same for equal or complementary columns; -1 if it varies too little for a coefficient.
    number: int


def evaluate(
    table: Table,
    column: Column,
    middle: Middle,
    exact: bool,
    seen: Registry,
    rows: int | None = None,
) -> Entry:
    """Evaluate a column on a table, and choose its centre and scale; z is of the first `rows`."""
    x = column.evaluate(table.inputs)
    if column.binary:
        return Entry(x[:rows], 0.0, 1.0, seen.number(x))
    centre, scale = _location(x, table.weight, middle if column.centred else "zero", exact)
    number = seen.number(x) if scale > NARROWEST else -1
    return Entry(standardise(x[:rows], centre, scale), centre, scale, number)


def standardise(x: Floats, centre: float, scale: float) -> Floats:
    """Return (x - centre) / scale, 0 where missing."""
    z = (x - centre) / scale
    missing = np.isnan(z)
    if missing.any():
        z[missing] = 0.0
    return z


def _location(x: Floats, weight: Floats, middle: Middle, exact: bool) -> tuple[float, float]:
    """Return the value to fill missing cells with, and the standard deviation after that."""
    missing = np.isnan(x)
    gaps = bool(missing.any())
    if gaps and missing.all():
        return 0.0, 1.0
    centre = 0.0
    if middle == "mean":
        present = (x[~missing], weight[~missing]) if gaps else (x, weight)
        centre = float(np.average(present[0], weights=present[1]))
    elif middle == "median":
        centre = median(x, weight)
    scale = _spread(np.where(missing, centre, x) if gaps else x, weight)
    if scale == 0.0:
        return centre, 1.0
    return (centre if exact else short_centre(centre, scale)), scale


def _spread(x: Floats, weight: Floats) -> float:
    """Return the weighted standard deviation, in few passes without many copies."""
    plain, total = bool((weight == 1.0).all()), weight.sum()
    work = np.empty_like(x) if plain else x * weight
    mean = (x if plain else work).sum() / total
    biggest = scaled_squares(x, mean, work)
    if biggest == 0.0:
        return 0.0
    if not plain:
        work *= weight
    return biggest * float(np.sqrt(work.sum() / total))


@dataclass(frozen=True, slots=True)
class _Family:
    """All shapes of a number, and where their scores are found."""

    columns: tuple[Column, ...]
    knots: Floats  # (m,)
    fine: Mask  # whether a knot is there for labels to choose from, (m,)
    kind: Index  # STEPS, ABOVE or BELOW for a step or a hinge; OTHER; (s,)
    place: Index  # of its knot; 0 for others; (s,)

    @classmethod
    def of(cls, columns: tuple[Column, ...], fine_knots: frozenset[float]) -> _Family:
        found = np.array([_kind_and_knot(column) for column in columns]).reshape(-1, 2)
        kind, at = found[:, 0].astype(np.intp), found[:, 1]
        knots = np.unique(at[kind != OTHER])
        fine = np.isin(knots, list(fine_knots))
        return cls(columns, knots, fine, kind, np.searchsorted(knots, at))

    def offered(self, sums: Floats) -> Mask:
        """Tell which columns are offered: of the fine knots those that labels ask for, (s,).

        `sums` (scores, m + 1, 5) are those between the knots.
        """
        kept = ~self.fine
        if not kept.all():
            kept[best_cuts(sums[..., 0], sums[..., 3])] = True
        return np.asarray((self.kind == OTHER) | np.append(kept, False)[self.place])


def _kind_and_knot(column: Column) -> tuple[int, float]:
    if isinstance(column, Step):
        return STEPS, column.threshold
    if isinstance(column, Hinge):
        return (ABOVE if column.side == "above" else BELOW), column.knot
    return OTHER, -np.inf


def original_columns(
    table: Table, paper: bool, limits: Permissions = FREE, values: bool = True
) -> tuple[Column, ...]:
    """Return values, levels (special codes too) and missing flags, by variable in order."""
    columns: list[Column] = []
    for position in table.schema.canonical():
        variable = table.schema.variables[position]
        if not limits.usable(variable.name):
            continue
        if variable.kind == "number" and values:
            columns.append(Value(variable.name))
        levels = variable.levels
        if variable.kind == "category" and len(levels) == 2 and not paper:  # the first is "no"
            levels = levels[:1] if variable.pooled else levels[1:]
        columns.extend(Level(variable.name, (level,)) for level in levels)
        if variable.has_missing and not (paper and variable.kind == "number"):
            columns.append(Missing(variable.name))
    return tuple(columns)


@dataclass(frozen=True, slots=True)
class ShapeCache:
    """All shapes of a table's numbers, each evaluated when it is first needed.

    `least` is the weight that must lie on either side of a knot; with `rules` there are codes and
    steps alone, and no values. `every_value` keeps numbers of two values as they are, for trees
    that look ahead on pairs of numbers.
    """

    table: Table
    least: float
    limits: Permissions
    rules: bool = False
    every_value: bool = False
    _originals: dict[bool, tuple[Column, ...]] = field(default_factory=dict)
    _families: dict[str, _Family] = field(default_factory=dict)
    _entries: dict[Column, Entry] = field(default_factory=dict)
    _limits: dict[tuple[str, float], Limits | None] = field(default_factory=dict)
    _seen: Registry = field(default_factory=Registry)

    def originals(self, paper: bool) -> tuple[Column, ...]:
        """Return the raw columns, without values where there are `rules` or a step says as much."""
        if paper not in self._originals:
            columns = original_columns(self.table, paper, self.limits, not self.rules)
            self._originals[paper] = tuple(c for c in columns if not self._has_step_alone(c))
        return self._originals[paper]

    def _has_step_alone(self, column: Column) -> bool:
        """Tell whether a column is a number of two values, which the step between them tells."""
        name = column.sources[0]
        if not isinstance(column, Value) or not self.limits.derivable(name) or self.every_value:
            return False
        return len(few_values(self.table.inputs[name])) == 2 and bool(self.shapes(name))

    def shapes(self, name: str) -> tuple[Column, ...]:
        """Return the shapes of a number that the limits allow."""
        return self._family(name).columns

    def _family(self, name: str) -> _Family:
        if name not in self._families:
            found = shapes_of(self.table, name, self.least, self.rules)
            admitted = tuple(c for c in found.columns if self.limits.admits(c))
            self._families[name] = _Family.of(admitted, found.fine_knots)
        return self._families[name]

    def entry(self, column: Column) -> Entry:
        """Return a column on all rows."""
        found = self._entries.get(column)
        if found is None:
            found = evaluate(self.table, column, "median", False, self._seen)
            self._entries[column] = found
        return found

    def inner_limits(self, name: str, margin: float) -> Limits | None:
        """Return between which numbers the effect of a number may change."""
        if (name, margin) not in self._limits:
            self._limits[name, margin] = inner_limits(self.table, name, margin)
        return self._limits[name, margin]

    def keep(self, columns: Collection[Column] = ()) -> None:
        """Release the memory of all columns but some, such as those that vocabularies hold."""
        for column in [*self._entries]:
            if column not in columns:
                self._entries.pop(column, None)

    def strongest(self, part: Table, rows: Index, most: int) -> tuple[Column, ...]:
        """Return at most `most` shapes and sets of levels: those of the highest scores in `part`.

        `rows` are those of `part` in the cache's table.
        """
        among, nulls = promising(part, self.limits), NullModel.of(part)
        sets = level_sets(part, nulls, self.limits)[:most]
        variables = [part.schema.variables[i] for i in part.schema.canonical()]
        names = [v.name for v in variables if v.kind == "number" and v.name in among]
        families, most = list(thread_map(self._family, names)), most - len(sets)
        columns = [column for family in families for column in family.columns]
        few = len(columns) <= most
        if few and not any(family.fine.any() for family in families):
            return (*columns, *sets)
        sums, knots = self._knot_sums(names, families, rows, nulls)
        by_number = zip(families, np.moveaxis(sums, 1, 0), strict=True)
        offered = np.concatenate([f.offered(s[:, : len(f.knots) + 1]) for f, s in by_number])
        which = np.flatnonzero(offered)
        columns = [columns[j] for j in which]
        if len(columns) > most:
            of_each = zip(sums, nulls, strict=True)
            found = [self._scores(families, s, knots, rows, null)[which] for s, null in of_each]
            scores = np.sum(found, axis=0)
            columns = [columns[j] for j in strongest(columns, scores, most)]
        return (*columns, *sets)

    def _scores(
        self, families: list[_Family], sums: Floats, knots: Floats, rows: Index, null: NullModel
    ) -> Floats:
        """Return the score of each shape of some numbers; `sums` and `knots` are theirs."""
        kind = np.concatenate([family.kind for family in families])
        place = np.concatenate([family.place for family in families])
        owner = np.repeat(np.arange(len(families)), [len(family.kind) for family in families])
        columns = [column for family in families for column in family.columns]
        other, at = np.flatnonzero(kind == OTHER), np.flatnonzero(kind != OTHER)
        moments = np.empty((len(other), 3))

        def fill(j: int, line: Floats) -> None:
            column_moments(self.entry(columns[j]).z, rows, null.curvature, null.gradient, line)

        list(thread_map(fill, other.tolist(), list(moments)))
        scores = np.empty(len(kind))
        scores[at] = null.knot_scores(sums, knots)[kind[at], owner[at], place[at]]
        scores[other] = null.scores(sums.sum(axis=1)[owner[other]], *moments.T)
        return scores

    def _knot_sums(
        self, names: list[str], families: list[_Family], rows: Index, nulls: list[NullModel]
    ) -> tuple[Floats, Floats]:
        """Return sums between knots, (scores, k, m + 1, 5), and the knots in their units, (k, m).

        Numbers with fewer knots than others have zeros at the end.
        """
        most = max(len(family.knots) for family in families)
        sums = np.zeros((len(nulls), len(names), most + 1, 5))
        knots = np.zeros((len(names), most))

        def fill(j: int) -> None:
            name, at = names[j], families[j].knots
            x, about, m = self.table.inputs[name], self.entry(Value(name)), len(at)
            centre, scale = about.centre, about.scale
            knots[j, :m] = (at - centre) / scale
            for null, out in zip(nulls, sums[:, j, : m + 1], strict=True):
                knot_moments(x, rows, centre, scale, at, null.curvature, null.gradient, out)

        list(thread_map(fill, range(len(names))))
        return sums, knots

"""From a model to a card.

The parts of one variable make one table; what products and other pairs of two variables say of one
of them alone goes to its table, and what is left makes a table of both. Trees of several variables
and conditions on two keep their leaves.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rpte.columns.kinds import Pair
from rpte.errors import InputError
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.scorecard.card import Grid, Leaves, Scale, Scorecard, Table
from rpte.scorecard.outcome import bad_side
from rpte.scorecard.values import Values, inputs_of, joint_weights, values_of
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.inputs import Inputs
from rpte.table.table import read_weights
from rpte.utils.arrays import Floats, Index, Ints

Part = TreeTerms | DirectTerm
MOST_BINS = 8
NEGLIGIBLE = 0.05  # mean squared error in points; rounding to whole points alone makes 0.08
NEGLIGIBLE_IN_GRIDS = 2.0  # squared points; a table of two variables stays small for it
CERTAIN = math.log(1e9)  # log odds beyond which a case is as good as decided
RARE = 1e-3  # share of rows, or of combinations, at either end
HUGE = 1e6  # log odds that sums stay exact with


def make_card(
    model: Model,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    horizons: Sequence[float] = (),
    stratum: Label | None = None,
    **scale: Any,
) -> Scorecard:
    """Make a card of a model; `scale` are the fields of `Scale`.

    Bins are made from the values of some rows, such as the training table; without them from the
    equal parts and quantiles that the model file tells of, and `InputError` is raised where it does
    not. With labels `y` the card also counts the classes of the rows in each line, for weights of
    evidence and information values (`rpte.scorecard.evidence`).

    Without `points_for`, points speak for the class that is no bad outcome by its name
    (`rpte.scorecard.outcome`), so that many of them mean a low risk; else for the positive class.

    Of a model of times, the card tells survival at the `horizons`, in a `stratum` or in all; the
    fewest points of every table are 0, and `pdo` and `points_for` are all there is to choose.
    """
    of_times = _of_times(model, horizons, stratum, scale)
    if scale.get("points_for") is None:
        scale["points_for"] = "positive"
        if isinstance(model.target, Target) and (bad := bad_side(model.target)) is not None:
            scale["points_for"] = "other" if bad[0] == "positive" else "positive"
    scaled = Scale(**scale)
    target = None if y is None else _counted_target(model, X)
    rows = None if X is None else model.read(X)
    values = {name: values_of(model, name, rows) for name in model.sources}
    effects = Effects(model, values)
    maker = Maker(scaled.factor, scaled.offset + scaled.factor * effects.constant)
    for component in model.components:
        own = [names for names in effects.by_names if names[0] in component.sources]
        single, double = ([n for n in own if len(n) == size] for size in (1, 2))
        for names in (*sorted(single), *double):
            maker.add_grid(tuple(values[n] for n in names), effects.by_names[names], rows)
        for part in component.parts:
            if not _in_grids(part):
                maker.add_leaves(part)
    counted = None if rows is None else rows.n_rows
    if of_times is not None:
        low = maker.from_zero()
        scaled = replace(scaled, base_score=-(maker.base + low))
        made = tuple(maker.tables), counted, maker.bound
        return Scorecard(model, scaled, 0, *made, *of_times)
    base = round(maker.base)
    bound = min(maker.bound + abs(maker.base - base), 2 * CERTAIN * abs(scaled.factor))
    card = Scorecard(model, scaled, base, tuple(maker.tables), counted, bound)
    if target is None or rows is None:
        return card
    favoured = target.read(y, rows.n_rows)
    favoured = favoured if scaled.points_for == "positive" else 1.0 - favoured
    return card.with_counts(rows, favoured, read_weights(sample_weight, rows.n_rows))


def _counted_target(model: Model, X: Any) -> Target:
    """Return the two classes that labels are of; refuse labels where nothing is to be counted."""
    if not isinstance(model.target, Target):
        raise InputError("y is for cards of two classes: weights of evidence compare their counts")
    if X is None:
        raise InputError("y needs the rows that it belongs to; give X too")
    if model.settings["profile"] == "none":
        raise InputError(
            "y counts the classes of rows in every line, and the model has profile='none', which "
            "keeps counts out of what is written; leave y out"
        )
    return model.target


def _of_times(
    model: Model, horizons: Sequence[float], stratum: Label | None, scale: dict[str, Any]
) -> tuple[tuple[float, ...], Label | None] | None:
    """Return the horizons of a card of times, and put its scale right; None of two classes."""
    target = model.target
    if not isinstance(target, SurvivalTarget):
        if len(horizons) or stratum is not None:
            raise InputError("horizons and stratum are for cards of times until an event")
        return None
    given = [name for name in ("base_score", "base_odds") if name in scale]
    if given:
        raise InputError(
            f"{given[0]}={scale[given[0]]!r}; points of hazards begin at 0: leave it out"
        )
    scale |= {"base_score": 0.0, "base_odds": 1.0}
    if stratum is not None:
        target.steps(stratum)
    times = target.check_times(list(horizons)).tolist() if len(horizons) else []
    return tuple(times), stratum


def _in_grids(part: Part) -> bool:
    """Tell whether a part goes into the tables of its variables; others keep their leaves."""
    if len(part.sources) == 1:
        return True
    return isinstance(part, DirectTerm) and isinstance(part.column, Pair)


class Effects:
    """The log odds that values of one variable, and of two at once, add.

    `by_names` holds them by the names of the variables; with `constant` and the parts that keep
    their leaves they add up to the model's score.
    """

    def __init__(self, model: Model, values: Mapping[str, Values]) -> None:
        self.values = values
        self.constant = model.intercept
        self.by_names: dict[tuple[str, ...], Floats] = {}
        for part in (part for _, part in model.parts() if _in_grids(part)):
            names = tuple(sorted(part.sources))
            axes = [values[name] for name in names]
            with np.errstate(over="ignore"):
                found = part.contribution(inputs_of(*axes))
            self._add(names, np.clip(found, -HUGE, HUGE).reshape([len(axis) for axis in axes]))
        for names in [names for names in self.by_names if len(names) == 2]:
            self._purify(names)

    def _add(self, names: tuple[str, ...], effect: Floats) -> None:
        self.by_names[names] = self.by_names.get(names, 0.0) + effect

    def _purify(self, names: tuple[str, ...]) -> None:
        """Move the mean, and the mean over each variable, out of a table of two.

        They are means of effects inside certainty: an outlier would move them off what is usual.
        """
        effect = self.by_names[names]
        left, right = (self.values[name].weights for name in names)
        _, usual, _ = _quantiles(effect, np.outer(left, right))
        inside = np.clip(effect, usual - CERTAIN, usual + CERTAIN)
        mean = float(left @ inside @ right)
        rows, columns = inside @ right - mean, left @ inside - mean
        self.by_names[names] = effect - mean - rows[:, None] - columns[None, :]
        self.constant += mean
        self._add(names[:1], rows)
        self._add(names[1:], columns)


@dataclass(slots=True)
class Maker:
    """Collects tables in points; what every row gets goes to the base."""

    factor: float
    base: float
    tables: list[Table] = field(default_factory=list)
    bound: float = 0.0

    def add_grid(self, axes: tuple[Values, ...], effect: Floats, rows: Inputs | None) -> None:
        """Add a table of one or two variables, unless all of its points are equal.

        Where even the usual effect is beyond certainty (that of a product with outliers, say, which
        others take back), it goes to the base.
        """
        single = len(axes) == 1
        weights = axes[0].weights if single else joint_weights(axes[0], axes[1], rows)
        negligible = NEGLIGIBLE if single else NEGLIGIBLE_IN_GRIDS
        low, usual, high = _quantiles(effect, weights)
        if abs(usual) > CERTAIN:
            effect, low, high = effect - usual, low - usual, high - usual
            self.base += self.factor * usual
            usual = 0.0
        bounded = np.clip(effect, usual - CERTAIN, usual + CERTAIN)
        wanted = self.factor * (bounded if single else np.clip(bounded, low, high))
        groups = [_groups(axis, wanted, weights, k, negligible) for k, axis in enumerate(axes)]
        means = _sums(wanted * weights, groups) / _sums(weights, groups)
        points = np.rint(means).astype(np.int64)
        for k, axis in enumerate(axes):
            points, groups[k] = _merged(axis, points, groups[k], k)
        self.bound += float(np.abs(points[np.ix_(*groups)] - self.factor * effect).max())
        if (points == points.flat[0]).all():
            self.base += int(points.flat[0])
            return
        drawn = tuple(axis.grouped(group) for axis, group in zip(axes, groups, strict=True))
        self.tables.append(Grid(drawn, points))

    def add_leaves(self, part: Part) -> None:
        """Add the leaves of a tree, or a condition and its opposite."""
        if isinstance(part, TreeTerms):
            tree, effects = part.tree, np.array([leaf.coefficient for leaf in part.leaves])
        else:
            tree, effects = Tree(Branch(Split(part.column), 0, 1)), np.array([part.coefficient, 0])
        points = np.rint(self.factor * np.clip(effects, -CERTAIN, CERTAIN)).astype(np.int64)
        self.bound += float(np.abs(points - self.factor * effects).max())
        if points.any():
            self.tables.append(Leaves(part.name, tree, points))

    def from_zero(self) -> int:
        """Let the fewest points of every table be 0, and return what was taken from all rows."""
        lows = [int(table.points.min()) for table in self.tables]
        pairs = zip(self.tables, lows, strict=True)
        self.tables = [replace(table, points=table.points - low) for table, low in pairs]
        return sum(lows)


def _quantiles(effect: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return the median effect between the ends that all but the rarest effects lie inside."""
    order = np.argsort(effect, axis=None)
    below = np.cumsum(weights.reshape(-1)[order])
    places = np.searchsorted(below, below[-1] * np.array([RARE, 0.5, 1 - RARE]))
    low, median, high = effect.reshape(-1)[order][np.minimum(places, effect.size - 1)].tolist()
    return low, median, high


def _groups(axis: Values, wanted: Floats, weights: Floats, k: int, negligible: float) -> Index:
    """Return the attribute of each value: bins of numbers, everything else by itself."""
    n = len(axis.numbers)
    effects, counts = (np.moveaxis(a, k, 0).reshape(len(axis), -1)[:n] for a in (wanted, weights))
    bins = segment(effects, counts, MOST_BINS, negligible) if n else np.zeros(0, np.intp)
    first = int(bins[-1]) + 1 if n else 0
    return np.concatenate([bins, first + np.arange(len(axis.codes))])


def _sums(values: Floats, groups: list[Index]) -> Floats:
    """Return sums over the values of each attribute, or pair of attributes."""
    for k, group in enumerate(groups):
        inside = (np.arange(group[-1] + 1)[:, None] == group).astype(np.float64)
        values = np.moveaxis(np.tensordot(inside, values, (1, k)), 0, k)
    return values


def _merged(axis: Values, points: Ints, group: Index, k: int) -> tuple[Ints, Index]:
    """Join neighbouring bins, and levels, that have equal points."""
    lines = np.moveaxis(points, k, 0)
    first = len(lines) - len(axis.codes)  # bins of numbers come before
    named = [place for place, code in enumerate(axis.codes.tolist(), first) if axis.is_named(code)]
    new, kept = np.zeros(len(lines), np.intp), [0]
    for place in range(1, len(lines)):
        near = kept[-1:] if place < first else [p for p in kept if {p, place} <= set(named)]
        same = [p for p in near if (lines[p] == lines[place]).all()]
        new[place] = new[same[0]] if same else len(kept)
        kept += [] if same else [place]
    return np.asarray(np.moveaxis(lines[kept], 0, k)), new[group]


def segment(
    effects: Floats, weights: Floats, most: int = MOST_BINS, negligible: float = NEGLIGIBLE
) -> Index:
    """Cut values in order into at most `most` bins with the least squared error of their means.

    Where the effect is a slope over evenly spread values, every bin covers the same effect. Fewer
    bins are made where the mean squared error is negligible. Effects, in points, and weights have
    the shape (n, d): for each value, one beside each value of another variable. Returned is the
    bin of each value, from 0.

    Examples
    --------
    >>> segment(np.array([[0.0], [1.0], [40.0], [41.0]]), np.ones((4, 1)), 2)
    array([0, 0, 1, 1])
    """
    centred = effects - np.average(effects, axis=0, weights=weights)
    cost = _costs(centred, weights)
    n = len(effects)
    best, starts = [cost[0]], [np.zeros(n + 1, np.intp)]
    while len(best) < most and best[-1][n] > negligible * weights.sum():
        through = best[-1][:, None] + cost
        starts.append(np.argmin(through, axis=0))
        best.append(through[starts[-1], np.arange(n + 1)])
    bins, end = np.zeros(n, np.intp), n
    for number in range(len(best) - 1, 0, -1):
        end = int(starts[number][end])
        bins[end:] += 1
    return np.unique(bins, return_inverse=True)[1].reshape(-1)


def _costs(effects: Floats, weights: Floats) -> Floats:
    """Return the squared error of one bin from each value to before another, (n + 1, n + 1)."""
    n, zero = len(effects), np.zeros((1, effects.shape[1]))
    total, sums, squares = (
        np.concatenate([zero, np.cumsum(weights * effects**power, axis=0)]) for power in range(3)
    )
    cost = np.full((n + 1, n + 1), np.inf)
    for end in range(1, n + 1):
        between = (sums[end] - sums[:end]) ** 2 / np.maximum(total[end] - total[:end], 1e-300)
        inside = squares[end] - squares[:end] - between
        cost[:end, end] = np.maximum(inside, 0.0).sum(axis=1)
    cost[n, n] = 0.0
    return cost

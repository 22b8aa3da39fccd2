"""Which leaves of a tree must be ordered for the tree to be monotone in a variable (numpy only).

Two leaves have to be ordered when some input can move from one to the other by changing that
variable alone: their conditions on everything else can hold together. In doubt they are taken to,
so a tree that passes is monotone, without sampling.
"""

import math
from collections.abc import Iterable, Mapping

from rpte.columns.kinds import Column, Interval, Missing, Value
from rpte.structure.tree import Condition, Tree

Path = tuple[Condition, ...]


def ordered_leaves(tree: Tree, directions: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return the pairs (a, b) of leaves for which coefficient a must not exceed coefficient b.

    The tree reads monotone variables by thresholds only; `directions` are +1 (increasing) or -1.
    """
    paths = list(tree.paths())
    pairs = set()
    for source in sorted(set(directions) & set(tree.sources)):
        for a, low in enumerate(paths):
            for b, high in enumerate(paths):
                if a != b and _below(low, high, source) and _together(low, high, source):
                    pairs.add((a, b) if directions[source] > 0 else (b, a))
    return sorted(pairs)


def is_orderable(tree: Tree, source: str) -> bool:
    """Tell whether a tree reads a variable only by thresholds or by whether it has a number."""
    readers = [split.column for split in tree.splits if source in split.column.sources]
    return all(isinstance(c, Value) or _without_number(c, True) is not None for c in readers)


def _below(low: Path, high: Path, source: str) -> bool:
    """Tell whether a value of the first leaf can lie below a value of the second."""
    first, second = _range(low, source), _range(high, source)
    return first is not None and second is not None and first[0] < second[1]


def _range(path: Path, source: str) -> tuple[float, float] | None:
    """Return the values (above, at most) of a variable in a leaf; None if it has no number."""
    own = [c for c in path if c.sources == (source,)]
    if any(_without_number(c.split.column, c.holds) for c in own):
        return None
    return _bounds(c for c in path if c.split.column == Value(source))


def _without_number(column: Column, holds: bool) -> bool | None:
    """Tell whether a test means that its variable has no number; None for any other test."""
    if isinstance(column, Missing):
        return holds
    return not holds if isinstance(column, Interval) and column.unbounded else None


def _bounds(conditions: Iterable[Condition]) -> tuple[float, float]:
    low, high = -math.inf, math.inf
    for condition in conditions:
        threshold = condition.split.threshold
        if threshold is not None and condition.holds:
            high = min(high, threshold)
        elif threshold is not None:
            low = max(low, threshold)
    return low, high


def _together(a: Path, b: Path, source: str) -> bool:
    """Tell whether the conditions on everything but a variable can hold at once."""
    tests: dict[Column, list[Condition]] = {}
    for condition in (*a, *b):
        if condition.sources != (source,):
            tests.setdefault(condition.split.column, []).append(condition)
    return all(_can_hold(column, conditions) for column, conditions in tests.items())


def _can_hold(column: Column, conditions: list[Condition]) -> bool:
    if column.binary:
        return len({condition.holds for condition in conditions}) == 1
    low, high = _bounds(conditions)
    return low < high or all(c.split.missing_holds == c.holds for c in conditions)

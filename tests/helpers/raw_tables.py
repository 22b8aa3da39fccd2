"""Raw tables for the tests: mixed, awkward, small; and the ways to say the same table twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from rpte.table.read import read_training
from rpte.table.table import make_table

LEVELS = ("a", "b, c", "{d}", "is e", "")


def _number(rng, n):
    return rng.normal(size=n).round(2)


def _few_values(rng, n):
    return rng.integers(-2, 3, n).astype(float)


def _skewed(rng, n):
    return np.where(rng.random(n) < 0.7, 0.0, rng.exponential(size=n).round(1))


def _zero_one(rng, n):
    return rng.integers(0, 2, n).astype(float)


def _huge(rng, n):
    return (rng.normal(size=n) / 4).round(2).clip(-1, 1) * 1e300  # the largest allowed


def _constant(rng, n):
    return np.full(n, 3.0)


def _empty(rng, n):
    return np.full(n, np.nan)


def _category(rng, n):
    return rng.choice(np.array(LEVELS, object), n)


def _two_levels(rng, n):
    return rng.choice(np.array(["no", "yes"], object), n)


def _one_level(rng, n):
    return np.array(["only"] * n, object)


KINDS = {
    "number": _number,
    "few": _few_values,
    "skewed": _skewed,
    "01": _zero_one,
    "huge": _huge,
    "constant": _constant,
    "empty": _empty,
    "category": _category,
    "two": _two_levels,
    "one": _one_level,
}


@dataclass(frozen=True)
class Raw:
    """Columns by name, 0/1 labels and whole weights; one row per case."""

    columns: dict
    y: np.ndarray
    weight: np.ndarray

    def table(self):
        return make_table(read_training(self.columns), self.y, self.weight)

    def take(self, rows):
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Raw(columns, self.y[rows], self.weight[rows])

    def repeated(self):
        """Return the same table with every row repeated as often as its weight says."""
        rows = np.repeat(np.arange(len(self.y)), self.weight.astype(int))
        again = self.take(rows)
        return Raw(again.columns, again.y, np.ones(len(rows)))

    def reordered(self, names):
        return Raw({name: self.columns[name] for name in names}, self.y, self.weight)


def with_gaps(rng, column, share=0.15):
    gaps = rng.random(len(column)) < share
    if column.dtype.kind == "f":
        return np.where(gaps, np.nan, column)
    column = column.copy()
    column[gaps] = None
    return column


def random_raw(seed, kinds, n, gaps=True):
    """Make a table with one column per kind (`name` of `KINDS`), labels that depend on some."""
    rng = np.random.default_rng(seed)
    columns, score = {}, rng.normal(size=n)
    for i, kind in enumerate(kinds):
        column = KINDS[kind](rng, n)
        if i % 2 == 0:
            score = score + _effect(column)
        if gaps and rng.random() < 0.5:
            column = with_gaps(rng, column)
        columns[f"{'zyxwvut'[i % 7]}{i}"] = column  # names run against the order of columns
    y = (score > np.median(score)).astype(float)
    y[:2] = 0.0, 1.0
    return Raw(columns, y, rng.integers(1, 4, n).astype(float))


def _effect(column):
    if column.dtype.kind == "f":
        spread = np.nanstd(column / 1e300) * 1e300 if np.isfinite(column).any() else 0.0
        return column / spread if spread > 0 else np.zeros(len(column))
    return np.array([1.5 * (v in ("a", "yes")) for v in column])


@st.composite
def raws(draw, least=2, most=5, kinds=tuple(KINDS), rows=(12, 60)):
    """Draw tables whose kinds and length shrink."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=least, max_size=most))
    n = draw(st.integers(*rows))
    return random_raw(draw(st.integers(0, 10_000)), chosen, n)


def same_bits(a, b):
    """Tell whether two arrays agree to the last bit, NaN equal to NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    plain = [np.where(np.isnan(v), np.nan, v).view(np.uint64) for v in (a, b)]
    return bool((plain[0] == plain[1]).all())

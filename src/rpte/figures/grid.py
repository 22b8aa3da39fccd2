"""Where the picture of a variable is known: its observed range, its corners, its few values."""

from collections.abc import Iterable

import numpy as np

from rpte.model.effect import OUTER, Background
from rpte.model.grid import bends, centres, columns_on, jumps, profile_of
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.utils.arrays import Floats, Index

STEPS = 160  # points of a curve beside its corners
LONG = 4.0  # times nine tenths of the rows from which on a range is drawn in part
TOLERANCE = 1 / 2000  # share of a curve's height by which it may be drawn off


def curve_grid(model: Model, component: Component, source: str, rows: Background | None) -> Floats:
    """Return the numbers at which a curve is drawn: its range, and both sides of every corner.

    Of few different numbers in training, these.
    """
    if few_values(model, source):
        return np.array(profile_of(model, source)["values"], np.float64)
    found = corners(component, source)
    low, high = covered(model, source, found, rows)
    inside = np.array([c for c in sorted(found) if low <= c <= high])
    beside = np.concatenate([np.nextafter(inside, -np.inf), inside, np.nextafter(inside, np.inf)])
    beside = beside[(beside >= low) & (beside <= high)]
    ends = drawn_part(model, source, rows, (low, high)) or (low, high)
    steps = [np.linspace(low, high, STEPS), np.linspace(ends[0], ends[1], STEPS)]
    return np.unique(np.concatenate([*steps, beside])) + 0.0


def drawn_part(
    model: Model, source: str, rows: Background | None, ends: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the part of a curve to draw where few rows take most of its range, else None.

    That of nine tenths of the rows, and half as much on either side.
    """
    low, high = dense(model, source, rows)
    if few_values(model, source) or not 0 < LONG * (high - low) < ends[1] - ends[0]:
        return None
    room = (high - low) / 2
    return max(low - room, ends[0]), min(high + room, ends[1])


def few_values(model: Model, source: str) -> bool:
    """Tell whether the file has all different numbers of a variable, since they are few."""
    return bool(profile_of(model, source).get("values"))


def corners(component: Component, source: str) -> set[float]:
    """Return the numbers at which what a variable adds may bend or jump, and its centres."""
    read = list(columns_on([component], source))
    found = {*centres(component, source), *(at for column, _ in read for at in bends(column))}
    return found | {at for column, threshold in read for at in jumps(column, threshold)}


def covered(
    model: Model, source: str, corners: Iterable[float], rows: Background | None
) -> tuple[float, float]:
    """Return the ends of a curve: of the training values, as far as the file has them.

    Where an older file or one without a profile has none, those of the rows, or of corners.
    """
    profile = profile_of(model, source)
    told = [*(profile.get("extremes") or ()), *(profile.get("quantiles") or ())]
    known = profile.get("equal_parts") or ([] if rows is None else rows.quantiles(source, 0.0, 1.0))
    known = known or [*corners, *(float(number) for number in told if number is not None)]
    return (min(known), max(known)) if known else (0.0, 0.0)


def dense(model: Model, source: str, rows: Background | None) -> tuple[float, float]:
    """Return the ends of a map along a number: nine tenths of the values, as far as known."""
    parts = profile_of(model, source).get("equal_parts")
    shares = np.linspace(0.0, 1.0, len(parts or ()))
    ends = [] if rows is None else rows.quantiles(source, OUTER, 1.0 - OUTER)
    if parts:
        ends = np.interp([OUTER, 1.0 - OUTER], shares, parts).tolist()
    return (ends[0], ends[1]) if ends and ends[0] < ends[1] else covered(model, source, [], rows)


def corners_kept(x: Floats, lines: Floats) -> Index:
    """Return the places of the points that all lines (lines, n) need: others lie between them.

    Each line may be drawn off by `TOLERANCE` of its height.
    """
    heights = np.ptp(lines, axis=1, keepdims=True)
    scaled = lines / np.where(heights > 0, heights, 1.0)
    kept, stack = {0, len(x) - 1}, [(0, len(x) - 1)]
    while stack:
        a, b = stack.pop()
        if b - a < 2:
            continue
        share = (x[a + 1 : b] - x[a]) / (x[b] - x[a])
        between = scaled[:, a, None] + (scaled[:, b] - scaled[:, a])[:, None] * share
        gaps = np.abs(between - scaled[:, a + 1 : b]).max(axis=0)
        worst = a + 1 + int(gaps.argmax())
        if gaps[worst - a - 1] > TOLERANCE:
            kept.add(worst)
            stack += [(a, worst), (worst, b)]
    return np.array(sorted(kept), np.intp)

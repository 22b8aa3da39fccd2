"""What each variable does to the score, in words and at values that occur (numpy only).

An effect is what a variable's own terms add, counted from their training mean, so that zero is the
average case. It is evaluated exactly at every number where a term bends or jumps; between two of
them it rises, falls or stays. The words leave out a bend so slight that a straight line hides it.
What a variable adds together with others is not in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rpte.columns.kinds import Column, OneSource, said_level
from rpte.model.effect import Cells, added, own_parts, shared_parts
from rpte.model.grid import bends, columns_on, jumps, profile_of
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.table.column import MISSING
from rpte.table.decimals import number_text
from rpte.table.fingerprint import QUANTILES
from rpte.table.schema import Variable
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

STRAIGHT = 0.05  # share of an effect's range by which a bend may leave a straight line
FEW = 6  # values, or sets of levels, that words list one by one
LONGEST = 8  # characters of a number; the ends of what occurs may have more than is worth reading
NAMED = 4  # levels of a set that words name
COLUMNS = ("variable", "component", "value", "quantile", "effect", "alone")


class Piece(NamedTuple):
    """A stretch of numbers over which an effect stays, moves one way, or jumps."""

    kind: Literal["flat", "slope", "jump"]
    start: float
    end: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class OwnEffect:
    """The own terms of a variable; `scores` has the model of each score, one or several."""

    scores: tuple[Model, ...]
    place: int  # of the component
    source: str

    @property
    def variable(self) -> Variable:
        """The variable with its kind and its levels."""
        return self.scores[0].schema[self.source]

    @property
    def component(self) -> str:
        """The name of the component."""
        return self.scores[0].components[self.place].name

    @property
    def alone(self) -> bool:
        """Whether the variable shares no term with others: then this is its whole effect."""
        return not shared_parts(self.scores[0].components[self.place], self.source)

    @property
    def profile(self) -> Mapping[str, Any]:
        """What the model file has of the variable's training values."""
        return profile_of(self.scores[0], self.source)

    @property
    def levels(self) -> tuple[str | None, ...]:
        """The levels of a category, or the special codes of a number; None for a missing cell."""
        return (*self.variable.levels, *([None] if self.variable.has_missing else []))

    def at_numbers(self, numbers: Sequence[float]) -> Floats:
        """Return what is added at some numbers, (scores, n)."""
        return self._from_mean(Cells.of_numbers(np.array(numbers, np.float64)))

    def at_levels(self) -> Floats:
        """Return what is added at each of `levels`, (scores, n)."""
        codes = [MISSING if level is None else code for code, level in enumerate(self.levels)]
        return self._from_mean(Cells.of_codes(codes))

    def _from_mean(self, cells: Cells) -> Floats:
        found = []
        for model in self.scores:
            parts = own_parts(model.components[self.place], self.source)
            means = model.training["mean_contributions"]
            values = added(parts, model.schema, {self.source: cells})
            found.append(values - sum(means[part.name] for part in parts))
        return np.array(found)

    def corners(self) -> list[float]:
        """Return the ends of what occurs, bends, and numbers beside jumps, ascending.

        A file that has no range has the corners alone; none if a line goes on beyond them.
        """
        component = self.scores[0].components[self.place]
        own = own_parts(component, self.source)
        trees = tuple(part for part in own if isinstance(part, TreeTerms))
        direct = tuple(part for part in own if isinstance(part, DirectTerm))
        columns = list(columns_on([Component(component.name, trees, direct)], self.source))
        found = {number for column, _ in columns for number in bends(column)}
        for column, threshold in columns:
            for number in jumps(column, threshold):
                found |= {number, *(math.nextafter(number, end) for end in (-math.inf, math.inf))}
        known = self.profile.get("extremes") or self.profile.get("equal_parts") or ()
        known = [n for n in known or self.profile.get("quantiles") or () if n is not None]
        if not known:
            ends = [end for column, _ in columns for end in _limits(column)]
            return sorted(found) if all(map(math.isfinite, ends)) else []
        low, high = min(known), max(known)
        return sorted({low, high} | {number for number in found if low < number < high})


def _limits(column: Column) -> tuple[float, ...]:
    """Return between which numbers a column of one variable moves; nothing if it only jumps."""
    return column.limits if isinstance(column, OneSource) and not column.binary else ()


def own_effects(model: Model | ClassesModel) -> Iterator[OwnEffect]:
    """Yield the own effect of each variable that has own terms, in the order of components."""
    for place, component in enumerate(model.components):
        for source in component.sources:
            if own_parts(component, source):
                yield OwnEffect(model.models, place, source)


def effect_rows(model: Model | ClassesModel) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table of effects, `COLUMNS`; of several classes also `class`."""
    labels = model.classes if len(model.models) > 1 else (None,)
    for effect in own_effects(model):
        cells = [*_numbers_of(effect), *_levels_of(effect)]
        for k, label in enumerate(labels):
            named = {} if label is None else {"class": label}
            for value, quantile, found in cells:
                size = {"effect": float(found[k]), "alone": effect.alone}
                head = {"variable": effect.source, "component": effect.component}
                yield {**head, **named, "value": value, "quantile": quantile, **size}


def _numbers_of(effect: OwnEffect) -> Iterator[tuple[float, float, Floats]]:
    """Yield numbers that occur, each with its quantile and what is added: few, or quantiles."""
    if effect.variable.kind == "category":
        return
    shares = effect.profile.get("quantiles") or ()
    numbers = effect.profile.get("values") or [n for n in shares if n is not None]
    known = bool(numbers) and not effect.profile.get("values")
    quantiles = [s for s, n in zip(QUANTILES, shares, strict=False) if n is not None]
    numbers = numbers or effect.corners()
    for at, column in enumerate(effect.at_numbers(numbers).T):
        yield numbers[at], quantiles[at] if known else math.nan, column


def _levels_of(effect: OwnEffect) -> Iterator[tuple[str, float, Floats]]:
    for level, column in zip(effect.levels, effect.at_levels().T, strict=True):
        yield "missing" if level is None else level, math.nan, column


def words_of(model: Model) -> dict[str, str]:
    """Return what the own terms of each variable add, in words, where words fit."""
    found = {effect.source: effect_words(effect) for effect in own_effects(model)}
    return {source: words for source, words in found.items() if words is not None}


def effect_words(effect: OwnEffect) -> str | None:
    """Return what the own terms of a variable add to one score, in words; None if none fit."""
    number = effect.variable.kind == "number"
    x = (effect.profile.get("values") or effect.corners()) if number else []
    y, of_levels = effect.at_numbers(x)[0].tolist(), effect.at_levels()[0].tolist()
    if number and not x:
        return None
    sizes = Sizes(max(map(abs, (*y, *of_levels)), default=0.0))
    said = []
    if number and effect.profile.get("values") and len({*map(sizes.text, y)}) <= FEW:
        said = _points(x, y, sizes)
    elif number:
        said = _curve(_pieces(effect.corners(), effect, sizes), sizes)
    return ", ".join([*said, *_of_levels(effect, of_levels, sizes)])


@dataclass(frozen=True, slots=True)
class Sizes:
    """How sizes of one effect are written, all with as many digits after the point."""

    largest: float

    @property
    def unit(self) -> float:
        """The smallest size that is not written as 0."""
        if not self.largest:
            return 1.0
        digits = 1 - math.floor(math.log10(self.largest))
        return 10.0 ** -max(digits, 2 if self.largest < 100 else 0)

    def text(self, size: float) -> str:
        """Return a size with its sign; 0 without one."""
        digits = round(-math.log10(self.unit))
        said = f"{size:+,.{digits}f}"
        return "0" if not float(said.replace(",", "")) else said


def _points(x: Sequence[float], y: Sequence[float], sizes: Sizes) -> list[str]:
    """Say what a number adds at each of few values, equal ones together."""
    said = []
    for size, some in groupby(zip(x, y, strict=True), key=lambda pair: sizes.text(pair[1])):
        values = [_number(value) for value, _ in some]
        run = f"{values[0]} to {values[-1]}" if len(values) > 2 else " and ".join(values)
        said.append(f"{size} at {run}")
    return said


def _pieces(x: Sequence[float], effect: OwnEffect, sizes: Sizes) -> list[Piece]:
    """Cut an effect into stretches; neighbours of one kind and direction are one if near a line."""
    y = effect.at_numbers(x)[0].tolist()
    nothing, bend = sizes.unit / 2, STRAIGHT * (max(y) - min(y))
    found: list[Piece] = []
    for at in range(len(x) - 1):
        near = x[at + 1] == math.nextafter(x[at], math.inf)
        kind = "flat" if abs(y[at + 1] - y[at]) < nothing else "jump" if near else "slope"
        piece = Piece(kind, x[at], x[at + 1], y[at], y[at + 1])  # type: ignore[arg-type]
        if near and kind == "flat":  # two neighbouring floats are one number to people
            if found and found[-1].kind != "jump":
                found[-1] = found[-1]._replace(end=piece.end)
            continue
        if found and _is_one(found[-1], piece, bend):
            piece = found.pop()._replace(end=piece.end, after=piece.after)
        found.append(piece)
    return found


def _is_one(one: Piece, other: Piece, bend: float) -> bool:
    """Tell whether two stretches are said as one."""
    if one.kind == other.kind == "flat":
        return True
    if one.kind != "slope" or other.kind != "slope":
        return False
    if (one.after > one.before) != (other.after > other.before):
        return False
    part = (one.end - one.start) / (other.end - one.start)
    return abs(one.before + part * (other.after - one.before) - one.after) <= bend


def _curve(pieces: Sequence[Piece], sizes: Sizes) -> list[str]:
    """Say how an effect moves from its lowest number to its highest."""
    if not pieces or all(piece.kind == "flat" for piece in pieces):
        return [sizes.text(pieces[0].before) if pieces else "0"]
    first = pieces[0]
    at = f"at {_number(first.start)}" if first.kind == "slope" else _until(pieces, 0)
    said, way = [f"{sizes.text(first.before)} {at}"], ""
    for place, piece in enumerate(pieces):
        last, size = place == len(pieces) - 1, sizes.text(piece.after)
        if piece.kind == "slope":
            before, way = way, "rises to" if piece.after > piece.before else "falls to"
            said.append(f"{'to' if way == before else way} {size} at {_number(piece.end)}")
            continue
        way = ""
        if piece.kind == "jump":
            goes_on = not last and pieces[place + 1].kind == "flat" and place + 2 < len(pieces)
            until = f" {_until(pieces, place + 1)}" if goes_on else ""
            said.append(f"{size} {_after(piece)}{until}")
        elif place and pieces[place - 1].kind == "slope":
            said.append("flat after" if last else f"flat {_until(pieces, place)}")
    return said


def _number(number: float) -> str:
    """Return a number as a person writes it: with few digits, if it is not a short decimal."""
    said = number_text(number)
    return said if len(said) <= LONGEST else number_text(float(f"{number:.4g}"))


def _edge(jump: Piece) -> tuple[bool, str]:
    """Return whether the number of a jump lies before it (``x > t``) or after, and the number."""
    before = len(number_text(jump.start)) <= len(number_text(jump.end))
    return before, _number(jump.start if before else jump.end)


def _after(jump: Piece) -> str:
    """Say where a jump leads: above its number, or from its number on."""
    before, number = _edge(jump)
    return f"above {number}" if before else f"from {number}"


def _until(pieces: Sequence[Piece], place: int) -> str:
    """Say how far a flat stretch goes, or what comes before a jump."""
    piece, ahead = pieces[place], pieces[place + 1 : place + 2]
    jump = piece if piece.kind == "jump" else next((p for p in ahead if p.kind == "jump"), None)
    if jump is None:
        return f"up to {_number(piece.end)}"
    before, number = _edge(jump)
    return f"up to {number}" if before else f"below {number}"


def _of_levels(effect: OwnEffect, found: Sequence[float], sizes: Sizes) -> list[str]:
    """Say what levels add, those that add the same together; of a number, codes and missing."""
    sets: dict[str, list[str | None]] = {}
    for level, size in sorted(zip(effect.levels, found, strict=True), key=lambda pair: -pair[1]):
        sets.setdefault(sizes.text(size), []).append(level)
    rest = max(sets, key=lambda size: len(sets[size]), default="")
    listed = [size for size in sets if size != rest or len(sets[size]) <= NAMED]
    if effect.variable.kind == "number":
        listed = list(sets)
    said = [f"{size} for {_names(sets[size])}" for size in listed]
    if rest and rest not in listed:
        said.append(f"{rest} for all others")
    return said


def _names(levels: Sequence[str | None]) -> str:
    """Name some levels, and count those beyond the first few."""
    said = [said_level(level) for level in levels if level is not None]
    few = said[:NAMED] if len(said) > NAMED else said
    said = [*few, *([f"{len(said) - NAMED} others"] if len(said) > NAMED else [])]
    said += ["missing"] if None in levels else []
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"

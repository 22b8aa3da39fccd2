"""Limits that people set on variables: one object, checked against the table before any work."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Literal

from rpte.columns.kinds import RAW, Column, Hinge, Interval, Pair, Pattern, Scale, Step, Value
from rpte.errors import InputError, did_you_mean
from rpte.table.schema import Schema

Direction = Literal["increasing", "decreasing"]


@dataclass(frozen=True)
class Limits:
    """What a model may not do.

    Parameters
    ----------
    monotone : mapping from name to "increasing" or "decreasing"
        The score of the positive class never moves the other way when only this number changes.
        Such a variable enters no absolute difference or distance, and no product but with what is
        never negative. Missing and special codes are unordered and outside the claim.
    exclude : names
        Variables that the model may not use. A named table need not carry them at prediction, and
        nothing in the model depends on them.
    linear_only : names
        Numbers that may have a slope (with a missing flag and special codes) but no tree and no
        other kind of column.
    interactions : sequence of sets of names
        Which variables may share a component; a variable in no set stands alone. None: all may.
    penalty : mapping from name to positive number
        Factor on the penalty of every term that reads the variable (its cost, or sensitivity); a
        term that reads two has the larger.

    Examples
    --------
    >>> Limits(monotone={"age": "increasing"}, exclude=["postcode"])
    Limits(monotone={'age': 'increasing'}, exclude=['postcode'])
    """

    monotone: Mapping[str, Direction] = field(default_factory=dict)
    exclude: Iterable[str] = ()
    linear_only: Iterable[str] = ()
    interactions: Sequence[Iterable[str]] | None = None
    penalty: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        shown = [f"{name}={value!r}" for name, value in given.items() if value]
        return f"Limits({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Permissions:
    """The limits as the stages ask for them; a monotone direction is +1 or -1."""

    directions: Mapping[str, int]
    excluded: frozenset[str]
    linear_only: frozenset[str]
    together: tuple[frozenset[str], ...] | None
    penalty: Mapping[str, float]

    def named(self) -> dict[str, frozenset[str]]:
        """Return the variables that each limit names."""
        return {
            "monotone": frozenset(self.directions),
            "exclude": self.excluded,
            "linear_only": self.linear_only,
            "interactions": frozenset().union(*(self.together or ())),
            "penalty": frozenset(self.penalty),
        }

    def usable(self, name: str) -> bool:
        """Tell whether a variable may be used at all."""
        return name not in self.excluded

    def derivable(self, name: str) -> bool:
        """Tell whether derived columns (all but the raw ones) and trees may read a variable."""
        return name not in self.excluded and name not in self.linear_only

    def may_interact(self, names: Iterable[str]) -> bool:
        """Tell whether some variables may be in one component."""
        wanted = frozenset(names)
        if self.together is None or len(wanted) < 2:
            return True
        return any(wanted <= allowed for allowed in self.together)

    def sign(self, column: Column) -> int | None:
        """Return the sign a direct term must have: 0 for any, None if it can have none.

        +1: the coefficient must not be negative; None: the column is not monotone in a variable
        that must be, or its variables pull against each other.
        """
        if not self.directions:
            return 0
        effects = {s: column_effect(column, s) for s in column.sources if s in self.directions}
        if any(effect is None for effect in effects.values()):
            return None
        wanted = {self.directions[s] * e for s, e in effects.items() if e}
        return wanted.pop() if len(wanted) == 1 else (None if wanted else 0)

    def admits(self, column: Column) -> bool:
        """Tell whether a column may be in the vocabulary."""
        if self == FREE:
            return True
        allowed = self.usable if isinstance(column, RAW) else self.derivable
        if not all(allowed(source) for source in column.sources):
            return False
        return self.may_interact(column.sources) and self.sign(column) is not None

    def in_trees(self, column: Column) -> bool:
        """Tell whether trees may split on a column.

        A monotone variable is split by thresholds on its value alone, so that the order of leaves
        can be read from the tree.
        """
        if not self.excluded and not self.linear_only and not self.directions:
            return True
        if not all(self.derivable(source) for source in column.sources):
            return False
        bound = any(source in self.directions for source in column.sources)
        return not bound or isinstance(column, Value)

    def factor(self, sources: Iterable[str]) -> float:
        """Return the penalty factor of a term that reads some variables."""
        if not self.penalty:
            return 1.0
        return max((self.penalty.get(source, 1.0) for source in sources), default=1.0)


FREE = Permissions({}, frozenset(), frozenset(), None, {})


def column_effect(column: Column, source: str) -> int | None:
    """Return how a column moves with a variable: +1, -1, 0 (unordered), None (both ways)."""
    if isinstance(column, (Value, Step)):
        return 1
    if isinstance(column, Hinge):
        return 1 if column.side == "above" else -1
    if isinstance(column, Scale):
        return None if column.formula == "distance" else 1
    if isinstance(column, Interval):
        if math.isinf(column.low) == math.isinf(column.high):
            return None
        return 1 if math.isinf(column.high) else -1
    if isinstance(column, (Pattern, Pair)):
        return _part_effect(column, source)
    return 0


def _part_effect(column: Pattern | Pair, source: str) -> int | None:
    on_left = column.left.source == source
    part, other = (column.left, column.right) if on_left else (column.right, column.left)
    effect = column_effect(part, source)
    if isinstance(column, Pattern) or column.operation == "sum" or not effect:
        return effect
    if column.operation == "difference":
        return effect if on_left else -effect
    return effect if column.operation == "product" and _never_negative(other) else None


def _never_negative(column: Column) -> bool:
    if isinstance(column, Scale):
        return column.formula in ("sqrt", "distance")
    return column.binary or isinstance(column, Hinge)


def permissions(limits: Limits | Mapping[str, Any] | None, schema: Schema) -> Permissions:
    """Check limits against a table's columns; refuse unknown names and contradictions."""
    if limits is None:
        return FREE
    if isinstance(limits, Mapping):
        known = [f.name for f in fields(Limits)]
        unknown = [name for name in limits if name not in known]
        if unknown:
            text = f"{unknown[0]!r} is no limit, the limits are {known}"
            raise InputError(f"limits={limits!r}; {text}")
        limits = Limits(**limits)
    if not isinstance(limits, Limits):
        raise InputError(f"limits={limits!r}; pass rpte.Limits(...), a mapping, or None")
    monotone, penalty = _mapping(limits, "monotone"), _mapping(limits, "penalty")
    found = Permissions(
        {name: _direction(name, text) for name, text in monotone.items()},
        _names("exclude", limits.exclude),
        _names("linear_only", limits.linear_only),
        _sets(limits.interactions),
        {name: _factor(name, value) for name, value in penalty.items()},
    )
    _check_names(found, schema)
    _check_contradictions(found.named())
    return found


def _mapping(limits: Limits, limit: str) -> dict[str, Any]:
    value = getattr(limits, limit)
    if not isinstance(value, Mapping):
        raise InputError(f"limits.{limit} is {value!r}; it must map names of columns to values")
    return {str(name): item for name, item in value.items()}


def _names(limit: str, value: Any) -> frozenset[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"limits.{limit} is {value!r}; it must be a list of names of columns")
    return frozenset(str(name) for name in value)


def _sets(value: Any) -> tuple[frozenset[str], ...] | None:
    if value is None:
        return None
    needed = f"limits.interactions is {value!r}; it must be a list of sets of names"
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InputError(needed)
    if any(isinstance(names, str) for names in value):
        raise InputError(f"{needed}, such as [{{'age', 'sex'}}]")
    sets = tuple(_names("interactions", names) for names in value)
    for names in sets:
        if len(names) < 2:
            raise InputError(
                f"limits.interactions holds {sorted(names)}; a set names at least two variables (a "
                "variable in no set stands alone)"
            )
    return sets


def _direction(name: str, text: str) -> int:
    if text not in ("increasing", "decreasing"):
        raise InputError(
            f"limits.monotone[{name!r}] is {text!r}; it must be 'increasing' or 'decreasing'"
        )
    return 1 if text == "increasing" else -1


def _factor(name: str, value: Any) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not (math.isfinite(value) and value > 0):
        raise InputError(
            f"limits.penalty[{name!r}] is {value!r}; it must be a positive number (to forbid a "
            "variable, name it in exclude)"
        )
    return float(value)


def _check_names(found: Permissions, schema: Schema) -> None:
    asked = found.named()
    for limit, names in asked.items():
        unknown = sorted(names - set(schema.names))
        if unknown:
            hint = did_you_mean(unknown[0], schema.names)
            raise InputError(
                f"limits.{limit} names {unknown[:5]}, which are not columns of X{hint}; use the "
                "table's names"
            )
    for limit in ("monotone", "linear_only"):
        for name in sorted(asked[limit]):
            if schema[name].kind != "number":
                raise InputError(f"limits.{limit} names '{name}', a category; it needs a number")
    if set(schema.names) <= found.excluded:
        raise InputError("limits.exclude names every column; leave at least one to learn from")


def _check_contradictions(asked: Mapping[str, frozenset[str]]) -> None:
    excludes = [("exclude", other) for other in asked if other != "exclude"]
    for one, other in [*excludes, ("linear_only", "interactions")]:
        both = sorted(asked[one] & asked[other])
        if both:
            raise InputError(
                f"limits contradict each other: '{both[0]}' is in {one} and in {other}; keep one"
            )


def describe(limits: Permissions) -> dict[str, Any]:
    """Return the limits as plain JSON values, for the model file."""
    words = {1: "increasing", -1: "decreasing"}
    together = limits.together
    return {
        "monotone": {name: words[sign] for name, sign in sorted(limits.directions.items())},
        "exclude": sorted(limits.excluded),
        "linear_only": sorted(limits.linear_only),
        "interactions": None if together is None else sorted(sorted(names) for names in together),
        "penalty": dict(sorted(limits.penalty.items())),
    }

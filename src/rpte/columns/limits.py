"""Limits that people set on variables: one object, checked against the table before any work."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Literal

from rpte.columns.kinds import RAW, Column, Hinge, Interval, Pair, Pattern, Scale, Step, Value
from rpte.errors import InputError, did_you_mean
from rpte.table.schema import Schema
from rpte.utils.records import ShownFields

Direction = Literal["increasing", "decreasing"]
WORDS = {1: "increasing", -1: "decreasing"}
ZERO = 2  # in place of a sign: the coefficient must be 0
SIGNS = {(True, True): 0, (True, False): 1, (False, True): -1, (False, False): ZERO}


@dataclass(frozen=True, repr=False)
class Limits(ShownFields):
    """What a model may not do.

    Parameters
    ----------
    monotone : mapping from name to "increasing" or "decreasing"
        The score of the positive class never moves the other way when only this number changes.
        Of several classes a mapping from name to a mapping from class to direction: the probability
        of that class never moves the other way. Such a variable enters no absolute difference or
        distance, and no product but with what is never negative. Missing and special codes are
        unordered and outside the claim.
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
    >>> Limits(monotone={"age": {"dead": "increasing", "healthy": "decreasing"}})
    Limits(monotone={'age': {'dead': 'increasing', 'healthy': 'decreasing'}})
    """

    monotone: Mapping[str, Direction | Mapping[Any, Direction]] = field(default_factory=dict)
    exclude: Iterable[str] = ()
    linear_only: Iterable[str] = ()
    interactions: Sequence[Iterable[str]] | None = None
    penalty: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Permissions:
    """The limits as the stages ask for them; a monotone direction is +1 or -1.

    Of several classes `by_class` has the direction of each, in the order of `classes`, 0 for none.
    """

    directions: Mapping[str, int]
    excluded: frozenset[str]
    linear_only: frozenset[str]
    together: tuple[frozenset[str], ...] | None
    penalty: Mapping[str, float]
    by_class: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    def named(self) -> dict[str, frozenset[str]]:
        """Return the variables that each limit names."""
        return {
            "monotone": frozenset(self.directions) | frozenset(self.by_class),
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

    def class_signs(self, column: Column) -> tuple[int, ...] | None:
        """Return the sign that each class's coefficient of a direct term must have.

        As `sign`, with `ZERO` where it must be 0; None: it must be 0 in all classes, or the column
        is not monotone in a variable that must be.
        """
        return class_signs(column, self.by_class, len(self.classes))

    def admits(self, column: Column) -> bool:
        """Tell whether a column may be in the vocabulary."""
        if self == FREE:
            return True
        allowed = self.usable if isinstance(column, RAW) else self.derivable
        if not all(allowed(source) for source in column.sources):
            return False
        signs = self.class_signs(column) if self.by_class else self.sign(column)
        return self.may_interact(column.sources) and signs is not None

    def in_trees(self, column: Column) -> bool:
        """Tell whether trees may split on a column.

        A monotone variable is split by thresholds on its value alone, so that the order of leaves
        can be read from the tree; one that is monotone for some of several classes is not split.
        """
        if not self.excluded and not self.linear_only and not self.named()["monotone"]:
            return True
        if not all(self.derivable(source) for source in column.sources):
            return False
        if any(source in self.by_class for source in column.sources):
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


def class_signs(
    column: Column, by_class: Mapping[str, tuple[int, ...]], classes: int
) -> tuple[int, ...] | None:
    """Return the sign that each class's coefficient may have, as `Permissions.class_signs`.

    The probability of a class rises whatever the others are, if its score does not fall and no
    other score rises.
    """
    rises, falls = [True] * classes, [True] * classes
    for source in column.sources:
        effect = column_effect(column, source)
        if source not in by_class or effect == 0:
            continue
        if effect is None:
            return None
        asked = [effect * direction for direction in by_class[source]]
        for k, own in enumerate(asked):
            others = asked[:k] + asked[k + 1 :]
            rises[k] &= own >= 0 and 1 not in others
            falls[k] &= own <= 0 and -1 not in others
    signs = tuple(SIGNS[pair] for pair in zip(rises, falls, strict=True))
    return None if set(signs) == {ZERO} else signs


def permissions(
    limits: Limits | Mapping[str, Any] | None, schema: Schema, classes: Sequence[Any] = ()
) -> Permissions:
    """Check limits against a table's columns; refuse unknown names and contradictions.

    Of more than two `classes` a monotone limit names the class.
    """
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
    several = len(classes) > 2 and bool(monotone)
    found = Permissions(
        {} if several else {name: _direction(name, text) for name, text in monotone.items()},
        _names("exclude", limits.exclude),
        _names("linear_only", limits.linear_only),
        _sets(limits.interactions),
        {name: _factor(name, value) for name, value in penalty.items()},
        class_directions(monotone, classes) if several else {},
        tuple(map(str, classes)) if several else (),
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


def class_directions(
    monotone: Mapping[str, Any], classes: Sequence[Any]
) -> dict[str, tuple[int, ...]]:
    """Return the direction of each of several classes by variable, 0 for none.

    A class is named by itself or by its text.
    """
    return {name: _directions(name, asked, list(classes)) for name, asked in monotone.items()}


def _directions(name: str, asked: Any, classes: list[Any]) -> tuple[int, ...]:
    names, found = [str(label) for label in classes], [0] * len(classes)
    if not isinstance(asked, Mapping) or not asked:
        raise InputError(
            f"limits.monotone[{name!r}] is {asked!r}, but there are {len(classes)} classes; name "
            f"the class whose probability it is, such as {{{name!r}: {{{names[0]!r}: "
            f"'increasing'}}}}; the classes are {names}"
        )
    for label, text in asked.items():
        place = next((k for k, one in enumerate(classes) if label in (one, names[k])), None)
        if place is None:
            hint = did_you_mean(str(label), names)
            raise InputError(
                f"limits.monotone[{name!r}] names {label!r}, which is no class{hint}; the classes "
                f"are {names}"
            )
        if found[place]:
            raise InputError(f"limits.monotone[{name!r}] names {label!r} twice; name it once")
        found[place] = _direction(name, text)
    directions = tuple(found)
    if class_signs(Value(name), {name: directions}, len(classes)) is None:
        raise InputError(
            f"limits.monotone[{name!r}] is {asked!r}, under which no score may move: a class "
            "rises or falls against all the others; name fewer classes"
        )
    return directions


def _direction(name: str, text: Any) -> int:
    if text not in ("increasing", "decreasing"):
        of_classes = ", and only of 3 classes or more by class" if isinstance(text, Mapping) else ""
        raise InputError(
            f"limits.monotone[{name!r}] is {text!r}; it must be 'increasing' or 'decreasing'"
            f"{of_classes}"
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
    together = limits.together
    of_classes = {
        name: {c: WORDS[sign] for c, sign in zip(limits.classes, signs, strict=True) if sign}
        for name, signs in sorted(limits.by_class.items())
    }
    of_one_score = {name: WORDS[sign] for name, sign in sorted(limits.directions.items())}
    return {
        "monotone": of_classes or of_one_score,
        "exclude": sorted(limits.excluded),
        "linear_only": sorted(limits.linear_only),
        "interactions": None if together is None else sorted(sorted(names) for names in together),
        "penalty": dict(sorted(limits.penalty.items())),
    }

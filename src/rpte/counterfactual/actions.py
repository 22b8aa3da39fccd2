"""What may be changed in a row, and what a change costs: stated by the user, checked once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from rpte.errors import InputError, did_you_mean
from rpte.table.column import level_text
from rpte.table.schema import Schema, Variable
from rpte.utils.records import ShownFields
from rpte.utils.toml import read_toml
from rpte.utils.words import words_of

OneWay = Literal["increase", "decrease"]
PER_CHANGE = 0.1
MAPPINGS = ("one_way", "allowed", "costs", "spreads", "steps")
ABOUT_CHANGES = (*MAPPINGS, "codes")

# Words of names that say who a person is, or what has been: nobody is told to change that.
AGE = {"age", "birth", "birthday", "birthdate", "birthyear", "born", "dob"}
SEX = {"sex", "gender", "male", "female"}
ORIGIN = {
    "race",
    "ethnicity",
    "ethnic",
    "nationality",
    "citizenship",
    "citizen",
    "native",
    "religion",
}
ORIGIN |= {"origin", "foreign", "foreigner", "immigrant", "immigration", "birthplace", "caste"}
FAMILY = {"family", "marital", "married", "spouse", "husband", "wife", "relationship", "children"}
FAMILY |= {"dependents", "dependants", "parents", "siblings", "pregnant", "pregnancies"}
PERSON = {"personal", "status", "disability", "disabled", "veteran"}
PAST = {"history", "historical", "previous", "prior", "past", "former", "since", "date", "dates"}
PAST |= {"delinquency", "delinquencies", "delinquent"}
WORDS = frozenset(AGE | SEX | ORIGIN | FAMILY | PERSON | PAST)


def is_personal(name: str) -> bool:
    """Tell whether a name holds one of `WORDS`, in upper or lower case.

    A name is split into words at signs, spaces, digits and capitals: ``ageAtLoan``, ``AGE_AT_LOAN``
    and ``age at loan`` hold the word age, ``mileage`` does not.

    Examples
    --------
    >>> [is_personal(name) for name in ("Age", "date_of_birth", "sexMale", "mileage", "Average")]
    [True, True, True, False, False]
    """
    return not WORDS.isdisjoint(words_of(name))


@dataclass(frozen=True, repr=False)
class Actions(ShownFields):
    """What may be changed, and what it costs.

    The cost of an answer is the sum over the changed variables of ``factor * (per_change + size)``.
    The size of a change of a number is its distance in units of the variable's spread; a level, a
    special code or a gap that is filled counts as 1, and a number that fills one also by its
    distance from the median. No cell is ever made missing.

    Parameters
    ----------
    keep : names
        Variables that may not change. Those whose names say who a person is or what has been (age,
        sex, status, history and the other words of `rpte.counterfactual.actions.WORDS`) need not be
        listed.
    may_change : names
        Variables that may change although their names hold one of these words.
    one_way : mapping from name to "increase" or "decrease"
        Numbers that may move in one direction only. A gap or special code has no direction.
    allowed : mapping from name to (low, high), or to a list of levels
        The values that a variable may take. By default the training range as far as the file tells
        of it, or every level that training had.
    costs : mapping from name to factor
        2 makes every change of a variable twice as dear.
    spreads : mapping from name to number
        What counts as a change of size 1; by default the distance of the training quartiles.
    steps : mapping from name to number
        The resolution at which a number is changed; see `rpte.counterfactual.choices`.
    codes : names
        Numbers that may also become one of their special codes.
    per_change : float
        What every change costs whatever its size, so that few variables change.

    Examples
    --------
    >>> actions = Actions(keep=["postcode"], one_way={"savings": "increase"}, costs={"income": 2})
    """

    keep: Iterable[str] = ()
    may_change: Iterable[str] = ()
    one_way: Mapping[str, OneWay] = field(default_factory=dict)
    allowed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    codes: Iterable[str] = ()
    per_change: float = PER_CHANGE

    def extended(self, **more: Any) -> Actions:
        """Return the actions with names added to lists, and values set in mappings."""
        self._check_kinds()
        joined: dict[str, Any] = {}
        for name, value in more.items():
            old = getattr(self, name)
            joined[name] = {**old, **value} if isinstance(value, Mapping) else (*old, *value)
        return replace(self, **joined)

    def checked(self, schema: Schema) -> Actions:
        """Return the actions; refuse unknown names, contradictions and impossible values."""
        self._check_kinds()
        for option in ("keep", "may_change", *ABOUT_CHANGES):
            for name in getattr(self, option):
                self._check_name(option, name, schema)
        self._check_values(schema)
        return self

    def _check_kinds(self) -> None:
        for option in MAPPINGS:
            if not isinstance(getattr(self, option), Mapping):
                raise _wrong(option, getattr(self, option), "map names of variables to values")
        for option in ("keep", "may_change", "codes"):
            value = getattr(self, option)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise _wrong(option, value, "be a list of names of variables")

    def keeps(self, name: str) -> bool:
        """Tell whether a variable stays as it is, by statement or by its name."""
        return name in tuple(self.keep) or self.keeps_by_name(name)

    def keeps_by_name(self, name: str) -> bool:
        """Tell whether a variable stays as it is because of its name alone."""
        stated = (*self.keep, *self.may_change)
        return name not in stated and is_personal(name)

    def _check_name(self, option: str, name: str, schema: Schema) -> None:
        if name not in schema.names:
            hint = did_you_mean(name, schema.names)
            raise InputError(f"actions.{option} names {name!r}, no variable of the model{hint}")
        ordered = option == "one_way" and schema[name].numeric
        of_numbers = option in ("one_way", "spreads", "steps", "codes") and not ordered
        if of_numbers and schema[name].kind != "number":
            raise InputError(f"actions.{option} names '{name}', a category; it needs a number")
        if option == "may_change" and name in tuple(self.keep):
            raise InputError(f"'{name}' is in actions.keep and in actions.may_change; keep one")
        if option in ABOUT_CHANGES and self.keeps_by_name(name):
            raise InputError(
                f"actions.{option} names '{name}', which is kept because of its name; name it in "
                "may_change too"
            )

    def _check_values(self, schema: Schema) -> None:
        for name, way in self.one_way.items():
            if way not in ("increase", "decrease"):
                raise _wrong(f"one_way[{name!r}]", way, "be 'increase' or 'decrease'")
        for option in ("costs", "spreads", "steps"):
            for name, value in getattr(self, option).items():
                if not _is_number(value) or value <= 0:
                    raise _wrong(f"{option}[{name!r}]", value, "be a positive number")
        if not _is_number(self.per_change) or self.per_change < 0:
            raise _wrong("per_change", self.per_change, "be a number, 0 or more")
        for name, values in self.allowed.items():
            _check_allowed(schema[name], values)
        for name in self.codes:
            if not schema[name].levels:
                raise InputError(f"actions.codes names '{name}', which has no special codes")


def read_actions(path: Path) -> Actions:
    """Read actions from a TOML file whose keys are the parameters of `Actions`."""
    record = read_toml(path)
    known = [f.name for f in fields(Actions)]
    for name in record:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"{path} has {name!r}{hint}; the keys are {', '.join(known)}")
    return Actions(**record)


def _check_allowed(variable: Variable, values: Any) -> None:
    where = f"allowed[{variable.name!r}]"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise _wrong(where, values, "be (low, high) or a list of levels")
    listed = list(values)
    if variable.kind == "number":
        if len(listed) != 2 or not all(map(_is_number, listed)) or not listed[0] <= listed[1]:
            raise _wrong(where, values, "be (low, high), two numbers in this order")
        return
    for level in map(level_text, listed) if variable.numeric else listed:
        if level not in variable.levels:
            hint = did_you_mean(level, variable.levels)
            raise _wrong(where, values, f"list levels that training had; {level!r} is none{hint}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _wrong(option: str, value: Any, rule: str) -> InputError:
    return InputError(f"actions.{option} is {value!r}; it must {rule}")

"""The columns of the user's table, as a fitted model knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

Kind = Literal["number", "category"]
OTHER = "(other)"


@dataclass(frozen=True, slots=True)
class Variable:
    """One raw variable (a *source*): a column of the user's table."""

    name: str  # x0, x1, ... for an array
    kind: Kind  # booleans are categories with the levels False and True
    levels: tuple[str, ...] = ()  # sorted; of a number its special codes, as text
    has_missing: bool = False  # in the training rows
    pooled: bool = False  # the last level, OTHER, stands for rare levels and levels never seen
    numeric: bool = False  # a category of two numbers: cells hold the numbers that its levels spell

    def to_dict(self) -> dict[str, Any]:
        """Return the variable as plain JSON values; `numeric` only where it is true."""
        left_out = () if self.numeric else ("numeric",)
        record = {name: value for name, value in asdict(self).items() if name not in left_out}
        return {**record, "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Variable:
        """Rebuild a variable from `to_dict`."""
        values = {f.name: record[f.name] for f in fields(cls) if f.name in record}
        return cls(**{**values, "levels": tuple(record["levels"])})


@dataclass(frozen=True, slots=True)
class Schema:
    """The variables in the order of the user's table.

    They are not `named` when the table was an array: columns are then matched by position.
    """

    variables: tuple[Variable, ...]
    named: bool
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positions = {variable.name: i for i, variable in enumerate(self.variables)}
        object.__setattr__(self, "_positions", positions)

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, name: str) -> Variable:
        return self.variables[self.position(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of the user's table."""
        return tuple(variable.name for variable in self.variables)

    def position(self, name: str) -> int:
        """Return the place of a variable in the user's table."""
        return self._positions[name]

    def places(self, names: Iterable[str]) -> list[int]:
        """Return the places of those of some variables that are there, ascending."""
        return sorted({self._positions[name] for name in names if name in self._positions})

    def canonical(self) -> tuple[int, ...]:
        """Positions in the order that breaks every tie: by name, or by position if unnamed."""
        positions = range(len(self.variables))
        by_name = sorted(positions, key=lambda i: self.variables[i].name)
        return tuple(by_name if self.named else positions)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain JSON values."""
        return {"named": self.named, "variables": [v.to_dict() for v in self.variables]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Schema:
        """Rebuild a schema from `to_dict`."""
        variables = tuple(Variable.from_dict(item) for item in record["variables"])
        return cls(variables, record["named"])

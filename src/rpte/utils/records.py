"""Lists and tuples of small records that become a table: in a notebook, and as a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


def columns_of(record: Any) -> list[str]:
    """Return the names of the fields of a dataclass or a named tuple."""
    named: Sequence[str] | None = getattr(record, "_fields", None)
    return [each.name for each in fields(record)] if named is None else list(named)


class ShownRecords:
    """What a sequence of records shows of itself."""

    __slots__ = ()

    def rows(self: Any) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the fields, and the values of every record."""
        names = columns_of(self[0]) if len(self) else []
        return names, [[getattr(each, name) for name in names] for each in self]

    def to_frame(self: Any) -> pd.DataFrame:
        """Return one line for each record."""
        import pandas as pd

        names, rows = self.rows()
        return pd.DataFrame(rows, columns=names)

    def __repr__(self: Any) -> str:
        kind = type(self[0]).__name__ if len(self) else "record"
        return f"{len(self)} x {kind}; to_frame() is a table of them"

    def __str__(self: Any) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self: Any) -> str:
        from rpte.notebook.records import records_html

        return records_html(self)


class Records(ShownRecords, list[T]):
    """A list of records."""

    __slots__ = ()


class FrozenRecords(ShownRecords, tuple[T, ...]):
    """A tuple of records."""

    __slots__ = ()


def given_fields(record: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a dataclass that hold something, by name."""
    for each in fields(record):
        value = getattr(record, each.name)
        if each.repr and value is not None and not (hasattr(value, "__len__") and not len(value)):
            yield each.name, value


def _short(value: Any) -> str:
    """Return a value as its repr; a table or an array by its shape."""
    shape = getattr(value, "shape", None)
    return repr(value) if shape is None else f"<{type(value).__name__} of shape {shape}>"


class ShownFields:
    """For a dataclass that shows the fields that hold something, and no others."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in given_fields(self))
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        from rpte.notebook.records import fields_html

        return fields_html(self)

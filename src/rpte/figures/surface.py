"""What two variables add to the score together: numbers over a grid of both, and maps of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rpte.errors import InputError
from rpte.figures import marks
from rpte.figures.effect import Record, reading
from rpte.figures.effect_panels import SIZE, ZERO, joint_note
from rpte.figures.grid import dense
from rpte.figures.marks import Panel, Spot, Tick
from rpte.figures.subject import Subject, check_reference
from rpte.figures.text import name, number, signed
from rpte.model.effect import Background, Cells, joint_effect
from rpte.model.parts import Component, DirectTerm, sum_of
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats

CELLS, CELLS_BESIDE_LEVELS, MOST_LEVELS = 40, 10, 14  # of a number, beside a category; of levels
PAGE_CELLS = 18  # of a number in the report
MOST_SPOTS = 200  # cells that can be asked
SMALL = (290, 250)  # pixels


@dataclass(frozen=True)
class SurfaceAxis:
    """The cells along one variable: numbers with the edges between them, or levels."""

    source: str
    cells: Cells
    edges: Floats
    values: list[float | str]

    @property
    def is_number(self) -> bool:
        """Whether numbers stand along it."""
        return bool(self.values) and not isinstance(self.values[0], str)


@dataclass
class SurfaceFigure:
    """What two variables add together; `SurfaceDisplay` describes the fields."""

    across: SurfaceAxis
    up: SurfaceAxis
    values: Floats
    labels: tuple[str, ...]
    unit: str
    reference: str | None
    reading: Mapping[str, Any]
    together: bool

    @classmethod
    def of(
        cls,
        subject: Subject,
        first: str,
        second: str,
        reference: str | None = "mean",
        cells: int | None = None,
    ) -> Self:
        """Return what two variables add, not drawn yet; `cells` along a number, if not as usual."""
        check_reference(reference)
        if first == second:
            raise InputError(f"{first!r} is given twice; give two different variables, or one")
        names = first, second
        components, schema, rows = _both(subject, *names), subject.outline.schema, subject.rows
        if schema[first].kind == "category" and schema[second].kind == "number":
            names = second, first  # levels need room for their names
        kinds = {schema[name].kind for name in names}
        count = cells or (CELLS_BESIDE_LEVELS if len(kinds) > 1 else CELLS)
        across, up = (_axis(subject, name, count) for name in names)
        at = {axis.source: axis.cells for axis in (across, up)}
        found = np.array([joint_effect(c, schema, at, rows) for c in components])
        told = reading(components[0], names, rows)
        if rows is None and not told["terms"]:
            raise InputError(
                f"{first!r} and {second!r} have no terms of their own, and what they do with "
                "others can be averaged over rows only; give a table: "
                f"plot({first!r}, {second!r}, X=X)"
            )
        if reference == "mean":
            found = found - subject.mean_added(*names)[:, None, None]
        both = any(set(names) <= set(part.sources) for part in components[0].parts)
        return cls(across, up, found, subject.labels, subject.unit, reference, told, both)

    @property
    def is_whole(self) -> bool:
        """Whether all that reads the variables is in the map."""
        return not self.reading["shared"] or self.reading["averaged"] is not None

    @property
    def title(self) -> str:
        """The variables, and whether this is not their whole effect."""
        found = f"{name(self.across.source, 34)} and {name(self.up.source, 34)}"
        return found + ("" if self.is_whole else " (own terms only)")

    @property
    def note(self) -> str:
        """The caption: what is shown, averaged over what, counted from what."""
        note = joint_note(self.reading)
        if not self.together:
            note += "; no term reads both: their effects add up"
        return note[:1].upper() + note[1:]

    @property
    def adds(self) -> str:
        """What shades stand for."""
        return f"adds to {self.unit} ({ZERO[self.reference]})"

    def panels(self, size: tuple[int, int] | None = None) -> list[Panel]:
        """Return a map for each score, all with the same shades."""
        largest = float(np.abs(self.values).max()) or 1.0
        numbers = self.across.is_number and self.up.is_number
        if len(self.values) == 1:
            height = 368 if self.up.is_number else max(256, 144 + 27 * len(self.up.values))
            size = size or (SIZE[0], height)
        found = []
        for k, values in enumerate(self.values):
            title = self.labels[k] if self.labels else ""
            across, up = (_along(axis) for axis in (self.across, self.up))
            ends = f"{signed(float(values.min()))} to {signed(float(values.max()))}"
            panel = Panel(across, up, f"{self.title}: {ends} on the {self.unit}", *(size or SMALL))
            panel.title = title
            written = not numbers and len(self.values) == 1
            edges = self.across.edges, self.up.edges
            panel.marks.append(marks.CellMark(*edges, values, largest, written))
            panel.spots = self._spots(values)
            found.append(panel)
        return found

    def _spots(self, values: Floats) -> list[Spot]:
        """Return what cells say where they are asked: every one, or some of many."""
        step = max(1, int(np.ceil(np.sqrt(values.size / MOST_SPOTS))))
        across, up = ((axis.edges[1:] + axis.edges[:-1]) / 2 for axis in (self.across, self.up))
        found = []
        for row in range(0, len(up), step if self.up.is_number else 1):
            for column in range(0, len(across), step if self.across.is_number else 1):
                said = ", ".join(
                    f"{axis.source} {_said(axis.values[place])}"
                    for axis, place in ((self.across, column), (self.up, row))
                )
                value = signed(float(values[row, column]))
                found.append(Spot(float(across[column]), float(up[row]), f"{said}: {value}"))
        return found

    def record(self) -> Record:
        """Return the map as plain values."""
        scores = np.round(self.values, 6).tolist()
        return {
            "sources": [self.across.source, self.up.source],
            **self.reading,
            "unit": self.unit,
            "reference": self.reference,
            "together": self.together,
            "x": _axis_record(self.across),
            "y": _axis_record(self.up),
            **({"labels": list(self.labels), "classes": scores} if self.labels else
               {"values": scores[0]}),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the map that `record` gave, or its JSON."""
        names = record["sources"]
        values = np.array(record["classes"] if "labels" in record else [record["values"]])
        across = _axis_of(names[0], record["x"], values.shape[2])
        up = _axis_of(names[1], record["y"], values.shape[1])
        told = {key: record[key] for key in ("terms", "shared", "others", "averaged")}
        labels, unit = tuple(record.get("labels", ())), record["unit"]
        return cls(across, up, values, labels, unit, record["reference"], told, record["together"])


def surface_records(
    subject: Subject, component: Component, reference: str | None = "mean"
) -> list[Record]:
    """Return a map for each pair of variables that direct terms read together, strongest first.

    Terms shared with further variables are averaged over the rows; without rows they are left out:
    `averaged` is None.
    """
    groups: dict[tuple[str, ...], list[DirectTerm]] = {}
    schema = subject.outline.schema
    for term in component.direct:
        if len(set(term.sources)) == 2:
            placed = sorted(term.sources, key=lambda name: (len(schema[name].levels), name))
            groups.setdefault(tuple(placed), []).append(term)
    found = [
        (
            SurfaceFigure.of(subject, names[0], names[1], reference, PAGE_CELLS),
            _reach(terms, subject.rows),
        )
        for names, terms in groups.items()
    ]
    several = bool(subject.labels)
    found.sort(key=lambda pair: -float(np.abs(pair[0].values).max()) if several else -pair[1])
    return [surface.record() for surface, _ in found]


def _reach(terms: list[DirectTerm], rows: Background | None) -> float:
    """Return how far the terms of a pair move a row, for the order of the pictures."""
    if rows is None:
        return sum(abs(term.coefficient) * term.scale for term in terms)
    total = sum_of(terms, rows.inputs)
    return float(rows.mean(np.abs(total - rows.mean(total))))


def _both(subject: Subject, *names: str) -> list[Component]:
    """Return all parts of the components that read two variables, in each score."""
    found = []
    numbers = sorted({subject.place(name) for name in names})
    for model in subject.scores:
        some = [model.components[number] for number in numbers]
        trees = tuple(tree for component in some for tree in component.trees)
        found.append(Component("", trees, tuple(t for c in some for t in c.direct)))
    return found


def _axis(subject: Subject, name: str, count: int) -> SurfaceAxis:
    variable = subject.outline.schema[name]
    if variable.kind == "category":
        return _levels(subject, name)
    edges = np.linspace(*dense(subject.outline, name, subject.rows), count + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    return SurfaceAxis(name, Cells.of_numbers(middle), edges, middle.tolist())


def _levels(subject: Subject, name: str) -> SurfaceAxis:
    """Return the levels of a category, the most frequent where they are many, and missing."""
    variable, shares = subject.outline.schema[name], subject.level_shares(name)
    codes = range(len(variable.levels))
    kept = sorted(sorted(codes, key=lambda k: -(shares[k] or 0.0))[:MOST_LEVELS])
    names: list[float | str] = [variable.levels[k] for k in kept]
    if variable.has_missing:
        kept, names = [*kept, MISSING], [*names, "missing"]
    return SurfaceAxis(name, Cells.of_codes(kept), np.arange(len(kept) + 1.0) - 0.5, names)


def _axis_record(axis: SurfaceAxis) -> Record:
    if axis.is_number:
        return {"range": [float(axis.edges[0]), float(axis.edges[-1])]}
    return {"levels": list(axis.values)}


def _axis_of(source: str, record: Mapping[str, Any], count: int) -> SurfaceAxis:
    if "levels" in record:
        edges = np.arange(count + 1.0) - 0.5
        return SurfaceAxis(source, Cells.of_codes(range(count)), edges, record["levels"])
    edges = np.linspace(record["range"][0], record["range"][1], count + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    return SurfaceAxis(source, Cells.of_numbers(middle), edges, middle.tolist())


def _along(axis: SurfaceAxis) -> marks.Axis:
    """Return the axis of a panel along one variable."""
    found = marks.Axis(float(axis.edges[0]), float(axis.edges[-1]), name(axis.source, 40))
    if not axis.is_number:
        found.ticks = [Tick(k, name(value, 16), True) for k, value in enumerate(axis.values)]
    return found


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else number(float(f"{value:.3g}"))

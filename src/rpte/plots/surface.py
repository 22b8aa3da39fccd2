"""What two variables add to the score together, as a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rpte.errors import InputError
from rpte.model.effect import Cells, joint_effect
from rpte.model.parts import Component
from rpte.plots import style
from rpte.plots.display import Display
from rpte.plots.shading import shaded
from rpte.plots.subject import Subject, check_reference
from rpte.report.curves import dense, reading
from rpte.report.effect_charts import joint_note
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

CELLS, CELLS_BESIDE_LEVELS, MOST_LEVELS = 40, 10, 14  # of a number, beside a category; of levels
COLUMNS = 3


@dataclass(frozen=True)
class Axis:
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
class SurfaceDisplay(Display):
    """What two variables add to the score together, at each pair of their values.

    Everything that reads one of them or both; terms shared with further variables are averaged over
    the rows.

    Parameters
    ----------
    across, up : Axis
    values : (scores, cells up, cells across)
    labels : tuple of str
        The classes, where there are several scores.
    unit : str
    reference : {"mean", None}
        What is counted from: the training mean, or as the model file counts.
    reading : mapping
        The terms that read the variables, and what was averaged over.
    together : bool
        Whether some term reads both.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier, SurfaceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.02).fit(X.iloc[:, :4], y)
    >>> display = SurfaceDisplay.from_estimator(clf, *clf.model_.sources[:2])
    >>> display.frame().shape[1]
    3
    """

    across: Axis
    up: Axis
    values: Floats
    labels: tuple[str, ...]
    unit: str
    reference: str | None
    reading: Mapping[str, Any]
    together: bool

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        first: str,
        second: str,
        *,
        X: Any = None,
        sample_weight: Any = None,
        reference: str | None = "mean",
        ax: Any = None,
    ) -> Self:
        """Take the joint effect of two variables from an estimator or a model, and draw it.

        Parameters
        ----------
        estimator : estimator or model
        first, second : str
            The variables.
        X, sample_weight, reference, ax
            As in `EffectDisplay.from_estimator`.
        """
        subject = Subject.of(estimator, "plot", X, sample_weight)
        return cls.of(subject, first, second, reference).plot(ax)

    @classmethod
    def of(cls, subject: Subject, first: str, second: str, reference: str | None = "mean") -> Self:
        """Return the display of two variables, not drawn yet."""
        check_reference(reference)
        if first == second:
            raise InputError(f"{first!r} is given twice; give two different variables, or one")
        names = first, second
        components, schema, rows = _both(subject, *names), subject.outline.schema, subject.rows
        if schema[first].kind == "category" and schema[second].kind == "number":
            names = second, first  # levels need room for their names
        kinds = {schema[name].kind for name in names}
        across, up = (_axis(subject, name, len(kinds) > 1) for name in names)
        cells = {axis.source: axis.cells for axis in (across, up)}
        found = np.array([joint_effect(c, schema, cells, rows) for c in components])
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

    def plot(self, ax: Any = None) -> Self:
        """Draw the map on some axes, or on a new figure; of several classes one for each."""
        count = len(self.values)
        columns = min(count, COLUMNS)
        rows = -(-count // columns)
        size = (6.4, self._height()) if count == 1 else (3.4 * columns, 0.8 + 2.8 * rows)
        ax = style.axes_or_new(ax, size)
        if count == 1:
            mesh, panels = self._panel(ax, 0), [ax]
        else:
            told = self._title(), self._note()
            panels = [p for row in style.under_headline(ax, rows, columns, *told) for p in row]
            for k, panel in enumerate(panels[:count]):
                mesh = self._panel(panel, k)
                label = style.name(self.labels[k])
                panel.set_title(label, loc="left", fontsize=style.TEXT, **style.PLAIN)
            for panel in panels[count:]:
                panel.set_axis_off()
            panels = panels[:count]
        bar = ax.figure.colorbar(mesh, ax=panels, shrink=0.9, pad=0.02)
        bar.set_label(style.axis_words(f"adds to {self.unit}"), fontsize=style.TEXT, **style.PLAIN)
        bar.ax.tick_params(labelsize=style.NOTE)
        bar.outline.set_visible(False)
        if count == 1:
            style.headline(ax, self._title(), self._note())
        return self._drawn(ax, *panels)

    def draw_small(self, ax: Any) -> None:
        """Draw the map of one score in a small panel, without a caption."""
        style.small_title(ax, self._title())
        self._panel(ax, 0)

    def _height(self) -> float:
        return 4.6 if self.up.is_number else max(3.2, 1.8 + 0.34 * len(self.up.values))

    def _title(self) -> str:
        name = f"{style.name(self.across.source, 34)} and {style.name(self.up.source, 34)}"
        return name + ("" if self.is_whole else " (own terms only)")

    def _note(self) -> str:
        note = joint_note(self.reading)
        if not self.together:
            note += "; no term reads both: their effects add up"
        if self.reference == "mean":
            note += "; 0 is the training mean"
        return note[:1].upper() + note[1:]

    def _panel(self, ax: Any, k: int) -> Any:
        written = not (self.across.is_number and self.up.is_number) and len(self.values) == 1
        largest = float(np.abs(self.values).max())
        mesh = shaded(ax, self.across.edges, self.up.edges, self.values[k], written, largest)
        for axis, ticks, label, most in (
            (self.across, ax.set_xticks, ax.set_xlabel, 12),
            (self.up, ax.set_yticks, ax.set_ylabel, 20),
        ):
            label(style.name(axis.source, 40), fontsize=style.TEXT, **style.PLAIN)
            if not axis.is_number:
                names = [style.name(value, most) for value in axis.values]
                ticks(range(len(names)), names, **style.PLAIN)
        if not self.across.is_number:
            ax.tick_params(axis="x", rotation=35)
        return mesh

    def frame(self) -> pd.DataFrame:
        """Return one row for each cell, of several classes for each of these too."""
        import pandas as pd

        across, up = np.meshgrid(
            np.array(self.across.values, object), np.array(self.up.values, object)
        )
        frames = []
        for k, values in enumerate(self.values):
            told: dict[str, Any] = {
                self.across.source: across.ravel(), self.up.source: up.ravel()
            }  # fmt: skip
            if self.labels:
                told["class"] = self.labels[k]
            frames.append(pd.DataFrame({**told, "effect": values.ravel()}).infer_objects())
        return pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.across.source!r}, {self.up.source!r})"


def _both(subject: Subject, *names: str) -> list[Component]:
    """Return all parts of the components that read two variables, in each score."""
    found = []
    numbers = sorted({subject.place(name) for name in names})
    for model in subject.scores:
        some = [model.components[number] for number in numbers]
        trees = tuple(tree for component in some for tree in component.trees)
        found.append(Component("", trees, tuple(t for c in some for t in c.direct)))
    return found


def _axis(subject: Subject, name: str, beside_levels: bool) -> Axis:
    variable = subject.outline.schema[name]
    if variable.kind == "category":
        return _levels(subject, name)
    count = CELLS_BESIDE_LEVELS if beside_levels else CELLS
    edges = np.linspace(*dense(subject.outline, name, subject.rows), count + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    return Axis(name, Cells.of_numbers(middle), edges, middle.tolist())


def _levels(subject: Subject, name: str) -> Axis:
    """Return the levels of a category, the most frequent where they are many, and missing."""
    variable, shares = subject.outline.schema[name], subject.level_shares(name)
    codes = range(len(variable.levels))
    kept = sorted(sorted(codes, key=lambda k: -(shares[k] or 0.0))[:MOST_LEVELS])
    names: list[float | str] = [variable.levels[k] for k in kept]
    if variable.has_missing:
        kept, names = [*kept, MISSING], [*names, "missing"]
    return Axis(name, Cells.of_codes(kept), np.arange(len(kept) + 1.0) - 0.5, names)

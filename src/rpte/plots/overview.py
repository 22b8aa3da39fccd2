"""A model at a glance: importances, and what its strongest components do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rpte.errors import InputError
from rpte.figures import pyplot as painter
from rpte.figures.effect_panels import SMALL, small_panel, title_of
from rpte.figures.subject import Subject
from rpte.model.effect import own_parts
from rpte.model.parts import Component
from rpte.plots.display import Display
from rpte.plots.effect import EffectDisplay
from rpte.plots.importance import ImportanceDisplay
from rpte.plots.surface import SurfaceDisplay

if TYPE_CHECKING:
    import pandas as pd

MOST_PANELS, COLUMNS = 6, 3


@dataclass
class OverviewDisplay(Display):
    """The importance of all variables, and a panel for each of the strongest components.

    A component of two numbers is drawn as a map, any other as the whole effect of its strongest
    variable; where there is room, further variables follow.

    Parameters
    ----------
    importance : ImportanceDisplay
    panels : list of EffectDisplay or SurfaceDisplay
        Of the strongest components, in order, then of further variables.
    left_out : int
        Components without a panel.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import OverviewDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.05).fit(X.iloc[:, :4], y)
    >>> display = OverviewDisplay.from_estimator(clf)
    >>> display.panels[0]
    EffectDisplay('mean perimeter')
    """

    importance: ImportanceDisplay
    panels: list[EffectDisplay | SurfaceDisplay]
    left_out: int

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        X: Any = None,
        sample_weight: Any = None,
        reference: str | None = "mean",
        ax: Any = None,
    ) -> Self:
        """Take the overview of a fitted estimator or a model, and draw it.

        Parameters
        ----------
        estimator : estimator or model
        X, sample_weight, reference, ax
            As in `EffectDisplay.from_estimator`; `ax` is divided into panels.
        """
        return cls.of(Subject.of(estimator, "plot", X, sample_weight), reference).plot(ax)

    @classmethod
    def of(cls, subject: Subject, reference: str | None = "mean") -> Self:
        """Return the display, not drawn yet."""
        if not subject.model.components:
            raise InputError("the model has no terms: it predicts the same for every row")
        importance = ImportanceDisplay.of(subject)
        size = importance.importances
        components = subject.outline.components
        ranked = sorted(components, key=lambda c: -sum(size.get(s, 0.0) for s in c.sources))
        first: list[tuple[str, ...]] = []
        rest: list[tuple[str, ...]] = []
        for component in ranked:
            known = [s for s in component.sources if subject.rows or own_parts(component, s)]
            strongest = sorted(known, key=lambda s: -size.get(s, 0.0))
            if strongest:
                first.append(_names(subject, component, strongest))
                rest += [(s,) for s in strongest[1:] if len(first[-1]) == 1]
        rest.sort(key=lambda names: -size.get(names[0], 0.0))
        drawn = [*first, *rest][:MOST_PANELS]
        panels = [_panel(subject, names, reference) for names in drawn]
        left_out = len(components) - min(len(first), len(panels))
        return cls(importance, panels, left_out)

    def plot(self, ax: Any = None) -> Self:
        """Draw all panels in the place of some axes, or on a new figure."""
        columns = min(COLUMNS, max(1, len(self.panels)))
        rows = max(1, -(-len(self.panels) // columns))
        ax = painter.axes_or_new(ax, (3.9 + 3.3 * columns, max(3.4, 3.1 * rows)))
        left, right = painter.divided(ax, 1, 2, width_ratios=(1.0, 1.05 * columns))[0]
        self.importance.plot(left)
        small = [p for row in painter.divided(right, rows, columns) for p in row]
        for display, axes in zip(self.panels, small, strict=False):
            if isinstance(display, SurfaceDisplay):
                title, panel = display.title, display.panels(SMALL)[0]
            else:
                title, panel = _title(display), small_panel(display)
            painter.small_title(axes, title)
            painter.paint(panel, axes)
        for panel in small[len(self.panels) :]:
            panel.set_axis_off()
        return self._drawn(ax, left, *small[: len(self.panels)])

    def frame(self) -> pd.DataFrame:
        """Return the importances; the panels have frames of their own."""
        return self.importance.frame()


def _title(display: EffectDisplay) -> str:
    others = display.reading["others"]
    return title_of(display) + (f" (with {', '.join(others)})" if others else "")


def _names(subject: Subject, component: Component, strongest: list[str]) -> tuple[str, ...]:
    """Return the variables of a component's panel: two numbers of one score, or the strongest."""
    kinds = {subject.outline.schema[s].kind for s in component.sources}
    two = len(component.sources) == len(strongest) == 2 and kinds == {"number"}
    return tuple(strongest) if two and not subject.labels else (strongest[0],)


def _panel(
    subject: Subject, names: tuple[str, ...], reference: str | None
) -> EffectDisplay | SurfaceDisplay:
    if len(names) == 2:
        return SurfaceDisplay.of(subject, names[0], names[1], reference)
    return EffectDisplay.of(subject, names[0], None, reference)

"""What two variables add to the score together, as a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rpte.figures import pyplot as painter
from rpte.figures.effect_panels import SIZE
from rpte.figures.subject import Subject
from rpte.figures.surface import SurfaceFigure
from rpte.plots.display import Display

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = 3  # of the maps of several classes


@dataclass
class SurfaceDisplay(SurfaceFigure, Display):
    """What two variables add to the score together, at each pair of their values.

    Everything that reads one of them or both; terms shared with further variables are averaged over
    the rows.

    Parameters
    ----------
    across, up : SurfaceAxis
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

    def plot(self, ax: Any = None) -> Self:
        """Draw the map on some axes, or on a new figure; of several classes one for each."""
        panels = self.panels()
        if len(panels) == 1:
            drawn = painter.axes_or_new(
                ax, (SIZE[0] / painter.PIXELS, panels[0].height / painter.PIXELS)
            )
            painter.paint(panels[0], drawn)
            painter.colour_bar(drawn, [drawn], self.adds)
            painter.headline(drawn, self.title, self.note)
            return self._drawn(drawn)
        drawn, axes = painter.draw_several(panels, ax, COLUMNS, self.title, self.note)
        painter.colour_bar(drawn, axes, self.adds)
        return self._drawn(drawn, *axes)

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

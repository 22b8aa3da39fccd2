"""What fewer conditions cost: the validated deviance of the models that training compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from rpte.figures import pyplot as painter
from rpte.figures.frontier import Frontier, frontier_note, frontier_panel, read_frontier
from rpte.figures.subject import Subject
from rpte.plots.display import Display

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class FrontierDisplay(Display):
    """The trade-off between conditions and validated deviance, as found in training.

    Parameters
    ----------
    frontier : Frontier
        One point for each model that no other beats.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import FrontierDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = FrontierDisplay.from_estimator(RPTEClassifier().fit(X.iloc[:, :4], y))
    >>> list(display.frame())
    ['miu', 'components', 'deviance', 'error', 'chosen', 'explained']
    """

    frontier: Frontier

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Take the frontier from a fitted estimator or a model, and draw it."""
        model = Subject.of(estimator, "plot_frontier").model
        return cls(read_frontier(model)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the models as points with one standard error, on some axes or a new figure."""
        title, note = "What fewer conditions cost", frontier_note(self.frontier)
        return self._drawn(painter.draw(frontier_panel(self.frontier), ax, title, note))

    def frame(self) -> pd.DataFrame:
        """Return one row for each model; `explained` is its share of the best model's gain."""
        import pandas as pd

        found = [
            {**asdict(p), "explained": self.frontier.share(p.deviance)}
            for p in self.frontier.points
        ]
        return pd.DataFrame(found)

"""How much each variable moves the score, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rpte.errors import InputError
from rpte.figures import pyplot as painter
from rpte.figures.importance import ABOUT, importance_panel
from rpte.figures.subject import Subject
from rpte.model.importance import NAMES, RECORD, importance_rows, importances, measured_importances
from rpte.plots.display import Display

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class ImportanceDisplay(Display):
    """The importance of each variable: its mean absolute contribution to the score.

    Parameters
    ----------
    importances : mapping of str to float
        By variable, the largest first.
    components : mapping of str to str
        The component that reads each of them.
    unit : str
        What contributions add to.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import ImportanceDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.05).fit(X.iloc[:, :4], y)
    >>> display = ImportanceDisplay.from_estimator(clf)
    >>> list(display.frame())
    ['variable', 'component', 'importance', 'share']
    """

    importances: Mapping[str, float]
    components: Mapping[str, str]
    unit: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, X: Any = None, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Take the importances of a fitted estimator or a model, and draw them.

        Parameters
        ----------
        estimator : estimator or model
        X : table, optional
            Rows to measure on, in place of the training rows.
        sample_weight : (n_rows,), optional
        ax : matplotlib Axes, optional
        """
        return cls.of(Subject.of(estimator, "plot", X, sample_weight)).plot(ax)

    @classmethod
    def of(cls, subject: Subject) -> Self:
        """Return the display, not drawn yet."""
        model, rows = subject.model, subject.rows
        if rows is not None and (subject.given or RECORD not in model.training):
            found = measured_importances(model, rows.inputs, rows.weight)
        else:
            found = importances(model)
        told = list(importance_rows(model.components, found))
        return cls({row[0]: row[2] for row in told}, {row[0]: row[1] for row in told}, subject.unit)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars on some axes, or on a new figure."""
        if not self.importances:
            raise InputError("the model reads no variable: there is nothing to draw")
        panel = importance_panel(list(self.importances.items()), self.unit)
        about = f"{ABOUT} to {self.unit}"
        panel.x.label = ""
        return self._drawn(painter.draw(panel, ax, "Importance", about))

    def frame(self) -> pd.DataFrame:
        """Return variable, component, importance and share, the largest first."""
        import pandas as pd

        total = sum(self.importances.values()) or 1.0
        rows = [(n, self.components[n], v, v / total) for n, v in self.importances.items()]
        return pd.DataFrame(rows, columns=list(NAMES))

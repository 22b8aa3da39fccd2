"""How much each variable moves the score, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rpte.errors import InputError
from rpte.model.importance import NAMES, RECORD, importance_rows, importances, measured_importances
from rpte.plots import style
from rpte.plots.display import Display
from rpte.plots.subject import Subject

if TYPE_CHECKING:
    import pandas as pd

MOST_BARS = 20


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
        names = list(self.importances)
        shown = names if len(names) <= MOST_BARS else names[: MOST_BARS - 1]
        rest = sum(self.importances[each] for each in names[len(shown) :])
        bars = [(style.name(each), self.importances[each]) for each in shown]
        if len(shown) < len(names):
            bars.append((f"{len(names) - len(shown)} others", rest))
        ax = style.axes_or_new(ax, (6.4, 1.1 + 0.3 * len(bars)))
        self._bars(ax, bars)
        style.headline(ax, "Importance", f"mean absolute contribution to {self.unit}")
        return self._drawn(ax)

    def _bars(self, ax: Any, bars: list[tuple[str, float]]) -> None:
        total = sum(self.importances.values()) or 1.0
        ax.barh(range(len(bars)), [v for _, v in bars], 0.66, color=style.palette(ax)[0])
        for y, (_, value) in enumerate(bars):
            ax.annotate(
                style.share(value / total), (value, y), (4, 0), textcoords="offset points",
                va="center", fontsize=style.NOTE,
            )  # fmt: skip
        style.open_frame(ax, "bottom")
        ax.set_yticks(range(len(bars)), [label for label, _ in bars], **style.PLAIN)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        ax.set_xlim(0, max(v for _, v in bars) * 1.14 or 1.0)

    def frame(self) -> pd.DataFrame:
        """Return variable, component, importance and share, the largest first."""
        import pandas as pd

        total = sum(self.importances.values()) or 1.0
        rows = [(n, self.components[n], v, v / total) for n, v in self.importances.items()]
        return pd.DataFrame(rows, columns=list(NAMES))

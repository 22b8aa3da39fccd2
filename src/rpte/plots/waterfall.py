"""How one row comes to its score: a waterfall from the base through all components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rpte.errors import InputError
from rpte.figures import pyplot as painter
from rpte.figures.case import CaseFigure
from rpte.figures.subject import Subject
from rpte.plots.display import Display
from rpte.table.inputs import column_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class CaseDisplay(CaseFigure, Display):
    """The score of one row as a sum: bars from the base to the score, the largest first.

    Parameters
    ----------
    bars : list of Bar
        One for each component, the largest first.
    base, score : float
        What the sum begins with, and what it comes to.
    start : str
        What the base is.
    unit : str
        What is added to.
    title : str
        What the score stands for.
    notes : tuple of str
        Further predictions, and what training did not have.
    marks : list of (float, str)
        Scores with what they stand for, for a second axis.
    marks_name : str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import CaseDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.05).fit(X, y)
    >>> display = CaseDisplay.from_estimator(clf, X.iloc[17])
    >>> found = display.frame()
    >>> bool(abs(found["contribution"].sum() - clf.model_.score(X.iloc[[17]])[0]) < 1e-9)
    True
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, row: Any, *, reference: str | None = None, ax: Any = None, **given: Any
    ) -> Self:
        """Take the score of one row apart, and draw it.

        Parameters
        ----------
        estimator : estimator or model
        row : Series, mapping, or a table of one row
        reference : {None, "mean"}
            Begin with the intercept, or with the mean score of the training rows.
        ax : matplotlib Axes, optional
        **given
            Further arguments of the model's `explain`.
        """
        model = Subject.of(estimator, "plot_case").model
        (explained,) = model.explain(one_row(row), reference, **given)
        return cls.of(explained).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the waterfall on some axes, or on a new figure."""
        return self._drawn(painter.draw(self.panel(), ax, self.title, self.note))

    def frame(self) -> pd.DataFrame:
        """Return the base and every component, the largest first, with the sum so far."""
        import pandas as pd

        rows = [("", self.start, self.base), *self.bars]
        found = pd.DataFrame(rows, columns=["component", "values", "contribution"])
        found["sum"] = found["contribution"].cumsum()
        return found


def one_row(row: Any) -> Any:
    """Return a table of one row from a Series, a mapping, a list of values or such a table."""
    if isinstance(row, Mapping):
        return {name: _one_cell(name, cell) for name, cell in row.items()}
    if hasattr(row, "index") and hasattr(row, "items") and not hasattr(row, "columns"):
        return {name: [cell] for name, cell in row.items()}
    if not hasattr(row, "shape") or column_names(row) is not None:
        return _checked(row)
    return _checked(np.asarray(row)[None, :] if len(row.shape) == 1 else row)


def _checked(table: Any) -> Any:
    n_rows = table.n_rows if hasattr(table, "n_rows") else len(table)
    if n_rows != 1:
        raise InputError(
            f"plot_case draws one row, and this table has {n_rows}; give one: X.iloc[17], or a "
            "table of one row"
        )
    return table


def _one_cell(name: Any, cell: Any) -> Sequence[Any]:
    if isinstance(cell, str) or not hasattr(cell, "__len__"):
        return [cell]
    if len(cell) != 1:
        raise InputError(f"plot_case draws one row, and {name!r} has {len(cell)} values")
    return cell  # type: ignore[no-any-return]

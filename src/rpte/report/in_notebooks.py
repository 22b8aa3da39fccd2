"""How a fitted classifier shows itself; what draws is imported when it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpte.model.model import Model
    from rpte.report.notebook import Picture


class NotebookMixin:
    """What makes a fitted classifier show itself in a notebook."""

    model_: Model

    def plot_tree(self, tree: int | str = 1) -> Picture:
        """Return a tree of the model as a picture, by its number from 1 or its name."""
        from rpte.report.notebook import plot_tree

        return plot_tree(self._fitted(), tree)

    def plot_effect(self, source: str, X: Any = None, sample_weight: Any = None) -> Picture:
        """Return what a variable does to the score as a picture.

        Parameters
        ----------
        source : str
            The variable.
        X : table, optional
            Rows over which the terms shared with other variables are averaged, best the training
            table. Without rows the picture shows the variable's own terms, and says so.
        sample_weight : (n_rows,), optional
        """
        from rpte.report.notebook import plot_effect

        return plot_effect(self._fitted(), source, X, sample_weight)

    def plot_frontier(self) -> Picture:
        """Return what fewer conditions cost, as found in training, as a picture."""
        from rpte.report.notebook import plot_frontier

        return plot_frontier(self._fitted())

    def _fitted(self) -> Model:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "model_")
        return self.model_

    def _html_repr(self) -> Any:
        """Return the card of a fitted model; scikit-learn's own of one that is not."""
        if hasattr(self, "model_"):
            from rpte.report.notebook import model_html

            return model_html(self.model_)
        return super()._html_repr()  # type: ignore[misc]

"""What fitted and loaded models draw and tell of importances: methods that all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rpte.model.effects import COLUMNS, effect_rows
from rpte.model.importance import NAMES, importance_rows, importances

if TYPE_CHECKING:
    import pandas as pd

    from rpte.plots.display import Display
    from rpte.plots.frontier import FrontierDisplay
    from rpte.plots.waterfall import CaseDisplay


class PlotMethodsMixin:
    """Pictures of a model, and the importances of its variables."""

    __slots__ = ()

    def importances(self, X: Any = None, sample_weight: Any = None) -> pd.DataFrame:
        """Return the importance of each variable that the model reads, the largest first.

        `rpte.model.importance` has the definition.

        Parameters
        ----------
        X : table, optional
            Rows to measure on; without them, what the model file tells of the training rows.
        sample_weight : (n_rows,), optional

        Returns
        -------
        DataFrame
            Columns variable, component, importance (in units of the score), and the share of all
            importances.
        """
        import pandas as pd

        found = importances(self, X, sample_weight)  # type: ignore[arg-type]
        rows = importance_rows(self.components, found)  # type: ignore[attr-defined]
        return pd.DataFrame(list(rows), columns=list(NAMES))

    def effects(self) -> pd.DataFrame:
        """Return what the own terms of each variable add to the score at values that occur.

        Counted from the training mean, so that 0 is the average case. `summary()` says the same in
        words.

        Returns
        -------
        DataFrame
            Columns variable, component, value (the different numbers of training if they are few,
            else quantiles; levels, special codes, ``missing``), quantile, effect (in units of the
            score) and alone: False where the variable adds more together with others, which is not
            in the effect. Of several classes also the class.
        """
        import pandas as pd

        labelled = ["class"] if len(self.models) > 1 else []  # type: ignore[attr-defined]
        columns = [*COLUMNS[:2], *labelled, *COLUMNS[2:]]
        rows = list(effect_rows(self))  # type: ignore[arg-type]
        return pd.DataFrame(rows, columns=columns).astype({"alone": bool})

    def plot(
        self,
        *names: str,
        X: Any = None,
        sample_weight: Any = None,
        bootstrap: Any = None,
        reference: str | None = "mean",
        ax: Any = None,
    ) -> Display:
        """Draw the model, what one or two variables add to the score, or a tree.

        Needs matplotlib: ``pip install 'rpte[plot]'``.

        Parameters
        ----------
        *names : str
            None for an overview, one variable for its effect, two for a map of both, or the name
            of a tree, such as ``"T1"``.
        X : table, optional
            Rows that shared terms are averaged over and whose density is drawn, best the training
            table. Without rows a picture shows what the model file knows, and says so.
        sample_weight : (n_rows,), optional
        bootstrap : Bootstrap, optional
            What `rpte.bootstrap` returns, for a band around the effect of one variable.
        reference : {"mean", None}
            Count effects from their training mean, or as the model file does.
        ax : matplotlib Axes, optional
            To draw on; a new figure if None.

        Returns
        -------
        OverviewDisplay, EffectDisplay, SurfaceDisplay or TreeDisplay
        """
        from rpte.plots.dispatch import draw

        given = {"X": X, "sample_weight": sample_weight, "bootstrap": bootstrap}
        return draw(self, names, **given, reference=reference, ax=ax)

    def plot_case(self, row: Any, *, ax: Any = None, **given: Any) -> CaseDisplay:
        """Draw how one row comes to its score: a waterfall of contributions.

        Parameters
        ----------
        row : Series, mapping, or a table of one row
        ax : matplotlib Axes, optional
        **given
            As `explain` takes them: `reference`, and by the task `exposure`, `offset`, `horizons`,
            `strata`, `label`, `against`; `allow_unknown`.
        """
        from rpte.plots.waterfall import CaseDisplay

        return CaseDisplay.from_estimator(self, row, ax=ax, **given)

    def plot_frontier(self, *, ax: Any = None) -> FrontierDisplay:
        """Draw what fewer conditions cost, as found in training."""
        from rpte.plots.frontier import FrontierDisplay

        return FrontierDisplay.from_estimator(self, ax=ax)

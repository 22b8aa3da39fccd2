"""Methods of a fitted estimator; all answers come from its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rpte.errors import InputError
from rpte.estimators.checks import refuse_sparse
from rpte.model.causes import one_event
from rpte.model.interactions import interaction_rows
from rpte.model.promises import Hints, free_promises
from rpte.model.versions import shape_family
from rpte.table.inputs import Inputs, require_columns
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

    from rpte.audit.load import AuditLoad
    from rpte.export.parity import Parity
    from rpte.model.check import Checks
    from rpte.model.explain import Explanation
    from rpte.model.explanations import Explanations
    from rpte.model.model import Model
    from rpte.plots.display import Display
    from rpte.plots.frontier import FrontierDisplay
    from rpte.plots.waterfall import CaseDisplay
    from rpte.report.report import Report
    from rpte.scorecard import Scorecard
    from rpte.validation.cross_validate import Estimate


FRONTIER_COLUMNS = [
    "miu", "deviance", "error", "components", "shape_family", "n_trees", "n_pairs",
    "max_conditions", "l1_ratio", "l1",
]  # fmt: skip


class ModelMethodsMixin:
    """Methods of an estimator that ask its `model_`, or one of its `frontier_models_`."""

    model_: Model
    frontier_models_: tuple[Model, ...]
    at_miu_: int

    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def _for(self, X: Any) -> Model:
        """Return the model for a table that has all columns of training."""
        model = self._fitted()
        refuse_sparse(X, "; pass X.toarray()")
        require_columns(X, model.schema)
        return model

    def _inputs(self, X: Any, allow_unknown: bool = False) -> Inputs:
        inputs = self._for(X).read(X, allow_unknown=allow_unknown)
        require_rows(inputs.n_rows)
        return inputs

    def explain(
        self, X: Any, reference: str | None = None, *, allow_unknown: bool = False
    ) -> Explanations[Explanation]:
        """Take each row's score apart, in the order in which it is summed.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        reference : {None, "mean"}
            "mean" shows contributions against their training mean.
        allow_unknown : bool
            As in `predict`.
        """
        inputs = self._inputs(X, allow_unknown)
        return self.model_.explain(inputs, reference).labelled(X)

    def summary(self, every: bool = False, terms: bool = False) -> str:
        """Return the model as text, as `Model.summary` does.

        Parameters
        ----------
        every : bool
            All of a model of more than 30 terms, not the largest first and small ones in one line.
        terms : bool
            The terms with their coefficients, as the score adds them up, in place of what each
            variable does to the score of an average case. Models of several classes or causes
            always show terms.
        """
        return self._fitted().summary(every, terms)

    def audit(self, X: Any = None) -> AuditLoad:
        """Return the audit load (mu, miu, bound; iiu over the rows of `X`)."""
        return self._fitted().audit(None if X is None else self._inputs(X))

    def verify(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **given: Any
    ) -> Checks:
        """Check every claim of the model; more can be checked with the training table.

        `given` are the exposure and the offset of the training rows, of a regressor that had them.
        """
        return self._fitted().verify(X, y, sample_weight, **given)

    def report(
        self,
        X: Any = None,
        y: Any = None,
        path: str | Path | None = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> Report:
        """Write all about the model, measured on a table, to one page that opens anywhere, offline.

        Parameters
        ----------
        X, y, sample_weight : table and outcomes, optional
            Best such as training has not seen.
        path : str or Path, optional
            The page to write; if None, the `save` of what is returned writes it.
        **options
            `by`, `about`, `threshold`, `horizons`, `resamples`, `stability`, `cases`,
            `full_profile`, `name`, and `exposure`, `offset`, `entry`, `strata` and `against` of the
            rows: see `rpte.report.report.make_report`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from rpte import RPTEClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> clf = RPTEClassifier(l1=0.1).fit(X[::2], y[::2])
        >>> page = clf.report(X[1::2], y[1::2], resamples=20)
        >>> page.failed, "Area under the ROC curve" in page.html
        ([], True)
        """
        return self._fitted().report(X, y, path, sample_weight, **options)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, which `rpte.load` reads."""
        self._fitted().save(path)

    def export(self, target: str, path: str | Path, X: Any = None, **options: Any) -> Parity:
        """Write the model in another form (``"sql"``, ...), compared with it on the rows of `X`.

        Parameters
        ----------
        target : str
        path : str or Path
            The parity record goes to the same name with ``.parity.json`` added.
        X : table, optional
            Rows to compare on; if None, rows made from the model's thresholds and levels.
        **options
            Of the target; docs/deploy.md lists them.
        """
        return self._fitted().export(target, path, X, **options)

    def scorecard(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **scale: Any
    ) -> Scorecard:
        """Return the model as whole points to add up by hand; see `Model.scorecard`.

        Parameters
        ----------
        X : table, optional
            Rows to make bins from, such as the training table; without them bins follow what the
            model file tells of the training values.
        y, sample_weight : (n_rows,), optional
            Labels of the rows, for the weight of evidence and the information value of every line.
        **scale
            `pdo`, `base_score`, `base_odds`, `points_for`; of times `horizons` and `stratum`.
        """
        return self._fitted().scorecard(X, y, sample_weight, **scale)

    def cross_validate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        folds: int = 5,
        **given: Any,
    ) -> Estimate:
        """Estimate how good the fit is on rows not seen, and keep the figures with the model.

        The whole fit is repeated in each fold of the training table. `save` then writes the
        figures to the model file, with standard errors over folds: AUC, log-loss and Brier score
        of two classes, mean AUC (each against the rest), log-loss and accuracy of several, or the
        share of the deviance explained, mean absolute and root mean squared error of numbers,
        concordance and the Brier score over time of times until an event, and conditions.

        Parameters
        ----------
        X, y, sample_weight, groups
            The training table, as given to `fit`.
        folds : int
            Fewer where the smallest class, or a table of numbers, has fewer rows or groups.
        **given
            The exposure and the offset of the training rows, of a regressor that had them; the
            entry and the strata of times until an event.

        Raises
        ------
        InputError
            If this is not the training table, parameters were changed since the fit, or the model
            was picked by `at`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from rpte import RPTEClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> clf = RPTEClassifier(l1=0.05).fit(X.iloc[:, :4], y)
        >>> found = clf.cross_validate(X.iloc[:, :4], y, folds=3)
        >>> clf.model_.training["cross_validation"]["auc"]["mean"] == found.mean("auc")
        True
        """
        from rpte.validation.cross_validate import check_repeats, estimate, with_estimate

        one_event(self._fitted(), "cross_validate")
        check_repeats(self, X, y, sample_weight, **given)
        asked = {"weight": sample_weight, "groups": groups, "folds": folds}
        found = estimate(self, X, y, **asked, **given)
        self.model_ = with_estimate(self.model_, found)
        return found

    @property
    def frontier_(self) -> pd.DataFrame:
        """The trade-off found in training: one row per model that no other beats.

        Conditions (miu), validated deviance with its standard error, components, and what the
        candidate allowed Stage 3. Empty where the penalty was given.
        """
        import pandas as pd

        selection = self._fitted().training["selection"]
        frontier = [] if selection is None else selection["frontier"]
        rows = [{**row, "shape_family": shape_family(row)} for row in frontier]
        return pd.DataFrame(rows, columns=FRONTIER_COLUMNS)

    def at(self, miu: int) -> Self:
        """Return the estimator with the best model of `frontier_` within `miu` conditions.

        Nothing is searched or estimated again.
        """
        one_event(self._fitted(), "at")
        loads = [model.audit().miu for model in self.frontier_models_]
        within = [k for k, load in enumerate(loads) if load <= miu]
        if not within:
            known = f"the least on the frontier is {loads[0]}" if loads else "there is no frontier"
            raise InputError(f"miu={miu!r}; {known}: fit with l1='cv', or allow more conditions")
        other = self.__class__.__new__(self.__class__)
        other.__dict__.update(self.__dict__)
        other.model_ = self.frontier_models_[within[-1]]
        other.at_miu_ = miu
        return other

    @property
    def rules_(self) -> pd.DataFrame:
        """One row per active term, in the order of the file.

        The ratio of a number (odds, rate, hazard), or its effect in units of y, is that of a
        typical `step`: one interquartile range in training, else one standard deviation.
        `effect_per_step` is what the step adds to the score. What holds or does not has no step.
        """
        import pandas as pd

        names, rows = self._fitted().rule_table()
        return pd.DataFrame(rows, columns=names)

    @property
    def importances_(self) -> pd.DataFrame:
        """How much each variable moves the score, the largest first, and its share of all.

        The importance is the mean absolute contribution over the training rows, counted from its
        mean: a variable's own terms, and an equal share of each term or tree that it has in common
        with others. Of several classes, the mean over these.
        """
        return one_event(self._fitted(), "importances_").importances()

    @property
    def interactions_(self) -> pd.DataFrame:
        """Which pairs of variables interact beyond what each of them says alone.

        `gain` is what a small tree over the pair explains of held-out rows beyond an additive fit,
        in nats; `chance` is the largest gain of any pair if the additive fit were true. `group` is
        the number of the group that the pair joined. A refusal where nobody looked: rules, a given
        `l1`, `shapes="free"`.
        """
        import pandas as pd

        rows = interaction_rows(one_event(self._fitted(), "interactions_"))
        columns = ["first", "second", "gain", "chance", "group"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def effects_(self) -> pd.DataFrame:
        """What each variable adds to the score at values that occur: see `Model.effects`."""
        return one_event(self._fitted(), "effects_").effects()

    @property
    def hints_(self) -> Hints:
        """Lines on what deserves a look, and directions that cost nothing (`hints_.monotone`)."""
        promised = free_promises(self._fitted())
        return Hints(vars(self)["hints_"], promised)  # the lines are kept as they are

    @hints_.setter
    def hints_(self, lines: tuple[str, ...]) -> None:
        """Take the lines: scikit-learn's callbacks copy a fit by setting its attributes."""
        vars(self)["hints_"] = lines

    @property
    def feature_importances_(self) -> Floats:
        """`importances_` in the order of the columns of `X`, 0 for those that are not read."""
        found = self.importances_.set_index("variable")["importance"]
        names = getattr(self, "feature_names_in_", None)
        columns = self.model_.schema.names if names is None else names
        return np.array([float(found.get(name, 0.0)) for name in columns])

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

        Needs matplotlib: ``pip install 'rpte[plot]'``. Effects are averaged over some of the
        training rows, which the estimator keeps in memory (not when it is stored).

        Parameters
        ----------
        *names : str
            None for an overview, one variable for its effect, two for a map of both, or the name
            of a tree, such as ``"T1"``.
        X : table, optional
            Other rows to average over and to draw the density of.
        sample_weight : (n_rows,), optional
            Of the rows of `X`.
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
        """Draw how one row comes to its score: a waterfall of contributions, the largest first.

        Parameters
        ----------
        row : Series, mapping, or a table of one row
            Such as ``X.iloc[17]``.
        ax : matplotlib Axes, optional
        **given
            As `explain` of the model takes them: `reference`, and by the task `exposure`,
            `offset`, `horizons`, `strata`, `label`, `against`; `allow_unknown`.
        """
        from rpte.plots.waterfall import CaseDisplay

        return CaseDisplay.from_estimator(self, row, ax=ax, **given)

    def plot_frontier(self, *, ax: Any = None) -> FrontierDisplay:
        """Draw what fewer conditions cost, as found in training."""
        from rpte.plots.frontier import FrontierDisplay

        return FrontierDisplay.from_estimator(self, ax=ax)

    def _html_repr(self) -> Any:
        """Return the card of a fitted model; scikit-learn's own of one that is not."""
        if hasattr(self, "model_"):
            from rpte.notebook.models import estimator_html

            return estimator_html(self)
        return super()._html_repr()  # type: ignore[misc]


def require_rows(n_rows: int) -> None:
    """Refuse a table without rows."""
    if n_rows == 0:
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")

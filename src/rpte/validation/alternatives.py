"""Other models of equal validated loss: other variables, fewer of them, or none of a named one.

A model is one of many that explain a table about equally well. Each candidate may not use some
variables of the model; it is learned again with the settings of the file, and validated out of fold
like the model itself: everything is learned again in each fold, on the same folds for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError, did_you_mean
from rpte.model.given import one_score_model
from rpte.model.model import Model
from rpte.table.inputs import column_names
from rpte.table.table import row_hashes
from rpte.utils.arrays import Floats
from rpte.validation.tables import fold_of_rows, labelled_rows, trains_on_both

if TYPE_CHECKING:
    from rpte.estimators.classifier import RPTEClassifier
    from rpte.estimators.regressor import RPTERegressor

Names = tuple[str, ...]
Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, repr=False)
class Alternative:
    """Another model of the same table.

    Parameters
    ----------
    without : tuple of str
        The variables it was not allowed to use.
    model : Model
        Learned from all rows.
    gone, new : tuple of str
        Variables of the reference that it does not use, and variables that only it uses.
    deviance : float
        Validated: out of fold, mean over rows. Of squared error, in units of the variance of y.
    difference, error : float
        Validated deviance less the reference's, and the standard error of this over rows.
    agreement : float
        Rank correlation of its out-of-fold scores with the reference's.
    """

    without: Names
    model: Model
    gone: Names
    new: Names
    deviance: float
    difference: float
    error: float
    agreement: float

    def __repr__(self) -> str:
        return f"Alternative({self})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import alternative_html

        return alternative_html(self)

    @property
    def sources(self) -> Names:
        """The variables that it uses."""
        return self.model.sources

    def __str__(self) -> str:
        instead = f", instead {', '.join(self.new)}" if self.new else ""
        more = [name for name in self.gone if name not in self.without]
        also = f", nor {', '.join(more)}" if more else ""
        return (
            f"without {', '.join(self.without)}{also}{instead}: {len(self.sources)} variables, "
            f"{self.model.audit().miu} conditions, deviance {self.deviance:.4f} "
            f"({self.difference:+.4f} ± {self.error:.4f}), agreement {self.agreement:.3f}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Alternatives:
    """The alternatives to a model, best first.

    Parameters
    ----------
    reference : Model
    deviance, null_deviance : float
        Validated deviance of the reference, and of the base rate, or the mean alone.
    tolerance : float
    found : tuple of Alternative
    tried : int
        Candidates that were validated.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier, alternatives
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean perimeter", "mean texture"]]
    >>> model = RPTEClassifier(l1=0.05, vocabulary="original", max_trees=0).fit(X, y).model_
    >>> other = alternatives(model, X, y, tolerance=0.1, without=["mean perimeter"], folds=3)
    >>> [alternative.sources for alternative in other.found]
    [('mean radius', 'mean texture')]
    """

    reference: Model
    deviance: float
    null_deviance: float
    tolerance: float
    found: tuple[Alternative, ...]
    tried: int

    def __repr__(self) -> str:
        found = f"{len(self.found)} of {self.tried} candidates"
        return f"Alternatives({found} within {self.tolerance:g})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import alternatives_html

        return alternatives_html(self)

    def __str__(self) -> str:
        summary = (
            f"{len(self.reference.sources)} variables, {self.reference.audit().miu} "
            f"conditions, validated deviance {self.deviance:.4f} ({self._null} "
            f"{self.null_deviance:.4f}); {len(self.found)} of {self.tried} candidates lose at "
            f"most {self.tolerance:g} of what it explains"
        )
        return "\n".join([summary, *(f"* {found}" for found in self.found)])

    @property
    def _null(self) -> str:
        return "base rate" if self.reference.task == "binary" else "mean alone"


def alternatives(
    model: Model | RPTEClassifier | RPTERegressor,
    X: Any,
    y: Any,
    tolerance: float = 0.02,
    *,
    without: Iterable[str] = (),
    folds: int = 5,
    groups: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    offset: Any = None,
    tell: Callable[[int], None] | None = None,
) -> Alternatives:
    """Look for other models whose validated loss is equal within a tolerance.

    Every variable of the model is left out in turn; then the least missed ones together, one more
    each time, as long as the loss stays within the tolerance.

    Parameters
    ----------
    model : Model, fitted RPTEClassifier or RPTERegressor
    X, y : the training table and its targets
    tolerance : float
        Fraction of the deviance explained by the model that an alternative may leave unexplained.
    without : names of variables, optional
        Leave these out, all at once, instead of one variable after the other.
    folds : int
        Fits of each candidate; those within the tolerance are fitted once more. Fewer where the
        smaller class, or a table of numbers, has fewer different rows or groups.
    groups : array of shape (n_rows,), optional
        Rows of one group (a patient, a recording) are never split.
    sample_weight : array of shape (n_rows,), optional
        As in training.
    exposure, offset : arrays of shape (n_rows,), or names of columns of `X`, optional
        Numeric targets: as in training.
    tell : callable, optional
        Called with the number of candidates done.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier, alternatives
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean perimeter", "mean texture"]]
    >>> clf = RPTEClassifier(l1=0.05, vocabulary="original", max_trees=0).fit(X, y)
    >>> found = alternatives(clf, X, y, tolerance=0.1, without=["mean perimeter"], folds=3)
    >>> [alternative.sources for alternative in found.found]
    [('mean radius', 'mean texture')]
    """
    instead = "Limits(exclude=[...]) in a new fit, and compare figures of cross_validate"
    reference = one_score_model(model, "alternatives", instead)
    if reference.task == "survival":
        raise InputError(
            "alternatives compares losses of rows, which hazards do not have; fit again with "
            "limits=Limits(exclude=[...]), and compare figures of cross_validate"
        )
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance={tolerance!r}; it must be a share from 0 to below 1")
    if not isinstance(folds, int) or folds < 2:
        raise InputError(f"folds={folds!r}; it must be a whole number, 2 or more")
    if not reference.components:
        raise InputError("the model has no terms, so there is nothing to leave out")
    beside = {"exposure": exposure, "offset": offset}
    given = {name: values for name, values in beside.items() if values is not None}
    told = tell or (lambda _: None)
    search = _Search(reference, X, y, groups, sample_weight, folds, told, **given)
    named = search.known(without)
    search.candidate(())
    if named:
        search.candidate(named)
    else:
        for name in reference.sources if search.spare else ():
            search.candidate((name,))
        search.add_up(tolerance)
    return search.result(tolerance)


class _Search:
    """Candidates, each with its out-of-fold scores."""

    def __init__(
        self,
        reference: Model,
        X: Any,
        y: Any,
        groups: Any,
        weight: Any,
        folds: int,
        tell: Tell,
        **given: Any,
    ) -> None:
        self.reference, self.X, self.y, self.groups, self.given = reference, X, y, groups, given
        self.rows, self.loss = labelled_rows(reference, X, y, weight, **given), reference.loss
        ones = np.ones(len(self.rows.y)) if weight is None else weight
        self.weight = np.broadcast_to(np.asarray(ones, np.float64), self.rows.y.shape)
        units = None if groups is None else np.asarray(groups)
        content, numbers = row_hashes(self.rows.inputs), reference.task != "binary"
        strata = self.loss.strata(self.rows.y) if numbers else None
        self.fold = fold_of_rows(content, self.rows.y, units, folds, strata=strata)
        if not all(trains_on_both(self.fold, self.rows.y)):
            raise InputError(
                f"folds={folds} would train on one {'number' if numbers else 'class'} only; give "
                "more rows or groups, or fewer folds"
            )
        self.tell, self.scores = tell, dict[Names, Floats]()
        excluded = set(reference.settings["limits"]["exclude"])
        self.spare = len(set(reference.schema.names) - excluded) - 1  # the most to be left out

    def known(self, names: Iterable[str]) -> Names:
        """Check the names of variables."""
        wanted = tuple(sorted({names} if isinstance(names, str) else set(names)))
        for name in wanted:
            if name not in self.reference.schema.names:
                hint = did_you_mean(name, list(self.reference.schema.names))
                raise InputError(f"without={name!r}; the model's table has no such variable{hint}")
        if len(wanted) > self.spare:
            raise InputError(f"without={list(wanted)}; that leaves no variable to learn from")
        return wanted

    def candidate(self, without: Names) -> None:
        """Validate the model that may not use some variables."""
        score, in_fit = np.zeros(len(self.rows.y)), self.reference.target.fit_score
        for number in range(int(self.fold.max()) + 1):
            test = self.fold == number
            fitted = self.fit(without, np.where(test, 0.0, self.weight))
            score[test] = in_fit(fitted.score(self.X, allow_unknown=True)[test])
        self.scores[without] = score
        self.tell(len(self.scores))

    def fit(self, without: Names, weight: Floats) -> Model:
        """Learn with the settings of the reference; a row of weight zero is left out."""
        from rpte.columns.limits import Limits
        from rpte.estimators.classifier import RPTEClassifier
        from rpte.estimators.regressor import RPTERegressor
        from rpte.report.stability import parameters

        columns = column_names(self.X)
        limits = dict(self.reference.settings["limits"])
        kept = [n for n in limits["exclude"] if columns is None or n in columns]
        limits["exclude"] = [*kept, *without]
        for name in ("monotone", "penalty"):
            limits[name] = {k: value for k, value in limits[name].items() if k not in without}
        limits["linear_only"] = [n for n in limits["linear_only"] if n not in without]
        kind = RPTEClassifier if self.reference.task == "binary" else RPTERegressor
        estimator: Any = kind(**{**parameters(self.reference), "limits": Limits(**limits)})
        validated = estimator.l1 == "cv" and estimator.reassign
        groups = self.groups if validated else None
        given = {"sample_weight": weight, "groups": groups, **self.given}
        fitted: Model = estimator.fit(self.X, self.y, **given).model_
        return fitted

    def losses(self, without: Names) -> Floats:
        """Return the deviance of every row, out of fold."""
        return self.loss.unit_deviance(self.scores[without], self.rows.y)

    def deviance(self, without: Names) -> float:
        """Return the validated deviance of a candidate."""
        return self.loss.deviance(self.scores[without], self.rows.y, self.rows.weight)

    def null_deviance(self) -> float:
        """Return the deviance of the base rate, or of the mean."""
        y, weight = self.rows.y, self.rows.weight
        return self.loss.deviance(np.full(len(y), self.loss.null_score(y, weight)), y, weight)

    def most(self, tolerance: float) -> float:
        """Return the largest deviance that an alternative may have."""
        explained = self.null_deviance() - self.deviance(())
        return self.deviance(()) + tolerance * max(explained, 0.0)

    def add_up(self, tolerance: float) -> None:
        """Leave out the least missed variables together, one more each time."""
        single = sorted((names for names in self.scores if names), key=self.deviance)
        spared = [name for (name,) in single if self.deviance((name,)) <= self.most(tolerance)]
        for size in range(2, min(len(spared), self.spare) + 1):
            without = tuple(sorted(spared[:size]))
            self.candidate(without)
            if self.deviance(without) > self.most(tolerance):
                return

    def result(self, tolerance: float) -> Alternatives:
        """Fit the candidates within the tolerance on all rows."""
        within = [n for n in self.scores if n and self.deviance(n) <= self.most(tolerance)]
        found = [self.alternative(n) for n in sorted(within, key=lambda n: (self.deviance(n), n))]
        own, null, tried = self.deviance(()), self.null_deviance(), len(self.scores) - 1
        return Alternatives(self.reference, own, null, tolerance, tuple(found), tried)

    def alternative(self, without: Names) -> Alternative:
        """Describe a candidate."""
        model = self.fit(without, self.weight)
        before, after = set(self.reference.sources), set(model.sources)
        apart = self.losses(without) - self.losses(())
        mean = float(np.average(apart, weights=self.rows.weight))
        variance = float(np.average((apart - mean) ** 2, weights=self.rows.weight))
        return Alternative(
            without,
            model,
            tuple(sorted(before - after)),
            tuple(sorted(after - before)),
            self.deviance(without),
            mean,
            float(np.sqrt(variance / len(apart))),
            _rank_correlation(self.scores[()], self.scores[without]),
        )


def _rank_correlation(first: Floats, second: Floats) -> float:
    from scipy.stats import spearmanr

    varies = np.ptp(first) > 0 and np.ptp(second) > 0
    return float(spearmanr(first, second).statistic) if varies else float("nan")

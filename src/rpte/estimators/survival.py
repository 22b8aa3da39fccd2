"""The estimator of times until an event: death, relapse, default, churn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from rpte.audit.survival_metrics import concordance
from rpte.columns.limits import Limits
from rpte.errors import InputError
from rpte.estimators.json_state import JSONStateMixin
from rpte.estimators.learning import LearningMixin
from rpte.estimators.model_methods import ModelMethodsMixin, require_rows
from rpte.estimators.outcomes import read_memory
from rpte.estimators.parameters import checked_parameters
from rpte.estimators.training_data import Given, TrainingData
from rpte.model.causes import CausesModel
from rpte.model.curves import Curve, all_times, curves
from rpte.model.outcome import read_outcome
from rpte.model.survival import SurvivalTarget
from rpte.rows.files import is_stored
from rpte.table.numbers import named
from rpte.table.table import read_weights
from rpte.utils.arrays import Floats
from rpte.utils.progress import Callback, Watch

if TYPE_CHECKING:
    from rpte.model.explain import Explanation
    from rpte.model.explanations import Explanations
    from rpte.model.model import Model


class RPTESurvival(
    LearningMixin,
    ModelMethodsMixin,
    JSONStateMixin,
    BaseEstimator,  # type: ignore[misc]
):
    """Residual Pattern Tree Ensemble for times until an event: every score is a short sum of rules.

    The terms add up to the logarithm of a hazard ratio, so that each multiplies the hazard. The
    baseline is stored with them: the model file gives survival curves, too.

    Parameters
    ----------
    loss : {"cox", "discrete"}, default="cox"
        Cox's partial likelihood, with the times as they are; or hazards of intervals, for times
        that are known by visit, month or year alone. Both are proportional hazards.
    ties : {"efron", "breslow"}, default="efron"
        How events at one time are taken by the loss "cox".
    intervals : int or array of their ends, default=None
        Of the loss "discrete". None is 20 that hold equally many events, or one for each time where
        there are fewer.
    censored : label, default=None
        Which value of the events in `y` says that none was seen, where they are causes by name
        ("relapse", "death", "alive"). None is False, or 0 beside the numbers 1, 2, ... of causes.
    ownership : {"component", "strict", "separate", "paper"}, default="component"
        Who may explain a raw variable. Under "component" the terms that share variables form small
        components, no variable is in two; "strict" gives every variable to one term; "separate"
        keeps direct terms off the trees' variables; "paper" is Algorithm 1, where only trees
        exclude each other. Stricter policies cost accuracy and save audit load.
    max_component_sources : int, default=8
        Most variables in one component (policy "component"); limits trees too. 1 is an additive
        model of single variables.
    limits : Limits, default=None
        What the model may not do, by variable: monotone directions, excluded variables, slopes
        only, which variables may meet in a component, penalty factors.
    form : {"any", "rules"}, default="any"
        What a term may be. Under "rules" every term is a yes/no statement: a step or a code of a
        number, levels of a category, a missing flag, two of these at once, or a leaf of a tree; no
        slopes, logs, hinges, distances or products of numbers. Costs a little accuracy where
        effects are smooth.
    shapes : {"one", "free"}, default="one"
        Under "one" a variable has one shape: a line, at most three steps or pieces, or disjoint
        sets of levels, flat beyond limits inside the training data; and a group of variables that
        interact has one tree. Of several causes each has shapes of its own. Under "free" terms
        of all kinds add up, as in version 0.1. Models of ``form="rules"`` are always free.
    max_inspection_units : int, default=None
        The audit load (conditions in the whole model) that you can afford: the best model within
        it, guaranteed. None is 300 with ``l1="cv"``, and no bound with a given penalty.
    max_fit_seconds : float, default=None
        No limit if None. When the time is used up, the search ends with the best model so far. It
        is as exact and as verified as any other, but the same data may give another one on another
        day, and its file says so. With no time at all it is the base rate, or, if `l1` is given, a
        model without trees. The current step is finished first, and estimating the model comes on
        top.
    special_values : mapping from name to codes, default=None
        Codes of a number that are not measurements (-9, "unknown"). They become levels of their
        own beside the numeric range.
    cv : int, splitter or iterable of (train, test), default=None
        How inner validation splits rows; 5 folds by content, or by `groups`, if None.
    n_jobs : int, default=None
        Threads inside one fit. None and -1 use every core, except that None uses one inside a
        worker of joblib or multiprocessing, and follows OMP_NUM_THREADS if that is set. The model
        does not depend on it.
    profile : {"safe", "full", "none"}, default="safe"
        What the model file says about each training column, besides the table's hash. "safe" hides
        counts under 5 and exact extremes, "full" shows them, "none" leaves the profile out. No
        effect on the model.
    vocabulary : {"shapes", "hug", "frequent", "original"}, default="shapes"
        The derived columns: logs, hinges, distances and steps of single numbers, and products or
        distances of two for what they leave unexplained; or the paper's patterns of high utility
        gain, the most frequent ones, or none.
    pattern_order : {1, 2}, default=2
        L: variables per pattern, or that a direct term may read.
    budget : int, default=1000
        K: the most shapes or patterns, and the most products or pairs. Bounds the audit load. Above
        16,000 rows fewer shapes are made, down to 400.
    min_gain : float, default=0.001
        G: what a pattern must gain in half the deviance of a row; larger keeps fewer patterns.
    max_trees, max_leaves, max_depth : int, default=10, 32, 6
        T, L_max and D_max: bounds on the trees, and so on the audit load.
    min_samples_leaf : float, default=5
        Least weight (rows) of a category level that keeps its name, and in a leaf, where a row
        counts by the hazard that it was exposed to, 1 on average. Larger gives coarser trees and
        steadier leaves.
    leaf_ridge : float, default=1.0
        rho of the temporary Newton leaf values; larger favours splits of heavier nodes.
    learning_rate : float, default=0.3
        eta_0, where the line search of Stage 2 begins.
    reassign : bool, default=True
        False keeps the leaf values of Stage 2 instead of Stage 3 (the paper's ablation).
    l1 : float, "4/n" or "cv", default="cv"
        Penalty lambda of equation (5): larger means fewer terms. "cv" chooses it, and which shapes,
        products and trees there may be, by inner validation in which everything learned from y is
        learned again.
    l1_ratio : float, default=None
        L1 part of the penalty; the rest is ridge. Below 1 correlated variables share their effect:
        often a little more accurate, with more terms. None lets validation choose 1 or 0.15 (0.7
        with ``form="rules"``; up to 5,000 rows, with ``l1="cv"``), otherwise 1.
    audit_price : float, default=0.0005
        Fraction of the explainable deviance that one more condition must explain; falls with the
        0.75th power of n above 1,000 rows. Beyond 20 conditions (20 for every 1,000 rows above
        1,000) the price of all goes by their logarithm. Larger gives shorter models.
    conventions : {"ours", "paper"}, default="ours"
        The small choices that the paper leaves to its implementation (docs/published.md).

    Attributes
    ----------
    model_ : Model, or CausesModel of several causes
        The fitted model: frozen, numpy only.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the training table had text names.
    unique_times_ : array of shape (m,)
        The times of the curves that are returned as arrays.
    rules_ : pandas.DataFrame
        One row per term.
    frontier_ : pandas.DataFrame
        The trade-off between conditions and validated deviance found in training.
    frontier_models_ : tuple of Model
        Their models; `at` makes an estimator of one.
    sentinels_ : dict from name to codes
        Codes such as -9 or 999 that stand apart from a number's range, which `fit` has warned of.
    hints_ : Hints
        `hints_.monotone` has directions of numbers that cost nothing on held-out rows, to be given
        as `limits=Limits(monotone=...)`. Iterating yields lines on what else deserves a look, such
        as numbers that may be codes.

    Notes
    -----
    The score has the mean 0 in training: a hazard ratio of 1 is that of the baseline, which is a
    case of average score.

    Examples
    --------
    >>> import numpy as np
    >>> from rpte import RPTESurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> time = rng.exponential(np.exp(-X[:, 0]))
    >>> event = time < 2.0
    >>> est = RPTESurvival(l1=0.05).fit(X, (event, np.minimum(time, 2.0)))
    >>> round(est.score(X, (event, np.minimum(time, 2.0))), 2) > 0.7
    True
    >>> curve = est.predict_survival_function(X[:1])[0]
    >>> curve(0.0), bool(curve(1.0) < 1.0)
    (1.0, True)
    """

    def __init__(
        self,
        *,
        loss: str = "cox",
        ties: str = "efron",
        intervals: Any = None,
        censored: Any = None,
        ownership: str = "component",
        max_component_sources: int = 8,
        limits: Limits | None = None,
        form: str = "any",
        shapes: str = "one",
        max_inspection_units: int | None = None,
        max_fit_seconds: float | None = None,
        special_values: Mapping[str, Any] | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        profile: str = "safe",
        vocabulary: str = "shapes",
        pattern_order: int = 2,
        budget: int = 1000,
        min_gain: float = 0.001,
        max_trees: int = 10,
        max_leaves: int = 32,
        max_depth: int = 6,
        min_samples_leaf: float = 5,
        leaf_ridge: float = 1.0,
        learning_rate: float = 0.3,
        reassign: bool = True,
        l1: float | str = "cv",
        l1_ratio: float | None = None,
        audit_price: float = 0.0005,
        conventions: str = "ours",
    ) -> None:
        self.loss = loss
        self.ties = ties
        self.intervals = intervals
        self.censored = censored
        self.ownership = ownership
        self.max_component_sources = max_component_sources
        self.limits = limits
        self.form = form
        self.shapes = shapes
        self.max_inspection_units = max_inspection_units
        self.max_fit_seconds = max_fit_seconds
        self.special_values = special_values
        self.cv = cv
        self.n_jobs = n_jobs
        self.profile = profile
        self.vocabulary = vocabulary
        self.pattern_order = pattern_order
        self.budget = budget
        self.min_gain = min_gain
        self.max_trees = max_trees
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.leaf_ridge = leaf_ridge
        self.learning_rate = learning_rate
        self.reassign = reassign
        self.l1 = l1
        self.l1_ratio = l1_ratio
        self.audit_price = audit_price
        self.conventions = conventions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        entry: Any = None,
        *,
        progress: Callback | None = None,
    ) -> RPTESurvival:
        """Learn a model.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, a mapping of columns, numpy or lists; numbers, booleans,
            strings and categories, with missing cells.
        y : structured array, table or tuple of two
            Whether the event was seen, and the time until it or until the row was last seen: an
            array with two fields as `sksurv.util.Surv` makes it, a table of two columns, or a tuple
            (event, time). Of competing risks the cause of the event: 0 for none, and 1, 2, ..., or
            names beside `censored`; `model_` is then a `rpte.model.causes.CausesModel`.
        sample_weight : array of shape (n_rows,), optional
            A whole weight is the same as repeating the row, zero as leaving it out.
        groups : array of shape (n_rows,), optional
            Rows of one group (a patient, a clinic) are never split by inner validation.
        strata : array of shape (n_rows,), or the name of a column of `X`, optional
            Every stratum has a baseline of its own. A column that is named is no variable.
        entry : array of shape (n_rows,), or the name of a column of `X`, optional
            From when on a row was under observation (left truncation); before its time.
        progress : function of one `rpte.Progress`, optional
            As in `rpte.RPTEClassifier.fit`.
        """
        rows = X, y, sample_weight, groups
        given = Given(checked_parameters(self), *rows, entry=entry, strata=strata)
        self._learn(given, progress)
        return self

    def _reading(self, given: Given, watch: Watch) -> AbstractContextManager[TrainingData]:
        """Return what the fit needs of the user's table."""
        if is_stored(given.X):
            raise InputError(
                "RPTESurvival reads tables in memory, risk sets need all rows: read the files into "
                "a data frame, with the columns that matter or a sample of the rows"
            )
        return nullcontext(read_memory(self, given))

    @property
    def _causes(self) -> CausesModel | None:
        """The model of several causes; None of one event."""
        model: Any = self._fitted()
        return model if isinstance(model, CausesModel) else None

    @property
    def _target(self) -> SurvivalTarget:
        target = self._fitted().target
        assert isinstance(target, SurvivalTarget)
        return target

    def _of_cause(self, cause: Any) -> Model:
        """Return the model of a cause, or the only one."""
        model = self._causes
        if model is not None:
            return model.models[model.place(cause)]
        if cause is not None:
            raise InputError(f"cause={cause!r}, but the model is of one event; leave it out")
        return self.model_

    @property
    def unique_times_(self) -> Floats:
        """The times of the curves that are returned as arrays, (m,)."""
        model = self._causes
        return all_times(self._target) if model is None else model.unique_times

    def predict(self, X: Any, cause: Any = None, *, allow_unknown: bool = False) -> Floats:
        """Return the risk score of each row, shape (n_rows,): the logarithm of its hazard ratio.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        cause : label, optional
            Of several causes; shape (n_rows, n_causes) for all of them, if None.
        allow_unknown : bool
            Levels that training did not have are warned of. A column of which more than half of the
            cells (ten at least, missing ones aside) are such is refused unless this is True.
        """
        model: Any = self._for(X)
        if cause is not None:
            model = self._of_cause(cause)
        found: Floats = model.score(X, allow_unknown=allow_unknown)
        require_rows(len(found))
        return found

    def predict_survival_function(
        self, X: Any, strata: Any = None, *, return_array: bool = False
    ) -> Any:
        """Return the probability of no event, by time; of several causes, of none of them.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        strata : array of shape (n_rows,), or the name of a column of `X`, optional
            As in `fit`, where it had some.
        return_array : bool
            Return values at `unique_times_`, shape (n_rows, m), in place of a function of time for
            each row (with `x`, `y` and `domain`).
        """
        if self._causes is not None:
            return self._joint(X, None, strata, return_array)
        return self._curves(X, strata, return_array, survival=True)

    def predict_cumulative_hazard_function(
        self, X: Any, strata: Any = None, *, return_array: bool = False
    ) -> Any:
        """Return the cumulated hazard, by time; as `predict_survival_function`.

        Of several causes it is that of an event of any.
        """
        if self._causes is not None:
            return self._joint(X, None, strata, return_array, _hazard_of)
        return self._curves(X, strata, return_array, survival=False)

    def predict_cumulative_incidence_function(
        self, X: Any, cause: Any = None, strata: Any = None, *, return_array: bool = False
    ) -> Any:
        """Return the probability that an event has come, by time; as `predict_survival_function`.

        Of several causes that of an event of one `cause`, or of any if None. Those of all causes
        and the probability of no event add up to 1 at every time.
        """
        if self._causes is not None:
            one = (lambda survival: 1.0 - survival) if cause is None else None
            return self._joint(X, cause, strata, return_array, one)
        self._of_cause(cause)
        found = self._curves(X, strata, return_array, survival=True)
        if return_array:
            return 1.0 - found
        return _array_of([replace(curve, y=1.0 - curve.y) for curve in found])

    def _joint(
        self, X: Any, cause: Any, strata: Any, return_array: bool, change: Any = None
    ) -> Any:
        """Return survival, or the incidence of a cause, or what `change` makes of it."""
        model = self._causes
        assert model is not None
        self._inputs(X)
        if not return_array:
            found = model.curves(X, cause, strata)
            return _array_of([c if change is None else replace(c, y=change(c.y)) for c in found])
        times = self.unique_times_
        if cause is None:
            values = model.survival_at(X, times, strata)
        else:
            values = model.incidence_at(X, times, cause, strata)
        return values if change is None else change(values)

    def _curves(self, X: Any, strata: Any, return_array: bool, survival: bool) -> Any:
        score, target, given = self.predict(X), self._target, named(X, strata)
        if not return_array:
            return _array_of(curves(target, score, given, survival))
        hazard = target.hazard_at(score, self.unique_times_, given)
        return np.exp(-hazard) if survival else hazard

    def predict_median(self, X: Any, strata: Any = None) -> Floats:
        """Return the time by which half of such rows have had the event, shape (n_rows,).

        Infinite where fewer than half have had it within the longest time under observation.
        """
        if self._causes is None:
            return self._target.median(self.predict(X), named(X, strata))
        found = self.predict_survival_function(X, strata)
        return np.array([min(c.x[c.y <= 0.5 * (1.0 + 1e-12)], default=np.inf) for c in found])

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        horizons: Any = None,
        strata: Any = None,
        *,
        cause: Any = None,
        allow_unknown: bool = False,
    ) -> Explanations[Explanation]:
        """Take each row's score apart, in the order in which it is summed.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        reference : {None, "mean"}
            "mean" shows contributions against their training mean.
        horizons : number or array, optional
            Times at which survival is told.
        strata, allow_unknown
            As in `predict_survival_function` and `predict`.
        cause : label
            Of several causes, the one whose score is explained.
        """
        inputs = self._inputs(X, allow_unknown)
        asked = {"horizons": horizons, "strata": named(X, strata)}
        return self._of_cause(cause).explain(inputs, reference, **asked).labelled(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, cause: Any = None) -> float:
        """Return Harrell's concordance: how often of two rows the one of higher risk comes first.

        Of pairs of which one is known to come first; a tie of scores counts one half, and 0.5 is no
        better than chance. Of several causes that of a `cause`, where events of others end the
        time under observation; the mean of all, each by its events, if None.
        """
        model = self._causes
        labels = model.causes if model is not None and cause is None else (cause,)
        found = [self._concordance(X, y, sample_weight, label) for label in labels]
        if len(found) == 1:
            return found[0][0]
        total = sum(events for _, events in found)
        return sum(each * events for each, events in found) / total

    def _concordance(self, X: Any, y: Any, sample_weight: Any, cause: Any) -> tuple[float, float]:
        """Return the concordance of the scores of a cause, and the weight of its events."""
        score, target = self.predict(X, cause), self._of_cause(cause).target
        assert isinstance(target, SurvivalTarget)
        outcome = read_outcome(y, len(score), target.status)
        weight = read_weights(sample_weight, len(score))
        found = concordance(outcome.event, outcome.time, score, weight)
        if np.isnan(found):
            raise InputError(
                "no two rows can be compared: none has an event before the time of another; give "
                "more rows"
            )
        return found, float(weight[outcome.event].sum())


def _hazard_of(survival: Floats) -> Floats:
    """Return the cumulated hazard; it has no end where nobody is left."""
    with np.errstate(divide="ignore"):
        return -np.log(survival)


def _array_of(found: Sequence[Curve]) -> Any:
    """Return curves as an array, as scikit-survival does."""
    made = np.empty(len(found), object)
    made[:] = found
    return made

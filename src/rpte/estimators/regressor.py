"""The scikit-learn estimator of numbers: costs, counts, lengths of stay."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from rpte.audit.number_metrics import deviance_explained
from rpte.columns.limits import Limits
from rpte.estimators.json_state import JSONStateMixin
from rpte.estimators.learning import LearningMixin
from rpte.estimators.model_methods import ModelMethodsMixin, require_rows
from rpte.estimators.numbers import checked_loss, read_memory
from rpte.estimators.parameters import PUBLISHED, checked_parameters
from rpte.estimators.target_facts import NumberLook
from rpte.estimators.training_data import Given, TrainingData
from rpte.estimators.training_files import read_files
from rpte.fit.calibration import calibrated
from rpte.model.explain import Explanation
from rpte.model.explanations import Explanations
from rpte.model.target import NumberTarget
from rpte.rows.files import is_stored
from rpte.table.numbers import named, require_given
from rpte.table.table import read_weights
from rpte.utils.arrays import Floats
from rpte.utils.progress import Callback, Watch


class RPTERegressor(
    LearningMixin,
    ModelMethodsMixin,
    JSONStateMixin,
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Residual Pattern Tree Ensemble for numbers: every prediction is a short sum of rules.

    With ``loss="squared_error"`` the terms add up to the mean in units of y. With the other losses
    they add up to its logarithm, so that each multiplies the mean by a rate ratio.

    Parameters
    ----------
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        Numbers of any kind; counts; positive amounts whose spread grows with their mean; amounts of
        which many are 0. The last three predict exp(score).
    power : float, default=1.5
        Of the Tweedie loss: the variance goes with this power of the mean, between 1 and 2.
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
        interact has one tree. Under "free" terms of all kinds add up, as in version 0.1. Models
        of ``form="rules"`` are always free.
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
        Least weight (rows) in a leaf, and of a category level that keeps its name. Larger gives
        coarser trees and steadier leaves.
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
    model_ : Model
        The fitted model: frozen, numpy only.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the training table had text names.
    rules_ : pandas.DataFrame
        One row per term.
    frontier_ : pandas.DataFrame
        The trade-off between conditions and validated deviance found in training; of squared error
        the deviance is the fraction of the variance of y that is not explained.
    frontier_models_ : tuple of Model
        Their models; `at` makes a regressor of one.
    sentinels_ : dict from name to codes
        Codes such as -9 or 999 that stand apart from a number's range, which `fit` has warned of.
    hints_ : Hints
        `hints_.monotone` has directions of numbers that cost nothing on held-out rows, to be given
        as `limits=Limits(monotone=...)`. Iterating yields lines on what else deserves a look, such
        as numbers that may be codes.

    Notes
    -----
    Targets are scaled before the fit, so a penalty `l1` means the same in any units of y.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rpte import RPTERegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> reg = RPTERegressor(l1=0.1).fit(X, y)
    >>> all(check.holds for check in reg.verify(X, y))
    True
    """

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        power: float = 1.5,
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
        self.power = power
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

    @classmethod
    def paper(
        cls,
        *,
        pattern_order: int = 2,
        budget: int = 100,
        min_gain: float = 0.001,
        ownership: str = "paper",
        **changes: Any,
    ) -> RPTERegressor:
        """Return the published configuration, carried over to numbers; L, K and G are tuned.

        Gains are those of half the deviance, and trees are grown on residuals; docs/published.md
        says what each formula of two classes becomes.
        """
        tuned = {"pattern_order": pattern_order, "budget": budget, "min_gain": min_gain}
        return cls(**{**PUBLISHED, **tuned, "ownership": ownership, **changes})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.positive_only = self.loss != "squared_error"
        tags.regressor_tags.poor_score = self.loss != "squared_error"
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
        groups: Any = None,
        *,
        progress: Callback | None = None,
        cache_dir: str | Path | None = None,
    ) -> RPTERegressor:
        """Learn a model.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, a mapping of columns, numpy or lists; numbers, booleans,
            strings and categories, with missing cells. A table larger than memory: paths or a
            pattern of Parquet files, a folder, a `pyarrow.dataset.Dataset`, or a stream
            (`__arrow_c_stream__`); the model is that of the same rows in memory.
        y : array of shape (n_rows,), or the name of a column in files
            Finite numbers; not negative for the Poisson and the Tweedie loss, positive for gamma.
        sample_weight : array of shape (n_rows,), or the name of a column in files, optional
            A whole weight is the same as repeating the row, zero as leaving it out.
        exposure : array of shape (n_rows,), or the name of a column of `X`, optional
            What the mean is multiplied by, above 0: years insured, days at risk. The model is of
            the mean for one unit of it. A column that is named is no variable of the model. Counts
            with an exposure are the same as rates ``y / exposure`` with it as their weight.
        offset : array of shape (n_rows,), or the name of a column of `X`, optional
            What is added to the score: a part of it that is known.
        groups : array of shape (n_rows,), or the name of a column in files, optional
            Rows of one group (a patient, a policy) are never split by inner validation.
        progress : function of one `rpte.Progress`, optional
            As in `rpte.RPTEClassifier.fit`.
        cache_dir : path, optional
            Where a table in files is kept while it is fitted; as in `rpte.RPTEClassifier.fit`.
        """
        rows = X, y, sample_weight, groups, cache_dir, exposure, offset
        given = Given(checked_parameters(self), *rows)
        self._learn(given, progress)
        return self

    def _first_look(self, y: str | None, exposure: str | None, offset: str | None) -> NumberLook:
        """Return what looks at the targets of rows that are read in blocks."""
        loss = checked_loss(self.loss, self.power)
        return NumberLook(NumberTarget(loss, 0.0, y or None, exposure, offset))

    def _reading(self, given: Given, watch: Watch) -> AbstractContextManager[TrainingData]:
        """Return what the fit needs of the user's table, kept as long as the context is open."""
        if is_stored(given.X):
            return read_files(self, given, watch)
        return nullcontext(read_memory(self, given))

    def predict(
        self, X: Any, exposure: Any = None, offset: Any = None, *, allow_unknown: bool = False
    ) -> Floats:
        """Return the mean for each row, shape (n_rows,).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        exposure : array, number or name of a column of `X`, optional
            The mean is for so much of it; for one unit if None, with a warning if the model was
            fitted with an exposure.
        offset : array, number or name of a column of `X`, optional
            Added to the score; 0 if None, with a warning if the model was fitted with an offset.
        allow_unknown : bool
            Levels that training did not have are warned of. A column of which more than half of the
            cells (ten at least, missing ones aside) are such is refused unless this is True.
        """
        found = self._for(X).predict(X, exposure, offset, allow_unknown=allow_unknown)
        require_rows(len(found))
        return np.asarray(found, np.float64)

    def calibrate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
        groups: Any = None,
    ) -> RPTERegressor:
        """Learn from rows that `fit` has not seen how far y lies from its mean.

        `predict_interval` then rests on it, with a guarantee, and no longer on the rows that inner
        validation held out; `save` writes it to the model file. The model itself stays as it is.

        Parameters
        ----------
        X, y : table of shape (n_rows, n_columns), and its targets
            Kept from `fit`: rows that helped to choose the model lie closer to it than new ones.
            The training table is refused.
        sample_weight : array of shape (n_rows,), optional
            Repetitions, as in `fit`: a row of weight 3 counts as three, and a new row as one.
        exposure, offset : arrays of shape (n_rows,), or names of columns of `X`, optional
            As in `fit`.
        groups : array of shape (n_rows,), optional
            Where rows come in groups (the visits of a patient), hold out whole groups and name them
            here: each counts as one, and intervals are for rows of new groups.
        """
        self._for(X)
        given = X, y, sample_weight, exposure, offset, groups
        others = tuple(calibrated(model, *given) for model in self.frontier_models_)
        self.model_, self.frontier_models_ = calibrated(self.model_, *given), others
        return self

    def predict_interval(
        self,
        X: Any,
        alpha: float = 0.1,
        exposure: Any = None,
        offset: Any = None,
        *,
        allow_unknown: bool = False,
    ) -> Floats:
        """Return an interval for the y that will be observed in each row, shape (n_rows, 2).

        It is for a new observation, not for its mean. After `fit` it rests on the rows that inner
        validation held out: each was predicted by a fit that had not seen it, but they also chose
        the penalty and the number of terms, so that coverage is close to 1 - alpha, and not
        guaranteed. After `calibrate` it rests on rows that nothing was chosen on: if these and a
        new one are exchangeable, it holds y with a probability of 1 - alpha at least, for all rows
        together, over calibration tables and new rows. For one kind of rows it may be less, and
        rows of another time or place are not exchangeable.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        alpha : float
            0.1 for 90% intervals.
        exposure, offset, allow_unknown
            As in `predict`.

        Notes
        -----
        Widths follow the case: they go with the typical error of predictions like its own, which
        the fit has learned from held-out rows and `summary` prints (docs/numbers.md). Where a fit
        held out fewer than 100 rows, or none, they follow the loss alone: one width with squared
        error, else a power of the mean (exposure included), 0.5 for Poisson, 1 for gamma, half of
        `power` for Tweedie. The lower end is 0 at least; with squared error, if no training target
        was negative and there was no offset. Of n calibration rows
        the smallest possible alpha is 1 / (n + 1).

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.model_selection import train_test_split
        >>> from rpte import RPTERegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> X, X_kept, y, y_kept = train_test_split(X, y, test_size=0.3, random_state=0)
        >>> reg = RPTERegressor(l1=0.1).fit(X, y).calibrate(X_kept, y_kept)
        >>> low, high = reg.predict_interval(X_kept, alpha=0.1).T
        >>> bool(((low <= y_kept) & (y_kept <= high)).mean() >= 0.9)
        True
        """
        options: dict[str, Any] = {"allow_unknown": allow_unknown}
        model = self._for(X)
        found = model.predict_interval(X, alpha, exposure, offset, **options)
        require_rows(len(found))
        return found

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        exposure: Any = None,
        offset: Any = None,
        *,
        allow_unknown: bool = False,
    ) -> Explanations[Explanation]:
        """Take each row's score apart, in the order in which it is summed.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        reference : {None, "mean"}
            "mean" shows contributions against their training mean.
        exposure, offset, allow_unknown
            As in `predict`; the mean is told for them beside that for one unit of exposure.
        """
        inputs, given = self._inputs(X, allow_unknown), (named(X, exposure), named(X, offset))
        return self.model_.explain(inputs, reference, *given).labelled(X)

    def linear_predictor(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the score, the sum of all contributions, shape (n_rows,).

        The mean, or its logarithm; without exposure and offset. scikit-learn keeps the name
        `decision_function` for classifiers.
        """
        found = self._for(X).score(X, allow_unknown=allow_unknown)
        require_rows(len(found))
        return found

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the fraction of the deviance that is explained; of squared error this is R2.

        One is a perfect fit, zero no better than the mean of `y` (for each unit of exposure), and
        it may be negative; NaN where all targets are the same. A model that was fitted with an
        exposure, or an offset, needs it here too.
        """
        model = self._for(X)
        inputs, target = model.read(X), model.target
        assert isinstance(target, NumberTarget)
        weight = read_weights(sample_weight, inputs.n_rows)
        require_given("exposure", target.exposure, exposure)
        require_given("offset", target.offset, offset)
        given = named(X, exposure), named(X, offset)
        plain = target.plain(target.read(y, inputs.n_rows), weight, *given)
        found = deviance_explained(target.loss, model.score(inputs), plain.y, plain.weight)
        return float("nan") if found is None else found

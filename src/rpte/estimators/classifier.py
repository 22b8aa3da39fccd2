"""The scikit-learn estimator: validate, call the stages, keep the Model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from rpte.columns.limits import Limits
from rpte.errors import InputError
from rpte.estimators.json_state import JSONStateMixin
from rpte.estimators.learning import LearningMixin
from rpte.estimators.model_methods import ModelMethodsMixin, require_rows
from rpte.estimators.parameters import PUBLISHED, checked_parameters, for_two_alone
from rpte.estimators.target_facts import LabelLook
from rpte.estimators.training_data import Given, TrainingData, read_memory
from rpte.estimators.training_files import read_files
from rpte.model.classes import ClassesModel
from rpte.model.explanations import Explanations
from rpte.rows.files import is_stored
from rpte.utils.arrays import Array, Floats, Index
from rpte.utils.progress import Callback, Watch


class RPTEClassifier(
    LearningMixin,
    ModelMethodsMixin,
    JSONStateMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Residual Pattern Tree Ensemble: a classifier whose every prediction is a short sum of rules.

    The first parameters, down to `profile`, are what a user sets; the others, from `vocabulary` on,
    are for people who study the method, with their effect on accuracy and audit load where there is
    one.

    Parameters
    ----------
    ownership : {"component", "strict", "separate", "paper"}, default="component"
        Who may explain a raw variable. Under "component" the terms that share variables form small
        components, no variable is in two; "strict" gives every variable to one term; "separate"
        keeps direct terms off the trees' variables; "paper" is Algorithm 1, where only trees
        exclude each other. Stricter policies cost accuracy and save audit load.
    max_component_sources : int, default=6
        Most variables in one component (policy "component"); limits trees too. 1 is an additive
        model of single variables.
    positive : label, default=None
        The class that rules, explanations and summary are about; ``classes_[1]`` if None.
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
    class_weight : mapping from label to weight, "balanced" or None, default=None
        Factors on the weights of rows, by class: moves probabilities, hardly the audit load.
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
        L: variables per pattern; products and pairs such as a * b are made only for 2. With 1 every
        direct term reads one variable: cheaper to audit.
    budget : int, default=400
        K: the most shapes or patterns, and the most pairs. Bounds the audit load.
    min_gain : float, default=0.001
        G: information gain (nats) that a pattern must exceed; larger keeps fewer patterns.
    criterion : {"newton", "label"}, default="newton"
        What splits are chosen by: the second-order loss of the residuals, or (the paper) the Gini
        impurity of the label.
    max_trees, max_leaves, max_depth : int, default=10, 32, 6
        T, L_max and D_max: bounds on the trees, and so on the audit load.
    min_samples_leaf : float, default=5
        Least weight (rows) in a leaf, and of a category level that keeps its name. Larger gives
        coarser trees and steadier leaves.
    leaf_ridge : float, default=1.0
        rho of the temporary Newton leaf values; larger favours splits of heavier nodes.
    learning_rate : float, default=0.3
        eta_0, where the line search of Stage 2 begins.
    lookahead : bool, default=False
        Search two-level splits where no single split helps, confirmed on held-out rows: finds
        parities, with few conditions.
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
    audit_price : float, default=0.002
        Fraction of the explainable deviance that one more condition must explain; falls with the
        0.75th power of n above 1,000 rows. Beyond 20 conditions (20 for every 1,000 rows above
        1,000) the price of all goes by their logarithm. Larger gives shorter models.
    conventions : {"ours", "paper"}, default="ours"
        The small choices that the paper leaves to its implementation (docs/published.md).

    Attributes
    ----------
    model_ : Model
        The fitted model: frozen, numpy only.
    classes_ : array of shape (classes,)
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the training table had text names.
    rules_ : pandas.DataFrame
        One row per term.
    frontier_ : pandas.DataFrame
        The trade-off between conditions and validated deviance found in training.
    frontier_models_ : tuple of Model
        Their models; `at` makes a classifier of one.
    sentinels_ : dict from name to codes
        Codes such as -9 or 999 that stand apart from a number's range, which `fit` has warned of;
        give it as `special_values` if they are no measurements.
    hints_ : Hints
        `hints_.monotone` has directions of numbers that cost nothing on held-out rows, to be given
        as `limits=Limits(monotone=...)`. Iterating yields lines on what else deserves a look, such
        as numbers that may be codes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.02).fit(X, y)
    >>> all(check.holds for check in clf.model_.verify(X, y))
    True
    """

    def __init__(
        self,
        *,
        ownership: str = "component",
        max_component_sources: int = 6,
        positive: Any = None,
        limits: Limits | None = None,
        form: str = "any",
        shapes: str = "one",
        max_inspection_units: int | None = None,
        max_fit_seconds: float | None = None,
        special_values: Mapping[str, Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        profile: str = "safe",
        vocabulary: str = "shapes",
        pattern_order: int = 2,
        budget: int = 400,
        min_gain: float = 0.001,
        criterion: str = "newton",
        max_trees: int = 10,
        max_leaves: int = 32,
        max_depth: int = 6,
        min_samples_leaf: float = 5,
        leaf_ridge: float = 1.0,
        learning_rate: float = 0.3,
        lookahead: bool = False,
        reassign: bool = True,
        l1: float | str = "cv",
        l1_ratio: float | None = None,
        audit_price: float = 0.002,
        conventions: str = "ours",
    ) -> None:
        self.ownership = ownership
        self.max_component_sources = max_component_sources
        self.positive = positive
        self.limits = limits
        self.form = form
        self.shapes = shapes
        self.max_inspection_units = max_inspection_units
        self.max_fit_seconds = max_fit_seconds
        self.special_values = special_values
        self.class_weight = class_weight
        self.cv = cv
        self.n_jobs = n_jobs
        self.profile = profile
        self.vocabulary = vocabulary
        self.pattern_order = pattern_order
        self.budget = budget
        self.min_gain = min_gain
        self.criterion = criterion
        self.max_trees = max_trees
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.leaf_ridge = leaf_ridge
        self.learning_rate = learning_rate
        self.lookahead = lookahead
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
    ) -> RPTEClassifier:
        """Return the published configuration; L, K and G are what the paper tunes."""
        tuned = {"pattern_order": pattern_order, "budget": budget, "min_gain": min_gain}
        fixed = {**PUBLISHED, "criterion": "label", "ownership": ownership}
        return cls(**{**fixed, **tuned, **changes})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = not for_two_alone(self)
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        progress: Callback | None = None,
        cache_dir: str | Path | None = None,
    ) -> RPTEClassifier:
        """Learn a model.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, a mapping of columns, numpy or lists; numbers, booleans,
            strings and categories, with missing cells. A table larger than memory: paths or a
            pattern of Parquet files, a folder, a `pyarrow.dataset.Dataset`, or a stream
            (`__arrow_c_stream__`); the model is that of the same rows in memory.
        y : array of shape (n_rows,), or the name of a column in files
            Two to 50 different labels: text, booleans or numbers.
        sample_weight : array of shape (n_rows,), or the name of a column in files, optional
            A whole weight is the same as repeating the row, zero as leaving it out.
        groups : array of shape (n_rows,), or the name of a column in files, optional
            Rows of one group (a patient, a recording) are never split by inner validation.
        progress : function of one `rpte.Progress`, optional
            Called between the steps of the fit, in the thread that called `fit`. Where it returns
            False, or raises `rpte.Cancelled`, the fit ends with `rpte.Cancelled`; the classifier
            stays as it was, as it does on any error. The model does not depend on it.
        cache_dir : path, optional
            Where a table in files is kept while it is fitted, in a folder of its own that is
            removed afterwards; that of temporary files if None.
        """
        given = Given(checked_parameters(self), X, y, sample_weight, groups, cache_dir)
        self._learn(given, progress)
        return self

    def predict(self, X: Any, *, allow_unknown: bool = False) -> Array:
        """Return the more probable class of each row; see `predict_proba`."""
        score = self.decision_function(X, allow_unknown=allow_unknown)
        return np.asarray(self.classes_[chosen_classes(score)])

    def predict_proba(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return class probabilities in the order of `classes_`, shape (n_rows, classes).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        allow_unknown : bool
            Levels that training did not have are warned of. A column of which more than half of the
            cells (ten at least, missing ones aside) are such is refused unless this is True.
        """
        found = self._for(X).predict_proba(X, allow_unknown=allow_unknown)
        require_rows(len(found))
        return found

    def predict_log_proba(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return logarithms of class probabilities, shape (n_rows, classes); see `predict_proba`.

        They are finite even where a probability is so small that it is stored as 0.
        """
        return log_probabilities(self.decision_function(X, allow_unknown=allow_unknown))

    def decision_function(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the log odds of ``classes_[1]``, shape (n_rows,); see `predict_proba`.

        Of several classes the score of each, (n_rows, classes).
        """
        found = self._for(X).decision_function(X, allow_unknown=allow_unknown)
        require_rows(len(found))
        return found

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        *,
        label: Any = None,
        against: Any = None,
        allow_unknown: bool = False,
    ) -> Explanations[Any]:
        """Take each row's score apart, in the order in which it is summed.

        Of several classes, the difference of two scores: why this class and not that one.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        reference : {None, "mean"}
            "mean" shows contributions against their training mean.
        label, against : class, optional
            Of several classes: the one to explain and the one it is compared with; of each row the
            most probable and the next, if None.
        allow_unknown : bool
            As in `predict`.
        """
        model: Any = self._fitted()
        if isinstance(model, ClassesModel):
            inputs = self._inputs(X, allow_unknown)
            told = model.explain(inputs, reference, label=label, against=against)
            return told.labelled(X)
        if label is not None or against is not None:
            raise InputError("label and against are for several classes; this model is of two")
        return super().explain(X, reference, allow_unknown=allow_unknown)

    def _first_look(self, y: str | None, exposure: None = None, offset: None = None) -> LabelLook:
        """Return what looks at the targets of rows that are read in blocks."""
        return LabelLook(self.class_weight, self.positive, y)

    def _reading(self, given: Given, watch: Watch) -> AbstractContextManager[TrainingData]:
        """Return what the fit needs of the user's table, kept as long as the context is open."""
        if is_stored(given.X):
            return read_files(self, given, watch)
        return nullcontext(read_memory(self, given))


def chosen_classes(score: Floats) -> Index:
    """Return the number of the class of each row, by log odds (n,) or a score of each (n, K)."""
    return (score > 0).astype(np.intp) if score.ndim == 1 else score.argmax(axis=1)


def log_probabilities(score: Floats) -> Floats:
    """Return logarithms of class probabilities, (n, K), from log odds (n,) or a score of each.

    log p[k] = score[k] - log(sum of exp(score)), taken from the largest score, so that no
    exponential overflows.
    """
    every = np.column_stack([np.zeros(len(score)), score]) if score.ndim == 1 else score
    below = every - every.max(axis=1, keepdims=True)
    return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))

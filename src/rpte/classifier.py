"""The scikit-learn estimator: validate, call the stages, keep the Model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from rpte.errors import InputError
from rpte.kernels import worker_threads
from rpte.learn import learn
from rpte.parameters import checked_settings
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.read import read_training
from rpte.table.table import make_table

if TYPE_CHECKING:
    import pandas as pd

    from rpte.audit.load import AuditLoad
    from rpte.model.explain import Explanation

Floats = NDArray[np.float64]


class RPTEClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Residual Pattern Tree Ensemble: a classifier whose every prediction is a short sum of rules.

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
        The class that rules, explanations and summary speak of; ``classes_[1]`` if None.
    n_jobs : int, default=None
        Threads inside one fit; -1 for every core. The model does not depend on it.
    vocabulary : {"hug", "frequent", "original"}, default="hug"
        How patterns are mined: high utility gain, most frequent, or not at all.
    pattern_order : {1, 2}, default=2
        L: variables per pattern; pairs such as a * b are made only for 2.
    budget : int, default=50
        K: at most so many patterns, and at most so many pairs. Bounds the audit load.
    min_gain : float, default=0.001
        G: information gain (nats) that a pattern must exceed.
    criterion : {"newton", "label"}, default="newton"
        What splits are chosen by: the second-order loss of the residuals, or (the paper) the Gini
        impurity of the label.
    max_trees, max_leaves, max_depth : int, default=10, 12, 8
        T, L_max and D_max: bounds on the trees, and so on the audit load.
    min_samples_leaf : float, default=5
        Least weight (rows) in a leaf.
    leaf_ridge : float, default=1.0
        rho of the temporary Newton leaf values.
    learning_rate : float, default=0.3
        eta_0, where the line search of Stage 2 begins.
    lookahead : bool, default=False
        Search two-level splits where no single split helps, confirmed on held-out rows.
    reassign : bool, default=True
        False keeps the leaf values of Stage 2 instead of Stage 3 (the paper's ablation).
    l1 : float, "4/n" or "cv", default="cv"
        Penalty lambda of equation (5). "cv" chooses it, and the number of trees, by inner
        validation in which everything learned from y is learned again.
    l1_ratio : float, default=1.0
        L1 share of the penalty; the rest is ridge.
    conventions : {"ours", "paper"}, default="ours"
        The small choices that the paper leaves to its implementation (README, "The published
        configuration").

    Attributes
    ----------
    model_ : Model
        The fitted model: frozen, numpy only.
    classes_ : array of shape (2,)
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the training table had text names.
    rules_ : pandas.DataFrame
        One row per term.

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
        n_jobs: int | None = None,
        vocabulary: str = "hug",
        pattern_order: int = 2,
        budget: int = 50,
        min_gain: float = 0.001,
        criterion: str = "newton",
        max_trees: int = 10,
        max_leaves: int = 12,
        max_depth: int = 8,
        min_samples_leaf: float = 5,
        leaf_ridge: float = 1.0,
        learning_rate: float = 0.3,
        lookahead: bool = False,
        reassign: bool = True,
        l1: float | str = "cv",
        l1_ratio: float = 1.0,
        conventions: str = "ours",
    ) -> None:
        self.ownership = ownership
        self.max_component_sources = max_component_sources
        self.positive = positive
        self.n_jobs = n_jobs
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
        fixed = {"criterion": "label", "l1": "4/n", "conventions": "paper"}
        return cls(
            pattern_order=pattern_order,
            budget=budget,
            min_gain=min_gain,
            ownership=ownership,
            **{**fixed, **changes},
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RPTEClassifier:
        """Learn a model.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, a mapping of columns, numpy or lists; numbers, booleans,
            strings and categories, with missing cells.
        y : array of shape (n_rows,)
            Two different labels.
        sample_weight : array of shape (n_rows,), optional
            A whole weight is the same as repeating the row, zero as leaving it out.
        """
        settings = checked_settings(self)
        inputs = self._read_training(X)
        labels = self._labels(y, inputs.n_rows)
        weight = _weights(sample_weight, inputs.n_rows)
        positive = self._positive()
        target = (labels == self.classes_[positive]).astype(np.float64)
        with threadpool_limits(limits=1, user_api="blas"), worker_threads(self.n_jobs) as pool:
            table = make_table(inputs, target, weight)
            if len(np.unique(table.y)) < 2:
                raise InputError(
                    "only one class has rows with a positive weight; a classifier needs both"
                )
            classes = (_plain(self.classes_[0]), _plain(self.classes_[1]))
            self.model_ = learn(table, settings, classes, positive, pool)
        return self

    def _read_training(self, X: Any) -> Inputs:
        if hasattr(X, "tocsr"):
            raise TypeError(
                "Sparse data was passed, but dense data is required: a readable model needs named "
                "columns; pass X.toarray() or a data frame"
            )
        inputs = read_training(X)
        if not len(inputs.schema):
            raise InputError(
                f"0 feature(s) (shape=({inputs.n_rows}, 0)) while a minimum of 1 is required."
            )
        if inputs.n_rows < 2:
            raise InputError(
                f"Found array with {inputs.n_rows} sample(s) while a minimum of 2 is required; "
                "give rows of both classes"
            )
        self.n_features_in_ = len(inputs.schema)
        if inputs.schema.named:
            self.feature_names_in_ = np.array(inputs.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return inputs

    def _labels(self, y: Any, n_rows: int) -> NDArray[Any]:
        if y is None:
            raise InputError("RPTEClassifier requires y to be passed, but the target y is None")
        from sklearn.utils.validation import column_or_1d

        labels: NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
        if len(labels) != n_rows:
            raise InputError(f"X has {n_rows} rows and y has {len(labels)}; give one label per row")
        _refuse_missing(labels)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) == 1:
            raise InputError(
                f"y holds one class only, {_plain(self.classes_[0])!r}; a classifier needs rows of "
                "two"
            )
        if len(self.classes_) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)} with {len(self.classes_)} classes; wrap the estimator "
                "in sklearn.multiclass.OneVsRestClassifier, or merge classes"
            )
        return labels

    def _positive(self) -> int:
        if self.positive is None:
            return 1
        found = np.flatnonzero(self.classes_ == self.positive)
        if not len(found):
            raise InputError(
                f"positive={self.positive!r} is not a class; the classes are "
                f"{self.classes_.tolist()}"
            )
        return int(found[0])

    def _inputs(self, X: Any) -> Inputs:
        check_is_fitted(self, "model_")
        if hasattr(X, "tocsr"):
            raise TypeError("Sparse data was passed, but dense data is required; pass X.toarray()")
        inputs = read_inputs(X, self.model_.schema)
        if inputs.n_rows == 0:
            raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return inputs

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class of each row."""
        chosen = (self.decision_function(X) > 0).astype(np.intp)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities in the order of `classes_`, shape (n_rows, 2)."""
        inputs = self._inputs(X)
        return self.model_.predict_proba(inputs)

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of ``classes_[1]``, shape (n_rows,)."""
        inputs = self._inputs(X)
        return self.model_.decision_function(inputs)

    def explain(self, X: Any, reference: str | None = None) -> list[Explanation]:
        """Take each row's score apart, in the order in which it is summed.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        reference : {None, "mean"}
            "mean" shows contributions against their training mean.
        """
        inputs = self._inputs(X)
        return self.model_.explain(inputs, reference)

    def summary(self) -> str:
        """Return the whole model as text."""
        check_is_fitted(self, "model_")
        return self.model_.summary()

    def audit(self, X: Any = None) -> AuditLoad:
        """Return the audit load (mu, miu, bound; iiu over the rows of `X`)."""
        check_is_fitted(self, "model_")
        return self.model_.audit(None if X is None else self._inputs(X))

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, which `rpte.load` reads."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    @property
    def rules_(self) -> pd.DataFrame:
        """One row per active term, in the order of the file."""
        import pandas as pd

        from rpte.model.model import Rule

        check_is_fitted(self, "model_")
        names = list(Rule.__dataclass_fields__)
        rows = [[getattr(rule, name) for name in names] for rule in self.model_.rules()]
        return pd.DataFrame(rows, columns=names)


def _plain(label: Any) -> Any:
    """Return a label as a JSON value."""
    return label.item() if isinstance(label, np.generic) else label


def _refuse_missing(labels: NDArray[Any]) -> None:
    from rpte.table.inputs import is_absent

    absent = [i for i, label in enumerate(labels) if is_absent(label)]
    if absent:
        raise InputError(
            f"Input y contains NaN: {len(absent)} missing label(s), first at row {absent[0]}; drop "
            "these rows"
        )


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, np.float64)
    if weight.ndim == 0:
        return np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): Sample weights must be "
            "1D array or scalar, one per row"
        )
    return weight

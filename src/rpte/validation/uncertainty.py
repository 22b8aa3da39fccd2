"""How far coefficients and scores move when the rows are drawn again: the bootstrap of Stage 3.

The number of scores is an axis: of several classes every resample has rows of all, and coefficients
of each. Adding a number to the coefficients of a term in all classes changes no probability, and
which class has the zero of the canonical form may differ between resamples: the differences of two
classes (`Bootstrap.between`) and the probabilities are what the rows alone decide.

The structure is fixed: the trees, thresholds, direct terms and the penalty are those of the file,
and the terms that it has at zero stay at zero. Rows (or groups of rows) are drawn with replacement
and the coefficients are estimated again, under the limits of the model. So the intervals tell how
the estimates vary *given* the terms; they know nothing of the choice of terms and of the penalty,
and they are intervals of penalised coefficients, which are drawn towards zero.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rpte.errors import InputError
from rpte.estimation.design import Design
from rpte.estimation.monotone import solve_in_order
from rpte.estimation.problem import AnyProblem
from rpte.estimation.softmax import ClassesFit, solve_classes
from rpte.estimation.solver import Fit
from rpte.fit.coefficients import Estimate, leaf_order
from rpte.fit.hazards import Hazards, estimate_hazards
from rpte.fit.refit import classes_problem, freeze_zero_leaves, problem
from rpte.losses.risk_sets import FollowUp, RiskSets
from rpte.model.classes import ClassesModel, one_score
from rpte.model.explain import Explanation
from rpte.model.file import AnyModel
from rpte.model.given import classes_model, scored_model
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.observed import Rows
from rpte.model.parts import DirectTerm, Leaf, TreeTerms
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.table.inputs import Inputs
from rpte.table.numbers import named
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Ints
from rpte.utils.records import FrozenRecords, Records, ShownFields
from rpte.validation.tables import is_training_table, labelled_rows

DRAWS = 1000  # tries for a resample that has both classes, or numbers that differ
WHAT = (
    "percentile bootstrap of the coefficients: structure and penalty as in the file, rows drawn "
    "again; it does not cover the choice of terms or of the penalty"
)


@dataclass(frozen=True, slots=True, repr=False)
class Interval(ShownFields):
    """An estimate with a percentile interval; `zero` is the fraction of resamples at zero."""

    name: str
    text: str
    estimate: float
    low: float
    high: float
    zero: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the interval as plain JSON values; `zero` only where it was counted."""
        return {k: value for k, value in asdict(self).items() if k != "zero" or value is not None}


@dataclass(frozen=True, slots=True, repr=False)
class CaseIntervals:
    """The score of one row and its contributions, in the order in which they are summed.

    The `response` is what the score stands for: the probability of the positive class, or the mean
    of a number. What will be observed spreads further; see `Model.predict_interval`.
    """

    score: Interval
    response: Interval
    components: tuple[Interval, ...]
    terms: tuple[Interval, ...]

    def __repr__(self) -> str:
        told = self.response
        ends = f"{told.low:.4g} to {told.high:.4g}"
        return f"CaseIntervals({told.name}={told.estimate:.4g}, from {ends})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import case_intervals_html

        return case_intervals_html(self)

    @property
    def probability(self) -> Interval:
        """The probability of the positive class; `InputError` for a number."""
        if self.response.name == Target.response_name:
            return self.response
        raise InputError(f"the model predicts a number: its {self.response.name} is `response`")

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals as plain JSON values."""
        return {
            "score": self.score.to_dict(),
            self.response.name: self.response.to_dict(),
            "components": [c.to_dict() for c in self.components],
            "terms": [t.to_dict() for t in self.terms],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Bootstrap:
    """Coefficients of a model over resamples of its rows.

    Parameters
    ----------
    model : Model or ClassesModel
    intercepts : (n,), of several classes (n, classes)
    coefficients : (n, q), of several classes (n, classes, q)
        In the units of the file: leaves of all trees, then direct terms, as the file sums them.
    names : tuple of str
        The q terms.
    seed : int
    groups : int or None
        How many groups were drawn from; None if rows were.
    same_table : bool
        Whether the rows are those that the model was fitted on.
    redrawn : int
        Resamples that lacked a class, or had one number only, and were drawn again.
    unconverged : int
        Fits that missed the tolerance of Stage 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier, bootstrap
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RPTEClassifier(l1=0.05, vocabulary="original", max_trees=0).fit(X, y).model_
    >>> drawn = bootstrap(model, X, y, n=20)
    >>> case = drawn.cases(X.iloc[[0]])[0]
    >>> case.probability.low <= case.probability.estimate <= case.probability.high
    True
    """

    model: AnyModel
    intercepts: Floats
    coefficients: Floats
    names: tuple[str, ...]
    seed: int
    groups: int | None
    same_table: bool
    redrawn: int
    unconverged: int

    def __repr__(self) -> str:
        drawn = f"{len(self.intercepts)} resamples, {len(self.names)} terms"
        return f"Bootstrap({drawn}, seed={self.seed})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import bootstrap_html

        return bootstrap_html(self)

    @property
    def what(self) -> str:
        """What the intervals are, in words."""
        drawn = "rows" if self.groups is None else f"{self.groups} groups"
        where = "" if self.same_table else "; the table is not the one that the model was fitted on"
        return f"{WHAT}; {len(self.intercepts)} resamples of {drawn}, seed {self.seed}{where}"

    def terms(self, level: float = 0.95, label: Label | None = None) -> Records[Interval]:
        """Return the interval of the intercept and of every term's coefficient.

        `zero` is the fraction of resamples in which the coefficient is zero. Of several classes,
        `label` is the one whose coefficients are returned.
        """
        check_level(level)
        k, n = self._place(label), len(self.intercepts)
        intercepts = self.intercepts.reshape(n, -1)[:, k]
        coefficients = self.coefficients.reshape(n, -1, len(self.names))[:, k]
        start = interval_of("intercept", "", self.model.intercepts[k], intercepts, level)
        found = Records([start])
        for rule in self.model.rules():
            values = coefficients[:, self.names.index(rule.term)]
            size = rule.coefficients[k]
            interval = interval_of(rule.term, rule.conditions, size, values, level)
            found.append(replace(interval, zero=float(np.mean(values == 0.0))))
        return found

    def _place(self, label: Label | None) -> int:
        """Return which score is that of a class; a model of one score has no other."""
        if isinstance(self.model, ClassesModel):
            return self.model.target.place(label)
        if label is not None:
            raise InputError(f"label={label!r}; the model has one score, so leave label out")
        return 0

    def between(self, label: Label, other: Label) -> "Bootstrap":
        """Return the bootstrap of the log odds of one of several classes against another."""
        model = classes_model(self.model, "between")
        a, b = model.target.place(label), model.target.place(other)
        pair = model.between(label, other)
        names = tuple(term_names(pair))
        kept = [self.names.index(name) for name in names]
        sizes = (self.coefficients[:, a] - self.coefficients[:, b])[:, kept]
        start = self.intercepts[:, a] - self.intercepts[:, b]
        return replace(self, model=pair, intercepts=start, coefficients=sizes, names=names)

    def probabilities(self, X: Any, level: float = 0.95) -> list[FrozenRecords[Interval]]:
        """Return of each row the probability of each of several classes, with its interval."""
        check_level(level)
        model = classes_model(self.model, "probabilities", "cases")
        inputs = model.read(X)
        columns, found = term_columns(model.outline, inputs), model.response(inputs)
        out = []
        for values, estimates in zip(columns, found.tolist(), strict=True):
            score = self.intercepts + self.coefficients @ values
            told = zip(model.classes, estimates, model.loss.response(score.T), strict=True)
            out.append(
                FrozenRecords(interval_of(str(k), "", p, each, level) for k, p, each in told)
            )
        return out

    def cases(
        self, X: Any, level: float = 0.95, exposure: Any = None, offset: Any = None
    ) -> Records[CaseIntervals]:
        """Return intervals for the score and the contributions of each row.

        The mean of a number is for one unit of exposure and no offset, unless these are given as to
        `Model.predict`.
        """
        check_level(level)
        model = one_score(self.model, "cases", "probabilities, or between(a, b).cases")
        inputs = model.read(X)
        columns = term_columns(model, inputs)
        given = {"exposure": named(X, exposure), "offset": named(X, offset)}
        explained = model.explain(inputs, **given)
        return Records(self._case(model, e, columns[i], level) for i, e in enumerate(explained))

    def _case(
        self, model: Model, explained: Explanation, row: Floats, level: float
    ) -> CaseIntervals:
        added = self.coefficients * row
        score = self.intercepts + added.sum(axis=1)
        ends = np.cumsum([0, *(len(_names(part)) for _, part in model.parts())])
        parts = iter([added[:, a:b].sum(axis=1) for a, b in pairwise(ends)])
        components, terms = [], []
        for c in explained.components:
            own = [next(parts) for _ in c.contributions]
            whole = np.sum(own, axis=0)
            components.append(interval_of(c.component, ", ".join(c.sources), c.value, whole, level))
            terms += [
                interval_of(term.term, term.text, term.value, values, level)
                for term, values in zip(c.contributions, own, strict=True)
            ]
        target = model.target
        response = target.mean(score, explained.exposure, explained.offset)
        return CaseIntervals(
            interval_of("score", "", explained.score, score, level),
            interval_of(target.response_name, "", explained.predicted, response, level),
            tuple(components),
            tuple(terms),
        )


def bootstrap(
    model: AnyModel,
    X: Any,
    y: Any,
    n: int = 200,
    seed: int = 0,
    groups: Any = None,
    sample_weight: Any = None,
    tell: Callable[[int], None] | None = None,
    *,
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
) -> Bootstrap:
    """Estimate the coefficients of a model again on resampled rows.

    Of several classes, of which of them a term says something is estimated again, too.

    Parameters
    ----------
    model : Model or ClassesModel
    X, y : the training table and its targets
    n : int
        Resamples.
    seed : int
        The same seed gives the same numbers.
    groups : array of shape (n_rows,), optional
        Rows of one group (a patient, a recording) are drawn together.
    sample_weight : array of shape (n_rows,), optional
        As in training.
    tell : callable, optional
        Called with the number of resamples done.
    exposure, offset : arrays of shape (n_rows,), or names of columns of `X`, optional
        Numeric targets: as in training.
    entry, strata : arrays of shape (n_rows,), or names of columns of `X`, optional
        Of times until an event: as in training. Every resample has a baseline of its own, and
        scores of the mean 0.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier, bootstrap
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.05, vocabulary="original", max_trees=0).fit(X, y)
    >>> drawn = bootstrap(clf.model_, X, y, n=20)
    >>> drawn.coefficients.shape[0]
    20
    """
    model = scored_model(model, "bootstrap")
    check_resamples(model, n)
    given = {"exposure": exposure, "offset": offset, "entry": entry, "strata": strata}
    rows = labelled_rows(model, X, y, sample_weight, **given)
    draws = Draws.of(rows, groups, seed, _varies(model, rows))
    counts = draws.counts()  # before the design, which needs targets that differ too
    refit: Any = (
        ClassesRefit(model, rows) if isinstance(model, ClassesModel) else Refit(model, rows)
    )
    fits = []
    for done in range(n):
        if tell is not None:
            tell(done)
        fits.append(refit.at(draws.counts() if done else counts))
    intercepts, coefficients = zip(*map(refit.in_file, fits), strict=True)
    return Bootstrap(
        model,
        np.array(intercepts),
        np.array(coefficients),
        tuple(term_names(model.outline)),
        seed,
        None if groups is None else draws.size,
        is_training_table(model, rows).holds,
        draws.redrawn,
        sum(not fit.converged for fit in fits),
    )


def _varies(model: AnyModel, rows: Rows) -> Callable[[Floats], bool]:
    """Return what tells whether the targets of a resample are enough for a fit."""
    if isinstance(model, ClassesModel):
        classes = len(model.classes)
        return lambda drawn: len(np.unique(drawn)) == classes
    return model.loss.varies if rows.seen is None else _has_event


def check_resamples(model: AnyModel, n: Any) -> None:
    """Refuse a number of resamples that is none, and a model without Stage 3."""
    if not isinstance(n, int) or n < 1:
        raise InputError(f"n={n!r}; the number of resamples must be a whole number, 1 or more")
    if model.training.get("objective") is None:
        raise InputError("the model has no Stage 3 (reassign=False), so nothing can be refitted")


class Refit:
    """Stage 3 with the terms of the file on some rows.

    A `Design` has leaves first, the file sums by component; `places` are those of the terms of the
    file in the design.
    """

    def __init__(self, model: Model, rows: Rows) -> None:
        self.rows, self.objective, self.target = rows, model.training["objective"], model.target
        table = Table(rows.inputs, rows.y, np.ones(rows.inputs.n_rows), loss=model.loss)
        terms, settings, design = problem(model, table)
        self.design = freeze_zero_leaves(model, design)
        self.order = leaf_order(terms.trees, settings)
        parts = [part for _, part in model.parts() for _ in _names(part)]
        direct = [isinstance(part, DirectTerm) for part in parts]
        self.places = np.argsort(np.argsort(direct, kind="stable"))
        self.scale = np.array([p.scale if isinstance(p, DirectTerm) else 1.0 for p in parts])

    def in_file(self, fit: Fit) -> tuple[float, Floats]:
        """Return intercept and coefficients (q,) in the units and the order of the file."""
        coefficients = fit.coefficients[self.places] / self.scale * self.target.factor
        return float(self.target.score_of(fit.intercept)), coefficients

    def at(self, counts: Ints) -> Fit:
        """Solve with each row counted as often as `counts` (n,) says."""
        weight = self.rows.weight * counts
        kept = np.flatnonzero(weight > 0)
        design = replace(
            self.design,
            leaf_codes=np.ascontiguousarray(self.design.leaf_codes[:, kept]),
            direct=np.asfortranarray(self.design.direct[kept]),
            y=self.rows.y[kept],
            weight=weight[kept],
        )
        if self.rows.seen is not None:
            return self._hazards(design, self.rows.seen.take(kept))
        return self._solved(design).fit

    def _solved(self, design: AnyProblem, start: Floats | None = None) -> Estimate:
        l1, l1_ratio = self.objective["l1"], self.objective["l1_ratio"]
        fit, ties = solve_in_order(design, self.order, l1, l1_ratio, start=start)
        return Estimate(fit, design, ties)

    def _hazards(self, design: Design, seen: FollowUp) -> Fit:
        """Solve beside the baseline of a resample; its scores have the mean 0."""
        assert isinstance(self.target, SurvivalTarget)
        weight = design.weight
        hazards = Hazards(weight, RiskSets.of(seen, weight, self.target.ties))
        null = hazards.exposed()
        first = replace(design, y=null.y, weight=null.weight)
        fit = estimate_hazards(hazards, first, self._solved, self.objective["l1_ratio"], None).fit
        score = design.score(0.0, fit.coefficients)
        return replace(fit, intercept=-float(np.average(score, weights=weight)))


class ClassesRefit:
    """Stage 3 of several classes with the terms of the file on some rows."""

    def __init__(self, model: ClassesModel, rows: Rows) -> None:
        self.rows, self.objective = rows, model.training["objective"]
        table = Table(rows.inputs, rows.y, np.ones(rows.inputs.n_rows), loss=model.loss)
        self.problem = classes_problem(model, table)
        terms = [term for _, term in model.terms()]
        self.scale = np.array([term.scale for term in terms])
        sizes = np.array([term.coefficients for term in terms]).reshape(-1, len(model.classes))
        sizes = sizes * self.scale[:, None]
        is_leaf = np.array([isinstance(t.terms[0], Leaf) for t in terms], np.bool_)
        # Stage 3 has the leaves that say something of some class, then direct terms.
        leaves = np.flatnonzero(is_leaf & sizes.any(axis=1))
        self.places = np.concatenate([leaves, np.flatnonzero(~is_leaf)]).astype(np.intp)
        self.start = np.column_stack([model.intercepts, sizes[self.places].T])

    def in_file(self, fit: ClassesFit) -> tuple[Floats, Floats]:
        """Return intercepts and coefficients (K, q) in the order of the file; 0 in other leaves."""
        found = np.zeros((len(fit.coefficients), len(self.scale)))
        found[:, self.places] = fit.coefficients
        return fit.intercepts, found / self.scale

    def at(self, counts: Ints) -> ClassesFit:
        """Solve with each row counted as often as `counts` (n,) says."""
        weight = self.rows.weight * counts
        kept = np.flatnonzero(weight > 0)
        z = np.ascontiguousarray(self.problem.z[:, kept])
        some = replace(self.problem, z=z, y=self.rows.y[kept], weight=weight[kept])
        l1, l1_ratio = self.objective["l1"], self.objective["l1_ratio"]
        return solve_classes(some, l1, l1_ratio, self.start)


def _has_event(events: Floats) -> bool:
    return bool(events.any())


class Draws:
    """Resamples with replacement, as counts per row; the targets of each are varied enough."""

    def __init__(
        self, rows: Rows, numbers: Ints, rng: np.random.Generator, varies: Callable[[Floats], bool]
    ) -> None:
        self.rows, self.numbers, self.rng, self.varies = rows, numbers, rng, varies
        self.size = int(numbers.max(initial=-1)) + 1
        self.redrawn = 0

    @classmethod
    def of(cls, rows: Rows, groups: Any, seed: int, varies: Callable[[Floats], bool]) -> "Draws":
        """Return the draws of rows, or of groups of them, by a seed."""
        return cls(rows, _group_numbers(groups, len(rows.y)), np.random.default_rng(seed), varies)

    def counts(self) -> Ints:
        """Draw once; again while a class has no weight, or all numbers are equal."""
        for _ in range(DRAWS):
            drawn = self.rng.integers(0, self.size, self.size)
            counts = np.bincount(drawn, minlength=self.size)[self.numbers]
            if self.varies(self.rows.y[(counts > 0) & (self.rows.weight > 0)]):
                return counts
            self.redrawn += 1
        raise InputError(
            f"{DRAWS} resamples of {self.size} rows or groups held one class only, or one number; "
            "give more rows whose targets differ"
        )


def term_columns(model: Model, inputs: Inputs) -> Floats:
    """Return what each coefficient of the file is multiplied by, shape (n_rows, q)."""
    columns: list[Floats] = []
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            values = part.column.evaluate(inputs)
            scaled = np.where(np.isnan(values), 0.0, (values - part.centre) / part.scale)
            columns.append(scaled * part.scale)
        else:
            reached = part.tree.apply(inputs)
            columns += [(reached == n).astype(np.float64) for n in range(len(part.leaves))]
    return np.array(columns).reshape(len(columns), inputs.n_rows).T


def term_names(model: Model) -> list[str]:
    """Return the names of the leaves and direct terms of a model, in the order of its file."""
    return [name for _, part in model.parts() for name in _names(part)]


def _names(part: TreeTerms | DirectTerm) -> list[str]:
    if isinstance(part, DirectTerm):
        return [part.name]
    return [part.leaf_name(number) for number in range(len(part.leaves))]


def _group_numbers(groups: Any, n_rows: int) -> Ints:
    if groups is None:
        return np.arange(n_rows)
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InputError(f"groups has shape {labels.shape}, X has {n_rows} rows; give one per row")
    return np.unique(labels.astype(str), return_inverse=True)[1].reshape(-1).astype(np.int64)


def interval_of(name: str, text: str, estimate: float, values: Floats, level: float) -> Interval:
    """Return an estimate with the percentile interval of its values over resamples."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(name, text, float(estimate), float(low) + 0.0, float(high) + 0.0)


def check_level(level: float) -> None:
    """Raise unless a level lies between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level={level!r}; it must lie between 0 and 1, such as 0.95")

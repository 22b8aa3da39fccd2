"""The bootstrap of Stage 3 of several classes: coefficients of each, odds of two, probabilities.

As in `uncertainty`, the terms and the penalty are those of the file; of which classes a term says
something is estimated again. Every resample has rows of all
classes. Adding a number to the coefficients of a term in all classes changes no probability, and
which class has the zero of the canonical form may differ between resamples: the differences of two
classes (`ClassBootstrap.between`) and the probabilities are what the rows alone decide.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpte.estimation.softmax import ClassesFit, solve_classes
from rpte.fit.refit import classes_problem
from rpte.model.classes import ClassesModel
from rpte.model.given import classes_model
from rpte.model.labels import Label
from rpte.model.observed import Rows
from rpte.model.parts import Leaf
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Ints
from rpte.utils.records import FrozenRecords, Records
from rpte.validation.tables import is_training_table, labelled_rows
from rpte.validation.uncertainty import (
    Bootstrap,
    Draws,
    Interval,
    check_level,
    check_resamples,
    interval_of,
    term_columns,
    term_names,
    what_drawn,
)


@dataclass(frozen=True, slots=True, repr=False)
class ClassBootstrap:
    """Coefficients of a model of several classes over resamples of its rows.

    Parameters
    ----------
    model : ClassesModel
    intercepts : (n, classes)
    coefficients : (n, classes, q)
        In the units of the file, in the order of its terms.
    names : tuple of str
        The q terms.
    seed, groups, same_table, redrawn, unconverged
        As in `Bootstrap`; a resample without a class was drawn again.
    """

    model: ClassesModel
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
        return f"ClassBootstrap({drawn}, seed={self.seed})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import class_bootstrap_html

        return class_bootstrap_html(self)

    @property
    def what(self) -> str:
        """What the intervals are, in words."""
        return what_drawn(self.groups, self.same_table, len(self.intercepts), self.seed)

    def terms(self, label: Label, level: float = 0.95) -> Records[Interval]:
        """Return the interval of the intercept and of every coefficient of one class.

        `zero` is the fraction of resamples in which the coefficient is zero.
        """
        check_level(level)
        k = self.model.target.place(label)
        start = self.model.intercepts[k]
        found = Records([interval_of("intercept", "", start, self.intercepts[:, k], level)])
        for rule in self.model.rules():
            values = self.coefficients[:, k, self.names.index(rule.term)]
            told = rule.term, rule.conditions, rule.coefficients[k]
            interval = interval_of(*told, values, level)
            found.append(replace(interval, zero=float(np.mean(values == 0.0))))
        return found

    def between(self, label: Label, other: Label) -> Bootstrap:
        """Return the bootstrap of the log odds of one class against another."""
        a, b = self.model.target.place(label), self.model.target.place(other)
        pair = self.model.between(label, other)
        kept = [self.names.index(name) for name in term_names(pair)]
        sizes = (self.coefficients[:, a] - self.coefficients[:, b])[:, kept]
        names = tuple(self.names[i] for i in kept)
        start = self.intercepts[:, a] - self.intercepts[:, b]
        return Bootstrap(pair, start, sizes, names, *self._facts)

    @property
    def _facts(self) -> tuple[int, int | None, bool, int, int]:
        return self.seed, self.groups, self.same_table, self.redrawn, self.unconverged

    def probabilities(self, X: Any, level: float = 0.95) -> list[FrozenRecords[Interval]]:
        """Return of each row the probability of every class, in order, with its interval."""
        check_level(level)
        inputs = self.model.read(X)
        columns, found = term_columns(self.model.outline, inputs), self.model.response(inputs)
        out = []
        for values, estimates in zip(columns, found.tolist(), strict=True):
            score = self.intercepts + self.coefficients @ values
            drawn = self.model.loss.response(score.T)
            told = zip(self.model.classes, estimates, drawn, strict=True)
            out.append(
                FrozenRecords(interval_of(str(k), "", p, each, level) for k, p, each in told)
            )
        return out


def class_bootstrap(
    model: ClassesModel,
    X: Any,
    y: Any,
    n: int = 200,
    seed: int = 0,
    groups: Any = None,
    sample_weight: Any = None,
    tell: Callable[[int], None] | None = None,
) -> ClassBootstrap:
    """Estimate the coefficients of all classes again on resampled rows.

    Parameters
    ----------
    model : ClassesModel
    X, y, n, seed, groups, sample_weight, tell
        As in `bootstrap`.

    Examples
    --------
    >>> import rpte
    >>> X = {"length": [1.0, 5.0, 9.0, 4.0, 6.0, 2.0] * 12}
    >>> y = ["small", "middle", "large", "small", "large", "middle"] * 12
    >>> model = rpte.RPTEClassifier(l1=0.02).fit(X, y).model_
    >>> drawn = rpte.class_bootstrap(model, X, y, n=20)
    >>> [interval.name for interval in drawn.probabilities({"length": [3.0]})[0]]
    ['large', 'middle', 'small']
    """
    model = classes_model(model, "class_bootstrap", "bootstrap")
    check_resamples(model, n)
    rows = labelled_rows(model, X, y, sample_weight)
    classes = len(model.classes)
    draws = Draws.of(rows, groups, seed, lambda drawn: len(np.unique(drawn)) == classes)
    refit, fits = _Refit(model, rows), []
    for done in range(n):
        if tell is not None:
            tell(done)
        fits.append(refit.at(draws.counts()))
    terms = [term for _, term in model.terms()]
    scale = np.array([term.scale for term in terms])
    return ClassBootstrap(
        model,
        np.array([fit.intercepts for fit in fits]),
        np.array([refit.of_all(fit.coefficients) for fit in fits]) / scale,
        tuple(term.name for term in terms),
        seed,
        None if groups is None else draws.size,
        is_training_table(model, rows).holds,
        draws.redrawn,
        sum(not fit.converged for fit in fits),
    )


class _Refit:
    """Stage 3 with the terms of the file on some rows."""

    def __init__(self, model: ClassesModel, rows: Rows) -> None:
        self.rows, self.objective = rows, model.training["objective"]
        table = Table(rows.inputs, rows.y, np.ones(rows.inputs.n_rows), loss=model.loss)
        self.problem = classes_problem(model, table)
        terms = [term for _, term in model.terms()]
        sizes = np.array([np.array(t.coefficients) * t.scale for t in terms]).reshape(
            len(terms), len(model.classes)
        )
        is_leaf = np.array([isinstance(t.terms[0], Leaf) for t in terms], np.bool_)
        spoken = sizes.any(axis=1) | ~is_leaf
        # Stage 3 has the leaves that say something, then direct terms.
        self.places = np.concatenate(
            [np.flatnonzero(is_leaf & spoken), np.flatnonzero(~is_leaf)]
        ).astype(np.intp)
        self.n_terms = len(terms)
        self.start = np.column_stack([model.intercepts, sizes[self.places].T])

    def of_all(self, coefficients: Floats) -> Floats:
        """Return coefficients (K, q) for all terms of the file, in its order; 0 in other leaves."""
        found = np.zeros((len(coefficients), self.n_terms))
        found[:, self.places] = coefficients
        return found

    def at(self, counts: Ints) -> ClassesFit:
        """Solve with each row counted as often as `counts` (n,) says."""
        weight = self.rows.weight * counts
        kept = np.flatnonzero(weight > 0)
        z = np.ascontiguousarray(self.problem.z[:, kept])
        some = replace(self.problem, z=z, y=self.rows.y[kept], weight=weight[kept])
        l1, l1_ratio = self.objective["l1"], self.objective["l1_ratio"]
        return solve_classes(some, l1, l1_ratio, self.start)

"""A model of several classes: one structure, and per term a coefficient for each class.

The score of each class is a sum like that of two classes, over the same components. The difference
of two of them is the log odds of one class against the other, and so a model of two classes with
all that those can do: see `ClassesModel.between`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rpte import __version__
from rpte.errors import InputError, NotForTask
from rpte.losses import Multinomial
from rpte.model.certificate import monotone_certificate
from rpte.model.class_explanation import CaseOf, ClassExplanation
from rpte.model.class_limits import monotone_by_class, pair_directions
from rpte.model.class_target import ClassesTarget, PairTarget
from rpte.model.explanations import Explanations
from rpte.model.importance import RECORD as IMPORTANCES
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, path_text
from rpte.model.plotting import PlotMethodsMixin
from rpte.model.steps import per_step, step_number
from rpte.model.target import Target
from rpte.model.versions import NEWEST, without
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.utils.arrays import Array, Floats, Index
from rpte.utils.records import FrozenRecords, ShownFields

if TYPE_CHECKING:
    from rpte.audit.load import AuditLoad
    from rpte.counterfactual import Actions, ClassCounterfactuals
    from rpte.export.parity import Parity
    from rpte.model.check import Checks
    from rpte.model.what_if import WhatIf
    from rpte.report.report import Report


@dataclass(frozen=True, slots=True, repr=False)
class ClassRule(ShownFields):
    """One term, with its coefficient in every class; `step` is that of `Rule`."""

    component: str
    term: str
    conditions: str
    sources: tuple[str, ...]
    inspection_units: int
    support: float
    step: float | None
    coefficients: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClassTerm:
    """A leaf or a direct term as it stands in the score of each class."""

    name: str
    text: str
    terms: tuple[Leaf, ...] | tuple[DirectTerm, ...]

    @property
    def coefficients(self) -> tuple[float, ...]:
        """The coefficient in each class."""
        return tuple(term.coefficient for term in self.terms)

    @property
    def binary(self) -> bool:
        """Whether it holds or does not hold."""
        first = self.terms[0]
        return isinstance(first, Leaf) or first.column.binary

    @property
    def scale(self) -> float:
        """Units of the penalty, as in `DirectTerm`."""
        first = self.terms[0]
        return 1.0 if isinstance(first, Leaf) else first.scale


@dataclass(frozen=True, repr=False)
class ClassesModel(PlotMethodsMixin):
    """A frozen model of several classes; `rpte.load` gives one for a file with several scores.

    The score of class k is the left-to-right sum of ``intercepts[k]`` and the subtotals of
    ``by_class[k]``; the components of all classes have the same terms, with zeros where a term says
    nothing of a class. Probabilities are proportional to exp(score). Other fields are those of
    `Model`.
    """

    schema: Schema
    target: ClassesTarget
    intercepts: tuple[float, ...]
    by_class: tuple[tuple[Component, ...], ...]
    ownership: str
    settings: Mapping[str, Any]
    bound: int
    training: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)
    library_version: str = __version__
    ledger: tuple[Mapping[str, Any], ...] = ()
    file_version: int = field(default=NEWEST, init=False, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say of what other models have why this one has not."""
            if name.startswith("_") or name not in {*dir(Model), *Model.__dataclass_fields__}:
                raise AttributeError(f"'ClassesModel' object has no attribute {name!r}")
            raise NotForTask(
                f"{name} is for models of one score, and this one has {len(self.classes)}, of "
                "several classes; model.between(a, b) is the model of two of them"
            )

    def __repr__(self) -> str:
        load = self.audit()
        size = f"{load.mu} terms, {load.miu} conditions"
        return f"ClassesModel({len(self.classes)} classes: {size})"

    @property
    def task(self) -> str:
        """The kind of target: ``"multiclass"``."""
        return self.target.task

    @property
    def loss(self) -> Multinomial:
        """The loss that the model was fitted to."""
        return self.target.loss

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes, in order."""
        return self.target.classes

    @property
    def components(self) -> tuple[Component, ...]:
        """The components, each term with its largest coefficient in any class."""
        return self.outline.components

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the model uses, by name."""
        return self.outline.sources

    @property
    def ignored(self) -> Collection[str]:
        """Columns that a table may have although the model was told to leave them out."""
        return self.outline.ignored

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The score of each class, as models of two classes: this one, and all others."""
        return tuple(self._model(k) for k in range(len(self.classes)))

    def _model(self, k: int) -> Model:
        means = {name: each[k] for name, each in self.training["mean_contributions"].items()}
        own = {"mean_contributions": means, "class_factors": [1.0, 1.0]}
        target = Target((0, 1), 1, self.target.totals[k])
        return self._one(target, self.intercepts[k], self.by_class[k], {**self.training, **own}, {})

    def _one(
        self,
        target: Target,
        intercept: float,
        components: tuple[Component, ...],
        training: Mapping[str, Any],
        monotone: Mapping[str, str],
    ) -> Model:
        """Return a model of one score, with the monotone directions that it has by itself."""
        limits = {**self.settings["limits"], "monotone": monotone}
        shared = self.ownership, {**self.settings, "limits": limits}, self.bound
        given = self.data, self.library_version, self.ledger
        training = without(training, IMPORTANCES)  # which are of all classes
        model = Model(self.schema, target, intercept, components, *shared, training, *given)
        return replace(model, training={**training, "monotone": monotone_certificate(model)})

    @cached_property
    def outline(self) -> Model:
        """The structure alone: each term with its largest coefficient in any class."""
        first, means = self.models[0], dict(self.models[0].training["mean_contributions"])

        def largest(*terms: Leaf | DirectTerm) -> Leaf | DirectTerm:
            k = int(np.argmax([abs(term.coefficient) for term in terms]))
            widest = terms[k]
            if isinstance(widest, Leaf):  # cases of one class, so that leaves hold all of them
                return replace(terms[0], coefficient=widest.coefficient)
            means[widest.name] = self.training["mean_contributions"][widest.name][k]
            return widest

        components = self._merged(largest)
        for tree in (tree for component in components for tree in component.trees):
            sums = (leaf.coefficient * leaf.support for leaf in tree.leaves)
            means[tree.name] = sum(sums) / self.training["rows"]
        training = {**first.training, "mean_contributions": means}
        return replace(first, components=components, training=training)

    def _merged(self, merge: Any) -> tuple[Component, ...]:
        """Return components whose terms are made of those of all classes."""
        out = []
        for same in zip(*self.by_class, strict=True):
            direct = tuple(merge(*terms) for terms in zip(*(c.direct for c in same), strict=True))
            trees = []
            for alike in zip(*(c.trees for c in same), strict=True):
                leaves = zip(*(tree.leaves for tree in alike), strict=True)
                trees.append(replace(alike[0], leaves=tuple(merge(*each) for each in leaves)))
            out.append(replace(same[0], trees=tuple(trees), direct=direct))
        return tuple(out)

    def between(self, label: Label, other: Label) -> Model:
        """Return the log odds of one class against another, as a model of these two.

        Its terms are those of the model whose coefficients differ; counts are of rows of the two
        classes. A monotone limit of either class is one of their odds. It explains, plots and
        exports as any model of two classes.
        """
        a, b = self.target.place(label), self.target.place(other)
        if a == b:
            raise InputError(f"{label!r} is given twice; give two different classes")

        def difference(*terms: Leaf | DirectTerm) -> Leaf | DirectTerm:
            mine, its = terms[a], terms[b]
            both = mine.target_total + its.target_total
            gap = mine.coefficient - its.coefficient
            return replace(mine, coefficient=gap, support=both, target_total=mine.target_total)

        means = {
            name: each[a] - each[b] for name, each in self.training["mean_contributions"].items()
        }
        totals = self.target.totals
        training = {
            **self.training,
            "mean_contributions": means,
            "class_factors": [1.0, 1.0],
            "objective": None,
            "rows": totals[a] + totals[b],
        }
        kept = []
        for component in self._merged(difference):
            direct = tuple(term for term in component.direct if term.coefficient != 0.0)
            trees = tuple(t for t in component.trees if any(v.coefficient for v in t.leaves))
            if direct or trees:
                kept.append(replace(component, trees=trees, direct=direct))
        target = PairTarget((other, label), 1, totals[a])
        start = self.intercepts[a] - self.intercepts[b]
        directions = pair_directions(monotone_by_class(self), a, b)
        return self._one(target, start, tuple(kept), training, directions)

    def read(self, X: Any, *, allow_unknown: bool = False) -> Inputs:
        """Read the model's columns, as `Model.read` does."""
        return self.outline.read(X, allow_unknown=allow_unknown)

    def score(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the score of each row and class, (n_rows, classes)."""
        inputs = self.read(X, allow_unknown=allow_unknown)
        return np.column_stack([model.score(inputs) for model in self.models])

    decision_function = score

    def response(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the probability of every class, (n_rows, classes)."""
        score = self.score(X, allow_unknown=allow_unknown)
        return np.ascontiguousarray(self.loss.response(score.T).T)

    predict_proba = response

    def predict(self, X: Any, *, allow_unknown: bool = False) -> Array:
        """Return the class of the largest score, the first of several."""
        chosen = self.score(X, allow_unknown=allow_unknown).argmax(axis=1)
        return np.asarray(self.target.labels[chosen])

    def rules(self, reference: Label | None = None) -> FrozenRecords[ClassRule]:
        """Return every term with its coefficients, in the order of the file.

        With a `reference` class, coefficients are differences from those of that class.
        """
        base = None if reference is None else self.target.place(reference)
        by_name, found = {term.name: term for _, term in self.terms()}, []
        for rule in self.outline.rules():
            sizes = by_name[rule.term].coefficients
            if base is not None:
                sizes = tuple(size - sizes[base] for size in sizes)
            read = rule.component, rule.term, rule.conditions, rule.sources
            found.append(ClassRule(*read, rule.inspection_units, rule.support, rule.step, sizes))
        return FrozenRecords(found)

    def terms(self) -> Iterator[tuple[Component, ClassTerm]]:
        """Yield every leaf and direct term with its component, in the order of the file.

        Leaves that say nothing of any class too.
        """
        for same in zip(*self.by_class, strict=True):
            for trees in zip(*(component.trees for component in same), strict=True):
                for number, path, _ in trees[0].rules():
                    leaves = tuple(tree.leaves[number] for tree in trees)
                    text = path_text(path, self.schema)
                    yield same[0], ClassTerm(trees[0].leaf_name(number), text, leaves)
            for terms in zip(*(component.direct for component in same), strict=True):
                yield same[0], ClassTerm(terms[0].name, terms[0].text_in(self.schema), terms)

    def rule_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the columns of a table of all terms, and its rows."""
        shared = [name for name in ClassRule.__dataclass_fields__ if name != "coefficients"]
        sizes, rows = ("coefficient", "effect per step"), []
        for rule in self.rules():
            read = [getattr(rule, name) for name in shared[:-1]] + [step_number(rule.step)]
            rows.append([*read, *rule.coefficients, *per_step(rule.coefficients, rule.step)])
        return [*shared, *(f"{size} of {c!r}" for size in sizes for c in self.classes)], rows

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        *,
        label: Label | None = None,
        against: Label | None = None,
        allow_unknown: bool = False,
    ) -> Explanations[ClassExplanation]:
        """Say of each row why it is given a class and not another.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        reference : {None, "mean"}
            As in `Model.explain`.
        label : class, optional
            That is explained; of each row the one predicted, if None.
        against : class, optional
            The one it is compared with; of each row the most probable other one, if None.
        allow_unknown : bool
            As in `predict`.
        """
        inputs = self.read(X, allow_unknown=allow_unknown)
        p = self.response(inputs)
        chosen = self._places(label, p.argmax(axis=1))
        others = p.copy()
        others[np.arange(len(p)), chosen] = -1.0
        runner_up = self._places(against, others.argmax(axis=1))
        out: list[ClassExplanation | None] = [None] * len(p)
        for a, b in sorted(set(zip(chosen.tolist(), runner_up.tolist(), strict=True))):
            rows = np.flatnonzero((chosen == a) & (runner_up == b))
            pair = self.classes[a], self.classes[b]
            explained = self.between(*pair).explain(inputs.take(rows), reference)
            for row, difference in zip(rows.tolist(), explained, strict=True):
                told = dict(zip(self.classes, p[row].tolist(), strict=True))
                case = CaseOf(self, inputs, row)
                out[row] = ClassExplanation(*pair, told, difference, case, row)
        return Explanations(each for each in out if each is not None).labelled(X)

    def _places(self, label: Label | None, found: Index) -> Index:
        return found if label is None else np.full(len(found), self.target.place(label), np.intp)

    def what_if(self, X: Any, changes: Mapping[str, Any]) -> WhatIf:
        """Change values of one row, and see what moves the class predicted against the next."""
        from rpte.model.what_if import one_row

        row = one_row(self.outline, X)
        (told,) = self.explain(row)
        return self.between(told.chosen, told.against).what_if(row, changes)

    def counterfactuals(
        self,
        X: Any,
        to: Label | None = None,
        *,
        actions: Actions | None = None,
        most: int = 3,
        answers: int = 3,
    ) -> ClassCounterfactuals:
        """Say what would have to change for one row to be of class `to`."""
        from rpte.counterfactual import class_counterfactuals

        return class_counterfactuals(self, X, to, actions=actions, most=most, answers=answers)

    def summary(self, every: bool = False, terms: bool = True) -> str:
        """Return the model as text, always with its terms, a column for each score.

        Small components of a long model are one line unless `every`.
        """
        from rpte.model.summary import classes_summary

        return classes_summary(self, every)

    def audit(self, X: Any = None) -> AuditLoad:
        """Count the audit load; a term counts once, whatever classes it speaks of."""
        return self.outline.audit(X)

    def verify(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **given: Any
    ) -> Checks:
        """Check every claim that the model makes; more can be checked with the training table."""
        from rpte.model.verify import verify

        check_no_beside(given)
        return verify(self, X, y, sample_weight)

    def _repr_html_(self) -> str:
        from rpte.notebook.models import classes_html

        return classes_html(self)

    def report(
        self,
        X: Any = None,
        y: Any = None,
        path: str | Path | None = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> Report:
        """Write all about the model, measured on a table, to one page; see `rpte.report.report`."""
        from rpte.report.report import make_report

        return make_report(self, X, y, path, sample_weight, **options)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file."""
        from rpte.model.file import save

        save(self, path)

    def export(self, target: str, path: str | Path, X: Any = None, **options: Any) -> Parity:
        """Write the model in another form, as `Model.export` does."""
        from rpte.export.exporting import export_model

        return export_model(self, target, path, X, **options)


def check_no_beside(given: Mapping[str, Any]) -> None:
    """Refuse what models of several classes do not have: an exposure, an offset, an entry."""
    named = [role for role, value in given.items() if value is not None]
    if named:
        kind = "numbers" if named[0] in ("exposure", "offset") else "times until an event"
        raise InputError(f"{named[0]} is for models of {kind}; this tells classes")


def one_score(model: Model | ClassesModel, what: str, instead: str | None = None) -> Model:
    """Return a model of two classes or a number; refuse one of several classes with words.

    `instead` is what there is for several classes.
    """
    if isinstance(model, ClassesModel):
        remedy = "in Python, load(...).between(a, b) is a model of two"
        raise InputError(
            f"{what} is for models of two classes or a number, and this one tells "
            f"{len(model.classes)} classes; {remedy if instead is None else f'use {instead}'}"
        )
    return model

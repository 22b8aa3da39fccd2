"""The model: a score that is a short sum, by component, of named contributions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte import __version__
from rpte.errors import InputError
from rpte.losses import Loss
from rpte.model.horizon import at_horizon, survival_target
from rpte.model.labels import Label
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms, path_sources, path_text
from rpte.model.plotting import PlotMethodsMixin
from rpte.model.scoring import Plan
from rpte.model.steps import step_number, typical_step
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, NumberTarget, Target
from rpte.model.unknown import checked_inputs
from rpte.model.versions import NEWEST
from rpte.structure.tree import path_conditions
from rpte.table.inputs import Inputs, read_inputs
from rpte.table.numbers import named, warn_of_forgotten
from rpte.table.schema import Schema
from rpte.utils.arrays import Array, Floats
from rpte.utils.records import FrozenRecords, ShownFields

if TYPE_CHECKING:
    from rpte.audit.load import AuditLoad
    from rpte.counterfactual import Actions, Counterfactuals
    from rpte.export.parity import Parity
    from rpte.model.check import Checks
    from rpte.model.explain import Explanation
    from rpte.model.explanations import Explanations
    from rpte.model.what_if import WhatIf
    from rpte.report.report import Report
    from rpte.scorecard import Scorecard

__all__ = ["Label", "Model", "Rule"]


@dataclass(frozen=True, slots=True, repr=False)
class Rule(ShownFields):
    """One active term as a row of the rule table.

    The `mean` is that of the target over the training rows that the term speaks of. A number has a
    typical `step` (`rpte.model.steps`), None for what holds or does not. `effect_per_step` is what
    the step, or that it holds, adds to the score, and `effect` the same as people compare it: an
    odds ratio, a rate ratio, units of y.
    """

    component: str
    tree: str
    term: str
    conditions: str
    sources: tuple[str, ...]
    inspection_units: int
    support: float
    mean: float
    coefficient: float
    step: float | None
    effect_per_step: float
    effect: float

    @property
    def coefficients(self) -> tuple[float, ...]:
        """The coefficient in each score, of which there is one."""
        return (self.coefficient,)


@dataclass(frozen=True, slots=True, repr=False)
class Model(PlotMethodsMixin):
    """A fitted model, as it is stored, read and scored.

    The score is *defined* as the left-to-right sum, in file order, of the
    intercept and the component subtotals, each the left-to-right sum of its parts, in float64.

    Parameters
    ----------
    schema : Schema
    target : Target or NumberTarget
        What is predicted: two classes, one of which the score speaks of, or a number.
    intercept : float
    components : tuple of Component
    ownership : str
        The policy that the model was fitted under and is verified against.
    settings : mapping
        All parameters of the fit, as plain JSON values.
    bound : int
        Bound on the audit load (MIU), known before training.
    training : mapping
        The record of the fit: counts, objective, certificates, trees tried, choices made.
    data : mapping
        The fingerprint of the training table: counts, hash and profile.
    library_version : str
        The version of the library that fitted the model.
    ledger : tuple of mappings
        Who edited the model since, when and why; see `rpte.model.ledger`.

    Attributes
    ----------
    file_version : int
        The version of the file that the model was read from, in which its hash is taken; the newest
        for a model that is new or was changed. `save` writes the newest.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> model.sources, model.classes[model.positive]
    (('debt',), 'paid')
    >>> told = model.explain({"debt": [4.0]})[0]
    >>> bool(told.score == model.score({"debt": [4.0]})[0])
    True
    """

    schema: Schema
    target: AnyTarget
    intercept: float
    components: tuple[Component, ...]
    ownership: str
    settings: Mapping[str, Any]
    bound: int
    training: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)
    library_version: str = __version__
    ledger: tuple[Mapping[str, Any], ...] = ()
    file_version: int = field(default=NEWEST, init=False, repr=False, compare=False)
    _plans: list[Plan] = field(default_factory=list, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        load = self.audit()
        return f"Model({self.target.score_text}: {load.mu} terms, {load.miu} conditions)"

    def read(self, X: Any, *, allow_unknown: bool = False) -> Inputs:
        """Read the model's columns from a mapping, a 2-D array or a table with named columns.

        A table with names needs to have only the variables that the model reads. Levels that
        training did not have are warned of; a column that holds little else is refused unless
        `allow_unknown`. What is returned may be given to every method in the place of the table.
        """
        if isinstance(X, Inputs):
            return X
        inputs = read_inputs(X, self.schema, self.ignored, self.sources)
        return checked_inputs(self, inputs, allow_unknown)

    @property
    def task(self) -> str:
        """The kind of target: ``"binary"`` or ``"regression"``."""
        return self.target.task

    @property
    def loss(self) -> Loss:
        """The loss that the model was fitted to, with the response that a score stands for."""
        return self.target.loss

    @property
    def _two_classes(self) -> Target:
        if isinstance(self.target, Target):
            return self.target
        raise InputError(
            f"the model predicts no class, but a number ({self.target.response_text}); this is for "
            "models of two classes"
        )

    @property
    def classes(self) -> tuple[Label, Label]:
        """The two classes, in order; `InputError` for a model of a number."""
        return self._two_classes.classes

    @property
    def positive(self) -> int:
        """Which class the score, the rules and the explanations speak of."""
        return self._two_classes.positive

    @property
    def models(self) -> tuple[Model, ...]:
        """The model of each score, of which there is one: this model."""
        return (self,)

    @property
    def outline(self) -> Model:
        """The structure of all scores: this model."""
        return self

    @property
    def intercepts(self) -> tuple[float, ...]:
        """The intercept of each score, of which there is one."""
        return (self.intercept,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the model uses, by name."""
        return tuple(sorted({s for component in self.components for s in component.sources}))

    def score(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the score of each row, (n_rows,): log odds, a mean, or the logarithm of one.

        Of a table with names nothing but the model's `sources` is looked at; `read` checks the
        cells of every variable of the schema that the table has, and says what `allow_unknown` is.
        """
        if not self.components:
            return np.full(self.read(X).n_rows, self.intercept)
        if not self._plans:
            self._plans.append(Plan(self))
        return self._plans[0].score(X, allow_unknown)

    @property
    def ignored(self) -> Collection[str]:
        """Columns that a table may have although the model was told to leave them out."""
        names: Collection[str] = self.settings["limits"]["exclude"]
        if isinstance(self.target, NumberTarget):
            given = self.target.exposure, self.target.offset
            return {*names, *(name for name in given if name is not None)}
        if isinstance(self.target, SurvivalTarget):
            return {*names, *self.target.columns}
        return names

    def decision_function(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the log odds of ``classes[1]``, as scikit-learn means it, or the score."""
        score = self.score(X, allow_unknown=allow_unknown)
        turned = isinstance(self.target, Target) and self.target.positive == 0
        return -score if turned else score

    def response(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return what the scores stand for, (n_rows,).

        The probability of the positive class, the mean (for one unit of exposure), or the hazard
        relative to the baseline.
        """
        return self.target.mean(self.score(X, allow_unknown=allow_unknown))

    def predict_proba(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the probabilities of the two classes, in their order, shape (n_rows, 2)."""
        target = self._two_classes
        return np.stack(target.in_order(self.response(X, allow_unknown=allow_unknown)), axis=1)

    def predict(
        self, X: Any, exposure: Any = None, offset: Any = None, *, allow_unknown: bool = False
    ) -> Array:
        """Return the class whose log odds are positive (``classes[0]`` at exactly zero).

        Of a number, its mean: for one unit of exposure and no offset, unless these are given, one
        for each row, one for all, or as the name of a column of `X`; a model that was fitted with
        an exposure or an offset warns if it is not given. Of a time until an event, the score: the
        logarithm of the hazard ratio.
        """
        score = self.decision_function(X, allow_unknown=allow_unknown)
        if isinstance(self.target, NumberTarget):
            warn_of_forgotten(self.target, exposure, offset)
            return self.target.mean(score, named(X, exposure), named(X, offset))
        self.target.mean(score[:0], exposure, offset)  # refuses both
        if isinstance(self.target, SurvivalTarget):
            return score
        return self.target.labels[(score > 0).astype(np.intp)]

    def survival_at(
        self, X: Any, times: Any, strata: Any = None, *, allow_unknown: bool = False
    ) -> Floats:
        """Return the probability of no event until some times (m,), shape (n_rows, m).

        Parameters
        ----------
        X : table
        times : number or array of shape (m,)
            Within what was observed in training.
        strata : array of shape (n_rows,), or the name of a column of `X`, optional
            Where the model has several baselines.
        """
        target = survival_target(self.target, "times")
        score = self.score(X, allow_unknown=allow_unknown)
        return target.survival_at(score, target.check_times(times), named(X, strata))

    def predict_interval(
        self,
        X: Any,
        alpha: float = 0.1,
        exposure: Any = None,
        offset: Any = None,
        *,
        allow_unknown: bool = False,
    ) -> Floats:
        """Return an interval for the number that will be observed in each row, (n_rows, 2).

        See `rpte.RPTERegressor.predict_interval`, and `rpte.model.intervals` for how it is made.
        """
        from rpte.model.intervals import predict_interval

        return predict_interval(self, X, alpha, exposure, offset, allow_unknown)

    def parts(self) -> Iterator[tuple[Component, TreeTerms | DirectTerm]]:
        """Yield trees and direct terms in the order in which they are summed."""
        for component in self.components:
            for part in component.parts:
                yield component, part

    @property
    def trees(self) -> list[TreeTerms]:
        """The trees, in order."""
        return [tree for component in self.components for tree in component.trees]

    @property
    def direct(self) -> list[DirectTerm]:
        """The direct terms, in order."""
        return [term for component in self.components for term in component.direct]

    def rules(self) -> FrozenRecords[Rule]:
        """Return every active term, in the order of the file."""
        rules, schema = [], self.schema
        for component, part in self.parts():
            if isinstance(part, DirectTerm):
                read = (
                    part.name,
                    part.text_in(self.schema),
                    part.sources,
                    part.column.conditions(schema),
                )
                rules.append(self._rule((component.name, "", *read), part))
                continue
            for number, path, leaf in part.rules():
                if leaf.coefficient != 0:
                    name, units = part.leaf_name(number), path_conditions(path, schema)
                    read = name, path_text(path, schema), path_sources(path), units
                    rules.append(self._rule((component.name, part.name, *read), leaf))
        return FrozenRecords(rules)

    def rule_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the columns of a table of all terms, and its rows.

        What holds or does not has the step NaN.
        """
        names = self.rule_columns()
        rules = [replace(rule, step=step_number(rule.step)) for rule in self.rules()]
        return list(names.values()), [[getattr(r, name) for name in names] for r in rules]

    def rule_columns(self) -> dict[str, str]:
        """Return what the fields of a `Rule` are called in a table, by the kind of target."""
        said = {"mean": self.target.mean_name, "effect": self.loss.effect_name}
        names = Rule.__dataclass_fields__
        return {name: said.get(name, name).replace(" ", "_") for name in names}

    def _rule(
        self, read: tuple[str, str, str, str, tuple[str, ...], int], term: Leaf | DirectTerm
    ) -> Rule:
        step = typical_step(term, self.data)
        size, effect = (None, term.coefficient) if step is None else (step.size, step.effect)
        return Rule(
            *read,
            support=term.support,
            mean=term.rate,
            coefficient=term.coefficient,
            step=size,
            effect_per_step=effect,
            effect=self.loss.effect(effect),
        )

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        exposure: Any = None,
        offset: Any = None,
        horizons: Any = None,
        strata: Any = None,
        *,
        allow_unknown: bool = False,
    ) -> Explanations[Explanation]:
        """Take the score of each row apart; see `rpte.model.explain`."""
        from rpte.model.explain import explain

        inputs = self.read(X, allow_unknown=allow_unknown)
        beside = named(X, exposure), named(X, offset), horizons, named(X, strata)
        return explain(self, inputs, reference, *beside).labelled(X)

    def at_horizon(self, horizon: float) -> Model:
        """Return the model with survival until a time as its response, in place of the hazard.

        It has the same scores; `rpte.model.horizon` says why what holds of them holds of survival.
        """
        return replace(self, target=at_horizon(self.target, horizon))

    def what_if(
        self, X: Any, changes: Mapping[str, Any], horizons: Any = None, strata: Any = None
    ) -> WhatIf:
        """Change values of one row and see which contributions move; see `rpte.model.what_if`."""
        from rpte.model.what_if import what_if

        return what_if(self, X, changes, horizons, strata)

    def counterfactuals(
        self,
        X: Any,
        to: float | None = None,
        *,
        side: str | None = None,
        actions: Actions | None = None,
        most: int = 3,
        answers: int = 3,
        exposure: Any = None,
        offset: Any = None,
        horizon: float | None = None,
        strata: Any = None,
    ) -> Counterfactuals:
        """Say what would have to change in one row; see `rpte.counterfactual`."""
        from rpte.counterfactual import counterfactuals

        asked: dict[str, Any] = {"side": side, "actions": actions, "most": most, "answers": answers}
        asked |= {"exposure": exposure, "offset": offset, "horizon": horizon, "strata": strata}
        return counterfactuals(self, X, to, **asked)

    def summary(self, every: bool = False, terms: bool = False) -> str:
        """Return the model as text: what each variable does, or with `terms` how it is scored.

        Small components of a long model are one line unless `every`.
        """
        from rpte.model.summary import summary

        return summary(self, every, terms)

    def audit(self, X: Any = None) -> AuditLoad:
        """Count the audit load; IIU needs rows."""
        from rpte.audit.load import audit_load

        return audit_load(self, X)

    def verify(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
        entry: Any = None,
        strata: Any = None,
    ) -> Checks:
        """Check every claim that the model makes; more can be checked with the training table."""
        from rpte.model.verify import verify

        beside = (named(X, each) for each in (exposure, offset, entry, strata))
        return verify(self, X, y, sample_weight, *beside)

    def _repr_html_(self) -> str:
        from rpte.notebook.models import model_html

        return model_html(self)

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

    def scorecard(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **scale: Any
    ) -> Scorecard:
        """Return a card of whole points; see `rpte.scorecard.make_card`.

        Bins are made from the rows of `X`, or from what the file tells of the training values. With
        labels `y` the card has the weight of evidence and the information value of every line.
        `scale` is of `pdo`, `base_score`, `base_odds` and `points_for`: without the last, many
        points mean a low risk of what is a bad outcome by its name (`default`, `fraud`, `death`).
        """
        from rpte.scorecard import make_card

        return make_card(self, X, y, sample_weight, **scale)

    def export(self, target: str, path: str | Path, X: Any = None, **options: Any) -> Parity:
        """Write the model in another form (``"sql"``, ...), compared with it on the rows of `X`.

        See `rpte.export.exporting.export_model`, and docs/deploy.md for targets and options.
        """
        from rpte.export.exporting import export_model

        return export_model(self, target, path, X, **options)

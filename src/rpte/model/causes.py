"""A model of competing risks: one structure, and for each cause of events a model of its hazard.

Each cause has a full model of times until an event, in which events of other causes end the time
under observation. They read the same terms, by the same names, with coefficients of their own; a
term that says nothing of a cause is not in its model. Together their hazards give the probability
of an event of each cause, and of none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np

from rpte.errors import InputError, ModelFileError, NotForTask
from rpte.model.curves import joint_curves, joint_parts, joint_steps
from rpte.model.format import CAUSES
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.outcome import Status
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms, joined
from rpte.model.steps import per_step, step_number
from rpte.model.survival import SurvivalTarget
from rpte.table.inputs import Inputs
from rpte.table.numbers import named
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats
from rpte.utils.records import FrozenRecords

if TYPE_CHECKING:
    from rpte.audit.load import AuditLoad
    from rpte.model.check import Checks
    from rpte.model.classes import ClassesModel
    from rpte.model.curves import Curve
    from rpte.model.explain import Explanation
    from rpte.model.explanations import Explanations

M = TypeVar("M", bound="Model | ClassesModel")


class CauseRule(NamedTuple):
    """One term, with its coefficient for every cause; `step` is that of `Rule`."""

    component: str
    term: str
    conditions: str
    sources: tuple[str, ...]
    inspection_units: int
    support: float
    step: float | None
    coefficients: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class CausesModel:
    """A frozen model of competing risks; `rpte.load` gives one for a file of several causes.

    Parameters
    ----------
    models : tuple of Model
        One for each cause, of which `cause` returns one. Its hazards are those of that cause, and
        its survival that of a world without the other causes.
    """

    task: ClassVar[str] = CAUSES
    models: tuple[Model, ...]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say of what other models have why this one has not."""
            if name.startswith("_") or name not in {*dir(Model), *Model.__dataclass_fields__}:
                raise AttributeError(f"'CausesModel' object has no attribute {name!r}")
            raise _one_cause(self, name, NotForTask)

    def __repr__(self) -> str:
        load = self.audit()
        size = f"{load.mu} terms, {load.miu} conditions"
        return f"CausesModel({len(self.causes)} causes: {size})"

    @classmethod
    def of(cls, models: Sequence[object]) -> CausesModel:
        """Return the model of some causes, if these are all that there are, on one table."""
        one_each = [model for model in models if isinstance(model, Model)]
        targets = [model.target for model in one_each]
        status = [t.status for t in targets if isinstance(t, SurvivalTarget) and t.status]
        if len(status) != len(models):
            raise ModelFileError("models must be of causes of an event")
        if status != [status[0].of(cause) for cause in status[0].causes]:
            raise ModelFileError("models must have one entry for each cause, in order")
        for name in ("schema", "data"):
            if any(getattr(model, name) != getattr(one_each[0], name) for model in one_each):
                raise ModelFileError(f"models must have the same {name}")
        alike = [(t.strata, t.grid, t.ties, t.loss.name, t.end) for t in targets]  # type: ignore[union-attr]
        if any(each != alike[0] for each in alike):
            raise ModelFileError("models must have the same loss, ties, strata, grid and end")
        leaves: dict[str, int] = {}
        for tree in (tree for model in one_each for tree in model.trees):
            if leaves.setdefault(tree.name, len(tree.leaves)) != len(tree.leaves):
                raise ModelFileError(f"{tree.name} must have the same leaves in all models")
        return cls(tuple(one_each))

    @property
    def targets(self) -> tuple[SurvivalTarget, ...]:
        """What the model of each cause is of."""
        found = tuple(model.target for model in self.models)
        assert all(isinstance(target, SurvivalTarget) for target in found)
        return found  # type: ignore[return-value]

    @property
    def target(self) -> NoReturn:
        """Refuse: what asks for the target of a model is for one event."""
        raise _one_cause(self, "this")

    @property
    def status(self) -> Status:
        """How causes are told apart."""
        status = self.targets[0].status
        assert status is not None
        return status

    @property
    def causes(self) -> tuple[Label, ...]:
        """The causes, in order."""
        return self.status.causes

    @property
    def schema(self) -> Schema:
        """The variables of the training table."""
        return self.models[0].schema

    @property
    def settings(self) -> Mapping[str, Any]:
        """All parameters of the fit, as plain JSON values."""
        return self.models[0].settings

    @property
    def ownership(self) -> str:
        """The policy that the structure of all causes keeps."""
        return self.models[0].ownership

    @property
    def bound(self) -> int:
        """Bound on the audit load of all causes together, known before training."""
        return self.models[0].bound

    @property
    def training(self) -> Mapping[str, Any]:
        """The record of the fit of the first cause."""
        return self.models[0].training

    @property
    def data(self) -> Mapping[str, Any]:
        """The fingerprint of the training table."""
        return self.models[0].data

    @property
    def components(self) -> tuple[Component, ...]:
        """The components, each term with its largest coefficient for any cause."""
        return self.outline.components

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that the model uses, by name."""
        return self.outline.sources

    @property
    def ignored(self) -> Collection[str]:
        """Columns that a table may have although the model was told to leave them out."""
        return self.outline.ignored

    @property
    def score_text(self) -> str:
        """What the scores are, in words."""
        return f"logarithm of the hazard of each of {len(self.causes)} causes, to its baseline"

    def place(self, cause: Any) -> int:
        """Return the number of a cause, from 0."""
        if cause is None or cause not in self.causes:
            given = "no cause is given" if cause is None else f"{cause!r} is no cause"
            raise InputError(f"{given}; give cause=, one of {list(self.causes)}")
        return self.causes.index(cause)

    def cause(self, cause: Label) -> Model:
        """Return the model of one cause, with all that a model of a time until an event can do.

        It explains, exports and reports as any other, and is saved to a file of its own. What it
        calls survival is that of a world in which the other causes do not happen.
        """
        return self.models[self.place(cause)]

    def changed(self, change: Callable[[Model], Model]) -> CausesModel:
        """Return the same with other models of all causes."""
        return replace(self, models=tuple(map(change, self.models)))

    @cached_property
    def outline(self) -> Model:
        """The structure alone: each term with its largest coefficient for any cause."""
        parts: dict[str, TreeTerms | DirectTerm] = {}
        of: dict[str, str] = {}  # the component of each term
        for model in self.models:
            for component, part in model.parts():
                before = parts.get(part.name)
                parts[part.name] = part if before is None else _larger(before, part)
                of[part.name] = min(of.get(part.name, component.name), component.name, key=_number)
        groups = joined(part.sources for part in parts.values())
        found = [_component([p for p in parts.values() if set(p.sources) <= g], of) for g in groups]
        found.sort(key=lambda component: _number(component.name))
        return replace(self.models[0], components=tuple(found))

    def read(self, X: Any, *, allow_unknown: bool = False) -> Inputs:
        """Read the model's columns, as `Model.read` does."""
        return self.outline.read(X, allow_unknown=allow_unknown)

    def score(self, X: Any, *, allow_unknown: bool = False) -> Floats:
        """Return the risk score of each row and cause, (n_rows, causes)."""
        inputs = self.read(X, allow_unknown=allow_unknown)
        return np.column_stack([model.score(inputs) for model in self.models])

    predict = score

    def survival_at(self, X: Any, times: Any, strata: Any = None) -> Floats:
        """Return the probability of no event of any cause until some times, (n_rows, m)."""
        return np.asarray(self._at(X, times, strata)[0])

    def incidence_at(self, X: Any, times: Any, cause: Label, strata: Any = None) -> Floats:
        """Return the probability of an event of a cause until some times, (n_rows, m).

        At every time, those of all causes and the probability of no event add up to 1.

        Parameters
        ----------
        X : table
        times : number or array of shape (m,)
            Within what was observed in training.
        cause : label
        strata : array of shape (n_rows,), or the name of a column of `X`, optional
            Where the model has several baselines.
        """
        return np.asarray(self._at(X, times, strata)[1 + self.place(cause)])

    def _at(self, X: Any, times: Any, strata: Any) -> Floats:
        asked = self.targets[0].check_times(times)
        return joint_parts(self.targets, self.score(X), asked, named(X, strata))

    def curves(self, X: Any, cause: Label | None, strata: Any = None) -> list[Curve]:
        """Return curves of the incidence of a cause; None for survival without any event."""
        part = 0 if cause is None else 1 + self.place(cause)
        return joint_curves(self.targets, self.score(X), named(X, strata), part)

    @property
    def unique_times(self) -> Floats:
        """The times at which any curve may have a step, up to the earliest end, (m,)."""
        steps = joint_steps(self.targets)
        times = np.unique(np.concatenate([each.grid for each in steps]))
        return np.asarray(times[times <= min(each.end for each in steps)])

    def rules(self) -> FrozenRecords[CauseRule]:
        """Return every term with its coefficients, in the order of the structure."""
        sizes = [{rule.term: rule.coefficient for rule in model.rules()} for model in self.models]
        found = []
        for rule in self.outline.rules():
            own = tuple(each.get(rule.term, 0.0) for each in sizes)
            read = rule.component, rule.term, rule.conditions, rule.sources
            found.append(CauseRule(*read, rule.inspection_units, rule.support, rule.step, own))
        return FrozenRecords(found)

    def rule_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the columns of a table of all terms, and its rows.

        Each cause has a column of hazard ratios, 1 where a term says nothing of it; those of a
        number are per step.
        """
        names = [*CauseRule._fields[:-1], *(f"hazard ratio of {label!r}" for label in self.causes)]
        effect = self.models[0].loss.effect
        rows = []
        for rule in self.rules():
            ratios = map(effect, per_step(rule.coefficients, rule.step))
            rows.append([*rule[:-2], step_number(rule.step), *ratios])
        return names, rows

    def explain(
        self,
        X: Any,
        reference: str | None = None,
        horizons: Any = None,
        strata: Any = None,
        *,
        cause: Label | None = None,
        allow_unknown: bool = False,
    ) -> Explanations[Explanation]:
        """Take the score of one cause apart, for each row; see `Model.explain`."""
        model = self.models[self.place(cause)]
        given = {"horizons": horizons, "strata": named(X, strata)}
        return model.explain(X, reference, **given, allow_unknown=allow_unknown)

    def summary(self, every: bool = False, terms: bool = True) -> str:
        """Return the model as text, always with its terms, a column for each score.

        Small components of a long model are one line unless `every`.
        """
        from rpte.model.summary import causes_summary

        return causes_summary(self, every)

    def audit(self, X: Any = None) -> AuditLoad:
        """Count the audit load; a term counts once, whatever causes it speaks of."""
        return self.outline.audit(X)

    def verify(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **given: Any
    ) -> Checks:
        """Check every claim that the model makes; more can be checked with the training table."""
        from rpte.model.verify_causes import verify_causes

        return verify_causes(self, X, y, sample_weight, **given)

    def _repr_html_(self) -> str:
        from rpte.notebook.models import causes_html

        return causes_html(self)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file."""
        from rpte.model.file import save

        save(self, path)

    def report(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: it is the model of one cause that is reported on."""
        raise _one_cause(self, "report")

    def export(self, target: str, path: str | Path, X: Any = None, **options: Any) -> Any:
        """Refuse: it is the model of one cause that is exported."""
        raise _one_cause(self, f"export to {target!r}")


def one_event(model: M | CausesModel, what: str) -> M:
    """Return a model of one event or of another task; refuse one of several causes with words."""
    if isinstance(model, CausesModel):
        raise _one_cause(model, what)
    return model


def _one_cause(model: CausesModel, what: str, kind: type[InputError] = InputError) -> InputError:
    first = model.causes[-1]
    return kind(
        f"{what} is for models of one event, and this one tells {len(model.causes)} causes: "
        f"{list(model.causes)}; in Python, load(...).cause({first!r}) is a model of one, and its "
        "`save` writes a file of its own"
    )


def _number(name: str) -> int:
    """Return the number in a name such as C3."""
    return int(name[1:])


def _larger(before: TreeTerms | DirectTerm, part: TreeTerms | DirectTerm) -> TreeTerms | DirectTerm:
    """Return a part with the larger coefficient of two causes, each leaf of a tree by itself."""

    def larger(a: Leaf | DirectTerm, b: Leaf | DirectTerm) -> Any:
        return a if abs(a.coefficient) >= abs(b.coefficient) else b

    if isinstance(before, DirectTerm) or isinstance(part, DirectTerm):
        assert isinstance(before, DirectTerm)
        assert isinstance(part, DirectTerm)
        return larger(before, part)  # type: ignore[no-any-return]
    pairs = zip(before.leaves, part.leaves, strict=True)
    return replace(before, leaves=tuple(larger(a, b) for a, b in pairs))


def _component(parts: Sequence[TreeTerms | DirectTerm], of: Mapping[str, str]) -> Component:
    """Return the component of some parts, by the first name that it has for any cause."""
    ordered = sorted(parts, key=lambda part: _number(part.name))
    trees = tuple(part for part in ordered if isinstance(part, TreeTerms))
    direct = tuple(part for part in ordered if isinstance(part, DirectTerm))
    return Component(_first(of[part.name] for part in parts), trees, direct)


def _first(names: Iterable[str]) -> str:
    return min(names, key=_number)

"""Edits that people make to a model by hand, each with an entry in the model's ledger.

What is dropped gives its training mean to the intercept, merged leaves get the mean of their
coefficients by support: so the mean score in training stays. Such a model still has disjoint
sources, a partition and a bounded load, and its supports and means stay those of the training
table; it is no longer the optimum of Stage 3, and says so, until Stage 3 is solved again. Of
several classes this is so of the score of each: a term is dropped from all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from rpte.audit import metrics
from rpte.audit.number_metrics import number_measures
from rpte.audit.survival_metrics import concordance
from rpte.errors import InputError, did_you_mean
from rpte.losses.risk_sets import RiskSets
from rpte.model import ledger
from rpte.model.certificate import limit_checks, monotone_certificate
from rpte.model.check import Check, Checks, monotone_claims
from rpte.model.class_limits import class_certificate, class_limit_checks
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel
from rpte.model.given import scored_model
from rpte.model.importance import RECORD as IMPORTANCES
from rpte.model.intervals import RECORD as CALIBRATION
from rpte.model.model import Model
from rpte.model.observed import Rows
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.model.summary import RECORD
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.model.verify_structure import component_size, load_within_bound, ownership, partition
from rpte.model.verify_table import hashed, labelled
from rpte.model.versions import without
from rpte.table.fingerprint import table_hash
from rpte.table.numbers import named, per_row
from rpte.table.table import read_weights
from rpte.utils.records import ShownFields
from rpte.utils.times import recorded_time

Names = Sequence[str]
Part = TreeTerms | DirectTerm
M = TypeVar("M", bound=AnyModel)


@dataclass(frozen=True, slots=True, repr=False)
class Labelled(ShownFields):
    """A table with its labels, for metrics before and after an edit or for solving Stage 3 again.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
    y : labels, or numbers, of shape (n_rows,)
    sample_weight : (n_rows,), optional
    exposure, offset, entry, strata : (n_rows,), or names of columns of `X`, optional
        Of a model of numbers, or of times until an event, that was fitted with them.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10, "age": [30.0, 50.0, 40.0] * 13 + [30.0]}
    >>> y = [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1=0.01).fit(X, y).model_
    >>> table = rpte.Labelled(X, y)
    >>> kept = rpte.edit(
    ...     model, by="A. Smith", reason="a test", drop_terms=["D1"], refit=True, table=table
    ... )
    >>> all(check.holds for check in kept.verify(X, y))
    True
    """

    X: Any
    y: Any
    sample_weight: Any = None
    exposure: Any = None
    offset: Any = None
    entry: Any = None
    strata: Any = None

    def rows(self, model: AnyModel) -> Rows:
        """Return the rows as Stage 3 of a model sees them."""
        return labelled(model, model.read(self.X), self.y, self.sample_weight, **self.beside)

    @property
    def beside(self) -> dict[str, Any]:
        """Exposures, offsets, entries and strata, None where there are none."""
        roles = ("exposure", "offset", "entry", "strata")
        return {role: named(self.X, getattr(self, role)) for role in roles}


def edit(
    model: M,
    *,
    by: str,
    reason: str,
    drop_terms: Names = (),
    drop_sources: Names = (),
    merge: Sequence[Names] = (),
    table: Labelled | None = None,
    refit: bool = False,
    force: bool = False,
    when: str | None = None,
) -> M:
    """Return an edited model, with one more entry in its ledger.

    Parameters
    ----------
    model : Model or ClassesModel
        Or a fitted estimator, whose model is edited; it is not changed itself.
    by, reason : str
        Who edits it, and why.
    drop_terms : names
        Leaves (``T1.L2``), trees (``T1``) and direct terms (``D3``) that shall say nothing.
    drop_sources : names
        Variables that the model shall not read: direct terms that read them go, and so does what
        is said by leaves behind a test on them.
    merge : sequence of lists of names
        Leaves of one subtree that shall be one leaf.
    table : Labelled, optional
        For metrics before and after, and for `refit`.
    refit : bool
        Solve Stage 3 again on `table`, over the terms that are left.
    force : bool
        Edit even where a limit is broken; the model then no longer claims it.
    when : str, optional
        Time of ISO 8601 such as ``2026-01-31T12:00:00Z``; now if None.

    Raises
    ------
    InputError
        If a name is unknown, nothing would change, a guarantee would break without `force`, or the
        result fails `verify` (on `table`, if that is the training table).

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10, "age": [30.0, 50.0, 40.0] * 13 + [30.0]}
    >>> model = rpte.RPTEClassifier(l1=0.01).fit(X, [0, 0, 1, 1] * 10).model_
    >>> shorter = rpte.edit(model, by="A. Smith", reason="a test", drop_sources=["debt"])
    >>> shorter.components, shorter.ledger[0]["withdrawn"]
    ((), ['Stage 3 optimality of the active terms'])
    """
    model, when = scored_model(model, "edit"), recorded_time(when)
    operations = _operations(drop_terms, drop_sources, merge, refit)
    for word, text in (("by", by), ("reason", reason)):
        if not text.strip():
            raise InputError(f"{word} is empty; the ledger needs to know")
    if not operations:
        raise InputError("nothing to edit; name terms, sources or leaves, or ask for a refit")
    if refit and table is None:
        raise InputError("refit needs a table with labels")
    edited: AnyModel = _changed_any(model, drop_terms, drop_sources, merge)
    if edited.components == model.components and not refit:
        raise InputError("the edit changes nothing: what it names says nothing already")
    if refit and table is not None:
        from rpte.fit.refit import refit as solved_again

        edited = solved_again(edited, table.X, table.y, table.sample_weight, **table.beside)
    edited, broken = _without_broken(model, edited, force)
    gone, back = _claims(model, edited, broken)
    entry = {
        "number": len(model.ledger) + 1,
        "by": by,
        "when": when,
        "reason": reason,
        "operations": operations,
        "forced": bool(broken),
        "withdrawn": gone,
        "restored": back,
        "table": None if table is None else _hash_of(model, table),
        "before": ledger.state(model, None if table is None else performance(model, table)),
        "after": ledger.state(edited, None if table is None else performance(edited, table)),
    }
    before = model.ledger[-1] if model.ledger else None
    done = replace(edited, ledger=(*model.ledger, ledger.sealed(entry, before)))
    assert isinstance(done, type(model))
    _refuse_failed(model, done, table)
    return done


def _refuse_failed(model: AnyModel, edited: AnyModel, table: Labelled | None) -> None:
    """Refuse a result that fails a check of `verify` which the model did not fail before.

    It is checked on its training table, if that is at hand, and from the file alone otherwise.
    """
    failed = [check for check in _verified(edited, table) if not check.holds]
    if failed:
        before = {check.name for check in _verified(model, table) if not check.holds}
        new = [f"'{c.name}' ({c.evidence})" for c in failed if c.name not in before]
        if new:
            raise InputError(f"the edited model fails {'; '.join(new)}; fit it again instead")


def _verified(model: AnyModel, table: Labelled | None) -> Checks:
    if table is None:
        return model.verify()
    if _hash_of(model, table) != model.data["sha256"]:
        return model.verify(table.X)
    given = {role: values for role, values in table.beside.items() if values is not None}
    return model.verify(table.X, table.y, table.sample_weight, **given)


def _operations(
    terms: Names, sources: Names, merge: Sequence[Names], refit: bool
) -> list[dict[str, Any]]:
    drops = ("drop-source", sources), ("drop-term", terms)
    asked = [(word, names) for word, names in drops if names]
    asked += [("merge", names) for names in merge] + ([("refit", ())] if refit else [])
    return [{"operation": word, "names": list(names)} for word, names in asked]


def _changed_any(
    model: AnyModel, drop_terms: Names, drop_sources: Names, merge: Sequence[Names]
) -> AnyModel:
    """Return a model without what is dropped; of several classes, the score of each."""
    if not isinstance(model, ClassesModel):
        return _changed(model, drop_terms, drop_sources, merge)
    _check_names(model.outline, drop_terms, drop_sources, merge)
    if not (drop_terms or drop_sources or merge):
        return model
    each = [_changed(one, drop_terms, drop_sources, merge, model.outline) for one in model.models]
    means = [one.training["mean_contributions"] for one in each]
    joined = {name: [mean[name] for mean in means] for name in means[0]}
    own = {"class_factors": model.training["class_factors"], "mean_contributions": joined}
    training = {**each[0].training, **own}
    # All scores may be moved together: intercepts add up to zero.
    centre = sum(one.intercept for one in each) / len(each)
    edited = replace(
        model,
        intercepts=tuple(one.intercept - centre for one in each),
        by_class=tuple(one.components for one in each),
        training=training,
    )
    return replace(edited, training={**training, "monotone": class_certificate(edited)})


def _changed(
    model: Model,
    drop_terms: Names,
    drop_sources: Names,
    merge: Sequence[Names],
    outline: Model | None = None,
) -> Model:
    """Return a model without what is dropped; of several classes, one of them beside the outline.

    Leaves that say nothing there are drawn together, and so they are in all classes.
    """
    _check_names(model, drop_terms, drop_sources, merge)
    if not (drop_terms or drop_sources or merge):
        return model
    rows = model.target.units.weight * float(model.training["rows"])  # as supports count them
    means, shift, components = dict(model.training["mean_contributions"]), 0.0, []
    shown = {part.name: part for _, part in (outline or model).parts()}
    for component in model.components:
        kept: list[Part] = []
        for part in component.parts:
            new = _part(part, set(drop_terms), set(drop_sources), merge, shown[part.name])
            before = float(means.pop(part.name))
            after = 0.0 if new is None else before
            if isinstance(new, TreeTerms) and new != part:
                after = sum(leaf.coefficient * leaf.support for leaf in new.leaves) / rows
            shift += before - after
            if new is not None:
                kept.append(new)
                means[new.name] = after
        components.append(kept)
    # Figures and intervals are of the fit, not of what is left of it.
    history = without(model.training, RECORD, CALIBRATION, IMPORTANCES)
    training = {**history, "mean_contributions": means, "ties": [], "objective": None}
    if not model.settings["reassign"]:
        training["objective"] = model.training["objective"]
    edited = replace(
        model,
        intercept=model.intercept + shift,
        components=_regrouped(model.components, components),
        training=training,
    )
    return _certified(edited)


def _certified(model: Model) -> Model:
    return replace(model, training={**model.training, "monotone": monotone_certificate(model)})


def _part(
    part: Part, terms: set[str], sources: set[str], merge: Sequence[Names], shown: Part
) -> Part | None:
    """Return a part without what is dropped; `shown` tells which of its leaves say something."""
    if part.name in terms:
        return None
    if isinstance(part, DirectTerm):
        return None if sources & set(part.sources) else part
    silent = {
        number
        for number, path, _ in part.rules()
        if part.leaf_name(number) in terms or any(sources & set(c.sources) for c in path)
    }
    groups = [
        {n for n in range(len(part.leaves)) if part.leaf_name(n) in names}
        for names in merge
        if names[0].split(".")[0] == part.name
    ]
    assert isinstance(shown, TreeTerms)
    idle = {n for n, leaf in enumerate(shown.leaves) if leaf.coefficient == 0}
    return _tree(part, silent, idle | silent, groups) if silent or groups else part


def _tree(
    part: TreeTerms, silent: set[int], idle: set[int], groups: list[set[int]]
) -> TreeTerms | None:
    """Return a tree with silent leaves and merged ones; None if it says nothing any more."""
    leaves = [
        replace(leaf, coefficient=0.0) if number in silent else leaf
        for number, leaf in enumerate(part.leaves)
    ]

    def same(numbers: list[int]) -> bool:
        return set(numbers) <= idle or any(set(numbers) <= group for group in groups)

    tree, members = part.tree.merge_leaves(same)
    for group in groups:
        if not any(group <= set(old) for old in members):
            names = ", ".join(part.leaf_name(n) for n in sorted(group))
            raise InputError(
                f"merge {names}: only all leaves below one test can be merged; see rpte show"
            )
    if tree is None:
        return None
    merged = tuple(_merged([leaves[n] for n in old]) for old in members)
    return TreeTerms(part.name, tree, merged)


def _merged(leaves: list[Leaf]) -> Leaf:
    """Return one leaf in the place of some: sums, and the mean coefficient by support."""
    if len(leaves) == 1:
        return leaves[0]
    support = sum(leaf.support for leaf in leaves)
    weights = [leaf.support / support if support else 1.0 / len(leaves) for leaf in leaves]
    mean = sum(w * leaf.coefficient for w, leaf in zip(weights, leaves, strict=True))
    total, penalty = (sum(getattr(leaf, n) for leaf in leaves) for n in ("target_total", "penalty"))
    return Leaf(mean, support, total, penalty)


def _regrouped(
    old: tuple[Component, ...], parts: Sequence[Sequence[Part]]
) -> tuple[Component, ...]:
    """Return the components of what is left; one that falls apart gets new names for its parts."""
    from rpte.estimation.ownership import components

    used, found = {component.name for component in old}, []
    for component, kept in zip(old, parts, strict=True):
        for place, group in enumerate(components([part.sources for part in kept])):
            name = component.name
            if place:
                name = next(f"C{n}" for n in range(1, len(used) + 2) if f"C{n}" not in used)
                used.add(name)
            trees = tuple(kept[i] for i in group if isinstance(kept[i], TreeTerms))
            direct = tuple(kept[i] for i in group if isinstance(kept[i], DirectTerm))
            found.append(Component(name, trees, direct))  # type: ignore[arg-type]
    return tuple(found)


def _check_names(model: Model, terms: Names, sources: Names, merge: Sequence[Names]) -> None:
    leaves = {
        part.leaf_name(n)
        for _, part in model.parts()
        if isinstance(part, TreeTerms)
        for n in range(len(part.leaves))
    }
    known = leaves | {part.name for _, part in model.parts()}
    merged = [name for names in merge for name in names]
    for operation, names, there, what in (
        ("drop-source", sources, set(model.sources), "variable that the model reads"),
        ("drop-term", terms, known, "term of the model"),
        ("merge", merged, leaves, "leaf of the model"),
    ):
        for name in names:
            if name not in there:
                hint = did_you_mean(name, there) if operation == "drop-source" else ""
                raise InputError(
                    f"{operation} {name}: there is no such {what}{hint}; see rpte show"
                )
    twice = sorted(name for name in set(merged) if merged.count(name) > 1 or name in terms)
    if twice:
        raise InputError(f"{twice[0]} is named twice; drop it, or merge it once")
    for names in merge:
        if len(names) < 2 or len({name.split(".")[0] for name in names}) > 1:
            raise InputError(f"merge {'+'.join(names)}: name two or more leaves of one tree")


def _without_broken(old: AnyModel, new: AnyModel, force: bool) -> tuple[AnyModel, list[str]]:
    """Return the model without the claims that an edit broke; refuse to break them unforced."""
    held = {check.name for check in _guarantees(old) if check.holds}
    broken = [check for check in _guarantees(new) if not check.holds and check.name in held]
    directions, claims = dict(new.settings["limits"]["monotone"]), monotone_claims(new.settings)
    fatal = [check for check in broken if check.name not in claims]
    if fatal or (broken and not force):
        said = "; ".join(f"'{check.name}' ({check.evidence})" for check in fatal or broken)
        remedy = "refit, which keeps it, or force the edit and give it up"
        raise InputError(f"the edit breaks {said}; {'it cannot be made' if fatal else remedy}")
    for check in broken:
        del directions[claims[check.name]]
    if not broken:
        return new, []
    limits = {**new.settings["limits"], "monotone": directions}
    assert isinstance(new, Model)  # each term of several classes keeps directions by itself
    freed = replace(new, settings={**new.settings, "limits": limits})
    return _certified(freed), [check.name for check in broken]


def _guarantees(model: AnyModel) -> list[Check]:
    """Return the checks of what holds for the structure, however coefficients were found."""
    structure = partition, ownership, component_size, load_within_bound
    found = [*(check(model.outline) for check in structure), *limit_checks(model.outline)]
    return [*found, *class_limit_checks(model)] if isinstance(model, ClassesModel) else found


def _claims(old: AnyModel, new: AnyModel, broken: list[str]) -> tuple[list[str], list[str]]:
    """Return the names of claims that an edit withdraws, and of those that it restores."""
    gone, lost, solved = ledger.withdrawn(old), list(broken), ledger.solved_claims(new)
    unsolved = bool(new.settings["reassign"]) and new.training["objective"] is None
    if unsolved:
        lost += [name for name in solved if name not in gone]
    if new.data["sha256"] != old.data["sha256"]:
        lost += [name for name in (ledger.UNMET_MISSING, ledger.DERIVED) if name not in gone]
    return lost, [] if unsolved else [name for name in solved if name in gone]


def performance(model: AnyModel, table: Labelled) -> metrics.Measures:
    """Return rows (weight), log-loss, Brier score and AUC, classes weighted as in training.

    Of a number rows, the share of the deviance explained, and errors of the mean in units of y. Of
    several classes accuracy in place of the AUC, and the Brier score is summed over classes. Of
    times until an event rows, events, Harrell's concordance and the log-likelihood.
    """
    if isinstance(model, ClassesModel):
        return _class_performance(model, table)
    if isinstance(model.target, SurvivalTarget):
        return _survival_performance(model, model.target, table)
    if isinstance(model.target, NumberTarget):
        return _number_performance(model, model.target, table)
    given = table.rows(model)
    rows = metrics.rank(given.y, model.score(given.inputs), given.weight)
    area = metrics.auc(rows)
    if area is None:
        raise InputError("the table holds one class only; metrics need cases of both")
    weight, loss, brier = float(given.weight.sum()), metrics.log_loss(rows), metrics.brier(rows)
    return {"rows": weight, "log_loss": loss, "brier": brier, "auc": area}


def _number_performance(model: Model, target: NumberTarget, table: Labelled) -> metrics.Measures:
    inputs = model.read(table.X)
    weight = read_weights(table.sample_weight, inputs.n_rows)
    y = target.read(table.y, inputs.n_rows)
    given = {role: values for role, values in table.beside.items() if values is not None}
    beside = {role: per_row(values, inputs.n_rows, role) for role, values in given.items()}
    found = number_measures(target, model.score(inputs), y, weight, **beside)
    kept = {name: found[name] for name in ("deviance_explained", "mae", "rmse")}
    return {"rows": float(weight.sum()), **kept}


def _survival_performance(
    model: Model, target: SurvivalTarget, table: Labelled
) -> metrics.Measures:
    rows = table.rows(model)
    assert rows.seen is not None
    score, weight = model.score(rows.inputs), rows.weight
    pairs = concordance(rows.seen.event, rows.seen.time, score, weight)
    return {
        "rows": float(weight.sum()),
        "events": float((weight * rows.y).sum()),
        "concordance": None if np.isnan(pairs) else pairs,
        "log_likelihood": RiskSets.of(rows.seen, weight, target.ties).log_likelihood(score),
    }


def _class_performance(model: ClassesModel, table: Labelled) -> metrics.Measures:
    rows = table.rows(model)
    score = model.score(rows.inputs)
    wrong = model.loss.response(score.T) - model.loss.is_class(rows.y)
    right = score.argmax(axis=1) == rows.y
    return {
        "rows": float(rows.weight.sum()),
        "log_loss": 0.5 * model.loss.deviance(score.T, rows.y, rows.weight),
        "brier": float(np.average((wrong**2).sum(axis=0), weights=rows.weight)),
        "accuracy": float(np.average(right, weights=rows.weight)),
    }


def _hash_of(model: AnyModel, table: Labelled) -> str:
    rows = hashed(table.rows(model))
    return table_hash(rows.inputs, rows.y, rows.weight, model.target.hashed_labels)[1]

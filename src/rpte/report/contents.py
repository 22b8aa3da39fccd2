"""Everything that a report says, as one plain dict: what the template gets, and what JSON holds."""

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rpte import __version__
from rpte.errors import InputError
from rpte.figures.effect import Record
from rpte.figures.frontier import read_frontier
from rpte.model.classes import ClassesModel
from rpte.model.effect import Background, background
from rpte.model.file import to_dict
from rpte.model.model import Model
from rpte.model.summary import figures, stopped_note
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget, Target
from rpte.model.versions import shape_family
from rpte.report.about import NOTHING, About, about_contents, crosswalk
from rpte.report.cards import cases, finite, pictured_cards
from rpte.report.case_form import case_form
from rpte.report.class_cards import class_cards, class_cases, classes_identity
from rpte.report.class_performance import class_groups, class_performance
from rpte.report.evidence import AnyModel, Evidence
from rpte.report.glance import glance
from rpte.report.number_performance import number_groups, number_performance
from rpte.report.performance import by_group, performance
from rpte.report.stability import stability
from rpte.report.survival_cards import follow_up_facts, survival_cases, survival_identity
from rpte.report.survival_performance import (
    asked_horizons,
    survival_groups,
    survival_performance,
)
from rpte.table.inputs import Inputs

FORMAT, VERSION = "rpte-report", 3
MOST_RESAMPLES, LEAST_RESAMPLES = 200, 50
RESAMPLED_ROWS = 40_000_000  # resamples times rows from which on resamples are fewer
LEDGER_TEXTS = ("number", "when", "by", "reason", "hash")
SECTIONS = {
    "summary": "At a glance",
    "model": "The model",
    "case": "Try a case",
    "guarantees": "Guarantees",
    "audit": "Audit load",
    "performance": "Performance",
    "subgroups": "Performance by group",
    "stability": "Stability",
    "cases": "Cases taken apart",
    "data": "Data",
    "history": "Training history",
    "ledger": "Changes after training",
    "provenance": "Versions and hashes",
    "crosswalk": "Crosswalk to rules and guidelines",
    "purpose": "Questions to its owners",
}


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is asked to hold beside the model."""

    about: About = NOTHING
    peers: list[Record] = field(default_factory=list)  # from `read_peers`
    threshold: float = 0.5  # probability from which on a case counts as flagged
    horizons: tuple[float, ...] = ()  # times at which survival is told; those of the model if none
    resamples: int | None = None  # of the bootstrap, for intervals; None: 200, fewer of many rows
    refits: int = 0  # for the stability of structure
    show_cases: bool = False  # single rows of the table
    target: str | None = None  # name of the column with the outcome
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # role: name and sha256
    on_refit: Callable[[int], None] = lambda _: None  # called with the number of each that is done


def report_contents(
    model: AnyModel,
    evidence: Evidence | None = None,
    options: ReportOptions | None = None,
    document: Mapping[str, Any] | None = None,
) -> Record:
    """Return all contents of a report as plain JSON values.

    Without `evidence`, the rows to report on, the sections that need rows are None. The `document`
    of the model file may hold more than the model, such as its ledger.
    """
    options = options or ReportOptions()
    inputs = None if evidence is None else evidence.inputs
    rows = None
    if evidence is not None:
        rows = background(evidence.inputs, model.sources, evidence.weight)
    record = document if document is not None else to_dict(model)
    drawn, data = _cards(model, inputs, rows), _data(model, evidence)
    first = glance(model, rows, drawn)
    found: Record = {
        "format": FORMAT,
        "version": VERSION,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "title": _title(model, options),
        "threshold": options.threshold,
        "about": about_contents(options.about),
        "identity": _identity(model, options),
        "cross_validation": figures(model),
        "data": data,
        "glance": first,
        "case_form": _case_form(model, rows, data, first, options),
        "components": drawn,
        "guarantees": _guarantees(model, evidence),
        "audit": _audit(model, inputs, options.peers),
        "history": _history(model),
        "ledger": [_entry(e) for e in record.get("ledger") or () if isinstance(e, Mapping)],
        "provenance": _provenance(model, evidence, record, options),
        **_measured(model, evidence, options),
    }
    present = {name: bool(found.get(name)) for name in ("performance", "subgroups", "stability")}
    present |= {"cases": bool(found["cases"]), "ledger": True}
    found["crosswalk"] = crosswalk(options.about.texts, present, model.task == "survival")
    # Through text and back: what the page shows is what `--json` writes, and no NaN is in either.
    plain: Record = json.loads(json.dumps(found, allow_nan=False))
    return plain


def _title(model: AnyModel, options: ReportOptions) -> str:
    """Return the name that people gave the model, its file's, or what it is a model of."""
    outcome = getattr(model.target, "name", None) or getattr(model.target, "outcome", None)
    known = options.about.text("model", "name") or options.files.get("model", ("", ""))[0]
    return known or ("Model report" if outcome is None else f"Model of {outcome}")


def _measured(model: AnyModel, evidence: Evidence | None, options: ReportOptions) -> Record:
    if evidence is None:
        return dict.fromkeys(("performance", "subgroups", "stability", "cases"))
    resamples = options.resamples or usual_resamples(len(evidence.weight))
    at, refits = (options.threshold, resamples), options.refits
    measured: Record | None
    if isinstance(model, ClassesModel):
        measured = class_performance(model, evidence, resamples)
        groups = class_groups(model, evidence, resamples)
    elif isinstance(model.target, SurvivalTarget):
        horizons = asked_horizons(model, options.horizons)
        measured = survival_performance(model, evidence, resamples, horizons)
        groups = survival_groups(model, evidence, resamples, horizons)
    elif isinstance(model.target, NumberTarget):
        measured = number_performance(model, evidence, resamples)
        groups = number_groups(model, evidence, resamples)
    else:
        measured = performance(model, evidence, *at)
        groups = by_group(model, evidence, *at)
    return {
        "performance": measured,
        "subgroups": groups or None,
        "stability": stability(model, evidence, refits, options.on_refit) if refits else None,
        "cases": _cases(model, evidence, options) if options.show_cases else None,
    }


def usual_resamples(rows: int) -> int:
    """Return how many resamples intervals are made of: of many rows fewer, as they are narrow.

    Examples
    --------
    >>> usual_resamples(10_000), usual_resamples(400_000), usual_resamples(1_000_000)
    (200, 100, 50)
    """
    return min(MOST_RESAMPLES, max(LEAST_RESAMPLES, RESAMPLED_ROWS // max(rows, 1)))


def _cards(model: AnyModel, inputs: Inputs | None, rows: Background | None) -> list[Record]:
    if isinstance(model, ClassesModel):
        return class_cards(model, inputs, rows)
    return pictured_cards(model, inputs, rows)


def _case_form(
    model: AnyModel, rows: Background | None, data: Record, first: Record, options: ReportOptions
) -> Record:
    horizons: list[float] = []
    if not isinstance(model, ClassesModel) and isinstance(model.target, SurvivalTarget):
        horizons = asked_horizons(model, options.horizons)
    order = [record["source"] for record in first["importance"]]
    found = case_form(model, rows, data["variables"], order, horizons)
    if isinstance(model.target, Target):
        assert isinstance(model, Model)
        positive = _of_classes(model, options.target)["positive_name"]
        found["response_text"] = f"probability of {positive}"
    return found


def _cases(model: AnyModel, evidence: Evidence, options: ReportOptions) -> list[Record]:
    if isinstance(model, ClassesModel):
        return class_cases(model, evidence)
    if isinstance(model.target, SurvivalTarget):
        return survival_cases(model, evidence, asked_horizons(model, options.horizons))
    return cases(model, evidence)


def _audit(model: AnyModel, inputs: Inputs | None, peers: list[Record]) -> Record:
    load = model.audit(inputs)
    rows = load.per_row
    return {
        "mu": load.mu,
        "miu": load.miu,
        "iiu": load.iiu,
        "iiu_range": None if rows is None else [int(rows.min()), int(rows.max())],
        "bound": model.bound,
        "peers": peers,
    }


def _identity(model: AnyModel, options: ReportOptions) -> Record:
    training = model.training
    return {
        **(
            classes_identity(model)
            if isinstance(model, ClassesModel)
            else _of_one_score(model, options)
        ),
        "task": model.task,
        "effect_name": model.loss.effect_name,
        "ownership": model.ownership,
        "variables": len(model.schema),
        "read": list(model.sources),
        "largest_component": max((len(c.sources) for c in model.components), default=0),
        "trees": sum(len(c.trees) for c in model.components),
        "rows": training["rows"],
        "limits": dict(model.settings["limits"]),
        "library_version": model.library_version,
    }


def _of_one_score(model: Model, options: ReportOptions) -> Record:
    target = model.target
    if isinstance(target, SurvivalTarget):
        own = survival_identity(model, asked_horizons(model, options.horizons))
    elif isinstance(target, NumberTarget):
        own = _of_number(model)
    else:
        own = _of_classes(model, options.target)
    return {
        **own,
        "score": target.formula,
        "score_unit": target.score_unit,
        "intercept": model.intercept,
    }


def _of_classes(model: Model, column: str | None) -> Record:
    """Return what a page says of two classes; a label says little without its column's name."""
    positive, other = model.classes[model.positive], model.classes[1 - model.positive]
    name = getattr(model.target, "name", None) or column
    whole = f"{name} = {positive}" if name else _class_name(positive)
    return {
        "positive": str(positive),
        "other": str(other),
        "positive_name": whole,
        "other_name": str(other) if name else _class_name(other),
        "positive_short": positive if isinstance(positive, str) else whole,
        "intercept_probability": _response(model),
        "events": model.target.total,
        "class_factors": list(model.training["class_factors"]),
    }


def _class_name(label: Any) -> str:
    return label if isinstance(label, str) else f"outcome {label}"


def _of_number(model: Model) -> Record:
    """Return what a page says of a number; weights of training count the exposure."""
    target = model.target
    assert isinstance(target, NumberTarget)
    weight = target.units.weight * float(model.training["rows"])
    return {
        "outcome": target.outcome,
        "mean_text": target.mean_text,
        "multiplies": target.multiplies,
        "loss": model.loss.to_dict(),
        "explained_name": model.loss.explained_name,
        "exposure": target.exposure,
        "offset": target.offset,
        "intercept_mean": _response(model),
        "training_weight": weight,
        "training_mean": target.total / weight,
    }


def _response(model: Model) -> float | None:
    """Return what the intercept alone stands for."""
    return finite(float(model.loss.response(np.array([model.intercept]))[0]))


def _data(model: AnyModel, evidence: Evidence | None) -> Record:
    trained = {column["name"]: column for column in model.data.get("profile") or []}
    here = {} if evidence is None else {column["name"]: column for column in evidence.profile}
    homes = {s: c.name for c in model.components for s in c.sources}
    variables = [
        {
            "name": v.name,
            "kind": v.kind,
            "component": homes.get(v.name),
            "special": list(v.levels) if v.kind == "number" else [],
            "training": trained.get(v.name),
            "here": here.get(v.name),
        }
        for v in model.schema.variables
    ]
    return {"variables": variables, "table": _table(model, evidence)}


def _table(model: AnyModel, evidence: Evidence | None) -> Record | None:
    if evidence is None:
        return None
    total = None if evidence.y is None else float((evidence.weight * evidence.y).sum())
    more: Record = {}
    if isinstance(model, ClassesModel):
        places = None if evidence.y is None else evidence.y.astype(np.intp)
        n = len(model.classes)
        totals = None if places is None else np.bincount(places, evidence.weight, n).tolist()
        total, more = None, {"totals": totals}
    if evidence.seen is not None:
        more = follow_up_facts(evidence.seen, evidence.weight)
    exposure = evidence.exposure
    return {
        "name": evidence.name,
        "rows": len(evidence.weight),
        "weight": evidence.total,
        "weighted": bool((evidence.weight != 1.0).any()),
        "unlabelled": evidence.unlabelled,
        "events" if model.task in ("binary", "survival") else "total": total,
        "exposure": None if exposure is None else float((evidence.weight * exposure).sum()),
        "training": evidence.training,
        "labelled": evidence.y is not None,
        **more,
    }


def _guarantees(model: AnyModel, evidence: Evidence | None) -> list[Record]:
    """Return every check that can be made: the training table allows more than another one."""
    given: tuple[Any, ...] = () if evidence is None else (evidence.inputs,)
    if evidence is not None and evidence.seen is not None and evidence.training:
        seen, target = evidence.seen, model.target
        assert isinstance(target, SurvivalTarget)
        told = seen.event if target.status is None else target.status.labels(seen.status)
        given = (evidence.inputs, (told, seen.time), evidence.weight)
        given += (None, None, seen.entry, evidence.strata)
    elif evidence is not None and evidence.training:
        given = (evidence.inputs, evidence.labels, evidence.weight)
        if not isinstance(model, ClassesModel):
            given += (evidence.exposure, evidence.offset)
    return [check.to_dict() for check in model.verify(*given)]


def _provenance(
    model: AnyModel, evidence: Evidence | None, document: Mapping[str, Any], options: ReportOptions
) -> Record:
    return {
        "content_hash": document["hash"],
        "training_table": model.data.get("sha256"),
        "table": None if evidence is None else evidence.sha256,
        "files": {role: list(named) for role, named in options.files.items()},
        "fitted_with": model.library_version,
        "reported_with": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _history(model: AnyModel) -> Record:
    training = model.training
    return {
        "settings": dict(model.settings),
        "rounds": [dict(r) for r in training.get("rounds", [])],
        "vocabulary_size": training.get("vocabulary_size"),
        "objective": training.get("objective"),
        "validation": training.get("validation"),
        "stopped": stopped_note(model),
        "selection": _selection(model),
        "monotone": training.get("monotone", []),
        "class_factors": training.get("class_factors"),
    }


def _selection(model: AnyModel) -> Record:
    """Return the frontier with the penalty of each of its models, or why there is none."""
    try:
        found = read_frontier(model)
    except InputError as error:
        return {"frontier": None, "reason": str(error)}
    selection: Mapping[str, Any] = model.training["selection"]
    points = [
        {
            **record,
            "shape_family": shape_family(record),
            "chosen": point.chosen,
            "explained": found.share(point.deviance),
        }
        for record, point in zip(selection["frontier"], found.points, strict=True)
    ]
    return {
        "frontier": points,
        "drawn": asdict(found),
        "compared": selection.get("compared"),
        "price": found.price,
        "null_deviance": found.null_deviance,
    }


def _entry(entry: Mapping[str, Any]) -> Record:
    """Return an entry of the ledger; fields that are not known here are kept under `more`."""
    found = {name: entry.get(name) for name in LEDGER_TEXTS}
    states = {name: dict(entry.get(name) or {}) for name in ("before", "after")}
    lists = {name: list(entry.get(name) or ()) for name in ("operations", "withdrawn", "restored")}
    known = {*found, *states, *lists}
    return {**found, **states, **lists, "more": {k: v for k, v in entry.items() if k not in known}}

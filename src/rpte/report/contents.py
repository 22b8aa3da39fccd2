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
from rpte.losses import BINOMIAL
from rpte.model.file import to_dict
from rpte.model.model import Model
from rpte.model.summary import figures, stopped_note
from rpte.model.versions import shape_family
from rpte.report.about import NOTHING, About, about_contents, crosswalk
from rpte.report.cards import cards, cases
from rpte.report.curves import Record
from rpte.report.evidence import Evidence
from rpte.report.frontier import read_frontier
from rpte.report.performance import by_group, performance
from rpte.report.stability import stability
from rpte.table.inputs import Inputs

FORMAT, VERSION = "rpte-report", 2
LEDGER_TEXTS = ("number", "when", "by", "reason", "hash")
UNNAMED = ("Model without a name", "")
SECTIONS = {
    "summary": "At a glance",
    "purpose": "Purpose and limits",
    "data": "Data",
    "model": "The model",
    "guarantees": "Guarantees",
    "audit": "Audit load",
    "performance": "Performance",
    "subgroups": "Performance by group",
    "stability": "Stability",
    "cases": "Cases taken apart",
    "history": "Training history",
    "ledger": "Changes after training",
    "provenance": "Versions and hashes",
    "crosswalk": "Crosswalk to rules and guidelines",
}


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is asked to hold beside the model."""

    about: About = NOTHING
    peers: list[Record] = field(default_factory=list)  # from `read_peers`
    threshold: float = 0.5  # probability from which on a case counts as flagged
    resamples: int = 200  # of the bootstrap, for intervals
    refits: int = 0  # for the stability of structure
    show_cases: bool = True  # single rows of the table
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # role: name and sha256
    on_refit: Callable[[int], None] = lambda _: None  # called with the number of each that is done


def report_contents(
    model: Model,
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
    record = document if document is not None else to_dict(model)
    found: Record = {
        "format": FORMAT,
        "version": VERSION,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "title": options.about.text("model", "name") or options.files.get("model", UNNAMED)[0],
        "threshold": options.threshold,
        "about": about_contents(options.about),
        "identity": _identity(model),
        "cross_validation": figures(model),
        "data": _data(model, evidence),
        "components": cards(model, inputs, None if evidence is None else evidence.weight),
        "guarantees": _guarantees(model, evidence),
        "audit": _audit(model, inputs, options.peers),
        "history": _history(model),
        "ledger": [_entry(e) for e in record.get("ledger") or () if isinstance(e, Mapping)],
        "provenance": _provenance(model, evidence, record, options),
        **_measured(model, evidence, options),
    }
    present = {name: bool(found.get(name)) for name in ("performance", "subgroups", "stability")}
    present |= {"cases": bool(found["cases"]), "ledger": True}
    found["crosswalk"] = crosswalk(options.about.texts, present)
    # Through text and back: what the page shows is what `--json` writes, and no NaN is in either.
    plain: Record = json.loads(json.dumps(found, allow_nan=False))
    return plain


def _measured(model: Model, evidence: Evidence | None, options: ReportOptions) -> Record:
    if evidence is None:
        return dict.fromkeys(("performance", "subgroups", "stability", "cases"))
    at, refits = (options.threshold, options.resamples), options.refits
    return {
        "performance": performance(model, evidence, *at),
        "subgroups": by_group(model, evidence, *at) or None,
        "stability": stability(model, evidence, refits, options.on_refit) if refits else None,
        "cases": cases(model, evidence) if options.show_cases else None,
    }


def _audit(model: Model, inputs: Inputs | None, peers: list[Record]) -> Record:
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


def _identity(model: Model) -> Record:
    training = model.training
    return {
        "positive": str(model.classes[model.positive]),
        "other": str(model.classes[1 - model.positive]),
        "ownership": model.ownership,
        "intercept": model.intercept,
        "intercept_probability": float(BINOMIAL.response(np.array([model.intercept]))[0]),
        "variables": len(model.schema),
        "read": list(model.sources),
        "largest_component": max((len(c.sources) for c in model.components), default=0),
        "trees": sum(len(c.trees) for c in model.components),
        "rows": training["rows"],
        "events": model.target.total,
        "class_factors": list(training["class_factors"]),
        "limits": dict(model.settings["limits"]),
        "library_version": model.library_version,
    }


def _data(model: Model, evidence: Evidence | None) -> Record:
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
    return {"variables": variables, "table": _table(evidence)}


def _table(evidence: Evidence | None) -> Record | None:
    if evidence is None:
        return None
    events = None if evidence.y is None else float((evidence.weight * evidence.y).sum())
    return {
        "name": evidence.name,
        "rows": len(evidence.weight),
        "weight": evidence.total,
        "weighted": bool((evidence.weight != 1.0).any()),
        "unlabelled": evidence.unlabelled,
        "events": events,
        "training": evidence.training,
        "labelled": evidence.y is not None,
    }


def _guarantees(model: Model, evidence: Evidence | None) -> list[Record]:
    """Return every check that can be made: the training table allows more than another one."""
    given: tuple[Any, ...] = () if evidence is None else (evidence.inputs,)
    if evidence is not None and evidence.training:
        given = (evidence.inputs, evidence.labels, evidence.weight)
    return [asdict(check) for check in model.verify(*given)]


def _provenance(
    model: Model, evidence: Evidence | None, document: Mapping[str, Any], options: ReportOptions
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


def _history(model: Model) -> Record:
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


def _selection(model: Model) -> Record:
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

"""The published JSON Schema of a model file (`rpte schema`), every field and no other.

A subset of draft 2020-12, so that other tools can check files too; `rpte.model.validator` knows
exactly these keywords. What a schema cannot say (sources exist, leaves are numbered in order, ...)
is in `rpte.model.semantics`.
"""

from __future__ import annotations

import json
from typing import Any

from rpte.model.target import TASKS
from rpte.model.versions import NEWEST

Schema = dict[str, Any]

FORMAT = "rpte-model"
HIDDEN = ("<5", "hidden")

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
FROM_1: Schema = {"type": "integer", "minimum": 1}
AMOUNT: Schema = {"type": "number", "minimum": 0}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
LABEL: Schema = {"type": ["string", "number", "boolean"]}
NAMES: Schema = {"type": "array", "items": TEXT}
WORDS = {
    "text": TEXT,
    "flag": FLAG,
    "number": NUMBER,
    "whole": WHOLE,
    "from 1": FROM_1,
    "amount": AMOUNT,
    "positive": POSITIVE,
    "share": SHARE,
    "hash": SHA256,
    "names": NAMES,
}


def ref(name: str) -> Schema:
    """Point to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def record(optional: Schema | None = None, /, **fields: Schema) -> Schema:
    """Return the schema of an object with these fields and no others."""
    return {
        "type": "object",
        "required": list(fields),
        "properties": {**fields, **(optional or {})},
        "additionalProperties": False,
    }


def fields(text: str) -> Schema:
    """Return fields that a text names with their types: words of `WORDS`, or definitions."""
    pairs = [field.split(": ") for field in text.split(", ")]
    return {name: WORDS.get(word) or ref(word) for name, word in pairs}


def listed(item: Schema, least: int = 0, most: int | None = None) -> Schema:
    """Return the schema of an array."""
    ends = {"minItems": least} | ({} if most is None else {"maxItems": most})
    return {"type": "array", "items": item, **ends}


def one_of(*values: Any) -> Schema:
    """Return the schema of a value that is one of some."""
    return {"enum": list(values)}


def mapping(value: Schema) -> Schema:
    """Return the schema of an object with any keys."""
    return {"type": "object", "additionalProperties": value}


def or_null(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {"oneOf": [{"type": "null"}, schema]}


def kind(name: str, **fields: Schema) -> Schema:
    """Return the schema of a column of one kind."""
    return record(kind={"const": name}, **fields)


def name_from(letter: str) -> Schema:
    """Return the schema of a name such as ``T1``."""
    return {"type": "string", "pattern": f"^{letter}[1-9][0-9]*$"}


KINDS = ("value", "missing", "level", "interval", "step", "hinge", "scale", "pattern", "pair")
ITEMS = [ref(name) for name in ("level", "interval", "step")]
NUMBERS = [ref(name) for name in ("value", "hinge", "scale")]
COLUMNS: Schema = {
    "value": kind("value", source=TEXT),
    "missing": kind("missing", source=TEXT),
    "level": kind("level", source=TEXT, levels=listed(TEXT, 1)),
    "interval": kind("interval", source=TEXT, low=NUMBER_OR_NULL, high=NUMBER_OR_NULL),
    "step": kind("step", source=TEXT, threshold=NUMBER),
    "hinge": kind("hinge", source=TEXT, knot=NUMBER, side=one_of("above", "below")),
    "scale": record(
        {"low": NUMBER, "high": NUMBER, "centre": NUMBER},
        kind={"const": "scale"},
        source=TEXT,
        formula=one_of("log", "sqrt", "clip", "distance"),
    ),
    "item": {"oneOf": ITEMS},
    "part": {"oneOf": [*NUMBERS, *ITEMS]},
    "pattern": kind("pattern", left=ref("item"), right=ref("item")),
    "pair": kind(
        "pair",
        operation=one_of("product", "absolute difference", "sum", "difference"),
        left=ref("part"),
        right=ref("part"),
    ),
    "column": {"oneOf": [ref(name) for name in KINDS]},
}

COUNTS = "support: amount, target_total: amount, penalty: positive"
PARTS: Schema = {
    "split": {
        **record({"at_most": NUMBER, "missing_holds": FLAG}, column=ref("column")),
        "dependentRequired": {"at_most": ["missing_holds"], "missing_holds": ["at_most"]},
    },
    "node": {
        "oneOf": [
            record(leaf=WHOLE),
            record(**{"if": ref("split"), "yes": ref("node"), "no": ref("node")}),
        ]
    },
    "leaf": record(coefficient=NUMBER, **fields(COUNTS)),
    "tree": record(name=name_from("T"), root=ref("node"), leaves=listed(ref("leaf"), 2)),
    "direct": record(
        name=name_from("D"),
        **fields(f"column: column, coefficient: number, centre: number, scale: positive, {COUNTS}"),
    ),
    "component": record(
        name=name_from("C"),
        sources=listed(TEXT, 1),
        trees=listed(ref("tree")),
        direct=listed(ref("direct")),
    ),
    "variable": record(
        **fields("name: text, levels: names, has_missing: flag, pooled: flag"),
        kind=one_of("number", "category"),
    ),
}

DIRECTION = one_of("increasing", "decreasing")
OWNERSHIP = one_of("component", "strict", "separate", "paper")
SETTINGS: Schema = {
    "limits": record(
        **fields("exclude: names, linear_only: names"),
        monotone=mapping(DIRECTION),
        interactions=or_null(listed(listed(TEXT, 2))),
        penalty=mapping(POSITIVE),
    ),
    "settings": record(
        **fields("max_component_sources: from 1, budget: whole, min_gain: amount, lookahead: flag"),
        **fields("max_trees: whole, max_depth: from 1, min_samples_leaf: positive, reassign: flag"),
        **fields("leaf_ridge: amount, learning_rate: positive, audit_price: amount"),
        ownership=OWNERSHIP,
        vocabulary=one_of("shapes", "hug", "frequent", "original"),
        pattern_order=one_of(1, 2),
        criterion=one_of("newton", "label"),
        max_leaves={"type": "integer", "minimum": 2},
        l1={"oneOf": [one_of("cv", "4/n"), POSITIVE]},
        l1_ratio=or_null({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        max_inspection_units=or_null(WHOLE),
        conventions=one_of("ours", "paper"),
        profile=one_of("safe", "full", "none"),
        limits=ref("limits"),
    ),
}


def option(**more: Schema) -> Schema:
    """Return the schema of what Stage 3 was offered; the first release said `menu`."""
    family = one_of("values", "levels", "curves", "steps", "all")
    own = {**fields("n_trees: whole, l1_ratio: share, l1: positive"), "n_pairs": or_null(WHOLE)}
    names, optional = ("shape_family", "menu"), {"max_conditions": FROM_1}
    return {"oneOf": [record(optional, **{name: family}, **own, **more) for name in names]}


TRAINING: Schema = {
    "objective": record(
        **fields("l1: positive, l1_ratio: share, value: number, kkt_residual: amount"),
        **fields("tolerance: positive, lambda_max: amount, terms_offered: whole, converged: flag"),
    ),
    "candidate": option(),
    "evaluation": option(
        **fields("miu: whole, deviance: amount, error: amount, components: whole")
    ),
    "selection": record(
        {"many": POSITIVE},
        **fields("chosen: candidate, price: amount, compared: whole"),
        null_deviance=or_null(AMOUNT),
        frontier=listed(ref("evaluation")),
    ),
    "round": record(
        **fields("accepted: flag, leaves: whole, step: amount, reason: text"),
        **fields("deviance_before: amount, deviance_after: amount"),
    ),
    "certificate": record(
        **fields("variable: text, leaf_pairs: whole"),
        direction=DIRECTION,
        component={"type": ["string", "null"]},
        direct=listed(record(term=TEXT, sign=one_of(-1, 0, 1))),
    ),
    "measure": record(mean=AMOUNT, error=or_null(AMOUNT)),
    "mean_share": record(mean=SHARE, error=or_null(AMOUNT)),
    "cross_validation": record(
        **fields("folds: from 1, rows: from 1, log_loss: measure, brier: mean_share, miu: measure"),
        by=one_of("content", "groups"),
        auc=or_null(ref("mean_share")),
    ),
    "stopped": record(
        **fields("max_fit_seconds: amount, stage: text"), reproducible={"const": False}
    ),
    "validation": record(
        fields("learned_from_rows: from 1, stopped: stopped"),
        folds=FROM_1,
        by=one_of("content", "groups", "splits"),
    ),
    "training": record(
        {"cross_validation": ref("cross_validation")},
        **fields("rows: positive, distinct_rows: from 1, validation: validation"),
        class_factors=listed(POSITIVE, 2, 2),
        vocabulary_size=WHOLE,
        rounds=listed(ref("round")),
        selection=or_null(ref("selection")),
        objective=or_null(ref("objective")),
        ties=listed(listed(TEXT, 2)),
        monotone=listed(ref("certificate")),
        mean_contributions=mapping(NUMBER),
    ),
}

DATA: Schema = {
    "profiled": record(
        **fields("name: text, distinct: whole"),
        kind=one_of("number", "category"),
        missing={"oneOf": [SHARE, one_of(*HIDDEN)]},
        quantiles=or_null(listed(NUMBER_OR_NULL, 5, 5)),
        extremes=or_null(listed(NUMBER, 2, 2)),
        levels=mapping({"oneOf": [AMOUNT, one_of(*HIDDEN)]}),
    ),
    "data": record(
        **fields("rows: positive, distinct_rows: from 1, sha256: hash"),
        profile=or_null(listed(ref("profiled"))),
    ),
}

SAID: Schema = {"type": "string", "pattern": "^.*[^ ].*$"}
OPERATIONS = one_of("drop-term", "drop-source", "merge", "refit")
LEDGER: Schema = {
    "metrics": record(**fields("rows: positive, log_loss: amount, brier: share, auc: share")),
    "state": record(
        **fields("model: hash, terms: whole, conditions: whole, intercept: number"),
        metrics=or_null(ref("metrics")),
    ),
    "entry": record(
        **fields("number: from 1, forced: flag, withdrawn: names, restored: names"),
        **fields("before: state, after: state, hash: hash"),
        by=SAID,
        when={"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"},
        reason=SAID,
        operations=listed(record(operation=OPERATIONS, names=NAMES), 1),
        table=or_null(SHA256),
        previous=or_null(SHA256),
    ),
}

DEFINITIONS: Schema = {**COLUMNS, **PARTS, **SETTINGS, **TRAINING, **DATA, **LEDGER}


def _file(version: int, definitions: Schema, **target: Schema) -> Schema:
    """Return the schema of a file in which `target` are the fields that say what is predicted."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"RPTE model file, format version {version}",
        "description": (
            "A classifier for two classes: the score is the left-to-right sum of the intercept and "
            "the component subtotals, each the sum of its trees' leaves and direct terms. Numbers "
            "are finite 64-bit floats."
        ),
        **record(
            {"ledger": listed(ref("entry"), 1)},
            format={"const": FORMAT},
            version={"const": version},
            library_version={"type": "string", "pattern": "^[0-9A-Za-z.+!-]{1,64}$"},
            **target,
            schema=record(named=FLAG, variables=listed(ref("variable"), 1)),
            ownership=OWNERSHIP,
            components=listed(ref("component")),
            **fields("bound: whole, intercept: number, settings: settings, training: training"),
            **fields("data: data, hash: hash"),
        ),
        "$defs": definitions,
    }


def _first() -> Schema:
    """Return the schema of version 1, where the weight of the positive class is `events`."""
    definitions = json.loads(json.dumps(DEFINITIONS).replace("target_total", "events"))
    definitions["training"]["properties"]["events"] = AMOUNT
    definitions["training"]["required"].append("events")
    return _file(1, definitions, **CLASSES)


CLASSES: Schema = {"classes": listed(LABEL, 2, 2), "positive": one_of(0, 1)}
SCHEMA = _file(
    NEWEST,
    DEFINITIONS,
    task=one_of(*TASKS),
    loss=record(name={"const": "binomial"}, link={"const": "logit"}),
    target=record(**CLASSES, total=AMOUNT),
    scores={"const": 1},
    offset={"type": "null"},
    baseline={"type": "null"},
)
SCHEMAS = {1: _first(), NEWEST: SCHEMA}

"""The published JSON Schema of a model file (`rpte schema`), every field and no other.

A subset of draft 2020-12, so that other tools can check files too; `rpte.model.validator` knows
exactly these keywords. What a schema cannot say (sources exist, leaves are numbered in order, ...)
is in `rpte.model.semantics`.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

FORMAT = "rpte-model"
VERSION = 1
HIDDEN = ("<5", "hidden")

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
AMOUNT: Schema = {"type": "number", "minimum": 0}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
LABEL: Schema = {"type": ["string", "number", "boolean"]}
NAMES: Schema = {"type": "array", "items": TEXT}


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
    "leaf": record(coefficient=NUMBER, support=AMOUNT, events=AMOUNT, penalty=POSITIVE),
    "tree": record(
        name={"type": "string", "pattern": "^T[1-9][0-9]*$"},
        root=ref("node"),
        leaves=listed(ref("leaf"), 2),
    ),
    "direct": record(
        name={"type": "string", "pattern": "^D[1-9][0-9]*$"},
        column=ref("column"),
        coefficient=NUMBER,
        centre=NUMBER,
        scale=POSITIVE,
        support=AMOUNT,
        events=AMOUNT,
        penalty=POSITIVE,
    ),
    "component": record(
        name={"type": "string", "pattern": "^C[1-9][0-9]*$"},
        sources=listed(TEXT, 1),
        trees=listed(ref("tree")),
        direct=listed(ref("direct")),
    ),
    "variable": record(
        name=TEXT, kind=one_of("number", "category"), levels=NAMES, has_missing=FLAG, pooled=FLAG
    ),
}

DIRECTION = one_of("increasing", "decreasing")
SETTINGS: Schema = {
    "limits": record(
        monotone=mapping(DIRECTION),
        exclude=NAMES,
        linear_only=NAMES,
        interactions=or_null(listed(listed(TEXT, 2))),
        penalty=mapping(POSITIVE),
    ),
    "settings": record(
        ownership=one_of("component", "strict", "separate", "paper"),
        max_component_sources={"type": "integer", "minimum": 1},
        vocabulary=one_of("shapes", "hug", "frequent", "original"),
        pattern_order=one_of(1, 2),
        budget=WHOLE,
        min_gain=AMOUNT,
        criterion=one_of("newton", "label"),
        max_trees=WHOLE,
        max_leaves={"type": "integer", "minimum": 2},
        max_depth={"type": "integer", "minimum": 1},
        min_samples_leaf=POSITIVE,
        leaf_ridge=AMOUNT,
        learning_rate=POSITIVE,
        lookahead=FLAG,
        reassign=FLAG,
        l1={"oneOf": [one_of("cv", "4/n"), POSITIVE]},
        l1_ratio=or_null({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        audit_price=AMOUNT,
        max_inspection_units=or_null(WHOLE),
        conventions=one_of("ours", "paper"),
        profile=one_of("safe", "full", "none"),
        limits=ref("limits"),
    ),
}

FORWARD: Schema = {"max_conditions": {"type": "integer", "minimum": 1}}
AIM: Schema = {
    "menu": one_of("values", "levels", "curves", "steps", "all"),
    "n_trees": WHOLE,
    "n_pairs": or_null(WHOLE),
    "l1_ratio": SHARE,
    "l1": POSITIVE,
}
TRAINING: Schema = {
    "objective": record(
        l1=POSITIVE,
        l1_ratio=SHARE,
        value=NUMBER,
        kkt_residual=AMOUNT,
        tolerance=POSITIVE,
        lambda_max=AMOUNT,
        terms_offered=WHOLE,
        converged=FLAG,
    ),
    "aim": record(FORWARD, **AIM),
    "selection": record(
        {"many": POSITIVE},
        chosen=ref("aim"),
        price=AMOUNT,
        compared=WHOLE,
        null_deviance=or_null(AMOUNT),
        frontier=listed(
            record(FORWARD, **AIM, miu=WHOLE, deviance=AMOUNT, error=AMOUNT, components=WHOLE),
        ),
    ),
    "round": record(
        accepted=FLAG,
        leaves=WHOLE,
        step=AMOUNT,
        deviance_before=AMOUNT,
        deviance_after=AMOUNT,
        reason=TEXT,
    ),
    "certificate": record(
        variable=TEXT,
        direction=DIRECTION,
        component={"type": ["string", "null"]},
        leaf_pairs=WHOLE,
        direct=listed(record(term=TEXT, sign=one_of(-1, 0, 1))),
    ),
    "measure": record(mean=AMOUNT, error=or_null(AMOUNT)),
    "share": record(mean=SHARE, error=or_null(AMOUNT)),
    "cross_validation": record(
        folds={"type": "integer", "minimum": 1},
        by=one_of("content", "groups"),
        rows={"type": "integer", "minimum": 1},
        auc=or_null(ref("share")),
        log_loss=ref("measure"),
        brier=ref("share"),
        miu=ref("measure"),
    ),
    "training": record(
        {"cross_validation": ref("cross_validation")},
        rows=POSITIVE,
        distinct_rows={"type": "integer", "minimum": 1},
        events=AMOUNT,
        class_factors=listed(POSITIVE, 2, 2),
        validation=record(
            {
                "learned_from_rows": {"type": "integer", "minimum": 1},
                "stopped": record(
                    max_fit_seconds=AMOUNT, stage=TEXT, reproducible={"const": False}
                ),
            },
            folds={"type": "integer", "minimum": 1},
            by=one_of("content", "groups", "splits"),
        ),
        vocabulary_size=WHOLE,
        rounds=listed(ref("round")),
        selection=or_null(ref("selection")),
        objective=or_null(ref("objective")),
        ties=listed(listed(TEXT, 2)),
        monotone=listed(ref("certificate")),
        mean_contributions=mapping(NUMBER),
    ),
}

COUNT: Schema = {"oneOf": [AMOUNT, one_of(*HIDDEN)]}
DATA: Schema = {
    "profiled": record(
        name=TEXT,
        kind=one_of("number", "category"),
        missing={"oneOf": [SHARE, one_of(*HIDDEN)]},
        distinct=WHOLE,
        quantiles=or_null(listed(NUMBER_OR_NULL, 5, 5)),
        extremes=or_null(listed(NUMBER, 2, 2)),
        levels=mapping(COUNT),
    ),
    "data": record(
        rows=POSITIVE,
        distinct_rows={"type": "integer", "minimum": 1},
        sha256=SHA256,
        profile=or_null(listed(ref("profiled"))),
    ),
}

STATE: Schema = record(
    model=SHA256,
    terms=WHOLE,
    conditions=WHOLE,
    intercept=NUMBER,
    metrics=or_null(record(rows=POSITIVE, log_loss=AMOUNT, brier=SHARE, auc=SHARE)),
)
LEDGER: Schema = {
    "entry": record(
        number={"type": "integer", "minimum": 1},
        by={"type": "string", "pattern": "^.*[^ ].*$"},
        when={"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"},
        reason={"type": "string", "pattern": "^.*[^ ].*$"},
        operations=listed(
            record(operation=one_of("drop-term", "drop-source", "merge", "refit"), names=NAMES), 1
        ),
        forced=FLAG,
        withdrawn=NAMES,
        restored=NAMES,
        table=or_null(SHA256),
        before=STATE,
        after=STATE,
        previous=or_null(SHA256),
        hash=SHA256,
    ),
}

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "RPTE model file, format version 1",
    "description": (
        "A classifier for two classes: the score is the left-to-right sum of the intercept and the "
        "component subtotals, each the sum of its trees' leaves and direct terms. Numbers are "
        "finite 64-bit floats."
    ),
    **record(
        {"ledger": listed(ref("entry"), 1)},
        format={"const": FORMAT},
        version={"const": VERSION},
        library_version={"type": "string", "pattern": "^[0-9A-Za-z.+!-]{1,64}$"},
        schema=record(named=FLAG, variables=listed(ref("variable"), 1)),
        classes=listed(LABEL, 2, 2),
        positive=one_of(0, 1),
        ownership=one_of("component", "strict", "separate", "paper"),
        bound=WHOLE,
        intercept=NUMBER,
        components=listed(ref("component")),
        settings=ref("settings"),
        training=ref("training"),
        data=ref("data"),
        hash=SHA256,
    ),
    "$defs": {**COLUMNS, **PARTS, **SETTINGS, **TRAINING, **DATA, **LEDGER},
}

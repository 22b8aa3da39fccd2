"""The published JSON Schema of a model file (`rpte schema`), every field and no other.

A subset of draft 2020-12, so that other tools can check files too; `rpte.model.validator` knows
exactly these keywords. What a schema cannot say (sources exist, leaves are numbered in order, ...)
is in `rpte.model.semantics`.
"""

import ast
import json
import re
from typing import Any

from rpte.model.target import TASKS
from rpte.model.versions import NEWEST
from rpte.utils.kept import MODEL_FORMAT

Schema = dict[str, Any]

FORMAT = MODEL_FORMAT
WORDS: dict[str, Schema] = {
    "null": {"type": "null"},
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "number": {"type": "number"},
    "whole": {"type": "integer", "minimum": 0},
    "from 1": {"type": "integer", "minimum": 1},
    "from 2": {"type": "integer", "minimum": 2},
    "amount": {"type": "number", "minimum": 0},
    "positive": {"type": "number", "exclusiveMinimum": 0},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "part of one": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "number or null": {"type": ["number", "null"]},
    "text or null": {"type": ["string", "null"]},
    "label": {"type": ["string", "number", "boolean"]},
    "names": {"type": "array", "items": {"type": "string"}},
    "task": {"enum": [*TASKS, "multiclass"]},
}


LITERAL = re.compile(r"'|-?[0-9]|False")
LIST = re.compile(r"\[(?P<item>.*?)( (?P<minItems>[0-9]+)( (?P<maxItems>[0-9]+))?)?\]")


def described(text: str, **words: Schema) -> Schema:
    """Return the schema of an object whose fields a text describes, or of a type.

    Fields are ``name: type``, or ``name?: type`` for one that may be left out. A type is one of
    `words` or `WORDS`, a literal, a pattern (``^...$``), a list ``[type least most]``, a mapping
    ``{type}``, several types with ``|`` between them, or else the name of a definition.
    """
    known = WORDS | words
    if text.startswith("^") or ": " not in text:
        return _type(text, known)
    fields = dict(field.split(": ") for field in text.split(", "))
    required = [name for name in fields if not name.endswith("?")]
    ordered = [*required, *(name for name in fields if name.endswith("?"))]
    return {
        "type": "object",
        "required": required,
        "properties": {name.rstrip("?"): _type(fields[name], known) for name in ordered},
        "additionalProperties": False,
    }


def _type(text: str, words: dict[str, Schema]) -> Schema:
    if text.startswith("^"):
        return {"type": "string", "pattern": text}
    if text.startswith("{"):
        return {"type": "object", "additionalProperties": _type(text[1:-1], words)}
    options = text.split("|")
    if all(LITERAL.match(option) for option in options):
        values = [ast.literal_eval(option) for option in options]
        return {"enum": values} if len(values) > 1 else {"const": values[0]}
    if len(options) > 1:
        return {"oneOf": [_type(option, words) for option in options]}
    if found := LIST.fullmatch(text):
        ends = {name: int(end) for name in ("minItems", "maxItems") if (end := found[name])}
        return {"type": "array", "items": _type(found["item"], words), "minItems": 0, **ends}
    return words.get(text, {"$ref": f"#/$defs/{text}"})


def _definitions(text: str) -> dict[str, Schema]:
    """Return schemas by name, each from a line ``name = description``."""
    lines = text.replace("\n    ", " ").strip().splitlines()
    return {name: described(said) for name, said in (line.split(" = ") for line in lines)}


WORDS |= _definitions(
    """
hash = ^[0-9a-f]{64}$
said = ^.*[^ ].*$
when = ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$
release = ^[0-9A-Za-z.+!-]{1,64}$
tree name = ^T[1-9][0-9]*$
direct name = ^D[1-9][0-9]*$
component name = ^C[1-9][0-9]*$
direction = 'increasing'|'decreasing'
policy = 'component'|'strict'|'separate'|'paper'
l1 rule = 'cv'|'4/n'
family = 'values'|'levels'|'curves'|'steps'|'all'
hidden = '<5'|'hidden'
place = leaf: whole
branch = if: split, yes: node, no: node
signed = term: text, sign: -1|0|1
operation = operation: 'drop-term'|'drop-source'|'merge'|'refit', names: names
columns = named: flag, variables: [variable 1]
"""
)
# What Stage 3 was offered; the first release said `menu` for the family of shapes.
OFFERED = (
    "n_trees: whole, l1_ratio: share, l1: positive, n_pairs: null|whole, max_conditions?: from 1, "
    "apart?: flag"
)
TRIED = f"{OFFERED}, miu: whole, deviance: amount, error: amount, components: whole"
WORDS |= _definitions(
    f"""
option = shape_family: family, {OFFERED}
old option = menu: family, {OFFERED}
tried = shape_family: family, {TRIED}
old tried = menu: family, {TRIED}
"""
)

DEFINITIONS = _definitions(
    """
value = kind: 'value', source: text
missing = kind: 'missing', source: text
level = kind: 'level', source: text, levels: [text 1]
interval = kind: 'interval', source: text, low: number or null, high: number or null
step = kind: 'step', source: text, threshold: number
hinge = kind: 'hinge', source: text, knot: number, side: 'above'|'below', end?: number
scale = kind: 'scale', source: text, formula: 'log'|'sqrt'|'clip'|'distance',
    low?: number, high?: number, centre?: number
item = level|interval|step
part = value|hinge|scale|level|interval|step
pattern = kind: 'pattern', left: item, right: item
pair = kind: 'pair', operation: 'product'|'absolute difference'|'sum'|'difference',
    left: part, right: part
column = value|missing|level|interval|step|hinge|scale|pattern|pair
split = column: column, at_most?: number, missing_holds?: flag
node = place|branch
per score = number|[number 3]
leaf = coefficient: per score, support: amount, target_total: per score, penalty: positive
tree = name: tree name, root: node, leaves: [leaf 2]
direct = name: direct name, column: column, coefficient: per score, centre: number,
    scale: positive, support: amount, target_total: per score, penalty: positive
component = name: component name, sources: [text 1], trees: [tree], direct: [direct]
variable = name: text, levels: names, has_missing: flag, pooled: flag, kind: 'number'|'category',
    numeric?: flag
limits = exclude: names, linear_only: names, monotone: {direction|{direction}},
    interactions: null|[[text 2]], penalty: {positive}
settings = max_component_sources: from 1, budget: whole, min_gain: amount, lookahead: flag,
    max_trees: whole, max_depth: from 1, min_samples_leaf: positive, reassign: flag,
    leaf_ridge: amount, learning_rate: positive, audit_price: amount, ownership: policy,
    vocabulary: 'shapes'|'hug'|'frequent'|'original', pattern_order: 1|2,
    criterion: 'newton'|'label', max_leaves: from 2, l1: l1 rule|positive,
    l1_ratio: null|part of one, max_inspection_units: null|whole, conventions: 'ours'|'paper',
    profile: 'safe'|'full'|'none', limits: limits, form?: 'any'|'rules',
    shapes?: 'one'|'free'
objective = l1: positive, l1_ratio: share, value: number, kkt_residual: amount, tolerance: positive,
    lambda_max: amount, terms_offered: whole, converged: flag
candidate = option|old option
evaluation = tried|old tried
selection = chosen: candidate, price: amount, compared: whole, null_deviance: null|amount,
    frontier: [evaluation], many?: positive, interactions?: interactions,
    promises?: {direction}, reference?: reference
pairing = variables: [text 2 2], gain: number, threshold: positive
reference = rows: whole, deviance?: amount, gain?: amount, error?: amount, null_deviance?: amount,
    variables?: [text 1]
interactions = groups: [[text 2 4]], evidence: [pairing], strongest: number, threshold: amount
round = accepted: flag, leaves: whole, step: amount, reason: text, deviance_before: amount,
    deviance_after: amount
certificate = variable: text, leaf_pairs: whole, direction: direction, component: text or null,
    direct: [signed]
class_certificate = variable: text, class: text, leaf_pairs: whole, direction: direction,
    component: text or null, direct: [signed]
proof = class_certificate|certificate
measure = mean: amount, error: null|amount
mean_share = mean: share, error: null|amount
cross_validation = folds: from 1, rows: from 1, log_loss: measure, brier: mean_share, miu: measure,
    by: 'content'|'groups', auc: null|mean_share
class_validation = folds: from 1, rows: from 1, log_loss: measure, accuracy: mean_share,
    miu: measure, by: 'content'|'groups', auc: null|mean_share
mean_number = mean: number, error: null|amount
number_validation = folds: from 1, rows: from 1, mae: measure, rmse: measure, miu: measure,
    by: 'content'|'groups', deviance_explained: null|mean_number, gini?: null|mean_number,
    calibration_ratio?: null|mean_number
survival_validation = folds: from 1, rows: from 1, concordance: null|mean_share,
    brier: null|mean_share, brier_explained: null|mean_number, miu: measure,
    by: 'content'|'groups'
typical = prediction: number, error: positive
calibration = by: 'rows'|'groups', total: positive, scores: [amount 1], up_to: [positive 1],
    table: null|hash, errors?: [typical 2]
stopped = max_fit_seconds: amount, stage: text, reproducible: False
validation = folds: from 1, by: 'content'|'groups'|'splits', learned_from_rows?: from 1,
    searched_rows?: from 1, stopped?: stopped
training = rows: positive, distinct_rows: from 1, validation: validation,
    class_factors?: [positive 2], vocabulary_size: whole, rounds: [round],
    selection: null|selection, objective: null|objective, ties: [[text 2]],
    monotone: [proof], mean_contributions: {per score},
    cross_validation?: cross_validation|number_validation|class_validation|survival_validation,
    calibration?: calibration, importances?: {amount}
profiled = name: text, distinct: whole, kind: 'number'|'category', missing: share|hidden,
    quantiles: null|[number or null 5 5], extremes: null|[number 2 2], levels: {amount|hidden},
    equal_parts?: null|[number 2 21], values?: null|[number 2 10]
data = rows: positive, distinct_rows: null|from 1, sha256: null|hash, profile: null|[profiled]
metrics = rows: positive, log_loss: amount, brier: share, auc: share
number_metrics = rows: positive, deviance_explained: number or null, mae: amount, rmse: amount
class_metrics = rows: positive, log_loss: amount, brier: amount, accuracy: share
survival_metrics = rows: positive, events: amount, concordance: null|share,
    log_likelihood: number
state = model: hash, terms: whole, conditions: whole, intercept: per score,
    metrics: null|metrics|number_metrics|class_metrics|survival_metrics
entry = number: from 1, forced: flag, withdrawn: names, restored: names, before: state,
    after: state, hash: hash, by: said, when: when, reason: said, operations: [operation 1],
    table: null|hash, previous: null|hash
"""
)
DEFINITIONS["split"]["dependentRequired"] = {
    "at_most": ["missing_holds"],
    "missing_holds": ["at_most"],
}


def _file(version: int, definitions: Schema, predicted: str, **words: Schema) -> Schema:
    """Return the schema of a file; `predicted` are the fields that say what is predicted."""
    fields = (
        f"format: '{FORMAT}', version: {version}, library_version: release, {predicted}, "
        "schema: columns, ownership: policy, components: [component], bound: whole, "
        "intercept: per score, settings: settings, training: training, data: data, hash: hash, "
        "ledger?: [entry 1]"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"RPTE model file, format version {version}",
        "description": (
            "A model of two classes, of a number or of a time until an event: the score is the "
            "left-to-right sum of the intercept and the component subtotals, each the sum of its "
            "trees' leaves and direct terms. A model of several classes has a score for each, and "
            "lists of intercepts and coefficients; one of a time has a cumulated baseline hazard, "
            "which exp(score) multiplies. Numbers are finite 64-bit floats."
        ),
        **described(fields, **words),
        "$defs": definitions,
    }


def _first() -> Schema:
    """Return the schema of version 1, where the weight of the positive class is `events`."""
    definitions = json.loads(json.dumps(DEFINITIONS).replace("target_total", "events"))
    definitions["training"]["properties"]["events"] = WORDS["amount"]
    definitions["training"]["required"].append("events")
    return _file(1, definitions, CLASSES)


CLASSES = "classes: [label 2 2], positive: 0|1"
UNITS = described("centre: number, scale: positive, weight: positive")
NUMBER = (
    "name: text or null, exposure: text or null, offset: text or null, total: number, "
    "units: units, least?: 0"
)
STEPS = described("times: [amount], hazard: [amount], end: amount")
TIME = (
    "time: text or null, event: text or null, ties: 'efron'|'breslow'|'grouped', total: amount, "
    "has_entry: flag, entry_column: text or null, strata_column: text or null, strata: [label], "
    "grid: [positive], baseline: [steps 1], status?: status"
)
STATUS = described("cause: label, causes: [label 1 10], censored: label")
SCHEMA = _file(
    NEWEST,
    DEFINITIONS,
    "task: task, loss: loss, target: target, scores: from 1, offset: null, baseline: null",
    loss=described(
        "name: 'binomial'|'squared_error'|'poisson'|'gamma'|'tweedie'|'multinomial'|'cox'|"
        "'discrete', "
        "link: 'logit'|'identity'|'log'|'softmax', power?: number"
    ),
    target={
        "oneOf": [
            described(f"{CLASSES}, total: amount, name?: text"),
            described(NUMBER, units=UNITS),
            described("classes: [label 3], totals: [amount 3], name?: text"),
            described(TIME, steps=STEPS, status=STATUS),
        ]
    },
)
SCHEMAS = {1: _first(), NEWEST: SCHEMA}
CAUSES = "competing risks"
# A file of several causes holds the file of each.
CAUSES_SCHEMA = described(
    f"format: '{FORMAT}', version: {NEWEST}, library_version: release, task: '{CAUSES}', "
    "models: [file 2 10], hash: hash",
    file={"type": "object"},  # validated as a file of its own
)

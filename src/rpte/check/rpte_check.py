#!/usr/bin/env python3
"""Check an rpte model file, and score a table with it, without the rpte library.

One file, Python 3.11 or newer, standard library only. It follows the description of the model file
(docs/model_file.md) and shares no code with the library, so that its answers are a second opinion.
Usage:

    python rpte_check.py model.json                                 prove what the file proves
    python rpte_check.py model.json table.csv                       ... and score the rows
    python rpte_check.py model.json table.csv --expect scores.csv   ... and compare with these
    python rpte_check.py model.json table.csv --scores out.csv      ... and write the scores
    python rpte_check.py model.json train.csv --target y            ... and prove it on the table
                                                                    that the model was fitted on
    python rpte_check.py model.json train.csv --time t --event e    ... the same, of a time until
                                                                    an event

Scores are log odds of two classes; of several, one for each, with its probability and the class
beside them; of a number, the mean or its logarithm, with the mean beside it; of a time until an
event, log hazard ratios, with the hazard ratio beside them and survival until each --horizon; of
competing risks, log hazard ratios of each cause, with survival and incidences until each --horizon.
--weight-column, --exposure-column, --offset-column, --entry and --strata name what a table has of
these. Exit code 0 if every check holds, 1 if one fails or something cannot be read, 2 for wrong
usage.

What it proves from the file alone: the content hash; that every field is there, of its kind and
fits the others; that each tree is whole and each leaf can be reached; who owns which variable; that
supports and stored means add up; the audit load, its bound, and that the model is no larger than
was asked for; monotone directions with their certificates, and the other limits; the recorded
objective; the chain of the ledger. It passes exactly the files that `rpte verify` passes without a
table. With the training table and its target: that it is the one by its hash; supports, sums of the
target, mean contributions and importances; the optimality of the coefficients; that predictions add
up to the target (squared error and counts); the baseline of hazards. Not proved here: that
thresholds, knots, centres and the sides of missing cells follow from the table, and coefficients
without Stage 3 (`rpte verify` does that).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import re
import struct
import sys
from ast import literal_eval
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, chain, combinations, islice, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]
Row = dict[str, "Cell"]
Fault = Iterator[str]
Way = tuple[tuple[Json, bool], ...]  # the tests on the way to a leaf, with their answers

ROUNDING = 1e-9  # sums of weights are rounded
MOST_FAULTS = 3  # that are shown of a check
MOST_BYTES = 256 * 2**20
DEEPEST = 200  # levels of nesting
MOST_CONDITIONS = 300  # that validation may choose where the user gives no number
LARGEST = 1e300
MOST_STEPS = 10_000  # of a stored baseline
CAUSES = "competing risks"
TASKS = ("binary", "regression", "multiclass", "survival", CAUSES)
TINY = sys.float_info.min
FARTHEST = 700.0  # scores, beyond which a mean under a logarithm stays the same
LARGEST_HAZARD = 30.0  # of an interval that nobody survives
PLURALS = {
    "class": "classes",
    "probability": "probabilities",
    "hazard": "hazard ratios",
    "survival": "survival",
    "incidence": "incidences",
}
FRACTION = 2.0**-30  # weights by exposure are multiples of it
MARKERS = frozenset(
    "NA N/A n/a #N/A #NA <NA> NaN nan -nan -NaN NULL null None".split()  # noqa: SIM905
)
EVIDENCE = re.compile(rb'"(format"\s*:\s*"rpte-(model|decisions)|algorithm"\s*:\s*"hmac-)')
DECIMAL = re.compile(r"(?!0\d)[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
TRUTHS = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
NUMBER_BEGINS = tuple("0123456789+-.")
NUMERIC = ("value", "hinge", "scale", "pair")
RAW = ("value", "level", "missing")
FORMULAS = {"log": {"low"}, "sqrt": {"low"}, "clip": {"low", "high"}, "distance": {"centre"}}
LIMITED = {"clip": {"low", "high"}, "distance": {"centre", "low", "high"}}
LIMITED |= {"log": LIMITED["clip"], "sqrt": LIMITED["clip"]}


BROKEN = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


class Problem(Exception):  # noqa: N818
    """Something that cannot be read; the message says what."""


# ---------------------------------------------------------------- the model file


def read_model(path: str) -> Json:
    """Return the document of a model file."""

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Problem(f"{path}: a key stands twice in one object")
        return found

    try:
        content = Path(path).read_bytes()
        if len(content) > MOST_BYTES:
            raise Problem(f"{path} has more than {MOST_BYTES} bytes")
        document = json.loads(content.decode("utf-8"), object_pairs_hook=unique)
    except (OSError, ValueError, RecursionError) as error:
        raise Problem(f"{path} is not a JSON document: {error}") from error
    if not isinstance(document, dict) or document.get("format") != "rpte-model":
        raise Problem(f"{path} is not a model file")
    version, task = document.get("version"), document.get("task")
    if type(version) is not int or version not in (1, 2):
        raise Problem(f"{path} has format version {version!r}, not 1 or 2")
    if version == 2 and task not in TASKS:
        known = "classes, numbers, times and competing risks only"
        raise Problem(f"{path} is of the task {task!a:.40}; this checker knows {known}")
    fault = next(unkept(document), None)
    if fault is not None:
        raise Problem(f"{path}: {fault}")
    return document


def unkept(document: Any) -> Fault:
    """Yield what JSON cannot keep: deep nesting, infinite numbers, text that is not Unicode."""
    stack: list[tuple[Any, int]] = [(document, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > DEEPEST:
            yield f"it is nested deeper than {DEEPEST} levels"
        elif isinstance(value, dict):
            stack += [(item, depth + 1) for item in value.values()]
            stack += [(key, 0) for key in value]
        elif isinstance(value, list):
            stack += [(item, depth + 1) for item in value]
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"{value} is no number"
        elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            yield f"{value!a} is not Unicode text"


def digest(content: Any) -> str:
    """Return the SHA-256 of JSON values: keys sorted, no spaces, ASCII, shortest floats."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def without(record: Json, *keys: str) -> Json:
    """Return a record without some of its fields."""
    return {key: value for key, value in record.items() if key not in keys}


def trees(model: Json) -> list[Json]:
    """Return the trees in the order of the file."""
    return [tree for component in model["components"] for tree in component["trees"]]


def direct_terms(model: Json) -> list[Json]:
    """Return the direct terms in the order of the file."""
    return [term for component in model["components"] for term in component["direct"]]


def tests(node: Json) -> Iterator[Json]:
    """Yield the tests of a tree."""
    if "if" in node:
        yield node["if"]
        yield from tests(node["yes"])
        yield from tests(node["no"])


def leaf_paths(node: Json, way: Way = ()) -> Iterator[Any]:
    """Yield (number of the leaf, ((test, side), ...)), the yes side first."""
    if "if" not in node:
        yield node["leaf"], way
        return
    yield from leaf_paths(node["yes"], (*way, (node["if"], True)))
    yield from leaf_paths(node["no"], (*way, (node["if"], False)))


def columns(model: Json) -> list[Json]:
    """Return the columns of all tests and direct terms."""
    tested = [test["column"] for tree in trees(model) for test in tests(tree["root"])]
    return tested + [term["column"] for term in direct_terms(model)]


def operands(column: Json) -> list[Json]:
    """Return the one-variable columns that a column is made of."""
    return [column] if "source" in column else [column["left"], column["right"]]


def known_by(column: Json) -> str:
    """Return a text that is the same for equal columns; 0 and -0 are equal."""
    parts = {
        key: known_by(value)
        if isinstance(value, dict)
        else value + 0.0
        if is_number(value)
        else value
        for key, value in column.items()
    }
    return json.dumps(parts, sort_keys=True)


def column_sources(column: Json) -> set[str]:
    """Return the variables that a column reads."""
    return {part["source"] for part in operands(column)}


def tree_sources(tree: Json) -> set[str]:
    """Return the variables that a tree reads."""
    return set().union(*(column_sources(test["column"]) for test in tests(tree["root"])))


def parts(component: Json) -> list[tuple[str, set[str]]]:
    """Return the names and variables of a component's trees and direct terms."""
    found = [(tree["name"], tree_sources(tree)) for tree in component["trees"]]
    return found + [(term["name"], column_sources(term["column"])) for term in component["direct"]]


# ---------------------------------------------------------------- the fields of the file


class Each:
    """An object with any keys."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule


class Either:
    """One of several rules; the first that a value looks like is meant."""

    def __init__(self, *rules: Any) -> None:
        self.rules = rules


def is_number(value: Any) -> bool:
    """Tell whether a value is a number that a 64-bit float can hold."""
    try:
        return type(value) in (int, float) and math.isfinite(float(value))
    except OverflowError:
        return False


KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda v: v is None,
    "text": lambda v: type(v) is str,
    "flag": lambda v: type(v) is bool,
    "number": is_number,
    "amount": lambda v: is_number(v) and v >= 0,
    "positive": lambda v: is_number(v) and v > 0,
    "share": lambda v: is_number(v) and 0 <= v <= 1,
    "part of one": lambda v: is_number(v) and 0 < v <= 1,
    "whole": lambda v: type(v) is int and is_number(v) and v >= 0,
    "from 1": lambda v: type(v) is int and is_number(v) and v >= 1,
    "from 2": lambda v: type(v) is int and is_number(v) and v >= 2,
}

# What each value of the file may be. A rule is a word of `KINDS`; the name of another rule; a
# constant; a pattern, which begins with ^; a list, [item least most]; an object with any keys,
# {value}; one of several, a|b; or the fields of an object, ? after those that may be absent, *rule
# for those of another rule. Old rules are those of version 1, of the first release.
RULES = """\
sha256 = ^[0-9a-f]{64}$
said = ^.*[^ ].*$
when = ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$
release = ^[0-9A-Za-z.+!-]{1,64}$
tree name = ^T[1-9][0-9]*$
direct name = ^D[1-9][0-9]*$
component name = ^C[1-9][0-9]*$
end = null|number
value = kind: 'value', source: text
missing = kind: 'missing', source: text
level = kind: 'level', source: text, levels: [text 1]
interval = kind: 'interval', source: text, low: end, high: end
step = kind: 'step', source: text, threshold: number
hinge = kind: 'hinge', source: text, knot: number, side: 'above'|'below', end?: number
scale = kind: 'scale', source: text, formula: 'log'|'sqrt'|'clip'|'distance',
    low?: number, high?: number, centre?: number
item = level|interval|step
part = value|hinge|scale|level|interval|step
pattern = kind: 'pattern', left: item, right: item
pair = kind: 'pair', operation: 'product'|'absolute difference'|'sum'|'difference',
    left: part, right: part
column = part|missing|pattern|pair
plain test = column: column
threshold = column: column, at_most: number, missing_holds: flag
test = plain test|threshold
reached leaf = leaf: whole
branch = if: test, yes: node, no: node
node = reached leaf|branch
leaf = coefficient: number, support: amount, target_total: number, penalty: positive
tree = name: tree name, root: node, leaves: [leaf 2]
direct = name: direct name, column: column, centre: number, scale: positive, *leaf
component = name: component name, sources: [text 1], trees: [tree], direct: [direct]
class direct = name: direct name, column: column, centre: number, scale: positive, support: amount,
    penalty: positive, coefficient: [number 3], target_total: [number 3]
class leaf = support: amount, penalty: positive, coefficient: [number 3], target_total: [number 3]
class tree = name: tree name, root: node, leaves: [class leaf 2]
class component = name: component name, sources: [text 1], trees: [class tree],
    direct: [class direct]
old leaf = coefficient: number, support: amount, events: amount, penalty: positive
old tree = name: tree name, root: node, leaves: [old leaf 2]
old direct = name: direct name, column: column, centre: number, scale: positive, *old leaf
old component = name: component name, sources: [text 1], trees: [old tree], direct: [old direct]
variable = name: text, kind: 'number'|'category', levels: [text], has_missing: flag, pooled: flag,
    numeric?: flag
schema = named: flag, variables: [variable 1]
direction = 'increasing'|'decreasing'
limits = monotone: {direction}, exclude: [text], linear_only: [text], interactions: null|[[text 2]],
    penalty: {positive}
class limits = *limits, monotone: {{direction}}
policy = 'component'|'strict'|'separate'|'paper'
settings = ownership: policy, max_component_sources: from 1, budget: whole, min_gain: amount,
    vocabulary: 'shapes'|'hug'|'frequent'|'original', pattern_order: 1|2, limits: limits,
    max_trees: whole, max_leaves: from 2, max_depth: from 1, leaf_ridge: amount, lookahead: flag,
    min_samples_leaf: positive, learning_rate: positive, audit_price: amount, reassign: flag,
    criterion: 'newton'|'label', l1: positive|'cv'|'4/n', l1_ratio: null|part of one,
    max_inspection_units: null|whole, conventions: 'ours'|'paper', profile: 'safe'|'full'|'none',
    form?: 'any'|'rules', shapes?: 'one'|'free'
class settings = *settings, limits: class limits
family = 'values'|'levels'|'curves'|'steps'|'all'
option = shape_family: family, n_trees: whole, n_pairs: null|whole, max_conditions?: from 1,
    l1_ratio: share, l1: positive, apart?: flag
old option = menu: family, n_trees: whole, n_pairs: null|whole, max_conditions?: from 1,
    l1_ratio: share, l1: positive, apart?: flag
tried = *option, miu: whole, deviance: amount, error: amount, components: whole
old tried = *old option, miu: whole, deviance: amount, error: amount, components: whole
selection = price: amount, many?: positive, compared: whole, null_deviance: null|amount,
    chosen: option|old option, frontier: [tried|old tried], interactions?: interactions,
    promises?: {direction}, reference?: reference
pairing = variables: [text 2 2], gain: number, threshold: positive
reference = rows: whole, deviance?: amount, gain?: amount, error?: amount, null_deviance?: amount,
    variables?: [text 1]
interactions = groups: [[text 2 4]], evidence: [pairing], strongest: number, threshold: amount
objective = l1: positive, l1_ratio: share, value: number, kkt_residual: amount, tolerance: positive,
    lambda_max: amount, terms_offered: whole, converged: flag
round = accepted: flag, leaves: whole, step: amount, reason: text, deviance_before: amount,
    deviance_after: amount
signed = term: text, sign: -1|0|1
certificate = variable: text, direction: direction, component: null|text, leaf_pairs: whole,
    direct: [signed]
class certificate = *certificate, class: text
stopped = max_fit_seconds: amount, stage: text, reproducible: False
validation = by: 'content'|'groups'|'splits', folds: from 1, learned_from_rows?: from 1,
    searched_rows?: from 1, stopped?: stopped
measure = mean: amount, error: null|amount
mean share = mean: share, error: null|amount
cross_validation = by: 'content'|'groups', folds: from 1, rows: from 1, log_loss: measure,
    brier: mean share, auc: null|mean share, miu: measure
class_validation = by: 'content'|'groups', folds: from 1, rows: from 1, log_loss: measure,
    accuracy: mean share, auc: null|mean share, miu: measure
mean number = mean: number, error: null|amount
number_validation = by: 'content'|'groups', folds: from 1, rows: from 1, mae: measure,
    rmse: measure, deviance_explained: null|mean number, miu: measure,
    gini?: null|mean number, calibration_ratio?: null|mean number
survival_validation = by: 'content'|'groups', folds: from 1, rows: from 1,
    concordance: null|mean share, brier: null|mean share, brier_explained: null|mean number,
    miu: measure
typical = prediction: number, error: positive
calibration = by: 'rows'|'groups', total: positive, scores: [amount 1], up_to: [positive 1],
    table: null|sha256, errors?: [typical 2]
training = rows: positive, distinct_rows: from 1, class_factors?: [positive 2 2],
    validation: validation, vocabulary_size: whole, rounds: [round], selection: null|selection,
    objective: null|objective, ties: [[text 2]], monotone: [certificate],
    mean_contributions: {number},
    cross_validation?: cross_validation|number_validation|class_validation|survival_validation,
    calibration?: calibration, importances?: {amount}
class training = *training, class_factors?: [positive 3], mean_contributions: {[number 3]},
    monotone: [class certificate]
old training = *training, events: amount
profiled = name: text, kind: 'number'|'category', distinct: whole, missing: share|'<5'|'hidden',
    quantiles: null|[end 5 5], extremes: null|[number 2 2], levels: {amount|'<5'|'hidden'},
    equal_parts?: null|[number 2 21], values?: null|[number 2 10]
data = rows: positive, distinct_rows: null|from 1, sha256: null|sha256, profile: null|[profiled]
metrics = rows: positive, log_loss: amount, brier: share, auc: share
number_metrics = rows: positive, deviance_explained: null|number, mae: amount, rmse: amount
class_metrics = rows: positive, log_loss: amount, brier: amount, accuracy: share
survival_metrics = rows: positive, events: amount, concordance: null|share, log_likelihood: number
state = terms: whole, conditions: whole, intercept: number, model: sha256,
    metrics: null|metrics|number_metrics|survival_metrics
class state = terms: whole, conditions: whole, intercept: [number 3], model: sha256,
    metrics: null|class_metrics
edit = operation: 'drop-term'|'drop-source'|'merge'|'refit', names: [text]
entry = number: from 1, by: said, when: when, reason: said, operations: [edit 1], forced: flag,
    withdrawn: [text], restored: [text], table: null|sha256, before: state, after: state,
    previous: null|sha256, hash: sha256
class entry = *entry, before: class state, after: class state
loss = name: 'binomial'|'squared_error'|'poisson'|'gamma'|'tweedie'|'cox'|'discrete',
    link: 'logit'|'identity'|'log', power?: number
label = text|number|flag
name = null|text
units = centre: number, scale: positive, weight: positive
two classes = classes: [label 2 2], positive: 0|1, total: amount, name?: text
class loss = name: 'multinomial', link: 'softmax', power?: number
several classes = classes: [label 3], totals: [amount 3], name?: text
a number = name: name, exposure: name, offset: name, total: number, units: units, least?: 0
status = cause: label, causes: [label 1 10], censored: label
steps = times: [amount], hazard: [amount], end: amount
a time = time: name, event: name, ties: 'efron'|'breslow'|'grouped', total: amount, has_entry: flag,
    entry_column: name, strata_column: name, strata: [label], grid: [positive],
    baseline: [steps 1], status?: status
target = two classes|a number|a time
task = 'binary'|'regression'|'survival'
file = format: 'rpte-model', version: 2, library_version: release, schema: schema, task: task,
    loss: loss, target: target, scores: 1, offset: null, baseline: null, bound: whole,
    intercept: number, ownership: policy, settings: settings, components: [component],
    training: training, data: data, ledger?: [entry 1], hash: sha256
class file = format: 'rpte-model', version: 2, library_version: release, schema: schema,
    task: 'multiclass', loss: class loss, target: several classes, scores: from 1, offset: null,
    baseline: null, bound: whole, intercept: [number 3], ownership: policy,
    settings: class settings, components: [class component], training: class training, data: data,
    ledger?: [class entry 1], hash: sha256
causes file = format: 'rpte-model', version: 2, library_version: release, task: 'competing risks',
    models: [file 2 10], hash: sha256
old file = format: 'rpte-model', version: 1, library_version: release, schema: schema,
    classes: [label 2 2], positive: 0|1, bound: whole, intercept: number, ownership: policy,
    settings: settings, components: [old component], training: old training, data: data,
    ledger?: [entry 1], hash: sha256"""
CONSTANT = re.compile(r"'.*'|-?\d+|False")


def rule_of(text: str) -> Any:
    """Return the rule that a text stands for, other than fields."""
    words = text.split("|")
    listed = re.fullmatch(r"\[(.+?)((?: \d+)*)\]", text)
    if text.startswith("^"):
        return text
    if listed is not None:
        return [rule_of(listed[1]), *map(int, listed[2].split())]
    if text.startswith("{"):
        return Each(rule_of(text[1:-1]))
    constants = tuple(literal_eval(word) for word in words if CONSTANT.fullmatch(word))
    if len(constants) == len(words):
        return constants
    rules = [rule_of(word) for word in words if not CONSTANT.fullmatch(word)] if words[1:] else []
    return Either(*rules, *([constants] if constants else [])) if rules else text


def read_rules(text: str) -> dict[str, Any]:
    """Return rules by name; one that names another's fields stands below it."""
    found: dict[str, Any] = {}
    for line in re.sub(",\n +", ", ", text).splitlines():
        name, rule = line.split(" = ")
        found[name] = {} if ": " in rule else rule_of(rule)
        for field in rule.split(", ") if ": " in rule else ():
            key, _, own = field.partition(": ")
            found[name] |= {key: rule_of(own)} if own else found[key[1:]]
    return found


FORM = read_rules(RULES)
NEW = ("task", "loss", "target", "scores", "offset", "baseline")
OLD = ("classes", "positive")


def as_version_2(document: Json) -> Json:
    """Return the document of a file of version 1 with the fields of version 2."""
    target = {key: document[key] for key in OLD}
    return {
        **without(document, *OLD),
        "version": 2,
        "task": "binary",
        "loss": {"name": "binomial", "link": "logit"},
        "target": {**target, "total": document["training"]["events"]},
        "scores": 1,
        "offset": None,
        "baseline": None,
        "components": renamed(document["components"], "events", "target_total"),
        "training": without(document["training"], "events"),
    }


def as_version_1(document: Json) -> Json:
    """Return the document of a file of version 2 with the fields of version 1."""
    target = document["target"]
    return {
        **without(document, *NEW),
        **without(target, "total"),
        "version": 1,
        "components": renamed(document["components"], "target_total", "events"),
        "training": {**document["training"], "events": target["total"]},
    }


def renamed(value: Any, old: str, new: str) -> Any:
    """Return components in which a field has another name."""
    if isinstance(value, dict):
        return {new if key == old else key: renamed(v, old, new) for key, v in value.items()}
    return [renamed(item, old, new) for item in value] if isinstance(value, list) else value


# ---------------------------------------------------------------- several classes


def is_several(document: Json) -> bool:
    """Tell whether a file has a score for each of several classes."""
    return bool(document["version"] == 2 and document["task"] == "multiclass")


def apart(document: Json, k: int) -> Json:
    """Return the model of one score of several: its class, and all others.

    Monotone limits are of all scores together, and left out.
    """
    training, target, settings = document["training"], document["target"], document["settings"]

    def own(term: Json) -> Json:
        return {**term, **{name: term[name][k] for name in ("coefficient", "target_total")}}

    return {
        **document,
        "task": "binary",
        "loss": {"name": "binomial", "link": "logit"},
        "target": {"classes": [0, 1], "positive": 1, "total": target["totals"][k]},
        "scores": 1,
        "intercept": document["intercept"][k],
        **({"ledger": ledger_apart(document, k)} if "ledger" in document else {}),
        "components": [
            {
                **component,
                "trees": [
                    {**tree, "leaves": [own(leaf) for leaf in tree["leaves"]]}
                    for tree in component["trees"]
                ],
                "direct": [own(term) for term in component["direct"]],
            }
            for component in document["components"]
        ],
        "settings": {**settings, "limits": {**settings["limits"], "monotone": {}}},
        "training": {
            **without(training, "cross_validation"),
            "monotone": [],
            "class_factors": [1.0, 1.0],
            "mean_contributions": {
                name: each[k] for name, each in training["mean_contributions"].items()
            },
        },
    }


def ledger_apart(document: Json, k: int) -> list[Json]:
    """Return the ledger as one score has it: its intercepts, and no figures, which are of all."""

    def own(state: Json) -> Json:
        return {**state, "intercept": state["intercept"][k], "metrics": None}

    ends = ("before", "after")
    return [{**entry, **{end: own(entry[end]) for end in ends}} for entry in document["ledger"]]


def each_class(document: Json) -> list[Json]:
    """Return the model of each score."""
    return [apart(document, k) for k in range(document["scores"])]


def outline(document: Json) -> Json:
    """Return the structure as one model: each term with its largest coefficient in any class."""
    models = each_class(document)
    means = dict(models[0]["training"]["mean_contributions"])
    components = []
    for same in zip(*(model["components"] for model in models), strict=True):
        direct = []
        for terms in zip(*(component["direct"] for component in same), strict=True):
            sizes = [abs(term["coefficient"]) for term in terms]
            k = sizes.index(max(sizes))
            direct.append(terms[k])
            own = models[k]["training"]["mean_contributions"]
            means[terms[k]["name"]] = own[terms[k]["name"]]
        grown = [widest_tree(trees) for trees in zip(*(c["trees"] for c in same), strict=True)]
        for tree in grown:
            sums = [leaf["coefficient"] * leaf["support"] for leaf in tree["leaves"]]
            means[tree["name"]] = sum(sums) / document["training"]["rows"]
        components.append({**same[0], "trees": grown, "direct": direct})
    training = {**models[0]["training"], "mean_contributions": means}
    return {**models[0], "components": components, "training": training}


def widest_tree(same: Sequence[Json]) -> Json:
    """Return a tree of several classes with the largest coefficient of each leaf in any class."""
    leaves = []
    for alike in zip(*(tree["leaves"] for tree in same), strict=True):
        size = max((leaf["coefficient"] for leaf in alike), key=abs)
        leaves.append({**alike[0], "coefficient": size})
    return {**same[0], "leaves": leaves}


def class_terms(model: Json) -> Iterator[tuple[str, Json]]:
    """Yield the leaves and direct terms of several classes, with their names."""
    for tree in trees(model):
        for n, leaf in enumerate(tree["leaves"], 1):
            yield f"{tree['name']}.L{n}", leaf
    for term in direct_terms(model):
        yield term["name"], term


def sense_of_scores(model: Json) -> Fault:
    """Lists have an entry for each score; classes are of one type, in order."""
    scores, target, training = model["scores"], model["target"], model["training"]
    if scores < 3 or "power" in model["loss"]:
        yield f"{scores} scores, where several classes have 3 or more, and their loss no power"
    lists: dict[str, Any] = {"intercept": model["intercept"]}
    lists |= {name: target[name] for name in ("classes", "totals")}
    lists["class_factors"] = training.get("class_factors")
    lists |= {f"the mean of {name}": v for name, v in training["mean_contributions"].items()}
    for number, entry in enumerate(model.get("ledger", ()), 1):
        told = {f"the intercept {when} edit {number}": entry[when] for when in ("before", "after")}
        lists |= {name: state["intercept"] for name, state in told.items()}
    for title, term in class_terms(model):
        lists |= {f"{name} of {title}": term[name] for name in ("coefficient", "target_total")}
    for name, value in lists.items():
        if not isinstance(value, list) or len(value) != scores:
            yield f"{name} has no entry for each of {scores} scores"
    labels = target["classes"]
    alike = len({type(label) for label in labels}) == 1
    if not alike or any(not a < b for a, b in pairwise(labels)):
        yield "the classes are not of one type, different, and in order"
    yield from sense_of_figures(model)
    yield from sense_of_class_limits(model)


def sense_of_class_limits(model: Json) -> Fault:
    """A monotone limit is of a number and of some classes, and lets some score move."""
    numbers = {v["name"] for v in model["schema"]["variables"] if v["kind"] == "number"}
    labels = {str(label) for label in model["target"]["classes"]}
    for name, asked in model["settings"]["limits"]["monotone"].items():
        if name not in numbers:
            yield f"a monotone limit names {name!a}, no number"
        if not asked or not set(asked) <= labels:
            yield f"the monotone limit of {name!a} names no class, or one that there is not"
        elif not any(any(ways) for ways in class_ways(model, {"kind": "value", "source": name})):
            yield f"the monotone limit of {name!a} lets no score move"


def class_ways(model: Json, column: Json) -> list[tuple[bool, bool]]:
    """Return whether the coefficient of each class may be above 0, and below.

    A class that must rise with a number may not fall, and no other class may rise.
    """
    limits = model["settings"]["limits"]["monotone"]
    names = [str(label) for label in model["target"]["classes"]]
    ways = [(True, True)] * len(names)
    for source in column_sources(column) & set(limits):
        effect = moves(column, source)
        if effect is None:
            return [(False, False)] * len(names)
        for label, word in limits[source].items() if effect else ():
            up = (word == "increasing") == (effect > 0)
            for k, name in enumerate(names):
                above = up == (name == label)
                ways[k] = ways[k][0] and above, ways[k][1] and not above
    return ways


def fault_classes(model: Json) -> Fault:
    """Every part speaks of some class; cases of terms, and of training, are those of all."""
    rows = model["training"]["rows"]
    if not near(math.fsum(model["target"]["totals"]), rows, rows):
        yield f"the cases of the classes do not add up to {rows:g}"
    parts = [(tree["name"], tree["leaves"]) for tree in trees(model)]
    parts += [(term["name"], [term]) for term in direct_terms(model)]
    for name, terms in parts:
        if not any(size for term in terms for size in term["coefficient"]):
            yield f"{name} is 0 in every class"
    for name, term in class_terms(model):
        if not near(math.fsum(term["target_total"]), term["support"], rows):
            yield f"the cases of the classes in {name} do not add up to its support"


def fault_canonical(model: Json) -> Fault:
    """Intercepts add up to 0; without a ridge the middle coefficient of every term is 0.

    Of a term under a monotone limit, some coefficient.
    """
    objective, start = model["training"]["objective"], model["intercept"]
    if abs(sum(start)) > ROUNDING * (1.0 + max(map(abs, start))):
        yield f"the intercepts add up to {sum(start):g}, not to 0"
    if objective is None or objective["l1_ratio"] != 1.0:
        return
    for name, term in class_terms(model):
        sizes = term["coefficient"]
        above, below = sum(s > 0 for s in sizes), sum(s < 0 for s in sizes)
        free = "column" not in term or all(map(all, class_ways(model, term["column"])))
        if (free and 2 * max(above, below) > len(sizes)) or 0.0 not in sizes:
            yield f"{name}: {above} coefficients above 0, {below} below"


def softmax(scores: list[float]) -> list[float]:
    """Return the probabilities of the classes, which go with the exponentials of their scores."""
    odds = [math.exp(value - max(scores)) for value in scores]
    return [each / sum(odds) for each in odds]


# ---------------------------------------------------------------- competing risks


def is_of_causes(document: Json) -> bool:
    """Tell whether a file holds the file of each of several causes."""
    return bool(document["version"] == 2 and document["task"] == CAUSES)


def sense_of_causes(document: Json) -> Fault:
    """Each file has its hash; they are of all causes of one table, in order."""
    models = document["models"]
    for number, model in enumerate(models):
        if model["hash"] != digest(without(model, "hash")):
            yield f"models[{number}] does not match its hash"
    status = [model["target"].get("status") for model in models]
    if None in status or any(model["task"] != "survival" for model in models):
        yield "models are not of causes of an event"
        return
    if status != [{**status[0], "cause": cause} for cause in status[0]["causes"]]:
        yield "models have not one entry for each cause, in order"
    first, *others = map(shared_by_causes, models)
    for name in first:
        if any(told[name] != first[name] for told in others):
            yield f"models have not the same {name}"
    leaves: dict[str, int] = {}
    for tree in chain.from_iterable(map(trees, models)):
        if leaves.setdefault(tree["name"], len(tree["leaves"])) != len(tree["leaves"]):
            yield f"{tree['name']} has not the same number of leaves for all causes"


def shared_by_causes(model: Json) -> Json:
    """Return what the files of all causes have in common."""
    target = model["target"]
    return {
        **{name: model[name] for name in ("schema", "data")},
        **{name: target[name] for name in ("strata", "grid", "ties")},
        "loss": model["loss"]["name"],
        "end": min(steps["end"] for steps in target["baseline"]),
    }


def outline_of_causes(document: Json) -> Json:
    """Return the structure as one model: each term with its largest coefficient for any cause."""
    found: dict[str, Json] = {}
    for model in document["models"]:
        for part in (*trees(model), *direct_terms(model)):
            if (before := found.get(part["name"])) is None:
                found[part["name"]] = part
            elif "leaves" in part:
                found[part["name"]] = widest_tree([before, part])
            elif abs(part["coefficient"]) > abs(before["coefficient"]):
                found[part["name"]] = part
    grown = [(part, tree_sources(part)) for part in found.values() if "leaves" in part]
    single = [(part, column_sources(part["column"])) for part in found.values() if "column" in part]
    components = []
    for number, sources in enumerate(connected([own for _, own in (*grown, *single)]), 1):
        own = {
            "trees": [part for part, read in grown if read <= sources],
            "direct": [part for part, read in single if read <= sources],
        }
        components.append({"name": f"C{number}", "sources": sorted(sources), **own})
    return {**document["models"][0], "components": components}


def fault_causes(document: Json) -> Fault:
    """A term is the same for all causes that have it, on the same table and by the same rules."""
    models = document["models"]
    known: dict[str, Json] = {}
    for name in ("schema", "ownership", "settings", "bound", "data"):
        if any(model[name] != models[0][name] for model in models):
            yield f"the causes do not have the same {name}"
    for model in models:
        for part in (*trees(model), *direct_terms(model)):
            own = without(part, "coefficient", "target_total", "leaves")
            leaves = part.get("leaves", ())
            own["leaves"] = [without(leaf, "coefficient", "target_total") for leaf in leaves]
            if known.setdefault(part["name"], own) != own:
                yield f"{part['name']} is another term than that of other causes"


def causes_checks(document: Json) -> Iterator[tuple[str, list[str], str]]:
    """Yield the checks of all causes: of their structure together, and of each."""
    structure = outline_of_causes(document)
    terms = audit_load(structure)[0]
    told = f"{terms} terms for {len(document['models'])} causes"
    yield "one structure for all causes", list(fault_causes(document)), told
    together = size_rules(structure)
    for name, rule, evidence in together:
        yield name, list(rule(structure)), evidence
    yield from of_all_causes(document, model_checks, [name for name, *_ in together])


def of_all_causes(
    document: Json, checks: Callable[[Json], Any], but: Collection[str] = ()
) -> Iterator[tuple[str, list[str], str]]:
    """Yield each check once, with the faults that it has for any cause."""
    found: dict[str, tuple[list[str], Json]] = {}
    for model in document["models"]:
        cause = model["target"]["status"]["cause"]
        for name, faults, evidence in checks(model):
            own, told = found.setdefault(name, ([], {}))
            own += [f"{cause!a}: {fault}" for fault in faults]
            told[f"{cause!a}: {evidence}"] = evidence
    for name, (faults, told) in found.items():
        if name not in but:
            said = told.values() if len(set(told.values())) == 1 else told
            yield name, faults, "; ".join(dict.fromkeys(said))


def cause_columns(
    document: Json, table: Table, beside: Beside, horizons: list[float]
) -> dict[str, list[Any]]:
    """Return the score of each cause; survival and incidences of all until each horizon."""
    models = document["models"]
    names = [cause_name(model["target"]).replace(" ", "_") for model in models]
    scores = [[score(model, row) for row in table.rows] for model in models]
    found: dict[str, list[Any]] = {f"score_{n}": own for n, own in zip(names, scores, strict=True)}
    strata, end = strata_of(models[0], table, beside), shared_by_causes(models[0])["end"]
    ratios = [[mean_of("log", value) for value in own] for own in zip(*scores, strict=True)]
    joint = [joint_hazards(models, k) for k in range(len(models[0]["target"]["baseline"]))]
    for time in horizons:
        refuse_horizon(time, end)
        rows = zip(ratios, strata, strict=True)
        own = [joint_parts([s for t, s in joint[k] if t <= time], ratio) for ratio, k in rows]
        for k, name in enumerate(["survival", *(f"incidence_{name}" for name in names)]):
            found[f"{name}_{level_name(time)}"] = [each[k] for each in own]
    return found


def cause_name(target: Json) -> str:
    """Return what a cause is called in the columns of scores."""
    cause = target["status"]["cause"]
    return cause if isinstance(cause, str) else f"{target['event'] or 'cause'} {cause}"


def joint_hazards(models: list[Json], stratum: int) -> list[tuple[float, list[float]]]:
    """Return each time of an event, and what it adds to the hazards of all causes.

    So that incidences without terms are those of Aalen and Johansen, the shares d / n that have an
    event become hazards together, by -log(1 - their sum).
    """
    targets = [model["target"] for model in models]
    rises: list[dict[float, float]] = []
    for target in targets:
        steps = target["baseline"][stratum]
        sums = zip(steps["times"], steps["hazard"], [0.0, *steps["hazard"]], strict=False)
        rises.append({time: high - low for time, high, low in sums})
    found = []
    for time in sorted(set().union(*rises)):
        shares = [own.get(time, 0.0) for own in rises]
        if targets[0]["ties"] == "grouped":
            shares = [-math.expm1(-share) for share in shares]
        total = math.fsum(shares)
        together = -math.log1p(-min(total, -math.expm1(-LARGEST_HAZARD)))
        found.append((time, [share * (together / total) if total else 0.0 for share in shares]))
    return found


def joint_parts(steps: list[list[float]], ratios: Sequence[float]) -> list[float]:
    """Return the probability of no event until the last step, then of one of each cause."""
    left, parts = 0.0, [0.0] * len(ratios)
    for hazards in steps:
        own = [hazard * min(ratio, LARGEST) for hazard, ratio in zip(hazards, ratios, strict=True)]
        total = sum(own)
        came = math.exp(-left) * -math.expm1(-total)
        parts = [p + came * (u / total if total else 0.0) for p, u in zip(parts, own, strict=True)]
        left += total
    return [math.exp(-left), *parts]


# ---------------------------------------------------------------- rules and values


def _is_real(rule: Any, place: str) -> bool:
    """Tell whether a number is one that the library writes with a point, whatever it is."""
    reals = ("number", "amount", "positive", "share", "part of one")
    return rule in reals and place.startswith((".components", ".intercept"))


def misfits(document: Any) -> Fault:
    """Yield the fields that are absent, unknown, or not what they may be."""
    first = {"multiclass": "class file", CAUSES: "causes file"}.get(document.get("task"), "file")
    first = "old file" if document["version"] == 1 else first
    stack: list[tuple[Any, Any, str]] = [(document, first, "")]
    while stack:
        value, rule, place = stack.pop()
        rule = meant(value, rule)
        if not looks_like(value, rule):
            yield f"{place.lstrip('.') or 'the document'} cannot be {str(value)[:40]!a}"
        elif "ledger" in document and type(value) is int and _is_real(rule, place):
            # A ledger holds hashes of the text: of another that reads the same it says nothing.
            yield f"{place.lstrip('.')} is {value}, and not {value}.0 as the library writes it"
        elif isinstance(rule, dict):
            inner = {key.removesuffix("?"): own for key, own in rule.items()}
            stack += [(item, inner[key], f"{place}.{key}") for key, item in value.items()]
        elif isinstance(rule, Each):
            stack += [(item, rule.rule, f"{place}.{key}") for key, item in value.items()]
        elif isinstance(rule, list):
            stack += [(item, rule[0], f"{place}[{n}]") for n, item in enumerate(value)]


def meant(value: Any, rule: Any) -> Any:
    """Return the rule behind names and choices."""
    while isinstance(rule, Either) or (isinstance(rule, str) and rule in FORM):
        if isinstance(rule, str):
            rule = FORM[rule]
        else:
            rule = next((own for own in rule.rules if looks_like(value, own)), rule.rules[0])
    return rule


def looks_like(value: Any, rule: Any) -> bool:
    """Tell whether a value fits a rule, what it holds aside."""
    if isinstance(rule, str) and rule.startswith("^"):
        return type(value) is str and re.search(rule[:-1] + r"\Z", value) is not None
    if isinstance(rule, str):
        return looks_like(value, FORM[rule]) if rule in FORM else KINDS[rule](value)
    if isinstance(rule, Either):
        return any(looks_like(value, own) for own in rule.rules)
    if isinstance(rule, tuple):
        return any(type(value) is type(own) and value == own for own in rule)
    if isinstance(rule, list):
        least = rule[1] if len(rule) > 1 else 0
        most = rule[2] if len(rule) > 2 else math.inf
        return isinstance(value, list) and least <= len(value) <= most
    if isinstance(rule, Each):
        return isinstance(value, dict)
    known = {key.removesuffix("?") for key in rule}
    needed = {key for key in rule if not key.endswith("?")}
    if not isinstance(value, dict) or not needed <= set(value) <= known:
        return False
    return "kind" not in rule or rule["kind"] == (value["kind"],) or len(rule["kind"]) > 1


# ---------------------------------------------------------------- the sense of the fields


def sense_of_schema(model: Json) -> Fault:
    """Variables have names of their own, and each category its levels once."""
    schema, seen = model["schema"], set()
    for place, variable in enumerate(schema["variables"]):
        name, levels = variable["name"], variable["levels"]
        if not name or name in seen or (not schema["named"] and name != f"x{place}"):
            yield f"a variable cannot be called {name!a}"
        seen.add(name)
        if len(set(levels)) < len(levels):
            yield f"a level of {name!a} is there twice"
        if variable["pooled"] and not is_pooled(variable):
            yield f"{name!a} cannot be pooled"
        if variable.get("numeric") and not of_two_numbers(variable):
            yield f"{name!a} is not a category of two numbers"


def of_two_numbers(variable: Json) -> bool:
    """Tell whether the levels of a category are two numbers, in order."""
    numbers = [n for n in map(number_of, variable["levels"]) if n is not None]
    if variable["kind"] != "category" or variable["pooled"] or len(numbers) != 2:
        return False
    return numbers[0] < numbers[1] and [*map(level_name, numbers)] == variable["levels"]


def sense_of_target(model: Json) -> Fault:
    """Task, loss and target go together; two classes differ, and a number has its own rules."""
    task, loss, target = model["task"], model["loss"], model["target"]
    if (task == "binary") != (loss["name"] == "binomial") or LINKS[loss["name"]] != loss["link"]:
        yield f"the loss '{loss['name']}' with the link '{loss['link']}' in the task '{task}'"
    fields = {"binary": "classes", "regression": "units", "survival": "baseline"}
    if fields[task] not in target:
        yield f"the target is not one of the task '{task}'"
    elif task == "binary":
        yield from sense_of_classes(target)
    elif task == "survival":
        yield from sense_of_times(loss, target)
    else:
        yield from sense_of_number(loss, target)
    if ("power" in loss) != (loss["name"] == "tweedie"):
        yield "a loss has a power where it is 'tweedie', and only there"


def sense_of_number(loss: Json, target: Json) -> Fault:
    """A power lies between 1 and 2; squared error has no exposure, a logarithm no minus sign."""
    power = loss.get("power", 1.5)
    if not 1 < power < 2 or round(power, 6) != power:
        yield f"the power {power} is not one of six decimals between 1 and 2"
    if loss["link"] == "identity":
        if target["exposure"] is not None:
            yield "squared error has no exposure"
        if "least" in target and (target["offset"] is not None or target["total"] < 0):
            yield "the least target is 0 though there is an offset, or targets add up to less"
        return
    if "least" in target:
        yield "a least target is for squared error: under a logarithm none is below 0"
    if target["units"]["centre"] != 0:
        yield "the centre of a target is not 0 though its mean has a logarithm"
    if target["total"] < 0:
        yield "the target adds up to less than 0 though its mean has a logarithm"


def sense_of_times(loss: Json, target: Json) -> Fault:
    """Baselines rise, one for each stratum; discrete hazards have a grid, which rises too."""
    if loss["name"] not in HAZARDS:
        yield f"the loss '{loss['name']}' is not one of times"
    if (loss["name"] == "discrete") != (target["ties"] == "grouped"):
        yield f"the ties '{target['ties']}' with the loss '{loss['name']}'"
    if (target["ties"] == "grouped") != bool(target["grid"]):
        yield "a grid is there for discrete hazards, and for these alone"
    if any(not a < b for a, b in pairwise(target["grid"])):
        yield "the grid does not rise"
    if len({label_name(label) for label in target["strata"]}) < len(target["strata"]):
        yield "a stratum is there twice"
    if len(target["baseline"]) != max(1, len(target["strata"])):
        yield "there is not one baseline for each stratum"
    for steps in target["baseline"]:
        times, hazard = steps["times"], steps["hazard"]
        if not times or len(times) != len(hazard) or any(not a < b for a, b in pairwise(times)):
            yield "a baseline has not one hazard for each of its times, which rise"
        elif any(a > b for a, b in pairwise(hazard)):
            yield "a cumulated hazard falls"
        elif steps["end"] < times[-1]:
            yield "a baseline ends before the last of its times"
    if "status" in target:
        yield from sense_of_status(target["status"])


def sense_of_status(status: Json) -> Fault:
    """Causes are of one type, different, and in order; the value of no event is none of them."""
    causes, none = status["causes"], status["censored"]
    alike = len({type(label) for label in (none, status["cause"], *causes)}) == 1
    if not alike or any(not a < b for a, b in pairwise(causes)):
        yield "the causes are not of one type, different, and in order"
    if status["cause"] not in causes or none in causes:
        yield f"{status['cause']!a} is none of the causes, or {none!a} is one"


def sense_of_classes(target: Json) -> Fault:
    """Two labels are of one type, in order."""
    first, second = target["classes"]
    if type(first) is not type(second) or not first < second:
        yield f"the classes {first!a} and {second!a} are not two of one type, in order"


def is_pooled(variable: Json) -> bool:
    """Tell whether the last level of a category is the one that stands for others."""
    name = "(other)"
    while name in variable["levels"][:-1]:
        name = f"({name})"
    return bool(variable["kind"] == "category" and variable["levels"][-1:] == [name])


def sense_of_components(model: Json) -> Fault:
    """Parts have names of their own; trees and direct terms read what there is."""
    variables = {v["name"]: v for v in model["schema"]["variables"]}
    names: list[str] = []
    for component in model["components"]:
        names += [component["name"], *(name for name, _ in parts(component))]
        for tree in component["trees"]:
            yield from sense_of_tree(tree, model, variables)
        for term in component["direct"]:
            yield from sense_of_column(term["column"], variables)
            yield from sense_of_counts(term, model)
            if term["centre"] != 0 and not is_centred(term["column"]):
                yield f"the centre of {term['name']} is not 0"
        read = set().union(*(sources for _, sources in parts(component)))
        if component["sources"] != sorted(read):
            yield f"{component['name']} does not read what it says"
    if len(set(names)) < len(names):
        yield "two parts have one name"


def sense_of_tree(tree: Json, model: Json, variables: Json) -> Fault:
    """Tests have a threshold exactly on numbers; leaves count up from 0, as many as described."""
    name, settings = tree["name"], model["settings"]
    for test in tests(tree["root"]):
        yield from sense_of_column(test["column"], variables)
        if ("at_most" in test) != (test["column"]["kind"] in NUMERIC):
            yield f"{name} has a test that lacks a threshold, or has one too many"
    ways = list(leaf_paths(tree["root"]))
    if [number for number, _ in ways] != list(range(len(tree["leaves"]))):
        yield f"{name} describes {len(tree['leaves'])} leaves and draws others"
    if max(len(way) for _, way in ways) > settings["max_depth"]:
        yield f"{name} is deeper than max_depth"
    if len(tree["leaves"]) > settings["max_leaves"]:
        yield f"{name} has more leaves than max_leaves"
    for leaf in tree["leaves"]:
        yield from sense_of_counts(leaf, model)


def sense_of_counts(part: Json, model: Json) -> Fault:
    """A part has no more cases than training; of classes, no more events than cases."""
    rows = model["training"]["rows"]
    if part["support"] > units(model).weight * rows * (1 + ROUNDING):
        yield f"a support of {part['support']:g} in {rows:g} cases"
    if model["loss"]["link"] != "identity" and part["target_total"] < 0:
        yield f"the target adds up to {part['target_total']:g}, less than 0"
    if model["task"] == "regression":
        return
    if part["target_total"] > part["support"] + rows * ROUNDING:
        yield f"{part['target_total']:g} events in a support of {part['support']:g}"


def is_centred(column: Json) -> bool:
    """Tell whether a column may have a centre other than 0: numbers that are not 0 at rest."""
    if column["kind"] != "pair":
        return column["kind"] in ("value", "scale")
    return column["operation"] != "product" or all(map(is_centred, operands(column)))


def sense_of_column(column: Json, variables: Json) -> Fault:
    """A column reads variables and levels that exist, in the way of its kind."""
    sources = [part["source"] for part in operands(column)]
    if len(set(sources)) < len(sources):
        yield f"{sources[0]!a} is read twice by one column"
    if column["kind"] == "pair":
        flags = [part for part in operands(column) if part["kind"] not in NUMERIC]
        if len(flags) == 2 or (flags and column["operation"] != "product"):
            yield "a pair has a 0/1 column where it needs numbers"
    for part in operands(column):
        variable = variables.get(part["source"])
        if variable is None:
            yield f"{part['source']!a} is no variable"
        elif part["kind"] not in ("level", "missing") and variable["kind"] != "number":
            yield f"{part['source']!a} is a category but read as a number"
        elif part["kind"] == "level":
            listed = set(part["levels"])
            if len(listed) < len(part["levels"]) or not listed <= set(variable["levels"]):
                yield f"{part['source']!a} has no such levels, or one is listed twice"
        yield from sense_of_numbers(part)


def sense_of_numbers(part: Json) -> Fault:
    """A formula has its own numbers, in its range; the ends of a range are in order."""
    low, high = part.get("low"), part.get("high")
    if part["kind"] == "scale":
        formula = part["formula"]
        own = (LIMITED if "high" in part else FORMULAS)[formula]
        if {"low", "high", "centre"} & set(part) != own:
            yield f"'{formula}' has other numbers"
        elif formula == "distance" and "high" in part and not low <= part["centre"] <= high:
            yield f"the centre {part['centre']} is beyond {low} or {high}"
        elif (formula == "log" and part["low"] <= 0) or (formula == "sqrt" and part["low"] < 0):
            yield f"'{formula}' cannot begin at {low}"
    if low is not None and high is not None and not low < high:
        yield f"{low} is not below {high}"
    if "end" in part and span_of(part)[0] >= span_of(part)[1]:
        yield f"the end {part['end']} is not {part['side']} {part['knot']}"


def sense_of_settings(model: Json) -> Fault:
    """The policy is stated once, and limits name variables that exist."""
    settings, limits = model["settings"], model["settings"]["limits"]
    kinds = {v["name"]: v["kind"] for v in model["schema"]["variables"]}
    if model["ownership"] != settings["ownership"]:
        yield f"the policy is '{model['ownership']}' and '{settings['ownership']}'"
    together = [name for names in limits["interactions"] or () for name in names]
    for name in (*limits["monotone"], *limits["linear_only"], *together, *limits["penalty"]):
        if name not in kinds:
            yield f"a limit names {name!a}, no variable"
    for name in (*limits["monotone"], *limits["linear_only"]):
        if kinds.get(name) != "number":
            yield f"a limit for numbers names {name!a}"


def sense_of_training(model: Json) -> Fault:
    """The record of the fit goes with the settings, and names the parts that there are."""
    training, solved = model["training"], model["settings"]["reassign"]
    classes = model["task"] == "binary"
    if model["task"] != "regression" and model["target"]["total"] > training["rows"] * (
        1 + ROUNDING
    ):
        yield "there are more events than cases"
    if classes != ("class_factors" in training):
        yield "class factors are for two classes, and for these alone"
    edited = solved and "ledger" in model
    if (training["objective"] is not None) != solved and not edited:
        yield "the objective does not go with reassign"
    if (training["selection"] is not None) != solved:
        yield "the selection does not go with reassign"
    yield from sense_of_figures(model)
    yield from sense_of_calibration(model)
    names = {name for component in model["components"] for name, _ in parts(component)}
    if set(training["mean_contributions"]) != names:
        yield "the stored means are not those of the trees and direct terms"
    sources = {name for component in model["components"] for name in component["sources"]}
    if set(training.get("importances", sources)) != sources:
        yield "the importances are not those of the variables that the model reads"
    leaves = {
        f"{tree['name']}.L{number}": (tree["name"], leaf["coefficient"])
        for tree in trees(model)
        for number, leaf in enumerate(tree["leaves"], 1)
    }
    tied = [name for names in training["ties"] for name in names]
    if len(set(tied)) < len(tied) or not set(tied) <= set(leaves):
        yield "a tie names no leaf, or a leaf twice"
    elif any(len({leaves[n] for n in t}) > 1 or leaves[t[0]][1] == 0 for t in training["ties"]):
        yield "a tie needs leaves of one tree that share one coefficient, not 0"


def sense_of_figures(model: Json) -> Fault:
    """Figures are those of the task; the cross-validated ones are of a fit that was not edited."""
    own, figures = FIGURES[model["task"]], model["training"].get("cross_validation")
    if figures is not None and "ledger" in model:
        yield "the cross-validated figures are of the fit, which was edited since"
    if figures is not None and not own <= set(figures):
        yield "the cross-validated figures are not those of the task"
    states = [entry[when] for entry in model.get("ledger", ()) for when in ("before", "after")]
    if any(state["metrics"] and not own <= set(state["metrics"]) for state in states):
        yield "the figures of the ledger are not those of the task"


def sense_of_calibration(model: Json) -> Fault:
    """What prediction intervals rest on is in order, of a number, and of the fit."""
    found = model["training"].get("calibration")
    if found is None:
        return
    if model["task"] != "regression" or "ledger" in model:
        yield "prediction intervals are of a number, and of a fit that was not edited since"
    scores, up_to = found["scores"], found["up_to"]
    if len(scores) != len(up_to) or up_to[-1] != found["total"]:
        yield "the calibration has no weight for each score, or they do not end in the total"
    if any(a > b for values in (scores, up_to) for a, b in pairwise(values)):
        yield "the scores of the calibration are not in order"
    at = [each["prediction"] for each in found.get("errors", ())]
    if any(not a < b for a, b in pairwise(at)):
        yield "the predictions of the typical errors do not rise"
    if at and model["loss"]["link"] == "log" and at[0] <= 0:
        yield "a typical error is of a prediction that a logarithm does not have"


def sense_of_data(model: Json) -> Fault:
    """The fingerprint has the counts of the training, and the profile its variables."""
    data, training = model["data"], model["training"]
    if abs(data["rows"] - training["rows"]) > ROUNDING * training["rows"]:
        yield "the table has another number of rows than the training"
    if (data["sha256"] is None) != (data["distinct_rows"] is None):
        yield "the table has a hash without a count of distinct rows, or the other way round"
    if (data["distinct_rows"] or 0) > training["distinct_rows"]:
        yield "the table has more distinct rows than the training"
    profile = data["profile"]
    if (profile is None) != (model["settings"]["profile"] == "none"):
        yield "the profile does not go with the settings"
    described = [(v["name"], v["kind"], set(v["levels"])) for v in model["schema"]["variables"]]
    if profile is not None and described != [
        (c["name"], c["kind"], set(c["levels"])) for c in profile
    ]:
        yield "the profile is not of the variables of the schema"
    for column in profile or ():
        parts, values = column.get("equal_parts") or [], column.get("values") or []
        if (parts or values) and column["kind"] != "number":
            yield "the profile has numbers of a category"
        if parts != sorted(parts) or values != sorted(set(values)):
            yield "the numbers of the profile are not in order"


SENSE: tuple[Callable[[Json], Fault], ...] = (
    sense_of_schema,
    sense_of_target,
    sense_of_components,
    sense_of_settings,
    sense_of_training,
    sense_of_data,
)

# ---------------------------------------------------------------- targets and losses

LINKS = {
    "binomial": "logit",
    "squared_error": "identity",
    "poisson": "log",
    "gamma": "log",
    "tweedie": "log",
    "cox": "log",
    "discrete": "log",
}
HAZARDS = ("cox", "discrete")
# What figures of each task hold; those of no other task hold all of it.
FIGURES = {
    "binary": {"auc", "brier"},
    "regression": {"mae"},
    "survival": {"concordance"},
    "multiclass": {"accuracy"},
}
# Powers of the mean, with which the variance goes.
POWERS = {"poisson": 1.0, "gamma": 2.0, "cox": 1.0, "discrete": 1.0}
BALANCED = ("squared_error", "poisson")  # a canonical link: predictions add up to the targets


class Units(NamedTuple):
    """How a fit saw a number: (y - centre) / scale, and weights divided by `weight`."""

    centre: float = 0.0
    scale: float = 1.0
    weight: float = 1.0


def units(model: Json) -> Units:
    """Return the units of the target; two classes have none."""
    return Units(**{name: float(v) for name, v in model["target"].get("units", {}).items()})


def factor(model: Json) -> float:
    """Return what the coefficients of the fit were multiplied by."""
    return units(model).scale if model["loss"]["link"] == "identity" else 1.0


def sum_size(model: Json, weight: float) -> float:
    """Return the size of sums of weight times target, which their rounding goes with."""
    if model["task"] != "regression":
        return weight
    own = units(model)
    return float(weight * (abs(own.centre) + own.scale) + abs(model["target"]["total"]))


def total_of(model: Json, total: float, weight: float) -> float:
    """Return a sum of weight times target from the sums that a fit has seen."""
    own = units(model)
    return own.weight * (own.centre * weight + own.scale * total)


def fit_score(model: Json, value: float) -> float:
    """Return a score as the fit saw it."""
    own = units(model)
    if model["loss"]["link"] == "identity":
        return (value - own.centre) / own.scale
    return value - math.log(own.scale)


def mean_of(link: str, value: float) -> float:
    """Return the mean that a score stands for: a probability, for two classes."""
    if link == "identity":
        return value
    if link == "logit":
        small = math.exp(-abs(value))
        return 1.0 / (1.0 + small) if value >= 0 else small / (1.0 + small)
    return math.exp(min(max(value, -FARTHEST), FARTHEST))


def gradient(loss: Json, value: float, y: float) -> float:
    """Return half the fall of a row's deviance with its score."""
    if loss["link"] != "log":
        return y - mean_of(loss["link"], value)
    power, value = float(POWERS.get(loss["name"]) or loss["power"]), min(max(value, -500.0), 500.0)
    return y * math.exp((1.0 - power) * value) - math.exp((2.0 - power) * value)


def deviance(loss: Json, value: float, y: float) -> float:
    """Return the deviance of a row."""
    name = loss["name"]
    if name == "squared_error":
        return (y - value) * (y - value)
    if name == "binomial":
        return 2.0 * (max(value, 0.0) + math.log1p(math.exp(-abs(value))) - y * value)
    value = min(max(value, -500.0), 500.0)
    if name == "poisson":
        own = y * math.log(y) - y if y > 0 else 0.0
        return 2.0 * max(own - y * value + math.exp(value), 0.0)
    if name == "gamma":
        return 2.0 * max(value - math.log(y) + y * math.exp(-value) - 1.0, 0.0)
    one, two = 1.0 - loss["power"], 2.0 - loss["power"]
    claims, costs = y * math.exp(one * value) / one, math.exp(two * value) / two
    return float(2.0 * max(y**two / (one * two) - claims + costs, 0.0))


def null_score(loss: Json, mean: float) -> float:
    """Return the score of a model without terms."""
    if loss["link"] == "identity":
        return mean
    if loss["link"] == "log":
        return math.log(max(mean, 1e-150))
    rate = min(max(mean, 1e-15), 1 - 1e-15)
    return math.log(rate / (1 - rate))


# ---------------------------------------------------------------- scoring


class Cell(NamedTuple):
    """One cell of a row: a number, a level (or special code), or missing."""

    number: float | None = None
    level: str | None = None


def logarithm(x: float) -> float:
    """Return log(x) as the model file defines it: from correctly rounded operations alone."""
    m, k = math.frexp(x)
    if m < 0.7071067811865476:
        m, k = 2.0 * m, k - 1
    top, bottom = m - 1.0, m + 1.0
    lost = m - (bottom - 1.0)
    short, high = single(bottom), single(top / bottom)
    low = (((top - high * short) - high * (bottom - short)) - high * lost) / bottom
    s = high + low
    series = 0.0
    for n in range(12, 0, -1):
        series = (s * s) * (series + 1.0 / (2 * n + 1))
    whole = k * float.fromhex("0x1.62e42feep-1")
    total = whole + 2.0 * high
    left = 2.0 * high - (total - whole)
    small = 2.0 * low + (left + k * float.fromhex("0x1.a39ef35793c76p-33"))
    return total + (2.0 * s * series + small)


def exponential(x: float) -> float:
    """Return exp(x) as the hash of a table needs it: from correctly rounded operations alone."""
    x = min(max(x, -800.0), 800.0)
    k = round(x * 1.4426950408889634)
    rest = (x - k * float.fromhex("0x1.62e42feep-1")) - k * float.fromhex("0x1.a39ef35793c76p-33")
    series = 1.0
    for n in range(17, 0, -1):
        series = 1.0 + rest * series / n
    try:
        return math.ldexp(series, k)
    except OverflowError:
        return math.inf


def single(x: float) -> float:
    """Return the nearest 32-bit float, an infinity beyond the largest."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def difference(x: float, number: float) -> float:
    """Return x - number, the largest float in the place of an infinity."""
    return min(max(x - number, -sys.float_info.max), sys.float_info.max)


def evaluate(column: Json, row: Row) -> float | None:
    """Return a column's value; None where it is missing; 0 or 1 for a condition."""
    kind = column["kind"]
    if kind in ("pattern", "pair"):
        return combined(column, evaluate(column["left"], row), evaluate(column["right"], row))
    cell = row[column["source"]]
    if kind == "level":
        return float(cell.level in column["levels"])
    if kind == "missing":
        return float(cell.number is None and cell.level is None)
    x = cell.number
    if kind == "interval":
        low = -math.inf if column["low"] is None else column["low"]
        high = math.inf if column["high"] is None else column["high"]
        return float(x is not None and low <= x < high)
    if kind == "step":
        return float(x is not None and x > column["threshold"])
    if x is None or kind == "value":
        return x
    low, high = span_of(column)
    if kind == "hinge":
        above = column["side"] == "above"
        gap = difference(min(x, high) if above else max(x, low), column["knot"])
        return max(gap if above else -gap, 0.0) + 0.0
    return scaled(column, float(min(max(x, low), high)))


def span_of(column: Json) -> tuple[float, float]:
    """Return between which numbers a column changes, but for jumps: beyond them it is flat."""
    if column["kind"] == "hinge":
        if column["side"] == "above":
            return column["knot"], column.get("end", math.inf)
        return column.get("end", -math.inf), column["knot"]
    return column.get("low", -math.inf), column.get("high", math.inf)


def scaled(column: Json, x: float) -> float:
    """Return a formula of a number that lies between its limits."""
    formula = column["formula"]
    if formula == "distance":
        return abs(difference(x, column["centre"]))
    if formula == "clip":
        return x + 0.0
    return logarithm(x + 0.0) if formula == "log" else math.sqrt(x + 0.0)


def combined(column: Json, a: float | None, b: float | None) -> float | None:
    """Return a pattern or a pair of two values."""
    if column["kind"] == "pattern":
        return float(a == 1.0 and b == 1.0)
    if a is None or b is None:
        return None
    operation = column["operation"]
    result = a * b if operation == "product" else a + b if operation == "sum" else a - b
    if operation == "absolute difference":
        result = abs(result)
    return result + 0.0 if math.isfinite(result) else None


def passes(test: Json, row: Row) -> bool:
    """Tell whether a row goes to the yes side of a test."""
    value = evaluate(test["column"], row)
    if "at_most" not in test:
        return value == 1.0
    return bool(test["missing_holds"]) if value is None else value <= test["at_most"]


def reached(tree: Json, row: Row) -> int:
    """Return the number of the leaf that a row reaches."""
    node = tree["root"]
    while "if" in node:
        node = node["yes"] if passes(node["if"], row) else node["no"]
    return int(node["leaf"])


def term_value(term: Json, row: Row) -> float:
    """Return what a direct term adds."""
    value = evaluate(term["column"], row)
    if value is None:
        return 0.0
    return float(term["coefficient"]) * (value - float(term["centre"]))


def score(model: Json, row: Row) -> float:
    """Return the score: sums from left to right, in file order.

    The log odds of the positive class; of a number, its mean or the logarithm of it.
    """
    total = float(model["intercept"])
    for component in model["components"]:
        subtotal = 0.0
        for tree in component["trees"]:
            subtotal += float(tree["leaves"][reached(tree, row)]["coefficient"])
        for term in component["direct"]:
            subtotal += term_value(term, row)
        total += subtotal
    return total


# ---------------------------------------------------------------- tables


def read_csv(path: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a CSV file as texts; columns without a name are left out.

    UTF-8, UTF-16 with its mark, or else Windows-1252; gzip by its ending; commas, semicolons, tabs
    or bars, and decimal commas where the delimiter is none; rows without any value do not count.
    """
    text = decoded(path)
    delimiter = "\t" if path.lower().removesuffix(".gz").endswith(".tsv") else guessed(text)
    csv.field_size_limit(2**31 - 1)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [line for line in lines if line]
    except csv.Error as error:
        raise Problem(f"{path}: {error}; mend the quotes") from error
    if not rows:
        raise Problem(f"{path} is empty")
    names = [name.strip() for name in rows[0]]
    kept = [place for place, name in enumerate(names) if name]
    header = [names[place] for place in kept]
    if len(set(header)) < len(header):
        raise Problem(f"{path}: column names occur more than once")
    odd = next((line for line in rows if len(line) != len(names)), None)
    if odd is not None:
        raise Problem(f"{path}: a row has {len(odd)} cells, the header {len(names)}: {odd[:3]}")
    cells = [[line[place] for place in kept] for line in rows[1:]]
    cells = [line for line in cells if any(cell.strip() for cell in line)]
    return header, cells if delimiter == "," else without_commas(cells)


def without_commas(rows: list[list[str]]) -> list[list[str]]:
    """Write decimal points for commas in columns of which every cell with a digit is a number."""
    columns = []
    for column in zip(*rows, strict=True):
        digits = [text for text in column if any(map(str.isdigit, text))]
        decimal = any("," in text for text in digits) and all(map(COMMA.fullmatch, digits))
        columns.append([text.replace(",", ".") for text in column] if decimal else column)
    return [list(line) for line in zip(*columns, strict=True)]


def decoded(path: str) -> str:
    """Return the text of a file."""
    try:
        with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
            data = file.read()
    except (OSError, EOFError) as error:
        raise Problem(f"{path}: {error}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    if 0 in data:
        raise Problem(f"{path} holds zero bytes and so is no text")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", errors="replace")


def guessed(text: str) -> str:
    """Return the delimiter that splits the first 50 lines into the most cells, as many in each."""
    lines = [line for line in text[:100_000].splitlines()[:51] if line.strip()]
    lines = lines[:50]
    best, most = ",", 0
    for delimiter in (",", ";", "\t", "|"):
        widths = [len(cells) for cells in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(widths), key=widths.count) if widths else 1
        width = usual if widths and usual == widths[0] else 1
        if width > most:
            best, most = delimiter, width
    return best


def number_of(text: str) -> float | None:
    """Return the finite number that a text spells; one with a leading zero is a code and none."""
    spelled = DECIMAL.fullmatch(text.strip())
    number = float(spelled[0]) if spelled else math.inf
    return None if math.isinf(number) else number + 0.0


def level_name(number: float) -> str:
    """Return a number as a level is called: a whole one without decimals."""
    return str(int(number)) if number.is_integer() else str(number)


def special_name(text: str) -> str:
    """Return what a special code is called: a text that spells a number is that number."""
    number = number_of(text)
    return text if number is None else level_name(number)


def special_level(text: str, levels: list[str]) -> str | None:
    """Return the special code that a cell holds, as it is or in single precision (float32)."""
    name, number = special_name(text), number_of(text)
    if name in levels:
        return name
    if number is not None:
        for level in levels:
            code = number_of(level)
            if code is not None and single(code) == number:
                return level
    return None


def present(text: str) -> str | None:
    """Return a cell without its margins, None if it is empty or a marker of missing values."""
    stripped = text.strip()
    return None if not stripped or stripped in MARKERS else stripped


def number_cell(text: str, variable: Json, named: bool) -> Cell:
    """Return a cell of a number; raise ValueError if it is none."""
    if named:
        for form in (text, text.strip()):
            level = special_level(form, variable["levels"])
            if level is not None:
                return Cell(level=level)
    stripped = present(text)
    if stripped is None:
        return Cell()
    level = special_level(stripped, variable["levels"])
    if level is not None:
        return Cell(level=level)
    plain = number_of(stripped.lstrip("0") or "0") if named else None  # 007 is 7 in a number
    number = number_of(stripped) if plain is None else plain
    if number is None or abs(number) > LARGEST:
        raise ValueError(f"{stripped!r} is no number up to {LARGEST:g}")
    return Cell(number=number)


def category_cells(texts: list[str], variable: Json, named: bool) -> list[Cell]:
    """Return the cells of a category; a level that is not known is the pooled one, if any."""
    known, numeric = set(variable["levels"]), False
    found: list[str | None] = []
    for text in texts:
        exact = next((form for form in (text, text.strip()) if form in known), None)
        found.append(exact if named and exact is not None else present(text))
    if not named:  # columns by position are read for themselves: all numbers, or texts
        numbers = [None if text is None else number_of(text) for text in found]
        numeric = all((n is None) == (t is None) for n, t in zip(numbers, found, strict=True))
        if numeric:
            found = [None if n is None else level_name(n) for n in numbers]
    levels = {text: level_of(text, variable, numeric) for text in set(found) if text is not None}
    return [Cell(level=None if text is None else levels[text]) for text in found]


def plain_form(text: str) -> str:
    """Return a text without blanks around it; a number without needless zeros."""
    form = text.strip(" ")
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?", form):
        form = form.rstrip("0").rstrip(".") if "." in form else form
        form = "0" if form == "-0" else form
    return form


def truth(text: str) -> str | None:
    """Return what a text spells: true, false, or neither."""
    return TRUTHS.get(plain_form(text).lower())


def level_of(text: str, variable: Json, number: bool) -> str:
    """Return the level that a cell is: to the letter, by its plain form, or none that is known."""
    levels: list[str] = variable["levels"]
    if variable.get("numeric"):
        return two_numbers_level(text, variable)
    named = levels[:-1] if variable["pooled"] else levels
    words = [level.strip(" ").lower() for level in named]
    boolean = 0 < len(words) == len(set(words)) and set(words) <= {"true", "false"}
    forms: list[str | None] = [truth(level) if boolean else plain_form(level) for level in named]
    form = truth(text) if boolean else plain_form(text)
    alike = [level for level, other in zip(named, forms, strict=True) if other == form]
    if text in levels and (len(alike) < 2 or not number):
        return text
    if len(alike) > 1:
        raise Problem(f"column '{variable['name']}': {text!r} may be any of the levels {alike}")
    if boolean and form is None and not variable["pooled"] and text.strip(" ")[:1] in NUMBER_BEGINS:
        raise Problem(f"column '{variable['name']}': {text!r} is neither true nor false")
    if alike:
        return alike[0]
    return levels[-1] if variable["pooled"] else "\0never a level"


def two_numbers_level(text: str, variable: Json) -> str:
    """Return the level of a cell of a category of two numbers, or none that is known."""
    levels: list[str] = variable["levels"]
    words = {"true": "1", "false": "0"} if set(levels) == {"0", "1"} else {}
    number = number_of(words.get(text.strip().lower(), text))
    if number is None or abs(number) > LARGEST:
        raise ValueError(f"{text!r} is no number up to {LARGEST:g}")
    name = level_name(number)
    return name if name in levels else "\0never a level"


class Beside(NamedTuple):
    """Names of the columns that a table has beside those of the model."""

    target: str | None = None
    weight: str | None = None
    exposure: str | None = None
    offset: str | None = None
    time: str | None = None
    event: str | None = None
    entry: str | None = None
    strata: str | None = None

    @property
    def is_training(self) -> bool:
        """Whether the table is the one that the model was fitted on."""
        return self.target is not None or self.event is not None


NOTHING = Beside()


class Table(NamedTuple):
    """The rows of a table, the texts of the columns beside them, and which columns are absent."""

    rows: list[Row]
    texts: dict[str, list[str]]
    absent: list[str]


def read_table(model: Json, path: str, beside: Beside = NOTHING) -> Table:
    """Return a CSV file as the model reads it; rows without a target are left out, if it has one.

    Where columns have names, all of the schema are looked at if there is a target, to hash them.
    """
    header, lines = read_csv(path)
    own = [name for name in beside if name is not None]
    for name in own:
        if name not in header:
            raise Problem(f"{path} has no column {name!r}")
    if beside.target is not None:
        place = header.index(beside.target)
        lines = [line for line in lines if present(line[place]) is not None]
    texts = {name: [line[header.index(name)] for line in lines] for name in own}
    names = [v["name"] for v in model["schema"]["variables"]] if model["schema"]["named"] else []
    kept = [place for place, name in enumerate(header) if name not in own or name in names]
    header, lines = [header[p] for p in kept], [[line[p] for p in kept] for line in lines]
    rows = read_lines(model, path, header, lines, beside.is_training)
    return Table(rows, texts, [name for name in names if name not in header])


def read_rows(model: Json, path: str) -> list[Row]:
    """Return the rows of a CSV file as the model reads them."""
    return read_table(model, path).rows


def read_lines(
    model: Json, path: str, header: list[str], lines: list[list[str]], whole: bool
) -> list[Row]:
    """Return rows; of named columns, those that the model uses, or all that there are."""
    schema = model["schema"]
    variables = schema["variables"]
    if not schema["named"]:
        if len(header) != len(variables):
            raise Problem(f"{path} has {len(header)} columns, the model {len(variables)}")
        header = [variable["name"] for variable in variables]
    needed = set().union(*(component["sources"] for component in model["components"]))
    absent = sorted(needed - set(header))
    if absent:
        raise Problem(f"{path} lacks the columns {absent[:10]} that the model reads")
    rows: list[Row] = [{} for _ in lines]
    for variable in variables:
        used = variable["name"] in needed or not schema["named"]
        if used or (whole and variable["name"] in header):
            texts = [line[header.index(variable["name"])] for line in lines]
            for row, cell in zip(rows, column_cells(texts, variable, schema["named"]), strict=True):
                row[variable["name"]] = cell
    return rows


def column_cells(texts: list[str], variable: Json, named: bool) -> list[Cell]:
    """Return the cells of one column."""
    if variable["kind"] == "category":
        return category_cells(texts, variable, named)
    cells = []
    for place, text in enumerate(texts, 1):
        try:
            cells.append(number_cell(text, variable, named))
        except ValueError as error:
            raise Problem(f"column '{variable['name']}', row {place}: {error}") from error
    return cells


def numbers_beside(table: Table, name: str, what: str) -> list[float]:
    """Return the numbers of a column beside those of the model."""
    found = []
    for place, text in enumerate(table.texts[name], 1):
        number = number_of(text)
        if number is None:
            raise Problem(f"{what} '{name}', row {place}: {text!r} is no number")
        found.append(number)
    return found


def times_of(table: Table, beside: Beside) -> list[float]:
    """Return the exposures of the rows, 1 where there are none."""
    if beside.exposure is None:
        return [1.0] * len(table.rows)
    found = numbers_beside(table, beside.exposure, "exposure")
    if min(found, default=1.0) <= 0:
        raise Problem(f"exposure '{beside.exposure}' holds {min(found):g}; it must be above 0")
    return found


def shifts_of(table: Table, beside: Beside) -> list[float]:
    """Return the offsets of the rows, 0 where there are none."""
    if beside.offset is None:
        return [0.0] * len(table.rows)
    return numbers_beside(table, beside.offset, "offset")


# ---------------------------------------------------------------- proofs from the file


def fault_trees(model: Json) -> Fault:
    """Each leaf can hold a case."""
    for tree in trees(model):
        for number, way in leaf_paths(tree["root"]):
            if not reachable(way, model):
                yield f"no case can reach {tree['name']}.L{number + 1}"


def reachable(way: Way, model: Json) -> bool:
    """Tell whether some cell of each variable can meet all conditions on it.

    Conditions on formulas and on two variables are compared with those on the same column only, so
    what is called impossible is impossible.
    """
    groups: dict[str, list[tuple[Json, bool]]] = {}
    for test, side in way:
        plain = "source" in test["column"] and test["column"]["kind"] not in ("hinge", "scale")
        key = test["column"]["source"] if plain else known_by(test["column"])
        groups.setdefault(f"{plain} {key}", []).append((test, side))
    for key, known in groups.items():
        if key.startswith("False"):
            if not possible(known):
                return False
            continue
        source = known[0][0]["column"]["source"]
        variable = {v["name"]: v for v in model["schema"]["variables"]}[source]
        cells = distinguished(variable, [test for test, _ in known])
        if not any(all(passes(t, {source: cell}) == side for t, side in known) for cell in cells):
            return False
    return True


def distinguished(variable: Json, own: list[Json]) -> Iterator[Cell]:
    """Yield a cell of each sort that tests on one variable can tell apart."""
    yield Cell()
    for level in variable["levels"]:
        yield Cell(level=level)
    if variable["kind"] == "category":
        if not variable["pooled"]:
            yield Cell(level="\0never a level")
        return
    ends = [test.get("at_most") for test in own]
    ends += [test["column"].get(end) for test in own for end in ("low", "high", "threshold")]
    for number in [end for end in ends if end is not None] or [0.0]:
        for near_by in (-math.inf, number, math.inf):
            yield Cell(number=math.nextafter(number, near_by))


def fault_ownership(model: Json) -> Fault:
    """Variables are owned as the policy says, and components are whole."""
    owned = [(tree["name"], tree_sources(tree)) for tree in trees(model)]
    terms = [(term["name"], column_sources(term["column"])) for term in direct_terms(model)]
    whole = [(c["name"], set(c["sources"])) for c in model["components"]]
    for component in model["components"]:
        pieces = [sources for _, sources in parts(component)]
        if len(connected(pieces)) != 1:
            yield f"{component['name']} falls apart"
    policy, pairs = model["ownership"], [*combinations(owned, 2), *combinations(whole, 2)]
    if policy in ("separate", "strict"):
        pairs += product(owned, terms)
    if policy == "strict":  # but for the raw columns of one variable
        raw = {t["name"] for t in direct_terms(model) if t["column"]["kind"] in RAW}
        pairs += [(a, b) for a, b in combinations(terms, 2) if not {a[0], b[0]} <= raw]
    for (a, mine), (b, yours) in pairs:
        if mine & yours:
            yield f"{a} and {b} share {sorted(mine & yours)}"
    for component in model["components"] if policy == "component" else ():
        if len(component["trees"]) > 1:
            yield f"{component['name']} holds {len(component['trees'])} trees"
        if len(component["sources"]) > model["settings"]["max_component_sources"]:
            yield f"{component['name']} reads {len(component['sources'])} variables"


def connected(groups: list[set[str]]) -> list[set[str]]:
    """Return the connected parts of some sets."""
    found: list[set[str]] = []
    for group in groups:
        joined = set(group).union(*(part for part in found if part & group))
        found = [part for part in found if not part & group] + [joined]
    return found


def fault_sums(model: Json) -> Fault:
    """Leaves hold each training row once, and stored means follow from their supports."""
    weight, whole = units(model).weight * model["training"]["rows"], model["target"]["total"]
    sums = (("support", weight, weight), ("target_total", whole, sum_size(model, weight)))
    means, unit = model["training"]["mean_contributions"], factor(model)
    for tree in trees(model):
        for field, total, size in sums:
            if not near(sum(leaf[field] for leaf in tree["leaves"]), total, size):
                yield f"the {field} of {tree['name']} does not add up to {total:g}"
        products = [leaf["coefficient"] * leaf["support"] for leaf in tree["leaves"]]
        size = max(abs(leaf["coefficient"]) for leaf in tree["leaves"])
        if not near(sum(products) / weight, means[tree["name"]], unit + size):
            yield f"the mean of {tree['name']} is not {means[tree['name']]}"
    for term in direct_terms(model):
        mean = term["coefficient"] * term["support"] / weight
        if term["column"]["kind"] not in NUMERIC and not near(
            mean, means[term["name"]], unit + abs(term["coefficient"])
        ):
            yield f"the mean of {term['name']} is not {means[term['name']]}"


def near(a: float, b: float, size: float) -> bool:
    """Compare sums of weights."""
    return abs(a - b) <= ROUNDING * size


def listed_levels(inside: int, of: int) -> int:
    """Count a set of levels: one condition for each 8 listed, in or out, the shorter."""
    return max(1, math.ceil(min(inside, of - inside) / 8))


def conditions(column: Json, levels: dict[str, int]) -> int:
    """Count the conditions of a column."""
    return sum(
        listed_levels(len(part["levels"]), levels[part["source"]]) if part["kind"] == "level" else 1
        for part in operands(column)
    )


def audit_load(model: Json) -> tuple[int, int]:
    """Return MU and MIU: the active terms, and the conditions that they have."""
    levels = {v["name"]: len(v["levels"]) for v in model["schema"]["variables"]}
    least = 1e-12 * factor(model)  # numbers in small units have small coefficients
    counts = [
        conditions(term["column"], levels)
        for term in direct_terms(model)
        if abs(term["coefficient"] * term["scale"]) > least
    ]
    for tree in trees(model):
        for number, way in leaf_paths(tree["root"]):
            if abs(tree["leaves"][number]["coefficient"]) > least:
                counts.append(sum(conditions(test["column"], levels) for test, _ in way))
    return len(counts), sum(counts)


def audit_bound(model: Json) -> int:
    """Return the bound on MIU that was known before training."""
    settings, variables = model["settings"], model["schema"]["variables"]
    budget = 0 if settings["vocabulary"] == "original" else settings["budget"]
    widest = max(
        listed_levels(len(v["levels"]) // 2, len(v["levels"])) if v["levels"] else 1
        for v in variables
    )
    most = min(settings["max_trees"], len(variables))
    in_trees = most * settings["max_leaves"] * settings["max_depth"]
    raw = sum((v["kind"] == "number") + len(v["levels"]) + v["has_missing"] for v in variables)
    return int(in_trees * max(widest, 2 if budget else 1) + raw + 4 * budget)


def fault_load(model: Json) -> Fault:
    """The load is within its bound; the bound and the size are what the parameters give."""
    bound, load = audit_bound(model), audit_load(model)[1]
    if bound != model["bound"]:
        yield f"the bound is {bound}, not {model['bound']}"
    if load > bound:
        yield f"{load} conditions, above the bound {bound}"
    settings, limit = model["settings"], model["settings"]["max_inspection_units"]
    if limit is None and settings["l1"] == "cv" and settings["reassign"]:
        limit = MOST_CONDITIONS
    if limit is not None and load > limit:
        yield f"{load} conditions, at most {limit} were asked for"
    if len(trees(model)) > settings["max_trees"]:
        yield f"{len(trees(model))} trees, at most {settings['max_trees']} were asked for"
    made = {known_by(column) for column in columns(model) if is_derived(column)}
    budget = 0 if settings["vocabulary"] == "original" else 2 * settings["budget"]
    if len(made) > budget:
        yield f"{len(made)} derived columns, at most {budget} were asked for"
    if UNMET_MISSING in claims_withdrawn(model):  # estimated again on another table
        return
    if model["task"] == "survival":  # rows count by exposure, which the file does not have
        return
    least = units(model).weight * settings["min_samples_leaf"] * (1 - ROUNDING)
    if any(leaf["support"] < least for tree in trees(model) for leaf in tree["leaves"]):
        yield f"a leaf holds fewer than {settings['min_samples_leaf']:g} cases"


def is_derived(column: Json) -> bool:
    """Tell whether a column is neither a variable nor the presence of one."""
    kind = column["kind"]
    present = kind == "interval" and column["low"] is None and column["high"] is None
    return not present and kind not in RAW


def fault_form(model: Json) -> Fault:
    """Where rules were asked for, no direct term is a number and trees compare plain ones."""
    for term in direct_terms(model):
        if term["column"]["kind"] in NUMERIC:
            yield f"{term['name']} is a number, not a yes/no statement"
    for tree in trees(model):
        if any(test["column"]["kind"] in NUMERIC[1:] for test in tests(tree["root"])):
            yield f"{tree['name']} compares a number that is made of others"


def fault_ends(model: Json) -> Fault:
    """Where every variable has one shape, no number adds more beyond limits inside the data.

    The profile may tell the range of the training values; linear variables have slopes without end.
    """
    linear = set(model["settings"]["limits"]["linear_only"])
    refitted = UNMET_MISSING in claims_withdrawn(model)
    profile = [] if refitted else model["data"]["profile"] or []
    known = {each["name"]: each["extremes"] for each in profile if each.get("extremes")}
    added = [(term["name"], term["column"]) for term in direct_terms(model)]
    made = [(tree["name"], t["column"]) for tree in trees(model) for t in tests(tree["root"])]
    for name, column in [*added, *(each for each in made if each[1]["kind"] == "pair")]:
        for part in operands(column):
            if part["kind"] not in NUMERIC:
                continue
            ends = span_of(part)
            if not all(map(math.isfinite, ends)) and not column_sources(column) <= linear:
                yield f"{name} does not end inside the data"
            low, high = known.get(part["source"], (-math.inf, math.inf))
            for end in filter(math.isfinite, ends):
                if not low <= end <= high:
                    yield f"{name} ends at {end}, outside of the data"


def fault_limits(model: Json) -> Fault:
    """Excluded variables are not read, linear ones have slopes alone, company is allowed."""
    limits = model["settings"]["limits"]
    for component in model["components"]:
        sources = set(component["sources"])
        if sources & set(limits["exclude"]):
            yield f"{component['name']} reads {sorted(sources & set(limits['exclude']))}"
        allowed = limits["interactions"]
        together = allowed is None or any(sources <= set(names) for names in allowed)
        if len(sources) > 1 and not together:
            yield f"{component['name']} joins {sorted(sources)}"
        for tree in component["trees"]:
            if tree_sources(tree) & set(limits["linear_only"]):
                yield f"{tree['name']} reads a variable that may have a slope alone"
        for term in component["direct"]:
            derived = term["column"]["kind"] not in RAW
            if derived and column_sources(term["column"]) & set(limits["linear_only"]):
                yield f"{term['name']} reads a variable that may have a slope alone"


# ---------------------------------------------------------------- monotone directions


def fault_monotone(model: Json, source: str, sign: int) -> Fault:
    """The score never moves against a direction when only this number changes."""
    for term in direct_terms(model):
        if source in column_sources(term["column"]):
            effect = moves(term["column"], source)
            if effect is None:
                yield f"{term['name']} moves both ways"
            elif effect * sign * term["coefficient"] < 0:
                yield f"{term['name']} has the wrong sign"
    for tree in trees(model):
        name, values = tree["name"], [leaf["coefficient"] for leaf in tree["leaves"]]
        if source in tree_sources(tree) and not orderable(tree, source):
            yield f"{name} reads {source} otherwise than by thresholds"
        for low, high in leaf_pairs(tree, source, sign):
            if values[low] > values[high]:
                yield f"{name}.L{low + 1} and {name}.L{high + 1} are out of order"


def moves(column: Json, source: str) -> int | None:
    """Return which way a column moves with a number: 1, -1, 0 (not at all), None (both ways)."""
    kind = column["kind"]
    if kind in ("pattern", "pair"):
        return moves_with_part(column, source)
    if kind == "interval":
        ends = column["low"] is None, column["high"] is None
        return {(False, True): 1, (True, False): -1}.get(ends)
    if kind == "hinge":
        return 1 if column["side"] == "above" else -1
    if kind == "scale":
        return None if column["formula"] == "distance" else 1
    return 1 if kind in ("value", "step") else 0


def moves_with_part(column: Json, source: str) -> int | None:
    """Return which way a pattern or pair moves with one of its variables."""
    on_left = column["left"]["source"] == source
    own, other = column["left" if on_left else "right"], column["right" if on_left else "left"]
    effect = moves(own, source)
    if column["kind"] == "pattern" or not effect:
        return effect
    operation = column["operation"]
    if operation == "difference":
        return effect if on_left else -effect
    never_negative = other["kind"] in ("level", "interval", "step", "hinge") or (
        other["kind"] == "scale" and other["formula"] in ("sqrt", "distance")
    )
    if operation == "product":
        return effect if never_negative else None
    return effect if operation == "sum" else None


def orderable(tree: Json, source: str) -> bool:
    """Tell whether a tree reads a number by thresholds, or by whether it is there, alone."""
    readers = [t["column"] for t in tests(tree["root"]) if source in column_sources(t["column"])]
    return all(c["kind"] == "value" or lacks_number(c, True) is not None for c in readers)


def lacks_number(column: Json, side: bool) -> bool | None:
    """Tell whether an answer says that there is no number; None where the test asks otherwise."""
    if column["kind"] == "missing":
        return side
    everything = column["kind"] == "interval" and column["low"] is None and column["high"] is None
    return not side if everything else None


def leaf_pairs(tree: Json, source: str, sign: int) -> list[tuple[int, int]]:
    """Return the leaves (a, b) between which a rising number can lead, so that a <= b must hold.

    A value of the first can lie below one of the second, and all that is asked of other variables
    can be answered as both leaves need it. What cannot be told apart is taken to be possible, so a
    tree whose pairs are in order is monotone.
    """
    if source not in tree_sources(tree) or not orderable(tree, source):
        return []
    ways, pairs = list(leaf_paths(tree["root"])), set()
    for a, low in ways:
        for b, high in ways:
            if a != b and lies_below(low, high, source) and agree(low, high, source):
                pairs.add((a, b) if sign > 0 else (b, a))
    return sorted(pairs)


def lies_below(low: Way, high: Way, source: str) -> bool:
    """Tell whether a number of one leaf can lie below a number of another."""
    spans = []
    for way in (low, high):
        own = [(t, side) for t, side in way if column_sources(t["column"]) == {source}]
        if any(lacks_number(test["column"], side) for test, side in own):
            return False
        spans.append(span([pair for pair in own if pair[0]["column"]["kind"] == "value"]))
    return spans[0][0] < spans[1][1]


def agree(one: Way, two: Way, source: str) -> bool:
    """Tell whether what two leaves ask of everything but a number can be answered at once."""
    asked: dict[str, list[tuple[Json, bool]]] = {}
    for test, side in (*one, *two):
        if column_sources(test["column"]) != {source}:
            asked.setdefault(known_by(test["column"]), []).append((test, side))
    return all(possible(known) for known in asked.values())


def span(known: list[tuple[Json, bool]]) -> tuple[float, float]:
    """Return the values (above, at most) that give these answers to thresholds on one column."""
    low = max((test["at_most"] for test, side in known if not side), default=-math.inf)
    high = min((test["at_most"] for test, side in known if side), default=math.inf)
    return low, high


def possible(known: list[tuple[Json, bool]]) -> bool:
    """Tell whether one value of a column, or missing, can give these answers to tests on it."""
    if "at_most" not in known[0][0]:
        return len({side for _, side in known}) == 1
    low, high = span(known)
    return low < high or all(test["missing_holds"] == side for test, side in known)


def fault_certificate(model: Json) -> Fault:
    """The stored certificates of monotone variables are those that the model itself gives."""
    stored = model["training"]["monotone"]
    found = [certificate(model, *item) for item in model["settings"]["limits"]["monotone"].items()]
    if stored != found:
        yield f"{len(stored)} are stored, not those of the {len(found)} monotone variables"


def certificate(model: Json, source: str, word: str) -> Json:
    """Return what the proof of a direction rests on."""
    sign = 1 if word == "increasing" else -1
    holders = [c["name"] for c in model["components"] if source in c["sources"]]
    terms = [t for t in direct_terms(model) if source in column_sources(t["column"])]
    effects = [(moves(t["column"], source) or 0) * t["coefficient"] for t in terms]
    signs = [(effect > 0) - (effect < 0) for effect in effects]
    return {
        "variable": source,
        "direction": word,
        "component": holders[0] if holders else None,
        "leaf_pairs": sum(len(leaf_pairs(tree, source, sign)) for tree in trees(model)),
        "direct": [{"term": t["name"], "sign": s} for t, s in zip(terms, signs, strict=True)],
    }


def fault_class_monotone(model: Json, source: str, label: str, word: str) -> Fault:
    """The score of a class never moves against a direction, and no other moves along it."""
    names = [str(each) for each in model["target"]["classes"]]
    for term in direct_terms(model):
        if source in column_sources(term["column"]):
            effect = moves(term["column"], source)
            if effect is None:
                yield f"{term['name']} moves both ways"
                continue
            for name, size in zip(names, term["coefficient"], strict=True):
                wanted = effect if (word == "increasing") == (name == label) else -effect
                if wanted * size < 0:
                    yield f"{term['name']} has the wrong sign for '{name}'"


def class_certificate(model: Json, source: str, label: str, word: str) -> Json:
    """Return what the proof of the direction of a class rests on."""
    k = [str(each) for each in model["target"]["classes"]].index(label)
    holders = [c["name"] for c in model["components"] if source in c["sources"]]
    direct = []
    for term in direct_terms(model):
        if source in column_sources(term["column"]):
            sizes, effect = term["coefficient"], moves(term["column"], source) or 0
            gaps = [effect * (sizes[k] - size) for size in sizes]
            direct.append({"term": term["name"], "sign": (max(gaps) > 0) - (min(gaps) < 0)})
    return {
        "variable": source,
        "class": label,
        "direction": word,
        "component": holders[0] if holders else None,
        "leaf_pairs": 0,
        "direct": direct,
    }


def class_limits(model: Json) -> Iterator[tuple[str, str, str]]:
    """Yield variable, class and direction of each limit, classes in order."""
    for source, asked in model["settings"]["limits"]["monotone"].items():
        for label in map(str, model["target"]["classes"]):
            if label in asked:
                yield source, label, asked[label]


def class_limit_checks(model: Json) -> Iterator[tuple[str, list[str], str]]:
    """Yield the checks of monotone directions of several classes."""
    limits, stored = list(class_limits(model)), model["training"]["monotone"]
    for source, label, word in limits:
        faults = list(fault_class_monotone(model, source, label, word))
        yield f"monotone: '{label}' {word} in {source}", faults, "every term, in every class"
    if limits or stored:
        same = stored == [class_certificate(model, *limit) for limit in limits]
        faults = [] if same else [f"{len(stored)} are stored, not those of the {len(limits)}"]
        yield "certificate", faults, f"{len(limits)}, found again"


# ---------------------------------------------------------------- objective and ledger


def fault_objective(model: Json) -> Fault:
    """The recorded objective is what the parameters ask for, and its certificate is consistent."""
    training, settings = model["training"], model["settings"]
    objective = training["objective"]
    if objective is None:
        withdrawn = OPTIMALITY in claims_withdrawn(model)
        if settings["reassign"] and not withdrawn:
            yield "there is none, and no entry of the ledger has withdrawn it"
        return
    chosen, asked = training["selection"]["chosen"], settings["l1"]
    wanted = {"cv": chosen["l1"], "4/n": 4.0 / training["rows"]}.get(asked, asked)
    near_by = abs(wanted - objective["l1"]) <= 1e-12 * wanted < math.inf
    if objective["l1"] != chosen["l1"] or not near_by:
        yield f"lambda {objective['l1']} was solved, {asked} asked for"
    share = settings["l1_ratio"]
    wanted = chosen["l1_ratio"] if share is None and asked == "cv" else share or 1.0
    if not objective["l1_ratio"] == chosen["l1_ratio"] == wanted:
        yield f"the L1 share {objective['l1_ratio']} was solved, not {wanted}"
    yield from fault_penalties(model)
    limit = max(min(1e-6 * objective["lambda_max"], 1e-3 * objective["l1"]), 1e-12)
    if objective["tolerance"] != limit:
        yield f"the tolerance is {objective['tolerance']}, not {limit}"
    if objective["converged"] and objective["kkt_residual"] > limit:
        yield f"the residual {objective['kkt_residual']} is above the tolerance"


def fault_penalties(model: Json) -> Fault:
    """Penalty factors of direct terms are the user's; only monotone variables tie leaves."""
    limits = model["settings"]["limits"]
    for term in direct_terms(model):
        sources = column_sources(term["column"])
        factor = max(limits["penalty"].get(source, 1.0) for source in sources)
        if term["penalty"] != factor:
            yield f"{term['name']} has the penalty factor {term['penalty']}, not {factor}"
    ordered = {t["name"] for t in trees(model) if tree_sources(t) & set(limits["monotone"])}
    for names in model["training"]["ties"]:
        if names[0].split(".")[0] not in ordered:
            yield f"{' and '.join(names)} are tied without a monotone variable"


OPTIMALITY = "Stage 3 optimality of the active terms"
BALANCE = "sum of predictions equals the sum of the target"
BASELINE = "baseline"
UNMET_MISSING = "missing values not met in training"


def claims_withdrawn(model: Json) -> list[str]:
    """Return the claims that edits took from the model and none gave back."""
    gone: list[str] = []
    for entry in model.get("ledger", ()):
        gone = [name for name in gone if name not in entry["restored"]] + entry["withdrawn"]
    return gone


def fault_ledger(model: Json, counted: Json | None = None) -> Fault:
    """Each entry seals the one before it, and the models before and after the edit.

    What is `counted` is the outline of a model of several classes, or the model itself.
    """
    previous, left = None, None
    for number, entry in enumerate(model["ledger"], 1):
        if entry["number"] != number:
            yield f"entry {number} has the number {entry['number']}"
        if entry["hash"] != digest(without(entry, "hash")):
            yield f"entry {number} was changed"
        if entry["previous"] != previous:
            yield f"entry {number} does not follow the one before it"
        if left is not None and entry["before"]["model"] != left:
            yield f"entry {number} edits another model than was left"
        previous, left = entry["hash"], entry["after"]["model"]
    now = without(model, "hash", "ledger")
    # An edit of two classes may be older than the file.
    olds = [digest(as_version_1(now))] if model["task"] == "binary" else []
    if left not in (digest(now), *olds):
        yield "the model is not the one that the last entry left"
    terms, load = audit_load(model if counted is None else counted)
    after = model["ledger"][-1]["after"]
    stated = [after[field] for field in ("terms", "conditions", "intercept")]
    if stated != [terms, load, model["intercept"]]:
        yield f"the last entry tells of {after['conditions']} conditions, not {load}"
    gone = model["settings"]["reassign"] and model["training"]["objective"] is None
    own = dict.fromkeys(BALANCED, (BALANCE,)) | dict.fromkeys(HAZARDS, (BASELINE,))
    for claim in (OPTIMALITY, *own.get(model["loss"]["name"], ())):
        if gone != (claim in claims_withdrawn(model)):
            yield f"'{claim}' is gone but not withdrawn, or withdrawn but there"
    for claim in monotone_claims(model):
        if claim in claims_withdrawn(model):
            yield f"'{claim}' is claimed though it was withdrawn"


def monotone_claims(model: Json) -> list[str]:
    """Return the names of the checks of monotone directions, of several classes by class."""
    claims = []
    for name, said in model["settings"]["limits"]["monotone"].items():
        words = [said] if isinstance(said, str) else [f"'{k}' {word}" for k, word in said.items()]
        claims += [f"monotone: {word} in {name}" for word in words]
    return claims


# ---------------------------------------------------------------- the training table


class Seen(NamedTuple):
    """How long a row was under observation, as the loss sees it, and the number of its stratum."""

    time: float
    entry: float | None
    stratum: int
    status: int = 0  # of several causes the number of that of the row, 0 for none


class Case(NamedTuple):
    """A row of the training table with its target and weight, as the fit saw them.

    The target of a time is 1 where the event was seen.
    """

    row: Row
    y: float
    weight: float
    seen: Seen = Seen(0.0, None, 0)


def training_cases(model: Json, table: Table, beside: Beside) -> list[Case]:
    """Return the rows of the training table that count."""
    weight = [1.0] * len(table.rows)
    if beside.weight is not None:
        weight = numbers_beside(table, beside.weight, "weight")
        if min(weight, default=0.0) < 0:
            raise Problem(f"weight '{beside.weight}' holds {min(weight):g}, less than 0")
    if model["task"] == "survival":
        cases = timed_cases(model, table, beside, weight)
    else:
        seen = number_pairs if model["task"] == "regression" else class_pairs
        pairs = seen(model, table, beside, weight)
        cases = [Case(row, *pair) for row, pair in zip(table.rows, pairs, strict=True)]
    cases = [case for case in cases if case.weight > 0]
    if not cases:
        raise Problem("the training table has no rows that count")
    return cases


def class_pairs(
    model: Json, table: Table, beside: Beside, weight: list[float]
) -> list[tuple[float, float]]:
    """Return 1 for the positive class and else 0, and weights times the factor of the class.

    Of several classes, the number of the class.
    """
    target, factors = model["target"], model["training"]["class_factors"]
    names = [label_name(label) for label in target["classes"]]
    pairs = []
    for text, own in zip(table.texts[str(beside.target)], weight, strict=True):
        forms = (text.strip(), special_name(text.strip()))
        place = next((names.index(form) for form in forms if form in names), None)
        if place is None:
            raise Problem(f"the target {text!r} is none of the classes {names}")
        y = place == target["positive"] if "positive" in target else place
        pairs.append((float(y), own * factors[place]))
    return pairs


def label_name(label: Any) -> str:
    """Return a class as a table spells it."""
    return level_name(float(label)) if is_number(label) else str(label)


def number_pairs(
    model: Json, table: Table, beside: Beside, weight: list[float]
) -> list[tuple[float, float]]:
    """Return targets less the offset, or for each unit of exposure, and weights that make up."""
    loss, own = model["loss"], units(model)
    y = numbers_beside(table, str(beside.target), "target")
    least = min(y, default=0.0)
    if loss["link"] == "log" and (least < 0 or (least == 0 and loss["name"] == "gamma")):
        raise Problem(f"the target holds {least:g}, which the loss '{loss['name']}' does not allow")
    given, pairs = (times_of(table, beside), shifts_of(table, beside)), []
    power = POWERS.get(loss["name"], loss.get("power", 0.0))
    for value, part, times, shift in zip(y, weight, *given, strict=True):
        plain, mass = value - shift, 1.0
        if loss["link"] == "log":
            times = times if beside.offset is None else times * exponential(shift)
            if not 0 < times < math.inf:
                raise Problem(f"the exponential of the offset {shift:g} is no number")
            plain, mass = value / times, times ** (2.0 - power)
        mass = max(round(mass / own.weight / FRACTION), 1) * FRACTION
        pairs.append(((plain - own.centre) / own.scale, part * mass))
    return pairs


def scrambled(word: int) -> int:
    """Return a 64-bit word, its bits mixed (the finaliser of splitmix64)."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def word_of(content: str | bytes) -> int:
    """Return a text as a 64-bit word."""
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def bits(number: float) -> int:
    """Return the bits of a float; -0 is 0."""
    return int(struct.unpack("<Q", struct.pack("<d", number + 0.0))[0])


def cell_word(cell: Cell, variable: Json) -> int:
    """Return a cell as a 64-bit word: a number by its bits, a level by its name."""
    if cell.level is not None:
        return word_of(cell.level if cell.level in variable["levels"] else b"\xff")
    if variable["kind"] == "category":
        return word_of(b"\xfe")
    return 0x7FF8000000000000 if cell.number is None else bits(cell.number)


def row_hash(row: Row, schema: Json) -> int:
    """Return the hash of what a row holds."""
    total = 0
    for place, variable in enumerate(schema["variables"]):
        name = variable["name"]
        key = word_of(name if schema["named"] else str(place))
        total += scrambled(cell_word(row[name], variable) ^ key)
    return scrambled(total % 2**64)


def table_hash(model: Json, cases: list[Case]) -> tuple[int, str]:
    """Return how many different rows there are, and the SHA-256 of them with their weights."""
    sums: dict[tuple[int, float], float] = {}
    timed = model["task"] == "survival"
    for case in cases:
        key = row_hash(case.row, model["schema"]), seen_key(model, case) if timed else case.y
        sums[key] = sums.get(key, 0.0) + case.weight
    names = []
    if model["task"] == "binary":
        classes, positive = model["target"]["classes"], model["target"]["positive"]
        names = [json.dumps(classes[1 - positive]), json.dumps(classes[positive])]
    elif is_several(model):
        names = [json.dumps(label) for label in model["target"]["classes"]]
    found = hashlib.sha256(json.dumps(sorted(names)).encode())
    for (row, y), weight in sorted(sums.items()):
        own = f" {names[int(y)]}" if names else f"{bits(y):016x} "
        found.update(f"\n{row:016x}{own} {weight:.9g}".encode())
    return len(sums), found.hexdigest()


def fault_table(model: Json, cases: list[Case], absent: list[str]) -> Fault:
    """The rows are those of the training: their weight, the sum of the target, the hash."""
    training, data = model["training"], model["data"]
    weight, total = table_sums(cases)
    if not near(weight, training["rows"], 1.0 + weight):
        yield f"it has {weight:g} cases, not {training['rows']:g}"
    if is_several(model):
        yield from fault_totals(model, cases)
    else:
        mass, found = units(model).weight * weight, total_of(model, total, weight)
        if not near(found, model["target"]["total"], sum_size(model, mass)):
            yield f"the target adds up to {found:g}, not {model['target']['total']:g}"
    if "least" in model["target"]:
        unit = units(model)
        lowest = min(unit.centre + unit.scale * case.y for case in cases)
        if lowest < -ROUNDING * (abs(unit.centre) + unit.scale):
            yield f"a target is {lowest:g}, below the least one"
    if data["sha256"] is None:
        return
    if absent:
        yield f"it lacks the columns {absent[:MOST_FAULTS]} of the training"
        return
    distinct, digits = table_hash(model, cases)
    if distinct != data["distinct_rows"]:
        yield f"it has {distinct} distinct rows, not {data['distinct_rows']}"
    if digits != data["sha256"]:
        yield f"its hash is {digits}, not {data['sha256']}"


def fault_totals(model: Json, cases: list[Case]) -> Fault:
    """The classes have the weights of the training."""
    for k, total in enumerate(model["target"]["totals"]):
        found = math.fsum(case.weight for case in cases if case.y == k)
        if not near(found, total, 1.0 + model["training"]["rows"]):
            yield f"{model['target']['classes'][k]!a} has {found:g} cases, not {total:g}"


def of_class(cases: list[Case], k: int) -> list[Case]:
    """Return cases with 1 as the target of one class, and else 0."""
    return [case._replace(y=float(case.y == k)) for case in cases]


def class_optimality(model: Json, cases: list[Case]) -> tuple[list[str], str]:
    """Return faults and evidence: coefficients of all classes, zeros too, are optimal."""
    objective, models = model["training"]["objective"], each_class(model)
    weight, ratio = table_sums(cases)[0], objective["l1_ratio"]
    scores = [[score(each, case.row) for each in models] for case in cases]
    chances = [softmax(own) for own in scores]
    slopes = [
        [2.0 * c.weight * (p[k] - (c.y == k)) / weight for c, p in zip(cases, chances, strict=True)]
        for k in range(len(models))
    ]
    value = math.fsum(
        2.0 * c.weight * (log_sum(own) - own[int(c.y)]) / weight
        for c, own in zip(cases, scores, strict=True)
    )
    worst, where = max(abs(math.fsum(own)) for own in slopes), "the intercepts"
    spoken = {name for name, term in class_terms(model) if any(term["coefficient"])}
    terms = [penalised(each, cases, spoken) for each in models]
    columns = {term["name"]: term["column"] for term in direct_terms(model)}
    anyway = [(True, True)] * len(models)
    for same in zip(*terms, strict=True):
        of_column = columns.get(same[0][0])
        ways = anyway if of_column is None else class_ways(model, of_column)
        for own, way, (name, column, size, strength) in zip(slopes, ways, same, strict=True):
            price = objective["l1"] * strength
            value += price * (ratio * abs(size) + 0.5 * (1.0 - ratio) * size * size)
            slope = math.fsum(s * x for s, x in zip(own, column, strict=True))
            slope += price * (1.0 - ratio) * size
            gap = abs(slope + math.copysign(price * ratio, size))
            forces = [force for force, may in zip((-slope, slope), way, strict=True) if may]
            found = gap if size != 0 else max([0.0, *(f - price * ratio for f in forces)])
            if not found / strength <= worst:
                worst, where = found / strength, name
    return judged(model, worst, where, value, largest_of_classes(model, cases))


def log_sum(scores: list[float]) -> float:
    """Return the logarithm of the sum of exp(score)."""
    most = max(scores)
    return most + math.log(math.fsum(math.exp(value - most) for value in scores))


def largest_of_classes(model: Json, cases: list[Case]) -> float:
    """Return what lambda_max cannot exceed, of any class."""
    each = enumerate(each_class(model))
    return max(largest_lambda(one, of_class(cases, k)) for k, one in each)


def table_sums(cases: list[Case]) -> tuple[float, float]:
    """Return the sums of weights, and of weight times target."""
    return math.fsum(case.weight for case in cases), math.fsum(c.weight * c.y for c in cases)


def fault_supports(model: Json, cases: list[Case]) -> Fault:
    """Stored supports and sums of the target are those of the table."""
    held: list[tuple[str, Json, list[Case]]] = []
    for tree in trees(model):
        places = [reached(tree, case.row) for case in cases]
        for n, leaf in enumerate(tree["leaves"]):
            own = [case for case, place in zip(cases, places, strict=True) if place == n]
            held.append((f"{tree['name']}.L{n + 1}", leaf, own))
    for term in direct_terms(model):
        idle = None if term["column"]["kind"] in NUMERIC else 0.0
        own = [case for case in cases if evaluate(term["column"], case.row) != idle]
        held.append((term["name"], term, own))
    for name, part, own in held:
        weight, total = table_sums(own)
        mass, found = units(model).weight * weight, total_of(model, total, weight)
        if not near(part["support"], mass, 1.0 + mass):
            yield f"{name} has a support of {mass:g}, not {part['support']:g}"
        elif not near(part["target_total"], found, sum_size(model, mass)):
            yield f"the target of {name} adds up to {found:g}, not {part['target_total']:g}"


def fault_means(model: Json, cases: list[Case]) -> Fault:
    """Stored mean contributions are those of the table."""
    stored, weight = model["training"]["mean_contributions"], table_sums(cases)[0]
    for part in (*trees(model), *direct_terms(model)):
        own = [contribution(part, case.row) for case in cases]
        products = (value * case.weight for value, case in zip(own, cases, strict=True))
        mean, size = math.fsum(products) / weight, max(map(abs, own))
        if not near(mean, stored[part["name"]], factor(model) + size):
            yield f"the mean of {part['name']} is {mean:g}, not {stored[part['name']]:g}"


def fault_importances(models: list[Json], stored: Json, cases: list[Case]) -> Fault:
    """Stored importances are the mean absolute contributions of variables, from their means.

    A variable has its own terms and an equal share of every part that it has with others. Of
    several classes contributions count from their mean over these, and the mean of all is stored.
    """
    weight, found = table_sums(cases)[0], {}
    for same in zip(*(model["components"] for model in models), strict=True):
        sums = {name: [[0.0] * len(cases) for _ in models] for name in same[0]["sources"]}
        for k, (model, component) in enumerate(zip(models, same, strict=True)):
            means = model["training"]["mean_contributions"]
            named = dict(parts(component))
            for part in (*component["trees"], *component["direct"]):
                own = [contribution(part, case.row) - means[part["name"]] for case in cases]
                read = named[part["name"]]
                for name in read:
                    total = sums[name][k]
                    sums[name][k] = [a + b / len(read) for a, b in zip(total, own, strict=True)]
        for name, scores in sums.items():
            sizes = []
            for case, values in zip(cases, zip(*scores, strict=True), strict=True):
                middle = sum(values) / len(values) if len(values) > 1 else 0.0
                sizes.append(case.weight * sum(abs(v - middle) for v in values) / len(values))
            found[name] = math.fsum(sizes) / weight
    size = factor(models[0]) + max(found.values(), default=0.0)
    for name, value in found.items():
        if not near(value, stored[name], size):
            yield f"the importance of {name} is {value:g}, not {stored[name]:g}"


def contribution(part: Json, row: Row) -> float:
    """Return what a tree or a direct term adds to a score."""
    if "leaves" in part:
        return float(part["leaves"][reached(part, row)]["coefficient"])
    return term_value(part, row)


def penalised(
    model: Json, cases: list[Case], spoken: Collection[str] = ()
) -> Iterator[tuple[str, list[float], float, float]]:
    """Yield name, column, coefficient and penalty factor of the active terms; ties as one.

    The leaves `spoken` of are active in another class.
    """
    tie = {name: n for n, names in enumerate(model["training"]["ties"]) for name in names}
    for tree in trees(model):
        groups: dict[Any, list[int]] = {}
        for n, leaf in enumerate(tree["leaves"]):
            name = f"{tree['name']}.L{n + 1}"
            if leaf["coefficient"] != 0 or name in spoken:
                groups.setdefault(tie.get(name, name), []).append(n)
        places = [reached(tree, case.row) for case in cases]
        for members in groups.values():
            own = [tree["leaves"][n] for n in members]
            column = [float(place in members) for place in places]
            strength = sum(leaf["penalty"] for leaf in own)
            yield f"{tree['name']}.L{members[0] + 1}", column, own[0]["coefficient"], strength
    for term in direct_terms(model):
        values = [evaluate(term["column"], case.row) for case in cases]
        column = [0.0 if v is None else (v - term["centre"]) / term["scale"] for v in values]
        yield term["name"], column, term["coefficient"] * term["scale"], term["penalty"]


def optimality(model: Json, cases: list[Case]) -> tuple[list[str], str]:
    """Return faults and evidence: coefficients meet the conditions of the recorded objective."""
    objective, loss, unit = model["training"]["objective"], model["loss"], factor(model)
    weight, ratio = table_sums(cases)[0], objective["l1_ratio"]
    scores = [fit_score(model, score(model, case.row)) for case in cases]
    pairs, searched = list(zip(scores, cases, strict=True)), cases
    if model["task"] == "survival":
        risk = Hazards(model, cases, scores)
        slopes, value = risk.slopes(), -2.0 * risk.log_likelihood() / weight
        searched = searched_first(model, cases)
    else:
        slopes = [-2.0 * case.weight * gradient(loss, s, case.y) / weight for s, case in pairs]
        value = math.fsum(case.weight * deviance(loss, s, case.y) for s, case in pairs) / weight
    worst, where = abs(math.fsum(slopes)), "the intercept"
    for name, column, coefficient, strength in penalised(model, cases):
        size, price = coefficient / unit, objective["l1"] * strength
        pull = price * (ratio * math.copysign(1.0, size) + (1.0 - ratio) * size)
        value += price * (ratio * abs(size) + 0.5 * (1.0 - ratio) * size * size)
        slope = math.fsum(s * x for s, x in zip(slopes, column, strict=True))
        if not abs(slope + pull) / strength <= worst:
            worst, where = abs(slope + pull) / strength, name
    return judged(model, worst, where, value, largest_lambda(model, searched))


def judged(
    model: Json, worst: float, where: str, value: float, top: float
) -> tuple[list[str], str]:
    """Return faults and evidence of the largest residual, the objective and lambda_max."""
    objective = model["training"]["objective"]
    limit, faults = objective["tolerance"], []
    said = f"largest residual {worst:.2e} at {where}, at most {limit:.2e} allowed"
    if not worst <= limit:
        faults.append(said)
    if not abs(value - objective["value"]) <= 1e-6 * abs(objective["value"]) + 1e-8:
        faults.append(f"the objective is {value:.9g}, not {objective['value']:.9g}")
    if objective["lambda_max"] > top:
        faults.append(f"lambda_max is {objective['lambda_max']:g}, at most {top:g}")
    return faults, f"{said}; objective {value:.6g}"


def largest_lambda(model: Json, cases: list[Case]) -> float:
    """Return what lambda_max cannot exceed: the deviation of the residuals without any term."""
    training, loss = model["training"], model["loss"]
    if "learned_from_rows" in training["validation"]:
        return math.inf
    weight, total = table_sums(cases)
    null = null_score(loss, total / weight)
    squares = (case.weight * gradient(loss, null, case.y) ** 2 for case in cases)
    spread = math.sqrt(math.fsum(squares) / weight)
    least = min(1.0, *model["settings"]["limits"]["penalty"].values(), 1.0)
    return float(1.1 * 2.0 * spread / (max(training["objective"]["l1_ratio"], 1e-3) * least))


def balance(model: Json, cases: list[Case]) -> tuple[list[str], str]:
    """Return faults and evidence: predictions for the rows add up to their targets."""
    weight, total = table_sums(cases)
    link, scored = model["loss"]["link"], [(case, score(model, case.row)) for case in cases]
    means = math.fsum(c.weight * mean_of(link, fit_score(model, s)) for c, s in scored)
    predicted, given = total_of(model, means, weight), total_of(model, total, weight)
    size = sum_size(model, units(model).weight * weight)
    said = f"predictions add up to {predicted:.9g}, the target to {given:.9g}"
    return ([] if abs(predicted - given) <= 1e-6 * size else [said]), said


def training_checks(
    model: Json, table: Table, beside: Beside
) -> Iterator[tuple[str, list[str], str]]:
    """Yield name, faults and evidence of each check on the training table."""
    refuse_times(model, beside)
    for what in ("exposure", "offset"):
        name, given = model["target"].get(what), getattr(beside, what)
        if name is not None and given is None:
            raise Problem(f"the model was fitted with the {what} '{name}'; give --{what}-column")
        if name is None and given is not None:
            raise Problem(f"the model was fitted without {what}; leave --{what}-column out")
    cases, objective = training_cases(model, table, beside), model["training"]["objective"]
    several, number, loss = is_several(model), model["task"] == "regression", model["loss"]
    told = model["data"]["sha256"] or "of which the file has no hash"
    faults = list(fault_table(model, cases, table.absent))
    yield "training table", faults, f"{len(cases)} rows, {told}"
    weight = units(model).weight * table_sums(cases)[0]
    models = each_class(model) if several else [model]
    owns = [of_class(cases, k) for k in range(len(models))] if several else [cases]
    pairs, word = zip(models, owns, strict=True), "means" if number else "event rates"
    faults = [fault for one, own in pairs for fault in fault_supports(one, own)]
    yield f"supports and {word}", faults, f"every leaf and direct term, {weight:g} cases"
    faults = [fault for one in models for fault in fault_means(one, cases)]
    yield "mean contributions", faults, "of trees and direct terms"
    if (stored := model["training"].get("importances")) is not None:
        faults = list(fault_importances(models, stored, cases))
        yield "importances", faults, f"of {len(stored)} variables"
    if objective is not None:
        yield OPTIMALITY, *(class_optimality if several else optimality)(model, cases)
        if loss["name"] in BALANCED:
            yield BALANCE, *balance(model, cases)
    if model["task"] == "survival":
        yield from survival_checks(model, cases)


# ---------------------------------------------------------------- times until an event


def refuse_times(model: Json, beside: Beside) -> None:
    """Refuse columns that the model has no use for, and a training table without those it needs."""
    timed = model["task"] == "survival"
    given = [name for name in ("time", "event", "entry", "strata") if getattr(beside, name)]
    if given and not timed:
        raise Problem(f"--{given[0]} is of times until an event; the task is '{model['task']}'")
    if not timed or not beside.is_training:
        return
    target = model["target"]
    if beside.target is not None or not (beside.time and beside.event):
        raise Problem("a training table of times is named by --time and --event, not by --target")
    for name, has in (("entry", target["has_entry"]), ("strata", bool(target["strata"]))):
        if has != (getattr(beside, name) is not None):
            word = f"with {name}: give" if has else f"without {name}: leave out"
            raise Problem(f"the model was fitted {word} --{name}")


def strata_of(model: Json, table: Table, beside: Beside) -> list[int]:
    """Return the number of the stratum of each row; 0 where the model has none."""
    labels = [label_name(label) for label in model["target"]["strata"]]
    if not labels:
        if beside.strata is not None:
            raise Problem("the model has one baseline for all rows: leave out --strata")
        return [0] * len(table.rows)
    if beside.strata is None:
        raise Problem(f"the model has a baseline for each of {len(labels)} strata: give --strata")
    found = []
    for text in table.texts[beside.strata]:
        forms = (text.strip(), special_name(text.strip()))
        place = next((labels.index(form) for form in forms if form in labels), None)
        if place is None:
            raise Problem(f"the stratum {text!r} is none of the model's, {labels}")
        found.append(place)
    return found


def timed_cases(model: Json, table: Table, beside: Beside, weight: list[float]) -> list[Case]:
    """Return the rows with whether their event was seen, and when, as the loss sees it."""
    target, time = model["target"], numbers_beside(table, str(beside.time), "time")
    if min(time, default=0.0) < 0:
        raise Problem(f"time '{beside.time}' holds {min(time):g}, less than 0")
    numbers, own = events_of(target, table.texts[str(beside.event)])
    entry: list[float | None] = [None] * len(time)
    if beside.entry is not None:
        entry = list(numbers_beside(table, beside.entry, "entry"))
    cases = []
    strata = strata_of(model, table, beside)
    for place, row in enumerate(table.rows):
        number, since = numbers[place], entry[place]
        if since is not None and not since < time[place]:
            raise Problem(f"row {place + 1} has the entry {since:g} and the time {time[place]:g}")
        seen = Seen(time[place], since, strata[place], number)
        if target["ties"] == "grouped":
            seen = on_grid(target["grid"], seen)
        cases.append(Case(row, float(seen.status == own), weight[place], seen))
    return cases


def events_of(target: Json, texts: list[str]) -> tuple[list[int], int]:
    """Return the number of the cause of each row, 0 for no event, and that of the model's own."""
    known, own = {"false": 0, "true": 1}, 1
    forms: Callable[[str], tuple[str | None, ...]] = lambda text: (truth(text),)  # noqa: E731
    wanted = "is neither true nor false; write 1 where it was seen"
    if "status" in target:
        status = target["status"]
        labels = [label_name(label) for label in (status["censored"], *status["causes"])]
        known = {label: number for number, label in enumerate(labels)}
        own = status["causes"].index(status["cause"]) + 1
        forms = lambda text: (text.strip(), special_name(text.strip()))  # noqa: E731
        wanted = f"is none of {labels}"
    found = []
    for text in texts:
        number = next((known[form] for form in forms(text) if form in known), None)
        if number is None:
            raise Problem(f"the event {text!r} {wanted}")
        found.append(number)
    return found, own


def on_grid(ends: list[float], seen: Seen) -> Seen:
    """Return when a row was seen by intervals: an event counts at the end of its own.

    A row without one was under observation for the intervals that were over. An event that did not
    come while the row was under observation does not count.
    """
    grid = [0.0, *ends]
    first = min(bisect_left(grid, seen.time), len(grid) - 1)
    time = grid[max(first, 1) if seen.status else bisect_right(grid, seen.time) - 1]
    since = seen.entry
    if since is not None:
        since = grid[min(bisect_left(grid, since), len(grid) - 1)]
    in_view = since is None or since < time
    return Seen(time, since, seen.stratum, seen.status if in_view else 0)


def searched_first(model: Json, cases: list[Case]) -> list[Case]:
    """Return the rows of the Poisson fit beside the baseline without terms.

    Of several causes that of an event of any cause, the same for all of them.
    """
    every = cases
    if "status" in model["target"]:
        every = [case._replace(y=float(case.seen.status > 0)) for case in cases]
    found = Hazards(model, every, [0.0] * len(cases)).exposed()
    return [f if c.y else f._replace(y=0.0) for f, c in zip(found, cases, strict=True)]


def seen_key(model: Json, case: Case) -> float:
    """Return a number that is the same where all that was seen of rows is the same."""
    several = "status" in model["target"]
    values = [case.seen.time, float(case.seen.status) if several else case.y]
    values += [] if case.seen.entry is None else [case.seen.entry]
    values += [float(case.seen.stratum)] if model["target"]["strata"] else []
    mixed = 0
    for value in values:
        mixed = scrambled(((mixed ^ bits(value)) + 0x9E3779B97F4A7C15) % 2**64)
    return math.ldexp(float(mixed >> 11), -53)


class Hazards:
    """Baselines and likelihood of times at some scores, by risk sets.

    Scores are taken less the largest, `top`, so that exponentials are at most 1.
    """

    def __init__(self, model: Json, cases: list[Case], scores: list[float]) -> None:
        self.ties, self.cases = model["target"]["ties"], cases
        self.top = max(scores)
        self.scores, self.factor = scores, [math.exp(s - self.top) for s in scores]
        self.dying: dict[tuple[int, float], list[tuple[float, float]]] = {}  # weight, exp(score)
        for case, factor in zip(cases, self.factor, strict=True):
            if case.y:
                own = self.dying.setdefault((case.seen.stratum, case.seen.time), [])
                own.append((case.weight, factor))
        strata = range(len(model["target"]["baseline"]))
        self.times = [sorted(time for own, time in self.dying if own == k) for k in strata]
        self.sums = [self._sums(stratum) for stratum in strata]
        self.steps = [
            [self._step(self.dying[k, t], *own) for t, own in zip(*pair, strict=True)]
            for k, pair in enumerate(zip(self.times, self.sums, strict=True))
        ]

    def _sums(self, stratum: int) -> list[tuple[float, float, float]]:
        """Return for each time the weight of events, and the risk of these and of rows that stay.

        Each is a sum of its own: a difference would lose the smaller one. The last is 0 only where
        no row stays.
        """
        times = self.times[stratum]
        size = len(times)
        deaths, dying, left, rows, events = ([0.0] * (size + 1) for _ in range(5))
        for case, factor in zip(self.cases, self.factor, strict=True):
            if case.seen.stratum != stratum:
                continue
            risk, last = case.weight * factor, bisect_right(times, case.seen.time)
            since = 0 if case.seen.entry is None else bisect_right(times, case.seen.entry)
            if last > since and not case.y:
                left[last - 1] += risk
                rows[last - 1] += 1
            if last > since > 0:
                left[since - 1] -= risk
                rows[since - 1] -= 1
            if case.y:
                deaths[last - 1] += case.weight
                dying[last - 1] += risk
                events[last - 1] += 1
        found, staying, count = [], 0.0, 0.0
        for place in reversed(range(size)):
            staying, count = staying + left[place], count + rows[place]
            found.append((deaths[place], dying[place], max(staying, TINY) if count else 0.0))
            staying, count = staying + dying[place], count + events[place]
        return found[::-1]

    def _step(
        self, rows: list[tuple[float, float]], deaths: float, dying: float, staying: float
    ) -> tuple[float, float]:
        """Return what a time adds to the baseline, and to the exposure of rows with its events.

        Of an interval the second depends on the row.
        """
        if self.ties == "grouped":
            return interval_hazard(rows, deaths, staying), 0.0
        if self.ties == "breslow" or deaths <= 1.0:
            return deaths / (staying + dying), deaths / (staying + dying)
        a = deaths + deaths * (staying / dying)
        span = sum_of_inverses(a, deaths)
        return deaths / dying * span, (deaths + (deaths - a) * span) / dying

    def cumulated(self) -> list[list[float]]:
        """Return the cumulated baseline hazard of each stratum at its times."""
        scale = math.exp(-self.top)
        return [[h * scale for h in accumulate(step[0] for step in own)] for own in self.steps]

    def exposures(self) -> list[tuple[float, float]]:
        """Return the baseline hazard that each row was exposed to, times exp(top), and its events.

        The second is 1 where the event was seen, but of an interval such that the curvature of a
        Poisson fit is that of its likelihood.
        """
        sums = [[0.0, *accumulate(step[0] for step in own)] for own in self.steps]
        found = []
        for case, factor in zip(self.cases, self.factor, strict=True):
            times, total = self.times[case.seen.stratum], sums[case.seen.stratum]
            last = bisect_right(times, case.seen.time)
            since = 0 if case.seen.entry is None else bisect_right(times, case.seen.entry)
            before = last - 1 if case.y else last  # an event's own time may add more than all
            exposure = total[before] - total[since] if before > since else 0.0
            came = case.y
            if case.y:
                whole, own = self.steps[case.seen.stratum][last - 1]
                if self.ties == "grouped":
                    staying = self.sums[case.seen.stratum][last - 1][2]
                    u = whole * factor if staying else math.inf
                    kept = kept_part(u)
                    came = kept * (min(u, 700.0) + kept)
                    own = (came - kept) / factor
                exposure += own
            found.append((exposure, came))
        return found

    def slopes(self) -> list[float]:
        """Return the derivative of minus twice the mean log-likelihood by each score."""
        weight = table_sums(self.cases)[0]
        rows = zip(self.cases, self.factor, self.exposures(), strict=True)
        return [-2.0 * case.weight * (came - e * f) / weight for case, f, (e, came) in rows]

    def exposed(self) -> list[Case]:
        """Return the rows of the Poisson fit beside the baseline: rates, and their weights."""
        weight, exposures = table_sums(self.cases)[0], self.exposures()
        pairs = list(zip(self.cases, exposures, strict=True))
        ratio = weight / math.fsum(case.weight * e for case, (e, _) in pairs)
        found = []
        for case, (e, came) in pairs:
            mass = max(case.weight * e * ratio, 1e-12 * case.weight)
            found.append(case._replace(y=came * case.weight / mass, weight=mass))
        return found

    def log_likelihood(self) -> float:
        """Return the logarithm of the partial likelihood; of intervals, of the full one."""
        own = [
            c.weight * (s - self.top) for c, s in zip(self.cases, self.scores, strict=True) if c.y
        ]
        parts = [] if self.ties == "grouped" else own
        for stratum, sums in enumerate(self.sums):
            for place, (deaths, dying, staying) in enumerate(sums):
                hazard = self.steps[stratum][place][0]
                if self.ties == "grouped" and staying:
                    rows = self.dying[stratum, self.times[stratum][place]]
                    parts += [w * math.log(-math.expm1(-hazard * f)) for w, f in rows]
                    parts.append(-hazard * staying)
                elif self.ties == "grouped":
                    continue  # all rows have the event: its probability is 1
                elif self.ties == "breslow" or deaths <= 1.0:
                    parts.append(-deaths * math.log(staying + dying))
                else:
                    a = deaths + deaths * (staying / dying)
                    logs = math.lgamma(a + 1.0) - math.lgamma(a - deaths + 1.0)
                    parts.append(-deaths * math.log(dying / deaths) - logs)
        return math.fsum(parts)


def sum_of_inverses(a: float, m: float) -> float:
    """Return 1/a + 1/(a - 1) + ..., m of them; a part of one where m is not whole."""
    whole = math.floor(m)
    found = math.fsum(1.0 / (a - n) for n in range(whole))
    return found + digamma(a - whole + 1.0) - digamma(a - m + 1.0) if m > whole else found


def digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, of a number above 0."""
    found = 0.0
    while x < 10.0:
        found, x = found - 1.0 / x, x + 1.0
    z = 1.0 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return found + math.log(x) - 0.5 / x - series


def kept_part(u: float) -> float:
    """Return u / (exp(u) - 1), 1 at 0."""
    return 1.0 - 0.5 * u if u < 1e-8 else u / math.expm1(u) if u < 700.0 else 0.0


def interval_hazard(dying: list[tuple[float, float]], deaths: float, staying: float) -> float:
    """Return the hazard of an interval that is most likely, by halving what it may be.

    At most 30 for a row of mean risk, where nobody stays.
    """
    risk = math.fsum(w * f for w, f in dying)
    if not staying:
        return LARGEST_HAZARD * deaths / risk

    def surplus(hazard: float) -> float:
        return math.fsum(w * kept_part(hazard * f) for w, f in dying) - hazard * staying

    # As 1 - u / 2 < u / (exp(u) - 1) < 1, it lies between these.
    low, high = math.log(deaths / (staying + 0.5 * risk)), math.log(deaths) - math.log(staying)
    while high - low > 1e-14 * max(1.0, abs(low)):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if surplus(math.exp(middle)) > 0.0 else (low, middle)
    return math.exp(0.5 * (low + high))


def kept_steps(count: int) -> list[int]:
    """Return which of so many steps are stored: all of them, or evenly many with the last."""
    if count <= MOST_STEPS:
        return list(range(count))
    return [n * count // MOST_STEPS - 1 for n in range(1, MOST_STEPS + 1)]


def survival_checks(model: Json, cases: list[Case]) -> Iterator[tuple[str, list[str], str]]:
    """Yield the checks of a training table of times that no other task has."""
    gone, training = claims_withdrawn(model), model["training"]
    known = "learned_from_rows" not in training["validation"] and UNMET_MISSING not in gone
    if trees(model) and known:
        searched = searched_first(model, cases)
        least = model["settings"]["min_samples_leaf"]
        yield "exposure of leaves", list(fault_exposures(model, searched)), f"{least:g} at least"
    if BASELINE not in gone:
        yield BASELINE, *baseline(model, cases)


def fault_exposures(model: Json, cases: list[Case]) -> Fault:
    """Leaves hold as many rows as was asked for, which count by the hazard they were exposed to."""
    least = model["settings"]["min_samples_leaf"] * (1 - ROUNDING)
    for tree in trees(model):
        places = [reached(tree, case.row) for case in cases]
        for number in range(len(tree["leaves"])):
            pairs = zip(cases, places, strict=True)
            held = math.fsum(case.weight for case, place in pairs if place == number)
            if held < least:
                yield f"{tree['name']}.L{number + 1} has the exposure {held:g}"


def baseline(model: Json, cases: list[Case]) -> tuple[list[str], str]:
    """Return faults and evidence: the stored baseline is that of scores whose mean is 0."""
    scores, target = [score(model, case.row) for case in cases], model["target"]
    products = (s * case.weight for s, case in zip(scores, cases, strict=True))
    mean, faults = math.fsum(products) / table_sums(cases)[0], []
    if not near(mean, 0.0, max(1.0, *map(abs, scores))):
        faults.append(f"the scores have the mean {mean:g}, not 0")
    risk = Hazards(model, cases, scores)
    for number, (times, hazard) in enumerate(zip(risk.times, risk.cumulated(), strict=True)):
        stored, kept = target["baseline"][number], kept_steps(len(times))
        said = f" of the stratum {target['strata'][number]!a}" if target["strata"] else ""
        end = max((c.seen.time for c in cases if c.seen.stratum == number), default=0.0)
        if [times[n] for n in kept] != stored["times"] or stored["end"] != end:
            faults.append(f"the baseline{said} has other times than the events of the table")
            continue
        pairs = zip([hazard[n] for n in kept], stored["hazard"], stored["times"], strict=True)
        wrong = [(t, own, told) for own, told, t in pairs if not near(own, told, 1.0 + abs(told))]
        if wrong:
            time, own, told = wrong[0]
            faults.append(f"the hazard{said} until {time:g} is {own:.9g}, not {told:.9g}")
    steps = sum(len(own["times"]) for own in target["baseline"])
    return faults, f"{steps} steps, of {target['total']:g} events"


def refuse_horizon(time: float, end: float) -> None:
    """Refuse a time that nobody was under observation at."""
    if not 0 <= time <= end:
        raise Problem(f"the horizon {time:g} is outside of what was observed, 0 to {end:g}")


def time_columns(
    model: Json, table: Table, beside: Beside, horizons: list[float], scores: list[float]
) -> dict[str, list[Any]]:
    """Return hazard ratios, and the probability of no event until each horizon."""
    ratios = [mean_of("log", value) for value in scores]
    found: dict[str, list[Any]] = {"hazard_ratio": ratios}
    if not horizons:
        return found
    strata, baselines = strata_of(model, table, beside), model["target"]["baseline"]
    end = min(steps["end"] for steps in baselines)
    for time in horizons:
        refuse_horizon(time, end)
        places = [bisect_right(steps["times"], time) for steps in baselines]
        pairs = zip(places, baselines, strict=True)
        hazards = [steps["hazard"][n - 1] if n else 0.0 for n, steps in pairs]
        told = zip(ratios, strata, strict=True)
        own = [math.exp(-hazards[k] * ratio) if hazards[k] else 1.0 for ratio, k in told]
        found[f"survival_{level_name(time)}"] = own
    return found


# ---------------------------------------------------------------- the report


def file_checks(document: Json) -> Iterator[tuple[str, list[str], str]]:
    """Yield name, faults and evidence of each check of the file.

    Where a field is not what it may be, the others cannot be read, and no more is checked.
    """
    stored, found = document.get("hash"), digest(without(document, "hash"))
    changed = [f"stored {stored}, found {found}"] if found != stored else []
    yield "content hash", changed, f"sha256 {stored}"
    faults = list(islice(misfits(document), MOST_FAULTS))
    if not faults and document["version"] == 1:
        document = as_version_2(document)
    several, of_causes = is_several(document), is_of_causes(document)
    if not faults and (several or of_causes):
        rule = sense_of_scores if several else sense_of_causes
        faults = list(islice(rule(document), MOST_FAULTS))
    models = [] if faults else each_class(document) if several else own_models(document)
    sense = (rule(model) for model in models for rule in SENSE)
    faults = faults or list(islice(chain.from_iterable(sense), MOST_FAULTS))
    yield "fields", faults, "each is there, of its kind, and fits the others"
    if not faults and of_causes:
        yield from causes_checks({**document, "models": [as_floats(model) for model in models]})
    elif not faults:
        yield from (class_checks if several else model_checks)(as_floats(document))


def own_models(document: Json) -> list[Json]:
    """Return the model of each cause, or the model."""
    return list(document["models"]) if is_of_causes(document) else [document]


def as_floats(model: Json) -> Json:
    """Return a model whose coefficients, thresholds and intercepts are floats, as they score."""
    return {**model, **{name: floats(model[name]) for name in ("components", "intercept")}}


def floats(value: Any) -> Any:
    """Return a copy in which whole numbers are floats, as they score; leaves keep their numbers."""
    if isinstance(value, dict):
        return {key: item if key == "leaf" else floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [floats(item) for item in value]
    return float(value) if is_number(value) else value


Rule = tuple[str, Callable[[Json], Fault], str]


def size_rules(model: Json) -> list[Rule]:
    """Return the rules of who owns which variable, and of how large a model is."""
    terms, load = audit_load(model)
    largest = max((len(c["sources"]) for c in model["components"]), default=0)
    size = f"{load} conditions in {terms} terms; bound {model['bound']}"
    owned = f"largest component: {largest} variables"
    return [
        (f"ownership '{model['ownership']}'", fault_ownership, owned),
        ("audit load", fault_load, size),
    ]


def model_checks(model: Json) -> Iterator[tuple[str, list[str], str]]:
    """Yield the checks of a model of which every field can be read."""
    leaves = sum(len(tree["leaves"]) for tree in trees(model))
    objective = model["training"]["objective"]
    weight = units(model).weight * model["training"]["rows"]
    owned, size = size_rules(model)
    rules: list[Rule] = [
        ("trees", fault_trees, f"{leaves} leaves in {len(trees(model))} trees"),
        owned,
        ("sums", fault_sums, f"supports add up to {weight:g} cases"),
        size,
        ("limits", fault_limits, "excluded, linear only, interactions"),
        ("objective", fault_objective, "none claimed" if objective is None else "as asked for"),
    ]
    if model["settings"].get("form") == "rules":
        rules.append(("rules", fault_form, "every term is a yes/no statement"))
    if model["settings"].get("shapes") == "one":
        rules.append(("no extrapolation", fault_ends, "numbers are flat beyond printed limits"))
    for name, rule, evidence in rules:
        yield name, list(rule(model)), evidence
    directions = model["settings"]["limits"]["monotone"]
    for source, word in directions.items():
        faults = list(fault_monotone(model, source, 1 if word == "increasing" else -1))
        yield f"monotone: {word} in {source}", faults, "every pair"
    if directions or model["training"]["monotone"]:
        yield "certificate", list(fault_certificate(model)), f"{len(directions)}, found again"
    if "ledger" in model:
        head = model["ledger"][-1]["hash"]
        yield "ledger", list(fault_ledger(model)), f"{len(model['ledger'])} entries, head {head}"


def class_checks(model: Json) -> Iterator[tuple[str, list[str], str]]:
    """Yield the checks of a model of several classes: of its structure, and of all scores."""
    sums = chain.from_iterable(map(fault_sums, each_class(model)))
    structure = outline(model)
    for name, faults, evidence in model_checks(structure):
        if name == "ledger":
            faults = list(fault_ledger(model, structure))
        yield name, list(sums) if name == "sums" else faults, evidence
    yield from class_limit_checks(model)
    sizes = [size for _, term in class_terms(model) for size in term["coefficient"]]
    told = f"{model['scores']} classes, {sizes.count(0.0)} of {len(sizes)} coefficients are 0"
    yield "classes", list(fault_classes(model)), told
    yield "canonical scores", list(fault_canonical(model)), "intercepts add up to 0"


def one_leaf_faults(model: Json, rows: list[Row]) -> list[str]:
    """Return the rows that do not meet the conditions of exactly one leaf per tree."""
    faults = []
    for tree in trees(model):
        ways = list(leaf_paths(tree["root"]))
        for place, row in enumerate(rows, 1):
            hits = [n for n, way in ways if all(passes(test, row) == side for test, side in way)]
            if hits != [reached(tree, row)]:
                faults.append(f"row {place} meets the conditions of {hits} of {tree['name']}")
    return faults


def expected(path: str, name: str) -> list[Any] | None:
    """Return the numbers of a column of a CSV file, or classes; None if it has no such column."""
    header, lines = read_csv(path)
    if name not in header:
        return None
    place = header.index(name)
    if name == "class":
        return [special_name(line[place].strip()) for line in lines]
    try:
        return [float(line[place]) for line in lines]
    except ValueError as error:
        raise Problem(f"{path}: {error}") from error


def unequal(found: list[Any], given: list[Any], relative: float) -> list[str]:
    """Return the rows in which two numbers differ by more than a fraction."""
    if len(given) != len(found):
        return [f"{len(given)} numbers for {len(found)} rows"]
    return [
        f"row {n}: {mine!r} here, {other!r} there"
        for n, (mine, other) in enumerate(zip(found, given, strict=True), 1)
        if (special_name(mine) if isinstance(mine, str) else mine) != other
        and (isinstance(mine, str) or not abs(mine - other) <= relative * abs(other))
    ]


def predictions(model: Json, table: Table, beside: Beside, scores: list[float]) -> list[float]:
    """Return the mean of each row, for its exposure and offset; none but for a number."""
    given = times_of(table, beside), shifts_of(table, beside)
    link, classes = model["loss"]["link"], model["task"] != "regression"
    if beside.exposure is not None and (classes or link == "identity"):
        raise Problem("exposure is for models whose score is the logarithm of a mean")
    if beside.offset is not None and classes:
        raise Problem("an offset is for models of numbers, not of classes or times")
    rows = zip(scores, *given, strict=True)
    return [] if classes else [mean_of(link, s + shift) * times for s, times, shift in rows]


def scored(
    model: Json, table: Table, beside: Beside, horizons: list[float]
) -> dict[str, list[Any]]:
    """Return the columns that are told of a table: scores, and what they stand for."""
    timed = model["task"] == "survival"
    if horizons and not timed:
        raise Problem(f"--horizon is of times until an event; the task is '{model['task']}'")
    if is_several(model):
        predictions(model, table, beside, [0.0] * len(table.rows))  # refuses what is of numbers
        return class_columns(model, table.rows)
    scores = [score(model, row) for row in table.rows]
    means = predictions(model, table, beside, scores)
    told = time_columns(model, table, beside, horizons, scores) if timed else {}
    return {"score": scores, **({"mean": means} if means else {}), **told}


def class_columns(model: Json, rows: list[Row]) -> dict[str, list[Any]]:
    """Return the class of the largest score, and scores and probabilities of all classes."""
    names = [label_name(label) for label in model["target"]["classes"]]
    models = each_class(model)
    scores = [[score(one, row) for one in models] for row in rows]
    chances = [softmax(own) for own in scores]
    columns: dict[str, list[Any]] = {"class": [names[own.index(max(own))] for own in scores]}
    columns |= {f"score_{name}": [own[k] for own in scores] for k, name in enumerate(names)}
    columns |= {f"probability_{name}": [p[k] for p in chances] for k, name in enumerate(names)}
    return columns


def table_checks(
    document: Json,
    path: str,
    beside: Beside,
    expect: str | None,
    out: str | None,
    horizons: list[float],
) -> Iterator[tuple[str, list[str], str]]:
    """Score a table; yield name, faults and evidence of each check on it."""
    several = is_of_causes(document)
    model = as_version_2(document) if document["version"] == 1 else document
    model = outline_of_causes(document) if several else model
    refuse_times(model, beside)
    table = read_table(model, path, beside)
    if several:
        predictions(model, table, beside, [0.0] * len(table.rows))  # refuses what is of numbers
    told = cause_columns(document, table, beside, horizons) if several else None
    rows, columns = table.rows, told or scored(model, table, beside, horizons)
    yield "one leaf per tree", one_leaf_faults(model, rows), f"{len(rows)} rows, each path tried"
    if beside.is_training and several:
        yield from of_all_causes(document, lambda own: training_checks(own, table, beside))
    elif beside.is_training:
        yield from training_checks(model, table, beside)
    if expect is not None:
        yield from expected_checks(columns, expect)
    if out is not None:
        written = io.StringIO()  # a cell with a character of the line ending is quoted
        lines = csv.writer(written, lineterminator="\r\n")
        lines.writerow(["row", *columns])
        lines.writerows(zip(range(1, len(rows) + 1), *columns.values(), strict=True))
        try:
            Path(out).write_text(written.getvalue(), encoding="utf-8", newline="")
        except OSError as error:
            raise Problem(str(error)) from error


def expected_checks(
    columns: dict[str, list[Any]], path: str
) -> Iterator[tuple[str, list[str], str]]:
    """Compare scores to the last bit; what they stand for, if the file has it, to 12 digits."""
    for name, found in columns.items():
        given, kind = expected(path, name), name.partition("_")[0]
        if given is None and kind == "score":
            raise Problem(f"{path} has no column '{name}'")
        if given is not None:
            exact = kind in ("score", "class")
            told = "equal to the last bit" if exact else "equal to 12 digits"
            faults = unequal(found, given, 0.0 if exact else 1e-12)
            of = f" of {name.partition('_')[2]}" if "_" in name else ""
            plural = PLURALS.get(kind, f"{kind}s")
            of = {"hazard": "", "survival": of.replace("of", "until")}.get(kind, of)
            yield f"expected {plural}{of}", faults, f"{len(found)} {plural}, {told}"


def say(text: str, stream: Any = None) -> None:
    """Print a line; what names could do to a terminal is shown as a question mark."""
    shown = "".join(c if c.isprintable() else "?" for c in text)
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    print(shown.encode(encoding, "replace").decode(encoding), file=stream)


def main(arguments: list[str] | None = None) -> int:
    """Run the checks and print them; return the exit code."""
    parser = argparse.ArgumentParser(description="Check an rpte model file without the library.")
    parser.add_argument("model", help="a model file")
    parser.add_argument("table", nargs="?", help="a CSV file with the model's columns")
    parser.add_argument("--expect", help="a CSV file with the scores to compare with")
    parser.add_argument("--scores", help="write the scores, and means, to this CSV file")
    parser.add_argument("--target", help="the target: the table is the training table")
    parser.add_argument("--weight-column", help="the weights of the training rows")
    parser.add_argument("--exposure-column", help="the exposures, for means of numbers")
    parser.add_argument("--offset-column", help="what is added to scores, for means of numbers")
    parser.add_argument("--time", help="the time: the table is the training table")
    parser.add_argument("--event", help="whether the event was seen, with --time")
    parser.add_argument("--entry", help="from when on rows were under observation")
    parser.add_argument("--strata", help="the strata, of which each has a baseline of its own")
    parser.add_argument(
        "--horizon", action="append", default=[], help="a time, or several with commas between"
    )
    given = parser.parse_args(arguments)
    names = (given.target, given.weight_column, given.exposure_column, given.offset_column,
             given.time, given.event, given.entry, given.strata)  # fmt: skip
    beside = Beside(*names)
    try:
        horizons = [float(text) for own in given.horizon for text in own.split(",")]
    except ValueError:
        parser.error(f"--horizon {given.horizon} is no time")
    if given.table is None and (given.expect or given.scores or horizons or any(names)):
        parser.error("--expect, --scores, --horizon and the names of columns need a table")
    if given.weight_column and not beside.is_training:
        parser.error("--weight-column needs --target, which says that this is the training table")
    if bool(given.time) != bool(given.event) or (given.entry and not given.time):
        parser.error("--time, --event and --entry go together; they name the training table")
    reads = [path for path in (given.model, given.table, given.expect) if path]
    written = Path(given.scores or "")
    if written.is_file() and any(Path(p).exists() and written.samefile(p) for p in reads):
        parser.error(f"--scores {given.scores} would be written over a file that is read")
    if written.is_file() and EVIDENCE.search(written.read_bytes()):
        parser.error(f"--scores {given.scores} is a model, a log or a signature; give another name")
    failed = 0
    try:
        model = read_model(given.model)
        checks = list(file_checks(model))
        readable = not any(faults for name, faults, _ in checks if name == "fields")
        if given.table is not None and readable:
            files = given.expect, given.scores
            checks += table_checks(model, given.table, beside, *files, horizons)
    except Problem as problem:
        say(f"error: {problem}", sys.stderr)
        return 1
    except BROKEN as error:
        say(f"error: the model file is malformed: {error!r}"[:300], sys.stderr)
        return 1
    for name, faults, evidence in checks:
        failed += bool(faults)
        shown = "; ".join(faults[:MOST_FAULTS]) or evidence
        say(f"{'FAILS' if faults else 'holds'}  {name}: {shown}")
    if not failed:
        gone = chain.from_iterable(claims_withdrawn(own) for own in own_models(model))
        for name in dict.fromkeys(gone):
            say(f"note   no longer claimed: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

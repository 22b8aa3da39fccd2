"""From a model to its `Form`: every column kind in terms of comparisons and arithmetic."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rpte.columns import kinds
from rpte.errors import InputError
from rpte.export.classes import class_lines
from rpte.export.form import (
    RESPONSES,
    Constant,
    Definition,
    Form,
    Line,
    Missing,
    Node,
    OneOf,
    Present,
    Value,
    apply,
    nodes,
)
from rpte.export.inputs import CategoryInput, Code, Input, NumberInput
from rpte.export.survival import horizons_of, survival_lines
from rpte.losses.numbers import LARGEST_EXPONENT
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm
from rpte.model.survival import SurvivalTarget
from rpte.model.target import AnyTarget, NumberTarget
from rpte.structure.tree import Branch, Split
from rpte.table.column import LARGEST, parse_number, special_copies
from rpte.table.schema import Schema, Variable
from rpte.table.spelling import named_levels
from rpte.utils.arrays import Floats

ZERO, ONE = Constant(0.0), Constant(1.0)
# Beyond it the probability is 0 or 1 to 300 decimals, and some targets refuse exp. A mean stays at
STEEPEST = LARGEST_EXPONENT


def make_form(model: Model | ClassesModel, options: Mapping[str, Any] | None = None) -> Form:
    """Return the form of a model; of times, `options` has the horizons (`rpte.export.survival`).

    Evaluating it in float64 gives the model's score and contributions to the last bit, and its
    probability too unless the score is beyond 700 (where the two differ by less than 1e-300). The
    exponential of a score beyond 700 on either side is that of 700. So it is for several classes,
    700 being counted from the largest score; the probabilities of 8 classes and more may differ in
    the last bit, since the model adds them up in another order.
    """
    read, horizons = set(model.sources), horizons_of(model, options or {})
    inputs = tuple(_input(v) for v in model.schema.variables if v.name in read)
    if isinstance(model, ClassesModel):
        lines = [*_columns(model.outline), *class_lines(model, tuple(g.name for g in inputs))]
    else:
        sources = tuple(given.name for given in inputs)
        lines = [*_score_lines(model, sources), *survival_lines(model, horizons, sources)]
    for line in lines:
        _check_numbers(line)
    return Form(model, inputs, tuple(lines), horizons)


def _score_lines(model: Model, sources: tuple[str, ...]) -> list[Definition]:
    lines = [line for component in model.components for line in _component(model, component)]
    subtotals = (Line(component.name) for component in model.components)
    score = apply("sum", Constant(model.intercept), *subtotals)
    said, text = _words(model.target)
    lines.append(Definition("score", "score", score, sources, said))
    name = RESPONSES[model.task]
    lines.append(Definition(name, name, INVERSES[model.loss.link](Line("score")), sources, text))
    return lines


def _columns(outline: Model) -> Iterator[Definition]:
    """Yield what several classes weigh: of a direct term its value less its centre.

    Of a tree the number of the leaf that is reached, from 0.
    """
    for _, part in outline.parts():
        if isinstance(part, DirectTerm):
            value, text = _direct(part, outline.schema, weighed=False), part.text
        else:
            numbers = [Constant(float(number)) for number in range(len(part.leaves))]
            value = tree_node(part.tree.root, numbers, outline.schema)
            text = f"number of the leaf of {part.name}, from 0"
        yield Definition(part.name, "column", value, part.sources, text)


def _input(variable: Variable) -> Input:
    if variable.numeric:
        return NumberInput(variable.name)
    if variable.kind == "number":
        return NumberInput(variable.name, codes_of(variable.levels, variable))
    return CategoryInput(variable.name, named_levels(variable), variable.pooled)


def codes_of(levels: Sequence[str], variable: Variable) -> tuple[Code, ...]:
    """Return special codes as cells hold them, then what single precision makes of them."""
    copies = special_copies(variable.levels).items()
    own = [copy for copy, place in copies if variable.levels[place] in levels]
    numbers = map(parse_number, levels)
    cells = (n if n is not None else level for n, level in zip(numbers, levels, strict=True))
    return (*cells, *own)


def _check_numbers(line: Definition) -> None:
    values = [node.value for node in nodes(line.value) if isinstance(node, Constant)]
    beyond = [value for value in values if abs(value) > LARGEST]
    if beyond:
        raise InputError(
            f"{line.name} ({line.text}) holds the number {beyond[0]!r}; an export needs numbers "
            f"up to {LARGEST:g}: fit again with that variable rescaled or limited"
        )


def _probability(score: Line) -> Node:
    """Return 1 / (1 + exp(-score)) without overflow."""
    falling, rising = apply("exp", apply("-", ZERO, score)), apply("exp", score)
    high = apply("/", ONE, apply("+", ONE, falling))
    low = apply("/", rising, apply("+", ONE, rising))
    curve = apply("if", apply(">=", score, ZERO), high, low)
    at_least = apply("if", apply("<", score, Constant(-STEEPEST)), ZERO, curve)
    return apply("if", apply(">", score, Constant(STEEPEST)), ONE, at_least)


def _mean(score: Line) -> Node:
    """Return exp(score), the score being at most 700 from zero."""
    high, low = Constant(STEEPEST), Constant(-STEEPEST)
    at_least = apply("if", apply("<", score, low), apply("exp", low), apply("exp", score))
    return apply("if", apply(">", score, high), apply("exp", high), at_least)


def limited(score: Floats) -> Floats:
    """Return the scores whose exponentials the form takes, (n,)."""
    return np.clip(score, -STEEPEST, STEEPEST)


INVERSES: dict[str, Callable[[Line], Node]] = {  # what a score stands for, by link
    "logit": _probability,
    "log": _mean,
    "identity": lambda score: score,
}


def _words(target: AnyTarget) -> tuple[str, str]:
    """Return what the score is, and what it stands for."""
    if isinstance(target, NumberTarget):
        return target.score_text, target.mean_text
    if isinstance(target, SurvivalTarget):
        return target.score_text, target.response_text
    return f"log odds of {target.outcome}", f"probability of {target.outcome}"


def _component(model: Model, component: Component) -> Iterator[Definition]:
    for part in component.parts:
        if isinstance(part, DirectTerm):
            value, text = _direct(part, model.schema), part.text
        else:
            leaves = [Constant(leaf.coefficient) for leaf in part.leaves]
            value = tree_node(part.tree.root, leaves, model.schema)
            text = f"tree of {', '.join(part.sources)}"
        yield Definition(part.name, "term", value, part.sources, text)
    total = apply("sum", *(Line(part.name) for part in component.parts))
    sources = component.sources
    yield Definition(component.name, "component", total, sources, ", ".join(sources))


def tree_node(node: Branch | int, leaves: Sequence[Node], schema: Schema) -> Node:
    """Return which of some leaves a row reaches below a node of a tree."""
    if not isinstance(node, Branch):
        return leaves[node]
    yes, no = tree_node(node.yes, leaves, schema), tree_node(node.no, leaves, schema)
    if node.split.missing_holds:
        return apply("if", _test(node.split, ">", schema), no, yes)
    return apply("if", _test(node.split, "<=", schema), yes, no)


def _test(split: Split, sign: str, schema: Schema) -> Node:
    """Return when a split's column is there and on one side of its threshold, or is true."""
    column = split.column
    if split.threshold is None:
        return _holds(column, schema)
    compared = apply(sign, _number(column, schema), Constant(split.threshold))
    if isinstance(column, kinds.Value):
        return compared
    return apply("and", *_there(column, schema), compared)


def _direct(term: DirectTerm, schema: Schema, weighed: bool = True) -> Node:
    """Return coefficient times (value - centre), 0 where the column is false or missing.

    If not `weighed`, the coefficient is left out.
    """
    column, weight = term.column, Constant(term.coefficient) if weighed else ONE
    if column.binary:
        return apply("if", _holds(column, schema), weight, ZERO)
    also: tuple[Node, ...] = ()
    if isinstance(column, kinds.Pair) and column.conditional:
        condition, column = _conditional(column)
        also = (_holds(condition, schema),)
    where, value = _there(column, schema), _number(column, schema)
    if isinstance(column, kinds.Hinge):  # it adds nothing where it is zero
        where, value = _hinge(column)
    if term.centre != 0:
        value = apply("-", value, Constant(term.centre))
    value = apply("*", weight, value) if weighed else value
    return apply("if", _all(*also, *where), value, ZERO)


def _all(*conditions: Node) -> Node:
    return conditions[0] if len(conditions) == 1 else apply("and", *conditions)


def _holds(column: kinds.Column, schema: Schema) -> Node:
    match column:
        case kinds.Level():
            return _level(column, schema[column.source])
        case kinds.Missing():
            return Missing(column.source)
        case kinds.Step():
            return apply(">", Value(column.source), Constant(column.threshold))
        case kinds.Interval():
            return _interval(column)
        case kinds.Pattern():
            return apply("and", _holds(column.left, schema), _holds(column.right, schema))
    raise TypeError(f"no form for a 0/1 column of kind {column.kind!r}")


def _level(column: kinds.Level, variable: Variable) -> Node:
    if variable.numeric:
        (level,) = column.levels
        return apply("==", Value(column.source), Constant(float(level)))
    if variable.kind == "number":
        return OneOf(column.source, codes_of(column.levels, variable))
    if variable.pooled and variable.levels[-1] in column.levels:
        others = (level for level in variable.levels if level not in column.levels)
        return OneOf(column.source, tuple(others), inside=False)
    return OneOf(column.source, column.levels)


def _interval(column: kinds.Interval) -> Node:
    ends = ((">=", column.low), ("<", column.high))
    x = Value(column.source)
    tests = [apply(sign, x, Constant(end)) for sign, end in ends if math.isfinite(end)]
    return _all(*tests) if tests else Present(column.source)


def _number(column: kinds.Column, schema: Schema) -> Node:
    match column:
        case kinds.Value():
            return Value(column.source)
        case kinds.Hinge():
            (condition,), gap = _hinge(column)
            return apply("if", condition, gap, ZERO)
        case kinds.Scale():
            return _scale(column)
        case kinds.Pair():
            return _pair(column, schema)
    raise TypeError(f"no form for a numeric column of kind {column.kind!r}")


def _hinge(column: kinds.Hinge) -> tuple[tuple[Node, ...], Node]:
    """Return on which rows a hinge is not zero, and its value there."""
    x, knot, (low, high) = Value(column.source), Constant(column.knot), column.limits
    if column.side == "above":
        return (apply(">", x, knot),), apply("-", _kept(x, -math.inf, high), knot)
    return (apply("<", x, knot),), apply("-", knot, _kept(x, low, math.inf))


def _kept(x: Node, low: float, high: float) -> Node:
    """Return a number kept between two limits, which may be infinite."""
    kept = x
    for sign, limit in (("<", low), (">", high)):
        if math.isfinite(limit):
            kept = apply("if", apply(sign, x, Constant(limit)), Constant(limit), kept)
    return kept


def _scale(column: kinds.Scale) -> Node:
    kept = _kept(Value(column.source), *column.limits)
    if column.formula == "distance":
        return _distance(kept, Constant(column.numbers[0]))
    return kept if column.formula == "clip" else apply(column.formula, kept)


def _distance(a: Node, b: Node) -> Node:
    """Return |a - b|: the larger minus the smaller, which is exact where a - b is."""
    return apply("if", apply(">", a, b), apply("-", a, b), apply("-", b, a))


def _conditional(pair: kinds.Pair) -> tuple[kinds.Column, kinds.Column]:
    """Return the 0/1 part and the number of a product that counts only where it holds."""
    return (pair.left, pair.right) if pair.left.binary else (pair.right, pair.left)


def _pair(pair: kinds.Pair, schema: Schema) -> Node:
    if pair.conditional:
        condition, number = _conditional(pair)
        return apply("if", _holds(condition, schema), _number(number, schema), ZERO)
    sides = _number(pair.left, schema), _number(pair.right, schema)
    if pair.operation == "absolute difference":
        return _distance(*sides)
    return apply({"product": "*", "sum": "+", "difference": "-"}[pair.operation], *sides)


def _there(column: kinds.Column, schema: Schema) -> tuple[Node, ...]:
    """Return when a numeric column is not missing: numbers there, no overflow."""
    if not isinstance(column, kinds.Pair):
        return (Present(column.sources[0]),)
    if column.conditional:
        return _there(_conditional(column)[1], schema)
    there = *_there(column.left, schema), *_there(column.right, schema)
    most = _most(column.left) * _most(column.right)
    if column.operation != "product" or math.isfinite(most):
        return there
    return (*there, apply("finite", _pair(column, schema)))


def _most(column: kinds.Number | kinds.Item) -> float:
    """Return a bound on the absolute value of a numeric column of one source."""
    largest = max(LARGEST if math.isinf(limit) else abs(limit) for limit in column.limits)
    if isinstance(column, kinds.Hinge):
        return largest + abs(column.knot)
    if isinstance(column, kinds.Scale) and column.formula == "distance":
        return largest + abs(column.numbers[0])
    if isinstance(column, kinds.Scale):
        return {"log": 1e3, "sqrt": math.sqrt(LARGEST)}.get(column.formula, largest)
    return largest

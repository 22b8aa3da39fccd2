"""Small models of every kind of column, made by hand, and every row that may come of one."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from rpte.columns.kinds import (
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.counterfactual.choices import choices_of
from rpte.model.model import Model
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.model.target import Target
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable

NUMBERS = ("a", "b", "s", "z")
SCHEMA = Schema(
    (
        Variable("a", "number", (), True),
        Variable("b", "number", (), True),
        Variable("c", "category", ("u", "v", "w"), True),
        Variable("s", "number", ("-9", "n/a"), True),
        Variable("z", "number", (), False),
    ),
    named=True,
)
PROFILE = [
    {"name": v.name, "kind": v.kind, "quantiles": [0.0, 1.0, 2.0, 4.0, 6.0], "extremes": None}
    if v.kind == "number"
    else {"name": v.name, "kind": v.kind, "quantiles": None, "extremes": None}
    for v in SCHEMA.variables
]
knots = st.sampled_from([0.5, 1.0, 2.0, 2.5, 3.0, 4.5])
weights = st.sampled_from([-1.3, -0.7, -0.31, 0.0, 0.23, 0.6, 1.1])


def items(source):
    if source == "c":
        levels = st.sampled_from([("u",), ("v",), ("u", "w")])
        return levels.map(lambda found: Level("c", found))
    plain = [
        knots.map(lambda t: Step(source, t)),
        knots.map(lambda t: Interval(source, t, t + 1.7)),
        knots.map(lambda t: Interval(source, -np.inf, t)),
    ]
    if source == "s":
        plain.append(st.sampled_from([("-9",), ("n/a",)]).map(lambda found: Level("s", found)))
    return st.one_of(plain)


def numbers(source, curved=False):
    plain = [
        st.just(Value(source)),
        st.builds(Hinge, st.just(source), knots, st.sampled_from(["above", "below"])),
        st.just(Scale(source, "clip", (1.0, 4.0))),
        knots.map(lambda t: Scale(source, "distance", (t,))),
        knots.map(lambda t: Scale(source, "distance", (t, t - 1.0, t + 1.5))),
        knots.map(lambda t: Hinge(source, t, "above", t + 1.5)),
        knots.map(lambda t: Hinge(source, t, "below", t - 2.0)),
    ]
    if curved:
        plain += [
            st.just(Scale(source, "log", (0.5, 3.5))),
            st.just(Scale(source, "sqrt", (1.0, 4.0))),
        ]
        plain += [st.just(Scale(source, "log", (0.5,))), st.just(Scale(source, "sqrt", (1.0,)))]
    return st.one_of(plain)


def one_source(source, curved=False):
    if source == "c":
        return st.one_of(items("c"), st.just(Missing("c")))
    return st.one_of(items(source), st.just(Missing(source)), numbers(source, curved))


@st.composite
def two_sources(draw, sources, curved):
    left, right = draw(st.permutations(sources))[:2]
    if "c" in (left, right) or draw(st.booleans()):
        return Pattern(draw(items(left)), draw(items(right)))
    operations = ["sum", "difference", "product", "absolute difference"]
    operation = draw(st.sampled_from(operations if curved else operations[:2]))
    if operation == "product" and draw(st.booleans()):
        return Pair(operation, draw(numbers(left, curved)), draw(items(right)))
    return Pair(operation, draw(numbers(left, curved)), draw(numbers(right, curved)))


@st.composite
def splits(draw, sources, curved):
    column = draw(
        two_sources(sources, curved)
        if len(sources) > 1 and draw(st.integers(0, 3)) == 0
        else one_source(draw(st.sampled_from(sources)), curved)
    )
    if isinstance(column, Pair) and not curved:
        column = column.left
    if column.binary:
        return Split(column)
    return Split(column, draw(knots), draw(st.booleans()))


@st.composite
def trees(draw, sources, curved):
    def branch(depth, numbers):
        if depth and (depth == 3 or draw(st.booleans())):
            return next(numbers)
        split = draw(splits(sources, curved))
        yes = branch(depth + 1, numbers)
        return Branch(split, yes, branch(depth + 1, numbers))

    tree = Tree(branch(0, itertools.count()))
    return TreeTerms("T", tree, tuple(Leaf(draw(weights), 1, 0) for _ in range(tree.n_leaves)))


@st.composite
def components(draw, name, sources, curved):
    columns = [draw(one_source(s, curved)) for s in sources if draw(st.booleans())]
    if len(sources) > 1 and draw(st.booleans()):
        columns.append(draw(two_sources(sources, curved)))
    columns = columns or [draw(one_source(sources[0], curved))]
    direct = tuple(
        DirectTerm("D", column, draw(weights) or 0.4, 0.0 if column.binary else 1.0, 1.0, 1, 0)
        for column in columns
    )
    drawn = (draw(trees(sources, curved)),) if draw(st.booleans()) else ()
    return Component(name, drawn, direct)


@st.composite
def models(draw, curved=False):
    """Draw a model of two to four components over five variables."""
    order = draw(st.permutations(SCHEMA.names))
    cuts = draw(st.sampled_from([(1, 2, 2), (2, 3), (1, 1, 1, 2), (3, 2), (3, 1)]))
    starts = np.cumsum([0, *cuts])
    parts = [
        draw(components(f"C{i}", sorted(order[a:b]), curved))
        for i, (a, b) in enumerate(itertools.pairwise(starts))
    ]
    return make(tuple(parts), draw(st.sampled_from([-0.4, 0.0, 0.7])))


def make(components, intercept=0.0, profile=PROFILE, schema=SCHEMA):
    return Model(
        schema=schema,
        target=Target(("no", "yes"), 1, 0.0),
        intercept=intercept,
        components=components,
        ownership="component",
        settings={"limits": {"exclude": []}},
        bound=1,
        training={},
        data={"profile": profile},
    )


@st.composite
def rows(draw):
    """Draw a row; cells may be missing, special or between two steps."""
    cell = st.sampled_from([None, 0.0, 0.3, 1.0, 2.5, 3.0, 5.0, 6.0])
    row = {name: [draw(cell)] for name in ("a", "b", "z")}
    row["s"] = [draw(st.one_of(cell, st.sampled_from(["-9", "n/a"])))]
    row["c"] = [draw(st.sampled_from([None, "u", "v", "w", "new"]))]
    return row


def every_row(model, row, actions, most):
    """Return every row that the actions allow, as inputs, with costs and changes."""
    inputs = model.read(row)
    read = sorted({s for c in model.components for s in c.sources})
    choices = [choices_of(model, inputs, name, actions) for name in read]
    sizes = [np.arange(len(c.values)) for c in choices]
    at = np.stack(np.meshgrid(*sizes, indexing="ij"), -1).reshape(-1, len(choices))
    at = at[(at > 0).sum(axis=1) <= most]
    cost = sum(c.costs[at[:, i]] for i, c in enumerate(choices))
    columns = [np.repeat(column, len(at)) for column in inputs.columns]
    specials = {p: np.repeat(codes, len(at)) for p, codes in inputs.specials.items()}
    for i, c in enumerate(choices):
        position = model.schema.position(c.variable.name)
        columns[position] = c.column(at[:, i])
        if position in specials:
            specials[position] = c.codes[at[:, i]]
    return Inputs(model.schema, tuple(columns), specials), cost, at > 0, read

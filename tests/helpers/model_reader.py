"""A second reader of model files, in plain Python: what a file says, without the library's code."""

from __future__ import annotations

import math
from itertools import chain

RAW = ("value", "level", "missing")


def rows_of(frame):
    """Return a pandas frame as one dict per row: float, text, or None where missing."""
    columns = {str(name): [_cell(v) for v in frame[name]] for name in frame.columns}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _cell(value):
    if value is None or value != value:
        return None
    return (
        str(value)
        if isinstance(value, str | bool) or type(value).__name__ == "bool"
        else float(value)
    )


def trees(document):
    return [tree for component in document["components"] for tree in component["trees"]]


def direct_terms(document):
    return [term for component in document["components"] for term in component["direct"]]


def sources(column):
    """Return the variables that a column record reads."""
    if "source" in column:
        return {column["source"]}
    return sources(column["left"]) | sources(column["right"])


def tree_sources(tree):
    return set().union(*(sources(test["column"]) for test in tests(tree["root"])))


def tests(node):
    if "leaf" in node:
        return []
    return [node["if"], *tests(node["yes"]), *tests(node["no"])]


def columns(document):
    """Return every column record in trees and direct terms."""
    split = chain.from_iterable(tests(tree["root"]) for tree in trees(document))
    return [test["column"] for test in split] + [term["column"] for term in direct_terms(document)]


def paths(node, way=()):
    """Yield (leaf number, ((test, side), ...))."""
    if "leaf" in node:
        yield node["leaf"], way
        return
    yield from paths(node["yes"], (*way, (node["if"], True)))
    yield from paths(node["no"], (*way, (node["if"], False)))


def evaluate(column, row):
    """Return a column's value on a row: a float, None where missing; 0 or 1 if it is binary."""
    kind = column["kind"]
    if kind == "value":
        return row[column["source"]]
    if kind == "missing":
        return float(row[column["source"]] is None)
    if kind == "level":
        cell = row[column["source"]]
        if isinstance(cell, float) and cell.is_integer():  # of a category of two numbers
            cell = str(int(cell))
        return float(cell in column["levels"])
    if kind == "interval":
        x = row[column["source"]]
        low = -math.inf if column["low"] is None else column["low"]
        high = math.inf if column["high"] is None else column["high"]
        return float(x is not None and low <= x < high)
    if kind == "step":
        x = row[column["source"]]
        return float(x is not None and x > column["threshold"])
    if kind in ("hinge", "scale"):
        x = row[column["source"]]
        return None if x is None else _shaped(column, x)
    left, right = evaluate(column["left"], row), evaluate(column["right"], row)
    if kind == "pattern":
        return float(left == 1.0 and right == 1.0)
    return _pair(column["operation"], left, right)


def _shaped(column, x):
    if column["kind"] == "hinge":
        sign = 1.0 if column["side"] == "above" else -1.0
        gap = max(0.0, sign * (x - column["knot"]))
        return min(gap, sign * (column["end"] - column["knot"])) if "end" in column else gap
    kept = min(max(x, column.get("low", x)), column.get("high", math.inf))
    if column["formula"] == "distance":
        return abs(kept - column["centre"])
    return {"log": math.log, "sqrt": math.sqrt, "clip": float}[column["formula"]](kept)


def _pair(operation, a, b):
    if a is None or b is None:
        return None
    results = {"product": a * b, "sum": a + b, "difference": a - b}
    result = results.get(operation, abs(a - b))
    return result if math.isfinite(result) else None


def holds(test, row):
    value = evaluate(test["column"], row)
    if "at_most" not in test:
        return value == 1.0
    return test["missing_holds"] if value is None else value <= test["at_most"]


def leaves_reached(tree, row):
    """Return every leaf all of whose conditions hold on a row, each path tried by itself."""
    return [
        leaf
        for leaf, way in paths(tree["root"])
        if all(holds(test, row) == side for test, side in way)
    ]


def direct_value(term, row):
    """Return what a direct term adds on a row."""
    value = evaluate(term["column"], row)
    if is_binary(term["column"]):
        return term["coefficient"] * value
    return 0.0 if value is None else term["coefficient"] * (value - term["centre"])


def is_binary(column):
    return column["kind"] not in ("value", "hinge", "scale", "pair")


def subtotals(document, row):
    """Return {component: the left-to-right sum of its parts}."""
    found = {}
    for component in document["components"]:
        total = 0.0
        for tree in component["trees"]:
            total = total + tree["leaves"][leaves_reached(tree, row)[0]]["coefficient"]
        for term in component["direct"]:
            total = total + direct_value(term, row)
        found[component["name"]] = total
    return found


def score(document, row):
    total = document["intercept"]
    for subtotal in subtotals(document, row).values():
        total = total + subtotal
    return total


def conditions(column, levels):
    """Count the conditions of a column; `levels` counts the levels of each category."""
    kind = column["kind"]
    if kind == "level":
        listed, of = len(column["levels"]), levels[column["source"]]
        return max(1, math.ceil(min(listed, of - listed) / 8))
    if kind in ("pattern", "pair"):
        return conditions(column["left"], levels) + conditions(column["right"], levels)
    return 1


def inspection_units(document):
    """Return MIU: conditions on the paths of active leaves, and of active direct terms."""
    levels = {v["name"]: len(v.get("levels", ())) for v in document["schema"]["variables"]}
    total = sum(conditions(term["column"], levels) for term in direct_terms(document))
    for tree in trees(document):
        for leaf, way in paths(tree["root"]):
            if abs(tree["leaves"][leaf]["coefficient"]) > 1e-12:
                total += sum(conditions(test["column"], levels) for test, _ in way)
    return total


def connected(groups):
    """Return the connected parts of some sets of sources, as a set of frozensets."""
    parts = []
    for group in groups:
        touching = [part for part in parts if part & group]
        parts = [part for part in parts if not part & group] + [set(group).union(*touching)]
    return {frozenset(part) for part in parts}

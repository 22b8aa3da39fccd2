"""The rules of a fitted model of any rule family, in one form: what they read, say and cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.sirus import Sirus
from rpte import RPTEClassifier
from rpte.audit.families.additive import COMPARE
from rpte.columns.units import is_active
from rpte.model.parts import DirectTerm

Literals = tuple[tuple[int, str, float], ...]


@dataclass(frozen=True)
class RuleRow:
    """One active term.

    Parameters
    ----------
    kind : {"leaf", "rule", "slope"}
        A leaf of a tree, a rule or 0/1 term by itself, a term that says something in every row.
    tree : str
        The tree of a leaf.
    sources : tuple of str
    text : str
    coefficient : float
        SIRUS: what it says inside less what it says outside.
    cover : (n,) or None
        The rows that it covers; None for slopes.
    """

    kind: str
    tree: str
    sources: tuple[str, ...]
    text: str
    coefficient: float
    cover: np.ndarray | None


def rules_of(model: Any, X: pd.DataFrame) -> list[RuleRow]:
    """Return the active rules of a model with the rows of `X` that they cover, if it has any."""
    if isinstance(model, RPTEClassifier):
        return list(_own(model, X))
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    if isinstance(final, Sirus):
        return list(_sirus(final, _numbers(model, X), _names(model)))
    family = type(final).__name__
    if family == "RuleFitClassifier":
        return list(_rulefit(final, _numbers(model, X), _names(model)))
    if family == "FIGSClassifier":
        return list(_figs(final, _numbers(model, X), _names(model)))
    return []


def _numbers(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model[:-1].transform(X), np.float64)


def _names(model: Any) -> list[str]:
    """Return the names of the columns behind the encoder: text first, then the others."""
    encoder = model.steps[0][1]
    return [str(name).split("__", 1)[1] for name in encoder.get_feature_names_out()]


def _own(model: RPTEClassifier, X: pd.DataFrame) -> Iterator[RuleRow]:
    stored = model.model_
    inputs = stored.read(X)
    texts = {rule.term: rule for rule in stored.rules()}
    for _, part in stored.parts():
        if isinstance(part, DirectTerm):
            binary = part.column.binary
            cover = part.column.evaluate(inputs) > 0 if binary else None
            kind = "rule" if binary else "slope"
            yield RuleRow(kind, "", part.sources, part.text, part.coefficient, cover)
            continue
        reached = part.tree.apply(inputs)
        for number, _, leaf in part.rules():
            rule = texts.get(part.leaf_name(number))
            if rule is not None:
                yield RuleRow(
                    "leaf",
                    part.name,
                    rule.sources,
                    rule.conditions,
                    leaf.coefficient,
                    reached == number,
                )


def _rule(
    literals: Literals, names: list[str], X: np.ndarray, coefficient: float, tree: str = ""
) -> RuleRow:
    cover = np.ones(len(X), bool)
    for column, symbol, value in literals:
        cover &= COMPARE[symbol](X[:, column], value)
    return RuleRow(
        "leaf" if tree else "rule",
        tree,
        tuple(sorted({names[column] for column, _, _ in literals})),
        " and ".join(f"{names[column]} {symbol} {value:g}" for column, symbol, value in literals),
        float(coefficient),
        cover,
    )


def _rulefit(model: Any, X: np.ndarray, names: list[str]) -> Iterator[RuleRow]:
    coefficients = np.asarray(model.coef, np.float64)
    rules = model.rules_without_feature_names_
    linear, weights = np.split(coefficients, [len(coefficients) - len(rules)])
    place = {name: j for j, name in enumerate(model.feature_placeholders)}
    for name, coefficient in zip(names, linear, strict=False):
        if is_active(coefficient):
            yield RuleRow("slope", "", (name,), name, float(coefficient), None)
    for rule, coefficient in zip(rules, weights, strict=True):
        if is_active(coefficient):
            literals = tuple(
                (place[n], symbol, float(v)) for (n, symbol), v in rule.agg_dict.items()
            )
            yield _rule(literals, names, X, coefficient)


def _figs(model: Any, X: np.ndarray, names: list[str]) -> Iterator[RuleRow]:
    for number, root in enumerate(model.trees_, 1):
        stack: list[tuple[Any, Literals]] = [(root, ())]
        while stack:
            node, path = stack.pop()
            if node.left is None:
                value = float(np.ravel(node.value)[-1])
                if is_active(value):
                    yield _rule(path, names, X, value, f"T{number}")
                continue
            split = (node.feature, float(node.threshold))
            stack.append((node.left, (*path, (split[0], "<=", split[1]))))
            stack.append((node.right, (*path, (split[0], ">", split[1]))))


def _sirus(model: Sirus, X: np.ndarray, names: list[str]) -> Iterator[RuleRow]:
    for rule in model.rules_:
        literals = tuple((j, "<" if below else ">=", cut) for j, cut, below in rule.literals)
        yield _rule(literals, names, X, rule.inside - rule.outside)

"""The whole model as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpte.model.figures import figures, figures_text
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.structure.tree import Branch, Condition

if TYPE_CHECKING:
    from rpte.model.model import Model


def summary(model: Model) -> str:
    """Return the model as readable text: every tree, every direct term, nothing left out."""
    lines = [*head_lines(model), f"{model.intercept:+9.4f}  intercept"]
    for component in model.components:
        lines += ["", *component_lines(model, component)]
    return "\n".join(lines)


def head_lines(model: Model) -> list[str]:
    """Return what the score is, how much there is to read, and what a reader must know beside."""
    load = model.audit()
    return [
        f"RPTE model: log odds of {model.classes[model.positive]!r} against "
        f"{model.classes[1 - model.positive]!r}",
        f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')} to read (bound before "
        f"training: {model.bound}); {counted(len(model.components), 'component')}, ownership "
        f"'{model.ownership}'",
        *_notes(model),
    ]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 term" or "2 terms"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _notes(model: Model) -> list[str]:
    """Return what a reader must know beside the terms: limits, weights, and an early end."""
    limits = model.settings["limits"]
    notes = [f"limit: {word} in {name}" for name, word in limits["monotone"].items()]
    others = ("exclude", "linear_only", "interactions", "penalty")
    notes += [f"limit: {limit} {limits[limit]}" for limit in others if limits[limit]]
    factors = model.training["class_factors"]
    if factors != [1.0, 1.0]:
        pairs = zip(model.classes, factors, strict=True)
        said = ", ".join(f"{label!r} {factor:.4g}" for label, factor in pairs)
        notes.append(f"rows are weighted by class ({said}): n and rate count these weights")
    record = figures(model)
    notes += [] if record is None else [figures_text(record)]
    stopped = stopped_note(model)
    notes += [] if stopped is None else [stopped]
    notes += [
        f"edit {e['number']}, {e['when']}, {e['by']}: {e['reason']}"
        + (f"; no longer claimed: {', '.join(e['withdrawn'])}" if e["withdrawn"] else "")
        for e in model.ledger
    ]
    return notes


def stopped_note(model: Model) -> str | None:
    """Say that the clock has stopped the search, if it has."""
    stopped = model.training["validation"].get("stopped")
    if stopped is None:
        return None
    return (
        f"stopped by max_fit_seconds={stopped['max_fit_seconds']:g} while {stopped['stage']}: the "
        "best model found until then, which the same data need not give again"
    )


def component_lines(model: Model, component: Component) -> list[str]:
    """Return one component as lines of text."""
    lines = [f"{component.name}: {', '.join(component.sources)}"]
    for part in component.parts:
        if isinstance(part, DirectTerm):
            counts = _counts(part.support, part.events) if part.column.binary else ""
            lines.append(f"{part.coefficient:+9.4g}  {part.name}  {part.text}{counts}")
        else:
            lines += tree_lines(model, part)
    return lines


def tree_lines(model: Model, tree: TreeTerms) -> list[str]:
    """Return a tree as indented lines, its active leaves with their coefficients in front."""
    lines = [f"{'':9}  {tree.name}"]
    _node_lines(model, tree, tree.tree.root, 1, lines)
    return lines


def _node_lines(
    model: Model, tree: TreeTerms, node: Branch | int, depth: int, lines: list[str]
) -> None:
    if not isinstance(node, Branch):
        return
    for holds, child in ((True, node.yes), (False, node.no)):
        text = "    " * depth + ("if " if holds else "else ") + _side(model, node, holds)
        if isinstance(child, Branch):
            lines.append(f"{'':9}  {text}")
            _node_lines(model, tree, child, depth + 1, lines)
            continue
        leaf = tree.leaves[child]
        coefficient = f"{leaf.coefficient:+9.4f}" if leaf.coefficient else f"{'0':>9}"
        name = tree.leaf_name(child)
        lines.append(f"{coefficient}  {text}: {name}{_counts(leaf.support, leaf.events)}")


def _side(model: Model, node: Branch, holds: bool) -> str:
    return Condition(node.split, holds).text(model.schema)


def _counts(support: float, events: float) -> str:
    rate = events / support if support else float("nan")
    return f"  (n={support:g}, rate {rate:.3f})"

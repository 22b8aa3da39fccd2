"""The whole model as text, with the cross-validated figures that its file may keep.

Figures are of the fit, repeated in folds of the training table: an edit of the model drops them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rpte.losses import BINOMIAL, Loss
from rpte.model.intervals import RECORD as CALIBRATION
from rpte.model.intervals import calibration_text
from rpte.model.parts import DirectTerm, Leaf, TreeTerms
from rpte.structure.tree import Branch, Condition

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

RECORD = "cross_validation"  # the field of the training record
NAMES = {
    "auc": "AUC", "log_loss": "log-loss", "brier": "Brier score", "accuracy": "accuracy",
    "deviance_explained": "deviance explained", "gini": "Gini index",
    "calibration_ratio": "calibration ratio", "mae": "mean absolute error",
    "rmse": "root mean squared error", "miu": "conditions",
}  # fmt: skip
MEAN_AUC = "mean AUC (one class against the rest)"


def summary(model: Model) -> str:
    """Return the model as readable text: every tree, every direct term, nothing left out."""
    lines = [*head_lines(model), f"{model.intercept:+9.4f}  intercept"]
    for component in model.components:
        lines += ["", f"{component.name}: {', '.join(component.sources)}"]
        lines += [line for part in component.parts for line in _part_lines(model, part)]
    return "\n".join(lines)


def classes_summary(model: ClassesModel) -> str:
    """Return a model of several classes as text: a table of coefficients for each component."""
    names = [str(label) for label in model.classes]
    width = max(9, *(min(len(name), 14) for name in names)) + 1
    lines = head_lines(model)
    lines += ["", "".join(f"{name[:14]:>{width}}" for name in names)]
    lines.append("".join(f"{each:+{width}.4f}" for each in model.intercepts) + "  intercepts")
    for same in zip(*model.by_class, strict=True):
        lines += ["", f"{same[0].name}: {', '.join(same[0].sources)}"]
        for terms in zip(*(component.direct for component in same), strict=True):
            said = (f"{t.coefficient:+.4g}" if t.coefficient else "0" for t in terms)
            sizes = [f"{each:>{width}}" for each in said]
            counts = f"  (n={terms[0].support:g})" if terms[0].column.binary else ""
            lines.append(f"{''.join(sizes)}  {terms[0].name}  {terms[0].text}{counts}")
    return "\n".join(lines)


def head_lines(model: Model | ClassesModel) -> list[str]:
    """Return what the score is, how much there is to read, and what a reader must know beside."""
    load = model.audit()
    return [
        f"RPTE model: {model.target.score_text}",
        f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')} to read (bound before "
        f"training: {model.bound}); {counted(len(model.components), 'component')}, ownership "
        f"'{model.ownership}'",
        *_notes(model),
    ]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 term" or "2 terms"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _notes(model: Model | ClassesModel) -> list[str]:
    """Return what a reader must know beside the terms: limits, weights, and an early end."""
    limits = model.settings["limits"]
    notes = [f"limit: {word} in {name}" for name, word in limits["monotone"].items()]
    others = ("exclude", "linear_only", "interactions", "penalty")
    notes += [f"limit: {limit} {limits[limit]}" for limit in others if limits[limit]]
    factors = model.training.get("class_factors", [1.0, 1.0])
    if set(factors) != {1.0}:
        pairs = zip(model.classes, factors, strict=True)
        said = ", ".join(f"{label!r} {factor:.4g}" for label, factor in pairs)
        notes.append(f"rows are weighted by class ({said}): n and rate count these weights")
    if (record := figures(model)) is not None:
        notes.append(figures_text(record, model.loss))
    if (calibration := model.training.get(CALIBRATION)) is not None:
        notes.append(calibration_text(calibration))
    if (stopped := stopped_note(model)) is not None:
        notes.append(stopped)
    notes += [
        f"edit {e['number']}, {e['when']}, {e['by']}: {e['reason']}"
        + (f"; no longer claimed: {', '.join(e['withdrawn'])}" if e["withdrawn"] else "")
        for e in model.ledger
    ]
    return notes


def stopped_note(model: Model | ClassesModel) -> str | None:
    """Say that the clock has stopped the search, if it has."""
    stopped = model.training["validation"].get("stopped")
    if stopped is None:
        return None
    return (
        f"stopped by max_fit_seconds={stopped['max_fit_seconds']:g} while {stopped['stage']}: the "
        "best model found until then, which the same data need not give again"
    )


def _part_lines(model: Model, part: TreeTerms | DirectTerm) -> Iterator[str]:
    """Yield a direct term, or a tree as indented lines with the coefficients of its leaves."""
    if isinstance(part, DirectTerm):
        counts = _counts(model, part) if part.column.binary else ""
        yield f"{part.coefficient:+9.4g}  {part.name}  {part.text}{counts}"
    else:
        yield f"{'':9}  {part.name}"
        yield from _node_lines(model, part, part.tree.root, "    ")


def _node_lines(model: Model, tree: TreeTerms, node: Branch, indent: str) -> Iterator[str]:
    for holds, child in ((True, node.yes), (False, node.no)):
        condition = Condition(node.split, holds).text(model.schema)
        text = f"{indent}{'if' if holds else 'else'} {condition}"
        if isinstance(child, Branch):
            yield f"{'':9}  {text}"
            yield from _node_lines(model, tree, child, indent + "    ")
            continue
        leaf = tree.leaves[child]
        coefficient = f"{leaf.coefficient:+9.4f}" if leaf.coefficient else f"{'0':>9}"
        yield f"{coefficient}  {text}: {tree.leaf_name(child)}{_counts(model, leaf)}"


def _counts(model: Model, term: Leaf | DirectTerm) -> str:
    said = f"rate {term.rate:.3f}" if model.task == "binary" else f"mean {term.rate:.6g}"
    return f"  (n={term.support:g}, {said})"


def figures(model: Model | ClassesModel) -> Mapping[str, Any] | None:
    """Return the figures that a model keeps, None if it has none."""
    found: Mapping[str, Any] | None = model.training.get(RECORD)
    return found


def figure_names(record: Mapping[str, Any], loss: Loss) -> dict[str, str]:
    """Return what the figures of a record are called, in order."""
    said = {**NAMES, "deviance_explained": loss.explained_name}
    said |= {"auc": MEAN_AUC} if "accuracy" in record else {}
    return {name: text for name, text in said.items() if name in record}


def figures_text(record: Mapping[str, Any], loss: Loss = BINOMIAL) -> str:
    """Say how the figures were found, and all but the conditions, on one line."""
    kept = ", groups together" if record["by"] == "groups" else ""
    how = f"{record['folds']}-fold cross-validation of {record['rows']:,} rows{kept}"
    names = figure_names(record, loss)
    known = [name for name in names if name != "miu" and record[name] is not None]
    said = ", ".join(f"{names[name]} {figure_text(record, name)}" for name in known)
    return f"on rows not seen ({how}): {said}"


def figure_text(record: Mapping[str, Any], name: str) -> str:
    """Return a figure with its standard error; errors in units of y have about four digits."""
    digits, measure = 1 if name == "miu" else 4, record[name]
    if name in ("mae", "rmse") and measure["mean"] > 0.0:
        digits = max(0, 3 - math.floor(math.log10(measure["mean"])))
    return measure_text(measure, digits)


def measure_text(measure: Mapping[str, Any] | None, digits: int) -> str:
    """Return a mean and its standard error over folds."""
    if measure is None or measure["mean"] is None:
        return "not known"
    error = measure["error"]
    return f"{measure['mean']:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")

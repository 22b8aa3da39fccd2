"""The whole model as text, with the cross-validated figures that its file may keep.

Figures are of the fit, repeated in folds of the training table: an edit of the model drops them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.losses import BINOMIAL, Loss
from rpte.model.check import monotone_texts
from rpte.model.effect import Part, own_parts
from rpte.model.effects import words_of
from rpte.model.importance import RECORD as IMPORTANCES
from rpte.model.intervals import RECORD as CALIBRATION
from rpte.model.intervals import calibration_text
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.model.promises import free_promises, promise_lines
from rpte.model.steps import RATIOS_NOTE, STEPS_NOTE, per_step, step_text, step_words, steps_text
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.structure.tree import Branch, Condition
from rpte.table.schema import Schema

if TYPE_CHECKING:
    from rpte.model.causes import CausesModel
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

RECORD = "cross_validation"  # the field of the training record
NAMES = {
    "concordance": "concordance", "auc": "AUC", "log_loss": "log-loss", "brier": "Brier score",
    "brier_explained": "share by which that is below the Kaplan-Meier curve's",
    "accuracy": "accuracy",
    "deviance_explained": "deviance explained", "gini": "Gini index",
    "calibration_ratio": "calibration ratio", "mae": "mean absolute error",
    "rmse": "root mean squared error", "miu": "conditions",
}  # fmt: skip
LONG = 30  # terms from which on a summary tells the largest components first, and folds others
LINE, WIDEST_NAME = 100, 24  # characters of a line, and of a name before its effect
NAMED = 6  # variables that the line on folded components names
OVER_TIME = "Brier score over time"
MEAN_AUC = "mean AUC (one class against the rest)"


def summary(model: Model, every: bool = False, terms: bool = False) -> str:
    """Return the model as readable text: what each variable does, or with `terms` how it is scored.

    Effects are counted from their training mean; terms are those of the exact sum. Of a long model
    the largest components come first, and small ones are one line unless `every`.
    """
    kept, folded = _largest(model, every)
    components = [model.components[place] for place in kept]
    in_terms = terms or not components
    lines = (_term_lines if in_terms else _effect_lines)(model, components)
    return "\n".join([*lines, *folded, *_foot(model), *shorter_notes(model)])


def _term_lines(model: Model, components: Sequence[Component]) -> list[str]:
    """Return the terms of components as the score adds them up."""
    lines = [*head_lines(model), f"{model.intercept:+9.4f}  intercept"]
    for component in components:
        lines += ["", f"{component.name}: {', '.join(component.sources)}"]
        lines += [line for part in component.parts for line in _part_lines(model, part)]
    return lines


def _effect_lines(model: Model, components: Sequence[Component]) -> list[str]:
    """Return what variables do from their training mean: a line for each, trees as trees."""
    means = model.training["mean_contributions"]
    average = model.intercept + sum(means.values())
    words = words_of(model)
    known = [source for c in components for source in c.sources if source in words]
    width = min(WIDEST_NAME, max(map(len, known), default=0))
    start = f"average score{_average_text(model, average)}; each line below adds to it"
    lines, shared = [f"{average:+9.4f}  {start}"], False
    for component in sorted(components, key=lambda c: len(c.sources) > 1):
        together = len(component.sources) > 1
        if together:
            lines += ["", f"{component.name}: {', '.join(component.sources)}, together"]
        said = [source for source in component.sources if source in words]
        lines += [line for source in said for line in _worded(source, words[source], width)]
        told = {part for source in said for part in own_parts(component, source)}
        rest = [part for part in component.parts if part not in told]
        shared = shared or any(isinstance(part, DirectTerm) for part in rest)
        lines += [line for part in rest for line in _part_lines(model, part, means[part.name])]
    steps = _step_notes(model, STEPS_NOTE) if shared else []
    head = [f"RPTE model: {model.target.score_text}", _load_line(model), *steps, *_notes(model)]
    return [*head, "", *lines, "", "the terms and their exact sum: summary(terms=True)"]


def _average_text(model: Model, average: float) -> str:
    """Return the probability that the average score stands for, of two classes."""
    if not isinstance(model.target, Target):
        return ""
    return f" (probability {float(model.loss.response(np.array([average]))[0]):.3g})"


def _worded(source: str, words: str, width: int) -> list[str]:
    """Return the line of a variable's effect, wrapped."""
    indent = " " * (width + 4)
    return wrap(f"  {source:<{width}}  {words}", LINE, subsequent_indent=indent,
                break_long_words=False, break_on_hyphens=False)  # fmt: skip


def _largest(model: Model | ClassesModel | CausesModel, every: bool) -> tuple[list[int], list[str]]:
    """Return the places of the components that are told, and a line on those that are not."""
    load = model.audit()
    if every or load.mu <= LONG:
        return list(range(len(model.components))), []
    terms = Counter(rule.component for rule in model.rules())
    sizes = model.training.get(IMPORTANCES) or {}
    added = [sum(sizes.get(source, 0.0) for source in c.sources) for c in model.components]
    order = sorted(range(len(added)), key=lambda place: -added[place])
    told = [terms[model.components[place].name] for place in order]
    count = max(1, bisect_right(list(accumulate(told)), LONG))
    rest = order[count:]
    if not rest:
        return order, []
    names = [source for place in rest for source in model.components[place].sources]
    some = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    share = sum(added[place] for place in rest) / (sum(added) or 1.0)
    size = f", {share:.0%} of all importance" if sizes else ""
    said = f"and {counted(sum(told[count:]), 'term')} of {counted(len(names), 'variable')}{size}"
    return order[:count], ["", f"{said} ({some}): summary(every=True) has all"]


def _foot(model: Model | ClassesModel | CausesModel) -> list[str]:
    """Say how long the model could have become, and how variables are kept apart."""
    if not model.components:
        return []
    return ["", f"at most {model.bound} conditions were possible before training; ownership "
            f"'{model.ownership}'"]  # fmt: skip


def classes_summary(model: ClassesModel, every: bool = False) -> str:
    """Return a model of several classes as text: a table of coefficients for each component."""
    names = [str(label) for label in model.classes]
    width = max(9, *(min(len(name), 14) for name in names)) + 1
    lines = head_lines(model)
    lines += ["", "".join(f"{name[:14]:>{width}}" for name in names)]
    lines.append("".join(f"{each:+{width}.4f}" for each in model.intercepts) + "  intercepts")
    kept, folded = _largest(model, every)
    for same in (tuple(own[place] for own in model.by_class) for place in kept):
        lines += ["", f"{same[0].name}: {', '.join(same[0].sources)}"]
        for trees in zip(*(component.trees for component in same), strict=True):
            lines.append(f"{'':{width * len(names)}}  {trees[0].name}")
            for text, number in tree_lines(model.schema, trees[0], trees[0].tree.root, "    "):
                leaves = [] if number is None else [tree.leaves[number] for tree in trees]
                counts = f"  (n={leaves[0].support:g})" if leaves else ""
                sizes = _sizes(leaves, width) or " " * (width * len(names))
                lines.append(f"{sizes}  {text}{counts}")
        for terms in zip(*(component.direct for component in same), strict=True):
            counts = f"  (n={terms[0].support:g})" if terms[0].column.binary else ""
            said = f"{terms[0].text_in(model.schema)}{counts}{steps_text(terms, model.data)}"
            lines.append(f"{_sizes(terms, width)}  {terms[0].name}  {said}")
    return "\n".join([*lines, *folded, *_foot(model), *shorter_notes(model)])


def _sizes(terms: Sequence[Leaf | DirectTerm], width: int) -> str:
    """Return the coefficients of a term in columns."""
    said = (f"{t.coefficient:+.4g}" if t.coefficient else "0" for t in terms)
    return "".join(f"{each:>{width}}" for each in said)


def causes_summary(model: CausesModel, every: bool = False) -> str:
    """Return a model of several causes as text: hazard ratios of each term, by cause."""
    names = [target.outcome for target in model.targets]
    width = max(9, *(min(len(name), 14) for name in names)) + 1
    lines = [f"RPTE model: {model.score_text}", _load_line(model)]
    lines += [*_step_notes(model.outline, RATIOS_NOTE), *_notes(model.outline)]
    lines += [target.baseline_text for target in model.targets[1:]]
    lines += ["", "".join(f"{name[:14]:>{width}}" for name in names) + "  hazard ratios"]
    effect, before, words = model.models[0].loss.effect, "", step_words(model.outline)
    kept, folded = _largest(model, every)
    places = {model.components[place].name: n for n, place in enumerate(kept)}
    told = [rule for rule in model.rules() if rule.component in places]
    for rule in sorted(told, key=lambda rule: places[rule.component]):
        if rule.component != before:
            inside = next(c for c in model.components if c.name == rule.component)
            lines += ["", f"{rule.component}: {', '.join(inside.sources)}"]
            before = rule.component
        sizes = per_step(rule.coefficients, rule.step)
        said = (f"{effect(size):.4g}" if size else "1" for size in sizes)
        ratios = "".join(f"{each:>{width}}" for each in said)
        step = f": {words[rule.term]}" if rule.term in words else ""
        lines.append(f"{ratios}  {rule.term}  {rule.conditions}{step}  (n={rule.support:g})")
    return "\n".join([*lines, *folded, *_foot(model)])


def head_lines(model: Model | ClassesModel) -> list[str]:
    """Return what the score is, how much there is to read, and what a reader must know beside."""
    title = f"RPTE model: {model.target.score_text}"
    return [title, _load_line(model), *_step_notes(model, STEPS_NOTE), *_notes(model)]


def _step_notes(model: Model | ClassesModel, note: str) -> list[str]:
    """Return the note on typical steps where a direct term is a number."""
    direct = [term for component in model.components for term in component.direct]
    return [] if all(term.column.binary for term in direct) else [note]


def _load_line(model: Model | ClassesModel | CausesModel) -> str:
    load = model.audit()
    parts = counted(len(model.components), "component")
    return f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')} to read, in {parts}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 term" or "2 terms"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _notes(model: Model | ClassesModel) -> list[str]:
    """Return what a reader must know beside the terms: limits, weights, and an early end."""
    limits = model.settings["limits"]
    notes = [f"limit: {said}" for said in monotone_texts(model.settings)]
    others = ("exclude", "linear_only", "interactions", "penalty")
    notes += [f"limit: {limit} {limits[limit]}" for limit in others if limits[limit]]
    if isinstance(model.target, SurvivalTarget):
        notes.append(model.target.baseline_text)
    notes += [*_interaction_notes(model), *promise_lines(free_promises(model))]
    notes += [] if (missed := missed_text(model)) is None else [missed]
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


def _interaction_notes(model: Model | ClassesModel) -> list[str]:
    """Say which variables interact, where the fit has looked for groups of them."""
    found = (model.training.get("selection") or {}).get("interactions")
    if not found or not found["groups"]:
        return []
    groups = "; ".join(", ".join(group) for group in found["groups"])
    gain, chance = f"{found['strongest']:.3g}", f"{found['threshold']:.3g}"
    return [f"interacting variables: {groups} (held-out gain {gain}, of chance at most {chance})"]


def missed_text(model: Model | ClassesModel) -> str | None:
    """Say how much more a black box explains, where the fit has found that it is much."""
    found = (model.training.get("selection") or {}).get("reference")
    if not found or "variables" not in found:
        return None
    null, left = found["null_deviance"], found["deviance"]
    shares = [1.0 - left / null, 1.0 - (left - found["gain"]) / null]
    own, other = (f"{100.0 * max(0.0, share):.0f} %" for share in shares)
    return (
        f"of rows not seen, boosted trees explain {other} of the deviance and the best model that "
        f"the search found {own}; what it misses depends on {', '.join(found['variables'])}"
    )


def shorter_notes(model: Model | ClassesModel) -> list[str]:
    """Say which shorter model validates within one standard error, and what it costs."""
    selection = model.training.get("selection") or {}
    shown, null = selection.get("frontier") or [], selection.get("null_deviance")
    load = model.audit().miu
    own = [point for point in shown if point["miu"] == load]
    if not own or not null or model.ledger:
        return []
    enough = own[0]["deviance"] + own[0]["error"]
    short = next(point for point in shown if point["deviance"] <= enough)
    if short["miu"] >= load:
        return []
    now, then = (f"{100.0 * (1.0 - point['deviance'] / null):.1f} %" for point in (own[0], short))
    most = short["miu"]
    explain = "explains" if most == 1 else "explain"
    return [
        "",
        f"shorter: {counted(most, 'condition')} instead of {load} {explain} {then} of the deviance "
        f"instead of {now} (validated; within one standard error): clf.at(miu={most}), or fit "
        f"with max_inspection_units={most}",
    ]


def stopped_note(model: Model | ClassesModel) -> str | None:
    """Say that the clock has stopped the search, if it has."""
    stopped = model.training["validation"].get("stopped")
    if stopped is None:
        return None
    return (
        f"stopped by max_fit_seconds={stopped['max_fit_seconds']:g} while {stopped['stage']}: the "
        "best model found until then, which the same data need not give again"
    )


def _part_lines(model: Model, part: Part, mean: float | None = None) -> Iterator[str]:
    """Yield a direct term, or a tree as indented lines with the coefficients of its leaves.

    Those of a tree may be counted from its training `mean`.
    """
    if isinstance(part, DirectTerm):
        counts = _counts(model, part) if part.column.binary else ""
        step = step_text(part, model.data, model.loss)
        yield f"{part.coefficient:+9.4g}  {part.name}  {part.text_in(model.schema)}{counts}{step}"
    else:
        yield f"{'':9}  {part.name}"
        for text, number in tree_lines(model.schema, part, part.tree.root, "    "):
            if number is None:
                yield f"{'':9}  {text}"
                continue
            leaf = part.leaves[number]
            size = leaf.coefficient - (mean or 0.0)
            coefficient = f"{size:+9.4f}" if size else f"{'0':>9}"
            yield f"{coefficient}  {text}{_counts(model, leaf)}"


def tree_lines(
    schema: Schema, tree: TreeTerms, node: Branch, indent: str = ""
) -> Iterator[tuple[str, int | None]]:
    """Yield the tests of a tree, indented, each with the number of the leaf that ends there."""
    for holds, child in ((True, node.yes), (False, node.no)):
        text = f"{indent}{'if' if holds else 'else'} {Condition(node.split, holds).text(schema)}"
        if isinstance(child, Branch):
            yield text, None
            yield from tree_lines(schema, tree, child, indent + "    ")
        else:
            yield f"{text}: {tree.leaf_name(child)}", child


def _counts(model: Model, term: Leaf | DirectTerm) -> str:
    if model.task == "binary":
        said = f"rate {term.rate:.3f}"
    elif isinstance(model.target, SurvivalTarget):
        said = f"{model.target.mean_name} {term.rate:.3f}"
    else:
        said = f"mean {term.rate:.6g}"
    return f"  (n={term.support:g}, {said})"


def figures(model: Model | ClassesModel) -> Mapping[str, Any] | None:
    """Return the figures that a model keeps, None if it has none."""
    found: Mapping[str, Any] | None = model.training.get(RECORD)
    return found


def figure_names(record: Mapping[str, Any], loss: Loss) -> dict[str, str]:
    """Return what the figures of a record are called, in order."""
    said = {**NAMES, "deviance_explained": loss.explained_name}
    said |= {"auc": MEAN_AUC} if "accuracy" in record else {}
    said |= {"brier": OVER_TIME} if "concordance" in record else {}
    return {name: text for name, text in said.items() if name in record}


def figures_text(record: Mapping[str, Any], loss: Loss = BINOMIAL) -> str:
    """Say how the figures were found, and all but the conditions, on one line."""
    kept = ", groups together" if record["by"] == "groups" else ""
    how = f"{record['folds']}-fold cross-validation of {record['rows']:,} rows{kept}"
    names = figure_names(record, loss)
    known = [name for name in names if name != "miu" and record[name] is not None]
    said = ", ".join(
        f"{names[name]} {figure_text(record, name)}" for name in known if name != "brier_explained"
    )
    below = record["brier_explained"]["mean"] if "brier_explained" in known else None
    if below is not None:  # the last of them
        way = "lower" if below >= 0.0 else "higher"
        said += f", which is {abs(below):.1%} {way} than that of the Kaplan-Meier curve"
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

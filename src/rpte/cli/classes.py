"""Models of several classes for a terminal: coefficients, contributions and scores by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rpte.cli.show import QUIET, coefficient, explanation_record, explanation_view
from rpte.cli.terminal import table_of
from rpte.errors import InputError
from rpte.model.class_explanation import ClassExplanation
from rpte.model.classes import ClassesModel, ClassTerm
from rpte.model.labels import Label
from rpte.model.steps import steps_text
from rpte.model.summary import figures
from rpte.model.what_if import with_cells
from rpte.table.column import level_text
from rpte.table.target import matching_label

if TYPE_CHECKING:
    import pandas as pd

    from rpte.cli.options import Case, Rows
    from rpte.model.explain import Contribution, Explanation

NARROWEST, GAP, ROOM = 10, 2, 40  # columns of a number, between two of them, and for the term


class ClassLine(NamedTuple):
    """A line of a table with a column for each class; without values it is a heading."""

    text: str
    values: Sequence[float] = ()


def class_names(model: ClassesModel) -> list[str]:
    """Return what tables call the classes."""
    return [level_text(label) for label in model.classes]


def named_class(model: ClassesModel, option: str, text: str | None) -> Label | None:
    """Return the class that a user names."""
    if text is None:
        return None
    try:
        found: Label = matching_label(text, model.classes)
    except InputError as error:
        raise InputError(f"{option} {text}: {error}") from None
    return found


def lines_view(names: Sequence[str], lines: Sequence[ClassLine], width: int) -> RenderableType:
    """Return lines as a table, a column for each class; a list where the classes have no room.

    The list names the classes of which a term says something, and leaves zeros out.
    """
    taken = sum(max(len(name), NARROWEST) + GAP for name in names)
    if taken + ROOM > width:
        return _list(names, lines)
    table = table_of([*(f">{name}" for name in names), ""])
    for column in table.columns[:-1]:
        column.min_width, column.no_wrap = NARROWEST, True
    blank = [""] * len(names)
    for line in lines:
        said = Text(line.text, "" if line.values else "bold")
        table.add_row(*(map(coefficient, line.values) if line.values else blank), said)
    return table


def _list(names: Sequence[str], lines: Sequence[ClassLine]) -> Table:
    """Return lines one below the other, with the values that are not 0."""
    table = table_of((">", ""), show_header=False)
    for line in lines:
        nothing = "0" if line.values and not any(line.values) else ""
        table.add_row(Text(nothing, QUIET), Text(line.text, "" if line.values else "bold"))
        for name, value in zip(names, line.values or [0.0] * len(names), strict=True):
            if value != 0.0:
                table.add_row(coefficient(value), Text(f"  {name}", QUIET))
    return table


# ---------------------------------------------------------------- rpte show


def classes_view(model: ClassesModel, width: int) -> Group:
    """Return the whole model: a table of coefficients, one column for each class."""
    lines = [ClassLine("intercept", model.intercepts)]
    for same in zip(*model.by_class, strict=True):
        lines.append(ClassLine(f"{same[0].name}  {', '.join(same[0].sources)}"))
        lines += [
            ClassLine(_counted(model, term), term.coefficients)
            for component, term in model.terms()
            if component.name == same[0].name
        ]
    title = f"score of each of {len(model.classes)} classes: the sum of its column"
    note = Text("probabilities go with exp(score); 0: the term says nothing of the class", QUIET)
    return Group(title, note, lines_view(class_names(model), lines, width))


def classes_record(model: ClassesModel) -> dict[str, Any]:
    """Return what `rpte show` shows as plain values: one rule per term, in the order of the sum."""
    load, names = model.audit(), class_names(model)

    def by_class(values: Sequence[float]) -> dict[str, float]:
        return dict(zip(names, values, strict=True))

    rules = [{**asdict(r), "coefficients": by_class(r.coefficients)} for r in model.rules()]
    return {
        "classes": list(model.classes),
        "totals": by_class(model.target.totals),
        "ownership": model.ownership,
        "limits": model.settings["limits"],
        "cross_validation": figures(model),
        "stopped": model.training["validation"].get("stopped"),
        "terms": load.mu,
        "conditions": load.miu,
        "bound": load.bound,
        "intercepts": by_class(model.intercepts),
        "rules": rules,
    }


# ---------------------------------------------------------------- rpte score


def class_scores(
    model: ClassesModel, rows: Rows, id_column: str | None, with_parts: bool
) -> pd.DataFrame:
    """Return id, class, and score and probability of every class, of each row.

    With parts, also what the intercept and the components add to each score.
    """
    import pandas as pd

    inputs, names = rows.inputs, class_names(model)
    name, ids = rows.ids(id_column)
    score = model.score(inputs)
    columns: dict[str, Any] = {"class": np.asarray(model.target.labels[score.argmax(axis=1)])}
    response = np.asarray(model.loss.response(score.T))
    columns |= {f"score_{label}": score[:, k] for k, label in enumerate(names)}
    columns |= {f"probability_{label}": response[k] for k, label in enumerate(names)}
    for label, one in zip(names, model.models, strict=True) if with_parts else ():
        columns[f"intercept_{label}"] = np.full(inputs.n_rows, one.intercept)
        columns |= {f"{part.name}_{label}": part.subtotal(inputs) for part in one.components}
    if name in columns:
        raise InputError(f"the id column '{name}' has the name of a result; rename it")
    return pd.DataFrame({name: ids, **columns})


# ---------------------------------------------------------------- rpte explain, whatif


def probabilities(model: ClassesModel, values: Sequence[float]) -> dict[str, float]:
    """Return the probabilities of one row, by class."""
    return dict(zip(class_names(model), values, strict=True))


def class_record(told: ClassExplanation) -> dict[str, Any]:
    """Return why a row is given one class and not another, as plain values."""
    return {
        "class": told.chosen,
        "against": told.against,
        "probabilities": {level_text(label): p for label, p in told.probabilities.items()},
        "difference": explanation_record(told.difference),
    }


def class_view(told: ClassExplanation, title: str, order: str = "size") -> Group:
    """Return the contributions to the difference of two scores."""
    ranked = sorted(told.probabilities.items(), key=lambda pair: -pair[1])
    head = f"{title}: why {level_text(told.chosen)} and not {level_text(told.against)}"
    chances = _chances([(level_text(label), p) for label, p in ranked])
    return Group(chances, explanation_view(told.difference, head, order))


def _chances(ranked: Sequence[tuple[str, float]], most: int = 5) -> Text:
    shown = ", ".join(f"{name} {p:.4f}" for name, p in ranked[:most])
    more = f", {len(ranked) - most} more" if len(ranked) > most else ""
    return Text(f"probabilities: {shown}{more}")


def all_classes(model: ClassesModel, one: Case, mean: bool) -> list[Explanation]:
    """Return the score of every class taken apart, of one row."""
    reference = "mean" if mean else None
    return [each.explain(one.cells, reference)[0] for each in model.models]


def all_classes_record(model: ClassesModel, told: list[Explanation]) -> dict[str, Any]:
    """Return the contributions to the scores of all classes as plain values."""
    names = class_names(model)
    p = model.loss.response(np.array([[each.score] for each in told]))[:, 0]
    scores = {
        name: {
            "intercept": each.intercept,
            "components": [asdict(component) for component in each.components],
            "score": each.score,
        }
        for name, each in zip(names, told, strict=True)
    }
    return {
        "class": model.classes[int(np.argmax([each.score for each in told]))],
        "probabilities": probabilities(model, p.tolist()),
        "scores": scores,
        "inputs": dict(told[0].inputs),
        "flags": list(told[0].flags),
        "reference": told[0].reference,
    }


def all_classes_view(
    model: ClassesModel, told: list[Explanation], title: str, width: int
) -> Iterator[RenderableType]:
    """Yield a table of what every term adds to the score of every class."""
    p = model.loss.response(np.array([[each.score] for each in told]))[:, 0]
    names = class_names(model)
    ranked = sorted(zip(names, p.tolist(), strict=True), key=lambda pair: -pair[1])
    lines = [ClassLine(told[0].start, [each.intercept for each in told])]
    for same in zip(*(each.components for each in told), strict=True):
        given = told[0].given(same[0].sources)
        lines.append(ClassLine(f"{same[0].component}  with {given}"))
        lines += [
            ClassLine(_term_text(model, parts[0]), [part.value for part in parts])
            for parts in zip(*(component.contributions for component in same), strict=True)
        ]
    lines.append(ClassLine("score", [each.score for each in told]))
    yield Text(f"{title}: what each term adds to the score of each class", "italic")
    yield _chances(ranked, len(ranked))
    yield lines_view(names, lines, width)
    yield from (Text(f"note: {flag}", "yellow") for flag in told[0].flags)


def _term_text(model: ClassesModel, part: Contribution) -> str:
    """Return the text of a term without the coefficient, which differs between classes."""
    found = {term.name: term.text for _, term in model.terms()}
    return f"{part.term}: {found[part.term]}"


def _counted(model: ClassesModel, term: ClassTerm) -> str:
    """Return a term in words, with the training cases for which it holds or its typical step."""
    more = f"  n={term.terms[0].support:g}" if term.binary else steps_text(term.terms, model.data)
    return f"{term.name}  {term.text}{more}"


def moved_classes(
    model: ClassesModel, one: Case, changes: dict[str, Any]
) -> tuple[list[float], list[float]]:
    """Return the probabilities of one row before and after a change of some cells."""
    fresh = with_cells(model.outline, one.cells, changes)
    before, after = (model.response(cells)[0].tolist() for cells in (one.cells, fresh))
    return before, after


def moved_view(model: ClassesModel, before: list[float], after: list[float]) -> Table:
    """Return the probabilities before and after as a table, the largest first."""
    names = class_names(model)
    rows = sorted(zip(before, after, names, strict=True), key=lambda row: -max(row[:2]))
    shown = [
        (f"{a:.4f}", f"{b:.4f}", coefficient(b - a), f"probability of {n}") for a, b, n in rows
    ]
    return table_of((">before", ">after", ">moves by", "class"), shown)

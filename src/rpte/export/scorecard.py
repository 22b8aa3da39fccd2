"""Scorecard: points to add up by hand, scaled so that so many points double the odds."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.errors import InputError
from rpte.export.cells import Cells
from rpte.export.evaluate import evaluate
from rpte.export.form import Form
from rpte.export.scorecard_loss import rounding_loss
from rpte.export.target import Answers, Options, Target
from rpte.model.model import probability
from rpte.model.parts import DirectTerm, TreeTerms, path_text
from rpte.table.decimals import number_text

Floats = NDArray[np.float64]
OPTIONS = {
    "format": None,
    "pdo": 20.0,
    "base_score": 600.0,
    "base_odds": 50.0,
    "points_for": "positive",
    "digits": 0,
    "label": None,
}
FORMATS = ("txt", "csv", "html")
PER_UNIT_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """How the log odds of the positive class become points: offset + factor * log odds."""

    factor: float
    offset: float
    digits: int

    def points(self, score: Floats) -> Floats:
        """Return points, rounded as the card has them."""
        return np.round(self.factor * score, self.digits) + 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the card.

    Parameters
    ----------
    component, term : str
        Such as ``C1`` and ``T1.L2``; empty for the base points.
    when : str
        The conditions.
    points : str
        Points where they hold; empty for a line that counts units.
    per_unit, centre : str
        Points for each unit of the variable beyond the centre, rounded after multiplying.
    """

    component: str
    term: str
    when: str
    points: str
    per_unit: str = ""
    centre: str = ""


def scale_of(options: Options) -> Scale:
    """Return the scale that the options ask for."""
    factor = options["pdo"] / math.log(2)
    offset = options["base_score"] - factor * math.log(options["base_odds"])
    sign = 1 if options["points_for"] == "positive" else -1
    return Scale(sign * factor, offset, options["digits"])


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_above_zero(value: Any) -> bool:
    """Tell whether a value is a finite number above 0."""
    return is_number(value) and bool(value > 0)


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "pdo": (is_above_zero, "a number above 0: the points that double the odds"),
    "base_score": (is_number, "a number: the points at the base odds"),
    "base_odds": (is_above_zero, "a number above 0"),
    "points_for": (lambda v: v in ("positive", "other"), "'positive' or 'other'"),
    "digits": (lambda v: isinstance(v, int) and 0 <= v <= 6, "a whole number from 0 to 6"),
    "format": (lambda v: v in FORMATS, f"one of {', '.join(FORMATS)} (or that file ending)"),
}


def check(form: Form, options: Options) -> None:
    """Refuse a scale that makes no sense."""
    for name, (holds, rule) in RULES.items():
        if not holds(options[name]):
            raise InputError(f"{name}={options[name]!r}; it must be {rule}")


def card_rows(form: Form, options: Options) -> list[Row]:
    """Return the lines of the card, the base points first."""
    scale, model = scale_of(options), form.model
    base = scale.offset + scale.factor * model.intercept
    rows = [Row("", "base", "everybody", f"{round(base, scale.digits) + 0.0:.{scale.digits}f}")]
    for component, part in model.parts():
        if isinstance(part, TreeTerms):
            rows += _leaves(form, component.name, part, scale)
        else:
            rows.append(_direct(component.name, part, scale))
    return rows


def _leaves(form: Form, component: str, tree: TreeTerms, scale: Scale) -> Iterator[Row]:
    for number, path, leaf in tree.rules():
        if leaf.coefficient == 0:
            continue
        text = path_text(path, form.model.schema)
        yield Row(component, tree.leaf_name(number), text, _points(leaf.coefficient, scale))


def _direct(component: str, term: DirectTerm, scale: Scale) -> Row:
    if term.column.binary:
        return Row(component, term.name, term.text, _points(term.coefficient, scale))
    rate = f"{scale.factor * term.coefficient:+.{PER_UNIT_DIGITS}g}"
    return Row(component, term.name, term.text, "", rate, number_text(term.centre))


def _points(coefficient: float, scale: Scale) -> str:
    return f"{float(scale.points(np.array(coefficient))):+.{scale.digits}f}"


def write(form: Form, options: Options) -> str:
    """Return the card as a text, a CSV table or a page."""
    rows = card_rows(form, options)
    if options["format"] == "csv":
        return _csv(rows)
    from rpte.export.scorecard_view import card_page, card_text

    draw = card_text if options["format"] == "txt" else card_page
    return draw(form, options, rows)


def _csv(rows: list[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows(astuple(row) for row in rows)
    return out.getvalue()


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Add up the points of some rows as a person would, and return the log odds they stand for."""
    rows = card_rows(form, options)
    engine = "the lines of the card"
    if options["format"] == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = [Row(**line) for line in csv.DictReader(file)]
        engine = "the CSV table, read again"
    scale = scale_of(options)
    card = {row.term: row for row in rows}
    truth = evaluate(form, cells)
    total = np.full(cells.n_rows, float(card["base"].points))
    lines = {}
    for _, part in form.model.parts():
        points = _added(part, card, truth[part.name], scale)
        lines[part.name] = points / scale.factor
        total = total + points
    score = (total - scale.offset) / scale.factor
    return Answers({**lines, "score": score, "probability": probability(score)}, engine)


def _added(
    part: TreeTerms | DirectTerm, card: dict[str, Row], contribution: Floats, scale: Scale
) -> Floats:
    """Return the points that one tree or direct term adds to each row."""
    if isinstance(part, TreeTerms):
        lines = [(leaf.coefficient, card.get(part.leaf_name(i))) for i, _, leaf in part.rules()]
        known = {value: float(row.points) if row else 0.0 for value, row in lines}
        return np.array([known[value] for value in contribution.tolist()])
    if part.column.binary:
        return np.where(contribution != 0, float(card[part.name].points), 0.0)
    units = contribution / part.coefficient  # zero coefficients are not in a model
    return np.round(float(card[part.name].per_unit) * units, scale.digits)


def tolerance(form: Form, options: Options) -> float:
    """Return what rounding every line may add up to, in log odds."""
    lines = len(form.role("term")) + 1
    half: float = 0.5 * 10.0 ** -options["digits"]
    return lines * half / abs(scale_of(options).factor) + 10.0 ** (1 - PER_UNIT_DIGITS)


def notes(form: Form, options: Options, X: Any, answers: Answers) -> tuple[str, ...]:
    """Say what rounding costs on some rows: points, and with labels AUC and calibration."""
    return rounding_loss(form.model, X, answers.lines["score"], options["label"], options["pdo"])


TARGET = Target("scorecard", ".txt", write, run, OPTIONS, check, tolerance=tolerance, notes=notes)

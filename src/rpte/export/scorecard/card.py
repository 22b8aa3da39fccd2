"""Scorecard: tables of attributes with whole points, to add up by hand or to read by a program.

The card is made by `rpte.scorecard` from the model and from the rows given to the export. It is
kept in the parity record, so that a later check on other rows checks the same card. What is proved
is that the printed lines give the card's own points; how far the card is from the model is told.
"""

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from rpte.audit import metrics
from rpte.audit.metrics import Ranked, rank
from rpte.errors import InputError, did_you_mean
from rpte.export.cells import Cells
from rpte.export.form import Form
from rpte.export.parity import expected, inputs_of, read_silently
from rpte.export.survival import OPTIONS as OF_TIMES
from rpte.export.survival import expected_survival
from rpte.export.target import Answers, MadeRows, Options, Target
from rpte.losses import BINOMIAL
from rpte.model.model import Model
from rpte.scorecard import Scorecard, make_card
from rpte.scorecard.build import CERTAIN
from rpte.scorecard.card import Line, Scale, card_page, card_text
from rpte.scorecard.evidence import Evidence
from rpte.table.inputs import Inputs, as_array, column_names
from rpte.table.target import as_classes
from rpte.utils.arrays import Array, Floats, Ints
from rpte.utils.csv_text import rows_csv

SCALE = {field.name: field.default for field in fields(Scale)} | {"points_for": None}
OPTIONS = {"format": None, **SCALE, "label": None, "card": None}
FORMATS = ("txt", "csv", "html")
WHAT = "a scorecard"


def check(form: Form, options: Options) -> None:
    """Refuse a model of a number or of several classes: points are of odds, or of hazards."""
    model = form.one_score(WHAT)
    if form.response.name == "mean":
        other = "relativities" if model.loss.link == "log" else "xlsx"
        raise InputError(
            "a scorecard has points that stand for the odds of a class, and the model predicts a "
            f"number ({form.response.text}); export it to {other!r} instead, a table of every term"
        )


def learn(form: Form, options: Options, X: Any) -> dict[str, Any]:
    """Return the options with the card, its bins made from rows if there are any."""
    if options["format"] not in FORMATS:
        raise InputError(
            f"format={options['format']!r}; it must be one of {', '.join(FORMATS)} (or that file "
            "ending)"
        )
    if options["label"] is not None and form.model.task == "survival":
        raise InputError("label names the classes of a table; a card of times has none")
    if options["label"] is not None and X is None:
        raise InputError(f"label={options['label']!r} needs rows that have it; give a table too")
    scale = {name: options[name] for name in SCALE}
    if form.model.task == "survival":  # what is left as it is is not asked for
        scale = {name: value for name, value in scale.items() if value != SCALE[name]}
        scale |= {name: options[name] for name in OF_TIMES}
    rows = None if X is None else read_silently(form.model, X)
    model, label = form.one_score(WHAT), options["label"]
    y = None if label is None else label_column(model, X, label)
    if y is not None and (model.settings["profile"] == "none" or len(set(y.tolist())) < 2):
        y = None  # counts are private, or there is nothing to compare
    return {**options, "card": make_card(model, rows, y, **scale).to_dict()}


def card_of(form: Form, options: Options) -> Scorecard:
    """Return the card that the options hold."""
    return Scorecard.from_dict(form.one_score(WHAT), options["card"])


def write(form: Form, options: Options) -> str:
    """Return the card as a text, a CSV table or a page."""
    card = card_of(form, options)
    writers = {"csv": card_csv, "txt": card_text, "html": card_page}
    return writers[options["format"]](card)


def card_csv(card: Scorecard) -> str:
    """Return the lines of the card as a table; with labels, what they say of each line too."""
    head = [field.name for field in fields(Line) if field.name != "evidence"]
    more = [field.name for field in fields(Evidence)] if card.totals else []
    rows = []
    for line in card.lines():
        found = line.evidence and [getattr(line.evidence, name) for name in more]
        rows.append([*(getattr(line, name) for name in head), *(found or [None] * len(more))])
    return rows_csv([[*head, *more], *rows])


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Add up the points of the lines that apply, and return the log odds they stand for."""
    card = card_of(form, options)
    lines, engine = list(card.lines()), "the lines of the card"
    if options["format"] == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            lines = [_line(row) for row in csv.DictReader(file)]
        engine = "the CSV table, read again"
    score = card.log_odds(_added(card, lines, inputs_of(form, cells)))
    return Answers(_stand_for(form, score), engine)


def _stand_for(form: Form, score: Floats) -> dict[str, Floats]:
    """Return the scores of a card, and what they stand for."""
    model = form.one_score(WHAT)
    told = {"score": score, form.response.name: model.loss.response(score)}
    return told | expected_survival(model, score, form.horizons)


def _line(row: dict[str, str]) -> Line:
    return Line(int(row["table"]), row["characteristic"], row["attribute"], int(row["points"]))


def _added(card: Scorecard, lines: Iterable[Line], inputs: Inputs) -> Ints:
    points: dict[int, list[int]] = {}
    for line in lines:
        points.setdefault(line.table, []).append(line.points)
    total = np.full(inputs.n_rows, points[0][0], np.int64)
    for number, found in enumerate(card.tables, 1):
        total = total + np.array(points[number])[found.places(inputs)]
    return total


def truth(form: Form, options: Options, X: Any) -> dict[str, Floats]:
    """Return what the card itself says of some rows, beside the contributions of the model."""
    card = card_of(form, options)
    score = card.log_odds(card.points(read_silently(form.model, X)))
    return {**expected(form.model, X), **_stand_for(form, score)}


def notes(form: Form, options: Options, X: Any, answers: Answers) -> tuple[str, ...]:
    """Say how far the card is from the model: points, and with labels AUC and calibration."""
    card = card_of(form, options)
    if isinstance(X, MadeRows):
        return (bound_note(card),)
    if form.model.task == "survival":
        return time_differences(form, card, X, answers.lines["score"])
    return differences(card, X, answers.lines["score"], options["label"])


def bound_note(card: Scorecard) -> str:
    """Say what is known of the difference without rows to measure it on."""
    known = f"{card.rows} rows" if card.rows else "what the model file tells"
    return (
        f"not measured on rows: over the values that the bins were made from ({known}) the card "
        f"differs from the model by at most {card.bound:.1f} points, beyond them there is no "
        "bound; give rows to measure it"
    )


def differences(card: Scorecard, X: Any, found: Floats, label: str | None) -> tuple[str, ...]:
    """Say how far the card is from the model on some rows.

    `found`, of shape (n_rows,), are the log odds that the points of each row stand for; `label` is
    the column of `X` that holds the classes.
    """
    score = card.model.score(read_silently(card.model, X))
    both = (np.clip(values, -CERTAIN, CERTAIN) for values in (found, score))
    gap = np.abs(np.subtract(*both)) * abs(card.scale.factor)
    moved = np.abs(BINOMIAL.response(found) - BINOMIAL.response(score))
    said = [
        f"the card differs from the model by {gap.mean():.2f} points on average and "
        f"{gap.max():.1f} at most (odds beyond a billion to 1 count as that), its probability by "
        f"{moved.mean():.4f} and {moved.max():.4f}"
    ]
    if label is not None:
        y = labels(card.model, X, label)
        said += [_compared(name, y, score, found) for name in MEASURES]
    if card.information:
        worth = ", ".join(f"{name} {value:.3f}" for name, value in card.information.items())
        said.append(f"information value: {worth}")
    return tuple(said)


def time_differences(form: Form, card: Scorecard, X: Any, found: Floats) -> tuple[str, ...]:
    """Say how far a card of times is from the model on some rows, at every horizon."""
    score = card.model.score(read_silently(card.model, X))
    gap = np.abs(found - score)
    said = [
        f"the card differs from the model by {(gap * abs(card.scale.factor)).mean():.2f} points on "
        f"average and {gap.max() * abs(card.scale.factor):.1f} at most: a factor of "
        f"{_power_text(float(gap.max()))} of the hazard"
    ]
    both = (expected_survival(card.model, values, form.horizons) for values in (found, score))
    mine, own = both
    for name in mine:
        moved = np.abs(mine[name] - own[name])
        said.append(f"{name}: {moved.mean():.4f} on average and {moved.max():.4f} at most")
    return tuple(said)


def _power_text(exponent: float) -> str:
    """Return e to a power, which may be more than a float holds, with three digits."""
    ten = exponent / math.log(10)
    return f"{math.exp(exponent):.3g}" if ten < 300 else f"10^{ten:.0f}"


def labels(model: Model, X: Any, label: str) -> Floats:
    """Return 1.0 where a column of the table holds the positive class."""
    found = label_column(model, X, label)
    return np.asarray(found == model.classes[model.positive], np.float64)


def label_column(model: Model, X: Any, label: str) -> Array:
    """Return the classes that a column of the table holds, (n_rows,)."""
    names = column_names(X) or {}
    if label not in names:
        hint = did_you_mean(label, names)
        raise InputError(f"label={label!r} is no column of the table{hint}; name its classes")
    return np.asarray(as_classes(as_array(X[names[label]]), model.classes))


def _compared(name: str, y: Floats, score: Floats, found: Floats) -> str:
    everyone = np.ones(len(y))
    before, after = (MEASURES[name](rank(y, values, everyone)) for values in (score, found))
    if before is None or after is None:
        return f"{name}: not defined, the table holds one class only"
    return f"{name}: {before:.4f} of the model, {after:.4f} of the card ({after - before:+.4f})"


MEASURES: dict[str, Callable[[Ranked], float | None]] = {
    "AUC": metrics.auc,
    "log-loss": metrics.log_loss,
    "Brier score": metrics.brier,
    "mean probability minus observed rate": lambda r: metrics.expected(r) - float(r.y.mean()),
}
TARGET = Target(
    "scorecard",
    ".txt",
    write,
    run,
    OPTIONS,
    check,
    tolerance=0.0,
    notes=notes,
    learn=learn,
    truth=truth,
)

"""Relativities: the base value of a mean and the factors that multiply it, as tariffs are filed.

One line per term, as CSV. The mean of a row is the base value times the relativity of every line
that applies: of a tree exactly one line; of a statement the line where it holds; of a slope the
relativity to the power of (value - centre), where there is a value. The column `coefficient` is the
logarithm of the relativity, in full: a relativity per unit that is next to 1 has lost digits of it.
Of a time until an event the relativities are hazard ratios, and multiply to that of the row; below
them stands the cumulated baseline hazard at each horizon, and survival is exp(-hazard * ratio).

The table is read again and compared in both ways: the coefficients must add up to the score, and
the relativities multiply to the mean.
"""

import csv
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np

from rpte.errors import InputError
from rpte.export.cells import Cells
from rpte.export.form import Form
from rpte.export.lower import STEEPEST, limited
from rpte.export.parity import inputs_of
from rpte.export.target import ROUNDING, Answers, Options, Target
from rpte.model.parts import DirectTerm, TreeTerms, path_sources, path_text
from rpte.model.steps import unit_words
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Floats
from rpte.utils.csv_text import rows_csv

OPTIONS = {"format": None}
BASE, HOLDS, SLOPE, BASELINE = "base", "where it holds", "per unit", "baseline hazard"
FORBIDDEN = re.compile("[\0\ud800-\udfff]")  # what the table cannot hold


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; support and observed mean are of the training rows."""

    component: str
    term: str
    variables: str
    when: str
    kind: str
    centre: float | None
    relativity: float
    support: float | None
    observed_mean: float | None
    coefficient: float | None  # None for a baseline hazard of 0


def check(form: Form, options: Options) -> None:
    """Refuse a model whose terms do not multiply a mean, and what the table cannot hold."""
    if form.classes:
        raise InputError(
            f"relativities multiply a mean, and the model tells {len(form.classes)} classes; "
            "export it to 'xlsx' instead, a table of every term, or in Python "
            "load(...).between(a, b), a model of two of them, to 'scorecard'"
        )
    if form.model.loss.link != "log":
        other = "scorecard" if form.response.name == "probability" else "xlsx"
        raise InputError(
            f"relativities multiply a mean, and the terms of the model add to the "
            f"{form.role('score')[0].text}: export it to {other!r} instead, or fit RPTERegressor "
            "with loss='poisson', 'gamma' or 'tweedie'"
        )
    if options["format"] != "csv":
        raise InputError(f"format={options['format']!r}; it must be csv (or that file ending)")
    for line in lines_of(form):
        found = FORBIDDEN.search(f"{line.variables} {line.when}")
        if found:
            raise InputError(
                f"{line.term} speaks of a name or level with the character {found[0]!r}, which a "
                "CSV table cannot hold; clean the column and fit again"
            )
        if abs(line.coefficient or 0.0) > STEEPEST:
            raise InputError(
                f"{line.term} ({line.when}) has the coefficient {line.coefficient:g}, whose "
                "exponential is no relativity: fit again with that variable in other units"
            )


def lines_of(form: Form) -> Iterator[Line]:
    """Yield the lines of the table: the base value, then every term in the order of the model."""
    model = form.one_score("a table of relativities")
    whole = model.training["rows"] * model.target.units.weight
    base = ("", BASE, "", form.response.text, BASE, None)
    yield _line(form, model.intercept, base, whole, model.target.total / whole)
    for component, part in model.parts():
        where = component.name
        if isinstance(part, DirectTerm):
            kind: str = HOLDS
            centre: float | None = None
            if not part.column.binary:
                kind, centre = unit_words(part.column), part.centre
            said = (where, part.name, ", ".join(part.sources), part.text, kind, centre)
            yield _line(form, part.coefficient, said, part.support, part.rate)
            continue
        for number, path, leaf in part.rules():
            when = path_text(path, model.schema) or "every case"
            sources = ", ".join(path_sources(path))
            said = (where, part.leaf_name(number), sources, when, HOLDS, None)
            yield _line(form, leaf.coefficient, said, leaf.support, leaf.rate)
    for at, line in zip(form.horizons, form.role("survival"), strict=True):
        log = math.log(at.hazard) if at.hazard else None
        yield Line("", at.name, "", line.text, BASELINE, None, at.hazard, None, None, log)


Said = tuple[str, str, str, str, str, float | None]  # the fields of a line up to the centre


def _line(form: Form, coefficient: float, said: Said, support: float, mean: float) -> Line:
    observed = None if math.isnan(mean) else mean
    return Line(*said, form.model.loss.effect(coefficient), support, observed, coefficient)


def write(form: Form, options: Options) -> str:
    """Return the table."""
    return rows_csv([[field.name for field in fields(Line)], *map(astuple, lines_of(form))])


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Read the table again, add the coefficients and multiply the relativities."""
    with path.open(newline="", encoding="utf-8") as file:
        read = {row["term"]: row for row in csv.DictReader(file)}
    for term, row in read.items():
        if row["kind"] != BASELINE or row["coefficient"]:
            _check_pair(term, float(row["relativity"]), float(row["coefficient"]))
    inputs = inputs_of(form, cells)
    lines: dict[str, Floats] = {}
    score = np.full(inputs.n_rows, float(read[BASE]["coefficient"]))
    mean = np.full(inputs.n_rows, float(read[BASE]["relativity"]))
    inside = np.ones(inputs.n_rows, bool)
    for component in form.model.components:
        total = np.zeros(inputs.n_rows)
        for place, part in enumerate(component.parts):
            added, factor = _applied(part, read, inputs)
            lines[part.name], total = added, total + added if place else added
            with np.errstate(all="ignore"):
                mean = mean * factor
                inside &= np.abs(np.log(mean)) <= STEEPEST
        lines[component.name], score = total, score + total
    # A row of extreme values may leave the range of numbers on the way.
    ratio = np.where(inside, mean, np.exp(limited(score)))
    lines |= {"score": score, form.response.name: ratio}
    with np.errstate(over="ignore"):
        for at in form.horizons:
            lines[at.name] = np.exp(-float(read[at.name]["relativity"]) * ratio)
    return Answers(lines, "the CSV table, read again")


def _check_pair(term: str, relativity: float, coefficient: float) -> None:
    """Refuse a line whose two numbers do not say the same."""
    wanted = math.exp(coefficient)
    if not abs(relativity - wanted) <= ROUNDING * wanted:
        raise InputError(
            f"the relativity of {term} is {relativity!r}, and its coefficient {coefficient!r} "
            f"stands for {wanted!r}; nothing was written"
        )


def _applied(
    part: TreeTerms | DirectTerm, read: Mapping[str, Mapping[str, str]], inputs: Inputs
) -> tuple[Floats, Floats]:
    """Return what the lines of a tree or a direct term add to the score, and multiply, (n,)."""
    if isinstance(part, TreeTerms):
        rows = [read[part.leaf_name(number)] for number in range(len(part.leaves))]
        leaf = part.tree.apply(inputs)
        numbers = ([float(row[name]) for row in rows] for name in ("coefficient", "relativity"))
        added, factor = (np.array(column)[leaf] for column in numbers)
        return added, factor
    row = read[part.name]
    centre = float(row["centre"]) if row["kind"].startswith(SLOPE) else part.centre
    term = replace(part, coefficient=float(row["coefficient"]), centre=centre)
    added = term.contribution(inputs)
    if row["kind"].startswith(SLOPE):
        with np.errstate(over="ignore"):
            return added, np.exp(added)
    return added, np.where(added != 0.0, float(row["relativity"]), 1.0)


TARGET = Target("relativities", ".csv", write, run, OPTIONS, check)

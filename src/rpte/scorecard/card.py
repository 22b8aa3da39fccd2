"""The card: base points, and tables whose points add up to a score; as a text and as a page.

A table is of one or two variables cut into bins, or of the leaves of a tree. In every table exactly
one line applies to a row, whatever its cells are. A bin of numbers is ``low < x <= high``, the
outermost without an end.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import groupby, pairwise, product
from typing import Any, Literal

import numpy as np

from rpte.columns.kinds import Level
from rpte.errors import InputError
from rpte.losses import BINOMIAL
from rpte.model.file import content_hash, to_dict
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.parts import path_text
from rpte.scorecard.evidence import FEW, Counts, Evidence, evidence_of, hidden, line_counts
from rpte.scorecard.meaning import headline, is_survival, meanings, survival
from rpte.structure.tree import Tree
from rpte.table.column import MISSING, UNSEEN
from rpte.table.decimals import number_text
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema
from rpte.utils.arrays import Floats, Index, Ints

WIDTH, MARGIN = 100, 8


@dataclass(frozen=True, slots=True)
class Axis:
    """The attributes of one variable: bins of numbers, then sets of levels, codes and missing."""

    variable: str
    cuts: tuple[float, ...] | None  # between the bins of numbers; None for a category
    others: tuple[tuple[int, ...], ...]  # codes that share an attribute, MISSING and UNSEEN alone

    @property
    def bins(self) -> int:
        """How many bins of numbers there are."""
        return 0 if self.cuts is None else len(self.cuts) + 1

    def __len__(self) -> int:
        return self.bins + len(self.others)

    def places(self, inputs: Inputs) -> Index:
        """Return which attribute each row has."""
        variable = inputs.schema[self.variable]
        found = np.full(inputs.n_rows, -1, np.intp)
        if self.cuts is not None:
            x = inputs[self.variable]
            found = np.where(np.isnan(x), -1, np.searchsorted(np.array(self.cuts), x, "left"))
        for place, others in enumerate(self.others, self.bins):
            if others == (MISSING,):
                found[inputs.is_missing(self.variable)] = place
            elif variable.levels or variable.kind == "category":
                found[np.isin(inputs.codes(self.variable), others)] = place
        return found

    def texts(self, schema: Schema) -> list[str]:
        """Return each attribute in words."""
        return [*self._bins(), *(self._other(codes, schema) for codes in self.others)]

    def _bins(self) -> list[str]:
        if self.cuts is None:
            return []
        if not self.cuts:
            return [f"{self.variable} is a number"]
        ends = [number_text(cut) for cut in self.cuts]
        inner = [f"{low} < {self.variable} <= {high}" for low, high in pairwise(ends)]
        return [f"{self.variable} <= {ends[0]}", *inner, f"{self.variable} > {ends[-1]}"]

    def _other(self, codes: tuple[int, ...], schema: Schema) -> str:
        variable = schema[self.variable]
        if codes == (MISSING,):
            return f"{self.variable} is missing"
        if codes == (UNSEEN,) or (variable.pooled and codes == (len(variable.levels) - 1,)):
            return f"{self.variable} is any other level"
        return Level(self.variable, tuple(variable.levels[code] for code in codes)).text

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as plain JSON values."""
        cuts = None if self.cuts is None else list(self.cuts)
        return {"variable": self.variable, "cuts": cuts, "others": [list(c) for c in self.others]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Axis:
        """Rebuild an axis from `to_dict`."""
        cuts, others = record["cuts"], tuple(map(tuple, record["others"]))
        return cls(record["variable"], None if cuts is None else tuple(cuts), others)


@dataclass(frozen=True, slots=True)
class Grid:
    """Points by the attributes of one variable, or of two at once."""

    axes: tuple[Axis, ...]
    points: Ints  # one dimension for each axis

    @property
    def title(self) -> str:
        """The variables."""
        return " and ".join(axis.variable for axis in self.axes)

    def places(self, inputs: Inputs) -> Index:
        """Return which line applies to each row, shape (n_rows,)."""
        places = tuple(axis.places(inputs) for axis in self.axes)
        return np.asarray(np.ravel_multi_index(places, self.points.shape))

    def lines(self, schema: Schema) -> Iterator[tuple[str, int]]:
        """Yield each attribute, or pair of attributes, with its points."""
        texts = product(*(axis.texts(schema) for axis in self.axes))
        for text, points in zip(texts, self.points.reshape(-1).tolist(), strict=True):
            yield " and ".join(text), points

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain JSON values."""
        return {"axes": [axis.to_dict() for axis in self.axes], "points": self.points.tolist()}


@dataclass(frozen=True, slots=True)
class Leaves:
    """Points by the leaves of a tree of several variables, or by a condition on two."""

    name: str  # of the tree or term in the model
    tree: Tree
    points: Ints  # of each leaf

    @property
    def title(self) -> str:
        """The variables."""
        *most, last = self.tree.sources
        return f"{', '.join(most)} and {last}" if most else last

    def places(self, inputs: Inputs) -> Index:
        """Return which line applies to each row, shape (n_rows,)."""
        active = self.points != 0
        line = np.where(active, np.cumsum(active) - 1, active.sum())
        return np.asarray(line[self.tree.apply(inputs)], np.intp)

    def lines(self, schema: Schema) -> Iterator[tuple[str, int]]:
        """Yield the conditions of each leaf that has points, then one line for all others."""
        for path, points in zip(self.tree.paths(), self.points.tolist(), strict=True):
            if points:
                yield path_text(path, schema), points
        if not self.points.all():
            yield "any other case", 0

    def to_dict(self) -> dict[str, Any]:
        """Return the leaves as plain JSON values."""
        return {"name": self.name, "tree": self.tree.to_dict(), "points": self.points.tolist()}


Table = Grid | Leaves


def table_from_dict(record: Mapping[str, Any]) -> Table:
    """Rebuild a table from its `to_dict`."""
    points = np.array(record["points"], np.int64)
    if "axes" in record:
        return Grid(tuple(Axis.from_dict(axis) for axis in record["axes"]), points)
    return Leaves(record["name"], Tree.from_dict(record["tree"]), points)


@dataclass(frozen=True, slots=True)
class Scale:
    """How log odds become points."""

    pdo: float = 20.0  # points to double the odds
    base_score: float = 600.0  # points that stand for the base odds, to 1
    base_odds: float = 50.0
    # The class that points make more likely; `make_card` infers it where it is not given.
    points_for: Literal["positive", "other"] = "positive"

    def __post_init__(self) -> None:
        rules = {
            "pdo": (0.0, "a number above 0: the points that double the odds"),
            "base_score": (-math.inf, "a number: the points at the base odds"),
            "base_odds": (0.0, "a number above 0"),
        }
        for name, (above, rule) in rules.items():
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= above:
                raise InputError(f"{name}={value!r}; it must be {rule}")
        if self.points_for not in ("positive", "other"):
            raise InputError(f"points_for={self.points_for!r}; it must be 'positive' or 'other'")

    @property
    def factor(self) -> float:
        """Points for one unit of the log odds of the positive class."""
        size = self.pdo / math.log(2)
        return size if self.points_for == "positive" else -size

    @property
    def offset(self) -> float:
        """Points at even odds."""
        return self.base_score - abs(self.factor) * math.log(self.base_odds)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the card."""

    table: int  # from 1; 0 for the base points
    characteristic: str  # the variable or variables of the table
    attribute: str  # when the line applies
    points: int
    evidence: Evidence | None = None  # of labelled rows; None without, and where counts are hidden


@dataclass(frozen=True, slots=True, repr=False)
class Scorecard:
    """Whole points that add up to a score; a model of its own, near the one that it was made of."""

    model: Model  # what the card was made of; it reads tables
    scale: Scale
    base: int  # points of every row
    tables: tuple[Table, ...]  # in each of them one line applies to a row
    rows: int | None  # that the bins were made from; None if from what the model file tells
    bound: float  # points between card and model at most, over the values the bins were made from
    horizons: tuple[float, ...] = ()  # times at which a card of times tells survival
    stratum: Label | None = None  # that it tells of; None is all that there are
    # Rows of the class that points speak for and of the other: of all, and of each line of each
    # table (None where the model's profile hides them); None without labels.
    totals: Counts | None = None
    counts: tuple[tuple[Counts | None, ...], ...] = ()

    def __repr__(self) -> str:
        low, high = self.range
        return f"Scorecard({len(self.tables)} tables, {low} to {high} points)"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import scorecard_html

        return scorecard_html(self)

    def points(self, X: Any) -> Ints:
        """Return the score of each row in points, shape (n_rows,)."""
        inputs = self.model.read(X)
        total = np.full(inputs.n_rows, self.base, np.int64)
        for table in self.tables:
            points = np.array([points for _, points in table.lines(self.model.schema)])
            total = total + points[table.places(inputs)]
        return total

    def log_odds(self, points: Any) -> Floats:
        """Return the log odds of the positive class, or log hazard ratio, that points stand for."""
        return np.asarray((np.asarray(points) - self.scale.offset) / self.scale.factor)

    def probability(self, X: Any) -> Floats:
        """Return the probability of the positive class of each row, shape (n_rows,)."""
        if self.model.task != "binary":
            raise InputError("the card is of times until an event; ask for survival(X)")
        return BINOMIAL.response(self.log_odds(self.points(X)))

    def survival(self, X: Any) -> Floats:
        """Return the probability of no event until each horizon, shape (n_rows, horizons).

        Where the card tells of several strata, a horizon has a column for each.
        """
        if self.model.task != "survival":
            raise InputError("the card is of two classes; ask for probability(X)")
        return survival(self, self.log_odds(self.points(X)))

    def lines(self) -> Iterator[Line]:
        """Yield every line, the base points first."""
        yield Line(0, "base points", "every case", self.base)
        for number, table in enumerate(self.tables, 1):
            for place, (attribute, points) in enumerate(table.lines(self.model.schema)):
                counts = self.counts[number - 1][place] if self.totals else None
                found = evidence_of(counts, self.totals) if counts and self.totals else None
                yield Line(number, table.title, attribute, points, found)

    @property
    def information(self) -> dict[str, float]:
        """The information value of each table by its title, largest first; empty without labels."""
        sums = dict.fromkeys((table.title for table in self.tables), 0.0) if self.totals else {}
        for line in self.lines():
            if line.evidence is not None and line.evidence.iv is not None:
                sums[line.characteristic] += line.evidence.iv
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def with_counts(self, rows: Inputs, favoured: Floats, weight: Floats) -> Scorecard:
        """Return the card with the counts of labelled rows, (n_rows,); 1.0 is favoured."""
        totals = float(weight @ favoured), float(weight @ (1.0 - favoured))
        if not min(totals) > 0.0:
            raise InputError("y holds one class only; a weight of evidence compares two")
        profile, found = self.model.settings["profile"], []
        for table in self.tables:
            size = sum(1 for _ in table.lines(self.model.schema))
            counts = line_counts(table.places(rows), size, favoured, weight)
            found.append(tuple(hidden(counts, profile)))
        return replace(self, totals=totals, counts=tuple(found))

    @property
    def origin(self) -> str:
        """What the bins were made from."""
        return f"{self.rows} rows" if self.rows is not None else "what the model file tells"

    @property
    def range(self) -> tuple[int, int]:
        """The fewest and the most points that lines can add up to."""
        low = self.base + sum(int(table.points.min()) for table in self.tables)
        return low, self.base + sum(int(table.points.max()) for table in self.tables)

    def __str__(self) -> str:
        return card_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values, without the model."""
        of_times = {"horizons": list(self.horizons), "stratum": self.stratum}
        return {
            "scale": asdict(self.scale),
            "base": self.base,
            "tables": [table.to_dict() for table in self.tables],
            "rows": self.rows,
            "bound": self.bound,
            **(of_times if self.model.task == "survival" else {}),
            **({"totals": self.totals, "counts": self.counts} if self.totals else {}),
        }

    @classmethod
    def from_dict(cls, model: Model, record: Mapping[str, Any]) -> Scorecard:
        """Rebuild a card from `to_dict` and its model."""
        tables = tuple(table_from_dict(table) for table in record["tables"])
        scale, horizons = Scale(**record["scale"]), tuple(record.get("horizons", ()))
        made = scale, record["base"], tables, record["rows"], record["bound"]
        totals = tuple(record["totals"]) if "totals" in record else None
        counts = tuple(
            tuple(each and (each[0], each[1]) for each in table)
            for table in record.get("counts", ())
        )
        return cls(model, *made, horizons, record.get("stratum"), totals, counts)


def _origin(card: Scorecard) -> str:
    return (
        f"Bins were made from {card.origin}. Generated by rpte {card.model.library_version} from "
        f"the model {content_hash(to_dict(card.model))}."
    )


def evidence_head(card: Scorecard) -> tuple[str, ...]:
    """Return the heads of the columns of counts; none without labels."""
    return ("rows", "rate %", "WoE", "IV") if card.totals else ()


def evidence_cells(card: Scorecard, line: Line) -> tuple[str, ...]:
    """Return the cells of a line under `evidence_head`."""
    if not card.totals:
        return ()
    found = line.evidence
    if found is None:
        return (f"<{FEW}", "", "", "")
    if found.rate is None or found.woe is None or found.iv is None:
        return ("0", "", "", "")
    return f"{found.rows:g}", f"{100 * found.rate:.1f}", f"{found.woe:+.3f}", f"{found.iv:.3f}"


def titles(card: Scorecard) -> list[str]:
    """Return the title of each table, with its information value if there are counts."""
    worth = card.information
    said = (f" (IV {worth[table.title]:.3f})" if worth else "" for table in card.tables)
    return [f"{table.title}{more}" for table, more in zip(card.tables, said, strict=True)]


def card_text(card: Scorecard) -> str:
    """Return the card as plain text."""
    lines = [line for part in headline(card) for line in textwrap.wrap(part, WIDTH)]
    lines += ["", *_row(("points", *evidence_head(card)), "", "")]
    blank, named = ("",) * len(evidence_head(card)), titles(card)
    for number, table in groupby(card.lines(), lambda line: line.table):
        rows = list(table)
        if not number and is_survival(card):
            continue
        if not number:
            lines += _row((str(card.base), *blank), rows[0].characteristic)
            continue
        lines += ["", *_row(("", *blank), f"{number}. {named[number - 1]}")]
        for row in rows:
            cells = _signed(row.points), *evidence_cells(card, row)
            lines += _row(cells, row.attribute, "   ")
    head, sums = meanings(card)
    lines += ["", *(_aligned(cells, head) for cells in (head, *sums))]
    return "\n".join([*lines, "", *textwrap.wrap(_origin(card), WIDTH), ""])


def _aligned(cells: tuple[str, ...], head: tuple[str, ...]) -> str:
    """Return a line of the last table: columns right-aligned, the last one as it is."""
    widths = [MARGIN, *(max(14, len(title)) for title in head[1:-1])]
    inner = zip(cells[:-1], widths, strict=True)
    return "  ".join([*(f"{cell:>{width}}" for cell, width in inner), cells[-1]])


def _row(cells: tuple[str, ...], text: str, indent: str = "") -> list[str]:
    """Return points, with the cells beside them, and a text that goes on below where it is long."""
    left = "".join(f"{cell:>{max(MARGIN, len(cell) + 1)}}" for cell in cells)
    room = WIDTH + MARGIN * (len(cells) - 1) - len(left) - 2 - len(indent) - 4
    said = textwrap.wrap(text, room) or [""]
    first = f"{left}  {indent}{said[0]}".rstrip()
    return [first, *(f"{'':{len(left) + 2}}{indent}    {more}" for more in said[1:])]


def card_page(card: Scorecard) -> str:
    """Return the card as one HTML page without anything from outside."""
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("rpte.scorecard")
    environment = Environment(loader=loader, autoescape=True, keep_trailing_newline=True)
    return environment.get_template("card.html.j2").render(
        head=headline(card),
        base=None if is_survival(card) else card.base,
        tables=_drawn(card),
        counted=evidence_head(card),
        meanings=meanings(card),
        origin=_origin(card),
    )


def _drawn(card: Scorecard) -> list[dict[str, Any]]:
    """Return tables of two variables by rows and columns, if nothing was counted; else lines."""
    schema = card.model.schema
    found: list[dict[str, Any]] = []
    every = groupby(card.lines(), lambda line: line.table)
    by_table = {number: list(lines) for number, lines in every}
    for number, (table, title) in enumerate(zip(card.tables, titles(card), strict=True), 1):
        if isinstance(table, Grid) and len(table.axes) == 2 and not card.totals:
            left, right = (axis.texts(schema) for axis in table.axes)
            rows = list(zip(left, (map(_signed, row) for row in table.points), strict=True))
            found.append({"title": title, "columns": right, "rows": rows})
            continue
        lines = [
            (line.attribute, (_signed(line.points), *evidence_cells(card, line)))
            for line in by_table[number]
        ]
        found.append({"title": title, "rows": lines})
    return found


def signed_points(line: Line) -> str:
    """Return the points of a line with their sign."""
    return _signed(line.points)


def _signed(points: int) -> str:
    return f"{points:+d}" if points else "0"

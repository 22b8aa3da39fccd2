"""What one variable adds to the score, as numbers: at the values of a curve, and at its levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rpte.errors import InputError
from rpte.figures.band import effect_band
from rpte.figures.grid import corners_kept, curve_grid, drawn_part, few_values
from rpte.figures.subject import Subject, check_reference
from rpte.model.effect import Background, Cells, effect, own_parts, shared_parts
from rpte.model.parts import Component
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats, Index

Record = dict[str, Any]  # plain values, as JSON holds them
BINS = 40  # of the density of a number
KEYS = ("whole", "own", "low", "high")
BAND = ("band_low", "band_high")
HAZARDS = "hazard ratio"  # which is drawn itself, on a logarithmic scale


@dataclass
class EffectFigure:
    """What one variable adds to the score; `EffectDisplay` describes the fields."""

    source: str
    kind: str
    unit: str
    ratio: str | None
    labels: tuple[str, ...]
    x: Floats
    levels: tuple[str | None, ...]
    values: Mapping[str, Floats | None]
    reference: str | None
    reading: Mapping[str, Any]
    shares: list[float | None]
    density: tuple[Floats, Floats] | None = None
    box: Sequence[float] | None = None
    points: bool = False
    part: tuple[float, float] | None = None

    @classmethod
    def of(
        cls,
        subject: Subject,
        source: str,
        bootstrap: Any = None,
        reference: str | None = "mean",
    ) -> Self:
        """Return the effect of a variable, not drawn yet."""
        check_reference(reference)
        components, rows = subject.components(source), subject.rows
        first, schema = components[0], subject.outline.schema
        if rows is None and not own_parts(first, source):
            raise InputError(
                f"{source!r} has no terms of its own, and what it does together with others can be "
                f"averaged over rows only; give a table: plot({source!r}, X=X)"
            )
        variable = schema[source]
        levels = (*variable.levels, *([None] if variable.has_missing else []))
        codes = [MISSING if level is None else place for place, level in enumerate(levels)]
        number = variable.kind == "number"
        x = curve_grid(subject.outline, first, source, rows) if number else np.zeros(0)
        cells = [Cells.of_numbers(x), Cells.of_codes(codes)]
        found = [[effect(c, schema, source, some, rows) for some in cells] for c in components]
        values = {
            key: _stacked([[getattr(e, key) for e in each] for each in found]) for key in KEYS
        }
        if bootstrap is not None:
            values |= dict(zip(BAND, effect_band(subject, source, cells, bootstrap), strict=True))
        if reference == "mean":
            shift = subject.mean_added(source)[:, None]
            values = {key: None if v is None else v - shift for key, v in values.items()}
        told = reading(first, (source,), rows)
        shares = subject.level_shares(source)
        ends = (float(x[0]), float(x[-1])) if number else (0.0, 0.0)
        part = drawn_part(subject.outline, source, rows, ends) if number else None
        density = _density(subject, source, np.array(part or x)) if number else None
        return cls(
            source,
            variable.kind,
            subject.unit,
            subject.ratio,
            subject.labels,
            x,
            levels,
            {key: values.get(key) for key in (*KEYS, *BAND)},
            reference,
            {**told, "alone": not told["shared"]},
            shares if variable.has_missing else shares[:-1],
            density,
            _box(subject, source) if number and density is None else None,
            number and few_values(subject.outline, source),
            part,
        )

    @property
    def is_whole(self) -> bool:
        """Whether the whole effect is known, and not the variable's own terms alone."""
        return self.values["whole"] is not None

    @property
    def shown(self) -> Floats:
        """What is drawn thick, (scores, n + levels): the whole, or without rows own terms."""
        return self.known("whole" if self.is_whole else "own")

    @property
    def has_own(self) -> bool:
        """Whether own terms can be shown beside the whole effect."""
        alone = bool(self.reading["alone"])
        return self.is_whole and not alone and self.values["own"] is not None

    @property
    def ends(self) -> tuple[Floats, Floats] | None:
        """The interval to show: of the bootstrap, or of single rows; None where neither is known.

        Each (scores, n + levels).
        """
        keys = BAND if self.values["band_low"] is not None else ("low", "high")
        return None if self.values[keys[0]] is None else (self.known(keys[0]), self.known(keys[1]))

    @property
    def drawn(self) -> Index:
        """The places of `x` that are drawn: those of the dense part, where most are not in it."""
        low, high = self.part or (-np.inf, np.inf)
        return np.flatnonzero((self.x >= low) & (self.x <= high))

    @property
    def moved(self) -> list[int]:
        """The scores that the variable moves."""
        return np.flatnonzero(np.ptp(self.shown, axis=1) > 0).tolist()

    def known(self, key: str) -> Floats:
        """Return one of `values`, (scores, n + levels), which is there."""
        found = self.values[key]
        assert found is not None
        return found

    def record(self) -> Record:
        """Return the effect as plain values, its curve reduced to the corners that it needs."""
        n, known = len(self.x), {k: v for k, v in self.values.items() if v is not None}
        kept = np.arange(n)
        if n and not self.points:
            kept = corners_kept(self.x, np.vstack([v[:, :n] for v in known.values()]))
            kept = np.unique([*kept, self.drawn[0], self.drawn[-1]])
        scores = []
        for k in range(len(self.shown)):
            at = {key: v[k] for key, v in known.items()}
            levels = [
                {"level": level, **{key: float(at[key][n + place]) if key in at else None
                                    for key in KEYS}, "share": share}
                for place, (level, share) in enumerate(zip(self.levels, self.shares, strict=True))
            ]  # fmt: skip
            curves = {
                key: np.column_stack([self.x[kept], at[key][kept]]).tolist() if key in at else None
                for key in KEYS
            }
            scores.append({"levels": levels, "curves": curves} if n else {"levels": levels})
        density = None if self.density is None else [each.tolist() for each in self.density]
        return {
            **{key: getattr(self, key) for key in ("source", "kind", "unit", "ratio", "reference")},
            **self.reading,
            "points": self.points,
            "part": None if self.part is None else list(self.part),
            "density": density,
            "box": None if self.box is None else list(self.box),
            **({"labels": list(self.labels), "classes": scores} if self.labels else scores[0]),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the effect that `record` gave, or its JSON."""
        scores = record.get("classes") or [record]
        curves = scores[0].get("curves") or {}
        line: list[list[float]] = next((points for points in curves.values() if points), [])
        values = {
            key: _stacked(
                [
                    [_column((score.get("curves") or {}).get(key), bool(line)),
                     _numbers([row[key] for row in score["levels"]])]
                    for score in scores
                ]
            )
            for key in KEYS
        }  # fmt: skip
        density, told = record["density"], ("terms", "shared", "others", "averaged", "alone")
        return cls(
            record["source"],
            record["kind"],
            record["unit"],
            record["ratio"],
            tuple(record.get("labels", ())),
            np.array([x for x, _ in line]),
            tuple(row["level"] for row in scores[0]["levels"]),
            {**values, **dict.fromkeys(BAND)},
            record["reference"],
            {key: record[key] for key in told},
            [row["share"] for row in scores[0]["levels"]],
            None if density is None else (np.array(density[0]), np.array(density[1])),
            record["box"],
            record["points"],
            None if record["part"] is None else (record["part"][0], record["part"][1]),
        )


def effect_records(
    subject: Subject, component: Component, reference: str | None = "mean"
) -> list[Record]:
    """Return the effect of each variable of a component as plain values.

    Without rows, a variable that has no terms of its own is left out.
    """
    drawn = [s for s in component.sources if subject.rows is not None or own_parts(component, s)]
    return [EffectFigure.of(subject, source, None, reference).record() for source in drawn]


def reading(component: Component, names: tuple[str, ...], rows: Background | None) -> Record:
    """Return what reads some variables: own terms, terms shared with others, averaged over what."""
    shared, over = shared_parts(component, *names), None
    if rows is not None and shared:
        over = {"rows": rows.n_rows, "table_rows": rows.table_rows, "sampled": rows.sampled}
    return {
        "terms": [part.name for part in own_parts(component, *names)],
        "shared": [part.name for part in shared],
        "others": sorted({source for part in shared for source in part.sources} - set(names)),
        "averaged": over,
    }


def _column(points: Sequence[Sequence[float]] | None, number: bool) -> Floats | None:
    """Return the heights of a curve; none of a category, None where they are not known."""
    if not number:
        return np.zeros(0)
    return None if points is None else np.array([y for _, y in points])


def _numbers(values: Sequence[float | None]) -> Floats | None:
    return None if None in values else np.array(values, np.float64)


def _stacked(found: Sequence[Sequence[Floats | None]]) -> Floats | None:
    """Return numbers of all scores and cells, or None where they are not known."""
    if any(each is None for row in found for each in row):
        return None
    return np.array([np.concatenate(row) for row in found])  # type: ignore[arg-type]


def _density(subject: Subject, source: str, x: Floats) -> tuple[Floats, Floats] | None:
    """Return edges of bins over the curve, and the share of rows in each; None without rows."""
    found = subject.numbers(source)
    if found is None or not len(found[0]):
        return None
    values, weight = found
    if few_values(subject.outline, source):
        if len(x) == 1:
            return np.array([x[0] - 0.5, x[0] + 0.5]), np.ones(1)
        ends = np.concatenate([x[:1] - np.diff(x[:2]) / 2, x[-1:] + np.diff(x[-2:]) / 2])
        edges = np.concatenate([ends[:1], (x[1:] + x[:-1]) / 2, ends[1:]])
        return edges, np.histogram(values, edges, weights=weight)[0] / weight.sum()
    inside = (values >= x[0]) & (values <= x[-1])
    different = np.unique(values[inside])
    edges = np.linspace(x[0], x[-1], BINS + 1)
    if len(different) and (different == np.round(different)).all():  # no bin has one number more
        width = max(1.0, np.ceil((x[-1] - x[0]) / BINS))
        edges = np.arange(np.floor(x[0]) - 0.5, x[-1] + width, width)
    shares, _ = np.histogram(values, edges, weights=weight)
    return edges, shares / weight.sum()


def _box(subject: Subject, source: str) -> Sequence[float] | None:
    found = subject.profile(source).get("quantiles")
    return None if not found or None in found else [float(q) for q in found]

"""What one variable adds to the score: a curve of a number, bars of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rpte.errors import InputError
from rpte.model.effect import Cells, effect, own_parts
from rpte.plots.band import effect_band
from rpte.plots.display import Display
from rpte.plots.subject import Subject, check_reference
from rpte.report.curves import KEYS, curve_grid, few_values, reading
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

BINS = 40  # of the density of a number


@dataclass
class EffectDisplay(Display):
    """What one variable adds to the score, of several classes to each of them.

    The whole effect is what the variable's own terms add, and what the terms that it shares with
    others add on average over the rows. It differs from the mean score with the variable set to a
    value (the partial dependence) by a constant: it is counted from its training mean, or with
    ``reference=None`` as the model file counts it, where a term that does not hold adds nothing.

    Parameters
    ----------
    source : str
        The variable.
    kind : {"number", "category"}
    unit : str
        What is added to.
    ratio : str or None
        What the exponential of the effect is called, where it means something.
    labels : tuple of str
        The classes, where there are several scores.
    x : (n,)
        Numbers at which the curve is known, both sides of every jump among them, from the least
        to the largest of training (by default short of the outermost four rows, which are private).
    levels : tuple of str or None
        Levels of a category, or special codes of a number; None stands for missing.
    values : mapping of str to (scores, n + levels) or None
        ``whole``; ``own``, the variable's own terms alone; ``low`` and ``high``, between which nine
        tenths of the rows lie; ``band_low`` and ``band_high``, the 95% interval of the bootstrap.
    reference : {"mean", None}
        What the effect is counted from.
    reading : mapping
        The terms that read the variable, and what was averaged over.
    shares : list of float or None
        The share of rows of each level.
    density : (edges, shares) or None
        Of the numbers of the rows.
    box : list of float or None
        Quantiles of the training rows, where nothing more is known of them.
    points : bool
        Whether `x` are all different numbers of training, since they are few.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import EffectDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.05).fit(X.iloc[:, :4], y)
    >>> display = EffectDisplay.from_estimator(clf, clf.model_.sources[0])
    >>> list(display.frame().columns[:3])
    ['value', 'whole', 'own']
    """

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

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        source: str,
        *,
        X: Any = None,
        sample_weight: Any = None,
        bootstrap: Any = None,
        reference: str | None = "mean",
        ax: Any = None,
    ) -> Self:
        """Take the effect of a variable from a fitted estimator or a model, and draw it.

        Parameters
        ----------
        estimator : estimator or model
        source : str
            The variable.
        X : table, optional
            Rows to average shared terms over and to draw the density of, in place of some of the
            training rows, which a fitted estimator has, but none that was stored.
        sample_weight : (n_rows,), optional
        bootstrap : Bootstrap or ClassBootstrap, optional
            For the band: the 95% percentile interval over resamples.
        reference : {"mean", None}
            Count the effect from its training mean, or as the model file does.
        ax : matplotlib Axes, optional
        """
        subject = Subject.of(estimator, "plot", X, sample_weight)
        return cls.of(subject, source, bootstrap, reference).plot(ax)

    @classmethod
    def of(
        cls,
        subject: Subject,
        source: str,
        bootstrap: Any = None,
        reference: str | None = "mean",
    ) -> Self:
        """Return the display of a variable, not drawn yet."""
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
            ends = effect_band(subject, source, cells, bootstrap)
            values |= {"band_low": ends[0], "band_high": ends[1]}
        if reference == "mean":
            shift = subject.mean_added(source)[:, None]
            values = {key: None if v is None else v - shift for key, v in values.items()}
        told = {**reading(first, (source,), rows)}
        shares = subject.level_shares(source)
        density = _density(subject, source, x) if number else None
        return cls(
            source,
            variable.kind,
            subject.unit,
            subject.ratio,
            subject.labels,
            x,
            levels,
            {key: values.get(key) for key in (*KEYS, "band_low", "band_high")},
            reference,
            {**told, "alone": not told["shared"]},
            shares if variable.has_missing else shares[:-1],
            density,
            _box(subject, source) if number and density is None else None,
            number and few_values(subject.outline, source),
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

    def known(self, key: str) -> Floats:
        """Return one of `values`, (scores, n + levels), which is there."""
        found = self.values[key]
        assert found is not None
        return found

    def plot(self, ax: Any = None) -> Self:
        """Draw the effect on some axes, or on a new figure."""
        from rpte.plots.effect_drawing import draw_effect

        return self._drawn(*draw_effect(self, ax))

    def frame(self) -> pd.DataFrame:
        """Return one row for each value, of several classes for each of these too.

        The curve first, then levels, codes and missing; `share` is that of the rows.
        """
        import pandas as pd

        values = [*self.x.tolist(), *("missing" if v is None else v for v in self.levels)]
        shares = [None] * len(self.x) + self.shares
        frames = []
        for k in range(len(self.shown)):
            known = {key: None if v is None else v[k] for key, v in self.values.items()}
            label = {"class": self.labels[k]} if self.labels else {}
            told = {"value": values, **label, **known, "share": shares}
            frames.append(pd.DataFrame(told, index=range(len(values))))
        found = pd.concat(frames, ignore_index=True)
        numeric = [c for c in found.columns if c not in ("value", "class")]
        return found.astype(dict.fromkeys(numeric, "float64"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"


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

"""What one variable adds to the score: a curve of a number, bars of levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rpte.figures import pyplot as painter
from rpte.figures.effect import EffectFigure
from rpte.figures.effect_panels import effect_panels, note_of, title_of
from rpte.figures.subject import Subject
from rpte.plots.display import Display

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = 3  # of the panels of many classes


@dataclass
class EffectDisplay(EffectFigure, Display):
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
    part : (float, float) or None
        The part of `x` that is drawn, where few rows take most of its range; `frame` has all.

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
        bootstrap : Bootstrap, optional
            For the band: the 95% percentile interval over resamples.
        reference : {"mean", None}
            Count the effect from its training mean, or as the model file does.
        ax : matplotlib Axes, optional
        """
        subject = Subject.of(estimator, "plot", X, sample_weight)
        return cls.of(subject, source, bootstrap, reference).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the effect on some axes, or on a new figure."""
        title, note, panels = title_of(self), note_of(self), effect_panels(self)
        if len(panels) == 1:
            return self._drawn(painter.draw(panels[0], ax, title, note))
        drawn, axes = painter.draw_several(panels, ax, COLUMNS, title, note)
        return self._drawn(drawn, *axes)

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

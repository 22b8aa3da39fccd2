"""How one row comes to its score: a waterfall from the base through all components."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from rpte.errors import InputError
from rpte.model.class_explanation import ClassExplanation
from rpte.model.effect import NOTHING
from rpte.model.explain import Explanation, value_text
from rpte.model.target import Target
from rpte.plots import style
from rpte.plots.display import Display
from rpte.plots.subject import Subject, unit_of
from rpte.table.inputs import column_names

if TYPE_CHECKING:
    import pandas as pd

MOST_BARS = 12
MOST_LABEL = 40  # characters of what stands beside a bar
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class Bar(NamedTuple):
    """What one component, or some of them, adds to the score."""

    component: str
    label: str  # the values of the case
    value: float


@dataclass
class CaseDisplay(Display):
    """The score of one row as a sum: bars from the base to the score, the largest first.

    Parameters
    ----------
    bars : list of Bar
        One for each component, the largest first.
    base, score : float
        What the sum begins with, and what it comes to.
    start : str
        What the base is.
    unit : str
        What is added to.
    title : str
        What the score stands for.
    notes : tuple of str
        Further predictions, and what training did not have.
    marks : list of (float, str)
        Scores with what they stand for, for a second axis.
    marks_name : str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import CaseDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = RPTEClassifier(l1=0.05).fit(X, y)
    >>> display = CaseDisplay.from_estimator(clf, X.iloc[17])
    >>> found = display.frame()
    >>> bool(abs(found["contribution"].sum() - clf.model_.score(X.iloc[[17]])[0]) < 1e-9)
    True
    """

    bars: list[Bar]
    base: float
    score: float
    start: str
    unit: str
    title: str
    notes: tuple[str, ...] = ()
    marks: Sequence[tuple[float, str]] = ()
    marks_name: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, row: Any, *, reference: str | None = None, ax: Any = None, **given: Any
    ) -> Self:
        """Take the score of one row apart, and draw it.

        Parameters
        ----------
        estimator : estimator or model
        row : Series, mapping, or a table of one row
        reference : {None, "mean"}
            Begin with the intercept, or with the mean score of the training rows.
        ax : matplotlib Axes, optional
        **given
            Further arguments of the model's `explain`.
        """
        model = Subject.of(estimator, "plot_case").model
        (explained,) = model.explain(one_row(row), reference, **given)
        return cls.of(explained).plot(ax)

    @classmethod
    def of(cls, explained: Explanation | ClassExplanation) -> Self:
        """Return the display of an explanation, not drawn yet."""
        if isinstance(explained, ClassExplanation):
            return cls._of_classes(explained)
        told = explained
        bars = [
            Bar(c.component, _given(told, c.sources), c.value)
            for c in sorted(told.components, key=lambda c: -abs(c.value))
        ]
        target = told.target
        marks = _probabilities(target) if isinstance(target, Target) else ()
        title = target.caption(told.response)
        return cls(
            bars,
            told.intercept,
            told.score,
            told.start,
            unit_of(target),
            title[:1].upper() + title[1:],
            (*told.said_for, *told.flags),
            marks,
            target.response_name if marks or target.multiplies else "",
        )

    @classmethod
    def _of_classes(cls, explained: ClassExplanation) -> Self:
        """Return the display of why a row is given one class and not another."""
        chosen, against = explained.chosen, explained.against
        ranked = sorted(explained.probabilities.items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{label} {p:.1%}" for label, p in ranked[:5])
        found = cls.of(explained.difference)
        return replace(
            found,
            unit=f"log odds of {chosen} against {against}",
            title=f"Why {chosen} and not {against}",
            notes=(f"probabilities: {told}", *found.notes),
            marks_name="probability, of these two alone",
        )

    def shown(self) -> list[Bar]:
        """Return the bars that are drawn: those of zero, and the least of many, are folded."""
        largest = max((abs(bar.value) for bar in self.bars), default=0.0)
        kept = [bar for bar in self.bars if abs(bar.value) > NOTHING * largest]
        zeros = len(self.bars) - len(kept)
        more = kept[MOST_BARS - 1 :] if len(kept) > MOST_BARS else []
        drawn = kept[: len(kept) - len(more)]
        if more:
            drawn.append(Bar("", f"{len(more)} others", sum(bar.value for bar in more)))
        if zeros:
            drawn.append(Bar("", f"{zeros} other{'s' * (zeros > 1)}: 0", 0.0))
        return drawn

    def plot(self, ax: Any = None) -> Self:
        """Draw the waterfall on some axes, or on a new figure."""
        shown = self.shown()
        ax = style.axes_or_new(ax, (6.8, 1.7 + 0.32 * (len(shown) + 2)))
        style.open_frame(ax, "bottom")
        at, ends = self.base, [self.base]
        for y, bar in enumerate(shown, 1):
            if bar.value:
                ax.barh(y, bar.value, 0.68, left=at, zorder=2, **style.bar_looks(ax, bar.value))
            ax.plot([at, at], [y - 1, y + 0.34], color=style.ink(), linewidth=0.7, zorder=1)
            at += bar.value
            ends.append(at)
        last = len(shown) + 1
        ax.plot([at, at], [last - 1, last + 0.34], color=style.ink(), linewidth=0.7, zorder=1)
        ax.plot([self.base], [0], marker="|", markersize=14, color=style.ink())
        ax.plot([self.score], [last], marker="D", markersize=7, color=style.ink(), zorder=3)
        low, high = min(ends), max(ends)
        room = ((high - low) or 1.0) * 0.16
        ax.set_xlim(low - room, high + room)
        self._values(ax, shown, ends)
        names = [self.start, *(_lines(bar.label) for bar in shown), "score"]
        ax.set_yticks(range(last + 1), names, **style.PLAIN)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(last + 0.7, -0.7)
        ax.set_xlabel(style.axis_words(self.unit, 60), fontsize=style.TEXT, **style.PLAIN)
        self._second_axis(ax)
        above = style.TOP_AXIS if self.marks_name else 0.0
        style.headline(ax, self.title, "; ".join(self.notes), above)
        return self._drawn(ax)

    def _values(self, ax: Any, shown: list[Bar], ends: list[float]) -> None:
        """Write each number at the end of its bar, where the names leave room."""
        low, high = ax.get_xlim()
        last = len(shown) + 1
        for y, at in ((0, self.base), (last, self.score)):
            ax.annotate(style.signed(at), (at, y), (8, 0), textcoords="offset points", va="center",
                        fontsize=style.NOTE, fontweight="bold")  # fmt: skip
        for y, bar in enumerate(shown, 1):
            if not bar.value:
                continue
            left_end = min(ends[y - 1 : y + 1])
            right = bar.value > 0 or left_end < low + 0.2 * (high - low)
            at = max(ends[y - 1 : y + 1]) if right else left_end
            ax.annotate(
                style.signed(bar.value), (at, y), (4 if right else -4, 0),
                textcoords="offset points", ha="left" if right else "right", va="center",
                fontsize=style.NOTE,
            )  # fmt: skip

    def _second_axis(self, ax: Any) -> None:
        """Add an axis on top that reads scores as what they stand for."""
        low, high = ax.get_xlim()
        inside = [(at, text) for at, text in self.marks if low <= at <= high]
        gap = (high - low) * 0.06
        kept: list[tuple[float, str]] = []
        for at, text in inside:
            if not kept or at - kept[-1][0] > gap:
                kept.append((at, text))
        if self.marks and kept:
            side = ax.secondary_xaxis("top")
            side.set_xticks([at for at, _ in kept], [text for _, text in kept])
            side.set_xlabel(self.marks_name, fontsize=style.TEXT, **style.PLAIN)
            side.tick_params(labelsize=style.NOTE, width=0.7, length=3)
            for spine in side.spines.values():
                spine.set_visible(False)
        elif self.marks_name:
            style.ratio_axis(ax, self.marks_name, "x")

    def frame(self) -> pd.DataFrame:
        """Return the base and every component, the largest first, with the sum so far."""
        import pandas as pd

        rows = [("", self.start, self.base), *self.bars]
        found = pd.DataFrame(rows, columns=["component", "values", "contribution"])
        found["sum"] = found["contribution"].cumsum()
        return found


def _lines(label: str) -> str:
    """Return what stands beside a bar, in two lines at most."""
    lines = textwrap.wrap(style.plain(label), MOST_LABEL) or [""]
    if len(lines) == 1:
        return lines[0]
    return f"{lines[0]}\n{style.name(' '.join(lines[1:]), MOST_LABEL)}"


def _probabilities(target: Target) -> list[tuple[float, str]]:
    return [(target.score_for(p), f"{p:g}") for p in PROBABILITIES]


def _given(told: Explanation, sources: Sequence[str]) -> str:
    """Say the values of a component's variables in the case."""
    return ", ".join(f"{style.plain(s)} = {_value(told.inputs[s])}" for s in sources)


def _value(value: float | str | None) -> str:
    return style.number(value) if isinstance(value, float) else style.name(value_text(value), 20)


def one_row(row: Any) -> Any:
    """Return a table of one row from a Series, a mapping, a list of values or such a table."""
    if isinstance(row, Mapping):
        return {name: _one_cell(name, cell) for name, cell in row.items()}
    if hasattr(row, "index") and hasattr(row, "items") and not hasattr(row, "columns"):
        return {name: [cell] for name, cell in row.items()}
    if not hasattr(row, "shape") or column_names(row) is not None:
        return _checked(row)
    return _checked(np.asarray(row)[None, :] if len(row.shape) == 1 else row)


def _checked(table: Any) -> Any:
    n_rows = table.n_rows if hasattr(table, "n_rows") else len(table)
    if n_rows != 1:
        raise InputError(
            f"plot_case draws one row, and this table has {n_rows}; give one: X.iloc[17], or a "
            "table of one row"
        )
    return table


def _one_cell(name: Any, cell: Any) -> Sequence[Any]:
    if isinstance(cell, str) or not hasattr(cell, "__len__"):
        return [cell]
    if len(cell) != 1:
        raise InputError(f"plot_case draws one row, and {name!r} has {len(cell)} values")
    return cell  # type: ignore[no-any-return]

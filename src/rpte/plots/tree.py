"""A tree of the model drawn as a tree, with what its leaves add beside them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from rpte.errors import InputError
from rpte.plots import style
from rpte.plots.display import Display
from rpte.plots.subject import Subject
from rpte.report.cards import tree_card
from rpte.report.curves import Record
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

STEP, ROW = 2.2, 0.5  # inches that a condition takes across, and a leaf down
LINE, MOST_LINES = 34, 2  # characters of a line of a condition, lines of it
GAP = 0.08  # share of a step between a branch and its text
LEAF, BARS, TOLD = 0.42, 1.0, 0.95  # steps that the names of leaves, bars and numbers take


class Way(NamedTuple):
    """A branch of a tree: from a node at some depth to a node or a leaf."""

    depth: int
    y_from: float
    y_to: float
    condition: str
    is_leaf: bool


@dataclass
class TreeDisplay(Display):
    """A tree: conditions from left to right, and what each leaf adds to the score.

    Parameters
    ----------
    name : str
        Such as ``T1``.
    sources : tuple of str
        The variables that it reads.
    root : mapping
        Nested nodes: a node has two `ways` with a `condition` each, a leaf its number.
    leaves : list of mapping
        Name, conditions, support and mean of the target of each leaf.
    coefficients : (scores, leaves)
    labels : tuple of str
        The classes, where there are several scores.
    unit : str
    ratio : str or None
        What the exponential of a coefficient is called.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpte import RPTEClassifier, TreeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RPTEClassifier(l1="4/n", vocabulary="original").fit(X[50:], y[50:])
    >>> list(TreeDisplay.from_estimator(clf, "T1").frame())
    ['leaf', 'conditions', 'support', 'share', 'coefficient', 'odds_ratio']
    """

    name: str
    sources: tuple[str, ...]
    root: Record
    leaves: list[Record]
    coefficients: Floats
    labels: tuple[str, ...]
    unit: str
    ratio: str | None

    @classmethod
    def from_estimator(cls, estimator: Any, tree: str = "T1", *, ax: Any = None) -> Self:
        """Take a tree of a fitted estimator or a model by its name, and draw it."""
        return cls.of(Subject.of(estimator, "plot"), tree).plot(ax)

    @classmethod
    def of(cls, subject: Subject, tree: str) -> Self:
        """Return the display of a tree, not drawn yet."""
        cards = []
        for model in subject.scores:
            known = {part.name: part for part in model.trees}
            if tree not in known:
                has = f"its trees are {', '.join(known)}" if known else "the model has none"
                raise InputError(f"there is no tree {tree!r}; {has}")
            cards.append(tree_card(model, known[tree]))
        first = cards[0]
        sizes = np.array([[leaf["coefficient"] for leaf in card["leaves"]] for card in cards])
        return cls(
            tree,
            tuple(first["sources"]),
            first["root"],
            first["leaves"],
            sizes,
            subject.labels,
            subject.unit,
            subject.ratio,
        )

    def ways(self) -> Iterator[Way]:
        """Yield all branches; leaves stand below each other in order, a node between its two."""
        yield from _ways(self.root, 0, _heights(self.root))

    @property
    def depth(self) -> int:
        """The number of conditions on the longest way."""
        return max(way.depth for way in self.ways()) + 1

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree on some axes, or on a new figure."""
        told = TOLD if not self.labels else 0.36 * len(self.labels)
        width = self.depth + LEAF + (0.0 if self.labels else BARS) + told
        size = (0.4 + width * STEP, 1.2 + len(self.leaves) * ROW)
        ax = style.axes_or_new(ax, size)
        ax.set_axis_off()
        ax.set_xlim(-0.05, width)
        ax.set_ylim(len(self.leaves) - 0.4, -0.9)
        read = ", ".join(style.name(source, 40) for source in self.sources)
        self._branches(ax)
        if self.labels:
            self._columns(ax)
        else:
            self._bars(ax)
        style.headline(ax, f"Tree {self.name}: {read}", f"what a leaf adds to {self.unit}")
        return self._drawn(ax)

    def _branches(self, ax: Any) -> None:
        deepest = self.depth
        line = {"color": style.ink(), "linewidth": 1.0, "solid_capstyle": "round"}
        for way in self.ways():
            x = way.depth
            ax.plot([x, x, x + 1], [way.y_from, way.y_to, way.y_to], **line)
            lines = textwrap.wrap(style.plain(way.condition), LINE) or [""]
            if len(lines) > MOST_LINES:
                kept = style.name(" ".join(lines[MOST_LINES - 1 :]), LINE)
                lines = [*lines[: MOST_LINES - 1], kept]
            ax.annotate(
                "\n".join(lines), (x + GAP, way.y_to), (0, 2), textcoords="offset points",
                va="bottom", fontsize=style.NOTE, linespacing=1.05, **style.PLAIN,
            )  # fmt: skip
            if way.is_leaf and x + 1 < deepest:
                ax.plot([x + 1, deepest], [way.y_to] * 2, linestyle=":", alpha=0.6, **line)
        for y, leaf in enumerate(self.leaves):
            ax.text(deepest + 0.05, y, leaf["name"], va="center", fontsize=style.NOTE)

    def _bars(self, ax: Any) -> None:
        """Draw what each leaf adds, with the share of the rows."""
        values, start = self.coefficients[0], self.depth + LEAF
        low, high = min(0.0, values.min()), max(0.0, values.max())
        unit = BARS * 0.9 / ((high - low) or 1.0)
        zero = start - low * unit
        ax.plot([zero, zero], [-0.5, len(values) - 0.5], color=style.ink(), linewidth=0.7)
        total = sum(leaf["support"] for leaf in self.leaves) or 1.0
        for y, (value, leaf) in enumerate(zip(values.tolist(), self.leaves, strict=True)):
            ax.barh(y, value * unit, 0.5, left=zero, **style.bar_looks(ax, value))
            told = style.signed(value)
            if value and self.ratio is not None and leaf["effect"] is not None:
                told += f"  (\N{MULTIPLICATION SIGN}{leaf['effect']:.3g})"
            told += f"\n{style.share(leaf['support'] / total)} of the rows"
            ax.text(start + BARS + 0.05, y, told, va="center", fontsize=style.NOTE)

    def _columns(self, ax: Any) -> None:
        """Write what each leaf adds to the score of each class."""
        largest = float(np.abs(self.coefficients).max()) or 1.0
        for k, label in enumerate(self.labels):
            x = self.depth + LEAF + 0.36 * (k + 0.5)
            ax.text(x, -0.55, style.name(label, 11), ha="center", va="bottom", rotation=30,
                    fontsize=style.NOTE, **style.PLAIN)  # fmt: skip
            for y, value in enumerate(self.coefficients[k].tolist()):
                look = style.bar_looks(ax, value)
                ax.barh(y, 0.34, 0.62, left=x - 0.17, color=look["facecolor"], linewidth=0,
                        alpha=0.55 * abs(value) / largest)  # fmt: skip
                ax.text(
                    x, y, style.signed(value), ha="center", va="center", fontsize=style.NOTE - 1
                )

    def frame(self) -> pd.DataFrame:
        """Return one row for each leaf; of several classes a coefficient for each."""
        import pandas as pd

        total = sum(leaf["support"] for leaf in self.leaves) or 1.0
        found = pd.DataFrame(
            {
                "leaf": [leaf["name"] for leaf in self.leaves],
                "conditions": [leaf["conditions"] for leaf in self.leaves],
                "support": [leaf["support"] for leaf in self.leaves],
                "share": [leaf["support"] / total for leaf in self.leaves],
            }
        )
        if self.labels:
            for label, values in zip(self.labels, self.coefficients, strict=True):
                found[f"coefficient of {label}"] = values
            return found
        found["coefficient"] = self.coefficients[0]
        if self.ratio is not None:
            found[self.ratio.replace(" ", "_")] = [leaf["effect"] for leaf in self.leaves]
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _heights(node: Record) -> float:
    """Return how far down a node stands: as its leaf, or between its two ways."""
    if "leaf" in node:
        return float(node["leaf"])
    return sum(_heights(way) for way in node["ways"]) / 2


def _ways(node: Record, depth: int, height: float) -> Iterator[Way]:
    for way in node["ways"]:
        below = _heights(way)
        yield Way(depth, height, below, way["condition"], "leaf" in way)
        if "ways" in way:
            yield from _ways(way, depth + 1, below)

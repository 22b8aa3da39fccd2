"""A tree of the model drawn as a tree, with what its leaves add beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rpte.errors import InputError
from rpte.figures import pyplot as painter
from rpte.figures.effect import Record
from rpte.figures.subject import Subject
from rpte.figures.text import name
from rpte.figures.tree import Way, tree_panel, ways
from rpte.plots.display import Display
from rpte.report.cards import tree_card
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd


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

    def ways(self) -> list[Way]:
        """Return all branches; leaves stand below each other in order, a node between its two."""
        return ways(self.root)

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree on some axes, or on a new figure."""
        card = {
            "name": self.name,
            "sources": self.sources,
            "root": self.root,
            "leaves": self.leaves,
        }
        panel = tree_panel(card, self.coefficients, self.labels, self.unit, self.ratio)
        read = ", ".join(name(source, 40) for source in self.sources)
        title, note = f"Tree {self.name}: {read}", f"what a leaf adds to {self.unit}"
        return self._drawn(painter.draw(panel, ax, title, note))

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

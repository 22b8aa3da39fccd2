"""Models, explanations and pictures as a notebook shows them: plain HTML and SVG, no script."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpte.audit.grid import profile_of
from rpte.errors import InputError, did_you_mean
from rpte.model.classes import ClassesModel
from rpte.model.effect import background, own_parts
from rpte.model.model import Model
from rpte.report.cards import tree_card
from rpte.report.class_cards import class_shape
from rpte.report.class_charts import class_effect_drawing, class_tree_panels, tiled
from rpte.report.curves import shape
from rpte.report.draw import tree_drawing
from rpte.report.effect_charts import effect_drawing
from rpte.report.evidence import checked_weights
from rpte.report.frontier import frontier_drawing, read_frontier
from rpte.report.svg import Drawing, document, shortened
from rpte.utils.output import write_text

if TYPE_CHECKING:
    pass

MOST_PARTS = 12


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG picture; a notebook draws it.

    Parameters
    ----------
    svg : str
        The whole document.
    label : str
        The picture in words.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpte import RPTEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RPTEClassifier(l1="4/n", vocabulary="original").fit(X[50:], y[50:])
    >>> clf.plot_tree(1).label.split(":")[0]
    'Tree T1 over x1, x3'
    """

    svg: str
    label: str

    def __repr__(self) -> str:
        return f"Picture({shortened(self.label, 70)!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        code = base64.b64encode(self.svg.encode("utf-8", "replace")).decode()
        source = f"data:image/svg+xml;base64,{code}"
        return f'<img style="max-width:100%" src="{source}" alt="{escape(self.label)}">'

    def save(self, path: str | Path) -> None:
        """Write the picture to an SVG file."""
        write_text(self.svg, Path(path))


def _picture(drawing: Drawing) -> Picture:
    return Picture(document(*drawing), drawing[2])


def plot_tree(model: Model | ClassesModel, tree: int | str = 1) -> Picture:
    """Return the picture of a tree, by its number from 1 or its name."""
    known = {part.name: part for component in model.components for part in component.trees}
    name = tree if isinstance(tree, str) else f"T{tree}"
    if name not in known:
        has = f"its trees are {', '.join(known)}" if known else "the model has none"
        raise InputError(f"there is no tree {name}; {has}")
    if isinstance(model, Model):
        return _picture(tree_drawing(tree_card(model, known[name])))
    own = [(each, t) for each in model.models for t in each.trees if t.name == name]
    card = {"name": name, "classes": [tree_card(*pair) for pair in own]}
    return _picture(tiled(class_tree_panels(card, list(map(str, model.classes))), 1))


def plot_effect(
    model: Model | ClassesModel, source: str, X: Any = None, sample_weight: Any = None
) -> Picture:
    """Return the picture of what a variable does to the score; see `RPTEClassifier.plot_effect`."""
    outline = model if isinstance(model, Model) else model.outline
    home = next((c for c in model.components if source in c.sources), None)
    if home is None:
        hint = did_you_mean(source, model.sources)
        reads = ", ".join(model.sources) or "nothing"
        raise InputError(f"the model does not read {source!r}{hint}; it reads {reads}")
    rows = None
    if X is not None:
        inputs = model.read(X)
        weight = checked_weights(sample_weight, inputs.n_rows)
        rows = background(inputs, model.sources, weight)
    if rows is None and not own_parts(home, source):
        raise InputError(
            f"{source!r} has no terms of its own, and what it does together with others can be "
            f"averaged over rows only; give a table: plot_effect({source!r}, X)"
        )
    box = profile_of(outline, source).get("quantiles")
    if isinstance(model, Model):
        return _picture(effect_drawing(shape(model, home, source, rows), box))
    place = model.components.index(home)
    each = [shape(own, own.components[place], source, rows) for own in model.models]
    names = [str(label) for label in model.classes]
    return _picture(class_effect_drawing(class_shape(each), names, box))


def plot_frontier(model: Model | ClassesModel) -> Picture:
    """Return the picture of what fewer conditions cost, as found in training."""
    return _picture(frontier_drawing(read_frontier(model)))

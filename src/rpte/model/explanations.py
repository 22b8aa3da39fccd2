"""Explanations of several rows: a list that becomes a table, or what shap draws.

People read contributions by their size and without zeros; the score is defined in the order of
the model file. Both orders are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

import numpy as np

from rpte.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from rpte.model.explain import ComponentContribution, Contribution

E = TypeVar("E", bound=Any)

ORDERS = ("size", "definition")
FRAME_COLUMNS = ("row", "component", "variables", "values", "term", "text", "contribution")
JOINT = " \u00d7 "  # between the names of variables that act together


def ordered(
    components: Sequence[ComponentContribution], order: str = "size"
) -> tuple[ComponentContribution, ...]:
    """Return contributions as people read them, or as the score is defined.

    By size: the component that adds or takes most comes first, and so do the terms in it; zeros are
    left out, and ties stay in the defining order.
    """
    check_order(order)
    if order == "definition":
        return tuple(components)
    kept = [
        replace(
            each,
            contributions=tuple(
                sorted((c for c in each.contributions if c.value != 0.0), key=_size)
            ),
        )
        for each in components
    ]
    return tuple(sorted((each for each in kept if each.contributions), key=_size))


def check_order(order: str) -> None:
    """Refuse what is no order."""
    if order not in ORDERS:
        raise InputError(f"order={order!r}; it must be 'size' or 'definition'")


def _size(part: Any) -> float:
    return -abs(float(part.value))


class Explanations(list[E]):
    """The explanations of some rows; a slice of them is one too.

    `explain` returns it. A notebook shows the cases as a table in which each folds open.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> explained = RPTEClassifier(l1=0.1).fit(X, y).explain(X.iloc[17:20])
    >>> explained[:2]
    Explanations of 2 rows: 17, 18
    >>> frame = explained.to_frame()
    >>> list(frame)
    ['row', 'component', 'variables', 'values', 'term', 'text', 'contribution']
    >>> by_row = frame.groupby("row")["contribution"].sum()
    >>> bool(abs(by_row[17] - explained[0].score) < 1e-12)
    True
    """

    __slots__ = ()

    @overload
    def __getitem__(self, place: SupportsIndex) -> E: ...
    @overload
    def __getitem__(self, place: slice) -> Explanations[E]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> E | Explanations[E]:
        """Return one explanation, or some of them as a list of the same kind."""
        if isinstance(place, slice):
            return Explanations(super().__getitem__(place))
        return super().__getitem__(place)

    def __repr__(self) -> str:
        named = ", ".join(str(each.row) for each in self[:5])
        rows = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        return f"Explanations of {rows}: {named}{', ...' if len(self) > 5 else ''}"

    def __str__(self) -> str:
        return "\n\n".join(f"row {each.row}\n{each}" for each in self)

    def _repr_html_(self) -> str:
        from rpte.notebook.explanations import explanations_html

        return explanations_html(self)

    def labelled(self, X: Any) -> Explanations[E]:
        """Return the same with the labels of the rows of a pandas frame; else as they are."""
        index: Any = getattr(X, "index", None)
        if not hasattr(index, "tolist"):  # a list has an `index` that is a method
            return self
        return Explanations(
            replace(each, row=label) for each, label in zip(self, index.tolist(), strict=True)
        )

    def to_frame(self, order: str = "size") -> pd.DataFrame:
        """Return all contributions as a table, one line for each term of each row.

        Parameters
        ----------
        order : {"size", "definition"}
            "size": the largest first, without zeros. "definition": every contribution in the order
            of the sum; adding up the terms of each component from left to right, and then the
            intercept and these sums, gives the score to the last bit.

        Returns
        -------
        pandas.DataFrame
            The first line of a row is the intercept, or the mean score under ``reference="mean"``.
            Of several classes, contributions are to the difference of the scores of ``class`` and
            ``against``.
        """
        return frame_of(self, order)

    def to_shap(self) -> Any:
        """Return the contributions as a `shap.Explanation`, for its pictures; needs shap.

        A variable has a column for the terms that read it alone. Terms that read several variables
        have a column of their own, such as ``age × sex``: nothing is split between variables, so
        each row's values and its base value add up to its score. Of several classes, `values` has
        shape (n_rows, features, classes), the scores of all of them. With ``reference="mean"`` the
        base value is the mean score in training, as it is in most pictures of shap::

            shap.plots.waterfall(clf.explain(X, reference="mean").to_shap()[17])
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs shap: pip install 'rpte[shap]'") from error
        return shap.Explanation(**shap_arrays(self))


def frame_of(explained: Iterable[Any], order: str = "size") -> pd.DataFrame:
    """Return explanations as one table; see `Explanations.to_frame`."""
    import pandas as pd

    found = list(explained)
    several = bool(found) and hasattr(found[0], "difference")
    names = list(FRAME_COLUMNS)
    if several:
        names[1:1] = ["class", "against"]
    rows = [line for each in found for line in _lines(each, order, several)]
    return pd.DataFrame(rows, columns=names)


def _lines(told: Any, order: str, several: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the lines of one row."""
    one = told.difference if several else told
    head = (told.row, told.chosen, told.against) if several else (told.row,)
    yield (*head, "", "", "", "", one.start, one.intercept)
    for component in ordered(one.components, order):
        for each in component.contributions:
            cells = ", ".join(one.value_text(name) for name in each.sources)
            read = component.component, ", ".join(each.sources), cells
            yield (*head, *read, each.term, each.text, each.value)


def shap_arrays(explained: Sequence[Any]) -> dict[str, Any]:
    """Return what `shap.Explanation` is made of, as arrays.

    Columns are in the order of the first row that has them; a part of the model is in all rows of
    a model, but pairs of classes need not have the same.
    """
    if not explained:
        raise InputError("there are no rows to show; explain one at least")
    several = hasattr(explained[0], "difference")
    by_class = type(explained[0]).every_score(explained)
    keys = list(
        dict.fromkeys(
            _key(part)
            for scores in by_class
            for one in scores
            for component in one.components
            for part in component.contributions
        )
    )
    values = np.zeros((len(explained), len(keys), len(by_class[0])))
    for i, scores in enumerate(by_class):
        for k, one in enumerate(scores):
            for component in one.components:
                for part in component.contributions:
                    values[i, keys.index(_key(part)), k] += part.value
    base = np.array([[one.intercept for one in scores] for scores in by_class])
    cells = np.empty((len(explained), len(keys)), dtype=object)
    for i, scores in enumerate(by_class):
        cells[i] = [_cell(scores[0], key) for key in keys]
    found = {"data": cells, "feature_names": [JOINT.join(key) for key in keys]}
    if several:
        labels = [str(label) for label in explained[0].probabilities]
        return {"values": values, "base_values": base, "output_names": labels, **found}
    return {"values": values[:, :, 0], "base_values": base[:, 0], **found}


def _key(part: Contribution) -> tuple[str, ...]:
    """Return the column of a term: the variables that it reads, in one order."""
    return tuple(sorted(part.sources))


def _cell(told: Any, sources: tuple[str, ...]) -> Any:
    """Return the case's value of a variable, or of several in words."""
    if len(sources) > 1:
        return ", ".join(told.value_text(name) for name in sources)
    value = told.inputs[sources[0]]
    return np.nan if value is None else value

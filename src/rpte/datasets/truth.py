"""The known truth behind a made-up table: a sum of effects, each a function of its cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rpte.errors import InputError, did_you_mean
from rpte.utils.arrays import Floats


@dataclass(frozen=True, slots=True)
class Effect:
    """What one variable, or several together, add to the score.

    Parameters
    ----------
    sources : tuple of str
        The variables that it reads.
    shape : str
        The kind of effect in a word or two, such as "step" or "none".
    words : str
        The formula for people.
    of : function from a table to an array of shape (n_rows,)
        What is added to each row's score.

    Examples
    --------
    >>> from rpte.datasets import make_credit
    >>> effect = make_credit(100).truth.effects[0]
    >>> effect.sources, effect.words
    (('age',), '-0.05 per year up to 45, flat beyond')
    """

    sources: tuple[str, ...]
    shape: str
    words: str
    of: Callable[[pd.DataFrame], Floats]

    @property
    def name(self) -> str:
        """The variables in one text."""
        return " x ".join(self.sources)


@dataclass(frozen=True, slots=True)
class Truth:
    """The score that an outcome was drawn from: an intercept and effects that add up.

    Parameters
    ----------
    intercept : float
    effects : tuple of Effect
    scale : {"log odds", "log rate", "log hazard ratio", "log mean"}
        What the score is.

    Examples
    --------
    >>> from rpte.datasets import make_credit
    >>> data = make_credit(100)
    >>> score = data.truth.score(data.X)
    >>> added = data.truth.intercept + data.truth.contributions(data.X).sum(axis=1)
    >>> bool((abs(score - added) < 1e-12).all())
    True
    """

    intercept: float
    effects: tuple[Effect, ...]
    scale: str

    def contributions(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return what each effect adds to the score of each row of a table.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            Rows as the maker draws them; only the columns of the effects are read.

        Returns
        -------
        DataFrame of shape (n_rows, n_effects)
            One column for each effect, named by its variables.
        """
        return pd.DataFrame({e.name: e.of(X) for e in self.effects}, index=X.index)

    def score(self, X: pd.DataFrame) -> Floats:
        """Return the true score of each row of a table, shape (n_rows,)."""
        total = np.full(len(X), self.intercept)
        for effect in self.effects:
            total += effect.of(X)
        return total

    def response(self, X: pd.DataFrame) -> Floats:
        """Return the probability, mean or hazard ratio that the score stands for, (n_rows,)."""
        raised: Floats = np.exp(self.score(X))
        return raised / (1 + raised) if self.scale == "log odds" else raised

    def effect(self, source: str, X: pd.DataFrame) -> Floats:
        """Return what all effects that read a variable add to the score of each row.

        Give rows that differ in this variable alone to draw its curve.

        Examples
        --------
        >>> import pandas as pd
        >>> from rpte.datasets import make_credit
        >>> truth = make_credit(100).truth
        >>> truth.effect("age", pd.DataFrame({"age": [25, 45, 65]})).tolist()
        [1.0, 0.0, 0.0]
        """
        found = [e.of(X) for e in self.effects if source in e.sources]
        if not found:
            known = [name for e in self.effects for name in e.sources]
            raise InputError(
                f"the truth has no variable {source!r}{did_you_mean(source, known)}; it has "
                f"{', '.join(dict.fromkeys(known))}"
            )
        added: Floats = np.sum(found, axis=0)
        return added

    def table(self) -> pd.DataFrame:
        """Return the effects as a table: variables, shape, and what is added to the score."""
        rows = [(e.name, e.shape, e.words) for e in self.effects]
        return pd.DataFrame(rows, columns=["variable", "shape", f"adds to the {self.scale}"])

    def _repr_html_(self) -> str:
        from rpte.notebook.card import Card, Table

        told = self.table()
        effects = Table(list(map(str, told)), told.to_numpy().tolist())
        return Card("The truth", [f"intercept {self.intercept:g}"], [effects]).html


def numbers(X: pd.DataFrame, name: str) -> Floats:
    """Return a column as float64, missing cells as NaN."""
    return X[name].to_numpy(dtype=np.float64, na_value=np.nan)


def plain(cell: Any) -> str | None:
    """Return a text as it is meant, whatever its spelling; None where the cell is missing."""
    return cell.strip().casefold() if isinstance(cell, str) else None


def of_levels(name: str, added: Mapping[str, float], missing: float = 0.0) -> Effect:
    """Return the effect of a text: a number for each level, 0 for those that are not named."""
    texts = [f"{value:+g} for '{level}'" for level, value in added.items()]
    if missing:
        texts.append(f"{missing:+g} where missing")
    known = {plain(level): value for level, value in added.items()} | {None: missing}
    return Effect((name,), "levels", ", ".join(texts), partial(_of_level, name, known))


def _of_level(name: str, known: Mapping[str | None, float], X: pd.DataFrame) -> Floats:
    return np.array([known.get(plain(cell), 0.0) for cell in X[name]], dtype=np.float64)


def no_effect(name: str, words: str) -> Effect:
    """Return the effect of a variable that means nothing."""
    return Effect((name,), "none", words, _nothing)


def _nothing(X: pd.DataFrame) -> Floats:
    return np.zeros(len(X))

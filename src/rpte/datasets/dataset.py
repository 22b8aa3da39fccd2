"""What the makers return: a table, its outcome, and what is known of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from rpte.datasets.truth import Truth


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Dataset:
    """A made-up table with the truth behind it.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
        The variables, ready for `fit`.
    y : Series of shape (n_rows,), or DataFrame of two columns
        The outcome, ready for `fit`.
    truth : Truth
        The score that the outcome was drawn from.
    special_values : mapping from name to list of codes
        The codes among numbers that are no measurements, as the estimators take them.
    description : str
        What the rows are, and what is dirty about them.
    groups : Series of shape (n_rows,), or None
        Which rows belong together (a branch, a centre).

    Examples
    --------
    >>> from rpte.datasets import make_credit
    >>> data = make_credit(200)
    >>> data.X.shape, data.y.name, data.special_values["months_since_delinquency"]
    ((200, 11), 'default', [-9])
    """

    X: pd.DataFrame
    y: pd.Series | pd.DataFrame
    truth: Truth
    special_values: Mapping[str, list[int]]
    description: str
    groups: pd.Series | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """Everything in one table, as it would stand in a file: variables, outcome, groups."""
        return pd.concat([self.X, self.y, *self._columns()], axis=1)

    def _columns(self) -> list[pd.Series]:
        return [] if self.groups is None else [self.groups]

    def __repr__(self) -> str:
        return (
            f"{self.description}\n\n{len(self.X)} rows. The truth:\n"
            f"{self.truth.table().to_string(index=False)}"
        )

    def _repr_html_(self) -> str:
        from rpte.notebook.card import Card, Table

        told = self.truth.table()
        effects = Table(list(map(str, told)), told.to_numpy().tolist())
        title = f"{len(self.X):,} rows, {self.X.shape[1]} variables"
        return Card(title, [self.description, "The truth:"], [effects]).html


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Claims(Dataset):
    """A motor portfolio: counts of claims, how long each policy was insured, what claims cost.

    Parameters
    ----------
    exposure : Series of shape (n_rows,)
        Years insured; the truth is of claims per year.
    amounts : Series of shape (n_rows,)
        What the claims of a row cost together; 0 where there are none.
    amount_truth : Truth
        The logarithm of the mean cost of one claim.

    Examples
    --------
    >>> from rpte.datasets import make_claims
    >>> data = make_claims(200)
    >>> bool((data.amounts[data.y == 0] == 0).all())
    True
    """

    exposure: pd.Series
    amounts: pd.Series
    amount_truth: Truth

    def _columns(self) -> list[pd.Series]:
        return [self.exposure, self.amounts]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Trial(Dataset):
    """A clinical trial: whether and when patients died, by centre.

    Parameters
    ----------
    strata : Series of shape (n_rows,), or None
        The country, where each has a baseline hazard of its own.
    entry : Series of shape (n_rows,), or None
        The day from which on a patient was under observation, where that was late.

    Examples
    --------
    >>> from rpte.datasets import make_trial
    >>> data = make_trial(200)
    >>> list(data.y), data.strata is None
    (['died', 'days'], True)
    """

    strata: pd.Series | None = None
    entry: pd.Series | None = None

    def _columns(self) -> list[pd.Series]:
        return [c for c in (self.groups, self.strata, self.entry) if c is not None]

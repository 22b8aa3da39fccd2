"""A section of the page: a title, and paragraphs and tables below it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from experiments.data import PAPER12
from experiments.results import Results


@dataclass(frozen=True)
class Section:
    """One section."""

    title: str
    parts: tuple[str, ...]

    def text(self) -> str:
        """Return the section in Markdown."""
        return "\n\n".join([f"## {self.title}", *(part for part in self.parts if part)])


def present(results: Results, names: list[str], what: str = "performance") -> list[str]:
    """Return those of some models that have any unit."""
    there = set(results.done.loc[results.done["what"] == what, "model"])
    return [name for name in names if name in there]


def shared(results: Results, *models: str, sets: list[str] | None = None) -> list[str]:
    """Return the sets of the paper that all these models have finished in part or whole."""
    counts = results.counts()
    known = [name for name in (sets or list(PAPER12)) if name in counts.index]
    have = [model for model in models if model in counts]
    if len(have) < len(models):
        return []
    return [name for name in known if counts.loc[name, have].notna().all()]


def pairwise(
    results: Results, first: str, second: str, column: str, what: tuple[str, str]
) -> pd.DataFrame:
    """Return the means of two models on the splits that both have, one row per set."""
    rows = {}
    for name in PAPER12:
        a = results.folds(name, first, column, what[0])
        b = results.folds(name, second, column, what[1])
        splits = a.index.intersection(b.index)
        if len(splits):
            rows[name] = (a[splits].mean(), b[splits].mean())
    return pd.DataFrame.from_dict(rows, orient="index", columns=["first", "second"])

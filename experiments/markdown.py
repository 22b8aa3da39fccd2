"""Markdown tables and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

NOT_RUN = "not run"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, the first column to the left and the others to the right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), rule, *rows])


def short(text: str) -> str:
    """Write the long numbers of a rule with four digits."""
    return re.sub(r"\d+\.\d{5,}", lambda found: f"{float(found[0]):.4g}", text)


def number(value: float | None, form: str = ".3f") -> str:
    """Write a number; "not run" for none."""
    return NOT_RUN if value is None or pd.isna(value) else format(value, form)


def beside(ours: float | None, published: float | None, form: str = ".3f") -> str:
    """Write our figure, the published one and the difference."""
    theirs = "-" if published is None or pd.isna(published) else format(published, form)
    if ours is None or pd.isna(ours):
        return f"{NOT_RUN} / {theirs}"
    if theirs == "-":
        return f"{ours:{form}} / -"
    return f"{ours:{form}} / {theirs} ({ours - float(published or 0):+{form.lstrip(',')}})"

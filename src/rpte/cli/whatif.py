"""`rpte whatif`: another value in a cell, and what moves because of it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli.cases import CaseId, RowNumber, read_case, title_of
from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, IdColumn, Missing, ModelFile, TableFile, pairs
from rpte.cli.show import QUIET, coefficient
from rpte.cli.terminal import console, print_json
from rpte.errors import InputError
from rpte.model.explain import value_text
from rpte.model.file import load
from rpte.model.whatif import WhatIf


def whatif(
    model: ModelFile,
    table: TableFile,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE, once per cell; NAME= makes it missing."),
    ] = None,
    row: RowNumber = None,
    case: CaseId = None,
    id_column: IdColumn = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Change values of one case and see which contributions move, and that no other does.

    Example: rpte whatif model.json cases.csv --row 17 --set age=50 --set "job=free lance"
    """
    with told_in_one_line():
        loaded = load(model)
        asked = pairs("--set", changes or [], empty=True)
        if not asked:
            raise InputError("say what to change, such as --set age=50")
        named, cells = read_case(loaded, table, row, case, id_column, missing)
        found = loaded.what_if(cells, {name: value or None for name, value in asked.items()})
        if as_json:
            print_json({**named, **found.to_dict()})
            return
        console().print(whatif_view(found, title_of(named)))


def whatif_view(found: WhatIf, title: str) -> Group:
    """Return the changes, what moved, and what was checked not to have moved."""
    lines = [
        Text(f"{name}: {value_text(old)} -> {value_text(new)}")
        for name, (old, new) in found.changes.items()
    ]
    lines += [Text(f"{name} is not read by the model: nothing can move") for name in found.unread]
    positive, notes = found.before.positive, [Text(f"note: {f}") for f in found.after.flags]
    probabilities = f"{found.before.probability:.4f} -> {found.after.probability:.4f}"
    end = Text(f"probability of {positive}: {probabilities}", "bold")
    return Group(Text(title, "italic"), *lines, "", _moves(found), "", end, found.said, *notes)


def _moves(found: WhatIf) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("before", "after", "moves by"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("term")
    for moved in found.moved:
        pairs = zip(moved.before.contributions, moved.after.contributions, strict=True)
        for old, new in pairs:
            if old == new:
                continue
            values = (old.value, new.value, new.value - old.value)
            cells = [coefficient(value) for value in values]
            table.add_row(*cells, f"{moved.before.component} {new.term}: {new.text}")
            if old.term != new.term:
                table.add_row("", "", "", Text(f"before {old.term}: {old.text}", QUIET))
    change = found.after.score - found.before.score
    scores = (found.before.score, found.after.score, change)
    table.add_row(*map(coefficient, scores), Text("score", "bold"))
    return table

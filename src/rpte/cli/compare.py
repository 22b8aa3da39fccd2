"""`rpte compare`: what is different between two models, and which predictions move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rpte.cli.options import AsJson, IdColumn, MaybeTable, Missing, ModelFile, rows_for
from rpte.cli.show import coefficient
from rpte.cli.terminal import console, print_json, table_of
from rpte.model.compare import compare as compare_models
from rpte.model.file import load


def compare(
    a: ModelFile,
    b: Annotated[Path, typer.Argument(help="Another model file.")],
    table: MaybeTable = None,
    id_column: IdColumn = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Compare two models: terms added, removed and changed, guarantees and settings that differ.

    With a table also where predictions move, by how much, and through which variables.

    Example: rpte compare old.json new.json cases.csv
    """
    old, new = load(a), load(b)
    ids, rows = None, []
    if table is not None:
        read = [
            rows_for(model, table, missing, id_column=id_column, allow_unknown=True)
            for model in (old, new)
        ]
        ids, rows = read[0].ids(id_column), [both.inputs for both in read]
    found = compare_models(old, new, *rows)
    if ids is not None:
        for moved in found["predictions"]["moved_most"]:
            moved[ids[0]] = ids[1][moved["row"] - 1]
    if as_json:
        print_json(found)
        return
    console().print(*_views(found, (str(a), str(b)), "row" if ids is None else ids[0]), sep="\n")


def _views(found: dict[str, Any], names: tuple[str, str], label: str) -> Iterator[RenderableType]:
    if found["same"]:
        yield "The models are the same, bit for bit."
    for name, facts in zip(names, found["models"], strict=True):
        load = f"{facts['terms']} terms, {facts['conditions']} conditions"
        yield Text(f"{name}: {load}; {facts['rows']:g} training rows; {facts['hash'][:16]}")
    tables = {model["training_table"] for model in found["models"]}
    same = "the same table" if len(tables) == 1 else "tables with different hashes"
    yield f"Fitted on {same}."
    if found["turned_round"]:
        yield f"The models speak of different classes; both are shown for {found['positive']}."
    yield from _terms(found)
    for title in ("guarantees", "settings"):
        rows = [(at["name"], _value_text(at["a"]), _value_text(at["b"])) for at in found[title]]
        if rows:
            table = table_of(("", "first", "second"), rows)
            yield from _titled(f"{title.capitalize()} that differ", table)
        else:
            yield from ("", f"No {title} differ.")
    if found["predictions"] is not None:
        yield from _moves(found["predictions"], label)


def _terms(found: dict[str, Any]) -> Iterator[RenderableType]:
    terms = found["terms"]
    title = (
        f"Terms: {len(terms['added'])} added, {len(terms['removed'])} removed, "
        f"{len(terms['changed'])} changed, {terms['kept']} kept as they are"
    )
    table = table_of(("", ">first", ">second", "term"))
    first, second = found["intercept"]
    if first != second:
        table.add_row("changed", coefficient(first), coefficient(second), "intercept")
    for term in terms["removed"]:
        table.add_row("removed", coefficient(term["coefficient"]), "", term["text"])
    for term in terms["added"]:
        table.add_row("added", "", coefficient(term["coefficient"]), term["text"])
    for pair in terms["changed"]:
        texts = dict.fromkeys(pair[side]["text"] for side in "ab")  # one where they are the same
        values = (coefficient(pair[side]["coefficient"]) for side in "ab")
        table.add_row("changed", *values, " -> ".join(texts))
    yield from _titled(title, table)


def _value_text(value: Any) -> str:
    return "-" if value is None else "yes" if value is True else str(value)


def _moves(found: dict[str, Any], label: str) -> Iterator[RenderableType]:
    p = found["probability"]
    yield ""
    yield (
        f"Predictions of {found['rows']} rows: probabilities move by {p['mean_size']:.4f} on "
        f"average, by less than {p['size_9_of_10']:.4f} in 9 of 10 rows, by {p['largest']:.4f} at "
        f"most; {found['classes_changed']} rows change class."
    )
    variables = [
        (f"{at['mean_size']:.4f}", f"{at['largest']:.4f}", ", ".join(at["variables"]))
        for at in found["by_variables"]
    ]
    bands = [
        (str(at["rows"]), *(f"{at[key]:.4f}" for key in ("a", "b", "largest")))
        for at in found["by_band"]
    ]
    rows = [
        (str(at[label]), f"{at['a']:.4f}", f"{at['b']:.4f}", ", ".join(at["mostly"]))
        for at in found["moved_most"]
    ]
    heads = (">rows", ">mean, first", ">mean, second", ">largest move")
    where = "Where (rows in order of the first model's probability)"
    through = "Through which variables (log odds)"
    yield from _titled(through, table_of((">mean", ">largest", ""), variables))
    yield from _titled(where, table_of(heads, bands))
    yield from _titled("Moved most", table_of((label, ">first", ">second", "mostly through"), rows))


def _titled(title: str, table: Table) -> Iterator[RenderableType]:
    yield from ("", Text(title, "bold"))
    if table.row_count:
        yield table

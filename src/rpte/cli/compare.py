"""`rpte compare`: two models side by side."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.options import rows_for
from rpte.cli.show import coefficient
from rpte.cli.terminal import print_found, table_of
from rpte.model.compare import compare as compare_models
from rpte.model.file import load_one
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.table.column import level_text

OTHER_RESPONSES = (NumberTarget.response_name, SurvivalTarget.response_name)
CHANCES = ("probabilities", "probability", "log odds")  # predictions, one of them, and its score


def compare(
    a: opt.ModelFile,
    b: Annotated[Path, typer.Argument(help="Another model file.")],
    table: opt.MaybeTable = None,
    id_column: opt.IdColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Compare two models: terms, guarantees, settings, predictions.

    With a table also where predictions move, by how much, and through which variables.

    Example: rpte compare old.json new.json cases.csv
    """
    old, new = load_one(a, "rpte compare"), load_one(b, "rpte compare")
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
    views = _views(found, (str(a), str(b)), "row" if ids is None else ids[0])
    print_found(as_json, found, *views)


def _views(found: dict[str, Any], names: tuple[str, str], label: str) -> Iterator[RenderableType]:
    if found["same"]:
        yield "The models are the same, bit for bit."
    yield from _facts(found, names)
    said = next((found[name] for name in OTHER_RESPONSES if name in found), None)
    if said is not None:
        yield Text(f"Both predict the {said}.")
    elif found.get("turned_round"):
        yield f"The models speak of different classes; both are shown for {found['positive']}."
    several = "classes" in found
    yield from (_class_terms if several else _terms)(found)
    yield from _claims(found)
    if found["predictions"] is not None:
        yield from (_class_moves if several else _moves)(found["predictions"], label)


def _facts(found: dict[str, Any], names: tuple[str, str]) -> Iterator[RenderableType]:
    """Yield the sizes of two models, and whether they were fitted on one table."""
    for name, facts in zip(names, found["models"], strict=True):
        load = f"{facts['terms']} terms, {facts['conditions']} conditions"
        yield Text(f"{name}: {load}; {facts['rows']:g} training rows; {facts['hash'][:16]}")
    tables = {model["training_table"] for model in found["models"]}
    same = "the same table" if len(tables) == 1 else "tables with different hashes"
    same = "tables of which one has no hash" if None in tables else same
    yield f"Fitted on {same}."


def _claims(found: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield the guarantees and settings that differ."""
    for title in ("guarantees", "settings"):
        rows = [(at["name"], _value_text(at["a"]), _value_text(at["b"])) for at in found[title]]
        if rows:
            table = table_of(("", "first", "second"), rows)
            yield from _titled(f"{title.capitalize()} that differ", table)
        else:
            yield from ("", f"No {title} differ.")


def _terms(found: dict[str, Any]) -> Iterator[RenderableType]:
    terms = found["terms"]
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
    yield from _titled(_terms_title(terms), table)


def _terms_title(terms: dict[str, Any]) -> str:
    return (
        f"Terms: {len(terms['added'])} added, {len(terms['removed'])} removed, "
        f"{len(terms['changed'])} changed, {terms['kept']} kept as they are"
    )


def _class_terms(found: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield terms that differ, with a line for each class in which their coefficients do."""
    table = table_of(("", ">first", ">second", "class", "term"))
    classes = [level_text(each) for each in found["classes"]]

    def rows(word: str, text: str, *sides: list[float] | None) -> None:
        columns: list[list[Any]] = [side or [None] * len(classes) for side in sides]
        for name, old, new in zip(classes, *columns, strict=True):
            if old != new and (old or new):
                said = ("" if each is None else coefficient(each) for each in (old, new))
                table.add_row(word, *said, name, text)
                word, text = "", ""

    if found["intercepts"][0] != found["intercepts"][1]:
        rows("changed", "intercept", *found["intercepts"])
    terms = found["terms"]
    for term in terms["removed"]:
        rows("removed", term["text"], term["coefficients"], None)
    for term in terms["added"]:
        rows("added", term["text"], None, term["coefficients"])
    for pair in terms["changed"]:
        texts = dict.fromkeys(pair[side]["text"] for side in "ab")
        values = (pair[side]["coefficients"] for side in "ab")
        rows("changed", " -> ".join(texts), *values)
    yield from _titled(_terms_title(terms), table)


def _class_moves(found: dict[str, Any], label: str) -> Iterator[RenderableType]:
    share = found["probability"]
    yield ""
    yield (
        f"Predictions of {found['rows']} rows: {share['mean_size']:.4f} of the probability moves "
        f"to other classes on average, less than {share['size_9_of_10']:.4f} in 9 of 10 rows, "
        f"{share['largest']:.4f} at most; {found['classes_changed']} rows change class."
    )
    moved = [(str(at["rows"]), str(at["a"]), str(at["b"])) for at in found["changes"]]
    yield from _titled("Classes that change", table_of((">rows", "first", "second"), moved))
    variables = [
        (f"{at['mean_size']:.4f}", f"{at['largest']:.4f}", ", ".join(at["variables"]))
        for at in found["by_variables"]
    ]
    through = "Through which variables (log odds of the two classes that move furthest apart)"
    yield from _titled(through, table_of((">mean", ">largest", ""), variables))
    rows = [
        (str(at[label]), str(at["a"]), str(at["b"]), f"{at['moved']:.4f}", ", ".join(at["mostly"]))
        for at in found["moved_most"]
    ]
    heads = (label, "first", "second", ">moved", "mostly through")
    yield from _titled("Moved most", table_of(heads, rows))


def _value_text(value: Any) -> str:
    return "-" if value is None else "yes" if value is True else str(value)


def _moves(found: dict[str, Any], label: str) -> Iterator[RenderableType]:
    name = next((name for name in OTHER_RESPONSES if name in found), "probability")
    of_classes = name == "probability"
    p, said = found[name], ".4f" if of_classes else ".4g"
    what, one, unit = CHANCES if of_classes else (f"{name}s", name, "score")
    change = f"; {found['classes_changed']} rows change class" if of_classes else ""
    yield ""
    yield (
        f"Predictions of {found['rows']} rows: {what} move by {p['mean_size']:{said}} on "
        f"average, by less than {p['size_9_of_10']:{said}} in 9 of 10 rows, by "
        f"{p['largest']:{said}} at most{change}."
    )
    variables = [
        (f"{at['mean_size']:{said}}", f"{at['largest']:{said}}", ", ".join(at["variables"]))
        for at in found["by_variables"]
    ]
    keys = ("a", "b", "largest")
    bands = [(str(at["rows"]), *(f"{at[key]:{said}}" for key in keys)) for at in found["by_band"]]
    rows = [
        (str(at[label]), f"{at['a']:{said}}", f"{at['b']:{said}}", ", ".join(at["mostly"]))
        for at in found["moved_most"]
    ]
    heads = (">rows", ">mean, first", ">mean, second", ">largest move")
    where = f"Where (rows in order of the first model's {one})"
    through = f"Through which variables ({unit})"
    yield from _titled(through, table_of((">mean", ">largest", ""), variables))
    yield from _titled(where, table_of(heads, bands))
    yield from _titled("Moved most", table_of((label, ">first", ">second", "mostly through"), rows))


def _titled(title: str, table: Table) -> Iterator[RenderableType]:
    yield from ("", Text(title, "bold"))
    if table.row_count:
        yield table

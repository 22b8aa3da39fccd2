"""`rpte reasons`: what counts most against a case, and the catalogue in which to say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from rpte.audit.decisions.reasons import (
    LEAST,
    MOST,
    REFERENCES,
    Catalogue,
    Reason,
    ReasonRule,
    catalogue_template,
    read_catalogue,
    reason_codes,
    reason_rule,
)
from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AllowUnknown, AsJson, IdColumn, MaybeTable, Missing, ModelFile
from rpte.cli.tables import Rows, rows_for
from rpte.cli.terminal import console, print_json
from rpte.errors import InputError
from rpte.model.file import load
from rpte.model.model import Model
from rpte.utils.output import check_output, write_text

FIRST = 5  # rows that are shown where none is asked for
COMPARED = {
    "mean": "the training mean",
    "best": "the best that anybody can have",
    "threshold": "the cases that pass next to the threshold",
}
CatalogueFile = Annotated[
    Path | None,
    typer.Option(help="Codes and sentences by variable (TOML).", show_default=False),
]
Adverse = Annotated[
    str | None,
    typer.Option(help="The outcome that counts against a case; the positive one by default."),
]
ReferenceName = Annotated[
    str,
    typer.Option(
        help="Compare with the training mean (mean), with the best that anybody can have (best), "
        "or with the cases of the table that pass next to the threshold (threshold)."
    ),
]
MostReasons = Annotated[int, typer.Option(help="At most so many reasons.", min=1)]
LeastShare = Annotated[
    float, typer.Option(help="Leave out what weighs less than this share of the first reason.")
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Probability of the adverse outcome from which on a case gets reasons; all cases do "
        "if it is not given.",
        show_default=False,
    ),
]


def reasons(
    model: ModelFile,
    table: MaybeTable = None,
    row: Annotated[
        list[str] | None,
        typer.Option(help="Rows to show: numbers from 1, or ids; repeatable.", show_default=False),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Write a catalogue to be filled in.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the template goes.")
    ] = None,
    catalogue: CatalogueFile = None,
    adverse: Adverse = None,
    reference: ReferenceName = "mean",
    most: MostReasons = MOST,
    threshold: Threshold = None,
    least: LeastShare = LEAST,
    id_column: IdColumn = None,
    missing: Missing = None,
    allow_unknown: AllowUnknown = False,
    as_json: AsJson = False,
) -> None:
    """Show the principal reasons of cases, or write the catalogue in which you say them.

    Example: rpte reasons model.json --template -o reasons.toml

    Example: rpte reasons model.json loans.csv --row 17 --catalogue reasons.toml --adverse bad
    """
    with told_in_one_line():
        if template:
            _check_template(output)
        loaded = load(model)
        if template:
            _write_template(loaded, output)
            return
        if table is None:
            raise InputError("give a table of cases, or --template to write a catalogue")
        rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=allow_unknown)
        rule = rule_for(loaded, rows, reference, adverse, most, threshold, least)
        said = Catalogue() if catalogue is None else read_catalogue(catalogue, loaded)
        ids = rows.ids(id_column)[1]
        places = _places(ids, row)
        found = reason_codes(loaded, rows.inputs.take(places), rule, said)
    shown = [(ids[place], reasons) for place, reasons in zip(places, found, strict=True)]
    if as_json:
        print_json(
            [{"case": case, "reasons": [asdict(r) for r in reasons]} for case, reasons in shown]
        )
        return
    screen = console()
    screen.print(f"What counts for {rule.adverse}, in log odds against {COMPARED[rule.reference]}")
    screen.print(_view(shown))
    if not row and len(ids) > FIRST:
        screen.print(f"The first {FIRST} of {len(ids)} cases; --row shows others.")


def rule_for(
    model: Model,
    rows: Rows,
    reference: str,
    adverse: str | None,
    most: int,
    threshold: float | None,
    least: float,
) -> ReasonRule:
    """Return the rule that the options ask for."""
    if reference not in REFERENCES:
        raise InputError(f"--reference {reference}: it is one of {', '.join(REFERENCES)}")
    cases = rows.inputs if reference == "threshold" else None
    return reason_rule(
        model,
        reference,  # type: ignore[arg-type]
        adverse=adverse,
        most=most,
        threshold=threshold,
        cases=cases,
        least=least,
    )


def _check_template(output: Path | None) -> None:
    if output is not None and output.is_file():
        raise InputError(f"{output} is there already; give another name, so that nothing is lost")
    check_output(output)


def _write_template(model: Model, output: Path | None) -> None:
    text = catalogue_template(model)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_text(text, output)
    typer.echo(f"Wrote {output}", err=True)


def _places(ids: Sequence[Any], asked: list[str] | None) -> Any:
    import numpy as np

    if not asked:
        return np.arange(min(FIRST, len(ids)))
    known = {str(name): place for place, name in enumerate(ids)}
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise InputError(f"--row {unknown[0]}: the table has {len(ids)} rows, none of this name")
    return np.array([known[name] for name in asked])


def _view(shown: list[tuple[Any, tuple[Reason, ...]]]) -> Table:
    view = Table(box=None, pad_edge=False)
    for name in ("case", "weighs", "code", "reason", "component"):
        view.add_column(name, justify="right" if name == "weighs" else "left")
    for case, reasons in shown:
        if not reasons:
            view.add_row(str(case), "", "", Text("none", "dim"), "")
        for place, reason in enumerate(reasons):
            first = "" if place else str(case)
            weight = f"{reason.weight:+.4g}"
            view.add_row(first, weight, reason.code, reason.sentence, reason.component)
    return view

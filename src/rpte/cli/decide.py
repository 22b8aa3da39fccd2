"""`rpte decide`: a log with one record per case, each sealing the one before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.audit.catalogue import Catalogue, read_catalogue
from rpte.audit.decisions import Record
from rpte.audit.decisions import decide as records_of
from rpte.audit.reasons import LEAST, MOST
from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, IdColumn, Missing, ModelFile, TableFile
from rpte.cli.reasons import (
    Adverse,
    CatalogueFile,
    LeastShare,
    MostReasons,
    ReferenceName,
    Threshold,
    rule_for,
)
from rpte.cli.tables import Rows, rows_for
from rpte.cli.terminal import print_json
from rpte.model.file import load
from rpte.model.model import Model
from rpte.output import check_folder, writing


def decide(
    model: ModelFile,
    table: TableFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The log, one JSON record a line.", show_default=False),
    ],
    id_column: IdColumn = None,
    catalogue: CatalogueFile = None,
    adverse: Adverse = None,
    reference: ReferenceName = "mean",
    most: MostReasons = MOST,
    threshold: Threshold = None,
    least: LeastShare = LEAST,
    when: Annotated[
        str | None, typer.Option(help="UTC time of the run; now by default.", show_default=False)
    ] = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Record every decision of a model on a table, so that it can be replayed and not be altered.

    A record holds what the model read, what was missing or not seen before, the leaf reached in
    each tree, all contributions, score, probability and principal reasons. The last line printed is
    the head hash: keep it elsewhere, and rpte replay can tell any change of the file.

    Example: rpte decide model.json loans.csv -o decisions.jsonl --id-column case
    """
    with told_in_one_line():
        check_folder(output)
        loaded = load(model)
        rows = rows_for(loaded, table, missing, id_column=id_column)
        rule = rule_for(loaded, rows, reference, adverse, most, threshold, least)
        said = Catalogue() if catalogue is None else read_catalogue(catalogue, loaded)
        ids = None if id_column is None else rows.ids(id_column)[1]
        given = _table(loaded, rows, id_column)
        last, unsaid = _write(records_of(loaded, given, rule, said, ids=ids, when=when), output)
    if unsaid:
        typer.echo(
            f"note: {unsaid} adverse cases have no reason, since no part of their score is worse "
            f"than the reference '{reference}'; --reference best always gives one",
            err=True,
        )
    if as_json:
        print_json({"file": str(output), "cases": last["cases"], "head": last["head"]})
        return
    typer.echo(f"Wrote {output}: {last['cases']} cases, model {last['model']}", err=True)
    typer.echo(f"head {last['head']}")


def _table(model: Model, rows: Rows, id_column: str | None) -> Any:
    """Return the model's columns as they were read from the file."""
    if model.schema.named:
        return rows.frame[[name for name in rows.frame if name in model.schema.names]]
    return rows.frame if id_column is None else rows.frame.drop(columns=id_column)


def _write(records: Iterator[Record], output: Path) -> tuple[Record, int]:
    """Write records one by one; return the closing one, and how many adverse ones lack reasons."""
    last: Record = {}
    unsaid = 0
    with writing(output) as file:
        for last in records:
            line = json.dumps(last, separators=(",", ":"), allow_nan=False)
            file.write(f"{line}\n".encode("ascii"))
            unsaid += last.get("adverse") is True and not last["reasons"]
    return last, unsaid

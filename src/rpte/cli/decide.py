"""`rpte decide`: a log with one record per case, each sealing the one before it, appended to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.audit.decisions.decide import append_decisions, check_log
from rpte.audit.decisions.reasons import LEAST, MOST, Catalogue, read_catalogue
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
from rpte.utils.output import check_output


def decide(
    model: ModelFile,
    table: TableFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The log; appended to if there is one.", show_default=False
        ),
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
    replace: Annotated[
        bool, typer.Option("--replace", help="Make the log anew, and lose the one that is there.")
    ] = False,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Record every decision of a model on a table, so that it can be replayed and not be altered.

    A record holds what the model read, score, decision and principal reasons, and seals all
    contributions. A log that exists is continued, unless it is of another model. The last
    line printed is the head hash: keep it elsewhere, and rpte replay can tell any change of the
    file up to there.

    Example: rpte decide model.json loans.csv -o decisions.jsonl --id-column case
    """
    with told_in_one_line():
        check_output(output, reads=[model, table, catalogue])
        loaded = load(model)
        check_log(output, loaded, replace)
        rows = rows_for(loaded, table, missing, id_column=id_column)
        rule = rule_for(loaded, rows, reference, adverse, most, threshold, least)
        said = Catalogue() if catalogue is None else read_catalogue(catalogue, loaded)
        ids = None if id_column is None else rows.ids(id_column)[1]
        given = _table(loaded, rows, id_column)
        done = append_decisions(
            output, loaded, given, rule, said, ids=ids, when=when, replace=replace
        )
    if done.unexplained:
        typer.echo(
            f"note: {done.unexplained} adverse cases have no reason, since no part of their score "
            f"is worse than the reference '{reference}'; --reference best always gives one",
            err=True,
        )
    if as_json:
        print_json(
            {"file": str(output), "cases": done.cases, "total": done.total, "head": done.head}
        )
        return
    after = f" after {done.total - done.cases}" if done.total > done.cases else ""
    typer.echo(f"Wrote {output}: {done.cases} cases{after}, model {done.model}", err=True)
    typer.echo(f"head {done.head}")


def _table(model: Model, rows: Rows, id_column: str | None) -> Any:
    """Return the model's columns as they were read from the file."""
    if model.schema.named:
        return rows.frame[[name for name in rows.frame if name in model.schema.names]]
    return rows.frame if id_column is None else rows.frame.drop(columns=id_column)

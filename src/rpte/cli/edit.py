"""`rpte edit`: a model changed by hand, with who, when and why in its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rpte.audit.edits import Labelled
from rpte.audit.edits import edit as edited_by
from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, Missing, ModelFile, WeightColumn
from rpte.cli.tables import rows_for
from rpte.cli.terminal import console, plain, print_json
from rpte.errors import InputError
from rpte.model.file import load
from rpte.model.model import Model
from rpte.utils.output import check_output

Names = list[str] | None


def edit(
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The edited model.", show_default=False)
    ],
    by: Annotated[str, typer.Option(help="Who edits it.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why.", show_default=False)],
    drop_term: Annotated[
        Names,
        typer.Option(help="A leaf (T1.L2), tree (T1) or direct term (D3); repeatable."),
    ] = None,
    drop_source: Annotated[
        Names, typer.Option(help="A variable not to read any more; repeatable.")
    ] = None,
    merge: Annotated[
        Names,
        typer.Option(help="All leaves below one test, T1.L1+T1.L2, to be one leaf; repeatable."),
    ] = None,
    refit: Annotated[
        Path | None,
        typer.Option(help="Estimate the coefficients again on this table.", show_default=False),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Measure before and after on this table.", show_default=False),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The outcome in that table.", show_default=False)
    ] = None,
    weight_column: WeightColumn = None,
    force: Annotated[
        bool, typer.Option("--force", help="Break a guarantee, and give it up.")
    ] = False,
    when: Annotated[
        str | None, typer.Option(help="UTC time of the edit; now by default.", show_default=False)
    ] = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Drop or merge parts of a model, on the record.

    The edited file holds a ledger, each entry sealing the one before: who, when, why, what was
    done, terms and conditions before and after, and the metrics where a table is given. An edit
    that breaks a limit such as a monotone direction is refused; with --force the model no longer
    claims it. Without --refit the coefficients are no longer optimal, and the model says so.

    Example: rpte edit model.json -o edited.json --drop-source age --refit loans.csv --target bad
    --by "A. Smith" --reason "age may not be used"
    """
    with told_in_one_line():
        check_output(output, reads=[model, refit, table])
        loaded = load(model)
        changed = edited_by(
            loaded,
            by=by,
            reason=reason,
            drop_terms=drop_term or (),
            drop_sources=drop_source or (),
            merge=[[name.strip() for name in names.split("+")] for names in merge or ()],
            table=_table(loaded, refit, table, target, weight_column, missing),
            refit=refit is not None,
            force=force,
            when=when,
        )
        changed.save(output)
    entry = changed.ledger[-1]
    if as_json:
        print_json(entry)
        return
    console().print(_view(entry))
    for name in entry["withdrawn"]:
        typer.echo(plain(f"no longer claimed: {name}"))
    for name in entry["restored"]:
        typer.echo(plain(f"claimed again: {name}"))
    typer.echo(f"ledger entry {entry['number']}, head {entry['hash']}")
    typer.echo(f"Wrote {output}", err=True)


def _table(
    model: Model,
    refit: Path | None,
    table: Path | None,
    target: str | None,
    weight_column: str | None,
    missing: str | None,
) -> Labelled | None:
    from rpte.table.target import labels_as

    if refit is not None and table is not None:
        raise InputError("--refit measures on its own table; leave --table away")
    path = refit or table
    if path is None:
        if target or weight_column:
            raise InputError("--target and --weight-column name columns of a table; give one")
        return None
    if target is None:
        raise InputError(f"--target: say which column of {path} is the outcome")
    rows = rows_for(model, path, missing, target=target, weight=weight_column)
    y = labels_as(rows.frame, target, model.classes)
    return Labelled(rows.inputs, y, rows.weight(weight_column))


def _view(entry: Any) -> Table:
    view = Table(box=None, pad_edge=False)
    for name in ("", "before", "after"):
        view.add_column(name, justify="left" if not name else "right")
    before, after = entry["before"], entry["after"]
    for name in ("terms", "conditions"):
        view.add_row(name, str(before[name]), str(after[name]))
    for name, label in (("log_loss", "log-loss"), ("brier", "Brier score"), ("auc", "AUC")):
        if before["metrics"] is not None:
            view.add_row(label, *(f"{state['metrics'][name]:.4f}" for state in (before, after)))
    return view

"""`rpte verify`: every claim of a model file as a check with its evidence."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.cli.failures import FAILED, say
from rpte.cli.options import AsJson, MaybeTable, Missing, ModelFile, WeightColumn, option
from rpte.cli.show import checks_view
from rpte.cli.tables import Rows, rows_for
from rpte.cli.terminal import console, print_json
from rpte.errors import InputError
from rpte.model.file import build, read_document
from rpte.model.model import Model
from rpte.model.verify import verify_file


def verify(
    model: ModelFile,
    table: MaybeTable = None,
    target: Annotated[
        str | None, option("The outcome: the table is the one that the model was fitted on.")
    ] = None,
    weight_column: WeightColumn = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Check every claim of a model file and show the evidence; exit code 1 if one fails.

    The file alone proves its structure, limits and bound; any table, that contributions add up; the
    training table with its outcome, supports, event rates and the optimality of the coefficients.

    Example: rpte verify model.json loans.csv --target bad
    """
    if table is None and (target or weight_column):
        raise InputError("--target and --weight-column name columns of a table; give the table")
    if weight_column and not target:
        raise InputError("--weight-column needs --target, the outcome of the training table")
    given = () if table is None else _given(model, table, target, weight_column, missing)
    checks = verify_file(model, *given)
    failed = [check.name for check in checks if not check.holds]
    if as_json:
        print_json({"holds": not failed, "failed": failed, "checks": list(map(asdict, checks))})
    else:
        console().print(checks_view(checks))
    if failed:
        say(f"error: {len(failed)} of {len(checks)} fail: {'; '.join(failed)}")
        raise typer.Exit(FAILED)


def _given(
    path: Path, table: Path, target: str | None, weight_column: str | None, missing: str | None
) -> tuple[Any, ...]:
    """Return rows, labels and weights; the model's own hash may be wrong, which is a check."""
    from rpte.table.target import has_label, labels_as

    model = build(read_document(path))
    rows = rows_for(model, table, missing, allow_unknown=True, target=target, weight=weight_column)
    if target is None:
        return (rows.inputs,)
    _say_absent(model, rows.frame)
    kept = has_label(rows.frame, target)
    if not kept.all():
        say(f"note: {int((~kept).sum())} rows without an outcome are left out")
        rows = Rows(rows.frame[kept], rows.inputs.take(kept))
    return rows.inputs, labels_as(rows.frame, target, model.classes), rows.weight(weight_column)


def _say_absent(model: Model, frame: Any) -> None:
    """Say which columns of the training table are absent, since its hash cannot fit then."""
    names = model.schema.names if model.schema.named else ()
    absent = [name for name in names if name not in frame]
    if absent:
        more = ", ..." if len(absent) > 5 else ""
        what = f"{len(absent)} columns of the training table: {', '.join(absent[:5])}{more}"
        say(f"note: the table lacks {what}")

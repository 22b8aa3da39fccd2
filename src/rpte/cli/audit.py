"""`rpte audit`, `frontier` and `verify`: what an auditor asks of a model file."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli import options as opt
from rpte.cli.options import MaybePath, Rows, check_beside, option, rows_for
from rpte.cli.show import checks_view
from rpte.cli.sign import KeyFile, signature_check
from rpte.cli.survival import (
    EntryColumn,
    EventColumn,
    EventValue,
    StrataColumn,
    SurvivalColumns,
    TimeColumn,
    labelled,
)
from rpte.cli.terminal import FAILED, console, print_found, print_json, say, table_of
from rpte.errors import InputError
from rpte.figures import frontier as frontiers
from rpte.model.causes import CausesModel
from rpte.model.check import Checks
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel
from rpte.model.file import build, load_one, read_document
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.model.verify import verify_file
from rpte.utils.output import check_output, write_text

WIDEST = 100  # columns of the frontier's plot
NULL = "base rate"  # what the model without terms predicts
NULL_OF = {
    NumberTarget.task: "mean alone",
    ClassesTarget.task: "class rates",
    SurvivalTarget.task: "baseline alone",
}


def audit(
    model: opt.ModelFile,
    table: opt.MaybeTable = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Count the audit load: terms, conditions, and their bound.

    With a table also the conditions that are read for one prediction (IIU): mean, median, most.

    Example: rpte audit model.json cases.csv
    """
    loaded = load_one(model, "rpte audit")
    rows = None
    if table is not None:
        rows = rows_for(loaded, table, missing, allow_unknown=True).inputs
    found = _load_record(loaded, rows)
    components = [
        (c["component"], str(c["terms"]), str(c["conditions"]), ", ".join(c["sources"]))
        for c in found["components"]
    ]
    loads = table_of((">", ""), _loads(found), show_header=False)
    parts = table_of(("component", ">terms", ">conditions", "variables"), components)
    print_found(as_json, found, loads, "", parts)


def _load_record(model: Model | ClassesModel, X: Any = None) -> dict[str, Any]:
    load = model.audit(X)
    components: list[dict[str, Any]] = [
        {"component": c.name, "sources": list(c.sources), "terms": 0, "conditions": 0}
        for c in model.components
    ]
    by_name = {component["component"]: component for component in components}
    for rule in model.rules():
        by_name[rule.component]["terms"] += 1
        by_name[rule.component]["conditions"] += rule.inspection_units
    units, rows = None, load.per_row
    if rows is not None:
        units = {"mean": load.iiu, "median": float(np.median(rows)), "most": int(rows.max())}
        units["rows"] = len(rows)
    return {
        "mu": load.mu,
        "miu": load.miu,
        "iiu": units,
        "bound": load.bound,
        "allowed": model.settings["max_inspection_units"],
        **_coefficients(model),
        "components": components,
    }


def _coefficients(model: Model | ClassesModel) -> dict[str, Any]:
    """Return how many coefficients the terms of several classes have, and how many are not 0."""
    if not isinstance(model, ClassesModel):
        return {}
    sizes = [size for rule in model.rules() for size in rule.coefficients]
    return {"coefficients": {"all": len(sizes), "not_zero": len(sizes) - sizes.count(0.0)}}


def _loads(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    sizes = found.get("coefficients")
    yield str(found["mu"]), "terms (MU)" + (", each counted once for all classes" if sizes else "")
    if sizes:
        yield str(sizes["not_zero"]), f"coefficients that are not 0, of {sizes['all']}"
    yield str(found["miu"]), "conditions in the whole model (MIU)"
    units = found["iiu"]
    if units is not None:
        about = f"median {units['median']:g}, most {units['most']}, over {units['rows']} rows"
        yield f"{units['mean']:.4g}", f"conditions for one prediction (IIU), mean; {about}"
    yield str(found["bound"]), "bound on the conditions, known before training"
    if found["allowed"] is not None:
        yield str(found["allowed"]), "conditions allowed by the user"


def frontier(
    model: opt.ModelFile,
    svg: Annotated[MaybePath, option("Write the plot to this SVG file too.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show what fewer conditions would have cost.

    Example: rpte frontier model.json --svg frontier.svg
    """
    check_output(svg, reads=[model])
    loaded = load_one(model, "rpte frontier")
    found = frontiers.read_frontier(loaded)
    if svg is not None:
        write_text(frontiers.draw_frontier(found), svg)
    if as_json:
        print_json(asdict(found))
        return
    out = console()
    null = NULL_OF.get(loaded.target.task, NULL)
    out.print(frontier_view(found, min(out.width, WIDEST), out.options.ascii_only, null))
    if svg is not None:
        out.print(f"Wrote {svg}", soft_wrap=True)


def frontier_view(
    found: frontiers.Frontier, width: int, ascii_only: bool = False, null: str = NULL
) -> Group:
    """Return the table, the plot and how to read them; `null` is the model without terms."""
    plot = frontiers.plot_frontier(found, width)
    chosen = f"{frontiers.CHOSEN} chosen"
    if ascii_only:
        plot, chosen = plot.translate(frontiers.ASCII), chosen.translate(frontiers.ASCII)
    notes = _frontier_notes(found, null)
    return Group(_points(found, chosen), "", Text(plot, no_wrap=True), "", *notes)


def _points(found: frontiers.Frontier, chosen: str) -> Table:
    names = (">conditions", ">components", ">validated deviance", ">error", ">explained", "")
    table = table_of(names)
    for p in found.points:
        numbers = (f"{p.deviance:.4f}", f"{p.error:.4f}", f"{found.share(p.deviance):.1%}")
        mark, style = (chosen, "bold") if p.chosen else ("", "")
        table.add_row(str(p.miu), str(p.components), *numbers, mark, style=style)
    return table


def _frontier_notes(found: frontiers.Frontier, null: str) -> list[str]:
    best = found.null_deviance - found.explainable
    notes = [
        f"Explained: share of the deviance between the {null} ({found.null_deviance:.4f}) and "
        f"the best model found ({best:.4f}).",
        f"Price: one more condition had to explain {100 * found.price:.2g}% of it, a deviance of "
        f"{found.price * found.explainable:.4f}.",
        "The deviance was used to choose, so that of the chosen model is a little optimistic.",
    ]
    if not any(p.chosen for p in found.points):
        notes.append(
            "The model of this file is not listed: one with no more conditions validated better."
        )
    return notes


def verify(
    model: opt.ModelFile,
    table: opt.MaybeTable = None,
    target: Annotated[
        str | None, option("The outcome: the table is the one that the model was fitted on.")
    ] = None,
    weight_column: opt.WeightColumn = None,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    time: TimeColumn = None,
    event: EventColumn = None,
    event_value: EventValue = None,
    entry: EntryColumn = None,
    strata: StrataColumn = None,
    key_file: KeyFile = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check every claim of a model file; exit code 1 if one fails.

    The file alone proves its structure, limits and bound; any table, that contributions add up; the
    training table with its outcome, supports, event rates and the optimality of the coefficients.

    Example: rpte verify model.json loans.csv --target bad

    Survival: rpte verify model.json trial.csv --time days --event died

    Signed: rpte verify model.json --key-file key
    """
    beside = {"exposure": exposure, "offset": offset}
    columns = SurvivalColumns(time, event, event_value, entry, strata)
    of_rows = {"weight-column": weight_column, **beside}
    named = [f"--{name}" for name, column in of_rows.items() if column]
    if table is None and (target or named or columns.given):
        names = " and ".join(columns.given or ["--target", *(named or ["--weight-column"])])
        raise InputError(f"{names} name columns of a table; give the table")
    if named and not (target or event):
        raise InputError(f"{named[0]} needs --target, the outcome of the training table")
    asked = target, weight_column, missing, beside, columns
    given = {} if table is None else _given(model, table, *asked)
    checks = verify_file(model, **given)
    if key_file is not None:
        checks = Checks([signature_check(model, key_file), *checks])
    failed = [check.name for check in checks if not check.holds]
    record = {
        "holds": not failed,
        "failed": failed,
        "checks": [check.to_dict() for check in checks],
    }
    print_found(as_json, record, checks_view(checks))
    if failed:
        say(f"error: {len(failed)} of {len(checks)} fail: {'; '.join(failed)}")
        raise typer.Exit(FAILED)


def _given(
    path: Path,
    table: Path,
    target: str | None,
    weight_column: str | None,
    missing: str | None,
    beside: dict[str, str | None],
    columns: SurvivalColumns,
) -> dict[str, Any]:
    """Return rows, targets and weights; the model's own hash may be wrong, which is a check."""
    from rpte.table.target import has_label

    found = build(read_document(path))
    model = found.outline if isinstance(found, CausesModel) else found
    check_beside(model, beside)
    columns.check(model, target)
    named: dict[str, Any] = {"target": target, "weight": weight_column, **beside, **columns.named}
    rows = rows_for(model, table, missing, allow_unknown=True, **named)
    if target is None and columns.event is None:
        return {"X": rows.inputs}
    for role in beside:
        trained = getattr(model.target, role, None)
        if trained is not None and beside[role] is None:
            raise InputError(
                f"the model was fitted with the {role} '{trained}'; name its column: --{role}"
            )
    _say_absent(model, rows.frame)
    kept = columns.known(rows.frame) if target is None else has_label(rows.frame, target)
    if not kept.all():
        say(f"note: {int((~kept).sum())} rows without an outcome are left out")
        rows = Rows(rows.frame[kept], rows.inputs.take(kept))
    y, given = labelled(model, rows.frame, target, columns)
    given |= {role: rows.numbers(role, name) for role, name in beside.items()}
    return {"X": rows.inputs, "y": y, "sample_weight": rows.weight(weight_column), **given}


def _say_absent(model: Model | ClassesModel, frame: Any) -> None:
    """Say which columns of the training table are absent, since its hash cannot fit then."""
    names = model.schema.names if model.schema.named else ()
    absent = [name for name in names if name not in frame]
    if absent:
        more = ", ..." if len(absent) > 5 else ""
        what = f"{len(absent)} columns of the training table: {', '.join(absent[:5])}{more}"
        say(f"note: the table lacks {what}")

"""`rpte report`: one self-contained page about a model and a table."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.cli import options as opt
from rpte.cli.options import (
    MaybePath,
    Names,
    for_two_classes,
    option,
    output_option,
    rows_for,
)
from rpte.cli.terminal import FAILED, progress, say
from rpte.errors import InputError
from rpte.model.file import load, read_document
from rpte.model.model import Model
from rpte.report.about import NOTHING, read_about, read_peers
from rpte.report.about import template as template_text
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import Evidence, gather
from rpte.utils.output import check_output, write_text


def report(
    model: Annotated[MaybePath, typer.Argument(help="A model file.")] = None,
    table: Annotated[
        MaybePath, typer.Argument(help="Rows, best such as training has not seen.")
    ] = None,
    output: Annotated[MaybePath, output_option("The file to write.")] = None,
    target: Annotated[str | None, option("The column with the outcome.")] = None,
    weight_column: opt.WeightColumn = None,
    missing: opt.Missing = None,
    by: Annotated[Names, option("Measure by the groups of this column; may be repeated.")] = None,
    about: Annotated[MaybePath, option("What people say of the model (TOML).")] = None,
    template: Annotated[MaybePath, option("Write an empty --about file, and stop.")] = None,
    peers: Annotated[
        MaybePath, option("Audit loads of other models (JSON or CSV: name, miu, ...).")
    ] = None,
    threshold: Annotated[
        float, option("Probability from which on a case is flagged.", min=0.01, max=0.99)
    ] = 0.5,
    resamples: Annotated[int, option("Bootstrap resamples for intervals.", min=20)] = 200,
    stability: Annotated[
        int, option("Fit the model again on so many resamples (takes time).", min=0)
    ] = 0,
    cases: Annotated[bool, option("Take single rows of the table apart.")] = True,
    full_profile: Annotated[
        bool, option("Show small counts and exact extremes.", "--full-profile")
    ] = False,
    as_json: Annotated[bool, option("The contents as JSON; printed without -o.", "--json")] = False,
) -> None:
    """Write all about a model, measured on a table, to one page that opens anywhere, offline.

    Example: rpte report model.json test.csv --target outcome --by sex -o report.html

    What only people can say: rpte report model.json --template about.toml; fill it in, then
    pass it as --about.
    """
    if template is not None:
        _write_template(model, template)
        return
    if model is None or (output is None and not as_json):
        raise typer.BadParameter("name a model file, and the page to write: -o report.html")
    _check_columns(table, target, weight_column, by, stability)
    files = {"model": model, "table": table, "about": about, "peers": peers}
    check_output(output, reads=list(files.values()))
    said = NOTHING if about is None else read_about(about)
    others = [] if peers is None else read_peers(peers)
    known = for_two_classes(load(model), "report")
    evidence = _evidence(known, table, missing, target, weight_column, by or [], full=full_profile)
    with progress("measuring") as tell:
        options = ReportOptions(
            about=said,
            peers=others,
            threshold=threshold,
            resamples=resamples,
            refits=stability,
            show_cases=cases,
            files={role: _named(path) for role, path in files.items() if path is not None},
            on_refit=lambda done: tell("fitting again", done, stability),
        )
        contents = report_contents(known, evidence, options, read_document(model))
    _write(contents, output, as_json)


def _check_columns(
    table: Path | None, target: str | None, weight: str | None, by: Names, refits: int
) -> None:
    """Refuse what cannot end well before any work is done."""
    if table is None and (target or weight or by):
        raise InputError("--target, --weight-column and --by name columns of a table; give it too")
    if target is None and (by or refits):
        raise InputError("--by and --stability need outcomes; name their column: --target")


def _write_template(model: Path | None, path: Path) -> None:
    if path.is_file():
        raise InputError(f"{path} exists and may hold what somebody wrote; give another name")
    check_output(path)
    sources = () if model is None else for_two_classes(load(model), "report").sources
    write_text(template_text(sorted(sources)), path)
    typer.echo(f"Wrote {path}; fill it in and pass it as --about")


def _evidence(
    model: Model,
    path: Path | None,
    missing: str | None,
    target: str | None,
    weight: str | None,
    by: list[str],
    full: bool,
) -> Evidence | None:
    """Read the table and set apart what the model reads, the outcome, weights and groups."""
    if path is None:
        return None
    from rpte.table.files import check_column

    rows = rows_for(model, path, missing, target=target, weight=weight)
    for name in by:
        check_column(rows.frame, name, "group")
    return gather(
        model,
        rows.inputs,
        None if target is None else rows.frame[target].to_numpy(),
        rows.weight(weight),
        name=path.name,
        groups={name: rows.frame[name].to_numpy() for name in by},
        profile="full" if full else "safe",
    )


def _named(path: Path) -> tuple[str, str]:
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def _write(contents: dict[str, Any], output: Path | None, as_json: bool) -> None:
    from rpte.report.html import render

    text = json.dumps(contents, indent=1, allow_nan=False) if as_json else render(contents)
    if output is None:
        typer.echo(text)
        return
    write_text(text, output)
    failed = [check["name"] for check in contents["guarantees"] if not check["holds"]]
    open_fields = contents["about"]["open"]
    typer.echo(f"Wrote {output} ({len(text.encode()) / 1000:,.0f} kB); {open_fields} fields open")
    if failed:
        say(f"error: {len(failed)} claims fail: {'; '.join(failed)}")
        raise typer.Exit(FAILED)

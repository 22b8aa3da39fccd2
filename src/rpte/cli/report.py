"""`rpte report`: one self-contained page about a model and a table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from rpte.cli.failures import told_in_one_line
from rpte.cli.options import Missing, WeightColumn
from rpte.cli.tables import rows_for
from rpte.errors import InputError, ModelFileError
from rpte.model.file import from_dict, load, read_document
from rpte.model.model import Model
from rpte.report.about import NOTHING, read_about
from rpte.report.about import template as template_text
from rpte.report.contents import Wishes, report_contents
from rpte.report.evidence import Evidence, gather
from rpte.report.peers import read_peers
from rpte.utils.output import check_output, write_text


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, show_default=False, **more)


def report(
    model: Annotated[Path | None, typer.Argument(help="A model file.", show_default=False)] = None,
    table: Annotated[
        Path | None,
        typer.Argument(help="Rows, best such as training has not seen.", show_default=False),
    ] = None,
    output: Annotated[Path | None, _option("The file to write.", "--output", "-o")] = None,
    target: Annotated[str | None, _option("The column with the outcome.")] = None,
    weight_column: WeightColumn = None,
    missing: Missing = None,
    by: Annotated[
        list[str] | None, _option("Measure by the groups of this column; may be repeated.")
    ] = None,
    about: Annotated[Path | None, _option("What people say of the model (TOML).")] = None,
    template: Annotated[Path | None, _option("Write an empty --about file, and stop.")] = None,
    peers: Annotated[
        Path | None, _option("Audit loads of other models (JSON or CSV: name, miu, ...).")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Probability from which on a case is flagged.", min=0.01, max=0.99)
    ] = 0.5,
    resamples: Annotated[
        int, typer.Option(help="Bootstrap resamples for intervals.", min=20)
    ] = 200,
    stability: Annotated[
        int, typer.Option(help="Fit the model again on so many resamples (takes time).", min=0)
    ] = 0,
    cases: Annotated[bool, typer.Option(help="Take single rows of the table apart.")] = True,
    full_profile: Annotated[
        bool, typer.Option("--full-profile", help="Show small counts and exact extremes.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The contents as JSON; printed without -o.")
    ] = False,
) -> None:
    """Write all about a model, measured on a table, to one page that opens anywhere, offline.

    Example: rpte report model.json test.csv --target outcome --by sex -o report.html

    What only people can say: rpte report model.json --template about.toml; fill it in, then
    pass it as --about.
    """
    if template is None and (model is None or (output is None and not as_json)):
        raise typer.BadParameter("name a model file, and the page to write: -o report.html")
    with told_in_one_line():
        if template is not None:
            _write_template(model, template)
            return
        columns = Columns(target, weight_column, tuple(by or ()), missing)
        check_output(output, reads=[model, table, about, peers])
        _check(table, columns, stability)
        said = NOTHING if about is None else read_about(about)
        others = [] if peers is None else read_peers(peers)
        document, known = _model(model)
        evidence = _evidence(known, table, columns, full_profile)
        files = {"model": model, "table": table, "about": about, "peers": peers}
        with _progress(stability) as tick:
            wishes = Wishes(
                about=said,
                peers=others,
                threshold=threshold,
                resamples=resamples,
                refits=stability,
                show_cases=cases,
                files={role: _named(path) for role, path in files.items() if path is not None},
                tick=tick,
            )
            contents = report_contents(known, evidence, wishes, document)
        _write(contents, output, as_json)


def _write_template(model: Path | None, path: Path) -> None:
    if path.is_file():
        raise InputError(f"{path} exists and may hold what somebody wrote; give another name")
    check_output(path)
    sources = [] if model is None else {s for c in load(model).components for s in c.sources}
    write_text(template_text(sorted(sources)), path)
    typer.echo(f"Wrote {path}; fill it in and pass it as --about")


def _check(table: Path | None, columns: Columns, refits: int) -> None:
    """Refuse what cannot end well before any work is done."""
    if table is None and columns.asked():
        raise InputError("--target, --weight-column and --by name columns of a table; give it too")
    if columns.target is None and (columns.by or refits):
        raise InputError("--by and --stability need outcomes; name their column: --target")


def _model(path: Path | None) -> tuple[dict[str, Any], Model]:
    """Return the document of a model file, which may hold more than the model, and the model."""
    assert path is not None
    document = read_document(path)
    try:
        return document, from_dict(document)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the table mean what, and what stands for a gap."""

    target: str | None
    weight: str | None
    by: tuple[str, ...]
    missing: str | None

    def asked(self) -> bool:
        """Return whether any column was named."""
        return bool(self.target or self.weight or self.by)


def _evidence(model: Model, path: Path | None, columns: Columns, full: bool) -> Evidence | None:
    """Read the table and set apart what the model reads, the outcome, weights and groups."""
    if path is None:
        return None
    from rpte.table.files import check_column

    rows = rows_for(model, path, columns.missing, target=columns.target, weight=columns.weight)
    frame = rows.frame
    for name in columns.by:
        check_column(frame, name, "group")
    return gather(
        model,
        rows.inputs,
        None if columns.target is None else frame[columns.target].to_numpy(),
        rows.weight(columns.weight),
        name=path.name,
        groups={name: frame[name].to_numpy() for name in columns.by},
        profile="full" if full else "safe",
    )


def _named(path: Path) -> tuple[str, str]:
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _progress(refits: int) -> Iterator[Callable[[int], None]]:
    """Show how many refits are done, on a terminal only."""
    screen = Console(stderr=True)
    shown = Progress(console=screen, transient=True, disable=not (refits and screen.is_terminal))
    with shown:
        task = shown.add_task("fitting again", total=refits)
        yield lambda done: shown.update(task, completed=done)


def _write(contents: dict[str, Any], output: Path | None, as_json: bool) -> None:
    if as_json:
        text = json.dumps(contents, indent=1, allow_nan=False)
    else:
        from rpte.report.html import render

        text = render(contents)
    if output is None:
        typer.echo(text)
        return
    write_text(text, output)
    failed = [check["name"] for check in contents["guarantees"] if not check["holds"]]
    open_fields = contents["about"]["open"]
    typer.echo(f"Wrote {output} ({len(text.encode()) / 1000:,.0f} kB); {open_fields} fields open")
    if failed:
        typer.echo(f"error: {len(failed)} claims fail: {'; '.join(failed)}", err=True)
        raise typer.Exit(1)

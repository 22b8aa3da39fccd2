"""`rpte replay`: a log of decisions computed again, and every change of it found."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rpte.audit.decisions.replay import Replay
from rpte.audit.decisions.replay import replay as computed_again
from rpte.cli.failures import FAILED, told_in_one_line
from rpte.cli.options import AsJson
from rpte.cli.terminal import plain, print_json
from rpte.model.file import load

MOST_SHOWN = 20
UNTOLD = (
    "Without the head hash that rpte decide printed (--head), a file that was made anew from its "
    "first to its last record cannot be told from the original."
)


def replay(
    log: Annotated[Path, typer.Argument(help="A log of rpte decide.", show_default=False)],
    model: Annotated[Path, typer.Option(help="The model that decided.", show_default=False)],
    head: Annotated[
        str | None, typer.Option(help="The head hash that was kept.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute every decision of a log again; name what was changed, removed, moved or put in.

    Exit code 0 if every record is what the model gives and the chain is whole, 1 if not.

    Example: rpte replay decisions.jsonl --model model.json --head 5f0c...
    """
    with told_in_one_line():
        found = computed_again(log, load(model), head)
    if as_json:
        print_json(asdict(found))
    else:
        _say(found)
    if found.findings:
        raise typer.Exit(FAILED)


def _kept(found: Replay) -> str:
    if found.proved == found.cases:
        return " and the head is the one given"
    later = found.cases - found.proved
    return f"; the head given proves the first {found.proved}, {later} were appended after it"


def _say(found: Replay) -> None:
    for finding in found.findings[:MOST_SHOWN]:
        typer.echo(plain(str(finding)))
    if len(found.findings) > MOST_SHOWN:
        typer.echo(f"... and {len(found.findings) - MOST_SHOWN} more")
    if not found.findings:
        kept = _kept(found) if found.head_given else ""
        typer.echo(
            f"{found.cases} cases computed again: all are as recorded, the chain is whole{kept}"
        )
    typer.echo(f"head {found.head}")
    if not found.head_given:
        typer.echo(UNTOLD)

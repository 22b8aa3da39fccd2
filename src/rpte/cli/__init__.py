"""The command line: `app` is what the `rpte` command runs.

A command has a file of its name, but for those in `explanations` (of one case), `audit` (what an
auditor asks of a model file), `model` (`show`), `decisions` (decisions and changes on the record)
and `score` (with `export`). `task` and `training` say which kind of model `fit` makes, and of what.
`options` holds what commands share and reads rows for a model, `help` says how they are called,
`show` draws models and explanations, `classes` those of several classes, `survival` reads times
until an event, `terminal` prints all that and says what went wrong. Only this folder prints, and
nobody imports it.
"""

from typing import Annotated

import typer

from rpte import __version__
from rpte.cli.audit import audit, frontier, verify
from rpte.cli.compare import compare
from rpte.cli.compile import compile
from rpte.cli.decisions import decide, edit, reasons, replay
from rpte.cli.demo import demo
from rpte.cli.explanations import counterfactual, explain, whatif
from rpte.cli.fit import fit
from rpte.cli.help import HelpCommand, HelpGroup
from rpte.cli.model import schema, show
from rpte.cli.report import report
from rpte.cli.score import calibrate, export, score
from rpte.cli.sign import sign
from rpte.cli.terminal import told_in_one_line
from rpte.cli.uncertainty import uncertainty

app = typer.Typer(
    cls=HelpGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # they could show rows of the user's table
    help="Auditable models for tables: every prediction a short sum of named rules.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rpte {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version)
    ] = False,
) -> None:
    """Auditable models for tables: every prediction a short sum of named rules."""


GROUPS = {
    "Fit": (fit, frontier, calibrate, demo),
    "Read": (show, audit, explain, whatif, counterfactual, uncertainty),
    "Prove": (verify, compare, report, sign),
    "Decide, on the record": (score, reasons, decide, replay, edit),
    "Hand over": (export, schema, compile),
}
for _group, _commands in GROUPS.items():
    for _command in _commands:
        app.command(cls=HelpCommand, rich_help_panel=_group)(told_in_one_line()(_command))

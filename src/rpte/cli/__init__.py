"""The command line: `app` is what the `rpte` command runs; one file per command.

`options` holds what commands share, `tables` reads rows for a model, `show` draws models and
explanations, `terminal` prints them, `failures` says what went wrong. Only this folder prints.
"""

from __future__ import annotations

from typing import Annotated

import typer

from rpte import __version__
from rpte.cli.audit import audit
from rpte.cli.compare import compare
from rpte.cli.counterfactual import counterfactual
from rpte.cli.decide import decide
from rpte.cli.demo import demo
from rpte.cli.edit import edit
from rpte.cli.explain import explain
from rpte.cli.export import export
from rpte.cli.fit import fit
from rpte.cli.frontier import frontier
from rpte.cli.reasons import reasons
from rpte.cli.replay import replay
from rpte.cli.report import report
from rpte.cli.schema import schema
from rpte.cli.score import score
from rpte.cli.show import show
from rpte.cli.uncertainty import uncertainty
from rpte.cli.verify import verify
from rpte.cli.whatif import whatif

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # they could show rows of the user's table
    help="Auditable classifiers for tables: every prediction a short sum of named rules.",
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
    """Auditable classifiers for tables: every prediction a short sum of named rules."""


app.command()(fit)
app.command()(show)
app.command()(score)
app.command()(explain)
app.command()(reasons)
app.command()(whatif)
app.command()(counterfactual)
app.command()(uncertainty)
app.command()(audit)
app.command()(frontier)
app.command()(verify)
app.command()(compare)
app.command()(edit)
app.command()(decide)
app.command()(replay)
app.command()(report)
app.command()(export)
app.command()(demo)
app.command()(schema)

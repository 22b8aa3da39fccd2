"""The command line: `app` is what the `rpte` command runs; one file per command.

`show` draws models and explanations for a terminal, `failures` says what went wrong. Only this
folder prints.
"""

from __future__ import annotations

import typer

from rpte.cli.demo import demo
from rpte.cli.frontier import frontier
from rpte.cli.schema import schema

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Auditable classifiers for tables: every prediction a short sum of named rules.",
)


@app.callback()
def main() -> None:
    """Auditable classifiers for tables: every prediction a short sum of named rules."""


app.command()(demo)
app.command()(frontier)
app.command()(schema)

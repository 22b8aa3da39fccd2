"""What every command does with a file or a model that it cannot use: one line, exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from rpte.errors import InputError, ModelFileError


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """End the command with one line on standard error where the user can do something about it."""
    try:
        yield
    except (InputError, ModelFileError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error

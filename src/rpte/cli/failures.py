"""What every command does when something is wrong: one line, and an exit code for scripts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from rpte.cli.terminal import plain
from rpte.errors import InputError, ModelFileError, RPTEWarning
from rpte.utils.interrupts import INTERRUPTED, state
from rpte.utils.output import forget_written

FAILED = 1


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """End the command with one line on standard error where the user can do something about it.

    Warnings are shown there too, one line each. A Ctrl-C is met by `rpte.utils.interrupts`; a
    `KeyboardInterrupt` comes here only where a Python program runs the command.
    """
    forget_written()
    with warnings.catch_warnings():
        warnings.simplefilter("always", RPTEWarning)
        warnings.showwarning = _shown_by(warnings.showwarning)
        try:
            yield
        except BrokenPipeError:  # the reader of a pipe has gone
            raise
        except (InputError, ModelFileError, OSError) as error:
            say(f"error: {_text(error)}")
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            say(f"interrupted: {state()}")
            raise typer.Exit(INTERRUPTED) from error


def say(text: str) -> None:
    """Print one line to standard error."""
    typer.echo(plain(" ".join(text.splitlines())), err=True)


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _shown_by(others: Callable[..., None]) -> Callable[..., None]:
    """Return a `warnings.showwarning` that says our warnings in one line, each once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, RPTEWarning):
            others(message, category, *where)
        elif str(message) not in said:
            said.add(str(message))
            say(f"note: {message}")

    return show

"""What commands print: tables, JSON for machines, progress, and what went wrong in one line."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table

from rpte.errors import InputError, ModelFileError, RPTEWarning
from rpte.utils.interrupts import INTERRUPTED, state
from rpte.utils.output import forget_written

FAILED = 1  # exit code
WIDTH = 200  # columns where there is no terminal to ask
# What could move the cursor or turn the direction of writing, and so forge what is seen.
CONTROL_CODES = [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
SHOWN_AS = dict.fromkeys(CONTROL_CODES, "?") | {ord("\n"): "\n", ord("\t"): "\t"}


def plain(text: str) -> str:
    """Return a text without control characters, which names in a file may hold."""
    return text.translate(SHOWN_AS)


class PlainConsole(Console):
    """A console on which names from files are nothing but text: no markup, no control codes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what is printed; control characters are shown as a question mark."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def console() -> Console:
    """Return the console of standard output; names such as ``bmi [kg/m2]`` are no markup there."""
    out = PlainConsole(highlight=False, markup=False, emoji=False)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = WIDTH
    return out


def table_of(
    heads: Sequence[str], rows: Iterable[Iterable[RenderableType]] = (), **more: Any
) -> Table:
    """Return a table without lines; a head that begins with ``>`` stands at the right."""
    table = Table(box=None, pad_edge=False, **more)
    for head in heads:
        side: Literal["left", "right"] = "right" if head.startswith(">") else "left"
        table.add_column(head.removeprefix(">"), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def print_json(value: Any) -> None:
    """Print plain values as JSON."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def print_found(as_json: bool, record: Any, *views: RenderableType) -> None:
    """Print what was found: a record for machines, or views for people."""
    if as_json:
        print_json(record)
    else:
        console().print(*views, sep="\n")


@contextmanager
def progress(doing: str) -> Iterator[Callable[..., None]]:
    """Show on standard error what is being done and for how long; nothing where no one watches.

    Yields a function of (doing, done, of) that moves the line on; without numbers the bar pulses.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20))
    screen = Console(stderr=True)
    quiet = not screen.is_terminal
    shown = Progress(*columns, TimeElapsedColumn(), console=screen, transient=True, disable=quiet)
    with shown:
        task = shown.add_task(doing, total=None)

        def tell(doing: str, done: float = 0, of: float | None = None) -> None:
            shown.update(task, description=doing, completed=done, total=of)

        yield tell


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
            text = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                text = f"{error.filename}: {error.strerror}"
            say(f"error: {text}")
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            say(f"interrupted: {state()}")
            raise typer.Exit(INTERRUPTED) from error


def say(text: str) -> None:
    """Print one line to standard error."""
    typer.echo(plain(" ".join(text.splitlines())), err=True)


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

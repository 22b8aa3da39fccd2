"""Where commands print to: text as it is, JSON for machines, progress beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table

WIDE = 200  # columns where there is no terminal to ask
# What could move the cursor or turn the direction of writing, and so forge what is seen.
UNSEEN = [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
HIDDEN = dict.fromkeys(UNSEEN, "?") | {ord("\n"): "\n", ord("\t"): "\t"}


def plain(text: str) -> str:
    """Return a text without control characters, which names in a file may hold."""
    return text.translate(HIDDEN)


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
        out.width = WIDE
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

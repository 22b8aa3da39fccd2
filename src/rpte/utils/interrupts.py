"""Ctrl-C at the command line: one line on standard error, exit code 130, nothing half-written.

The first Ctrl-C writes its line at once, closes standard error (so that no traceback follows) and
raises `SystemExit`, so that files are cleaned up. Libraries may lose an exception that comes while
their compiled code runs, or turn it into another one: it is raised again until the command has
ended, and after a few seconds the process exits without it.
"""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rpte.utils.output import written

INTERRUPTED = 130
REMINDERS = 6  # times that a lost exception is raised again
PAUSE = 0.5  # seconds between them
FRESH_LINE = b"\r\x1b[2K\x1b[?25h"  # on a terminal: no progress bar, a cursor

_states: list[tuple[Path, str]] = []
_begun = False


def run(command: Callable[[], object]) -> None:
    """Run a command so that Ctrl-C ends it with one line and exit code 130, whatever it is doing.

    Once it has ended, nothing is left to interrupt: Ctrl-C is ignored until Python has gone.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored by `nohup`
        signal.signal(signal.SIGINT, _interrupt)
    try:
        command()
    finally:
        if _begun:
            _leave()
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def state() -> str:
    """Say which files are written."""
    files = written()
    for path, text in reversed(_states):
        if path in files:
            return text
    verb = "are" if len(files) > 1 else "is"
    return f"{', '.join(map(str, files))} {verb} written" if files else "nothing was written"


@contextmanager
def telling(path: Path, text: str) -> Iterator[None]:
    """Say this of an interrupted command once it has written the file."""
    _states.append((path, text))
    try:
        yield
    finally:
        _states.pop()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    global _begun
    if not _begun:
        _begun = True
        _say(f"interrupted: {state()}")
        threading.Thread(target=_remind, daemon=True).start()
    raise SystemExit(INTERRUPTED)


def _say(text: str) -> None:
    """Write the line of an interrupted command, past all buffers, and close standard error."""
    line = " ".join(text.splitlines()).encode(errors="replace") + b"\n"
    with suppress(OSError):
        os.write(2, FRESH_LINE + line if os.isatty(2) else line)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _remind() -> None:
    """Raise the exception again, as long as there is a command to end."""
    for _ in range(REMINDERS):
        time.sleep(PAUSE)
        if hasattr(signal, "pthread_kill"):  # wakes the main thread where it waits for others
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()
    _leave()


def _leave() -> NoReturn:
    """End the process without waiting for its threads."""
    with suppress(BaseException):  # a full pipe, a write that was interrupted, a reminder
        sys.stdout.flush()
    os._exit(INTERRUPTED)

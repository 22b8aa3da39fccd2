"""Files of lines that grow in place: by one writer at a time, and by all of its lines or none.

A writer locks the file; others wait. While it grows, a note beside it has its old length, so that
the next writer removes what a killed one had begun to append. Lines are on disk when the call
returns.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rpte.errors import InputError, warn
from rpte.utils import output
from rpte.utils.kept import LOG

IsWhole = Callable[[bytes, Iterable[bytes]], bool]

CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class Appended:
    """A file to append to, and its last line as it was found, empty if there is none."""

    file: BinaryIO
    last: bytes


@contextmanager
def appending(path: Path, is_whole: IsWhole) -> Iterator[Appended]:
    """Open a file of lines, which may not exist yet, to be appended to by one writer at a time.

    All that is written is appended, or nothing. `is_whole` says of a line and the lines after it,
    found where a run was killed, whether they are all that it was to append.
    """
    real = Path(os.path.realpath(path))
    with output.named_errors(path), locked(real) as descriptor:
        note = _note_path(real)
        _remove_unfinished(descriptor, note, is_whole)
        size = os.fstat(descriptor).st_size
        last = _last_line(descriptor, size)
        output.write_text(json.dumps(_note(descriptor, size)), note)
        try:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                yield Appended(file, last)
            os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
            raise
        finally:
            note.unlink(missing_ok=True)
            output.sync_folder(real.parent)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new log in place of one that others may be appending to; they wait."""
    real = Path(os.path.realpath(path))
    with output.named_errors(path), locked(real):
        with output.writing(real, LOG) as file:
            yield file
        _note_path(real).unlink(missing_ok=True)


def last_line(path: Path) -> bytes | None:
    """Return the last line of a file when nobody appends to it, empty if there is none.

    None after a run that was killed: the next writer has to remove what it left.
    """
    real = Path(os.path.realpath(path))
    with output.named_errors(path), locked(real) as descriptor:
        if _note_path(real).exists():
            return None
        return _last_line(descriptor, os.fstat(descriptor).st_size)


def _note_path(path: Path) -> Path:
    return path.with_name(f"{output.temporary_stem(path)}.appending")


def _note(descriptor: int, size: int) -> dict[str, int | str]:
    last = hashlib.sha256(_last_line(descriptor, size)).hexdigest()
    return {"size": size, "inode": os.fstat(descriptor).st_ino, "last": last}


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Open and lock a file, made if it does not exist; other writers wait.

    A file that was made here and stays empty is removed again.
    """
    made = not path.exists()
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        if not output.lock(descriptor, wait=True):
            os.close(descriptor)
            if made:
                path.unlink(missing_ok=True)
            raise InputError(f"{path} cannot be locked there; choose a folder of this machine")
        if output.is_named(descriptor, path):
            break
        os.close(descriptor)  # replaced by another writer while this one waited
    try:
        yield descriptor
    finally:
        if made and output.is_named(descriptor, path) and not os.fstat(descriptor).st_size:
            path.unlink()
        os.close(descriptor)


def _remove_unfinished(descriptor: int, note: Path, is_whole: IsWhole) -> None:
    """Remove what a killed run had begun to append; its call never returned."""
    now = os.fstat(descriptor).st_size
    try:
        found = json.loads(note.read_text("utf-8"))
        size = int(found["size"])
        if size >= now or found != _note(descriptor, size):
            return  # the note is of another file, or nothing was appended
    except (OSError, ValueError, TypeError, KeyError):
        return
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(size)
        if is_whole(_last_line(descriptor, size), file):
            return
    os.ftruncate(descriptor, size)
    warn(
        f"{now - size} bytes that a run had begun to append when it was stopped were taken off "
        f"{note.with_suffix('').name}; nobody was told that they were written"
    )


def _last_line(descriptor: int, size: int) -> bytes:
    """Return the last line of the first bytes of an open file, empty if there is none."""
    found, start = b"", size
    while start and b"\n" not in found[:-1]:
        step = min(start, CHUNK)
        start -= step
        found = os.pread(descriptor, step, start) + found
    return found[found[:-1].rfind(b"\n") + 1 :]

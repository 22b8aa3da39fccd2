"""How files are written: whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_text(text: str, path: Path) -> None:
    """Write a text file, in UTF-8, whole or not at all."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(data: bytes, path: Path) -> None:
    """Write a file to a temporary name, then rename it."""
    with writing(path) as file:
        file.write(data)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name only when all of it is written."""
    check_folder(path)
    # Not `tempfile`, whose files nobody but their owner may read.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_folder(path: Path) -> None:
    """Refuse a file that could not be written, before any work is lost."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"the folder {path.parent} may not be written to; choose another")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")

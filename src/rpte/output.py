"""How files are written: whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path


def write_text(text: str, path: Path) -> None:
    """Write a text file, in UTF-8, whole or not at all."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(data: bytes, path: Path) -> None:
    """Write a file to a temporary name, then rename it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")
    # Not `tempfile`, whose files nobody but their owner may read.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

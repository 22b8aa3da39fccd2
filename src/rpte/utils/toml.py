"""TOML files that people write: reading them, and texts for templates of them."""

import json
import tomllib
from pathlib import Path
from typing import Any

from rpte.errors import InputError


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}; correct it there") from error


def quoted(text: str) -> str:
    """Return a TOML string; JSON's is one but for the control character 127."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

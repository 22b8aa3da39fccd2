"""From a file to plain JSON values, trusting nothing: size, encoding, nesting, keys, numbers."""

import json
import math
import re
from collections import Counter
from pathlib import Path as FilePath
from typing import Any

from rpte.errors import ModelFileError
from rpte.model.validator import Path, place, shown

MOST_BYTES = 256 * 2**20
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # not Unicode text
DEEPEST = 200  # levels of nesting; a tree of depth d needs about d + 10


class _Doubled(dict[str, Any]):
    """An object in which a key stood twice; the walk that knows its place refuses it."""

    key: str = ""


def read_json(path: str | FilePath) -> Any:
    """Return the JSON document of a file, or raise `ModelFileError`.

    Duplicate keys and numbers that are none are left for `check_plain`, which can name the place.
    """
    content = read_bytes(path)
    try:
        # An object of 256 MB cannot be decoded faster by a stream, so the whole text is read.
        return parsed(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except RecursionError:
        reason = f"it is nested deeper than {DEEPEST} levels"
    except ValueError as error:  # JSONDecodeError, or a whole number of thousands of digits
        reason = str(error)
    raise ModelFileError(f"{path} is not a JSON document: {reason}")


def parsed(text: str) -> Any:
    """Return the JSON values of a text; `check_plain` then refuses what cannot be kept."""
    return json.loads(text, object_pairs_hook=_object)


def read_bytes(path: str | FilePath) -> bytes:
    """Return a file's content, refusing more than `MOST_BYTES` before it is in memory."""
    with FilePath(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        size = FilePath(path).stat().st_size
        raise ModelFileError(
            f"{path} has {size / 2**20:.1f} MB; a model file has at most {MOST_BYTES / 2**20:g} MB"
        )
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = _Doubled(found)
    doubled.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return doubled


def check_plain(document: Any) -> None:
    """Raise `ModelFileError` unless a document is made of plain JSON values that can be kept.

    Refused, with their place: nesting beyond `DEEPEST`, duplicate keys, NaN and infinities, text
    that is not Unicode (lone surrogates), and Python objects that JSON has no word for.
    """
    stack: list[tuple[Any, Path]] = [(document, ())]
    while stack:
        value, path = stack.pop()
        if len(path) > DEEPEST:
            raise ModelFileError(f"the document is nested deeper than {DEEPEST} levels")
        fault = _fault(value)
        if fault is not None:
            raise ModelFileError(f"{place(path)} {fault}")
        items = value if isinstance(value, list) else ()
        inside = value.items() if isinstance(value, dict) else enumerate(items)
        stack.extend(reversed([(item, (*path, step)) for step, item in inside]))


def _fault(value: Any) -> str | None:
    if isinstance(value, _Doubled):
        return f"holds the key {shown(value.key)} twice"
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {value}; numbers must be finite"
    if isinstance(value, str) and LONE_SURROGATE.search(value):
        return f"is {shown(value)}, which is not Unicode text"
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str) or LONE_SURROGATE.search(key)]
        return f"has the key {shown(odd[0])}, which is not Unicode text" if odd else None
    if value is None or isinstance(value, (str, int, float, list)):
        return None
    return f"is a {type(value).__name__}, which JSON has no word for"

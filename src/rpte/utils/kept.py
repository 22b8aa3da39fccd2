"""Files that are evidence, and what may replace them.

A log of decisions, a model with a ledger of edits, a signed model and a signature cannot be made
again. Each is replaced by a file of its own kind alone; `rpte.utils.output` asks before it writes.
"""

import json
import os
import re
from pathlib import Path

from rpte.errors import InputError

MODEL_FORMAT = "rpte-model"
LOG_FORMAT = "rpte-decisions"
# Kinds of file that are told apart; a model without a ledger is evidence only if it is signed.
LOG, EDITED, MODEL, SIGNATURE = "log", "edited model", "model", "signature"
TEXTS = {
    LOG: "a log of decisions",
    EDITED: "a model with a ledger of edits",
    MODEL: "a signed model",
    SIGNATURE: "the signature of a model",
}
MAY_REPLACE = {LOG: {LOG}, EDITED: {EDITED}, MODEL: {MODEL, EDITED}, SIGNATURE: {SIGNATURE}}

FIRST_BYTES = 2**16
FIRST_RECORD = re.compile(rb'\s*\{\s*"record"\s*:\s*"(model|head|run|case|end)"')
OF_LOG = re.compile(rb'"format"\s*:\s*"' + LOG_FORMAT.encode() + rb'"')
OF_MODEL = re.compile(rb'"format"\s*:\s*"' + MODEL_FORMAT.encode() + rb'"')
OF_LEDGER = re.compile(rb'"ledger"\s*:\s*\[')
OF_SIGNATURE = re.compile(rb'"algorithm"\s*:\s*"hmac-')


def check_replaced(path: Path, kind: str | None = None) -> None:
    """Refuse to replace a file that is evidence by one of another kind.

    Parameters
    ----------
    path : Path
        A regular file, or a name that no file has.
    kind : str or None
        What is to be written: one of `LOG`, `EDITED`, `MODEL` and `SIGNATURE`, or None for
        anything else.
    """
    found = kind_of(Path(os.path.realpath(path))) if path.is_file() else None
    if found is not None and kind not in MAY_REPLACE[found]:
        raise InputError(
            f"{path} is {TEXTS[found]}, which no other kind of file replaces; give another name"
        )


def kind_of(path: Path) -> str | None:
    """Return the kind of a file that is evidence, None for any other file."""
    with path.open("rb") as file:
        first = file.read(FIRST_BYTES)
        if not first.lstrip().startswith(b"{"):
            return None
        if FIRST_RECORD.match(first) or OF_LOG.search(first):
            return LOG
        content = first + file.read()
    if path.suffix == ".sig" and OF_SIGNATURE.search(content):
        return SIGNATURE
    if not _is_model(content):
        return None
    if OF_LEDGER.search(content):
        return EDITED
    return MODEL if Path(f"{path}.sig").is_file() else None


def _is_model(content: bytes) -> bool:
    """Tell whether a file is a model; a damaged one that may be is one."""
    if not OF_MODEL.search(content):
        return False
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return True
    return isinstance(document, dict) and document.get("format") == MODEL_FORMAT

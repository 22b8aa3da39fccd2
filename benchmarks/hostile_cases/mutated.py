"""Model files changed at random: bytes, fields, numbers and names, of every task.

Each file must be refused in one line that is a `ModelFileError`, or give the same model (damaged
bytes), or a model that scores, explains and verifies (a hash that fits again). `rpte_check.py` must
pass exactly the files that `load` and `verify_file` pass. A crash, 10 seconds of processor time
without an answer, a change that is silently accepted and a disagreement are failures.
"""

from __future__ import annotations

import json
import random
import signal
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from file_fuzz import (
    damaged_bytes,
    damaged_document,
    dumped,
    moved_document,
    outcome_of_damage,
    outcome_of_forgery,
    renamed_document,
    verdicts,
)
from hostile_cases.case import Case, Result
from model_files import EVERY_NAME, stored
from rpte.model.file import from_dict

FILES, SECONDS = 1_000, 10
FORGERIES = {"fields": damaged_document, "numbers": moved_document, "names": renamed_document}


@cache
def original(name: str) -> Any:
    """Return a stored model."""
    return from_dict(stored(name).copy())


def _hang(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s of processor time")


def one_file(kind: str, name: str, path: Path, rng: random.Random) -> None:
    """Change one file and fail unless both readers deal with it, alike."""
    if kind == "bytes":
        content = json.dumps(stored(name).document, indent=rng.choice((None, 1))).encode()
        path.write_bytes(damaged_bytes(content, rng))
    else:
        path.write_text(dumped(FORGERIES[kind](stored(name).document, rng)))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        if kind == "bytes":
            outcome_of_damage(path, original(name))
        else:
            outcome_of_forgery(path)
        library, checker = verdicts(path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert library == checker, f"the library says {library}, the checker {checker}"


def files(kind: str, seed: int) -> Result:
    """Change files of every task; a file is a function of the kind, the seed and its number."""
    result = Result()
    signal.signal(signal.SIGPROF, _hang)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            name = EVERY_NAME[number % len(EVERY_NAME)]
            rng = random.Random(f"{kind} {seed} {number}")
            try:
                one_file(kind, name, Path(folder) / "model.json", rng)
                result.expect(True, "")
            except Exception as error:  # a crash is what is looked for
                said = f"{type(error).__name__}: {str(error)[:200]}"
                result.expect(False, f"{name} {number} of seed {seed}: {said}")
    return result


def _of(kind: str) -> Callable[[int], Result]:
    return partial(files, kind)


CASES = [
    Case("bytes of model files: refused, or the same model", _of("bytes")),
    Case("strange values in fields: refused, or a model that works", _of("fields")),
    Case("one number, word or flag is another", _of("numbers")),
    Case("variables, classes and terms renamed throughout", _of("names")),
]

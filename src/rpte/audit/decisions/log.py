"""A log of decisions as a file: appended to under a lock, or refused with words."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rpte.audit.catalogue import Catalogue
from rpte.audit.decisions import decisions
from rpte.audit.reasons import ReasonRule
from rpte.audit.records import FORMAT, VERSION, Place, case_text, lines_of
from rpte.utils.appending import appending, last_line, replacing
from rpte.audit.decisions.catalogue import Catalogue
from rpte.audit.decisions.decide import decisions
from rpte.audit.decisions.reasons import Catalogue, ReasonRule
from rpte.audit.decisions.records import FORMAT, VERSION, LogEnd, Record, lines_of, record_of
from rpte.errors import InputError
from rpte.model.file import to_dict
from rpte.model.model import Model
from rpte.utils.appending import appending, last_line, replacing
from rpte.utils.output import check_output, is_stream, writing

IN_MEMORY = 2**26  # bytes of a run that wait in memory for the lock, beyond it in a file
LONGEST_FIRST = 2**20  # bytes in which a first line has to end
CLOSING = b'{"record":"end",'


@dataclass(frozen=True, slots=True)
class Logged:
    """What was written to a log."""

    cases: int  # of this run
    total: int  # of the whole log
    model: str  # its hash
    head: str  # to be kept elsewhere: it proves all of the log up to here
    unexplained: int  # adverse cases without a reason


def append_decisions(
    path: str | Path,
    model: Model,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    ids: Sequence[Any] | None = None,
    when: str | None = None,
    replace: bool = False,
) -> Logged:
    """Append the decisions of a run to a log, which is made if there is none.

    Several processes may append to one log; each run stands in it whole, or not at all.

    Parameters
    ----------
    path : str or Path
    model, X, rule, catalogue, ids, when
        As in `decide`.
    replace : bool
        Make the log anew, and lose the one that is there.

    Raises
    ------
    InputError
        If the file is no log, is that of another model, or was cut off.

    Examples
    --------
    >>> import rpte, tempfile
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, y).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = rpte.append_decisions(f"{folder}/log.jsonl", model, X)
    ...     second = rpte.append_decisions(f"{folder}/log.jsonl", model, X[:2])
    ...     found = rpte.replay(f"{folder}/log.jsonl", model, second.head)
    >>> second.cases, second.total, found.findings
    (2, 42, ())
    """
    path = Path(path)
    check_log(path, model, replace)
    run, decided = decisions(model, X, rule, catalogue, ids, when)
    cases = unexplained = 0
    with tempfile.SpooledTemporaryFile(
        max_size=IN_MEMORY, mode="w+", encoding="utf-8", newline="\n"
    ) as spool:
        for case in decided:
            spool.write(f"{run.text(case)}\n")
            cases += 1
            unexplained += case["adverse"] is True and not case["reasons"]
        spool.seek(0)
        with _written(path, run.model_hash, replace) as (file, after):
            line = b""
            for line in lines_of(run, (text[:-1] for text in spool), after):
                file.write(line)
    end = json.loads(line)
    return Logged(cases, end["cases"], end["model"], end["head"], unexplained)


@contextmanager
def _written(path: Path, model: str, replace: bool) -> Iterator[tuple[BinaryIO, LogEnd | None]]:
    """Open a log, and say where the one that is continued ends."""
    if replace or is_stream(path):
        with writing(path) if is_stream(path) else replacing(path) as file:
            yield file, None
    else:
        with appending(path, runs_whole) as log:
            yield log.file, _end_of(path, log.last, model)


def check_log(path: Path, model: Model, replace: bool = False) -> None:
    """Refuse a file to which the decisions of a model cannot be appended, before they are made."""
    check_output(path)
    if not replace and not is_stream(path) and path.exists():
        _end_of(path, last_line(path) or b"", to_dict(model)["hash"])


def _check_first(path: Path, first: Record, model_hash: str) -> None:
    if first.get("format") != FORMAT:
        raise InputError(
            f"{path} is no log of decisions, so nothing is appended to it; give another name, or "
            "replace it (--replace)"
        )
    if first.get("version") != VERSION:
        raise InputError(
            f"{path} is a log of version {first.get('version')!r}, which this library can replay "
            f"but not continue (it writes version {VERSION}); keep it, and give another name"
        )
    if first.get("model") != model_hash:
        raise InputError(
            f"{path} is the log of the model {first.get('model')}, not of {model_hash}; a log "
            "holds the decisions of one model: give another name"
        )


def _end_of(path: Path, last: bytes, model_hash: str) -> LogEnd | None:
    """Return where a log ends, None if it is empty; refuse one that has no end."""
    if not last:
        return None
    with path.open("rb") as file:
        first = record_of(file.readline(LONGEST_FIRST))
    _check_first(path, first, model_hash)
    end = _closing(last)
    if end is None:
        raise InputError(
            f"{path} ends without a closing record: it was cut off, or something else has written "
            "to it. Keep it as it is (rpte replay says what is left of it), and begin another log"
        )
    return LogEnd(last, end["digest"], end["cases"], end["rules"])


def runs_whole(before: bytes, lines: Iterable[bytes]) -> bool:
    """Tell whether lines behind a closing one are whole runs, by their heads."""
    total, end = hashlib.sha256(before), None
    for line in lines:
        end = _closing(line)
        if end is None:
            total.update(line)
        elif end["head"] != total.hexdigest():
            return False
        else:
            total = hashlib.sha256(line)
    return end is not None


def _closing(line: bytes) -> Record | None:
    """Return the record of a closing line, None if it is none."""
    if not line.startswith(CLOSING) or not line.endswith(b"\n"):
        return None
    end = record_of(line)
    named = all(isinstance(end.get(name), str) for name in ("rules", "head", "digest"))
    return end if named and type(end.get("cases")) is int else None

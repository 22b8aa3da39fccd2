"""What a model does with each case of a table, as the lines of a new log or appended to a file.

A log is appended to under a lock, or refused with words.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rpte.audit.decisions.catalogue import Catalogue, read_variables
from rpte.audit.decisions.class_cases import class_cases
from rpte.audit.decisions.reasons import ReasonRule, reason_codes, reason_rule
from rpte.audit.decisions.records import (
    FORMAT,
    VERSION,
    LogEnd,
    Record,
    Run,
    component_record,
    lines_of,
    record_of,
)
from rpte.errors import InputError
from rpte.model.classes import ClassesModel, check_no_beside
from rpte.model.explain import cell_values
from rpte.model.file import AnyModel, to_dict
from rpte.model.given import scored_model
from rpte.model.horizon import survival_target
from rpte.model.unknown import checked_inputs
from rpte.table.column import is_absent, level_text
from rpte.table.inputs import Inputs, columns_of, read_inputs
from rpte.table.numbers import named, per_row
from rpte.table.spelling import named_levels
from rpte.utils.appending import appending, last_line, replacing
from rpte.utils.arrays import Array
from rpte.utils.kept import LOG
from rpte.utils.output import check_output, is_stream, writing
from rpte.utils.times import recorded_time

BLOCK = 500  # cases that are worked on together
IN_MEMORY = 2**26  # bytes of a run that wait in memory for the lock, beyond it in a file
LONGEST_FIRST = 2**20  # bytes in which a first line has to end
CLOSING = b'{"record":"end",'

Cells = Mapping[str, Sequence[Any]]
Beside = Mapping[str, Array]  # exposures, offsets and strata, where there are any


def decide(
    model: AnyModel,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    ids: Sequence[Any] | None = None,
    when: str | None = None,
    exposure: Any = None,
    offset: Any = None,
    strata: Any = None,
) -> Iterator[str]:
    """Yield the lines of a new log: model, run, one line per case, and the closing one.

    Parameters
    ----------
    model : Model or ClassesModel
    X : table of shape (n_rows, n_columns)
    rule : ReasonRule, optional
        From `reason_rule`; if None, against the training mean, the positive class (of a number a
        high mean) adverse.
    catalogue : Catalogue, optional
    ids : one per row, optional
        What the cases are called elsewhere.
    when : str, optional
        Time of the run in ISO 8601, such as ``2026-01-31T12:00:00Z``; now if None.
    exposure, offset : per row, or names of columns of `X`, optional
        Of a number, as in `Model.predict`: recorded, and the mean that a threshold decides on is
        with them; for one unit of exposure and no offset if None.
    strata : per row, or the name of a column of `X`, optional
        Of a time until an event: recorded, and survival at the horizon of the rule is with the
        baseline of each.

    Examples
    --------
    >>> import json, rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, y).model_
    >>> lines = list(rpte.decide(model, X[:2]))
    >>> json.loads(lines[2])[:2], json.loads(lines[3])[:2]
    ([1, [0]], [2, [1]])
    >>> json.loads(lines[-1])["cases"]
    2
    """
    beside = {"exposure": exposure, "offset": offset, "strata": strata}
    run, cases = decisions(model, X, rule, catalogue, ids, when, **beside)
    for line in lines_of(run, map(run.text, cases), None):
        yield line.decode()[:-1]


def decisions(
    model: AnyModel,
    X: Any,
    rule: ReasonRule | None,
    catalogue: Catalogue | None,
    ids: Sequence[Any] | None,
    when: str | None,
    **given: Any,
) -> tuple[Run, Iterator[Record]]:
    """Return a run and what is known of each of its cases, not yet worked out; see `decide`.

    `given` are exposures, offsets and strata.
    """
    model = scored_model(model, "decide")
    schema, read = model.schema, read_variables(model)
    columns = columns_of(X, schema, {*model.ignored, *_texts(given)}, read)
    inputs, cells = read_cells(model, dict(zip(schema.names, columns, strict=True)))
    checked_inputs(model, inputs)
    if ids is not None and len(ids) != inputs.n_rows:
        raise InputError(f"{len(ids)} ids for {inputs.n_rows} cases; give one per case")
    when = recorded_time(when)
    rule = reason_rule(model) if rule is None else rule.checked(model)
    used = rule, catalogue or Catalogue()
    beside = _beside(model, used[0], X, inputs.n_rows, given)
    run = Run(model, *used, ids is not None, when, tuple(beside))
    return run, _in_blocks(run, inputs, cells, ids, beside)


def _texts(given: Mapping[str, Any]) -> list[str]:
    """Return the names of columns among what is given."""
    return [value for value in given.values() if isinstance(value, str)]


def _beside(
    model: AnyModel, rule: ReasonRule, X: Any, n_rows: int, given: Mapping[str, Any]
) -> Beside:
    """Return exposures, offsets and strata that are given, (n_rows,) each; refuse bad ones."""
    found = {role: named(X, value) for role, value in given.items() if value is not None}
    if isinstance(model, ClassesModel):
        check_no_beside(found)
        return {}
    beside: dict[str, Array] = {
        role: per_row(values, n_rows, role) for role, values in found.items() if role != "strata"
    }
    if "strata" in found:
        target = survival_target(model.target, "strata")
        beside["strata"] = np.array(target.labels_of(found["strata"], n_rows), object)
    rule.asked(model).target.mean(np.zeros(n_rows), **beside)
    return beside


def _in_blocks(
    run: Run, inputs: Inputs, cells: Cells, ids: Sequence[Any] | None, beside: Beside
) -> Iterator[Record]:
    for start in range(0, inputs.n_rows, BLOCK):
        rows = slice(start, start + BLOCK)
        taken = {name: column[rows] for name, column in cells.items()}
        given = {name: column[rows] for name, column in beside.items()}
        for row, case in enumerate(full_cases(run, inputs.take(rows), taken, given), start):
            yield case if ids is None else {"id": plain_id(ids[row]), **case}


def full_cases(
    run: Run, inputs: Inputs, cells: Cells, beside: Beside | None = None
) -> Iterator[Record]:
    """Yield what is known of cases but number and id; `cells` are of the variables read."""
    read = _read(run, inputs, cells)
    if isinstance(run.model, ClassesModel):
        yield from class_cases(run, inputs, read)
        return
    rule, given = run.rule, beside or {}
    model = rule.asked(run.model)
    reasons = reason_codes(model, inputs, rule, run.catalogue, **given)
    response = model.target.mean(model.score(inputs), **given)
    decided = rule.adverse_cases(model, response).tolist()
    for row, explanation in enumerate(run.model.explain(inputs)):
        yield {
            "model": run.model_hash,
            **read[row],
            "notes": list(explanation.flags),
            **{role: values[row : row + 1].tolist()[0] for role, values in given.items()},
            "intercept": explanation.intercept,
            "components": [component_record(run, c) for c in explanation.components],
            "score": explanation.score,
            model.target.response_name: float(response[row]),
            "adverse": None if rule.threshold is None else decided[row],
            "reasons": [asdict(reason) for reason in reasons[row]],
        }


def _read(run: Run, inputs: Inputs, cells: Cells) -> list[Mapping[str, Any]]:
    """Return what was read of each case: its cells, what was missing or not met in training."""
    levels = {v.name: v.levels for v in run.model.schema.variables if v.kind == "category"}
    gone = {name: inputs.is_missing(name) for name in cells}
    found: list[Mapping[str, Any]] = []
    for row in range(inputs.n_rows):
        used = {name: column[row] for name, column in cells.items()}
        unseen = [n for n in levels if used.get(n) is not None and used[n] not in levels[n]]
        missing = [name for name in cells if gone[name][row]]
        found.append({"inputs": used, "missing": missing, "unseen": unseen})
    return found


def plain_id(value: Any) -> str | int | None:
    """Return an id as a text or a whole number."""
    if is_absent(value):
        return None
    text = level_text(value)
    return int(value) if not isinstance(value, (str, bool)) and text.lstrip("-").isdigit() else text


def read_cells(model: AnyModel, raw: Mapping[str, Any]) -> tuple[Inputs, Cells]:
    """Return the rows of a table, and their cells as the model can read them again."""
    inputs = read_inputs(raw, model.schema)
    return inputs, {name: _cells(inputs, name, raw[name]) for name in read_variables(model)}


def _cells(inputs: Inputs, name: str, raw: Any) -> list[Any]:
    """Return the cells of a variable; levels that the model does not know keep their text."""
    variable = inputs.schema[name]
    if variable.kind != "category":
        return cell_values(inputs, name)
    named, codes = named_levels(variable), inputs.codes(name).tolist()
    return [
        named[code] if 0 <= code < len(named) else None if is_absent(cell) else level_text(cell)
        for code, cell in zip(codes, raw, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Logged:
    """What was written to a log."""

    cases: int  # of this run
    total: int  # of the whole log
    model: str  # its hash
    head: str  # to be kept elsewhere: it proves all of the log up to here
    unexplained: int  # adverse cases without a reason

    def _repr_html_(self) -> str:
        from rpte.notebook.results import logged_html

        return logged_html(self)


def append_decisions(
    path: str | Path,
    model: AnyModel,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    ids: Sequence[Any] | None = None,
    when: str | None = None,
    replace: bool = False,
    exposure: Any = None,
    offset: Any = None,
    strata: Any = None,
) -> Logged:
    """Append the decisions of a run to a log, which is made if there is none.

    Several processes may append to one log; each run stands in it whole, or not at all.

    Parameters
    ----------
    path : str or Path
    model, X, rule, catalogue, ids, when, exposure, offset, strata
        As in `decide`.
    replace : bool
        Start a new log and delete the old one.

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
    path, model = Path(path), scored_model(model, "append_decisions")
    check_log(path, model, replace)
    beside = {"exposure": exposure, "offset": offset, "strata": strata}
    run, decided = decisions(model, X, rule, catalogue, ids, when, **beside)
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


def check_log(path: Path, model: AnyModel, replace: bool = False) -> None:
    """Refuse a file to which the decisions of a model cannot be appended, before they are made."""
    check_output(path, kind=LOG)
    if not replace and not is_stream(path) and path.exists():
        _end_of(path, last_line(path) or b"", to_dict(model)["hash"])


def _end_of(path: Path, last: bytes, model_hash: str) -> LogEnd | None:
    """Return where a log ends, None if it is empty; refuse one that cannot be continued."""
    if not last:
        return None
    with path.open("rb") as file:
        first = record_of(file.readline(LONGEST_FIRST))
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

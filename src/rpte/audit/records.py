"""The lines of a log of decisions, version 2: a line is JSON, and ends with a digest of itself.

The first line tells of the model. Then come runs: a line that opens the run, one line per case, one
that closes it. A case is a list, so that no name is written twice; what the model alone gives
(the probability, contributions, what was missing, the weights of reasons) is not written; all but
the probability, which follows from the score, is sealed by a digest.

Two chains run through the file. The *digest* of a line, 48 bits, is that of its text and the digest
before it: it tells where a file was changed. The *head* of a run, in its closing line, is the
SHA-256 of all lines of the run and of the closing line before it, and so of all that stands above:
who knows it can tell any change.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rpte import __version__
from rpte.audit.catalogue import Catalogue
from rpte.audit.reasons import ReasonRule
from rpte.errors import InputError
from rpte.model.file import sealed_hash
from rpte.model.model import Model

FORMAT = "rpte-decisions"
VERSION = 2
FIELDS = ("number", "id", "inputs", "score", "adverse", "reasons", "facts")
WHOLE_BELOW = 1e15  # whole numbers up to here are written without a point
LINE = re.compile(r'([\[{].*),("digest":)?"([A-Za-z0-9_-]{8})"([\]}])', re.DOTALL)

Record = dict[str, Any]


def text_of(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """Return the first 48 bits of the SHA-256 of a text, in eight letters."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:6]).decode()


def opened(line: str) -> tuple[str, str]:
    """Return the content of a line and its digest; `ValueError` if it does not end with one."""
    found = LINE.fullmatch(line)
    if found is None or (found[2] is not None) != (found[4] == "}"):
        raise ValueError("it does not end with a digest")
    return found[1] + found[4], found[3]


@dataclass(slots=True)
class Chain:
    """Where the chains of a log stand.

    Parameters
    ----------
    closing : bytes
        The closing line that the run follows, empty for the first one.
    """

    closing: bytes = b""
    last: str = ""
    _total: Any = field(init=False)

    def __post_init__(self) -> None:
        self._total = hashlib.sha256(self.closing)

    def sealed(self, content: str) -> bytes:
        """Return the line of a content, and go on behind it."""
        found = digest(f"{self.last}\n{content}")
        name = '"digest":' if content[-1] == "}" else ""
        line = f'{content[:-1]},{name}"{found}"{content[-1]}\n'.encode()
        self.follow(line, found)
        return line

    def follow(self, line: bytes, found: str) -> None:
        """Go on behind a line that has this digest."""
        self.last = found
        self._total.update(line)

    @property
    def head(self) -> str:
        """The SHA-256 of the run up to here."""
        return str(self._total.hexdigest())


@dataclass(frozen=True, slots=True)
class Run:
    """How the decisions of one run are made.

    Parameters
    ----------
    model_hash : str
    variables : sequence of str
        Those that the model reads, in the order of its schema.
    rule : ReasonRule
    catalogue : Catalogue
    has_ids : bool
    when : str
    """

    model_hash: str
    variables: Sequence[str]
    rule: ReasonRule
    catalogue: Catalogue
    has_ids: bool
    when: str

    @property
    def fields(self) -> tuple[str, ...]:
        """What a case holds, in this order."""
        absent = {"id"} if not self.has_ids else set()
        absent |= {"adverse"} if self.rule.threshold is None else set()
        return tuple(name for name in FIELDS if name not in absent)

    @property
    def rules(self) -> Record:
        """The rule of reasons and the catalogue, as plain values."""
        rule = {**asdict(self.rule), "values": dict(self.rule.values)}
        said = {name: dict(entry) for name, entry in self.catalogue.entries.items()}
        return {"rule": rule, "catalogue": said}

    @property
    def rules_hash(self) -> str:
        """What tells these rules from others."""
        return sealed_hash(self.rules)

    def compact(self, case: Mapping[str, Any]) -> list[Any]:
        """Return a full record of `Maker.cases` as it is written, in the order of `fields`."""
        place = {name: position for position, name in enumerate(self.variables)}
        facts = [case[name] for name in ("missing", "unseen")]
        facts += [[_short_component(c) for c in case["components"]], case["reasons"]]
        short = {
            **case,
            "inputs": [_cell(case["inputs"][name]) for name in self.variables],
            "reasons": [place[reason["source"]] for reason in case["reasons"]],
            "facts": digest(text_of(facts)),
        }
        return [short[name] for name in self.fields]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a log ends: its closing line, and what that tells."""

    line: bytes
    digest: str
    cases: int
    rules_hash: str


def lines_of(run: Run, model: Model, cases: Iterable[str], after: Place | None) -> Iterator[bytes]:
    """Yield the lines of a run; those of a new log begin with the model.

    Parameters
    ----------
    run : Run
    model : Model
    cases : iterable of str
        Each a JSON list without its first entry, the number, and without its opening bracket.
    after : Place, optional
        Where the log that is continued ends.
    """
    chain = Chain() if after is None else Chain(after.line, after.digest)
    number = 0 if after is None else after.cases
    if after is None:
        yield chain.sealed(text_of(model_record(model, run.model_hash, run.variables)))
    same = after is not None and after.rules_hash == run.rules_hash
    yield chain.sealed(text_of(run_record(run, same)))
    for case in cases:
        number += 1
        yield chain.sealed(f"[{number},{case}")
    yield chain.sealed(text_of(end_record(run, number, chain.head)))


def model_record(model: Model, model_hash: str, variables: Sequence[str]) -> Record:
    """Return what a log tells of its model."""
    return {
        "record": "model",
        "format": FORMAT,
        "version": VERSION,
        "model": model_hash,
        "classes": list(model.classes),
        "positive": model.positive,
        "variables": list(variables),
    }


def run_record(run: Run, same: bool) -> Record:
    """Return the record that opens a run; rules that are the `same` as before are not repeated."""
    return {
        "record": "run",
        "library_version": __version__,
        "when": run.when,
        "fields": list(run.fields),
        **({} if same else run.rules),
    }


def end_record(run: Run, cases: int, head: str) -> Record:
    """Return the record that closes a run."""
    return {
        "record": "end",
        "cases": cases,
        "model": run.model_hash,
        "rules": run.rules_hash,
        "head": head,
    }


def case_text(run: Run, case: Mapping[str, Any]) -> str:
    """Return the text of a case without its number, for `lines_of`."""
    values = run.compact({**case, "number": None})[1:]
    text = text_of(values)[1:]
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"a cell or an id holds {error.object[error.start : error.end]!r}, which is not "
                "Unicode text and cannot be recorded; mend the table"
            ) from None
    return text


def _cell(value: Any) -> Any:
    """Return a cell as it is written: a whole number without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE_BELOW:
        return int(value)
    return value


def _short_component(component: Mapping[str, Any]) -> list[Any]:
    terms = [[term["term"], term["value"]] for term in component["terms"]]
    return [component["component"], component["value"], terms]

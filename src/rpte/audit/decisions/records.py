"""The lines of a log of decisions, version 2: a line is JSON, and ends with a digest of itself.

The first line tells of the model. Then come runs: a line that opens the run, one line per case, one
that closes it. A case is a list, so that no name is written twice; what the model alone gives
(the probability, contributions, what was missing, the weights of reasons) is not written; all but
the probability, which follows from the score, is sealed by a digest. Of a number that is the mean,
which follows from score, exposure and offset; the latter are written where a run has them. Of a
time until an event it is the survival at the horizon of the rule, from score and stratum. Of
several classes the scores of all are written, the class of the largest, and the class that it is
compared with.

Two chains run through the file. The *digest* of a line, 48 bits, is that of its text and the digest
before it: it tells where a file was changed. The *head* of a run, in its closing line, is the
SHA-256 of all lines of the run and of the closing line before it, and so of all that stands above:
who knows it can tell any change.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rpte import __version__
from rpte.audit.decisions.catalogue import Catalogue, read_variables
from rpte.audit.decisions.reasons import ReasonRule
from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.explain import ComponentContribution
from rpte.model.file import AnyModel, sealed_hash, to_dict
from rpte.model.reading import parsed
from rpte.utils.kept import LOG_FORMAT

FORMAT = LOG_FORMAT
VERSION = 2
BESIDE = ("exposure", "offset", "strata")  # what a run may have beside the inputs of its cases
OF_ONE = ("score", "adverse")  # fields of a model of one score
OF_CLASSES = ("class", "against", "scores")
FIELDS = ("number", "id", "inputs", *BESIDE, *OF_ONE, *OF_CLASSES, "reasons", "facts")
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


def record_of(line: bytes) -> Record:
    """Return the record that a line holds, empty if it holds none."""
    try:
        found = parsed(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class Chain:
    """Where the chains of a log stand."""

    closing: bytes = b""  # the line that the run follows, empty for the first run
    last: str = ""  # the digest of the line before
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


@dataclass(frozen=True)
class Run:
    """How the decisions of one run are made, and what is written of them."""

    model: AnyModel
    rule: ReasonRule
    catalogue: Catalogue
    has_ids: bool = False
    when: str = ""
    beside: tuple[str, ...] = ()  # those of `BESIDE` that its cases have

    @cached_property
    def model_hash(self) -> str:
        """The hash of the model file."""
        return str(to_dict(self.model)["hash"])

    @cached_property
    def paths(self) -> dict[str, str]:
        """The conditions of every leaf, by names: logs of version 1 hold them."""
        schema = self.model.schema
        return {
            tree.leaf_name(number): " and ".join(condition.name(schema) for condition in path)
            for component in self.model.components
            for tree in component.trees
            for number, path, _ in tree.rules()
        }

    @cached_property
    def variables(self) -> list[str]:
        """The variables that the model reads, in the order of its schema."""
        return read_variables(self.model)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """What a case holds, in this order."""
        absent = {name: name not in self.beside for name in BESIDE}
        absent |= {"id": not self.has_ids, "adverse": self.rule.threshold is None}
        several = isinstance(self.model, ClassesModel)
        absent |= dict.fromkeys(OF_ONE if several else OF_CLASSES, True)
        return tuple(name for name in FIELDS if not absent.get(name))

    @property
    def rules(self) -> Record:
        """The rule of reasons and the catalogue, as plain values."""
        said = {name: dict(entry) for name, entry in self.catalogue.entries.items()}
        return {"rule": self.rule.to_dict(), "catalogue": said}

    def compact(self, case: Mapping[str, Any]) -> list[Any]:
        """Return a full record of a case as it is written, in the order of `fields`."""
        components = [
            [c["component"], c["value"], [[term["term"], term["value"]] for term in c["terms"]]]
            for c in case["components"]
        ]
        facts = [case["missing"], case["unseen"], components, case["reasons"]]
        short = {
            **case,
            "inputs": [_cell(case["inputs"][name]) for name in self.variables],
            "reasons": [self.variables.index(reason["source"]) for reason in case["reasons"]],
            "facts": digest(text_of(facts)),
            **{name: _cell(case[name]) for name in self.beside},
        }
        return [short[name] for name in self.fields]

    def text(self, case: Mapping[str, Any]) -> str:
        """Return a case as a JSON list without its opening bracket and its number."""
        text = text_of(self.compact({**case, "number": None})[1:])[1:]
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"a cell or an id holds {error.object[error.start : error.end]!r}, which is not "
                "Unicode text and cannot be recorded; mend the table"
            ) from None
        return text


def component_record(run: Run, component: ComponentContribution) -> Record:
    """Return what a component adds to a score, and each of its terms."""
    terms = [
        {"term": c.term, "value": c.value, **({"path": run.paths[c.term]} if "." in c.term else {})}
        for c in component.contributions
    ]
    return {"component": component.component, "value": component.value, "terms": terms}


def _cell(value: Any) -> Any:
    """Return a cell as it is written: a whole number without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE_BELOW:
        return int(value)
    return value


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where a log ends: its closing line, and what that tells."""

    line: bytes
    digest: str
    cases: int
    rules_hash: str


def lines_of(run: Run, cases: Iterable[str], after: LogEnd | None) -> Iterator[bytes]:
    """Yield the lines of a run; those of a new log begin with the model.

    The cases are those of `Run.text`, `after` is where the log that is continued ends. Rules that
    are the same as in the run before are not written again.
    """
    chain = Chain() if after is None else Chain(after.line, after.digest)
    number = 0 if after is None else after.cases
    rules = run.rules
    rules_hash = sealed_hash(rules)
    if after is None:
        yield chain.sealed(text_of(model_record(run.model, run.model_hash)))
    opening = {
        "record": "run",
        "library_version": __version__,
        "when": run.when,
        "fields": run.fields,
        **({} if after is not None and after.rules_hash == rules_hash else rules),
    }
    yield chain.sealed(text_of(opening))
    for case in cases:
        number += 1
        yield chain.sealed(f"[{number},{case}")
    closing = {
        "record": "end",
        "cases": number,
        "model": run.model_hash,
        "rules": rules_hash,
        "head": chain.head,
    }
    yield chain.sealed(text_of(closing))


def model_record(model: AnyModel, model_hash: str) -> Record:
    """Return what a log tells of its model."""
    return {
        "record": "model",
        "format": FORMAT,
        "version": VERSION,
        "model": model_hash,
        **model.target.logged,
        "variables": read_variables(model),
    }

"""Replay of a log of decisions: every record computed again, and every break of the chain found.

What a replay can tell: a record that was changed, left out, put in or moved, and a result that the
model does not give. What it cannot tell without the head: that the whole file was made anew. In a
log of version 2 digests say where it was changed, heads that it was; `readers` has version 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rpte.audit.decisions import readers, records
from rpte.audit.decisions.readers import Finding, LogReader, Version1Reader, differs
from rpte.audit.decisions.records import FORMAT, VERSION, Chain, Record, record_of, text_of
from rpte.errors import InputError, ModelFileError
from rpte.model.file import AnyModel, sealed_hash
from rpte.model.format import described
from rpte.model.given import scored_model
from rpte.model.reading import check_plain, parsed
from rpte.model.validator import validate

TYPES = {
    "digest": described("^[A-Za-z0-9_-]{8}$"),
    "field": described("|".join(map(repr, records.FIELDS))),
    **readers.RULES,
}
KINDS = {
    "model": f"format: '{FORMAT}', version: {VERSION}, model: hash, variables: names, "
    "classes?: [label 2], positive?: whole, predicts?: text, link?: text",
    "run": "library_version: text, when: text, fields: [field], rule?: rule|class_rule, "
    "catalogue?: catalogue",
    "end": "cases: whole, model: hash, rules: hash, head: hash",
}
RECORDS = {
    kind: described(f"record: '{kind}', {fields}, digest: digest", **TYPES)
    for kind, fields in KINDS.items()
}


@dataclass
class Version2Reader(LogReader):
    """Reads a log of version 2."""

    is_known: bool = False  # the log is of the model given
    rules: Record | None = None  # rule of reasons and catalogue of the last run
    fields: list[str] = field(default_factory=list)  # what the cases of that run hold
    chain: Chain = field(default_factory=Chain)
    heads: dict[str, int] = field(default_factory=dict)  # cases up to the end of each closed run
    is_open: bool = False  # the last run is not closed yet
    last_head: str = ""

    @property
    def head(self) -> str:
        """The head of the last run; of a run that is not closed, what it would be."""
        return self.chain.head if self.is_open or not self.heads else self.last_head

    def take(self, line: int, content: bytes) -> None:
        """Look at one line of the file."""
        self.line = line
        try:
            text = content.decode("utf-8")
            found = parsed(text)
            check_plain(found)
            inner, seal = records.opened(text.removesuffix("\n"))
            if not text.endswith("\n"):
                raise ValueError("it ends without a line break: it was cut off")
        except readers.UNREADABLE as error:
            self.find_unreadable(error)
            self.chain.follow(content, self.chain.last)
            return
        follows = seal == records.digest(f"{self.chain.last}\n{inner}")
        if isinstance(found, list):
            self._case(found[:-1], follows)
        else:
            self._record(found, follows)
        self.chain.follow(content, seal)
        if isinstance(found, dict) and found.get("record") == "end":
            self.chain = Chain(content, seal)

    def finish(self, head: str | None) -> None:
        """Look at the file as a whole."""
        self.compute()
        if self.is_open or not self.heads:
            self.find(
                "the file ends without a closing record: it was cut off, or a run was stopped "
                "while it wrote, or is still writing"
            )
        if head is not None and self.proved(head) is None:
            self.find(
                f"the head is {self.head}, not {head}: the file was written again, cut or changed"
            )

    def proved(self, head: str) -> int | None:
        """Return how many cases a head proves, None if no run has it."""
        return self.heads.get(head.strip().lower())

    def _case(self, values: list[Any], follows: bool) -> None:
        if not self.is_open:
            self.find("a case stands outside of a run: moved or put in")
        number = values[0] if values else None
        if self.stands_right(number) and not follows:
            self.find(
                f"case {number} was changed, or the record before it was changed and sealed again"
            )
        if type(number) is not int:
            return
        if len(values) != len(self.fields):
            self.find(f"case {number} holds {len(values)} values, not those of {list(self.fields)}")
            return
        self.wait(dict(zip(self.fields, values, strict=True)))

    def _record(self, found: Record, follows: bool) -> None:
        kind = str(found.get("record"))
        if kind not in RECORDS:
            self.find(f"is a record of unknown kind {readers.short(kind)}")
            return
        if not follows:
            self.find(
                f"the {kind!r} record was changed, or the record before it was changed, removed or "
                "sealed again"
            )
        try:
            validate(found, RECORDS[kind])
        except ModelFileError as error:
            self.find(f"the {kind!r} record is malformed: {error}")
            return
        takers = {"model": self._model, "run": self._run, "end": self._end}
        takers[kind]({key: value for key, value in found.items() if key != "digest"})

    def _model(self, found: Record) -> None:
        if self.line > 1:
            self.find("is a second record of the model")
            return
        self.opening = found
        self.is_known = self.is_of_model(found)
        if not self.is_known:
            return
        right = records.model_record(self.model, found["model"])
        names = dict.fromkeys((*right, *found))
        wrong = [name for name in names if text_of(found.get(name)) != text_of(right.get(name))]
        if wrong:
            self.find(f"the 'model' record does not tell of this model: {wrong} differ")

    def _run(self, found: Record) -> None:
        self.compute()
        if self.is_open:
            self.find("a run begins before the one before it was closed: that one was cut off")
        self.is_open, self.fields = True, found["fields"]
        beside = tuple(name for name in records.BESIDE if name in self.fields)
        options: Record = {"has_ids": "id" in self.fields, "when": found["when"], "beside": beside}
        given: Record = {name: found[name] for name in ("rule", "catalogue") if name in found}
        if not given and self.rules is not None:  # those of the run before
            self.run = self.run and replace(self.run, **options)
        elif len(given) < 2:
            self.find("a run has no rule of reasons or no catalogue")
            self.run = None
        else:
            self.rules = given
            if self.is_known:
                self.use(**given, **options)

    def _end(self, found: Record) -> None:
        self.compute()
        if not self.is_open:
            self.find("is a closing record where no run is open")
        if found["cases"] != self.cases:
            self.find(f"the closing record states {found['cases']} cases, not {self.cases}")
        if found["head"] != self.chain.head:
            self.find(
                f"the closing record states the head {found['head']}, the lines have "
                f"{self.chain.head}: lines of this run were changed, removed, put in or moved"
            )
        told = self.opening or {}
        if found["model"] != told.get("model") or found["rules"] != sealed_hash(self.rules):
            self.find("the closing record is of another model or of other rules")
        self.is_open, self.last_head = False, self.chain.head
        self.heads[self.last_head] = self.cases

    def _cells(self, stored: Record) -> list[Any] | None:
        cells = stored["inputs"]
        return cells if isinstance(cells, list) and len(cells) == len(self.variables) else None

    def _differences(self, stored: Record, again: Record) -> Iterator[str]:
        assert self.run is not None
        fields = self.run.fields
        if tuple(stored) != fields:
            yield f"it holds {list(stored)}, not {list(fields)}"
            return
        aside = {"number": stored["number"], "id": stored.get("id")}
        for key, value in zip(fields, self.run.compact({**again, **aside}), strict=True):
            if text_of(stored[key]) != text_of(value):
                yield differs(key, stored[key], value)


@dataclass
class CaseReader(Version2Reader):
    """Keeps the cases as they are computed again, in place of comparing them."""

    full: list[Record] = field(default_factory=list)

    def compute(self) -> None:
        """Keep the waiting cases as the model gives them."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        if self.run is None:
            raise InputError(self.findings[0].text if self.findings else "no run is opened")
        for (line, stored), again in zip(waiting, self.again(waiting), strict=True):
            if isinstance(again, str):
                raise InputError(f"line {line} cannot be computed again: {again}")
            named = {name: stored[name] for name in ("number", "id") if name in stored}
            self.full.append({**named, "when": self.run.when, **again})


def read_decisions(path: str | Path, model: AnyModel) -> Iterator[Record]:
    """Yield each case of a log in full, as the model gives it for what it read at the time.

    Parameters
    ----------
    path : str or Path
        A log of the version that this library writes.
    model : Model
        The model that decided.

    Yields
    ------
    dict
        number, id (if there are ids), when, model, inputs, missing, unseen, notes, intercept,
        components with every contribution, score, probability, adverse, reasons. Of a number the
        mean in place of the probability, and its exposure and offset where the run has them. Of
        several classes class, against, and the scores and probabilities of all in place of score
        and probability; contributions are to the difference of the two classes.

    Notes
    -----
    Nothing is checked here but that the model is the right one: `replay` does that.

    Examples
    --------
    >>> import rpte, tempfile
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, y).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = rpte.append_decisions(f"{folder}/log.jsonl", model, X)
    ...     first = next(rpte.read_decisions(f"{folder}/log.jsonl", model))
    >>> first["number"], first["inputs"]
    (1, {'x0': 0.0})
    """
    reader = CaseReader(scored_model(model, "read_decisions"))
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            if line == 1 and _version(path, content) == 1:
                raise InputError(f"{path} is a log of version 1, whose lines are full records")
            reader.take(line, content)
            yield from reader.full
            reader.full.clear()
    reader.compute()
    yield from reader.full


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found.

    Without a head that was kept elsewhere, a file that was written again from the first to the last
    record cannot be distinguished from the original.
    """

    cases: int  # records of cases in the file
    head: str  # of the log as it stands
    findings: tuple[Finding, ...]  # empty if the chain is whole and all is as the model gives it
    head_given: bool  # whether the head was compared with one that was kept elsewhere
    proved: int = 0  # cases, from the first one on, that the given head proves

    def _repr_html_(self) -> str:
        from rpte.notebook.results import replay_html

        return replay_html(self)


def replay(path: str | Path, model: AnyModel, head: str | None = None) -> Replay:
    """Compute a log of decisions again.

    Parameters
    ----------
    path : str or Path
        A file of `append_decisions`, or of an earlier version.
    model : Model
        The model that decided.
    head : str, optional
        The head hash that was printed when the log was written, kept elsewhere. That of an earlier
        run proves the log up to this run.

    Raises
    ------
    InputError
        If the file is no log of decisions at all.

    Examples
    --------
    >>> import rpte, tempfile
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, y).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = rpte.append_decisions(f"{folder}/log.jsonl", model, X)
    ...     found = rpte.replay(f"{folder}/log.jsonl", model, done.head)
    >>> found.findings
    ()
    """
    model = scored_model(model, "replay")
    reader: Version1Reader | Version2Reader | None = None
    with Path(path).open("rb") as file:
        for line, content in enumerate(file, 1):
            if reader is None:
                old = _version(path, content) == 1
                reader = Version1Reader(model) if old else Version2Reader(model)
            reader.take(line, content)
            if line == 1 and reader.opening is None:
                raise InputError(f"{path} is no log of decisions: {reader.findings[0].text}")
    if reader is None:
        raise InputError(f"{path} is empty; a log of decisions begins with its opening record")
    reader.finish(head)
    found = tuple(sorted(reader.findings, key=lambda finding: finding.line))
    proved = 0 if head is None else reader.proved(head) or 0
    return Replay(reader.cases, reader.head, found, head is not None, proved)


def _version(path: str | Path, first: bytes) -> int:
    """Return the version that the first line names, 1 or 2."""
    found = record_of(first)
    if found.get("format") != FORMAT:
        raise InputError(f"{path} is no log of decisions: it does not begin as one")
    version = found.get("version")
    if version not in (1, VERSION):
        raise InputError(
            f"{path} is a log of version {version!r}, this library knows 1 and {VERSION}; install "
            "the version that wrote it"
        )
    return int(version)

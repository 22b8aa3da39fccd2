"""A log of decisions: one record per case, each holding the hash of the one before it.

The first record says how the log was made (model, rule of reasons, catalogue), the last one how
many cases there are and the hash of the last of them, the *head*. Who knows the head can tell any
change of the file; see `rpte.audit.replay`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from rpte import __version__
from rpte.audit.catalogue import Catalogue
from rpte.audit.reasons import ReasonRule, reason_codes, reason_rule
from rpte.errors import InputError
from rpte.model.explain import Explanation, cell_values
from rpte.model.file import sealed_hash, to_dict
from rpte.model.model import Model
from rpte.table.column import is_absent, level_text
from rpte.table.inputs import Inputs, columns_of, read_inputs

FORMAT = "rpte-decisions"
VERSION = 1
BLOCK = 500  # cases that are worked on together

Record = dict[str, Any]
Cells = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Maker:
    """What all records of one log share."""

    model: Model
    model_hash: str
    rule: ReasonRule
    catalogue: Catalogue

    def cases(self, inputs: Inputs, cells: Cells) -> Iterator[Record]:
        """Yield what is recorded of some cases, number, id and chain aside.

        Parameters
        ----------
        inputs : Inputs
            Of the cases.
        cells : mapping from the name of a variable that the model reads to its cells
        """
        told = zip(
            self.model.explain(inputs),
            reason_codes(self.model, inputs, self.rule, self.catalogue),
            strict=True,
        )
        gone = {name: inputs.is_missing(name) for name in cells}
        for row, (explanation, reasons) in enumerate(told):
            used = {name: cells[name][row] for name in cells}
            yield {
                "model": self.model_hash,
                "inputs": used,
                "missing": [name for name in cells if gone[name][row]],
                "unseen": [name for name, cell in used.items() if self._unseen(name, cell)],
                "notes": list(explanation.flags),
                "intercept": explanation.intercept,
                "components": [self._component(c) for c in explanation.components],
                "score": explanation.score,
                "probability": explanation.probability,
                "adverse": self._adverse(explanation),
                "reasons": [asdict(reason) for reason in reasons],
            }

    def _unseen(self, name: str, cell: Any) -> bool:
        variable = self.model.schema[name]
        return variable.kind == "category" and cell is not None and cell not in variable.levels

    def _adverse(self, explanation: Explanation) -> bool | None:
        if self.rule.threshold is None:
            return None
        return self.rule.is_adverse(self.model, explanation.probability)

    def _component(self, component: Any) -> Record:
        terms = [
            {"term": c.term, "value": c.value, **({"path": c.text} if "." in c.term else {})}
            for c in component.contributions
        ]
        return {"component": component.component, "value": component.value, "terms": terms}


def maker(model: Model, rule: ReasonRule, catalogue: Catalogue) -> Maker:
    """Return what makes the records of a model's decisions."""
    return Maker(model, to_dict(model)["hash"], rule, catalogue)


def decide(
    model: Model,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    ids: Sequence[Any] | None = None,
    when: str | None = None,
) -> Iterator[Record]:
    """Yield the records of a log: the opening one, one per case, the closing one.

    Parameters
    ----------
    model : Model
    X : table of shape (n_rows, n_columns)
    rule : ReasonRule, optional
        From `reason_rule`; if None, against the training mean, the positive class adverse.
    catalogue : Catalogue, optional
    ids : one per row, optional
        What the cases are called elsewhere.
    when : str, optional
        UTC time of the run, such as ``2026-01-31T12:00:00Z``; now if None.

    Examples
    --------
    >>> import rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, y).model_
    >>> records = list(rpte.decide(model, X[:2]))
    >>> [record["record"] for record in records]
    ['head', 'case', 'case', 'end']
    >>> records[-1]["head"] == records[-2]["hash"]
    True
    """
    made = maker(model, rule or reason_rule(model), catalogue or Catalogue())
    inputs, cells = _read(model, X)
    if ids is not None and len(ids) != inputs.n_rows:
        raise InputError(f"{len(ids)} ids for {inputs.n_rows} cases; give one per case")
    opening = {
        "record": "head",
        "format": FORMAT,
        "version": VERSION,
        "library_version": __version__,
        "when": when or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "model": made.model_hash,
        "rule": {**asdict(made.rule), "values": dict(made.rule.values)},
        "catalogue": {name: dict(entry) for name, entry in made.catalogue.entries.items()},
    }
    record = linked(opening, None)
    yield record
    for start in range(0, inputs.n_rows, BLOCK):
        rows = slice(start, start + BLOCK)
        taken = {name: column[rows] for name, column in cells.items()}
        for number, content in enumerate(made.cases(inputs.take(rows), taken), start + 1):
            named = {} if ids is None else {"id": plain_id(ids[number - 1])}
            record = linked({"record": "case", "number": number, **named, **content}, record)
            yield record
    closing = {"cases": inputs.n_rows, "model": made.model_hash, "head": record["hash"]}
    yield linked({"record": "end", **closing}, record)


def linked(content: Record, before: Record | None) -> Record:
    """Return a record with the hash of the one before it and its own."""
    chained = {**content, "previous": None if before is None else before["hash"]}
    return {**chained, "hash": sealed_hash(chained)}


def plain_id(value: Any) -> str | int | None:
    """Return an id as a text or a whole number."""
    if is_absent(value):
        return None
    text = level_text(value)
    return int(value) if not isinstance(value, (str, bool)) and text.lstrip("-").isdigit() else text


def _read(model: Model, X: Any) -> tuple[Inputs, Cells]:
    """Return the rows, and the cells of the variables that the model reads."""
    schema, excluded = model.schema, model.settings["limits"]["exclude"]
    read = {source for component in model.components for source in component.sources}
    raw = dict(zip(schema.names, columns_of(X, schema, excluded, read), strict=True))
    inputs = read_inputs(raw, schema)
    return inputs, {name: _cells(inputs, name, raw[name]) for name in schema.names if name in read}


def _cells(inputs: Inputs, name: str, raw: Any) -> list[Any]:
    """Return cells as the model can read them again; levels it does not know keep their text."""
    if inputs.schema[name].kind == "category":
        return [None if is_absent(cell) else level_text(cell) for cell in raw]
    return cell_values(inputs, name)

"""Decisions on the record: what a model did with each case of a table, and the log of it.

`decide` gives the lines of a new log, `append_decisions` (in `rpte.audit.log`) writes them to a
file; see `rpte.audit.records` for what a line holds and `rpte.audit.replay` for how a log is
checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from rpte.audit.catalogue import Catalogue
from rpte.audit.reasons import ReasonRule, reason_codes, reason_rule
from rpte.audit.records import Record, Run, case_text, lines_of
from rpte.errors import InputError
from rpte.model.explain import Explanation, cell_values
from rpte.model.file import to_dict
from rpte.model.model import Model
from rpte.model.unknown import checked_inputs
from rpte.table.column import is_absent, level_text
from rpte.table.inputs import Inputs, columns_of, read_inputs
from rpte.table.spelling import named_levels

BLOCK = 500  # cases that are worked on together

Cells = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Maker:
    """What all records of one log share."""

    model: Model
    model_hash: str
    rule: ReasonRule
    catalogue: Catalogue

    def run(self, has_ids: bool, when: str) -> Run:
        """Return how the cases of a run are recorded."""
        names = variables_of(self.model)
        return Run(self.model_hash, names, self.rule, self.catalogue, has_ids, when)

    def cases(self, inputs: Inputs, cells: Cells) -> Iterator[Record]:
        """Yield what is known of some cases, number and id aside.

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


def variables_of(model: Model) -> list[str]:
    """Return the variables that a model reads, in the order of its schema."""
    read = {source for component in model.components for source in component.sources}
    return [name for name in model.schema.names if name in read]


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
) -> Iterator[str]:
    """Yield the lines of a new log: model, run, one line per case, and the closing one.

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
    >>> import json, rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, y).model_
    >>> lines = list(rpte.decide(model, X[:2]))
    >>> json.loads(lines[2])[:2], json.loads(lines[3])[:2]
    ([1, [0]], [2, [1]])
    >>> json.loads(lines[-1])["cases"]
    2
    """
    decided = decisions(model, X, rule, catalogue, ids=ids, when=when)
    cases = (case_text(decided.run, case) for case in decided.cases())
    for line in lines_of(decided.run, model, cases, None):
        yield line.decode()[:-1]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of one run.

    Parameters
    ----------
    made : Maker
    run : Run
    inputs : Inputs
        The rows.
    cells : mapping from variable to its cells
    ids : one per row, optional
    """

    made: Maker
    run: Run
    inputs: Inputs
    cells: Cells
    ids: Sequence[Any] | None

    def cases(self) -> Iterator[Record]:
        """Yield what is known of each case, some rows at a time."""
        for start in range(0, self.inputs.n_rows, BLOCK):
            rows = slice(start, start + BLOCK)
            taken = {name: column[rows] for name, column in self.cells.items()}
            for row, content in enumerate(self.made.cases(self.inputs.take(rows), taken), start):
                named = {} if self.ids is None else {"id": plain_id(self.ids[row])}
                yield {**named, **content}


def decisions(
    model: Model,
    X: Any,
    rule: ReasonRule | None = None,
    catalogue: Catalogue | None = None,
    *,
    ids: Sequence[Any] | None = None,
    when: str | None = None,
) -> Decisions:
    """Return the decisions of a run, not yet made; see `decide`."""
    made = maker(model, rule or reason_rule(model), catalogue or Catalogue())
    inputs, cells = _read(model, X)
    if ids is not None and len(ids) != inputs.n_rows:
        raise InputError(f"{len(ids)} ids for {inputs.n_rows} cases; give one per case")
    when = when or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Decisions(made, made.run(ids is not None, when), inputs, cells, ids)


def plain_id(value: Any) -> str | int | None:
    """Return an id as a text or a whole number."""
    if is_absent(value):
        return None
    text = level_text(value)
    return int(value) if not isinstance(value, (str, bool)) and text.lstrip("-").isdigit() else text


def _read(model: Model, X: Any) -> tuple[Inputs, Cells]:
    """Return the rows, and the cells of the variables that the model reads."""
    schema, excluded = model.schema, model.settings["limits"]["exclude"]
    read = variables_of(model)
    raw = dict(zip(schema.names, columns_of(X, schema, excluded, read), strict=True))
    inputs = checked_inputs(model, read_inputs(raw, schema))
    return inputs, {name: cells_of(inputs, name, raw[name]) for name in read}


def cells_of(inputs: Inputs, name: str, raw: Any) -> list[Any]:
    """Return cells as the model can read them again; levels it does not know keep their text."""
    variable = inputs.schema[name]
    if variable.kind != "category":
        return cell_values(inputs, name)
    named, codes = named_levels(variable), inputs.codes(name).tolist()
    return [
        named[code] if 0 <= code < len(named) else None if is_absent(cell) else level_text(cell)
        for code, cell in zip(codes, raw, strict=True)
    ]

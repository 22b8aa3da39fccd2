"""What a model does with each case of a table, and the lines of a new log of it.

`append_decisions` (in `rpte.audit.decisions.log`) writes them to a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rpte.audit.decisions.reasons import Catalogue, ReasonRule, reason_codes, reason_rule
from rpte.audit.decisions.records import Record, Run, lines_of, read_variables
from rpte.errors import InputError
from rpte.model.explain import ComponentContribution, cell_values
from rpte.model.model import Model
from rpte.model.unknown import checked_inputs
from rpte.table.column import is_absent, level_text
from rpte.table.inputs import Inputs, columns_of, read_inputs
from rpte.table.spelling import named_levels

BLOCK = 500  # cases that are worked on together

Cells = Mapping[str, Sequence[Any]]


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
    run, cases = decisions(model, X, rule, catalogue, ids, when)
    for line in lines_of(run, map(run.text, cases), None):
        yield line.decode()[:-1]


def decisions(
    model: Model,
    X: Any,
    rule: ReasonRule | None,
    catalogue: Catalogue | None,
    ids: Sequence[Any] | None,
    when: str | None,
) -> tuple[Run, Iterator[Record]]:
    """Return a run and what is known of each of its cases, not yet worked out; see `decide`."""
    schema, read = model.schema, read_variables(model)
    columns = columns_of(X, schema, model.ignored, read)
    inputs, cells = read_cells(model, dict(zip(schema.names, columns, strict=True)))
    checked_inputs(model, inputs)
    if ids is not None and len(ids) != inputs.n_rows:
        raise InputError(f"{len(ids)} ids for {inputs.n_rows} cases; give one per case")
    when = when or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    used = rule or reason_rule(model), catalogue or Catalogue()
    run = Run(model, *used, ids is not None, when)
    return run, _in_blocks(run, inputs, cells, ids)


def _in_blocks(
    run: Run, inputs: Inputs, cells: Cells, ids: Sequence[Any] | None
) -> Iterator[Record]:
    for start in range(0, inputs.n_rows, BLOCK):
        rows = slice(start, start + BLOCK)
        taken = {name: column[rows] for name, column in cells.items()}
        for row, case in enumerate(full_cases(run, inputs.take(rows), taken), start):
            yield case if ids is None else {"id": plain_id(ids[row]), **case}


def full_cases(run: Run, inputs: Inputs, cells: Cells) -> Iterator[Record]:
    """Yield what is known of some cases, number and id aside.

    `cells` has the cells of each variable that the model reads.
    """
    model, rule = run.model, run.rule
    levels = {v.name: v.levels for v in model.schema.variables if v.kind == "category"}
    reasons = reason_codes(model, inputs, rule, run.catalogue)
    gone = {name: inputs.is_missing(name) for name in cells}
    for row, explanation in enumerate(model.explain(inputs)):
        used = {name: column[row] for name, column in cells.items()}
        adverse = None
        if rule.threshold is not None:
            adverse = rule.is_adverse(model, explanation.probability)
        yield {
            "model": run.model_hash,
            "inputs": used,
            "missing": [name for name in cells if gone[name][row]],
            "unseen": [n for n in levels if used.get(n) is not None and used[n] not in levels[n]],
            "notes": list(explanation.flags),
            "intercept": explanation.intercept,
            "components": [_component(c) for c in explanation.components],
            "score": explanation.score,
            "probability": explanation.probability,
            "adverse": adverse,
            "reasons": [asdict(reason) for reason in reasons[row]],
        }


def _component(component: ComponentContribution) -> Record:
    terms = [
        {"term": c.term, "value": c.value, **({"path": c.text} if "." in c.term else {})}
        for c in component.contributions
    ]
    return {"component": component.component, "value": component.value, "terms": terms}


def plain_id(value: Any) -> str | int | None:
    """Return an id as a text or a whole number."""
    if is_absent(value):
        return None
    text = level_text(value)
    return int(value) if not isinstance(value, (str, bool)) and text.lstrip("-").isdigit() else text


def read_cells(model: Model, raw: Mapping[str, Any]) -> tuple[Inputs, Cells]:
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

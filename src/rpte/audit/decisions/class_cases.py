"""What a log records of a case of several classes: its class, and the scores of all.

Contributions are those to the difference of the score of the class given and the one that it is
compared with; see `reason_codes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from rpte.audit.decisions.reasons import compared, pair_reasons
from rpte.audit.decisions.records import Record, Run, component_record
from rpte.model.classes import ClassesModel
from rpte.table.inputs import Inputs


def class_cases(run: Run, inputs: Inputs, read: list[Mapping[str, Any]]) -> Iterator[Record]:
    """Yield what is known of cases; `read` says what the model read of each."""
    model, rule = run.model, run.rule
    assert isinstance(model, ClassesModel)
    score = model.score(inputs)
    p = model.loss.response(score.T).T
    found: dict[int, Record] = {}
    for some in compared(model, score, rule.against):
        own = inputs.take(some.rows)
        told = zip(
            some.rows.tolist(),
            some.pair.explain(own),
            pair_reasons(some, own, rule, run.catalogue),
            strict=True,
        )
        for row, explanation, reasons in told:
            found[row] = {
                "intercept": explanation.intercept,
                "components": [component_record(run, c) for c in explanation.components],
                "class": some.chosen,
                "against": some.against,
                "scores": score[row].tolist(),
                "probabilities": p[row].tolist(),
                "adverse": None,
                "reasons": [asdict(reason) for reason in reasons],
            }
    for row, (record, explanation) in enumerate(
        zip(read, model.outline.explain(inputs), strict=True)
    ):
        notes = list(explanation.flags)
        yield {"model": run.model_hash, **record, "notes": notes, **found[row]}

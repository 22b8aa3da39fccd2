"""What the other public functions return: loads, comparisons, intervals, figures, logs, exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rpte.figures.marks import chart
from rpte.model.classes import ClassesModel
from rpte.model.summary import counted
from rpte.notebook.card import Card, Fold, Mark, Note, Number, Picture, Table, facts, numbers
from rpte.notebook.records import cell, words
from rpte.report.numbers import short, signed

if TYPE_CHECKING:
    from rpte.audit.compare import ModelsCompared
    from rpte.audit.decisions.decide import Logged
    from rpte.audit.decisions.replay import Replay
    from rpte.audit.load import AuditLoad
    from rpte.estimators.cost import FitCost
    from rpte.export.parity import Parity
    from rpte.model.curves import Curve
    from rpte.scorecard.card import Scorecard
    from rpte.table.inputs import Inputs
    from rpte.utils.progress import Progress
    from rpte.validation.alternatives import Alternative, Alternatives
    from rpte.validation.cross_validate import Estimate
    from rpte.validation.uncertainty import Bootstrap, CaseIntervals, Interval

MOST_CASES = 20
MOST_LINES = 12  # of a table of points that is open at once
MOST_BYTES = 1e9


def audit_html(load: AuditLoad) -> str:
    """Return the audit load."""
    rows = [
        ("terms (MU)", Number(f"{load.mu:,}")),
        ("conditions in the whole model (MIU)", Number(f"{load.miu:,}")),
        ("conditions for one prediction, mean (IIU)", None if load.iiu is None else cell(load.iiu)),
        ("bound before training", None if load.bound is None else Number(f"{load.bound:,}")),
    ]
    return Card(f"Audit load of {load.family}", (), [facts(rows)]).html


def comparison_html(found: Mapping[str, Any]) -> str:
    """Return how two models differ: terms, guarantees, settings and predictions."""
    terms, blocks = found["terms"], []
    for word in ("added", "removed"):
        rows = [(each["term"], each["text"], *_sizes(each)) for each in terms[word]]
        blocks.append(Fold(f"{len(rows)} terms {word}", [_table(rows)], is_open=0 < len(rows) < 9))
    changed = [
        (pair["b"]["term"], pair["b"]["text"], *_sizes(pair["a"]), *_sizes(pair["b"]))
        for pair in terms["changed"]
    ]
    blocks.append(Fold(f"{len(changed)} terms changed", [_table(changed, "before", "after")]))
    for name in ("guarantees", "settings"):
        rows = [(each["name"], words(each["a"]), words(each["b"])) for each in found[name]]
        if rows:
            blocks.append(Fold(f"{len(rows)} {name} differ", [Table(("", "a", "b"), rows)], True))
    if found["predictions"] is not None:
        blocks.append(_moved_predictions(found["predictions"]))
    a, b = found["models"]
    lines = [
        f"{name}: {counted(each['terms'], 'term')}, {counted(each['conditions'], 'condition')}, "
        f"{each['rows']:,.6g} training rows"
        for name, each in (("a", a), ("b", b))
    ]
    title = "The models are the same" if found["same"] else comparison_text(found)
    return Card(title, lines, blocks).html


def models_html(found: ModelsCompared) -> str:
    """Return several models on one page."""
    blocks: list[Any] = []
    for title, frame in found.sections():
        index = [str(name or "") for name in frame.index.names]
        rows = [
            (*map(str, key if isinstance(key, tuple) else (key,)), *map(cell, row))
            for key, row in zip(frame.index, frame.astype(object).to_numpy().tolist(), strict=True)
        ]
        heads = [*index, *(str(name).replace("_", " ") for name in frame.columns)]
        blocks.append(Fold(title, [Table(heads, rows)], is_open=True))
    return Card(found.title, (), blocks).html


def comparison_text(found: Mapping[str, Any]) -> str:
    """Say how many terms differ."""
    terms = found["terms"]
    counts = ", ".join(f"{len(terms[word])} {word}" for word in ("added", "removed", "changed"))
    return f"Terms: {counts}, {terms['kept']} kept"


def _sizes(term: Mapping[str, Any]) -> list[Number]:
    values = term["coefficients"] if "coefficients" in term else [term["coefficient"]]
    return [Number(", ".join(map(signed, values)))]


def _table(rows: Sequence[Sequence[Any]], *names: str) -> Table:
    return Table(("term", "if", *(names or ("adds",))), rows)


def _moved_predictions(found: Mapping[str, Any]) -> Fold:
    by = [
        (", ".join(each["variables"]), *numbers(map(short, (each["mean_size"], each["largest"]))))
        for each in found["by_variables"]
    ]
    blocks: list[Any] = [Table(("moved by", "mean size", "largest"), by)]
    most = [
        (Number(str(each["row"])), cell(each["a"]), cell(each["b"]), ", ".join(each["mostly"]))
        for each in found["moved_most"]
    ]
    blocks.append(Table(("row that moves most", "a", "b", "mostly by"), most))
    changed = found.get("classes_changed")
    said = "" if changed is None else f"; {counted(changed, 'row')} of another class"
    return Fold(f"Predictions of {counted(found['rows'], 'row')}{said}", blocks, is_open=True)


def alternatives_html(found: Alternatives) -> str:
    """Return the models that are about as good without some variables."""
    heads = ("without", "instead", "variables", "conditions", "deviance", "difference", "agreement")
    rows = [_alternative(each) for each in found.found]
    summary, *_ = str(found).split("\n")
    reference = counted(len(found.reference.sources), "variable")
    title = f"{counted(len(rows), 'alternative')} to a model of {reference}"
    return Card(title, [summary], [Table(heads, rows)]).html


def alternative_html(found: Alternative) -> str:
    """Return one alternative."""
    return Card("Alternative", [str(found)]).html


def _alternative(found: Alternative) -> tuple[Any, ...]:
    return (
        ", ".join(found.without),
        ", ".join(found.new),
        Number(str(len(found.sources))),
        Number(str(found.model.audit().miu)),
        Number(f"{found.deviance:.4f}"),
        Number(f"{found.difference:+.4f} ± {found.error:.4f}"),
        Number(f"{found.agreement:.3f}"),
    )


def bootstrap_html(drawn: Bootstrap) -> str:
    """Return the intervals of all coefficients, of several classes those of each."""
    if isinstance(drawn.model, ClassesModel):
        blocks: list[Any] = [
            Fold(f"class {label}", [intervals(drawn.terms(label=label))])
            for label in drawn.model.classes
        ]
    else:
        blocks = [intervals(drawn.terms())]
    title = f"{len(drawn.intercepts)} resamples: 95% intervals of the coefficients"
    return Card(title, [drawn.what], blocks).html


def intervals(found: Iterable[Interval]) -> Table:
    """Return intervals as a table."""
    rows = [
        (
            each.name,
            each.text,
            *numbers(map(signed, (each.estimate, each.low, each.high))),
            Number("" if each.zero is None else f"{each.zero:.0%}"),
        )
        for each in found
    ]
    heads = ("", "if", "estimate", "low", "high", "resamples at zero")
    return Table(heads, rows, where="`terms()`")


def case_intervals_html(case: CaseIntervals) -> str:
    """Return the intervals of one row."""
    title = f"{case.response.name} {short(case.response.estimate)}"
    line = f"from {short(case.response.low)} to {short(case.response.high)}"
    return Card(title, [line], [intervals([case.score, *case.components, *case.terms])]).html


def estimate_html(found: Estimate) -> str:
    """Return the figures of cross-validation: means, standard errors, and the folds below."""
    rows = [
        (name.replace("_", " "), cell(found.mean(name)), cell(found.error(name)))
        for name in found.measures
    ]
    heads = ["rows", *(name.replace("_", " ") for name in found.measures)]
    folds = [
        [cell(fold.rows), *(cell(getattr(fold, name)) for name in found.measures)]
        for fold in found.folds
    ]
    blocks = [Table(("", "mean", "standard error"), rows), Fold("Folds", [Table(heads, folds)])]
    title = f"Cross-validated in {counted(len(folds), 'fold')}, by {found.by}"
    return Card(title, (), blocks).html


def parity_html(found: Parity) -> str:
    """Return how near an export is to its model."""
    rows = [
        (name, *numbers((f"{each.largest:.3g}", f"{each.relative:.3g}", f"{each.rows:,}")))
        for name, each in found.differences.items()
    ]
    heads = ("line", "largest difference", "relative", "rows beyond rounding")
    notes = [Note(text) for text in found.notes]
    blocks = [*notes, Fold("Differences", [Table(heads, rows)])]
    mark = Mark(found.holds, "") if found.rows else None
    return Card(f"{found.file}: {found.target}", [str(found)], blocks, mark).html


def scorecard_html(card: Scorecard) -> str:
    """Return a card of points, by table."""
    from rpte.scorecard.card import evidence_cells, evidence_head, signed_points, titles
    from rpte.scorecard.meaning import headline, meanings

    heads, sums = meanings(card)
    title, *lines = headline(card)
    blocks: list[Any] = []
    named = dict(enumerate(titles(card), 1))
    for number, found in groupby(card.lines(), lambda line: line.table):
        if not number:
            continue
        rows = [
            (line.attribute, *numbers((signed_points(line), *evidence_cells(card, line))))
            for line in found
        ]
        lines_of = Table(("if", "points", *evidence_head(card)), rows)
        blocks.append(Fold(f"{number}. {named[number]}", [lines_of], len(rows) <= MOST_LINES))
    meant = [(*numbers(row[:-1]), row[-1]) for row in sums]
    blocks.append(Fold("What points stand for", [Table(heads, meant)]))
    return Card(title, lines, blocks).html


def reasons_html(found: Sequence[Any]) -> str:
    """Return the principal reasons of each row; a line for each, beyond some only counted."""
    blocks: list[Any] = []
    for number, told in enumerate(found[:MOST_CASES]):
        several = hasattr(told, "chosen")
        own = told.reasons if several else told
        head = f"{told.chosen} and not {told.against}: " if several else ""
        said = "; ".join(reason.sentence for reason in own) or "no reason"
        blocks.append(Fold(f"{head}{said}", [_reasons(own)], strong=f"row {number}"))
    left = len(found) - MOST_CASES
    if left > 0:
        blocks.append(Note(f"and {counted(left, 'more row')} in `to_frame()`"))
    return Card(f"Principal reasons of {counted(len(found), 'row')}", (), blocks).html


def class_reasons_html(told: Any) -> str:
    """Return the reasons of one row."""
    title = f"{told.chosen} and not {told.against}"
    return Card(title, (), [_reasons(told.reasons)]).html


def _reasons(reasons: Iterable[Any]) -> Table:
    rows = [
        (r.code, r.sentence, r.source, r.component, *numbers(map(short, (r.weight, r.gap))))
        for r in reasons
    ]
    return Table(("code", "sentence", "variable", "component", "weight", "gap"), rows)


def logged_html(done: Logged) -> str:
    """Return what was appended to a log of decisions."""
    title = f"{counted(done.cases, 'case')} logged, {done.total:,} in the log"
    return Card(title, [f"head {done.head}", "keep the head elsewhere: it proves the log"]).html


def replay_html(found: Replay) -> str:
    """Return what a replay of a log found."""
    rows = [(Number(str(each.line)), each.text) for each in found.findings]
    said = counted(len(rows), "finding") if rows else "all are as recorded, the chain is whole"
    lines = [f"head {found.head}"]
    if found.head_given:
        lines.append(f"the head that was given proves {counted(found.proved, 'case')}")
    else:
        lines.append("no head was given: a file written again looks like the original")
    title = f"{counted(found.cases, 'case')} computed again: {said}"
    return Card(title, lines, [Table(("line", "finding"), rows)], Mark(not rows, "")).html


def cost_html(cost: FitCost) -> str:
    """Return what a fit is expected to take."""
    rows = [
        ("seconds", Number(f"{cost.seconds:.3g}")),
        ("GB of memory", Number(f"{cost.memory / MOST_BYTES:.2g}")),
        ("GB on disk", Number(f"{cost.disk / MOST_BYTES:.2g}")),
    ]
    title = f"A fit of {cost.rows:,} rows x {cost.columns} columns takes about"
    return Card(title, ["each within a factor of two"], [facts(rows)]).html


def progress_html(now: Progress) -> str:
    """Return how far a fit is."""
    return Card(f"{now.share:.0%}: {now.stage}", [f"{now.seconds:.1f} s"]).html


def curve_html(curve: Curve) -> str:
    """Return a step function of time as a picture."""
    high = max(1.0, float(curve.y.max()))
    plot = chart((float(curve.x[0]), float(curve.x[-1])), (0.0, high), curve.name, "")
    steps = [(float(curve.x[0]), float(curve.y[0]))]
    for x, y in zip(curve.x[1:].tolist(), curve.y[1:].tolist(), strict=True):
        steps += [(x, steps[-1][1]), (x, y)]
    plot.line(steps)
    low, last = curve.domain
    label = f"from {short(float(curve.y[0]))} at {low:g} to {short(float(curve.y[-1]))} at {last:g}"
    return Card(f"Curve over {curve.name}", [label], [Picture(plot.labelled(label))]).html


def inputs_html(inputs: Inputs) -> str:
    """Return the variables of a table as a model reads them."""
    rows = [
        (v.name, v.kind, Number(f"{int(inputs.is_missing(v.name).sum()):,}"))
        for v in inputs.schema.variables
    ]
    title = f"{counted(inputs.n_rows, 'row')} as the model reads them"
    return Card(title, (), [Table(("variable", "kind", "missing"), rows)]).html

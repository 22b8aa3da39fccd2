"""A model as a card: what it predicts, its size, its components, and every term folded below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rpte.model.effect import shared_parts
from rpte.model.effects import words_of
from rpte.model.importance import RECORD, importance_rows
from rpte.model.steps import step_words
from rpte.model.summary import counted, figures, figures_text
from rpte.model.survival import SurvivalTarget
from rpte.notebook.card import Bar, Card, Fold, Note, Number, Picture, Table, numbers
from rpte.report.numbers import short, signed
from rpte.report.survival_cards import survival_identity
from rpte.report.survival_charts import baseline_chart

if TYPE_CHECKING:
    from rpte.model.causes import CausesModel
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

MOST_PARTS = 12
MOST_CLASSES = 8
TERM = ("term", "if", "typical step")


def model_html(model: Model) -> str:
    """Return a model as a compact card; the whole of it opens below."""
    return model_card(model).html


def classes_html(model: ClassesModel) -> str:
    """Return a model of several classes as a card: its classes, and below every coefficient."""
    return classes_card(model).html


def causes_html(model: CausesModel) -> str:
    """Return a model of several causes as a card: below it that of each cause."""
    return causes_card(model).html


def estimator_html(estimator: Any) -> str:
    """Return the card of a fitted estimator: that of its model, and how it was asked for."""
    card = card_of(estimator.model_)
    return replace(card, lines=[*card.lines, f"fitted by {estimator!r}"]).html


def card_of(model: Any) -> Card:
    """Return the card of a model of any kind."""
    if model.task == "multiclass":
        return classes_card(model)
    return causes_card(model) if hasattr(model, "causes") else model_card(model)


def model_card(model: Model) -> Card:
    """Return the card of a model of one score."""
    parts = counted(len(model.components), "component")
    title = f"{model.target.score_text} = {signed(model.intercept)} + {parts}"
    blocks: list[Any] = [*_importances(model, words_of(model)), *_baseline(model)]
    blocks.append(Fold("Components", [_components(model)]))
    heads = ("term", "if", "n", "coefficient", "typical step", model.loss.effect_name)
    words = step_words(model)
    rows = [
        (
            r.term,
            r.conditions,
            *numbers((f"{r.support:,.6g}", signed(r.coefficient))),
            words.get(r.term, ""),
            Number(short(r.effect)),
        )
        for r in model.rules()
    ]
    terms = Table(heads, rows, where="`rules()`")
    blocks.append(Fold("Every term", [terms, *_together(model)]))
    return Card(title, [*_size(model), *_figures(model)], blocks)


def classes_card(model: ClassesModel) -> Card:
    """Return the card of a model of several classes."""
    parts = counted(len(model.components), "component")
    title = f"{len(model.classes)} classes: a score for each, {parts}"
    total = sum(model.target.totals)
    shares = [
        (str(label), Number(f"{weight / total:.1%}"))
        for label, weight in zip(model.classes, model.target.totals, strict=True)
    ]
    few = len(shares) <= MOST_CLASSES
    classes = Fold("Classes", [Table(("class", "share of training"), shares)], is_open=few)
    names = [str(label) for label in model.classes]
    start = ("", "intercept", "", *numbers(signed(each) for each in model.intercepts))
    terms = Table((*TERM, *names), [start, *_by_score(model)], where="`rules()`")
    line = "probabilities go with exp(score)"
    every = Fold("Every coefficient, by class", [terms, *_together(model)])
    return Card(
        title, [line, *_size(model), *_figures(model)], [classes, _components(model), every]
    )


def causes_card(model: CausesModel) -> Card:
    """Return the card of a model of several causes."""
    names = [str(label) for label in model.causes]
    terms = Table((*TERM, *names), _by_score(model), where="`rules()`")
    each = [
        Fold(f"Cause {label}", [Note(card.title), *map(Note, card.lines), *card.blocks])
        for label, card in zip(names, map(model_card, model.models), strict=True)
    ]
    blocks = [_components(model), Fold("Every coefficient, by cause", [terms]), *each]
    return Card(model.score_text, _size(model), blocks)


def _by_score(model: ClassesModel | CausesModel) -> list[tuple[Any, ...]]:
    """Return every term with its typical step and its coefficient in every score."""
    words = step_words(model.outline)
    return [
        (r.term, r.conditions, words.get(r.term, ""), *numbers(map(signed, r.coefficients)))
        for r in model.rules()
    ]


def _size(model: Any) -> list[str]:
    load = model.audit()
    read = f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')} to read"
    cases = f"{model.training['rows']:,.6g} training {_cases(model)}"
    return [f"{read}; {cases}"]


def _cases(model: Any) -> str:
    if model.task == "survival":
        return f"rows, {model.target.total:,.6g} with the event"
    return "rows"


def _figures(model: Model | ClassesModel) -> list[str]:
    record = figures(model)
    return [] if record is None else [figures_text(record, model.loss)]


def _importances(model: Model, effects: Mapping[str, str]) -> list[Table]:
    """Return variables by importance, where the model tells it, and what each does, in words."""
    found = model.training.get(RECORD) or {}
    rows = list(importance_rows(model.components, found)) if found else []
    largest = max((row[2] for row in rows), default=0.0)
    cells: list[tuple[Any, ...]] = [
        (name, Number(f"{share:.0%}"), Bar(value, largest, one_sided=True), effects.get(name, ""))
        for name, _, value, share in rows
    ]
    cells = cells or [(name, "", "", words) for name, words in effects.items()]
    heads = ("variable", "importance", "", "adds to the score of an average case")
    return [Table(heads, cells, MOST_PARTS)] if cells else []


def _components(model: Any) -> Table:
    """Return the components with the variables that each reads."""
    rules = model.rules()
    rows = [
        (
            c.name,
            ", ".join(c.sources),
            Number(str(len(c.trees))),
            Number(str(sum(rule.component == c.name for rule in rules))),
        )
        for c in model.components
    ]
    return Table(("component", "reads", "trees", "terms"), rows, MOST_PARTS)


def _together(model: Model | ClassesModel) -> list[Note]:
    """Say which variables act through several terms."""
    names = [name for c in model.components for name in c.sources if shared_parts(c, name)]
    if not names:
        return []
    said = f"{', '.join(names)} act together with others, in several terms"
    return [Note(f"{said}: `plot(name)` draws the whole effect of one.")]


def _baseline(model: Model) -> Sequence[Any]:
    """Return the curve of a case of average score, of a time until an event."""
    if not isinstance(model.target, SurvivalTarget):
        return []
    identity = survival_identity(model, model.target.horizons)
    rows = [
        (each["name"], *numbers(f"{s:.3f}" for s in each["at"])) for each in identity["baselines"]
    ]
    heads = [
        "survival of a case of average score",
        *(f"at {h['text']}" for h in identity["horizons"]),
    ]
    curve = Fold("Baseline survival", [Picture(baseline_chart(identity))])
    return [Table(heads, rows, MOST_PARTS), curve]

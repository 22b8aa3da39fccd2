"""One prediction, or several: contributions by size, with the values of the case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rpte.model.explanations import ordered
from rpte.model.summary import counted
from rpte.model.survival import SurvivalTarget
from rpte.notebook.card import (
    MOST_ROWS,
    Aside,
    Bar,
    Card,
    Fold,
    Indented,
    Note,
    Number,
    Picture,
    Table,
)
from rpte.report.numbers import signed
from rpte.report.survival_cards import baseline_curve, case_over_time
from rpte.report.survival_charts import case_chart

if TYPE_CHECKING:
    from rpte.model.class_explanation import ClassExplanation
    from rpte.model.explain import ComponentContribution, Explanation

MOST_CASES = 20
MOST_CLASSES = 8
STRONGEST = 3


def explanation_html(told: Explanation) -> str:
    """Return one prediction as a table of contributions, the largest first."""
    return explanation_card(told).html


def class_explanation_html(told: ClassExplanation) -> str:
    """Return why a row is given a class and not another, with the probabilities of all."""
    return class_explanation_card(told).html


def explanations_html(explained: Sequence[Any]) -> str:
    """Return some predictions, a line for each that folds open, beyond some only counted."""
    folds = [_case(told) for told in explained[:MOST_CASES]]
    left = len(explained) - MOST_CASES
    more = f"and {counted(left, 'more row')}; `to_frame()` has them all"
    notes = [Note(more)] if left > 0 else []
    title = f"{counted(len(explained), 'prediction')} explained"
    return Card(title, (), [*folds, *notes]).html


def _case(told: Any) -> Fold:
    several = hasattr(told, "difference")
    card = class_explanation_card(told) if several else explanation_card(told)
    one = told.difference if several else told
    head = (
        card.title if several else f"score {signed(one.score)}, {one.target.caption(one.response)}"
    )
    strongest = [
        f"{one.given(each.sources)} ({signed(each.value)})"
        for each in ordered(one.components)[:STRONGEST]
    ]
    why = f": {'; '.join(strongest)}" if strongest else ""
    lines = [Note(text) for text in card.lines]
    return Fold(f"{head}{why}", [*lines, *card.blocks], strong=f"row {told.row}")


def explanation_card(told: Explanation) -> Card:
    """Return the card of one prediction."""
    lines = [f"score {signed(told.score)}", *told.said_for]
    return Card(f"Row {told.row}: {told.target.caption(told.response)}", lines, _blocks(told))


def class_explanation_card(told: ClassExplanation) -> Card:
    """Return the card of one class against another."""
    ranked = sorted(told.probabilities.items(), key=lambda pair: -pair[1])
    shares = [(str(label), Number(f"{p:.2%}")) for label, p in ranked]
    few = len(ranked) <= MOST_CLASSES
    chances = Fold("Probabilities", [Table(("class", "probability"), shares)], is_open=few)
    title = f"Row {told.row}: why {told.chosen} and not {told.against}"
    line = "contributions to the difference of their scores, the log odds of one against the other"
    return Card(title, [line], [chances, *_blocks(told.difference)])


def _blocks(told: Explanation, most: int = MOST_ROWS) -> list[Any]:
    components = ordered(told.components)
    largest = max((abs(each.value) for each in components), default=0.0)
    rows: list[Sequence[Any]] = [("", told.start, Number(signed(told.intercept)), "")]
    for component in components:
        rows += _component(told, component, largest)
    rows.append(("", "score", Number(signed(told.score)), ""))
    blocks: list[Any] = [Table(("because", "of this row", "adds", ""), rows, most)]
    blocks += map(Note, told.folded())
    blocks += [Note(flag, warns=True) for flag in told.flags]
    return [*blocks, *_over_time(told)]


def _component(
    told: Explanation, component: ComponentContribution, largest: float
) -> Iterator[Sequence[Any]]:
    """Yield a line for a component, and one for each of its terms where it has several."""
    parts, bar = component.contributions, Bar(component.value, largest)
    value = Number(signed(component.value))
    if len(parts) == 1:
        yield f"{parts[0].term}: {parts[0].text}", told.given(parts[0].sources), value, bar
        return
    together = f"{component.component}: {len(parts)} terms together"
    yield together, told.given(component.sources), value, bar
    for each in parts:
        yield Indented(f"{each.term}: {each.text}"), "", Aside(signed(each.value)), ""


def _over_time(told: Explanation) -> list[Any]:
    """Return the curve of a case beside the baseline; a model of strata has several of these."""
    target = told.target
    if not isinstance(target, SurvivalTarget) or target.strata:
        return []
    case = case_over_time(target, told.score, target.horizons, baseline_curve(target, 0))
    drawing = case_chart(case, target.time_name, "case of average score")
    at = ", ".join(f"at {at['text']}: {at['value']:.2f}" for at in case["survival"])
    return [Fold(f"Survival {at}", [Picture(drawing)])]

"""What `rpte uncertainty` shows of several classes: coefficients of each, or one case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from rpte.cli.options import Case
from rpte.cli.show import coefficient
from rpte.cli.terminal import print_found, table_of

if TYPE_CHECKING:
    from rpte.validation.class_uncertainty import ClassBootstrap
    from rpte.validation.uncertainty import Interval

FORM = (
    "Of every term the middle coefficient is 0, which need not be of the same class in every "
    "resample: the differences of two classes are surer than the coefficients of one."
)


def show_class_bootstrap(
    drawn: ClassBootstrap, one: Case | None, level: float, as_json: bool
) -> None:
    """Print the intervals of all coefficients, or of the probabilities of one case."""
    record = {
        **(one.record if one else {}),
        "what": drawn.what,
        "level": level,
        "resamples": len(drawn.intercepts),
        "seed": drawn.seed,
        "groups": drawn.groups,
        "training_table": drawn.same_table,
        "redrawn": drawn.redrawn,
        "unconverged": drawn.unconverged,
    }
    if one is None:
        terms = [drawn.terms(label, level) for label in drawn.model.classes]
        pairs = list(zip(drawn.model.classes, terms, strict=True))
        told = [{"class": label, "terms": [t.to_dict() for t in own]} for label, own in pairs]
        lasso = drawn.model.training["objective"]["l1_ratio"] == 1.0
        notes = [FORM, _sentence(drawn)] if lasso else [_sentence(drawn)]
        views: list[Any] = [_terms_view(pairs, level), "", *notes]
        print_found(as_json, {**record, "classes": told}, *views)
        return
    found = drawn.probabilities(one.cells, level)[0]
    labels = zip(drawn.model.classes, found, strict=True)
    told = [{"class": label, **interval.to_dict()} for label, interval in labels]
    views = [Text(one.title, "italic"), _case_view(found, level), "", _sentence(drawn)]
    print_found(as_json, {**record, "probabilities": told}, *views)


def _terms_view(pairs: Sequence[tuple[Any, list[Interval]]], level: float) -> Table:
    view = table_of(("class", ">coefficient", f">{level:.0%} from", ">to", ">zero", "term"))
    for terms in zip(*(own for _, own in pairs), strict=True):
        for place, (interval, (label, _)) in enumerate(zip(terms, pairs, strict=True)):
            zero = "" if interval.zero is None else f"{interval.zero:.0%}"
            said = f"{interval.name}: {interval.text}" if interval.text else interval.name
            ends = (interval.estimate, interval.low, interval.high)
            view.add_row(str(label), *map(coefficient, ends), zero, "" if place else said)
    return view


def _case_view(found: tuple[Interval, ...], level: float) -> Table:
    view = table_of(("class", ">probability", f">{level:.0%} from", ">to"))
    for interval in found:
        ends = (interval.estimate, interval.low, interval.high)
        view.add_row(interval.name, *(f"{value:.4f}" for value in ends))
    return view


def _sentence(drawn: ClassBootstrap) -> str:
    notes = [f"What this is: {drawn.what}"]
    if drawn.redrawn:
        notes.append(f"{drawn.redrawn} resamples without one of the classes were drawn again")
    if drawn.unconverged:
        notes.append(f"{drawn.unconverged} fits missed their tolerance")
    return "; ".join(notes) + "."

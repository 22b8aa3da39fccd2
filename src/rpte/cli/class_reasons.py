"""Why one of several classes and not another: what `rpte reasons` and `decide` ask and show."""

from typing import Any

from rich.text import Text

from rpte.audit.decisions.class_reasons import ClassReasonRule, ClassReasons
from rpte.cli.classes import named_class
from rpte.cli.terminal import console, print_json, table_of
from rpte.errors import InputError
from rpte.model.classes import ClassesModel

COMPARED = {"mean": "the training mean", "best": "the case that speaks least for it"}


def class_rule(
    model: ClassesModel,
    reference: Any,
    against: str | None,
    adverse: str | None,
    threshold: float | None,
    most: int,
    least: float,
) -> ClassReasonRule:
    """Return how reasons of several classes are found; refuse what they have not."""
    for name, value in (("--adverse", adverse), ("--threshold", threshold)):
        if value is not None:
            raise InputError(
                f"{name} is for models of one score; of several classes reasons say why the one "
                "predicted and not the next, or not --against"
            )
    named = named_class(model, "--against", against)
    return ClassReasonRule(reference, named, most, least).checked(model)


def show_class_reasons(
    shown: list[tuple[Any, ClassReasons]], rule: ClassReasonRule, as_json: bool
) -> None:
    """Print why cases are given their class and not another."""
    if as_json:
        print_json([{"case": case, **told.to_dict()} for case, told in shown])
        return
    view = table_of(("case", "class", "against", ">weighs", "code", "reason", "component"))
    for case, told in shown:
        named = str(case), str(told.chosen), str(told.against)
        if not told.reasons:
            view.add_row(*named, "", "", Text("none", "dim"), "")
        for place, reason in enumerate(told.reasons):
            first = ("", "", "") if place else named
            weight = f"{reason.weight:+.4g}"
            view.add_row(*first, weight, reason.code, reason.sentence, reason.component)
    screen = console()
    title = f"Why the class and not the other, in log odds against {COMPARED[rule.reference]}"
    screen.print(title, soft_wrap=True)
    screen.print(view)

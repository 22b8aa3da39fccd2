"""Principal reasons in the words of the form, by the rules of `rpte.audit.decisions.reasons`.

Each variable of each component is a candidate, in the order that breaks ties. What a variable of a
component of several could improve alone is a choice among *alternatives*: the component's subtotal
at every value of that variable between which the component can tell a difference, the others being
as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rpte.audit.decisions import reasons as principal
from rpte.audit.decisions.catalogue import Catalogue, Reason, read_catalogue
from rpte.errors import InputError
from rpte.export.fixed import Fixed
from rpte.export.form import Form, Line, Node, apply
from rpte.export.parity import read_silently
from rpte.export.target import Options
from rpte.model.grid import grid
from rpte.model.parts import Component

# How many reasons are told, and how; the other options as `rpte reasons` has them.
OPTIONS = {
    "reasons": 0, "adverse": None, "reference": "mean", "threshold": None,
    "least": principal.LEAST, "catalogue": None,
}  # fmt: skip
WHAT = "a query with reasons"
TIE = 1e-9  # of the first weight: what may be another order after rounding


@dataclass(frozen=True, slots=True)
class Candidate:
    """A variable that may be a reason, and what is said of it.

    `alternatives` are other subtotals of the component, none if it reads one variable alone;
    `missing` is said where the case has no value for it.
    """

    source: str
    component: str
    alternatives: tuple[Node, ...]
    code: str
    sentence: str
    missing: str


def settle(form: Form, options: Options) -> dict[str, Any]:
    """Return the options with the catalogue itself in place of its file, and numbers read."""
    settled = dict(options)
    given = settled["catalogue"]
    if given is not None and not isinstance(given, (Catalogue, Mapping)):
        given = read_catalogue(given, form.one_score(WHAT))
    entries = given.entries if isinstance(given, Catalogue) else given
    settled["catalogue"] = entries and {name: dict(entry) for name, entry in entries.items()}
    if isinstance(settled["threshold"], str):
        try:
            settled["threshold"] = float(settled["threshold"])
        except ValueError:
            raise InputError(f"threshold={settled['threshold']!r}; it must be a number") from None
    return settled


def rule_of(form: Form, options: Options) -> principal.ReasonRule:
    """Return how reasons are found, refusing what a query cannot compare with."""
    if options["reference"] == "threshold":
        raise InputError(
            "reference='threshold' compares with cases of a table, which an export does not have; "
            "use 'mean' or 'best'"
        )
    return principal.reason_rule(
        form.one_score(WHAT),
        options["reference"],
        adverse=options["adverse"],
        most=options["reasons"],
        threshold=options["threshold"],
        least=options["least"],
    )


def check(form: Form, options: Options) -> None:
    """Refuse options that make no sense."""
    wanted = options["reasons"]
    if not isinstance(wanted, int) or wanted < 0:
        raise InputError(f"reasons={wanted!r}; it must be a whole number, 0 or more")
    if wanted:
        rule_of(form, options)
    given = [name for name in OPTIONS if options[name] != OPTIONS[name]]
    if given and not wanted:
        raise InputError(f"{given[0]} is about reasons, and none are asked for; add --reasons 4")


def candidates(form: Form, options: Options) -> list[Candidate]:
    """Return the variables that may be reasons: by component in file order, then by name."""
    catalogue, found = Catalogue(options["catalogue"] or {}), []
    for component in form.model.components:
        for source in component.sources:
            bare = Reason(source, component.name, "", "", 0.0, 0.0)
            there, gone = catalogue.said(bare, ()), catalogue.said(bare, (source,))
            others = _alternatives(form, component, source) if len(component.sources) > 1 else ()
            said = (there.code, there.sentence, gone.sentence)
            found.append(Candidate(source, component.name, others, *said))
    return found


def _alternatives(form: Form, component: Component, source: str) -> tuple[Node, ...]:
    """Return the subtotals at other values of a variable, each expression once."""
    model = form.one_score(WHAT)
    variable = model.schema[source]
    names = [part.name for part in component.parts]
    parts = [line for line in form.role("term") if line.name in names]
    found: dict[Node, None] = {}
    for value in grid(model, component, source):
        cell = float(value) if variable.kind == "number" else variable.levels[int(value)]
        cell = float(cell) if variable.numeric else cell
        fixed = Fixed(source, cell)
        changed = (fixed.number(p.value) if source in p.sources else Line(p.name) for p in parts)
        found[fixed.number(apply("sum", *changed))] = None
    return tuple(found)


def same_reasons(form: Form, options: Options, X: Any, told: Sequence[Sequence[Any]]) -> str:
    """Compare the reasons of an export with those of the library, and say that they agree.

    `told` has for each row and place the code, the sentence and the weight, None where there is
    none. Another order is an error unless it is for a tie that rounding decides.
    """
    model, rule = form.one_score(WHAT), rule_of(form, options)
    catalogue = Catalogue(options["catalogue"] or {})
    truth = principal.reason_codes(model, read_silently(model, X), rule, catalogue)
    for row, (reasons, found) in enumerate(zip(truth, told, strict=True)):
        wanted: list[tuple[Any, ...]] = [(r.code, r.sentence, r.weight) for r in reasons]
        wanted += [(None, None, None)] * (rule.most - len(wanted))
        if not _agree(wanted, found):
            said = [reason.sentence for reason in reasons]
            raise InputError(
                f"the reasons of row {row} are {[r[1] for r in found if r[1] is not None]}, and "
                f"{said} in the model; nothing was written"
            )
    return f"the reasons of all {len(truth)} rows are those of rpte reasons"


def _agree(wanted: Sequence[Any], found: Sequence[Any]) -> bool:
    weights = [[weight or 0.0 for _, _, weight in side] for side in (wanted, found)]
    slack = TIE * max(weights[0])
    if any(abs(a - b) > slack for a, b in zip(*weights, strict=True)):
        return False
    pairs = list(zip(wanted, found, strict=True))
    same = all((a[0] or "", a[1]) == (b[0] or "", b[1]) for a, b in pairs)
    told = [weight for weight in weights[0] if weight > 0.0]
    # Two reasons may have changed places by rounding.
    return same or any(abs(a - b) <= slack for a, b in pairwise(told))

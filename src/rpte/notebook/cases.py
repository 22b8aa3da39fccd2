"""One case looked at closely: other values, and what would have to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rpte.model.explain import value_text
from rpte.notebook.card import Card, Fold, Note, Number, Table, numbers
from rpte.report.numbers import signed

if TYPE_CHECKING:
    from rpte.counterfactual.answers import Answer, AnswersText
    from rpte.model.what_if import WhatIf


def what_if_html(found: WhatIf) -> str:
    """Return which contributions move where values of a row are changed."""
    changes = [(n, value_text(a), value_text(b)) for n, (a, b) in found.changes.items()]
    heads = ("term", "from", "to", "moves by")
    blocks: list[Any] = [
        Table(("changed", "from", "to"), changes),
        *(Note(f"{name} is not read by the model: nothing can move") for name in found.unread),
        Table(heads, [*_moved(found), _score(found)]),
        *(Note(text) for text in found.said_at),
        Note(found.said),
        *(Note(flag, warns=True) for flag in found.after.flags),
    ]
    target, before, after = found.before.target, found.before.response, found.after.response
    title = f"{target.response_text}: from {target.shown(before)} to {target.shown(after)}"
    return Card(title, (), blocks).html


def _moved(found: WhatIf) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for moved in found.moved:
        pairs = zip(moved.before.contributions, moved.after.contributions, strict=True)
        for old, new in pairs:
            if old != new:
                text = f"{new.term}: {new.text}"
                if old.term != new.term:
                    text += f" (was {old.term}: {old.text})"
                values = (old.value, new.value, new.value - old.value)
                rows.append((text, *numbers(map(signed, values))))
    return rows


def _score(found: WhatIf) -> tuple[Any, ...]:
    old, new = found.before.score, found.after.score
    return ("score", *numbers(map(signed, (old, new, new - old))))


def counterfactuals_html(found: AnswersText) -> str:
    """Return the cheapest changes that reach what is asked for."""
    blocks: list[Any] = []
    for number, answer in enumerate(found.answers, 1):
        blocks += [Note(f"{number}. {_head(answer)}"), _changes(answer)]
        blocks += [Note(flag, warns=True) for flag in answer.flags]
    blocks += [Note(found.reason, warns=True)] if found.reason else []
    if found.hidden:
        names = ", ".join(found.hidden)
        blocks.append(Note(f"the file does not tell the range of {names}: say it with `allowed`"))
    assumed = Fold("What may change", [Note(text) for text in found.changeable.sentences()])
    return Card(found.question, (), [*blocks, assumed]).html


def answer_html(answer: Answer) -> str:
    """Return one answer."""
    notes = [Note(flag, warns=True) for flag in answer.flags]
    return Card(_head(answer), (), [_changes(answer), *notes]).html


def _head(answer: Answer) -> str:
    return f"{answer.reached} for a cost of {answer.cost:.4g} ({answer.proof})"


def _changes(answer: Answer) -> Table:
    rows = [
        (c.variable, value_text(c.old), value_text(c.new), Number(f"{c.cost:.4g}"))
        for c in answer.changes
    ]
    return Table(("variable", "from", "to", "cost"), rows)

"""Claims of a model as they were checked: ticks, crosses, and the evidence folded below."""

from rpte.model.check import FAILS, NOT_CHECKED, Check, Checks
from rpte.notebook.card import Card, Fold, Mark, Note, Table


def checks_html(checks: Checks) -> str:
    """Return the claims with ticks and crosses; those that fail show their evidence at once."""
    failed = [check for check in checks if check.result == FAILS]
    blocks: list[Table | Fold] = [
        Table(("", "fails because"), [(Mark(False, c.name), c.evidence) for c in failed])
    ]
    held = [check for check in checks if check.result not in (FAILS, NOT_CHECKED)]
    blocks += [Fold(check.name, [Note(check.evidence)], strong="✓") for check in held]
    blocks += [_not_checked(check) for check in checks if check.result == NOT_CHECKED]
    return Card(checks.headline, (), blocks, Mark(checks.holds, "")).html


def _not_checked(check: Check) -> Fold:
    names = "; ".join(check.claims) or check.evidence
    return Fold(f"not checked: {names}", [Note(check.evidence)], strong="○")

"""Every public method and function on every task: it works, or is refused in words."""

from __future__ import annotations

from hostile_cases.case import Case, Result
from test_every_method import PAGE, everything, page


def methods(_: int) -> Result:
    """Call everything, and compare what came of it with the page of the documentation."""
    result = Result()
    found, wrong = everything()
    result.tried = sum(map(len, found.values()))
    result.failures += wrong
    result.expect(PAGE.read_text(encoding="utf-8") == page(found), "the page is out of date")
    return result


CASES = [Case("public methods and functions of every task: work, or refused in words", methods)]

"""A report as a cell shows it: where it is, and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rpte.notebook.card import Card, Link, Mark, Note, Number, Table
from rpte.report.numbers import short

if TYPE_CHECKING:
    from rpte.report.report import Report

MOST_MEASURES = 6


def report_html(report: Report) -> str:
    """Return where the page is, what was measured and what fails."""
    found = report.contents
    blocks: list[Any] = []
    if report.path is not None:
        blocks.append(Link(str(report.path), report.path.as_posix()))
    else:
        blocks.append(Note("not written yet: save(path) writes the page"))
    measured = found["performance"] or {}
    rows = [
        (m["name"], *(Number(short(m[key])) for key in ("value", "low", "high")))
        for m in measured.get("measures", ())[:MOST_MEASURES]
    ]
    blocks.append(Table(("", "measured", "from", "to"), rows))
    if measured.get("training"):
        blocks.append(Note("measured on the training rows: on others it will be worse", warns=True))
    blocks += [Note(f"fails: {name}", warns=True) for name in report.failed]
    held = sum(check["holds"] for check in found["guarantees"])
    line = f"{report.size}; {held} claims hold, {len(report.failed)} fail"
    return Card(f"Report: {found['title']}", [line], blocks, Mark(not report.failed, "")).html

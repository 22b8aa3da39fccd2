"""Which section answers what a rule or guideline asks, and what a person must still supply.

`crosswalk.csv` lists what is asked for, item by item: its number in the text, sections of the
report that answer it, fields of the about file that people must fill for it, and what lies `beyond`
both. The items are in our own words and no substitute for the texts themselves.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

NOTES = {
    "TRIPOD+AI (2024)": "Items by number, in our words.",
    "EU AI Act, Annex IV": "Points of the technical documentation, in our words.",
    "SR 26-2 / OCC 2026-13": (
        "Themes in our words; the guidance is principles-based and does not number them."
    ),
}


def read_items() -> list[dict[str, Any]]:
    """Return every item; `sections` and `fields` are lists of names."""
    text = (files("rpte.report") / "crosswalk.csv").read_text(encoding="utf-8")
    return [
        {**item, "sections": item["sections"].split(), "fields": item["fields"].split()}
        for item in csv.DictReader(text.splitlines())
    ]


def crosswalk(filled: Mapping[str, str], present: Mapping[str, bool]) -> list[dict[str, Any]]:
    """Return every item with the sections that answer it and what is still open.

    `filled` are the texts of the about file, `present` says which sections have contents.
    """
    items, found = read_items(), []
    for name, note in NOTES.items():
        rows = [_row(item, filled, present) for item in items if item["text"] == name]
        closed = sum(not row["open"] for row in rows)
        found.append({"name": name, "note": note, "rows": rows, "closed": closed})
    return found


def _row(
    item: Mapping[str, Any], filled: Mapping[str, str], present: Mapping[str, bool]
) -> dict[str, Any]:
    gaps = [field for field in item["fields"] if field not in filled]
    absent = [section for section in item["sections"] if not present.get(section, True)]
    return {
        **{key: item[key] for key in ("number", "asks", "sections")},
        "absent": absent,
        "supplied": [field for field in item["fields"] if field in filled],
        "gaps": gaps,
        "beyond": item["beyond"],
        "open": bool(gaps or absent or item["beyond"]),
    }

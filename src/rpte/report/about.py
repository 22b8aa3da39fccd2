"""What people supply for a report, and which questions of rules and guidelines that answers.

`about.toml` holds the questions that only people can answer, each a field of a small TOML file.
Peers are audit loads of other models, from a file. `crosswalk.csv` lists what rules ask for, item
by item: its number in the text, sections of the report that answer it, fields of the about file
that people must fill for it, and what lies `beyond` both. The items are in our own words and no
substitute for the texts themselves.
"""

import csv
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rpte.errors import InputError, did_you_mean
from rpte.utils.toml import quoted, read_toml

QUESTIONS: dict[str, dict[str, str]] = tomllib.loads(
    (files("rpte.report") / "about.toml").read_text(encoding="utf-8")
)
TITLES = {table: questions.pop("title") for table, questions in QUESTIONS.items()}
PLACES = tuple(f"{table}.{key}" for table, keys in QUESTIONS.items() for key in keys)
EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class About:
    """What has been said: texts by place, and by variable what an expert expects of it."""

    texts: Mapping[str, str]
    expected: Mapping[str, str]

    def text(self, table: str, key: str) -> str | None:
        """Return what is said in a field, None where nothing is."""
        return self.texts.get(f"{table}.{key}")


NOTHING = About({}, {})


def read_about(path: Path) -> About:
    """Read the file; an empty text is a gap, an unknown name is an error."""
    texts: dict[str, str] = {}
    for table, values in read_toml(path).items():
        if not isinstance(values, dict):
            raise InputError(f"{path}: {table!r} stands outside a table; put it under [model], ...")
        for key, value in values.items():
            if isinstance(value, (dict, list)):
                kind = type(value).__name__
                raise InputError(f"{path}: {table}.{key} is a {kind}; write one text")
            texts[f"{table}.{key}"] = str(value).strip()
    start = f"{EXPECTED}."
    unknown = [at for at in texts if at not in PLACES and not at.startswith(start)]
    if unknown:
        hint = did_you_mean(unknown[0], PLACES)
        raise InputError(
            f"{path} has {unknown[0]!r}, which is no field of the report{hint}; "
            "`rpte report --template about.toml` writes a file with all fields"
        )
    filled = {place: text for place, text in texts.items() if text}
    expected = {p.removeprefix(start): t for p, t in filled.items() if p.startswith(start)}
    return About({p: t for p, t in filled.items() if p in PLACES}, expected)


def template(sources: Sequence[str] = ()) -> str:
    """Return a file with every field empty, its question above it; experts speak of `sources`."""
    lines = ["# What only people can say of the model. Leave a text empty and the report shows a"]
    lines += ["# gap in its place. Longer texts: three quotes on either side.", ""]
    for table, title in TITLES.items():
        lines.append(f"[{table}]  # {title}")
        for key, question in QUESTIONS[table].items():
            lines += [f"# {question}", f'{key} = ""']
        lines.append("")
    lines += [f"[{EXPECTED}]  # What experts expect of a variable before they see the model"]
    lines += [f'{quoted(name)} = ""' for name in sources] or ['# "age" = "risk rises with age"']
    return "\n".join([*lines, ""])


def about_contents(about: About) -> dict[str, Any]:
    """Return all fields by group, filled or not, and how many are open."""
    groups = [
        {
            "title": title,
            "fields": [
                {"place": f"{table}.{key}", "question": question, "text": about.text(table, key)}
                for key, question in QUESTIONS[table].items()
            ],
        }
        for table, title in TITLES.items()
    ]
    return {
        "groups": groups,
        "expected": dict(about.expected),
        "fields": len(PLACES),
        "open": len(PLACES) - len(about.texts),
    }


NAME_KEYS = ("name", "model", "family")


def read_peers(path: Path) -> list[dict[str, Any]]:
    """Read other models' audit loads: a JSON list of objects, or a CSV table with a header.

    Each has a name (`name`, `model` or `family`) and a number `miu`; `mu`, `iiu` and anything else
    is shown as it is.
    """
    text = path.read_text(encoding="utf-8-sig")
    try:
        is_json = path.suffix.lower() == ".json"
        given = json.loads(text) if is_json else list(csv.DictReader(text.splitlines()))
    except (json.JSONDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}; give a JSON list or a CSV") from error
    records = given if isinstance(given, list) else [given]
    return [_peer(path, number, record) for number, record in enumerate(records, 1)]


def _peer(path: Path, number: int, record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise InputError(f"{path}: entry {number} is {record!r}; give an object per model")
    lower = {str(key).strip().lower(): value for key, value in record.items()}
    name = next((lower.pop(key) for key in NAME_KEYS if lower.get(key)), None)
    miu = _number(lower.pop("miu", None))
    if name is None or miu is None:
        raise InputError(
            f"{path}: entry {number} lacks a name or a number 'miu'; audit_load(model, X) of "
            "Python counts both for other families"
        )
    loads = {key: _number(lower.pop(key, None)) for key in ("mu", "iiu")}
    more = {key: _number(v) or str(v) for key, v in lower.items() if v not in (None, "")}
    return {"name": str(name), "miu": miu, **loads, "more": more}


def _number(value: Any) -> float | None:
    try:
        found = float(str(value).replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


NOTES = {
    "TRIPOD+AI (2024)": "Items by number, in our words.",
    "EU AI Act, Annex IV": "Points of the technical documentation, in our words.",
    "SR 26-2 / OCC 2026-13": (
        "Themes in our words; the guidance is principles-based and does not number them."
    ),
}


OF_TIMES = {  # sections that answer more of an item where the outcome is a time until an event
    ("TRIPOD+AI (2024)", "5b"): ["data"],  # follow-up
    ("TRIPOD+AI (2024)", "8a"): ["performance"],  # horizons
    ("TRIPOD+AI (2024)", "12b"): ["performance"],  # whether hazards are proportional
    ("TRIPOD+AI (2024)", "12g"): ["performance"],  # curves at horizons
}


def read_items() -> list[dict[str, Any]]:
    """Return every item; `sections` and `fields` are lists of names."""
    text = (files("rpte.report") / "crosswalk.csv").read_text(encoding="utf-8")
    return [
        {**item, "sections": item["sections"].split(), "fields": item["fields"].split()}
        for item in csv.DictReader(text.splitlines())
    ]


def crosswalk(
    filled: Mapping[str, str], present: Mapping[str, bool], times: bool = False
) -> list[dict[str, Any]]:
    """Return items with the sections that answer them, given `filled` texts, and what is open.

    `times` is for a model of a time until an event, of which a page says more.
    """
    items, found = read_items(), []
    if times:
        more = [OF_TIMES.get((item["text"], item["number"]), []) for item in items]
        sections = [
            list(dict.fromkeys([*item["sections"], *own]))
            for item, own in zip(items, more, strict=True)
        ]
        items = [{**item, "sections": own} for item, own in zip(items, sections, strict=True)]
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

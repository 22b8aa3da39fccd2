"""What only people can say of a model: the fields of a small TOML file, and what is still open."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpte.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to be said: where it stands in the file, and the question that it answers."""

    table: str
    key: str
    question: str

    @property
    def place(self) -> str:
        """Such as ``purpose.use``."""
        return f"{self.table}.{self.key}"


TITLES = {
    "model": "The model and its owner",
    "purpose": "Purpose and use",
    "outcome": "Outcome",
    "data": "Origin of the data",
    "limits": "Limits and risks",
    "oversight": "Human oversight",
    "monitoring": "Monitoring and change",
    "governance": "Governance",
}
FIELDS = tuple(
    Field(table, key, question)
    for table, keys in {
        "model": {
            "name": "What is the model called?",
            "version": "Which version is this?",
            "owner": "Who answers for it (person and unit)?",
            "contact": "How can the owner be reached?",
            "risk_tier": "Which risk class or tier has it been given, and by whom?",
        },
        "purpose": {
            "use": "Which decision does it support, and how?",
            "users": "Who uses its output, with what training?",
            "population": "For whom, where and when is it meant?",
            "out_of_scope": "What must it not be used for?",
            "benefit": "What is gained over the present practice?",
        },
        "outcome": {
            "definition": "What exactly is predicted, over which horizon?",
            "labelling": "Who or what recorded it, and how reliably?",
        },
        "data": {
            "source": "Where do the data come from?",
            "period": "When were they collected?",
            "inclusion": "Which cases were taken in, which left out, how many each?",
            "preparation": "What was done to the data before this table?",
            "permission": "On what legal or ethical ground are they used?",
        },
        "limits": {
            "known": "What are its known weaknesses?",
            "groups": "Which groups may be served worse, and what was done about it?",
            "inputs": "What happens if an input is missing, late or wrong?",
            "harm": "What harm can a wrong prediction do, and to whom?",
        },
        "oversight": {
            "review": "Who reviews its output before a decision?",
            "override": "Who may override it, and where is that recorded?",
            "appeal": "How can the person concerned object?",
        },
        "monitoring": {
            "plan": "What is watched, how often, with which limits?",
            "changes": "Which changes are planned or allowed, and who decides?",
            "next_review": "When is the next review due?",
        },
        "governance": {
            "validation": "Who validated it independently, when, with what result?",
            "approval": "Who approved it, when, with what conditions?",
            "security": "How are model, data and log protected?",
            "funding": "Who paid for it, and which interests conflict?",
            "registration": "Where are protocol, registration and standards applied?",
            "sharing": "Where can data, code and model be had?",
            "involvement": "How were the people concerned involved?",
        },
    }.items()
    for key, question in keys.items()
)
PLACES = tuple(field.place for field in FIELDS)
EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class About:
    """What has been said: texts by place, and by variable what an expert expects of it."""

    texts: Mapping[str, str]
    expected: Mapping[str, str]


NOTHING = About({}, {})


def read_about(path: Path) -> About:
    """Read the file; an empty text is a gap, an unknown name is an error."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}; correct it there") from error
    texts: dict[str, str] = {}
    for table, values in content.items():
        if not isinstance(values, dict):
            raise InputError(f"{path}: {table!r} stands outside a table; put it under [model], ...")
        for key, value in values.items():
            texts[f"{table}.{key}"] = _text(path, f"{table}.{key}", value)
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


def _text(path: Path, place: str, value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise InputError(f"{path}: {place} is a {type(value).__name__}; write one text")
    return str(value).strip()


def template(sources: Sequence[str] = ()) -> str:
    """Return a file with every field empty, its question above it.

    Parameters
    ----------
    sources : names of variables
        Those of which an expert may say what he expects.
    """
    lines = ["# What only people can say of the model. Leave a text empty and the report shows a"]
    lines += ["# gap in its place. Longer texts: three quotes on either side.", ""]
    for table, title in TITLES.items():
        lines += [f"[{table}]  # {title}"]
        for field in FIELDS:
            if field.table == table:
                lines += [f"# {field.question}", f'{field.key} = ""']
        lines.append("")
    lines += [f"[{EXPECTED}]  # What experts expect of a variable before they see the model"]
    lines += [f'{_quoted(name)} = ""' for name in sources] or ['# "age" = "risk rises with age"']
    return "\n".join([*lines, ""])


def _quoted(name: str) -> str:
    """Return a TOML key in quotes, whatever stands in the name."""
    escapes = {'"': '\\"', "\\": "\\\\"}
    plain = "".join(escapes.get(c, c) if c.isprintable() else f"\\U{ord(c):08X}" for c in name)
    return f'"{plain}"'


def about_contents(about: About) -> dict[str, Any]:
    """Return all fields by group, filled or not, and how many are open."""
    groups = [
        {
            "title": title,
            "fields": [
                {"place": f.place, "question": f.question, "text": about.texts.get(f.place)}
                for f in FIELDS
                if f.table == table
            ],
        }
        for table, title in TITLES.items()
    ]
    return {
        "groups": groups,
        "expected": dict(about.expected),
        "fields": len(FIELDS),
        "open": len(FIELDS) - len(about.texts),
    }

"""What only people can say of a model: the fields of a small TOML file, and what is still open.

`about.toml` holds the question that each field answers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rpte.errors import InputError, did_you_mean

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

    `sources` are the variables of which an expert may say what he expects.
    """
    lines = ["# What only people can say of the model. Leave a text empty and the report shows a"]
    lines += ["# gap in its place. Longer texts: three quotes on either side.", ""]
    for table, title in TITLES.items():
        lines.append(f"[{table}]  # {title}")
        for key, question in QUESTIONS[table].items():
            lines += [f"# {question}", f'{key} = ""']
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

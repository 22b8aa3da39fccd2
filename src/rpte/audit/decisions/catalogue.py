"""The user's catalogue of reasons: from a variable to a code and a sentence, in a TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rpte.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from rpte.audit.decisions.reasons import Reason
    from rpte.model.model import Model

FIELDS = ("code", "sentence", "missing")
HEAD = """\
# What a person is told when a variable is among the principal reasons.
# code: any short code. sentence: said when the variable weighs against the case.
# missing: said instead when the case has no value for it.
"""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Codes and sentences by variable.

    Parameters
    ----------
    entries : mapping from variable to {"code", "sentence", "missing"}
        A variable that is not here is said by its name.
    """

    entries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def said(self, reason: Reason, missing: Collection[str]) -> Reason:
        """Return a reason with its code and sentence."""
        entry = self.entries.get(reason.source, {})
        gone = reason.source in missing
        sentence = entry.get("missing" if gone else "sentence", "")
        plain = f"{reason.source} is missing" if gone else reason.source
        return replace(reason, code=entry.get("code", ""), sentence=sentence or plain)


def read_catalogue(path: str | Path, model: Model | None = None) -> Catalogue:
    """Read a catalogue; with a model, refuse variables that it does not know.

    Parameters
    ----------
    path : str or Path
        TOML: one table per variable under ``[reasons]``, such as
        ``[reasons.age]`` with ``code``, ``sentence`` and ``missing``.
    model : Model, optional
    """
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from error
    entries = document.get("reasons")
    if not isinstance(entries, dict) or set(document) != {"reasons"}:
        raise InputError(
            f"{path} must hold [reasons] and nothing else; see rpte reasons --template"
        )
    for name, entry in entries.items():
        if not isinstance(entry, dict) or not set(entry) <= set(FIELDS):
            raise InputError(f"{path}: [reasons.{name}] may hold {list(FIELDS)} and nothing else")
        for key, text in entry.items():
            if not isinstance(text, str):
                raise InputError(f"{path}: reasons.{name}.{key} is {text!r}; it must be text")
        if model is not None and name not in model.schema.names:
            hint = did_you_mean(name, model.schema.names)
            raise InputError(f"{path}: '{name}' is no variable of the model{hint}; rename it")
    return Catalogue(entries)


def catalogue_template(model: Model) -> str:
    """Return a catalogue of the variables that a model reads, to be filled in."""
    read = set(model.sources)
    lines = [HEAD]
    for number, name in enumerate((name for name in model.schema.names if name in read), 1):
        texts = f"R{number:02d}", name, f"{name} is missing"
        lines.append(f"[reasons.{_quoted(name)}]")
        lines += [f"{key} = {_quoted(text)}" for key, text in zip(FIELDS, texts, strict=True)]
        lines.append("")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a TOML string; JSON's is one but for the control character 127."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""A reason in the user's words: the catalogue of codes and sentences by variable, a TOML file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rpte.errors import InputError, did_you_mean
from rpte.model.file import AnyModel
from rpte.model.given import model_of
from rpte.utils.records import ShownFields
from rpte.utils.toml import quoted, read_toml

ENTRY_KEYS = ("code", "sentence", "missing")
TEMPLATE_HEAD = """\
# What a person is told when a variable is among the principal reasons.
# code: any short code. sentence: said when the variable weighs against the case.
# missing: said instead when the case has no value for it.
"""


@dataclass(frozen=True, slots=True, repr=False)
class Reason(ShownFields):
    """One principal reason; code and sentence are from the catalogue."""

    source: str  # the variable that the reason names
    component: str
    code: str
    sentence: str
    weight: float  # the variable's share of the gap, in units of the score, against the case
    gap: float  # what the whole component adds against the case, compared with the reference


@dataclass(frozen=True, slots=True, repr=False)
class Catalogue(ShownFields):
    """Codes and sentences by variable.

    Parameters
    ----------
    entries : mapping from variable to {"code", "sentence", "missing"}
        A variable that is not here is said by its name.

    Examples
    --------
    >>> import rpte
    >>> X = {"debt": [1.0, 2.0, 3.0, 4.0] * 10}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, ["paid", "paid", "lost", "lost"] * 10).model_
    >>> catalogue = rpte.Catalogue({"debt": {"code": "R1", "sentence": "Your debts are high"}})
    >>> rule = rpte.reason_rule(model, adverse="lost")
    >>> [(told.code, told.sentence) for told in rpte.reason_codes(model, X, rule, catalogue)[3]]
    [('R1', 'Your debts are high')]
    """

    entries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def said(self, reason: Reason, missing: Collection[str]) -> Reason:
        """Return a reason with its code and sentence."""
        entry = self.entries.get(reason.source, {})
        gone = reason.source in missing
        sentence = entry.get("missing" if gone else "sentence", "")
        plain = f"{reason.source} is missing" if gone else reason.source
        return replace(reason, code=entry.get("code", ""), sentence=sentence or plain)


def read_variables(model: AnyModel) -> list[str]:
    """Return the variables that a model reads, in the order of its schema."""
    read = set(model.sources)
    return [name for name in model.schema.names if name in read]


def read_catalogue(path: str | Path, model: AnyModel | None = None) -> Catalogue:
    """Read a catalogue; with a model, refuse variables that it does not know.

    Parameters
    ----------
    path : str or Path
        TOML: one table per variable under ``[reasons]``, such as
        ``[reasons.age]`` with ``code``, ``sentence`` and ``missing``.
    model : Model, optional

    Examples
    --------
    >>> import rpte, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reasons.toml"
    ...     _ = path.write_text('reasons.debt = {code = "R1", sentence = "Debts are high"}')
    ...     catalogue = rpte.read_catalogue(path)
    >>> catalogue.entries["debt"]["code"]
    'R1'
    """
    known = None if model is None else model_of(model, "read_catalogue").schema.names
    document = read_toml(path)
    entries = document.get("reasons")
    if not isinstance(entries, dict) or set(document) != {"reasons"}:
        raise InputError(
            f"{path} must hold [reasons] and nothing else; see rpte reasons --template"
        )
    for name, entry in entries.items():
        if not isinstance(entry, dict) or not set(entry) <= set(ENTRY_KEYS):
            raise InputError(
                f"{path}: [reasons.{name}] may hold {list(ENTRY_KEYS)} and nothing else"
            )
        for key, text in entry.items():
            if not isinstance(text, str):
                raise InputError(f"{path}: reasons.{name}.{key} is {text!r}; it must be text")
        if known is not None and name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"{path}: '{name}' is no variable of the model{hint}; rename it")
    return Catalogue(entries)


def catalogue_template(model: AnyModel) -> str:
    """Return a catalogue of the variables that a model reads, to be filled in."""
    lines = [TEMPLATE_HEAD]
    for number, name in enumerate(read_variables(model), 1):
        texts = f"R{number:02d}", name, f"{name} is missing"
        lines.append(f"[reasons.{quoted(name)}]")
        lines += [f"{key} = {quoted(text)}" for key, text in zip(ENTRY_KEYS, texts, strict=True)]
        lines.append("")
    return "\n".join(lines) + "\n"

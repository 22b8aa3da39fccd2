"""Damage done to model files on purpose, and what must come of it: the fuzz tests' shared part."""

from __future__ import annotations

import copy
import io
import json
import math
import random
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np

from model_files import sealed
from rpte import ModelFileError, load, verify_file
from rpte.check import rpte_check
from rpte.model.causes import CausesModel

ROUNDING = 1e-12
DEEP = "[" * 3000 + "]" * 3000
NESTED: Any = 0
for _ in range(300):
    NESTED = [NESTED]
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 5e-324, 1e308, -1e308, 10**18, 10**400, 1e-300),
    *("", "x", "T1", "D1", "C1", "age", "missing", "level", "a\nb", "é", "\u2028", "\x00"),
    *("x" * 999, [], {}, [[]], [None], {"a": 1}, ["x", "x"], {"leaf": 0}, {"leaf": -1}, NESTED),
    *(math.nan, math.inf, "\ud800"),
)  # fmt: skip
TOKENS = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"null", b"true", b"{}", b"[]"),
    *(b"9" * 400, b"9" * 5000, b'"\\ud800"', b'"\\u0000"', b"0x10", b"01", b"+1", b"'a'", b"//"),
    *(DEEP.encode(), b'""', b"1.", b".5"),
    *(b'{"a":1,"a":1}', b"\xff", b"\xc3\x28", b"\xef\xbb\xbf", b"\x00"),
)  # fmt: skip


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return a file with one to three wounds: flips, cuts, doubled parts, tokens."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(_WOUNDS)(content, rng)
    return content


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return b"?"
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + content[start + rng.choice((1, 2, 5, 50, 500)) :]


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _double(content: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    end = start + rng.choice((1, 3, 30, 300))
    return content[:end] + content[start:]


def _token(content: bytes, rng: random.Random) -> bytes:
    """Put a strange token in the place of a value, or anywhere."""
    colons = [i for i, c in enumerate(content) if c == ord(":")]
    if not colons or rng.random() < 0.2:
        at = rng.randrange(len(content) + 1)
        return content[:at] + rng.choice(TOKENS) + content[at:]
    start = rng.choice(colons) + 1
    end = start
    while end < len(content) and content[end] not in b",}]\n":
        end += 1
    return content[:start] + rng.choice(TOKENS) + content[end:]


def _double_key(content: bytes, rng: random.Random) -> bytes:
    """Give an object a key a second time."""
    opens = [i for i, c in enumerate(content) if c == ord("{")]
    if not opens:
        return content
    at = rng.choice(opens) + 1
    keys = (b'"kind"', b'"name"', b'"leaf"', b'"l1"', b'"format"', b'"coefficient"', b'"hash"')
    return content[:at] + rng.choice(keys) + b":0," + content[at:]


_WOUNDS = (_flip, _flip, _cut, _truncate, _double, _token, _token, _double_key)


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key or position) of every value inside a document."""
    stack = [document]
    while stack:
        value = stack.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            if isinstance(value[key], (dict, list)):
                stack.append(value[key])


def damaged_document(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a document with one to three changed fields and, where possible, a hash that fits."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(places(document))
        _change(*rng.choice(found), found, rng)
    try:
        return sealed(document)
    except (ValueError, RecursionError):  # NaN in it: no hash can fit
        return document


def _change(holder: Any, key: Any, found: list[Any], rng: random.Random) -> None:
    kind = rng.random()
    if kind < 0.35:
        holder[key] = copy.deepcopy(rng.choice(VALUES))
    elif kind < 0.5 and isinstance(holder[key], (int, float)):
        holder[key] = _other_number(holder[key], rng)
    elif kind < 0.6:
        del holder[key]
    elif kind < 0.75:
        other, place = rng.choice(found)
        value = other[place] if _has(other, place) else None
        holder[key] = copy.deepcopy(value)
    elif isinstance(holder[key], list) and holder[key]:
        _rearrange(holder[key], rng)
    elif isinstance(holder, dict):
        holder[rng.choice(("extra", "kind", "leaf", "", "é"))] = copy.deepcopy(holder[key])


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _other_number(value: float, rng: random.Random) -> float:
    with np.errstate(all="ignore"):
        larger = float(np.float64(value) * 1e300)
    return rng.choice((-value, value + 1, value * 1.5, larger, value / 3, int(value)))


def _rearrange(items: list[Any], rng: random.Random) -> None:
    way = rng.randrange(3)
    if way == 0:
        rng.shuffle(items)
    elif way == 1:
        items.append(copy.deepcopy(rng.choice(items)))
    else:
        items.pop(rng.randrange(len(items)))


def moved_document(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a document with one number, word or flag that is another, and a hash that fits."""
    path, value = rng.choice([(path, value) for path, value in fields(document) if others(value)])
    return sealed(changed(document, path, rng.choice(others(value))))


NAMES = ("", " ", "\r", "a\nb", "\u2028", "\x00", "1", "=1+1", "é", "D1", "age", "x" * 300, "a=b")


def renamed_document(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a document in which one name is another wherever it stands, and a hash that fits."""
    names = sorted({value for _, value in fields(document) if isinstance(value, str)})
    old, new = rng.choice(names), rng.choice(NAMES)

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {new if key == old else key: renamed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [renamed(each) for each in value]
        return new if value == old else value

    return sealed(renamed(document))


Path = tuple[str | int, ...]


def fields(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the place and the value of everything in a document that holds nothing else."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        if isinstance(value, (dict, list)) and value:
            yield from fields(value, (*path, key))
        else:
            yield (*path, key), value


def others(value: Any) -> list[Any]:
    """Return values of the same type that a field could have instead."""
    found: list[Any] = []
    if isinstance(value, bool):
        found = [not value]
    elif isinstance(value, int):
        found = [value + 1, value - 1, value * 3]
    elif isinstance(value, float):
        found = [value + 1e-3 * (1 + abs(value)), value * 0.9 - 1e-3, value * 1000.0, -value]
    elif isinstance(value, str):
        found = [value + "x"]
    if isinstance(value, float):  # what differs by rounding alone says the same
        found = [other for other in found if abs(other - value) > ROUNDING]
    return [other for other in found if other != value]


def changed(document: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a copy of a document with another value in one place."""
    document = copy.deepcopy(document)
    holder: Any = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return document


def dumped(document: Any) -> str:
    """Return a document as a careless writer would: NaN and lone surrogates included."""
    return json.dumps(document)


def some_rows(model: Any) -> dict[str, list[Any]]:
    """Return rows for whatever schema a model has."""
    table = {}
    for variable in model.schema.variables:
        levels = [*variable.levels, "a level never seen"][:3]
        cells = [0.0, -1.5, 1e6] if variable.kind == "number" else levels
        table[variable.name] = np.array([*cells, None, *variable.levels[:1], None], object)
    shortest = min(len(column) for column in table.values())
    return {name: column[:shortest] for name, column in table.items()}


def outcome_of_damage(path: Any, original: Any) -> str:
    """Load a file whose bytes were damaged: it is refused in one line, or still the same model."""
    try:
        model = load(path)
    except ModelFileError as error:
        _one_line(error)
        return "refused"
    assert model == original, "another model was accepted"
    return "the same model"


def outcome_of_forgery(path: Any) -> str:
    """Load a file whose hash was made to fit: it is refused in one line, or works as a model."""
    try:
        model = load(path)
    except ModelFileError as error:
        _one_line(error)
        try:
            verify_file(path)  # a wrong hash is its business; it must not crash either
        except ModelFileError as again:
            _one_line(again)
        return "refused"
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = some_rows(model)
        inputs = model.read(rows)
        assert len(model.score(inputs)) == inputs.n_rows
        assert len(model.predict(inputs)) == inputs.n_rows
        of = {"cause": model.causes[0]} if isinstance(model, CausesModel) else {}
        assert len(model.explain(inputs, **of)) == inputs.n_rows
        assert model.summary()
        assert model.rules() is not None
        checks = verify_file(path, rows)
    assert all(isinstance(check.holds, bool) for check in checks)
    return "works" if all(check.holds for check in checks) else "works, fails its checks"


def verdicts(path: Any) -> tuple[bool, bool]:
    """Return whether the library passes a file (`load`, `verify_file`), and whether the checker."""
    with np.errstate(all="ignore"):
        try:
            load(path)
            passed = all(check.holds for check in verify_file(path))
        except ModelFileError:
            passed = False
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        code = rpte_check.main([str(path)])
    assert "malformed" not in said.getvalue(), said.getvalue()
    return passed, code == 0


def _one_line(error: Exception) -> None:
    text = str(error)
    assert text, "an error without words"
    assert text.splitlines() == [text], f"more than one line: {text!r}"
    assert len(text) < 1000, f"{len(text)} characters: {text[:100]!r}"

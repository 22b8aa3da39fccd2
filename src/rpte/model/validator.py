"""A small JSON Schema validator: the keywords of `rpte.model.format`, one-line errors with a place.

It walks with a stack of its own, so that no nesting can exhaust Python's, and stops at the first
offence. In two points it is stricter than the standard, which cannot say them: a whole number is
written without a decimal point, and every number is a finite 64-bit float.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rpte.errors import ModelFileError

Path = tuple[str | int, ...]
Fault = str | None
LONGEST = 60

TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "an object"),
    "array": ((list,), "an array"),
    "string": ((str,), "text"),
    "boolean": ((bool,), "true or false"),
    "number": ((int, float), "a finite number"),
    "integer": ((int,), "a whole number"),
    "null": ((type(None),), "null"),
}
LIMITS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.lt, "be at least"),
    "exclusiveMinimum": (operator.le, "be above"),
    "maximum": (operator.gt, "be at most"),
    "minItems": (operator.lt, "have at least"),
    "maxItems": (operator.gt, "have at most"),
}


def validate(document: Any, schema: Mapping[str, Any]) -> None:
    """Raise `ModelFileError` with the JSON path of the first offence against a schema.

    Parameters
    ----------
    document : plain JSON values
    schema : mapping
        Definitions under ``$defs`` are found by ``$ref``.

    Examples
    --------
    >>> from rpte.model.format import SCHEMA
    >>> validate({"kind": "valeu"}, {**SCHEMA["$defs"]["column"], "$defs": SCHEMA["$defs"]})
    Traceback (most recent call last):
    rpte.errors.ModelFileError: kind is 'valeu'; it must be one of ['value', 'missing', 'level', \
'interval', 'step', 'hinge', 'scale', 'pattern', 'pair']
    """
    definitions = schema.get("$defs", {})
    stack: list[tuple[Any, Mapping[str, Any], Path]] = [(document, schema, ())]
    while stack:
        value, rule, path = stack.pop()
        rule = _resolved(value, rule, definitions, path)
        for check in (_type, _enum, _limit, _pattern, _keys):
            fault = check(value, rule)
            if fault is not None:
                raise ModelFileError(f"{place(path)} {fault}")
        # Reversed: the first field of the file is looked at first.
        stack.extend(reversed(list(_inside(value, rule, path))))


def place(path: Path) -> str:
    """Write a path as in ``components[2].trees[0].root``; odd keys are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier() and len(step) <= LONGEST:
            text += f".{step}" if text else step
        else:
            text += f"[{shown(step)}]"
    return text or "the document"


def shown(value: Any) -> str:
    """Show a value on one line, shortened."""
    if isinstance(value, (dict, list)):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**LONGEST:
        return f"a whole number of {value.bit_length()} bits"
    text = ascii(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _resolved(
    value: Any, rule: Mapping[str, Any], definitions: Mapping[str, Any], path: Path
) -> Mapping[str, Any]:
    """Follow references, and choose the branch that the value means to be."""
    rule = _followed(rule, definitions)
    while "oneOf" in rule:
        options = [_followed(option, definitions) for option in rule["oneOf"]]
        rule = _branch(value, options, path)
    return rule


def _followed(rule: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in rule:
        rule = definitions[rule["$ref"].rsplit("/", 1)[-1]]
    return rule


def _branch(value: Any, options: list[Mapping[str, Any]], path: Path) -> Mapping[str, Any]:
    """Choose by 'kind', else by the keys that are there, else by type."""
    objects = [option for option in options if option.get("type") == "object"]
    if not isinstance(value, dict) or not objects:
        for option in options:
            if _type(value, option) is None and _enum(value, option) is None:
                return option
        wanted = " or ".join(_wanted(option) for option in options)
        raise ModelFileError(f"{place(path)} is {shown(value)}; it must be {wanted}")
    kinds = {o["properties"]["kind"]["const"]: o for o in objects if "kind" in o["properties"]}
    if len(kinds) == len(objects) and "kind" in value:
        found = value["kind"]
        if not isinstance(found, str) or found not in kinds:
            where = place((*path, "kind"))
            raise ModelFileError(f"{where} is {shown(found)}; it must be one of {list(kinds)}")
        return kinds[found]
    whole = [option for option in objects if all(key in value for key in option["required"])]
    some = [option for option in objects if any(key in value for key in option["required"])]
    return [*whole, *some, *objects][0]


def _wanted(option: Mapping[str, Any]) -> str:
    return f"one of {option['enum']}" if "enum" in option else _words(option["type"])


def _words(types: str | list[str]) -> str:
    return " or ".join(TYPES[name][1] for name in ([types] if isinstance(types, str) else types))


def _type(value: Any, rule: Mapping[str, Any]) -> Fault:
    types = rule.get("type", [])
    if not types or any(_is(value, t) for t in ([types] if isinstance(types, str) else types)):
        return None
    return f"is {shown(value)}; it must be {_words(types)}"


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    known = isinstance(value, TYPES[name][0])
    return known and (name not in ("number", "integer") or _finite(value))


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number beyond 64-bit floats
        return False


def _enum(value: Any, rule: Mapping[str, Any]) -> Fault:
    allowed = [rule["const"]] if "const" in rule else rule.get("enum")
    # As JSON has it: true is not 1.
    if allowed is None or any(type(value) is type(item) and value == item for item in allowed):
        return None
    wanted = f"{allowed[0]!r}" if "const" in rule else f"one of {allowed}"
    return f"is {shown(value)}; it must be {wanted}"


def _limit(value: Any, rule: Mapping[str, Any]) -> Fault:
    array = isinstance(value, list)
    if not array and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return None
    size, found = (
        (len(value), f"has {len(value)} items") if array else (value, f"is {shown(value)}")
    )
    for name, (beyond, words) in LIMITS.items():
        if name in rule and name.endswith("Items") == array and beyond(size, rule[name]):
            return f"{found}; it must {words} {rule[name]}"
    return None


def _pattern(value: Any, rule: Mapping[str, Any]) -> Fault:
    if "pattern" not in rule or not isinstance(value, str):
        return None
    # JSON Schema's $ is the very end; Python's also stands before a last newline.
    if re.search(rule["pattern"].removesuffix("$") + r"\Z", value):
        return None
    return f"is {shown(value)}; it must match {rule['pattern']}"


def _keys(value: Any, rule: Mapping[str, Any]) -> Fault:
    if not isinstance(value, dict):
        return None
    absent = [key for key in rule.get("required", ()) if key not in value]
    if absent:
        return f"lacks the field '{absent[0]}'"
    if rule.get("additionalProperties") is False:
        strange = [key for key in value if key not in rule["properties"]]
        if strange:
            return f"has the unknown field {shown(strange[0])}"
    for key, others in rule.get("dependentRequired", {}).items():
        lacking = [other for other in others if key in value and other not in value]
        if lacking:
            return f"has '{key}' but lacks '{lacking[0]}'"
    return None


def _inside(
    value: Any, rule: Mapping[str, Any], path: Path
) -> Iterator[tuple[Any, Mapping[str, Any], Path]]:
    """Yield what a value holds, with the rules for it."""
    if isinstance(value, list) and "items" in rule:
        for number, item in enumerate(value):
            yield item, rule["items"], (*path, number)
    elif isinstance(value, dict):
        named, others = rule.get("properties", {}), rule.get("additionalProperties")
        for key, item in value.items():
            if key in named:
                yield item, named[key], (*path, key)
            elif isinstance(others, dict):
                yield item, others, (*path, key)

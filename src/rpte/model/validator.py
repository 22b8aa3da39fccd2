"""A small JSON Schema validator: the keywords of `rpte.model.format`, one-line errors with a place.

It walks with a stack of its own, so that no nesting can exhaust Python's, and stops at the first
offence. In two points it is stricter than the standard, which cannot say them: a whole number is
written without a decimal point, and every number is a finite 64-bit float.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rpte.errors import ModelFileError

Path = tuple[str | int, ...]
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
        rule = _followed(rule, definitions)
        while "oneOf" in rule:
            options = [_followed(option, definitions) for option in rule["oneOf"]]
            rule = _branch(value, options, path)
        for fault in _faults(value, rule):
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


def _followed(rule: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in rule:
        rule = definitions[rule["$ref"].rsplit("/", 1)[-1]]
    return rule


def _branch(value: Any, options: list[Mapping[str, Any]], path: Path) -> Mapping[str, Any]:
    """Choose by 'kind', else by the keys that are there, else by type."""
    objects = [option for option in options if option.get("type") == "object"]
    if not isinstance(value, dict) or not objects:
        for option in options:
            if _is_of_type(value, option) and _is_allowed(value, option):
                return option
        wanted = [f"one of {o['enum']}" if "enum" in o else _words(o) for o in options]
        raise ModelFileError(f"{place(path)} is {shown(value)}; it must be {' or '.join(wanted)}")
    if len(objects) == 1:
        return objects[0]
    kinds = {o["properties"]["kind"]["const"]: o for o in objects if "kind" in o["properties"]}
    if len(kinds) == len(objects) and "kind" in value:
        found = value["kind"]
        if not isinstance(found, str) or found not in kinds:
            where = place((*path, "kind"))
            raise ModelFileError(f"{where} is {shown(found)}; it must be one of {list(kinds)}")
        return kinds[found]
    whole = [option for option in objects if all(key in value for key in option["required"])]
    return max(whole[:1] or objects, key=lambda o: sum(key in value for key in o["required"]))


def _faults(value: Any, rule: Mapping[str, Any]) -> Iterator[str]:
    """Yield in what a value itself offends against a rule."""
    if not _is_of_type(value, rule):
        yield f"is {shown(value)}; it must be {_words(rule)}"
    if not _is_allowed(value, rule):
        wanted = f"{rule['const']!r}" if "const" in rule else f"one of {rule['enum']}"
        yield f"is {shown(value)}; it must be {wanted}"
    array = isinstance(value, list)
    if array or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        size = len(value) if array else value
        found = f"has {size} items" if array else f"is {shown(value)}"
        for name, (beyond, words) in LIMITS.items():
            if name in rule and name.endswith("Items") == array and beyond(size, rule[name]):
                yield f"{found}; it must {words} {rule[name]}"
    # JSON Schema's $ is the very end; Python's also stands before a last newline.
    pattern = rule.get("pattern", "").removesuffix("$") + r"\Z"
    if isinstance(value, str) and not re.search(pattern, value):
        yield f"is {shown(value)}; it must match {rule['pattern']}"
    if isinstance(value, dict):
        yield from _key_faults(value, rule)


def _key_faults(value: dict[str, Any], rule: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"lacks the field '{key}'" for key in rule.get("required", ()) if key not in value)
    if rule.get("additionalProperties") is False:
        strange = (key for key in value if key not in rule["properties"])
        yield from (f"has the unknown field {shown(key)}" for key in strange)
    for key, others in rule.get("dependentRequired", {}).items():
        lacking = (other for other in others if key in value and other not in value)
        yield from (f"has '{key}' but lacks '{other}'" for other in lacking)


def _types(rule: Mapping[str, Any]) -> list[str]:
    types = rule.get("type", [])
    return [types] if isinstance(types, str) else types


def _words(rule: Mapping[str, Any]) -> str:
    return " or ".join(TYPES[name][1] for name in _types(rule))


def _is_of_type(value: Any, rule: Mapping[str, Any]) -> bool:
    types = _types(rule)
    if not types:
        return True
    if isinstance(value, bool):
        return "boolean" in types
    try:
        finite = not isinstance(value, (int, float)) or math.isfinite(value)
    except OverflowError:  # a whole number beyond 64-bit floats
        finite = False
    return finite and any(isinstance(value, TYPES[name][0]) for name in types)


def _is_allowed(value: Any, rule: Mapping[str, Any]) -> bool:
    allowed = [rule["const"]] if "const" in rule else rule.get("enum")
    # As JSON has it: true is not 1.
    return allowed is None or any(type(value) is type(item) and value == item for item in allowed)


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

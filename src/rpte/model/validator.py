"""A small JSON Schema validator: the keywords of `rpte.model.format`, one-line errors with a place.

It walks with a stack of its own, so that no nesting can exhaust Python's, and stops at the first
offence. In two points it is stricter than the standard, which cannot say them: a whole number is
written without a decimal point, and every number is a finite 64-bit float.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rpte.errors import ModelFileError

Path = tuple[str | int, ...]
Fault = str | None
LONGEST = 60

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "null": (type(None),),
}
WORDS = {
    "object": "an object",
    "array": "an array",
    "string": "text",
    "boolean": "true or false",
    "number": "a finite number",
    "integer": "a whole number",
    "null": "null",
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
        for check in _CHECKS:
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
    while True:
        if "$ref" in rule:
            rule = definitions[rule["$ref"].rsplit("/", 1)[-1]]
        elif "oneOf" in rule:
            options = [_followed(option, definitions) for option in rule["oneOf"]]
            rule = _branch(value, options, definitions, path)
        else:
            return rule


def _followed(rule: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in rule:
        rule = definitions[rule["$ref"].rsplit("/", 1)[-1]]
    return rule


def _branch(
    value: Any, options: list[Mapping[str, Any]], definitions: Mapping[str, Any], path: Path
) -> Mapping[str, Any]:
    """Choose by 'kind', else by the keys that are there, else by type."""
    objects = [option for option in options if option.get("type") == "object"]
    if not isinstance(value, dict) or not objects:
        fitting = [option for option in options if _may_be(value, option)]
        if fitting:
            return fitting[0]
        wanted = " or ".join(_wanted(option) for option in options)
        raise ModelFileError(f"{place(path)} is {shown(value)}; it must be {wanted}")
    kinds = {o["properties"]["kind"]["const"]: o for o in objects if "kind" in o["properties"]}
    if len(kinds) == len(objects) and "kind" in value:
        found = value["kind"]
        if not isinstance(found, str) or found not in kinds:
            where = place((*path, "kind"))
            raise ModelFileError(f"{where} is {shown(found)}; it must be one of {list(kinds)}")
        return kinds[found]
    return next((o for o in objects if any(key in value for key in o["required"])), objects[0])


def _may_be(value: Any, option: Mapping[str, Any]) -> bool:
    return _type(value, option) is None and _enum(value, option) is None


def _wanted(option: Mapping[str, Any]) -> str:
    if "enum" in option:
        return f"one of {option['enum']}"
    return _words(option["type"])


def _words(types: str | list[str]) -> str:
    return " or ".join(WORDS[t] for t in ([types] if isinstance(types, str) else types))


def _type(value: Any, rule: Mapping[str, Any]) -> Fault:
    if "type" not in rule:
        return None
    types = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    if any(_is(value, name) for name in types):
        return None
    return f"is {shown(value)}; it must be {_words(rule['type'])}"


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name]) and (name not in ("number", "integer") or _finite(value))


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number beyond 64-bit floats
        return False


def _same(a: Any, b: Any) -> bool:
    """Tell equality as JSON has it: true is not 1."""
    return type(a) is type(b) and bool(a == b)


def _enum(value: Any, rule: Mapping[str, Any]) -> Fault:
    allowed = [rule["const"]] if "const" in rule else rule.get("enum")
    if allowed is None or any(_same(value, item) for item in allowed):
        return None
    wanted = f"{allowed[0]!r}" if "const" in rule else f"one of {allowed}"
    return f"is {shown(value)}; it must be {wanted}"


def _range(value: Any, rule: Mapping[str, Any]) -> Fault:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    if "minimum" in rule and value < rule["minimum"]:
        return f"is {shown(value)}; it must be at least {rule['minimum']}"
    if "exclusiveMinimum" in rule and value <= rule["exclusiveMinimum"]:
        return f"is {shown(value)}; it must be above {rule['exclusiveMinimum']}"
    if "maximum" in rule and value > rule["maximum"]:
        return f"is {shown(value)}; it must be at most {rule['maximum']}"
    return None


def _pattern(value: Any, rule: Mapping[str, Any]) -> Fault:
    if "pattern" not in rule or not isinstance(value, str):
        return None
    # JSON Schema's $ is the very end; Python's also stands before a last newline.
    if re.search(rule["pattern"].removesuffix("$") + r"\Z", value):
        return None
    return f"is {shown(value)}; it must match {rule['pattern']}"


def _length(value: Any, rule: Mapping[str, Any]) -> Fault:
    if not isinstance(value, list):
        return None
    if len(value) < rule.get("minItems", 0):
        return f"has {len(value)} items; it must have at least {rule['minItems']}"
    if len(value) > rule.get("maxItems", len(value)):
        return f"has {len(value)} items; it must have at most {rule['maxItems']}"
    return None


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


_CHECKS: tuple[Callable[[Any, Mapping[str, Any]], Fault], ...] = (
    _type,
    _enum,
    _range,
    _pattern,
    _length,
    _keys,
)


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

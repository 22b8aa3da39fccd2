#!/usr/bin/env python3
"""Check an rpte model file, and score a table with it, without the rpte library.

One file, Python 3.11 or newer, standard library only. It follows the description of the model file
(docs/model_file.md) and shares no code with the library, so that its answers are a second opinion.
Usage:

    python rpte_check.py model.json                                 prove what the file proves
    python rpte_check.py model.json table.csv                       ... and score the rows
    python rpte_check.py model.json table.csv --expect scores.csv   ... and compare with these
    python rpte_check.py model.json table.csv --scores out.csv      ... and write the scores

Exit code 0 if every check holds, 1 if one fails or something cannot be read, 2 for wrong usage.

What it proves from the file alone: the content hash; that every test and term reads variables and
levels that exist; that each tree is whole and each leaf can be reached; who owns which variable;
that supports and stored means add up; the audit load and its bound; monotone directions and the
other limits; the recorded objective; the chain of the ledger. Not proved here, because it needs
the training table and its labels: supports, event rates and the optimality of the coefficients
(`rpte verify` does that). Fields that none of this needs are not looked at.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Row = dict[str, "Cell"]
Fault = Iterator[str]

ROUNDING = 1e-9  # sums of weights are rounded
LARGEST = 1e300
MARKERS = frozenset(
    "NA N/A n/a #N/A #NA <NA> NaN nan -nan -NaN NULL null None".split()  # noqa: SIM905
)
DECIMAL = re.compile(r"(?!0\d)[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
TRUTHS = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
NUMBER_BEGINS = tuple("0123456789+-.")
NUMERIC = ("value", "hinge", "scale", "pair")


BROKEN = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


class Problem(Exception):  # noqa: N818
    """Something that cannot be read; the message says what."""


# ---------------------------------------------------------------- the model file


def read_model(path: str) -> Json:
    """Return the document of a model file."""

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Problem(f"{path}: a key stands twice in one object")
        return found

    def refuse(text: str) -> Any:
        raise Problem(f"{path}: {text} is no number")

    try:
        text = Path(path).read_bytes().decode("utf-8")
        document = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except (OSError, ValueError, RecursionError) as error:
        raise Problem(f"{path} is not a JSON document: {error}") from error
    if not isinstance(document, dict) or document.get("format") != "rpte-model":
        raise Problem(f"{path} is not a model file")
    if document.get("version") != 1:
        raise Problem(f"{path} has format version {document.get('version')!r}, not 1")
    return document


def digest(content: Any) -> str:
    """Return the SHA-256 of JSON values: keys sorted, no spaces, ASCII, shortest floats."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def without(record: Json, *keys: str) -> Json:
    """Return a record without some of its fields."""
    return {key: value for key, value in record.items() if key not in keys}


def trees(model: Json) -> list[Json]:
    """Return the trees in the order of the file."""
    return [tree for component in model["components"] for tree in component["trees"]]


def direct_terms(model: Json) -> list[Json]:
    """Return the direct terms in the order of the file."""
    return [term for component in model["components"] for term in component["direct"]]


def tests(node: Json) -> Iterator[Json]:
    """Yield the tests of a tree."""
    if "if" in node:
        yield node["if"]
        yield from tests(node["yes"])
        yield from tests(node["no"])


def leaf_paths(node: Json, way: tuple[tuple[Json, bool], ...] = ()) -> Iterator[Any]:
    """Yield (number of the leaf, ((test, side), ...)), the yes side first."""
    if "if" not in node:
        yield node["leaf"], way
        return
    yield from leaf_paths(node["yes"], (*way, (node["if"], True)))
    yield from leaf_paths(node["no"], (*way, (node["if"], False)))


def operands(column: Json) -> list[Json]:
    """Return the one-variable columns that a column is made of."""
    return [column] if "source" in column else [column["left"], column["right"]]


def column_sources(column: Json) -> set[str]:
    """Return the variables that a column reads."""
    return {part["source"] for part in operands(column)}


def tree_sources(tree: Json) -> set[str]:
    """Return the variables that a tree reads."""
    return set().union(*(column_sources(test["column"]) for test in tests(tree["root"])))


def parts(component: Json) -> list[tuple[str, set[str]]]:
    """Return the names and variables of a component's trees and direct terms."""
    found = [(tree["name"], tree_sources(tree)) for tree in component["trees"]]
    return found + [(term["name"], column_sources(term["column"])) for term in component["direct"]]


# ---------------------------------------------------------------- scoring


class Cell:
    """One cell of a row: a number, a level (or special code), or missing."""

    __slots__ = ("level", "number")

    def __init__(self, number: float | None = None, level: str | None = None) -> None:
        self.number = number
        self.level = level


def logarithm(x: float) -> float:
    """Return log(x) as the model file defines it: from correctly rounded operations alone."""
    m, k = math.frexp(x)
    if m < 0.7071067811865476:
        m, k = 2.0 * m, k - 1
    top, bottom = m - 1.0, m + 1.0
    lost = m - (bottom - 1.0)
    short, high = single(bottom), single(top / bottom)
    low = (((top - high * short) - high * (bottom - short)) - high * lost) / bottom
    s = high + low
    series = 0.0
    for n in range(12, 0, -1):
        series = (s * s) * (series + 1.0 / (2 * n + 1))
    whole = k * float.fromhex("0x1.62e42feep-1")
    total = whole + 2.0 * high
    left = 2.0 * high - (total - whole)
    small = 2.0 * low + (left + k * float.fromhex("0x1.a39ef35793c76p-33"))
    return total + (2.0 * s * series + small)


def single(x: float) -> float:
    """Return the nearest 32-bit float, an infinity beyond the largest."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def difference(x: float, number: float) -> float:
    """Return x - number, the largest float in the place of an infinity."""
    return min(max(x - number, -sys.float_info.max), sys.float_info.max)


def evaluate(column: Json, row: Row) -> float | None:
    """Return a column's value; None where it is missing; 0 or 1 for a condition."""
    kind = column["kind"]
    if kind in ("pattern", "pair"):
        return combined(column, evaluate(column["left"], row), evaluate(column["right"], row))
    cell = row[column["source"]]
    if kind == "level":
        return float(cell.level in column["levels"])
    if kind == "missing":
        return float(cell.number is None and cell.level is None)
    x = cell.number
    if kind == "interval":
        low = -math.inf if column["low"] is None else column["low"]
        high = math.inf if column["high"] is None else column["high"]
        return float(x is not None and low <= x < high)
    if kind == "step":
        return float(x is not None and x > column["threshold"])
    if x is None or kind == "value":
        return x
    if kind == "hinge":
        gap = difference(x, column["knot"])
        return max(gap if column["side"] == "above" else -gap, 0.0) + 0.0
    return scaled(column, x)


def scaled(column: Json, x: float) -> float:
    """Return a formula of a number."""
    formula = column["formula"]
    if formula == "distance":
        return abs(difference(x, column["centre"]))
    if formula == "clip":
        return float(min(max(x, column["low"]), column["high"])) + 0.0
    floored = float(max(x, column["low"])) + 0.0
    return logarithm(floored) if formula == "log" else math.sqrt(floored)


def combined(column: Json, a: float | None, b: float | None) -> float | None:
    """Return a pattern or a pair of two values."""
    if column["kind"] == "pattern":
        return float(a == 1.0 and b == 1.0)
    if a is None or b is None:
        return None
    operation = column["operation"]
    result = a * b if operation == "product" else a + b if operation == "sum" else a - b
    if operation == "absolute difference":
        result = abs(result)
    return result + 0.0 if math.isfinite(result) else None


def passes(test: Json, row: Row) -> bool:
    """Tell whether a row goes to the yes side of a test."""
    value = evaluate(test["column"], row)
    if "at_most" not in test:
        return value == 1.0
    return bool(test["missing_holds"]) if value is None else value <= test["at_most"]


def reached(tree: Json, row: Row) -> int:
    """Return the number of the leaf that a row reaches."""
    node = tree["root"]
    while "if" in node:
        node = node["yes"] if passes(node["if"], row) else node["no"]
    return int(node["leaf"])


def term_value(term: Json, row: Row) -> float:
    """Return what a direct term adds."""
    value = evaluate(term["column"], row)
    if value is None:
        return 0.0
    return float(term["coefficient"]) * (value - float(term["centre"]))


def score(model: Json, row: Row) -> float:
    """Return the log odds of the positive class: sums from left to right, in file order."""
    total = float(model["intercept"])
    for component in model["components"]:
        subtotal = 0.0
        for tree in component["trees"]:
            subtotal += float(tree["leaves"][reached(tree, row)]["coefficient"])
        for term in component["direct"]:
            subtotal += term_value(term, row)
        total += subtotal
    return total


# ---------------------------------------------------------------- tables


def read_csv(path: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a CSV file as texts; columns without a name are left out.

    UTF-8, UTF-16 with its mark, or else Windows-1252; gzip by its ending; commas, semicolons, tabs
    or bars, and decimal commas where the delimiter is none; rows without any value do not count.
    """
    text = decoded(path)
    delimiter = "\t" if path.lower().removesuffix(".gz").endswith(".tsv") else guessed(text)
    csv.field_size_limit(2**31 - 1)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [line for line in lines if line]
    except csv.Error as error:
        raise Problem(f"{path}: {error}; mend the quotes") from error
    if not rows:
        raise Problem(f"{path} is empty")
    names = [name.strip() for name in rows[0]]
    kept = [place for place, name in enumerate(names) if name]
    header = [names[place] for place in kept]
    if len(set(header)) < len(header):
        raise Problem(f"{path}: column names occur more than once")
    odd = next((line for line in rows if len(line) != len(names)), None)
    if odd is not None:
        raise Problem(f"{path}: a row has {len(odd)} cells, the header {len(names)}: {odd[:3]}")
    cells = [[line[place] for place in kept] for line in rows[1:]]
    cells = [line for line in cells if any(cell.strip() for cell in line)]
    return header, cells if delimiter == "," else without_commas(cells)


def without_commas(rows: list[list[str]]) -> list[list[str]]:
    """Write decimal points for commas in columns of which every cell with a digit is a number."""
    columns = []
    for column in zip(*rows, strict=True):
        digits = [text for text in column if any(map(str.isdigit, text))]
        decimal = any("," in text for text in digits) and all(map(COMMA.fullmatch, digits))
        columns.append([text.replace(",", ".") for text in column] if decimal else column)
    return [list(line) for line in zip(*columns, strict=True)]


def decoded(path: str) -> str:
    """Return the text of a file."""
    try:
        with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
            data = file.read()
    except (OSError, EOFError) as error:
        raise Problem(f"{path}: {error}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    if 0 in data:
        raise Problem(f"{path} holds zero bytes and so is no text")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", errors="replace")


def guessed(text: str) -> str:
    """Return the delimiter that splits the first 50 lines into the most cells, as many in each."""
    lines = [line for line in text[:100_000].splitlines()[:51] if line.strip()]
    lines = lines[:50]
    best, most = ",", 0
    for delimiter in (",", ";", "\t", "|"):
        widths = [len(cells) for cells in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(widths), key=widths.count) if widths else 1
        width = usual if widths and usual == widths[0] else 1
        if width > most:
            best, most = delimiter, width
    return best


def number_of(text: str) -> float | None:
    """Return the finite number that a text spells; one with a leading zero is a code and none."""
    spelled = DECIMAL.fullmatch(text.strip())
    number = float(spelled[0]) if spelled else math.inf
    return None if math.isinf(number) else number + 0.0


def level_name(number: float) -> str:
    """Return a number as a level is called: a whole one without decimals."""
    return str(int(number)) if number.is_integer() else str(number)


def special_name(text: str) -> str:
    """Return what a special code is called: a text that spells a number is that number."""
    number = number_of(text)
    return text if number is None else level_name(number)


def special_level(text: str, levels: list[str]) -> str | None:
    """Return the special code that a cell holds, as it is or in single precision (float32)."""
    name, number = special_name(text), number_of(text)
    if name in levels:
        return name
    if number is not None:
        for level in levels:
            code = number_of(level)
            if code is not None and single(code) == number:
                return level
    return None


def present(text: str) -> str | None:
    """Return a cell without its margins, None if it is empty or a marker of missing values."""
    stripped = text.strip()
    return None if not stripped or stripped in MARKERS else stripped


def number_cell(text: str, variable: Json, named: bool) -> Cell:
    """Return a cell of a number; raise ValueError if it is none."""
    if named:
        for form in (text, text.strip()):
            level = special_level(form, variable["levels"])
            if level is not None:
                return Cell(level=level)
    stripped = present(text)
    if stripped is None:
        return Cell()
    level = special_level(stripped, variable["levels"])
    if level is not None:
        return Cell(level=level)
    plain = number_of(stripped.lstrip("0") or "0") if named else None  # 007 is 7 in a number
    number = number_of(stripped) if plain is None else plain
    if number is None or abs(number) > LARGEST:
        raise ValueError(f"{stripped!r} is no number up to {LARGEST:g}")
    return Cell(number=number)


def category_cells(texts: list[str], variable: Json, named: bool) -> list[Cell]:
    """Return the cells of a category; a level that is not known is the pooled one, if any."""
    known, numeric = set(variable["levels"]), False
    found: list[str | None] = []
    for text in texts:
        exact = next((form for form in (text, text.strip()) if form in known), None)
        found.append(exact if named and exact is not None else present(text))
    if not named:  # columns by position are read for themselves: all numbers, or texts
        numbers = [None if text is None else number_of(text) for text in found]
        numeric = all((n is None) == (t is None) for n, t in zip(numbers, found, strict=True))
        if numeric:
            found = [None if n is None else level_name(n) for n in numbers]
    levels = {text: level_of(text, variable, numeric) for text in set(found) if text is not None}
    return [Cell(level=None if text is None else levels[text]) for text in found]


def plain_form(text: str) -> str:
    """Return a text without blanks around it; a number without needless zeros."""
    form = text.strip(" ")
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?", form):
        form = form.rstrip("0").rstrip(".") if "." in form else form
        form = "0" if form == "-0" else form
    return form


def truth(text: str) -> str | None:
    """Return what a text spells: true, false, or neither."""
    return TRUTHS.get(plain_form(text).lower())


def level_of(text: str, variable: Json, number: bool) -> str:
    """Return the level that a cell is: to the letter, by its plain form, or none that is known."""
    levels: list[str] = variable["levels"]
    named = levels[:-1] if variable["pooled"] else levels
    words = [level.strip(" ").lower() for level in named]
    boolean = 0 < len(words) == len(set(words)) and set(words) <= {"true", "false"}
    forms: list[str | None] = [truth(level) if boolean else plain_form(level) for level in named]
    form = truth(text) if boolean else plain_form(text)
    alike = [level for level, other in zip(named, forms, strict=True) if other == form]
    if text in levels and (len(alike) < 2 or not number):
        return text
    if len(alike) > 1:
        raise Problem(f"column '{variable['name']}': {text!r} may be any of the levels {alike}")
    if boolean and form is None and not variable["pooled"] and text.strip(" ")[:1] in NUMBER_BEGINS:
        raise Problem(f"column '{variable['name']}': {text!r} is neither true nor false")
    if alike:
        return alike[0]
    return levels[-1] if variable["pooled"] else "\0never a level"


def read_rows(model: Json, path: str) -> list[Row]:
    """Return the rows of a CSV file as the model reads them.

    Where columns have names, only those that the model uses are looked at.
    """
    header, lines = read_csv(path)
    schema = model["schema"]
    variables = schema["variables"]
    if not schema["named"]:
        if len(header) != len(variables):
            raise Problem(f"{path} has {len(header)} columns, the model {len(variables)}")
        header = [variable["name"] for variable in variables]
    needed = set().union(*(component["sources"] for component in model["components"]))
    absent = sorted(needed - set(header))
    if absent:
        raise Problem(f"{path} lacks the columns {absent[:10]} that the model reads")
    rows: list[Row] = [{} for _ in lines]
    for variable in variables:
        if variable["name"] in needed or not schema["named"]:
            texts = [line[header.index(variable["name"])] for line in lines]
            for row, cell in zip(rows, column_cells(texts, variable, schema["named"]), strict=True):
                row[variable["name"]] = cell
    return rows


def column_cells(texts: list[str], variable: Json, named: bool) -> list[Cell]:
    """Return the cells of one column."""
    if variable["kind"] == "category":
        return category_cells(texts, variable, named)
    cells = []
    for place, text in enumerate(texts, 1):
        try:
            cells.append(number_cell(text, variable, named))
        except ValueError as error:
            raise Problem(f"column '{variable['name']}', row {place}: {error}") from error
    return cells


# ---------------------------------------------------------------- proofs from the file


def fault_hash(model: Json) -> Fault:
    """The content hash is that of the content."""
    found = digest(without(model, "hash"))
    if found != model["hash"]:
        yield f"stored {model['hash']}, found {found}"


def fault_names(model: Json) -> Fault:
    """Tests and terms read variables and levels that the schema has, in the way of their kind."""
    variables = {v["name"]: v for v in model["schema"]["variables"]}
    columns = [test["column"] for tree in trees(model) for test in tests(tree["root"])]
    columns += [term["column"] for term in direct_terms(model)]
    for part in (part for column in columns for part in operands(column)):
        variable = variables.get(part["source"])
        if variable is None:
            yield f"{part['source']!r} is no variable"
        elif part["kind"] == "level" and not set(part["levels"]) <= set(variable["levels"]):
            yield f"{part['levels']} are not all levels of {part['source']!r}"
        elif part["kind"] not in ("level", "missing") and variable["kind"] != "number":
            yield f"{part['source']!r} is a category but read as a number"


def fault_trees(model: Json) -> Fault:
    """Each test has two sides, with a threshold exactly on numbers; leaves count up from 0."""
    for tree in trees(model):
        numbers = [number for number, _ in leaf_paths(tree["root"])]
        if numbers != list(range(len(tree["leaves"]))) or len(numbers) < 2:
            yield f"{tree['name']} has the leaves {numbers[:10]}, {len(tree['leaves'])} described"
        for test in tests(tree["root"]):
            if ("at_most" in test) != (test["column"]["kind"] in NUMERIC):
                yield f"{tree['name']} has a test that lacks a threshold, or has one too many"
        for number, way in leaf_paths(tree["root"]):
            if not reachable(way, model):
                yield f"no case can reach {tree['name']}.L{number + 1}"


def reachable(way: tuple[tuple[Json, bool], ...], model: Json) -> bool:
    """Tell whether some cell of each variable can meet all conditions on it.

    Conditions on formulas and on two variables are compared with those on the same column only, so
    what is called impossible is impossible.
    """
    groups: dict[str, list[tuple[Json, bool]]] = {}
    for test, side in way:
        plain = "source" in test["column"] and test["column"]["kind"] not in ("hinge", "scale")
        key = test["column"]["source"] if plain else json.dumps(test["column"], sort_keys=True)
        groups.setdefault(f"{plain} {key}", []).append((test, side))
    for key, known in groups.items():
        if key.startswith("False"):
            if not possible(known):
                return False
            continue
        source = known[0][0]["column"]["source"]
        variable = {v["name"]: v for v in model["schema"]["variables"]}[source]
        cells = distinguished(variable, [test for test, _ in known])
        if not any(all(passes(t, {source: cell}) == side for t, side in known) for cell in cells):
            return False
    return True


def distinguished(variable: Json, own: list[Json]) -> Iterator[Cell]:
    """Yield a cell of each sort that tests on one variable can tell apart."""
    yield Cell()
    yield Cell(level="\0never a level")
    for level in variable["levels"]:
        yield Cell(level=level)
    ends = [test.get("at_most") for test in own]
    ends += [test["column"].get(end) for test in own for end in ("low", "high", "threshold")]
    for number in (end for end in (*ends, 0.0) if end is not None and variable["kind"] == "number"):
        for near_by in (
            math.nextafter(number, -math.inf),
            number,
            math.nextafter(number, math.inf),
        ):
            yield Cell(number=near_by)


def fault_ownership(model: Json) -> Fault:
    """Variables are owned as the policy says, and components are whole."""
    owned = [(tree["name"], tree_sources(tree)) for tree in trees(model)]
    for component in model["components"]:
        pieces = parts(component)
        if sorted(set().union(*(sources for _, sources in pieces))) != component["sources"]:
            yield f"{component['name']} does not read what it says"
        if len(connected([sources for _, sources in pieces])) != 1:
            yield f"{component['name']} falls apart"
    whole = [(c["name"], set(c["sources"])) for c in model["components"]]
    yield from shared(owned)
    yield from shared(whole)
    policy = model["ownership"]
    if policy == "component":
        for component in model["components"]:
            if len(component["trees"]) > 1:
                yield f"{component['name']} holds {len(component['trees'])} trees"
            if len(component["sources"]) > model["settings"]["max_component_sources"]:
                yield f"{component['name']} reads {len(component['sources'])} variables"
    if policy in ("separate", "strict"):
        for name, sources in owned:
            for term in direct_terms(model):
                yield from shared([(name, sources), (term["name"], column_sources(term["column"]))])
    if policy == "strict":
        yield from fault_strict(model)


def fault_strict(model: Json) -> Fault:
    """No two direct terms share a variable, but for the raw columns of one variable."""
    raw = ("value", "level", "missing")
    for a, b in combinations(direct_terms(model), 2):
        first, second = a["column"], b["column"]
        group = first["kind"] in raw and second["kind"] in raw
        if not group:
            yield from shared(
                [(a["name"], column_sources(first)), (b["name"], column_sources(second))]
            )


def shared(owners: list[tuple[str, set[str]]]) -> Fault:
    """Yield each pair of owners that have a variable in common."""
    for (a, mine), (b, yours) in combinations(owners, 2):
        if mine & yours:
            yield f"{a} and {b} share {sorted(mine & yours)}"


def connected(groups: list[set[str]]) -> list[set[str]]:
    """Return the connected parts of some sets."""
    found: list[set[str]] = []
    for group in groups:
        joined = set(group).union(*(part for part in found if part & group))
        found = [part for part in found if not part & group] + [joined]
    return found


def fault_sums(model: Json) -> Fault:
    """Leaves hold each training row once, and stored means follow from their supports."""
    rows, events = model["training"]["rows"], model["training"]["events"]
    means = model["training"]["mean_contributions"]
    for tree in trees(model):
        for field, total in (("support", rows), ("events", events)):
            if not near(math.fsum(leaf[field] for leaf in tree["leaves"]), total, rows):
                yield f"the {field} of {tree['name']} does not add up to {total:g}"
        products = [leaf["coefficient"] * leaf["support"] for leaf in tree["leaves"]]
        size = max(abs(leaf["coefficient"]) for leaf in tree["leaves"])
        if not near(math.fsum(products) / rows, means[tree["name"]], 1.0 + size):
            yield f"the mean of {tree['name']} is not {means[tree['name']]}"
    for term in direct_terms(model):
        mean = term["coefficient"] * term["support"] / rows
        if term["column"]["kind"] not in NUMERIC and not near(
            mean, means[term["name"]], 1.0 + abs(term["coefficient"])
        ):
            yield f"the mean of {term['name']} is not {means[term['name']]}"


def near(a: float, b: float, size: float) -> bool:
    """Compare sums of weights."""
    return abs(a - b) <= ROUNDING * size


def listed_levels(inside: int, of: int) -> int:
    """Count a set of levels: one condition for each 8 listed, in or out, the shorter."""
    return max(1, math.ceil(min(inside, of - inside) / 8))


def conditions(column: Json, levels: dict[str, int]) -> int:
    """Count the conditions of a column."""
    return sum(
        listed_levels(len(part["levels"]), levels[part["source"]]) if part["kind"] == "level" else 1
        for part in operands(column)
    )


def audit_load(model: Json) -> tuple[int, int]:
    """Return MU and MIU: the active terms, and the conditions that they have."""
    levels = {v["name"]: len(v["levels"]) for v in model["schema"]["variables"]}
    counts = [
        conditions(term["column"], levels)
        for term in direct_terms(model)
        if abs(term["coefficient"] * term["scale"]) > 1e-12
    ]
    for tree in trees(model):
        for number, way in leaf_paths(tree["root"]):
            if abs(tree["leaves"][number]["coefficient"]) > 1e-12:
                counts.append(sum(conditions(test["column"], levels) for test, _ in way))
    return len(counts), sum(counts)


def audit_bound(model: Json) -> int:
    """Return the bound on MIU that was known before training."""
    settings, variables = model["settings"], model["schema"]["variables"]
    budget = 0 if settings["vocabulary"] == "original" else settings["budget"]
    widest = max(
        listed_levels(len(v["levels"]) // 2, len(v["levels"])) if v["levels"] else 1
        for v in variables
    )
    most = min(settings["max_trees"], len(variables))
    in_trees = most * settings["max_leaves"] * settings["max_depth"]
    raw = sum((v["kind"] == "number") + len(v["levels"]) + v["has_missing"] for v in variables)
    return int(in_trees * max(widest, 2 if budget else 1) + raw + 4 * budget)


def fault_load(model: Json) -> Fault:
    """The audit load is within its bound, and the bound is what the parameters give."""
    bound, load = audit_bound(model), audit_load(model)[1]
    if bound != model["bound"]:
        yield f"the bound is {bound}, not {model['bound']}"
    if load > bound:
        yield f"{load} conditions, above the bound {bound}"
    if any(len(tree["leaves"]) > model["settings"]["max_leaves"] for tree in trees(model)):
        yield "a tree has more leaves than max_leaves"
    depths = [len(way) for tree in trees(model) for _, way in leaf_paths(tree["root"])]
    if max(depths, default=0) > model["settings"]["max_depth"]:
        yield "a tree is deeper than max_depth"


def fault_limits(model: Json) -> Fault:
    """Excluded variables are not read, linear ones have slopes alone, company is allowed."""
    limits = model["settings"]["limits"]
    for component in model["components"]:
        sources = set(component["sources"])
        if sources & set(limits["exclude"]):
            yield f"{component['name']} reads {sorted(sources & set(limits['exclude']))}"
        allowed = limits["interactions"]
        together = allowed is None or any(sources <= set(names) for names in allowed)
        if len(sources) > 1 and not together:
            yield f"{component['name']} joins {sorted(sources)}"
        for tree in component["trees"]:
            if tree_sources(tree) & set(limits["linear_only"]):
                yield f"{tree['name']} reads a variable that may have a slope alone"
        for term in component["direct"]:
            derived = term["column"]["kind"] not in ("value", "level", "missing")
            if derived and column_sources(term["column"]) & set(limits["linear_only"]):
                yield f"{term['name']} reads a variable that may have a slope alone"


# ---------------------------------------------------------------- monotone directions


def fault_monotone(model: Json, source: str, sign: int) -> Fault:
    """The score never moves against a direction when only this number changes."""
    for term in direct_terms(model):
        if source in column_sources(term["column"]):
            effect = moves(term["column"], source)
            if effect is None:
                yield f"{term['name']} moves both ways"
            elif effect * sign * term["coefficient"] < 0:
                yield f"{term['name']} has the wrong sign"
    for tree in trees(model):
        if source in tree_sources(tree):
            values = [sign * leaf["coefficient"] for leaf in tree["leaves"]]
            yield from Ordered(tree["name"], source, values).faults(tree["root"])


def moves(column: Json, source: str) -> int | None:
    """Return which way a column moves with a number: 1, -1, 0 (not at all), None (both ways)."""
    kind = column["kind"]
    if kind in ("pattern", "pair"):
        return moves_with_part(column, source)
    if kind == "interval":
        ends = column["low"] is None, column["high"] is None
        return {(False, True): 1, (True, False): -1}.get(ends)
    if kind == "hinge":
        return 1 if column["side"] == "above" else -1
    if kind == "scale":
        return None if column["formula"] == "distance" else 1
    return 1 if kind in ("value", "step") else 0


def moves_with_part(column: Json, source: str) -> int | None:
    """Return which way a pattern or pair moves with one of its variables."""
    on_left = column["left"]["source"] == source
    own, other = column["left" if on_left else "right"], column["right" if on_left else "left"]
    effect = moves(own, source)
    if column["kind"] == "pattern" or not effect:
        return effect
    operation = column["operation"]
    if operation == "difference":
        return effect if on_left else -effect
    never_negative = other["kind"] in ("level", "interval", "step", "hinge") or (
        other["kind"] == "scale" and other["formula"] in ("sqrt", "distance")
    )
    if operation == "product":
        return effect if never_negative else None
    return effect if operation == "sum" else None


class Ordered:
    """A proof that a tree rises with a number: two cases that differ in it alone walk down.

    The lower case is walked to a leaf first, then the higher one, under everything that the first
    walk has found out of the variables they share. What cannot be told apart is taken to be
    possible, so a tree that passes is monotone.
    """

    def __init__(self, name: str, source: str, values: list[float]) -> None:
        self.name = name
        self.source = source
        self.values = values

    def faults(self, root: Json) -> Fault:
        """Yield the pairs of leaves that are out of order."""
        for low, low_range, facts in self.walk(root, (-math.inf, math.inf), {}):
            for high, high_range, _ in self.walk(root, (-math.inf, math.inf), facts):
                below = low_range[0] < high_range[1]
                if below and self.values[low] > self.values[high]:
                    yield f"{self.name}.L{low + 1} and {self.name}.L{high + 1} are out of order"

    def walk(
        self, node: Json, span: tuple[float, float], facts: dict[str, list[Any]]
    ) -> Iterator[tuple[int, tuple[float, float], dict[str, list[Any]]]]:
        """Yield each leaf with the values of the number there, and what is known of the rest."""
        if "if" not in node:
            yield node["leaf"], span, facts
            return
        column = node["if"]["column"]
        for side, child in ((True, node["yes"]), (False, node["no"])):
            if self.source in column_sources(column):
                narrowed = self.narrowed(node["if"], side, span)
                if narrowed is not None:
                    yield from self.walk(child, narrowed, facts)
                continue
            key = json.dumps(column, sort_keys=True)
            known = [*facts.get(key, []), (node["if"], side)]
            if possible(known):
                yield from self.walk(child, span, {**facts, key: known})

    def narrowed(
        self, test: Json, side: bool, span: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Return the values (above, at most) that pass a test on the number; None if none does."""
        column = test["column"]
        if column["kind"] == "missing":
            return None if side else span
        if column["kind"] == "interval" and column["low"] is None and column["high"] is None:
            return span if side else None
        if column["kind"] != "value":
            raise Problem(f"{self.name} reads {self.source} otherwise than by thresholds")
        low, high = span
        low, high = (low, min(high, test["at_most"])) if side else (max(low, test["at_most"]), high)
        return (low, high) if low < high else None


def possible(known: list[tuple[Json, bool]]) -> bool:
    """Tell whether one value of a column, or missing, can give these answers to tests on it."""
    if "at_most" not in known[0][0]:
        return len({side for _, side in known}) == 1
    low = max((test["at_most"] for test, side in known if not side), default=-math.inf)
    high = min((test["at_most"] for test, side in known if side), default=math.inf)
    return low < high or all(test["missing_holds"] == side for test, side in known)


# ---------------------------------------------------------------- objective and ledger


def fault_objective(model: Json) -> Fault:
    """The recorded objective is what the parameters ask for, and its certificate is consistent."""
    training, settings = model["training"], model["settings"]
    objective = training["objective"]
    if objective is None:
        withdrawn = OPTIMALITY in claims_withdrawn(model)
        if settings["reassign"] and not withdrawn:
            yield "there is none, and no entry of the ledger has withdrawn it"
        return
    chosen, asked = training["selection"]["chosen"], settings["l1"]
    wanted = {"cv": chosen["l1"], "4/n": 4.0 / training["rows"]}.get(asked, asked)
    if objective["l1"] != chosen["l1"] or abs(wanted - objective["l1"]) > 1e-12 * wanted:
        yield f"lambda {objective['l1']} was solved, {asked} asked for"
    share = settings["l1_ratio"]
    wanted = chosen["l1_ratio"] if share is None and asked == "cv" else share or 1.0
    if not objective["l1_ratio"] == chosen["l1_ratio"] == wanted:
        yield f"the L1 share {objective['l1_ratio']} was solved, not {wanted}"
    yield from fault_penalties(model)
    limit = max(min(1e-6 * objective["lambda_max"], 1e-3 * objective["l1"]), 1e-12)
    if objective["tolerance"] != limit:
        yield f"the tolerance is {objective['tolerance']}, not {limit}"
    if objective["converged"] and objective["kkt_residual"] > limit:
        yield f"the residual {objective['kkt_residual']} is above the tolerance"


def fault_penalties(model: Json) -> Fault:
    """Penalty factors of direct terms are the user's; only monotone variables tie leaves."""
    limits = model["settings"]["limits"]
    for term in direct_terms(model):
        sources = column_sources(term["column"])
        factor = max(limits["penalty"].get(source, 1.0) for source in sources)
        if term["penalty"] != factor:
            yield f"{term['name']} has the penalty factor {term['penalty']}, not {factor}"
    ordered = {t["name"] for t in trees(model) if tree_sources(t) & set(limits["monotone"])}
    for names in model["training"]["ties"]:
        if names[0].split(".")[0] not in ordered:
            yield f"{' and '.join(names)} are tied without a monotone variable"


def fault_figures(model: Json) -> Fault:
    """Cross-validated figures are means with errors, of the fit and not of a model edited since."""
    record = model["training"]["cross_validation"]
    fields = {"folds", "by", "rows", "auc", "log_loss", "brier", "miu"}
    if set(record) != fields:
        yield f"they hold {sorted(record)}, not {sorted(fields)}"
        return
    if "ledger" in model:
        yield "they are of the fit, which was edited since"
    if record["by"] not in ("content", "groups"):
        yield f"folds are by {record['by']!r}, not by content or groups"
    for name in ("folds", "rows"):
        if type(record[name]) is not int or record[name] < 1:
            yield f"{name} is {record[name]!r}, no whole number from 1"
    for name in ("auc", "log_loss", "brier", "miu"):
        if record[name] is not None or name != "auc":
            yield from fault_measure(name, record[name], name in ("auc", "brier"))


def fault_measure(name: str, measure: Json, share: bool) -> Fault:
    """A mean and its standard error are finite and not negative; a share is at most 1."""
    if set(measure) != {"mean", "error"}:
        yield f"{name} holds {sorted(measure)}, not a mean and an error"
        return
    for key, value in measure.items():
        most = 1 if share and key == "mean" else sys.float_info.max
        fits = type(value) in (int, float) and 0 <= value <= most
        if not fits and not (key == "error" and value is None):
            yield f"the {key} of {name} is {value!r}"


OPTIMALITY = "Stage 3 optimality of the active terms"


def claims_withdrawn(model: Json) -> list[str]:
    """Return the claims that edits took from the model and none gave back."""
    gone: list[str] = []
    for entry in model.get("ledger", ()):
        gone = [name for name in gone if name not in entry["restored"]] + entry["withdrawn"]
    return gone


def fault_ledger(model: Json) -> Fault:
    """Each entry seals the one before it, and the models before and after the edit."""
    previous, left = None, None
    for number, entry in enumerate(model["ledger"], 1):
        if entry["number"] != number:
            yield f"entry {number} has the number {entry['number']}"
        if entry["hash"] != digest(without(entry, "hash")):
            yield f"entry {number} was changed"
        if entry["previous"] != previous:
            yield f"entry {number} does not follow the one before it"
        if left is not None and entry["before"]["model"] != left:
            yield f"entry {number} edits another model than was left"
        previous, left = entry["hash"], entry["after"]["model"]
    if left != digest(without(model, "hash", "ledger")):
        yield "the model is not the one that the last entry left"
    terms, load = audit_load(model)
    after = model["ledger"][-1]["after"]
    if (after["terms"], after["conditions"]) != (terms, load):
        yield f"the last entry tells of {after['conditions']} conditions, not {load}"
    for name, word in model["settings"]["limits"]["monotone"].items():
        if f"monotone: {word} in {name}" in claims_withdrawn(model):
            yield f"'{name}' is claimed to be monotone though that was withdrawn"


# ---------------------------------------------------------------- the report


def file_checks(model: Json) -> Iterator[tuple[str, list[str], str]]:
    """Yield name, faults and evidence of each check of the file."""
    terms, load = audit_load(model)
    leaves = sum(len(tree["leaves"]) for tree in trees(model))
    policy, objective = model["ownership"], model["training"]["objective"]
    largest = max((len(c["sources"]) for c in model["components"]), default=0)
    rules: list[tuple[str, Callable[[Json], Fault], str]] = [
        ("content hash", fault_hash, f"sha256 {model['hash']}"),
        ("variables and levels", fault_names, "every test and term reads what the schema has"),
        ("trees", fault_trees, f"{leaves} leaves in {len(trees(model))} trees"),
        (f"ownership '{policy}'", fault_ownership, f"largest component: {largest} variables"),
        ("sums", fault_sums, f"supports add up to {model['training']['rows']:g} cases"),
        ("audit load", fault_load, f"{load} conditions in {terms} terms; bound {model['bound']}"),
        ("limits", fault_limits, "excluded, linear only, interactions"),
        ("objective", fault_objective, "none claimed" if objective is None else "as asked for"),
    ]
    for name, rule, evidence in rules:
        yield name, list(rule(model)), evidence
    if "cross_validation" in model["training"]:
        evidence = "well formed; what they say is not proved here"
        yield "cross-validated figures", list(fault_figures(model)), evidence
    for source, word in model["settings"]["limits"]["monotone"].items():
        yield f"monotone: {word} in {source}", monotone_faults(model, source, word), "every pair"
    if "ledger" in model:
        head = model["ledger"][-1]["hash"]
        yield "ledger", list(fault_ledger(model)), f"{len(model['ledger'])} entries, head {head}"


def monotone_faults(model: Json, source: str, word: str) -> list[str]:
    """Return what is wrong with a monotone direction."""
    try:
        return list(fault_monotone(model, source, 1 if word == "increasing" else -1))
    except Problem as problem:
        return [str(problem)]


def one_leaf_faults(model: Json, rows: list[Row]) -> list[str]:
    """Return the rows that do not meet the conditions of exactly one leaf per tree."""
    faults = []
    for tree in trees(model):
        ways = list(leaf_paths(tree["root"]))
        for place, row in enumerate(rows, 1):
            hits = [n for n, way in ways if all(passes(test, row) == side for test, side in way)]
            if hits != [reached(tree, row)]:
                faults.append(f"row {place} meets the conditions of {hits} of {tree['name']}")
    return faults


def expected_faults(scores: list[float], path: str) -> list[str]:
    """Compare scores with the column 'score' of a CSV file, to the last bit."""
    header, lines = read_csv(path)
    if "score" not in header:
        raise Problem(f"{path} has no column 'score'")
    place = header.index("score")
    if len(lines) != len(scores):
        return [f"{len(lines)} scores for {len(scores)} rows"]
    try:
        given = [float(line[place]) for line in lines]
    except ValueError as error:
        raise Problem(f"{path}: {error}") from error
    pairs = enumerate(zip(scores, given, strict=True), 1)
    return [
        f"row {n}: {mine!r} here, {other!r} there" for n, (mine, other) in pairs if mine != other
    ]


def table_checks(
    model: Json, path: str, expect: str | None, out: str | None
) -> Iterator[tuple[str, list[str], str]]:
    """Score a table; yield name, faults and evidence of each check on it."""
    rows = read_rows(model, path)
    scores = [score(model, row) for row in rows]
    yield "one leaf per tree", one_leaf_faults(model, rows), f"{len(rows)} rows, each path tried"
    if expect is not None:
        faults = expected_faults(scores, expect)
        yield "expected scores", faults, f"{len(scores)} scores, equal to the last bit"
    if out is not None:
        text = "row,score\n" + "".join(f"{n},{value!r}\n" for n, value in enumerate(scores, 1))
        try:
            Path(out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise Problem(str(error)) from error


def is_same_file(written: str | None, read: str) -> bool:
    """Tell whether two names are one file."""
    if written is None or not Path(written).is_file() or not Path(read).exists():
        return False
    return Path(written).samefile(read)


def say(text: str, stream: Any = None) -> None:
    """Print a line; what names could do to a terminal is shown as a question mark."""
    shown = "".join(c if c.isprintable() else "?" for c in text)
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    print(shown.encode(encoding, "replace").decode(encoding), file=stream)


def main(arguments: list[str] | None = None) -> int:
    """Run the checks and print them; return the exit code."""
    parser = argparse.ArgumentParser(description="Check an rpte model file without the library.")
    parser.add_argument("model", help="a model file")
    parser.add_argument("table", nargs="?", help="a CSV file with the model's columns")
    parser.add_argument("--expect", help="a CSV file with a column 'score' to compare with")
    parser.add_argument("--scores", help="write the scores to this CSV file")
    given = parser.parse_args(arguments)
    if given.table is None and (given.expect or given.scores):
        parser.error("--expect and --scores need a table")
    reads = [path for path in (given.model, given.table, given.expect) if path]
    if any(is_same_file(given.scores, path) for path in reads):
        parser.error(f"--scores {given.scores} would be written over a file that is read")
    failed = 0
    try:
        model = read_model(given.model)
        checks = list(file_checks(model))
        if given.table is not None:
            checks += table_checks(model, given.table, given.expect, given.scores)
    except Problem as problem:
        say(f"error: {problem}", sys.stderr)
        return 1
    except BROKEN as error:
        say(f"error: the model file is malformed: {error!r}"[:300], sys.stderr)
        return 1
    for name, faults, evidence in checks:
        failed += bool(faults)
        say(f"{'FAILS' if faults else 'holds'}  {name}: {'; '.join(faults[:3]) or evidence}")
    for name in claims_withdrawn(model):
        say(f"note   no longer claimed: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The published schema and its validator, against hand-made cases and the package jsonschema."""

import json
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from model_files import NAMES, NUMBER_NAMES, TIME_NAMES, direct, sealed, splits, stored, trees
from rpte import ModelFileError
from rpte.cli import app
from rpte.fit.settings import Settings
from rpte.model.file import from_dict
from rpte.model.format import SCHEMA
from rpte.model.validator import validate

KEYWORDS = {
    *("$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "oneOf"),
    *("required", "properties", "additionalProperties", "dependentRequired", "items"),
    *("minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "pattern"),
}


def accepts(document, schema=SCHEMA):
    try:
        validate(document, schema)
    except ModelFileError:
        return False
    return True


def subschemas(schema):
    """Yield a schema and every schema in it."""
    yield schema
    for key in ("properties", "$defs"):
        for inner in schema.get(key, {}).values():
            yield from subschemas(inner)
    for inner in (
        *schema.get("oneOf", ()),
        schema.get("items"),
        schema.get("additionalProperties"),
    ):
        if isinstance(inner, dict):
            yield from subschemas(inner)


def test_the_schema_is_a_valid_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_validator_knows_every_keyword_that_the_schema_uses():
    used = {key for schema in subschemas(SCHEMA) for key in schema}
    assert used <= KEYWORDS
    assert {"oneOf", "dependentRequired", "pattern", "exclusiveMinimum", "const"} <= used


def test_nothing_unknown_is_allowed_anywhere():
    objects = [s for s in subschemas(SCHEMA) if s.get("type") == "object"]
    assert all("additionalProperties" in s for s in objects)
    assert len(objects) > 20


def test_every_parameter_of_a_fit_is_in_the_schema():
    assert set(SCHEMA["$defs"]["settings"]["properties"]) == {f.name for f in fields(Settings)}


@pytest.mark.parametrize("name", NAMES + NUMBER_NAMES + TIME_NAMES)
def test_files_as_written_obey(name):
    assert accepts(stored(name).document)
    jsonschema.Draft202012Validator(SCHEMA).validate(stored(name).document)


def test_the_command_prints_it():
    outcome = CliRunner().invoke(app, ["schema"])
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout) == SCHEMA


def put(path, value):
    """Return a change that sets a field, given by its path."""

    def change(document):
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    change.__name__ = f"{path}={value!r}"[:60]
    return change


def drop(*path):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    change.__name__ = f"no {path}"
    return change


def column_kind(document):
    splits(document)[0]["column"]["kind"] = "valeu"


def no_kind(document):
    del direct(document)[0]["column"]["kind"]


def kind_of_list(document):
    direct(document)[0]["column"]["kind"] = []


def half_a_threshold(document):
    next(s for s in splits(document) if "at_most" in s).pop("missing_holds")


def node_without_sense(document):
    trees(document)[0]["root"]["yes"] = {"then": 1}


def node_of_text(document):
    trees(document)[0]["root"]["no"] = "stop"


def branch_with_leaf(document):
    trees(document)[0]["root"]["leaf"] = 0


COLUMN_KINDS = (
    r"\['value', 'missing', 'level', 'interval', 'step', 'hinge', 'scale', 'pattern', 'pair'\]"
)
ROOT = r"components\[0\]\.trees\[0\]\.root"
BAD = [
    (column_kind, rf"{ROOT}.*\.if\.column\.kind is 'valeu'; it must be one of {COLUMN_KINDS}"),
    (no_kind, r"components\[0\]\.direct\[0\]\.column lacks the field 'kind'"),
    (kind_of_list, r"column\.kind is an array of 0; it must be one of"),
    (half_a_threshold, r"has 'at_most' but lacks 'missing_holds'"),
    (node_without_sense, r"root\.yes lacks the field 'leaf'"),
    (node_of_text, r"root\.no is 'stop'; it must be an object"),
    (branch_with_leaf, r"root has the unknown field 'if'"),
    (drop("intercept"), r"the document lacks the field 'intercept'"),
    (put(["note"], "hello"), r"the document has the unknown field 'note'"),
    (put(["a\nb"], 1), r"the document has the unknown field 'a\\nb'"),
    (put(["intercept"], "1.5"), r"intercept is '1\.5'; it must be a finite number"),
    (put(["intercept"], True), r"intercept is True; it must be a finite number"),
    (put(["intercept"], None), r"intercept is None; it must be a finite number"),
    (put(["intercept"], 10**400), r"intercept is a whole number of 1329 bits; it must be a finite"),
    (put(["bound"], 3.0), r"bound is 3\.0; it must be a whole number"),
    (put(["bound"], -1), r"bound is -1; it must be at least 0"),
    (put(["target", "positive"], 2), r"positive is 2; it must be one of \[0, 1\]"),
    (put(["target", "positive"], True), r"positive is True; it must be one of \[0, 1\]"),
    (put(["task"], 1), r"task is 1; it must be one of \['binary', 'regression', 'survival', 'mul"),
    (put(["loss", "name"], "hinge"), r"loss.name is 'hinge'; it must be one of \['binomial', 'sq"),
    (put(["loss", "link"], "probit"), r"loss.link is 'probit'; it must be one of \['logit', 'id"),
    (put(["loss", "power"], "1.5"), r"loss.power is '1\.5'; it must be a finite number"),
    (put(["target", "units"], None), r"target has the unknown field 'units'"),
    (put(["scores"], 0), r"scores is 0; it must be at least 1"),
    (put(["baseline"], []), r"baseline is an array of 0; it must be null"),
    (put(["target", "classes"], ["a", "b", "c"]), r"classes has 3 items; it must have at most 2"),
    (put(["target", "classes"], ["a"]), r"classes has 1 items; it must have at least 2"),
    (put(["target", "classes", 1], None), r"classes\[1\] is None; it must be text or a finite"),
    (put(["ownership"], "mine"), r"ownership is 'mine'; it must be one of \['component'"),
    (put(["components", 0, "name"], "C0"), r"components\[0\]\.name is 'C0'; it must match"),
    (put(["components", 0, "name"], "C1\n"), r"components\[0\]\.name is 'C1\\n'; it must match"),
    (put(["components", 0, "direct", 0, "scale"], 0), r"scale is 0; it must be above 0"),
    (put(["components", 0, "direct", 0, "penalty"], -1.0), r"penalty is -1\.0; it must be above 0"),
    (put(["settings", "l1"], "most"), r"settings\.l1 is 'most'; it must be one of \['cv', '4/n'\]"),
    (put(["settings", "l1"], 0), r"settings\.l1 is 0; it must be above 0"),
    (put(["settings", "l1_ratio"], 1.5), r"settings\.l1_ratio is 1\.5; it must be at most 1"),
    (put(["settings", "limits", "interactions"], 3), r"interactions is 3; it must be null or an"),
    (put(["settings", "limits", "monotone"], {"age": "up"}), r"monotone\.age is 'up'; it must be"),
    (put(["settings", "limits", "penalty"], {"my age": 0}), r"penalty\['my age'\] is 0; it must"),
    (put(["training", "rounds", 0, "accepted"], 1), r"rounds\[0\]\.accepted is 1; it must be true"),
    (put(["training", "mean_contributions", "T1"], "x"), r"mean_contributions\.T1 is 'x'; it must"),
    (put(["data", "sha256"], "abc"), r"data\.sha256 is 'abc'; it must match"),
    (put(["data", "profile", 0, "missing"], "few"), r"profile\[0\]\.missing is 'few'; it must"),
    (put(["data", "profile", 0, "quantiles"], [1]), r"quantiles has 1 items; it must have at"),
    (put(["schema", "variables"], []), r"schema\.variables has 0 items; it must have at least 1"),
    (put(["hash"], "Z" * 500), r"hash is 'ZZZZ"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda v: getattr(v, "__name__", None))
def test_the_first_offence_is_named_on_one_line(change, message):
    document = stored("mixed").copy()
    change(document)
    with pytest.raises(ModelFileError, match=message) as raised:
        validate(document, SCHEMA)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("change", [case[0] for case in BAD], ids=lambda v: v.__name__)
def test_the_reference_implementation_refuses_the_same(change):
    document = stored("mixed").copy()
    change(document)
    # By the standard 3.0 is whole and 10**400 a number; and the package takes Python's $ for its.
    strange = (
        document["bound"] == 3.0
        or document.get("intercept") == 10**400
        or document["components"][0]["name"] == "C1\n"
    )
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document) == strange


SMALL = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"oneOf": [{"type": "null"}, {"type": "array", "items": {"enum": [1, "x", True]}}]},
        "b": {"type": ["integer", "boolean"], "minimum": 2, "maximum": 5},
        "c": {"type": "string", "pattern": "^x+$"},
    },
    "dependentRequired": {"b": ["c"]},
    "additionalProperties": {"type": "number"},
}


@pytest.mark.parametrize("a", [None, [], [1], ["x"], [True], [0], [1.5], {}, "x", [[1]], [None]])
@pytest.mark.parametrize("rest", [{}, {"b": 3}, {"b": 3, "c": "x"}, {"b": 1, "c": "x"}, {"c": "y"}])
@pytest.mark.parametrize("extra", [{}, {"d": 1.5}, {"d": "1"}, {"d": False}])
def test_small_documents_are_judged_as_the_reference_judges_them(a, rest, extra):
    document = {"a": a, **rest, **extra}
    assert accepts(document, SMALL) == jsonschema.Draft202012Validator(SMALL).is_valid(document)


def test_a_document_that_obeys_is_a_model():
    assert from_dict(sealed(stored("special").copy())).score(stored("special").X).shape == (300,)


def test_the_page_on_the_file_names_the_fields_of_the_selection():
    page = (Path(__file__).parents[2] / "docs" / "model_file.md").read_text()
    offered, selection = SCHEMA["$defs"]["candidate"], SCHEMA["$defs"]["selection"]
    inside = SCHEMA["$defs"]["evaluation"]
    records = [selection, *offered["oneOf"], *inside["oneOf"]]
    names = {n for part in records for n in part["properties"]}
    assert {"menu", "shape_family", "frontier", "miu"} <= names
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []

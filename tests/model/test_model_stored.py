"""The stored models have the structure that this version of the library writes.

Where a test here fails: python tests/stored/make_stored.py
"""

import runpy

import pytest

from model_files import FOLDER, columns, stored_document
from rpte.model.file import from_dict, to_dict
from rpte.model.format import DEFINITIONS
from rpte.model.versions import NEWEST

MAKE = runpy.run_path(str(FOLDER / "make_stored.py"))
PARTS = ("target", "loss", "schema", "settings", "training", "data")


def structure(document):
    """Return the fields of a document, and those of its parts."""
    return set(document), {part: set(document[part]) for part in PARTS}


def test_there_is_one_of_every_task_and_kind_of_term_and_they_are_small():
    files = sorted(FOLDER.glob("*.json"))
    assert [path.stem for path in files] == sorted(MAKE["NAMES"])
    assert sum(path.stat().st_size for path in files) < 350_000
    documents = [stored_document(path.stem) for path in files]
    assert {document["task"] for document in documents} == {
        "binary", "multiclass", "regression", "survival", "competing risks"
    }  # fmt: skip
    documents += stored_document("causes")["models"]
    documents = [document for document in documents if "components" in document]
    kinds = {option["$ref"].rsplit("/", 1)[-1] for option in DEFINITIONS["column"]["oneOf"]}
    assert {column["kind"] for document in documents for column in columns(document)} == kinds


@pytest.mark.parametrize("name", MAKE["NAMES"])
def test_the_library_would_write_the_same_document(name):
    document = stored_document(name)
    assert document["version"] == NEWEST
    assert to_dict(from_dict(document)) == document


@pytest.mark.parametrize(
    "name", ["counts", "edited", "chosen", "claims", "classes", "trial", "visits"]
)
def test_fits_of_today_have_the_same_fields(name):
    assert structure(MAKE["document_of"](name)) == structure(stored_document(name))

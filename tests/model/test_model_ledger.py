"""The ledger inside a model file: a chain that cannot be changed unnoticed."""

import copy
import json

import pytest

import rpte
from model_files import sealed, stored, write
from rpte.check import rpte_check
from rpte.errors import ModelFileError
from rpte.model.file import from_dict, to_dict
from rpte.model.ledger import OPTIMALITY
from rpte.model.ledger import sealed as sealed_entry

WHEN = "2026-01-31T12:00:00Z"


@pytest.fixture(scope="module")
def edited():
    """Return the document of a model with three entries: two drops, then a refit."""
    model = from_dict(stored("mixed").copy())
    table = rpte.Labelled(*stored("mixed").given)
    for number, options in enumerate(
        [{"drop_terms": ["D2"]}, {"drop_sources": ["smoker"]}, {"refit": True}]
    ):
        who = {"by": f"person {number}", "reason": "a test", "when": WHEN}
        model = rpte.edit(model, table=table, **options, **who)
    return json.loads(json.dumps(to_dict(model)))


def faults(document, tmp_path):
    """Return what `verify_file` and the checker find wrong with a sealed file."""
    path = write(sealed(document), tmp_path)
    ours = {c.name: c.evidence for c in rpte.verify_file(path) if not c.holds}
    theirs = {
        name for name, wrong, _ in rpte_check.file_checks(json.loads(path.read_text())) if wrong
    }
    assert ("ledger" in ours) == ("ledger" in theirs)
    return ours


def test_it_is_whole(edited, tmp_path):
    assert faults(edited, tmp_path) == {}
    checks = {c.name: c for c in rpte.verify_file(write(edited, tmp_path), *stored("mixed").given)}
    assert "3 entries" in checks["ledger"].evidence
    assert all(check.holds for check in checks.values())
    assert [e["previous"] for e in edited["ledger"]] == [
        None,
        *(e["hash"] for e in edited["ledger"][:-1]),
    ]
    assert edited["ledger"][0]["before"]["model"] == stored("mixed").document["hash"]
    assert edited["ledger"][1]["withdrawn"] == []
    assert edited["ledger"][2]["restored"] == [OPTIMALITY]


def test_a_loaded_model_keeps_it(edited, tmp_path):
    model = rpte.load(write(edited, tmp_path))
    assert json.loads(json.dumps(to_dict(model))) == edited
    assert model.summary().count("edit ") == 3


@pytest.mark.parametrize("field", ["by", "when", "reason"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_changed_entry(edited, tmp_path, field, number):
    document = copy.deepcopy(edited)
    document["ledger"][number][field] = "2020-01-31T12:00:00Z" if field == "when" else "somebody"
    assert f"entry {number + 1} was changed" in faults(document, tmp_path)["ledger"]


def test_an_entry_sealed_again(edited, tmp_path):
    document = copy.deepcopy(edited)
    first, second, _ = document["ledger"]
    content = {k: v for k, v in second.items() if k not in ("previous", "hash")}
    document["ledger"][1] = sealed_entry({**content, "reason": "another"}, first)
    assert "entry 3 does not follow" in faults(document, tmp_path)["ledger"]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_removed_entry(edited, tmp_path, number):
    document = copy.deepcopy(edited)
    del document["ledger"][number]
    assert "ledger" in faults(document, tmp_path)


def test_entries_exchanged(edited, tmp_path):
    document = copy.deepcopy(edited)
    document["ledger"][0], document["ledger"][1] = document["ledger"][1], document["ledger"][0]
    assert "entry 1 is numbered 2" in faults(document, tmp_path)["ledger"]


def test_a_model_changed_after_its_last_entry(edited, tmp_path):
    document = copy.deepcopy(edited)
    document["intercept"] += 0.1
    assert "not the one that the last entry left" in faults(document, tmp_path)["ledger"]


def test_a_whole_new_ledger_is_found_by_signature_alone(edited, tmp_path):
    """As with the content hash: who makes everything anew leaves no trace in the file itself."""
    key = b"a secret of 32 bytes, not this.."
    path = write(edited, tmp_path)
    rpte.sign(path, key)
    document, before = copy.deepcopy(edited), None
    for place, entry in enumerate(document["ledger"]):
        content = {k: v for k, v in entry.items() if k not in ("previous", "hash")}
        before = document["ledger"][place] = sealed_entry({**content, "by": "nobody"}, before)
    assert faults(document, tmp_path) == {}
    assert not rpte.check_signature(path, key)


def test_claims_that_were_withdrawn_cannot_come_back(tmp_path):
    model = from_dict(stored("monotone").copy())
    tree = model.components[0].trees[0]
    leaf = next(tree.leaf_name(n) for n, leaf in enumerate(tree.leaves) if leaf.coefficient)
    forced = rpte.edit(model, drop_terms=[leaf], by="x", reason="y", when=WHEN, force=True)
    document = json.loads(json.dumps(to_dict(forced)))
    document["settings"]["limits"]["monotone"]["a"] = "increasing"
    assert "ledger" in faults(document, tmp_path)


def test_an_objective_is_not_lost_without_a_ledger(edited, tmp_path):
    document = stored("mixed").copy()
    document["training"]["objective"] = None
    with pytest.raises(ModelFileError, match=r"does not go with settings\.reassign"):
        rpte.load(write(sealed(document), tmp_path))
    document = copy.deepcopy(edited)
    document["training"]["objective"] = None
    found = faults(document, tmp_path)
    assert "ledger" in found
    assert "recorded objective" in found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("when", "yesterday"),
        ("by", " "),
        ("operations", []),
        ("number", 0),
        ("previous", "x"),
        ("more", 1),
    ],
)
def test_a_malformed_entry_is_refused(edited, tmp_path, field, value):
    document = copy.deepcopy(edited)
    document["ledger"][0][field] = value
    with pytest.raises(ModelFileError, match=r"ledger\[0\]"):
        rpte.load(write(sealed(document), tmp_path))


def test_an_empty_ledger_is_none(edited, tmp_path):
    document = copy.deepcopy(edited)
    document["ledger"] = []
    with pytest.raises(ModelFileError, match="ledger"):
        rpte.load(write(sealed(document), tmp_path))

"""Logs of version 1, as the first release wrote them: they replay, and every change is found."""

import json
from pathlib import Path

import pytest

import rpte
from export_models import golden
from rpte.audit.decisions.decide import append_decisions
from rpte.errors import InputError
from rpte.model.file import sealed_hash

LOGS = Path(__file__).parents[1] / "golden" / "decisions_1"
NAMES = sorted(path.stem for path in LOGS.iterdir())


def linked(content, before):
    """Return a record with the hash of the one before it and its own."""
    chained = {**content, "previous": None if before is None else before["hash"]}
    return {**chained, "hash": sealed_hash(chained)}


def records(name="mixed"):
    return [json.loads(line) for line in (LOGS / f"{name}.jsonl").read_text().splitlines()]


def resealed(changed):
    """Return records with a chain that fits, as a forger would make it."""
    made = []
    for record in changed:
        content = {k: v for k, v in record.items() if k not in ("previous", "hash")}
        if content["record"] == "end":
            content["head"] = made[-1]["hash"]
        made.append(linked(content, made[-1] if made else None))
    return made


def replayed(changed, tmp_path, head=None):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in changed))
    return [str(finding) for finding in rpte.replay(path, golden("mixed")[0], head).findings]


@pytest.mark.parametrize("name", NAMES)
def test_they_replay(name):
    head = records(name)[-1]["head"]
    found = rpte.replay(LOGS / f"{name}.jsonl", golden(name)[0], head)
    assert found.findings == ()
    assert found.proved == found.cases == len(records(name)) - 2
    assert found.head == head


def test_one_value_with_its_own_hash_made_anew(tmp_path):
    changed = records()
    content = {k: v for k, v in changed[5].items() if k not in ("previous", "hash")}
    content["components"][0]["terms"][0]["value"] += 1.0
    changed[5] = linked(content, changed[4])
    found = replayed(changed, tmp_path)
    assert [text.split(":")[0] for text in found] == ["line 6", "line 7"]
    assert "'components' is" in found[0]
    assert "was not written after the record that stands before it" in found[1]


def test_removed_moved_and_cut(tmp_path):
    whole = records()
    found = replayed([*whole[:5], *whole[6:]], tmp_path)
    assert "line 6: case 6 stands where case 5 should: removed or moved" in found
    found = replayed([*whole[:5], whole[6], whole[5], *whole[7:]], tmp_path)
    assert found[1].startswith("line 7: case 5 stands after case 6")
    assert replayed(whole[:-1], tmp_path)[0].endswith("closing record: it was cut off")
    assert "line 43: stands after the closing record" in replayed([*whole, whole[3]], tmp_path)


@pytest.mark.parametrize("field", ["reasons", "missing", "unseen", "notes", "inputs", "adverse"])
def test_a_field_left_out_or_added(field, tmp_path):
    changed = records()
    del changed[3][field]
    assert any("case 3" in text for text in replayed(resealed(changed), tmp_path))
    changed = records()
    changed[3][field + "2"] = 1
    assert any("no field of a case" in t for t in replayed(resealed(changed), tmp_path))


def test_a_whole_rewrite_is_found_by_its_head(tmp_path):
    changed = records()
    head = changed[-1]["head"]
    changed[3]["id"] = "somebody else"
    forged = resealed(changed)
    assert replayed(forged, tmp_path) == []
    assert "written again" in replayed(forged, tmp_path, head)[0]
    changed[3]["probability"] = 0.123
    assert "'probability' is 0.123" in replayed(resealed(changed), tmp_path)[0]


def test_they_are_not_continued(tmp_path):
    path = tmp_path / "log.jsonl"
    before = (LOGS / "mixed.jsonl").read_bytes()
    path.write_bytes(before)
    model, rows = golden("mixed")
    with pytest.raises(InputError, match=r"version 1, which this library can replay but not cont"):
        append_decisions(path, model, rows)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="full records"):
        list(rpte.read_decisions(path, model))

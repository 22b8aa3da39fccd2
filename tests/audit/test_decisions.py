"""Logs of decisions: what a record holds, and that a replay finds every change."""

import contextlib
import json
import random

import numpy as np
import pytest

import rpte
from model_files import NAMES, stored
from rpte.audit.decisions import linked
from rpte.errors import InputError
from rpte.model.file import from_dict, to_dict

WHEN = "2026-01-31T12:00:00Z"


def model_of(name):
    return from_dict(stored(name).copy())


def log(name, rows=12, **options):
    """Return the records of some cases, as they are read from a file."""
    records = rpte.decide(model_of(name), stored(name).X[:rows], when=WHEN, **options)
    return [json.loads(json.dumps(record)) for record in records]


def replayed(records, tmp_path, name="mixed", head=None):
    """Return what a replay of these records finds, as texts."""
    path = tmp_path / "log.jsonl"
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    path.write_text("".join(f"{line}\n" for line in lines))
    return [str(finding) for finding in rpte.replay(path, model_of(name), head).findings]


def resealed(records):
    """Return records with a chain that fits, as a forger would make it."""
    made = []
    for record in records:
        content = {k: v for k, v in record.items() if k not in ("previous", "hash")}
        if content["record"] == "end":
            content["head"] = made[-1]["hash"]
        made.append(linked(content, made[-1] if made else None))
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_log_of_every_kind_of_model_replays(name, tmp_path):
    records = log(name, 30)
    assert len(records) == 32
    assert replayed(records, tmp_path, name) == []
    assert replayed(records, tmp_path, name, records[-1]["head"]) == []


@pytest.mark.parametrize("name", ["special", "array"])
def test_a_record_says_what_the_model_did(name):
    model, X = model_of(name), stored(name).X[:30]
    head, *cases, end = log(name, 30)
    assert head["model"] == end["model"] == to_dict(model)["hash"]
    assert end["cases"] == 30
    assert end["head"] == cases[-1]["hash"]
    read = {s for c in model.components for s in c.sources}
    for number, (case, told) in enumerate(zip(cases, model.explain(X), strict=True), 1):
        assert case["number"] == number
        assert case["inputs"].keys() == read
        assert (case["score"], case["probability"]) == (told.score, told.probability)
        total = case["intercept"]
        for component in case["components"]:
            subtotal = 0.0
            for term in component["terms"]:
                subtotal += term["value"]
                assert ("path" in term) == ("." in term["term"])
            assert subtotal == component["value"]
            total += subtotal
        assert total == case["score"]
        assert case["missing"] == [n for n, cell in case["inputs"].items() if cell is None]


def test_cells_that_training_did_not_have(tmp_path):
    model, X = model_of("mixed"), stored("mixed").X[:3].copy()
    X["region"] = ["mars", None, "north"]
    X.loc[X.index[2], "age"] = np.nan
    records = [json.loads(json.dumps(r)) for r in rpte.decide(model, X, when=WHEN)]
    first, second, third = records[1:4]
    assert (first["unseen"], first["inputs"]["region"]) == (["region"], "mars")
    assert second["missing"][-1:] == ["region"]
    assert "age" in third["missing"]
    assert third["notes"] == ["age is missing, which it never was in training"]
    assert replayed(records, tmp_path) == []


def test_special_codes_are_recorded_by_name(tmp_path):
    cases = log("special", 30)[1:-1]
    points = [case["inputs"]["points"] for case in cases if "points" in case["inputs"]]
    assert {"-9", "-8"} <= set(points)


def test_ids_and_threshold(tmp_path):
    model = model_of("mixed")
    rule = rpte.reason_rule(model, threshold=0.5)
    names = [f"case-{i}" for i in range(20)]
    records = log("mixed", 20, rule=rule, ids=names)
    assert [r["id"] for r in records[1:-1]] == names
    for case in records[1:-1]:
        assert case["adverse"] == (case["probability"] >= 0.5)
        assert bool(case["reasons"]) <= case["adverse"]
    assert replayed(records, tmp_path) == []
    with pytest.raises(InputError, match="3 ids for 20 cases"):
        log("mixed", 20, ids=names[:3])


def test_the_same_table_gives_the_same_head():
    assert log("mixed")[-1] == log("mixed")[-1]
    assert log("mixed", 11)[-1]["head"] != log("mixed", 12)[-1]["head"]


def test_an_empty_table_has_a_log(tmp_path):
    records = log("mixed", 0)
    assert [r["record"] for r in records] == ["head", "end"]
    assert replayed(records, tmp_path) == []


def nudged(value):
    return float(np.nextafter(value, np.inf))


class TestTampering:
    """Each forgery is found, and the line is named."""

    def test_one_float_in_its_last_bit(self, tmp_path):
        records = log("mixed")
        records[5]["score"] = nudged(records[5]["score"])
        found = replayed(records, tmp_path)
        assert "line 6: case 5 was changed: its content does not match its hash" in found
        assert any("case 5 is not what the model gives: 'score' is" in text for text in found)

    def test_one_float_with_its_own_hash_made_anew(self, tmp_path):
        records = log("mixed")
        content = {k: v for k, v in records[5].items() if k not in ("previous", "hash")}
        content["components"][0]["terms"][0]["value"] += 1.0
        records[5] = linked(content, records[4])
        found = replayed(records, tmp_path)
        assert [text.split(":")[0] for text in found] == ["line 6", "line 7"]
        assert "'components' is" in found[0]
        assert "was not written after the record that stands before it" in found[1]

    def test_the_last_case_with_its_own_hash_made_anew(self, tmp_path):
        records = log("mixed")
        content = {k: v for k, v in records[-2].items() if k not in ("previous", "hash")}
        content["inputs"]["age"] = 3.0
        records[-2] = linked(content, records[-3])
        found = replayed(records, tmp_path)
        assert any("'score' is" in text for text in found)
        assert any("the closing record tells of the head" in text for text in found)

    def test_a_removed_record(self, tmp_path):
        records = log("mixed")
        del records[5]
        found = replayed(records, tmp_path)
        assert "line 6: case 6 stands where case 5 should: removed or moved" in found
        assert "line 13: the closing record tells of 12 cases, not 11" in found

    def test_two_records_exchanged(self, tmp_path):
        records = log("mixed")
        records[5], records[6] = records[6], records[5]
        found = replayed(records, tmp_path)
        assert found[0].startswith("line 6: case 6 stands where case 5 should")
        assert found[1].startswith("line 7: case 5 stands after case 6")

    def test_a_record_put_in_twice(self, tmp_path):
        records = log("mixed")
        records.insert(6, records[5])
        assert any(
            "line 7: case 5 stands after case 5" in text for text in replayed(records, tmp_path)
        )

    def test_the_end_cut_off(self, tmp_path):
        found = replayed(log("mixed")[:-3], tmp_path)
        assert found == ["line 11: the file ends without a closing record: it was cut off"]

    def test_the_end_cut_off_and_closed_again(self, tmp_path):
        records = log("mixed")
        head = records[-1]["head"]
        cut = resealed([*records[:8], {**records[-1], "cases": 7}])
        assert replayed(cut, tmp_path) == []
        assert "the file was made anew, cut or continued" in replayed(cut, tmp_path, head=head)[0]

    def test_a_whole_rewrite_is_found_by_its_head_alone(self, tmp_path):
        """Other inputs, honestly computed: a consistent log of cases that never were."""
        original = log("mixed")
        forged = json.loads(json.dumps(list(
            rpte.decide(model_of("mixed"), stored("mixed").X[50:62], when=WHEN)
        )))  # fmt: skip
        assert replayed(forged, tmp_path) == []
        found = replayed(forged, tmp_path, head=original[-1]["head"])
        assert len(found) == 1
        assert "the head is" in found[0]

    def test_a_whole_rewrite_with_other_results_is_found_anyhow(self, tmp_path):
        records = log("mixed")
        records[3]["probability"] = 0.123
        found = replayed(resealed(records), tmp_path)
        assert len(found) == 1
        assert "case 3 is not what the model gives: 'probability' is 0.123" in found[0]

    @pytest.mark.parametrize(
        "field", ["reasons", "missing", "unseen", "notes", "inputs", "adverse"]
    )
    def test_a_field_left_out_or_added(self, field, tmp_path):
        records = log("mixed")
        del records[3][field]
        assert any("case 3" in text for text in replayed(resealed(records), tmp_path))
        records = log("mixed")
        records[3][field + "2"] = 1
        assert any("no field of a case" in t for t in replayed(resealed(records), tmp_path))

    def test_another_model(self, tmp_path):
        found = replayed(log("mixed"), tmp_path, "published")
        assert "the log is of the model" in found[0]

    def test_another_rule(self, tmp_path):
        records = log("mixed")
        records[0]["rule"]["values"]["C1"] += 1.0
        found = replayed(resealed(records), tmp_path)
        assert found == ["line 1: the rule of reasons is not one that this model gives"]

    def test_records_after_the_end(self, tmp_path):
        records = log("mixed")
        found = replayed([*records, records[3]], tmp_path)
        assert "line 15: stands after the closing record" in found

    def test_garbage(self, tmp_path):
        records = log("mixed")
        records.insert(4, "{not json")
        found = replayed(records, tmp_path)
        assert found[0].startswith("line 5: is not a record")
        with pytest.raises(InputError, match="no log of decisions"):
            replayed(["{}"], tmp_path)
        (tmp_path / "log.jsonl").write_text("")
        with pytest.raises(InputError, match="is empty"):
            rpte.replay(tmp_path / "log.jsonl", model_of("mixed"))

    @pytest.mark.parametrize("seed", range(60))
    def test_any_change_of_any_value_is_found(self, seed, tmp_path):
        rng, records = random.Random(seed), log("mixed", 6)
        record = rng.choice(records)
        node, key = record, rng.choice(list(record))
        while isinstance(node[key], dict | list) and node[key]:
            node = node[key]
            key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        old = node[key]
        node[key] = rng.choice([v for v in (None, 0, 1.5, "x", [], {}, True, -1) if v != old])
        assert type(old) is not type(node[key]) or old != node[key]
        if record is records[0]:  # an opening record may be so wrong that the file is no log
            with contextlib.suppress(InputError):
                assert replayed(records, tmp_path)
            return
        assert replayed(records, tmp_path)

"""Logs of decisions: what a record holds, and that a replay finds every change."""

import contextlib
import json
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpte
from effort import examples
from model_files import NAMES, stored
from rpte.audit.decisions.records import Chain, digest, opened, text_of
from rpte.errors import InputError, RPTEWarning
from rpte.model.file import from_dict, to_dict

WHEN = "2026-01-31T12:00:00Z"


def model_of(name):
    return from_dict(stored(name).copy())


def log(name, rows=12, **options):
    """Return the lines of a log of some cases."""
    return list(rpte.decide(model_of(name), stored(name).X[:rows], when=WHEN, **options))


def values(lines):
    """Return the JSON values of some lines."""
    return [json.loads(line) for line in lines]


def replayed(lines, tmp_path, name="mixed", head=None):
    """Return what a replay of these lines finds, as texts."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return [str(finding) for finding in rpte.replay(path, model_of(name), head).findings]


def full(lines, tmp_path, name="mixed"):
    """Return the full records of a log."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return list(rpte.read_decisions(path, model_of(name)))


def altered(line, change):
    """Return a line with another content and the digest it had, as a careless forger leaves it."""
    content, old = opened(line)
    value = json.loads(content)
    change(value)
    text = text_of(value)
    name = '"digest":' if text[-1] == "}" else ""
    return f'{text[:-1]},{name}"{old}"{text[-1]}'


def resealed(lines):
    """Return lines with chains that fit, as a clever forger would make them."""
    chain, made = Chain(), []
    for line in lines:
        value = json.loads(opened(line)[0])
        if isinstance(value, dict) and value["record"] == "end":
            value["head"] = chain.head
        made.append(chain.sealed(text_of(value)))
        if isinstance(value, dict) and value["record"] == "end":
            chain = Chain(made[-1], chain.last)
    return [line.decode()[:-1] for line in made]


@pytest.mark.parametrize("name", NAMES)
def test_a_log_of_every_kind_of_model_replays(name, tmp_path):
    lines = log(name, 30)
    assert len(lines) == 33
    assert replayed(lines, tmp_path, name) == []
    assert replayed(lines, tmp_path, name, json.loads(lines[-1])["head"]) == []


@pytest.mark.parametrize("name", ["special", "array"])
def test_a_full_record_says_what_the_model_did(name, tmp_path):
    model, X = model_of(name), stored(name).X[:30]
    lines = log(name, 30)
    first, _, *cases, end = values(lines)
    assert first["model"] == end["model"] == to_dict(model)["hash"]
    assert end["cases"] == 30
    read = {s for c in model.components for s in c.sources}
    assert set(first["variables"]) == read
    records = full(lines, tmp_path, name)
    told = zip(cases, records, model.explain(X), strict=True)
    for number, (case, record, explained) in enumerate(told, 1):
        assert case[0] == record["number"] == number
        assert case[2] == record["score"] == explained.score
        assert record["probability"] == explained.probability
        assert (record["when"], record["inputs"].keys()) == (WHEN, read)
        total = record["intercept"]
        for component in record["components"]:
            subtotal = 0.0
            for term in component["terms"]:
                subtotal += term["value"]
                assert ("path" in term) == ("." in term["term"])
            assert subtotal == component["value"]
            total += subtotal
        assert total == case[2]
        assert record["missing"] == [n for n, cell in record["inputs"].items() if cell is None]
        assert [first["variables"][i] for i in case[-3]] == [r["source"] for r in record["reasons"]]


def test_cells_that_training_did_not_have(tmp_path):
    model, X = model_of("mixed"), stored("mixed").X[:3].copy()
    X["region"] = ["mars", None, "north"]
    X.loc[X.index[2], "age"] = np.nan
    with pytest.warns(RPTEWarning, match="'mars'"):
        lines = list(rpte.decide(model, X, when=WHEN))
    first, second, third = full(lines, tmp_path)
    assert (first["unseen"], first["inputs"]["region"]) == (["region"], "mars")
    assert second["missing"][-1:] == ["region"]
    assert "age" in third["missing"]
    assert third["notes"] == ["age is missing, which it never was in training"]
    assert replayed(lines, tmp_path) == []


@pytest.mark.slow(reason="writes and reads whole logs")
@given(
    numbers=st.lists(
        st.one_of(
            st.none(),
            st.floats(-1e300, 1e300),
            st.integers(-(2**53), 2**53).map(float),
            st.sampled_from([5e-324, 0.1 + 0.2, 1e15, 1e15 - 1, 1e22, -0.0, 2.0**53]),
        ),
        min_size=1,
        max_size=8,
    ),
    texts=st.lists(
        st.one_of(st.none(), st.booleans(), st.text(max_size=8), st.just('"\n\r\u2028\\ü,]')),
        min_size=8,
        max_size=8,
    ),
)
@examples(40)
def test_cells_are_read_back_to_the_bit(numbers, texts, tmp_path_factory):
    """Numbers bit for bit, texts to the letter, missing as missing; and the log replays."""
    tmp_path, n = tmp_path_factory.mktemp("cells"), len(numbers)
    X = {name: list(stored("mixed").X[name][:n]) for name in stored("mixed").X}
    X["age"], X["region"] = numbers, texts[:n]
    lines = list(rpte.decide(model_of("mixed"), X, when=WHEN))
    records = full(lines, tmp_path)
    again = [record["inputs"]["age"] for record in records]
    given = [None if x is None else x + 0.0 for x in numbers]  # a zero has no sign
    assert [x if x is None else x.hex() for x in again] == [
        x if x is None else x.hex() for x in given
    ]
    told = [record["inputs"]["region"] for record in records]
    assert told == [None if text is None else str(text) for text in texts[:n]]
    assert replayed(lines, tmp_path) == []


def test_text_that_is_not_unicode_is_refused():
    X = {name: list(stored("mixed").X[name][:2]) for name in stored("mixed").X}
    X["region"] = ["\ud800", "north"]
    with pytest.raises(InputError, match="not Unicode text"):
        list(rpte.decide(model_of("mixed"), X))


def test_special_codes_are_recorded_by_name(tmp_path):
    cases = full(log("special", 30), tmp_path, "special")
    points = [case["inputs"]["points"] for case in cases if "points" in case["inputs"]]
    assert {"-9", "-8"} <= set(points)


def test_ids_and_threshold(tmp_path):
    model = model_of("mixed")
    rule = rpte.reason_rule(model, threshold=0.5)
    names = [f"case-{i}" for i in range(20)]
    lines = log("mixed", 20, rule=rule, ids=names)
    assert [case[1] for case in values(lines)[2:-1]] == names
    for case in full(lines, tmp_path):
        assert case["adverse"] == (case["probability"] >= 0.5)
        assert bool(case["reasons"]) <= case["adverse"]
    assert replayed(lines, tmp_path) == []
    with pytest.raises(InputError, match="3 ids for 20 cases"):
        log("mixed", 20, ids=names[:3])


def test_the_same_table_gives_the_same_head():
    assert log("mixed")[-1] == log("mixed")[-1]
    heads = [json.loads(log("mixed", rows)[-1])["head"] for rows in (11, 12)]
    assert heads[0] != heads[1]


def test_an_empty_table_has_a_log(tmp_path):
    lines = log("mixed", 0)
    assert [r["record"] for r in values(lines)] == ["model", "run", "end"]
    assert replayed(lines, tmp_path) == []


def test_other_models_are_not_read(tmp_path):
    lines = log("mixed")
    with pytest.raises(InputError, match="the log is of the model"):
        full(lines, tmp_path, "published")


def set_to(place, value):
    def change(values):
        values[place] = value

    return change


class TestTampering:
    """Each forgery is found, and the line is named."""

    def test_one_float_in_its_last_bit(self, tmp_path):
        lines = log("mixed")
        score = float(np.nextafter(json.loads(lines[6])[2], np.inf))
        lines[6] = altered(lines[6], set_to(2, score))
        found = replayed(lines, tmp_path)
        assert found[0].startswith("line 7: case 5 was changed, or the record before it")
        assert found[1].startswith("line 7: case 5 is not what the model gives: 'score' is")
        assert found[2].startswith("line 15: the closing record states the head")
        assert len(found) == 3

    def test_another_layout_of_the_same_values(self, tmp_path):
        lines = log("mixed")
        lines[6] = lines[6].replace(",[", ", [", 1)
        found = replayed(lines, tmp_path)
        assert [text.split(":")[0] for text in found] == ["line 7", "line 15"]

    def test_one_input_with_its_own_digest_made_anew(self, tmp_path):
        lines = log("mixed")
        content = json.loads(opened(lines[6])[0])
        content[1][0] += 1.0
        chain = Chain(b"", opened(lines[5])[1])
        lines[6] = chain.sealed(text_of(content)).decode()[:-1]
        found = replayed(lines, tmp_path)
        assert [text.split(":")[0] for text in found] == ["line 7", "line 8", "line 15"]
        assert "is not what the model gives" in found[0]
        assert "the record before it was changed and sealed again" in found[1]

    def test_one_id_in_a_log_that_is_sealed_again_up_to_its_head(self, tmp_path):
        """Nobody can compute an id: only the head knows it."""
        lines = log("mixed", ids=list("abcdefghijkl"))
        head = json.loads(lines[-1])["head"]
        lines[4] = altered(lines[4], set_to(1, "z"))
        assert len(replayed(lines, tmp_path)) == 2
        forged = resealed(lines)
        assert replayed(forged, tmp_path) == []
        assert "the file was written again" in replayed(forged, tmp_path, head=head)[0]

    def test_a_removed_record(self, tmp_path):
        lines = log("mixed")
        del lines[6]
        found = replayed(lines, tmp_path)
        assert "line 7: case 6 stands where case 5 should: removed or moved" in found
        assert "line 14: the closing record states 12 cases, not 11" in found
        assert found[-1].startswith("line 14: the closing record states the head")

    def test_two_records_exchanged(self, tmp_path):
        lines = log("mixed")
        lines[6], lines[7] = lines[7], lines[6]
        found = replayed(lines, tmp_path)
        assert found[0].startswith("line 7: case 6 stands where case 5 should")
        assert found[1].startswith("line 8: case 5 stands after case 6")

    def test_a_record_put_in_twice(self, tmp_path):
        lines = log("mixed")
        lines.insert(7, lines[6])
        assert any("line 8: case 5 stands after case 5" in t for t in replayed(lines, tmp_path))

    def test_the_end_cut_off(self, tmp_path):
        (found,) = replayed(log("mixed")[:-3], tmp_path)
        assert found.startswith("line 12: the file ends without a closing record: it was cut off")

    def test_the_end_cut_off_and_closed_again(self, tmp_path):
        lines = log("mixed")
        head = json.loads(lines[-1])["head"]
        end = altered(lines[-1], set_to("cases", 7))
        cut = resealed([*lines[:9], end])
        assert replayed(cut, tmp_path) == []
        assert "the file was written again, cut or changed" in replayed(cut, tmp_path, head=head)[0]

    def test_a_whole_rewrite_is_found_by_its_head_alone(self, tmp_path):
        """Other inputs, honestly computed: a consistent log of cases that never were."""
        head = json.loads(log("mixed")[-1])["head"]
        forged = list(rpte.decide(model_of("mixed"), stored("mixed").X[50:62], when=WHEN))
        assert replayed(forged, tmp_path) == []
        (found,) = replayed(forged, tmp_path, head=head)
        assert "the head is" in found

    @pytest.mark.parametrize("place", [2, 3, 4])
    def test_a_whole_rewrite_with_other_results_is_found_anyhow(self, place, tmp_path):
        """Score, reasons, or what is sealed of the contributions."""
        lines = log("mixed")
        other = {2: 0.123, 3: [1, 0, 2, 3], 4: digest("something else")}[place]
        lines[4] = altered(lines[4], set_to(place, other))
        (found,) = replayed(resealed(lines), tmp_path)
        field = {2: "score", 3: "reasons", 4: "facts"}[place]
        assert f"case 3 is not what the model gives: '{field}' is" in found

    def test_a_value_left_out_or_added(self, tmp_path):
        for change in (lambda v: v.pop(3), lambda v: v.append(1), lambda v: v[1].pop()):
            lines = log("mixed")
            lines[4] = altered(lines[4], change)
            assert any("case 3" in text for text in replayed(resealed(lines), tmp_path))

    @pytest.mark.parametrize("cell", [True, "12", 12.0, [], {}, 10**400])
    def test_a_cell_spelled_in_another_way(self, cell, tmp_path):
        lines = log("mixed")
        variables = json.loads(lines[0])["variables"]
        lines[4] = altered(lines[4], lambda v: v[1].__setitem__(variables.index("age"), cell))
        assert any("case 3" in text for text in replayed(resealed(lines), tmp_path))

    def test_another_model(self, tmp_path):
        found = replayed(log("mixed"), tmp_path, "published")
        assert "the log is of the model" in found[0]

    def test_another_rule(self, tmp_path):
        lines = log("mixed")
        lines[1] = altered(lines[1], lambda v: v["rule"]["values"].__setitem__("C1", 7.0))
        found = replayed(resealed(lines), tmp_path)
        assert found[0] == "line 2: the rule of reasons is not one that this model gives"

    def test_other_variables_in_the_record_of_the_model(self, tmp_path):
        lines = log("mixed")
        lines[0] = altered(lines[0], lambda v: v["variables"].reverse())
        assert "['variables'] differ" in replayed(resealed(lines), tmp_path)[0]

    def test_records_after_the_end(self, tmp_path):
        lines = log("mixed")
        found = replayed([*lines, lines[4]], tmp_path)
        assert "line 16: a case stands outside of a run: moved or put in" in found

    def test_garbage(self, tmp_path):
        lines = log("mixed")
        lines.insert(5, "{not json")
        found = replayed(lines, tmp_path)
        assert found[0].startswith("line 6: is not a record")
        with pytest.raises(InputError, match="no log of decisions"):
            replayed(["{}"], tmp_path)
        with pytest.raises(InputError, match="version 3"):
            replayed(['{"format":"rpte-decisions","version":3}'], tmp_path)
        (tmp_path / "log.jsonl").write_text("")
        with pytest.raises(InputError, match="is empty"):
            rpte.replay(tmp_path / "log.jsonl", model_of("mixed"))

    @pytest.mark.parametrize("seed", range(60))
    def test_any_change_of_any_value_is_found(self, seed, tmp_path):
        rng, lines = random.Random(seed), log("mixed", 6)
        place = rng.randrange(len(lines))

        def change(record):
            node, key = record, rng.choice(list(record) if isinstance(record, dict) else range(4))
            while isinstance(node[key], dict | list) and node[key]:
                node = node[key]
                key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
            old = node[key]
            others = [v for v in (None, 0, 1.5, "x", [], {}, True, -1) if v != old]
            node[key] = rng.choice(others)

        lines[place] = altered(lines[place], change)
        if place == 0:  # a first record may be so wrong that the file is no log
            with contextlib.suppress(InputError):
                assert replayed(lines, tmp_path)
            return
        assert replayed(lines, tmp_path)

    @pytest.mark.parametrize("seed", range(40))
    def test_any_change_of_any_byte_is_found(self, seed, tmp_path):
        rng = random.Random(seed)
        content = bytearray("".join(f"{line}\n" for line in log("mixed", 6)).encode())
        place = rng.randrange(len(content))
        content[place] ^= 1 << rng.randrange(7)
        path = tmp_path / "log.jsonl"
        path.write_bytes(content)
        try:
            assert rpte.replay(path, model_of("mixed")).findings
        except InputError:
            assert content.find(b"\n") >= place


def test_pandas_and_plain_lists_give_the_same_lines():
    X = stored("mixed").X[:20]
    rows = X.astype(object).where(X.notna(), None)
    plain = {name: list(rows[name]) for name in rows}
    lines = [list(rpte.decide(model_of("mixed"), table, when=WHEN)) for table in (X, plain)]
    assert isinstance(X, pd.DataFrame)
    assert lines[0] == lines[1]

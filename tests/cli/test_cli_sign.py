"""Signing a model file, finding that one was changed, and the picture of a case."""

import json

import pytest

from command_tables import CREDIT, QUICK, credit, good, refused, run, write_csv


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    table = write_csv(credit(), folder / "loans.csv")
    good("fit", table, *CREDIT, "-o", folder / "model.json", *QUICK)
    (folder / "key").write_bytes(b"a secret of 32 bytes, not this..")
    return folder


def test_a_signed_file_is_told_from_a_changed_one(loans):
    model, key = loans / "model.json", ("--key-file", loans / "key")
    assert good("sign", model, *key).strip().endswith("model.json.sig")
    first = json.loads(good("verify", model, *key, "--json"))["checks"][0]
    assert first["name"] == "signature"
    assert first["holds"]
    document = json.loads(model.read_text())
    document["intercept"] += 0.5
    model.write_text(json.dumps(document))
    outcome = run("verify", model, *key, "--json")
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout)["failed"][0] == "signature"


def test_a_key_that_is_none_and_a_file_without_signature(loans, tmp_path):
    model = tmp_path / "model.json"
    good("fit", loans / "loans.csv", *CREDIT, "-o", model, *QUICK)
    assert "is not there; sign it first" in refused("verify", model, "--key-file", loans / "key")
    assert "cannot be read" in refused("sign", model, "--key-file", tmp_path / "no key")
    (tmp_path / "short").write_text("short")
    assert "16" in refused("sign", model, "--key-file", tmp_path / "short")
    assert not (tmp_path / "model.json.sig").exists()
    own = tmp_path / "model.json.sig"
    own.write_bytes(bytes(32))
    assert "which this command reads" in refused("sign", model, "--key-file", own)
    assert own.read_bytes() == bytes(32)


def test_the_sum_of_a_case_is_drawn(loans, tmp_path):
    good("fit", loans / "loans.csv", *CREDIT, "-o", tmp_path / "model.json", *QUICK)
    asked = tmp_path / "model.json", loans / "loans.csv", "--row", 17
    text = good("explain", *asked, "--svg", tmp_path / "case.svg")
    assert text.strip().endswith("case.svg")
    drawn = (tmp_path / "case.svg").read_text()
    assert drawn.startswith("<svg ")
    assert "Probability of outcome = bad: " in drawn
    told = json.loads(good("explain", *asked, "--svg", tmp_path / "again.svg", "--json"))
    assert told["row"] == 17
    assert (tmp_path / "again.svg").read_text() == drawn

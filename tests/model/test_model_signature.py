"""Detached signatures: what a shared key can prove."""

import json

import pytest

from model_files import sealed, stored, write
from rpte import InputError, ModelFileError, check_signature, load, sign

KEY, OTHER = b"k" * 32, b"o" * 32


@pytest.fixture
def path(tmp_path):
    return write(stored("mixed").document, tmp_path)


def test_a_signature_is_a_small_json_file_beside_the_model(path):
    found = sign(path, KEY)
    assert found == path.with_name("model.json.sig")
    record = json.loads(found.read_text())
    assert set(record) == {"algorithm", "hash", "signature"}
    assert record["algorithm"] == "hmac-sha256"
    assert record["hash"] == stored("mixed").document["hash"]
    assert KEY.decode() not in found.read_text()
    assert sorted(p.name for p in path.parent.iterdir()) == ["model.json", "model.json.sig"]


def test_it_holds_for_the_key_and_the_content_only(path):
    sign(str(path), KEY)
    assert check_signature(path, KEY) is True
    assert check_signature(str(path), OTHER) is False


def test_a_change_with_a_fitting_hash_is_found(path):
    sign(path, KEY)
    document = stored("mixed").copy()
    document["intercept"] += 1e-9
    path.write_text(json.dumps(sealed(document)))
    assert load(path)
    assert check_signature(path, KEY) is False


def test_the_hash_written_in_the_file_is_not_trusted(path):
    sign(path, KEY)
    document = stored("mixed").copy()
    document["intercept"] += 1e-9  # and the old hash stays
    path.write_text(json.dumps(document))
    assert check_signature(path, KEY) is False


def test_layout_does_not_matter(path):
    sign(path, KEY)
    path.write_text(json.dumps(stored("mixed").document, indent=7))
    assert check_signature(path, KEY) is True


def test_a_forged_signature_file_is_found(path):
    target = sign(path, KEY)
    record = json.loads(target.read_text())
    target.write_text(json.dumps({**record, "signature": "0" * 64}))
    assert check_signature(path, KEY) is False
    target.write_text(json.dumps({**record, "hash": "0" * 64}))
    assert check_signature(path, KEY) is False


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"algorithm": "none"}', "\ud7ff"])
def test_what_is_no_signature_is_an_error(path, text):
    sign(path, KEY).write_text(text)
    with pytest.raises(ModelFileError) as raised:
        check_signature(path, KEY)
    assert "model.json.sig is not a" in str(raised.value)


def test_without_a_signature_there_is_nothing_to_check(path):
    with pytest.raises(InputError, match=r"model\.json\.sig is not there; sign it first"):
        check_signature(path, KEY)


def test_a_damaged_file_is_not_signed(path):
    document = stored("mixed").copy()
    path.write_text(json.dumps({**document, "bound": document["bound"] + 1}))
    with pytest.raises(ModelFileError, match="changed or damaged"):
        sign(path, KEY)
    assert [p.name for p in path.parent.iterdir()] == ["model.json"]


@pytest.mark.parametrize("key", [b"", b"short", "text" * 8, None])
def test_a_key_must_be_a_secret(path, key):
    for use in (sign, check_signature):
        with pytest.raises(InputError, match="at least 16 secret bytes"):
            use(path, key)

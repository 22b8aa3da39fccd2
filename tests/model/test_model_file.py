"""Model files: complete, strict, atomic."""

import json

import pytest

from fit_tables import mixed_case
from rpte import ModelFileError, RPTEClassifier, load
from rpte.model import file
from rpte.model.file import content_hash, from_dict, to_dict

CASE = mixed_case()


@pytest.fixture(scope="module")
def model():
    return CASE.fit(RPTEClassifier(l1="4/n", vocabulary="hug")).model_


@pytest.fixture
def document(model):
    return json.loads(json.dumps(to_dict(model)))


def sealed(document):
    """Return a changed document with a hash that fits it."""
    return {**document, "hash": content_hash(document)}


def test_round_trip_is_equality(model, tmp_path):
    kinds = {p.to_dict().get("column", {}).get("kind") for _, p in model.parts()}
    assert {None, "value", "level", "pattern", "interval", "pair"} <= kinds
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again == model
    assert to_dict(again) == to_dict(model)
    assert again.summary() == model.summary()
    assert again.rules() == model.rules()
    load(str(tmp_path / "model.json"))


def test_open_ends_of_intervals_are_null_and_nothing_is_nan(model, tmp_path):
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert '"low": null' in text or '"high": null' in text

    def refuse(token):
        raise AssertionError(token)

    json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(intercept=d["intercept"] + 1e-9),
        lambda d: d["components"][0]["trees"][0]["leaves"][0].update(support=1.0),
        lambda d: d["training"].update(rows=7.0),
        lambda d: d["settings"].update(ownership="paper"),
        lambda d: d["schema"]["variables"][0].update(name="years"),
        lambda d: d.update(hash="0" * 64),
        lambda d: d.pop("hash"),
        lambda d: d.update(extra=1),
    ],
)
def test_changed_content_is_refused(document, change):
    assert from_dict(document)
    change(document)
    with pytest.raises(ModelFileError, match="changed or damaged"):
        from_dict(document)


@pytest.mark.parametrize("version", [0, 3, "1", True, None])
def test_another_version_is_refused(document, version):
    words = rf"version {version!r}, this library reads \[1, 2\]; install .* '0\.1\.0'"
    with pytest.raises(ModelFileError, match=words):
        from_dict(sealed({**document, "version": version}))


@pytest.mark.parametrize("other", [[], "text", None, {}, {"format": "onnx"}])
def test_other_documents_are_refused(other):
    with pytest.raises(ModelFileError, match="'format' is not 'rpte-model'"):
        from_dict(other)


@pytest.mark.parametrize("content", [b"not json", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json_is_refused(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a JSON document"):
        load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("components"),
        lambda d: d["target"].update(classes=["a"]),
        lambda d: d.update(intercept="high"),
        lambda d: d["components"][0].update(sources=["age"]),
        lambda d: d["components"][0]["trees"][0]["leaves"].pop(),
        lambda d: d["components"][0]["trees"][0].update(root={"leaf": 0}),
        lambda d: d["components"][0]["direct"][0]["column"].update(kind="magic"),
        lambda d: d["components"][0]["direct"][0].pop("scale"),
    ],
)
def test_a_malformed_document_is_refused_even_with_a_fitting_hash(document, change):
    change(document)
    with pytest.raises(ModelFileError, match="malformed"):
        from_dict(sealed(document))


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")


def test_writing_leaves_one_file(model, tmp_path):
    (tmp_path / "model.json").write_text("old")
    model.save(tmp_path / "model.json")
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    assert load(tmp_path / "model.json") == model


def test_a_write_that_fails_keeps_the_old_file_and_leaves_no_other(model, tmp_path, monkeypatch):
    (tmp_path / "model.json").write_text("old")

    def full_disk(*args):
        raise OSError("no space left")

    monkeypatch.setattr(file.Path, "replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        model.save(tmp_path / "model.json")
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    assert (tmp_path / "model.json").read_text() == "old"

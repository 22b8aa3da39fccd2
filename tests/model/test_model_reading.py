"""Hostile, truncated, huge and odd files: one line that names the place."""

import json
from dataclasses import replace

import pytest

import rpte
from model_files import sealed, stored, write
from rpte import ModelFileError, load, verify_file
from rpte.model import reading
from rpte.model.file import content_hash, from_dict, to_dict
from rpte.model.reading import DEEPEST, check_plain, read_json


@pytest.fixture
def text():
    return json.dumps(stored("mixed").document)


def message(content, folder):
    """Write a file and return the one line with which it is refused."""
    path = folder / "model.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ModelFileError) as raised:
        load(path)
    with pytest.raises(ModelFileError):
        verify_file(path)
    found = str(raised.value)
    assert found.startswith(str(path))
    assert found.splitlines() == [found]
    return found.removeprefix(str(path))


def test_a_file_that_is_too_large_is_not_read(text, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 2**12)
    assert message(text, tmp_path) == (
        f" has {len(text) / 2**20:.1f} MB; a model file has at most {2**12 / 2**20:g} MB"
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(text, share, tmp_path):
    assert "is not a JSON document" in message(text[: int(share * len(text))], tmp_path)


def test_what_is_not_utf8_is_refused_with_its_byte(text, tmp_path):
    at = text.index("healthy")
    content = text.encode()
    broken = content[:at] + b"\xff" + content[at + 1 :]
    assert message(broken, tmp_path) == f" is not a JSON document: byte {at} is not UTF-8"
    assert "is not a JSON document" in message(text.encode("utf-16"), tmp_path)
    assert "is not a JSON document" in message(b"\xef\xbb\xbf" + content, tmp_path)


@pytest.mark.parametrize(
    ("token", "said"),
    [("NaN", "nan"), ("Infinity", "inf"), ("-Infinity", "-inf"), ("1e999", "inf")],
)
def test_numbers_that_are_none_are_refused_with_their_place(text, token, said, tmp_path):
    start = text.index('"centre": ') + len('"centre": ')
    end = text.index(",", start)
    assert message(text[:start] + token + text[end:], tmp_path) == (
        f": components[0].direct[0].centre is {said}; numbers must be finite"
    )


def test_a_number_of_thousands_of_digits_is_refused(text, tmp_path):
    huge = text.replace('"bound": ', '"bound": ' + "9" * 5000)
    assert "is not a JSON document" in message(huge, tmp_path)


def test_duplicate_keys_are_refused_with_their_place(text, tmp_path):
    twice = text.replace('"missing_holds": ', '"missing_holds": true, "missing_holds": ', 1)
    assert message(twice, tmp_path).endswith(".if holds the key 'missing_holds' twice")
    assert message('{"format": 1, ' + text[1:], tmp_path) == (
        ": the document holds the key 'format' twice"
    )


@pytest.mark.parametrize("depth", [DEEPEST + 1, 500, 5_000, 200_000])
def test_deep_nesting_is_refused(text, depth, tmp_path):
    deep = text[:-1] + ', "x": ' + "[" * depth + "]" * depth + "}"
    assert f"nested deeper than {DEEPEST} levels" in message(deep, tmp_path)


def test_text_that_is_not_unicode_is_refused(text, tmp_path):
    assert message(text.replace('"healthy"', '"\\ud800"', 1), tmp_path) == (
        ": target.classes[0] is '\\ud800', which is not Unicode text"
    )
    assert "key '\\udfff', which is not Unicode" in message(
        text.replace('"intercept"', '"\\udfff"', 1), tmp_path
    )


def test_python_objects_that_json_has_no_word_for_are_refused():
    for odd in ({1}, (1, 2), b"x", 1j, object):
        with pytest.raises(ModelFileError, match=r"a\[0\] is a \w+, which JSON has no word for"):
            check_plain({"a": [odd]})
    with pytest.raises(ModelFileError, match="has the key 3, which is not"):
        check_plain({3: 1})


def test_a_tree_as_deep_as_the_limit_is_read():
    document = stored("array").copy()
    tree = document["components"][0]["trees"][0]
    test, depth = tree["root"]["if"], 150
    node = {"leaf": depth}
    for number in reversed(range(depth)):
        node = {"if": {**test, "at_most": float(-number)}, "yes": {"leaf": 0}, "no": node}
    _number(node)
    tree["root"], tree["leaves"] = node, [tree["leaves"][0]] * (depth + 1)
    for leaf in tree["leaves"]:
        leaf["support"] = leaf["target_total"] = 0
    document["settings"].update(max_depth=depth, max_leaves=depth + 1)
    document["bound"] = 10**6
    assert from_dict(sealed(document)).summary()


def _number(node):
    number = 0
    while "if" in node:
        node["yes"]["leaf"] = number
        number, node = number + 1, node["no"]
    node["leaf"] = number


@pytest.mark.parametrize("other", [[], "text", None, {}, {"format": "onnx"}])
def test_other_documents_are_refused(other):
    with pytest.raises(ModelFileError, match="'format' is not 'rpte-model'"):
        from_dict(other)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")


def test_a_write_that_fails_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    (tmp_path / "model.json").write_text("old")

    def full_disk(*args):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        from_dict(stored("mixed").copy()).save(tmp_path / "model.json")
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    assert (tmp_path / "model.json").read_text() == "old"


def test_the_hash_ignores_layout_and_order_of_keys(text, tmp_path):
    document = json.loads(text)
    reordered = dict(reversed(document.items()))
    (tmp_path / "model.json").write_text(json.dumps(reordered, indent=4))
    assert load(tmp_path / "model.json") == from_dict(document)
    assert content_hash(reordered) == document["hash"]


def test_the_library_version_is_that_of_the_fit():
    document = stored("mixed").copy()
    assert document["library_version"] == rpte.__version__
    older = from_dict(sealed({**document, "library_version": "0.0.9"}))
    assert to_dict(older)["library_version"] == "0.0.9"


def test_floats_survive_exactly(tmp_path):
    document = stored("array").copy()
    numbers = [5e-324, 0.1 + 0.2, 1.7976931348623157e308, -2.2250738585072014e-308, 1 / 3]
    for term, number in zip(document["components"][0]["direct"], numbers, strict=False):
        term["coefficient"] = number
    path = write(sealed(document), tmp_path)
    found = [term.coefficient for term in load(path).components[0].direct]
    assert found[: len(numbers)] == numbers
    assert read_json(path) == sealed(document)


def test_a_model_that_could_not_be_read_again_is_not_written(tmp_path):
    model = from_dict(stored("mixed").copy())
    with pytest.raises(ModelFileError, match="bound is 1, below the audit load"):
        replace(model, bound=1).save(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="intercept is nan"):
        replace(model, intercept=float("nan")).save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []

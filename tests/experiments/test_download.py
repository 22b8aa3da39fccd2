"""Sets by name from a server: cache, checksums, and both formats."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from made_sets import made

from experiments import download
from experiments.data import load

ARFF = """@relation made
@attribute x real
@attribute 'colour' {red,green}
@attribute class {no,yes}
@data
1.5,red,no
2.5,?,yes
?,green,yes
0.5,red,no
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    root = tmp_path / "served"
    (root / "made").mkdir(parents=True)
    text = made(5).to_csv(sep="\t", index=False).encode()
    (root / "made" / "made.tsv.gz").write_bytes(gzip.compress(text, mtime=0))
    about = {"data_set_description": {"file_id": "9", "default_target_attribute": "class"}}
    for path, content in {
        "api/v1/json/data/7": json.dumps(about),
        "data/v1/download/9": ARFF,
    }.items():
        place = root / path
        place.parent.mkdir(parents=True)
        place.write_text(content)
    served = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    threading.Thread(target=served.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{served.server_port}"
    monkeypatch.setenv("RPTE_PMLB", address)
    monkeypatch.setenv("RPTE_OPENML", address)
    monkeypatch.setenv("RPTE_CACHE", str(tmp_path / "cache"))
    yield root, tmp_path / "cache"
    served.shutdown()
    served.server_close()


def test_a_set_of_pmlb_comes_from_the_server_once(server):
    root, cache = server
    first = load("made", "pmlb")
    assert list(first.X) == ["x", "z", "noise"]
    assert set(first.y) == {0, 1}
    (root / "made" / "made.tsv.gz").unlink()
    assert load("pmlb:made", "anywhere").X.equals(first.X)
    assert (cache / "pmlb" / "made.tsv.gz.sha256").exists()


def test_a_changed_file_is_refused(server):
    _, cache = server
    load("made", "pmlb")
    (cache / "pmlb" / "made.tsv.gz").write_bytes(gzip.compress(b"x\ttarget\n1\t0\n2\t1\n"))
    with pytest.raises(ValueError, match="has the checksum"):
        load("made", "pmlb")


def test_a_known_checksum_is_required(server, monkeypatch, tmp_path):
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"pmlb/made.tsv.gz": "0" * 64}))
    monkeypatch.setattr(download, "KNOWN", known)
    with pytest.raises(ValueError, match="expected 000"):
        load("made", "pmlb")
    content = (server[0] / "made" / "made.tsv.gz").read_bytes()
    known.write_text(json.dumps({"pmlb/made.tsv.gz": hashlib.sha256(content).hexdigest()}))
    assert len(load("made", "pmlb").y) == 60


def test_a_set_of_openml_has_its_text_and_gaps(server):
    data = load("openml:7", "anywhere")
    assert data.y.tolist() == [0, 1, 1, 0]
    assert data.X["colour"].isna().tolist() == [False, True, False, False]
    assert data.X["x"].isna().tolist() == [False, False, True, False]


def test_the_checksums_of_the_papers_sets_are_listed():
    known = json.loads(download.KNOWN.read_text())
    assert len(known) == 11
    assert all(len(value) == 64 for value in known.values())


def test_bad_names_are_refused(server, tmp_path):
    with pytest.raises(ValueError, match="openml:adult"):
        load("openml:adult", "anywhere")
    with pytest.raises(FileNotFoundError, match="no table nothing"):
        load("nothing", str(tmp_path))


def test_the_hash_of_a_set_sees_cells_and_names(server):
    data = load("made", "pmlb")
    changed = data.X.copy()
    changed.iloc[0, 0] += 1e-6
    assert data.hash() != type(data)(data.name, changed, data.y).hash()
    assert data.hash() != type(data)(data.name, data.X.rename(columns={"x": "w"}), data.y).hash()

"""The hash of a table, against a loop over its rows."""

import hashlib
import json

import numpy as np
import pytest

import rpte.table.fingerprint as module
from raw_tables import random_raw
from rpte.table.fingerprint import fingerprint, table_hash
from rpte.table.table import row_hashes


@pytest.mark.parametrize("lines", [7, 10_000])
@pytest.mark.parametrize("labels", [(0, 1), ("no", "perhaps"), ("ja", "nö")])
def test_the_hash_is_that_of_lines_of_text(monkeypatch, lines, labels):
    monkeypatch.setattr(module, "LINES", lines)
    table = random_raw(5, ["number", "category"], 60).table()
    weight = np.random.default_rng(0).choice([1.0, 12.0, 0.25, 1 / 3], table.n_rows)
    hashes = row_hashes(table.inputs)
    names = [json.dumps(label) for label in labels]
    digest = hashlib.sha256(json.dumps(sorted(names)).encode())
    for i in np.lexsort((table.y, hashes)):
        digest.update(f"\n{hashes[i]:016x} {names[int(table.y[i])]} {weight[i]:.9g}".encode())
    assert table_hash(table.inputs, table.y, weight, labels) == (60, digest.hexdigest())


def test_known_hashes_are_not_computed_again(monkeypatch):
    table = random_raw(5, ["number", "category"], 60).table()
    weight = np.where(np.arange(table.n_rows) % 3, table.weight, 0.0)
    given = table.inputs, table.y, weight, (0, 1), "safe"
    expected = fingerprint(*given)
    monkeypatch.setattr(module, "row_hashes", None)
    assert fingerprint(*given, table.hashes) == expected

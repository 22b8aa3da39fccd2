"""The hash of a table, against a loop over its rows."""

import hashlib
import json

import numpy as np
import pytest

import rpte.table.fingerprint as module
from raw_tables import random_raw
from rpte.kernels.codes import sorted_numbers
from rpte.table.fingerprint import fingerprint, table_hash
from rpte.table.read import read_training
from rpte.table.table import make_table, row_hashes


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


@pytest.mark.parametrize("sort", [np.sort, sorted_numbers])
def test_equal_weights_need_no_order_of_rows(sort):
    raw = random_raw(6, ["number", "skewed", "01", "few", "category"], 300)
    name = next(iter(raw.columns))
    raw.columns[name][:40], raw.columns[name][40:50] = -0.0, np.nan
    given = read_training(raw.columns), raw.y, np.full(300, 2.0)
    kept, picked = (make_table(*given, copied=copied) for copied in (True, False))
    assert len(picked.y) < 300 or picked.inputs.in_own_order().columns is not picked.inputs.columns
    said = [fingerprint(t.inputs, t.y, t.weight, (0, 1), "full", sort=sort) for t in (kept, picked)]
    assert said[0] == said[1]
    weight = np.full(picked.n_rows, 2.0)
    for one in [v.name for v in picked.schema.variables if v.kind == "number"]:
        sorted_ones = module.number_counts(
            picked.inputs.only([one]).in_own_order(), one, weight, sort
        )
        expected = module.number_counts(picked.inputs.take(slice(None)), one, weight, None)
        assert all((a == b).all() for a, b in zip(sorted_ones, expected, strict=True))
        assert not np.signbit(sorted_ones[0][sorted_ones[0] == 0.0]).any()

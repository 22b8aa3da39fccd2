"""Makes `experiments` and `benchmarks` importable, and a folder of two small made sets."""

from __future__ import annotations

import sys

import pytest
from made_sets import ROOT, made

sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("lupus", "haberman")):
        made(seed).to_csv(place / f"{name}.csv", index=False)
    return place

"""Where the real tables are, and the mark of tests that need them."""

import os
from pathlib import Path

import pytest

PLACES = [os.environ.get("RPTE_DATA"), Path(__file__).parents[3] / "shared" / "data"]
DATA = next((Path(p) for p in PLACES if p and Path(p).is_dir()), None)
needs_data = pytest.mark.skipif(DATA is None, reason="no data: set RPTE_DATA or add ../shared/data")

"""One column, from its cells to numbers or codes; what tables make of it is in `test_inputs`."""

import numpy as np
import pytest

import rpte.table.column as module
from rpte.table.column import distinct, is_absent, level_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (np.float32(2), "2"),
        (0.5, "0.5"),
        (True, "True"),
        (np.True_, "True"),
        (7, "7"),
        ("1.0", "1.0"),
        (1e22, "10000000000000000000000"),
        (float("inf"), "inf"),
    ],
)
def test_level_texts(value, text):
    assert level_text(value) == text


def test_many_cells_of_text_are_told_apart_alike(monkeypatch):
    """With pandas, from many cells on, as without it."""
    cells = np.array(["a", "b", None, np.nan, 1, 1.0, "1", 2.5, "nan"], object)
    column = cells[np.random.default_rng(0).integers(0, len(cells), 300)]

    def read():
        found, places = distinct(column)
        return [None if is_absent(found[place]) else found[place] for place in places]

    plain = read()
    monkeypatch.setattr(module, "MANY_CELLS", 10)
    assert read() == plain
    with pytest.raises(TypeError, match="not 'list' \\(column 'x'\\)"):
        distinct(np.array([["a"], *"bcdefghijklm"], object), "x")

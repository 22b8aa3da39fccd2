"""Sets of levels in `verify(X, y)`: offered where a category has as many levels as sets need."""

import numpy as np
import pandas as pd
import pytest

from rpte.columns.kinds import Level
from rpte.model.derivation import TrainingTable
from rpte.table.read import read_training
from rpte.table.table import make_table


def table_of(levels):
    names = [f"l{i:02}" for i in range(levels)]
    cells = np.repeat(names, 12).astype(object)
    inputs = read_training(pd.DataFrame({"k": cells}))
    return make_table(inputs, np.arange(len(cells)) % 2.0, np.ones(len(cells))), names


@pytest.mark.parametrize(("levels", "vocabulary", "offered"), [
    (4, "shapes", True), (16, "shapes", True), (3, "shapes", False), (17, "shapes", False),
    (6, "hug", False), (6, "original", False),
])  # fmt: skip
def test_where_sets_are_offered(levels, vocabulary, offered):
    table, names = table_of(levels)
    data = TrainingTable(table, {"vocabulary": vocabulary, "conventions": "ours"})
    assert data.offers(Level("k", (names[0], names[1]))) == offered
    assert data.offers(Level("k", (names[0],)))

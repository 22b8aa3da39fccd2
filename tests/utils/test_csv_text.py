"""CSV text: lines end in a line feed, and every cell comes back."""

import csv
import io

import pandas as pd
import pytest

from rpte.table.files import read_table, write_table
from rpte.utils.csv_text import frame_csv, rows_csv

CELLS = ["a", "a\rb", "\r", "a\r\nb", "\r\n", "a\nb", 'a"b', "a,b", " ", "é"]


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_cells_with_line_endings_come_back():
    rows = [CELLS, CELLS[::-1]]
    assert read(rows_csv(rows)) == rows
    frame = pd.DataFrame(rows[1:], columns=CELLS)
    assert read(frame_csv(frame)) == rows
    assert read(frame_csv(frame, header=False)) == rows[1:]


def test_lines_end_in_a_line_feed():
    assert rows_csv([["a", 1], ["b", 2.5]]) == "a,1\nb,2.5\n"
    assert frame_csv(pd.DataFrame({"a": [1], "b": ["c"]}), "\t") == "a\tb\n1\tc\n"


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_a_written_table_has_its_names_and_cells(ending, tmp_path):
    names = [f"{place}{cell}." for place, cell in enumerate(CELLS)]
    frame = pd.DataFrame({name: ["x", cell] for name, cell in zip(names, CELLS, strict=True)})
    write_table(frame, tmp_path / f"t{ending}")
    found = read_table(tmp_path / f"t{ending}")
    assert list(found) == names
    assert len(found) == 2
    assert found[names[1]].tolist() == ["x", "a\rb"]

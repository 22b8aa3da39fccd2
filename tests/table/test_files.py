"""Tables in files: what people really have, read as they mean it, or refused in one line."""

import gzip
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte.errors import InputError, RPTEWarning
from rpte.table.files import check_column, check_writable, read_table, write_table
from rpte.table.schema import Schema, Variable

ENDINGS = [".csv", ".tsv", ".csv.gz", ".parquet", ".xlsx"]


def written(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(tmp_path, content, name="table.csv", **options):
    return read_table(written(tmp_path, content, name), **options)


def cells(column):
    return [None if v is None or v != v else v for v in column]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    lines = ["age,sex,note", '31,f,"a, b; c|d\te"', "40,m,plain"]
    content = "\n".join(line.replace(",", delimiter, 2) for line in lines)
    table = read(tmp_path, content)
    assert list(table) == ["age", "sex", "note"]
    assert table["age"].tolist() == [31, 40]


def test_a_tsv_file_may_hold_commas(tmp_path):
    table = read(tmp_path, "a,b\tc\nx,y\t3\n", "table.tsv")
    assert list(table) == ["a,b", "c"]


def test_numbers_codes_levels_and_gaps(tmp_path):
    table = read(tmp_path, "n,x,code,level,gone\n1, 2.5,001,yes,\n2,,010,,\n3,1e3,100,no,\n")
    assert table["n"].dtype == np.int64
    assert cells(table["x"]) == [2.5, None, 1000.0]
    assert cells(table["code"]) == ["001", "010", "100"]
    assert cells(table["level"]) == ["yes", None, "no"]
    assert cells(table["gone"]) == [None] * 3
    assert table["gone"].dtype == np.float64


def test_markers_are_gaps_and_said_where_they_might_be_levels(tmp_path):
    content = "x,alley\n1,NA\nNaN,paved\n3,gravel\n"
    with pytest.warns(RPTEWarning, match="column 'alley': 'NA' is read as missing") as told:
        table = read(tmp_path, content)
    assert len(told) == 1
    assert cells(table["x"]) == [1.0, None, 3.0]
    assert cells(table["alley"]) == [None, "paved", "gravel"]
    assert cells(read(tmp_path, content, missing=[""])["alley"]) == ["NA", "paved", "gravel"]
    own = read(tmp_path, "x,y\n1,2\n?,3\n", missing=["?"])
    assert cells(own["x"]) == [1.0, None]


def test_a_few_texts_among_numbers_are_said(tmp_path):
    content = "age\n" + "\n".join(map(str, range(20, 40))) + "\n?\n"
    with pytest.warns(RPTEWarning, match=r"'age': 20 of 21 cells .* '\?' .*--special age=\?"):
        assert read(tmp_path, content)["age"].tolist()[0] == "20"
    assert read(tmp_path, content, special=["age"])["age"].tolist()[-1] == "?"
    read(tmp_path, "children\n0\n1\n2\n3+\n")  # levels, no warning


def test_decimal_commas_are_numbers_where_commas_part_no_cells(tmp_path):
    content = "a;b;c;id\n1,5;1,5;2,0;1,1\n-2;x1;NA;2,1\n"
    with pytest.warns(RPTEWarning, match="commas are read as decimal points") as told:
        table = read(tmp_path, content, as_text=["id"])
    assert len(told) == 2
    assert table["a"].tolist() == [1.5, -2.0]
    assert table["b"].tolist() == ["1,5", "x1"]
    assert cells(table["c"]) == [2.0, None]
    assert table["id"].tolist() == ["1,1", "2,1"]
    assert read(tmp_path, 'a,b\n"1,5",2\n"3,5",4\n')["a"].tolist() == ["1,5", "3,5"]


@pytest.mark.parametrize("days", [("2020-01-31", "2020-02-01"), ("31.1.2020", "1.2.2020 12:30")])
def test_dates_in_texts_are_said(tmp_path, days):
    with pytest.warns(RPTEWarning, match="'day' looks like dates"):
        assert read(tmp_path, f"day,x\n{days[0]},1\n{days[1]},2\n")["day"].tolist() == list(days)


def test_lists_in_cells_are_left_out_aloud(tmp_path):
    frame = pd.DataFrame({"a": [[1], [2]], "b": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(RPTEWarning, match=r"\['a'\] hold lists or records and are left out"):
        assert list(read_table(tmp_path / "t.parquet")) == ["b"]


def test_text_columns_are_kept_to_the_letter(tmp_path):
    table = read(tmp_path, "case,x\n 007,1\n12.50,2\nNA,3\n", as_text=["case"])
    assert table["case"].tolist() == [" 007", "12.50", "NA"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_of_any_kind(tmp_path, encoding):
    table = read(tmp_path, "größe,naïve\n1,é\n2,ü\n".encode(encoding))
    assert list(table) == ["größe", "naïve"]
    assert table["naïve"].tolist() == ["é", "ü"]


def test_latin_1_is_said(tmp_path):
    with pytest.warns(RPTEWarning, match=r"not UTF-8 \(line 2\); it is read as Windows-1252"):
        table = read(tmp_path, "a,b\n1,é\n".encode("latin-1"))
    assert table["b"].tolist() == ["é"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("a,b\n", "a header but no rows"),
        ("a,b,a\n1,2,3\n", r"more than once: \['a'\]; rename"),
        ("a, a\n1,2\n", r"more than once: \['a'\]; rename"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, the header has 2"),
        ("a,b\n1,2,3\n1,2,3\n", "line 2 has 3 cells, the header has 2"),
        ("a,b,c\n1,2,3\n1,2\n", "line 3 has 2 cells, the header has 3"),
        ('a,b\n1,"x\n', "mend the quotes"),
        (b"PAR1\0\0,\0", "zero bytes"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)


def test_endings_that_are_not_known(tmp_path):
    with pytest.raises(InputError, match=r"'\.sav' names no format"):
        read(tmp_path, "a\n1\n", "table.sav")
    with pytest.raises(InputError, match=r"save it as \.xlsx"):
        read(tmp_path, "a\n1\n", "table.xls")
    with pytest.raises(InputError, match="names no format"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "out.doc")
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx", "t.csv.gz"])
def test_a_file_that_is_not_what_its_ending_says(tmp_path, name):
    with pytest.raises(InputError, match=r"t\.(parquet|xlsx|csv\.gz) is not a"):
        read(tmp_path, "a,b\n1,2\n", name)


def test_a_cut_off_gzip_file(tmp_path):
    data = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(InputError, match="not a whole gzip file"):
        read(tmp_path, data[:-12], "t.csv.gz")


@pytest.mark.parametrize(("package", "name"), [("pyarrow", "t.parquet"), ("openpyxl", "t.xlsx")])
def test_absent_packages_name_the_remedy(tmp_path, monkeypatch, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    for use in (read_table, check_writable, lambda path: write_table(pd.DataFrame(), path)):
        with pytest.raises(InputError, match=r"pip install 'rpte\[files\]'"):
            use(written(tmp_path, "", name))


def test_empty_rows_and_nameless_columns_are_left_out_aloud(tmp_path):
    with pytest.warns(RPTEWarning) as told:
        table = read(tmp_path, ",a,b,\n0,1,x,\n1,2,y,\n2,,,\n")
    assert [str(w.message).split(": ")[1] for w in told] == [
        "column 1 has no name and is left out; name it to use it",
        "1 rows without any value are left out",
    ]
    assert list(table) == ["a", "b"]
    assert table["a"].tolist() == [1, 2]


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_again(tmp_path, ending):
    frame = pd.DataFrame(
        {"n": [1, 2, 3], "x": [0.1 + 0.2, np.nan, -1e-17], "level": ["a", None, "ü, b"]}
    )
    if ending == ".xlsx":
        frame["x"] = [0.3, np.nan, -1e-17]
    write_table(frame, tmp_path / f"t{ending}")
    again = read_table(tmp_path / f"t{ending}")
    assert {name: cells(again[name]) for name in again} == {
        name: cells(frame[name]) for name in frame
    }
    assert [p.name for p in tmp_path.iterdir()] == [f"t{ending}"]


def test_files_cannot_go_nowhere(tmp_path):
    for use in (check_writable, lambda path: write_table(pd.DataFrame({"a": [1]}), path)):
        with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
            use(tmp_path / "no" / "t.csv")
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path / "t.csv")


def test_a_folder_that_may_not_be_written_to_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="may not be written to; choose another"):
        check_writable(tmp_path / "t.csv")


def test_sheets_hold_values_of_every_kind(tmp_path):
    frame = pd.DataFrame(
        {
            "mixed": [1, "two", 3.0],
            "flag": [True, False, True],
            "number": ["1", 2, None],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
        }
    )
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        frame.to_excel(book, sheet_name="first", index=False)
        frame.to_excel(book, sheet_name="second", index=False)
    with pytest.warns(RPTEWarning, match="has 2 sheets; 'first' is read"):
        table = read_table(tmp_path / "t.xlsx")
    assert table["mixed"].tolist() == ["1", "two", "3"]
    assert table["flag"].tolist() == [True, False, True]
    assert cells(table["number"]) == [1.0, 2.0, None]
    assert table["day"][0].year == 2020


def test_a_model_reads_what_it_knows(tmp_path):
    schema = Schema(
        (
            Variable("zip", "number"),
            Variable("age", "number", ("-9", "unknown")),
            Variable("grade", "category", ("NA", "b", " c")),
            Variable("size", "category", ("1", "2")),
        ),
        named=True,
    )
    content = "zip,age,grade,size\n02139,unknown,NA,1\n00000,-9.0, c,2\n5,40,NULL,1\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read(tmp_path, content, schema=schema)
    assert table["zip"].tolist() == [2139, 0, 5]
    assert table["age"].tolist() == ["unknown", "-9.0", "40"]
    assert cells(table["grade"]) == ["NA", " c", None]
    assert table["size"].tolist() == ["1", "2", "1"]


def test_absent_columns_name_the_nearest():
    frame = pd.DataFrame({"Outcome": [1], "age": [2]})
    check_column(frame, "age", "target")
    with pytest.raises(InputError, match=r"target column 'outcom' .*did you mean 'Outcome'\?.*age"):
        check_column(frame, "outcom", "target")


texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=8)


@examples(60)
@given(
    st.lists(st.tuples(texts, st.floats(allow_nan=True, width=64), texts), min_size=1, max_size=9)
)
def test_csv_keeps_every_cell(tmp_path_factory, rows):
    frame = pd.DataFrame(rows, columns=["a", "x", "b"])
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    write_table(frame, path)
    if all(a == "" and b == "" and x != x for a, x, b in rows):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        again = read_table(path, as_text=["a", "b"])
    kept = frame[[bool(a.strip() or b.strip() or x == x) for a, x, b in rows]]
    assert again["a"].tolist() == kept["a"].tolist()
    assert again["b"].tolist() == kept["b"].tolist()
    if np.isfinite(frame["x"].dropna()).all():
        assert cells(again["x"]) == cells(kept["x"])

"""Tables from files and to files: CSV (any usual delimiter), Parquet and Excel, by their ending."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpte.errors import InputError, did_you_mean, warn
from rpte.table.cells import MARKERS, typed, with_points
from rpte.table.column import distinct, is_absent
from rpte.table.inputs import factorized, repeated
from rpte.table.schema import Schema
from rpte.utils.csv_text import frame_csv
from rpte.utils.output import check_folder, is_stream, write_bytes

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 50  # lines that the delimiter is guessed from
FORMATS = dict.fromkeys((".csv", ".tsv", ".txt"), "CSV")
FORMATS |= {".parquet": "Parquet", ".pq": "Parquet", ".xlsx": "Excel", ".xlsm": "Excel"}
PACKAGES = {"Parquet": "pyarrow", "Excel": "openpyxl"}
ENDINGS = ".csv, .tsv, .txt (each also .gz), .parquet or .xlsx"


def read_table(
    path: str | Path,
    *,
    schema: Schema | None = None,
    as_text: Collection[str] = (),
    special: Collection[str] = (),
    missing: Collection[str] | None = None,
) -> pd.DataFrame:
    r"""Read a table from a file.

    Empty cells and, unless `missing` says otherwise, the markers of `pandas.read_csv` (NA, NaN,
    null, None, ...) are gaps. A column is a number if every other cell spells one; a leading zero
    makes a code, and so a category. Parquet files keep their own types and gaps.

    Parameters
    ----------
    path : str or Path
        The ending says the format: CSV (also .tsv, .txt, and gzip), Parquet or Excel (first sheet).
    schema : Schema, optional
        Of the model that the table is for: its numbers and levels are then read as the model knows
        them.
    as_text : names
        Columns that are kept to the letter, such as case numbers.
    special : names
        Numbers among which the user knows of codes in words.
    missing : texts, optional
        What stands for a gap beside the empty cell, in place of the usual markers.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        If the file is no table that can be read; one line with the remedy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "cases.csv"
    ...     _ = file.write_text("case;age;branch\n1;34;007\n2;;012\n")
    ...     table = read_table(file)
    >>> table["age"].tolist(), table["branch"].tolist()
    ([34.0, nan], ['007', '012'])
    """
    import pandas as pd

    path = Path(path)
    readers = {"CSV": _read_text, "Parquet": _read_parquet, "Excel": _read_excel}
    raw, delimiter = readers[_format(path)](path)
    if not len(raw.columns) or not len(raw):
        what = "no columns" if not len(raw.columns) else "a header but no rows"
        raise InputError(f"{path} has {what}; give a table with a header and at least one row")
    if _format(path) == "Parquet":
        return raw
    markers = MARKERS if missing is None else tuple(missing)
    known = {} if schema is None or not schema.named else {v.name: v for v in schema.variables}

    def column(name: str) -> Any:
        if name in as_text:
            return raw[name]
        cells, place = distinct(factorized(raw[name], name))
        if delimiter not in (None, ","):
            cells = with_points(name, cells)
        return typed(name, cells, place, markers, known.get(name), name in special)

    return pd.DataFrame({name: column(name) for name in raw.columns})


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table whole or not at all; the ending says the format, as for `read_table`.

    A device or a pipe without an ending gets CSV. CSV and Parquet keep every bit of a number, Excel
    16 digits.
    """
    path = Path(path)
    buffer = io.BytesIO()
    match _written_format(path):
        case "CSV":
            separator = "\t" if _ending(path) == ".tsv" else ","
            text = frame_csv(frame, separator).encode("utf-8")
            buffer.write(gzip.compress(text, mtime=0) if _zipped(path) else text)
        case "Parquet":
            frame.to_parquet(buffer, index=False)
        case "Excel":
            try:
                frame.to_excel(buffer, index=False)
            except ValueError as error:
                raise InputError(f"{path}: {error} Write a CSV or Parquet file instead") from error
    write_bytes(buffer.getvalue(), path)


def check_writable(path: str | Path) -> None:
    """Refuse a name that `write_table` could not write to, before any work is done."""
    _written_format(Path(path))
    check_folder(Path(path))


def check_column(frame: pd.DataFrame, name: str, role: str) -> None:
    """Refuse a column that the table does not have, naming the nearest it has."""
    if name not in frame.columns:
        names = [str(column) for column in frame.columns]
        more = ", ..." if len(names) > 10 else ""
        raise InputError(
            f"the {role} column '{name}' is not in the table{did_you_mean(name, names)}; its "
            f"columns are {', '.join(names[:10])}{more}"
        )


def _ending(path: Path) -> str:
    return (path.with_suffix("") if _zipped(path) else path).suffix.lower()


def _format(path: Path) -> str:
    """Return the format that the ending of a file names, if it can be read and written here."""
    found = FORMATS.get(_ending(path))
    if found is None:
        fix = "save it as .xlsx" if path.suffix.lower() == ".xls" else f"use {ENDINGS}"
        raise InputError(f"{path}: the ending '{path.suffix}' names no format that is known; {fix}")
    if found in PACKAGES:
        try:
            import_module(PACKAGES[found])
        except ImportError:
            raise InputError(
                f"{found} files need the package {PACKAGES[found]}: pip install 'rpte[files]', or "
                "use CSV"
            ) from None
    return found


def _written_format(path: Path) -> str:
    """Return the format of a file to be written; a stream without an ending gets CSV."""
    return "CSV" if not _ending(path) and is_stream(path) else _format(path)


def _zipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _read_parquet(path: Path) -> tuple[pd.DataFrame, None]:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    with path.open("rb") as file:  # a missing file is the system's own error
        try:
            schema = parquet.read_schema(file)
            frame = pd.read_parquet(file)
        except (pa.ArrowException, ValueError) as error:
            raise InputError(f"{path} is not a Parquet file that can be read: {error}") from error
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested:
        warn(f"{path}: the columns {nested[:5]} hold lists or records and are left out")
    return frame.drop(columns=nested, errors="ignore"), None


def _read_excel(path: Path) -> tuple[pd.DataFrame, None]:
    import zipfile

    import pandas as pd

    with path.open("rb") as file:
        try:
            book = pd.ExcelFile(file, engine="openpyxl")
            sheet = pd.read_excel(book, header=None, dtype=object, keep_default_na=False)
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise InputError(f"{path} is not an Excel file that can be read: {error}") from error
        if len(book.sheet_names) > 1:
            warn(f"{path} has {len(book.sheet_names)} sheets; '{book.sheet_names[0]}' is read")
    if not len(sheet):
        raise InputError(f"{path} is empty; give a table with a header and at least one row")
    header = ["" if cell is None else str(cell) for cell in sheet.iloc[0]]
    return _named(sheet.iloc[1:].reset_index(drop=True), header, path), None


def _read_text(path: Path) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    text = _decoded(path)
    if not text.strip():
        raise InputError(f"{path} is empty; give a table with a header and at least one row")
    delimiter = "\t" if _ending(path) == ".tsv" else _delimiter(text)
    header = _check_widths(text, delimiter, path)
    table = pd.read_csv(
        io.StringIO(text),
        sep=delimiter,
        header=0,
        names=list(range(len(header))),
        index_col=False,
        dtype=str,
        na_filter=False,
    )
    return _named(table, header, path), delimiter


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    if _zipped(path):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise InputError(f"{path} is not a whole gzip file: {error}") from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    if b"\0" in data:
        raise InputError(f"{path} holds zero bytes and so is no text; is its ending right?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        warn(
            f"{path} is not UTF-8 (line {line}); it is read as Windows-1252, so save it as UTF-8 "
            "if names or levels look wrong"
        )
        return data.decode("cp1252", errors="replace")


def _delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines into the most cells, as many in each."""
    lines = [line for line in text[:100_000].splitlines()[: SAMPLE + 1] if line.strip()]
    lines = lines[:-1] if len(lines) > SAMPLE else lines

    def width(delimiter: str) -> int:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(widths), key=widths.count)
        return usual if usual == widths[0] else 1

    return max(DELIMITERS, key=width)


def _check_widths(text: str, delimiter: str, path: Path) -> list[str]:
    """Return the header; refuse lines with more or fewer cells than it has."""
    csv.field_size_limit(2**31 - 1)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(row for row in rows if row)
        for row in rows:
            if row and len(row) != len(header):
                raise InputError(
                    f"{path}: line {rows.line_num} has {len(row)} cells, the header has "
                    f"{len(header)}; a cell with the delimiter {delimiter!r} in it needs quotes"
                )
    except csv.Error as error:
        raise InputError(f"{path}: line {rows.line_num}: {error}; mend the quotes") from error
    return header


def _named(table: pd.DataFrame, header: Sequence[str], path: Path) -> pd.DataFrame:
    """Give a table its names, without rows and columns that are nothing but empty."""
    names = [name.strip() for name in header]
    twice = repeated(filter(None, names))
    if twice:
        raise InputError(f"{path}: column names occur more than once: {twice}; rename them")
    for place, name in enumerate(names):
        if not name and not _empty(table.iloc[:, place]).all():
            warn(f"{path}: column {place + 1} has no name and is left out; name it to use it")
            break
    kept = [place for place, name in enumerate(names) if name]
    table = table.iloc[:, kept].set_axis([names[place] for place in kept], axis=1)
    blank = np.all([_empty(table[name]) for name in table], axis=0)
    if np.any(blank):
        warn(f"{path}: {int(blank.sum())} rows without any value are left out")
        table = table[~blank].reset_index(drop=True)
    return table


def _empty(column: pd.Series[Any]) -> Any:
    cells, place = distinct(factorized(column, ""))
    return np.array([is_absent(cell) or not str(cell).strip() for cell in cells], bool)[place]

"""CSV text whose lines end in a line feed, whatever the cells hold.

`csv` and pandas quote a cell that holds a character of the line ending. With a line feed alone, a
cell with a carriage return is written bare, and read again it ends its line.
"""

import csv
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

BOTH = "\r\n"


class _Lines(io.StringIO):
    """Takes whole lines that end in both characters, and keeps the line feed alone."""

    def write(self, line: str) -> int:
        return super().write(line.removesuffix(BOTH) + "\n")


def rows_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV."""
    out = _Lines()
    csv.writer(out, lineterminator=BOTH).writerows(rows)
    return out.getvalue()


def frame_csv(frame: "pd.DataFrame", separator: str = ",", header: bool = True) -> str:
    """Return a data frame as CSV, without its index."""
    out = _Lines()
    frame.to_csv(out, index=False, sep=separator, lineterminator=BOTH, header=header)
    return out.getvalue()

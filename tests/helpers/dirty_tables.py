"""Tables with odd cells in odd shapes, scored by the library and by `rpte_check.py`."""

from __future__ import annotations

import csv
import io
import warnings
from functools import cache

import numpy as np
import pandas as pd

from model_files import stored
from rpte.check import rpte_check
from rpte.errors import InputError
from rpte.model.causes import CausesModel
from rpte.model.file import from_dict
from rpte.table.files import read_table

ODD = (
    *("", " ", "NA", "nan", "None", "null", "inf", "-inf", "1e400", "1e301", "1e300", "-0", "-0.0"),
    *(
        " 3.5",
        "4 ",
        "+4",
        ".5",
        "5.",
        "1e3",
        "1E-3",
        "007",
        "00",
        "0",
        "00.5",
        "1_0",
        "0x1",
        "1,5",
        "0e5",
        "0 5",
    ),
    *("-9", "-9.0", " -9", "-8", "True", "False", "true", "north", " north ", "east", "never", "é"),
    *("(other)", "a", "1", "1.0", "2", "12345678901234567890", "0.1", "3e-5", "u", "v", "x;y", "٣"),
)


def library_scores(document, path):
    """Return the library's scores of a CSV file, None if it refuses the file."""
    model = from_dict(document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = read_table(path, schema=model.schema)
            known = [n for n in frame if not model.schema.named or n in model.schema.names]
            if isinstance(model, CausesModel):
                found = np.transpose([each.score(frame[known]) for each in model.models])
            else:
                found = model.score(frame[known])
            return [flat_hex(value) for value in found.tolist()]
        except InputError:
            return None


def checker_scores(document, path):
    of_causes = rpte_check.is_of_causes(document)
    try:
        shared = rpte_check.outline_of_causes(document) if of_causes else document
        rows = rpte_check.read_rows(shared, str(path))
    except rpte_check.Problem:
        return None
    if of_causes or rpte_check.is_several(document):
        models = document["models"] if of_causes else rpte_check.each_class(document)
        return [flat_hex([rpte_check.score(one, row) for one in models]) for row in rows]
    return [flat_hex(rpte_check.score(document, row)) for row in rows]


def flat_hex(value):
    """Return a score in hexadecimal, or those of all classes."""
    return list(map(flat_hex, value)) if isinstance(value, list) else float(value).hex()


def plain(X):
    """Return a table of the tests as texts, None for missing."""
    if isinstance(X, np.ndarray):
        X = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    return X.astype(object).where(X.notna(), None)


def dirty_text(frame, rng, share):
    """Return a CSV file of a table with odd cells, in an odd shape."""
    out = io.StringIO()
    delimiter = rng.choice(",;\t|")
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(
        out, delimiter=delimiter, quoting=quoting, lineterminator=rng.choice(("\n", "\r\n"))
    )
    writer.writerow([f" {name}" if rng.random() < 0.1 else name for name in frame.columns])
    for row in frame.itertuples(index=False):
        cells = ["" if cell is None else str(cell) for cell in row]
        writer.writerow([rng.choice(ODD) if rng.random() < share else cell for cell in cells])
    return out.getvalue()


@cache
def frame_of(name):
    """Return the table of a stored model as texts."""
    return plain(stored(name).X)


def scores_of_dirty(name, rng, share, path):
    """Write some rows of a stored model's table with odd cells; return the scores of both."""
    rows = frame_of(name).sample(rng.randrange(5, 40), random_state=rng.randrange(10**6))
    coding = rng.choice(("utf-8", "utf-8-sig", "utf-16"))
    path.write_bytes(dirty_text(rows, rng, share).encode(coding))
    document = stored(name).document
    return library_scores(document, path), checker_scores(document, path)

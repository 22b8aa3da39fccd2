"""`rpte score`: a table in, scores and probabilities out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from rpte.cli import options as opt
from rpte.cli.options import Rows, option, output_option, rows_for
from rpte.cli.terminal import say
from rpte.errors import InputError
from rpte.model.file import load
from rpte.model.model import Model
from rpte.utils.output import check_output

if TYPE_CHECKING:
    import pandas as pd


def score(
    model: opt.ModelFile,
    table: opt.TableFile,
    output: Annotated[
        opt.MaybePath, output_option("CSV, Parquet or Excel; standard output if not given.")
    ] = None,
    id_column: opt.IdColumn = None,
    with_class: Annotated[bool, option("Add the class: the more probable one.", "--class")] = False,
    threshold: Annotated[
        float | None, option("Add the class: positive from this probability on.")
    ] = None,
    contributions: Annotated[
        bool, option("Add the intercept and each component's share.", "--contributions")
    ] = False,
    missing: opt.Missing = None,
    allow_unknown: opt.AllowUnknown = False,
) -> None:
    """Score the rows of a table: the log odds and the probability of the positive class.

    With --contributions, adding the intercept and the components from left to right gives the
    score, to the last bit (Excel files keep 16 digits). A table in which most of a column are
    levels that training did not have is refused.

    Example: rpte score model.json cases.csv --id-column case -o scores.csv
    """
    from rpte.table.files import check_writable, write_table

    check_output(output, reads=[model, table])
    if output is not None:
        check_writable(output)
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(f"--threshold {threshold:g}: a probability lies between 0 and 1")
    loaded = load(model)
    rows = rows_for(loaded, table, missing, id_column=id_column, allow_unknown=allow_unknown)
    scores = score_table(loaded, rows, id_column, contributions)
    if threshold is not None:
        positive, other = loaded.classes[loaded.positive], loaded.classes[1 - loaded.positive]
        scores["class"] = np.where(scores["probability"] >= threshold, positive, other)
    elif with_class:
        scores["class"] = loaded.predict(rows.inputs)
    _say_flags(loaded, rows)
    if output is None:
        typer.echo(scores.to_csv(index=False, lineterminator="\n"), nl=False)
        return
    write_table(scores, output)
    say(f"Wrote {output}: {len(scores)} rows")


def score_table(
    model: Model, rows: Rows, id_column: str | None, contributions: bool
) -> pd.DataFrame:
    """Return id, score and probability of each row, and what its components add."""
    import pandas as pd

    inputs = rows.inputs
    name, ids = rows.ids(id_column)
    columns = {
        "score": model.score(inputs),
        "probability": model.predict_proba(inputs)[:, model.positive],
    }
    if contributions:
        columns["intercept"] = np.full(inputs.n_rows, model.intercept)
        columns |= {part.name: part.subtotal(inputs) for part in model.components}
    if name in (*columns, "class"):
        raise InputError(f"the id column '{name}' has the name of a result; rename it")
    return pd.DataFrame({name: ids, **columns})


def _say_flags(model: Model, rows: Rows) -> None:
    """Say how many rows hold what training did not have; reading them has told of new levels."""
    from rpte.model.explain import level_flag, row_flags

    inputs = rows.inputs
    read = sorted({source for component in model.components for source in component.sources})
    counts = Counter(flag for name in read for row in row_flags(inputs, name) for flag in row)
    told = {level_flag(model.schema[name]) for name in read if not model.schema[name].pooled}
    for flag, count in counts.items():
        if flag not in told:
            say(f"note: {count} of {inputs.n_rows} rows: {flag}")

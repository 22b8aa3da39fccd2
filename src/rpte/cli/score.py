"""`rpte score`, `calibrate` and `export`: scores of a table, and models that give the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from rpte.cli import options as opt
from rpte.cli.classes import class_scores
from rpte.cli.options import (
    MaybePath,
    Names,
    Rows,
    check_beside,
    listed,
    option,
    output_option,
    pairs,
    rows_for,
    say_beside,
    targets,
)
from rpte.cli.survival import Horizons, StrataColumn, horizon_times, labels, refuse_survival
from rpte.cli.terminal import say
from rpte.errors import InputError
from rpte.export.target import HOMES
from rpte.model.causes import CausesModel, one_event
from rpte.model.classes import ClassesModel, one_score
from rpte.model.file import load, load_one
from rpte.model.horizon import survival_target
from rpte.model.intervals import RECORD as CALIBRATION
from rpte.model.intervals import calibration_text, interval_factor, number_of
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.utils.arrays import Floats
from rpte.utils.csv_text import frame_csv
from rpte.utils.kept import EDITED, MODEL
from rpte.utils.output import check_output

if TYPE_CHECKING:
    import pandas as pd


def score(
    model: opt.ModelFile,
    table: opt.TableFiles,
    output: Annotated[
        MaybePath, output_option("CSV, Parquet or Excel; standard output if not given.")
    ] = None,
    id_column: opt.IdColumn = None,
    with_class: Annotated[bool, option("Add the class: the more probable one.", "--class")] = False,
    threshold: Annotated[
        float | None, option("Add the class: positive from this probability on.")
    ] = None,
    contributions: Annotated[
        bool, option("Add the intercept and each component's share.", "--contributions")
    ] = False,
    interval: Annotated[
        float | None,
        option("Of a number that was calibrated: add lower and upper; 0.1 for 90% intervals."),
    ] = None,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    horizon: Horizons = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    allow_unknown: opt.AllowUnknown = False,
) -> None:
    """Score the rows of a table: log odds, and probability or mean.

    Of several classes: the class, and the score and the probability of each.

    Numeric targets: the score that terms add up to, and the mean, times --exposure; with --interval
    also the ends of an interval for what will be observed, which needs `rpte calibrate`.

    Of a time until an event: the score, the hazard relative to the baseline, the median time (inf
    where it is beyond what was observed), and the survival at each --horizon.

    With --contributions, adding the intercept and the components from left to right gives the
    score, to the last bit (Excel files keep 16 digits). A table in which most of a column are
    levels that training did not have is refused.

    Example: rpte score model.json cases.csv --id-column case -o scores.csv

    In batches: rpte score model.json cases/*.parquet -o scores.parquet
    """
    from rpte.cli.in_batches import flags_of, in_batches, say_flags, score_in_batches
    from rpte.table.files import check_writable, write_table

    check_output(output, reads=[model, *table])
    if output is not None:
        check_writable(output)
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(f"--threshold {threshold:g}: a probability lies between 0 and 1")
    found, beside = load(model), {"exposure": exposure, "offset": offset}
    loaded = found.outline if isinstance(found, CausesModel) else found
    if contributions:
        one_event(found, "rpte score --contributions")
    if interval is not None:  # refuses what cannot be had, before the table is read
        interval_factor(one_score(loaded, "rpte score --interval"), interval)
    if threshold is not None:
        one_score(loaded, "rpte score --threshold")
    _check_asked(loaded, beside, with_class or threshold is not None)
    times = horizon_times(loaded, horizon)
    refuse_survival(loaded, [] if strata is None else ["--strata"])
    if isinstance(loaded.target, SurvivalTarget) and loaded.target.strata and strata is None:
        say("note: each stratum has its baseline: for times and survival name --strata")

    def scored(rows: Rows) -> pd.DataFrame:
        if isinstance(loaded, ClassesModel):
            return class_scores(loaded, rows, id_column, contributions)
        if isinstance(found, CausesModel):
            return cause_scores(found, rows, id_column, times, strata)
        if isinstance(loaded.target, SurvivalTarget):
            return survival_scores(loaded, rows, id_column, contributions, times, strata)
        scores = score_table(loaded, rows, id_column, contributions, interval, **beside)
        if threshold is not None:
            positive, other = loaded.classes[loaded.positive], loaded.classes[1 - loaded.positive]
            scores["class"] = np.where(scores["probability"] >= threshold, positive, other)
        elif with_class:
            scores["class"] = loaded.predict(rows.inputs)
        return scores

    if in_batches(table):
        names = [name for name in (id_column, exposure, offset, strata) if name is not None]
        score_in_batches(loaded, table, output, names, allow_unknown, scored)
        return
    read: dict[str, Any] = {"id_column": id_column, "allow_unknown": allow_unknown, **beside}
    rows = rows_for(loaded, table[0], missing, **read)
    scores = scored(rows)
    say_flags(loaded, flags_of(loaded, rows.inputs), rows.inputs.n_rows)
    if output is None:
        typer.echo(frame_csv(scores), nl=False)
        return
    write_table(scores, output)
    say(f"Wrote {output}: {len(scores)} rows")


def _check_asked(
    model: Model | ClassesModel, beside: dict[str, str | None], with_class: bool
) -> None:
    """Refuse what is not for the model's task; say what the mean of a number is without."""
    check_beside(model, beside)
    target = model.target
    if with_class and isinstance(target, NumberTarget | SurvivalTarget):
        of = "a number" if isinstance(target, NumberTarget) else "a time until an event"
        raise InputError(
            f"--class and --threshold are for models of two classes; this one is of {of} "
            f"({target.response_text})"
        )
    say_beside(model, beside)


def score_table(
    model: Model,
    rows: Rows,
    id_column: str | None,
    with_parts: bool,
    alpha: float | None = None,
    **beside: str | None,
) -> pd.DataFrame:
    """Return id, score and probability (or mean) of each row, and what its components add.

    The score is the sum of what the components add; an exposure and an offset, columns `beside`
    these, count in the mean. With `alpha`, the ends of an interval too.
    """
    inputs = rows.inputs
    score = model.score(inputs)
    given: dict[str, Any] = {role: rows.numbers(role, column) for role, column in beside.items()}
    response = model.target.mean(score, **given)
    columns = {"score": score, model.target.response_name: response}
    if alpha is not None:
        low, high = model.predict_interval(inputs, alpha, **given).T
        columns |= {"lower": low, "upper": high}
    return _result(model, rows, id_column, columns, with_parts)


def survival_scores(
    model: Model,
    rows: Rows,
    id_column: str | None,
    with_parts: bool,
    times: Floats | None,
    strata: str | None,
) -> pd.DataFrame:
    """Return id, score, hazard, median time and survival at some times of each row."""
    target = survival_target(model.target, "times")
    score, given = model.score(rows.inputs), labels(rows.frame, strata, model)
    columns = {"score": score, "relative_hazard": target.mean(score)}
    if given is not None or not target.strata:
        columns["median"] = target.median(score, given)
    if times is not None:
        found = target.survival_at(score, times, given).T
        columns |= {f"survival_{t:g}": each for t, each in zip(times, found, strict=True)}
    return _result(model, rows, id_column, columns, with_parts)


def cause_scores(
    model: CausesModel, rows: Rows, id_column: str | None, times: Floats | None, strata: str | None
) -> pd.DataFrame:
    """Return id, the score of each cause, and survival and incidences at some times of each row."""
    given, inputs = labels(rows.frame, strata, model.outline), rows.inputs
    names = [target.outcome.replace(" ", "_") for target in model.targets]
    columns = {
        f"score_{name}": each for name, each in zip(names, model.score(inputs).T, strict=True)
    }
    for time in () if times is None else times.tolist():
        columns[f"survival_{time:g}"] = model.survival_at(inputs, time, given)[:, 0]
        for name, cause in zip(names, model.causes, strict=True):
            part = model.incidence_at(inputs, time, cause, given)
            columns[f"incidence_{name}_{time:g}"] = part[:, 0]
    return _result(model.outline, rows, id_column, columns, with_parts=False)


def _result(
    model: Model, rows: Rows, id_column: str | None, columns: dict[str, Floats], with_parts: bool
) -> pd.DataFrame:
    """Return columns of results behind the ids, with what the components add."""
    import pandas as pd

    inputs = rows.inputs
    name, ids = rows.ids(id_column)
    if with_parts:
        columns["intercept"] = np.full(inputs.n_rows, model.intercept)
        columns |= {part.name: part.subtotal(inputs) for part in model.components}
    if name in (*columns, "class"):
        raise InputError(f"the id column '{name}' has the name of a result; rename it")
    return pd.DataFrame({name: ids, **columns})


def calibrate(
    model: opt.ModelFile,
    table: opt.TableFile,
    target: Annotated[str, option("The number to predict, in the table.")],
    output: Annotated[Path, output_option("Write the calibrated model here.")],
    groups: Annotated[
        str | None, option("The column whose rows belong together (a patient), held out whole.")
    ] = None,
    weight_column: opt.WeightColumn = None,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    missing: opt.Missing = None,
) -> None:
    """Learn prediction intervals from rows kept from the fit.

    The model stays as it is; the file keeps how far the numbers of this table lie from their means.
    Give rows that were kept from `rpte fit`: the training table is refused.

    Example: rpte calibrate model.json kept.csv --target claims --exposure years -o with.json
    """
    from rpte.fit.calibration import calibrated

    loaded = number_of(one_score(load_one(model, "rpte calibrate"), "rpte calibrate"))
    check_output(output, reads=[model, table], kind=EDITED if loaded.ledger else MODEL)
    beside: dict[str, Any] = {"exposure": exposure, "offset": offset}
    named: dict[str, Any] = {"target": target, "weight": weight_column, "groups": groups, **beside}
    rows = rows_for(loaded, table, missing, **named)
    given = {role: rows.numbers(role, column) for role, column in beside.items()}
    given["groups"] = None if groups is None else rows.frame[groups].to_numpy()
    weight = rows.weight(weight_column)
    made = calibrated(loaded, rows.inputs, targets(loaded, rows.frame, target), weight, **given)
    made.save(output)
    typer.echo(f"Wrote {output}: {calibration_text(made.training[CALIBRATION])}")


def export(
    model: opt.ModelFile,
    output: Annotated[Path, output_option("The file (or folder) to write.")],
    to: Annotated[
        str | None,
        option(f"Target: {', '.join(HOMES)}. Without it, the export at -o is checked again."),
    ] = None,
    check: Annotated[
        MaybePath,
        option("Table to compare on (and to make a scorecard's bins from): CSV, Parquet, Excel."),
    ] = None,
    missing: opt.Missing = None,
    dialect: Annotated[str | None, option("SQL: the dialect.")] = None,
    table_name: Annotated[str | None, option("SQL: the table to score.")] = None,
    contributions: Annotated[
        bool, option("SQL: every contribution as a column.", "--contributions")
    ] = False,
    reasons: Annotated[int | None, option("SQL: so many reason columns.")] = None,
    horizon: Annotated[
        Names, option("Of a time until an event: a time at which survival is told, or several.")
    ] = None,
    other: Annotated[Names, option("Other options of the target, name=value.", "--option")] = None,
) -> None:
    """Write a model in another form, and prove that it agrees.

    The parity record is written beside it, with .parity.json added to its name. Without --check
    the rows are made from the model's own thresholds and levels.

    Example: rpte export model.json --to sql --dialect postgres -o model.sql

    Check again on a table: rpte export model.json -o model.sql --check table.csv
    """
    from rpte.export import exporting
    from rpte.table.files import read_table

    sql = {"dialect": dialect, "table_name": table_name, "reasons": reasons}
    asked = {"contributions": contributions or None, "horizons": ",".join(horizon or ()) or None}
    named = {**sql, **asked}
    given: dict[str, Any] = {k: value for k, value in named.items() if value is not None}
    given |= {k.replace("-", "_"): value for k, value in pairs("--option", other).items()}
    if to is None:
        check_output(exporting.record_path(output), reads=[model, check, output])
    elif not output.is_dir():
        reads = [model, check, *exporting.files_named(given)]
        check_output(*exporting.written_paths(output), reads=reads)
    found, rows, source = load_one(model, "rpte export"), None, ""
    if check is not None:
        rows = read_table(check, schema=found.schema, missing=listed(missing))
        source = check.name
    if to is not None:
        record = exporting.export_model(found, to, output, rows, rows_from=source, **given)
        typer.echo(f"Wrote {output}")
    elif given:
        raise InputError(f"options {list(given)} without a target; name one with --to")
    else:
        record = exporting.check_export(found, output, rows, rows_from=source)
    typer.echo("\n".join([str(record), *record.notes]))
    if to is None and not record.rows:
        raise InputError(f"{output} could not be compared")
    if not record.holds:
        raise InputError(f"{output} does not agree with {model}")

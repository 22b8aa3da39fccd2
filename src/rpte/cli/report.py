"""`rpte report`: one self-contained page about a model and a table."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rpte.cli import options as opt
from rpte.cli.options import (
    MaybePath,
    Names,
    Rows,
    check_beside,
    column_numbers,
    option,
    output_option,
    rows_for,
)
from rpte.cli.survival import EventValue, events
from rpte.cli.terminal import FAILED, progress, say
from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.file import load_one, read_document
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.report.about import NOTHING, read_about, read_peers
from rpte.report.about import template as template_text
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import AnyModel, Evidence, gather
from rpte.report.report import THRESHOLD, Report
from rpte.utils.arrays import Floats
from rpte.utils.output import check_output, is_stream, write_text


def report(
    model: Annotated[MaybePath, typer.Argument(help="A model file.")] = None,
    table: Annotated[
        MaybePath, typer.Argument(help="Rows, best such as training has not seen.")
    ] = None,
    output: Annotated[MaybePath, output_option("The file to write.")] = None,
    target: Annotated[str | None, option("The column with the outcome.")] = None,
    weight_column: opt.WeightColumn = None,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    time: Annotated[str | None, option("Of survival: the column with the time.")] = None,
    event: Annotated[
        str | None, option("Of survival: the column that says whether the event was seen.")
    ] = None,
    event_value: EventValue = None,
    entry: Annotated[str | None, option("Of survival: the column with the time of entry.")] = None,
    strata: Annotated[str | None, option("Of survival: the column with the stratum.")] = None,
    horizon: Annotated[
        Names,
        option(
            "Of survival: a time at which it is told; may be repeated, or several with commas "
            "between them. By default quartiles of the times of events."
        ),
    ] = None,
    missing: opt.Missing = None,
    by: Annotated[Names, option("Measure by the groups of this column; may be repeated.")] = None,
    against: Annotated[
        Names,
        option(
            "Numeric targets: another model file, or a column with its predictions, to draw a "
            "double lift against; may be repeated."
        ),
    ] = None,
    about: Annotated[MaybePath, option("What its owners state about the model (TOML).")] = None,
    template: Annotated[MaybePath, option("Write an empty --about file, and stop.")] = None,
    peers: Annotated[
        MaybePath, option("Audit loads of other models (JSON or CSV: name, miu, ...).")
    ] = None,
    threshold: Annotated[
        float, option("Probability from which on a case is flagged.", min=0.01, max=0.99)
    ] = THRESHOLD,
    resamples: Annotated[
        int | None,
        option("Bootstrap resamples for intervals; 200, or fewer from 200,000 rows on.", min=20),
    ] = None,
    stability: Annotated[
        int, option("Fit the model again on so many resamples (takes time).", min=0)
    ] = 0,
    cases: Annotated[bool, option("Take some single rows of the table apart.", "--cases")] = False,
    full_profile: Annotated[
        bool, option("Show small counts and exact extremes.", "--full-profile")
    ] = False,
    as_json: Annotated[bool, option("The contents as JSON; printed without -o.", "--json")] = False,
) -> None:
    """Write all about a model to one page that opens offline.

    Example: rpte report model.json test.csv --target outcome --by sex -o report.html

    What only people can say: rpte report model.json --template about.toml

    Fill it in, then pass it as --about.

    A tariff: rpte report claims.json test.csv --target claims --against glm.json -o report.html

    Of a number, its exposure and offset are read by the names in the model file, unless --exposure
    and --offset name other columns.

    Survival: rpte report trial.json test.csv --horizon 365,730 -o report.html

    Its time and event are read by the names in the model file if the table has them.
    """
    if template is not None:
        _write_template(model, template)
        return
    if model is None or (output is None and not as_json):
        raise typer.BadParameter("name a model file, and the page to write: -o report.html")
    beside = {"exposure": exposure, "offset": offset}
    seen = {"time": time, "event": event, "entry": entry, "strata": strata}
    _check_columns(table, target, weight_column, by, against, {**beside, **seen})
    files = {"model": model, "table": table, "about": about, "peers": peers}
    check_output(output, reads=[*files.values(), *_model_files(against)])
    said = NOTHING if about is None else read_about(about)
    others = [] if peers is None else read_peers(peers)
    known = load_one(model, "rpte report")
    if isinstance(known.target, SurvivalTarget):
        _check_times(target, beside, against, threshold)
    else:
        _refuse_times(known, {**seen, "event-value": event_value, "horizon": horizon})
        _check_outcomes(target, by, stability, against)
    check_beside(known, beside)
    if isinstance(known.target, NumberTarget) and threshold != THRESHOLD:
        raise InputError(f"--threshold {threshold:g} is a probability; the model is of a number")
    if isinstance(known, ClassesModel) and threshold != THRESHOLD:
        raise InputError(
            f"--threshold {threshold:g} is for two classes; of several, the most probable class "
            "is predicted: leave it out"
        )
    columns = by or [], against or []
    given = target, weight_column, beside, seen, *columns, missing, full_profile
    asked = Asked(*given, event_value)
    evidence = None if table is None else _evidence(known, table, asked)
    if stability and (evidence is None or evidence.y is None):
        raise InputError("--stability needs outcomes; name their columns: --time and --event")
    files |= {f"against {path.name}": path for path in _model_files(against)}
    with progress("measuring") as tell:
        options = ReportOptions(
            about=said,
            peers=others,
            threshold=threshold,
            horizons=_horizons(horizon),
            resamples=resamples,
            refits=stability,
            show_cases=cases,
            target=target,
            files={role: _named(path) for role, path in files.items() if path is not None},
            on_refit=lambda done: tell("fitting again", done, stability),
        )
        contents = report_contents(known, evidence, options, read_document(model))
    _write(contents, output, as_json)


def _check_columns(
    table: Path | None,
    target: str | None,
    weight: str | None,
    by: Names,
    against: Names,
    beside: dict[str, str | None],
) -> None:
    """Refuse what cannot end well before any work is done."""
    if table is None and (target or weight or by or against or any(beside.values())):
        given = [f"--{name}" for name in beside if beside[name]] + ["--against"] * bool(against)
        names = " and ".join([", ".join(["--target", "--weight-column", *given]), "--by"])
        raise InputError(f"{names} name columns of a table; give it too")


def _check_outcomes(target: str | None, by: Names, refits: int, against: Names) -> None:
    """Refuse what needs outcomes without them."""
    if target is None and (by or refits or against):
        needs = "--against needs" if against else "--by and --stability need"
        raise InputError(f"{needs} outcomes; name their column: --target")


def _refuse_times(model: AnyModel, given: Mapping[str, Any]) -> None:
    """Refuse options of survival, of another task."""
    named = [f"--{role}" for role, value in given.items() if value is not None]
    if named:
        raise InputError(f"{named[0]} is for models of survival; this one is of '{model.task}'")


def _check_times(
    target: str | None, beside: Mapping[str, str | None], against: Names, threshold: float
) -> None:
    """Refuse options of other tasks, of survival."""
    given: dict[str, Any] = {"--target": target, **{f"--{r}": name for r, name in beside.items()}}
    given |= {"--against": against, "--threshold": threshold if threshold != THRESHOLD else None}
    wrong = [option for option, value in given.items() if value]
    if wrong:
        raise InputError(
            f"{wrong[0]} is not for survival; name the outcome with --time and --event, and times "
            "at which survival is told with --horizon"
        )


def _horizons(texts: Names) -> tuple[float, ...]:
    """Return the times at which survival is told, of options with commas in them."""
    found = []
    for text in [part for each in texts or () for part in each.split(",")]:
        try:
            found.append(float(text))
        except ValueError:
            remedy = "give a number, or several with commas between them"
            raise InputError(f"--horizon {text.strip()}: it is no number; {remedy}") from None
    return tuple(found)


def _write_template(model: Path | None, path: Path) -> None:
    if path.is_file() and not is_stream(path):
        raise InputError(f"{path} exists and may hold what somebody wrote; give another name")
    check_output(path)
    sources = () if model is None else load_one(model, "rpte report --template").sources
    write_text(template_text(sorted(sources)), path)
    typer.echo(f"Wrote {path}; fill it in and pass it as --about")


@dataclass(frozen=True)
class Asked:
    """What a report is to read of a table."""

    target: str | None
    weight: str | None
    beside: dict[str, str | None]  # exposure and offset
    seen: dict[str, str | None]  # of survival: time, event, entry, strata
    by: list[str]
    against: list[str]
    missing: str | None
    full: bool
    event_value: str | None = None


def _evidence(model: AnyModel, path: Path, asked: Asked) -> Evidence:
    """Read the table and set apart what the model reads, the outcome, weights and groups."""
    from rpte.table.files import check_column

    named: dict[str, Any] = {"target": asked.target, "weight": asked.weight, **asked.beside}
    named |= asked.seen
    rows = rows_for(model, path, asked.missing, **named)
    for name in asked.by:
        check_column(rows.frame, name, "group")
    beside = _columns_beside(model, rows, asked.beside, labelled=asked.target is not None)
    given: dict[str, Any] = {role: rows.numbers(role, name) for role, name in beside.items()}
    outcome = None if asked.target is None else rows.frame[asked.target].to_numpy()
    if isinstance(model.target, SurvivalTarget):
        outcome = _outcome(model.target, rows, asked)
        given |= {
            role: None if asked.seen[role] is None else rows.frame[asked.seen[role]].to_numpy()
            for role in ("entry", "strata")
        }
    return gather(
        model,
        rows.inputs,
        outcome,
        rows.weight(asked.weight),
        name=path.name,
        groups={name: rows.frame[name].to_numpy() for name in asked.by},
        profile="full" if asked.full else "safe",
        against={
            name: _predicted(model, name, path, rows, beside, asked) for name in asked.against
        },
        **given,
    )


def _outcome(target: SurvivalTarget, rows: Rows, asked: Asked) -> Any:
    """Return events and times: of the columns named, or else of those of training."""
    names = {role: asked.seen[role] or getattr(target, role) for role in ("event", "time")}
    here = {role: name for role, name in names.items() if name in rows.frame}
    if len(here) == len(names):
        event, time = (rows.frame[name].to_numpy() for name in here.values())
        value = asked.event_value
        return event if value is None else events(rows.frame, here["event"], value), time
    if asked.by or asked.seen["time"] or asked.seen["event"]:
        raise InputError(
            f"the outcome needs two columns, and there is no "
            f"{' and no '.join(role for role in names if role not in here)}: name both with --time "
            "and --event"
        )
    return None


def _columns_beside(
    model: AnyModel, rows: Rows, given: dict[str, str | None], labelled: bool
) -> dict[str, str | None]:
    """Return the columns of exposure and offset: those named, or else those of training."""
    found = dict(given)
    for role, name in given.items():
        trained = getattr(model.target, role, None)
        if name is not None or trained is None:
            continue
        found[role] = trained if trained in rows.frame else None
        if labelled and found[role] is None:
            raise InputError(
                f"the model was fitted with the {role} '{trained}', which the table does not have; "
                f"name its column: --{role}"
            )
    return found


def _model_files(against: Names) -> list[Path]:
    return [Path(name) for name in against or () if Path(name).is_file()]


def _predicted(
    model: AnyModel, name: str, path: Path, rows: Rows, beside: dict[str, str | None], asked: Asked
) -> Floats:
    """Return the means that another model, or a column of the table, predicts of the rows."""
    if name in rows.frame:
        return column_numbers(rows.frame, name, "prediction")
    if not Path(name).is_file():
        raise InputError(
            f"--against {name}: there is no such file, and the table has no column of that name; "
            "give a model file, or a column with predictions"
        )
    other, target = load_one(Path(name), "rpte report --against"), model.target
    if not isinstance(other.target, NumberTarget) or not isinstance(target, NumberTarget):
        raise InputError(
            f"--against {name}: a double lift is of two models of a number; rpte compare shows "
            "where models of two classes differ"
        )
    if other.target.outcome != target.outcome and other.target.name and target.name:
        raise InputError(
            f"--against {name}: it predicts {other.target.outcome}, this model {target.outcome}; "
            "give a model of the same number"
        )
    theirs = rows_for(other, path, asked.missing)
    given = {}
    for role in beside:
        trained = getattr(other.target, role)
        column = trained if trained is None or trained in rows.frame else beside[role]
        if trained is not None and column is None:
            raise InputError(
                f"--against {name}: it was fitted with the {role} '{trained}', which the table "
                "does not have; add that column"
            )
        given[role] = rows.numbers(role, column)
    return other.target.mean(other.score(theirs.inputs), **given)


def _named(path: Path) -> tuple[str, str]:
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def _write(contents: dict[str, Any], output: Path | None, as_json: bool) -> None:
    made = Report(contents)
    text = json.dumps(contents, indent=1, allow_nan=False) if as_json else made.html
    if output is None:
        typer.echo(text)
        return
    write_text(text, output)
    open_fields = contents["about"]["open"]
    left = f"; questions to its owners without an answer: {open_fields} (--about)"
    typer.echo(f"Wrote {output} ({len(text.encode()) / 1000:,.0f} kB){left if open_fields else ''}")
    if made.failed:
        say(f"error: {len(made.failed)} claims fail: {'; '.join(made.failed)}")
        raise typer.Exit(FAILED)

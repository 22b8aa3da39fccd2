"""`rpte reasons`, `decide`, `replay` and `edit`: decisions and changes, and why, on the record."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from rpte.audit.decisions import reasons as principal
from rpte.audit.decisions.catalogue import Catalogue, Reason, catalogue_template, read_catalogue
from rpte.audit.decisions.decide import append_decisions, check_log
from rpte.audit.decisions.replay import Replay
from rpte.audit.decisions.replay import replay as computed_again
from rpte.audit.edits import Labelled
from rpte.audit.edits import edit as edited_by
from rpte.cli import options as opt
from rpte.cli.classes import named_class
from rpte.cli.options import (
    MaybePath,
    Names,
    Rows,
    check_beside,
    option,
    output_option,
    rows_for,
    say_beside,
)
from rpte.cli.survival import (
    EntryColumn,
    EventColumn,
    EventValue,
    Horizon,
    StrataColumn,
    SurvivalColumns,
    TimeColumn,
    asked_at,
    labelled,
    refuse_survival,
)
from rpte.cli.terminal import FAILED, console, plain, print_json, say, table_of
from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel, load_one
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget, Target
from rpte.utils.arrays import Array, Index
from rpte.utils.kept import EDITED, LOG
from rpte.utils.output import check_output, is_stream, write_text

ROWS_SHOWN = 5  # rows that are shown where none is asked for
FINDINGS_SHOWN = 20  # findings of a replay
COMPARED = {
    "mean": "the training mean",
    "best": "the best that anybody can have",
    "threshold": "the cases that pass next to the threshold",
}
OF_CLASSES = {"mean": COMPARED["mean"], "best": "the case that speaks least for it"}
METRICS = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "auc": "AUC",
    "accuracy": "accuracy",
    "deviance_explained": "deviance explained",
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
}
NO_HEAD_NOTE = (
    "Without the head hash that rpte decide printed (--head), a file that was written again from "
    "its first to its last record cannot be distinguished from the original."
)

CatalogueFile = Annotated[MaybePath, option("Codes and sentences by variable (TOML).")]
Adverse = Annotated[
    str | None,
    option(
        "The outcome that counts against a case; the positive one by default. Of a number a high "
        "mean (high, the default) or a low one (low); of a time until an event, of its hazard."
    ),
]
ReferenceName = Annotated[
    str,
    option(
        "Compare with the training mean (mean), with the best that anybody can have (best), "
        "or with the cases of the table that pass next to the threshold (threshold)."
    ),
]
MostReasons = Annotated[int, option("At most so many reasons.", min=1)]
LeastShare = Annotated[
    float, option("Leave out what weighs less than this share of the first reason.")
]
Threshold = Annotated[
    float | None,
    option(
        "Probability of the adverse outcome from which on a case gets reasons, of a number the "
        "mean, of survival at --horizon that up to which; all cases do if it is not given."
    ),
]


def reasons(
    model: opt.ModelFile,
    table: opt.MaybeTable = None,
    row: Annotated[Names, option("Rows to show: numbers from 1, or ids; repeatable.")] = None,
    template: Annotated[bool, option("Write a catalogue to be filled in.", "--template")] = False,
    output: Annotated[MaybePath, output_option("Where the template goes.")] = None,
    catalogue: CatalogueFile = None,
    adverse: Adverse = None,
    reference: ReferenceName = "mean",
    most: MostReasons = principal.MOST,
    threshold: Threshold = None,
    least: LeastShare = principal.LEAST,
    against: opt.AgainstClass = None,
    id_column: opt.IdColumn = None,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    horizon: Horizon = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    allow_unknown: opt.AllowUnknown = False,
    as_json: opt.AsJson = False,
) -> None:
    """Show the principal reasons of cases, in your own words.

    Of a number they say why its mean is high, or low: in units of the target, or as factors; of a
    time until an event why the hazard is, and --threshold is the survival at --horizon. Of several
    classes they say why the one predicted and not the next, or not --against.

    Example: rpte reasons model.json loans.csv --row 17 --adverse yes

    A catalogue to fill in: rpte reasons model.json --template -o reasons.toml

    With it: rpte reasons model.json loans.csv --row 17 --catalogue reasons.toml
    """
    if template:
        _write_template(model, output)
        return
    loaded, beside = load_one(model, "rpte reasons"), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    if table is None:
        raise InputError("give a table of cases, or --template to write a catalogue")
    named: dict[str, Any] = {"id_column": id_column, "allow_unknown": allow_unknown, **beside}
    rows = rows_for(loaded, table, missing, **named)
    given = _given(loaded, rows, beside, threshold, strata)
    asked: dict[str, Any] = {"adverse": adverse, "most": most, "threshold": threshold}
    asked |= {"least": least, "against": against, "horizon": horizon}
    rule, said = _rule(loaded, rows, reference, catalogue, **asked, **given)
    ids = rows.ids(id_column)[1]
    places = _places(ids, row)
    more = not row and len(ids) > ROWS_SHOWN
    of_cases = {role: values[places] for role, values in given.items()}
    found = principal.reason_codes(loaded, rows.inputs.take(places), rule, said, **of_cases)
    shown = [(ids[place], reasons) for place, reasons in zip(places, found, strict=True)]
    if as_json:
        print_json([{"case": case, **_plain(found)} for case, found in shown])
        return
    screen = console()
    screen.print(_reasons_title(loaded, rule), soft_wrap=True)
    screen.print(_reasons_view(loaded, rule, shown))
    _say_more(more, len(ids))


def _plain(found: Any) -> dict[str, Any]:
    """Return the reasons of a case as plain values."""
    if isinstance(found, principal.ClassReasons):
        return found.to_dict()
    return {"reasons": list(map(asdict, found))}


def _say_more(more: bool, cases: int) -> None:
    if more:
        console().print(f"The first {ROWS_SHOWN} of {cases} cases; --row shows others.")


def _given(
    model: AnyModel,
    rows: Rows,
    beside: dict[str, str | None],
    threshold: float | None,
    strata: str | None,
) -> dict[str, Array]:
    """Return exposures, offsets and strata that were named; say what a threshold is without."""
    if threshold is not None:
        say_beside(model, beside)
    found = {role: rows.numbers(role, column) for role, column in beside.items()}
    known = {role: values for role, values in found.items() if values is not None}
    return {**known, **asked_at(model, rows, None, strata)}


def _reasons_title(model: AnyModel, rule: principal.ReasonRule) -> str:
    """Say what counts against cases, and how it is measured."""
    if isinstance(model, ClassesModel):
        compared = OF_CLASSES[rule.reference]
        return f"Why the class and not the other, in log odds against {compared}"
    target, compared = model.target, COMPARED[rule.reference]
    if isinstance(target, SurvivalTarget):
        what = f"{rule.adverse} hazard of {target.outcome}, as factors"
        return f"What makes for a {what} against {compared}"
    if not isinstance(target, NumberTarget):
        return f"What counts for {rule.adverse}, in log odds against {compared}"
    unit = "as factors" if target.multiplies else f"in {target.score_unit}"
    return f"What makes for a {rule.adverse} {target.mean_text}, {unit} against {compared}"


def _weight_text(model: AnyModel, rule: principal.ReasonRule, reason: Reason) -> str:
    """Say what a reason weighs: of a number, what it does to the mean, or to the hazard."""
    if isinstance(model, ClassesModel) or isinstance(model.target, Target):
        return f"{reason.weight:+.4g}"
    effect = model.loss.effect(rule.sign(model) * reason.weight)
    return f"x{effect:.4g}" if model.target.multiplies else f"{effect:+.4g}"


def _rule(
    model: AnyModel, rows: Rows, reference: str, catalogue: Path | None, **asked: Any
) -> tuple[principal.ReasonRule, Catalogue]:
    """Return how reasons are found, and the catalogue that says them."""
    if reference not in principal.REFERENCES:
        known = ", ".join(principal.REFERENCES)
        raise InputError(f"--reference {reference}: it is one of {known}")
    against, horizon = asked.pop("against"), asked["horizon"]
    refuse_survival(model, [] if horizon is None else ["--horizon"])
    timed = isinstance(model.target, SurvivalTarget) and asked["threshold"] is not None
    if timed and horizon is None:
        raise InputError("--horizon: say at which time --threshold is the survival")
    if isinstance(model, ClassesModel):
        _refuse_of_one_score(asked)
        asked["against"] = named_class(model, "--against", against)
    elif against is not None:
        raise InputError("--against is for models of several classes; this one has one score")
    elif reference == "threshold":
        asked["cases"] = rows.inputs
    found: Any = reference
    rule = principal.reason_rule(model, found, **asked)
    if catalogue is None:
        return rule, Catalogue()
    return rule, read_catalogue(catalogue, model)


def _refuse_of_one_score(asked: dict[str, Any]) -> None:
    """Refuse options that rules of several classes do not have."""
    for name in ("adverse", "threshold"):
        if asked[name] is not None:
            raise InputError(
                f"--{name} is for models of one score; of several classes reasons say why the one "
                "predicted and not the next, or not --against"
            )


def _write_template(model: Path, output: Path | None) -> None:
    if output is not None and output.is_file() and not is_stream(output):
        raise InputError(f"{output} is there already; give another name, so that nothing is lost")
    check_output(output)
    text = catalogue_template(load_one(model, "rpte reasons --template"))
    if output is None:
        typer.echo(text, nl=False)
        return
    write_text(text, output)
    typer.echo(f"Wrote {output}", err=True)


def _places(ids: Sequence[Any], asked: Names) -> Index:
    if not asked:
        return np.arange(min(ROWS_SHOWN, len(ids)))
    known = {str(name): place for place, name in enumerate(ids)}
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise InputError(f"--row {unknown[0]}: the table has {len(ids)} rows, none of this name")
    return np.array([known[name] for name in asked])


def _reasons_view(
    model: AnyModel, rule: principal.ReasonRule, shown: list[tuple[Any, Any]]
) -> Table:
    """Return a line for each reason; of several classes with the class and the one compared."""
    several = isinstance(model, ClassesModel)
    classes = ("class", "against") if several else ()
    view = table_of(("case", *classes, ">weighs", "code", "reason", "component"))
    for case, told in shown:
        head = (str(case), str(told.chosen), str(told.against)) if several else (str(case),)
        reasons = told.reasons if several else told
        if not reasons:
            view.add_row(*head, "", "", Text("none", "dim"), "")
        for place, reason in enumerate(reasons):
            first = ("",) * len(head) if place else head
            weight = _weight_text(model, rule, reason)
            view.add_row(*first, weight, reason.code, reason.sentence, reason.component)
    return view


def decide(
    model: opt.ModelFile,
    table: opt.TableFile,
    output: Annotated[Path, output_option("The log; appended to if there is one.")],
    id_column: opt.IdColumn = None,
    catalogue: CatalogueFile = None,
    adverse: Adverse = None,
    reference: ReferenceName = "mean",
    most: MostReasons = principal.MOST,
    threshold: Threshold = None,
    least: LeastShare = principal.LEAST,
    against: opt.AgainstClass = None,
    when: Annotated[str | None, option("Time of the run in ISO 8601; now by default.")] = None,
    replace: Annotated[
        bool, option("Start a new log and delete the old one.", "--replace")
    ] = False,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    horizon: Horizon = None,
    strata: StrataColumn = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Record every decision on a table, so that it can be replayed.

    A record holds what the model read, score, decision and principal reasons, and seals all
    contributions. A log that exists is continued, unless it is of another model. The last
    line printed is the head hash: keep it elsewhere, and rpte replay can tell any change of the
    file up to there. Of a number, --exposure and --offset are recorded with each case, and
    --threshold decides on the mean with them; of a time until an event on the survival at
    --horizon, with --strata recorded. Of several classes a record holds the class predicted and the
    scores of all.

    Example: rpte decide model.json loans.csv -o decisions.jsonl --id-column case
    """
    check_output(output, reads=[model, table, catalogue], kind=LOG)
    loaded, beside = load_one(model, "rpte decide"), {"exposure": exposure, "offset": offset}
    check_beside(loaded, beside)
    check_log(output, loaded, replace)
    named: dict[str, Any] = {"id_column": id_column, **beside}
    rows = rows_for(loaded, table, missing, **named)
    given = _given(loaded, rows, beside, threshold, strata)
    asked: dict[str, Any] = {"adverse": adverse, "most": most, "threshold": threshold}
    asked |= {"least": least, "against": against, "horizon": horizon}
    rule, said = _rule(loaded, rows, reference, catalogue, **asked, **given)
    ids = None if id_column is None else rows.ids(id_column)[1]
    cells = _columns(loaded, rows, [id_column, exposure, offset, strata])
    run: dict[str, Any] = {"ids": ids, "when": when, "replace": replace, **given}
    done = append_decisions(output, loaded, cells, rule, said, **run)
    if done.unexplained:
        say(
            f"note: {done.unexplained} adverse cases have no reason, since no part of their score "
            f"is worse than the reference '{reference}'; --reference best always gives one"
        )
    if as_json:
        record = {"cases": done.cases, "total": done.total, "head": done.head}
        print_json({"file": str(output), **record})
        return
    after = f" after {done.total - done.cases}" if done.total > done.cases else ""
    typer.echo(f"Wrote {output}: {done.cases} cases{after}, model {done.model}", err=True)
    typer.echo(f"head {done.head}")


def _columns(model: AnyModel, rows: Rows, beside: list[str | None]) -> Any:
    if model.schema.named:
        return rows.frame[[name for name in rows.frame if name in model.schema.names]]
    return rows.frame.drop(columns=[name for name in beside if name is not None])


def replay(
    log: Annotated[Path, typer.Argument(help="A log of rpte decide.")],
    model: Annotated[Path, option("The model that decided.")],
    head: Annotated[str | None, option("The head hash that was kept.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Compute every decision of a log again; name what was changed.

    Exit code 0 if every record is what the model gives and the chain is whole, 1 if not.

    Example: rpte replay decisions.jsonl --model model.json --head 5f0c...
    """
    found = computed_again(log, load_one(model, "rpte replay"), head)
    if as_json:
        print_json(asdict(found))
    else:
        _say_replay(found)
    if found.findings:
        raise typer.Exit(FAILED)


def _say_replay(found: Replay) -> None:
    for finding in found.findings[:FINDINGS_SHOWN]:
        typer.echo(plain(str(finding)))
    if len(found.findings) > FINDINGS_SHOWN:
        typer.echo(f"... and {len(found.findings) - FINDINGS_SHOWN} more")
    if not found.findings:
        proved, later = found.proved, found.cases - found.proved
        kept = " and the head is the one given"
        if later:
            kept = f"; the head given proves the first {proved}, {later} were appended after it"
        said = "all are as recorded, the chain is whole" + (kept if found.head_given else "")
        typer.echo(f"{found.cases} cases computed again: {said}")
    typer.echo(f"head {found.head}")
    if not found.head_given:
        typer.echo(NO_HEAD_NOTE)


def edit(
    model: opt.ModelFile,
    output: Annotated[Path, output_option("The edited model.")],
    by: Annotated[str, option("Who edits it.")],
    reason: Annotated[str, option("Why.")],
    drop_term: Annotated[
        Names, option("A leaf (T1.L2), tree (T1) or direct term (D3); repeatable.")
    ] = None,
    drop_source: Annotated[Names, option("A variable not to read any more; repeatable.")] = None,
    merge: Annotated[
        Names, option("All leaves below one test, T1.L1+T1.L2, to be one leaf; repeatable.")
    ] = None,
    refit: Annotated[MaybePath, option("Estimate the coefficients again on this table.")] = None,
    table: Annotated[MaybePath, option("Measure before and after on this table.")] = None,
    target: Annotated[str | None, option("The outcome in that table.")] = None,
    weight_column: opt.WeightColumn = None,
    exposure: opt.ExposureColumn = None,
    offset: opt.OffsetColumn = None,
    time: TimeColumn = None,
    event: EventColumn = None,
    event_value: EventValue = None,
    entry: EntryColumn = None,
    strata: StrataColumn = None,
    force: Annotated[bool, option("Break a guarantee, and give it up.", "--force")] = False,
    when: Annotated[str | None, option("Time of the edit in ISO 8601; now by default.")] = None,
    missing: opt.Missing = None,
    as_json: opt.AsJson = False,
) -> None:
    """Drop or merge parts of a model, on the record.

    The edited file holds a ledger, each entry sealing the one before: who, when, why, what was
    done, terms and conditions before and after, and the metrics where a table is given. An edit
    that breaks a limit such as a monotone direction is refused; with --force the model no longer
    claims it. Without --refit the coefficients are no longer optimal, and the model says so.

    Example: rpte edit model.json -o edited.json --drop-source age --refit loans.csv --target bad
    --by "A. Smith" --reason "age may not be used"
    """
    check_output(output, reads=[model, refit, table], kind=EDITED)
    loaded = load_one(model, "rpte edit")
    named = {"weight": weight_column, "exposure": exposure, "offset": offset}
    columns = SurvivalColumns(time, event, event_value, entry, strata)
    changed = edited_by(
        loaded,
        by=by,
        reason=reason,
        drop_terms=drop_term or (),
        drop_sources=drop_source or (),
        merge=[[name.strip() for name in names.split("+")] for names in merge or ()],
        table=_labelled(loaded, refit, table, target, named, columns, missing),
        refit=refit is not None,
        force=force,
        when=when,
    )
    changed.save(output)
    made = changed.ledger[-1]
    if as_json:
        print_json(made)
        return
    console().print(_entry_view(made))
    for key, word in (("withdrawn", "no longer claimed"), ("restored", "claimed again")):
        for name in made[key]:
            typer.echo(plain(f"{word}: {name}"))
    typer.echo(f"ledger entry {made['number']}, head {made['hash']}")
    typer.echo(f"Wrote {output}", err=True)


def _labelled(
    model: AnyModel,
    refit: Path | None,
    table: Path | None,
    target: str | None,
    named: dict[str, str | None],
    columns: SurvivalColumns,
    missing: str | None,
) -> Labelled | None:
    """Return the table of an edit with its target and the columns that are `named` by role."""
    beside = {role: name for role, name in named.items() if role != "weight"}
    check_beside(model, beside)
    columns.check(model, target)
    if refit is not None and table is not None:
        raise InputError("--refit measures on its own table; leave --table away")
    path = refit or table
    if path is None:
        if target or any(named.values()) or columns.given:
            given = columns.given or ["--target", "--weight-column"]
            raise InputError(f"{' and '.join(given)} name columns of a table; give one")
        return None
    read: dict[str, Any] = {"target": target, **named, **columns.named}
    rows = rows_for(model, path, missing, **read)
    numbers = {role: rows.numbers(role, name) for role, name in beside.items()}
    y, more = labelled(model, rows.frame, target, columns)
    return Labelled(rows.inputs, y, rows.weight(named["weight"]), **numbers, **more)


def _entry_view(entry: Any) -> Table:
    before, after = entry["before"], entry["after"]
    rows = [(name, str(before[name]), str(after[name])) for name in ("terms", "conditions")]
    measured = before["metrics"] or {}
    for name, label in METRICS.items():
        if measured.get(name) is not None:
            old, new = measured[name], after["metrics"][name]
            rows.append((label, f"{old:.4f}", f"{new:.4f}"))
    return table_of(("", ">before", ">after"), rows)

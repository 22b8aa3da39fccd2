"""`rpte fit`: from a table to a model file, and an estimate of how good it is."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpte.cli.failures import say, told_in_one_line
from rpte.cli.fit_request import CHECKER, FitRequest, Training
from rpte.cli.options import AsJson, Missing, TableFile
from rpte.cli.terminal import console, print_json, progress
from rpte.errors import InputError
from rpte.utils.interrupts import telling
from rpte.utils.output import write_bytes

if TYPE_CHECKING:
    from rpte.model.model import Model
    from rpte.utils.progress import Progress
    from rpte.validation.cross_validate import Estimate

COLUMNS, LIMITS, METHOD = "The table", "What the model may do", "The method"


def fit(
    table: TableFile,
    target: Annotated[str, typer.Option(help="The column with the outcome.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Write the model here.", show_default=False)
    ],
    positive: Annotated[
        str | None,
        typer.Option(help="The outcome that the model speaks of; the later one by default."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Names each case; no feature.", rich_help_panel=COLUMNS)
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(help="Weights (repetitions) of rows.", rich_help_panel=COLUMNS)
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            help="Rows with equal values here (a patient) are never split by validation.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    special: Annotated[
        list[str] | None,
        typer.Option(
            help="Codes that are no measurements, NAME=-9,-8; repeatable.", rich_help_panel=COLUMNS
        ),
    ] = None,
    missing: Missing = None,
    drop_unlabelled: Annotated[
        bool,
        typer.Option(
            "--drop-unlabelled", help="Leave out rows without outcome.", rich_help_panel=COLUMNS
        ),
    ] = False,
    max_inspection_units: Annotated[
        int | None,
        typer.Option(help="The most conditions to read, 300 if not given.", rich_help_panel=LIMITS),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=increasing or NAME=decreasing; repeatable.", rich_help_panel=LIMITS
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="A variable not to use; repeatable.", rich_help_panel=LIMITS),
    ] = None,
    linear_only: Annotated[
        list[str] | None,
        typer.Option(help="A number that has a slope at most; repeatable.", rich_help_panel=LIMITS),
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            help="Variables that may interact, A,B,...; repeatable; all others stand alone.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    penalty: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FACTOR on the penalty of a variable; repeatable.", rich_help_panel=LIMITS
        ),
    ] = None,
    ownership: Annotated[
        str | None,
        typer.Option(
            help="component (the default), strict, separate or paper.", rich_help_panel=LIMITS
        ),
    ] = None,
    max_component_sources: Annotated[
        int | None,
        typer.Option(help="Most variables in one component.", rich_help_panel=LIMITS),
    ] = None,
    audit_price: Annotated[
        float | None,
        typer.Option(
            help="Share of the explainable deviance that one more condition must explain.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    l1: Annotated[
        str | None,
        typer.Option(help="cv (the default), 4/n or a number.", rich_help_panel=METHOD),
    ] = None,
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="Weight both classes alike.", rich_help_panel=METHOD),
    ] = False,
    paper: Annotated[
        bool,
        typer.Option("--paper", help="The published configuration.", rich_help_panel=METHOD),
    ] = False,
    max_fit_seconds: Annotated[
        float | None,
        typer.Option(
            help="End the search after so many seconds, with the best model until then.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Threads; -1 for every core.", rich_help_panel=METHOD)
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="What the file tells of each column: safe, full or none."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of the estimate; 0 for no estimate.")] = 5,
    with_checker: Annotated[
        bool, typer.Option("--with-checker", help=f"Write {CHECKER} beside the model.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a table, write it, then estimate by cross-validation how good it is.

    The model is written before the estimate is begun; interrupting (Ctrl-C, exit code 130) loses
    nothing that is written. The file then keeps the estimate, too.

    Example: rpte fit loans.csv --target bad -o model.json --monotone income=decreasing
    """
    given = dict(locals())
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rpte").setLevel(logging.INFO)  # says when kernels are compiled
    state = f"{output} is written and complete, only the estimate is missing"
    with telling(output, state), told_in_one_line():
        request = FitRequest(**{name: given[name] for name in FitRequest.__dataclass_fields__})
        request.check()
        checker = None if request.checker is None else _checker()
        with progress(f"reading {table}") as tell:
            training = request.read()
            tell(f"fitting {training.said()}")
            fitted = training.fit(lambda now: tell(_said(now), now.share, 1.0))
        _say_noticed(fitted)
        if request.checker is not None and checker is not None:
            write_bytes(checker, request.checker)
        fitted.save(output)
        _finish(training, fitted, request, as_json)


def _say_noticed(fitted: Any) -> None:
    """Say how to declare the codes that the fit warned of, and its hints."""
    if fitted.sentinels_:
        found = fitted.sentinels_.items()
        options = [f"--special {shlex.quote(_option(name, codes))}" for name, codes in found]
        say(f"note: as options: {' '.join(options)}")
    for hint in fitted.hints_:
        say(f"hint: {hint}")


def _option(name: str, codes: list[int]) -> str:
    return f"{name}={','.join(map(str, codes))}"


def _said(now: Progress) -> str:
    """Say how far the fit is, and the validated deviance of the best model so far."""
    if now.deviance is None:
        return now.stage
    return f"{now.stage}; deviance {now.deviance:.4f}, {now.conditions} conditions"


def _checker() -> bytes:
    """Return the checker that is shipped with the package."""
    from importlib.resources import files

    return (files("rpte") / "check" / CHECKER).read_bytes()


def _finish(training: Training, fitted: Any, request: FitRequest, as_json: bool) -> None:
    """Say what was written; then estimate, keep that in the file, and say it."""
    from rpte.model.file import to_dict
    from rpte.model.summary import counted

    model = fitted.model_
    load = model.audit()
    written = {
        "model": str(request.output),
        "rows": len(training.y),
        "terms": load.mu,
        "conditions": load.miu,
        "bound": load.bound,
        "components": len(model.components),
    }
    out = console()
    if not as_json:
        out.print(f"Read {request.table}: {training.said()}.", soft_wrap=True)
        out.print(
            f"Wrote {request.output}: {counted(load.mu, 'term')}, {counted(load.miu, 'condition')} "
            f"to read (bound before training: {load.bound}).",
            soft_wrap=True,
        )
    found = _estimated(training, request)
    if found is not None:
        model = _kept(model, found, request.output)
    if as_json:
        told = {**written, "hash": to_dict(model)["hash"]}
        print_json({**told, "estimate": None if found is None else found.to_dict()})
        return
    if found is not None:
        out.print(_estimate_text(found), soft_wrap=True)
    out.print(_next(request), soft_wrap=True)


def _kept(model: Model, found: Estimate, path: Path) -> Model:
    """Write the model once more with its figures; not to what is no file, as a pipe."""
    from rpte.validation.cross_validate import with_estimate

    if not path.is_file():
        return model
    complete = with_estimate(model, found)
    complete.save(path)
    return complete


def _next(request: FitRequest) -> str:
    """Say the commands that show and prove the model."""
    show = ["rpte", "show", str(request.output)]
    verify = ["rpte", "verify", str(request.output), str(request.table), "--target", request.target]
    if request.weight_column is not None:
        verify += ["--weight-column", request.weight_column]
    if request.missing is not None:
        verify += ["--missing", request.missing]
    return f"Next: {shlex.join(show)}; {shlex.join(verify)}"


def _estimated(training: Training, request: FitRequest) -> Estimate | None:
    """Return the estimate, or None where none is asked for or possible."""
    if not request.folds:
        return None
    try:
        with progress("estimating") as tell:
            return training.estimate(
                lambda number, count, share: tell(
                    f"estimating, fold {number} of {count}", number - 1 + share, count
                )
            )
    except InputError as error:
        say(f"note: no estimate: {error}")
        return None


def _estimate_text(found: Estimate) -> str:
    from rpte.model.figures import NAMES, measure_text

    record = found.record()
    lines = [
        f"On rows not seen in training ({record['folds']}-fold cross-validation; the whole fit is "
        "repeated in each fold, ± is one standard error over folds; kept in the model file):"
    ]
    for measure, name in NAMES.items():
        text = measure_text(record[measure], 1 if measure == "miu" else 4)
        lines.append(f"  {name:<12}{text}")
    return "\n".join(lines)

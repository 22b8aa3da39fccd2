"""`rpte fit`: from a table to a model file, and an estimate of how good it is."""

from __future__ import annotations

import logging
import shlex
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rpte.cli import options as opt
from rpte.cli import survival as opt_survival
from rpte.cli.in_batches import ClusterTraining, FileTraining, in_batches, named
from rpte.cli.options import Names, directions, listed, option, output_option, pairs, weights
from rpte.cli.survival import SURVIVAL, SurvivalColumns, SurvivalTraining
from rpte.cli.task import AUTO, check_task, loss_for, several_for
from rpte.cli.terminal import console, print_json, progress, say, told_in_one_line
from rpte.cli.training import NumberTraining, Training, named_column, target_column
from rpte.columns.limits import Limits
from rpte.errors import InputError, warn
from rpte.utils.arrays import Array
from rpte.utils.interrupts import telling
from rpte.utils.output import write_bytes

if TYPE_CHECKING:
    import pandas as pd

    from rpte.losses import Loss
    from rpte.model.model import Model
    from rpte.utils.progress import Progress
    from rpte.validation.cross_validate import Estimate

CHECKER = "rpte_check.py"
of_table, limit, method = (
    partial(option, rich_help_panel=panel)
    for panel in ("The table", "What the model may do", "The method")
)
SAME_NAME = (  # parameters of the estimator that have the name of their option
    "max_inspection_units", "max_fit_seconds", "audit_price", "ownership", "max_component_sources",
    "profile", "form",
)  # fmt: skip
MIN_ROWS = 20  # rows from which on a column of nothing but different texts is no accident


@dataclass(frozen=True)
class FitRequest:
    """The options of `rpte fit`, as they were given; the command takes its parameters from here."""

    table: opt.TableFiles
    output: Annotated[Path, output_option("Write the model here.")]
    target: Annotated[str, option("The column with the outcome.", show_default=False)] = ""
    positive: Annotated[
        str | None, option("The outcome that is predicted; by default the last when sorted.")
    ] = None
    task: Annotated[
        str,
        option(
            "auto, binary, multiclass (up to 50), regression (a number), count, amount (not "
            "negative) or survival (--time and --event). auto takes two different values as "
            "outcomes, and says what it takes several texts or numbers for."
        ),
    ] = AUTO
    loss: Annotated[
        str | None,
        method(
            "Numeric targets: squared_error, poisson, gamma or tweedie, whatever --task says. "
            "Survival: cox, or discrete for times known by visit or month alone."
        ),
    ] = None
    time: opt_survival.TimeColumn = None
    event: opt_survival.EventColumn = None
    event_value: opt_survival.EventValue = None
    entry: opt_survival.EntryColumn = None
    strata: opt_survival.StrataColumn = None
    power: Annotated[
        float | None, method("Of the Tweedie loss, between 1 and 2; 1.5 if not given.")
    ] = None
    exposure: Annotated[
        str | None,
        of_table("Numeric targets: the mean is multiplied by this column (years insured)."),
    ] = None
    offset: Annotated[
        str | None,
        of_table("Numeric targets: this column is added to the score."),
    ] = None
    id_column: Annotated[str | None, of_table("Names each case; not used as a feature.")] = None
    weight_column: Annotated[str | None, of_table("Weights (repetitions) of rows.")] = None
    group_column: Annotated[
        str | None,
        of_table("Rows with equal values here (a patient) are never split by validation."),
    ] = None
    special: Annotated[Names, of_table("Codes, not measurements: NAME=-9,-8; repeatable.")] = None
    missing: opt.Missing = None
    drop_unlabelled: Annotated[
        bool, of_table("Leave out rows without outcome.", "--drop-unlabelled")
    ] = False
    max_inspection_units: Annotated[
        int | None, limit("The most conditions to read, 300 if not given.")
    ] = None
    monotone: Annotated[
        Names,
        limit(
            "NAME=increasing or NAME=decreasing; of 3 classes or more NAME=CLASS:increasing; "
            "repeatable."
        ),
    ] = None
    exclude: Annotated[Names, limit("A variable not to use; repeatable.")] = None
    linear_only: Annotated[Names, limit("A number that has a slope at most; repeatable.")] = None
    together: Annotated[
        Names, limit("Variables that may interact, A,B,...; repeatable; all others stand alone.")
    ] = None
    penalty: Annotated[Names, limit("NAME=FACTOR on the penalty of a variable; repeatable.")] = None
    ownership: Annotated[
        str | None, limit("component (the default), strict, separate or paper.")
    ] = None
    max_component_sources: Annotated[int | None, limit("Most variables in one component.")] = None
    form: Annotated[
        str | None, limit("any (the default), or rules: every term is a yes/no statement.")
    ] = None
    audit_price: Annotated[
        float | None,
        method("Share of the explainable deviance that one more condition must explain."),
    ] = None
    l1: Annotated[str | None, method("cv (the default), 4/n or a number.")] = None
    balanced: Annotated[bool, method("Weight all classes alike.", "--balanced")] = False
    paper: Annotated[bool, method("The published configuration.", "--paper")] = False
    max_fit_seconds: Annotated[
        float | None,
        method("End the search after so many seconds, with the best model until then."),
    ] = None
    jobs: Annotated[int | None, method("Threads; every core if left out.")] = None
    cache_dir: Annotated[
        Path | None,
        method("Where tables read in batches are kept meanwhile; temporary files if not given."),
    ] = None
    scheduler: Annotated[
        str | None,
        method("Fit Parquet files on this dask cluster, tcp://HOST:8786; its workers read them."),
    ] = None
    profile: Annotated[
        str | None, option("What the file tells of each column: safe, full or none.")
    ] = None
    folds: Annotated[int, option("Folds of the estimate; 0 for no estimate.")] = 5
    with_checker: Annotated[
        bool, option(f"Write {CHECKER} beside the model.", "--with-checker")
    ] = False
    as_json: opt.AsJson = False

    @property
    def checker(self) -> Path | None:
        """Where the checker goes, if it is asked for."""
        return self.output.with_name(CHECKER) if self.with_checker else None

    @property
    def columns(self) -> SurvivalColumns:
        """The columns that tell of times until an event."""
        return SurvivalColumns(self.time, self.event, self.event_value, self.entry, self.strata)

    @property
    def is_survival(self) -> bool:
        """Whether the model is of a time until an event."""
        return self.task == SURVIVAL or (self.task == AUTO and bool(self.columns.given))

    def check(self) -> None:
        """Refuse what cannot be right, before the table is read."""
        from rpte.utils.kept import MODEL
        from rpte.utils.output import check_output, is_stream

        if self.with_checker and is_stream(self.output):
            raise InputError(f"--with-checker: nothing can stand beside {self.output}; name a file")
        check_output(self.output, reads=self.table, kind=MODEL)
        check_output(self.output, self.checker, reads=self.table, kind=MODEL)
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"--folds {self.folds}: give 0 for no estimate, or at least 2")
        check_task(self)
        self.limits()
        self.specials()

    def specials(self) -> dict[str, list[str]]:
        """Return the special codes by variable."""
        found = pairs("--special", self.special)
        return {name: listed(codes) or [] for name, codes in found.items()}

    def limits(self) -> Limits:
        """Return the limits that the model must keep."""
        factors = pairs("--penalty", self.penalty)
        sets = None if self.together is None else [listed(names) or [] for names in self.together]
        return Limits(
            monotone=directions(self.monotone),
            exclude=self.exclude or (),
            linear_only=self.linear_only or (),
            interactions=sets,
            penalty={name: _number("--penalty", text) for name, text in factors.items()},
        )

    def read(self) -> Training | FileTraining:
        """Read the table, or open its files where they are read in batches."""
        if self.scheduler is None and not in_batches(self.table):
            return self._read_whole()
        if self.is_survival:
            raise InputError(
                "risk sets need all rows in memory: give --task survival one table, in a file of "
                "up to 200 MB"
            )
        return (FileTraining if self.scheduler is None else ClusterTraining).of(self)

    def _read_whole(self) -> Training:
        """Read the table and set features, targets, weights and groups apart."""
        from rpte.table.target import has_label, target_values

        frame = self._frame()
        if self.is_survival:
            return self._survival(frame)
        if self.drop_unlabelled:
            frame = frame[has_label(frame, self.target)].reset_index(drop=True)
        others = [str(name) for name in frame if name != self.target]
        loss = loss_for(self, partial(target_values, frame, self.target), others)
        y = target_column(frame, self.target, loss, several_for(self))
        beside = {"exposure": self.exposure, "offset": self.offset}
        given: dict[str, Any] = {
            role: named_column(frame, name, role) for role, name in beside.items()
        }
        rows = self._rows(frame, y, {self.target, *beside.values()})
        if loss is not None:
            return NumberTraining(**rows, estimator=self.regressor(loss), request=self, **given)
        return Training(**rows, estimator=self.estimator(y), request=self)

    def _frame(self) -> pd.DataFrame:
        """Read the table; ids and groups stay texts."""
        from rpte.table.files import check_column, read_table

        kept = {"id": self.id_column, "group": self.group_column}
        named = {role: name for role, name in kept.items() if name is not None}
        options: dict[str, Any] = {"special": self.specials(), "missing": listed(self.missing)}
        frame = read_table(self.table[0], as_text=list(named.values()), **options)
        for role, column in named.items():
            check_column(frame, column, role)
        return frame

    def _rows(self, frame: pd.DataFrame, y: Any, beside: set[str | None]) -> dict[str, Any]:
        """Return features, targets, weights and groups; columns `beside` them are no features."""
        weight = None if self.weight_column is None else weights(frame, self.weight_column)
        groups = None if self.group_column is None else frame[self.group_column].to_numpy(str)
        no_features = {self.weight_column, self.id_column, self.group_column, *beside}
        X = frame[[name for name in frame if name not in no_features]]
        unread = [name for name in self.exclude or () if name in X]
        X = X.assign(**dict.fromkeys(unread, 0.0))  # they need not even be readable, as dates
        if not X.shape[1]:
            raise InputError(f"{self.table[0]} has no variables beside the columns that were named")
        _say_ids(X)
        return {"X": X, "y": y, "weight": weight, "groups": groups}

    def _survival(self, frame: pd.DataFrame) -> SurvivalTraining:
        """Set times until an event apart."""
        columns = self.columns
        if self.drop_unlabelled:
            frame = frame[columns.known(frame)].reset_index(drop=True)
        columns.beside(frame)  # refuses what is no entry time, or no stratum
        rows = self._rows(frame, columns.outcome(frame), {self.time, self.event})
        made = self._made("RPTESurvival", loss=self.loss)
        rows |= {"entry": self.entry, "strata": self.strata}
        return SurvivalTraining(**rows, estimator=made, request=self)

    def estimator(self, labels: Array) -> Any:
        """Return the unfitted estimator of classes."""
        from rpte.table.target import matching_label

        classes = np.unique(labels).tolist()
        of_classes = {
            "positive": None if self.positive is None else matching_label(self.positive, classes),
            "class_weight": "balanced" if self.balanced else None,
        }
        return self._made("RPTEClassifier", **of_classes)

    def regressor(self, loss: str) -> Any:
        """Return the unfitted estimator of a number."""
        return self._made("RPTERegressor", loss=loss, power=self.power)

    def _made(self, name: str, **others: Any) -> Any:
        """Return an unfitted estimator, in memory or on a cluster."""
        kind = _estimator_of(name, self.scheduler)
        make = kind.paper if self.paper else kind
        return make(**self._asked(client=self.scheduler, **others))

    def _asked(self, **others: Any) -> dict[str, Any]:
        """Return the parameters of the estimator that were given."""
        asked: dict[str, Any] = {
            **{name: getattr(self, name) for name in SAME_NAME},
            "l1": self.l1 if self.l1 in (None, "cv", "4/n") else _number("--l1", str(self.l1)),
            "n_jobs": self.jobs,
            "special_values": self.specials() or None,
            "limits": self.limits(),
            **others,
        }
        return {name: value for name, value in asked.items() if value is not None}


def _say_ids(X: pd.DataFrame) -> None:
    """Say which columns name the cases, as it seems, rather than describe them."""
    for name in X.columns if len(X) >= MIN_ROWS else []:
        column = X[name]
        texts = column.dtype.kind == "O" and column.nunique() == len(X)
        counted = column.dtype.kind == "i" and set(column.diff().dropna()) == {1}
        if texts or counted:
            what = "a different text in every row" if texts else "the numbers of the rows"
            warn(f"column '{name}' holds {what}; if it names the cases, say --id-column {name}")


def _estimator_of(name: str, scheduler: str | None) -> Any:
    """Return the class of estimators in memory, or on a cluster."""
    try:
        return getattr(import_module("rpte" if scheduler is None else "rpte.dask"), name)
    except ImportError as error:
        raise InputError(f"--scheduler {scheduler}: {error}") from None


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: '{text}' is not a number") from None


def fit(**given: Any) -> None:
    """Fit a model to a table, and estimate how good it is.

    The model is written before the estimate is begun; interrupting (Ctrl-C, exit code 130) loses
    nothing that is written. The file then keeps the estimate, too.

    Example: rpte fit loans.csv --target bad -o model.json --monotone income=decreasing

    Several classes: rpte fit penguins.csv --target species -o model.json

    A count: rpte fit policies.csv --target claims --task count --exposure years -o model.json

    A time: rpte fit trial.csv --task survival --time days --event died -o model.json

    Larger than memory: rpte fit loans/*.parquet --target bad -o model.json

    On a dask cluster: rpte fit loans/*.parquet --target bad -o m.json --scheduler tcp://host:8786
    """
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rpte").setLevel(logging.INFO)  # says when kernels are compiled
    request = FitRequest(**given)
    state = f"{request.output} is written and complete, only the estimate is missing"
    with telling(request.output, state), told_in_one_line():
        request.check()
        checker = (files("rpte") / "check" / CHECKER).read_bytes()
        with progress(f"reading {named(request.table)}") as tell:
            training = request.read()
            tell(f"fitting {training.description()}")
            fitted = training.fit(
                lambda now: tell(_progress_text(now), now.share, 1.0), request.cache_dir
            )
        _say_noticed(fitted)
        if request.checker is not None:
            write_bytes(checker, request.checker)
        fitted.save(request.output)
        _finish(training, fitted, request)


# The command line reads the options of a command from its signature.
fit.__signature__ = signature(FitRequest, eval_str=True)  # type: ignore[attr-defined]


def _say_noticed(fitted: Any) -> None:
    """Say how to declare the codes that the fit warned of, and its hints."""
    if fitted.sentinels_:
        found = [f"{name}={','.join(map(str, at))}" for name, at in fitted.sentinels_.items()]
        say(f"note: as options: {' '.join(f'--special {shlex.quote(text)}' for text in found)}")
    for hint in fitted.hints_:
        say(f"hint: {hint}")


def _progress_text(now: Progress) -> str:
    if now.deviance is None:
        return now.stage
    return f"{now.stage}; deviance {now.deviance:.4f}, {now.conditions} conditions"


def _finish(training: Training | FileTraining, fitted: Any, request: FitRequest) -> None:
    """Say what was written; then estimate, keep that in the file, and say it."""
    from rpte.model.file import to_dict
    from rpte.model.summary import counted, shorter_notes

    model, out = fitted.model_, console()
    load = model.audit()
    if not request.as_json:
        out.print(f"Read {named(request.table)}: {training.description()}.", soft_wrap=True)
        size = f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')} to read"
        out.print(f"Wrote {request.output}: {size}.", soft_wrap=True)
    found = _estimated(training, request)
    if found is not None:
        model = _kept(model, found, request.output)
    if request.as_json:
        record = {
            "model": str(request.output),
            "rows": training.n_rows,
            "terms": load.mu,
            "conditions": load.miu,
            "bound": load.bound,
            "components": len(model.components),
            "hash": to_dict(model)["hash"],
        }
        print_json({**record, "estimate": None if found is None else found.to_dict()})
        return
    if found is not None:
        out.print(_estimate_text(found, model.loss), soft_wrap=True)
    for line in shorter_notes(model)[1:] if fitted.frontier_models_ else ():
        out.print(line, soft_wrap=True)
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
    show = ["rpte", "show", str(request.output)]
    if in_batches(request.table):  # `verify` reads a table whole
        return f"Next: {shlex.join(show)}"
    table = str(request.table[0])
    verify = ["rpte", "verify", str(request.output), table]
    verify += ["--target", request.target] if request.target else []
    for name in ("weight_column", "exposure", "offset", *vars(request.columns), "missing"):
        if getattr(request, name) is not None:
            verify += [f"--{name.replace('_', '-')}", getattr(request, name)]
    return f"Next: {shlex.join(show)}; {shlex.join(verify)}"


def _estimated(training: Training | FileTraining, request: FitRequest) -> Estimate | None:
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


def _estimate_text(found: Estimate, loss: Loss) -> str:
    from rpte.model.summary import figure_names, figure_text

    record = found.record()
    head = (
        f"On rows not seen in training ({record['folds']}-fold cross-validation; the whole fit is "
        "repeated in each fold, ± is one standard error over folds; kept in the model file):"
    )
    known = figure_names(record, loss)
    width = max(map(len, known.values())) + 1
    figures = (f"  {name:<{width}}{figure_text(record, at)}" for at, name in known.items())
    return "\n".join([head, *figures])

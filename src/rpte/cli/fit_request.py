"""What a user asked `rpte fit` for: checked, and turned into a table and an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rpte.cli.options import AsJson, Missing, Names, TableFile, listed, option, output_option, pairs
from rpte.cli.tables import weights
from rpte.columns.limits import Limits
from rpte.errors import InputError, RPTEWarning

if TYPE_CHECKING:
    import pandas as pd

    from rpte.utils.progress import Callback
    from rpte.validation.cross_validate import Estimate

Array = NDArray[Any]
CHECKER = "rpte_check.py"
table_option, limit_option, method_option = (
    partial(option, rich_help_panel=panel)
    for panel in ("The table", "What the model may do", "The method")
)
SAME_NAME = (  # parameters of the estimator that have the name of their option
    "max_inspection_units",
    "max_fit_seconds",
    "audit_price",
    "ownership",
    "max_component_sources",
    "profile",
)
MIN_ROWS = 20  # rows from which on a column of nothing but different texts is no accident


@dataclass(frozen=True)
class FitRequest:
    """The options of `rpte fit`, as they were given; the command takes its parameters from here."""

    table: TableFile
    target: Annotated[str, option("The column with the outcome.")]
    output: Annotated[Path, output_option("Write the model here.")]
    positive: Annotated[
        str | None, option("The outcome that the model speaks of; the later one by default.")
    ] = None
    id_column: Annotated[str | None, table_option("Names each case; no feature.")] = None
    weight_column: Annotated[str | None, table_option("Weights (repetitions) of rows.")] = None
    group_column: Annotated[
        str | None,
        table_option("Rows with equal values here (a patient) are never split by validation."),
    ] = None
    special: Annotated[
        Names, table_option("Codes that are no measurements, NAME=-9,-8; repeatable.")
    ] = None
    missing: Missing = None
    drop_unlabelled: Annotated[
        bool, table_option("Leave out rows without outcome.", "--drop-unlabelled")
    ] = False
    max_inspection_units: Annotated[
        int | None, limit_option("The most conditions to read, 300 if not given.")
    ] = None
    monotone: Annotated[Names, limit_option("NAME=increasing or NAME=decreasing; repeatable.")] = (
        None
    )
    exclude: Annotated[Names, limit_option("A variable not to use; repeatable.")] = None
    linear_only: Annotated[
        Names, limit_option("A number that has a slope at most; repeatable.")
    ] = None
    together: Annotated[
        Names,
        limit_option("Variables that may interact, A,B,...; repeatable; all others stand alone."),
    ] = None
    penalty: Annotated[
        Names, limit_option("NAME=FACTOR on the penalty of a variable; repeatable.")
    ] = None
    ownership: Annotated[
        str | None, limit_option("component (the default), strict, separate or paper.")
    ] = None
    max_component_sources: Annotated[
        int | None, limit_option("Most variables in one component.")
    ] = None
    audit_price: Annotated[
        float | None,
        method_option("Share of the explainable deviance that one more condition must explain."),
    ] = None
    l1: Annotated[str | None, method_option("cv (the default), 4/n or a number.")] = None
    balanced: Annotated[bool, method_option("Weight both classes alike.", "--balanced")] = False
    paper: Annotated[bool, method_option("The published configuration.", "--paper")] = False
    max_fit_seconds: Annotated[
        float | None,
        method_option("End the search after so many seconds, with the best model until then."),
    ] = None
    jobs: Annotated[int | None, method_option("Threads; -1 for every core.")] = None
    profile: Annotated[
        str | None, option("What the file tells of each column: safe, full or none.")
    ] = None
    folds: Annotated[int, option("Folds of the estimate; 0 for no estimate.")] = 5
    with_checker: Annotated[
        bool, option(f"Write {CHECKER} beside the model.", "--with-checker")
    ] = False
    as_json: AsJson = False

    @property
    def checker(self) -> Path | None:
        """Where the checker goes, if it is asked for."""
        return self.output.with_name(CHECKER) if self.with_checker else None

    def check(self) -> None:
        """Refuse what cannot be right, before the table is read."""
        from rpte.utils.output import check_output, is_stream

        if self.with_checker and is_stream(self.output):
            raise InputError(f"--with-checker: nothing can stand beside {self.output}; name a file")
        check_output(self.output, reads=[self.table])
        check_output(self.output, self.checker, reads=[self.table])
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"--folds {self.folds}: give 0 for no estimate, or at least 2")
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
            monotone=pairs("--monotone", self.monotone),  # type: ignore[arg-type]
            exclude=self.exclude or (),
            linear_only=self.linear_only or (),
            interactions=sets,
            penalty={name: _number("--penalty", text) for name, text in factors.items()},
        )

    def read(self) -> Training:
        """Read the table and set features, labels, weights and groups apart."""
        from rpte.table.files import check_column, read_table
        from rpte.table.target import binary_labels, has_label, warn_of_follow_up

        kept = [name for name in (self.id_column, self.group_column) if name is not None]
        frame = read_table(
            self.table, as_text=kept, special=self.specials(), missing=listed(self.missing)
        )
        for role, column in (("id", self.id_column), ("group", self.group_column)):
            if column is not None:
                check_column(frame, column, role)
        if self.drop_unlabelled:
            frame = frame[has_label(frame, self.target)].reset_index(drop=True)
        labels = binary_labels(frame, self.target)
        weight = None if self.weight_column is None else weights(frame, self.weight_column)
        groups = None if self.group_column is None else frame[self.group_column].to_numpy(str)
        beside = {self.target, self.weight_column, *kept}
        X = frame[[name for name in frame if name not in beside]]
        unread = [name for name in self.exclude or () if name in X]
        X = X.assign(**dict.fromkeys(unread, 0.0))  # they need not even be readable, as dates
        if not X.shape[1]:
            raise InputError(f"{self.table} has no variables beside the columns that were named")
        _say_ids(X)
        warn_of_follow_up(self.target, [str(name) for name in X if name not in unread])
        return Training(X, labels, weight, groups, self.estimator(labels), self)

    def estimator(self, labels: Array) -> Any:
        """Return the unfitted estimator."""
        from rpte.estimators.classifier import RPTEClassifier
        from rpte.table.target import matching_label

        classes = np.unique(labels).tolist()
        asked: dict[str, Any] = {
            **{name: getattr(self, name) for name in SAME_NAME},
            "positive": None if self.positive is None else matching_label(self.positive, classes),
            "l1": self.l1 if self.l1 in (None, "cv", "4/n") else _number("--l1", str(self.l1)),
            "class_weight": "balanced" if self.balanced else None,
            "n_jobs": self.jobs,
            "special_values": self.specials() or None,
            "limits": self.limits(),
        }
        make = RPTEClassifier.paper if self.paper else RPTEClassifier
        return make(**{name: value for name, value in asked.items() if value is not None})


@dataclass(frozen=True)
class Training:
    """A table taken apart for a fit."""

    X: pd.DataFrame
    y: Array
    weight: Array | None
    groups: Array | None
    estimator: Any
    request: FitRequest

    def description(self) -> str:
        """Say what is there to learn from."""
        values, counts = np.unique(self.y, return_counts=True)
        held = " and ".join(f"{v} in {n}" for v, n in zip(values, counts, strict=True))
        return f"{len(self.y)} rows, {self.request.target} {held}; {self.X.shape[1]} variables"

    def fit(self, progress: Callback) -> Any:
        """Return the fitted estimator."""
        return self.estimator.fit(self.X, self.y, self.weight, self.groups, progress=progress)

    def estimate(self, on_fold: Callable[[int, int, float], None]) -> Estimate:
        """Cross-validate the whole fit."""
        from rpte.validation.cross_validate import estimate

        rows = {"weight": self.weight, "groups": self.groups}
        folds = self.request.folds
        return estimate(self.estimator, self.X, self.y, folds=folds, on_fold=on_fold, **rows)


def _say_ids(X: pd.DataFrame) -> None:
    """Say which columns name the cases, as it seems, rather than describe them."""
    for name in X.columns if len(X) >= MIN_ROWS else []:
        column = X[name]
        texts = column.dtype.kind == "O" and column.nunique() == len(X)
        counted = column.dtype.kind == "i" and set(column.diff().dropna()) == {1}
        if texts or counted:
            what = "a different text in every row" if texts else "the numbers of the rows"
            warnings.warn(
                f"column '{name}' holds {what}; if it names the cases, say --id-column {name}",
                RPTEWarning,
                stacklevel=2,
            )


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: '{text}' is not a number") from None

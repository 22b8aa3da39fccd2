"""A whole report as one object: its contents, its page, and the file that it was written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rpte.errors import InputError
from rpte.report.about import NOTHING, read_about
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import AnyModel, gather
from rpte.report.html import render
from rpte.utils.output import check_output, write_text

THRESHOLD = 0.5


@dataclass(frozen=True, repr=False)
class Report:
    """A report: one page about a model and a table, which opens anywhere, offline.

    Parameters
    ----------
    contents : mapping
        All that the page shows, as plain JSON values.
    path : Path or None
        The file that it was written to.
    """

    contents: Mapping[str, Any] = field(repr=False)
    path: Path | None = None

    @cached_property
    def html(self) -> str:
        """The page."""
        return render(self.contents)

    @property
    def failed(self) -> list[str]:
        """The claims of the model that fail."""
        return [check["name"] for check in self.contents["guarantees"] if not check["holds"]]

    @property
    def size(self) -> str:
        """How large the page is, in words."""
        return f"{len(self.html.encode()) / 1000:,.0f} kB"

    def save(self, path: str | Path) -> Report:
        """Write the page to a file, and return the report of that file."""
        write_text(self.html, Path(path))
        return replace(self, path=Path(path))

    def __repr__(self) -> str:
        where = "not written yet: save(path)" if self.path is None else str(self.path)
        return f"Report({where}, {self.size})"

    def _repr_html_(self) -> str:
        from rpte.notebook.reports import report_html

        return report_html(self)


def make_report(
    model: AnyModel,
    X: Any = None,
    y: Any = None,
    path: str | Path | None = None,
    sample_weight: Any = None,
    *,
    by: Sequence[str] | Mapping[str, Any] = (),
    about: str | Path | None = None,
    threshold: float = THRESHOLD,
    horizons: Sequence[float] = (),
    resamples: int = 200,
    stability: int = 0,
    cases: bool = False,
    full_profile: bool = False,
    name: str = "table",
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
    against: Mapping[str, Any] | None = None,
) -> Report:
    """Return the report of a model on a table, written to `path` if there is one.

    Parameters
    ----------
    model : Model or ClassesModel
    X, y, sample_weight : table and outcomes, optional
        Best such as training has not seen. Without outcomes nothing is measured, and without a
        table the report is about the model alone.
    path : str or Path, optional
    by : names of columns of `X`, or mapping from name to values
        Groups to measure by; the model need not read them.
    about : path, optional
        What its owners state about it (TOML); ``rpte report --template`` writes an empty one.
    threshold : float
        Of two classes: the probability from which on a case is flagged.
    horizons : sequence of times
        Of a time until an event: when survival is told.
    resamples, stability : int
        Bootstrap resamples for intervals; resamples on which the model is fitted again.
    cases : bool
        Take single rows of the table apart.
    full_profile : bool
        Show small counts and exact extremes.
    name : str
        What the page calls the table.
    exposure, offset, entry, strata : per row, or names of columns of `X`, optional
        As for `fit`.
    against : mapping from name to predictions, optional
        Numeric targets: draw a double lift against them.
    """
    if path is not None:
        check_output(Path(path))
    if threshold != THRESHOLD and model.task != "binary":
        raise InputError(
            f"threshold={threshold!r} is a probability of two classes; the model is of "
            f"'{model.task}': leave it out"
        )
    if X is None and any(each is not None for each in (y, sample_weight)):
        raise InputError("y and sample_weight go with the rows of a table; give X too")
    if y is None and (by or stability or against):
        asked = "by" if by else "stability" if stability else "against"
        raise InputError(f"{asked} needs outcomes; give y")
    evidence = None
    if X is not None:
        beside = {"exposure": exposure, "offset": offset, "entry": entry, "strata": strata}
        evidence = gather(
            model,
            X,
            y,
            sample_weight,
            name=name,
            groups=_groups(X, by),
            profile="full" if full_profile else "safe",
            against=against,
            **beside,
        )
    options = ReportOptions(
        about=NOTHING if about is None else read_about(Path(about)),
        threshold=threshold,
        horizons=tuple(float(time) for time in horizons),
        resamples=resamples,
        refits=stability,
        show_cases=cases,
    )
    made = Report(report_contents(model, evidence, options))
    return made if path is None else made.save(path)


def _groups(X: Any, by: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that performance is split by."""
    if isinstance(by, Mapping):
        return dict(by)
    if isinstance(by, str):
        raise InputError(f"by={by!r} is one name; give a list of them: by=[{by!r}]")
    found = {}
    for column in by:
        try:
            found[column] = X[column]
        except (KeyError, IndexError, TypeError, ValueError):
            raise InputError(f"X has no column {column!r} to measure by") from None
    return found

"""The parity record: how far an export is from the model, row by row."""

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from rpte import __version__
from rpte.export.cells import Cells
from rpte.export.form import MAX_FLOAT, RESPONSES, Form
from rpte.export.lower import limited
from rpte.export.target import Answers
from rpte.model.model import Model
from rpte.table.inputs import Inputs, column_names, read_inputs
from rpte.utils.arrays import Floats


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one line of the export is from the model's.

    `largest` is absolute; `relative` is relative to the size of the numbers added in that row (at
    least 1, or the spread of y in training if that is less and the score a mean), for a mean whose
    logarithm is the score to that mean; `rows` differ by more than the tolerance, `first` is the
    first of them.
    """

    largest: float
    relative: float
    rows: int = 0
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Parity:
    """What was compared, and how far the export is from the model."""

    target: str
    options: Mapping[str, Any]
    model_hash: str
    file: str
    sha256: str  # of the file; for a folder, of all of its files
    rows: int  # compared; 0 where nothing could be run here, and then `engine` says why
    rows_from: str  # the table, or how the rows were made
    engine: str  # what ran the export
    tolerance: float  # largest `Difference.relative` that is rounding
    differences: Mapping[str, Difference]  # of score, response, contributions that are given
    versions: Mapping[str, str]  # by package
    notes: tuple[str, ...] = ()  # what else the target says of itself

    @property
    def holds(self) -> bool:
        """Whether no row differs by more than rounding."""
        return not any(difference.rows for difference in self.differences.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values."""
        return {"format": "rpte-parity", "holds": self.holds, **asdict(self)}

    def __str__(self) -> str:
        if not self.rows:
            return f"Not compared: {self.engine}"
        score = self.differences["score"]
        others = [v.largest for k, v in self.differences.items() if k not in NOT_PARTS]
        parts = f", of a contribution {max(others):.3g}" if others else ""
        name = next(name for name in RESPONSES.values() if name in self.differences)
        return (
            f"Compared {self.rows} rows ({self.rows_from}) in {self.engine}: largest difference "
            f"of the score {score.largest:.3g}{parts}, of the {name} "
            f"{self.differences[name].largest:.3g}"
        )


NOT_PARTS = ("score", *RESPONSES.values())


def known_columns(model: Model, X: Any) -> Any:
    """Return the columns of a table that the model knows, as a mapping; an array as it is."""
    names = column_names(X)
    if names is None or not model.schema.named:
        return X
    return {name: X[key] for name, key in names.items() if name in model.schema.names}


def read_silently(model: Model, X: Any) -> Inputs:
    """Read a table to compare on; what is unknown in it is compared as anything else."""
    return read_inputs(known_columns(model, X), model.schema, model.ignored, model.sources)


def inputs_of(form: Form, cells: Cells) -> Inputs:
    """Read the rows of an export again; variables that the model does not read are missing."""
    empty, names = [None] * cells.n_rows, form.model.schema.names
    table = {name: np.array(cells.columns.get(name, empty), object) for name in names}
    return read_silently(form.model, table)


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of this library, of what it stands on, and of some packages."""
    found = {"rpte": __version__, "python": platform.python_version(), "numpy": np.__version__}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def expected(model: Model, X: Any) -> dict[str, Floats]:
    """Return what the model itself says: score, every contribution, and probability or mean.

    A mean is that of a score at most 700 from zero, as exports have it.
    """
    inputs = read_silently(model, X)
    with np.errstate(over="ignore", invalid="ignore"):  # steep slopes of the largest numbers
        lines = {part.name: part.contribution(inputs) for _, part in model.parts()}
        lines |= {component.name: component.subtotal(inputs) for component in model.components}
        score = model.score(inputs)
    shown = limited(score) if model.loss.link == "log" else score
    return lines | {"score": score, RESPONSES[model.task]: model.loss.response(shown)}


def compare(
    form: Form, truth: Mapping[str, Floats], answers: Answers, tolerance: float
) -> dict[str, Difference]:
    """Return the difference of every line that the export gives, the score first."""
    sizes, found = _sizes(form, truth), {}
    for name in (name for name in dict.fromkeys((*NOT_PARTS, *truth)) if name in answers.lines):
        size = np.maximum(sizes[name], answers.sizes.get(name, 0.0))
        found[name] = _difference(truth[name], answers.lines[name], size, tolerance)
    return found


def _sizes(form: Form, truth: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return what differences of each line are relative to, each (n_rows,)."""
    model, response = form.model, form.response.name
    least = min(1.0, model.target.factor)  # a mean in units of y may be tiny
    sizes = {name: np.maximum(least, np.abs(line)) for name, line in truth.items()}
    added = np.abs(truth["score"]) + abs(model.intercept)
    for line in form.role("term"):
        added = added + np.abs(truth[line.name])
    sizes["score"] = np.maximum(least, added)
    by_link = {"identity": sizes["score"], "log": np.abs(truth[response])}
    return sizes | {response: by_link.get(model.loss.link, sizes[response])}


def _difference(truth: Floats, found: Floats, size: Floats, tolerance: float) -> Difference:
    with np.errstate(all="ignore"):
        gap = np.where(truth == found, 0.0, np.abs(truth - found))
        gap = np.where(np.isnan(gap), MAX_FLOAT, np.minimum(gap, MAX_FLOAT))
        relative = np.minimum(gap / size, MAX_FLOAT)
        beyond = np.flatnonzero(~(relative <= tolerance))
    first = int(beyond[0]) if len(beyond) else None
    largest, most = float(gap.max(initial=0.0)), float(relative.max(initial=0.0))
    return Difference(largest, most, len(beyond), first)

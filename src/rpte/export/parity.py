"""The parity record: how far an export is from the model, row by row."""

import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from rpte import __version__
from rpte.export.cells import Cells
from rpte.export.classes import CHOSEN, expected_classes, told_apart
from rpte.export.form import MAX_FLOAT, RESPONSES, Form, Horizon
from rpte.export.survival import expected_survival
from rpte.export.target import Answers
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.table.inputs import Inputs, column_names, read_inputs
from rpte.utils.arrays import Floats, Mask


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


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        return f"Parity({self.target}, holds={self.holds}: {self})"

    def _repr_html_(self) -> str:
        from rpte.notebook.results import parity_html

        return parity_html(self)

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
        most = dict.fromkeys(map(_kind, self.differences), 0.0)
        for name, difference in self.differences.items():
            most[_kind(name)] = max(most[_kind(name)], difference.largest)
        parts = f", of a contribution {most[PART]:.3g}" if PART in most else ""
        name = next(name for name in RESPONSES.values() if name in most)
        other = self.differences[CHOSEN].rows if CHOSEN in most else 0
        same = f"another one in {other} rows" if other else "the same"
        chosen = f"; the class is {same}" if CHOSEN in most else ""
        told = f", of survival {most['survival']:.3g}" if "survival" in most else ""
        said = name.replace("_", " ")
        return (
            f"Compared {self.rows} rows ({self.rows_from}) in {self.engine}: largest difference "
            f"of the score {most['score']:.3g}{parts}, of the {said} {most[name]:.3g}{told}{chosen}"
        )


NOT_PARTS = ("score", *RESPONSES.values(), "survival", CHOSEN)
PART = "contribution"


def _kind(name: str) -> str:
    """Return what a line is: one of `NOT_PARTS`, of a class (score_setosa) too, or a part."""
    found = (kind for kind in NOT_PARTS if name == kind or name.startswith(f"{kind}_"))
    return next(found, PART)


def known_columns(model: Model | ClassesModel, X: Any) -> Any:
    """Return the columns of a table that the model knows, as a mapping; an array as it is."""
    names = column_names(X)
    if names is None or not model.schema.named:
        return X
    return {name: X[key] for name, key in names.items() if name in model.schema.names}


def read_silently(model: Model | ClassesModel, X: Any) -> Inputs:
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


def expected(
    model: Model | ClassesModel, X: Any, horizons: Sequence[Horizon] = ()
) -> dict[str, Floats]:
    """Return what the model itself says: score, every contribution, and what the score stands for.

    Of several classes, it is what `rpte.export.classes` lists; of times, survival at some horizons
    is among it.
    """
    inputs = read_silently(model, X)
    if isinstance(model, ClassesModel):
        return expected_classes(model, inputs)
    with np.errstate(over="ignore", invalid="ignore"):  # steep slopes of the largest numbers
        lines = {part.name: part.contribution(inputs) for _, part in model.parts()}
        lines |= {component.name: component.subtotal(inputs) for component in model.components}
        score = model.score(inputs)
    lines |= {"score": score, RESPONSES[model.task]: model.loss.response(score)}
    return lines | expected_survival(model, score, horizons)


def scored(truth: Mapping[str, Floats]) -> Mask:
    """Return which rows have a score, and of several classes also probabilities, (n_rows,)."""
    asked = [line for name, line in truth.items() if _kind(name) == "score"]
    if CHOSEN in truth:
        asked += [line for name, line in truth.items() if _kind(name) == "probability"]
    return np.asarray(~np.isnan(asked).any(axis=0))


def compare(
    form: Form, truth: Mapping[str, Floats], answers: Answers, tolerance: float
) -> dict[str, Difference]:
    """Return the difference of every line that the export gives, the score first."""
    sizes, found = _sizes(form, truth), {}
    for name in (name for name in dict.fromkeys((*NOT_PARTS, *truth)) if name in answers.lines):
        size = np.maximum(sizes[name], answers.sizes.get(name, 0.0))
        right, told = truth[name], answers.lines[name]
        if name == CHOSEN:  # two classes may have the same score but for rounding
            right, told = np.zeros(len(told)), told_apart(form, truth, answers.lines)
        found[name] = _difference(right, told, size, tolerance)
    return found


def _sizes(form: Form, truth: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return what differences of each line are relative to, each (n_rows,)."""
    if isinstance(form.model, ClassesModel):
        return _class_sizes(form, form.model, truth)
    model, response = form.model, form.response.name
    least = min(1.0, model.target.factor)  # a mean in units of y may be tiny
    sizes = {name: np.maximum(least, np.abs(line)) for name, line in truth.items()}
    added = np.abs(truth["score"]) + abs(model.intercept)
    for line in form.role("term"):
        added = added + np.abs(truth[line.name])
    sizes["score"] = np.maximum(least, added)
    by_link = {"identity": sizes["score"], "log": np.abs(truth[response])}
    return sizes | {response: by_link.get(model.loss.link, sizes[response])}


def _class_sizes(form: Form, model: ClassesModel, truth: Mapping[str, Floats]) -> dict[str, Floats]:
    sizes = {name: np.maximum(1.0, np.abs(line)) for name, line in truth.items()}
    with np.errstate(over="ignore"):  # steep slopes of the largest numbers
        for place, score in enumerate(form.role("score")):
            added = np.abs(truth[score.name]) + abs(model.intercepts[place])
            for line in form.of_class(place, "term"):
                added = added + np.abs(truth[line.name])
            sizes[score.name] = np.clip(added, 1.0, MAX_FLOAT)
    sizes[CHOSEN] = np.max([sizes[score.name] for score in form.role("score")], axis=0)
    return sizes


def _difference(truth: Floats, found: Floats, size: Floats, tolerance: float) -> Difference:
    with np.errstate(all="ignore"):
        gap = np.where(truth == found, 0.0, np.abs(truth - found))
        gap = np.where(np.isnan(gap), MAX_FLOAT, np.minimum(gap, MAX_FLOAT))
        relative = np.minimum(gap / size, MAX_FLOAT)
        beyond = np.flatnonzero(~(relative <= tolerance))
    first = int(beyond[0]) if len(beyond) else None
    largest, most = float(gap.max(initial=0.0)), float(relative.max(initial=0.0))
    return Difference(largest, most, len(beyond), first)

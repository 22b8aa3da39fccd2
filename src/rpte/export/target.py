"""What a target is, and which ones there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rpte.errors import InputError, did_you_mean
from rpte.export.cells import Cells
from rpte.export.form import Form
from rpte.export.inputs import CategoryInput
from rpte.export.survival import survival_options
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

Options = Mapping[str, Any]

# Where each target lives; the module has a `TARGET`. A new target is one file and one line here.
HOMES = {
    "sql": "rpte.export.sql.target",
    "python": "rpte.export.code.python",
    "javascript": "rpte.export.code.javascript",
    "c": "rpte.export.code.c",
    "scorecard": "rpte.export.scorecard.card",
    "xlsx": "rpte.export.excel.workbook",
    "onnx": "rpte.export.onnx.graph",
    "pmml": "rpte.export.pmml.document",
    "relativities": "rpte.export.relativities.table",
}
ROUNDING = 1e-12
SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CannotRunError(Exception):
    """An export cannot be run here: what it needs is not installed."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What an export computed: lines of shape (n_rows,) by name, and the engine that ran it.

    `sizes` are for an engine that rounds differences by the size of what it subtracts; `others` are
    other columns, such as texts.
    """

    lines: Mapping[str, Floats]
    engine: str
    sizes: Mapping[str, Floats] = field(default_factory=dict)
    others: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class MadeRows(dict[str, Any]):
    """Rows made from the model, not a user's table."""


@dataclass(frozen=True, slots=True)
class Target:
    """One form that a model can be exported to."""

    name: str
    suffix: str  # of the file's name, such as `.sql`
    write: Callable[[Form, Options], str | bytes]  # returns the whole export
    # Returns what the export at a path computes for some rows, at least the score; raises
    # `CannotRunError` where it cannot.
    run: Callable[[Path, Form, Options, Cells], Answers]
    options: Options = field(default_factory=lambda: MappingProxyType({}))  # name to default
    # Raises `InputError` for a model that the target cannot hold, such as for a name.
    check: Callable[[Form, Options], None] = lambda form, options: None
    # Largest difference from the model that is rounding, relative to the size of what was added.
    tolerance: float = ROUNDING
    # What else the parity record should say, from the user's table and the answers.
    notes: Callable[[Form, Options, Any, Answers], tuple[str, ...]] = lambda *given: ()
    packages: tuple[str, ...] = ()  # whose versions the parity record should hold
    # Returns the options with files that they name read, so that the record holds all it needs.
    settle: Callable[[Form, Options], Options] = lambda form, options: options
    # Returns the options with what the export takes from the user's table, if there is one.
    learn: Callable[[Form, Options, Any], Options] = lambda form, options, X: options
    # The lines to compare with on a table, if they are not the model's own.
    truth: Callable[[Form, Options, Any], Mapping[str, Floats]] | None = None


def find_target(name: str) -> Target:
    """Return a target by name."""
    if name not in HOMES:
        known = ", ".join(HOMES)
        raise InputError(f"no export target {name!r}{did_you_mean(name, HOMES)}; choose of {known}")
    target: Target = import_module(HOMES[name]).TARGET
    return target


def settle_options(
    target: Target, given: Options, model: Model | ClassesModel | None = None
) -> dict[str, Any]:
    """Return all options of a target, refusing those that it does not have.

    A model of times has options that are the same in every target.
    """
    shared = {} if model is None else survival_options(model, given)
    given = {name: value for name, value in given.items() if name not in shared}
    unknown = [name for name in given if name not in target.options]
    if unknown:
        hint = did_you_mean(unknown[0], target.options)
        known = ", ".join(target.options) or "none"
        raise InputError(f"{target.name} has no option {unknown[0]!r}{hint}; its options: {known}")
    read = {name: _as_default(name, value, target.options[name]) for name, value in given.items()}
    return {**target.options, **read, **shared}


def _as_default(name: str, value: Any, default: Any) -> Any:
    """Read a number or a truth that came as text, such as from the command line."""
    if not isinstance(value, str) or not isinstance(default, (bool, int, float)):
        return value
    kinds: dict[type, tuple[Callable[[str], Any], str]] = {
        bool: (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
        int: (int, "a whole number"),
        float: (float, "a number"),
    }
    read, what = kinds[type(default)]
    try:
        return read(value)
    except (KeyError, ValueError):
        raise InputError(f"{name}={value!r}; it must be {what}") from None


def check_prefix(prefix: str, names: Iterable[str]) -> None:
    """Refuse a prefix of the export's own columns that is no name, or that a column begins with."""
    if not SIMPLE.fullmatch(prefix):
        raise InputError(f"prefix={prefix!r}; it must be letters, digits and _")
    clash = [name for name in names if name.lower().startswith(prefix.lower())]
    if clash:
        raise InputError(
            f"the column {clash[0]!r} begins like the export's own columns ({prefix}...); choose "
            "another prefix with --option prefix=..."
        )


def check_levels(target: str, form: Form) -> None:
    """Refuse levels that a target which knows the texts of cells alone cannot tell apart."""
    for given in form.inputs:
        if isinstance(given, CategoryInput) and given.doubtful:
            raise InputError(
                f"'{given.name}' has the levels {list(given.doubtful[:4])}, and {target} cannot "
                "tell which of them a cell stands for, since blanks around a text and zeros after "
                "a number do not count; make them one level, or rename them, and fit again"
            )

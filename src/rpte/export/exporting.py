"""Write an export and its parity record, or check one that was written before."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import Any

from rpte.errors import InputError
from rpte.export import target as targets
from rpte.export.cells import Cell, probe_table, read_cells
from rpte.export.form import Form
from rpte.export.lower import make_form
from rpte.export.parity import Parity, compare, expected, known_columns, scored, versions
from rpte.model.classes import ClassesModel
from rpte.model.file import content_hash, to_dict
from rpte.model.model import Model
from rpte.utils.output import check_output, is_stream, write_bytes

MADE = "made from the model's thresholds and levels"


def export_model(
    model: Model | ClassesModel,
    target: str,
    path: str | Path,
    X: Any = None,
    rows_from: str = "",
    **options: Any,
) -> Parity:
    """Write a model in another form, run it, and write the parity record beside it.

    The `target` is one of `rpte.export.target.HOMES`, with options of its own. The record goes to
    the same name with ``.parity.json`` added (a device or a pipe has none). The export is compared
    with the model on the rows of `X`, which the record calls `rows_from`; if None, on rows made
    from the model. An unknown target or option, a model that the target cannot express and an
    export that does not agree with the model are errors before anything is written.
    """
    chosen = targets.find_target(target)
    settled = targets.settle_options(chosen, options, model)
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file, such as model{chosen.suffix}")
    check_output(*written_paths(path), reads=files_named(options))
    if settled.get("format", "") is None:
        settled["format"] = path.suffix[1:]
    form = make_form(model, settled)
    settled = dict(chosen.settle(form, settled))
    chosen.check(form, settled)
    settled = dict(chosen.learn(form, settled, X))
    content = chosen.write(form, settled)
    content = content.encode() if isinstance(content, str) else content
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / path.name
        write_bytes(content, staged)
        record = check_file(form, chosen, staged, settled, X, rows_from)
    _refuse_unequal(record)
    write_bytes(content, path)
    if not is_stream(path):
        write_record(record, path)
    return record


def written_paths(path: Path) -> list[Path]:
    """Return the files that an export writes: itself, and its record unless it is a stream."""
    return [path] if is_stream(path) else [path, record_path(path)]


def files_named(options: targets.Options) -> list[Path]:
    """Return the options that may name a file which the export reads, such as a catalogue."""
    return [Path(value) for value in options.values() if isinstance(value, (str, Path))]


def check_file(
    form: Form, target: targets.Target, path: Path, options: targets.Options, X: Any, rows_from: str
) -> Parity:
    """Run an export on some rows and compare it with the model.

    See `export_model` for `X` and `rows_from`.
    """
    if X is None:
        X, rows_from = targets.MadeRows(_made_rows(form)), MADE
    known = known_columns(form.model, X)
    own = target.truth or (lambda form, _, X: expected(form.model, X, form.horizons))
    truth = own(form, options, known)
    rows, differences = len(next(iter(truth.values()))), {}
    if not rows:
        raise InputError("the table to compare on has no rows; give at least one")
    notes: tuple[str, ...] = ()
    try:
        answers = target.run(path, form, options, read_cells(form, known))
        engine, notes = answers.engine, target.notes(form, options, X, answers)
        differences = compare(form, truth, answers, target.tolerance)
    except targets.CannotRunError as reason:
        rows, engine = 0, str(reason)
    return Parity(
        target=target.name,
        options=options,
        model_hash=content_hash(to_dict(form.model)),
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        rows=rows,
        rows_from=rows_from or "a table",
        engine=engine,
        tolerance=target.tolerance,
        differences=differences,
        versions=versions(target.packages),
        notes=notes,
    )


def _made_rows(form: Form) -> dict[str, list[Cell]]:
    """Return rows made from the model, without those that it has no score of.

    A steep slope of the largest numbers is infinite, and two of them may cancel to no number.
    """
    table = probe_table(form)
    there = scored(expected(form.model, table))
    return {name: list(compress(cells, there)) for name, cells in table.items()}


def check_export(
    model: Model | ClassesModel, path: str | Path, X: Any = None, rows_from: str = ""
) -> Parity:
    """Run an export that was written before, compare it again, and renew its record.

    Target and options are those of its record. Raises `InputError` if there is none, if the record
    is of another model, or if the file is not the one that was exported.
    """
    path = Path(path)
    record = read_record(path)
    target = targets.find_target(record["target"])
    if content_hash(to_dict(model)) != record.get("model_hash"):
        raise InputError(
            f"the record {record_path(path)} is of another model than was given; export again"
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != record.get("sha256"):
        raise InputError(
            f"{path} is not the file that was compared: it was changed since; export again"
        )
    options = targets.settle_options(target, record["options"], model)
    again = check_file(make_form(model, options), target, path, options, X, rows_from)
    write_record(again, path)
    return again


def _refuse_unequal(record: Parity) -> None:
    for name, difference in record.differences.items():
        if difference.rows:
            raise InputError(
                f"{record.target} does not agree with the model: {name} differs by up to "
                f"{difference.largest:g} in {difference.rows} of {record.rows} rows (first: row "
                f"{difference.first}; run in {record.engine}); nothing was written"
            )


def record_path(path: Path) -> Path:
    """Return where the parity record of an export stands."""
    if not path.name:
        raise InputError(f"{path} is a folder; name the file of an export")
    return path.with_name(f"{path.name}.parity.json")


def write_record(record: Parity, path: Path) -> None:
    """Write the parity record of the export at `path`."""
    text = json.dumps(record.to_dict(), indent=1, allow_nan=False)
    write_bytes(f"{text}\n".encode(), record_path(path))


def read_record(path: Path) -> Mapping[str, Any]:
    """Return the parity record of the export at `path`, as plain JSON values."""
    place = record_path(path)
    if not place.is_file():
        raise InputError(f"{place} does not exist; export the model with --to first")
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{place} is not JSON ({error}); export again") from error
    if not isinstance(record, dict) or not {"target", "options"} <= set(record):
        raise InputError(f"{place} is no parity record; export again")
    return record

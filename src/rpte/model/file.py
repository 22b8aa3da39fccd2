"""Model files: one JSON document with a version and a content hash; loading runs no code.

`reading` takes the bytes apart, `format` and `validator` check every field by itself, `semantics`
checks that the fields fit together; only then is a `Model` built.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rpte import __version__
from rpte.errors import ModelFileError
from rpte.model.format import FORMAT, SCHEMAS
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.model.reading import check_plain, read_json
from rpte.model.semantics import check_semantics
from rpte.model.target import TASKS
from rpte.model.validator import shown, validate
from rpte.model.versions import NEWEST, ONE_SCORE, VERSIONS, to_version_1, to_version_2, without
from rpte.utils.output import write_text
from rpte.table.schema import Schema
from rpte.utils.output import write_text


def to_dict(model: Model, version: int | None = None) -> dict[str, Any]:
    """Return the model as plain JSON values, content hash included.

    It has the layout of the version that the model was read from, if none is given.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": NEWEST,
        "library_version": model.library_version,
        "task": model.task,
        "loss": model.loss.to_dict(),
        "target": model.target.to_dict(),
        **ONE_SCORE,
        "schema": model.schema.to_dict(),
        "ownership": model.ownership,
        "bound": model.bound,
        "intercept": model.intercept,
        "components": [component.to_dict() for component in model.components],
        "settings": dict(model.settings),
        "training": dict(model.training),
        "data": dict(model.data),
        **({"ledger": [dict(entry) for entry in model.ledger]} if model.ledger else {}),
    }
    if (version or model.file_version) == 1:
        document = to_version_1(document)
    check_plain(document)
    document["hash"] = content_hash(document)
    return document


def content_hash(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything but the hash itself, whatever the layout of the file."""
    return sealed_hash(without(document, "hash"))


def core_hashes(model: Model) -> list[str]:
    """Return the model's content hash without its ledger, in every version of the file.

    The first is that of a file without a ledger that the model was read from, or is to be saved as.
    """
    versions = sorted(VERSIONS, key=lambda version: version != model.file_version)
    return [to_dict(replace(model, ledger=()), version)["hash"] for version in versions]


def sealed_hash(content: Any) -> str:
    """Return the SHA-256 of plain JSON values, keys sorted, without spaces."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def from_dict(document: Any) -> Model:
    """Rebuild a model from `to_dict`, refusing what is not one."""
    check_kind(document)
    if document.get("hash") != content_hash(document):
        raise ModelFileError("the content does not match its hash: the file was changed or damaged")
    return build(document)


def check_kind(document: Any) -> None:
    """Refuse what is not a plain document of this format and version."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"not a model file: the field 'format' is not '{FORMAT}'")
    check_plain(document)
    version, task = document.get("version"), document.get("task")
    writer = f"{shown(document.get('library_version'))}, which wrote it"
    if type(version) is not int or version not in VERSIONS:
        raise ModelFileError(
            f"the file has format version {shown(version)}, this library reads {list(VERSIONS)}; "
            f"install the library version {writer}"
        )
    if version > 1 and isinstance(task, str) and task not in TASKS:
        raise ModelFileError(
            f"the model is of the task {shown(task)}, this library ({__version__}) reads "
            f"{list(TASKS)}; install the library version {writer}, or a newer one"
        )


def build(document: dict[str, Any]) -> Model:
    """Validate every field and build the model, whatever its hash."""
    try:
        validate(document, SCHEMAS[document["version"]])
        newest = document if document["version"] == NEWEST else to_version_2(document)
        check_semantics(newest)
        model = _rebuild(newest, document["version"])
        load = model.audit().miu
        if model.bound < load:
            text = f"bound is {model.bound}, below the audit load of {load} conditions"
            raise ModelFileError(text)
    except ModelFileError as error:
        raise ModelFileError(f"the model file is malformed: {error}") from error
    return model


def _rebuild(document: dict[str, Any], version: int) -> Model:
    same = ("ownership", "settings", "bound", "training", "data", "library_version")
    model = Model(
        schema=Schema.from_dict(document["schema"]),
        target=TASKS[document["task"]].from_dict(document["target"]),
        intercept=float(document["intercept"]),
        components=tuple(Component.from_dict(c) for c in document["components"]),
        ledger=tuple(document.get("ledger", ())),
        **{name: document[name] for name in same},
    )
    object.__setattr__(model, "file_version", version)  # nobody else may say where it comes from
    return model


def save(model: Model, path: str | Path) -> None:
    """Write a file of the newest version: to a temporary name first, then renamed."""
    write_text(to_text(model, NEWEST), Path(path))


def to_text(model: Model, version: int | None = None) -> str:
    """Return the text of a model's file, refusing one that could not be read back."""
    document = to_dict(model, version)
    build(document)
    return json.dumps(document, indent=1, allow_nan=False)


def from_text(text: str) -> Model:
    """Rebuild a model from `to_text`."""
    return from_dict(json.loads(text))


def read_document(path: str | Path) -> dict[str, Any]:
    """Return the plain document of a model file; its hash and fields are not looked at."""
    document = read_json(path)
    try:
        check_kind(document)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    found: dict[str, Any] = document
    return found


def load(path: str | Path) -> Model:
    """Read a model file.

    Parameters
    ----------
    path : str or Path
        A file written by `RPTEClassifier.save` or `Model.save`.

    Returns
    -------
    Model
        Scores with numpy alone, bit for bit as the estimator did.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged (its content hash is wrong), or makes no sense; one
        line that names the place. `verify_file` opens a file with a wrong hash and says so.

    Examples
    --------
    >>> import tempfile, rpte
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = rpte.RPTEClassifier(l1="4/n").fit(X[:100], y[:100])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model.json")
    ...     model = rpte.load(f"{folder}/model.json")
    >>> bool((model.score(X) == clf.model_.score(X)).all())
    True
    """
    document = read_document(path)
    try:
        return from_dict(document)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error

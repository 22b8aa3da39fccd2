"""Model files: one JSON document with a version and a content hash; loading runs no code."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from rpte.errors import ModelFileError
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.table.schema import Schema

FORMAT = "rpte-model"
VERSION = 1


def to_dict(model: Model) -> dict[str, Any]:
    """Return the model as plain JSON values, content hash included."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "schema": model.schema.to_dict(),
        "classes": list(model.classes),
        "positive": model.positive,
        "ownership": model.ownership,
        "bound": model.bound,
        "intercept": model.intercept,
        "components": [component.to_dict() for component in model.components],
        "settings": dict(model.settings),
        "training": dict(model.training),
    }
    document["hash"] = content_hash(document)
    return document


def content_hash(document: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the hash itself."""
    content = {key: value for key, value in document.items() if key != "hash"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def from_dict(document: Any) -> Model:
    """Rebuild a model from `to_dict`, refusing what is not one."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"not a model file: the field 'format' is not '{FORMAT}'")
    if document.get("version") != VERSION:
        raise ModelFileError(
            f"the file has format version {document.get('version')!r}, this library {VERSION}; "
            "install the library version that wrote it"
        )
    if document.get("hash") != content_hash(document):
        raise ModelFileError("the content does not match its hash: the file was changed or damaged")
    try:
        return _rebuild(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"the model file is malformed: {error!r}") from error


def _rebuild(document: dict[str, Any]) -> Model:
    first, second = document["classes"]
    return Model(
        schema=Schema.from_dict(document["schema"]),
        classes=(first, second),
        positive=int(document["positive"]),
        intercept=float(document["intercept"]),
        components=tuple(Component.from_dict(c) for c in document["components"]),
        ownership=document["ownership"],
        settings=document["settings"],
        bound=int(document["bound"]),
        training=document["training"],
    )


def save(model: Model, path: str | Path) -> None:
    """Write a model file: to a temporary name first, then renamed."""
    path = Path(path)
    text = json.dumps(to_dict(model), indent=1, allow_nan=False)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a JSON document: {error}") from error
    return from_dict(document)

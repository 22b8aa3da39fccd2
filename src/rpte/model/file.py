"""Model files: one JSON document with a version and a content hash; loading runs no code.

`reading` takes the bytes apart, `format` and `validator` check every field by itself, `semantics`
checks that the fields fit together; only then is a `Model` built.

The content hash inside a file finds accidents, not forgers: whoever changes the file can compute
the hash again. A detached signature is made with a secret key (HMAC-SHA-256), so only somebody who
holds the key can make one; whoever can check it holds the key too, and could have made it. To prove
the origin to people who must not be able to sign, use an asymmetric tool on the same file.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rpte import __version__
from rpte.errors import InputError, ModelFileError
from rpte.model.causes import CausesModel, one_event
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel
from rpte.model.format import CAUSES, CAUSES_SCHEMA, FORMAT, SCHEMAS, described
from rpte.model.model import Model
from rpte.model.parts import Component
from rpte.model.reading import check_plain, read_json
from rpte.model.scores import check_one_score, check_scores, stacked, taken_apart
from rpte.model.semantics import check_semantics
from rpte.model.target import TASKS
from rpte.model.validator import shown, validate
from rpte.model.versions import NEWEST, ONE_SCORE, VERSIONS, to_version_1, to_version_2, without
from rpte.table.schema import Schema
from rpte.utils.kept import EDITED, MODEL, SIGNATURE
from rpte.utils.output import write_text

AnyModel = Model | ClassesModel
AnyFile = AnyModel | CausesModel
ALGORITHM = "hmac-sha256"
SHORTEST_KEY = 16
SIGNATURE_SCHEMA = described(f"algorithm: '{ALGORITHM}', hash: hash, signature: hash")


def to_dict(model: AnyFile, version: int | None = None) -> dict[str, Any]:
    """Return the model as plain JSON values, content hash included.

    It has the layout of the version that the model was read from, if none is given.
    """
    if isinstance(model, CausesModel):
        return _of_causes(model)
    document = _of_scores(model) if isinstance(model, ClassesModel) else _of_one(model)
    if (version or model.file_version) == 1:
        document = to_version_1(document)
    check_plain(document)
    document["hash"] = content_hash(document)
    return document


def _of_causes(model: CausesModel) -> dict[str, Any]:
    """Return the document of several causes, which holds that of each."""
    document = {
        "format": FORMAT,
        "version": NEWEST,
        "library_version": model.models[0].library_version,
        "task": model.task,
        "models": [to_dict(each) for each in model.models],
    }
    return {**document, "hash": content_hash(document)}


def _of_scores(model: ClassesModel) -> dict[str, Any]:
    """Return the document of several scores, whose coefficients and totals are lists."""
    told = {"task": model.task, "loss": model.loss.to_dict(), "target": model.target.to_dict()}
    document = stacked([_of_one(each) for each in model.models])
    own = {"settings": dict(model.settings), "training": dict(model.training)}
    return {**document, **told, **own}


def _of_one(model: Model) -> dict[str, Any]:
    """Return the document of one score, without a hash."""
    return {
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


def content_hash(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything but the hash itself, whatever the layout of the file."""
    return sealed_hash(without(document, "hash"))


def core_hashes(model: AnyModel) -> list[str]:
    """Return the model's content hash without its ledger, in every version of the file.

    The first is that of a file without a ledger that the model was read from, or is to be saved as.
    """
    known = (NEWEST,) if isinstance(model, ClassesModel) else VERSIONS
    versions = sorted(known, key=lambda version: version != model.file_version)
    return [to_dict(replace(model, ledger=()), version)["hash"] for version in versions]


def sealed_hash(content: Any) -> str:
    """Return the SHA-256 of plain JSON values, keys sorted, without spaces."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def from_dict(document: Any) -> AnyFile:
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
    known = [*TASKS, ClassesTarget.task, CAUSES]
    if version > 1 and isinstance(task, str) and task not in known:
        raise ModelFileError(
            f"the model is of the task {shown(task)}, this library ({__version__}) reads "
            f"{known}; install the library version {writer}, or a newer one"
        )


def build(document: dict[str, Any]) -> AnyFile:
    """Validate every field and build the model, whatever its hash."""
    with blamed_on("the model file is malformed"):
        if document["version"] == NEWEST and document.get("task") == CAUSES:
            return _build_causes(document)
        return _build_one(document)


def _build_causes(document: dict[str, Any]) -> CausesModel:
    """Build the model of several causes: each makes sense by itself, and they are all there."""
    validate(document, CAUSES_SCHEMA)
    made = []
    for number, own in enumerate(document["models"]):
        with blamed_on(f"models[{number}]"):
            check_kind(own)
            if own.get("hash") != content_hash(own):
                raise ModelFileError("the content does not match its hash")
            made.append(_build_one(own))
    return CausesModel.of(made)


def _build_one(document: dict[str, Any]) -> AnyModel:
    """Build a model of one score, or of several classes."""
    validate(document, SCHEMAS[document["version"]])
    newest = document if document["version"] == NEWEST else to_version_2(document)
    model = _checked(newest, document["version"])
    load = model.audit().miu
    if model.bound < load:
        raise ModelFileError(f"bound is {model.bound}, below the audit load of {load} conditions")
    # A ledger holds hashes of the text: of another that reads the same it says nothing.
    if model.ledger and to_dict(model, document["version"])["hash"] != content_hash(document):
        raise ModelFileError(
            "the file has a ledger and is not written as the library writes it, such as 30 for "
            "30.0; save the edited model again with the library"
        )
    return model


@contextmanager
def blamed_on(what: object) -> Iterator[None]:
    """Begin the message of a `ModelFileError` with what it is about."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{what}: {error}") from error


def _checked(document: dict[str, Any], version: int) -> AnyModel:
    """Build the model of a document of the newest layout, if its fields make sense together."""
    if document["scores"] > 1:
        return _rebuild_classes(document)
    check_one_score(document)
    check_semantics(document)
    return _rebuild(document, version)


def _rebuild_classes(document: dict[str, Any]) -> ClassesModel:
    """Build a model of several classes: each score has to make sense by itself."""
    check_scores(document)
    parts = []
    for k in range(document["scores"]):
        one = taken_apart(document, k)
        check_semantics(one)
        parts.append(_rebuild(one, NEWEST))
    same = ("ownership", "settings", "bound", "training", "data", "library_version")
    classes, totals = (tuple(document["target"][name]) for name in ("classes", "totals"))
    return ClassesModel(
        schema=parts[0].schema,
        target=ClassesTarget(classes, totals, document["target"].get("name")),
        intercepts=tuple(model.intercept for model in parts),
        by_class=tuple(model.components for model in parts),
        ledger=tuple(document.get("ledger", ())),
        **{name: document[name] for name in same},
    )


def _rebuild(document: dict[str, Any], version: int) -> Model:
    same = ("ownership", "settings", "bound", "training", "data", "library_version")
    model = Model(
        schema=Schema.from_dict(document["schema"]),
        target=TASKS[document["task"]].from_dict(document["target"], document["loss"]),
        intercept=float(document["intercept"]),
        components=tuple(Component.from_dict(c) for c in document["components"]),
        ledger=tuple(document.get("ledger", ())),
        **{name: document[name] for name in same},
    )
    object.__setattr__(model, "file_version", version)  # nobody else may say where it comes from
    return model


def save(model: AnyFile, path: str | Path) -> None:
    """Write a file of the newest version: to a temporary name first, then renamed."""
    models = model.models if isinstance(model, CausesModel) else (model,)
    kind = EDITED if any(each.ledger for each in models) else MODEL
    write_text(to_text(model, NEWEST), Path(path), kind)


def to_text(model: AnyFile, version: int | None = None) -> str:
    """Return the text of a model's file, refusing one that could not be read back."""
    document = to_dict(model, version)
    build(document)
    return json.dumps(document, indent=1, allow_nan=False)


def from_text(text: str) -> AnyFile:
    """Rebuild a model from `to_text`."""
    return from_dict(json.loads(text))


def read_document(path: str | Path) -> dict[str, Any]:
    """Return the plain document of a model file; its hash and fields are not looked at."""
    document: dict[str, Any] = read_json(path)
    with blamed_on(path):
        check_kind(document)
    return document


def load_one(path: str | Path, what: str) -> AnyModel:
    """Read a model of one score or of several classes; refuse one of several causes with words.

    `what` is what it is read for.
    """
    found = load(path)
    return one_event(found, what)


def load(path: str | Path) -> AnyFile:
    """Read a model file.

    Parameters
    ----------
    path : str or Path
        A file written by `RPTEClassifier.save` or `Model.save`.

    Returns
    -------
    Model, ClassesModel of several classes, or CausesModel of several causes of an event
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
    with blamed_on(path):
        return from_dict(document)


def sign(path: str | Path, key: bytes) -> Path:
    """Write a detached signature of a model file beside it.

    Parameters
    ----------
    path : str or Path
        A model file; it is loaded first, so that only a valid one is signed.
    key : bytes
        Your secret, at least 16 bytes (``secrets.token_bytes(32)`` makes one). Keep it away from
        the file.

    Returns
    -------
    Path
        ``<file>.sig``: JSON with the algorithm, the content hash and the signature.

    Notes
    -----
    The signature proves that somebody who held the key signed exactly this content (layout of the
    file aside). It does not say when, nor that the model is a good one.

    Examples
    --------
    >>> import secrets, tempfile, rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> key = secrets.token_bytes(32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rpte.RPTEClassifier(l1="4/n").fit(X, y).save(f"{folder}/model.json")
    ...     name = rpte.sign(f"{folder}/model.json", key).name
    ...     known = rpte.check_signature(f"{folder}/model.json", key)
    ...     strange = rpte.check_signature(f"{folder}/model.json", secrets.token_bytes(32))
    >>> name, known, strange
    ('model.json.sig', True, False)
    """
    _check_key(key)
    document = read_document(path)
    from_dict(document)
    found = content_hash(document)
    signed = {"algorithm": ALGORITHM, "hash": found, "signature": _signature(found, key)}
    target = Path(f"{path}.sig")
    write_text(json.dumps(signed, indent=1), target, SIGNATURE)
    return target


def check_signature(path: str | Path, key: bytes) -> bool:
    """Tell whether ``<file>.sig`` is a signature of this file's content made with this key.

    Parameters
    ----------
    path : str or Path
        A model file. Its content is hashed again; the hash written in it is not trusted.
    key : bytes
        The key that it was signed with.

    Returns
    -------
    bool
        False if the content, the signature or the key is another one.

    Examples
    --------
    >>> import tempfile, rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rpte.RPTEClassifier(l1="4/n").fit(X, y).save(f"{folder}/model.json")
    ...     _ = rpte.sign(f"{folder}/model.json", b"a secret of 32 bytes, not this..")
    ...     rpte.check_signature(f"{folder}/model.json", b"a secret of 32 bytes, not this..")
    True
    """
    _check_key(key)
    found = content_hash(read_document(path))
    target = Path(f"{path}.sig")
    if not target.exists():
        raise InputError(f"{path} has no signature beside it: {target} is not there; sign it first")
    stored = read_json(target)
    with blamed_on(f"{target} is not a signature"):
        check_plain(stored)
        validate(stored, SIGNATURE_SCHEMA)
    own = hmac.compare_digest(stored["hash"], found)
    return hmac.compare_digest(stored["signature"], _signature(found, key)) and own


def _signature(content: str, key: bytes) -> str:
    return hmac.new(key, f"{FORMAT}\n{content}".encode(), "sha256").hexdigest()


def _check_key(key: bytes) -> None:
    if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
        what = f"{len(key)} byte(s) long" if isinstance(key, bytes) else f"a {type(key).__name__}"
        raise InputError(
            f"key is {what}; it must be at least {SHORTEST_KEY} secret bytes, such as "
            "secrets.token_bytes(32)"
        )

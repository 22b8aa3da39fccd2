"""Detached signatures: who wrote a model file, as far as a shared key can tell.

The content hash inside a file finds accidents, not forgers: whoever changes the file can compute
the hash again. A signature is made with a secret key (HMAC-SHA-256), so only somebody who holds the
key can make one; whoever can check it holds the key too, and could have made it. To prove the
origin to people who must not be able to sign, use an asymmetric tool on the same file.
"""

from __future__ import annotations

import hmac
import json
from pathlib import Path

from rpte.errors import InputError, ModelFileError
from rpte.model.file import content_hash, from_dict, read_document
from rpte.model.format import FORMAT, SHA256, record
from rpte.model.reading import check_plain, read_json
from rpte.model.validator import validate
from rpte.utils.output import write_text

ALGORITHM = "hmac-sha256"
SHORTEST_KEY = 16
SIGNATURE_SCHEMA = record(algorithm={"const": ALGORITHM}, hash=SHA256, signature=SHA256)


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
    record = {"algorithm": ALGORITHM, "hash": found, "signature": _signature(found, key)}
    target = Path(f"{path}.sig")
    write_text(json.dumps(record, indent=1), target)
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
    stored = read_json(target)
    try:
        check_plain(stored)
        validate(stored, SIGNATURE_SCHEMA)
    except ModelFileError as error:
        raise ModelFileError(f"{target} is not a signature: {error}") from error
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
